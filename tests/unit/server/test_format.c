/* tests/unit/server/test_format.c: server/page/format: readable numbers at and around each change of form. */
#include "server/page/format.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "common/clock.h"

#define MS INT64_C(1000000)
#define S  NS_PER_S

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

struct example {
    int64_t value;
    const char *want;
};

static void check(struct str got, const char *want)
{
    assert_non_null(got.data);
    assert_string_equal(got.data, want);
}

static void durations_keep_four_digits_and_change_form_without_a_gap(void **state)
{
    static const struct example examples[] = {
        {0, "0.000 s"},
        {9214 * MS, "9.214 s"},
        {9999 * MS, "9.999 s"},
        {9999 * MS + 600000, "10.00 s"},
        {10663472000, "10.66 s"},
        {99990 * MS, "99.99 s"},
        {99996 * MS, "1 min 40.0 s"},
        {157550 * MS, "2 min 37.6 s"}, /* half up: display alone */
        {599940 * MS, "9 min 59.9 s"},
        {599960 * MS, "10 min 00 s"},
        {1085 * S, "18 min 05 s"},
        {3599 * S + 600 * MS, "1 h 00 min"},
        {9870 * S, "2 h 45 min"},
        {86399 * S, "1 d 00 h"},
        {INT64_C(273600) * S, "3 d 04 h"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(examples); i++)
        check(format_duration(&arena, examples[i].value), examples[i].want);
}

static void clocks_of_a_column_share_one_form(void **state)
{
    (void)state;
    check(format_clock(&arena, 61230 * MS, 600 * S), "61.23");
    check(format_clock(&arena, 61230 * MS, 601 * S), "0:01:01");
    check(format_clock(&arena, 100000 * S, 100000 * S), "27:46:40");
    assert_string_equal(format_clock_unit(600 * S), "s");
    assert_string_equal(format_clock_unit(601 * S), "h:mm:ss");
}

static void money_keeps_three_digits_below_a_dollar(void **state)
{
    static const struct example examples[] = {
        {0, "$0.00"},
        {INT64_C(21211000000), "$0.0212"},
        {INT64_C(105006000000), "$0.105"},
        {INT64_C(14424578000000), "$14.42"},
        {INT64_C(1112640000000000), "$1,112.64"},
        {INT64_C(1234567890000000000), "$1,234,567.89"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(examples); i++)
        check(format_money(&arena, examples[i].value), examples[i].want);
    check(format_money_per_million(&arena, 207800), "$0.208"); /* 2.078e-07 USD for one */
    check(format_money_per_million(&arena, 14805556), "$14.81");
}

static void energies_take_the_unit_that_keeps_them_short(void **state)
{
    static const struct example examples[] = {
        {0, "0 J"},
        {812400000, "812.4 J"},
        {999949999, "999.9 J"},
        {999950000, "1.000 kJ"},
        {INT64_C(999949999999), "999.9 kJ"},
        {INT64_C(999950000000), "1.000 MJ"},
        {INT64_C(1234567000000000), "1,235 MJ"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(examples); i++)
        check(format_energy(&arena, examples[i].value), examples[i].want);
}

static void sizes_and_rates_take_a_prefix(void **state)
{
    static const struct {
        double value;
        const char *want;
    } examples[] = {
        {0, "0 B"},          {999, "999 B"},        {2.5, "2.500 B"},       {999.95, "1.000 kB"},
        {999.94, "999.9 B"}, {2097152, "2.097 MB"}, {99.994e6, "99.99 MB"}, {99.995e6, "100.0 MB"},
        {2e10, "20.00 GB"},  {4e12, "4.000 TB"},    {3e18, "3000.0 PB"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(examples); i++)
        check(format_scaled(&arena, examples[i].value, "B"), examples[i].want);
}

static void latencies_keep_four_digits(void **state)
{
    static const struct example examples[] = {
        {73928, "0.07393 ms"},   {134500, "0.1345 ms"},     {683000, "0.6830 ms"},
        {9784311, "9.784 ms"},   {31130000, "31.13 ms"},    {590 * MS, "590.0 ms"},
        {1234 * MS, "1,234 ms"}, {12345 * MS, "12,345 ms"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(examples); i++)
        check(format_latency(&arena, examples[i].value), examples[i].want);
}

static void ratios_and_counts_and_labels(void **state)
{
    (void)state;
    check(format_ratio(&arena, 10, 10), "1\u00D7");
    check(format_ratio(&arena, 417, 100), "4.17\u00D7");
    check(format_ratio(&arena, 1634, 100), "16.3\u00D7");
    check(format_ratio(&arena, 3470600, 100), "34,706\u00D7");
    check(format_count(&arena, 999), "999");
    check(format_count(&arena, 10000), "10,000");
    check(format_counted(&arena, 1, "entry", "entries"), "1 entry");
    check(format_counted(&arena, 0, "entry", "entries"), "0 entries");
    check(format_label(&arena, "24"), "24");
    check(format_label(&arena, "150.144"), "150.1");
    check(format_label(&arena, NULL), "-");
    check(format_label(&arena, "1.5e15"), "1500000000000000.0");
    check(format_label(&arena, "last"), "last");
}

static void ages_grow_coarse(void **state)
{
    (void)state;
    check(format_age(&arena, -5), "0 s ago");
    check(format_age(&arena, 119999), "119 s ago");
    check(format_age(&arena, 120000), "2 min ago");
    check(format_age(&arena, INT64_C(7200000)), "2 h ago");
    check(format_age(&arena, INT64_C(172800000)), "2 d ago");
}

static void a_full_arena_gives_empty_texts(void **state)
{
    struct arena tiny;

    (void)state;
    arena_init(&tiny, 1);
    assert_int_equal(format_duration(&tiny, 5 * S).len, 0);
    arena_fini(&tiny);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(durations_keep_four_digits_and_change_form_without_a_gap),
        cmocka_unit_test(clocks_of_a_column_share_one_form),
        cmocka_unit_test(money_keeps_three_digits_below_a_dollar),
        cmocka_unit_test(energies_take_the_unit_that_keeps_them_short),
        cmocka_unit_test(sizes_and_rates_take_a_prefix),
        cmocka_unit_test(latencies_keep_four_digits),
        cmocka_unit_test(ratios_and_counts_and_labels),
        cmocka_unit_test(ages_grow_coarse),
        cmocka_unit_test(a_full_arena_gives_empty_texts),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
