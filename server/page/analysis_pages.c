/* server/page/analysis_pages.c: see analysis_pages.h. */
#include "server/page/analysis_pages.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "server/api/compare.h"
#include "server/api/paper.h"
#include "server/api/roofline.h"
#include "server/app.h"
#include "server/page/analysis_page.h"
#include "server/page/page_query.h"
#include "server/page/page_work.h"

static enum status draw_history(struct page_work *work, struct buf *out);
static enum status draw_analysis(struct page_work *work, struct buf *out);
static enum status draw_roofline(struct page_work *work, struct buf *out);
static enum status draw_compare(struct page_work *work, struct buf *out);
static enum status draw_paper(struct page_work *work, struct buf *out);

static void handle_history(struct request *request, struct response *response)
{
    page_send(request, response, draw_history);
}

static void handle_analysis(struct request *request, struct response *response)
{
    page_send(request, response, draw_analysis);
}

static void handle_roofline(struct request *request, struct response *response)
{
    page_send(request, response, draw_roofline);
}

/* Boxes that were ticked come as run-7=on&run-9=on: the reader is sent to the address that says it shortly. */
static void handle_compare(struct request *request, struct response *response)
{
    char location[512] = "/compare?runs=";
    size_t length = strlen(location), chosen = 0;

    for (size_t i = 0; i < request->query.count; i++) {
        struct str name = request->query.items[i].name;
        int64_t id;

        if (!str_starts_with(name, STR("run-")))
            continue;
        name = (struct str){name.data + 4, name.len - 4};
        if (!str_parse_i64(name, &id) || id <= 0 || length + 24 > sizeof location)
            continue;
        length += (size_t)snprintf(location + length, sizeof location - length, "%s%" PRId64,
                                   chosen++ > 0 ? "," : "", id);
    }
    if (chosen > 0)
        response_send_redirect(response, 303, location);
    else
        page_send(request, response, draw_compare);
}

static void handle_paper(struct request *request, struct response *response)
{
    page_send(request, response, draw_paper);
}

static const struct route routes[] = {
    {.method = HTTP_GET,
     .pattern = "/tasks/{task}/history",
     .handle = handle_history,
     .html = true},
    {.method = HTTP_GET,
     .pattern = "/tasks/{task}/tradeoff",
     .handle = handle_analysis,
     .html = true},
    {.method = HTTP_GET,
     .pattern = "/tasks/{task}/variance",
     .handle = handle_analysis,
     .html = true},
    {.method = HTTP_GET,
     .pattern = "/tasks/{task}/throughput",
     .handle = handle_analysis,
     .html = true},
    {.method = HTTP_GET,
     .pattern = "/tasks/{task}/scaling",
     .handle = handle_analysis,
     .html = true},
    {.method = HTTP_GET,
     .pattern = "/tasks/{task}/generalisation",
     .handle = handle_analysis,
     .html = true},
    {.method = HTTP_GET,
     .pattern = "/runs/{run}/roofline",
     .handle = handle_roofline,
     .html = true},
    {.method = HTTP_GET, .pattern = "/compare", .handle = handle_compare, .html = true},
    {.method = HTTP_GET, .pattern = "/docs/paper", .handle = handle_paper, .html = true},
};
const struct route_table analysis_routes = {routes, ARRAY_LEN(routes)};

static enum status draw_history(struct page_work *work, struct buf *out)
{
    const struct task *task = page_find_task(work, work->request->args[0]);
    struct history_page data = {.task = task};
    const struct kept *kept = task == NULL ? NULL : page_hold_board(work, task);

    if (kept == NULL)
        return work->err.status;
    for (int by = 0; by <= BOARD_ENERGY && data.board_count < HISTORY_BOARDS_MAX; by++) {
        struct record *records;
        size_t count;

        if (!board_by_fits((enum board_by)by, task))
            continue;
        if (records_list(kept, task, (enum board_by)by, &work->arena, &records, &count,
                         &work->err) != ST_OK)
            return work->err.status;
        data.boards[data.board_count].by = (enum board_by)by;
        data.boards[data.board_count].records = records;
        data.boards[data.board_count++].count = count;
    }
    page_render_history(out, &work->frame, &data);
    return ST_OK;
}

/* Those of training tasks: an inference has no runs. */
static enum status draw_analysis(struct page_work *work, struct buf *out)
{
    const enum analysis_kind kind = analysis_kind_of(work->request);
    struct analysis analysis;
    struct analysis_page data = {.kind = kind, .analysis = &analysis};
    struct str base = {0};

    data.task = page_find_task(work, work->request->args[0]);
    if (data.task == NULL)
        return work->err.status;
    if (data.task->phase != TASK_TRAIN)
        return error_set(&work->err, ST_NOT_FOUND, NULL,
                         "%s has no such analysis: it is no training", data.task->title);
    if (kind == ANALYSIS_THROUGHPUT && query_read_text(&work->request->query, "base", &base) &&
        (!str_parse_i64(base, &data.base) || data.base <= 0))
        return error_set(&work->err, ST_INVALID, "base", "base is the id of an entry");
    if (analysis_load(work->reader, data.task, kind, data.base, &work->arena, &analysis,
                      &work->err) != ST_OK)
        return work->err.status;
    page_render_analysis(out, &work->frame, &data);
    return ST_OK;
}

static enum status draw_roofline(struct page_work *work, struct buf *out)
{
    struct analysis analysis;
    struct run_record run;
    struct roofline_page data = {.analysis = &analysis};

    if (request_arg_id(work->request, 0, &data.run, &work->err) != ST_OK ||
        store_get_run(work->reader, &work->arena, data.run, &run, &work->err) != ST_OK ||
        roofline_load(work->reader, data.run, &work->arena, &analysis, &work->err) != ST_OK)
        return work->err.status;
    data.entry = run.entry_name;
    page_render_roofline(out, &work->frame, &data);
    return ST_OK;
}

static enum status draw_compare(struct page_work *work, struct buf *out)
{
    struct compare_form form = {0};
    struct analysis analysis;

    compare_read_form(&work->request->query, &form, &work->err);
    if (work->err.status != ST_OK ||
        compare_load(work->reader, &form, &work->arena, &analysis, &work->err) != ST_OK)
        return work->err.status;
    page_render_compare(out, &work->frame, &form, &analysis);
    return ST_OK;
}

static enum status draw_paper(struct page_work *work, struct buf *out)
{
    struct analysis analysis;

    if (paper_load(work->reader, work->request->app->tasks, &work->arena, &analysis, &work->err) !=
        ST_OK)
        return work->err.status;
    page_render_paper(out, &work->frame, &analysis);
    return ST_OK;
}
