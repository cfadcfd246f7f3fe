/* tests/unit/common/test_etag.c: ETags and lists of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/etag.h"

static void a_topic_and_its_version_make_an_etag(void **state)
{
    char text[ETAG_BYTES];

    (void)state;
    etag_format(text, "submission:7", 3);
    assert_string_equal(text, "\"submission:7.3\"");
}

static void a_list_is_checked_and_searched(void **state)
{
    static const struct {
        const char *list;
        bool good, strong, weak; /* well-formed; holds "a" */
    } rows[] = {
        {"*", true, true, true},
        {"\"a\"", true, true, true},
        {" \"b\" ,\"a\"", true, true, true},
        {"\"a,b\", \"a\"", true, true, true},
        {"W/\"a\"", true, false, true},
        {"\"b\"", true, false, false},
        {"\"\"", true, false, false},
        {"", false, false, false},
        {"a", false, false, false},
        {"\"a", false, false, false},
        {"\"a\" \"b\"", false, false, false},
        {"\"b\",", false, false, false},
        {"\"a b\"", false, false, false},
        {"w/\"a\"", false, false, false},
        {"*,\"a\"", false, false, false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct str list = str_from_cstr(rows[i].list);
        struct error err = {0};

        assert_int_equal(etag_list_check(list, "If-Match", &err),
                         rows[i].good ? ST_OK : ST_INVALID);
        if (!rows[i].good) {
            assert_string_equal(err.code, "bad-etag");
            assert_string_equal(err.field, "If-Match");
        }
        assert_int_equal(etag_list_holds(list, "\"a\"", false), rows[i].strong);
        assert_int_equal(etag_list_holds(list, "\"a\"", true), rows[i].weak);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_topic_and_its_version_make_an_etag),
        cmocka_unit_test(a_list_is_checked_and_searched),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
