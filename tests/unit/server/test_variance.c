/* tests/unit/server/test_variance.c: server/analysis/variance.c on made-up runs, worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* analysis_case.h needs the four above. */
#include "tests/support/analysis_case.h"

static void build(const struct case_board *board, struct arena *arena, struct analysis *analysis)
{
    arena_init(arena, CASE_ARENA_BYTES);
    assert_int_equal(variance_build(board->entries, board->count, arena, analysis, NULL), ST_OK);
}

/* Epochs 10, 20, 30 at 3, 2, 1 s: both vary by half, against each other; a fourth run missed. */
static void add_three_of_four(struct case_board *board)
{
    case_add(board, 30, 10);
    case_add_trial(board, 30, 10);
    case_add_trial(board, 40, 20);
    case_add_trial(board, 0, 0);
    case_add_trial(board, 30, 30);
}

static void a_row_is_what_the_formulas_say(void **state)
{
    struct case_board board = {0};
    const struct table *items, *trials;
    struct analysis analysis;
    struct arena arena;

    (void)state;
    add_three_of_four(&board);
    build(&board, &arena, &analysis);
    items = &analysis.parts[0].table;
    trials = &analysis.parts[1].table;
    assert_int_equal(items->row_count, 1);
    assert_count(items, 0, "entry", 1);
    assert_count(items, 0, "n", 4);
    assert_count(items, 0, "reached", 3);
    assert_count(items, 0, "scored", 3);
    assert_cell(items, 0, "p", 0.75);
    assert_cell(items, 0, "p_low", 0.300641843); /* Wilson, 3 of 4 */
    assert_cell(items, 0, "p_high", 0.954412784);
    assert_true(case_cell(items, 0, "p")->has_range);
    assert_cell(items, 0, "mean_s", 100.0 / 3.0);
    /* t(0.975; 2) = 4.302652730 times the deviation sqrt(100/3) / sqrt(3) */
    assert_cell(items, 0, "low_s", 100.0 / 3.0 - 4.302652730 * 10.0 / 3.0);
    assert_cell(items, 0, "high_s", 100.0 / 3.0 + 4.302652730 * 10.0 / 3.0);
    assert_near(case_cell(items, 0, "mean_s")->low, 100.0 / 3.0 - 4.302652730 * 10.0 / 3.0);
    assert_cell(items, 0, "cv", sqrt(100.0 / 3.0) / (100.0 / 3.0));
    assert_cell(items, 0, "cv_population", sqrt(200.0 / 9.0) / (100.0 / 3.0));
    assert_cell(items, 0, "cv_epochs", 0.5);
    assert_cell(items, 0, "cv_per_epoch", 0.5);
    assert_cell(items, 0, "correlation", -1.0);
    assert_cell(items, 0, "epoch_share", 0.5);
    /* 2.010635 / 7 = 0.28723 of 0.05 / 0.173205 = 0.288675; 48 runs would leave 0.29036 */
    assert_count(items, 0, "runs_needed", 49);
    assert_int_equal(trials->row_count, 4);
    assert_count(trials, 1, "run", 102);
    assert_string_equal(case_cell(trials, 1, "run")->text, "2");
    assert_cell(trials, 1, "tta_s", 40);
    assert_cell(trials, 1, "to_mean", 1.2);
    assert_cell(trials, 1, "epochs", 20);
    assert_cell(trials, 1, "per_epoch_s", 2);
    assert_string_equal(case_cell(trials, 2, "state")->text, "missed");
    assert_cell(trials, 2, "tta_s", NAN);
    assert_cell(trials, 2, "to_mean", NAN);
    assert_cell(trials, 2, "epochs", NAN);
    assert_cell(trials, 2, "per_epoch_s", NAN);
    assert_string_equal(analysis.lead,
                        "One entry has several runs: its TTA varies by 17.32 % (CV), not more by "
                        "the epochs needed than by the time of an epoch.");
    arena_fini(&arena);
}

