/* server/http/router.h: from method and path to a handler, by a table. Immutable after creation. Threads: any. */
#ifndef DAYBREAK_SERVER_HTTP_ROUTER_H
#define DAYBREAK_SERVER_HTTP_ROUTER_H

#include <stdbool.h>
#include <stddef.h>

#include "common/status.h"
#include "common/str.h"
#include "server/http/request.h"
#include "server/http/response.h"

#define ROUTE_BODY_BYTES_DEFAULT 16384

typedef void route_handler_fn(struct request *request, struct response *response);

/* Patterns are paths whose parts may be {name}: exactly one non-empty part of the path. A literal part wins
 * over {name} at the same place, whatever the order of the table. */
struct route {
    enum http_method method; /* HTTP_GET answers HEAD, too */
    const char *pattern;     /* "/v1/tasks/{task}" */
    route_handler_fn *handle;
    unsigned
        scopes; /* bits of enum scope, any of which suffices; 0: anybody, a token is not even looked at
                        unless optional_auth */
    unsigned media;        /* bits of enum media that the body may have; 0: no body */
    size_t body_bytes_max; /* 0: ROUTE_BODY_BYTES_DEFAULT */
    bool optional_auth;    /* a token is checked when there is one */
    bool html; /* a page: errors are drawn as pages whatever Accept says; who asks is told by the
                              session's cookie, where there is one, and by no token */
    bool
        unlimited; /* never "rate-limited": what asks whether the server lives must always learn it */
    bool signs_in; /* its form begins a session, and so need not hold the csrf of one */
};

struct route_table {
    const struct route *routes;
    size_t count;
};

struct router;
/* Tables are borrowed and must outlive the router. ST_INTERNAL: two routes of one method and pattern. */
enum status router_create(const struct route_table *tables, size_t table_count,
                          struct router **router, struct error *err);
void router_destroy(struct router *router);

struct route_match {
    const struct route *route;         /* NULL: none */
    struct str args[REQUEST_ARGS_MAX]; /* raw, still percent-encoded */
    size_t arg_count;
    unsigned allowed; /* methods that this path has: 0: no such path (404), else 405 */
};
/* `path` as it came, without the query. A path with an empty part, "." or ".." matches nothing. */
void router_match(const struct router *router, enum http_method method, struct str path,
                  struct route_match *match);

#endif
