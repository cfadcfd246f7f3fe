/* tests/unit/server/test_doc_examples.c: the worked examples of docs/measures.md are what the code computes: each is
 * computed here, written as it stands there and looked for on the page. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/clock.h"
#include "common/measure.h"
#include "server/mlperf/rcp.h"
#include "server/page/doc_page.h"
#include "server/price/quote.h"
#include "server/rank/score.h"

static char words[65536]; /* of the page, each stretch of white space one blank */

static int read_page(void **state)
{
    const struct embedded_file *file = doc_find(STR("docs/measures.html"));
    size_t count = 0;

    (void)state;
    for (size_t i = 0; i < file->bytes && count + 1 < sizeof words; i++) {
        const bool blank = file->data[i] == '\n' || file->data[i] == ' ';

        if (!blank || count == 0 || words[count - 1] != ' ')
            words[count++] = blank ? ' ' : (char)file->data[i];
    }
    return count + 1 < sizeof words ? 0 : -1;
}

__attribute__((format(printf, 1, 2))) static void page_says(const char *format, ...)
{
    char text[256];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (strstr(words, text) == NULL)
        fail_msg("docs/measures.md does not say \"%s\"", text);
}

static const double runs[] = {100.0, 104.0, 96.0};

static void times_and_costs(void **state)
{
    const int64_t tta_ns = llround(0.0199 * (double)NS_PER_HOUR);
    int64_t cost_pico;

    (void)state;
    page_says("TTA = 0.0199 h = %.2f s", (double)tta_ns / 1e9);
    assert_true(price_cost_text(tta_ns, "24.48", &cost_pico));
    page_says("71.64 s at 24.48 USD an hour cost %.6f USD", (double)cost_pico / 1e12);
    page_says("40 s of evaluation, %.0f s count",
              (double)measure_official_ns(90 * NS_PER_S, 40 * NS_PER_S) / 1e9);
    page_says("costs %.1fe-7 USD, a million %.2f USD", 0.09 * 8.0 / 0.36, 0.09 * 8.0 / 3.6);
}

static void times_of_several_runs(void **state)
{
    const struct score_run three[] = {{true, 50}, {true, 60}, {false, 0}};
    const struct score median = score_runs(TASK_SCORE_MEDIAN, three, 3),
                       olympic = score_runs(TASK_SCORE_OLYMPIC, three, 3);

    (void)state;
    assert_false(score_runs(TASK_SCORE_MEAN, three, 3).has);
    page_says("the median is %d s, there is no mean, and the olympic one is %d s",
              (int)median.tta_ns, (int)olympic.tta_ns);
}

static void spread_and_interval(void **state)
{
    const struct measure_spread spread = measure_spread(runs, 3);
    double low, high;

    (void)state;
    measure_mean_interval(&spread, &low, &high);
    page_says("%.2f %% and %.2f %%", 100.0 * spread.cv, 100.0 * spread.cv_population);
    page_says("100 s, from %.1f to %.1f", low, high);
    page_says("CV of 4 %%: %zu runs", measure_runs_needed(spread.cv, 0.05));
}

static void probability_of_the_target(void **state)
{
    double low, high;

    (void)state;
    measure_wilson(4, 5, &low, &high);
    page_says("4 of 5: 0.80, from %.2f to %.2f", low, high);
    measure_wilson(5, 5, &low, &high);
    page_says("5 of 5: from %.2f to %.2f", low, high);
}

static void significance_of_a_record(void **state)
{
    static const double new_runs[] = {90.0, 94.0, 92.0};
    const struct measure_spread faster = measure_spread(new_runs, 3),
                                slower = measure_spread(runs, 3);
    struct measure_welch welch;

    (void)state;
    assert_true(measure_welch(&faster, &slower, &welch));
    page_says("t = %.2f, d = %.2f, p = %.3f", welch.t, welch.df, welch.p);
}

static void split_of_the_variance(void **state)
{
    static const double epochs[] = {10.0, 11.0, 12.0}, tta[] = {100.0, 111.1, 118.8};
    const struct measure_split split = measure_split(tta, epochs, 3);
    const double e = split.epochs.cv, s = split.per_epoch.cv;

    (void)state;
    page_says(
        "CV(E) = %.2f %%, CV(s) = %.2f %%, r = %.2f; the sum gives %.2f %% where TTA has %.2f "
        "%%, and %.1f %% of it",
        100.0 * e, 100.0 * s, split.correlation,
        100.0 * sqrt(e * e + s * s + 2.0 * split.correlation * e * s), 100.0 * split.tta.cv,
        100.0 * split.epoch_share);
}

static void score_across_tasks(void **state)
{
    static const double ratios[] = {1.0, 2.0, 5.0};
    double score = 0.0;

    (void)state;
    for (size_t i = 0; i < 3; i++)
        score += measure_profile_share(ratios[i], 3, 4.0);
    page_says("(1 + 0.667 + 0) / 3 = %.3f", score);
}

static void reference_convergence(void **state)
{
    static const double epochs[] = {14, 15, 15, 16, 16, 16, 16, 16, 16, 17};
    static const double entry[] = {15, 15, 15, 16, 16};
    struct rcp_point point = {.name = "r", .batch = 64, .values = epochs, .count = 10};
    const struct rcp_set set = {&point, 1};
    const struct rcp_question question = {
        .variant = RCP_RULES, .runs = 5, .count = 5, .batch = 64, .values = entry};
    struct rcp_verdict verdict;
    struct arena arena;

    (void)state;
    arena_init(&arena, 1 << 20);
    assert_int_equal(rcp_check(&set, &question, &arena, &verdict, NULL), ST_OK);
    page_says("m %.2f, v %.3f, and with five runs to an entry %.2f epochs", verdict.mean,
              verdict.deviation, verdict.min_mean);
    arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_and_costs),          cmocka_unit_test(times_of_several_runs),
        cmocka_unit_test(spread_and_interval),      cmocka_unit_test(probability_of_the_target),
        cmocka_unit_test(significance_of_a_record), cmocka_unit_test(split_of_the_variance),
        cmocka_unit_test(score_across_tasks),       cmocka_unit_test(reference_convergence),
    };

    return cmocka_run_group_tests_name("doc_examples", tests, read_page, NULL);
}
