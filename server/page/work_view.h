/* server/page/work_view.h: /agents and /jobs/{job}: who works, and what became of a piece of work.
 * Ownership: as layout.h. Threads: pure, any. */
#ifndef DAYBREAK_SERVER_PAGE_WORK_VIEW_H
#define DAYBREAK_SERVER_PAGE_WORK_VIEW_H

#include "common/task.h"
#include "server/page/layout.h"
#include "server/store/records.h"

#define JOB_ATTEMPTS_MAX 100 /* on the page, the newest */

struct agents_page {
    const struct task_table *tasks;
    const struct agent_record *agents;
    size_t agent_count;
    const struct run_record *live; /* runs that are going on: what busy agents do */
    size_t live_count;
};
void page_render_agents(struct buf *out, const struct page_frame *frame,
                        const struct agents_page *data);

struct job_page {
    const struct task *task; /* NULL: it is none of today's */
    const struct job_record *job;
    const struct attempt_record *attempts;
    size_t attempt_count;
};
void page_render_job(struct buf *out, const struct page_frame *frame, const struct job_page *data);

#endif
