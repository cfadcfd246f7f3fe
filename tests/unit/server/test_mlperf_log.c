/* tests/unit/server/test_mlperf_log.c: the three line formats of MLPerf's logs, and each trap that real ones hold
 * (data/mlperf/README.md). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "server/mlperf/log.h"

#define V5 ":::MLPv0.5.0 resnet "
#define AT " (main.py:1) "

static struct arena arena;
static struct mlperf_log log_;

static enum status read_text(const char *text, struct error *err)
{
    arena_fini(&arena);
    arena_init(&arena, MLPERF_ARENA_BYTES);
    return mlperf_log_read(str_from_cstr(text), &arena, &log_, err);
}

static const struct mlperf_log *read_good(const char *text)
{
    assert_int_equal(read_text(text, NULL), ST_OK);
    return &log_;
}

static void each_format_gives_clock_and_evaluations(void **state)
{
    static const struct {
        const char *text;
        enum mlperf_format format;
        const char *label, *value;
    } cases[] = {
        {V5 "1541720386.718659639" AT "run_start\n" V5 "1541720811.052114725" AT
            "eval_accuracy: {\"epoch\": 62, \"value\": 0.7522}\n" V5 "1541720812.5" AT
            "input_batch_size: 208\n" V5 "1541720812.718659640" AT
            "run_stop: {\"success\": true}\n",
         MLPERF_MLP, "62", "0.7522"},
        {":::MLL 1560401014.720 run_start: {\"value\": null, \"metadata\": {}}\n"
         ":::MLL 1560401015.1 eval_accuracy: {\"value\": \"24.10\", \"metadata\": "
         "{\"epoch_num\": 6}}\n"
         ":::MLL 1560401016 global_batch_size: {\"value\": 208, \"metadata\": {}}\n"
         ":::MLL 1560401440.720000001 run_stop: {\"value\": null, \"metadata\": {\"status\": "
         "\"success\"}}",
         MLPERF_MLL, "6", "24.10"},
        {":::MLLOG {\"time_ms\": 1000, \"key\": \"run_start\", \"value\": null, \"metadata\": {}}\n"
         ":::MLLOG {\"time_ms\": 1001, \"key\": \"eval_accuracy\", \"value\": 0.92, \"metadata\": "
         "{\"samples_count\": 3072}}\n"
         ":::MLLOG {\"time_ms\": 1001, \"key\": \"global_batch_size\", \"value\": 208}\n"
         ":::MLLOG {\"time_ms\": 427000.000001, \"key\": \"run_stop\", \"value\": null, "
         "\"metadata\": {\"status\": \"success\"}}\n",
         MLPERF_MLLOG, "3072", "0.92"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct mlperf_log *log = read_good(cases[i].text);

        assert_int_equal(log->format, cases[i].format);
        assert_true(log->has_start && log->has_stop);
        assert_true(log->stop_ns - log->start_ns == INT64_C(426000000001));
        assert_int_equal(log->outcome, MLPERF_SUCCESS);
        assert_int_equal(log->eval_count, 1);
        assert_string_equal(log->evals[0].label_text, cases[i].label);
        assert_string_equal(log->evals[0].value_text, cases[i].value);
        assert_int_equal(log->evals[0].line, 2);
        assert_string_equal(log->batch.text, "208");
        assert_int_equal(log->event_count, 4);
        assert_int_equal(log->bad_line_count, 0);
        assert_int_equal(log->line_count, 4);
    }
}

static void equal_events_count_once_whatever_stands_before_them(void **state)
{
    const struct mlperf_log *log = read_good(
        "Clearing caches\n" V5 "10.5" AT "run_start\n"
        "INFO:mlperf_compliance::::MLPv0.5.0 resnet 10.5 (main.py:1) run_start\n" V5 "10.6" AT
        "run_start\n" V5 "20" AT "run_stop\n0: :::MLPv0.5.0 resnet 20 (main.py:1) run_stop\n");

    (void)state;
    assert_int_equal(log->start_count, 2); /* another time is another event */
    assert_int_equal(log->stop_count, 1);
    assert_int_equal(log->event_count, 3);
    assert_int_equal(log->start_line, 2);
    assert_int_equal(log->stop_line, 5);
}

