/* tests/unit/server/test_mlperf_judge.c: entries of MLPerf held against the rules of their rounds: which evaluation
 * counts, epochs, score, what refuses an entry, and that every verdict names its line. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "server/mlperf/judge.h"

enum { TEXT_BYTES = 2000 };

static struct mlperf_rules *rules;
static struct arena arena;
static struct mlperf_file files[MLPERF_RUNS_MAX];
static struct mlperf_result result;

static int setup(void **state)
{
    (void)state;
    return mlperf_rules_create(&rules, NULL) == ST_OK ? 0 : 1;
}

static int teardown(void **state)
{
    (void)state;
    arena_fini(&arena);
    mlperf_rules_destroy(rules);
    return 0;
}

static int begin(void **state)
{
    (void)state;
    arena_fini(&arena);
    arena_init(&arena, (size_t)64 << 20);
    return 0;
}

static void add_log(size_t index, const char *text)
{
    struct mlperf_log *log = ARENA_NEW(&arena, struct mlperf_log);

    assert_non_null(log);
    assert_int_equal(mlperf_log_read(str_from_cstr(text), &arena, log, NULL), ST_OK);
    files[index] = (struct mlperf_file){.name = arena_printf(&arena, "result_%zu.txt", index),
                                        .number = (int64_t)index,
                                        .log = log};
}

/* One run of v0.5: evaluations as (epoch, value) pairs, `seconds` long. */
static void add_v05(size_t index, double seconds, const char *evals, const char *stop)
{
    char text[TEXT_BYTES], eval[64], *at;
    size_t length;

    length = (size_t)snprintf(text, sizeof text, ":::MLPv0.5.0 x 1000 (f:1) run_start\n");
    (void)snprintf(eval, sizeof eval, "%s", evals);
    for (at = eval; *at != '\0';) {
        char *rest;
        const double epoch = strtod(at, &rest), value = strtod(rest + 1, &at);

        length += (size_t)snprintf(
            text + length, sizeof text - length,
            ":::MLPv0.5.0 x 1001 (f:2) eval_accuracy: {\"epoch\": %g, \"value\": %.9f}\n", epoch,
            value);
        at += *at == ' ';
    }
    (void)snprintf(text + length, sizeof text - length, ":::MLPv0.5.0 x %.3f (f:3) run_stop%s\n",
                   1000.0 + seconds, stop);
    add_log(index, text);
}

static void judge(const char *round, const char *name, size_t count)
{
    const struct mlperf_input input = {
        .benchmark = mlperf_find_benchmark(mlperf_find_round(rules, str_from_cstr(round)),
                                           str_from_cstr(name)),
        .files = files,
        .file_count = count};

    assert_non_null(input.benchmark);
    assert_int_equal(mlperf_judge(&input, &arena, &result, NULL), ST_OK);
}

static const struct mlperf_check *find(const char *rule, size_t run)
{
    for (size_t i = 0; i < result.check_count; i++)
        if (strcmp(result.checks[i].rule, rule) == 0 &&
            (!result.checks[i].has_run || result.checks[i].run == run))
            return &result.checks[i];
    return NULL;
}

static void score_is_the_mean_without_both_extremes(void **state)
{
    static const double seconds[] = {500, 100, 300, 200, 400};

    (void)state;
    for (size_t i = 0; i < 5; i++)
        add_v05(i, seconds[i], "0,0.5 1,0.749", "");
    judge("v0.5", "resnet", 5);
    assert_false(result.refused);
    assert_true(result.has_score && result.score_ns == INT64_C(300000000000));
    assert_true(fabs(result.score_s - 300.0) < 1e-9);
    assert_true(result.tta_min_ns == INT64_C(100000000000));
    assert_true(result.tta_max_ns == INT64_C(500000000000));
    assert_true(fabs(result.split.epochs.mean - 2.0) < 1e-12);
    assert_int_equal(find("score", 0)->verdict, MLPERF_PASS);
    assert_int_equal(find("convergence", 0)->line, 3);
}

static void one_run_may_miss_and_two_may_not(void **state)
{
    (void)state;
    for (size_t i = 0; i < 5; i++)
        add_v05(i, 100.0 * (double)(i + 1), i == 0 ? "0,0.748" : "0,0.75", "");
    judge("v0.5", "resnet", 5);
    assert_int_equal(result.converged_count, 4);
    assert_true(result.has_score && result.score_ns == INT64_C(400000000000)); /* of 200..500 */
    assert_int_equal(find("convergence", 0)->verdict, MLPERF_FAIL);
    add_v05(1, 200, "0,0.75", ": {\"success\": \"false\"}"); /* it says so itself */
    judge("v0.5", "resnet", 5);
    assert_int_equal(result.converged_count, 3);
    assert_false(result.has_score || result.refused);
    assert_int_equal(find("score", 0)->verdict, MLPERF_FAIL);
}

