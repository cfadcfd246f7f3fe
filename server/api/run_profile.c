/* server/api/run_profile.c: POST /v1/agent/attempts/{attempt}/profile and GET /v1/runs/{run}/profile: what an agent
 * measured of a run's training step (common/run_profile.h). What is kept are the bytes that came. */
#include "common/run_profile.h"

#include "server/api/api.h"
#include "server/api/json_out.h"
#include "server/store/read.h"

static enum status read_profile(struct request *request, struct put_profile *args,
                                struct error *err);
static void send_stored(struct request *request, struct response *response);

void handle_put_profile(struct request *request, struct response *response)
{
    struct put_profile *args;
    struct error err = {0};

    if (request->step > 0) {
        send_stored(request, response);
        return;
    }
    args = ARENA_NEW(request->arena, struct put_profile);
    if (args == NULL)
        (void)error_set(&err, ST_NO_MEMORY, NULL, "no memory for a command");
    else
        (void)read_profile(request, args, &err);
    if (err.status != ST_OK)
        response_send_error(response, &err);
    else
        api_push(request, response, &(struct api_push){.verb = verb_put_profile, .args = args});
}

void handle_get_run_profile(struct request *request, struct response *response)
{
    struct store_reader *reader = api_begin_read(request, response);
    struct run_record run;
    struct error err = {0};
    struct str bytes = {0};
    int64_t id = 0;
    enum status status;

    if (reader == NULL)
        return;
    status = request_arg_id(request, 0, &id, &err);
    if (status == ST_OK)
        status = store_get_run(reader, request->arena, id, &run, &err);
    if (status == ST_OK)
        status = store_get_run_profile(reader, request->arena, id, &bytes, &err);
    api_end_read(reader);
    if (status != ST_OK)
        response_send_error(response, &err);
    else
        buf_append(response_begin(response, 200, "application/json"), bytes);
}

static enum status read_profile(struct request *request, struct put_profile *args,
                                struct error *err)
{
    struct run_profile profile;
    struct json_reader reader;
    struct json_doc doc;

    args->agent_id = request->caller.agent_id;
    args->fence = request->args[0];
    args->bytes = request->body;
    if (args->fence.len >= FENCE_BYTES)
        return error_set_code(err, ST_NOT_FOUND, "attempt-unknown", NULL, NULL,
                              "there is no such attempt");
    if (request_read_json(request, &doc, &reader, err) != ST_OK)
        return err->status;
    (void)run_profile_read(&reader, request->arena, &profile, err);
    json_doc_fini(&doc);
    return err->status;
}

static void send_stored(struct request *request, struct response *response)
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