static void the_share_goes_to_what_varies(void **state)
{
    struct case_board board = {0};
    const struct table *items;
    struct analysis analysis;
    struct arena arena;

    (void)state;
    case_add(&board, 20, 10); /* by epochs alone */
    case_add_trial(&board, 20, 10);
    case_add_trial(&board, 40, 20);
    case_add(&board, 20, 10); /* by their time alone */
    case_add_trial(&board, 10, 10);
    case_add_trial(&board, 20, 10);
    case_add_trial(&board, 30, 10);
    case_add(&board, 20, 10); /* not at all */
    case_add_trial(&board, 20, 10);
    case_add_trial(&board, 20, 10);
    build(&board, &arena, &analysis);
    items = &analysis.parts[0].table;
    assert_cell(items, 0, "epoch_share", 1);
    assert_cell(items, 0, "cv_epochs", sqrt(2.0) / 3.0);
    assert_cell(items, 0, "cv_per_epoch", 0);
    assert_cell(items, 0, "correlation", 0);
    assert_cell(items, 1, "epoch_share", 0);
    assert_cell(items, 1, "cv", 0.5);
    assert_cell(items, 2, "cv", 0);
    assert_cell(items, 2, "epoch_share", NAN); /* of nothing */
    assert_count(items, 2, "runs_needed", 2);
    assert_string_equal(analysis.lead,
                        "Over 3 entries with several runs the CV of TTA is 47.14 % in the middle "
                        "and 50.00 % at most; in 1 of the 3 that tell their epochs, these vary "
                        "more than the time of an epoch.");
    arena_fini(&arena);
}

/* The middle of two is their mean. */
static void the_middle_of_an_even_number_is_between(void **state)
{
    struct case_board board = {0};
    struct analysis analysis;
    struct arena arena;

    (void)state;
    case_add(&board, 20, 0);
    case_add_trial(&board, 10, 0);
    case_add_trial(&board, 20, 0);
    case_add_trial(&board, 30, 0);
    case_add(&board, 20, 0);
    case_add_trial(&board, 20, 0);
    case_add_trial(&board, 20, 0);
    build(&board, &arena, &analysis);
    assert_string_equal(analysis.lead,
                        "Over 2 entries with several runs the CV of TTA is 25.00 % in the middle "
                        "and 50.00 % at most; none tells its epochs.");
    arena_fini(&arena);
}

static void what_is_not_known_is_absent(void **state)
{
    struct case_board board = {0};
    const struct table *items;
    struct analysis analysis;
    struct arena arena;

    (void)state;
    case_add(&board, 20, 10); /* one run: no row */
    case_add_trial(&board, 20, 10);
    case_add(&board, 0, 0); /* none reached it */
    case_add_trial(&board, 0, 0);
    case_add_trial(&board, 0, 0);
    case_add(&board, 20, 10); /* one of two */
    case_add_trial(&board, 20, 10);
    case_add_trial(&board, 0, 0);
    case_add(&board, 20, 10); /* one does not tell its epochs */
    case_add_trial(&board, 20, 10);
    case_add_trial(&board, 30, 0);
    case_add(&board, 20, 0); /* no run is known */
    build(&board, &arena, &analysis);
    items = &analysis.parts[0].table;
    assert_int_equal(items->row_count, 3);
    assert_cell(items, 0, "p", 0);
    assert_cell(items, 0, "p_low", 0);
    assert_cell(items, 0, "mean_s", NAN);
    assert_cell(items, 0, "cv", NAN);
    assert_cell(items, 1, "mean_s", 20);
    assert_false(case_cell(items, 1, "mean_s")->has_range);
    assert_cell(items, 1, "cv", NAN);
    assert_false(case_cell(items, 1, "runs_needed")->has);
    assert_cell(items, 2, "cv", sqrt(50.0) / 25.0);
    assert_cell(items, 2, "cv_epochs", NAN);
    assert_cell(items, 2, "epoch_share", NAN);
    assert_int_equal(analysis.parts[1].table.row_count, 6);
    assert_cell(&analysis.parts[1].table, 2, "to_mean", 1);
    assert_cell(&analysis.parts[1].table, 4, "to_mean", 0.8);
    assert_cell(&analysis.parts[1].table, 4, "per_epoch_s", 2);
    assert_cell(&analysis.parts[1].table, 5, "epochs", NAN);
    assert_string_equal(analysis.lead,
                        "One entry has several runs: its TTA varies by 28.28 % (CV).");
    arena_fini(&arena);
}

