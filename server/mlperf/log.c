/* server/mlperf/log.c: see log.h. A line is an event when it holds ":::MLPv0.5.0 ", ":::MLL " or ":::MLLOG "; whatever
 * stands before is some logger's prefix. The outer form of every event is read; a value only where a key is kept. */
#include "server/mlperf/log.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/crypto.h"
#include "common/decimal.h"
#include "common/json.h"
#include "server/mlperf/gunzip.h"

enum {
    ID_BYTES = 16, /* of an event's SHA-256: enough that no two differing ones share it */
    IDS_BEGIN = 1024,
    KEPT_TEXT_BYTES_MAX = 256,
    JSON_ARENA_BYTES = 4 << 20
};
#define NS_PER_S INT64_C(1000000000)

struct mlperf_reader {
    struct arena *arena;
    struct mlperf_log *log;
    char *carry; /* the line that is not whole yet, MLPERF_LINE_BYTES_MAX of it at most */
    size_t carry_bytes;
    bool cut;                       /* that line is longer than what is carried */
    unsigned char (*ids)[ID_BYTES]; /* open addressing; all zero: free */
    size_t id_capacity, eval_capacity;
    int line; /* being read, from 1 */
};

/* One event's outer form. */
struct event {
    enum mlperf_format format;
    int line;
    int64_t time_ns;
    struct str time_text, key;
    struct str payload; /* the value as JSON; MLL, MLLOG: the object around value and metadata */
    bool has_payload;
};
/* Its value, for the keys that are kept; texts borrow the document. */
struct value {
    struct json_doc doc;
    struct str raw; /* of the value; len 0: none, or null */
    const json_t *json;
};

static enum status end_line(struct mlperf_reader *reader, struct str line, struct error *err);
static void note_bad(struct mlperf_reader *reader, const char *code, const char *hint,
                     const char *detail);
static bool find_token(struct str line, enum mlperf_format *format, struct str *rest);
static const char *split_mlp(struct str rest, struct event *event);
static const char *split_mll(struct str rest, struct event *event);
static const char *split_mllog(struct str rest, struct arena *scratch, struct event *event);
static bool read_time(struct str text, int64_t unit, int64_t *time_ns);
static bool is_key(struct str text);
static enum status note_id(struct mlperf_reader *reader, const struct event *event, bool *known,
                           struct error *err);
static enum status grow_ids(struct mlperf_reader *reader, struct error *err);
static unsigned char *find_id(struct mlperf_reader *reader, const unsigned char id[ID_BYTES]);
static enum status take_event(struct mlperf_reader *reader, const struct event *event,
                              struct error *err);
static enum status read_value(const struct event *event, struct arena *scratch, struct value *value,
                              struct error *fault);
static enum status take_value(struct mlperf_reader *reader, const struct event *event,
                              const struct value *value, struct error *err);
static void take_stop(struct mlperf_reader *reader, const struct event *event,
                      const struct value *value);
static enum status take_eval(struct mlperf_reader *reader, const struct event *event,
                             const struct value *value, struct error *err);
static void read_label(struct mlperf_reader *reader, const struct value *value, const char *pointer,
                       struct mlperf_eval *eval);
static void read_values(const json_t *json, struct mlperf_eval *eval);
static bool read_number(const json_t *json, double *number);
static struct mlperf_said *find_said(struct mlperf_log *log, struct str key);
static const char *keep_text(struct mlperf_reader *reader, struct str raw);
static void append_python_as_json(struct buf *out, struct str text);

static const struct {
    enum mlperf_format format;
    const char *token;
} tokens[] = {{MLPERF_MLLOG, ":::MLLOG"}, {MLPERF_MLL, ":::MLL"}, {MLPERF_MLP, ":::MLPv0.5.0"}};

const char *mlperf_format_name(enum mlperf_format format)
{
    for (size_t i = 0; i < ARRAY_LEN(tokens); i++)
        if (tokens[i].format == format)
            return tokens[i].token;
    return "none";
}

