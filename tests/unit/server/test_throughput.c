/* tests/unit/server/test_throughput.c: server/analysis/throughput.c: speed-ups relative to a base. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* analysis_case.h needs the four above. */
#include "tests/support/analysis_case.h"

static void build(const struct case_board *board, int64_t base, struct arena *arena,
                  struct analysis *analysis)
{
    arena_init(arena, CASE_ARENA_BYTES);
    assert_int_equal(throughput_build(board->entries, board->count, base, arena, analysis, NULL),
                     ST_OK);
}

/* 4 s an epoch; 1 s, but three times the epochs; 2 s and fewer epochs; two that do not tell. */
static void add_some(struct case_board *board)
{
    case_add(board, 30, 30);
    case_add(board, 40, 10);
    case_add(board, 10, 5);
    case_add(board, 10, 0);
    case_add(board, 0, 10);
}

static void speed_ups_are_relative_to_the_slowest_per_epoch(void **state)
{
    struct case_board board = {0};
    const struct table *items;
    struct analysis analysis;
    struct arena arena;

    (void)state;
    add_some(&board);
    build(&board, 0, &arena, &analysis);
    items = &analysis.parts[0].table;
    assert_int_equal(analysis.part_count, 1);
    assert_true(analysis.parts[0].chart.log_x && analysis.parts[0].chart.log_y);
    assert_true(analysis.parts[0].chart.diagonal);
    assert_int_equal(items->row_count, 3);
    assert_count(items, 0, "entry", 1);
    assert_cell(items, 0, "per_epoch_s", 1);
    assert_cell(items, 0, "epochs", 30);
    assert_cell(items, 0, "tta_s", 30);
    assert_cell(items, 0, "throughput_speedup", 4);
    assert_cell(items, 0, "tta_speedup", 4.0 / 3.0);
    assert_cell(items, 0, "epoch_price", 3);
    assert_cell(items, 1, "throughput_speedup", 1); /* the base itself */
    assert_cell(items, 1, "epoch_price", 1);
    assert_cell(items, 2, "throughput_speedup", 2);
    assert_cell(items, 2, "tta_speedup", 4);
    assert_cell(items, 2, "epoch_price", 0.5);
    for (size_t i = 0; i < 3; i++) /* S_thr / S_tta = E_new / E_ref */
        assert_near(case_cell(items, i, "throughput_speedup")->number /
                        case_cell(items, i, "tta_speedup")->number,
                    case_cell(items, i, "epoch_price")->number);
    assert_string_equal(analysis.lead,
                        "Of 2 entries compared with m2, 2 are faster per epoch; 1 of those needs "
                        "more epochs and gains less in time to accuracy than in throughput.");
    arena_fini(&arena);
}

static void another_base_can_be_chosen(void **state)
{
    struct case_board board = {0};
    struct analysis analysis;
    struct error err = {0};
    struct arena arena;

    (void)state;
    add_some(&board);
    build(&board, 3, &arena, &analysis);
    assert_cell(&analysis.parts[0].table, 0, "throughput_speedup", 2);
    assert_cell(&analysis.parts[0].table, 0, "tta_speedup", 1.0 / 3.0);
    assert_cell(&analysis.parts[0].table, 1, "throughput_speedup", 0.5);
    assert_string_equal(analysis.lead,
                        "Of 2 entries compared with m3, 1 is faster per epoch; 1 of those needs "
                        "more epochs and gains less in time to accuracy than in throughput.");
    /* not there; without epochs; without a time */
    for (int64_t base = 4; base <= 6; base++) {
        err = (struct error){0};
        assert_int_equal(
            throughput_build(board.entries, board.count, base, &arena, &analysis, &err),
            ST_NOT_FOUND);
        assert_string_equal(err.field, "base");
    }
    arena_fini(&arena);
}

/* The smallest id of equal ones; who is as fast is not faster, who needs as many epochs pays none. */
static void of_equal_ones_the_first_is_the_base(void **state)
{
    struct case_board board = {0};
    struct analysis analysis;
    struct arena arena;

    (void)state;
    case_add(&board, 20, 10);
    case_add(&board, 40, 20);
    case_add(&board, 19, 10); /* hardly faster is faster */
    build(&board, 0, &arena, &analysis);
    assert_cell(&analysis.parts[0].table, 1, "epoch_price", 2);
    assert_string_equal(
        analysis.lead,
        "Of 2 entries compared with m1, 1 is faster per epoch, and none of those needs more "
        "epochs: what is gained in throughput is gained in time to accuracy.");
    arena_fini(&arena);
}

static void the_fastest_as_base_leaves_none_faster(void **state)
{
    struct case_board board = {0};
    struct analysis analysis;
    struct arena arena;

    (void)state;
    add_some(&board);
    case_add(&board, 10, 5);
    case_add(&board, 60, 60); /* as fast per epoch as the base, more epochs */
    build(&board, 1, &arena, &analysis);
    assert_string_equal(analysis.lead, "Of 4 entries compared with m1 none is faster per epoch.");
    arena_fini(&arena);
    case_add(&board, 57, 60);
    build(&board, 1, &arena, &analysis);
    assert_string_equal(analysis.lead,
                        "Of 5 entries compared with m1, 1 is faster per epoch; 1 of those needs "
                        "more epochs and gains less in time to accuracy than in throughput.");
    arena_fini(&arena);
}

static void one_alone_compares_with_nothing(void **state)
{
    struct case_board board = {0};
    struct analysis analysis;
    struct arena arena;

    (void)state;
    build(&board, 0, &arena, &analysis);
    assert_int_equal(analysis.parts[0].table.row_count, 0);
    assert_string_equal(analysis.lead, "There are not two entries that tell their epochs: nothing "
                                       "can be compared.");
    arena_fini(&arena);
    case_add(&board, 20, 10);
    build(&board, 0, &arena, &analysis);
    assert_int_equal(analysis.parts[0].table.row_count, 1);
    assert_string_equal(analysis.lead, "There are not two entries that tell their epochs: nothing "
                                       "can be compared.");
    arena_fini(&arena);
}

static void no_memory_is_an_error(void **state)
{
    struct case_board board = {0};
    struct analysis analysis;

    (void)state;
    add_some(&board);
    ASSERT_NEEDS_MEMORY(throughput_build(board.entries, board.count, 0, &arena, &analysis, &err));
}

/* A name that ends in the middle of a character would be no text any more. */
static void a_long_name_ends_with_a_whole_character(void **state)
{
    struct case_board board = {0};
    struct analysis analysis;
    struct arena arena;
    char name[80 + 3];

    (void)state;
    memset(name, 'a', 79);
    memcpy(name + 79, "\xC3\xA9", 3);
    case_add(&board, 40, 10)->model = name;
    case_add(&board, 10, 10);
    build(&board, 1, &arena, &analysis);
    assert_true(str_is_utf8(str_from_cstr(analysis.lead)));
    assert_non_null(strstr(analysis.lead, "aaa, 1 is faster"));
    arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(speed_ups_are_relative_to_the_slowest_per_epoch),
        cmocka_unit_test(another_base_can_be_chosen),
        cmocka_unit_test(of_equal_ones_the_first_is_the_base),
        cmocka_unit_test(the_fastest_as_base_leaves_none_faster),
        cmocka_unit_test(one_alone_compares_with_nothing),
        cmocka_unit_test(no_memory_is_an_error),
        cmocka_unit_test(a_long_name_ends_with_a_whole_character),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
