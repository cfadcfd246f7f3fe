/* tests/fuzz/fuzz_request.c: a target on the first line, then headers `Name: value`, through the guard and the
 * server's own routes. What the guard lets pass has one Host and one framing; what is routed is one of our calls. */
#include <stdint.h>
#include <strings.h>

#include "server/api/api.h"
#include "server/http/guard.h"
#include "server/http/query.h"
#include "server/http/router.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static size_t count_named(const struct guard_header *headers, size_t count, const char *name)
{
    size_t found = 0;

    for (size_t i = 0; i < count; i++)
        found += headers[i].name.len == strlen(name) &&
                 strncasecmp(headers[i].name.data, name, strlen(name)) == 0;
    return found;
}

static void route(struct str target)
{
    static struct router *router; /* made once: the tables never change */
    struct route_match match;
    struct arena arena;
    struct str decoded;
    size_t mark = target.len;

    if (router == NULL && router_create(&api_routes, 1, &router, NULL) != ST_OK)
        __builtin_trap();
    (void)str_find_char(target, '?', &mark);
    arena_init(&arena, 1 << 20);
    router_match(router, HTTP_GET, str_slice(target, 0, mark), &match);
    if (match.route != NULL && (match.allowed & HTTP_GET) == 0)
        __builtin_trap();
    for (size_t i = 0; i < match.arg_count; i++)
        if (percent_decode(match.args[i], false, &arena, &decoded, NULL) == ST_OK &&
            (!str_is_utf8(decoded) || strlen(decoded.data) != decoded.len))
            __builtin_trap();
    arena_fini(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct guard_header headers[GUARD_HEADERS_MAX + 1];
    struct str rest = {(const char *)data, bytes}, line, target;
    bool more = true;
    size_t count = 0;

    if (!str_split_next(&rest, &more, '\n', &target))
        return 0;
    while (count < ARRAY_LEN(headers) && str_split_next(&rest, &more, '\n', &line)) {
        size_t colon = line.len;

        (void)str_find_char(line, ':', &colon);
        headers[count].name = str_slice(line, 0, colon);
        headers[count++].value = str_trim(str_slice(line, colon + 1, line.len));
    }
    if (guard_check_headers(headers, count, NULL) == ST_OK &&
        (count_named(headers, count, "host") != 1 ||
         count_named(headers, count, "content-length") +
                 count_named(headers, count, "transfer-encoding") >
             1))
        __builtin_trap();
    if (guard_check_target(target, NULL) == ST_OK)
        route(target);
    return 0;
}