static void run_stop_says_how_it_ended_in_many_ways(void **state)
{
    static const struct {
        const char *text;
        enum mlperf_outcome outcome;
        const char *word;
    } cases[] = {
        {V5 "1" AT "run_stop", MLPERF_UNSTATED, "unstated"},
        {V5 "1" AT "run_stop: {\"success\": \"true\"}", MLPERF_SUCCESS, "success"},
        {V5 "1" AT "run_stop: {\"success\": \"false\"}", MLPERF_FAILURE, "failure"},
        {V5 "1" AT "run_stop: {\"success\": false}", MLPERF_FAILURE, "failure"},
        {V5 "1" AT "run_stop: {}", MLPERF_UNSTATED, "unstated"},
        {":::MLL 1 run_stop: {\"value\": null, \"metadata\": {\"status\": \"aborted\"}}",
         MLPERF_FAILURE, "aborted"},
        {":::MLL 1 run_stop: {'value': None, 'metadata': {'status': 'success'}}", MLPERF_SUCCESS,
         "success"}, /* Intel's */
        {":::MLLOG {\"time_ms\":1,\"key\":\"run_stop\",\"value\":null,\"metadata\":{}}",
         MLPERF_UNSTATED, "unstated"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct mlperf_log *log = read_good(cases[i].text);

        assert_true(log->has_stop);
        assert_int_equal(log->outcome, cases[i].outcome);
        assert_string_equal(log->outcome_text, cases[i].word);
    }
}

static void a_value_may_be_two_numbers_or_a_text(void **state)
{
    static const struct {
        const char *value;
        size_t count;
        double first;
    } cases[] = {
        {"[0.38, 0.34]", 2, 0.38},
        {"{\"accuracy\": {\"BBOX\": 0.38, \"SEGM\": 0.34}}", 2, 0.38},
        {"{\"accuracy\": 0.5}", 1, 0.5},
        {"\"25.5\"", 1, 25.5},
        {"-1", 1, -1},
        {"null", 0, 0},
        {"\"high\"", 0, 0},
        {"true", 0, 0},
        {"[]", 0, 0},
    };
    char text[400];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct mlperf_log *log;

        (void)snprintf(text, sizeof text,
                       ":::MLL 1 eval_accuracy: {\"value\": %s, \"metadata\": {\"epoch_num\": 0}}",
                       cases[i].value);
        log = read_good(text);
        assert_int_equal(log->eval_count, 1);
        assert_int_equal(log->evals[0].value_count, cases[i].count);
        assert_int_equal(log->bad_line_count, cases[i].count == 0);
        if (cases[i].count > 0)
            assert_true(fabs(log->evals[0].values[0] - cases[i].first) < 1e-12);
    }
}

static void odd_forms_of_v0_5_are_read(void **state)
{
    const struct mlperf_log *log = read_good(
        ":::MLPv0.5.0 resnet 0000000000 (empty:0) run_start\n"
        ":::MLPv0.5.0 resnet 1540939905 (a b (c)/train.prototxt:28) input_batch_size:  32 \r\n" V5
        "3" AT "opt_learning_rate : { \"deferred\": true, \"value\": 0 }\n" V5 "4" AT
        "opt_hp_Adam_beta1: 0.9\n" V5 "5" AT
        "train_epoch: \"61, but this epoch only has 0.03..% of the examples\"\n" V5 "6" AT
        "eval_accuracy: {\"value\": 0.1, \"epoch\": -1}\n" V5 "7" AT "run_clear_caches\n" V5 "8" AT
        "eval_target: 0.749\n");

    (void)state;
    assert_int_equal(log->bad_line_count, 0);
    assert_int_equal(log->event_count, 8);
    assert_true(log->start_ns == 0);
    assert_string_equal(log->batch.text, "32");
    assert_string_equal(log->target.text, "0.749");
    assert_true(log->evals[0].label < 0);
    assert_int_equal(log->clear_line, 7);
    assert_false(log->has_stop);
}

static void a_line_that_is_no_event_is_told_with_its_number(void **state)
{
    static const char *const bad[] = {
        ":::MLPv0.5.0 resnet",
        ":::MLPv0.5.0 resnet now (a:1) run_start",
        ":::MLPv0.5.0 resnet 1 run_start",
        ":::MLPv0.5.0 resnet 1 (a:1) run start",
        ":::MLPv0.5.0 resnet -1 (a:1) run_start",
        ":::MLL 1 run_start",
        ":::MLL 1",
        ":::MLL x run_start: {}",
        ":::MLL 1 run_stop: {'value': ",
        ":::MLLOG {\"time_ms\": 1}",
        ":::MLLOG {\"key\": \"run_start\"}",
        ":::MLLOG {\"key\": \"run_start\", \"time_ms\": \"1\"}",
        ":::MLLOG {\"key\": \"\", \"time_ms\": 1}",
        ":::MLLOG [1]",
        ":::MLLOG {\"key\": \"a\", \"key\": \"a\", \"time_ms\": 1}",
        ":::MLPv0.5.0 resnet 1 (a:1) run_stop: {\"success\"",
        ":::MLPv0.5.0 resnet 99999999999999999999 (a:1) run_start",
        ":::MLPv0.5.0 resnet 1 (a:1) \xff",
    };
    char text[400];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        const struct mlperf_log *log;

        (void)snprintf(text, sizeof text, "first\nsecond\n%s\n", bad[i]);
        log = read_good(text);
        assert_int_equal(log->bad_line_count, 1);
        assert_int_equal(log->faults.count, 1);
        assert_int_equal(log->faults.items[0].line, 3);
        assert_true(log->faults.items[0].detail[0] != '\0');
        assert_true(log->faults.items[0].hint[0] != '\0');
    }
    assert_int_equal(read_good("echo :::ML :::MLPv9 :::MLLX :::MLL\n")->bad_line_count, 0);
    assert_int_equal(read_good("")->line_count, 0);
}

