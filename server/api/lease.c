/* server/api/lease.c: POST /v1/agent/register and /v1/agent/claim.
 *
 *   claim: push verb_claim -> found: 200
 *                          -> nothing, time left: park on "queue" -> woken: push again
 *                                                                 -> deadline, evicted, stop: 204 */
#include <inttypes.h>

#include "common/build.h"
#include "common/clock.h"
#include "common/event.h"
#include "server/api/api.h"
#include "server/api/json_out.h"
#include "server/api/review_read.h"
#include "server/app.h"
#include "server/http/listener.h"

#define EVENTS_BODY_BYTES_MAX (256u << 10)

struct wait { /* a claim between its calls */
    struct claim claim;
    int64_t deadline_ns;
    uint64_t mark;
    bool parked;
};

static enum status read_register(struct request *request, struct register_agent *args,
                                 struct error *err);
static void read_capabilities(struct request *request, struct json_reader *whole,
                              struct register_agent *args);
static void read_host(struct json_reader *reader, struct arena *arena, struct register_agent *args);
static const char *keep(struct arena *arena, struct str text);
static const char *keep_json(struct arena *arena, const json_t *value, struct error *err);
static bool is_price(struct str text);
static void send_registered(struct request *request, struct response *response);
static enum status read_claim(struct request *request, struct wait *wait, struct error *err);
static bool is_visible_ascii(struct str text);
static void push_claim(struct request *request, struct response *response, struct wait *wait);
static void wait_or_answer(struct request *request, struct response *response, struct wait *wait);
static void send_lease(struct response *response, const struct lease *lease);

void handle_register(struct request *request, struct response *response)
{
    struct register_agent *args;
    struct error err = {0};

    if (request->step > 0) {
        send_registered(request, response);
        return;
    }
    args = ARENA_NEW(request->arena, struct register_agent);
    if (args == NULL)
        (void)error_set(&err, ST_NO_MEMORY, NULL, "no memory for a command");
    else
        (void)read_register(request, args, &err);
    if (err.status != ST_OK)
        response_send_error(response, &err);
    else
        api_push(request, response, &(struct api_push){.verb = verb_register_agent, .args = args});
}

void handle_claim(struct request *request, struct response *response)
{
    struct error err = {0};
    struct wait *wait;

    if (request->step > 0) {
        wait_or_answer(request, response, api_step(request)->more);
        return;
    }
    wait = ARENA_NEW(request->arena, struct wait);
    if (wait == NULL)
        (void)error_set(&err, ST_NO_MEMORY, NULL, "no memory for a claim");
    else
        (void)read_claim(request, wait, &err);
    if (err.status != ST_OK)
        response_send_error(response, &err);
    else
        push_claim(request, response, wait);
}

static enum status read_register(struct request *request, struct register_agent *args,
                                 struct error *err)
{
    struct str name = {0}, key = {0}, build = {0};
    struct error fault = {0};
    struct json_reader reader;
    struct json_doc doc;
    int64_t protocol = 0;
    enum status status = request_read_json(request, &doc, &reader, err);

    if (status != ST_OK)
        return status;
    if (json_read_i64(&reader, "protocol", true, 0, INT32_MAX, &protocol) &&
        protocol < DAYBREAK_PROTOCOL)
        (void)json_reader_fault(
            &reader, "protocol", "protocol-too-old", "install a newer daybreak-agent",
            "this server speaks protocol %d, the agent %" PRId64, DAYBREAK_PROTOCOL, protocol);
    if (json_read_text(&reader, "name", true, 64, &name) && name.len == 0)
        (void)json_reader_fault(&reader, "name", "out_of_range", NULL, "an agent needs a name");
    else if (name.len > 0 && !review_check_text(name, "name", &fault))
        (void)json_reader_fault(&reader, "name", fault.code, fault.hint, "%s", fault.detail);
    if (json_read_text(&reader, "public_key", true, 64, &key) &&
        !str_parse_hex(key, args->public_key, sizeof args->public_key))
        (void)json_reader_fault(&reader, "public_key", "bad_key", NULL,
                                "a public key is 64 hexadecimal digits");
    (void)json_read_text(&reader, "build", true, 64, &build);
    args->name = (struct str){keep(request->arena, name), name.len};
    args->protocol = (int)protocol;
    args->owner_token_id = request->caller.token_id;
    args->build = keep(request->arena, build);
    args->framework = arena_printf(request->arena, "Daybreak %s", args->build);
    read_capabilities(request, &reader, args);
    status = json_reader_finish(&reader);
    if (status == ST_OK && (args->name.data == NULL || args->framework == NULL))
        status = error_set(err, ST_NO_MEMORY, NULL, "no memory for an agent");
    json_doc_fini(&doc);
    return status;
}

