/* server/page/feed.h: /feed.atom and /tasks/{task}/feed.atom: the entries that were accepted last, as Atom (RFC 4287).
 * Addresses in it are relative to the feed's own; ids are made of the database's instance and stay what they are.
 * Threads: handlers run on workers. */
#ifndef DAYBREAK_SERVER_PAGE_FEED_H
#define DAYBREAK_SERVER_PAGE_FEED_H

#include "server/http/router.h"

route_handler_fn handle_get_feed;

#endif
