/* server/page/pages.h: the routes of the pages and of their assets.
 * Threads: handlers run on workers, each with its own reader. */
#ifndef DAYBREAK_SERVER_PAGE_PAGES_H
#define DAYBREAK_SERVER_PAGE_PAGES_H

#include "server/http/response.h"
#include "server/http/router.h"
#include "server/page/layout.h"

extern const struct route_table page_routes;

/* What every page's frame shows of the request: theme, address, who is signed in. */
void page_make_frame(struct request *request, struct arena *arena, struct page_frame *frame);
/* An address that leads nowhere else: a local one of visible ASCII, short enough for a header; "/" for any other. */
const char *page_local_address(struct arena *arena, struct str address);

/* For listener_options.error_page. */
void page_draw_error(struct request *request, struct response *response,
                     const struct problem *problem);

#endif
