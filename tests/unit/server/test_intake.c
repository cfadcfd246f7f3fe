/* tests/unit/server/test_intake.c: the judge of submissions: its codes, and the values it reads. The real and the
 * broken files of DAWNBench are judged by tests/e2e/test_dawnbench.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/clock.h"
#include "common/entry.h"
#include "server/intake/intake.h"

#define MEMBERS                                                                        \
    "\"version\":\"v1.0\",\"author\":\"A\",\"authorEmail\":\"submitter@example.org\"," \
    "\"framework\":\"F 1\",\"model\":\"M\",\"hardware\":\"1 H\",\"timestamp\":\"2026-11-30\""
#define DIGITS_64    "1111111111111111111111111111111111111111111111111111111111111111"
#define DIGITS_256   DIGITS_64 DIGITS_64 DIGITS_64 DIGITS_64
#define DIGITS_512   DIGITS_256 DIGITS_256
#define TRAIN_HEADER "epoch\thours\ttop1Accuracy\n"

static struct task_table *tasks;
static int64_t today;

struct judged {
    struct arena arena;
    struct intake_result result;
};

static int load_tasks(void **state)
{
    bool padded;

    (void)state;
    if (clock_parse_date(STR("2026-12-01"), &today, &padded, NULL) != ST_OK)
        return -1;
    return task_table_create(&tasks, NULL) == ST_OK ? 0 : -1;
}

static int drop_tasks(void **state)
{
    (void)state;
    task_table_destroy(tasks);
    return 0;
}

static void judge_input(struct judged *judged, struct intake_input *input, const char *task)
{
    struct error err = {0};

    input->task = task_find(tasks, str_from_cstr(task));
    input->today_days = today;
    assert_non_null(input->task);
    arena_init(&judged->arena, INTAKE_ARENA_BYTES_MAX);
    assert_int_equal(intake_check(input, &judged->arena, &judged->result, &err), ST_OK);
}

static void judge(struct judged *judged, const char *task, enum intake_mode mode, const char *entry,
                  const char *progress)
{
    const struct intake_source source = {.bytes = str_from_cstr(progress)};
    struct intake_input input = {.mode = mode,
                                 .has_entry = entry != NULL,
                                 .entry = str_from_cstr(entry),
                                 .progress = &source,
                                 .progress_count = progress != NULL ? 1 : 0};

    judge_input(judged, &input, task);
}

/* Fails the test when there is none. */
static const struct intake_finding *must_find(const struct judged *judged, const char *code,
                                              const char *field, const char *of);
static const struct intake_finding *find(const struct judged *judged, const char *code,
                                         const char *field)
{
    for (size_t i = 0; i < judged->result.finding_count; i++) {
        const struct intake_finding *finding = &judged->result.findings[i];

        if (strcmp(finding->code, code) == 0 &&
            (field == NULL || strcmp(finding->field, field) == 0))
            return finding;
    }
    return NULL;
}

static const struct intake_finding *must_find(const struct judged *judged, const char *code,
                                              const char *field, const char *of)
{
    const struct intake_finding *finding = find(judged, code, field);

    if (finding == NULL) {
        fail_msg("%s: no %s", of, code);
        abort(); /* not reached: fail_msg() leaves the test */
    }
    return finding;
}

static void every_code_has_a_sample_that_shows_it(void **state)
{
    (void)state;
    for (size_t i = 0; i < intake_code_count; i++) {
        const struct intake_code *code = &intake_codes[i];
        struct intake_source sources[] = {{"one.tsv", STR("")},
                                          {"two.tsv", str_from_cstr(code->further)}};
        struct intake_input input = {.mode = code->mode,
                                     .whole = code->whole,
                                     .has_entry = code->entry != NULL,
                                     .progress = sources,
                                     .progress_count = code->further != NULL    ? 2
                                                       : code->progress != NULL ? 1
                                                                                : 0};
        const struct intake_finding *finding;
        struct judged judged;
        struct buf text;

        buf_init(&text, 1 << 20);
        buf_append_cstr(&text, code->entry != NULL ? code->entry : code->progress);
        for (size_t pad = 0; pad < code->pad_bytes; pad++)
            buf_append_char(&text, code->pad_byte);
        assert_false(text.failed);
        if (code->entry != NULL) {
            input.entry = buf_str(&text);
            sources[0].bytes = str_from_cstr(code->progress);
        } else {
            sources[0].bytes = buf_str(&text);
        }
        judge_input(&judged, &input, code->task);
        finding = must_find(&judged, code->code, NULL, "its sample");
        assert_int_equal(finding->severity, code->severity);
        assert_int_equal(judged.result.acceptable, judged.result.error_count == 0);
        assert_true(code->severity != INTAKE_ERROR || !judged.result.acceptable);
        assert_true(finding->detail[0] != '\0' && finding->hint[0] != '\0');
        assert_true(code->meaning[0] != '\0');
        assert_ptr_equal(intake_code_find(code->code), code); /* no code stands there twice */
        arena_fini(&judged.arena);
        buf_fini(&text);
    }
    assert_null(intake_code_find("no_such_code"));
}

static void a_good_training_gives_exact_values(void **state)
{
    static const char entry[] = "{" MEMBERS ",\"costPerHour\":3.06,\"commitHash\":\"0123abc\","
                                "\"codeURL\":\" https://example.org/x \",\"optimizer\":\"SGD\","
                                "\"misc\":{\"a\":1}}";
    struct intake_source source = {0};
    struct intake_input input = {
        .whole = true, .has_entry = true, .progress = &source, .progress_count = 1};
    const struct intake_record *record;
    struct judged judged;

    (void)state;
    input.entry = str_from_cstr(entry);
    source.bytes = STR("top1Accuracy\thours\tepoch\n"
                       "50\t0\t1\n"
                       "94.0\t0.02056706\t2.5\n"
                       "93.5\t0.03\t3\n"
                       "99\t0.04\t4\n");
    judge_input(&judged, &input, "cifar10-train");
    record = &judged.result.record;
    assert_true(judged.result.acceptable);
    assert_int_equal(judged.result.warning_count, 0);
    /* The first row that meets the target decides, equal counts, and columns go by name. */
    assert_true(record->has_tta && record->tta_ns == 74041416000);
    assert_string_equal(record->tta_hours_text, "0.02056706");
    assert_int_equal(record->runs[0].crossing_index, 1);
    assert_true(record->runs[0].epoch == 2.5 && record->runs[0].epoch_count == 2.5);
    assert_string_equal(record->accuracy_text, "94.0");
    assert_true(record->has_cost && record->cost_pico == 62935203600);
    assert_string_equal(record->cost_per_hour_text, "3.06");
    assert_int_equal(record->runs[0].row_count, 4);
    assert_true(record->runs[0].rows[3].elapsed_ns == 144000000000);
    assert_string_equal(record->code_url, "https://example.org/x");
    assert_true(record->code_is_link);
    assert_string_equal(record->extra_json, "{\"optimizer\":\"SGD\"}");
    assert_string_equal(record->misc_json, "{\"a\":1}");
    assert_string_equal(record->date_text, "2026-11-30");
    arena_fini(&judged.arena);
}

