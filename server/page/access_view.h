/* server/page/access_view.h: /login and /tokens as pages.
 * Ownership: as layout.h. Threads: pure, any. */
#ifndef DAYBREAK_SERVER_PAGE_ACCESS_VIEW_H
#define DAYBREAK_SERVER_PAGE_ACCESS_VIEW_H

#include "server/page/layout.h"
#include "server/store/records.h"
#include "server/store/verbs.h"

void page_render_login(struct buf *out, const struct page_frame *frame, struct str back,
                       const struct error *fault); /* NULL: none yet */

struct tokens_page {
    const struct principal *user;
    const struct token_record *tokens;
    size_t token_count;
    const char *next_cursor;           /* NULL: the last page */
    const struct create_token *made;   /* what was just issued, with its secret; NULL */
    const struct create_token *wanted; /* what was refused: the form shows it again; NULL */
    const struct error *fault;         /* why; NULL */
};
void page_render_tokens(struct buf *out, const struct page_frame *frame,
                        const struct tokens_page *data);

#endif
