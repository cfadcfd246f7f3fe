/* server/page/queue_page.c: jobs and agents. */
#include "server/page/queue_page.h"

#include <inttypes.h>

#include "server/page/format.h"

static void fill_jobs(struct arena *arena, const struct queue_page *data, int64_t now_ms,
                      struct queue_view *view)
{
    struct job_row_view *rows = ARENA_NEW_ARRAY(arena, data->job_count, struct job_row_view);

    for (size_t i = 0; rows != NULL && i < data->job_count; i++) {
        const struct job_record *job = &data->jobs[i];
        const struct task *task = task_find(data->tasks, str_from_cstr(job->task));

        rows[i] = (struct job_row_view){
            .job = format_text(arena, "%" PRId64, job->id),
            .position =
                job->position.has ? format_text(arena, "%" PRId64, job->position.value) : STR("-"),
            .task = layout_text(task == NULL ? job->task : task->title),
            .task_href = format_text(arena, "/tasks/%s", job->task),
            .name = layout_text(job->entry_name),
            .run_href = format_text(arena, "/runs/%" PRId64, job->run_id),
            .state = layout_text(job->state),
            .agent = layout_either(job->agent_name, "-"),
            .reason = layout_text(job->reason),
            .since = format_age(arena, now_ms - job->queued_ms),
        };
        if (strcmp(job->state, "queued") == 0 && rows[i].reason.len == 0)
            rows[i].reason = job->takeable ? STR("an agent that can take it is busy")
                                           : STR("no live agent can take it");
    }
    view->jobs = rows;
    view->jobs_count = rows == NULL ? 0 : data->job_count;
    view->jobs_heading = format_counted(arena, (int64_t)data->job_count, "job", "jobs");
}

static void fill_agents(struct arena *arena, const struct queue_page *data, int64_t now_ms,
                        struct queue_view *view)
{
    struct agent_row_view *rows = ARENA_NEW_ARRAY(arena, data->agent_count, struct agent_row_view);

    for (size_t i = 0; rows != NULL && i < data->agent_count; i++) {
        const struct agent_record *agent = &data->agents[i];

        rows[i] = (struct agent_row_view){
            .name = layout_text(agent->name),
            .state = layout_text(agent->state),
            .hardware = layout_text(agent->hardware),
            .heard = format_age(arena, now_ms - agent->heartbeat_ms),
            .build = layout_text(agent->build),
            .doing = STR("-"),
        };
        if (agent->run_id.has) {
            rows[i].doing = format_text(arena, "run %" PRId64, agent->run_id.value);
            rows[i].doing_href = format_text(arena, "/runs/%" PRId64, agent->run_id.value);
        }
    }
    view->agents = rows;
    view->agents_count = rows == NULL ? 0 : data->agent_count;
    view->agents_heading = format_counted(arena, (int64_t)data->agent_count, "agent", "agents");
}

void page_render_queue(struct buf *out, const struct page_frame *frame,
                       const struct queue_page *data)
{
    const struct page_title title = {
        .title = STR("Queue and agents"),
        .description = STR("What waits, what runs, and on which agents."),
        .section = SECTION_QUEUE,
        .script = "queue.js",
    };
    struct queue_view view = {.page = layout_make(frame, &title)};

    fill_jobs(frame->arena, data, frame->now_ms, &view);
    fill_agents(frame->arena, data, frame->now_ms, &view);
    template_queue(out, &view);
}
