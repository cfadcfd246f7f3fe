/* server/api/attempt.c: POST /v1/agent/attempts/{attempt}/heartbeat|events|finish|release|profile: what an agent says while it
 * holds a lease. The attempt is the fence: the store refuses a late one in the same transaction. */
#include "common/event.h"
#include "common/run_profile.h"
#include "server/api/api.h"
#include "server/api/boards.h"
#include "server/api/json_out.h"
#include "server/app.h"
#include "server/store/read.h"

enum { EVENTS_MAX = 4096, DETAIL_BYTES_MAX = 512 };

static enum status read_fence(struct request *request, int64_t *agent_id, struct str *fence,
                              struct error *err);
static struct str keep(struct request *request, struct str text, struct error *err);
static enum status read_heartbeat(struct request *request, struct attempt_heartbeat *args,
                                  struct error *err);
static void send_heartbeat(struct request *request, struct response *response);
static enum status read_events(struct request *request, struct append_events *args,
                               struct error *err);
static void send_events(struct request *request, struct response *response);
static enum status read_finish(struct request *request, struct finish *args, struct error *err);
static void send_finish(struct request *request, struct response *response);
static enum status find_place(struct request *request, const struct finish *args,
                              struct opt_i64 *place, struct error *err);
static enum status read_release(struct request *request, struct release *args, struct error *err);
static void send_release(struct request *request, struct response *response);
static enum status read_profile(struct request *request, struct put_profile *args,
                                struct error *err);
static void send_profile(struct request *request, struct response *response);
static void send_gap(struct response *response, const struct error *err, int64_t expected_seq);

/* All alike: read, push, and on the second call send. */
#define DEFINE_HANDLER(name, type, verb_name, read, send)                                       \
    void name(struct request *request, struct response *response)                               \
    {                                                                                           \
        struct error err = {0};                                                                 \
        struct type *args;                                                                      \
                                                                                                \
        if (request->step > 0) {                                                                \
            send(request, response);                                                            \
            return;                                                                             \
        }                                                                                       \
        args = ARENA_NEW(request->arena, struct type);                                          \
        if (args == NULL)                                                                       \
            (void)error_set(&err, ST_NO_MEMORY, NULL, "no memory for a command");               \
        else if (read_fence(request, &args->agent_id, &args->fence, &err) == ST_OK)             \
            (void)read(request, args, &err);                                                    \
        if (err.status != ST_OK)                                                                \
            response_send_error(response, &err);                                                \
        else                                                                                    \
            api_push(request, response, &(struct api_push){.verb = (verb_name), .args = args}); \
    }

DEFINE_HANDLER(handle_heartbeat, attempt_heartbeat, verb_heartbeat, read_heartbeat, send_heartbeat)
DEFINE_HANDLER(handle_events, append_events, verb_append_events, read_events, send_events)
DEFINE_HANDLER(handle_finish, finish, verb_finish, read_finish, send_finish)
DEFINE_HANDLER(handle_release, release, verb_release, read_release, send_release)
DEFINE_HANDLER(handle_put_profile, put_profile, verb_put_profile, read_profile, send_profile)

static enum status read_fence(struct request *request, int64_t *agent_id, struct str *fence,
                              struct error *err)
{
    *agent_id = request->caller.agent_id;
    *fence = request->args[0];
    if (fence->len >= FENCE_BYTES)
        return error_set_code(err, ST_NOT_FOUND, "attempt-unknown", NULL, NULL,
                              "there is no such attempt");
    return ST_OK;
}

static struct str keep(struct request *request, struct str text, struct error *err)
{
    const char *copy = arena_copy(request->arena, text);

    if (copy == NULL)
        (void)error_set(err, ST_NO_MEMORY, NULL, "no memory for a command");
    return (struct str){copy == NULL ? "" : copy, copy == NULL ? 0 : text.len};
}

static enum status read_heartbeat(struct request *request, struct attempt_heartbeat *args,
                                  struct error *err)
{
    static const char *const phases[] = {"setup",   "train",  "evaluate", "checkpoint",
                                         "profile", "finish", NULL};
    struct json_reader reader;
    struct json_doc doc;
    const char *phase = "";

    if (request_read_json(request, &doc, &reader, err) != ST_OK)
        return err->status;
    (void)json_read_word(&reader, "phase", true, phases, &phase);
    (void)json_reader_finish(&reader);
    args->phase = str_from_cstr(phase);
    json_doc_fini(&doc);
    return err->status;
}

