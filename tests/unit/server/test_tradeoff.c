/* tests/unit/server/test_tradeoff.c: server/analysis/tradeoff.c: cost against time, and who is on the front. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* analysis_case.h needs the four above. */
#include "tests/support/analysis_case.h"

static void add(struct case_board *board, double tta_s, double cost_usd)
{
    struct entry_record *record = case_add(board, tta_s, 0);

    record->cost_pico = (struct opt_i64){cost_usd >= 0.0, llround(cost_usd * 1e12)};
}

static void build(const struct case_board *board, struct arena *arena, struct analysis *analysis)
{
    arena_init(arena, CASE_ARENA_BYTES);
    assert_int_equal(tradeoff_build(board->entries, board->count, arena, analysis, NULL), ST_OK);
}

static void the_front_is_whom_nobody_beats_in_both(void **state)
{
    static const struct {
        int64_t entry;
        double tta_s, cost;
        int64_t front;
    } want[] = {/* by time, then cost, then id */
                {5, 10, 5, 1}, {2, 10, 7, 0}, {6, 20, 4, 1}, {7, 20, 4, 1},
                {1, 30, 4, 0}, {4, 40, 9, 0}, {3, 50, 1, 1}};
    struct case_board board = {0};
    const struct table *items;
    struct analysis analysis;
    struct arena arena;

    (void)state;
    add(&board, 30, 4); /* as cheap as 6 and 7, and slower */
    add(&board, 10, 7); /* as fast as 5, and dearer */
    add(&board, 50, 1);
    add(&board, 40, 9);
    add(&board, 10, 5);
    add(&board, 20, 4); /* equal in both: neither beats the other */
    add(&board, 20, 4);
    board.records[5].id = 7; /* of equal ones, the order is by id */
    board.records[6].id = 6;
    build(&board, &arena, &analysis);
    items = &analysis.parts[0].table;
    assert_int_equal(analysis.part_count, 1);
    assert_true(analysis.parts[0].chart.log_x && analysis.parts[0].chart.log_y);
    assert_int_equal(items->row_count, ARRAY_LEN(want));
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        assert_count(items, i, "entry", want[i].entry);
        assert_cell(items, i, "tta_s", want[i].tta_s);
        assert_cell(items, i, "cost_usd", want[i].cost);
        assert_count(items, i, "front", want[i].front);
        assert_string_equal(case_cell(items, i, "hardware")->text, "H");
    }
    assert_string_equal(analysis.lead,
                        "4 of 7 entries are on the front: nobody is both faster and cheaper.");
    arena_fini(&arena);
}

/* A nanosecond or a pico-dollar decides, as on the boards. */
static void values_are_compared_as_integers(void **state)
{
    struct case_board board = {0};
    struct analysis analysis;
    struct arena arena;

    (void)state;
    add(&board, 100000000, 1000);
    add(&board, 100000000, 1000);
    board.records[0].tta_ns.value += 1;
    board.records[0].cost_pico.value -= 1;
    build(&board, &arena, &analysis);
    assert_count(&analysis.parts[0].table, 0, "entry", 2);
    assert_count(&analysis.parts[0].table, 0, "front", 1);
    assert_count(&analysis.parts[0].table, 1, "front", 1);
    arena_fini(&arena);
}

static void without_time_or_cost_there_is_no_row(void **state)
{
    struct case_board board = {0};
    struct analysis analysis;
    struct arena arena;

    (void)state;
    add(&board, 0, 5);
    add(&board, 10, -1);
    add(&board, 10, 5);
    board.records[2].cost_reason = "its price is doubted";
    build(&board, &arena, &analysis);
    assert_int_equal(analysis.parts[0].table.row_count, 0);
    assert_string_equal(analysis.lead, "No entry has both a time and a cost.");
    arena_fini(&arena);
    add(&board, 10, 0); /* free is a cost */
    build(&board, &arena, &analysis);
    assert_string_equal(analysis.lead,
                        "1 of 1 entries is on the front: nobody is both faster and cheaper.");
    arena_fini(&arena);
}

static void no_memory_is_an_error(void **state)
{
    struct case_board board = {0};
    struct analysis analysis;

    (void)state;
    add(&board, 10, 5);
    ASSERT_NEEDS_MEMORY(tradeoff_build(board.entries, board.count, &arena, &analysis, &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_front_is_whom_nobody_beats_in_both),
        cmocka_unit_test(values_are_compared_as_integers),
        cmocka_unit_test(without_time_or_cost_there_is_no_row),
        cmocka_unit_test(no_memory_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
