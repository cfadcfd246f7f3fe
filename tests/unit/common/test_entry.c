/* tests/unit/common/test_entry.c: what the agent writes is the format that the server reads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/entry.h"

static struct task_table *tasks;

static int load_tasks(void **state)
{
    (void)state;
    return task_table_create(&tasks, NULL) == ST_OK ? 0 : -1;
}

static int drop_tasks(void **state)
{
    (void)state;
    task_table_destroy(tasks);
    return 0;
}

static struct entry sample(void)
{
    return (struct entry){
        .task = task_find(tasks, STR("cifar10-train")),
        .author = "A \"B\" \xE6\x9D\x8E",
        .author_email = "submitter@example.org",
        .framework = "Daybreak 0.1.0",
        .model = "ResNet 9",
        .hardware = "1 CPU",
        .timestamp = "2026-12-01",
        .cost_usd_per_hour = "0.10",
    };
}

static void json_has_the_fields_in_order_with_exact_numbers(void **state)
{
    struct entry entry = sample();
    json_t *misc = json_object(), *schedule = json_object();
    struct buf out;

    (void)state;
    assert_int_equal(json_object_set_new(schedule, "lr", json_real(0.42)), 0);
    assert_int_equal(json_object_set_new(misc, "seed", json_integer(7)), 0);
    assert_int_equal(json_object_set_new(misc, "schedule", schedule), 0);
    entry.misc = misc;
    buf_init(&out, 4096);
    assert_int_equal(entry_append_json(&out, &entry, NULL), ST_OK);
    assert_string_equal(out.data, "{\n"
                                  "  \"version\": \"v1.0\",\n"
                                  "  \"author\": \"A \\\"B\\\" \xE6\x9D\x8E\",\n"
                                  "  \"authorEmail\": \"submitter@example.org\",\n"
                                  "  \"framework\": \"Daybreak 0.1.0\",\n"
                                  "  \"model\": \"ResNet 9\",\n"
                                  "  \"hardware\": \"1 CPU\",\n"
                                  "  \"costPerHour\": 0.10,\n"
                                  "  \"timestamp\": \"2026-12-01\",\n"
                                  "  \"misc\": {\n"
                                  "    \"seed\": 7,\n"
                                  "    \"schedule\": {\n"
                                  "      \"lr\": 0.42\n"
                                  "    }\n"
                                  "  }\n"
                                  "}\n");
    buf_fini(&out);
    json_decref(misc);
}

static void json_leaves_out_what_is_not_known(void **state)
{
    struct entry entry = sample();
    struct buf out;

    (void)state;
    entry.author = entry.author_email = entry.cost_usd_per_hour = NULL;
    buf_init(&out, 4096);
    assert_int_equal(entry_append_json(&out, &entry, NULL), ST_OK);
    assert_null(strstr(out.data, "author"));
    assert_null(strstr(out.data, "costPerHour"));
    assert_null(strstr(out.data, "null"));
    buf_fini(&out);
}

static void json_of_an_inference_has_latency_cost_and_accuracy(void **state)
{
    struct entry entry = sample();
    struct buf out;

    (void)state;
    entry.task = task_find(tasks, STR("cifar10-inference"));
    entry.latency_ms = "0.123456";
    entry.cost_usd = "0.0000000000034";
    entry.correct = 9399;
    entry.total = 10000;
    buf_init(&out, 4096);
    assert_int_equal(entry_append_json(&out, &entry, NULL), ST_OK);
    assert_non_null(strstr(out.data, "  \"latency\": 0.123456,\n"
                                     "  \"cost\": 0.0000000000034,\n"
                                     "  \"top1Accuracy\": 93.9900,\n"
                                     "  \"timestamp\""));
    assert_null(strstr(out.data, "costPerHour")); /* no field of that phase */
    buf_clear(&out);
    entry.cost_usd = NULL;
    entry.total = 10001; /* 93.98060194 */
    assert_int_equal(entry_append_json(&out, &entry, NULL), ST_OK);
    assert_null(strstr(out.data, "\"cost\""));
    assert_non_null(strstr(out.data, "\"top1Accuracy\": 93.9806,\n"));
    buf_fini(&out);
}

