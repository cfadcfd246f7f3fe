/* server/api/leaderboards.c: GET /v1/leaderboards/{task}: ranked by server/rank, written by it, cached here. */
#include <inttypes.h>

#include "common/clock.h"
#include "server/api/api.h"
#include "server/api/board_cache.h"
#include "server/api/boards.h"
#include "server/app.h"
#include "server/rank/board_write.h"
#include "server/rank/filter.h"

enum { ARENA_BYTES = 256 << 20 };

enum format { FORMAT_JSON, FORMAT_CSV, FORMAT_TSV };

static const struct {
    const char *type;
    char tag; /* in ETags and keys */
} formats[] = {
    [FORMAT_JSON] = {"application/json", 'j'},
    [FORMAT_CSV] = {"text/csv; charset=utf-8", 'c'},
    [FORMAT_TSV] = {"text/tab-separated-values; charset=utf-8", 't'},
};

struct board_form { /* what was asked for */
    const struct task *task;
    struct board_rule rule;
    struct board_filter filter;
    enum format format;
    struct api_page page;
    struct board_key after; /* with page.has_key */
};

static enum status read_form(struct request *request, struct board_form *form, struct error *err);
static void read_filter(struct query *query, struct board_filter *filter, struct error *err);
static void read_format(struct request *request, struct board_form *form, struct error *err);
static void read_cursor(struct request *request, struct board_form *form, struct error *err);
static enum status find_page(struct request *request, const struct board_form *form, struct str key,
                             int64_t *version, struct board_page_bytes *page, struct error *err);
static enum status make_page(struct request *request, const struct board_form *form,
                             int64_t *version, struct board_page_bytes *page, struct error *err);
static enum status write_page(const struct board_form *form, const struct kept *kept,
                              struct arena *arena, struct buf *out, struct board_page_bytes *page,
                              struct error *err);
static enum status cut_page(const struct board_form *form, const struct kept *kept,
                            struct arena *arena, struct board *board, bool *more,
                            struct error *err);
static enum status make_cursor(const struct board_form *form, const struct board *board,
                               struct arena *arena, struct board_page_bytes *page,
                               struct error *err);

void handle_get_leaderboard(struct request *request, struct response *response)
{
    struct board_form form = {.task = api_find_task(request, response)};
    struct board_page_bytes page;
    struct error err = {0};
    int64_t version = 0;
    char etag[64];
    struct str key;

    if (form.task == NULL)
        return;
    if (read_form(request, &form, &err) != ST_OK ||
        boards_get_version(request->app->boards, form.task, &version, &err) != ST_OK) {
        response_send_error(response, &err);
        return;
    }
    response_add_header(response, "Vary", "Accept");
    (void)snprintf(etag, sizeof etag, "\"b%" PRId64 "%c\"", version, formats[form.format].tag);
    if (request_matches_etag(request, etag)) { /* what the client has needs no looking up */
        etag[strlen(etag) - 1] = '\0';
        (void)response_send_not_modified(response, etag + 1);
        return;
    }
    key = str_from_cstr(arena_printf(request->arena, "%c%.*s?%.*s", formats[form.format].tag,
                                     STR_ARG(request->path), STR_ARG(request->query.text)));
    if (find_page(request, &form, key, &version, &page, &err) != ST_OK) {
        response_send_error(response, &err);
        return;
    }
    if (page.next[0] != '\0')
        api_link_next(response, "cursor", page.next);
    (void)snprintf(etag, sizeof etag, "b%" PRId64 "%c", version, formats[form.format].tag);
    if (response_send_not_modified(response, etag))
        shared_bytes_release(page.bytes);
    else
        response_send_shared(response, page.bytes, formats[form.format].type);
}

static enum status read_form(struct request *request, struct board_form *form, struct error *err)
{
    struct query *query = &request->query;
    const char *best = board_best_words[0];

