/* tests/unit/server/test_trials.c: server/analysis/trials.c: entries and runs joined, what labels of epochs mean. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* analysis_case.h needs the four above. */
#include "tests/support/analysis_case.h"

static const struct task all_count = {.id = "t"}, two_count = {.id = "t", .scored_runs = 2};

static struct trial_record run_of(int64_t entry, int64_t ordinal, int64_t tta_ns, const char *label)
{
    return (struct trial_record){.entry_id = entry,
                                 .run_id = 10 * entry + ordinal,
                                 .ordinal = ordinal,
                                 .state = tta_ns > 0 ? "reached" : "missed",
                                 .tta_ns = {tta_ns > 0, tta_ns},
                                 .epoch_text = label};
}

static void join(const struct task *task, const struct entry_record *entries, size_t entry_count,
                 const struct trial_record *runs, size_t run_count, struct arena *arena,
                 struct trial_entry **joined, size_t *count)
{
    const struct trial_source source = {task, entries, entry_count, runs, run_count};

    arena_init(arena, CASE_ARENA_BYTES);
    assert_int_equal(trials_join(&source, arena, joined, count, NULL), ST_OK);
}

static void each_entry_gets_its_runs_in_order(void **state)
{
    struct case_board board = {0};
    const struct trial_record runs[] = {
        run_of(1, 1, 5, "1"), run_of(1, 2, 0, NULL),         run_of(1, 3, 7, "2"),
        run_of(2, 1, 9, "3"), run_of(4, 1, 2000000000, "4"), run_of(4, 2, 3000000000, "5")};
    struct trial_entry *joined;
    struct arena arena;
    size_t count;

    (void)state;
    for (int i = 0; i < 5; i++)
        case_add(&board, 2.5, 0)->epoch_count_text = i == 3 ? "0.05" : i == 2 ? "-1" : NULL;
    board.records[1].state = "withdrawn";
    board.records[2].tta_ns.has = false;
    join(&all_count, board.records, board.count, runs, ARRAY_LEN(runs), &arena, &joined, &count);
    assert_int_equal(count, 4); /* the withdrawn one is none */
    assert_int_equal(joined[0].trial_count, 3);
    assert_int_equal(joined[0].trials[0].run, 11);
    assert_int_equal(joined[0].trials[2].run, 13);
    assert_true(joined[0].trials[0].reached && !joined[0].trials[1].reached);
    assert_near(joined[0].tta_s, 2.5);
    assert_int_equal(joined[1].entry->id, 3);
    assert_int_equal(joined[1].trial_count, 0);
    assert_true(joined[1].tta_s == 0.0 && joined[1].epochs == 0.0);
    assert_int_equal(joined[2].trial_count, 2);
    assert_near(joined[2].trials[1].tta_s, 3.0);
    assert_near(joined[2].epochs, 0.05);
    assert_int_equal(joined[3].trial_count, 0);
    arena_fini(&arena);
}

static void the_first_that_reached_are_scored(void **state)
{
    struct case_board board = {0};
    const struct trial_record runs[] = {run_of(1, 1, 0, NULL), run_of(1, 2, 5, "1"),
                                        run_of(1, 3, 0, NULL), run_of(1, 4, 7, "2"),
                                        run_of(1, 5, 9, "3")};
    double tta[5], epochs[5];
    struct trial_entry *joined;
    struct arena arena;
    size_t count;

    (void)state;
    case_add(&board, 1, 1);
    join(&two_count, board.records, 1, runs, ARRAY_LEN(runs), &arena, &joined, &count);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(joined[0].trials[i].scored, i == 1 || i == 3);
    assert_true(joined[0].trials[4].reached);
    assert_int_equal(trials_gather(&joined[0], false, tta, epochs), 2);
    assert_near(tta[1], 7e-9);
    arena_fini(&arena);
    join(&all_count, board.records, 1, runs, ARRAY_LEN(runs), &arena, &joined, &count);
    assert_int_equal(trials_gather(&joined[0], false, tta, epochs), 3);
    arena_fini(&arena);
}

static void one_run_alone_is_found(void **state)
{
    struct case_board board = {0};
    const struct trial_record run = run_of(2, 1, 5, "1");
    struct trial_entry *joined;
    struct arena arena;
    size_t count;

    (void)state;
    case_add(&board, 1, 1);
    case_add(&board, 1, 1);
    join(&all_count, board.records, 2, &run, 1, &arena, &joined, &count);
    assert_int_equal(joined[0].trial_count, 0);
    assert_int_equal(joined[1].trial_count, 1);
    arena_fini(&arena);
}

