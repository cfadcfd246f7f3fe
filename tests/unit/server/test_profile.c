/* tests/unit/server/test_profile.c: one score across several tasks (measures.md, AlgoPerf's check values). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "server/rank/profile.h"

#define TASKS 3

static struct arena arena;

/* times: row by row, 0: none; authors one a row. */
static struct profile build(const char *const *authors, const char *const *hardware,
                            const int64_t *times, size_t rows, enum profile_group group)
{
    struct profile_board boards[TASKS] = {{0}};
    struct profile profile;

    arena_fini(&arena);
    arena_init(&arena, 1 << 20);
    for (size_t t = 0; t < TASKS; t++) {
        const struct board_entry **entries =
            ARENA_NEW_ARRAY(&arena, rows, const struct board_entry *);

        boards[t].entries = entries;
        for (int64_t value = 1; value < 1000; value++) /* in the board's order */
            for (size_t r = 0; r < rows; r++)
                if (times[r * TASKS + t] == value) {
                    struct board_entry *entry = ARENA_NEW(&arena, struct board_entry);

                    *entry = (struct board_entry){.entry = (int64_t)(r * TASKS + t + 1),
                                                  .author = authors[r],
                                                  .hardware = hardware[r],
                                                  .has_tta = true,
                                                  .tta_ns = value};
                    entries[boards[t].count++] = entry;
                }
    }
    assert_int_equal(profile_build(boards, TASKS, group, &arena, &profile, NULL), ST_OK);
    return profile;
}

static void scores_are_those_of_the_vector(void **state)
{
    static const char *const authors[] = {"a", "b", "c"}, *const hardware[] = {"x", "x", "x"};
    static const int64_t times[] = {100, 200, 300, 150, 100, 0, 450, 300, 310};
    static const double want[] = {0.888889, 0.611111, 0.440741};
    const struct profile profile = build(authors, hardware, times, 3, PROFILE_AUTHOR);

    (void)state;
    assert_int_equal(profile.row_count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(profile.rows[i].author, authors[i]);
        assert_true(fabs(profile.rows[i].score - want[i]) < 5e-7);
        assert_int_equal(profile.rows[i].place, i + 1);
        assert_null(profile.rows[i].hardware);
    }
    assert_null(profile.rows[1].cells[2].entry); /* never reached */
    assert_true(fabs(profile.rows[2].cells[0].ratio - 4.5) < 1e-12);
}

static void the_fastest_entry_of_a_row_counts(void **state)
{
    static const char *const authors[] = {"a", "a"}, *const hardware[] = {"x", "y"};
    static const int64_t times[] = {100, 400, 0, 200, 100, 50};
    struct profile profile = build(authors, hardware, times, 2, PROFILE_AUTHOR);

    (void)state;
    assert_int_equal(profile.row_count, 1);
    assert_true(fabs(profile.rows[0].score - 1.0) < 1e-12);
    assert_true(profile.rows[0].cells[0].entry->tta_ns == 100);
    profile = build(authors, hardware, times, 2, PROFILE_AUTHOR_HARDWARE);
    assert_int_equal(profile.row_count, 2);
    assert_string_equal(profile.rows[0].hardware, "y");
    assert_true(fabs(profile.rows[0].score - (2.0 + 3.0 + 3.0) / 9.0) < 1e-12);
    assert_true(fabs(profile.rows[1].score - 3.0 / 9.0) < 1e-12);
}

static void equal_scores_share_a_place(void **state)
{
    static const char *const authors[] = {"b", "a", "c"}, *const hardware[] = {"x", "x", "x"};
    static const int64_t times[] = {100, 100, 100, 100, 100, 100, 200, 200, 200};
    const struct profile profile = build(authors, hardware, times, 3, PROFILE_AUTHOR);

    (void)state;
    assert_string_equal(profile.rows[0].author, "a");
    assert_int_equal(profile.rows[1].place, 1);
    assert_true(profile.rows[0].tied && profile.rows[1].tied && !profile.rows[2].tied);
    assert_int_equal(profile.rows[2].place, 3);
}

static void no_entries_no_rows(void **state)
{
    static const char *const nobody[] = {NULL};
    static const int64_t times[] = {0, 0, 0};

    (void)state;
    assert_int_equal(build(nobody, nobody, times, 1, PROFILE_AUTHOR).row_count, 0);
}

/* As many as a board may have, on every board, each of another author: the arena is that of a request. */
static void boards_of_any_size_fit_the_arena(void **state)
{
    enum { ROWS = BOARD_ENTRIES_MAX, BOARDS = 3, NAME_BYTES = 8 };
    struct board_entry *entries = calloc(ROWS, sizeof *entries);
    const struct board_entry **sorted = calloc(ROWS, sizeof *sorted);
    char *names = calloc(ROWS, NAME_BYTES);
    struct profile_board boards[PROFILE_TASKS_MAX] = {{0}};
    struct profile profile;

    (void)state;
    assert_true(entries != NULL && sorted != NULL && names != NULL);
    for (size_t i = 0; i < ROWS; i++) {
        (void)snprintf(&names[i * NAME_BYTES], NAME_BYTES, "%06zu", i);
        entries[i] = (struct board_entry){.entry = (int64_t)i + 1,
                                          .author = &names[i * NAME_BYTES],
                                          .hardware = "x",
                                          .has_tta = true,
                                          .tta_ns = 1000000 + (int64_t)(i < 999 ? i : 999)};
        sorted[i] = &entries[i];
    }
    for (size_t b = 0; b < PROFILE_TASKS_MAX; b++)
        boards[b] = (struct profile_board){sorted, b < BOARDS ? ROWS : 2000};
    arena_fini(&arena);
    arena_init(&arena, PROFILE_ARENA_BYTES);
    assert_int_equal(
        profile_build(boards, PROFILE_TASKS_MAX, PROFILE_AUTHOR_HARDWARE, &arena, &profile, NULL),
        ST_OK);
    assert_int_equal(profile.total, ROWS);
    assert_int_equal(profile.row_count, PROFILE_ROWS_MAX);
    assert_string_equal(profile.rows[998].author, "000998");
    assert_false(profile.rows[998].tied);
    assert_true(profile.rows[999].tied); /* with those that are not described */
    assert_int_equal(profile.rows[999].place, 1000);
    assert_true(profile.rows[999].cells[PROFILE_TASKS_MAX - 1].entry == &entries[999]);
    free(names);
    free(sorted);
    free(entries);
}

static int teardown(void **state)
{
    (void)state;
    arena_fini(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_are_those_of_the_vector),
        cmocka_unit_test(the_fastest_entry_of_a_row_counts),
        cmocka_unit_test(equal_scores_share_a_place),
        cmocka_unit_test(no_entries_no_rows),
        cmocka_unit_test(boards_of_any_size_fit_the_arena),
    };

    return cmocka_run_group_tests(tests, NULL, teardown);
}
