/* agent/run/run.c: `daybreak-agent run`: registers, claims jobs, trains them, until told to stop.
 *
 *   SIGTERM: finish the job, take no other, end.   SIGINT or a second SIGTERM: give the job back, end.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "agent/command.h"
#include "agent/data/files.h"
#include "agent/run/attempt.h"
#include "agent/run/client.h"
#include "agent/run/lease.h"
#include "agent/run/link.h"
#include "agent/run/state.h"
#include "agent/train/host.h"
#include "agent/train/wish.h"
#include "common/arena.h"
#include "common/build.h"
#include "common/clock.h"
#include "common/json.h"
#include "common/log.h"
#include "common/opt.h"

#define CLAIM_WAIT_MS     25000
#define CALL_TIMEOUT_MS   15000
#define TOKEN_BYTES_MAX   4096
#define BODY_BYTES_MAX    4096
#define ARENA_BYTES_MAX   ((size_t)1024 * 1024)
#define PRICE_BYTES_MAX   32
#define RELEASE_PAUSE_MIN 3 /* a job that cannot be done here comes back: wait longer each time */

struct request {
    const char *server, *token_file, *name, *instance, *region, *cost_per_hour;
    bool once, spot, no_profile;
    struct device_choice device;
};

struct agent {
    const struct request *request;
    struct state state;
    struct client *client;
    struct client_reply reply;
    struct task_table *tasks;
};

static bool is_stopping(void *context)
{
    (void)context;
    return wish_of_signals() != PARENT_GO_ON;
}

static void pause_until_stopping(int64_t wait_ms)
{
    const int64_t until_ns = clock_mono_ns() + wait_ms * (NS_PER_S / 1000);
    const struct timespec slice = {0, 100 * NS_PER_MS};

    while (!is_stopping(NULL) && clock_mono_ns() < until_ns)
        (void)nanosleep(&slice, NULL);
}

static void append_member(struct buf *body, const char *key, const char *text)
{
    if (text == NULL)
        return;
    buf_appendf(body, ",\"%s\":", key);
    buf_append_json(body, str_from_cstr(text));
}

static enum status append_registration(const struct agent *agent, struct buf *body,
                                       struct error *err)
{
    const struct request *request = agent->request;
    char public_key[2 * ED25519_KEY_BYTES + 1];
    struct host host;
    enum status status = host_read(&host, err);

    if (status != ST_OK)
        return status;
    str_format_hex(agent->state.public_key, ED25519_KEY_BYTES, public_key);
    buf_appendf(body, "{\"protocol\":%d,\"public_key\":\"%s\"", DAYBREAK_PROTOCOL, public_key);
    append_member(body, "name", request->name != NULL ? request->name : host.name);
    append_member(body, "build", build_id());
    buf_append_cstr(body, ",\"capabilities\":{\"device_kind\":\"cpu\",\"device_count\":1");
    append_member(body, "device_model", host.cpu_model);
    append_member(body, "cpu_model", host.cpu_model);
    append_member(body, "cpu_isa", host.cpu_isa);
    buf_appendf(body, ",\"cpu_cores\":%" PRId64 ",\"memory_bytes\":%" PRId64, host.cpu_cores,
                host.memory_bytes);
    append_member(body, "instance", request->instance);
    append_member(body, "region", request->region);
    if (request->spot)
        buf_append_cstr(body, ",\"spot\":true");
    append_member(body, "cost_usd_per_hour", request->cost_per_hour);
    buf_append_cstr(body, "}}");
    return buf_check(body, err);
}

static enum status take_registration(struct agent *agent, struct error *err)
{
    struct arena arena;
    struct json_doc doc = {0};
    struct json_reader reader;
    struct str token = {0}, instance = {0};
    enum status status;

    arena_init(&arena, ARENA_BYTES_MAX);
    status = json_doc_parse(buf_str(&agent->reply.body), &arena, &doc, err);
    if (status == ST_OK) {
        json_reader_init(&reader, doc.root, "", err);
        (void)json_read_i64(&reader, "agent", true, 1, INT64_MAX, &agent->state.agent);
        (void)json_read_text(&reader, "token", true, STATE_TOKEN_BYTES - 1, &token);
        (void)json_read_text(&reader, "server", true, STATE_NAME_BYTES - 1, &instance);
        status = json_reader_finish(&reader);
    }
    if (status == ST_OK) {
        (void)snprintf(agent->state.token, STATE_TOKEN_BYTES, "%.*s", STR_ARG(token));
        (void)snprintf(agent->state.instance, STATE_NAME_BYTES, "%.*s", STR_ARG(instance));
        status = state_save_identity(&agent->state, err);
    }
    json_doc_fini(&doc);
    arena_fini(&arena);
    return status;
}

