/* tests/unit/common/test_measure.c: the formulas of measures.md against values worked out by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/measure.h"
#include "common/status.h"

/* Sums of a few doubles of like size: a few ulp, with room. */
#define NEAR 1e-12

static void count_meets_a_target_by_exact_integers(void **state)
{
    static const struct {
        int64_t correct, total, target_e6;
        bool want;
    } cases[] = {
        {9400, 10000, 94000000, true}, /* equal counts */
        {9399, 10000, 94000000, false},  {46500, 50000, 93000000, true},
        {46499, 50000, 93000000, false}, {0, 1, 0, true},
        {1, 1, 100000000, true},         {1, 3, 33333333, true}, /* 33.333333.. >= 33.333333 */
        {1, 3, 33333334, false},         {INT64_MAX, INT64_MAX, 100000000, true}, /* no overflow */
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_int_equal(measure_count_meets(cases[i].correct, cases[i].total, cases[i].target_e6),
                         cases[i].want);
}

static void official_time_leaves_out_a_third_at_most(void **state)
{
    (void)state;
    assert_true(measure_official_ns(900, 0) == 900);
    assert_true(measure_official_ns(900, 100) == 800);
    assert_true(measure_official_ns(900, 300) == 600);
    assert_true(measure_official_ns(900, 301) == 600);
    assert_true(measure_official_ns(900, 900) == 600);
    assert_true(measure_official_ns(901, 901) == 600); /* 600.67, rounded down */
    assert_true(measure_official_ns(0, 0) == 0);
    assert_true(measure_official_ns(INT64_MAX, INT64_MAX) == INT64_MAX / 3 * 2);
}

static void spread_is_the_sample_deviation(void **state)
{
    static const double values[] = {2, 4, 4, 4, 5, 5, 7, 9};
    const struct measure_spread spread = measure_spread(values, ARRAY_LEN(values));
    const struct measure_spread one = measure_spread(values, 1), none = measure_spread(values, 0);
    static const double zeros[] = {-1, 1};

    (void)state;
    assert_true(fabs(spread.mean - 5.0) < NEAR);
    assert_true(fabs(spread.deviation - sqrt(32.0 / 7.0)) < NEAR);
    assert_true(fabs(spread.cv - sqrt(32.0 / 7.0) / 5.0) < NEAR);
    assert_true(one.count == 1 && one.mean == 2.0 && one.deviation == 0.0 && one.cv == 0.0);
    assert_true(none.count == 0 && none.mean == 0.0);
    assert_true(measure_spread(zeros, 2).cv == 0.0); /* a mean of 0 has none */
}

static void median_of_even_counts_is_the_mean_of_the_middle_two(void **state)
{
    int64_t odd[] = {9, 1, 5}, even[] = {4, 1, 3, 2}, one[] = {7};
    int64_t missed[] = {INT64_MAX, 10, INT64_MAX}, large[] = {INT64_MAX, INT64_MAX - 2};

    (void)state;
    assert_true(measure_median(odd, 3) == 5);
    assert_true(measure_median(even, 4) == 2); /* 2.5 ns, cut */
    assert_true(measure_median(one, 1) == 7);
    assert_true(measure_median(missed, 3) == INT64_MAX); /* most runs missed: so did the entry */
    assert_true(measure_median(large, 2) == INT64_MAX - 1);
}

static void wilson_matches_published_intervals(void **state)
{
    double low, high;

    (void)state;
    measure_wilson(8, 10, &low, &high); /* worked out from Wilson's formula, z = 1.959964 */
    assert_true(fabs(low - 0.4901625) < 1e-6 && fabs(high - 0.9433178) < 1e-6);
    measure_wilson(0, 5, &low, &high);
    assert_true(low == 0.0 && fabs(high - 0.4344825) < 1e-6);
    measure_wilson(5, 5, &low, &high);
    assert_true(fabs(low - 0.5655175) < 1e-6 && high == 1.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(count_meets_a_target_by_exact_integers),
        cmocka_unit_test(official_time_leaves_out_a_third_at_most),
        cmocka_unit_test(spread_is_the_sample_deviation),
        cmocka_unit_test(median_of_even_counts_is_the_mean_of_the_middle_two),
        cmocka_unit_test(wilson_matches_published_intervals),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
