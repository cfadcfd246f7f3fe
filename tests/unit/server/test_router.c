/* tests/unit/server/test_router.c: paths, methods, and who may. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "server/http/auth.h"
#include "server/http/router.h"

static void handle_nothing(struct request *request, struct response *response)
{
    (void)request;
    (void)response;
}

static const struct route routes[] = {
    {.method = HTTP_GET, .pattern = "/", .handle = handle_nothing},
    {.method = HTTP_GET, .pattern = "/a/{id}", .handle = handle_nothing},
    {.method = HTTP_POST, .pattern = "/a/{id}", .handle = handle_nothing},
    {.method = HTTP_POST, .pattern = "/a/fixed", .handle = handle_nothing},
    {.method = HTTP_GET, .pattern = "/a/{id}/b/{name}", .handle = handle_nothing},
};

static struct router *make_router(void)
{
    const struct route_table tables[] = {{routes, 2}, {routes + 2, ARRAY_LEN(routes) - 2}};
    struct router *router = NULL;
    struct error err = {0};

    assert_int_equal(router_create(tables, 2, &router, &err), ST_OK);
    return router;
}

static void router_finds_route_arguments_and_methods(void **state)
{
    static const struct {
        enum http_method method;
        const char *path, *pattern, *arg;
        unsigned allowed;
    } rows[] = {
        {HTTP_GET, "/", "/", NULL, HTTP_GET},
        {HTTP_GET, "/a/7", "/a/{id}", "7", HTTP_GET | HTTP_POST},
        {HTTP_POST, "/a/7", "/a/{id}", "7", HTTP_GET | HTTP_POST},
        {HTTP_PUT, "/a/7", NULL, "7", HTTP_GET | HTTP_POST},
        {HTTP_POST, "/a/fixed", "/a/fixed", NULL, HTTP_POST},
        {HTTP_GET, "/a/fixed", NULL, NULL, HTTP_POST},
        {HTTP_GET, "/a/7/b/x%20y", "/a/{id}/b/{name}", "7", HTTP_GET},
        {HTTP_GET, "/a", NULL, NULL, 0},
        {HTTP_GET, "/a/", NULL, NULL, 0},
        {HTTP_GET, "//", NULL, NULL, 0},
        {HTTP_GET, "/a//7", NULL, NULL, 0},
        {HTTP_GET, "/a/..", NULL, NULL, 0},
        {HTTP_GET, "/a/.", NULL, NULL, 0},
        {HTTP_GET, "", NULL, NULL, 0},
        {HTTP_GET, "a/7", NULL, NULL, 0},
        {HTTP_GET, "/a/7/b", NULL, NULL, 0},
        {HTTP_GET, "/1/2/3/4/5/6/7/8/9", NULL, NULL, 0},
    };
    struct router *router = make_router();

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct route_match match;

        router_match(router, rows[i].method, str_from_cstr(rows[i].path), &match);
        if ((match.route == NULL) != (rows[i].pattern == NULL) ||
            (match.route != NULL && strcmp(match.route->pattern, rows[i].pattern) != 0) ||
            match.allowed != rows[i].allowed || (match.arg_count > 0) != (rows[i].arg != NULL))
            fail_msg("%s", rows[i].path);
        if (rows[i].arg != NULL)
            assert_true(str_eq_cstr(match.args[0], rows[i].arg));
    }
    router_destroy(router);
}

static void router_refuses_two_routes_for_one_call(void **state)
{
    static const struct route twice[] = {
        {.method = HTTP_GET, .pattern = "/a/{id}", .handle = handle_nothing},
        {.method = HTTP_GET, .pattern = "/a/{name}", .handle = handle_nothing},
    };
    const struct route_table table = {twice, ARRAY_LEN(twice)};
    struct router *router = NULL;
    struct error err = {0};

    (void)state;
    assert_int_equal(router_create(&table, 1, &router, &err), ST_INTERNAL);
    assert_null(router);
    assert_string_equal(err.field, twice[1].pattern); /* read before the routes are freed */
}

static void auth_reads_bearer_tokens_alone(void **state)
{
    static const struct {
        const char *value, *code;
    } rows[] = {
        {"Bearer dbk_operator_1_abc-_9", ""},
        {"bearer dbk_x", ""},
        {"", "token-missing"},
        {"Bearer", "token-malformed"},
        {"Bearer ", "token-malformed"},
        {"Basic dbk_x", "token-malformed"},
        {"Bearer xyz_1", "token-malformed"},
        {"Bearer dbk_a b", "token-malformed"},
        {"Bearer dbk_\x01", "token-malformed"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        struct str token;

        (void)auth_parse_header(str_from_cstr(rows[i].value), &token, &err);
        assert_string_equal(err.code, rows[i].code);
    }
}

static struct principal caller_of(enum role role)
{
    return (struct principal){.role = role, .scopes = role_scopes(role)};
}

static void auth_lets_admins_do_what_people_may(void **state)
{
    const struct principal operator= caller_of(ROLE_OPERATOR), admin = caller_of(ROLE_ADMIN);
    const struct principal agent = caller_of(ROLE_AGENT);
    struct error err = {0};

    (void)state;
    assert_int_equal(auth_require(&operator, SCOPE_JOBS, &err), ST_OK);
    assert_int_equal(auth_require(&admin, SCOPE_REVIEW, &err), ST_OK);
    assert_int_equal(auth_require(&admin, SCOPE_AGENT, &err), ST_DENIED);
    err = (struct error){0};
    assert_int_equal(auth_require(&agent, SCOPE_SUBMIT, &err), ST_DENIED);
    assert_string_equal(err.code, "scope-missing");
    assert_string_equal(err.detail,
                        "this needs the scope submit, which tokens of role submitter, operator, "
                        "admin may have; yours (agent) has agent");
}

static void auth_refuses_what_a_token_gave_up(void **state)
{
    struct principal caller = caller_of(ROLE_OPERATOR);
    struct error err = {0};

    (void)state;
    assert_true(scope_set_parse(STR("jobs webhooks"), &caller.scopes));
    assert_int_equal(auth_require(&caller, SCOPE_JOBS, &err), ST_OK);
    assert_int_equal(auth_require(&caller, SCOPE_TASKS, &err), ST_DENIED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(router_finds_route_arguments_and_methods),
        cmocka_unit_test(router_refuses_two_routes_for_one_call),
        cmocka_unit_test(auth_reads_bearer_tokens_alone),
        cmocka_unit_test(auth_lets_admins_do_what_people_may),
        cmocka_unit_test(auth_refuses_what_a_token_gave_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
