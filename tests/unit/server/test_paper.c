/* tests/unit/server/test_paper.c: server/analysis/paper.c: each claim holds, fails or cannot be tested. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* analysis_case.h needs the four above. */
#include "tests/support/analysis_case.h"

#include "server/analysis/paper.h"

static const struct task v05 = {.id = "mlperf-v0.5-x", .title = "MLPerf X", .mlperf_round = "v0.5"},
                         v06 = {.id = "mlperf-v0.6-x", .title = "Other", .mlperf_round = "v0.6"},
                         imagenet = {.id = "imagenet-train", .dawnbench = "ImageNet"},
                         other = {.id = "other"};

static const char *const claims[] = {
    "TTA varies little", "TTA varies because", "The time of an epoch", "The first evaluation",
    "Throughput is no",  "Many devices",       "ImageNet is trained",  "The fastest system"};
enum { CV, EPOCHS, PER_EPOCH, RELAPSE, THROUGHPUT, SCALING, IMAGENET, CHEAPEST };

static void build(const struct paper_task *tasks, size_t count, struct arena *arena,
                  struct analysis *analysis)
{
    arena_init(arena, CASE_ARENA_BYTES);
    assert_int_equal(paper_build(tasks, count, arena, analysis, NULL), ST_OK);
    assert_int_equal(analysis->parts[0].table.row_count, ARRAY_LEN(claims));
    for (size_t i = 0; i < ARRAY_LEN(claims); i++)
        assert_memory_equal(case_cell(&analysis->parts[0].table, i, "claim")->text, claims[i],
                            strlen(claims[i]));
}

static void assert_claim(const struct analysis *analysis, size_t claim, const char *verdict,
                         int64_t n, const char *numbers)
{
    const struct table *table = &analysis->parts[0].table;

    assert_string_equal(case_cell(table, claim, "verdict")->text, verdict);
    assert_count(table, claim, "n", n);
    assert_string_equal(case_cell(table, claim, "numbers")->text, numbers);
}

static struct paper_task task_of(const struct task *task, const struct case_board *board)
{
    return (struct paper_task){
        .task = task, .entries = board->entries, .entry_count = board->count};
}

static void an_empty_server_tests_nothing(void **state)
{
    const struct case_board none = {0};
    const struct paper_task task = task_of(&v05, &none);
    struct analysis analysis;
    struct arena arena;

    (void)state;
    build(&task, 1, &arena, &analysis);
    for (size_t i = 0; i < ARRAY_LEN(claims); i++) {
        assert_string_equal(case_cell(&analysis.parts[0].table, i, "verdict")->text,
                            "not testable");
        assert_count(&analysis.parts[0].table, i, "n", 0);
    }
    assert_string_equal(analysis.lead, "Of 8 claims of the paper 0 hold with the entries here, 0 "
                                       "fail and 8 cannot be tested.");
    arena_fini(&arena);
}

/* Times of 100 and x s over epochs of 10 and y: population CVs are easily told. */
static void add_two(struct case_board *board, double tta_s, double epochs)
{
    case_add(board, 0, 0);
    case_add_trial(board, 100, 10);
    case_add_trial(board, tta_s, epochs);
}

