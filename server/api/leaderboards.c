/* server/api/leaderboards.c: GET /v1/leaderboards/{task}: ranked by server/rank, written by it, cached here. */
#include <inttypes.h>
#include <strings.h>

#include "common/clock.h"
#include "server/api/api.h"
#include "server/api/board_cache.h"
#include "server/api/board_load.h"
#include "server/api/boards.h"
#include "server/app.h"
#include "server/rank/board_write.h"

#define BOARD_LIST "leaderboard" /* of cursors: the last entry that was shown */

struct board_form { /* what was asked for */
    const struct task *task;
    enum board_by by;
    bool csv, has_as_of, has_from, has_to;
    int64_t as_of_days, from_days, to_days;
    struct str tier, framework, hardware;
    int64_t limit, cursor;
};

enum { FACET_BYTES_MAX = 200 };

static enum status read_form(struct request *request, struct board_form *form, struct error *err);
static void read_form_by(struct request *request, struct board_form *form, struct error *err);
static enum status write_board(const struct board_form *form, const struct kept *kept,
                               struct arena *arena, struct buf *out, struct error *err);
static void filter_board(const struct board_form *form, struct board *board);
static bool is_wanted(const struct board_form *form, const struct board_entry *row);
static bool holds_text(const char *text, struct str part);
static enum status cut_page(const struct board_form *form, struct board *board, int64_t *next,
                            struct error *err);
static struct shared_bytes *make_bytes(struct request *request, const struct board_form *form,
                                       struct str key, int64_t *version, struct error *err);

void handle_get_leaderboard(struct request *request, struct response *response)
{
    struct board_form form = {.task = api_find_task(request, response)};
    struct shared_bytes *bytes = NULL;
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
    key = str_from_cstr(arena_printf(request->arena, "%c%.*s?%.*s", form.csv ? 'c' : 'j',
                                     STR_ARG(request->path), STR_ARG(request->query.text)));
    bytes = board_cache_get(request->app->board_bytes, key, version);
    if (bytes == NULL) {
        bytes = make_bytes(request, &form, key, &version, &err);
        if (bytes == NULL) {
            response_send_error(response, &err);
            return;
        }
    }
    (void)snprintf(etag, sizeof etag, "b%" PRId64 "%s", version, form.csv ? "c" : "j");
    response_add_header(response, "Vary", "Accept");
    if (response_send_not_modified(response, etag))
        shared_bytes_release(bytes);
    else
        response_send_shared(response, bytes,
                             form.csv ? "text/csv; charset=utf-8" : "application/json");
}

static enum status read_form(struct request *request, struct board_form *form, struct error *err)
{
    static const char *const tiers[] = {"reported", "witnessed", "reproduced", NULL};
    struct query *query = &request->query;
    struct api_page page = {.list = BOARD_LIST, .kinds = "i"};
    const char *tier = "";

    read_form_by(request, form, err);
    (void)query_read_date(query, "as_of", &form->has_as_of, &form->as_of_days, err);
    (void)query_read_date(query, "from", &form->has_from, &form->from_days, err);
    (void)query_read_date(query, "to", &form->has_to, &form->to_days, err);
    (void)query_read_word(query, "tier", tiers, &tier, err);
    form->tier = str_from_cstr(tier);
    api_page_read(request, &page, err);
    form->limit = page.limit;
    form->cursor = page.has_key ? page.key[0].number : 0;
    (void)query_read_phrase(query, "framework", FACET_BYTES_MAX, &form->framework, err);
    (void)query_read_phrase(query, "hardware", FACET_BYTES_MAX, &form->hardware, err);
    api_read_format(request, &form->csv, err);
    return query_finish(query, err);
}

static void read_form_by(struct request *request, struct board_form *form, struct error *err)
{
    static const char *const words[] = {"time",    "cost",           "energy",
                                        "latency", "inference-cost", NULL};
    const char *by = NULL;

    form->by = form->task->phase == TASK_TRAIN ? BOARD_TIME : BOARD_LATENCY;
    (void)query_read_word(&request->query, "by", words, &by, err);
    if (by == NULL || !board_by_parse(str_from_cstr(by), &form->by) ||
        board_by_fits(form->by, form->task))
        return;
    (void)request_fault(request, "no-such-board", "by", NULL, err, "%s has no board by %s",
                        form->task->id, by);
}

