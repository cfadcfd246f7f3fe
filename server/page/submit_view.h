/* server/page/submit_view.h: the page /submit: the form, and what was found of the files that came by it.
 * Ownership: as layout.h. Threads: pure, any. */
#ifndef DAYBREAK_SERVER_PAGE_SUBMIT_VIEW_H
#define DAYBREAK_SERVER_PAGE_SUBMIT_VIEW_H

#include "common/fault.h"
#include "common/task.h"
#include "server/api/submission_check.h"
#include "server/page/layout.h"
#include "server/page/submit_parts.h"

struct submit_page {
    const struct task_table *tasks;
    struct submit_fields fields;
    const struct submission_verdict *verdict; /* NULL: nothing was judged */
    const struct error *fault;                /* why nothing was judged or stored; NULL: none */
    const struct fault_list *faults;          /* all of them, where there are several */
    struct opt_i64 other;                     /* submission that has these files already */
    bool may_send;                            /* the user's token has the scope */
};
void page_render_submit(struct buf *out, const struct page_frame *frame,
                        const struct submit_page *data);

#endif