static void runs_that_are_not_scored_have_no_part_in_the_spread(void **state)
{
    struct case_board board = {0};
    const struct table *items, *trials;
    struct analysis analysis;
    struct arena arena;

    (void)state;
    case_add(&board, 20, 10);
    case_add_trial(&board, 20, 10);
    case_add_trial(&board, 40, 20);
    case_add_trial(&board, 600, 30)->scored = false;
    build(&board, &arena, &analysis);
    items = &analysis.parts[0].table;
    trials = &analysis.parts[1].table;
    assert_count(items, 0, "reached", 3);
    assert_count(items, 0, "scored", 2);
    assert_cell(items, 0, "p", 1);
    assert_cell(items, 0, "mean_s", 30);
    assert_cell(items, 0, "cv_epochs", sqrt(2.0) / 3.0);
    assert_count(trials, 1, "scored", 1);
    assert_count(trials, 2, "scored", 0);
    assert_cell(trials, 2, "to_mean", 20);
    arena_fini(&arena);
}

static void one_entry_may_vary_more_by_epochs(void **state)
{
    struct case_board board = {0};
    struct analysis analysis;
    struct arena arena;

    (void)state;
    case_add(&board, 20, 10);
    case_add_trial(&board, 20, 10);
    case_add_trial(&board, 40, 20);
    build(&board, &arena, &analysis);
    assert_string_equal(analysis.lead,
                        "One entry has several runs: its TTA varies by 47.14 % (CV), more by the "
                        "epochs needed than by the time of an epoch.");
    arena_fini(&arena);
}

/* A fraction of an epoch in some hundredths of a second is as good as any. */
static void small_numbers_are_none_less(void **state)
{
    struct case_board board = {0};
    const struct table *trials;
    struct analysis analysis;
    struct arena arena;

    (void)state;
    case_add(&board, 0.05, 0.05);
    case_add_trial(&board, 0.04, 0.05);
    case_add_trial(&board, 0.06, 0.05);
    build(&board, &arena, &analysis);
    trials = &analysis.parts[1].table;
    assert_cell(trials, 0, "to_mean", 0.8);
    assert_cell(trials, 0, "epochs", 0.05);
    assert_cell(trials, 0, "per_epoch_s", 0.8);
    assert_true(analysis.part_count == 2 && analysis.parts[0].chart.diagonal);
    arena_fini(&arena);
}

static void nothing_says_nothing(void **state)
{
    struct case_board board = {0};
    struct analysis analysis;
    struct arena arena;

    (void)state;
    build(&board, &arena, &analysis);
    assert_int_equal(analysis.parts[0].table.row_count, 0);
    assert_int_equal(analysis.parts[1].table.row_count, 0);
    assert_string_equal(analysis.lead,
                        "No entry has two runs that reached the target, so nothing is known about "
                        "the spread of TTA.");
    arena_fini(&arena);
}

static void no_memory_is_an_error(void **state)
{
    struct case_board board = {0};
    struct analysis analysis;

    (void)state;
    add_three_of_four(&board);
    ASSERT_NEEDS_MEMORY(variance_build(board.entries, board.count, &arena, &analysis, &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_is_what_the_formulas_say),
        cmocka_unit_test(the_share_goes_to_what_varies),
        cmocka_unit_test(the_middle_of_an_even_number_is_between),
        cmocka_unit_test(what_is_not_known_is_absent),
        cmocka_unit_test(runs_that_are_not_scored_have_no_part_in_the_spread),
        cmocka_unit_test(one_entry_may_vary_more_by_epochs),
        cmocka_unit_test(small_numbers_are_none_less),
        cmocka_unit_test(nothing_says_nothing),
        cmocka_unit_test(no_memory_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
