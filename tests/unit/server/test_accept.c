/* tests/unit/server/test_accept.c: what intake read becomes what the store keeps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/entry.h"
#include "server/api/accept.h"

#define MEMBERS                                                                        \
    "\"version\":\"v1.0\",\"author\":\"A\",\"authorEmail\":\"submitter@example.org\"," \
    "\"framework\":\"F 1\",\"model\":\"M\",\"hardware\":\"1 H\",\"timestamp\":\"2018-4-2\""

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

static void accept_files(const char *task_id, const char *entry_text, const char *progress,
                         const struct accept_facets *facets, struct arena *arena,
                         struct new_entry *entry)
{
    const struct intake_source source = {.name = "x.tsv", .bytes = str_from_cstr(progress)};
    const struct intake_input input = {.task = task_find(tasks, str_from_cstr(task_id)),
                                       .mode = INTAKE_HISTORY,
                                       .whole = true,
                                       .has_entry = true,
                                       .entry = str_from_cstr(entry_text),
                                       .progress = &source,
                                       .progress_count = progress != NULL ? 1 : 0};
    struct intake_result result;

    arena_init(arena, INTAKE_ARENA_BYTES_MAX);
    assert_int_equal(intake_check(&input, arena, &result, NULL), ST_OK);
    assert_true(result.acceptable);
    assert_int_equal(
        accept_fill_entry(input.task, STR("NAME"), &result.record, facets, arena, entry, NULL),
        ST_OK);
}

static void a_training_keeps_its_rows_and_its_crossing(void **state)
{
    const struct accept_facets facets = {
        .device_kind = "gpu", .cloud = "aws", .devices = {true, 8}};
    struct new_entry entry;
    struct arena arena;

    (void)state;
    accept_files("imagenet-train", "{" MEMBERS ",\"costPerHour\":2.0,\"misc\":\"old\",\"x\":[1]}",
                 "epoch\thours\ttop1Accuracy\ttop5Accuracy\n"
                 "0\t0.5\t.5\t50\n"
                 "1\t1.25\t75.1\t93.0\n",
                 &facets, &arena, &entry);
    assert_true(str_eq(entry.name, STR("NAME")));
    assert_string_equal(entry.claimed_date, "2018-04-02");
    assert_true(entry.tta_ns.has && entry.tta_ns.value == 4500000000000);
    assert_true(entry.cost_pico.has && entry.cost_pico.value == 2500000000000);
    assert_false(entry.latency_ns.has || entry.inference_cost_pico.has);
    assert_string_equal(entry.tta_hours_text, "1.25");
    assert_string_equal(entry.epoch_text, "1");
    assert_string_equal(entry.epoch_count_text, "2"); /* the labels start at 0 */
    assert_string_equal(entry.accuracy_text, "93.0");
    assert_string_equal(entry.cost_per_hour_text, "2.0");
    assert_string_equal(entry.misc_json, "\"old\"");
    assert_string_equal(entry.extra_json, "{\"x\":[1]}");
    assert_int_equal(entry.run_count, 1);
    assert_null(entry.runs[0].file_name); /* the submission's own progress file */
    assert_int_equal(entry.runs[0].epoch_count, 2);
    assert_int_equal(entry.runs[0].crossing_index, 1);
    assert_string_equal(entry.runs[0].epochs[0].extra_json, "{\"top1Accuracy\":5e-1}");
    assert_true(str_eq(entry.runs[0].epochs[1].value_text, STR("93.0")));
    assert_true(entry.runs[0].epochs[1].official_ns == 4500000000000);
    assert_string_equal(entry.device_kind, "gpu");
    assert_string_equal(entry.cloud, "aws");
    assert_true(entry.devices.has && entry.devices.value == 8 && !entry.nodes.has);
    arena_fini(&arena);
}

static void an_inference_has_no_rows(void **state)
{
    struct new_entry entry;
    struct arena arena;

    (void)state;
    accept_files("squad-inference", "{" MEMBERS ",\"latency\":7.9,\"cost\":1e-6,\"f1Score\":0.75}",
                 NULL, NULL, &arena, &entry);
    assert_true(entry.latency_ns.has && entry.latency_ns.value == 7900000);
    assert_true(entry.inference_cost_pico.has && entry.inference_cost_pico.value == 1000000);
    assert_string_equal(entry.inference_cost_text, "1e-6");
    assert_string_equal(entry.latency_ms_text, "7.9");
    assert_false(entry.tta_ns.has || entry.cost_pico.has);
    assert_int_equal(entry.run_count, 0);
    assert_null(entry.device_kind);
    arena_fini(&arena);
}

static void names_are_those_of_files(void **state)
{
    static const char *const good[] = {"a", "A b-1.2", "basenet", "ResNet_1\xC3\xA9"};
    static const char *const bad[] = {"",   ".hidden", "a/b",  "a\\b", " a",
                                      "a ", "a\nb",    "\xFF", "..",   "a\tb"};
    char longest[ENTRY_NAME_BYTES_MAX + 2];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        assert_int_equal(accept_check_name(str_from_cstr(good[i]), NULL), ST_OK);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct error err = {0};

        assert_int_equal(accept_check_name(str_from_cstr(bad[i]), &err), ST_INVALID);
        assert_string_equal(err.code, "bad_name");
    }
    memset(longest, 'x', sizeof longest);
    assert_int_equal(accept_check_name((struct str){longest, ENTRY_NAME_BYTES_MAX}, NULL), ST_OK);
    assert_int_equal(accept_check_name((struct str){longest, ENTRY_NAME_BYTES_MAX + 1}, NULL),
                     ST_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_training_keeps_its_rows_and_its_crossing),
        cmocka_unit_test(an_inference_has_no_rows),
        cmocka_unit_test(names_are_those_of_files),
    };

    return cmocka_run_group_tests(tests, load_tasks, drop_tasks);
}