static void read_capabilities(struct request *request, struct json_reader *whole,
                              struct register_agent *args)
{
    static const char *const kinds[] = {"cpu", "gpu", "tpu", NULL};
    struct str model = {0}, ignored = {0};
    struct error fault = {0};
    const json_t *object = NULL, *tags = NULL;
    const char *kind = "";
    struct json_reader reader;
    int64_t memory = 0;

    if (!json_read_object(whole, "capabilities", true, &object))
        return;
    json_reader_init_part(&reader, whole, object, "/capabilities");
    (void)json_read_word(&reader, "device_kind", true, kinds, &kind);
    if (json_read_text(&reader, "device_model", true, 128, &model) && model.len == 0)
        (void)json_reader_fault(&reader, "device_model", "out_of_range", NULL,
                                "device_model is empty");
    else if (model.len > 0 && !review_check_text(model, "device_model", &fault))
        (void)json_reader_fault(&reader, "device_model", fault.code, fault.hint, "%s",
                                fault.detail);
    (void)json_read_i64(&reader, "device_count", true, 1, 65536, &args->devices);
    (void)json_read_text(&reader, "device_vendor", false, 64, &ignored);
    (void)json_read_i64(&reader, "device_memory_bytes", false, 0, INT64_MAX, &memory);
    (void)json_read_text(&reader, "compute_capability", false, 16, &ignored);
    if (json_read_array(&reader, "tags", false, 16, &tags))
        for (size_t i = 0; i < json_array_size(tags); i++)
            if (!json_is_string(json_array_get(tags, i)) ||
                json_string_length(json_array_get(tags, i)) > 64)
                (void)json_reader_fault(&reader, "tags", "wrong_type", NULL,
                                        "tags are texts of at most 64 bytes");
    args->device_kind = kind;
    args->device_model = keep(request->arena, model);
    read_host(&reader, request->arena, args);
    if (json_reader_finish(&reader) != ST_OK)
        return;
    args->hardware = args->devices > 1 ? arena_printf(request->arena, "%" PRId64 " x %s",
                                                      args->devices, args->device_model)
                                       : args->device_model;
    args->capabilities_json = keep_json(request->arena, object, whole->err);
    args->tags_json = tags == NULL ? NULL : keep_json(request->arena, tags, whole->err);
    if (args->hardware == NULL)
        (void)error_set(whole->err, ST_NO_MEMORY, NULL, "no memory for an agent");
}

static void read_host(struct json_reader *reader, struct arena *arena, struct register_agent *args)
{
    struct str text = {0}, instance = {0}, price = {0};
    int64_t number = 0;
    bool spot = false;

    (void)json_read_text(reader, "cpu_model", true, 128, &text);
    (void)json_read_i64(reader, "cpu_cores", true, 1, 65536, &number);
    (void)json_read_text(reader, "cpu_isa", true, 64, &text);
    (void)json_read_i64(reader, "memory_bytes", true, 0, INT64_MAX, &number);
    (void)json_read_text(reader, "region", false, 64, &text);
    (void)json_read_bool(reader, "spot", false, &spot);
    if (json_read_text(reader, "instance", false, 64, &instance))
        args->instance = keep(arena, instance);
    if (json_read_text(reader, "cost_usd_per_hour", false, 32, &price)) {
        if (!is_price(price))
            (void)json_reader_fault(reader, "cost_usd_per_hour", "bad_value", NULL,
                                    "a price is decimal text such as 0.9");
        args->cost_per_hour_text = keep(arena, price);
    }
}

static const char *keep(struct arena *arena, struct str text)
{
    return arena_copy(arena, text);
}

static const char *keep_json(struct arena *arena, const json_t *value, struct error *err)
{
    const char *text = NULL;
    struct buf out;

    buf_init(&out, 65536);
    if (json_write(value, &out, err) == ST_OK) {
        text = arena_copy(arena, buf_str(&out));
        if (text == NULL)
            (void)error_set(err, ST_NO_MEMORY, NULL, "no memory for an agent");
    }
    buf_fini(&out);
    return text;
}

