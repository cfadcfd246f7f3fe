/* tests/unit/server/test_compare.c: server/analysis/compare.c: runs beside one another. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* analysis_case.h needs the four above. */
#include "tests/support/analysis_case.h"

#include "server/analysis/compare.h"

enum { CURVES, ITEMS, DIFFERENCES };

static const struct epoch_record epochs[] = {
    {.label = "1", .value_text = "50", .official_ns = 1000000000},
    {.label = "2", .value_text = "94.5", .official_ns = 3600000000000},
    {.label = "last", .value_text = "95", .official_ns = 7200000000000},
    {.label = "4", .value_text = "?", .official_ns = 7300000000000},
};

struct pair {
    struct run_record runs[3];
    struct entry_record entries[3];
    struct compare_run compared[3];
};

/* Run 7: 40 s, 10 epochs; run 8: 20 s, 20 epochs; run 9 missed. */
static void make(struct pair *pair)
{
    static const double tta_s[] = {40, 20, 0};
    static const char *const labels[] = {"10", "20", NULL};

    *pair = (struct pair){0};
    for (size_t i = 0; i < 3; i++) {
        pair->runs[i] = (struct run_record){.id = (int64_t)i + 7,
                                            .task = "t",
                                            .state = i < 2 ? "reached" : "missed",
                                            .tta_ns = {i < 2, llround(tta_s[i] * 1e9)},
                                            .tta_epoch_text = labels[i]};
        pair->entries[i] = (struct entry_record){.id = (int64_t)i + 1,
                                                 .model = "m",
                                                 .author = "Ada",
                                                 .hardware = "H",
                                                 .framework = "F",
                                                 .tier = "reported"};
        pair->compared[i] = (struct compare_run){&pair->runs[i], &pair->entries[i], NULL, 0};
    }
}

static void build(const struct pair *pair, size_t count, enum compare_axis axis,
                  struct arena *arena, struct analysis *analysis)
{
    arena_init(arena, CASE_ARENA_BYTES);
    assert_int_equal(compare_build(pair->compared, count, axis, arena, analysis, NULL), ST_OK);
}

static void speed_ups_are_relative_to_the_first_that_reached_it(void **state)
{
    struct pair pair;
    const struct table *items;
    struct compare_run missed;
    struct analysis analysis;
    struct arena arena;

    (void)state;
    make(&pair);
    missed = pair.compared[2]; /* it is the first, and no base */
    pair.compared[2] = pair.compared[1];
    pair.compared[1] = pair.compared[0];
    pair.compared[0] = missed;
    build(&pair, 3, COMPARE_TIME, &arena, &analysis);
    items = &analysis.parts[ITEMS].table;
    assert_count(items, 0, "run", 9);
    assert_cell(items, 0, "tta_s", NAN);
    assert_cell(items, 0, "epochs", NAN);
    assert_cell(items, 0, "tta_speedup", NAN);
    assert_cell(items, 0, "throughput_speedup", NAN);
    assert_cell(items, 1, "per_epoch_s", 4);
    assert_cell(items, 1, "tta_speedup", 1);
    assert_cell(items, 1, "throughput_speedup", 1);
    assert_count(items, 2, "entry", 2);
    assert_cell(items, 2, "tta_s", 20);
    assert_cell(items, 2, "epochs", 20);
    assert_cell(items, 2, "per_epoch_s", 1);
    assert_cell(items, 2, "tta_speedup", 2);
    assert_cell(items, 2, "throughput_speedup", 4);
    assert_string_equal(analysis.lead, "Of 3 runs, run 8 reached the target first, after 20 s; "
                                       "they differ in 0 facts.");
    arena_fini(&arena);
}

static void a_base_without_epochs_has_no_throughput(void **state)
{
    struct pair pair;
    struct analysis analysis;
    struct arena arena;

    (void)state;
    make(&pair);
    pair.runs[0].tta_epoch_text = "many";
    build(&pair, 2, COMPARE_TIME, &arena, &analysis);
    assert_cell(&analysis.parts[ITEMS].table, 0, "epochs", NAN);
    assert_cell(&analysis.parts[ITEMS].table, 1, "per_epoch_s", 1);
    assert_cell(&analysis.parts[ITEMS].table, 1, "throughput_speedup", NAN);
    assert_cell(&analysis.parts[ITEMS].table, 1, "tta_speedup", 2);
    arena_fini(&arena);
}

/* Some hundredths of a second and of an epoch are as good as any. */
static void small_numbers_are_none_less(void **state)
{
    struct pair pair;
    const struct table *items;
    struct analysis analysis;
    struct arena arena;

    (void)state;
    make(&pair);
    pair.runs[0].tta_ns.value = 50000000;
    pair.runs[1].tta_ns.value = 40000000;
    pair.runs[0].tta_epoch_text = pair.runs[1].tta_epoch_text = "0.05";
    build(&pair, 2, COMPARE_TIME, &arena, &analysis);
    items = &analysis.parts[ITEMS].table;
    assert_cell(items, 0, "per_epoch_s", 1);
    assert_cell(items, 1, "epochs", 0.05);
    assert_cell(items, 1, "tta_speedup", 1.25);
    assert_cell(items, 1, "throughput_speedup", 1.25);
    arena_fini(&arena);
}

