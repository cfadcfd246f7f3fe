/* server/page/entry_page.h: /entries/{entry}: the ranked object: its places, its runs, what was submitted.
 * Ownership: as layout.h. Threads: pure, any. */
#ifndef DAYBREAK_SERVER_PAGE_ENTRY_PAGE_H
#define DAYBREAK_SERVER_PAGE_ENTRY_PAGE_H

#include <stddef.h>

#include "common/task.h"
#include "server/page/layout.h"
#include "server/rank/board.h"
#include "server/store/records.h"

struct entry_page {
    struct str origin; /* "https://daybreak.example": where we are reached */
    const struct task *task;
    const struct entry_record *entry;
    const struct board *boards; /* those that the task has */
    size_t board_count;
    const struct run_record *runs;
    size_t run_count;
    const struct check_record *checks; /* rules that it was held against */
    size_t check_count;
    const struct flag_record *flags; /* what looks wrong although no rule forbids it */
    size_t flag_count;
    const struct submission_record *submission; /* whose files are linked; NULL: none was sent */
};

void page_render_entry(struct buf *out, const struct page_frame *frame,
                       const struct entry_page *data);

#endif
