/* server/page/queue_page.h: /queue: the jobs that wait or run, in order.
 * Ownership: as layout.h. Threads: pure, any. */
#ifndef DAYBREAK_SERVER_PAGE_QUEUE_PAGE_H
#define DAYBREAK_SERVER_PAGE_QUEUE_PAGE_H

#include "common/task.h"
#include "server/page/layout.h"
#include "server/store/records.h"

#define QUEUE_JOBS_MAX   1000 /* on the page; GET /v1/queue goes on */
#define QUEUE_AGENTS_MAX 1000

struct queue_page {
    const struct task_table *tasks;
    const struct job_record *jobs;
    size_t job_count;
    const struct agent_record *agents;
    size_t agent_count;
};

/* Why it waits, or how it ended. */
struct str queue_reason(const struct job_record *job);

void page_render_queue(struct buf *out, const struct page_frame *frame,
                       const struct queue_page *data);

#endif