/* Labels are counted from the smallest of the run's own. */
static void labels_from_below_one_mean_more_epochs(void **state)
{
    static const struct epoch_record from_below[] = {
        {.label = "x", .value_text = "1", .official_ns = 1},
        {.label = "-1", .value_text = "1", .official_ns = 1},
        {.label = "0", .value_text = "1", .official_ns = 1}};
    struct pair pair;
    struct analysis analysis;
    struct arena arena;

    (void)state;
    make(&pair);
    pair.entries[0].epoch_text = "10";
    pair.entries[0].epoch_count_text = "12";
    pair.compared[0].epochs = from_below;
    pair.compared[0].epoch_count = ARRAY_LEN(from_below);
    build(&pair, 1, COMPARE_TIME, &arena, &analysis);
    assert_cell(&analysis.parts[ITEMS].table, 0, "epochs", 12);
    arena_fini(&arena);
}

static void curves_go_along_the_axis(void **state)
{
    static const struct {
        enum compare_axis axis;
        size_t rows;
        double x[2];
        const char *title;
        bool log;
    } want[] = {
        {COMPARE_TIME, 3, {1, 3600}, "Time, s", false},
        {COMPARE_EPOCH, 2, {1, 2}, "Epoch", false},
        {COMPARE_COST, 3, {0.001, 3.6}, "Cost, USD", false},
    };
    struct pair pair;

    (void)state;
    make(&pair);
    pair.compared[0].epochs = epochs;
    pair.compared[0].epoch_count = ARRAY_LEN(epochs);
    pair.entries[0].cost_per_hour_text = "3.6";
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        const struct table *curves;
        struct analysis analysis;
        struct arena arena;

        build(&pair, 1, want[i].axis, &arena, &analysis);
        curves = &analysis.parts[CURVES].table;
        assert_int_equal(curves->row_count, want[i].rows); /* "last" is no epoch, "?" no value */
        assert_cell(curves, 0, "x", want[i].x[0]);
        assert_cell(curves, 1, "x", want[i].x[1]);
        assert_cell(curves, 1, "value", 94.5);
        assert_cell(curves, 1, "epoch", 2);
        assert_string_equal(case_cell(curves, 1, "label")->text, "7: m");
        assert_string_equal(analysis.parts[CURVES].chart.x_title, want[i].title);
        assert_int_equal(analysis.parts[CURVES].chart.log_x, want[i].log);
        arena_fini(&arena);
    }
}

static void without_a_price_there_is_no_curve_by_cost(void **state)
{
    struct pair pair;
    struct analysis analysis;
    struct arena arena;

    (void)state;
    make(&pair);
    pair.compared[0].epochs = epochs;
    pair.compared[0].epoch_count = ARRAY_LEN(epochs);
    build(&pair, 1, COMPARE_COST, &arena, &analysis);
    assert_int_equal(analysis.parts[CURVES].table.row_count, 0);
    arena_fini(&arena);
}

static void runs_of_very_different_length_share_a_log_axis(void **state)
{
    static const struct epoch_record ends[] = {
        {.label = "1", .value_text = "50", .official_ns = 1000000000},
        {.label = "1", .value_text = "50", .official_ns = 10000000000},
        {.label = "1", .value_text = "50", .official_ns = 10100000000}};
    struct pair pair;
    struct analysis analysis;
    struct arena arena;

    (void)state;
    make(&pair);
    for (size_t i = 0; i < 3; i++) {
        pair.compared[i].epochs = &ends[i];
        pair.compared[i].epoch_count = 1;
    }
    build(&pair, 2, COMPARE_TIME, &arena, &analysis);
    assert_false(analysis.parts[CURVES].chart.log_x); /* ten times as long, not more */
    arena_fini(&arena);
    build(&pair, 3, COMPARE_TIME, &arena, &analysis);
    assert_true(analysis.parts[CURVES].chart.log_x);
    arena_fini(&arena);
}