bool mlperf_format_parse(struct str text, enum mlperf_format *format)
{
    for (size_t i = 0; i < ARRAY_LEN(tokens); i++)
        if (str_eq_cstr(text, tokens[i].token)) {
            *format = tokens[i].format;
            return true;
        }
    return false;
}

enum status mlperf_reader_create(struct arena *arena, struct mlperf_log *log,
                                 struct mlperf_reader **reader, struct error *err)
{
    struct mlperf_reader *made = calloc(1, sizeof *made);

    *log = (struct mlperf_log){.faults = {.arena = arena}, .outcome_text = "unstated"};
    if (made != NULL) {
        made->arena = arena;
        made->log = log;
        made->line = 1;
        made->carry = malloc(MLPERF_LINE_BYTES_MAX);
        made->id_capacity = IDS_BEGIN;
        made->ids = calloc(made->id_capacity, ID_BYTES);
    }
    if (made == NULL || made->carry == NULL || made->ids == NULL) {
        mlperf_reader_destroy(made);
        return error_set(err, ST_NO_MEMORY, NULL, "no memory to read a log");
    }
    *reader = made;
    return ST_OK;
}

enum status mlperf_reader_feed(struct mlperf_reader *reader, struct str bytes, struct error *err)
{
    enum status status = ST_OK;

    assert(reader != NULL);
    while (bytes.len > 0 && status == ST_OK) {
        const char *end = memchr(bytes.data, '\n', bytes.len);
        const size_t part = end == NULL ? bytes.len : (size_t)(end - bytes.data);

        if (end != NULL && reader->carry_bytes == 0 && !reader->cut) {
            reader->cut = part > MLPERF_LINE_BYTES_MAX;
            status = end_line(reader, str_slice(bytes, 0, part), err);
        } else {
            const size_t room = MLPERF_LINE_BYTES_MAX - reader->carry_bytes;
            const size_t taken = part < room ? part : room;

            memcpy(reader->carry + reader->carry_bytes, bytes.data, taken);
            reader->carry_bytes += taken;
            reader->cut = reader->cut || taken < part;
            if (end != NULL)
                status = end_line(reader, (struct str){reader->carry, reader->carry_bytes}, err);
        }
        bytes = str_slice(bytes, part + (end != NULL), bytes.len);
    }
    return status;
}

enum status mlperf_reader_finish(struct mlperf_reader *reader, struct error *err)
{
    enum status status = ST_OK;

    assert(reader != NULL);
    if (reader->carry_bytes > 0) /* the last line need not end */
        status = end_line(reader, (struct str){reader->carry, reader->carry_bytes}, err);
    reader->log->line_count = reader->line - 1;
    return status;
}

void mlperf_reader_destroy(struct mlperf_reader *reader)
{
    if (reader == NULL)
        return;
    free(reader->ids);
    free(reader->carry);
    free(reader);
}

static enum status feed(void *state, struct str bytes, struct error *err)
{
    return mlperf_reader_feed(state, bytes, err);
}

enum status mlperf_log_read(struct str bytes, struct arena *arena, struct mlperf_log *log,
                            struct error *err)
{
    struct mlperf_reader *reader = NULL;
    enum status status;

    if (bytes.len > MLPERF_LOG_BYTES_MAX)
        return error_set_code(err, ST_LIMIT, "too-large", NULL,
                              "Pack it with gzip, or leave out what is not an event of the log.",
                              "a log may have %zu MiB at most", MLPERF_LOG_BYTES_MAX >> 20);
    status = mlperf_reader_create(arena, log, &reader, err);
    if (status == ST_OK)
        status = gunzip_is(bytes) ? gunzip_all(bytes, MLPERF_TEXT_BYTES_MAX, feed, reader, err)
                                  : mlperf_reader_feed(reader, bytes, err);
    if (status == ST_OK)
        status = mlperf_reader_finish(reader, err);
    mlperf_reader_destroy(reader);
    return status;
}

