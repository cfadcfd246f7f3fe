/* server/page/pages.h: the routes of the pages and of their assets.
 * Threads: handlers run on workers, each with its own reader. */
#ifndef DAYBREAK_SERVER_PAGE_PAGES_H
#define DAYBREAK_SERVER_PAGE_PAGES_H

#include "server/http/response.h"
#include "server/http/router.h"

extern const struct route_table page_routes;

/* For listener_options.error_page. */
void page_draw_error(struct request *request, struct response *response,
                     const struct problem *problem);

#endif