static void spreads_are_of_mlperf_v05_alone(void **state)
{
    struct case_board board = {0}, later = {0};
    struct paper_task tasks[2];
    struct analysis analysis;
    struct arena arena;

    (void)state;
    add_two(&board, 110, 11);   /* CV of TTA 10/210, of epochs the same, of their time 0 */
    add_two(&board, 104, 10);   /* the same epochs */
    add_two(&board, 124.8, 12); /* 24.8/224.8; 2/22; 10.4 s of 10: 0.4/20.4 */
    case_add(&board, 0, 0);     /* one run says nothing */
    case_add_trial(&board, 500, 50);
    add_two(&later, 900, 12);
    tasks[0] = task_of(&v06, &later);
    tasks[1] = task_of(&v05, &board);
    build(tasks, 2, &arena, &analysis);
    assert_claim(&analysis, CV, "holds", 3,
                 "0 of 3 entries are at 14 % or above; the largest is 11.03 % with n (15.60 % with "
                 "n - 1): Ada, MLPerf X.");
    assert_claim(&analysis, EPOCHS, "holds", 2,
                 "in 2 of 2 entries whose runs need different numbers of epochs these vary more, "
                 "up to 4.6 times as much.");
    assert_claim(&analysis, PER_EPOCH, "holds", 3,
                 "0 of 3 entries are at 3 % or above; the largest is 2.77 %.");
    arena_fini(&arena);
    add_two(&board, 133, 10.5); /* 33/233 = 14.2 %; 0.5/20.5; 12.67 s of 10 */
    tasks[1] = task_of(&v05, &board);
    build(tasks, 2, &arena, &analysis);
    assert_claim(&analysis, CV, "fails", 4,
                 "1 of 4 entries are at 14 % or above; the largest is 14.16 % with n (20.03 % with "
                 "n - 1): Ada, MLPerf X.");
    assert_claim(&analysis, EPOCHS, "fails", 3,
                 "in 2 of 3 entries whose runs need different numbers of epochs these vary more, "
                 "up to 4.6 times as much.");
    assert_claim(&analysis, PER_EPOCH, "fails", 4,
                 "1 of 4 entries are at 3 % or above; the largest is 16.64 %.");
    assert_string_equal(
        analysis.lead,
        "Of 8 claims of the paper 0 hold with the entries here, 3 fail and 5 cannot be tested.");
    arena_fini(&arena);
}

static void curves_are_of_dawnbench_alone(void **state)
{
    const struct case_board none = {0};
    struct paper_task tasks[] = {task_of(&imagenet, &none), task_of(&other, &none)};
    struct analysis analysis;
    struct arena arena;

    (void)state;
    tasks[0].curves = 5;
    tasks[1].curves = 7;
    tasks[1].relapses = 2;
    build(tasks, 2, &arena, &analysis);
    assert_claim(&analysis, RELAPSE, "fails", 5,
                 "0 of 5 runs that reached the target of a DAWNBench task were below it again "
                 "later.");
    arena_fini(&arena);
    tasks[0].relapses = 1;
    build(tasks, 2, &arena, &analysis);
    assert_claim(&analysis, RELAPSE, "holds", 5,
                 "1 of 5 runs that reached the target of a DAWNBench task were below it again "
                 "later.");
    arena_fini(&arena);
}

static void throughput_is_of_every_task(void **state)
{
    struct case_board first = {0}, second = {0};
    struct paper_task tasks[2];
    struct analysis analysis;
    struct arena arena;

    (void)state;
    case_add(&first, 100, 10); /* the slowest per epoch */
    case_add(&first, 50, 10);
    case_add(&second, 100, 10);
    case_add(&second, 90, 10);
    tasks[0] = task_of(&imagenet, &first);
    tasks[1] = task_of(&other, &second);
    build(tasks, 2, &arena, &analysis);
    assert_claim(&analysis, THROUGHPUT, "fails", 2,
                 "0 of 2 entries need more epochs than the slowest per epoch of their task, up to "
                 "1.00 times as many.");
    arena_fini(&arena);
    case_add(&second, 90, 25);
    case_add(&second, 90, 15);
    tasks[1] = task_of(&other, &second);
    build(tasks, 2, &arena, &analysis);
    assert_claim(&analysis, THROUGHPUT, "holds", 4,
                 "2 of 4 entries need more epochs than the slowest per epoch of their task, up to "
                 "2.50 times as many.");
    assert_string_equal(
        analysis.lead,
        "Of 8 claims of the paper 2 hold with the entries here, 0 fail and 6 cannot be tested.");
    arena_fini(&arena);
}

