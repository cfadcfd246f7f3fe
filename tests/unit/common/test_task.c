/* tests/unit/common/test_task.c: the tasks that ship, and how a faulty file is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/task.h"

#define GOOD                                                                                 \
    "{\"order\":2,\"id\":\"b-train\",\"title\":\"B\",\"version\":1,\"phase\":\"train\","     \
    "\"dataset\":\"b\",\"metric\":\"top1Accuracy\",\"metric_title\":\"top-1\","              \
    "\"unit\":\"percent\",\"metric_max\":100,\"higher_is_better\":true,\"target\":\"94.0\"," \
    "\"validation_size\":10,\"columns\":[\"x\"],\"runs\":1,\"score\":\"median\",\"policy\":" \
    "\"open\","                                                                              \
    "\"review\":\"top5\",\"reclaim_after_ms\":600000,\"description\":\"d\",\"clock_rule\":\"c\"}"

static struct embedded_file file_of(const char *path, const char *text)
{
    return (struct embedded_file){path, (const unsigned char *)text, strlen(text), ""};
}

static void the_tasks_that_ship_have_the_agreed_targets(void **state)
{
    static const struct {
        const char *id, *dawnbench, *metric, *target, *workload, *recipe;
        enum task_phase phase;
        int64_t validation_size;
        size_t column_count;
    } wants[] = {
        {"cifar10-train", "CIFAR10", "top1Accuracy", "94.0", "cifar10", "cifar10-muon", TASK_TRAIN,
         10000, 0},
        {"cifar10-inference", "CIFAR10", "top1Accuracy", "94.0", NULL, NULL, TASK_INFERENCE, 10000,
         0},
        {"imagenet-train", "ImageNet", "top5Accuracy", "93.0", NULL, NULL, TASK_TRAIN, 50000, 1},
        {"imagenet-inference", "ImageNet", "top5Accuracy", "93.0", NULL, NULL, TASK_INFERENCE,
         50000, 0},
        {"squad-train", "SQuAD", "f1Score", "0.75", NULL, NULL, TASK_TRAIN, 0, 0},
        {"squad-inference", "SQuAD", "f1Score", "0.75", NULL, NULL, TASK_INFERENCE, 0, 0},
        {"cifar10-train-quick", NULL, "top1Accuracy", "70.0", "cifar10", "cifar10-quick",
         TASK_TRAIN, 10000, 0},
    };
    struct task_table *table = NULL;
    const struct task *gnmt;
    struct error err = {0};

    (void)state;
    assert_int_equal(task_table_create(&table, &err), ST_OK);
    assert_true(table->count > ARRAY_LEN(wants)); /* behind them those of MLPerf's rounds */
    for (size_t i = 0; i < table->count; i++)
        assert_int_equal(table->tasks[i].mlperf_round != NULL, i >= ARRAY_LEN(wants));
    for (size_t i = 0; i < ARRAY_LEN(wants); i++) {
        const struct task *task = &table->tasks[i];

        assert_string_equal(task->id, wants[i].id);
        assert_string_equal(task->metric, wants[i].metric);
        assert_string_equal(task->target_text, wants[i].target);
        assert_int_equal(task->phase, wants[i].phase);
        assert_int_equal(task->validation_size, wants[i].validation_size);
        assert_int_equal(task->column_count, wants[i].column_count);
        assert_int_equal(task->review, TASK_REVIEW_NONE);
        assert_int_equal(task->policy, TASK_OPEN);
        assert_int_equal(task->reclaim_after_ms, 600000);
        assert_non_null(task->allowed);
        assert_ptr_equal(task_find(table, str_from_cstr(wants[i].id)), task);
        if (wants[i].dawnbench == NULL)
            assert_null(task->dawnbench);
        else
            assert_ptr_equal(task_find_dawnbench(table, str_from_cstr(wants[i].dawnbench),
                                                 str_from_cstr(task_phase_name(wants[i].phase))),
                             task);
        if (wants[i].workload == NULL) {
            assert_null(task->workload);
        } else {
            assert_string_equal(task->workload, wants[i].workload);
            assert_string_equal(task->recipe, wants[i].recipe);
        }
    }
    assert_string_equal(table->tasks[2].columns[0], "top1Accuracy");
    gnmt = task_find(table, STR("mlperf-v0.5-gnmt"));
    assert_non_null(gnmt);
    assert_string_equal(gnmt->mlperf_round, "v0.5");
    assert_string_equal(gnmt->target_text, "21.8");
    assert_string_equal(gnmt->unit, "score");
    assert_int_equal(gnmt->runs, 10);
    assert_int_equal(gnmt->score, TASK_SCORE_OLYMPIC);
    assert_false(task_find(table, STR("mlperf-v5.0-llama2_70b_lora"))->higher_is_better);
    assert_null(task_find(table, STR("cifar10")));
    assert_null(task_find_dawnbench(table, STR("CIFAR10"), STR("validation")));
    task_table_destroy(table);
}

