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

/* Times 1, 2 and 3 s: mean 2, s = 1, t(0.975; 2) = 4.302653, so 2 -+ 2.484138. Wilson of 3 in 4 (z = 1.959964):
 * 0.300642 to 0.954413. */
static void trials_tell_what_missed_and_what_spread(void **state)
{
    static const int64_t times[] = {3000000000, 1000000000, 2000000000};
    const struct measure_trials four = measure_trials(&(struct measure_runs){times, 3, 3, 4}),
                                none = measure_trials(&(struct measure_runs){NULL, 0, 0, 2}),
                                one = measure_trials(&(struct measure_runs){times, 1, 1, 1}),
                                first = measure_trials(&(struct measure_runs){times, 3, 2, 4});

    (void)state;
    assert_true(four.count == 4 && four.reached == 3 && four.has_spread);
    assert_true(fabs(four.p - 0.75) < NEAR && fabs(four.spread.cv - 0.5) < NEAR);
    assert_true(fabs(four.p_low - 0.300642) < 1e-6 && fabs(four.p_high - 0.954413) < 1e-6);
    assert_true(fabs(four.mean_low + 0.484138) < 1e-6 && fabs(four.mean_high - 4.484138) < 1e-6);
    assert_true(none.reached == 0 && !none.has_spread && none.p == 0.0 && none.p_high < 1.0);
    assert_true(one.p == 1.0 && !one.has_spread);
    /* 3 and 1 s alone are scored; the third still reached the target */
    assert_true(first.reached == 3 && fabs(first.p - 0.75) < NEAR && first.spread.count == 2);
    assert_true(fabs(first.spread.mean - 2.0) < NEAR && fabs(first.spread.cv - sqrt(0.5)) < NEAR);
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

/* Newcombe's own example, his table II: 56 of 70 less 48 of 80 is 0.2, 0.0524 to 0.3339. */
static void a_gap_has_newcombes_interval(void **state)
{
    const struct measure_share share = measure_share(56, 70), first = measure_share(48, 80);
    const struct measure_share gap = measure_gap(&share, &first);

    (void)state;
    assert_true(fabs(gap.value - 0.2) < 1e-12);
    assert_true(fabs(gap.low - 0.0524) < 5e-5 && fabs(gap.high - 0.3339) < 5e-5);
}

/* Tables of Student's t (Fisher and Yates 1963; to more digits: NIST's). */
static void student_quantiles_are_those_of_the_tables(void **state)
{
    static const struct {
        double p, df, t;
    } rows[] = {
        {0.975, 1, 12.7062047362},
        {0.975, 2, 4.3026527297},
        {0.975, 4, 2.7764451052},
        {0.975, 10, 2.2281388520},
        {0.975, 30, 2.0422724563},
        {0.975, 100, 1.9839715185},
        {0.95, 13, 1.7709333960},
        {0.99, 5, 3.3649299989},
        {0.9995, 1, 636.6192487688},
        {0.025, 4, -2.7764451052},
        {0.5, 7, 0.0},
        {0.975, 1e6, 1.9599663},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const double t = measure_student_quantile(rows[i].p, rows[i].df);

        assert_true(fabs(t - rows[i].t) < 1e-6 * (1.0 + fabs(rows[i].t)) / 10.0);
        assert_true(fabs(measure_student_cdf(t, rows[i].df) - rows[i].p) < 1e-12);
    }
}

/* One degree of freedom is Cauchy's distribution, two have a closed form. */
static void student_cdf_agrees_with_its_closed_forms(void **state)
{
    static const double at[] = {-1e9, -40.0, -2.0, -1.0, -1e-9, 0.0, 1e-9, 0.5, 1.0, 3.0, 1e3, 1e9};
    const double pi = 3.14159265358979323846;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(at); i++) {
        const double t = at[i];

        assert_true(fabs(measure_student_cdf(t, 1.0) - (0.5 + atan(t) / pi)) < 1e-12);
        assert_true(fabs(measure_student_cdf(t, 2.0) - (0.5 + t / (2.0 * sqrt(2.0 + t * t)))) <
                    1e-12);
        assert_true(fabs(measure_student_cdf(t, 17.5) + measure_student_cdf(-t, 17.5) - 1.0) <
                    1e-12);
    }
    assert_true(measure_student_cdf(-1e3, 1.0) > 3.18e-4 &&
                measure_student_cdf(-1e3, 1.0) < 3.19e-4);
}

