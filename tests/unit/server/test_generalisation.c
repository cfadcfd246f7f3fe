/* tests/unit/server/test_generalisation.c: server/analysis/generalisation.c: gaps to the first set, what cannot be read,
 * and how much memory many entries take. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* analysis_case.h needs the four above. */
#include "tests/support/analysis_case.h"

#define MANY 2000

static void add(struct case_board *board, const char *misc)
{
    case_add(board, 10, 5)->misc_json = misc;
}

static void build(const struct case_board *board, struct arena *arena, struct analysis *analysis)
{
    arena_init(arena, CASE_ARENA_BYTES);
    assert_int_equal(generalisation_build(board->entries, board->count, arena, analysis, NULL),
                     ST_OK);
}

static void a_gap_is_to_the_first_set(void **state)
{
    struct case_board board = {0};
    const struct table *items;
    struct analysis analysis;
    struct arena arena;

    (void)state;
    add(&board, "{\"generalisation\":[{\"model_seed\":\"5\",\"holdout\":true,\"sets\":["
                "{\"set\":\"test\",\"exposure\":\"unseen\",\"correct\":9000,\"total\":10000},"
                "{\"set\":\"tune\",\"exposure\":\"trained\",\"correct\":5000,\"total\":5000},"
                "{\"set\":\"fresh\",\"exposure\":\"unseen\",\"correct\":4400,\"total\":5000}]}]}");
    build(&board, &arena, &analysis);
    items = &analysis.parts[0].table;
    assert_int_equal(items->row_count, 3);
    assert_string_equal(case_cell(items, 0, "trained")->text, "seed 5, images held out");
    assert_cell(items, 0, "accuracy", 0.9);
    assert_cell(items, 0, "gap", NAN);
    assert_cell(items, 1, "gap", NAN);
    assert_cell(items, 2, "gap", -0.02);
    assert_string_equal(analysis.lead,
                        "1 model of 1 entry was scored; of the gaps on unseen sets the lowest is "
                        "-2.00 points beside the validation set, on fresh, with m1.");
    arena_fini(&arena);
}

/* Else an entry that scores its training images first would be the worst of all. */
static void there_is_no_gap_to_what_was_learnt(void **state)
{
    struct case_board board = {0};
    struct analysis analysis;
    struct arena arena;

    (void)state;
    add(&board, "{\"generalisation\":[{\"holdout\":false,\"sets\":["
                "{\"set\":\"train\",\"exposure\":\"trained\",\"correct\":10000,\"total\":10000},"
                "{\"set\":\"test\",\"exposure\":\"unseen\",\"correct\":1,\"total\":10000}]}]}");
    build(&board, &arena, &analysis);
    assert_cell(&analysis.parts[0].table, 1, "gap", NAN);
    assert_string_equal(analysis.lead, "1 model was scored, on no unseen set beside the first.");
    arena_fini(&arena);
}

static void what_is_of_another_form_is_left_out_and_said(void **state)
{
    static const char *const forms[] = {
        "{\"generalisation\":\"x\"}",
        "{\"generalisation\":[[[]]]}",
        "{\"generalisation\":[{\"holdout\":true,\"sets\":[]}]}",
        "{\"generalisation\":[{\"holdout\":true,\"sets\":[{\"set\":\"test\",\"exposure\":"
        "\"unseen\",\"correct\":-1,\"total\":10}]}]}",
        "{\"generalisation\":[{\"holdout\":true,\"sets\":[{\"set\":\"test\",\"exposure\":"
        "\"unseen\",\"correct\":11,\"total\":10}]}]}",
    };
    struct case_board board = {0};
    struct analysis analysis;
    struct arena arena;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(forms); i++)
        add(&board, forms[i]);
    build(&board, &arena, &analysis);
    assert_int_equal(analysis.parts[0].table.row_count, 0);
    assert_non_null(strstr(analysis.lead, " 5 could not be read and are left out."));
    arena_fini(&arena);
}

/* Room is for the rows that there are, not for the most that an entry may have. */
static void many_entries_fit(void **state)
{
    static struct trial_entry entries[MANY];
    const struct entry_record record = {
        .id = 1, .model = "m", .author = "Ada", .misc_json = "{\"generalisation\":[]}"};
    struct analysis analysis;
    struct arena arena;

    (void)state;
    for (size_t i = 0; i < MANY; i++)
        entries[i].entry = &record;
    arena_init(&arena, CASE_ARENA_BYTES);
    assert_int_equal(generalisation_build(entries, MANY, &arena, &analysis, NULL), ST_OK);
    assert_int_equal(analysis.parts[0].table.row_count, 0);
    arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gap_is_to_the_first_set),
        cmocka_unit_test(there_is_no_gap_to_what_was_learnt),
        cmocka_unit_test(what_is_of_another_form_is_left_out_and_said),
        cmocka_unit_test(many_entries_fit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
