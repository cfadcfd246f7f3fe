/* server/page/find_pages.c: see find_pages.h. */
#include "server/page/find_pages.h"

#include <assert.h>

#include "server/app.h"
#include "server/page/find_view.h"
#include "server/page/page_query.h"
#include "server/page/page_work.h"
#include "server/store/read.h"

static enum status draw_author(struct page_work *work, struct buf *out);
static enum status draw_hardware(struct page_work *work, struct buf *out);
static enum status draw_search(struct page_work *work, struct buf *out);

static void handle_author(struct request *request, struct response *response)
{
    page_send(request, response, draw_author);
}

static void handle_hardware(struct request *request, struct response *response)
{
    page_send(request, response, draw_hardware);
}

static void handle_search(struct request *request, struct response *response)
{
    page_send(request, response, draw_search);
}

static const struct route routes[] = {
    {.method = HTTP_GET, .pattern = "/authors/{name}", .handle = handle_author, .html = true},
    {.method = HTTP_GET, .pattern = "/hardware/{name}", .handle = handle_hardware, .html = true},
    {.method = HTTP_GET, .pattern = "/search", .handle = handle_search, .html = true},
};
const struct route_table find_routes = {routes, ARRAY_LEN(routes)};

static enum status hold_all(struct page_work *work, const struct kept *const **kept)
{
    const struct kept **all =
        ARENA_NEW_ARRAY(&work->arena, work->request->app->tasks->count, const struct kept *);

    if (all == NULL)
        return error_set(&work->err, ST_NO_MEMORY, NULL, "out of memory for the page");
    *kept = all;
    return page_hold_all_boards(work, all);
}

/* An unknown name is a page of its own: it offers what has the words of the name. */
static enum status draw_named(struct page_work *work, enum named_kind kind, struct buf *out)
{
    const struct task_table *tasks = work->request->app->tasks;
    struct named_page data = {.kind = kind, .name = work->request->args[0], .page = 1};
    struct find_wish wish = {0};
    const struct kept *const *kept = NULL;
    struct found_entry *rows = NULL;

    page_query_number(&work->request->query, "page", BOARD_ENTRIES_MAX, &data.page, &work->err);
    if (work->err.status != ST_OK)
        return work->err.status;
    *(kind == NAMED_AUTHOR ? &wish.author : &wish.hardware) = data.name;
    if (hold_all(work, &kept) != ST_OK ||
        find_entries(tasks, kept, &wish, &work->arena, &rows, &data.row_count, &work->err) != ST_OK)
        return work->err.status;
    data.known = data.row_count > 0;
    if (!data.known) {
        work->status = 404;
        wish = (struct find_wish){0};
        find_split_words(data.name, &wish);
        if (wish.word_count > 0 && find_entries(tasks, kept, &wish, &work->arena, &rows,
                                                &data.row_count, &work->err) != ST_OK)
            return work->err.status;
    }
    data.rows = rows;
    page_render_named(out, &work->frame, &data);
    return ST_OK;
}

static enum status draw_author(struct page_work *work, struct buf *out)
{
    return draw_named(work, NAMED_AUTHOR, out);
}

static enum status draw_hardware(struct page_work *work, struct buf *out)
{
    return draw_named(work, NAMED_HARDWARE, out);
}

static enum status draw_search(struct page_work *work, struct buf *out)
{
    const struct task_table *tasks = work->request->app->tasks;
    struct find_wish wish = {0};
    struct search_page data = {.wish = &wish, .tasks = tasks};
    const struct kept *const *kept = NULL;
    struct found_entry *rows = NULL;
    struct agent_record *agents = NULL;

    (void)query_read_text(&work->request->query, "q", &data.text);
    data.text = str_trim(data.text);
    if (data.text.len > FIND_BYTES_MAX)
        return query_fault(&work->request->query, "q", "search for fewer words", &work->err,
                           "it has more than %d bytes", FIND_BYTES_MAX);
    find_split_words(data.text, &wish);
    if (store_list_agents(work->reader, &work->arena, work->frame.now_ms, 0, FIND_AGENTS_MAX,
                          &agents, &data.agent_count, &work->err) != ST_OK ||
        hold_all(work, &kept) != ST_OK)
        return work->err.status;
    assert(kept != NULL);
    for (size_t i = 0; i < tasks->count; i++)
        data.entry_total += kept_count(kept[i]);
    if (wish.word_count > 0 &&
        find_entries(tasks, kept, &wish, &work->arena, &rows, &data.row_count, &work->err) != ST_OK)
        return work->err.status;
    data.rows = wish.word_count > 0 ? rows : NULL;
    data.agents = agents;
    page_render_search(out, &work->frame, &data);
    return ST_OK;
}
