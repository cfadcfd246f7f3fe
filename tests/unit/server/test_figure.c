/* tests/unit/server/test_figure.c: server/page/figure.c: seconds as they stand in a table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>

#include "server/page/figure.h"

static void seconds_keep_three_digits(void **state)
{
    static const struct {
        double seconds;
        const char *shown;
    } rows[] = {{0.0, "0 s"},         {2.31e-7, "0.231 \u00B5s"}, {3.64e-5, "36.4 \u00B5s"},
                {0.00285, "2.85 ms"}, {0.1316, "0.132 s"},        {43.276, "43.28 s"}};
    static const struct table_column columns[] = {{"s", "Time", TABLE_SECONDS, TABLE_ALWAYS}};
    struct arena arena;

    (void)state;
    arena_init(&arena, 1 << 20);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct table_cell cell = cell_number(rows[i].seconds);
        const struct table table = {.columns = columns,
                                    .column_count = 1,
                                    .row_count = 1,
                                    .row_capacity = 1,
                                    .cells = &cell};
        size_t count;
        const struct fact_view *facts = figure_facts(&arena, &table, &count);

        assert_int_equal(count, 1);
        assert_true(str_eq_cstr(facts[0].value, rows[i].shown));
    }
    arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(seconds_keep_three_digits)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
