/* agent/run/lease.c: see lease.h. */
#include "agent/run/lease.h"

#include "common/arena.h"
#include "common/json.h"

#define ARENA_BYTES_MAX  ((size_t)1024 * 1024)
#define EVENTS_BYTES_MAX (INT64_C(4) * 1024 * 1024)

/* Letters, digits, . _ -, and no dot first: such a name can be a folder's and stand in a log line as it is. */
static bool is_plain_name(const char *text)
{
    for (const char *c = text; *c != '\0'; c++)
        if (!((*c >= '0' && *c <= '9') || (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
              *c == '_' || *c == '-' || *c == '.'))
            return false;
    return text[0] != '\0' && text[0] != '.';
}

static void read_lease_text(struct json_reader *reader, const char *key, char out[LEASE_TEXT_BYTES])
{
    struct str text = {0};
    char pointer[16];

    if (!json_read_text(reader, key, true, LEASE_TEXT_BYTES - 1, &text))
        return;
    (void)snprintf(out, LEASE_TEXT_BYTES, "%.*s", STR_ARG(text));
    (void)snprintf(pointer, sizeof pointer, "/%s", key);
    if (!is_plain_name(out))
        (void)error_set(reader->err, ST_INVALID, pointer, "the lease's %s is not a plain name",
                        key);
}

enum status lease_parse(struct str text, struct lease *lease, struct error *err)
{
    struct arena arena;
    struct json_doc doc = {0};
    struct json_reader reader, inner;
    const json_t *limits = NULL;
    enum status status;

    *lease = (struct lease){0};
    arena_init(&arena, ARENA_BYTES_MAX);
    status = json_doc_parse(text, &arena, &doc, err);
    if (status == ST_OK) {
        json_reader_init(&reader, doc.root, "", err);
        (void)json_read_i64(&reader, "job", true, 1, INT64_MAX, &lease->job);
        (void)json_read_i64(&reader, "run", true, 1, INT64_MAX, &lease->run);
        (void)json_read_i64(&reader, "lease_ms", true, 1, INT32_MAX, &lease->lease_ms);
        (void)json_read_i64(&reader, "heartbeat_ms", true, 1, INT32_MAX, &lease->heartbeat_ms);
        (void)json_read_i64(&reader, "task_version", true, 1, INT32_MAX, &lease->task_version);
        (void)json_read_i64(&reader, "resume_seq", true, 0, INT64_MAX, &lease->resume_seq);
        read_lease_text(&reader, "attempt", lease->attempt);
        read_lease_text(&reader, "task", lease->task);
        read_lease_text(&reader, "workload", lease->workload);
        read_lease_text(&reader, "recipe", lease->recipe);
        (void)json_read_object(&reader, "limits", true, &limits);
        status = json_reader_finish(&reader);
    }
    if (status == ST_OK) {
        json_reader_init(&inner, limits, "/limits", err);
        (void)json_read_i64(&inner, "event_bytes", true, 1, INT32_MAX, &lease->event_bytes);
        (void)json_read_i64(&inner, "events_bytes", true, 1, EVENTS_BYTES_MAX,
                            &lease->events_bytes);
        status = json_reader_finish(&inner);
    }
    json_doc_fini(&doc);
    arena_fini(&arena);
    return status;
}
