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

enum { PARTS = 2, LAYOUT_BYTES = 128 };

/* A request as it lies in the library's buffer: '|' stands for each byte of what ended a part, there a NUL. */
struct layout_row {
    const char *what, *bytes;
    const char *target; /* as sent */
    /* method, target, version, name, value ..: where each begins */
    const char *parts[3 + PARTS * 2];
    bool good;
};

static const char *find_part(const char *buffer, const char *bytes, const char *part)
{
    const char *at = strstr(bytes, part);

    assert_non_null(at);
    return buffer + (at - bytes);
}

static enum status check_layout_row(const struct layout_row *row)
{
    char buffer[LAYOUT_BYTES] = {0};
    struct guard_header headers[PARTS];
    struct guard_layout layout = {.headers = headers, .target_sent = str_from_cstr(row->target)};

    layout.bytes = strlen(row->bytes);
    for (size_t i = 0; row->bytes[i] != '\0'; i++)
        buffer[i] = row->bytes[i] == '|' ? '\0' : row->bytes[i];
    layout.method = find_part(buffer, row->bytes, row->parts[0]);
    layout.target = find_part(buffer, row->bytes, row->parts[1]);
    layout.version = find_part(buffer, row->bytes, row->parts[2]);
    for (; layout.count < PARTS && row->parts[3 + layout.count * 2] != NULL; layout.count++) {
        const char *name = find_part(buffer, row->bytes, row->parts[3 + layout.count * 2]);
        const char *value = find_part(buffer, row->bytes, row->parts[4 + layout.count * 2]);

        headers[layout.count] = (struct guard_header){str_from_cstr(name), str_from_cstr(value)};
    }
    return guard_check_layout(&layout, NULL);
}

static void guard_sees_what_the_library_hid(void **state)
{
#define PLAIN                                     \
    {                                             \
        "GET", "/a", "HT", "Ho", "aa", "Xx", "bc" \
    }
    static const struct layout_row rows[] = {
        {"plain", "GET|/a|HTTP/1.1||Ho|aa||Xx|bc||||", "/a", PLAIN, true},
        {"blanks before a value", "GET|/a|HTTP/1.1||Ho| \taa||Xx| bc||||", "/a", PLAIN, true},
        {"query", "GET|/a|b=c|HTTP/1.1||Ho|aa||Xx|bc||||", "/a?b=c", PLAIN, true},
        {"decoded target", "GET|/a|41|HTTP/1.1||Ho|aa||Xx|bc||||", "/a%41", PLAIN, true},
        {"NUL in the method", "GET|x|/a|HTTP/1.1||Ho|aa||Xx|bc||||", "/a", PLAIN, false},
        {"two blanks", "GET| /a|HTTP/1.1||Ho|aa||Xx|bc||||", "/a", PLAIN, false},
        {"NUL in the target", "GET|/a|x|HTTP/1.1||Ho|aa||Xx|bc||||", "/a", PLAIN, false},
        {"byte behind the version", "GET|/a|HTTP/1.1|x||Ho|aa||Xx|bc||||", "/a", PLAIN, false},
        {"version without CR", "GET|/a|HTTP/1.1|Ho|aa||Xx|bc||||", "/a", PLAIN, false},
        {"NUL in the first value", "GET|/a|HTTP/1.1||Ho|aa|x||Xx|bc||||", "/a", PLAIN, false},
        {"NUL ends the first value", "GET|/a|HTTP/1.1||Ho|aa|||Xx|bc||||", "/a", PLAIN, false},
        {"NUL in the last value", "GET|/a|HTTP/1.1||Ho|aa||Xx|bc|x||||", "/a", PLAIN, false},
        {"NUL ends the last value", "GET|/a|HTTP/1.1||Ho|aa||Xx|bc|||||", "/a", PLAIN, false},
        {"first folded", "GET|/a|HTTP/1.1||Ho|aa|| x||Xx|bc||||", "/a", PLAIN, false},
        {"last folded", "GET|/a|HTTP/1.1||Ho|aa||Xx|bc|| x||||", "/a", PLAIN, false},
        {"last folded, empty", "GET|/a|HTTP/1.1||Ho|aa||Xx|bc|| ||||", "/a", PLAIN, false},
        {"line that begins with NUL", "GET|/a|HTTP/1.1||Ho|aa||Xx|bc|||Y: d||", "/a", PLAIN, false},
        {"value without CR", "GET|/a|HTTP/1.1||Ho|aa|Xx|bc||||", "/a", PLAIN, false},
        {"last without CR", "GET|/a|HTTP/1.1||Ho|aa||Xx|bc|||", "/a", PLAIN, false},
        {"name copied elsewhere", "GET|/a|HTTP/1.1||Ho|aa||XX|bc|||| Xxd|", "/a", PLAIN, false},
        {"name joined in place", "GET|/a|HTTP/1.1||Ho|aa||Xxd|e|bc||||", "/a", PLAIN, false},
        {"no header", "GET|/a|HTTP/1.1||||", "/a", {"GET", "/a", "HT"}, true},
    };
#undef PLAIN

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if ((check_layout_row(&rows[i]) == ST_OK) != rows[i].good)
            fail_msg("%s", rows[i].what);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(guard_judges_framing_and_names),
        cmocka_unit_test(guard_takes_64_headers_and_not_65),
        cmocka_unit_test(guard_takes_targets_in_origin_form),
        cmocka_unit_test(guard_sees_what_the_library_hid),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
