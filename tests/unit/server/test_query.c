/* tests/unit/server/test_query.c: percent-encoding and query parameters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "server/http/query.h"

static struct arena arena;

static int set_up(void **state)
{
    (void)state;
    arena_init(&arena, 1 << 20);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arena_fini(&arena);
    return 0;
}

static void percent_decodes_and_encodes(void **state)
{
    static const struct {
        const char *text, *decoded;
        bool form;
    } rows[] = {
        {"", "", false},
        {"a%20b", "a b", false},
        {"a+b", "a+b", false},
        {"a+b", "a b", true},
        {"%C3%a9", "\xC3\xA9", false},
        {"%", NULL, false},
        {"%2", NULL, false},
        {"%zz", NULL, false},
        {"%00", NULL, false},
        {"%0A", NULL, false},
        {"%7F", NULL, false},
        {"%ff", NULL, false},
        {"%ED%A0%80", NULL, false},
    };
    struct buf out;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        struct str decoded;
        const enum status status =
            percent_decode(str_from_cstr(rows[i].text), rows[i].form, &arena, &decoded, &err);

        assert_int_equal(status, rows[i].decoded == NULL ? ST_INVALID : ST_OK);
        if (status == ST_OK)
            assert_string_equal(decoded.data, rows[i].decoded);
        else
            assert_string_equal(err.code, "bad_encoding");
    }
    buf_init(&out, 100);
    percent_append(&out, STR("aZ9-._~ /\xC3\xA9&"));
    assert_string_equal(out.data, "aZ9-._~%20%2F%C3%A9%26");
    buf_fini(&out);
}

static void query_hands_out_parameters_once_named(void **state)
{
    struct error err = {0};
    struct query query;
    struct str text = {0};
    int64_t number = 7, days = 0;
    bool has;

    (void)state;
    assert_int_equal(query_parse(STR("a=1&b=x%20y&&c&d=2026-12-01"), &arena, NULL, &query, &err),
                     ST_OK);
    assert_int_equal(query.count, 4);
    assert_int_equal(query_read_i64(&query, "a", 0, 9, &number, &err), ST_OK);
    assert_int_equal(number, 1);
    assert_true(query_read_text(&query, "b", &text));
    assert_string_equal(text.data, "x y");
    assert_int_equal(query_read_date(&query, "d", &has, &days, &err), ST_OK);
    assert_true(has);
    assert_int_equal(days, 20788);
    assert_false(query_read_text(&query, "absent", &text));
    assert_int_equal(query_finish(&query, &err), ST_INVALID);
    assert_string_equal(err.code, "unknown_parameter");
    assert_string_equal(err.field, "c");
    assert_true(query_read_text(&query, "c", &text));
    assert_int_equal(text.len, 0);
    err = (struct error){0};
    assert_int_equal(query_finish(&query, &err), ST_OK);
}

static void query_refuses_what_is_none(void **state)
{
    static const char *const texts[] = {"=1", "a=%", "a=1&a=2", "a=1&%61=2", "a=%00"};
    struct query query;
    struct buf many;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct error err = {0};

        if (query_parse(str_from_cstr(texts[i]), &arena, NULL, &query, &err) != ST_INVALID)
            fail_msg("%s", texts[i]);
    }
    buf_init(&many, 4096);
    for (int i = 0; i < QUERY_PARAMETERS_MAX + 1; i++) {
        if (i == QUERY_PARAMETERS_MAX)
            assert_int_equal(query_parse(buf_str(&many), &arena, NULL, &query, NULL), ST_OK);
        buf_appendf(&many, "p%d=1&", i);
    }
    assert_int_equal(query_parse(buf_str(&many), &arena, NULL, &query, NULL), ST_INVALID);
    buf_fini(&many);
}

static void query_bounds_numbers_and_dates(void **state)
{
    static const char *const bad[] = {
        "n=10", "n=-1", "n=", "n=1x", "n=+1", "n=1.0", "n=99999999999999999999"};
    struct query query;
    int64_t number = 0;
    bool has;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct error err = {0};

        assert_int_equal(query_parse(str_from_cstr(bad[i]), &arena, NULL, &query, &err), ST_OK);
        assert_int_equal(query_read_i64(&query, "n", 0, 9, &number, &err), ST_INVALID);
        assert_string_equal(err.field, "n");
    }
    assert_int_equal(query_parse(STR("d=2026-02-30"), &arena, NULL, &query, NULL), ST_OK);
    assert_int_equal(query_read_date(&query, "d", &has, &number, NULL), ST_INVALID);
}

/* One pass finds all; err keeps the first, the list has them in order. */
static void query_notes_every_fault(void **state)
{
    static const char *const words[] = {"red", "green", NULL};
    static const char *const fields[] = {"n", "word", "phrase", "d", "other"};
    struct fault_list faults = {.arena = &arena};
    const char *word = "none";
    struct error err = {0};
    struct str phrase = {0};
    struct query query;
    int64_t number = 7;
    bool has;

    (void)state;
    assert_int_equal(query_parse(STR("n=10&word=blue&phrase=&d=x&other=1&good=green&text=ab"),
                                 &arena, &faults, &query, &err),
                     ST_OK);
    assert_int_equal(query_read_i64(&query, "n", 0, 9, &number, &err), ST_INVALID);
    assert_int_equal(query_read_word(&query, "word", words, &word, &err), ST_INVALID);
    assert_string_equal(word, "none");
    assert_int_equal(query_read_word(&query, "good", words, &word, &err), ST_OK);
    assert_ptr_equal(word, words[1]);
    assert_int_equal(query_read_word(&query, "absent", words, &word, &err), ST_OK);
    assert_int_equal(query_read_phrase(&query, "phrase", 2, &phrase, &err), ST_INVALID);
    assert_int_equal(query_read_phrase(&query, "text", 2, &phrase, &err), ST_OK);
    assert_int_equal(phrase.len, 2);
    assert_int_equal(query_read_date(&query, "d", &has, &number, &err), ST_INVALID);
    assert_int_equal(query_finish(&query, &err), ST_INVALID);
    assert_string_equal(err.field, "n");
    assert_int_equal(faults.count, ARRAY_LEN(fields));
    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        assert_string_equal(faults.items[i].field, fields[i]);
    assert_string_equal(faults.items[1].hint, "red or green");
    assert_string_equal(faults.items[4].code, "unknown_parameter");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(percent_decodes_and_encodes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(query_hands_out_parameters_once_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(query_refuses_what_is_none, set_up, tear_down),
        cmocka_unit_test_setup_teardown(query_bounds_numbers_and_dates, set_up, tear_down),
        cmocka_unit_test_setup_teardown(query_notes_every_fault, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
