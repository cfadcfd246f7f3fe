/* agent/train/message.c: what a child says to its parent (see message.h). */
#include "agent/train/message.h"

#include <assert.h>
#include <inttypes.h>

#define ARENA_BYTES_MAX ((size_t)1024 * 1024)
#define COUNT_MAX       (INT64_C(1) << 53)

static const char *const kind_names[MESSAGE_KIND_COUNT] = {
    [MESSAGE_READY] = "ready",   [MESSAGE_BEGIN] = "begin", [MESSAGE_END] = "end",
    [MESSAGE_EVAL] = "eval",     [MESSAGE_STEP] = "step",   [MESSAGE_DONE] = "done",
    [MESSAGE_FAILED] = "failed",
};
static const char *const phase_names[PHASE_COUNT] = {
    [PHASE_SETUP] = "setup",
    [PHASE_TRAIN] = "train",
    [PHASE_EVALUATE] = "evaluate",
    [PHASE_CHECKPOINT] = "checkpoint",
};

const char *message_phase_name(enum message_phase phase)
{
    assert(phase < PHASE_COUNT);
    return phase_names[phase];
}

void message_append(struct buf *out, const struct message *message, struct str facts_text)
{
    buf_appendf(out, "{\"say\":\"%s\"", kind_names[message->kind]);
    switch (message->kind) {
    case MESSAGE_READY:
        buf_append_cstr(out, ",\"facts\":");
        buf_append(out, facts_text);
        break;
    case MESSAGE_BEGIN:
    case MESSAGE_END: buf_appendf(out, ",\"phase\":\"%s\"", phase_names[message->phase]); break;
    case MESSAGE_EVAL:
        buf_appendf(out,
                    ",\"epoch\":%.17g,\"correct\":%" PRId64 ",\"total\":%" PRId64
                    ",\"views\":%" PRId64,
                    message->progress.epoch, message->score.correct, message->score.total,
                    message->score.views);
        if (message->progress.has_loss)
            buf_appendf(out, ",\"loss\":%.17g", message->progress.loss);
        break;
    case MESSAGE_STEP:
        buf_appendf(out, ",\"step\":%" PRId64 ",\"step_count\":%" PRId64, message->progress.step,
                    message->progress.step_count);
        break;
    case MESSAGE_DONE:
        buf_appendf(out, ",\"whole\":%s", message->progress.done ? "true" : "false");
        break;
    case MESSAGE_FAILED:
        buf_appendf(out, ",\"status\":%d,\"text\":", (int)message->failure);
        buf_append_json(out, str_from_cstr(message->text));
        break;
    case MESSAGE_KIND_COUNT: break;
    }
    buf_append_cstr(out, "}\n");
}

static void read_phase(struct json_reader *reader, struct message *message)
{
    struct str text = {0};

    if (!json_read_text(reader, "phase", true, 16, &text))
        return;
    for (int i = 0; i < PHASE_COUNT; i++)
        if (str_eq_cstr(text, phase_names[i])) {
            message->phase = (enum message_phase)i;
            return;
        }
    (void)error_set(reader->err, ST_INVALID, "/phase", "the child named an unknown phase");
}

static void read_failure(struct json_reader *reader, struct message *message)
{
    struct str text = {0};
    int64_t status = ST_INTERNAL;

    (void)json_read_i64(reader, "status", true, ST_OK + 1, STATUS_COUNT - 1, &status);
    (void)json_read_text(reader, "text", true, MESSAGE_BYTES_MAX, &text);
    message->failure = (enum status)status;
    (void)snprintf(message->text, sizeof message->text, "%.*s",
                   (int)str_utf8_cut(text, sizeof message->text - 1), text.data);
}

static void read_members(struct json_reader *reader, struct message *message)
{
    struct workload_progress *progress = &message->progress;
    struct workload_score *score = &message->score;
    const json_t *facts = NULL;

    switch (message->kind) {
    case MESSAGE_READY:
        if (json_read_object(reader, "facts", true, &facts))
            message->facts = json_deep_copy(facts);
        break;
    case MESSAGE_BEGIN:
    case MESSAGE_END: read_phase(reader, message); break;
    case MESSAGE_EVAL:
        (void)json_read_double(reader, "epoch", true, &progress->epoch);
        (void)json_read_i64(reader, "correct", true, 0, COUNT_MAX, &score->correct);
        (void)json_read_i64(reader, "total", true, 1, COUNT_MAX, &score->total);
        (void)json_read_i64(reader, "views", true, 1, 1000, &score->views);
        progress->has_loss = json_read_double(reader, "loss", false, &progress->loss);
        break;
    case MESSAGE_STEP:
        (void)json_read_i64(reader, "step", true, 0, COUNT_MAX, &progress->step);
        (void)json_read_i64(reader, "step_count", true, 0, COUNT_MAX, &progress->step_count);
        break;
    case MESSAGE_DONE: (void)json_read_bool(reader, "whole", true, &progress->done); break;
    case MESSAGE_FAILED: read_failure(reader, message); break;
    case MESSAGE_KIND_COUNT: break;
    }
}

enum status message_parse(struct str line, struct message *message, struct error *err)
{
    struct error fault = {0};
    struct arena arena;
    struct json_doc doc = {0};
    struct json_reader reader;
    struct str kind = {0};
    enum status status;

    *message = (struct message){.kind = MESSAGE_KIND_COUNT};
    arena_init(&arena, ARENA_BYTES_MAX);
    status = json_doc_parse(line, &arena, &doc, &fault);
    if (status != ST_OK)
        goto done;
    json_reader_init(&reader, doc.root, "", &fault);
    if (json_read_text(&reader, "say", true, 16, &kind))
        for (int i = 0; i < MESSAGE_KIND_COUNT; i++)
            if (str_eq_cstr(kind, kind_names[i]))
                message->kind = (enum message_kind)i;
    if (message->kind == MESSAGE_KIND_COUNT)
        (void)error_set(&fault, ST_INVALID, "/say", "the child said an unknown word");
    read_members(&reader, message);
    status = json_reader_finish(&reader);
    if (status == ST_OK && message->kind == MESSAGE_EVAL &&
        message->score.correct > message->score.total)
        status = error_set(&fault, ST_INVALID, "/correct", "the child counted more than all");
done:
    if (status != ST_OK) {
        json_decref(message->facts);
        message->facts = NULL;
        (void)error_set(err, status, fault.field, "not a message of the child: %s", fault.detail);
    }
    json_doc_fini(&doc);
    arena_fini(&arena);
    return status;
}
