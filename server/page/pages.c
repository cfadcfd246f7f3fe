/* server/page/pages.c: from a request to a page: reads what the page shows in one state of the database, hands it
 * to the page's pure function. Pages take unknown parameters without complaint: links get decorated on their way. */
#include "server/page/pages.h"

#include <inttypes.h>

#include "server/api/profile.h"
#include "server/app.h"
#include "server/page/assets.h"
#include "server/page/badge.h"
#include "server/page/board_page.h"
#include "server/page/entry_page.h"
#include "server/page/feed.h"
#include "server/page/home_page.h"
#include "server/page/page_query.h"
#include "server/page/page_work.h"
#include "server/page/price_page.h"
#include "server/page/problem_page.h"
#include "server/page/profile_page.h"
#include "server/page/run_page.h"
#include "server/store/read.h"

#define COOKIE_S       31536000
#define BACK_BYTES_MAX 1000 /* what fits a header of ours: a longer address leads home */

static enum status draw_home(struct page_work *work, struct buf *out);
static enum status draw_board(struct page_work *work, struct buf *out);
static enum status draw_run(struct page_work *work, struct buf *out);
static enum status draw_entry(struct page_work *work, struct buf *out);
static enum status draw_price(struct page_work *work, struct buf *out);
static enum status draw_profile(struct page_work *work, struct buf *out);

static void handle_home(struct request *request, struct response *response)
{
    page_send(request, response, draw_home);
}

static void handle_board(struct request *request, struct response *response)
{
    page_send(request, response, draw_board);
}

static void handle_run(struct request *request, struct response *response)
{
    page_send(request, response, draw_run);
}

static void handle_entry(struct request *request, struct response *response)
{
    page_send(request, response, draw_entry);
}

static void handle_price(struct request *request, struct response *response)
{
    page_send(request, response, draw_price);
}

static void handle_profile(struct request *request, struct response *response)
{
    page_send(request, response, draw_profile);
}

/* A local address of visible ASCII, so that it can stand in a header and leads nowhere else. */
static bool is_local(struct str address)
{
    for (size_t i = 0; i < address.len; i++)
        if (address.data[i] <= ' ' || address.data[i] > '~' || address.data[i] == '\\')
            return false;
    return address.len > 0 && address.data[0] == '/' &&
           (address.len == 1 || address.data[1] != '/');
}

const char *page_local_address(struct arena *arena, struct str address)
{
    const char *copy =
        is_local(address) && address.len <= BACK_BYTES_MAX ? arena_copy(arena, address) : "/";

    return copy == NULL ? "/" : copy;
}

static void handle_theme(struct request *request, struct response *response)
{
    const char *names[THEME_COUNT];
    size_t theme = THEME_SYSTEM;
    struct error err = {0};
    struct str back = {0};

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        names[i] = layout_theme_name((enum page_theme)i);
    page_query_choice(&request->query, "to", names, ARRAY_LEN(names), &theme, &err);
    if (err.status != ST_OK) {
        response_send_error(response, &err);
        return;
    }
    (void)query_read_text(&request->query, "back",
                          &back); /* one that leads elsewhere is no fault */
    response_add_header(response, "Set-Cookie",
                        "theme=%s; Path=/; Max-Age=%d; SameSite=Lax; HttpOnly", names[theme],
                        theme == THEME_SYSTEM ? 0 : COOKIE_S);
    response_add_header(response, "Cache-Control", "no-store");
    response_send_redirect(response, 303, page_local_address(request->arena, back));
}