static enum status read_token(const char *path, struct buf *token, struct error *err)
{
    enum status status;

    if (path == NULL)
        return error_set_code(err, ST_USAGE, "no_token", "--token-file",
                              "daybreakd token create --role agent-registration --name NAME",
                              "the first start needs --token-file with a registration token");
    status = files_read(path, token, err);
    while (token->len > 0 &&
           (token->data[token->len - 1] == '\n' || token->data[token->len - 1] == '\r' ||
            token->data[token->len - 1] == ' '))
        token->data[--token->len] = '\0';
    if (status == ST_OK && (token->len == 0 || memchr(token->data, '\n', token->len) != NULL))
        status = error_set(err, ST_INVALID, "--token-file", "%s does not hold one token", path);
    return status;
}

/* A proxy's page or a portal's login is no answer of a daybreakd, whatever its status. A server that never was one
 * is told at once, by the registration; later such a page is a trouble that passes. */
static bool is_answer(const struct agent *agent)
{
    struct client_problem problem;

    if (agent->reply.status >= 500 || agent->reply.status == 429)
        return false;
    if (agent->reply.status == 204 || !agent->state.has_identity)
        return true;
    client_read_problem(&agent->reply, &problem);
    return problem.is_object;
}

/* One call, until the server answers with something that is not its own trouble. */
static enum status call(struct agent *agent, const struct client_request *request,
                        struct error *err)
{
    for (int tries = 0;; tries++) {
        struct error fault = {0};
        const enum status status = client_send(agent->client, request, &agent->reply, &fault);
        char quoted[400];

        if (status == ST_OK && is_answer(agent))
            return ST_OK;
        if (status == ST_CANCELLED || is_stopping(NULL))
            return error_set(err, ST_CANCELLED, "server", "stopped while waiting for the server");
        if (status == ST_OK)
            log_event(LOG_WARN, "server_busy", "status=%d", agent->reply.status);
        else
            log_event(LOG_WARN, "server_unreachable", "reason=%s",
                      log_quote(fault.detail, quoted, sizeof quoted));
        pause_until_stopping(link_backoff_ms(tries));
    }
}

static enum status refuse(const struct agent *agent, const char *what, struct error *err)
{
    struct client_problem problem;

    client_read_problem(&agent->reply, &problem);
    if (agent->reply.status == 426)
        return error_set(err, ST_UNSUPPORTED, "protocol",
                         "this agent (%s) is too old for the server: %s", build_id(),
                         problem.detail);
    return error_set(err, agent->reply.status == 401 ? ST_UNAUTHENTICATED : ST_DENIED, what,
                     "the server refuses the %s: %s", what, problem.detail);
}

static enum status register_agent(struct agent *agent, struct error *err)
{
    struct client_request request = {.method = "POST",
                                     .path = "/v1/agent/register",
                                     .content_type = "application/json",
                                     .timeout_ms = CALL_TIMEOUT_MS,
                                     .should_stop = is_stopping};
    struct buf token, body;
    enum status status;

    buf_init(&token, TOKEN_BYTES_MAX);
    buf_init(&body, BODY_BYTES_MAX);
    status = read_token(agent->request->token_file, &token, err);
    if (status == ST_OK) {
        state_renew_key(&agent->state);
        status = append_registration(agent, &body, err);
    }
    if (status == ST_OK) {
        request.body = buf_str(&body);
        request.token = token.data;
        status = call(agent, &request, err);
    }
    if (status == ST_OK && agent->reply.status != 201 && agent->reply.status != 200)
        status = refuse(agent, "registration", err);
    if (status == ST_OK)
        status = take_registration(agent, err);
    if (status == ST_OK)
        log_event(LOG_INFO, "registered", "agent=%" PRId64 " server=%s", agent->state.agent,
                  agent->state.instance);
    if (token.data != NULL)
        explicit_bzero(token.data, token.len);
    buf_fini(&token);
    buf_fini(&body);
    return status;
}

/* The attempt of this claim ended on the server while this agent was away: nothing of it is to be told. */
static bool is_claim_used(const struct client_reply *reply)
{
    struct client_problem problem;

    if (reply->status != 409)
        return false;
    client_read_problem(reply, &problem);
    return strcmp(problem.code, "claim-used") == 0;
}

