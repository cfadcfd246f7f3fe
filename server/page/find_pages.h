/* server/page/find_pages.h: the routes /authors/{name}, /hardware/{name} and /search.
 * Threads: handlers run on workers. */
#ifndef DAYBREAK_SERVER_PAGE_FIND_PAGES_H
#define DAYBREAK_SERVER_PAGE_FIND_PAGES_H

#include "server/http/router.h"

extern const struct route_table find_routes;

#endif
