/* server/page/run_page.h: /runs/{run}: one training with its curve, the target, the mark of its time to accuracy,
 * and every evaluation in a table. A live run grows by web/assets/run.js.
 * Ownership: as layout.h. Threads: pure, any. */
#ifndef DAYBREAK_SERVER_PAGE_RUN_PAGE_H
#define DAYBREAK_SERVER_PAGE_RUN_PAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/task.h"
#include "server/page/layout.h"
#include "server/store/records.h"

#define RUN_PAGE_EPOCHS_MAX 2000 /* in the table; the API pages through all */

enum run_axis { RUN_BY_TIME, RUN_BY_EPOCH, RUN_BY_COST };
struct run_page {
    const struct task *task;
    const struct run_record *run;
    const struct entry_record *entry;
    const struct epoch_record *epochs;
    size_t epoch_count;
    bool has_profile;
    enum run_axis axis; /* ?x=: to the right */
};

/* USD an hour of what it ran on; NULL: not known, and there is no axis of cost. */
const char *run_page_price(const struct run_page *data);
void page_render_run(struct buf *out, const struct page_frame *frame, const struct run_page *data);

#endif