static void only_what_differs_is_listed(void **state)
{
    static const struct {
        const char *fact, *first, *second;
    } want[] = {
        {"model", "m", "n"},     {"devices", "1", "2"},    {"cost per hour, USD", "3.6", NULL},
        {"seed", "5", "stated"}, {"batch", "512", "1024"}, {"fused", "true", NULL},
        {"rate", "0.25", "0.5"}, {"plan", NULL, "p"},      {"optimizer", NULL, "Muon"},
    };
    struct pair pair;
    const struct table *rows;
    struct analysis analysis;
    struct arena arena;

    (void)state;
    make(&pair);
    pair.entries[1].model = "n";
    pair.entries[0].devices = (struct opt_i64){true, 1};
    pair.entries[1].devices = (struct opt_i64){true, 2};
    pair.entries[0].cost_per_hour_text = "3.6";
    pair.runs[0].seed = (struct opt_i64){true, 5};
    pair.runs[1].seed_text = "stated";
    pair.runs[1].plan = "p";
    pair.entries[0].misc_json =
        "{\"batch\": 512, \"same\": \"s\", \"fused\": true, \"rate\": 0.25, \"list\": [1]}";
    pair.entries[1].misc_json =
        "{\"batch\": 1024, \"same\": \"s\", \"rate\": 0.5, \"optimizer\": \"Muon\", \"list\": [2]}";
    build(&pair, 2, COMPARE_TIME, &arena, &analysis);
    rows = &analysis.parts[DIFFERENCES].table;
    assert_int_equal(rows->row_count, ARRAY_LEN(want));
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        assert_string_equal(case_cell(rows, i, "fact")->text, want[i].fact);
        assert_int_equal(case_cell(rows, i, "run_7")->has, want[i].first != NULL);
        assert_int_equal(case_cell(rows, i, "run_8")->has, want[i].second != NULL);
        if (want[i].first != NULL)
            assert_string_equal(case_cell(rows, i, "run_7")->text, want[i].first);
        if (want[i].second != NULL)
            assert_string_equal(case_cell(rows, i, "run_8")->text, want[i].second);
    }
    assert_string_equal(analysis.lead, "Of 2 runs, run 8 reached the target first, after 20 s; "
                                       "they differ in 9 facts.");
    arena_fini(&arena);
}

static void misc_that_is_no_json_or_too_much_is_passed_over(void **state)
{
    struct pair pair;
    struct analysis analysis;
    struct arena arena;
    struct buf text;

    (void)state;
    make(&pair);
    buf_init(&text, 1 << 16);
    for (int i = 0; i < 80; i++)
        buf_appendf(&text, "%s\"k%d\": %d", i == 0 ? "{" : ", ", i, i);
    buf_append_cstr(&text, "}");
    pair.entries[0].misc_json = buf_str(&text).data;
    pair.entries[1].misc_json = "{";
    build(&pair, 2, COMPARE_TIME, &arena, &analysis);
    /* task, model, author, hardware, framework, tier are the same, and leave room for 58 of 64 */
    assert_int_equal(analysis.parts[DIFFERENCES].table.row_count, 58);
    arena_fini(&arena);
    buf_fini(&text);
}

static void the_sentence_knows_its_exceptions(void **state)
{
    struct pair pair;
    struct analysis analysis;
    struct arena arena;

    (void)state;
    make(&pair);
    build(&pair, 1, COMPARE_TIME, &arena, &analysis);
    assert_string_equal(analysis.lead, "Of 1 run, run 7 reached the target first, after 40 s; "
                                       "they differ in 0 facts.");
    arena_fini(&arena);
    pair.runs[0].tta_ns.has = pair.runs[1].tta_ns.has = false;
    build(&pair, 3, COMPARE_TIME, &arena, &analysis);
    assert_string_equal(analysis.lead, "None of 3 runs has reached the target.");
    arena_fini(&arena);
    pair.runs[2].task = "u";
    build(&pair, 3, COMPARE_TIME, &arena, &analysis);
    assert_string_equal(
        analysis.lead,
        "These runs are of different tasks: their metrics and targets are not the same.");
    arena_fini(&arena);
    build(&pair, 0, COMPARE_TIME, &arena, &analysis);
    assert_string_equal(analysis.lead,
                        "Name the runs to compare in the address: /compare?runs=1,2.");
    arena_fini(&arena);
}

static void no_memory_is_an_error(void **state)
{
    struct pair pair;
    struct analysis analysis;

    (void)state;
    make(&pair);
    pair.compared[0].epochs = epochs;
    pair.compared[0].epoch_count = 2;
    ASSERT_NEEDS_MEMORY(compare_build(pair.compared, 3, COMPARE_TIME, &arena, &analysis, &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(speed_ups_are_relative_to_the_first_that_reached_it),
        cmocka_unit_test(a_base_without_epochs_has_no_throughput),
        cmocka_unit_test(small_numbers_are_none_less),
        cmocka_unit_test(labels_from_below_one_mean_more_epochs),
        cmocka_unit_test(curves_go_along_the_axis),
        cmocka_unit_test(without_a_price_there_is_no_curve_by_cost),
        cmocka_unit_test(runs_of_very_different_length_share_a_log_axis),
        cmocka_unit_test(only_what_differs_is_listed),
        cmocka_unit_test(misc_that_is_no_json_or_too_much_is_passed_over),
        cmocka_unit_test(the_sentence_knows_its_exceptions),
        cmocka_unit_test(no_memory_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