    boards_read_by(request, form->task, &form->rule.by, err);
    (void)query_read_date(query, "as_of", &form->rule.has_as_of, &form->rule.as_of_days, err);
    (void)query_read_word(query, "best", board_best_words, &best, err);
    form->rule.best = best == board_best_words[1] ? BOARD_BEST_AUTHOR : BOARD_BEST_ENTRY;
    read_filter(query, &form->filter, err);
    read_format(request, form, err);
    read_cursor(request, form, err);
    return query_finish(query, err);
}

static void read_filter(struct query *query, struct board_filter *filter, struct error *err)
{
    const char *tier = "";

    (void)query_read_word(query, "tier", board_tier_words, &tier, err);
    filter->tier = str_from_cstr(tier);
    (void)query_read_phrase(query, "hardware", FILTER_TEXT_BYTES_MAX, &filter->hardware, err);
    (void)query_read_phrase(query, "framework", FILTER_TEXT_BYTES_MAX, &filter->framework, err);
    (void)query_read_phrase(query, "cloud", FILTER_TEXT_BYTES_MAX, &filter->cloud, err);
    (void)query_read_i64(query, "devices", 1, FILTER_DEVICES_MAX, &filter->devices, err);
    filter->has_devices = filter->devices > 0;
    (void)query_read_date(query, "from", &filter->has_from, &filter->from_days, err);
    (void)query_read_date(query, "to", &filter->has_to, &filter->to_days, err);
    if (filter->has_from && filter->has_to)
        query_check_period(query, filter->from_days, filter->to_days, err);
}

static void read_format(struct request *request, struct board_form *form, struct error *err)
{
    static const char *const words[] = {"json", "csv", "tsv", NULL};
    const char *word = NULL;

    (void)query_read_word(&request->query, "format", words, &word, err);
    for (size_t i = 0; word != NULL && words[i] != NULL; i++)
        if (word == words[i])
            form->format = (enum format)i;
    if (word == NULL && request_prefers(request, "text/csv"))
        form->format = FORMAT_CSV;
    else if (word == NULL && request_prefers(request, "text/tab-separated-values"))
        form->format = FORMAT_TSV;
}

/* A cursor is one of this very board under this filter: of another one it would be a place that means nothing. No text
 * of a query has a line feed. */
static void read_cursor(struct request *request, struct board_form *form, struct error *err)
{
    const struct cursor_value *key = form->page.key;
    const struct board_filter *filter = &form->filter;

    form->page.kinds = "iiti";
    form->page.list_is_whole = true;
    form->page.list = arena_printf(
        request->arena,
        "board:%s:%s:%" PRId64 ":%d:%" PRId64 ":%" PRId64 ":%" PRId64 "\n%.*s\n%.*s\n%.*s\n%.*s",
        form->task->id, board_by_name(form->rule.by),
        form->rule.has_as_of ? form->rule.as_of_days : INT64_MIN,
        form->rule.best == BOARD_BEST_AUTHOR, filter->devices,
        filter->has_from ? filter->from_days : INT64_MIN,
        filter->has_to ? filter->to_days : INT64_MIN, STR_ARG(filter->tier),
        STR_ARG(filter->hardware), STR_ARG(filter->framework), STR_ARG(filter->cloud));
    if (form->page.list == NULL) {
        (void)error_set(err, ST_NO_MEMORY, NULL, "no memory for a cursor");
        return;
    }
    api_page_read(request, &form->page, err);
    if (form->page.has_key)
        form->after = (struct board_key){.value = key[0].number,
                                         .date_days = key[1].number,
                                         .name = key[2].text.data,
                                         .entry = key[3].number};
}

/* Of several requests that lack the same bytes one makes them. */
static enum status find_page(struct request *request, const struct board_form *form, struct str key,
                             int64_t *version, struct board_page_bytes *page, struct error *err)
{
    struct board_cache *cache = request->app->board_bytes;
    enum status status;

    if (board_cache_get(cache, key, *version, page))
        return ST_OK;
    board_cache_begin_making(cache, key);
    status = boards_get_version(request->app->boards, form->task, version, err);
    if (status == ST_OK && !board_cache_get(cache, key, *version, page)) {
        status = make_page(request, form, version, page, err);
        if (status == ST_OK)
            board_cache_put(cache, key, *version, page);
    }
    board_cache_end_making(cache, key);
    return status;
}

