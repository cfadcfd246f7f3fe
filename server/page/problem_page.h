/* server/page/problem_page.h: an error as a page, for browsers.
 * Ownership: as layout.h. Threads: pure, any. */
#ifndef DAYBREAK_SERVER_PAGE_PROBLEM_PAGE_H
#define DAYBREAK_SERVER_PAGE_PROBLEM_PAGE_H

#include "server/http/response.h"
#include "server/page/layout.h"

void page_render_problem(struct buf *out, const struct page_frame *frame,
                         const struct problem *problem);

#endif