static void labels_from_0_count_one_more(void **state)
{
    struct judged judged;

    (void)state;
    judge(&judged, "cifar10-train", INTAKE_HISTORY, NULL,
          TRAIN_HEADER "0\t0.1\t90\n1\t0.2\t94.0000001335144\n");
    assert_true(judged.result.acceptable);
    assert_true(judged.result.record.runs[0].epoch == 1.0 &&
                judged.result.record.runs[0].epoch_count == 2.0);
    assert_int_equal(judged.result.warning_count, 1);
    assert_int_equal(find(&judged, "epoch_from_0", NULL)->line, 2);
    arena_fini(&judged.arena);
}

static void a_good_inference_keeps_exact_texts(void **state)
{
    static const char entry[] =
        "{" MEMBERS ",\"latency\":0.0739278,\"cost\":2.078e-7,\"top1Accuracy\":94.20}";
    const struct intake_record *record;
    struct judged judged;

    (void)state;
    judge(&judged, "cifar10-inference", INTAKE_NEW, entry, NULL);
    record = &judged.result.record;
    assert_true(judged.result.acceptable);
    assert_true(record->has_latency && record->latency_ns == 73928);
    assert_string_equal(record->latency_text, "0.0739278");
    assert_true(record->has_cost && record->cost_pico == 207800);
    assert_string_equal(record->cost_text, "2.078e-7");
    assert_string_equal(record->accuracy_text, "94.20");
    assert_false(record->has_tta);
    arena_fini(&judged.arena);
}

static void texts_lose_tabs_and_outer_blanks(void **state)
{
    static const char entry[] =
        "\xEF\xBB\xBF{\"version\":\"v1.0\",\"author\":\"  A\\tB\\n \",\"authorEmail\":\"a@b\","
        "\"framework\":\"F\",\"model\":\"\xEF\xBC\x8C\",\"hardware\":\"a && b | c\","
        "\"timestamp\":\"2026-11-30\"}";
    struct judged judged;

    (void)state;
    judge(&judged, "cifar10-train", INTAKE_HISTORY, entry, NULL);
    assert_true(judged.result.acceptable);
    assert_int_equal(judged.result.finding_count, 0);
    assert_string_equal(judged.result.record.author, "A B");
    assert_string_equal(judged.result.record.model, "\xEF\xBC\x8C");
    assert_string_equal(judged.result.record.hardware, "a && b | c");
    arena_fini(&judged.arena);
}

/* One fault in the entry: code, field and line. */
static void faults_of_the_entry_are_named(void **state)
{
    static const struct {
        const char *task, *more, *code, *field;
        bool error;
    } cases[] = {
        {"cifar10-train", "\"costPerHour\":-1", "out_of_range", "costPerHour", true},
        {"cifar10-train", "\"costPerHour\":0", "out_of_range", "costPerHour", true},
        {"cifar10-train", "\"costPerHour\":1e300", "out_of_range", "costPerHour", true},
        {"cifar10-train", "\"costPerHour\":true", "bad_type", "costPerHour", true},
        {"cifar10-train", "\"usedBlacklist\":\"true\"", "bad_type", "usedBlacklist", true},
        {"cifar10-train", "\"commitHash\":7", "bad_type", "commitHash", true},
        {"cifar10-train", "\"codeURL\":[]", "bad_type", "codeURL", true},
        {"cifar10-train", "\"costperhour\":1", "field_misspelt", "costperhour", false},
        {"cifar10-train", "\"codeURl\":\"x\"", "field_misspelt", "codeURl", false},
        {"cifar10-train", "\"commitHashh\":\"x\"", "field_misspelt", "commitHashh", false},
        {"cifar10-train", "\"misc\":[1]", "misc_not_object", "misc", false},
        {"cifar10-train", "\"misc\":{\"resumed\":true}", "run_not_ranked", "misc", true},
        {"cifar10-train", "\"misc\":{\"holdout\":true}", "run_not_ranked", "misc", true},
        {"cifar10-train", "\"misc\":{\"partial\":true}", "run_not_ranked", "misc", true},
        {"cifar10-train", "\"misc\":{\"incomplete\":true}", "run_not_ranked", "misc", true},
        {"cifar10-train", "\"top1Accuracy\":94", "field_not_used", "top1Accuracy", false},
        {"cifar10-inference", "\"latency\":0,\"top1Accuracy\":95", "out_of_range", "latency", true},
        {"cifar10-inference", "\"latency\":null,\"top1Accuracy\":95", "bad_type", "latency", true},
        {"cifar10-inference", "\"latency\":\"1\",\"top1Accuracy\":95", "bad_type", "latency", true},
        {"cifar10-inference", "\"latency\":0.9e-6,\"top1Accuracy\":95", "out_of_range", "latency",
         true},
        {"cifar10-inference", "\"latency\":1e-6,\"top1Accuracy\":95", "value_implausible",
         "latency", false},
        {"cifar10-inference", "\"latency\":1e9,\"top1Accuracy\":95", "value_implausible", "latency",
         false},
        {"cifar10-inference", "\"latency\":1,\"cost\":-1e-6,\"top1Accuracy\":95", "out_of_range",
         "cost", true},
        {"cifar10-inference", "\"latency\":1,\"cost\":\"1e-6\",\"top1Accuracy\":95", "bad_type",
         "cost", true},
        {"cifar10-inference", "\"latency\":1,\"top1Accuracy\":93.99", "threshold_not_reached",
         "top1Accuracy", true},
        {"cifar10-inference", "\"latency\":1,\"top1Accuracy\":0.95", "looks_like_fraction",
         "top1Accuracy", true},
        {"cifar10-inference", "\"latency\":1,\"top1Accuracy\":100.1", "out_of_range",
         "top1Accuracy", true},
        {"cifar10-inference", "\"latency\":1,\"top1Accuracy\":-1", "out_of_range", "top1Accuracy",
         true},
        {"cifar10-inference", "\"latency\":1,\"top5Accuracy\":99", "missing_field", "top1Accuracy",
         true},
        {"squad-inference", "\"latency\":1,\"f1Score\":82.5", "out_of_range", "f1Score", true},
        {"squad-inference", "\"latency\":1,\"f1Score\":0.7499", "threshold_not_reached", "f1Score",
         true},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct intake_finding *finding;
        struct judged judged;
        char entry[1024];

        (void)snprintf(entry, sizeof entry, "{" MEMBERS ",\n%s\n}", cases[i].more);
        judge(&judged, cases[i].task, INTAKE_NEW, entry, NULL);
        finding = must_find(&judged, cases[i].code, cases[i].field, cases[i].more);
        assert_int_equal(judged.result.acceptable, !cases[i].error);
        assert_true(finding->line == 2 || strcmp(cases[i].code, "missing_field") == 0);
        assert_true(finding->pointer[0] == '/');
        arena_fini(&judged.arena);
    }
}