static void send_heartbeat(struct request *request, struct response *response)
{
    const struct command *command = &api_step(request)->command;
    const struct attempt_heartbeat *args = command->args;
    struct json_out out;

    if (command->status != ST_OK) {
        response_send_error(response, &command->err);
        return;
    }
    out = (struct json_out){response_begin(response, 200, "application/json"), false};
    json_out_begin(&out, NULL, '{');
    json_out_i64(&out, "lease_ms", args->lease_ms);
    json_out_i64(&out, "heartbeat_ms", args->heartbeat_ms);
    json_out_bool(&out, "cancel", args->cancel);
    json_out_end(&out, '}');
}

/* Lines as they are: what is stored and hashed are the bytes that came. */
static enum status read_events(struct request *request, struct append_events *args,
                               struct error *err)
{
    struct str rest = request->body, line;
    struct event_line *lines;
    size_t count = 0;
    bool more = true;

    (void)query_finish(&request->query, err);
    if (str_ends_with(rest, STR("\n")))
        rest = str_slice(rest, 0, rest.len - 1);
    for (size_t i = 0; i < rest.len; i++)
        count += rest.data[i] == '\n';
    if (++count > EVENTS_MAX)
        return error_set_code(err, ST_LIMIT, "too_many_events", NULL, NULL,
                              "one body may have %d events at most", EVENTS_MAX);
    lines = ARENA_NEW_ARRAY(request->arena, count, struct event_line);
    if (lines == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for the events");
    count = 0;
    while (str_split_next(&rest, &more, '\n', &line)) {
        struct error fault = {0};

        if (line.len > EVENT_LINE_BYTES_MAX)
            return error_set_code(err, ST_LIMIT, "body-too-large", NULL, NULL,
                                  "an event may have %d bytes at most", EVENT_LINE_BYTES_MAX);
        lines[count].line = line;
        if (event_parse(line, request->arena, &lines[count].event, &fault) != ST_OK) {
            fault.line = (int)count + 1;
            (void)fault_list_add(&request->faults, &fault, err);
        }
        count++;
    }
    args->lines = lines;
    args->count = count;
    return err->status;
}

static void send_events(struct request *request, struct response *response)
{
    const struct command *command = &api_step(request)->command;
    const struct append_events *args = command->args;
    struct json_out out;

    if (command->status != ST_OK) {
        send_gap(response, &command->err, args->expected_seq);
        return;
    }
    out = (struct json_out){response_begin(response, 200, "application/json"), false};
    json_out_begin(&out, NULL, '{');
    json_out_i64(&out, "ack_seq", args->ack_seq);
    if (args->has_seed)
        json_out_i64(&out, "seed", args->seed);
    json_out_end(&out, '}');
}

static enum status read_finish(struct request *request, struct finish *args, struct error *err)
{
    static const char *const results[] = {"reached", "missed", "failed", "cancelled", NULL};
    struct str detail = {0}, plan = {0};
    const char *result = "";
    struct json_reader reader;
    struct json_doc doc;

    if (request_read_json(request, &doc, &reader, err) != ST_OK)
        return err->status;
    (void)json_read_i64(&reader, "last_seq", true, 0, INT64_MAX, &args->last_seq);
    (void)json_read_word(&reader, "result", true, results, &result);
    (void)json_read_text(&reader, "detail", false, DETAIL_BYTES_MAX, &detail);
    (void)json_read_text(&reader, "plan", false, DETAIL_BYTES_MAX, &plan);
    if (json_reader_finish(&reader) == ST_OK) {
        args->result = str_from_cstr(result);
        args->detail = keep(request, detail, err);
        args->plan = keep(request, plan, err);
    }
    json_doc_fini(&doc);
    return err->status;
}

static void send_finish(struct request *request, struct response *response)
{
    const struct command *command = &api_step(request)->command;
    const struct finish *args = command->args;
    struct opt_i64 place = {0};
    struct error err = {0};
    struct json_out out;

    if (command->status != ST_OK) {
        send_gap(response, &command->err, args->expected_seq);
        return;
    }
    if (find_place(request, args, &place, &err) != ST_OK)
        place.has = false; /* what was asked is done and stored: the place is an extra */
    out = (struct json_out){response_begin(response, 200, "application/json"), false};
    json_out_begin(&out, NULL, '{');
    json_out_i64(&out, "run", args->run_id);
    json_out_i64(&out, "entry", args->entry_id);
    json_out_text(&out, "state", args->run_state);
    json_out_decimal(&out, "tta_s", args->tta_ns, 9);
    json_out_optional(&out, "place", place);
    json_out_end(&out, '}');
}

static enum status find_place(struct request *request, const struct finish *args,
                              struct opt_i64 *place, struct error *err)
{
    struct store_reader *reader = app_reader(request->app, err);
    struct kept_place found;
    struct entry_record entry;
    const struct task *task;
    const struct kept *kept;
    int64_t version;
    enum status status;

