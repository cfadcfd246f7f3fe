/* tests/unit/server/test_records.c: who held the record when. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "server/rank/records.h"

static struct task_table *tasks;
static const struct task *train;

static int load_tasks(void **state)
{
    (void)state;
    if (task_table_create(&tasks, NULL) != ST_OK)
        return -1;
    train = task_find(tasks, STR("cifar10-train"));
    return 0;
}

static int drop_tasks(void **state)
{
    (void)state;
    task_table_destroy(tasks);
    return 0;
}

static struct board_entry timed(int64_t id, int64_t tta_ns, const struct board_standing *standing)
{
    return (struct board_entry){.entry = id,
                                .name = "n",
                                .has_tta = true,
                                .tta_ns = tta_ns,
                                .date_days = standing->from_days,
                                .standings = standing,
                                .standing_count = 1};
}

/* from, to (0: it holds it still), entry */
static void check(const struct board_entry *entries, size_t count, const int64_t (*want)[3],
                  size_t want_count)
{
    struct record *records;
    struct arena arena;
    struct kept *kept;
    size_t found;

    arena_init(&arena, 1 << 20);
    assert_int_equal(kept_create(train, &kept, NULL), ST_OK);
    assert_int_equal(kept_put(kept, entries, count, NULL), ST_OK);
    assert_int_equal(records_list(kept, train, BOARD_TIME, &arena, &records, &found, NULL), ST_OK);
    assert_int_equal(found, want_count);
    for (size_t i = 0; i < found; i++) {
        assert_int_equal(records[i].from_days, want[i][0]);
        assert_int_equal(records[i].has_to ? records[i].to_days : 0, want[i][1]);
        assert_int_equal(records[i].row->entry, want[i][2]);
    }
    kept_destroy(kept);
    arena_fini(&arena);
}

static void a_record_lasts_until_a_better_one(void **state)
{
    static const struct board_standing days[] = {
        {10, false, 0}, {20, false, 0}, {30, false, 0}, {40, false, 0}};
    const struct board_entry entries[] = {timed(1, 100, &days[0]), timed(2, 120, &days[1]),
                                          timed(3, 100, &days[2]), timed(4, 50, &days[3])};
    static const int64_t want[][3] = {{10, 40, 1},
                                      {40, 0, 4}}; /* an equal value breaks no record */

    (void)state;
    check(entries, 4, want, 2);
    check(entries, 0, NULL, 0);
}

static void the_one_before_holds_it_again_when_a_record_goes(void **state)
{
    static const struct board_standing first = {10, false, 0}, gone = {20, true, 25},
                                       never = {15, true, 15}, late = {30, false, 0};
    struct board_entry entries[] = {timed(1, 100, &first), timed(2, 60, &gone), timed(3, 1, &never),
                                    timed(4, 80, &late), timed(5, 0, &first)};
    static const int64_t want[][3] = {{10, 20, 1}, {20, 25, 2}, {25, 30, 1}, {30, 0, 4}};

    (void)state;
    entries[1].not_ranked_reason = "withdrawn";
    entries[4].has_tta = false; /* never reached the target */
    check(entries, 5, want, 4);
}

static void days_without_any_entry_have_no_record(void **state)
{
    static const struct board_standing first = {10, true, 20}, second = {30, false, 0};
    const struct board_entry entries[] = {timed(1, 100, &first), timed(2, 200, &second)};
    static const int64_t want[][3] = {{10, 20, 1}, {30, 0, 2}};

    (void)state;
    check(entries, 2, want, 2);
}

static void a_new_record_says_how_much_better_and_how_sure(void **state)
{
    static const struct board_standing old = {10, false, 0}, new = {20, false, 0},
                                       third = {30, false, 0};
    static const int64_t slow[] = {110, 100, 90}, fast[] = {50, 52, 48};
    struct board_entry entries[] = {timed(1, 100, &old), timed(2, 50, &new), timed(3, 25, &third)};
    struct record *records;
    struct arena arena;
    struct kept *kept;
    size_t count;

    (void)state;
    entries[0].tta_runs_ns = slow;
    entries[1].tta_runs_ns = fast;
    entries[0].tta_run_count = entries[1].tta_run_count = 3;
    arena_init(&arena, 1 << 20);
    assert_int_equal(kept_create(train, &kept, NULL), ST_OK);
    assert_int_equal(kept_put(kept, entries, 3, NULL), ST_OK);
    assert_int_equal(records_list(kept, train, BOARD_TIME, &arena, &records, &count, NULL), ST_OK);
    assert_int_equal(count, 3);
    assert_false(records[0].has_before || records[0].has_welch);
    assert_true(records[1].has_before && fabs(records[1].improvement - 2.0) < 1e-12);
    /* t = 50 / sqrt(100/3 + 4/3), df = (104/3)^2 / ((100/3)^2/2 + (4/3)^2/2) */
    assert_true(records[1].has_welch && fabs(records[1].welch.t - 8.49208) < 1e-4);
    assert_true(fabs(records[1].welch.df - 2.15974) < 1e-4);
    assert_true(records[1].welch.p > 0.0 && records[1].welch.p < 0.01);
    assert_true(records[2].has_before && !records[2].has_welch); /* a single run cannot tell */
    assert_int_equal(records_list(kept, train, BOARD_LATENCY, &arena, &records, &count, NULL),
                     ST_INVALID);
    kept_destroy(kept);
    arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_lasts_until_a_better_one),
        cmocka_unit_test(the_one_before_holds_it_again_when_a_record_goes),
        cmocka_unit_test(days_without_any_entry_have_no_record),
        cmocka_unit_test(a_new_record_says_how_much_better_and_how_sure),
    };

    return cmocka_run_group_tests(tests, load_tasks, drop_tasks);
}
