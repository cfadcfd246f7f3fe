/* server/http/guard.h: refuses requests whose framing two parsers could read differently (request smuggling), and
 * headers that are no headers. libmicrohttpd 0.9.75 lets all of these through, so this runs before anything else
 * looks at a request (protocol.md, Conventions).
 *
 * The library parses in place: it ends each part of a request with a NUL, and so hides a NUL that was sent, and the
 * end of a folded line. What it hid shows in where the parts lie. Threads: pure, any. */
#ifndef DAYBREAK_SERVER_HTTP_GUARD_H
#define DAYBREAK_SERVER_HTTP_GUARD_H

#include <stddef.h>

#include "common/status.h"
#include "common/str.h"

#define GUARD_HEADERS_MAX 64

struct guard_header {
    struct str name, value;
};

/* ST_INVALID with code "bad-header" and the header at fault; answered 400 and the connection closed. */
enum status guard_check_headers(const struct guard_header *headers, size_t count,
                                struct error *err);
/* Where the parts of a request lie in the library's buffer, each NUL-terminated there. */
struct guard_layout {
    const char *method, *target, *version;
    struct str target_sent; /* `target` as it was before the library decoded it */
    const struct guard_header *headers;
    size_t count;
    size_t bytes; /* of the whole head, from the method to its empty line */
};

/* Every part begins right behind the one before it: after one blank in the request line, after CRLF between lines, and
 * an empty line ends it all. ST_INVALID "bad-header" where a byte lies between: a NUL was sent, a header is folded, or
 * a line ends without CR. Headers must have passed guard_check_headers(). One thing cannot be told from CRLF: a NUL
 * before a bare line feed; every parser ends the line there, or refuses it. */
enum status guard_check_layout(const struct guard_layout *layout, struct error *err);
/* The target: origin form ("/..", printable ASCII, no fragment), or "*" alone. ST_INVALID "bad-target". */
enum status guard_check_target(struct str target, struct error *err);

#endif