/* A whole line, or, when `cut`, its beginning. */
static enum status end_line(struct mlperf_reader *reader, struct str line, struct error *err)
{
    struct event event = {.line = reader->line};
    const char *fault = NULL;
    enum status status = ST_OK;
    struct arena scratch;
    struct str rest;
    bool known = false;

    if (reader->cut)
        line = str_slice(line, 0, MLPERF_LINE_BYTES_MAX);
    if (find_token(line, &event.format, &rest)) {
        arena_init(&scratch, JSON_ARENA_BYTES);
        rest = str_trim(rest);
        if (reader->cut)
            fault = "the event is longer than 64 KiB";
        else if (!str_is_utf8(rest) || memchr(rest.data, '\0', rest.len) != NULL)
            fault = "the event is not UTF-8 text";
        else if (event.format == MLPERF_MLP)
            fault = split_mlp(rest, &event);
        else if (event.format == MLPERF_MLL)
            fault = split_mll(rest, &event);
        else
            fault = split_mllog(rest, &scratch, &event);
        if (fault != NULL)
            note_bad(reader, "bad_event", "Print events as MLPerf's own logger does.", fault);
        else
            status = note_id(reader, &event, &known, err);
        if (fault == NULL && status == ST_OK && !known)
            status = take_event(reader, &event, err);
        arena_fini(&scratch);
    }
    reader->line++;
    reader->carry_bytes = 0;
    reader->cut = false;
    return status;
}

static void note_bad(struct mlperf_reader *reader, const char *code, const char *hint,
                     const char *detail)
{
    struct error fault = {0};

    (void)error_set_code(&fault, ST_INVALID, code, NULL, hint, "%s", detail);
    fault.line = reader->line;
    reader->log->bad_line_count++;
    (void)fault_list_add(&reader->log->faults, &fault, NULL);
}

static bool find_token(struct str line, enum mlperf_format *format, struct str *rest)
{
    const char *at = line.len == 0 ? NULL : memmem(line.data, line.len, ":::ML", 5);
    struct str text;

    if (at == NULL)
        return false;
    text = str_slice(line, (size_t)(at - line.data), line.len);
    for (size_t i = 0; i < ARRAY_LEN(tokens); i++) {
        const struct str token = str_from_cstr(tokens[i].token);

        if (str_starts_with(text, token) && text.len > token.len && text.data[token.len] == ' ') {
            *format = tokens[i].format;
            *rest = str_slice(text, token.len + 1, text.len);
            return true;
        }
    }
    return false;
}

/* "<benchmark> <unix seconds> (<file>:<line>) <key>[: <json>]"; a blank may stand before that colon. The name of the
 * file may hold blanks and brackets of its own: it ends at the first ") ". Gives what is wrong, or NULL. */
static const char *split_mlp(struct str rest, struct event *event)
{
    const char *close;
    size_t at;

    if (!str_find_char(rest, ' ', &at))
        return "there is no time behind the benchmark's name";
    rest = str_trim(str_slice(rest, at, rest.len));
    if (!str_find_char(rest, ' ', &at))
        return "there is no (file:line) behind the time";
    event->time_text = str_slice(rest, 0, at);
    if (!read_time(event->time_text, NS_PER_S, &event->time_ns))
        return "its time is not a number of seconds";
    rest = str_trim(str_slice(rest, at, rest.len));
    close = rest.len > 0 && rest.data[0] == '(' ? memmem(rest.data, rest.len, ") ", 2) : NULL;
    if (close == NULL)
        return "there is no (file:line) behind the time";
    rest = str_trim(str_slice(rest, (size_t)(close - rest.data) + 2, rest.len));
    event->has_payload = str_find_char(rest, ':', &at);
    event->key = event->has_payload ? str_trim(str_slice(rest, 0, at)) : rest;
    if (event->has_payload)
        event->payload = str_trim(str_slice(rest, at + 1, rest.len));
    return is_key(event->key) ? NULL : "its key is not a word of letters, digits and _";
}

