/* tests/unit/server/test_scaling.c: server/analysis/scaling.c: speed-up and efficiency over devices. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* analysis_case.h needs the four above. */
#include "tests/support/analysis_case.h"

static struct entry_record *add(struct case_board *board, int64_t devices, double tta_s,
                                double epochs)
{
    struct entry_record *record = case_add(board, tta_s, epochs);

    record->devices = (struct opt_i64){true, devices};
    return record;
}

static void build(const struct case_board *board, struct arena *arena, struct analysis *analysis)
{
    arena_init(arena, CASE_ARENA_BYTES);
    assert_int_equal(scaling_build(board->entries, board->count, arena, analysis, NULL), ST_OK);
}

static void efficiency_is_the_speed_up_over_linear(void **state)
{
    struct case_board board = {0};
    const struct table *items;
    struct analysis analysis;
    struct arena arena;

    (void)state;
    add(&board, 8, 20, 20); /* 1 s an epoch, four times as many devices as the fewest */
    add(&board, 2, 40, 10); /* 4 s an epoch */
    add(&board, 4, 10, 8);  /* 1.25 s: faster than linear */
    build(&board, &arena, &analysis);
    items = &analysis.parts[0].table;
    assert_int_equal(items->row_count, 3);
    assert_count(items, 0, "entry", 2);
    assert_string_equal(case_cell(items, 0, "group")->text, "Ada, F, D");
    assert_cell(items, 0, "linear", 1);
    assert_cell(items, 0, "throughput_speedup", 1);
    assert_cell(items, 0, "throughput_efficiency", NAN); /* of the base against itself */
    assert_cell(items, 0, "communication_share", NAN);
    assert_count(items, 1, "devices", 4);
    assert_cell(items, 1, "per_epoch_s", 1.25);
    assert_cell(items, 1, "tta_s", 10);
    assert_cell(items, 1, "linear", 2);
    assert_cell(items, 1, "throughput_speedup", 3.2);
    assert_cell(items, 1, "tta_speedup", 4);
    assert_cell(items, 1, "throughput_efficiency", 1.6);
    assert_cell(items, 1, "tta_efficiency", 2);
    assert_cell(items, 1, "communication_share", NAN); /* not below linear */
    assert_cell(items, 2, "linear", 4);
    assert_cell(items, 2, "throughput_speedup", 4);
    assert_cell(items, 2, "tta_speedup", 2);
    assert_cell(items, 2, "throughput_efficiency", 1);
    assert_cell(items, 2, "tta_efficiency", 0.5);
    assert_cell(items, 2, "communication_share", NAN); /* exactly linear */
    assert_string_equal(analysis.lead,
                        "1 system with several numbers of devices; per epoch the farthest from "
                        "linear is m1 on 8 devices, with 100.0 % of what linear would give.");
    arena_fini(&arena);
}

static void communication_is_at_most_what_is_lost(void **state)
{
    struct case_board board = {0};
    const struct table *items;
    struct analysis analysis;
    struct arena arena;

    (void)state;
    add(&board, 1, 40, 10);
    add(&board, 4, 25, 10); /* 1.6 times as fast with 4 times the devices */
    add(&board, 2, 25, 10); /* 1.6 with 2 */
    build(&board, &arena, &analysis);
    items = &analysis.parts[0].table;
    assert_int_equal(analysis.part_count, 1);
    assert_true(analysis.parts[0].chart.log_x && analysis.parts[0].chart.log_y);
    assert_true(analysis.parts[0].chart.diagonal);
    assert_cell(items, 1, "communication_share", 0.2);
    assert_cell(items, 2, "communication_share", 0.6);
    assert_string_equal(analysis.lead,
                        "1 system with several numbers of devices; per epoch the farthest from "
                        "linear is m2 on 4 devices, with 40.0 % of what linear would give.");
    arena_fini(&arena);
}

/* Of equal numbers of devices the fastest to the target stands for them, of equal times the first. */
static void one_entry_stands_for_a_number_of_devices(void **state)
{
    struct case_board board = {0};
    const struct table *items;
    struct analysis analysis;
    struct arena arena;

    (void)state;
    add(&board, 1, 50, 10);
    add(&board, 1, 40, 10);
    add(&board, 1, 40, 20);
    add(&board, 2, 30, 10);
    add(&board, 2, 20, 10);
    board.records[1].id = 3; /* the order is by id, not as they come */
    board.records[2].id = 2;
    build(&board, &arena, &analysis);
    items = &analysis.parts[0].table;
    assert_int_equal(items->row_count, 2);
    assert_count(items, 0, "entry", 2);
    assert_count(items, 1, "entry", 5);
    assert_cell(items, 0, "per_epoch_s", 2);
    assert_cell(items, 1, "throughput_efficiency", 0.5);
    arena_fini(&arena);
}

