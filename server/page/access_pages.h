/* server/page/access_pages.h: signing in and out, and the page that issues tokens: /login, /logout, /tokens. All of them
 * work by forms alone (server/http/form.h). Threads: as pages.h. */
#ifndef DAYBREAK_SERVER_PAGE_ACCESS_PAGES_H
#define DAYBREAK_SERVER_PAGE_ACCESS_PAGES_H

#include "server/http/router.h"

extern const struct route_table access_routes;

#endif
