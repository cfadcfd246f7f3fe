/* server/page/review_pages.h: /submissions and /submissions/{id}, and what is done there by forms alone: decide, comment,
 * resolve, withdraw (server/http/form.h). Threads: as pages.h. */
#ifndef DAYBREAK_SERVER_PAGE_REVIEW_PAGES_H
#define DAYBREAK_SERVER_PAGE_REVIEW_PAGES_H

#include "server/http/router.h"

extern const struct route_table review_routes;

#endif