static enum status make_page(struct request *request, const struct board_form *form,
                             int64_t *version, struct board_page_bytes *page, struct error *err)
{
    const struct kept *kept;
    struct arena arena;
    struct buf out;
    enum status status = boards_begin(request->app->boards, form->task, &kept, version, err);

    if (status != ST_OK)
        return status;
    arena_init(&arena, ARENA_BYTES);
    buf_init(&out, RESPONSE_BODY_BYTES_MAX);
    status = write_page(form, kept, &arena, &out, page, err);
    boards_end(request->app->boards, form->task);
    if (status == ST_OK) {
        page->bytes = shared_bytes_create(buf_str(&out));
        if (page->bytes == NULL)
            status = error_set(err, ST_NO_MEMORY, NULL, "no memory for the board");
    }
    buf_fini(&out);
    arena_fini(&arena);
    return status;
}

static enum status write_page(const struct board_form *form, const struct kept *kept,
                              struct arena *arena, struct buf *out, struct board_page_bytes *page,
                              struct error *err)
{
    char as_of[CLOCK_TEXT_BYTES];
    struct board board;
    bool more = false;
    enum status status = cut_page(form, kept, arena, &board, &more, err);

    page->next[0] = '\0';
    if (status == ST_OK && more)
        status = make_cursor(form, &board, arena, page, err);
    if (status != ST_OK)
        return status;
    clock_format_days(form->rule.as_of_days, as_of);
    switch (form->format) {
    case FORMAT_JSON:
        board_write_json(out, &board, form->rule.has_as_of ? as_of : NULL,
                         page->next[0] == '\0' ? NULL : page->next);
        break;
    case FORMAT_CSV: board_write_csv(out, &board); break;
    case FORMAT_TSV: board_write_tsv(out, &board); break;
    }
    return buf_check(out, err);
}

/* The page's items. Without filter, day and author's best it is a piece of the kept order. What is not ranked is told
 * with the first page. */
static enum status cut_page(const struct board_form *form, const struct kept *kept,
                            struct arena *arena, struct board *board, bool *more, struct error *err)
{
    const struct board_rule *rule = &form->rule;
    const size_t limit = (size_t)form->page.limit;
    size_t from = 0, total;
    enum status status;

    if (board_filter_is_empty(&form->filter) && !rule->has_as_of &&
        rule->best == BOARD_BEST_ENTRY) {
        if (form->page.has_key)
            from = kept_skip(kept, rule->by, &form->after);
        status = kept_page(kept, rule->by, from, limit, arena, board, &total, err);
    } else {
        status = kept_rank(kept, rule, arena, board, err);
        if (status != ST_OK)
            return status;
        board_filter_apply(&form->filter, board);
        total = board->item_count;
        if (form->page.has_key)
            from = board_skip(board, &form->after);
        board->items += from;
        board->item_count = total - from < limit ? total - from : limit;
    }
    if (status != ST_OK)
        return status;
    *more = from + board->item_count < total;
    if (form->page.has_key)
        board->not_ranked_count = 0;
    return ST_OK;
}

static enum status make_cursor(const struct board_form *form, const struct board *board,
                               struct arena *arena, struct board_page_bytes *page,
                               struct error *err)
{
    const struct board_key last = board_key_of(&board->items[board->item_count - 1], form->rule.by);
    const struct cursor_value values[] = {{.number = last.value},
                                          {.number = last.date_days},
                                          {.text = str_from_cstr(last.name)},
                                          {.number = last.entry}};
    const char *text = cursor_make(arena, form->page.list, form->page.kinds, values);

    if (text == NULL || strlen(text) >= sizeof page->next)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for a cursor");
    memcpy(page->next, text, strlen(text) + 1);
    return ST_OK;
}
