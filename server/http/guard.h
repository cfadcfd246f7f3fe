/* server/http/guard.h: refuses requests whose framing two parsers could read differently (request smuggling), and
 * headers that are no headers. libmicrohttpd 0.9.75 lets all of these through, so this runs before anything else
 * looks at a request (protocol.md, Conventions). Threads: pure, any. */
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
/* The target: origin form ("/..", printable ASCII, no fragment), or "*" alone. ST_INVALID "bad-target". */
enum status guard_check_target(struct str target, struct error *err);

#endif
