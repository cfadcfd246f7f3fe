/* server/page/queue_page.c: jobs that wait or run. */
#include "server/page/queue_page.h"

#include <inttypes.h>
#include <string.h>

#include "server/page/format.h"

struct str queue_reason(const struct job_record *job)
{
    if (strcmp(job->state, "queued") != 0 || (job->reason != NULL && job->reason[0] != '\0'))
        return layout_text(job->reason);
    return job->takeable ? STR("an agent that can take it is busy")
                         : STR("no live agent can take it");
}

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
            .since = format_age(arena, now_ms - job->queued_ms),
        };
        rows[i].reason = queue_reason(job);
    }
    view->jobs = rows;
    view->jobs_count = rows == NULL ? 0 : data->job_count;
    view->jobs_heading = format_counted(arena, (int64_t)data->job_count, "job", "jobs");
}

static struct str agents_words(struct arena *arena, const struct queue_page *data)
{
    size_t idle = 0;

    for (size_t i = 0; i < data->agent_count; i++)
        idle += strcmp(data->agents[i].state, "idle") == 0;
    if (data->agent_count == 0)
        return STR("No agent has registered.");
    return format_text(
        arena, "%.*s listed, %zu of them idle.",
        STR_ARG(format_counted(arena, (int64_t)data->agent_count, "agent is", "agents are")), idle);
}

void page_render_queue(struct buf *out, const struct page_frame *frame,
                       const struct queue_page *data)
{
    const struct page_title title = {
        .title = STR("Queue"),
        .description = STR("What waits and what runs, in order, and why."),
        .section = SECTION_QUEUE,
        .script = "queue.js",
    };
    struct queue_view view = {.page = layout_make(frame, &title)};

    fill_jobs(frame->arena, data, frame->now_ms, &view);
    view.agents = agents_words(frame->arena, data);
    template_queue(out, &view);
}