/* Whatever the pieces, the same is read. */
static void pieces_of_any_size_give_the_same(void **state)
{
    static const char text[] = "x\n" V5 "1" AT "run_start\n\n" V5 "2" AT
                               "eval_accuracy: {\"epoch\": 0, \"value\": 1}\nlast";

    (void)state;
    for (size_t piece = 1; piece < sizeof text; piece++) {
        struct mlperf_reader *reader = NULL;

        arena_fini(&arena);
        arena_init(&arena, MLPERF_ARENA_BYTES);
        assert_int_equal(mlperf_reader_create(&arena, &log_, &reader, NULL), ST_OK);
        for (size_t at = 0; at < sizeof text - 1; at += piece)
            assert_int_equal(
                mlperf_reader_feed(
                    reader, str_slice((struct str){text, sizeof text - 1}, at, at + piece), NULL),
                ST_OK);
        assert_int_equal(mlperf_reader_finish(reader, NULL), ST_OK);
        mlperf_reader_destroy(reader);
        assert_int_equal(log_.event_count, 2);
        assert_int_equal(log_.line_count, 5);
        assert_int_equal(log_.evals[0].line, 4);
    }
}

static void long_lines_are_read_to_the_limit(void **state)
{
    const size_t most = MLPERF_LINE_BYTES_MAX;
    const char *const head = V5 "1" AT "note: \"";

    (void)state;
    for (size_t extra = 0; extra < 2; extra++) {
        char *text = malloc(3 * most);
        const size_t length = strlen(head);

        assert_non_null(text);
        memset(text, 'a', 3 * most);
        memcpy(text, head, length);
        text[most - 1 + extra] = '"';
        text[most + extra] = '\n';
        text[3 * most - 1] = '\0'; /* behind it a longer line that is no event */
        (void)read_good(text);
        assert_int_equal(log_.event_count, 1 - extra);
        assert_int_equal(log_.bad_line_count, extra);
        assert_int_equal(log_.line_count, 2);
        free(text);
    }
}

static void gzip_is_unpacked_and_what_is_torn_is_refused(void **state)
{
    /* printf ':::MLL 1 run_start: {"value": null}\n' | gzip -n */
    static const unsigned char packed[] = {
        0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03, 0xb3, 0xb2, 0xb2, 0xf2,
        0xf5, 0xf1, 0x51, 0x30, 0x54, 0x28, 0x2a, 0xcd, 0x8b, 0x2f, 0x2e, 0x49, 0x2c, 0x2a,
        0xb1, 0x52, 0xa8, 0x56, 0x2a, 0x4b, 0xcc, 0x29, 0x4d, 0x55, 0xb2, 0x52, 0xc8, 0x2b,
        0xcd, 0xc9, 0xa9, 0xe5, 0x02, 0x00, 0x16, 0xb2, 0x66, 0xed, 0x24, 0x00, 0x00, 0x00};
    unsigned char bytes[200];
    struct error err = {0};

    (void)state;
    memcpy(bytes, packed, sizeof packed);
    for (size_t length = 2; length < sizeof packed; length++) {
        err = (struct error){0};
        assert_int_equal(
            mlperf_log_read((struct str){(const char *)bytes, length}, &arena, &log_, &err),
            ST_INVALID);
        assert_string_equal(err.code, "bad_gzip");
        assert_true(err.hint[0] != '\0');
    }
    assert_int_equal(
        mlperf_log_read((struct str){(const char *)bytes, sizeof packed}, &arena, &log_, &err),
        ST_OK);
    assert_int_equal(log_.event_count, 1);
    memcpy(bytes + sizeof packed, packed, sizeof packed); /* a second member */
    assert_int_equal(
        mlperf_log_read((struct str){(const char *)bytes, 2 * sizeof packed}, &arena, &log_, &err),
        ST_OK);
    assert_int_equal(log_.line_count, 2);
    bytes[sizeof packed] = 'x'; /* something else behind it */
    assert_int_equal(
        mlperf_log_read((struct str){(const char *)bytes, sizeof packed + 9}, &arena, &log_, NULL),
        ST_INVALID);
}

static void a_log_above_the_limit_is_refused(void **state)
{
    static char none;
    struct error err = {0};

    (void)state;
    assert_int_equal(
        mlperf_log_read((struct str){&none, MLPERF_LOG_BYTES_MAX + 1}, &arena, &log_, &err),
        ST_LIMIT);
    assert_string_equal(err.code, "too-large");
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
        cmocka_unit_test(each_format_gives_clock_and_evaluations),
        cmocka_unit_test(equal_events_count_once_whatever_stands_before_them),
        cmocka_unit_test(run_stop_says_how_it_ended_in_many_ways),
        cmocka_unit_test(a_value_may_be_two_numbers_or_a_text),
        cmocka_unit_test(odd_forms_of_v0_5_are_read),
        cmocka_unit_test(a_line_that_is_no_event_is_told_with_its_number),
        cmocka_unit_test(pieces_of_any_size_give_the_same),
        cmocka_unit_test(long_lines_are_read_to_the_limit),
        cmocka_unit_test(gzip_is_unpacked_and_what_is_torn_is_refused),
        cmocka_unit_test(a_log_above_the_limit_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, teardown);
}
