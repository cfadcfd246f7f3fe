/* server/api/jobs.c: POST /v1/jobs, GET and cancel of one, GET /v1/queue. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/entry.h"
#include "server/api/api.h"
#include "server/api/json_out.h"
#include "server/app.h"
#include "server/store/read.h"

static enum status read_jobs(struct request *request, struct create_jobs *jobs, struct error *err);
static void find_workload(const struct request *request, struct json_reader *reader,
                          struct create_jobs *jobs);
static enum status render_jobs(struct command *command, struct error *err);
static void send_job(struct request *request, struct response *response);
static void write_job(struct json_out *out, const char *key, const struct job_record *job);
static const char *waiting_reason(const struct job_record *job);

void handle_post_jobs(struct request *request, struct response *response)
{
    struct create_jobs *jobs;
    struct error err = {0};
    enum status status = ST_OK;

    if (request->step > 0) {
        api_send_answer(request, response);
        return;
    }
    jobs = ARENA_NEW(request->arena, struct create_jobs);
    if (jobs == NULL)
        status = error_set(&err, ST_NO_MEMORY, NULL, "no memory for jobs");
    else
        status = read_jobs(request, jobs, &err);
    if (status != ST_OK)
        response_send_error(response, &err);
    else
        api_push(
            request, response,
            &(struct api_push){
                .verb = verb_create_jobs, .args = jobs, .render = render_jobs, .use_key = true});
}

void handle_get_job(struct request *request, struct response *response)
{
    send_job(request, response);
}

void handle_cancel_job(struct request *request, struct response *response)
{
    struct cancel_job *cancel;
    struct error err = {0};

    if (request->step > 0) {
        const struct command *command = &api_step(request)->command;

        if (command->status != ST_OK)
            response_send_error(response, &command->err);
        else
            send_job(request, response);
        return;
    }
    cancel = ARENA_NEW(request->arena, struct cancel_job);
    if (cancel == NULL)
        (void)error_set(&err, ST_NO_MEMORY, NULL, "no memory for a command");
    else
        (void)request_arg_id(request, 0, &cancel->job_id, &err);
    if (err.status != ST_OK)
        response_send_error(response, &err);
    else
        api_push(request, response, &(struct api_push){.verb = verb_cancel_job, .args = cancel});
}

void handle_get_queue(struct request *request, struct response *response)
{
    struct api_page page = {.list = "queue", .kinds = "ii"}; /* at work or not, job */
    const int64_t now_ms = clock_real_ms();
    struct agent_record *agents = NULL;
    struct job_record *jobs = NULL;
    size_t job_count = 0, agent_count = 0;
    struct queue_key after = {0};
    struct store_reader *reader;
    struct error err = {0};
    const char *next = NULL;
    struct json_out out;
    int64_t live = 0;
    enum status status;

    api_page_read(request, &page, &err);
    if (query_finish(&request->query, &err) != ST_OK) {
        response_send_error(response, &err);
        return;
    }
    if (page.has_key)
        after = (struct queue_key){page.key[0].number != 0, page.key[1].number};
    reader = api_begin_read(request, response);
    if (reader == NULL)
        return;
    status = store_list_queue(reader, request->arena, now_ms, after, page.limit + 1, &jobs,
                              &job_count, &err);
    if (status == ST_OK)
        status = store_list_agents(reader, request->arena, now_ms, 0, INT64_MAX, &agents,
                                   &agent_count, &err);
    api_end_read(reader);
    if (status != ST_OK) {
        response_send_error(response, &err);
        return;
    }
    for (size_t i = 0; i < agent_count; i++)
        live += now_ms - agents[i].heartbeat_ms < AGENT_UNREACHABLE_MS;
    if (job_count > (size_t)page.limit) {
        const struct job_record *last = &jobs[page.limit - 1];

        job_count = (size_t)page.limit;
        next = api_page_next(
            response, &page,
            (const struct cursor_value[]){{.number = !last->position.has}, {.number = last->id}});
    }
    out = (struct json_out){response_begin(response, 200, "application/json"), false};
    json_out_begin(&out, NULL, '{');
    json_out_begin(&out, "items", '[');
    for (size_t i = 0; i < job_count; i++)
        write_job(&out, NULL, &jobs[i]);
    json_out_end(&out, ']');
    json_out_i64(&out, "agents_live", live);
    json_out_text(&out, "next_cursor", next);
    json_out_end(&out, '}');
}

static enum status read_jobs(struct request *request, struct create_jobs *jobs, struct error *err)
{
    struct json_reader reader;
    struct json_doc doc;
    int64_t seeds = 1;
    enum status status = request_read_json(request, &doc, &reader, err);

    if (status != ST_OK)
        return status;
    find_workload(request, &reader, jobs);
    (void)json_read_i64(&reader, "seeds", false, 1, ENTRY_RUNS_MAX, &seeds);
    status = json_reader_finish(&reader);
    json_doc_fini(&doc);
    if (status != ST_OK)
        return status;
    jobs->seeds = (int)seeds;
    jobs->request = request->body;
    jobs->author = str_from_cstr(request->caller.name);
    jobs->token_id = request->caller.token_id;
    jobs->job_ids = ARENA_NEW_ARRAY(request->arena, (size_t)seeds, int64_t);
    jobs->run_ids = ARENA_NEW_ARRAY(request->arena, (size_t)seeds, int64_t);
    if (jobs->job_ids == NULL || jobs->run_ids == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for jobs");
    return ST_OK;
}

/* Workloads that tests alone may queue: they train nothing, or a toy. NULL: not one of them, or this is
 * no test. The text outlives the request's document. */
static const char *find_test_workload(struct str workload)
{
    static const char *const names[] = {"synthetic", "cifar10-tiny"};
    const char *test = getenv("DAYBREAK_TEST_WORKLOAD");

    if (test == NULL || strcmp(test, "1") != 0)
        return NULL;
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_eq_cstr(workload, names[i]))
            return names[i];
    return NULL;
}