static void targets_are_compared_in_single_precision(void **state)
{
    static const struct {
        const char *evals;
        bool meets;
    } cases[] = {{"0,21.799999237", true}, {"0,21.8", true}, {"0,21.799997", false}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        add_v05(0, 10, cases[i].evals, "");
        judge("v0.5", "gnmt", 1);
        assert_int_equal(result.runs[0].converged, cases[i].meets);
    }
}

static void epochs_count_from_the_smallest_label(void **state)
{
    static const struct {
        const char *evals;
        double epochs;
    } cases[] = {{"0,0.1 1,0.75", 2}, {"-1,0.1 0,0.2 1,0.75", 3}, {"61,0.75", 62}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        add_v05(0, 10, cases[i].evals, "");
        judge("v0.5", "resnet", 1);
        assert_true(fabs(result.runs[0].epochs - cases[i].epochs) < 1e-12);
    }
}

static void the_first_converged_runs_of_ncf_are_scored(void **state)
{
    (void)state;
    for (size_t i = 0; i < 100; i++)
        add_v05(i, 10.0 + (double)i, i % 4 == 0 ? "0,0.6" : "0,0.64", "");
    judge("v0.5", "ncf", 100);
    assert_int_equal(result.converged_count, 75);
    assert_int_equal(result.scored_count, 50);
    assert_true(result.runs[66].scored && !result.runs[67].scored);
    assert_true(result.has_score);
    for (size_t i = 0; i < 100; i++)
        add_v05(i, 10.0, i < 49 ? "0,0.64" : "0,0.6", "");
    judge("v0.5", "ncf", 100);
    assert_true(result.has_score); /* 49 of 50: one that missed */
    add_v05(0, 10.0, "0,0.6", "");
    judge("v0.5", "ncf", 100);
    assert_false(result.has_score);
}

static void later_rounds_take_the_last_evaluation_before_success(void **state)
{
    static const char good[] =
        ":::MLLOG {\"time_ms\": 1000, \"key\": \"run_start\", \"value\": null}\n"
        ":::MLLOG {\"time_ms\": 2000, \"key\": \"eval_accuracy\", \"value\": 0.93, \"metadata\": "
        "{\"samples_count\": 1}}\n"
        ":::MLLOG {\"time_ms\": 3000, \"key\": \"eval_accuracy\", \"value\": 0.925, \"metadata\": "
        "{\"samples_count\": 3072}}\n"
        ":::MLLOG {\"time_ms\": 3001, \"key\": \"run_stop\", \"value\": null, \"metadata\": "
        "{\"status\": "
        "\"%s\"}}\n"
        ":::MLLOG {\"time_ms\": 4000, \"key\": \"eval_accuracy\", \"value\": 0.1, \"metadata\": "
        "{\"samples_count\": 9}}\n";
    char text[TEXT_BYTES];

    (void)state;
    (void)snprintf(text, sizeof text, good, "success");
    add_log(0, text);
    judge("v5.0", "llama2_70b_lora", 1); /* a loss: lower is better */
    assert_true(result.runs[0].converged);
    assert_string_equal(result.runs[0].epochs_text, "3072");
    assert_int_equal(result.runs[0].eval_count, 2); /* what comes after run_stop does not count */
    (void)snprintf(text, sizeof text, good, "aborted");
    add_log(0, text);
    judge("v5.0", "llama2_70b_lora", 1);
    assert_false(result.runs[0].converged);
    assert_non_null(strstr(find("convergence", 0)->detail, "aborted"));
}

static void what_has_no_time_is_refused_in_one_sentence(void **state)
{
    static const struct {
        const char *text, *rule;
        int line;
    } cases[] = {
        {":::MLL 5 run_start: {\"value\": null}\n:::MLL 6 eval_accuracy: {\"value\": 0.6, "
         "\"metadata\": {\"epoch_num\": 1}}\n",
         "clock", 1},                                             /* NVIDIA's minigo */
        {"\n:::MLL 5 run_stop: {\"value\": null}\n", "clock", 2}, /* no beginning */
        {":::MLL 5 run_start: {\"value\": null}\n:::MLL 5 run_stop: {\"value\": null}\n", "clock",
         2},
        {"nothing\n", "format", 0},
        {"\n\n:::MLPv0.5.0 x 1 (f:1) run_start\n", "format", 3},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        add_log(0, cases[i].text);
        judge("v0.6", "minigo", 1);
        assert_true(result.refused);
        assert_string_equal(result.refusal->rule, cases[i].rule);
        assert_int_equal(result.refusal->line, cases[i].line);
        assert_string_equal(result.refusal->file, "result_0.txt");
        assert_true(result.refusal->detail[0] != '\0' && result.refusal->hint[0] != '\0');
    }
}

static void too_few_runs_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < 5; i++)
        add_v05(i, 10, "0,0.75", "");
    judge("v0.5", "resnet", 4);
    assert_true(result.refused);
    assert_string_equal(result.refusal->rule, "runs");
    assert_null(result.refusal->file);
    judge("v0.5", "resnet", 5);
    assert_false(result.refused);
}

