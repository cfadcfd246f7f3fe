/* server/page/render.h: escaping, one function for each place of a page where text may be put. What the
 * template compiler emits calls these; view models use them where they build an address.
 * Bytes that are not UTF-8, control characters other than tab and line feed, and those that turn the direction of all that
 * follows, become U+FFFD.
 * Ownership: borrows text, writes to the caller's buf. Threads: pure, any thread. */
#ifndef DAYBREAK_SERVER_PAGE_RENDER_H
#define DAYBREAK_SERVER_PAGE_RENDER_H

#include "common/str.h"

/* Between tags: & < > are written as references. */
void render_append_html(struct buf *out, struct str text);
/* Inside an attribute's double quotes: the quotes, tab and line feed as well. */
void render_append_attr(struct buf *out, struct str text);
/* One component of an address (a path segment, a name or value of a query): all but the unreserved of
 * RFC 3986 percent-encoded. Safe in an attribute as it is. */
void render_append_url(struct buf *out, struct str text);
/* A whole address in an attribute: http:, https:, or local, beginning with one slash, ? or #. Whatever
 * else it is, "#" is written instead; what may not stand in an address is percent-encoded. */
void render_append_address(struct buf *out, struct str text);
/* A JSON string with its quotes that is safe inside HTML, too: < > & and U+2028/9 as \u escapes. */
void render_append_json(struct buf *out, struct str text);

bool render_is_web_address(struct str text); /* http:// or https:// with something behind */

#endif