/* What is kept under a version is that version's. */
static struct shared_bytes *make_bytes(struct request *request, const struct board_form *form,
                                       struct str key, int64_t *version, struct error *err)
{
    struct shared_bytes *bytes = NULL;
    const struct kept *kept;
    struct arena arena;
    struct buf out;

    if (boards_begin(request->app->boards, form->task, &kept, version, err) != ST_OK)
        return NULL;
    arena_init(&arena, BOARD_ARENA_BYTES);
    buf_init(&out, RESPONSE_BODY_BYTES_MAX);
    if (write_board(form, kept, &arena, &out, err) == ST_OK && buf_check(&out, err) == ST_OK) {
        bytes = shared_bytes_create(buf_str(&out));
        if (bytes == NULL)
            (void)error_set(err, ST_NO_MEMORY, NULL, "no memory for the board");
        else
            board_cache_put(request->app->board_bytes, key, *version, bytes);
    }
    boards_end(request->app->boards, form->task);
    buf_fini(&out);
    arena_fini(&arena);
    return bytes;
}

static enum status write_board(const struct board_form *form, const struct kept *kept,
                               struct arena *arena, struct buf *out, struct error *err)
{
    const char *cursor = NULL;
    char as_of[CLOCK_TEXT_BYTES];
    struct board board;
    int64_t next = 0;
    const struct board_rule rule = {
        .by = form->by, .has_as_of = form->has_as_of, .as_of_days = form->as_of_days};
    enum status status = kept_rank(kept, &rule, arena, &board, err);

    if (status != ST_OK)
        return status;
    filter_board(form, &board);
    status = cut_page(form, &board, &next, err);
    if (status != ST_OK)
        return status;
    clock_format_days(form->as_of_days, as_of);
    if (next > 0)
        cursor = cursor_make(arena, BOARD_LIST, "i", &(struct cursor_value){.number = next});
    if (form->csv)
        board_write_csv(out, &board);
    else
        board_write_json(out, &board, form->has_as_of ? as_of : NULL, cursor);
    return ST_OK;
}

/* Keeps what is wanted, with the places of the whole board. */
static void filter_board(const struct board_form *form, struct board *board)
{
    size_t kept = 0;

    for (size_t i = 0; i < board->item_count; i++)
        if (is_wanted(form, board->items[i].row))
            board->items[kept++] = board->items[i];
    board->item_count = kept;
    kept = 0;
    for (size_t i = 0; i < board->not_ranked_count; i++)
        if (is_wanted(form, board->not_ranked[i].row))
            board->not_ranked[kept++] = board->not_ranked[i];
    board->not_ranked_count = kept;
}

static bool is_wanted(const struct board_form *form, const struct board_entry *row)
{
    return (form->tier.len == 0 || str_eq_cstr(form->tier, row->tier)) &&
           holds_text(row->framework, form->framework) &&
           holds_text(row->hardware, form->hardware) &&
           (!form->has_from || row->date_days >= form->from_days) &&
           (!form->has_to || row->date_days <= form->to_days);
}

static bool holds_text(const char *text, struct str part)
{
    const size_t length = text == NULL ? 0 : strlen(text);

    for (size_t i = 0; part.len > 0 && i + part.len <= length; i++)
        if (strncasecmp(text + i, part.data, part.len) == 0)
            return true;
    return part.len == 0;
}

/* The cursor is the last entry that was shown: what came or went before it shifts nothing. */
static enum status cut_page(const struct board_form *form, struct board *board, int64_t *next,
                            struct error *err)
{
    const size_t limit = (size_t)form->limit;
    size_t from = 0;

    while (form->cursor > 0 && from < board->item_count &&
           board->items[from].row->entry != form->cursor)
        from++;
    if (form->cursor > 0 && from == board->item_count)
        return error_set_code(err, ST_INVALID, "bad_parameter", "cursor", "begin at the first page",
                              "the cursor's entry is not on this board");
    if (form->cursor > 0)
        from++;
    board->items += from;
    board->item_count -= from;
    if (board->item_count > limit) {
        board->item_count = limit;
        *next = board->items[limit - 1].row->entry;
    }
    return ST_OK;
}
