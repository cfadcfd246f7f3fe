/* tests/unit/common/test_tsv.c: what progress files really look like is read; the rest is refused with its line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/tsv.h"

static struct tsv parse(const char *text, struct arena *arena)
{
    struct tsv tsv;

    assert_int_equal(tsv_parse(str_from_cstr(text), arena, &tsv, NULL), ST_OK);
    return tsv;
}

static void tsv_reads_every_line_end_and_the_blanks_that_occur(void **state)
{
    static const char *const texts[] = {
        "a\tb\n1\t2\n3\t4\n",
        "a\tb\r\n1\t2\r\n3\t4\r\n",
        "a\tb\r1\t2\r3\t4",
        "a\tb\n1\t2\n3\t4",                         /* no final line end */
        "\xEF\xBB\xBF\x61\tb\n1\t2\n3\t4\n\n \t\n", /* BOM; blank lines at the end */
        " a \tb  \n  1\t 2 \n3 \t4\n",              /* blanks around cells */
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct arena arena;
        struct tsv tsv;

        arena_init(&arena, 1 << 16);
        tsv = parse(texts[i], &arena);
        assert_int_equal(tsv.header.cell_count, 2);
        assert_true(str_eq(tsv.header.cells[0], STR("a")));
        assert_true(str_eq(tsv.header.cells[1], STR("b")));
        assert_int_equal(tsv.row_count, 2);
        assert_int_equal(tsv.rows[1].line, 3);
        assert_true(str_eq(tsv.rows[0].cells[0], STR("1")));
        assert_true(str_eq(tsv.rows[1].cells[1], STR("4")));
        arena_fini(&arena);
    }
}

static void tsv_keeps_ragged_rows_and_empty_cells_for_the_caller_to_judge(void **state)
{
    struct arena arena;
    struct tsv tsv;

    (void)state;
    arena_init(&arena, 1 << 16);
    tsv = parse("a\tb\n1 2\n1\t\t2\n", &arena);
    assert_int_equal(tsv.rows[0].cell_count, 1);
    assert_int_equal(tsv.rows[1].cell_count, 3);
    assert_int_equal(tsv.rows[1].cells[1].len, 0);
    arena_fini(&arena);
}

static void tsv_refuses_with_line_and_code(void **state)
{
    static const struct {
        struct str text;
        enum status status;
        int line;
        const char *code;
    } cases[] = {
        {{"", 0}, ST_INVALID, 0, "empty_file"},
        {{" \n\t\n", 4}, ST_INVALID, 0, "empty_file"},
        {{"a\n\nb\n", 5}, ST_INVALID, 2, "tsv_blank_line"},
        {{"\na\n", 3}, ST_INVALID, 1, "tsv_blank_line"},
        {{"a\r\rb", 4}, ST_INVALID, 2, "tsv_blank_line"},
        {{"a\nb\0c\n", 6}, ST_INVALID, 2, "nul_byte"},
        {{"a\nb\n\xFF\n", 6}, ST_INVALID, 3, "not_utf8"},
        {{"1\t2\t3\t4\t5\t6\t7\t8\t9\t0\t1\t2\t3\t4\t5\t6\t7\n", 34},
         ST_LIMIT,
         1,
         "too_many_columns"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct error err = {0};
        struct arena arena;
        struct tsv tsv;

        arena_init(&arena, 1 << 16);
        assert_int_equal(tsv_parse(cases[i].text, &arena, &tsv, &err), cases[i].status);
        assert_string_equal(err.code, cases[i].code);
        assert_int_equal(err.line, cases[i].line);
        assert_true(err.detail[0] != '\0' && err.hint[0] != '\0');
        arena_fini(&arena);
    }
}

static void tsv_takes_the_maximum_of_rows_and_no_more(void **state)
{
    struct arena arena;
    struct error err = {0};
    struct tsv tsv;
    struct buf text;

    (void)state;
    buf_init(&text, 1 << 20);
    arena_init(&arena, 64 << 20);
    for (int i = 0; i <= TSV_ROWS_MAX; i++)
        buf_append_cstr(&text, "1\n");
    assert_int_equal(tsv_parse(buf_str(&text), &arena, &tsv, &err), ST_OK);
    assert_int_equal(tsv.row_count, TSV_ROWS_MAX);
    buf_append_cstr(&text, "1\n");
    assert_int_equal(tsv_parse(buf_str(&text), &arena, &tsv, &err), ST_LIMIT);
    assert_string_equal(err.code, "too_many_rows");
    arena_fini(&arena);
    buf_fini(&text);
}

static void tsv_reports_an_arena_that_is_too_small(void **state)
{
    struct arena arena;
    struct tsv tsv;

    (void)state;
    arena_init(&arena, 16);
    assert_int_equal(tsv_parse(STR("a\tb\n1\t2\n"), &arena, &tsv, NULL), ST_NO_MEMORY);
    arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tsv_reads_every_line_end_and_the_blanks_that_occur),
        cmocka_unit_test(tsv_keeps_ragged_rows_and_empty_cells_for_the_caller_to_judge),
        cmocka_unit_test(tsv_refuses_with_line_and_code),
        cmocka_unit_test(tsv_takes_the_maximum_of_rows_and_no_more),
        cmocka_unit_test(tsv_reports_an_arena_that_is_too_small),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