static void absent_and_null_prices_only_leave_the_cost_board(void **state)
{
    static const char *const entries[] = {"{" MEMBERS "}", "{" MEMBERS ",\"costPerHour\":null}"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(entries); i++) {
        struct judged judged;

        judge(&judged, "cifar10-train", INTAKE_HISTORY, entries[i], TRAIN_HEADER "1\t1\t94\n");
        assert_true(judged.result.acceptable);
        assert_int_equal(judged.result.finding_count, 0);
        assert_false(judged.result.record.has_cost);
        assert_true(judged.result.record.has_tta);
        arena_fini(&judged.arena);
    }
}

static void faults_of_the_progress_file_are_named(void **state)
{
    static const struct {
        const char *rows, *code, *field;
        int line;
    } cases[] = {
        {"1\t-0.1\t90\n2\t0.2\t94\n", "out_of_range", "hours", 2},
        {"1\t0.1\t90\n2\t1e9\t94\n", "out_of_range", "hours", 3},
        {"1\t0.1\t90\n2\t0.2" DIGITS_512 "\t94\n", "number_too_long", "hours", 3},
        {"1\t0.1\t90\n2\t0.2\t94." DIGITS_512 "\n", "number_too_long", "top1Accuracy", 3},
        {"1\t0.1\t90\n2\t0.2\t100.5\n", "out_of_range", "top1Accuracy", 3},
        {"1\t0.1\t-1\n2\t0.2\t94\n", "out_of_range", "top1Accuracy", 2},
        {"-1\t0.1\t90\n2\t0.2\t94\n", "out_of_range", "epoch", 2},
        {"1\t0,1\t90\n2\t0.2\t94\n", "not_a_number", "hours", 2},
        {"1\tinf\t90\n2\t0.2\t94\n", "not_a_number", "hours", 2},
        {"1\t0.1\t\n2\t0.2\t94\n", "not_a_number", "top1Accuracy", 2},
        {"1\t0.1\t90\n2\t0.2\t94\t1\n", "tsv_fields", "", 3},
        {"1\t0.1\t90\n2\t0.2\n", "tsv_fields", "", 3},
        {"1\t0.2\t90\n2\t0.1999\t94\n", "hours_decrease", "hours", 3},
        {"1\t0\t95\n2\t0.2\t95\n", "out_of_range", "hours", 2},        /* there at hour 0 */
        {"1\t1e-12\t94.5\n", "out_of_range", "hours", 2},              /* 4 ns */
        {"1\t2.7e-7\t94.5\n", "out_of_range", "hours", 2},             /* 0.97 ms */
        {"0.001\t2.7e-7\t94.5\n", "out_of_range", "hours", 2},         /* of a part of an epoch */
        {"2\t2.8e-7\t94.5\n", "out_of_range", "hours", 2},             /* two epochs in it */
        {"0\t1e-10\t90\n1\t5e-7\t94.5\n", "out_of_range", "hours", 3}, /* two, from 0 on */
        {"1\t0.1\t93\n2\t0.2\t93.9\n3\t0.3\t93\n", "threshold_not_reached", "top1Accuracy", 3},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct intake_finding *finding;
        struct judged judged;
        char text[1024];

        (void)snprintf(text, sizeof text, TRAIN_HEADER "%s", cases[i].rows);
        judge(&judged, "cifar10-train", INTAKE_NEW, NULL, text);
        finding = must_find(&judged, cases[i].code, cases[i].field, cases[i].rows);
        assert_int_equal(finding->line, cases[i].line);
        assert_false(judged.result.acceptable);
        assert_string_equal(finding->file, "progress");
        arena_fini(&judged.arena);
    }
}

static void a_second_is_the_least_that_raises_no_doubt(void **state)
{
    struct judged judged;

    (void)state;
    judge(&judged, "cifar10-train", INTAKE_NEW, NULL, TRAIN_HEADER "1\t0.000277778\t94.5\n");
    assert_null(find(&judged, "value_implausible", NULL)); /* 1.0000008 s */
    assert_null(find(&judged, "out_of_range", NULL));
    arena_fini(&judged.arena);
    judge(&judged, "cifar10-train", INTAKE_NEW, NULL, TRAIN_HEADER "1\t0.000277\t94.5\n");
    assert_int_equal(must_find(&judged, "value_implausible", "hours", "0.997 s")->line, 2);
    assert_true(judged.result.acceptable);
    arena_fini(&judged.arena);
    judge(&judged, "cifar10-train", INTAKE_NEW, NULL, TRAIN_HEADER "1\t2.8e-7\t94.5\n");
    assert_non_null(find(&judged, "value_implausible", "hours")); /* 1.008 ms an epoch */
    assert_true(judged.result.acceptable);
    arena_fini(&judged.arena);
    judge(&judged, "cifar10-train", INTAKE_HISTORY, NULL, TRAIN_HEADER "1\t1e-12\t94.5\n");
    assert_non_null(find(&judged, "out_of_range", "hours")); /* of whatever age */
    assert_false(judged.result.record.has_tta);
    arena_fini(&judged.arena);
}

static void a_comma_in_a_number_gets_a_hint_of_its_own(void **state)
{
    struct judged judged;

    (void)state;
    judge(&judged, "cifar10-train", INTAKE_NEW, NULL, TRAIN_HEADER "1\t0,1\t94\n");
    assert_non_null(strstr(find(&judged, "not_a_number", "hours")->hint, "comma"));
    arena_fini(&judged.arena);
}

