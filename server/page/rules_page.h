/* server/page/rules_page.h: /rules/{task}: what a task asks for, times, allows and ranks by, from the task's own data and
 * the setting that is in force.
 * Ownership: as layout.h. Threads: pure, any. */
#ifndef DAYBREAK_SERVER_PAGE_RULES_PAGE_H
#define DAYBREAK_SERVER_PAGE_RULES_PAGE_H

#include "common/task.h"
#include "server/page/layout.h"
#include "server/store/records.h"

void page_render_rules(struct buf *out, const struct page_frame *frame, const struct task *task,
                       const struct task_setting *setting);

#endif
