/* server/page/submit_pages.h: the route /submit, by which a person has files checked and submits them.
 * Threads: handlers run on workers. */
#ifndef DAYBREAK_SERVER_PAGE_SUBMIT_PAGES_H
#define DAYBREAK_SERVER_PAGE_SUBMIT_PAGES_H

#include "server/http/router.h"

extern const struct route_table submit_routes;

#endif
