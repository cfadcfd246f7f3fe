/* server/page/page_work.c: see page_work.h. */
#include "server/page/page_work.h"

#include "common/clock.h"
#include "server/api/boards.h"
#include "server/app.h"
#include "server/page/assets.h"
#include "server/page/format.h"
#include "server/page/pages.h"
#include "server/page/render.h"

#define ADDRESS_BYTES_MAX 4096
#define PAGE_ARENA_BYTES  (64u << 20)

static void release_boards(struct page_work *work);

static enum page_theme read_theme(const struct request *request)
{
    struct str rest = request_header(request, "Cookie"), part;
    const struct str name = STR("theme=");
    bool more = true;

    while (str_split_next(&rest, &more, ';', &part)) {
        part = str_trim(part);
        if (str_starts_with(part, name))
            return layout_theme_parse(str_slice(part, name.len, part.len));
    }
    return THEME_SYSTEM;
}

void page_make_frame(struct request *request, struct arena *arena, struct page_frame *frame)
{
    struct buf here;

    buf_init(&here, ADDRESS_BYTES_MAX);
    buf_append(&here, request->path);
    for (size_t i = 0; i < request->query.count; i++) {
        buf_append_char(&here, i == 0 ? '?' : '&');
        render_append_url(&here, request->query.items[i].name);
        buf_append_char(&here, '=');
        render_append_url(&here, request->query.items[i].value);
    }
    *frame = (struct page_frame){
        .arena = arena,
        .theme = read_theme(request),
        .assets = assets_base(arena),
        .here = str_from_cstr(here.failed ? "/" : arena_copy(arena, buf_str(&here))),
        .now_ms = clock_real_ms(),
        .user = request->csrf == NULL ? NULL : request->caller.name,
        .csrf = request->csrf,
        .may_issue = request->csrf != NULL && (request->caller.scopes & SCOPE_TOKENS) != 0,
    };
    buf_fini(&here);
}

void page_send(struct request *request, struct response *response, page_draw_fn *draw)
{
    struct page_work work = {.request = request, .status = 200};
    struct buf page, *out;

    arena_init(&work.arena, PAGE_ARENA_BYTES);
    buf_init(&page, PAGE_BYTES_MAX);
    page_make_frame(request, &work.arena, &work.frame);
    work.reader = app_reader(request->app, &work.err);
    if (work.reader != NULL && store_reader_begin(work.reader, &work.err) == ST_OK) {
        (void)draw(&work, &page);
        release_boards(&work);
        store_reader_end(work.reader);
    }
    if (work.err.status == ST_OK && (page.failed || work.frame.assets == NULL))
        (void)error_set(&work.err, ST_NO_MEMORY, NULL, "the page is larger than %u bytes",
                        PAGE_BYTES_MAX);
    if (work.err.status != ST_OK) {
        response_send_error(response, &work.err);
    } else {
        response_add_header(response, "Cache-Control",
                            request->csrf == NULL ? "no-cache" : "private, no-store");
        response_add_header(response, "Vary", "Cookie");
        out = response_begin_html(response, work.status);
        buf_append(out, buf_str(&page));
    }
    buf_fini(&page);
    arena_fini(&work.arena);
}

void page_send_private(struct response *response, int status, struct buf *page)
{
    struct error err = {0};

    if (buf_check(page, &err) != ST_OK) {
        response_send_error(response, &err);
        return;
    }
    response_add_header(response, "Cache-Control", "no-store");
    response_add_header(response, "Vary", "Cookie");
    buf_append(response_begin_html(response, status), buf_str(page));
}

struct str page_origin(const struct request *request, struct arena *arena)
{
    const struct str host = request_header(request, "Host");

    return format_text(arena, "%s://%.*s", request->is_secure ? "https" : "http", STR_ARG(host));
}

const struct task *page_find_task(struct page_work *work, struct str id)
{
    const struct task *task = task_find(work->request->app->tasks, id);

    if (task == NULL)
        (void)error_set(&work->err, ST_NOT_FOUND, NULL, "there is no task '%.*s'",
                        (int)str_utf8_cut(id, 64), id.data);
    return task;
}

const struct kept *page_hold_board(struct page_work *work, const struct task *task)
{
    const struct kept *kept = NULL;
    int64_t version;

    if (boards_begin(work->request->app->boards, task, &kept, &version, &work->err) == ST_OK)
        work->held = task;
    return kept;
}

enum status page_hold_all_boards(struct page_work *work, const struct kept **kept)
{
    work->held_all = boards_begin_all(work->request->app->boards, kept, &work->err) == ST_OK;
    return work->err.status;
}

static void release_boards(struct page_work *work)
{
    if (work->held != NULL)
        boards_end(work->request->app->boards, work->held);
    if (work->held_all)
        boards_end_all(work->request->app->boards);
}

enum status page_rank_boards(struct page_work *work, const struct task *task,
                             const struct kept *kept, struct board boards[PAGE_BOARDS_PER_TASK])
{
    static const enum board_by kinds[][PAGE_BOARDS_PER_TASK] = {
        [TASK_TRAIN] = {BOARD_TIME, BOARD_COST},
        [TASK_INFERENCE] = {BOARD_LATENCY, BOARD_INFERENCE_COST},
    };

    for (size_t i = 0; i < PAGE_BOARDS_PER_TASK; i++)
        if (kept_rank(kept, &(struct board_rule){.by = kinds[task->phase][i]}, &work->arena,
                      &boards[i], &work->err) != ST_OK)
            return work->err.status;
    return ST_OK;
}
