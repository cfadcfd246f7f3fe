/* server/api/agents.c: GET /v1/agents and /v1/agents/{agent}. */
#include "common/clock.h"
#include "server/api/api.h"
#include "server/api/json_out.h"
#include "server/store/read.h"

static void write_agent(struct json_out *out, const struct agent_record *agent, int64_t now_ms);

void handle_list_agents(struct request *request, struct response *response)
{
    struct api_page page = {.list = "agents", .kinds = "i"};
    const int64_t now_ms = clock_real_ms();
    struct store_reader *reader;
    struct agent_record *agents;
    struct error err = {0};
    const char *next = NULL;
    struct json_out out;
    enum status status;
    size_t count;

    api_page_read(request, &page, &err);
    if (query_finish(&request->query, &err) != ST_OK) {
        response_send_error(response, &err);
        return;
    }
    reader = api_begin_read(request, response);
    if (reader == NULL)
        return;
    status =
        store_list_agents(reader, request->arena, now_ms, page.has_key ? page.key[0].number : 0,
                          page.limit + 1, &agents, &count, &err);
    api_end_read(reader);
    if (status != ST_OK) {
        response_send_error(response, &err);
        return;
    }
    if (count > (size_t)page.limit) {
        count = (size_t)page.limit;
        next =
            api_page_next(response, &page, &(struct cursor_value){.number = agents[count - 1].id});
    }
    out = (struct json_out){response_begin(response, 200, "application/json"), false};
    json_out_begin(&out, NULL, '{');
    json_out_begin(&out, "items", '[');
    for (size_t i = 0; i < count; i++)
        write_agent(&out, &agents[i], now_ms);
    json_out_end(&out, ']');
    json_out_text(&out, "next_cursor", next);
    json_out_end(&out, '}');
}

void handle_get_agent(struct request *request, struct response *response)
{
    struct store_reader *reader = api_begin_read(request, response);
    const int64_t now_ms = clock_real_ms();
    struct agent_record agent;
    struct error err = {0};
    struct json_out out;
    enum status status;
    int64_t id;

    if (reader == NULL)
        return;
    status = request_arg_id(request, 0, &id, &err);
    if (status == ST_OK)
        status = store_get_agent(reader, request->arena, id, now_ms, &agent, &err);
    api_end_read(reader);
    if (status != ST_OK) {
        response_send_error(response, &err);
        return;
    }
    out = (struct json_out){response_begin(response, 200, "application/json"), false};
    write_agent(&out, &agent, now_ms);
}

static void write_agent(struct json_out *out, const struct agent_record *agent, int64_t now_ms)
{
    const int64_t age_ms = now_ms > agent->heartbeat_ms ? now_ms - agent->heartbeat_ms : 0;

    json_out_begin(out, NULL, '{');
    json_out_i64(out, "agent", agent->id);
    json_out_text(out, "name", agent->name);
    json_out_text(out, "state", agent->state);
    json_out_text(out, "build", agent->build);
    json_out_decimal(out, "heard_s", (struct opt_i64){true, age_ms}, 3);
    json_out_time(out, "registered", agent->registered_ms);
    json_out_optional(out, "job", agent->job_id);
    json_out_optional(out, "run", agent->run_id);
    json_out_text(out, "attempt", agent->fence);
    json_out_text(out, "hardware", agent->hardware);
    json_out_text(out, "device_kind", agent->device_kind);
    json_out_text(out, "device_model", agent->device_model);
    json_out_i64(out, "device_count", agent->devices);
    json_out_text(out, "instance", agent->instance);
    json_out_text(out, "cost_usd_per_hour", agent->cost_per_hour_text);
    json_out_end(out, '}');
}