/* One long poll. *has_lease: false when there was no job within wait_ms. */
static enum status claim(struct agent *agent, int64_t wait_ms, bool patient, struct lease *lease,
                         bool *has_lease, struct error *err)
{
    char body[160];
    struct client_request request = {.method = "POST",
                                     .path = "/v1/agent/claim",
                                     .content_type = "application/json",
                                     .token = agent->state.token,
                                     .timeout_ms = wait_ms + CALL_TIMEOUT_MS,
                                     .should_stop = patient ? is_stopping : NULL};
    enum status status;

    *has_lease = false;
    (void)snprintf(body, sizeof body, "{\"claim_id\":\"%s\",\"wait_ms\":%" PRId64 "}",
                   agent->state.claim_id, wait_ms);
    request.body = str_from_cstr(body);
    status = patient ? call(agent, &request, err)
                     : client_send(agent->client, &request, &agent->reply, err);
    if (status != ST_OK || agent->reply.status == 204)
        return status;
    if (is_claim_used(&agent->reply)) {
        log_event(LOG_INFO, "claim_ended", "claim=%s", agent->state.claim_id);
        return state_renew_claim(&agent->state, err);
    }
    if (agent->reply.status != 200)
        return refuse(agent, "claim", err);
    status = lease_parse(buf_str(&agent->reply.body), lease, err);
    *has_lease = status == ST_OK;
    return status;
}

static struct attempt_setting setting_of(const struct agent *agent)
{
    return (struct attempt_setting){.server = agent->request->server,
                                    .state = &agent->state,
                                    .tasks = agent->tasks,
                                    .device = &agent->request->device,
                                    .profile = !agent->request->no_profile};
}

/* Stopped in the middle of a poll: a job may have been leased in an answer that nobody read. The same
 * claim_id finds it, and it goes back; a job that is leased only now goes back as well. */
static void give_back_unread_lease(struct agent *agent)
{
    const struct attempt_setting setting = setting_of(agent);
    struct lease lease;
    bool has_lease = false;

    if (claim(agent, 0, false, &lease, &has_lease, NULL) == ST_OK && has_lease &&
        attempt_release(&setting, &lease, "drain", "the agent stops", NULL) == ST_OK)
        (void)state_renew_claim(&agent->state, NULL);
}

static enum status do_job(struct agent *agent, const struct lease *lease, int *released_in_row,
                          enum attempt_outcome *outcome, struct error *err)
{
    const struct attempt_setting setting = setting_of(agent);
    struct error fault = {0};
    char quoted[600];
    enum status status;

    log_event(LOG_INFO, "claimed", "job=%" PRId64 " run=%" PRId64 " attempt=%s task=%s", lease->job,
              lease->run, lease->attempt, lease->task);
    status = attempt_run(&setting, lease, outcome, &fault);
    if (status != ST_OK)
        log_event(LOG_WARN, "attempt_ended", "attempt=%s status=%s reason=%s", lease->attempt,
                  status_name(status), log_quote(fault.detail, quoted, sizeof quoted));
    *released_in_row = *outcome == ATTEMPT_RELEASED ? *released_in_row + 1 : 0;
    if (agent->request->once && status != ST_OK && status != ST_CANCELLED)
        (void)error_set(err, status, "attempt", "%s", fault.detail);
    if (*outcome == ATTEMPT_KEPT)
        return status == ST_CANCELLED ? ST_OK
                                      : error_set(err, status, "attempt", "%s", fault.detail);
    status = state_renew_claim(&agent->state, err);
    return err->status != ST_OK ? err->status : status;
}

static enum status serve(struct agent *agent, struct error *err)
{
    int released_in_row = 0;
    enum status status = ST_OK;

    if (!agent->state.has_identity)
        status = register_agent(agent, err);
    while (status == ST_OK && !is_stopping(NULL)) {
        enum attempt_outcome outcome;
        struct lease lease;
        bool has_lease = false;

        status = claim(agent, CLAIM_WAIT_MS, true, &lease, &has_lease, err);
        if (status == ST_UNAUTHENTICATED && agent->request->token_file != NULL) {
            /* Another instance answers at this address, or it forgot us: an identity of its own. */
            log_event(LOG_WARN, "identity_unknown", "agent=%" PRId64, agent->state.agent);
            *err = (struct error){0};
            status = register_agent(agent, err);
            continue;
        }
        if (status != ST_OK)
            break;
        /* One claim is out at a time, and this was the server's word on it: all others are over. */
        state_prune_attempts(&agent->state, has_lease ? lease.attempt : NULL, clock_real_ms());
        if (!has_lease)
            continue;
        status = do_job(agent, &lease, &released_in_row, &outcome, err);
        if (agent->request->once && outcome == ATTEMPT_FINISHED)
            break;
        if (released_in_row > 0)
            pause_until_stopping(link_backoff_ms(RELEASE_PAUSE_MIN + released_in_row));
    }
    if (status == ST_CANCELLED && agent->state.has_identity) {
        give_back_unread_lease(agent);
        *err = (struct error){0};
        status = ST_OK;
    } else if (status == ST_CANCELLED) {
        status = ST_OK;
    }
    return status;
}

