/* server/page/assets.h: style, scripts and Chart.js: embedded, or read from --web-dir at each request.
 * Their address holds a version that changes with any of them, so they are kept by browsers for good.
 * Threads: any. */
#ifndef DAYBREAK_SERVER_PAGE_ASSETS_H
#define DAYBREAK_SERVER_PAGE_ASSETS_H

#include "common/arena.h"
#include "server/http/request.h"
#include "server/http/response.h"

/* "/assets/0123456789ab", in the arena; NULL without memory. */
const char *assets_base(struct arena *arena);

/* GET /assets/{version}/{name} */
void handle_get_asset(struct request *request, struct response *response);

#endif
