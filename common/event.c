/* common/event.c: one event of a run as a line of JSON (see event.h). */
#include "common/event.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>

#include "common/json.h"

#define NAME_BYTES_MAX 64
#define TEXT_BYTES_MAX 2048 /* read */
#define TEXT_BYTES_CUT 512  /* written: even when each byte needs six, the line fits its limit */

static const char *const kind_names[EVENT_KIND_COUNT] = {
    [EVENT_RUN_START] = "run_start", [EVENT_PHASE_BEGIN] = "phase_begin",
    [EVENT_PHASE_END] = "phase_end", [EVENT_EVAL] = "eval",
    [EVENT_NOTE] = "note",           [EVENT_RUN_END] = "run_end",
};
static const char *const phases[] = {"setup", "train", "evaluate", "checkpoint"};
static const char *const results[] = {"reached", "missed", "failed"};

const char *event_kind_name(enum event_kind kind)
{
    assert(kind < EVENT_KIND_COUNT);
    return kind_names[kind];
}

static enum status check_word(struct str word, const char *const *known, size_t count,
                              const char *pointer, struct error *err)
{
    for (size_t i = 0; i < count; i++)
        if (str_eq_cstr(word, known[i]))
            return ST_OK;
    return error_set_code(err, ST_INVALID, "unknown_value", pointer, NULL,
                          "%s has a value that is not known", pointer + 1);
}

static enum status parse_kind(struct str text, enum event_kind *kind, struct error *err)
{
    for (int i = 0; i < EVENT_KIND_COUNT; i++)
        if (str_eq_cstr(text, kind_names[i])) {
            *kind = (enum event_kind)i;
            return ST_OK;
        }
    return error_set_code(err, ST_INVALID, "unknown_value", "/kind", NULL,
                          "kind is none of those known");
}

static void read_eval(struct json_reader *reader, struct event *event)
{
    bool has_total;

    (void)json_read_double(reader, "epoch", true, &event->epoch);
    (void)json_read_text(reader, "metric", true, NAME_BYTES_MAX, &event->metric);
    event->has_count =
        json_read_i64(reader, "correct", false, 0, INT64_C(1) << 53, &event->correct);
    has_total = json_read_i64(reader, "total", false, 1, INT64_C(1) << 53, &event->total);
    event->has_value = json_read_double(reader, "value", false, &event->value);
    event->has_loss = json_read_double(reader, "loss", false, &event->loss);
    event->views = 1;
    (void)json_read_i64(reader, "views", false, 1, 1000, &event->views);
    event->has_official =
        json_read_i64(reader, "official_ns", false, 0, EVENT_ELAPSED_NS_MAX, &event->official_ns);
    if (event->has_official)
        (void)json_read_i64(reader, "wall_ns", true, 0, EVENT_ELAPSED_NS_MAX, &event->wall_ns);
    if (event->has_count != has_total)
        (void)error_set_code(reader->err, ST_INVALID, "missing_member",
                             event->has_count ? "/total" : "/correct", NULL,
                             "correct and total go together");
}

static enum status check_eval(const struct event *event, struct error *err)
{
    if (!(event->epoch >= 0.0 && event->epoch <= EVENT_EPOCH_MAX))
        return error_set_code(err, ST_INVALID, "out_of_range", "/epoch", NULL,
                              "epoch is not between 0 and %.0f", EVENT_EPOCH_MAX);
    if (event->has_count == event->has_value)
        return error_set_code(err, ST_INVALID, "missing_member", "/correct", NULL,
                              "an eval has either correct and total, or value");
    if (event->has_count && event->correct > event->total)
        return error_set_code(err, ST_INVALID, "out_of_range", "/correct", NULL,
                              "correct is above total");
    if (event->has_official && event->official_ns > event->wall_ns)
        return error_set_code(err, ST_INVALID, "out_of_range", "/official_ns", NULL,
                              "official_ns is above wall_ns");
    return ST_OK;
}

/* What a kind carries beside seq, kind and the two times. */
static enum status read_members(struct json_reader *reader, struct event *event)
{
    enum status status;

    switch (event->kind) {
    case EVENT_PHASE_BEGIN:
    case EVENT_PHASE_END:
        (void)json_read_text(reader, "phase", true, NAME_BYTES_MAX, &event->phase);
        break;
    case EVENT_EVAL: read_eval(reader, event); break;
    case EVENT_NOTE:
        (void)json_read_text(reader, "text", true, TEXT_BYTES_MAX, &event->text);
        break;
    case EVENT_RUN_END:
        (void)json_read_text(reader, "result", true, NAME_BYTES_MAX, &event->result);
        (void)json_read_text(reader, "text", false, TEXT_BYTES_MAX, &event->text);
        break;
    case EVENT_RUN_START:
    case EVENT_KIND_COUNT: break;
    }
    status = json_reader_finish(reader);
    if (status != ST_OK)
        return status;
    switch (event->kind) {
    case EVENT_PHASE_BEGIN:
    case EVENT_PHASE_END:
        return check_word(event->phase, phases, ARRAY_LEN(phases), "/phase", reader->err);
    case EVENT_RUN_END:
        return check_word(event->result, results, ARRAY_LEN(results), "/result", reader->err);
    case EVENT_EVAL: return check_eval(event, reader->err);
    default: return ST_OK;
    }
}

