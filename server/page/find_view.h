/* server/page/find_view.h: /authors/{name}, /hardware/{name} and /search as pages.
 * Ownership: as layout.h. Threads: pure, any. */
#ifndef DAYBREAK_SERVER_PAGE_FIND_VIEW_H
#define DAYBREAK_SERVER_PAGE_FIND_VIEW_H

#include "server/page/layout.h"
#include "server/rank/find.h"
#include "server/store/records.h"

#define FIND_PAGE_ROWS  50
#define FIND_BYTES_MAX  200 /* of what is searched for */
#define FIND_AGENTS_MAX 1000

enum named_kind { NAMED_AUTHOR, NAMED_HARDWARE };

struct named_page {
    enum named_kind kind;
    struct str name;
    bool known;                     /* false: rows are those that have its words */
    const struct found_entry *rows; /* all of them */
    size_t row_count;
    int64_t page; /* from 1; one behind the last is the last */
};
void page_render_named(struct buf *out, const struct page_frame *frame,
                       const struct named_page *data);

struct search_page {
    struct str text; /* as it was written; empty: nothing was asked */
    const struct find_wish *wish;
    const struct task_table *tasks;
    size_t entry_total; /* that were looked at */
    const struct found_entry *rows;
    size_t row_count;
    const struct agent_record *agents; /* all that are listed */
    size_t agent_count;
};
void page_render_search(struct buf *out, const struct page_frame *frame,
                        const struct search_page *data);

#endif