static void json_refuses_numbers_that_are_none(void **state)
{
    struct entry entry = sample();
    struct error err = {0};
    struct buf out;

    (void)state;
    buf_init(&out, 4096);
    entry.cost_usd_per_hour = "0,10";
    assert_int_equal(entry_append_json(&out, &entry, &err), ST_INVALID);
    assert_string_equal(err.field, "costPerHour");
    entry = sample();
    entry.task = task_find(tasks, STR("cifar10-inference"));
    memset(&err, 0, sizeof err); /* the first error wins */
    entry.total = 1;
    entry.latency_ms = "fast";
    assert_int_equal(entry_append_json(&out, &entry, &err), ST_INVALID);
    assert_string_equal(err.field, "latency");
    buf_fini(&out);
    buf_init(&out, 8);
    entry = sample();
    assert_int_equal(entry_append_json(&out, &entry, NULL), ST_LIMIT);
    buf_fini(&out);
}

static void tsv_has_hours_with_nine_decimals_and_never_rounds_an_accuracy_up(void **state)
{
    static const struct entry_epoch epochs[] = {
        {1.0, 1800, 1, 3},                /* half of 1e-9 h, 33.33333.. % */
        {1.5, 3600, 93999999, 100000000}, /* 93.999999 % stays below 94 */
        {3.0, INT64_C(3600000000000), 9400, 10000},
    };
    struct buf out;

    (void)state;
    buf_init(&out, 4096);
    assert_int_equal(entry_append_tsv(&out, task_find(tasks, STR("cifar10-train")), epochs,
                                      ARRAY_LEN(epochs), NULL),
                     ST_OK);
    assert_string_equal(out.data, "epoch\thours\ttop1Accuracy\n"
                                  "1\t0.000000001\t33.3333\n"
                                  "1.5\t0.000000001\t93.9999\n"
                                  "3\t1.000000000\t94.0000\n");
    buf_clear(&out);
    assert_int_equal(entry_append_tsv(&out, task_find(tasks, STR("squad-train")), epochs, 1, NULL),
                     ST_OK);
    assert_string_equal(out.data, "epoch\thours\tf1Score\n1\t0.000000001\t0.333333\n");
    assert_int_equal(
        entry_append_tsv(&out, task_find(tasks, STR("imagenet-train")), epochs, 1, NULL),
        ST_UNSUPPORTED); /* it has a further column */
    assert_int_equal(
        entry_append_tsv(&out, task_find(tasks, STR("squad-inference")), epochs, 1, NULL),
        ST_UNSUPPORTED);
    buf_fini(&out);
}

static void every_field_is_found_and_required_ones_are_known(void **state)
{
    (void)state;
    for (size_t i = 0; i < entry_field_count; i++) {
        const struct entry_field *field = &entry_fields[i];

        assert_ptr_equal(entry_field_find(str_from_cstr(field->name)), field);
        assert_true(field->train || field->inference);
        assert_true(field->train || !field->train_required);
        assert_true(field->inference || !field->inference_required);
        assert_true(field->help[0] != '\0');
    }
    assert_null(entry_field_find(STR("top1Accuracy"))); /* the task's, not the format's */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_has_the_fields_in_order_with_exact_numbers),
        cmocka_unit_test(json_leaves_out_what_is_not_known),
        cmocka_unit_test(json_of_an_inference_has_latency_cost_and_accuracy),
        cmocka_unit_test(json_refuses_numbers_that_are_none),
        cmocka_unit_test(tsv_has_hours_with_nine_decimals_and_never_rounds_an_accuracy_up),
        cmocka_unit_test(every_field_is_found_and_required_ones_are_known),
    };

    return cmocka_run_group_tests(tests, load_tasks, drop_tasks);
}