static void scaling_names_the_farthest_from_linear(void **state)
{
    struct case_board board = {0};
    struct paper_task task;
    struct analysis analysis;
    struct arena arena;

    (void)state;
    case_add(&board, 100, 10)->devices = (struct opt_i64){true, 1};
    case_add(&board, 80, 10)->devices = (struct opt_i64){true, 2}; /* 1.25 of 2: 37.5 % lost */
    case_add(&board, 25, 10)->devices = (struct opt_i64){true, 4};
    task = task_of(&other, &board);
    build(&task, 1, &arena, &analysis);
    assert_claim(&analysis, SCALING, "fails", 2,
                 "over 2 steps to more devices the farthest is 37.5 % off linear per epoch.");
    arena_fini(&arena);
    case_add(&board, 20.45, 10)->devices = (struct opt_i64){true, 8}; /* 4.89 of 8: 38.9 % */
    task = task_of(&other, &board);
    build(&task, 1, &arena, &analysis);
    assert_claim(&analysis, SCALING, "fails", 3,
                 "over 3 steps to more devices the farthest is 38.9 % off linear per epoch.");
    arena_fini(&arena);
    case_add(&board, 20, 10)->devices = (struct opt_i64){true, 10};
    task = task_of(&other, &board);
    build(&task, 1, &arena, &analysis);
    assert_claim(&analysis, SCALING, "holds", 4,
                 "over 4 steps to more devices the farthest is 50.0 % off linear per epoch.");
    arena_fini(&arena);
}

static void imagenet_is_its_own_task(void **state)
{
    struct case_board board = {0}, quick = {0};
    struct paper_task tasks[2];
    struct analysis analysis;
    struct arena arena;

    (void)state;
    case_add(&board, 180, 0);
    case_add(&board, 200, 0);
    case_add(&board, 0, 0);
    case_add(&quick, 10, 0);
    tasks[0] = task_of(&other, &quick);
    tasks[1] = task_of(&imagenet, &board);
    build(tasks, 2, &arena, &analysis);
    assert_claim(&analysis, IMAGENET, "fails", 2, "the fastest of 2 entries needs 180.00 s.");
    arena_fini(&arena);
    case_add(&board, 179.99, 0);
    tasks[1] = task_of(&imagenet, &board);
    build(tasks, 2, &arena, &analysis);
    assert_claim(&analysis, IMAGENET, "holds", 3, "the fastest of 3 entries needs 179.99 s.");
    arena_fini(&arena);
}

static void the_cheapest_is_another_one(void **state)
{
    struct case_board board = {0}, free_of_cost = {0};
    struct paper_task tasks[2];
    struct analysis analysis;
    struct arena arena;

    (void)state;
    case_add(&board, 50, 0)->cost_pico = (struct opt_i64){true, 5};
    case_add(&board, 60, 0)->cost_pico = (struct opt_i64){true, 4};
    board.records[1].cost_reason = "doubted";
    case_add(&board, 70, 0)->cost_pico = (struct opt_i64){true, 6};
    case_add(&free_of_cost, 10, 0);
    tasks[0] = task_of(&other, &board);
    tasks[1] = task_of(&imagenet, &free_of_cost);
    build(tasks, 2, &arena, &analysis);
    assert_claim(&analysis, CHEAPEST, "fails", 1,
                 "in 0 of 1 tasks another entry is cheaper than the fastest.");
    arena_fini(&arena);
    board.records[1].cost_reason = NULL;
    build(tasks, 2, &arena, &analysis);
    assert_claim(&analysis, CHEAPEST, "holds", 1,
                 "in 1 of 1 tasks another entry is cheaper than the fastest.");
    arena_fini(&arena);
}

static void no_memory_is_an_error(void **state)
{
    struct case_board board = {0};
    struct paper_task task;
    struct analysis analysis;

    (void)state;
    add_two(&board, 110, 11);
    task = task_of(&v05, &board);
    ASSERT_NEEDS_MEMORY(paper_build(&task, 1, &arena, &analysis, &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_server_tests_nothing),
        cmocka_unit_test(spreads_are_of_mlperf_v05_alone),
        cmocka_unit_test(curves_are_of_dawnbench_alone),
        cmocka_unit_test(throughput_is_of_every_task),
        cmocka_unit_test(scaling_names_the_farthest_from_linear),
        cmocka_unit_test(imagenet_is_its_own_task),
        cmocka_unit_test(the_cheapest_is_another_one),
        cmocka_unit_test(no_memory_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