static void tasks_stand_in_their_order_not_in_that_of_the_files(void **state)
{
    static const char first[] =
        "{\"order\":1,\"id\":\"a-inference\",\"title\":\"A\",\"version\":3,"
        "\"phase\":\"inference\",\"dawnbench\":\"A\",\"dataset\":\"a\",\"metric\":\"f1Score\","
        "\"metric_title\":\"F1\",\"unit\":\"fraction\",\"metric_max\":1,\"higher_is_better\":true,"
        "\"target\":\"0.75\",\"validation_size\":0,\"columns\":[],\"runs\":5,\"score\":\"olympic\","
        "\"policy\":\"closed\","
        "\"review\":\"all\",\"reclaim_after_ms\":1000,\"description\":\"d\",\"clock_rule\":\"c\"}";
    const struct embedded_file files[] = {file_of("b", GOOD), file_of("a", first)};
    struct task_table *table = NULL;

    (void)state;
    assert_int_equal(task_table_create_from(files, 2, &table, NULL), ST_OK);
    assert_string_equal(table->tasks[0].id, "a-inference");
    assert_string_equal(table->tasks[1].id, "b-train");
    assert_int_equal(table->tasks[0].policy, TASK_CLOSED);
    assert_int_equal(table->tasks[0].review, TASK_REVIEW_ALL);
    assert_int_equal(table->tasks[0].score, TASK_SCORE_OLYMPIC);
    assert_int_equal(table->tasks[0].runs, 5);
    assert_int_equal(table->tasks[1].review, TASK_REVIEW_TOP5);
    task_table_destroy(table);
}

static void faults_name_file_and_field(void **state)
{
    /* What replaces `from` in GOOD, and the field that err must name. */
    static const struct {
        const char *from, *to, *field;
    } cases[] = {
        {"\"phase\":\"train\"", "\"phase\":\"test\"", "phase"},
        {"\"target\":\"94.0\"", "\"target\":\"much\"", "target"},
        {"\"target\":\"94.0\"", "\"target\":\"101\"", "target"},
        {"\"target\":\"94.0\"", "\"target\":\"0\"", "target"},
        {"\"target\":\"94.0\"", "\"target\":94.0", "/target"},
        {"\"unit\":\"percent\"", "\"unit\":\"permille\"", "unit"},
        {"\"metric_max\":100", "\"metric_max\":1", "unit"},
        {"\"columns\":[\"x\"]", "\"columns\":[1]", "columns"},
        {"\"runs\":1", "\"runs\":0", "/runs"},
        {"\"runs\":1", "\"runs\":1,\"workload\":\"w\"", "recipe"},
        {"\"runs\":1", "\"runs\":1,\"extra\":1", "/extra"},
        {"\"title\":\"B\",", "", "/title"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *at = strstr(GOOD, cases[i].from);
        struct task_table *table = NULL;
        struct embedded_file file;
        struct error err = {0};
        struct buf text;

        assert_non_null(at);
        buf_init(&text, 4096);
        buf_append(&text, (struct str){GOOD, (size_t)(at - GOOD)});
        buf_append_cstr(&text, cases[i].to);
        buf_append_cstr(&text, at + strlen(cases[i].from));
        file = file_of("schema/tasks/b.json", text.data);
        assert_int_equal(task_table_create_from(&file, 1, &table, &err), ST_INTERNAL);
        assert_non_null(strstr(err.detail, "schema/tasks/b.json"));
        assert_string_equal(err.field, cases[i].field);
        assert_null(table);
        buf_fini(&text);
    }
}

static void the_same_id_or_order_twice_is_a_fault(void **state)
{
    const struct embedded_file files[] = {file_of("b", GOOD), file_of("c", GOOD)};
    struct task_table *table = NULL;

    (void)state;
    assert_int_equal(task_table_create_from(files, 2, &table, NULL), ST_INTERNAL);
    assert_null(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_tasks_that_ship_have_the_agreed_targets),
        cmocka_unit_test(tasks_stand_in_their_order_not_in_that_of_the_files),
        cmocka_unit_test(faults_name_file_and_field),
        cmocka_unit_test(the_same_id_or_order_twice_is_a_fault),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
