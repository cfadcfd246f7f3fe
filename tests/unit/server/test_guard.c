/* tests/unit/server/test_guard.c: one row per rule of the header guard, good, boundary and bad. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "server/http/guard.h"

#define HEADER(name, value)          \
    {                                \
        {name, sizeof(name) - 1},    \
        {                            \
            value, sizeof(value) - 1 \
        }                            \
    }

struct row {
    const char *what;
    struct guard_header headers[4];
    size_t count;
    enum status status;
    const char *field;
};

static void guard_judges_framing_and_names(void **state)
{
    static const struct row rows[] = {
        {"plain", {HEADER("Host", "a")}, 1, ST_OK, ""},
        {"length", {HEADER("host", "a"), HEADER("content-LENGTH", "12")}, 2, ST_OK, ""},
        {"chunked", {HEADER("Host", "a"), HEADER("Transfer-Encoding", "chunked")}, 2, ST_OK, ""},
        {"empty value", {HEADER("Host", "a"), HEADER("X", "")}, 2, ST_OK, ""},
        {"odd token", {HEADER("Host", "a"), HEADER("!#$%&'*+-.^_`|~9z", "1")}, 2, ST_OK, ""},
        {"no host", {HEADER("X", "a")}, 1, ST_INVALID, "Host"},
        {"two hosts", {HEADER("Host", "a"), HEADER("HOST", "a")}, 2, ST_INVALID, "Host"},
        {"two lengths",
         {HEADER("Host", "a"), HEADER("Content-Length", "1"), HEADER("content-length", "1")},
         3,
         ST_INVALID,
         "Content-Length"},
        {"signed",
         {HEADER("Host", "a"), HEADER("Content-Length", "+1")},
         2,
         ST_INVALID,
         "Content-Length"},
        {"list",
         {HEADER("Host", "a"), HEADER("Content-Length", "1,1")},
         2,
         ST_INVALID,
         "Content-Length"},
        {"empty length",
         {HEADER("Host", "a"), HEADER("Content-Length", "")},
         2,
         ST_INVALID,
         "Content-Length"},
        {"19 digits",
         {HEADER("Host", "a"), HEADER("Content-Length", "1000000000000000000")},
         2,
         ST_INVALID,
         "Content-Length"},
        {"both",
         {HEADER("Host", "a"), HEADER("Content-Length", "1"),
          HEADER("Transfer-Encoding", "chunked")},
         3,
         ST_INVALID,
         "Content-Length"},
        {"gzip",
         {HEADER("Host", "a"), HEADER("Transfer-Encoding", "gzip")},
         2,
         ST_INVALID,
         "Transfer-Encoding"},
        {"padded",
         {HEADER("Host", "a"), HEADER("Transfer-Encoding", "chunked ")},
         2,
         ST_INVALID,
         "Transfer-Encoding"},
        {"letters",
         {HEADER("Host", "a"), HEADER("Transfer-Encoding", "CHUNKED")},
         2,
         ST_INVALID,
         "Transfer-Encoding"},
        {"twice",
         {HEADER("Host", "a"), HEADER("Transfer-Encoding", "chunked"),
          HEADER("Transfer-Encoding", "chunked")},
         3,
         ST_INVALID,
         "Transfer-Encoding"},
        {"blank in name", {HEADER("Host", "a"), HEADER("X ", "1")}, 2, ST_INVALID, ""},
        {"no name", {HEADER("Host", "a"), HEADER("", "1")}, 2, ST_INVALID, ""},
        {"NUL in name", {HEADER("Host", "a"), HEADER("a\0b", "1")}, 2, ST_INVALID, ""},
        {"tab in value", {HEADER("Host", "a"), HEADER("X", "a\tb")}, 2, ST_INVALID, "X"},
        {"NUL in value", {HEADER("Host", "a"), HEADER("X", "a\0b")}, 2, ST_INVALID, "X"},
        {"DEL in value", {HEADER("Host", "a"), HEADER("X", "\x7F")}, 2, ST_INVALID, "X"},
        {"bytes above ASCII", {HEADER("Host", "a"), HEADER("X", "\xC3\xA9")}, 2, ST_OK, ""},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        const enum status status = guard_check_headers(rows[i].headers, rows[i].count, &err);

        if (status != rows[i].status || strcmp(err.field, rows[i].field) != 0)
            fail_msg("%s: %s, field \"%s\": %s", rows[i].what, status_name(status), err.field,
                     err.detail);
        if (status != ST_OK)
            assert_string_equal(err.code, "bad-header");
    }
}

static void guard_takes_64_headers_and_not_65(void **state)
{
    struct guard_header headers[GUARD_HEADERS_MAX + 1] = {HEADER("Host", "a")};
    struct error err = {0};

    (void)state;
    for (size_t i = 1; i < ARRAY_LEN(headers); i++)
        headers[i] = (struct guard_header)HEADER("X", "1");
    assert_int_equal(guard_check_headers(headers, GUARD_HEADERS_MAX, &err), ST_OK);
    assert_int_equal(guard_check_headers(headers, GUARD_HEADERS_MAX + 1, &err), ST_INVALID);
}

static void guard_takes_targets_in_origin_form(void **state)
{
    static const struct {
        const char *target;
        bool good;
    } rows[] = {
        {"/", true},          {"/a?b=c%20d", true}, {"*", true},     {"", false},
        {"a", false},         {"http://a/", false}, {"/a b", false}, {"/a#b", false},
        {"/\xC3\xA9", false}, {"/a\tb", false},     {"**", false},   {"/a\x7F", false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if ((guard_check_target(str_from_cstr(rows[i].target), NULL) == ST_OK) != rows[i].good)
            fail_msg("%s", rows[i].target);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(guard_judges_framing_and_names),
        cmocka_unit_test(guard_takes_64_headers_and_not_65),
        cmocka_unit_test(guard_takes_targets_in_origin_form),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
