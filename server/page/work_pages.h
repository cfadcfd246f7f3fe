/* server/page/work_pages.h: the routes /queue, /agents and /jobs/{job}.
 * Threads: handlers run on workers. */
#ifndef DAYBREAK_SERVER_PAGE_WORK_PAGES_H
#define DAYBREAK_SERVER_PAGE_WORK_PAGES_H

#include "server/http/router.h"

extern const struct route_table work_routes;

#endif