/* "<unix seconds> <key>: {"value": .., "metadata": {..}}" */
static const char *split_mll(struct str rest, struct event *event)
{
    size_t at;

    if (!str_find_char(rest, ' ', &at))
        return "there is no key behind the time";
    event->time_text = str_slice(rest, 0, at);
    if (!read_time(event->time_text, NS_PER_S, &event->time_ns))
        return "its time is not a number of seconds";
    rest = str_trim(str_slice(rest, at, rest.len));
    if (!str_find_char(rest, ':', &at))
        return "there is no value behind the key";
    event->key = str_trim(str_slice(rest, 0, at));
    event->payload = str_trim(str_slice(rest, at + 1, rest.len));
    event->has_payload = true;
    return is_key(event->key) ? NULL : "its key is not a word of letters, digits and _";
}

/* One JSON object with time_ms, key, value, metadata. */
static const char *split_mllog(struct str rest, struct arena *scratch, struct event *event)
{
    const struct json_place *time, *key;
    const char *fault = NULL;
    struct json_doc doc = {0};

    if (json_doc_parse(rest, scratch, &doc, NULL) != ST_OK)
        return "it is not one JSON object";
    time = json_doc_find(&doc, "/time_ms");
    key = json_doc_find(&doc, "/key");
    if (time == NULL || !read_time(time->raw, NS_PER_MS, &event->time_ns))
        fault = "time_ms is not a number of milliseconds";
    else if (key == NULL || key->raw.len < 2 || !is_key(str_slice(key->raw, 1, key->raw.len - 1)))
        fault = "its key is not a word of letters, digits and _";
    if (fault == NULL) {
        event->key = str_slice(key->raw, 1, key->raw.len - 1);
        event->time_text = time->raw;
        event->payload = rest;
        event->has_payload = true;
    }
    json_doc_fini(&doc);
    return fault;
}

static bool read_time(struct str text, int64_t unit, int64_t *time_ns)
{
    struct decimal value;

    return decimal_parse(text, true, &value, NULL, NULL) == ST_OK && !value.negative &&
           decimal_scale(value, unit, time_ns, NULL) == ST_OK;
}

static bool is_key(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        const char c = text.data[i];

        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              c == '_'))
            return false;
    }
    return text.len > 0 && text.len <= 128;
}

/* Whether an event equal in time, key and payload came before. */
static enum status note_id(struct mlperf_reader *reader, const struct event *event, bool *known,
                           struct error *err)
{
    static const unsigned char free_id[ID_BYTES];
    const struct str parts[] = {event->time_text, event->key, event->payload};
    struct sha256 *hash = sha256_create();
    unsigned char digest[SHA256_BYTES], *place;

    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        sha256_update(hash, parts[i].data, parts[i].len);
        sha256_update(hash, "", 1); /* no two run together: an event has no NUL */
    }
    sha256_finish(hash, digest);
    digest[0] |= 1; /* never all zero */
    place = find_id(reader, digest);
    *known = memcmp(place, free_id, ID_BYTES) != 0;
    if (*known)
        return ST_OK;
    if (reader->log->event_count == MLPERF_EVENTS_MAX)
        return error_set_code(err, ST_LIMIT, "too_many_events", NULL,
                              "Leave out events that no rule asks for.",
                              "it has more than %d events", MLPERF_EVENTS_MAX);
    memcpy(place, digest, ID_BYTES);
    reader->log->event_count++;
    return reader->log->event_count * 2 > reader->id_capacity ? grow_ids(reader, err) : ST_OK;
}

static enum status grow_ids(struct mlperf_reader *reader, struct error *err)
{
    static const unsigned char free_id[ID_BYTES];
    unsigned char(*old)[ID_BYTES] = reader->ids;
    const size_t count = reader->id_capacity;

