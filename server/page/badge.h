/* server/page/badge.h: /badge/{entry}.svg: where an entry stands, as an image for other sites. It is checked anew each
 * time (ETag, no-cache): places change.
 * Threads: the handler runs on workers; the rest is pure. */
#ifndef DAYBREAK_SERVER_PAGE_BADGE_H
#define DAYBREAK_SERVER_PAGE_BADGE_H

#include "common/task.h"
#include "server/http/router.h"
#include "server/rank/kept.h"

route_handler_fn handle_get_badge;

struct badge {
    const struct task *task;
    const char *model;
    enum board_by by;
    bool has_place; /* false: it is not ranked */
    struct kept_place place;
    int64_t value; /* by that board */
};
void page_render_badge(struct buf *out, struct arena *arena, const struct badge *badge);

#endif