/* The reader's text belongs to the document, which ends with the call. */
static enum status keep_text(struct arena *arena, struct str *text, struct error *err)
{
    const char *copy;

    if (text->len == 0) {
        *text = (struct str){0};
        return ST_OK;
    }
    copy = arena_copy(arena, *text);
    if (copy == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for an event");
    text->data = copy;
    return ST_OK;
}

enum status event_parse(struct str line, struct arena *arena, struct event *event,
                        struct error *err)
{
    struct error own = {0};
    struct error *fault = err != NULL ? err : &own; /* the reader's steps look at it */
    struct json_doc doc = {0};
    struct json_reader reader;
    struct str kind = {0};
    enum status status;

    *event = (struct event){0};
    if (line.len > EVENT_LINE_BYTES_MAX)
        return error_set_code(fault, ST_LIMIT, "event_too_long", "", NULL,
                              "an event's line has at most %d bytes", EVENT_LINE_BYTES_MAX);
    if (line.len == 0 || line.data[0] != '{' || memchr(line.data, '\n', line.len) != NULL)
        return error_set_code(fault, ST_INVALID, "json_syntax", "", NULL,
                              "an event is one JSON object on one line");
    status = json_doc_parse(line, arena, &doc, fault);
    if (status != ST_OK)
        return status;
    json_reader_init(&reader, doc.root, "", fault);
    (void)json_read_i64(&reader, "seq", true, 1, INT64_MAX, &event->seq);
    if (json_read_text(&reader, "kind", true, NAME_BYTES_MAX, &kind))
        (void)parse_kind(kind, &event->kind, fault);
    (void)json_read_i64(&reader, "mono_ns", true, 0, INT64_MAX, &event->mono_ns);
    (void)json_read_i64(&reader, "real_ms", true, 0, INT64_MAX, &event->real_ms);
    status = fault->status != ST_OK ? fault->status : read_members(&reader, event);
    if (status == ST_OK)
        status = keep_text(arena, &event->phase, fault);
    if (status == ST_OK)
        status = keep_text(arena, &event->metric, fault);
    if (status == ST_OK)
        status = keep_text(arena, &event->text, fault);
    if (status == ST_OK)
        status = keep_text(arena, &event->result, fault);
    json_doc_fini(&doc);
    return status;
}

static void append_text(struct buf *out, const char *key, struct str text)
{
    buf_appendf(out, ",\"%s\":", key);
    buf_append_json(out, text);
}

/* The shortest of 15 and 17 digits that reads back as the same double. */
static void append_number(struct buf *out, const char *key, double number)
{
    char text[40];
    double back = 0.0;

    assert(isfinite(number));
    (void)snprintf(text, sizeof text, "%.15g", number);
    if (!str_parse_double(str_from_cstr(text), &back) || back < number || back > number)
        (void)snprintf(text, sizeof text, "%.17g", number);
    buf_appendf(out, ",\"%s\":%s", key, text);
}

static void append_eval(struct buf *out, const struct event *event)
{
    append_number(out, "epoch", event->epoch);
    append_text(out, "metric", event->metric);
    if (event->has_count)
        buf_appendf(out, ",\"correct\":%" PRId64 ",\"total\":%" PRId64, event->correct,
                    event->total);
    if (event->has_value)
        append_number(out, "value", event->value);
    if (event->has_loss)
        append_number(out, "loss", event->loss);
    buf_appendf(out, ",\"views\":%" PRId64, event->views);
    if (event->has_official)
        buf_appendf(out, ",\"official_ns\":%" PRId64 ",\"wall_ns\":%" PRId64, event->official_ns,
                    event->wall_ns);
}

void event_append(struct buf *out, const struct event *event)
{
    buf_appendf(out,
                "{\"seq\":%" PRId64 ",\"kind\":\"%s\",\"mono_ns\":%" PRId64 ",\"real_ms\":%" PRId64,
                event->seq, event_kind_name(event->kind), event->mono_ns, event->real_ms);
    switch (event->kind) {
    case EVENT_PHASE_BEGIN:
    case EVENT_PHASE_END: append_text(out, "phase", event->phase); break;
    case EVENT_EVAL: append_eval(out, event); break;
    case EVENT_NOTE:
        append_text(out, "text",
                    str_slice(event->text, 0, str_utf8_cut(event->text, TEXT_BYTES_CUT)));
        break;
    case EVENT_RUN_END:
        append_text(out, "result", event->result);
        if (event->text.len > 0)
            append_text(out, "text",
                        str_slice(event->text, 0, str_utf8_cut(event->text, TEXT_BYTES_CUT)));
        break;
    case EVENT_RUN_START:
    case EVENT_KIND_COUNT: break;
    }
    buf_append_char(out, '}');
}