    reader->ids = calloc(count * 2, ID_BYTES);
    if (reader->ids == NULL) {
        reader->ids = old;
        return error_set(err, ST_NO_MEMORY, NULL, "no memory to read a log");
    }
    reader->id_capacity = count * 2;
    for (size_t i = 0; i < count; i++)
        if (memcmp(old[i], free_id, ID_BYTES) != 0)
            memcpy(find_id(reader, old[i]), old[i], ID_BYTES);
    free(old);
    return ST_OK;
}

/* Where it stands, or where it would. */
static unsigned char *find_id(struct mlperf_reader *reader, const unsigned char id[ID_BYTES])
{
    static const unsigned char free_id[ID_BYTES];
    uint64_t at;

    memcpy(&at, id + 8, sizeof at);
    for (at &= reader->id_capacity - 1;; at = (at + 1) & (reader->id_capacity - 1))
        if (memcmp(reader->ids[at], id, ID_BYTES) == 0 ||
            memcmp(reader->ids[at], free_id, ID_BYTES) == 0)
            return reader->ids[at];
}

static enum status take_event(struct mlperf_reader *reader, const struct event *event,
                              struct error *err)
{
    static const char *const plain[] = {"run_start", "run_clear_caches", "cache_clear"};
    static const char *const valued[] = {"run_stop", "eval_accuracy", "eval_error"};
    struct mlperf_log *log = reader->log;
    bool wanted = find_said(log, event->key) != NULL;
    struct value value = {0};
    struct error fault = {0};
    struct arena scratch;
    enum status status = ST_OK;

    if (log->format == MLPERF_NO_FORMAT) {
        log->format = event->format;
        log->first_line = event->line;
    }
    if (str_eq_cstr(event->key, plain[0])) {
        if (!log->has_start) {
            log->has_start = true;
            log->start_line = event->line;
            log->start_ns = event->time_ns;
        }
        log->start_count++;
    } else if (log->has_start && log->clear_line == 0 &&
               (str_eq_cstr(event->key, plain[1]) || str_eq_cstr(event->key, plain[2]))) {
        log->clear_line = event->line;
    }
    for (size_t i = 0; i < ARRAY_LEN(valued); i++)
        wanted = wanted || str_eq_cstr(event->key, valued[i]);
    if (!wanted)
        return ST_OK;
    arena_init(&scratch, JSON_ARENA_BYTES);
    if (read_value(event, &scratch, &value, &fault) != ST_OK)
        note_bad(reader, "bad_value", "Print the value as JSON.",
                 "its value is neither JSON nor a Python literal");
    else
        status = take_value(reader, event, &value, err);
    json_doc_fini(&value.doc);
    arena_fini(&scratch);
    return status;
}

static enum status read_value(const struct event *event, struct arena *scratch, struct value *value,
                              struct error *fault)
{
    const char *pointer = event->format == MLPERF_MLP ? "" : "/value";
    const struct json_place *place;
    enum status status;
    struct buf json;

    if (!event->has_payload)
        return ST_OK;
    status = json_doc_parse(event->payload, scratch, &value->doc, NULL);
    if (status != ST_OK && event->format == MLPERF_MLL) { /* Intel prints Python's dict */
        buf_init(&json, 4 * MLPERF_LINE_BYTES_MAX);
        append_python_as_json(&json, event->payload);
        status = buf_check(&json, fault);
        if (status == ST_OK) {
            const char *text = arena_copy(scratch, buf_str(&json));

            status = text == NULL ? ST_NO_MEMORY
                                  : json_doc_parse((struct str){text, json.len}, scratch,
                                                   &value->doc, fault);
        }
        buf_fini(&json);
    }
    if (status != ST_OK)
        return status;
    place = json_doc_find(&value->doc, pointer);
    value->json =
        event->format == MLPERF_MLP ? value->doc.root : json_object_get(value->doc.root, "value");
    if (place != NULL && !json_is_null(value->json))
        value->raw = place->raw;
    return ST_OK;
}

