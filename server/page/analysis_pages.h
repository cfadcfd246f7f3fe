/* server/page/analysis_pages.h: the analyses as pages: /tasks/{task}/history, tradeoff, variance, throughput, scaling;
 * /compare and /docs/paper. Threads: as pages.h. */
#ifndef DAYBREAK_SERVER_PAGE_ANALYSIS_PAGES_H
#define DAYBREAK_SERVER_PAGE_ANALYSIS_PAGES_H

#include "server/http/router.h"

extern const struct route_table analysis_routes;

#endif