static void a_log_that_cannot_be_read_is_refused_with_its_reason(void **state)
{
    (void)state;
    files[0] = (struct mlperf_file){.name = "result_0.txt.gz"};
    (void)error_set_code(&files[0].fault, ST_INVALID, "bad_gzip", NULL, "Pack it again.",
                         "its gzip is corrupt");
    judge("v0.5", "resnet", 1);
    assert_true(result.refused);
    assert_string_equal(result.refusal->rule, "readable");
    assert_string_equal(result.refusal->hint, "Pack it again.");
}

static void oddities_are_told_and_decide_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < 5; i++)
        add_v05(i, 10, "0,0.75", "");
    add_log(1,
            ":::MLPv0.5.0 x 1 (f:1) run_start\n:::MLPv0.5.0 x 2 (f:1) run_start\n"
            ":::MLPv0.5.0 x 3 (f:1) run_clear_caches\n:::MLPv0.5.0 x 4 (f:1) eval_target: 0.7\n"
            ":::MLPv0.5.0 x\n:::MLPv0.5.0 x 5 (f:1) eval_accuracy: {\"epoch\": 1, \"value\": 0.8}\n"
            ":::MLPv0.5.0 x 9 (f:1) run_stop\n");
    judge("v0.5", "resnet", 5);
    assert_false(result.refused);
    assert_true(result.has_score);
    assert_int_equal(find("clock-twice", 1)->verdict, MLPERF_WARNING);
    assert_int_equal(find("cache", 1)->line, 3);
    assert_int_equal(find("target", 1)->line, 4);
    assert_int_equal(find("lines", 1)->line, 5);
    assert_true(result.runs[1].tta_ns == INT64_C(8000000000)); /* from the first to the last */
}

static void less_than_a_second_is_told_and_decides_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < 5; i++)
        add_v05(i, i == 2 ? 0.999 : 1.0, "0,0.75", "");
    judge("v0.5", "resnet", 5);
    assert_true(result.has_score && !result.refused);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(find("clock-short", i) != NULL, i == 2);
    assert_int_equal(find("clock-short", 2)->verdict, MLPERF_WARNING);
}

static void run_numbers_are_those_of_the_names(void **state)
{
    int64_t number;

    (void)state;
    assert_true(mlperf_run_number(STR("result_12.txt.gz"), &number) && number == 12);
    assert_true(mlperf_run_number(STR("result_0.txt"), &number) && number == 0);
    assert_false(mlperf_run_number(STR("result_.txt"), &number));
    assert_false(mlperf_run_number(STR("result_-1.txt"), &number));
    assert_false(mlperf_run_number(STR("result_1.json"), &number));
    assert_false(mlperf_run_number(STR("README"), &number));
}

static void rules_name_every_benchmark_once(void **state)
{
    const struct mlperf_benchmark *mask =
        mlperf_find_benchmark(mlperf_find_round(rules, STR("v0.6")), STR("mask"));

    (void)state;
    assert_int_equal(rules->round_count, 5);
    assert_string_equal(mask->id, "maskrcnn");
    assert_string_equal(mask->task, "mlperf-v0.6-maskrcnn");
    assert_ptr_equal(mlperf_find_task(rules, STR("mlperf-v0.6-maskrcnn")), mask);
    assert_null(mlperf_find_task(rules, STR("mlperf-v0.6-mask")));
    assert_null(mlperf_find_round(rules, STR("v9")));
}

static void rules_with_a_fault_are_the_builds(void **state)
{
    static const char *const texts[] = {"", "{}", "{\"round\": \"v1\", \"order\": 1}"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        const struct embedded_file file = {.path = "schema/mlperf/v1.json",
                                           .data = (const unsigned char *)texts[i],
                                           .bytes = strlen(texts[i])};
        struct mlperf_rules *none = NULL;
        struct error err = {0};

        assert_int_equal(mlperf_rules_create_from(&file, 1, &none, &err), ST_INTERNAL);
        assert_non_null(strstr(err.detail, "schema/mlperf/v1.json"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(score_is_the_mean_without_both_extremes, begin),
        cmocka_unit_test_setup(one_run_may_miss_and_two_may_not, begin),
        cmocka_unit_test_setup(targets_are_compared_in_single_precision, begin),
        cmocka_unit_test_setup(epochs_count_from_the_smallest_label, begin),
        cmocka_unit_test_setup(the_first_converged_runs_of_ncf_are_scored, begin),
        cmocka_unit_test_setup(later_rounds_take_the_last_evaluation_before_success, begin),
        cmocka_unit_test_setup(what_has_no_time_is_refused_in_one_sentence, begin),
        cmocka_unit_test_setup(too_few_runs_are_refused, begin),
        cmocka_unit_test_setup(a_log_that_cannot_be_read_is_refused_with_its_reason, begin),
        cmocka_unit_test_setup(oddities_are_told_and_decide_nothing, begin),
        cmocka_unit_test_setup(less_than_a_second_is_told_and_decides_nothing, begin),
        cmocka_unit_test_setup(run_numbers_are_those_of_the_names, begin),
        cmocka_unit_test_setup(rules_name_every_benchmark_once, begin),
        cmocka_unit_test_setup(rules_with_a_fault_are_the_builds, begin),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