static const struct route routes[] = {
    {.method = HTTP_GET, .pattern = "/", .handle = handle_home, .html = true},
    {.method = HTTP_GET, .pattern = "/tasks/{task}", .handle = handle_board, .html = true},
    {.method = HTTP_GET, .pattern = "/feed.atom", .handle = handle_get_feed},
    {.method = HTTP_GET, .pattern = "/tasks/{task}/feed.atom", .handle = handle_get_feed},
    {.method = HTTP_GET, .pattern = "/runs/{run}", .handle = handle_run, .html = true},
    {.method = HTTP_GET, .pattern = "/entries/{entry}", .handle = handle_entry, .html = true},
    {.method = HTTP_GET, .pattern = "/prices/{price}", .handle = handle_price, .html = true},
    {.method = HTTP_GET, .pattern = "/profile", .handle = handle_profile, .html = true},
    {.method = HTTP_GET, .pattern = "/badge/{file}", .handle = handle_get_badge},
    {.method = HTTP_GET, .pattern = "/theme", .handle = handle_theme, .html = true},
    {.method = HTTP_GET, .pattern = "/assets/{version}/{name}", .handle = handle_get_asset},
};
const struct route_table page_routes = {routes, ARRAY_LEN(routes)};

void page_draw_error(struct request *request, struct response *response,
                     const struct problem *problem)
{
    struct page_frame frame;
    struct buf page, *out;

    page_make_frame(request, request->arena, &frame);
    buf_init(&page, PAGE_BYTES_MAX);
    page_render_problem(&page, &frame, problem);
    if (!page.failed && frame.assets != NULL) { /* else it is answered as problem+json */
        out = response_begin_html(response, problem->status);
        buf_append(out, buf_str(&page));
    }
    buf_fini(&page);
}

/* ---- one function for each page ---- */

static enum status draw_home(struct page_work *work, struct buf *out)
{
    const struct task_table *tasks = work->request->app->tasks;
    struct home_task *cards = ARENA_NEW_ARRAY(&work->arena, tasks->count, struct home_task);
    const struct kept **kept = ARENA_NEW_ARRAY(&work->arena, tasks->count, const struct kept *);
    struct home_data data = {.tasks = tasks, .cards = cards};
    struct run_record *live;
    struct entry_record *latest;

    if (cards == NULL || kept == NULL)
        return error_set(&work->err, ST_NO_MEMORY, NULL, "out of memory for the page");
    if (page_hold_all_boards(work, kept) != ST_OK)
        return work->err.status;
    for (size_t i = 0; i < tasks->count; i++) {
        struct board boards[PAGE_BOARDS_PER_TASK];

        cards[i].task = &tasks->tasks[i];
        cards[i].entry_count = kept_count(kept[i]);
        if (page_rank_boards(work, cards[i].task, kept[i], boards) != ST_OK)
            return work->err.status;
        cards[i].first = boards[0];
        cards[i].second = boards[1];
    }
    if (store_list_live_runs(work->reader, &work->arena, HOME_LIVE_MAX, &live, &data.live_count,
                             &work->err) != ST_OK ||
        store_list_latest_entries(work->reader, &work->arena, HOME_LATEST_MAX, &latest,
                                  &data.latest_count, &work->err) != ST_OK)
        return work->err.status;
    data.live = live;
    data.latest = latest;
    page_render_home(out, &work->frame, &data);
    return ST_OK;
}

static enum status draw_board(struct page_work *work, struct buf *out)
{
    const struct task *task = page_find_task(work, work->request->args[0]);
    const struct kept *kept;
    struct board_query query;
    struct board_rule rule;
    struct record *records;
    struct board board;
    struct board_page data = {.board = &board, .query = &query};

    if (task == NULL || board_query_read(&work->request->query, task, &query, &work->err) != ST_OK)
        return work->err.status;
    rule = (struct board_rule){
        .by = query.by,
        .has_as_of = query.has_as_of,
        .as_of_days = query.as_of_days,
        .best = query.best_author ? BOARD_BEST_AUTHOR : BOARD_BEST_ENTRY,
    };
    kept = page_hold_board(work, task);
    if (kept == NULL || kept_rank(kept, &rule, &work->arena, &board, &work->err) != ST_OK ||
        records_list(kept, task, query.by, &work->arena, &records, &data.record_count,
                     &work->err) != ST_OK)
        return work->err.status;
    data.records = records;
    page_render_board(out, &work->frame, &data);
    return ST_OK;
}

static enum status draw_run(struct page_work *work, struct buf *out)
{
    struct run_record run;
    struct entry_record entry;
    struct epoch_record *epochs;
    struct run_page data = {.run = &run, .entry = &entry};
    static const char *const axes[] = {"time", "epoch", "cost"};
    size_t axis = 0;
    int64_t id;