static void find_workload(const struct request *request, struct json_reader *reader,
                          struct create_jobs *jobs)
{
    struct str task = {0}, workload = {0};
    const bool has_task = json_read_text(reader, "task", true, 128, &task);
    const bool has_workload = json_read_text(reader, "workload", false, 128, &workload);
    const char *test_workload = find_test_workload(workload);

    if (!has_task)
        return;
    jobs->task = task_find(request->app->tasks, task);
    if (jobs->task == NULL) {
        (void)json_reader_fault(reader, "task", "unknown_task", "GET /v1/tasks lists them",
                                "there is no task \"%.*s\"", (int)str_utf8_cut(task, 64),
                                task.data);
    } else if (jobs->task->workload == NULL) {
        (void)json_reader_fault(reader, "task", "no-workload", NULL, "nothing here trains %s yet",
                                jobs->task->id);
    } else if (has_workload && test_workload == NULL &&
               !str_eq_cstr(workload, jobs->task->workload)) {
        (void)json_reader_fault(reader, "workload", "no-workload", NULL,
                                "%s is trained by the workload %s", jobs->task->id,
                                jobs->task->workload);
    } else {
        jobs->recipe = str_from_cstr(jobs->task->recipe);
        jobs->workload =
            str_from_cstr(test_workload != NULL ? test_workload : jobs->task->workload);
    }
}

/* On the writer's thread, inside the transaction. */
static enum status render_jobs(struct command *command, struct error *err)
{
    const struct create_jobs *jobs = command->args;
    struct answer *answer = &command->answer;
    struct json_out out;
    struct buf body;
    enum status status;

    buf_init(&body, 65536);
    out = (struct json_out){&body, false};
    json_out_begin(&out, NULL, '{');
    json_out_i64(&out, "submission", jobs->submission_id);
    json_out_i64(&out, "entry", jobs->entry_id);
    json_out_text(&out, "name", jobs->entry_name);
    json_out_text(&out, "task", jobs->task->id);
    json_out_begin(&out, "jobs", '[');
    for (int i = 0; i < jobs->seeds; i++)
        json_out_i64(&out, NULL, jobs->job_ids[i]);
    json_out_end(&out, ']');
    json_out_begin(&out, "runs", '[');
    for (int i = 0; i < jobs->seeds; i++)
        json_out_i64(&out, NULL, jobs->run_ids[i]);
    json_out_end(&out, ']');
    json_out_end(&out, '}');
    status = buf_check(&body, err);
    if (status == ST_OK) {
        answer->status = 201;
        answer->body = (struct str){arena_copy(command->arena, buf_str(&body)), body.len};
        answer->location =
            str_from_cstr(arena_printf(command->arena, "/v1/jobs/%" PRId64, jobs->job_ids[0]));
        if (answer->body.data == NULL || answer->location.len == 0)
            status = error_set(err, ST_NO_MEMORY, NULL, "no memory for an answer");
    }
    buf_fini(&body);
    return status;
}

static void send_job(struct request *request, struct response *response)
{
    struct store_reader *reader = api_begin_read(request, response);
    struct error err = {0};
    struct job_record job;
    struct json_out out;
    enum status status;
    int64_t id;

    if (reader == NULL)
        return;
    status = request_arg_id(request, 0, &id, &err);
    if (status == ST_OK)
        status = store_get_job(reader, request->arena, id, clock_real_ms(), &job, &err);
    api_end_read(reader);
    if (status != ST_OK) {
        response_send_error(response, &err);
        return;
    }
    out = (struct json_out){response_begin(response, 200, "application/json"), false};
    write_job(&out, NULL, &job);
}

static void write_job(struct json_out *out, const char *key, const struct job_record *job)
{
    json_out_begin(out, key, '{');
    json_out_i64(out, "job", job->id);
    json_out_text(out, "task", job->task);
    json_out_text(out, "workload", job->workload);
    json_out_text(out, "recipe", job->recipe);
    json_out_i64(out, "run", job->run_id);
    json_out_i64(out, "entry", job->entry_id);
    json_out_text(out, "name", job->entry_name);
    json_out_text(out, "state", job->state);
    json_out_optional(out, "agent", job->agent_id);
    json_out_text(out, "agent_name", job->agent_name);
    json_out_text(out, "attempt", job->fence);
    json_out_time(out, "created", job->created_ms);
    json_out_optional(out, "position", job->position);
    json_out_i64(out, "tries", job->tries);
    json_out_text(out, "reason", waiting_reason(job));
    json_out_end(out, '}');
}

static const char *waiting_reason(const struct job_record *job)
{
    if (job->reason[0] != '\0')
        return job->reason;
    if (strcmp(job->state, "queued") != 0)
        return NULL;
    return job->takeable ? "the agents that could take it are busy"
                         : "no agent that could take it has been heard of lately";
}
