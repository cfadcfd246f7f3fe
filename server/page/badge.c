/* server/page/badge.c: see badge.h. */
#include "server/page/badge.h"

#include <assert.h>

#include <inttypes.h>

#include "common/crypto.h"
#include "server/api/api.h"
#include "server/api/boards.h"
#include "server/app.h"
#include "server/page/format.h"
#include "server/page/measure_view.h"
#include "server/store/read.h"

#define BADGE_BYTES_MAX 16384
#define LABEL_WIDTH     66
#define GLYPH_WIDTH     7 /* of Verdana at 11 px, on average, rounded up */
#define ETAG_DIGITS     32

/* "7.svg" */
static enum status read_entry_id(const struct request *request, int64_t *id, struct error *err)
{
    const struct str name = request->args[0], ending = STR(".svg");

    if (!str_ends_with(name, ending) ||
        !str_parse_i64(str_slice(name, 0, name.len - ending.len), id) || *id < 1)
        return error_set(err, ST_NOT_FOUND, NULL, "a badge is /badge/ENTRY.svg");
    return ST_OK;
}

/* Where it stands by time or latency; where it has no place there, by cost. */
static enum status find_place(struct app *app, const struct entry_record *entry,
                              struct badge *badge, struct error *err)
{
    const bool trains = badge->task->phase == TASK_TRAIN;
    const enum board_by kinds[] = {trains ? BOARD_TIME : BOARD_LATENCY,
                                   trains ? BOARD_COST : BOARD_INFERENCE_COST};
    const struct opt_i64 values[] = {trains ? entry->tta_ns : entry->latency_ns,
                                     trains ? entry->cost_pico : entry->inference_cost_pico};
    const struct kept *kept;
    int64_t version;

    if (boards_begin(app->boards, badge->task, &kept, &version, err) != ST_OK)
        return err->status;
    for (size_t i = 0; i < ARRAY_LEN(kinds) && !badge->has_place; i++) {
        badge->by = kinds[i];
        badge->value = values[i].value;
        badge->has_place = values[i].has && kept_find(kept, kinds[i], entry->id, &badge->place);
    }
    boards_end(app->boards, badge->task);
    return ST_OK;
}

void handle_get_badge(struct request *request, struct response *response)
{
    struct entry_record entry = {0};
    struct badge badge = {0};
    struct store_reader *reader;
    struct error err = {0};
    struct buf svg;
    char etag[SHA256_HEX_BYTES];
    int64_t id = 0;

    if (read_entry_id(request, &id, &err) != ST_OK) {
        response_send_error(response, &err);
        return;
    }
    reader = api_begin_read(request, response);
    if (reader == NULL)
        return;
    if (store_get_entry(reader, request->arena, id, &entry, &err) == ST_OK) {
        badge.task = task_find(request->app->tasks, str_from_cstr(entry.task));
        badge.model = entry.model[0] == '\0' ? entry.name : entry.model;
        if (badge.task == NULL)
            (void)error_set(&err, ST_NOT_FOUND, NULL, "its task is none of today's");
        else
            (void)find_place(request->app, &entry, &badge, &err);
    }
    api_end_read(reader);
    if (err.status != ST_OK) {
        response_send_error(response, &err);
        return;
    }
    buf_init(&svg, BADGE_BYTES_MAX);
    page_render_badge(&svg, request->arena, &badge);
    crypto_sha256_hex(buf_str(&svg), etag);
    etag[ETAG_DIGITS] = '\0';
    if (!response_send_not_modified(response, etag)) {
        response_add_header(response, "Content-Security-Policy", "default-src 'none'");
        buf_append(response_begin(response, 200, "image/svg+xml; charset=utf-8"), buf_str(&svg));
    }
    buf_fini(&svg);
}

/* Characters, not bytes. */
static int64_t count_characters(struct str text)
{
    int64_t count = 0;

    for (size_t i = 0; i < text.len; i++)
        count += ((unsigned char)text.data[i] & 0xC0) != 0x80;
    return count;
}

void page_render_badge(struct buf *out, struct arena *arena, const struct badge *badge)
{
    struct badge_view view = {.value = STR("not ranked")};

    assert(badge->task != NULL);
    view.title = format_text(arena, "%s on %s: not ranked", badge->model, badge->task->title);
    if (badge->has_place) {
        const struct str shown = measure_shown(arena, badge->by, badge->value);
        const struct str place = format_text(arena, "%zu%s of %zu", badge->place.place,
                                             badge->place.tied ? "=" : "", badge->place.total);

        view.value = format_text(arena, "#%.*s \u00B7 %.*s", STR_ARG(place), STR_ARG(shown));
        view.title =
            format_text(arena, "%s on %s: place %.*s by %s, %.*s", badge->model, badge->task->title,
                        STR_ARG(place), board_by_name(badge->by), STR_ARG(shown));
    }
    view.value_width = count_characters(view.value) * GLYPH_WIDTH + 12;
    view.width = LABEL_WIDTH + view.value_width;
    view.middle = LABEL_WIDTH + view.value_width / 2;
    template_badge(out, &view);
}
