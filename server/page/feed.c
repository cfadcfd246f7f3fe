/* server/page/feed.c: see feed.h. */
#include "server/page/feed.h"

#include <inttypes.h>
#include <string.h>

#include "common/clock.h"
#include "common/crypto.h"
#include "server/api/api.h"
#include "server/app.h"
#include "server/page/format.h"
#include "server/page/render.h"
#include "server/store/read.h"

enum { FEED_ENTRIES_MAX = 50 };

static void write_feed(struct request *request, struct response *response, const struct task *task,
                       const struct entry_record *rows, size_t count);
static void write_entry(struct request *request, struct buf *out, const struct entry_record *row);
static void write_figures(struct request *request, struct buf *out, const struct entry_record *row);
static void write_text(struct buf *out, const char *name, const char *text);
static void write_time(struct buf *out, const char *name, int64_t real_ms);
static void write_id(struct request *request, struct buf *out, const char *what);

void handle_get_feed(struct request *request, struct response *response)
{
    const int64_t change_id = store_last_change_id(request->app->store);
    const struct task *task = NULL;
    struct store_reader *reader;
    struct entry_record *rows = NULL;
    struct error err = {0};
    char etag[40];
    size_t count = 0;

    if (request->arg_count > 0) {
        task = api_find_task(request, response);
        if (task == NULL)
            return;
    }
    (void)snprintf(etag, sizeof etag, "f%" PRId64, change_id);
    if (query_finish(&request->query, &err) != ST_OK) {
        response_send_error(response, &err);
        return;
    }
    if (response_send_not_modified(response, etag))
        return;
    reader = api_begin_read(request, response);
    if (reader == NULL)
        return;
    (void)store_list_accepted(reader, request->arena, task == NULL ? NULL : task->id,
                              FEED_ENTRIES_MAX, &rows, &count, &err);
    api_end_read(reader);
    if (err.status != ST_OK)
        response_send_error(response, &err);
    else
        write_feed(request, response, task, rows, count);
}

/* updated: when the newest entry was accepted; of an empty feed 1970, so that it does not change by itself. */
static void write_feed(struct request *request, struct response *response, const struct task *task,
                       const struct entry_record *rows, size_t count)
{
    struct buf *out = response_begin(response, 200, "application/atom+xml; charset=utf-8");
    const char *title = task == NULL
                            ? "Daybreak: accepted entries"
                            : arena_printf(request->arena, "Daybreak: entries of %s", task->title);
    const char *what = task == NULL ? "feed" : arena_printf(request->arena, "feed:%s", task->id);

    buf_append_cstr(out, "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n"
                         "<feed xmlns=\"http://www.w3.org/2005/Atom\">\n");
    write_text(out, "title", title == NULL ? "Daybreak" : title);
    write_id(request, out, what == NULL ? "feed" : what);
    write_time(out, "updated", count == 0 ? 0 : rows[0].accepted_ms.value);
    buf_append_cstr(out, "<link rel=\"self\" type=\"application/atom+xml\" href=\"");
    render_append_attr(out, request->path);
    buf_append_cstr(out, "\"/>\n<link rel=\"alternate\" type=\"text/html\" href=\"");
    if (task != NULL)
        buf_appendf(out, "/tasks/%s", task->id);
    else
        buf_append_char(out, '/');
    buf_append_cstr(out, "\"/>\n<generator>Daybreak</generator>\n");
    for (size_t i = 0; i < count; i++)
        write_entry(request, out, &rows[i]);
    buf_append_cstr(out, "</feed>\n");
}

static void write_entry(struct request *request, struct buf *out, const struct entry_record *row)
{
    const char *what = arena_printf(request->arena, "entry:%" PRId64, row->id);

    buf_append_cstr(out, "<entry>\n");
    write_text(out, "title", row->name);
    write_id(request, out, what == NULL ? row->name : what);
    write_time(out, "updated", row->accepted_ms.value);
    buf_append_cstr(out, "<author>");
    write_text(out, "name", row->author[0] == '\0' ? "unknown" : row->author);
    buf_append_cstr(out, "</author>\n<category term=\"");
    render_append_attr(out, str_from_cstr(row->task));
    buf_appendf(out,
                "\"/>\n<link rel=\"alternate\" type=\"text/html\" href=\"/entries/%" PRId64
                "\"/>\n<summary>",
                row->id);
    write_figures(request, out, row);
    buf_append_cstr(out, "</summary>\n</entry>\n");
}

/* "CIFAR-10 training: ResNet 9 on 8 V100, 51.48 s, $0.350064 (reported)" */
static void write_figures(struct request *request, struct buf *out, const struct entry_record *row)
{
    const struct task *task = task_find(request->app->tasks, str_from_cstr(row->task));

    render_append_html(out, str_from_cstr(task == NULL ? row->task : task->title));
    buf_append_cstr(out, ": ");
    render_append_html(out, str_from_cstr(row->model));
    if (row->hardware[0] != '\0') {
        buf_append_cstr(out, " on ");
        render_append_html(out, str_from_cstr(row->hardware));
    }
    if (row->tta_ns.has)
        buf_appendf(out, ", %.*s", STR_ARG(format_duration(request->arena, row->tta_ns.value)));
    if (row->latency_ns.has)
        buf_appendf(out, ", %.*s ms for one item",
                    STR_ARG(format_exact(request->arena, row->latency_ns.value, 6)));
    if (row->cost_pico.has)
        buf_appendf(out, ", $%.*s",
                    STR_ARG(format_exact(request->arena, row->cost_pico.value, 12)));
    buf_appendf(out, " (%s)", row->tier);
}

static void write_text(struct buf *out, const char *name, const char *text)
{
    buf_appendf(out, "<%s>", name);
    render_append_html(out, str_from_cstr(text));
    buf_appendf(out, "</%s>\n", name);
}

static void write_time(struct buf *out, const char *name, int64_t real_ms)
{
    char text[CLOCK_TEXT_BYTES];

    clock_format_utc(real_ms, text);
    buf_appendf(out, "<%s>%s</%s>\n", name, text, name);
}

/* A UUID of version 8 (RFC 9562) from the digest of the instance and what it is. */
static void write_id(struct request *request, struct buf *out, const char *what)
{
    const char *name =
        arena_printf(request->arena, "%s/%s", store_instance(request->app->store), what);
    char hex[SHA256_HEX_BYTES];

    crypto_sha256_hex(str_from_cstr(name == NULL ? what : name), hex);
    buf_appendf(out, "<id>urn:uuid:%.8s-%.4s-8%.3s-8%.3s-%.12s</id>\n", hex, hex + 8, hex + 12,
                hex + 15, hex + 18);
}
