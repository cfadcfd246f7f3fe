/* server/page/doc_pages.h: the routes of /docs, /docs/{name}, /docs/api/{part} and /rules/{task}. Threads: as pages.h. */
#ifndef DAYBREAK_SERVER_PAGE_DOC_PAGES_H
#define DAYBREAK_SERVER_PAGE_DOC_PAGES_H

#include "server/http/router.h"

extern const struct route_table doc_routes;

#endif