static enum status check_request(const struct request *request, struct error *err)
{
    struct workload_options options;
    struct decimal price;

    if (request->server == NULL)
        return error_set(err, ST_USAGE, "--server", "run needs --server URL");
    if (request->cost_per_hour != NULL &&
        (decimal_parse(str_from_cstr(request->cost_per_hour), false, &price, NULL, NULL) != ST_OK ||
         price.negative || strpbrk(request->cost_per_hour, "eE") != NULL ||
         strlen(request->cost_per_hour) > PRICE_BYTES_MAX))
        return error_set(err, ST_USAGE, "--cost-per-hour",
                         "--cost-per-hour is a price in USD such as 0.4, not \"%s\"",
                         request->cost_per_hour);
    return device_choice_apply(&request->device, &options, err);
}

static int run(const struct request *request)
{
    struct agent agent = {.request = request, .state = {.lock_fd = -1}};
    struct error err = {0};
    enum status status = check_request(request, &err);

    if (status == ST_OK)
        status = client_library_init(&err);
    if (status == ST_OK)
        status = client_create(request->server, &agent.client, &err);
    if (status == ST_OK)
        status = task_table_create(&agent.tasks, &err);
    if (status == ST_OK)
        status = state_open(request->server, &agent.state, &err);
    if (status == ST_OK)
        status = serve(&agent, &err);
    if (status != ST_OK)
        (void)fprintf(stderr, "%s%s%s\n", err.detail, err.hint[0] != '\0' ? ": " : "", err.hint);
    else
        log_event(LOG_INFO, "stopped", "agent=%" PRId64, agent.state.agent);
    state_close(&agent.state);
    task_table_destroy(agent.tasks);
    client_reply_fini(&agent.reply);
    client_destroy(agent.client);
    return status_exit_code(status);
}

int command_run(int argc, char *const *argv)
{
    struct request request = {0};
    const char **arguments;
    struct opt opts[DEVICE_OPT_COUNT + 9] = {
        {"server", OPT_TEXT, &request.server, NULL, 0, 0, "URL", "of daybreakd"},
        {"token-file", OPT_TEXT, &request.token_file, NULL, 0, 0, "F",
         "registration token, for the first start"},
        {"name", OPT_TEXT, &request.name, NULL, 0, 0, "NAME", "of this agent (the host's)"},
        {"once", OPT_FLAG, &request.once, NULL, 0, 0, NULL,
         "end after one job; a code above 0: it came to nothing"},
        {"instance", OPT_TEXT, &request.instance, NULL, 0, 0, "TYPE",
         "type of this host, such as c7i.large: its price comes from the server's catalogs"},
        {"region", OPT_TEXT, &request.region, NULL, 0, 0, "R",
         "where it was rented, such as us-east-1"},
        {"spot", OPT_FLAG, &request.spot, NULL, 0, 0, NULL,
         "it is rented at a spot price; boards count the on-demand price"},
        {"cost-per-hour", OPT_TEXT, &request.cost_per_hour, NULL, 0, 0, "USD",
         "on-demand price of this host, where no catalog has it"},
        {"no-profile", OPT_FLAG, &request.no_profile, NULL, 0, 0, NULL,
         "do not measure, after each training, where a step's time goes"},
    };
    const struct opt_command command = {AGENT_PROGRAM,
                                        "run",
                                        "",
                                        0,
                                        0,
                                        "Pulls jobs from a server and trains them until drained.",
                                        opts,
                                        ARRAY_LEN(opts)};
    int argument_count, code;

    device_choice_init(&request.device);
    device_choice_fill_opts(&request.device, opts + 9);
    arguments = opt_begin(&command, argc, argv, &argument_count, &code);
    if (arguments == NULL)
        return code;
    wish_install();
    code = run(&request);
    free(arguments);
    return code;
}