static void headers_are_quoted_as_they_are(void **state)
{
    static const char *const headers[][2] = {
        {"epoch\thours\ttop1\n1\t1\t94\n", "epoch,hours,top1"},
        {"epoch hours top1Accuracy\n1\t1\t94\n", "epoch hours top1Accuracy"},
        {"epoch\thours\ttop1Accuracy\ttop1Accuracy\n1\t1\t94\t94\n",
         "epoch,hours,top1Accuracy,top1Accuracy"},
        {"epoch\thours\ttop1Accuracy\tloss\n1\t1\t94\t0\n", "epoch,hours,top1Accuracy,loss"},
        {"Epoch\thours\ttop1Accuracy\n1\t1\t94\n", "Epoch,hours,top1Accuracy"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(headers); i++) {
        struct judged judged;

        judge(&judged, "cifar10-train", INTAKE_NEW, NULL, headers[i][0]);
        assert_string_equal(find(&judged, "tsv_header", "")->detail, headers[i][1]);
        assert_false(judged.result.acceptable);
        arena_fini(&judged.arena);
    }
}

static void one_fault_on_every_line_is_told_five_times_and_counted(void **state)
{
    struct judged judged;
    struct buf text;
    size_t told = 0;

    (void)state;
    buf_init(&text, 1 << 16);
    buf_append_cstr(&text, TRAIN_HEADER);
    for (int i = 1; i <= 100; i++)
        buf_appendf(&text, "%d 0.1 94\n", i);
    judge(&judged, "cifar10-train", INTAKE_NEW, NULL, text.data);
    for (size_t i = 0; i < judged.result.finding_count; i++)
        told += strcmp(judged.result.findings[i].code, "tsv_fields") == 0 ? 1 : 0;
    assert_int_equal(told, 5);
    assert_non_null(strstr(judged.result.findings[4].detail, "95 more"));
    assert_null(find(&judged, "threshold_not_reached", NULL)); /* nothing could be read */
    arena_fini(&judged.arena);
    buf_fini(&text);
}

static void faults_of_both_files_come_at_once_in_order(void **state)
{
    static const char entry[] = "{\n\"author\":7,\n\"version\":\"v9\"\n}";
    struct intake_source source = {0};
    struct intake_input input = {
        .whole = true, .has_entry = true, .progress = &source, .progress_count = 1};
    struct judged judged;
    int line = 0;
    bool progress = false;

    (void)state;
    input.entry = str_from_cstr(entry);
    source.bytes = STR(TRAIN_HEADER "2\tx\t90\n1\t0.1\ty\n");
    judge_input(&judged, &input, "cifar10-train");
    assert_non_null(find(&judged, "bad_type", "author"));
    assert_non_null(find(&judged, "bad_version", "version"));
    assert_non_null(find(&judged, "missing_field", "hardware"));
    assert_non_null(find(&judged, "not_a_number", "hours"));
    assert_non_null(find(&judged, "not_a_number", "top1Accuracy"));
    for (size_t i = 0; i < judged.result.finding_count; i++) {
        const struct intake_finding *finding = &judged.result.findings[i];

        if (!progress && strcmp(finding->file, "progress") == 0) {
            progress = true;
            line = 0;
        }
        assert_string_equal(finding->file, progress ? "progress" : "entry");
        assert_true(finding->line >= line);
        line = finding->line;
    }
    arena_fini(&judged.arena);
}

static void history_gets_no_advice_and_old_sins_pass(void **state)
{
    static const char entry[] =
        "{" MEMBERS ",\"latency\":7.9,\"f1Score\":82.52085997573373,\"cost\":null}";
    struct judged judged;

    (void)state;
    judge(&judged, "squad-inference", INTAKE_HISTORY, entry, NULL);
    assert_true(judged.result.acceptable);
    assert_int_equal(judged.result.advice_count, 0);
    assert_int_equal(judged.result.warning_count, 1);
    assert_string_equal(judged.result.record.accuracy_text, "82.52085997573373");
    arena_fini(&judged.arena);
    /* Below the target it stays below, whatever the scale. */
    judge(&judged, "squad-inference", INTAKE_HISTORY,
          "{" MEMBERS ",\"latency\":7,\"f1Score\":74.9}", NULL);
    assert_non_null(find(&judged, "threshold_not_reached", "f1Score"));
    arena_fini(&judged.arena);
    judge(&judged, "squad-train", INTAKE_HISTORY, NULL,
          "epoch\thours\tf1Score\n1\t1\t70\n2\t2\t75\n");
    assert_true(judged.result.acceptable);
    assert_int_equal(judged.result.record.runs[0].crossing_index, 1);
    assert_non_null(find(&judged, "f1_looks_like_percent", "f1Score"));
    arena_fini(&judged.arena);
    judge(&judged, "squad-train", INTAKE_NEW, NULL, "epoch\thours\tf1Score\n1\t1\t70\n2\t2\t75\n");
    assert_non_null(find(&judged, "out_of_range", "f1Score"));
    arena_fini(&judged.arena);
}

static void only_single_http_addresses_become_links(void **state)
{
    static const struct {
        const char *url;
        bool link;
    } cases[] = {
        {"https://example.org/a", true},       {"http://example.org", true},
        {"javascript:alert(1)", false},        {"ftp://example.org", false},
        {"https://a, commitHash: x", false},   {"//example.org", false},
        {"https://a\\\"onclick=\\\"x", false}, {"data:text/html,x", false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct judged judged;
        char entry[512];

        (void)snprintf(entry, sizeof entry, "{" MEMBERS ",\"codeURL\":\"%s\"}", cases[i].url);
        judge(&judged, "cifar10-train", INTAKE_NEW, entry, NULL);
        assert_int_equal(judged.result.record.code_is_link, cases[i].link);
        assert_int_equal(find(&judged, "code_not_http", "codeURL") == NULL, cases[i].link);
        arena_fini(&judged.arena);
    }
}

static void hours_that_differ_little_are_told_only_when_the_epochs_differ_much(void **state)
{
    static const struct {
        const char *rows;
        bool told;
    } cases[] = {
        {"1\t0.1\t80\n2\t0.11\t90\n3\t0.1\t94\n4\t0.12\t94\n", true},
        {"10\t1.0\t80\n11\t1.1\t90\n12\t1.2\t94\n13\t1.3\t94\n", false}, /* evaluated late */
        {"1\t0.1\t80\n2\t0.2\t90\n3\t0.3\t94\n4\t0.4\t94\n", false},
        {"1\t0.1\t80\n2\t0.1\t90\n3\t0.1\t94\n", false}, /* too few to say */
        {"0\t0\t80\n1\t0.1\t90\n2\t0.1\t94\n3\t0.1\t94\n", false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct judged judged;
        char text[512];

        (void)snprintf(text, sizeof text, TRAIN_HEADER "%s", cases[i].rows);
        judge(&judged, "cifar10-train", INTAKE_NEW, NULL, text);
        assert_int_equal(find(&judged, "hours_look_per_epoch", "hours") != NULL, cases[i].told);
        arena_fini(&judged.arena);
    }
}

/* What was probably meant is said with the value as it should stand, and nothing where nothing comes to mind. */
static void a_likely_intention_is_in_the_hint(void **state)
{
#define F1   "\"latency\":1,\"f1Score\":"
#define TOP5 "epoch\thours\ttop1Accuracy\ttop5Accuracy\n"
#define DATED(at)                                                                         \
    "{\"version\":\"v1.0\",\"author\":\"A\",\"authorEmail\":\"a@b\",\"framework\":\"F\"," \
    "\"model\":\"M\",\"hardware\":\"H\",\"timestamp\":\"" at "\"}"
    static const struct {
        const char *task, *entry, *progress, *code, *hint; /* hint NULL: the code's own */
    } cases[] = {
        /* A fraction for percent, and the reverse. */
        {"cifar10-train", NULL, TRAIN_HEADER "1\t0.1\t0.9\n2\t0.2\t0.9436\n", "looks_like_fraction",
         "write 94.36 in place of 0.9436"},
        {"cifar10-inference", "{" MEMBERS ",\"latency\":1,\"top1Accuracy\":0.95}", NULL,
         "looks_like_fraction", "write 95 in place of 0.95"},
        {"squad-train", NULL, "epoch\thours\tf1Score\n1\t1\t82.5\n", "out_of_range",
         "write 0.825 in place of 82.5"},
        {"squad-inference", "{" MEMBERS "," F1 "100}", NULL, "out_of_range",
         "write 1 in place of 100"},
        {"squad-inference", "{" MEMBERS "," F1 "100.5}", NULL, "out_of_range", NULL},
        /* Hours of each epoch, seconds, headings exchanged. */
        {"cifar10-train", NULL, TRAIN_HEADER "1\t0.1\t80\n2\t0.1\t90\n3\t0.1\t93\n4\t0.2\t94\n",
         "!hours_look_per_epoch", NULL},
        {"cifar10-train", NULL, TRAIN_HEADER "1\t0.1\t80\n2\t0.1\t90\n3\t0.1\t93\n4\t0.1\t94\n",
         "hours_look_per_epoch", "line 5 then has hour 0.4"},
        {"cifar10-train", NULL, TRAIN_HEADER "1\t60\t80\n2\t120\t94\n", "hours_look_like_seconds",
         "hour 0.0333333 if these are seconds, 2 if minutes"},
        {"cifar10-train", NULL, TRAIN_HEADER "1\t10\t80\n2\t20\t94\n", "!hours_look_like_seconds",
         NULL},
        {"cifar10-train", NULL,
         "hours\tepoch\ttop1Accuracy\n1\t0.1\t80\n2\t0.2\t90\n3\t0.3\t94\n4\t0.4\t95\n",
         "epoch_hours_look_swapped", "line 5 is then epoch 4, hour 0.4"},
        {"cifar10-train", NULL, TRAIN_HEADER "1\t60\t0.1\n2\t80\t0.2\n3\t79\t0.3\n4\t94\t0.4\n",
         "accuracy_hours_look_swapped", NULL},
        {"cifar10-train", NULL, TRAIN_HEADER "1\t60\t0.1\n2\t80\t0.2\n3\t79\t0.3\n4\t94\t0.3\n",
         "!accuracy_hours_look_swapped", NULL},
        /* Another metric. */
        {"imagenet-train", NULL, TOP5 "1\t1\t80\t60\n2\t2\t90\t70\n3\t3\t92\t74\n4\t4\t94\t76\n",
         "top1_top5_look_swapped", NULL},
        {"imagenet-train", NULL, TOP5 "1\t1\t60\t60\n2\t2\t90\t70\n3\t3\t92\t74\n4\t4\t94\t76\n",
         "!top1_top5_look_swapped", NULL},
        {"imagenet-train", NULL, TOP5 "1\t1\t60\t76.1\n", "threshold_not_reached",
         "looks like top-1"},
        {"imagenet-train", NULL, TOP5 "1\t1\t60\t92.9\n", "threshold_not_reached", NULL},
        {"imagenet-inference", "{" MEMBERS ",\"latency\":1,\"top5Accuracy\":75.9}", NULL,
         "threshold_not_reached", "looks like top-1"},
        {"cifar10-inference", "{" MEMBERS ",\"latency\":1,\"top5Accuracy\":99}", NULL,
         "missing_field", "judged by top1Accuracy"},
        /* A cost of 10,000 items, the price of an hour. */
        {"cifar10-inference",
         "{" MEMBERS ",\"latency\":0.683,\"cost\":2.078e-3,\"top1Accuracy\":95}", NULL,
         "cost_not_per_item", "write 2.078e-7 in place of 2.078e-3"},
        {"cifar10-inference", "{" MEMBERS ",\"latency\":0.1,\"cost\":0.9,\"top1Accuracy\":95}",
         NULL, "cost_not_per_item", "one item costs 2.5e-08"},
        /* The version of the entry, numbers that are texts, dates in other orders. */
        {"cifar10-train", "{\"version\":\"v2.3\"}", NULL, "bad_version", "write \"v1.0\""},
        {"cifar10-train", "{" MEMBERS ",\"costPerHour\":\"0,9\"}", NULL, "bad_type", "write 0.9:"},
        {"cifar10-train", "{" MEMBERS ",\"costPerHour\":\"$1,234.50 / h\"}", NULL, "bad_type",
         NULL},
        {"cifar10-train", "{" MEMBERS ",\"costPerHour\":\"$1,234.50\"}", NULL, "bad_type",
         "write 1234.5:"},
        {"cifar10-train", "{" MEMBERS ",\"costPerHour\":\"N/A\"}", NULL, "bad_type",
         "leave the field out"},
        {"cifar10-inference", "{" MEMBERS ",\"latency\":\"1.5 ms\",\"top1Accuracy\":95}", NULL,
         "bad_type", "write 1.5:"},
        {"cifar10-inference", "{" MEMBERS ",\"latency\":\"fast\",\"top1Accuracy\":95}", NULL,
         "bad_type", NULL},
        {"cifar10-train", NULL, TRAIN_HEADER "1\t0,25\t94\n", "not_a_number", "write 0.25:"},
        {"cifar10-train", NULL, TRAIN_HEADER "1\t0:15:00\t94\n", "not_a_number", NULL},
        {"cifar10-train", DATED("30/11/2026"), NULL, "bad_date", "write yyyy-mm-dd: 2026-11-30"},
        {"cifar10-train", DATED("11/30/2026"), NULL, "bad_date", "write yyyy-mm-dd: 2026-11-30"},
        {"cifar10-train", DATED("04.03.2026"), NULL, "bad_date", "2026-03-04 or 2026-04-03"},
        {"cifar10-train", DATED("05/05/2026"), NULL, "bad_date", "write yyyy-mm-dd: 2026-05-05"},
        {"cifar10-train", DATED("2026/11/30"), NULL, "bad_date", "write yyyy-mm-dd: 2026-11-30"},
        {"cifar10-train", DATED("20261130"), NULL, "bad_date", "write yyyy-mm-dd: 2026-11-30"},
        {"cifar10-train", DATED("2026-11-30T12:00:00Z"), NULL, "bad_date",
         "write yyyy-mm-dd: 2026-11-30"},
        {"cifar10-train", DATED("2026-30-11"), NULL, "bad_date", "write yyyy-mm-dd: 2026-11-30"},
        {"cifar10-train", DATED("31/02/2026"), NULL, "bad_date", NULL},
        {"cifar10-train", DATED("last week"), NULL, "bad_date", NULL},
        /* Other separators, other names, other files. */
        {"cifar10-train", NULL, "epoch,hours,top1Accuracy\n1,0.1,94\n", "tsv_header",
         "one tab in place of each comma"},
        {"cifar10-train", NULL, "epoch;hours;top1Accuracy\n1;0.1;94\n", "tsv_header",
         "one tab in place of each semicolon"},
        {"cifar10-train", NULL, "epoch hours top1Accuracy\n1 0.1 94\n", "tsv_header",
         "one tab in place of the blanks"},
        {"cifar10-train", NULL, "epoch\t\thours\ttop1Accuracy\n1\t0.1\t94\n", "tsv_header",
         "one tab between names and cells, not two"},
        {"cifar10-train", NULL, "epoch\thours\taccuracy\n1\t0.1\t94\n", "tsv_header",
         "call the column top1Accuracy, not accuracy"},
        {"cifar10-train", NULL, TRAIN_HEADER "1 0.1 94\n", "tsv_fields", "in place of the blanks"},
        {"cifar10-train", NULL, TRAIN_HEADER "1\t\t0.1\t94\n", "tsv_fields", "not two"},
        {"cifar10-train", TRAIN_HEADER "1\t0.1\t94\n", NULL, "files_look_swapped", NULL},
        {"cifar10-train", NULL, "\xEF\xBB\xBF {" MEMBERS "}", "files_look_swapped", NULL},
        {"cifar10-train", "CIFAR10/train/x.json\n", NULL, "path_not_file",
         "entry=@CIFAR10/train/x.json"},
        {"cifar10-train", NULL, "x.tsv", "path_not_file", "progress=@x.tsv"},
        {"cifar10-train", "\"x.json\"", NULL, "!path_not_file", NULL},
        {"cifar10-train", "epoch", NULL, "!files_look_swapped", NULL},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const bool wanted = cases[i].code[0] != '!';
        const char *code = cases[i].code + (wanted ? 0 : 1);
        const struct intake_finding *finding;
        struct judged judged;

        judge(&judged, cases[i].task, INTAKE_NEW, cases[i].entry, cases[i].progress);
        finding = find(&judged, code, NULL);
        if ((finding != NULL) != wanted)
            fail_msg("case %zu: %s", i, cases[i].code);
        else if (finding != NULL && cases[i].hint != NULL &&
                 strstr(finding->hint, cases[i].hint) == NULL)
            fail_msg("case %zu, %s: %s", i, code, finding->hint);
        arena_fini(&judged.arena);
    }
}

static void advice_is_what_reviewers_ask_for(void **state)
{
    static const struct {
        const char *misc, *code; /* '!': not said */
    } cases[] = {
        {"\"optimizer\":\"SGD\"", "hyperparameters_missing"},
        {"\"optimizer\":1,\"batchSize\":1,\"schedule\":1,\"momentum\":1",
         "hyperparameters_missing"},
        {"\"optimizer\":1,\"batchSize\":1,\"schedule\":1,\"momentum\":1,\"weightDecay\":1",
         "!hyperparameters_missing"},
        {"\"a\":1", "versions_missing"},
        {"\"CUDA version\":1", "!versions_missing"},
        {"\"a\":1", "command_missing"},
        {"\"commandLine\":1", "!command_missing"},
        {"\"a\":1", "seeds_missing"},
        {"\"seed\":1", "!seeds_missing"},
        {"\"seeds\":[1]", "!seeds_missing"},
        {"\"a\":1", "price_evidence_missing"},
        {"\"instance\":\"p3.2xlarge\"", "!price_evidence_missing"},
        {"\"pricing page\":1", "!price_evidence_missing"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const bool wanted = cases[i].code[0] != '!';
        struct judged judged;
        char entry[512];

        for (enum intake_mode mode = INTAKE_NEW; mode <= INTAKE_HISTORY; mode++) {
            (void)snprintf(entry, sizeof entry, "{" MEMBERS ",\"costPerHour\":1,\"misc\":{%s}}",
                           cases[i].misc);
            judge(&judged, "cifar10-train", mode, entry, NULL);
            assert_true(judged.result.acceptable); /* advice never decides */
            assert_int_equal(find(&judged, cases[i].code + (wanted ? 0 : 1), NULL) != NULL,
                             wanted && mode == INTAKE_NEW);
            arena_fini(&judged.arena);
        }
    }
}

/* n files of runs beside one entry, judged for a task whose rule may be another. */
#define RUNS_MAX 8
struct many {
    struct task task;
    struct intake_source sources[RUNS_MAX];
    struct intake_input input;
};
static void judge_many(struct judged *judged, struct many *many, enum task_score score,
                       const char *entry, const char *const *progress)
{
    static const char *const names[] = {"a.tsv", "b.tsv", "c.tsv", "d.tsv",
                                        "e.tsv", "f.tsv", "g.tsv", "h.tsv"};

    many->task = *task_find(tasks, STR("cifar10-train"));
    many->task.score = score;
    many->input = (struct intake_input){.task = &many->task,
                                        .mode = INTAKE_NEW,
                                        .whole = true,
                                        .has_entry = true,
                                        .entry = str_from_cstr(entry),
                                        .progress = many->sources,
                                        .today_days = today};
    for (size_t i = 0; i < RUNS_MAX && progress[i] != NULL; i++)
        many->sources[many->input.progress_count++] =
            (struct intake_source){names[i], str_from_cstr(progress[i])};
    arena_init(&judged->arena, INTAKE_ARENA_BYTES(RUNS_MAX * ENTRY_FILE_BYTES_MAX));
    assert_int_equal(intake_check(&many->input, &judged->arena, &judged->result, NULL), ST_OK);
}

#define RUN(hours)  TRAIN_HEADER "1\t0.01\t90\n2\t" hours "\t94\n"
#define MISSED(acc) TRAIN_HEADER "1\t0.01\t90\n2\t0.3\t" acc "\n"

static void the_score_of_the_runs_is_the_time_of_the_entry(void **state)
{
    static const char entry[] = "{" MEMBERS ",\"costPerHour\":3.6}";
    static const struct {
        enum task_score score;
        const char *progress[RUNS_MAX];
        bool has;
        int64_t tta_s, cost_usd_e3;
        size_t shown;
        bool is_a_run; /* whose hours are kept as they were written */
    } cases[] = {
        {TASK_SCORE_MEDIAN, {RUN("0.5"), NULL}, true, 1800, 1800, 0, true},
        {TASK_SCORE_MEDIAN, {RUN("0.5"), RUN("0.1"), RUN("0.25"), NULL}, true, 900, 900, 2, true},
        {TASK_SCORE_MEDIAN, {RUN("0.5"), RUN("0.1"), NULL}, true, 1080, 1080, 1, false},
        {TASK_SCORE_MEDIAN,
         {RUN("0.5"), RUN("0.1"), MISSED("93.9"), NULL},
         true,
         1800,
         1800,
         0,
         true},
        {TASK_SCORE_MEDIAN, {RUN("0.1"), MISSED("93.9"), NULL}, false, 0, 0, 0, false},
        {TASK_SCORE_MEAN, {RUN("0.5"), RUN("0.1"), RUN("0.25"), NULL}, true, 1020, 1020, 2, false},
        {TASK_SCORE_MEAN, {RUN("0.5"), RUN("0.1"), MISSED("93.9"), NULL}, false, 0, 0, 0, false},
        {TASK_SCORE_OLYMPIC,
         {RUN("0.5"), RUN("0.1"), MISSED("93.9"), NULL},
         true,
         1800,
         1800,
         0,
         true},
        {TASK_SCORE_OLYMPIC,
         {RUN("0.5"), MISSED("93.8"), MISSED("93.9"), NULL},
         false,
         0,
         0,
         0,
         false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct intake_record *record;
        struct judged judged;
        struct many many;

        judge_many(&judged, &many, cases[i].score, entry, cases[i].progress);
        record = &judged.result.record;
        assert_int_equal(judged.result.acceptable, cases[i].has);
        assert_int_equal(record->has_tta, cases[i].has);
        assert_int_equal(record->run_count, many.input.progress_count);
        if (!cases[i].has) {
            assert_string_equal(must_find(&judged, "threshold_not_reached", NULL, "runs")->file,
                                "progress");
        } else {
            assert_true(record->tta_ns == cases[i].tta_s * 1000000000);
            assert_true(record->has_cost && record->cost_pico == cases[i].cost_usd_e3 * 1000000000);
            assert_int_equal(record->shown_run, cases[i].shown);
            assert_int_equal(record->tta_hours_text != NULL, cases[i].is_a_run);
        }
        arena_fini(&judged.arena);
    }
}

static void a_missed_run_is_a_warning_that_names_its_file(void **state)
{
    const char *const progress[] = {RUN("0.5"), RUN("0.1"), MISSED("93.9"), NULL};
    const struct intake_finding *finding;
    struct judged judged;
    struct many many;

    (void)state;
    judge_many(&judged, &many, TASK_SCORE_MEDIAN, "{" MEMBERS "}", progress);
    finding = must_find(&judged, "run_missed", "top1Accuracy", "three runs");
    assert_string_equal(finding->file, "c.tsv");
    assert_int_equal(finding->file_index, 3);
    assert_int_equal(finding->line, 3);
    assert_true(judged.result.record.runs[2].missed && !judged.result.record.runs[2].reached);
    arena_fini(&judged.arena);
}

static void faults_of_every_run_come_at_once_by_file(void **state)
{
    const char *const progress[] = {RUN("0.5"), RUN("x"), TRAIN_HEADER "1\t2\n", NULL};
    struct judged judged;
    struct many many;
    size_t before = 0;

    (void)state;
    judge_many(&judged, &many, TASK_SCORE_MEDIAN, "{" MEMBERS "}", progress);
    assert_string_equal(must_find(&judged, "not_a_number", "hours", "runs")->file, "b.tsv");
    assert_string_equal(must_find(&judged, "tsv_fields", "", "runs")->file, "c.tsv");
    for (size_t i = 0; i < judged.result.finding_count; i++) {
        assert_true(judged.result.findings[i].file_index >= before);
        before = judged.result.findings[i].file_index;
    }
    assert_false(judged.result.record.has_tta); /* what cannot be read may have been slower */
    arena_fini(&judged.arena);
}

static void fewer_runs_than_the_task_asks_for_are_refused(void **state)
{
    const char *const progress[] = {RUN("0.5"), RUN("0.4"), NULL};
    struct judged judged;
    struct many many;

    (void)state;
    for (int runs = 2; runs <= 3; runs++) {
        judge_many(&judged, &many, TASK_SCORE_MEDIAN, "{" MEMBERS "}", progress);
        arena_fini(&judged.arena);
        many.task.runs = runs;
        arena_init(&judged.arena, INTAKE_ARENA_BYTES_MAX);
        assert_int_equal(intake_check(&many.input, &judged.arena, &judged.result, NULL), ST_OK);
        assert_int_equal(find(&judged, "missing_file", "progress") != NULL, runs == 3);
        arena_fini(&judged.arena);
    }
}

static void equal_logs_are_found_however_they_are_written(void **state)
{
    static const struct {
        const char *other;
        bool told;
    } cases[] = {
        {TRAIN_HEADER "1\t0.01\t90\n2\t0.5\t94\n", true}, /* byte for byte */
        {TRAIN_HEADER "1.0\t.010\t90.00\r\n2\t5e-1\t94.0", true},
        {"hours\ttop1Accuracy\tepoch\n0.01\t90\t1\n0.5\t94\t2\n", true},
        {TRAIN_HEADER "1\t0.01\t90\n2\t0.5000001\t94\n", false},
        {TRAIN_HEADER "1\t0.01\t90\n2\t0.5\t94\n3\t0.6\t94\n", false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *const progress[] = {RUN("0.5"), RUN("0.4"), cases[i].other, NULL};
        const struct intake_finding *finding;
        struct judged judged;
        struct many many;

        judge_many(&judged, &many, TASK_SCORE_MEDIAN, "{" MEMBERS "}", progress);
        finding = find(&judged, "equal_logs", NULL);
        assert_int_equal(finding != NULL, cases[i].told);
        assert_true(finding == NULL || strcmp(finding->file, "c.tsv") == 0);
        assert_true(judged.result.acceptable); /* nothing forbids it: who reads it is told */
        arena_fini(&judged.arena);
    }
}

static void seeds_are_those_that_misc_states(void **state)
{
    static const struct {
        const char *misc, *code, *seed; /* code NULL: nothing is said; seed: of the second run */
    } cases[] = {
        {"\"seeds\":[1,2,3]", NULL, "2"},
        {"\"seeds\":[\"0x1\",\" 7 \",3]", NULL, "7"},
        {"\"seeds\":[1,18446744073709551615,3]", NULL, "18446744073709551615"},
        {"\"seeds\":[1,2,1]", "equal_seeds", "2"},
        {"\"seeds\":[1,2]", "seeds_unclear", NULL},
        {"\"seeds\":[1,2,3,4]", "seeds_unclear", NULL},
        {"\"seeds\":[1,2.5,3]", "seeds_unclear", NULL},
        {"\"seeds\":[1,\"\",3]", "seeds_unclear", NULL},
        {"\"seeds\":{}", "seeds_unclear", NULL},
        {"\"seed\":1", "seeds_unclear", NULL},
        {"\"a\":1", NULL, NULL},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *const progress[] = {RUN("0.5"), RUN("0.4"), RUN("0.3"), NULL};
        const struct intake_run *run;
        struct judged judged;
        struct many many;
        char entry[512];

        (void)snprintf(entry, sizeof entry, "{" MEMBERS ",\n\"misc\":{%s}}", cases[i].misc);
        judge_many(&judged, &many, TASK_SCORE_MEDIAN, entry, progress);
        run = &judged.result.record.runs[1];
        if (cases[i].code != NULL)
            assert_int_equal(must_find(&judged, cases[i].code, "misc", entry)->line, 2);
        else
            assert_int_equal(judged.result.warning_count, 0);
        if (cases[i].seed != NULL)
            assert_string_equal(run->seed_text, cases[i].seed);
        else
            assert_null(run->seed_text);
        assert_true(judged.result.acceptable);
        arena_fini(&judged.arena);
    }
}

static void what_the_agent_writes_is_accepted_without_a_warning(void **state)
{
    static const struct entry_epoch epochs[] = {{1, 60000000000, 5000, 10000},
                                                {2, 120000000000, 6999, 10000},
                                                {3, 180000000001, 7000, 10000}};
    json_t *misc =
        json_pack("{s:i, s:f, s:{s:i}}", "seed", 7, "learning_rate", 0.1, "plan", "batch", 500);
    const struct task *task = task_find(tasks, STR("cifar10-train-quick"));
    const struct entry entry = {.task = task,
                                .author = "A",
                                .author_email = "submitter@example.org",
                                .framework = "Daybreak 0.1.0",
                                .model = "ResNet 9",
                                .hardware = "1 CPU",
                                .timestamp = "2026-12-01",
                                .cost_usd_per_hour = "0.10",
                                .misc = misc};
    struct intake_source source = {0};
    struct intake_input input = {
        .whole = true, .has_entry = true, .progress = &source, .progress_count = 1};
    struct judged judged;
    struct buf json, tsv;

    (void)state;
    buf_init(&json, 4096);
    buf_init(&tsv, 4096);
    assert_int_equal(entry_append_json(&json, &entry, NULL), ST_OK);
    assert_int_equal(entry_append_tsv(&tsv, task, epochs, ARRAY_LEN(epochs), NULL), ST_OK);
    input.entry = buf_str(&json);
    source.bytes = buf_str(&tsv);
    judge_input(&judged, &input, "cifar10-train-quick");
    assert_true(judged.result.acceptable);
    assert_int_equal(judged.result.warning_count, 0);
    assert_int_equal(judged.result.record.runs[0].crossing_index, 2);
    assert_true(judged.result.record.tta_ns == 180000000000); /* hours with 9 decimals: 3.6 us */
    assert_true(judged.result.record.cost_pico == 5000000000);
    arena_fini(&judged.arena);
    buf_fini(&tsv);
    buf_fini(&json);
    json_decref(misc);
}

static void an_arena_that_is_too_small_is_an_error_not_a_verdict(void **state)
{
    static const char entry[] = "{" MEMBERS ",\"costPerHour\":\"x\"}";
    const struct intake_source source = {.bytes = STR(TRAIN_HEADER "0\t0.1\t90\n1\tx\t94\n")};
    struct intake_input input = {.has_entry = true, .progress = &source, .progress_count = 1};

    (void)state;
    input.task = task_find(tasks, STR("cifar10-train"));
    input.entry = str_from_cstr(entry);
    for (size_t bytes = 0; bytes < 4096; bytes += 64) {
        struct intake_result result;
        struct error err = {0};
        struct arena arena;
        enum status status;

        arena_init(&arena, bytes);
        status = intake_check(&input, &arena, &result, &err);
        assert_true(status == ST_OK || status == ST_NO_MEMORY);
        if (status == ST_OK)
            assert_int_equal(result.error_count, 2); /* or nothing at all, but never a part */
        arena_fini(&arena);
    }
}

/* The worst files that fit: as many values, rows and faults as 64 KiB hold. */
static void the_stated_arena_is_enough_for_the_worst_files(void **state)
{
    static const char *const units[] = {"1,", "[],", "\"\":1,", "{\"a\":1},"};
    struct buf entry, progress;

    (void)state;
    buf_init(&entry, 1 << 20);
    buf_init(&progress, 1 << 20);
    buf_append_cstr(&progress, TRAIN_HEADER);
    for (size_t i = 0; progress.len + 8 < ENTRY_FILE_BYTES_MAX; i++)
        buf_append_cstr(&progress, i == 0 ? "0\t0\tx\n" : "1\t1\t1\n");
    for (size_t u = 0; u < ARRAY_LEN(units); u++) {
        struct intake_source source = {0};
        struct intake_input input = {
            .whole = true, .has_entry = true, .progress = &source, .progress_count = 1};
        struct judged judged;

        buf_clear(&entry);
        buf_append_cstr(&entry, u == 2 ? "{" : "{\"misc\":[");
        for (size_t i = 0; entry.len + 32 < ENTRY_FILE_BYTES_MAX; i++)
            if (u == 2)
                buf_appendf(&entry, "\"%zx\":1,", i);
            else
                buf_append_cstr(&entry, units[u]);
        buf_append_cstr(&entry, u == 2 ? "\"z\":1}" : "1]}");
        input.entry = buf_str(&entry);
        source.bytes = buf_str(&progress);
        judge_input(&judged, &input, "cifar10-train");
        assert_false(judged.result.acceptable);
        assert_true(judged.arena.used_bytes < INTAKE_ARENA_BYTES_MAX / 2);
        arena_fini(&judged.arena);
    }
    buf_fini(&progress);
    buf_fini(&entry);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_has_a_sample_that_shows_it),
        cmocka_unit_test(a_good_training_gives_exact_values),
        cmocka_unit_test(labels_from_0_count_one_more),
        cmocka_unit_test(a_good_inference_keeps_exact_texts),
        cmocka_unit_test(texts_lose_tabs_and_outer_blanks),
        cmocka_unit_test(faults_of_the_entry_are_named),
        cmocka_unit_test(absent_and_null_prices_only_leave_the_cost_board),
        cmocka_unit_test(faults_of_the_progress_file_are_named),
        cmocka_unit_test(a_second_is_the_least_that_raises_no_doubt),
        cmocka_unit_test(a_comma_in_a_number_gets_a_hint_of_its_own),
        cmocka_unit_test(headers_are_quoted_as_they_are),
        cmocka_unit_test(one_fault_on_every_line_is_told_five_times_and_counted),
        cmocka_unit_test(faults_of_both_files_come_at_once_in_order),
        cmocka_unit_test(history_gets_no_advice_and_old_sins_pass),
        cmocka_unit_test(only_single_http_addresses_become_links),
        cmocka_unit_test(hours_that_differ_little_are_told_only_when_the_epochs_differ_much),
        cmocka_unit_test(a_likely_intention_is_in_the_hint),
        cmocka_unit_test(advice_is_what_reviewers_ask_for),
        cmocka_unit_test(the_score_of_the_runs_is_the_time_of_the_entry),
        cmocka_unit_test(a_missed_run_is_a_warning_that_names_its_file),
        cmocka_unit_test(faults_of_every_run_come_at_once_by_file),
        cmocka_unit_test(fewer_runs_than_the_task_asks_for_are_refused),
        cmocka_unit_test(equal_logs_are_found_however_they_are_written),
        cmocka_unit_test(seeds_are_those_that_misc_states),
        cmocka_unit_test(what_the_agent_writes_is_accepted_without_a_warning),
        cmocka_unit_test(the_stated_arena_is_enough_for_the_worst_files),
        cmocka_unit_test(an_arena_that_is_too_small_is_an_error_not_a_verdict),
    };

    return cmocka_run_group_tests(tests, load_tasks, drop_tasks);
}
