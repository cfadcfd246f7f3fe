/* tests/unit/common/test_str.c: common/str: views, strict readers, and the buffer with a cap. */
#include "common/str.h"

#include <float.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void views_compare_by_bytes_and_length(void **state)
{
    (void)state;
    assert_true(str_eq(STR("abc"), (struct str){"abcd", 3}));
    assert_false(str_eq(STR("abc"), STR("ab")));
    assert_true(str_eq((struct str){NULL, 0}, STR("")));
    assert_true(str_eq_cstr(STR(""), NULL));
    assert_true(str_cmp(STR("ab"), STR("abc")) < 0); /* shorter first */
    assert_true(str_cmp(STR("\xFF"), STR("a")) > 0); /* bytes are unsigned */
    assert_int_equal(str_cmp(STR("x"), STR("x")), 0);
    assert_true(str_starts_with(STR("run:7"), STR("run:")));
    assert_false(str_starts_with(STR("ru"), STR("run:")));
    assert_true(str_ends_with(STR("a.tsv"), STR(".tsv")));
    assert_false(str_ends_with(STR("tsv"), STR(".tsv")));
}

static void trim_and_slice_stay_inside(void **state)
{
    (void)state;
    assert_true(str_eq(str_trim(STR(" \t\r\n a b \r\n")), STR("a b")));
    assert_true(str_eq(str_trim(STR("  \n")), STR("")));
    assert_true(
        str_eq(str_trim((struct str){"\0 x", 3}), (struct str){"\0 x", 3})); /* NUL is no blank */
    assert_true(str_eq(str_slice(STR("abcdef"), 2, 4), STR("cd")));
    assert_true(str_eq(str_slice(STR("abc"), 1, 99), STR("bc")));
    assert_true(str_eq(str_slice(STR("abc"), 9, 99), STR("")));
    assert_true(str_eq(str_slice((struct str){NULL, 0}, 0, 5), STR("")));
}

static void split_gives_every_part(void **state)
{
    static const struct {
        const char *text;
        size_t count;
        const char *last;
    } cases[] = {{"", 1, ""}, {"a", 1, "a"}, {",", 2, ""}, {"a,b", 2, "b"}, {"a,,b,", 4, ""}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct str rest = str_from_cstr(cases[i].text), part = {0};
        bool more = true;
        size_t count = 0;

        while (str_split_next(&rest, &more, ',', &part))
            count++;
        assert_int_equal(count, cases[i].count);
        assert_true(str_eq_cstr(part, cases[i].last));
    }
}