static void a_system_is_one_author_framework_and_device(void **state)
{
    static const char *const others[3] = {"author", "framework", "device"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        struct case_board board = {0};
        struct entry_record *other;
        struct analysis analysis;
        struct arena arena;

        add(&board, 1, 40, 10);
        other = add(&board, 2, 20, 10);
        if (i == 0)
            other->author = "Bob";
        else if (i == 1)
            other->framework = "G";
        else
            other->device_model = "E";
        build(&board, &arena, &analysis);
        assert_int_equal(analysis.parts[0].table.row_count, 0);
        assert_string_equal(analysis.lead, "No author has entries with the same devices in two "
                                           "numbers: nothing is known about scaling.");
        arena_fini(&arena);
    }
}

/* Two steps that are equally far: the first is named. */
static void of_equally_far_ones_the_first_is_named(void **state)
{
    struct case_board board = {0};
    struct analysis analysis;
    struct arena arena;

    (void)state;
    add(&board, 1, 40, 10);
    add(&board, 2, 40, 10);
    add(&board, 4, 20, 10);
    build(&board, &arena, &analysis);
    assert_string_equal(analysis.lead,
                        "1 system with several numbers of devices; per epoch the farthest from "
                        "linear is m2 on 2 devices, with 50.0 % of what linear would give.");
    arena_fini(&arena);
}

static void systems_stand_apart(void **state)
{
    struct case_board board = {0};
    const struct table *items;
    struct analysis analysis;
    struct arena arena;

    (void)state;
    add(&board, 1, 40, 10)->device_model = "E";
    add(&board, 1, 20, 10);
    add(&board, 3, 10, 10)->device_model = "E";
    add(&board, 2, 16, 10);
    add(&board, 4, 8, 10)->author = "Zoe"; /* alone */
    build(&board, &arena, &analysis);
    items = &analysis.parts[0].table;
    assert_int_equal(items->row_count, 4);
    assert_string_equal(case_cell(items, 0, "group")->text, "Ada, F, D");
    assert_string_equal(case_cell(items, 2, "group")->text, "Ada, F, E");
    assert_cell(items, 1, "throughput_efficiency", 0.625);
    assert_cell(items, 3, "throughput_efficiency", 4.0 / 3.0);
    assert_string_equal(analysis.lead,
                        "2 systems with several numbers of devices; per epoch the farthest from "
                        "linear is m4 on 2 devices, with 62.5 % of what linear would give.");
    arena_fini(&arena);
}

static void what_tells_no_devices_or_epochs_is_left_out(void **state)
{
    struct case_board board = {0};
    struct analysis analysis;
    struct arena arena;

    (void)state;
    add(&board, 1, 40, 10);
    add(&board, 2, 20, 0);
    add(&board, 2, 0, 10);
    add(&board, 2, 20, 10)->devices.has = false;
    add(&board, 2, 20, 10)->device_model = NULL;
    add(&board, 2, 20, 10)->device_model = "";
    add(&board, 1, 20, 10);
    board.records[6].device_model = "";
    build(&board, &arena, &analysis);
    assert_int_equal(analysis.parts[0].table.row_count, 0);
    arena_fini(&arena);
    board.count = 0;
    build(&board, &arena, &analysis);
    assert_int_equal(analysis.parts[0].table.row_count, 0);
    arena_fini(&arena);
}

static void no_memory_is_an_error(void **state)
{
    struct case_board board = {0};
    struct analysis analysis;

    (void)state;
    add(&board, 1, 40, 10);
    add(&board, 2, 20, 10);
    ASSERT_NEEDS_MEMORY(scaling_build(board.entries, board.count, &arena, &analysis, &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(efficiency_is_the_speed_up_over_linear),
        cmocka_unit_test(communication_is_at_most_what_is_lost),
        cmocka_unit_test(one_entry_stands_for_a_number_of_devices),
        cmocka_unit_test(a_system_is_one_author_framework_and_device),
        cmocka_unit_test(of_equally_far_ones_the_first_is_named),
        cmocka_unit_test(systems_stand_apart),
        cmocka_unit_test(what_tells_no_devices_or_epochs_is_left_out),
        cmocka_unit_test(no_memory_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
