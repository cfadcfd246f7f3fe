/* server/page/home_page.h: /: the tasks with their records and the record's stairs, what runs now, what came last.
 * Ownership: as layout.h. Threads: pure, any. */
#ifndef DAYBREAK_SERVER_PAGE_HOME_PAGE_H
#define DAYBREAK_SERVER_PAGE_HOME_PAGE_H

#include "common/task.h"
#include "server/page/layout.h"
#include "server/rank/board.h"
#include "server/store/records.h"

#define HOME_LIVE_MAX   20
#define HOME_LATEST_MAX 8

struct home_task {
    const struct task *task;
    struct board first, second; /* time and cost; latency and inference-cost */
    size_t entry_count;
};

struct home_data {
    const struct task_table *tasks;
    const struct home_task *cards; /* as many as tasks, in their order */
    const struct run_record *live;
    size_t live_count;
    const struct entry_record *latest;
    size_t latest_count;
};

void page_render_home(struct buf *out, const struct page_frame *frame,
                      const struct home_data *data);

#endif