static void utf8_is_judged_by_the_table_of_unicode(void **state)
{
    static const struct str good[] = {
        {"", 0},
        {"a", 1},
        {"\x7F", 1},
        {"\xC2\x80", 2},
        {"\xDF\xBF", 2},
        {"\xE0\xA0\x80", 3},
        {"\xED\x9F\xBF", 3},
        {"\xEE\x80\x80", 3},
        {"\xEF\xBF\xBF", 3},
        {"\xF0\x90\x80\x80", 4},
        {"\xF4\x8F\xBF\xBF", 4},
        {"\0", 1},
    };
    static const struct str bad[] = {
        {"\x80", 1},
        {"\xC0\x80", 2},
        {"\xC1\xBF", 2},
        {"\xC2", 1},
        {"\xC2\x41", 2},
        {"\xE0\x9F\xBF", 3},
        {"\xED\xA0\x80", 3},
        {"\xE2\x82", 2},
        {"\xF0\x8F\xBF\xBF", 4},
        {"\xF4\x90\x80\x80", 4},
        {"\xF5\x80\x80\x80", 4},
        {"\xFF", 1},
        {"\xE2\x82\x41", 3},
        {"\xF0\x90\x80\x41", 4},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        if (!str_is_utf8(good[i]))
            fail_msg("good text %zu was refused", i);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        if (str_is_utf8(bad[i]))
            fail_msg("bad text %zu was taken", i);
    assert_int_equal(str_utf8_cut(STR("a\xE2\x82\xAC"), 3), 1);
    assert_int_equal(str_utf8_cut(STR("a\xE2\x82\xAC"), 4), 4);
    assert_int_equal(str_utf8_cut(STR("abc"), 0), 0);
}

static void integers_are_read_whole_or_not_at_all(void **state)
{
    static const char *const bad_u64[] = {
        "",   "-1", "+1", " 1", "1 ", "1.0", "0x1", "18446744073709551616", "99999999999999999999",
        "1e3"};
    static const char *const bad_i64[] = {
        "", "-", "--1", "9223372036854775808", "-9223372036854775809", "+0"};
    uint64_t u;
    int64_t i;

    (void)state;
    assert_true(str_parse_u64(STR("0"), &u) && u == 0);
    assert_true(str_parse_u64(STR("18446744073709551615"), &u) && u == UINT64_MAX);
    assert_true(str_parse_u64(STR("0007"), &u) && u == 7);
    assert_true(str_parse_i64(STR("-9223372036854775808"), &i) && i == INT64_MIN);
    assert_true(str_parse_i64(STR("9223372036854775807"), &i) && i == INT64_MAX);
    assert_true(str_parse_i64(STR("-0"), &i) && i == 0);
    for (size_t k = 0; k < ARRAY_LEN(bad_u64); k++)
        assert_false(str_parse_u64(str_from_cstr(bad_u64[k]), &u));
    for (size_t k = 0; k < ARRAY_LEN(bad_i64); k++)
        assert_false(str_parse_i64(str_from_cstr(bad_i64[k]), &i));
}

static void doubles_follow_the_grammar_of_json(void **state)
{
    static const struct {
        const char *text;
        double value;
    } good[] = {{"0", 0},
                {"-0.5", -0.5},
                {"1e3", 1000},
                {"1E-2", 0.01},
                {"1.25e+1", 12.5},
                {"0.1", 0.1},
                {"1.7976931348623157e308", DBL_MAX},
                {"1e-999", 0}};
    static const char *const bad[] = {"",    "01",  "1.",  ".5", "+1", "1e", "1e+",   "- 1",  "nan",
                                      "inf", "0x1", "1,5", "1 ", " 1", "-",  "1e999", "1.5.2"};
    double value;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        assert_true(str_parse_double(str_from_cstr(good[i].text), &value));
        assert_true(value == good[i].value);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        if (str_parse_double(str_from_cstr(bad[i]), &value))
            fail_msg("\"%s\" was taken", bad[i]);
}

static void hex_goes_both_ways(void **state)
{
    const unsigned char bytes[] = {0x00, 0x9F, 0xA0, 0xFF};
    unsigned char back[4];
    char text[9];

    (void)state;
    str_format_hex(bytes, 4, text);
    assert_string_equal(text, "009fa0ff");
    assert_true(str_parse_hex(STR("009FA0fF"), back, 4));
    assert_memory_equal(back, bytes, 4);
    assert_false(str_parse_hex(STR("009fa0f"), back, 4));
    assert_false(str_parse_hex(STR("009fa0fg"), back, 4));
    assert_false(str_parse_hex(STR("009fa0ff00"), back, 4));
}

static void buffer_holds_to_its_cap_and_failure_sticks(void **state)
{
    struct error err = {0};
    struct buf buf;

    (void)state;
    buf_init(&buf, 5);
    assert_true(str_eq(buf_str(&buf), STR("")));
    buf_append_cstr(&buf, "abcde"); /* to the last byte */
    assert_int_equal(buf_check(&buf, &err), ST_OK);
    buf_append(&buf, STR(""));
    assert_false(buf.failed);
    buf_append_char(&buf, 'f');
    assert_int_equal(buf_check(&buf, &err), ST_LIMIT);
    assert_string_equal(buf.data, "abcde"); /* what was there is whole */
    buf_clear(&buf);
    buf_append_char(&buf, 'g');
    assert_int_equal(buf_check(&buf, NULL), ST_OK);
    assert_string_equal(buf.data, "g");
    buf_fini(&buf);
    buf_fini(&buf);
    buf_fini(NULL);
}

static void buffer_grows_and_prints(void **state)
{
    struct buf buf;

    (void)state;
    buf_init(&buf, 1 << 20);
    for (int i = 0; i < 1000; i++)
        buf_appendf(&buf, "%d,", i);
    assert_int_equal(buf.len, 2 * 10 + 3 * 90 + 4 * 900);
    assert_true(str_ends_with(buf_str(&buf), STR("998,999,")));
    buf_fini(&buf);
}

static void json_text_is_escaped_and_made_utf8(void **state)
{
    static const struct {
        struct str text;
        const char *want;
    } cases[] = {
        {{"", 0}, "\"\""},
        {{"a\"b\\", 4}, "\"a\\\"b\\\\\""},
        {{"\n\t\r", 3}, "\"\\n\\t\\r\""},
        {{"\0\x1F\x7F", 3}, "\"\\u0000\\u001f\\u007f\""},
        {{"\xE2\x82\xAC", 3}, "\"\xE2\x82\xAC\""},
        {{"a\xFF", 2}, "\"a\xEF\xBF\xBD\""},
        {{"\xE2\x82", 2}, "\"\xEF\xBF\xBD\xEF\xBF\xBD\""},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct buf buf;

        buf_init(&buf, 256);
        buf_append_json(&buf, cases[i].text);
        assert_string_equal(buf.data, cases[i].want);
        buf_fini(&buf);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(views_compare_by_bytes_and_length),
        cmocka_unit_test(trim_and_slice_stay_inside),
        cmocka_unit_test(split_gives_every_part),
        cmocka_unit_test(utf8_is_judged_by_the_table_of_unicode),
        cmocka_unit_test(integers_are_read_whole_or_not_at_all),
        cmocka_unit_test(doubles_follow_the_grammar_of_json),
        cmocka_unit_test(hex_goes_both_ways),
        cmocka_unit_test(buffer_holds_to_its_cap_and_failure_sticks),
        cmocka_unit_test(buffer_grows_and_prints),
        cmocka_unit_test(json_text_is_escaped_and_made_utf8),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
