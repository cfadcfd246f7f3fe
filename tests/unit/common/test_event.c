/* tests/unit/common/test_event.c: common/event: what is written reads back; what breaks a rule is refused with
 * the pointer to the fault. */
#include "common/event.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define ARENA_BYTES ((size_t)1 << 20)

static struct event eval_event(void)
{
    return (struct event){.seq = 7,
                          .kind = EVENT_EVAL,
                          .mono_ns = 123456789,
                          .real_ms = 1796140684000,
                          .metric = STR("top1Accuracy"),
                          .epoch = 9.9,
                          .has_count = true,
                          .correct = 9412,
                          .total = 10000,
                          .has_loss = true,
                          .loss = 0.1 + 0.2,
                          .views = 6,
                          .has_official = true,
                          .official_ns = 5,
                          .wall_ns = 6};
}

static void assert_same(const struct event *a, const struct event *b)
{
    assert_int_equal(a->seq, b->seq);
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->mono_ns, b->mono_ns);
    assert_int_equal(a->real_ms, b->real_ms);
    assert_true(str_eq(a->phase, b->phase));
    assert_true(str_eq(a->metric, b->metric));
    assert_true(str_eq(a->text, b->text));
    assert_true(str_eq(a->result, b->result));
    assert_memory_equal(&a->epoch, &b->epoch, sizeof a->epoch);
    assert_memory_equal(&a->loss, &b->loss, sizeof a->loss);
    assert_memory_equal(&a->value, &b->value, sizeof a->value);
    assert_int_equal(a->has_count, b->has_count);
    assert_int_equal(a->correct, b->correct);
    assert_int_equal(a->total, b->total);
    assert_int_equal(a->has_value, b->has_value);
    assert_int_equal(a->has_loss, b->has_loss);
    assert_int_equal(a->views, b->views);
    assert_int_equal(a->has_official, b->has_official);
    assert_int_equal(a->official_ns, b->official_ns);
    assert_int_equal(a->wall_ns, b->wall_ns);
}

static void events_read_back_as_they_were_written(void **state)
{
    struct event value = eval_event();
    const struct event events[] = {
        {.seq = 1, .kind = EVENT_RUN_START, .mono_ns = 1, .real_ms = 2},
        {.seq = 2, .kind = EVENT_PHASE_BEGIN, .phase = STR("train")},
        {.seq = 3, .kind = EVENT_PHASE_END, .phase = STR("checkpoint")},
        eval_event(),
        {.seq = 4, .kind = EVENT_NOTE, .text = STR("a \"quoted\" line\n\xc3\xa9")},
        {.seq = 5, .kind = EVENT_RUN_END, .result = STR("reached")},
        {.seq = INT64_MAX, .kind = EVENT_RUN_END, .result = STR("failed"), .text = STR("why")},
        (value.has_count = false, value.correct = value.total = 0, value.has_value = true,
         value.value = 21.799999237, value),
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(events); i++) {
        struct arena arena;
        struct event got;
        struct error err = {0};
        struct buf line;

        arena_init(&arena, ARENA_BYTES);
        buf_init(&line, EVENT_LINE_BYTES_MAX);
        event_append(&line, &events[i]);
        assert_false(line.failed);
        assert_null(memchr(line.data, '\n', line.len));
        assert_int_equal(event_parse(buf_str(&line), &arena, &got, &err), ST_OK);
        assert_same(&got, &events[i]);
        buf_fini(&line);
        arena_fini(&arena);
    }
}

static void the_longest_text_still_fits_a_line(void **state)
{
    char text[5000];
    struct event event = {.seq = INT64_MAX,
                          .kind = EVENT_RUN_END,
                          .mono_ns = INT64_MAX,
                          .real_ms = INT64_MAX,
                          .result = STR("missed"),
                          .text = {text, sizeof text}};
    struct event got;
    struct arena arena;
    struct buf line;

    (void)state;
    memset(text, 1, sizeof text); /* each byte becomes \u0001 */
    arena_init(&arena, ARENA_BYTES);
    buf_init(&line, EVENT_LINE_BYTES_MAX);
    event_append(&line, &event);
    assert_false(line.failed);
    assert_int_equal(event_parse(buf_str(&line), &arena, &got, NULL), ST_OK);
    assert_true(got.text.len >= 500);
    buf_fini(&line);
    arena_fini(&arena);
}

