/* server/page/work_pages.c: see work_pages.h. */
#include "server/page/work_pages.h"

#include "server/app.h"
#include "server/page/page_work.h"
#include "server/page/queue_page.h"
#include "server/page/work_view.h"
#include "server/store/read.h"

static enum status draw_queue(struct page_work *work, struct buf *out);
static enum status draw_agents(struct page_work *work, struct buf *out);
static enum status draw_job(struct page_work *work, struct buf *out);

static void handle_queue(struct request *request, struct response *response)
{
    page_send(request, response, draw_queue);
}

static void handle_agents(struct request *request, struct response *response)
{
    page_send(request, response, draw_agents);
}

static void handle_job(struct request *request, struct response *response)
{
    page_send(request, response, draw_job);
}

static const struct route routes[] = {
    {.method = HTTP_GET, .pattern = "/queue", .handle = handle_queue, .html = true},
    {.method = HTTP_GET, .pattern = "/agents", .handle = handle_agents, .html = true},
    {.method = HTTP_GET, .pattern = "/jobs/{job}", .handle = handle_job, .html = true},
};
const struct route_table work_routes = {routes, ARRAY_LEN(routes)};

static enum status draw_queue(struct page_work *work, struct buf *out)
{
    struct queue_page data = {.tasks = work->request->app->tasks};
    struct job_record *jobs;
    struct agent_record *agents;

    if (store_list_queue(work->reader, &work->arena, work->frame.now_ms, (struct queue_key){0},
                         QUEUE_JOBS_MAX, &jobs, &data.job_count, &work->err) != ST_OK ||
        store_list_agents(work->reader, &work->arena, work->frame.now_ms, 0, QUEUE_AGENTS_MAX,
                          &agents, &data.agent_count, &work->err) != ST_OK)
        return work->err.status;
    data.jobs = jobs;
    data.agents = agents;
    page_render_queue(out, &work->frame, &data);
    return ST_OK;
}

static enum status draw_agents(struct page_work *work, struct buf *out)
{
    struct agents_page data = {.tasks = work->request->app->tasks};
    struct agent_record *agents;
    struct run_record *live;

    if (store_list_agents(work->reader, &work->arena, work->frame.now_ms, 0, QUEUE_AGENTS_MAX,
                          &agents, &data.agent_count, &work->err) != ST_OK ||
        store_list_live_runs(work->reader, &work->arena, QUEUE_AGENTS_MAX, &live, &data.live_count,
                             &work->err) != ST_OK)
        return work->err.status;
    data.agents = agents;
    data.live = live;
    page_render_agents(out, &work->frame, &data);
    return ST_OK;
}

static enum status draw_job(struct page_work *work, struct buf *out)
{
    struct job_record job;
    struct job_page data = {.job = &job};
    struct attempt_record *attempts;
    int64_t id;

    if (request_arg_id(work->request, 0, &id, &work->err) != ST_OK ||
        store_get_job(work->reader, &work->arena, id, work->frame.now_ms, &job, &work->err) !=
            ST_OK ||
        store_list_job_attempts(work->reader, &work->arena, id, JOB_ATTEMPTS_MAX, &attempts,
                                &data.attempt_count, &work->err) != ST_OK)
        return work->err.status;
    data.task = task_find(work->request->app->tasks, str_from_cstr(job.task));
    data.attempts = attempts;
    page_render_job(out, &work->frame, &data);
    return ST_OK;
}