static void of_too_many_runs_the_first_count(void **state)
{
    static struct trial_record runs[TRIAL_RUNS_MAX + 1];
    struct case_board board = {0};
    struct trial_entry *joined;
    struct arena arena;
    size_t count;

    (void)state;
    case_add(&board, 1, 1);
    for (size_t i = 0; i < ARRAY_LEN(runs); i++)
        runs[i] = run_of(1, (int64_t)i + 1, 5, "1");
    join(&all_count, board.records, 1, runs, ARRAY_LEN(runs), &arena, &joined, &count);
    assert_int_equal(joined[0].trial_count, TRIAL_RUNS_MAX);
    assert_int_equal(joined[0].trials[TRIAL_RUNS_MAX - 1].ordinal, TRIAL_RUNS_MAX);
    arena_fini(&arena);
}

static void a_label_means_so_many_epochs(void **state)
{
    static const struct {
        const char *entry_label, *entry_count, *label;
        double smallest, epochs;
    } rows[] = {
        {"9", "9", "7", 1, 7},    /* labels are counts */
        {"9", "10", "7", 0, 8},   /* labels from 0 */
        {"9", "10", "7", 1, 8},   /* the entry counts from 0, this run's log begins later */
        {"9", "11", "7", -1, 9},  /* labels from -1 */
        {"9", "9", "0", 0, 0},    /* no epoch was trained */
        {"9", "9", "-2", 0, 0},   /* nor fewer than none */
        {"9", "9", "many", 0, 0}, /* it does not tell */
        {"9", "9", NULL, 0, 0},   /* nor here */
        {"9", "10", "7", 0.05, 8}, {"9", "9", "0.04", 0, 0.04}, {NULL, NULL, "7.5", 0, 7.5},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct entry_record entry = {.epoch_text = rows[i].entry_label,
                                           .epoch_count_text = rows[i].entry_count};

        assert_near(trial_epochs(&entry, rows[i].label, rows[i].smallest), rows[i].epochs);
    }
}

static void only_runs_that_tell_their_epochs_are_gathered_when_asked(void **state)
{
    struct case_board board = {0};
    double tta[3], epochs[3];

    (void)state;
    case_add(&board, 1, 1);
    case_add_trial(&board, 5, 2);
    case_add_trial(&board, 6, 0);
    case_add_trial(&board, 7, 0.05);
    assert_int_equal(trials_gather(&board.entries[0], true, tta, epochs), 2);
    assert_true(tta[1] == 7.0 && epochs[1] == 0.05);
    assert_int_equal(trials_gather(&board.entries[0], false, tta, epochs), 3);
    assert_true(tta[1] == 6.0 && epochs[1] == 0.0);
}

static void time_per_epoch_needs_both(void **state)
{
    const struct trial_entry both = {.tta_s = 0.05, .epochs = 0.05}, none = {.tta_s = 6},
                             zero = {.epochs = 3};

    (void)state;
    assert_true(trial_tells_epochs(&both) && !trial_tells_epochs(&none) &&
                !trial_tells_epochs(&zero));
    assert_near(trial_per_epoch(6, 3), 2);
    assert_near(trial_per_epoch(6, 0.05), 120);
    assert_true(trial_per_epoch(6, 0) == 0.0);
}

static void nothing_joins_to_nothing(void **state)
{
    struct trial_entry *joined;
    struct arena arena;
    size_t count = 7;

    (void)state;
    join(&all_count, NULL, 0, NULL, 0, &arena, &joined, &count);
    assert_int_equal(count, 0);
    arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_entry_gets_its_runs_in_order),
        cmocka_unit_test(the_first_that_reached_are_scored),
        cmocka_unit_test(one_run_alone_is_found),
        cmocka_unit_test(of_too_many_runs_the_first_count),
        cmocka_unit_test(a_label_means_so_many_epochs),
        cmocka_unit_test(only_runs_that_tell_their_epochs_are_gathered_when_asked),
        cmocka_unit_test(time_per_epoch_needs_both),
        cmocka_unit_test(nothing_joins_to_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