static enum status take_value(struct mlperf_reader *reader, const struct event *event,
                              const struct value *value, struct error *err)
{
    struct mlperf_said *said = find_said(reader->log, event->key);

    if (said != NULL) {
        if (said->text == NULL && value->raw.len > 0) {
            said->text = keep_text(reader, value->raw);
            said->line = event->line;
        }
        return ST_OK;
    }
    if (str_eq(event->key, STR("run_stop"))) {
        take_stop(reader, event, value);
        return ST_OK;
    }
    return take_eval(reader, event, value, err);
}

/* v0.5: nothing, {"success": true} or {"success": "true"}; later: metadata.status. */
static void take_stop(struct mlperf_reader *reader, const struct event *event,
                      const struct value *value)
{
    struct mlperf_log *log = reader->log;
    const json_t *said =
        event->format == MLPERF_MLP
            ? json_object_get(value->json, "success")
            : json_object_get(json_object_get(value->doc.root, "metadata"), "status");
    const char *word = json_string_value(said);

    log->has_stop = true;
    log->stop_line = event->line;
    log->stop_ns = event->time_ns;
    log->stop_count++;
    log->outcome = MLPERF_UNSTATED;
    log->outcome_text = "unstated";
    if (json_is_true(said) ||
        (word != NULL && (strcasecmp(word, "true") == 0 || strcasecmp(word, "success") == 0))) {
        log->outcome = MLPERF_SUCCESS;
        log->outcome_text = "success";
    } else if (json_is_false(said) || (word != NULL && strcasecmp(word, "false") == 0)) {
        log->outcome = MLPERF_FAILURE;
        log->outcome_text = "failure";
    } else if (word != NULL) {
        const char *text = keep_text(reader, str_from_cstr(word));

        log->outcome = MLPERF_FAILURE;
        log->outcome_text = text == NULL ? "failure" : text;
    }
}