    if (reader == NULL || !args->tta_ns.has) /* of a repeat, too: it is answered alike */
        return err->status;
    status = store_get_entry(reader, request->arena, args->entry_id, &entry, err);
    task = status == ST_OK ? task_find(request->app->tasks, str_from_cstr(entry.task)) : NULL;
    if (task == NULL)
        return status;
    status = boards_begin(request->app->boards, task, &kept, &version, err);
    if (status != ST_OK)
        return status;
    if (kept_find(kept, BOARD_TIME, args->entry_id, &found))
        *place = (struct opt_i64){true, (int64_t)found.place};
    boards_end(request->app->boards, task);
    return ST_OK;
}

static enum status read_release(struct request *request, struct release *args, struct error *err)
{
    static const char *const reasons[] = {"drain", "spot", "unsupported", "error", NULL};
    struct json_reader reader;
    const char *reason = "";
    struct str detail = {0};
    struct json_doc doc;

    if (request_read_json(request, &doc, &reader, err) != ST_OK)
        return err->status;
    (void)json_read_word(&reader, "reason", true, reasons, &reason);
    (void)json_read_text(&reader, "detail", false, DETAIL_BYTES_MAX, &detail);
    if (json_reader_finish(&reader) == ST_OK) {
        const char *text = arena_printf(request->arena, "%s%s%.*s", reason,
                                        detail.len > 0 ? ": " : "", STR_ARG(detail));

        if (text == NULL)
            (void)error_set(err, ST_NO_MEMORY, NULL, "no memory for a command");
        else
            args->reason = str_from_cstr(text);
    }
    json_doc_fini(&doc);
    return err->status;
}

static void send_release(struct request *request, struct response *response)
{
    const struct command *command = &api_step(request)->command;
    const struct release *args = command->args;
    struct json_out out;

    if (command->status != ST_OK) {
        response_send_error(response, &command->err);
        return;
    }
    out = (struct json_out){response_begin(response, 200, "application/json"), false};
    json_out_begin(&out, NULL, '{');
    json_out_i64(&out, "job", args->job_id);
    json_out_text(&out, "state", args->job_state);
    json_out_end(&out, '}');
}

/* event-gap tells where to go on; everything else as usual. */
static void send_gap(struct response *response, const struct error *err, int64_t expected_seq)
{
    const struct problem problem = {.status = 409,
                                    .code = err->code,
                                    .detail = err->detail,
                                    .has_expected_seq = true,
                                    .expected_seq = expected_seq};

    if (strcmp(err->code, "event-gap") == 0)
        response_send_problem(response, &problem);
    else
        response_send_error(response, err);
}

static enum status read_profile(struct request *request, struct put_profile *args,
                                struct error *err)
{
    struct run_profile profile;
    struct json_reader reader;
    struct json_doc doc;

    args->bytes = request->body; /* what is kept are the bytes that came */
    if (request_read_json(request, &doc, &reader, err) != ST_OK)
        return err->status;
    (void)run_profile_read(&reader, request->arena, &profile, err);
    json_doc_fini(&doc);
    return err->status;
}

static void send_profile(struct request *request, struct response *response)
{
    const struct command *command = &api_step(request)->command;
    const struct put_profile *args = command->args;
    struct json_out out;

    if (command->status != ST_OK) {
        response_send_error(response, &command->err);
        return;
    }
    out = (struct json_out){response_begin(response, 200, "application/json"), false};
    json_out_begin(&out, NULL, '{');
    json_out_i64(&out, "run", args->run_id);
    json_out_i64(&out, "bytes", (int64_t)args->bytes.len);
    json_out_end(&out, '}');
}
