/* tests/unit/server/test_score.c: from the times of an entry's runs to the one that is ranked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/status.h"
#include "server/rank/score.h"

#define MISS (-1) /* in the tables below: the run did not reach the target */
#define NONE (-1) /* no score */

struct row {
    int64_t runs[8];
    size_t count;
    int64_t want;
    size_t shown;
};

static void check_rows(enum task_score rule, const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct score_run runs[8];
        struct score score;

        for (size_t r = 0; r < rows[i].count; r++)
            runs[r] = (struct score_run){rows[i].runs[r] != MISS, rows[i].runs[r]};
        score = score_runs(rule, runs, rows[i].count);
        assert_int_equal(score.has, rows[i].want != NONE);
        if (!score.has)
            continue;
        assert_true(score.tta_ns == rows[i].want);
        assert_int_equal(score.shown, rows[i].shown);
    }
}

static void median_counts_a_run_that_missed_as_infinite(void **state)
{
    static const struct row rows[] = {
        {{0}, 0, NONE, 0},
        {{7}, 1, 7, 0},
        {{MISS}, 1, NONE, 0},
        {{9, 1, 5}, 3, 5, 2},
        {{9, MISS, 5}, 3, 9, 0},
        {{MISS, 5, MISS}, 3, NONE, 0},
        {{10, 20}, 2, 15, 0},       /* between both: the faster is shown */
        {{20, 11}, 2, 15, 1},       /* 15.5, rounded down: nearer to 11 */
        {{10, MISS}, 2, NONE, 0},   /* the mean with infinity */
        {{3, MISS, 1, 2}, 4, 2, 3}, /* 2.5, rounded down */
        {{3, MISS, MISS, 2}, 4, NONE, 0},
        {{4, 4, 4}, 3, 4, 0},                              /* the earlier of equal ones */
        {{INT64_MAX, INT64_MAX - 1}, 2, INT64_MAX - 1, 1}, /* the sum does not overflow */
        {{0, 0}, 2, 0, 0},
    };

    (void)state;
    check_rows(TASK_SCORE_MEDIAN, rows, ARRAY_LEN(rows));
}

static void mean_needs_every_run(void **state)
{
    static const struct row rows[] = {
        {{0}, 0, NONE, 0},        {{7}, 1, 7, 0},
        {{1, 2}, 2, 1, 0},        {{9, 1, 6}, 3, 5, 2},
        {{9, MISS}, 2, NONE, 0},  {{MISS}, 1, NONE, 0},
        {{10, 2, 6, 6}, 4, 6, 2}, {{INT64_MAX, INT64_MAX, INT64_MAX}, 3, INT64_MAX, 0},
        {{0, 4, 5, 11}, 4, 5, 2},
    };

    (void)state;
    check_rows(TASK_SCORE_MEAN, rows, ARRAY_LEN(rows));
}

static void olympic_leaves_out_the_fastest_and_the_slowest(void **state)
{
    static const struct row rows[] = {
        {{0}, 0, NONE, 0},
        {{5}, 1, NONE, 0},
        {{5, 6}, 2, NONE, 0},
        {{5, 90, 6}, 3, 6, 2},
        {{5, MISS, 6}, 3, 6, 2}, /* the one that missed is the slowest */
        {{MISS, MISS, 6}, 3, NONE, 0},
        {{1, 10, 13, 100, 12}, 5, 11, 1}, /* 35/3, rounded down: 10 and 12 are as near */
        {{1, 10, 13, MISS, 12}, 5, 11, 1},
        {{1, MISS, 13, MISS, 12}, 5, NONE, 0},
        {{8, 8, 8, 8}, 4, 8, 0}, /* one of equal ones goes, not all */
        {{INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX}, 4, INT64_MAX, 0},
    };

    (void)state;
    check_rows(TASK_SCORE_OLYMPIC, rows, ARRAY_LEN(rows));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(median_counts_a_run_that_missed_as_infinite),
        cmocka_unit_test(mean_needs_every_run),
        cmocka_unit_test(olympic_leaves_out_the_fastest_and_the_slowest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