/* Student's sleep data (Biometrika 1908): R's t.test(extra ~ group, data = sleep), whose documentation prints
 * t = -1.8608, df = 17.776, p-value = 0.07939, two-sided. */
static void welch_gives_the_figures_of_students_sleep_data(void **state)
{
    static const double first[] = {0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0},
                        second[] = {1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4};
    const struct measure_spread a = measure_spread(first, 10), b = measure_spread(second, 10);
    struct measure_welch test = {0};

    (void)state;
    assert_true(measure_welch(&a, &b, &test));
    assert_true(fabs(test.t - 1.8608) < 5e-5);
    assert_true(fabs(test.df - 17.776) < 5e-4);
    assert_true(fabs(2.0 * test.p - 0.07939) < 5e-6);
    assert_true(measure_welch(&b, &a, &test)); /* the other way round it is no record at all */
    assert_true(fabs(test.p - (1.0 - 0.07939 / 2.0)) < 5e-6);
    assert_true(measure_welch(&a, &a, &test) && fabs(test.p - 0.5) < 1e-12);
}

static void welch_needs_two_values_on_each_side_and_a_spread(void **state)
{
    static const double values[] = {3, 3, 3}, other[] = {4, 5};
    const struct measure_spread one = measure_spread(other, 1), two = measure_spread(other, 2),
                                flat = measure_spread(values, 3);
    struct measure_welch test;

    (void)state;
    assert_false(measure_welch(&one, &two, &test));
    assert_false(measure_welch(&two, &one, &test));
    assert_false(measure_welch(&flat, &flat, &test));
    assert_true(measure_welch(&flat, &two, &test)); /* one side's spread is enough */
    assert_true(fabs(test.df - 1.0) < NEAR && test.p < 0.11 && test.p > 0.10);
}

/* 2, 4, 4, 4, 5, 5, 7, 9: s = sqrt(32/7), t(0.975; 7) = 2.3646242510. */
static void mean_interval_is_students(void **state)
{
    static const double values[] = {2, 4, 4, 4, 5, 5, 7, 9};
    const struct measure_spread spread = measure_spread(values, ARRAY_LEN(values));
    const double half = 2.3646242510 * sqrt(32.0 / 7.0) / sqrt(8.0);
    double low, high;

    (void)state;
    assert_true(fabs(spread.cv_population - 2.0 / 5.0) < NEAR);
    measure_mean_interval(&spread, &low, &high);
    assert_true(fabs(low - (5.0 - half)) < 1e-9);
    assert_true(fabs(high - (5.0 + half)) < 1e-9);
}