#define HEAD "{\"seq\":1,\"mono_ns\":1,\"real_ms\":1,"
#define EVAL HEAD "\"kind\":\"eval\",\"metric\":\"top1Accuracy\","

static void faults_are_refused_with_their_pointer(void **state)
{
    static const struct {
        const char *line, *field;
    } cases[] = {
        {"", ""},
        {"[]", ""},
        {"{}\n", ""},
        {"{\"seq\":1}", "/kind"},
        {"{\"seq\":0,\"kind\":\"run_start\",\"mono_ns\":1,\"real_ms\":1}", "/seq"},
        {"{\"seq\":1.5,\"kind\":\"run_start\",\"mono_ns\":1,\"real_ms\":1}", "/seq"},
        {HEAD "\"kind\":\"run_stop\"}", "/kind"},
        {HEAD "\"kind\":\"run_start\",\"seed\":1}", "/seed"},
        {HEAD "\"kind\":\"phase_begin\"}", "/phase"},
        {HEAD "\"kind\":\"phase_begin\",\"phase\":\"sleep\"}", "/phase"},
        {HEAD "\"kind\":\"run_end\",\"result\":\"won\"}", "/result"},
        {HEAD "\"kind\":\"note\"}", "/text"},
        {EVAL "\"epoch\":1}", "/correct"},
        {EVAL "\"epoch\":1,\"correct\":5}", "/total"},
        {EVAL "\"epoch\":1,\"total\":5}", "/correct"},
        {EVAL "\"epoch\":1,\"correct\":6,\"total\":5}", "/correct"},
        {EVAL "\"epoch\":1,\"correct\":0,\"total\":0}", "/total"},
        {EVAL "\"epoch\":1,\"correct\":1,\"total\":5,\"value\":1}", "/correct"},
        {EVAL "\"epoch\":-1,\"correct\":1,\"total\":5}", "/epoch"},
        {EVAL "\"epoch\":1000001,\"correct\":1,\"total\":5}", "/epoch"},
        {EVAL "\"epoch\":1e300,\"correct\":1,\"total\":5}", "/epoch"},
        {EVAL "\"correct\":1,\"total\":5}", "/epoch"},
        {EVAL "\"epoch\":1,\"correct\":1,\"total\":5,\"views\":0}", "/views"},
        {EVAL "\"epoch\":1,\"correct\":1,\"total\":5,\"official_ns\":2}", "/wall_ns"},
        {EVAL "\"epoch\":1,\"correct\":1,\"total\":5,\"official_ns\":3,\"wall_ns\":2}",
         "/official_ns"},
        {EVAL "\"epoch\":1,\"correct\":1,\"total\":5,\"official_ns\":3153600000000000001,"
              "\"wall_ns\":3153600000000000001}",
         "/official_ns"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct arena arena;
        struct event event;
        struct error err = {0};

        arena_init(&arena, ARENA_BYTES);
        assert_int_not_equal(event_parse(str_from_cstr(cases[i].line), &arena, &event, &err),
                             ST_OK);
        if (strcmp(err.field, cases[i].field) != 0)
            fail_msg("%s: %s, not %s", cases[i].line, err.field, cases[i].field);
        assert_true(err.detail[0] != '\0');
        /* Without a place for words the verdict is the same. */
        assert_int_not_equal(event_parse(str_from_cstr(cases[i].line), &arena, &event, NULL),
                             ST_OK);
        arena_fini(&arena);
    }
}

static void a_line_above_the_limit_is_refused(void **state)
{
    static char line[EVENT_LINE_BYTES_MAX + 1];
    struct arena arena;
    struct event event;

    (void)state;
    memset(line, ' ', sizeof line);
    line[0] = '{';
    arena_init(&arena, ARENA_BYTES);
    assert_int_equal(event_parse((struct str){line, sizeof line}, &arena, &event, NULL), ST_LIMIT);
    arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_read_back_as_they_were_written),
        cmocka_unit_test(the_longest_text_still_fits_a_line),
        cmocka_unit_test(faults_are_refused_with_their_pointer),
        cmocka_unit_test(a_line_above_the_limit_is_refused),
    };

    return cmocka_run_group_tests_name("event", tests, NULL, NULL);
}
