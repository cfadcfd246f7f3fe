/* tests/unit/common/test_status.c: common/status: the first error wins, texts are cut whole. */
#include "common/status.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "common/str.h"

static void first_error_wins(void **state)
{
    struct error err = {0};

    (void)state;
    assert_int_equal(error_set(&err, ST_INVALID, "hours", "row %d goes back", 7), ST_INVALID);
    assert_int_equal(error_set_code(&err, ST_IO, "later", "f", "h", "later"), ST_IO);
    assert_int_equal(err.status, ST_INVALID);
    assert_string_equal(err.field, "hours");
    assert_string_equal(err.detail, "row 7 goes back");
    assert_string_equal(err.code, "");
    assert_string_equal(err.hint, "");
}

static void null_error_and_null_texts_are_accepted(void **state)
{
    struct error err = {0};

    (void)state;
    assert_int_equal(error_set(NULL, ST_IO, NULL, "nobody asks"), ST_IO);
    assert_int_equal(error_set_code(&err, ST_LIMIT, NULL, NULL, NULL, "too large"), ST_LIMIT);
    assert_string_equal(err.detail, "too large");
    assert_string_equal(err.field, "");
}

static void long_texts_are_cut_at_whole_characters(void **state)
{
    char text[1024];
    struct error err = {0};

    (void)state;
    for (size_t i = 0; i + 3 < sizeof text; i += 3)
        memcpy(text + i, "\xE2\x82\xAC", 4); /* a three-byte character, and the NUL */
    error_set_code(&err, ST_INVALID, text, text, text, "%s", text);
    assert_int_equal(strlen(err.code), 45); /* 47 bytes have room */
    assert_int_equal(strlen(err.field), 93);
    assert_int_equal(strlen(err.detail), 381);
    assert_int_equal(strlen(err.hint), 255);
    assert_true(str_is_utf8(str_from_cstr(err.detail)));
}

static void each_status_has_a_name_and_an_exit_code(void **state)
{
    (void)state;
    for (int i = 0; i < STATUS_COUNT; i++) {
        assert_memory_equal(status_name((enum status)i), "ST_", 3);
        assert_in_range(status_exit_code((enum status)i), i == 0 ? 0 : 2, i == 0 ? 0 : 4);
    }
    assert_string_equal(status_name(ST_NOT_FOUND), "ST_NOT_FOUND");
    assert_int_equal(status_exit_code(ST_USAGE), 3);
    assert_int_equal(status_exit_code(ST_UNAVAILABLE), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_error_wins),
        cmocka_unit_test(null_error_and_null_texts_are_accepted),
        cmocka_unit_test(long_texts_are_cut_at_whole_characters),
        cmocka_unit_test(each_status_has_a_name_and_an_exit_code),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