    page_query_choice(&work->request->query, "x", axes, ARRAY_LEN(axes), &axis, &work->err);
    if (work->err.status != ST_OK)
        return work->err.status;
    if (request_arg_id(work->request, 0, &id, &work->err) != ST_OK ||
        store_get_run(work->reader, &work->arena, id, &run, &work->err) != ST_OK ||
        store_get_entry(work->reader, &work->arena, run.entry_id, &entry, &work->err) != ST_OK ||
        store_list_epochs(work->reader, &work->arena, id, 0, RUN_PAGE_EPOCHS_MAX, &epochs,
                          &data.epoch_count, &work->err) != ST_OK ||
        store_has_run_profile(work->reader, id, &data.has_profile, &work->err) != ST_OK)
        return work->err.status;
    data.task = page_find_task(work, str_from_cstr(run.task));
    if (data.task == NULL)
        return work->err.status;
    data.epochs = epochs;
    data.axis = (enum run_axis)axis;
    if (data.axis == RUN_BY_COST && run_page_price(&data) == NULL)
        return error_set(&work->err, ST_INVALID, "x", "no price is known for this run");
    page_render_run(out, &work->frame, &data);
    return ST_OK;
}

static enum status draw_entry(struct page_work *work, struct buf *out)
{
    struct entry_record entry;
    struct run_record *runs;
    struct board boards[PAGE_BOARDS_PER_TASK];
    struct submission_record submission;
    struct check_record *checks;
    struct flag_record *flags;
    struct entry_page data = {.origin = page_origin(work->request, &work->arena),
                              .entry = &entry,
                              .boards = boards,
                              .board_count = PAGE_BOARDS_PER_TASK};
    const struct kept *kept;
    int64_t id;

    if (request_arg_id(work->request, 0, &id, &work->err) != ST_OK ||
        store_get_entry(work->reader, &work->arena, id, &entry, &work->err) != ST_OK ||
        store_list_runs(work->reader, &work->arena, id, &runs, &data.run_count, &work->err) !=
            ST_OK)
        return work->err.status;
    data.runs = runs;
    if (store_list_checks(work->reader, &work->arena, id, &checks, &data.check_count, &work->err) !=
            ST_OK ||
        store_list_flags(work->reader, &work->arena, id, &flags, &data.flag_count, &work->err) !=
            ST_OK)
        return work->err.status;
    data.checks = checks;
    data.flags = flags;
    data.task = page_find_task(work, str_from_cstr(entry.task));
    kept = data.task == NULL ? NULL : page_hold_board(work, data.task);
    if (kept == NULL || page_rank_boards(work, data.task, kept, boards) != ST_OK)
        return work->err.status;
    if (entry.submission_id.has) {
        if (store_get_submission(work->reader, &work->arena, entry.submission_id.value, &submission,
                                 &work->err) != ST_OK)
            return work->err.status;
        data.submission = &submission;
    }
    page_render_entry(out, &work->frame, &data);
    return ST_OK;
}

static enum status draw_price(struct page_work *work, struct buf *out)
{
    struct price_record price;
    int64_t id;

    if (request_arg_id(work->request, 0, &id, &work->err) != ST_OK ||
        store_get_price(work->reader, &work->arena, id, &price, &work->err) != ST_OK)
        return work->err.status;
    page_render_price(out, &work->frame, &price);
    return ST_OK;
}

/* Without tasks: the choice alone. */
static enum status draw_profile(struct page_work *work, struct buf *out)
{
    struct app *app = work->request->app;
    struct profile_page data = {.tasks = app->tasks};
    struct profile_form form = {0};
    struct profile profile = {0};

    profile_read_form(work->request, false, &form, &work->err);
    if (work->err.status != ST_OK)
        return work->err.status;
    if (form.count > 0) {
        work->held_all = profile_load(app, &form, &work->arena, &profile, &work->err) == ST_OK;
        if (!work->held_all)
            return work->err.status;
    }
    data.form = &form;
    data.profile = &profile;
    page_render_profile(out, &work->frame, &data);
    return ST_OK;
}