static bool is_price(struct str text)
{
    bool good = text.len > 0 && text.data[0] != '.' && text.data[text.len - 1] != '.';
    int points = 0;

    for (size_t i = 0; i < text.len; i++) {
        points += text.data[i] == '.';
        good = good && ((text.data[i] >= '0' && text.data[i] <= '9') || text.data[i] == '.');
    }
    return good && points <= 1;
}

static void send_registered(struct request *request, struct response *response)
{
    const struct command *command = &api_step(request)->command;
    const struct register_agent *args = command->args;
    struct json_out out;

    if (command->status != ST_OK) {
        response_send_error(response, &command->err);
        return;
    }
    out = (struct json_out){response_begin(response, 201, "application/json"), false};
    json_out_begin(&out, NULL, '{');
    json_out_i64(&out, "agent", args->agent_id);
    json_out_text(&out, "token", args->token);
    json_out_text(&out, "server", store_instance(request->app->store));
    json_out_end(&out, '}');
}

static enum status read_claim(struct request *request, struct wait *wait, struct error *err)
{
    struct str claim_id = {0};
    struct json_reader reader;
    struct json_doc doc;
    int64_t wait_ms = 0;
    enum status status = request_read_json(request, &doc, &reader, err);

    if (status != ST_OK)
        return status;
    if (json_read_text(&reader, "claim_id", true, 64, &claim_id) && !is_visible_ascii(claim_id))
        (void)json_reader_fault(&reader, "claim_id", "bad_value", NULL,
                                "a claim_id has 1 to 64 characters of visible ASCII");
    (void)json_read_i64(&reader, "wait_ms", true, 0, PARK_WAIT_MS_MAX, &wait_ms);
    status = json_reader_finish(&reader);
    wait->claim.agent_id = request->caller.agent_id;
    wait->claim.claim_id = (struct str){keep(request->arena, claim_id), claim_id.len};
    wait->deadline_ns = clock_mono_ns() + wait_ms * NS_PER_MS;
    json_doc_fini(&doc);
    if (status == ST_OK && wait->claim.claim_id.data == NULL)
        status = error_set(err, ST_NO_MEMORY, NULL, "no memory for a claim");
    return status;
}

static bool is_visible_ascii(struct str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.data[i] <= ' ' || text.data[i] > '~')
            return false;
    return text.len > 0;
}

static void push_claim(struct request *request, struct response *response, struct wait *wait)
{
    wait->parked = false;
    wait->mark = listener_mark(request->app->listener);
    api_push(request, response,
             &(struct api_push){.verb = verb_claim, .args = &wait->claim, .more = wait});
}

static void wait_or_answer(struct request *request, struct response *response, struct wait *wait)
{
    const struct command *command = &api_step(request)->command;
    const struct park park = {.topic = "queue",
                              .key = request->caller.agent_id,
                              .mark = wait->mark,
                              .deadline_ns = wait->deadline_ns};
    struct error err = {0};

    if (wait->parked) {
        if (request->woken_by_deadline)
            response_send_empty(response, 204);
        else
            push_claim(request, response, wait);
        return;
    }
    if (command->status != ST_OK) {
        response_send_error(response, &command->err);
        return;
    }
    if (wait->claim.found) {
        send_lease(response, &wait->claim.lease);
        return;
    }
    if (clock_mono_ns() >= wait->deadline_ns) {
        response_send_empty(response, 204);
        return;
    }
    wait->parked = true;
    if (request_park(request, &park, &err) != ST_OK)
        response_send_empty(response, 204); /* full or stopping: the agent asks again */
}

static void send_lease(struct response *response, const struct lease *lease)
{
    struct json_out out = {response_begin(response, 200, "application/json"), false};

    json_out_begin(&out, NULL, '{');
    json_out_i64(&out, "job", lease->job_id);
    json_out_text(&out, "attempt", lease->fence);
    json_out_i64(&out, "lease_ms", lease->lease_ms);
    json_out_i64(&out, "heartbeat_ms", lease->heartbeat_ms);
    json_out_text(&out, "task", lease->task);
    json_out_i64(&out, "task_version", lease->task_version);
    json_out_text(&out, "workload", lease->workload);
    json_out_text(&out, "recipe", lease->recipe);
    json_out_i64(&out, "run", lease->run_id);
    json_out_i64(&out, "resume_seq", lease->resume_seq);
    json_out_begin(&out, "limits", '{');
    json_out_i64(&out, "event_bytes", EVENT_LINE_BYTES_MAX);
    json_out_i64(&out, "events_bytes", EVENTS_BODY_BYTES_MAX);
    json_out_end(&out, '}');
    json_out_end(&out, '}');
}
