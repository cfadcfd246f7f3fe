/* tests/unit/common/test_csv.c: what RFC 4180 allows is read; anything else is refused with its line and column. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/csv.h"

struct seen {
    char text[256]; /* cells as [..], rows apart by "/" */
    int lines[8];
    int rows;
};

static enum status read_all(struct str text, struct seen *seen, struct error *err)
{
    static struct csv_reader reader;
    enum status status = ST_OK;
    struct arena arena;
    bool more = true;

    *seen = (struct seen){0};
    arena_init(&arena, 1 << 20);
    csv_init(&reader, text, &arena);
    while (status == ST_OK) {
        status = csv_next(&reader, &more, err);
        if (status != ST_OK || !more)
            break;
        seen->lines[seen->rows++ % 8] = reader.line;
        for (size_t i = 0; i < reader.cell_count; i++) {
            const size_t at = strlen(seen->text);

            (void)snprintf(seen->text + at, sizeof seen->text - at, "[%.60s]%s",
                           arena_copy(&arena, reader.cells[i]),
                           i + 1 == reader.cell_count ? "/" : "");
        }
    }
    arena_fini(&arena);
    return status;
}

static void csv_reads_what_the_rules_allow(void **state)
{
    static const struct {
        const char *text, *cells;
        int last_line;
    } rows[] = {
        {"a,b\n1,2\n", "[a][b]/[1][2]/", 2},
        {"a,b\r\n1,2\r\n", "[a][b]/[1][2]/", 2},
        {"a,b\n1,2", "[a][b]/[1][2]/", 2},
        {"a,b\n1,", "[a][b]/[1][]/", 2},
        {"\xEF\xBB\xBF"
         "a,b\n,\n",
         "[a][b]/[][]/", 2},
        {"a,b\n1,2\n\n\r\n\n", "[a][b]/[1][2]/", 2},
        {"a\n\"1,2\"\n", "[a]/[1,2]/", 2},
        {"a\n\"say \"\"x\"\"\"\n", "[a]/[say \"x\"]/", 2},
        {"a,b\n\"1\n2\",3\n4,5\n", "[a][b]/[1\n2][3]/[4][5]/", 4},
        {"a,b\n\"\",\"\"\"\"\n", "[a][b]/[][\"]/", 2},
        {"a\n\"{'Gpus': [{'Name': 'V100', 'Count': 8.0}]}\"\n",
         "[a]/[{'Gpus': [{'Name': 'V100', 'Count': 8.0}]}]/", 2},
        {" a , b \n", "[ a ][ b ]/", 1},
        {"", "", 0},
        {"\n\n", "", 0},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        struct seen seen;

        assert_int_equal(read_all(str_from_cstr(rows[i].text), &seen, &err), ST_OK);
        assert_string_equal(seen.text, rows[i].cells);
        if (seen.rows > 0)
            assert_int_equal(seen.lines[seen.rows - 1], rows[i].last_line);
    }
}

static void csv_refuses_the_rest_with_line_and_column(void **state)
{
    static const struct {
        const char *text, *code, *column;
        int line;
    } rows[] = {
        {"a,b\n1\n", "csv_ragged", "column 2", 2},
        {"a,b\n1,2,3\n", "csv_ragged", "column 3", 2},
        {"a,b\n\n1,2\n", "csv_blank_line", "column 1", 2},
        {"a,b\n1,\"2\n3,4\n", "csv_quote", "column 2", 2},
        {"a,b\n1,2\"3\n", "csv_quote", "column 2", 2},
        {"a,b\n\"1\"2,3\n", "csv_quote", "column 1", 2},
        {"a,b\n1,2\r3,4\n", "csv_line_end", "column 2", 2},
        {"a,b\n1,\xFF\n", "not_utf8", "column 2", 2},
        {"a,b\n\"1\n2\",\"\n", "csv_quote", "column 2", 3},
    };
    const struct str nul = {"a,b\n1,\0\n", 8};
    struct error err = {0};
    struct seen seen;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        err = (struct error){0};
        assert_int_equal(read_all(str_from_cstr(rows[i].text), &seen, &err), ST_INVALID);
        assert_string_equal(err.code, rows[i].code);
        assert_string_equal(err.field, rows[i].column);
        assert_int_equal(err.line, rows[i].line);
        assert_true(err.hint[0] != '\0');
    }
    err = (struct error){0};
    assert_int_equal(read_all(nul, &seen, &err), ST_INVALID);
    assert_string_equal(err.code, "nul_byte");
}

static void csv_has_limits(void **state)
{
    static char text[CSV_CELL_BYTES_MAX + 3];
    struct error err = {0};
    struct seen seen;

    (void)state;
    memset(text, ',', CSV_COLUMNS_MAX - 1); /* so many cells are the most */
    assert_int_equal(read_all((struct str){text, CSV_COLUMNS_MAX - 1}, &seen, &err), ST_OK);
    memset(text, ',', CSV_COLUMNS_MAX);
    assert_int_equal(read_all((struct str){text, CSV_COLUMNS_MAX}, &seen, &err), ST_LIMIT);
    assert_string_equal(err.code, "too_many_columns");
    err = (struct error){0};
    memset(text, 'x', sizeof text);
    assert_int_equal(read_all((struct str){text, CSV_CELL_BYTES_MAX}, &seen, &err), ST_OK);
    assert_int_equal(read_all((struct str){text, CSV_CELL_BYTES_MAX + 1}, &seen, &err), ST_LIMIT);
    assert_string_equal(err.code, "cell_too_long");
}

static void csv_goes_on_behind_a_ragged_row(void **state)
{
    static struct csv_reader reader;
    struct error err = {0};
    struct arena arena;
    bool more;

    (void)state;
    arena_init(&arena, 1 << 16);
    csv_init(&reader, STR("a,b\n1\n2,3\n"), &arena);
    assert_int_equal(csv_next(&reader, &more, &err), ST_OK);
    assert_int_equal(csv_next(&reader, &more, &err), ST_INVALID);
    assert_true(more);
    assert_int_equal(csv_next(&reader, &more, NULL), ST_OK);
    assert_true(more);
    assert_int_equal(reader.line, 3);
    assert_true(str_eq(reader.cells[1], STR("3")));
    arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(csv_reads_what_the_rules_allow),
        cmocka_unit_test(csv_refuses_the_rest_with_line_and_column),
        cmocka_unit_test(csv_has_limits),
        cmocka_unit_test(csv_goes_on_behind_a_ragged_row),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