/* data/mlperf, v0.5 NVIDIA DGX-1 Transformer; measures.md, Check values. */
static void split_tells_epochs_from_speed(void **state)
{
    static const double tta[] = {1816.574732, 1817.629183, 2413.500353, 2410.550462, 1814.747502,
                                 1806.467053, 1817.531182, 1802.847701, 1803.164634, 2405.093638};
    static const double epochs[] = {3, 3, 4, 4, 3, 3, 3, 3, 3, 4}, none[] = {2, 2}, same[] = {5, 5};
    struct measure_split split = measure_split(tta, epochs, ARRAY_LEN(tta));
    double squares;

    (void)state;
    assert_true(fabs(100.0 * split.tta.cv - 14.523) < 5e-4);
    assert_true(fabs(100.0 * split.epochs.cv - 14.638) < 5e-4);
    assert_true(fabs(100.0 * split.per_epoch.cv - 0.336) < 5e-4);
    assert_true(fabs(100.0 * split.tta.cv_population - 13.778) < 5e-4);
    assert_true(split.has_share && split.epoch_share > 0.999 && split.epoch_share < 1.0);
    squares = split.epochs.cv * split.epochs.cv + split.per_epoch.cv * split.per_epoch.cv +
              2.0 * split.correlation * split.epochs.cv * split.per_epoch.cv;
    /* First order in the CVs, whose products are below 1e-3 of the whole. */
    assert_true(fabs(split.tta.cv * split.tta.cv / squares - 1.0) < 2e-3);
    split = measure_split(same, none, 2);
    assert_false(split.has_share);
    split = measure_split(same, none, 1);
    assert_false(split.has_share);
    assert_true(fabs(split.per_epoch.mean - 2.5) < NEAR);
    assert_int_equal(measure_split(NULL, NULL, 0).per_epoch.count, 0);
}

static void trimming_leaves_out_both_extremes(void **state)
{
    double values[] = {16, 14, 16, 17, 16, 16, 15, 16, 15, 16}, three[] = {3, 1, 2};
    const struct measure_trimmed left = measure_trim(values, ARRAY_LEN(values), 1);

    (void)state;
    assert_int_equal(left.count, 8);
    assert_true(fabs(left.mean - 15.75) < NEAR);
    assert_true(fabs(left.deviation - sqrt(0.1875)) < NEAR);
    assert_true(fabs(measure_trim(three, 3, 1).mean - 2.0) < NEAR);
    assert_true(fabs(measure_trim(three, 3, 0).mean - 2.0) < NEAR);
}

/* measures.md, Check values: rows are submissions, columns workloads. */
static void profile_is_algoperfs(void **state)
{
    static const double times[3][3] = {{100, 200, 300}, {150, 100, 0}, {450, 300, 310}};
    static const double best[] = {100, 100, 300}; /* 0 above: never reached */
    static const double want[] = {0.888889, 0.611111, 0.440741};

    (void)state;
    for (size_t row = 0; row < ARRAY_LEN(want); row++) {
        double score = 0.0;

        for (size_t i = 0; i < ARRAY_LEN(best); i++)
            if (times[row][i] > 0.0)
                score += measure_profile_share(times[row][i] / best[i], ARRAY_LEN(best), 4.0);
        assert_true(fabs(score - want[row]) < 5e-7);
    }
    assert_true(fabs(measure_profile_share(1.0, 2, 4.0) - 0.5) < NEAR);
    assert_true(fabs(measure_profile_share(4.0, 2, 4.0)) < NEAR); /* 4 times the best: nothing */
    assert_true(fabs(measure_profile_share(9.0, 2, 4.0)) < NEAR);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(count_meets_a_target_by_exact_integers),
        cmocka_unit_test(official_time_leaves_out_a_third_at_most),
        cmocka_unit_test(spread_is_the_sample_deviation),
        cmocka_unit_test(student_quantiles_are_those_of_the_tables),
        cmocka_unit_test(student_cdf_agrees_with_its_closed_forms),
        cmocka_unit_test(welch_gives_the_figures_of_students_sleep_data),
        cmocka_unit_test(welch_needs_two_values_on_each_side_and_a_spread),
        cmocka_unit_test(mean_interval_is_students),
        cmocka_unit_test(split_tells_epochs_from_speed),
        cmocka_unit_test(trimming_leaves_out_both_extremes),
        cmocka_unit_test(profile_is_algoperfs),
        cmocka_unit_test(trials_tell_what_missed_and_what_spread),
        cmocka_unit_test(median_of_even_counts_is_the_mean_of_the_middle_two),
        cmocka_unit_test(wilson_matches_published_intervals),
        cmocka_unit_test(a_gap_has_newcombes_interval),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
