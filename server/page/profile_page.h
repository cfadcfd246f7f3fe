/* server/page/profile_page.h: /profile: who is fast across several tasks (rank/profile.h), and the choice of tasks.
 * Ownership: as layout.h. Threads: pure, any. */
#ifndef DAYBREAK_SERVER_PAGE_PROFILE_PAGE_H
#define DAYBREAK_SERVER_PAGE_PROFILE_PAGE_H

#include "common/task.h"
#include "server/api/profile.h"
#include "server/page/layout.h"

struct profile_page {
    const struct task_table *tasks;
    const struct profile_form *form; /* count 0: no task is chosen */
    const struct profile *profile;
};

void page_render_profile(struct buf *out, const struct page_frame *frame,
                         const struct profile_page *data);

#endif
