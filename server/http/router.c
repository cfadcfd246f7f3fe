/* server/http/router.c: see router.h. Some fifty patterns: a walk over them costs less than a tree would. */
#include "server/http/router.h"

#include <stdlib.h>

enum { PARTS_MAX = 8 };

struct parts {
    struct str part[PARTS_MAX];
    size_t count;
};

struct compiled {
    const struct route *route;
    struct parts parts;
};

struct router {
    struct compiled *routes;
    size_t count;
};

static bool split_path(struct str path, struct parts *parts);
static bool is_parameter(struct str part);
static bool fits(const struct parts *pattern, const struct parts *path);
static int compare_patterns(const struct parts *a, const struct parts *b);

enum status router_create(const struct route_table *tables, size_t table_count,
                          struct router **router, struct error *err)
{
    struct router *made = calloc(1, sizeof *made);
    size_t total = 0;
    enum status status;

    for (size_t t = 0; t < table_count; t++)
        total += tables[t].count;
    if (made == NULL || (made->routes = calloc(total + 1, sizeof *made->routes)) == NULL) {
        free(made);
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for the routes");
    }
    for (size_t t = 0; t < table_count; t++)
        for (size_t i = 0; i < tables[t].count; i++) {
            struct compiled *row = &made->routes[made->count];

            row->route = &tables[t].routes[i];
            if (!split_path(str_from_cstr(row->route->pattern), &row->parts)) {
                status = error_set(err, ST_INTERNAL, row->route->pattern, "not a pattern");
                goto fault;
            }
            for (size_t j = 0; j < made->count; j++)
                if (made->routes[j].route->method == row->route->method &&
                    compare_patterns(&made->routes[j].parts, &row->parts) == 0) {
                    status = error_set(err, ST_INTERNAL, row->route->pattern,
                                       "two routes have this pattern");
                    goto fault;
                }
            made->count++;
        }
    *router = made;
    return ST_OK;
fault:
    router_destroy(made);
    return status;
}

void router_destroy(struct router *router)
{
    if (router == NULL)
        return;
    free(router->routes);
    free(router);
}

void router_match(const struct router *router, enum http_method method, struct str path,
                  struct route_match *match)
{
    const struct compiled *best = NULL;
    struct parts parts;

    *match = (struct route_match){0};
    if (!split_path(path, &parts))
        return;
    for (size_t i = 0; i < router->count; i++) {
        const struct compiled *row = &router->routes[i];
        int order;

        if (!fits(&row->parts, &parts))
            continue;
        order = best == NULL ? -1 : compare_patterns(&row->parts, &best->parts);
        if (order > 0)
            continue;
        if (order < 0) {
            best = row;
            match->allowed = 0;
            match->route = NULL;
        }
        match->allowed |= row->route->method;
        if (row->route->method == method)
            match->route = row->route;
    }
    if (best == NULL)
        return;
    for (size_t i = 0; i < parts.count; i++)
        if (is_parameter(best->parts.part[i]) && match->arg_count < REQUEST_ARGS_MAX)
            match->args[match->arg_count++] = parts.part[i];
}

/* "/" has no part; empty parts and dots are refused, so that no two paths mean the same. */
static bool split_path(struct str path, struct parts *parts)
{
    bool more = true;
    struct str part;

    parts->count = 0;
    if (path.len == 0 || path.data[0] != '/')
        return false;
    path = str_slice(path, 1, path.len);
    if (path.len == 0)
        return true;
    while (str_split_next(&path, &more, '/', &part)) {
        if (part.len == 0 || parts->count == PARTS_MAX || str_eq(part, STR(".")) ||
            str_eq(part, STR("..")))
            return false;
        parts->part[parts->count++] = part;
    }
    return true;
}

static bool is_parameter(struct str part)
{
    return part.len > 0 && part.data[0] == '{';
}

static bool fits(const struct parts *pattern, const struct parts *path)
{
    if (pattern->count != path->count)
        return false;
    for (size_t i = 0; i < path->count; i++)
        if (!is_parameter(pattern->part[i]) && !str_eq(pattern->part[i], path->part[i]))
            return false;
    return true;
}

/* Of two patterns that fit one path, the one with a literal first where they differ is less; 0: the same. */
static int compare_patterns(const struct parts *a, const struct parts *b)
{
    if (a->count != b->count)
        return a->count < b->count ? -1 : 1;
    for (size_t i = 0; i < a->count; i++) {
        const bool a_open = is_parameter(a->part[i]), b_open = is_parameter(b->part[i]);

        if (a_open != b_open)
            return a_open ? 1 : -1;
        if (!a_open && !str_eq(a->part[i], b->part[i]))
            return str_cmp(a->part[i], b->part[i]);
    }
    return 0;
}