static enum status take_eval(struct mlperf_reader *reader, const struct event *event,
                             const struct value *value, struct error *err)
{
    struct mlperf_log *log = reader->log;
    struct mlperf_eval eval = {.line = event->line, .time_ns = event->time_ns};
    const bool mlp = event->format == MLPERF_MLP;
    const json_t *json = mlp ? json_object_get(value->json, "value") : value->json;
    const struct json_place *place = json_doc_find(&value->doc, "/value");

    if (log->eval_count == MLPERF_EVALS_MAX)
        return error_set_code(err, ST_LIMIT, "too_many_events", NULL,
                              "Leave out evaluations that the rules do not ask for.",
                              "it has more than %d evaluations", MLPERF_EVALS_MAX);
    if (log->eval_count == reader->eval_capacity) {
        const size_t capacity = reader->eval_capacity * 2 + 32;
        struct mlperf_eval *more = ARENA_NEW_ARRAY(reader->arena, capacity, struct mlperf_eval);

        if (more == NULL)
            return error_set(err, ST_NO_MEMORY, NULL, "no memory to read a log");
        if (log->eval_count > 0)
            memcpy(more, log->evals, log->eval_count * sizeof *more);
        log->evals = more;
        reader->eval_capacity = capacity;
    }
    read_label(reader, value, mlp ? "/epoch" : "/metadata/epoch_num", &eval);
    if (!eval.has_label && !mlp)
        read_label(reader, value, "/metadata/samples_count", &eval);
    read_values(json, &eval);
    eval.value_text = place == NULL ? "" : keep_text(reader, place->raw);
    if (eval.value_text == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory to read a log");
    log->evals[log->eval_count++] = eval;
    if (eval.value_count == 0)
        note_bad(reader, "bad_value", "Log the metric as a number.",
                 "the evaluation's value is not a number");
    return ST_OK;
}

static void read_label(struct mlperf_reader *reader, const struct value *value, const char *pointer,
                       struct mlperf_eval *eval)
{
    const struct json_place *place = json_doc_find(&value->doc, pointer);

    if (place == NULL)
        return;
    eval->label_text = keep_text(reader, place->raw);
    eval->has_label =
        eval->label_text != NULL && str_parse_double(str_from_cstr(eval->label_text), &eval->label);
}

/* A number, a text that is one, [box, mask], {"accuracy": number} or {"accuracy": {"BBOX": .., "SEGM": ..}}. */
static void read_values(const json_t *json, struct mlperf_eval *eval)
{
    const json_t *inner = json_object_get(json, "accuracy");
    const json_t *parts[MLPERF_VALUES_MAX] = {json, NULL};

    if (inner != NULL)
        parts[0] = inner;
    if (json_is_array(parts[0])) {
        parts[1] = json_array_get(parts[0], 1);
        parts[0] = json_array_get(parts[0], 0);
    } else if (json_is_object(parts[0])) {
        parts[1] = json_object_get(parts[0], "SEGM");
        parts[0] = json_object_get(parts[0], "BBOX");
    }
    while (eval->value_count < MLPERF_VALUES_MAX && parts[eval->value_count] != NULL &&
           read_number(parts[eval->value_count], &eval->values[eval->value_count]))
        eval->value_count++;
}

static bool read_number(const json_t *json, double *number)
{
    if (json_is_string(json))
        return str_parse_double(str_from_cstr(json_string_value(json)), number);
    if (!json_is_number(json))
        return false;
    *number = json_number_value(json);
    return isfinite(*number);
}

static struct mlperf_said *find_said(struct mlperf_log *log, struct str key)
{
    const struct {
        const char *key;
        struct mlperf_said *said;
    } kept[] = {
        {"input_batch_size", &log->batch},
        {"global_batch_size", &log->batch},
        {"eval_target", &log->target},
        {"target_accuracy", &log->target},
        {"submission_benchmark", &log->benchmark},
        {"submission_org", &log->organisation},
        {"submission_platform", &log->platform},
        {"submission_division", &log->division},
        {"submission_status", &log->hardware_status},
    };

    for (size_t i = 0; i < ARRAY_LEN(kept); i++)
        if (str_eq_cstr(key, kept[i].key))
            return kept[i].said;
    return NULL;
}

/* The bytes of a value, of a text without its quotes; a control byte, which only an escape could name, stays one. */
static const char *keep_text(struct mlperf_reader *reader, struct str raw)
{
    if (raw.len >= 2 && raw.data[0] == '"')
        raw = str_slice(raw, 1, raw.len - 1);
    return arena_copy(reader->arena, str_slice(raw, 0, str_utf8_cut(raw, KEPT_TEXT_BYTES_MAX)));
}

/* 'text' becomes "text", True, False and None their words; all else stays. What was no literal stays none. */
static void append_python_as_json(struct buf *out, struct str text)
{
    static const struct {
        const char *python, *json;
    } words[] = {{"True", "true"}, {"False", "false"}, {"None", "null"}};
    char quote = '\0';

    for (size_t i = 0; i < text.len; i++) {
        const char c = text.data[i];
        const struct str rest = str_slice(text, i, text.len);
        size_t w = 0;

        if (quote != '\0') {
            if (c == '\\' && i + 1 < text.len) {
                i++;
                if (text.data[i] != '\'')
                    buf_append_char(out, '\\');
                buf_append_char(out, text.data[i]);
            } else if (c == quote) {
                quote = '\0';
                buf_append_char(out, '"');
            } else {
                buf_append_cstr(out, c == '"' ? "\\\"" : (char[]){c, '\0'});
            }
            continue;
        }
        while (w < ARRAY_LEN(words) && !str_starts_with(rest, str_from_cstr(words[w].python)))
            w++;
        if (w < ARRAY_LEN(words)) {
            buf_append_cstr(out, words[w].json);
            i += strlen(words[w].python) - 1;
        } else if (c == '\'' || c == '"') {
            quote = c;
            buf_append_char(out, '"');
        } else {
            buf_append_char(out, c);
        }
    }
}
