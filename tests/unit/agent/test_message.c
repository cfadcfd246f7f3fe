/* tests/unit/agent/test_message.c: agent/train/message: what a child says is what its parent hears. */
#include "agent/train/message.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void say(const struct message *message, struct str facts, struct message *heard)
{
    struct buf line;
    struct error err = {0};

    buf_init(&line, MESSAGE_BYTES_MAX);
    message_append(&line, message, facts);
    assert_false(line.failed);
    assert_int_equal(line.data[line.len - 1], '\n');
    if (message_parse((struct str){line.data, line.len - 1}, heard, &err) != ST_OK)
        fail_msg("%s: %s", line.data, err.detail);
    assert_int_equal(heard->kind, message->kind);
    buf_fini(&line);
}

static void messages_are_heard_as_said(void **state)
{
    struct message heard;

    (void)state;
    say(&(struct message){.kind = MESSAGE_READY}, STR("{\"isa\":\"avx512\",\"threads\":2}"),
        &heard);
    assert_string_equal(json_string_value(json_object_get(heard.facts, "isa")), "avx512");
    json_decref(heard.facts);
    for (int phase = 0; phase < PHASE_COUNT; phase++) {
        say(&(struct message){.kind = MESSAGE_BEGIN, .phase = (enum message_phase)phase}, STR(""),
            &heard);
        assert_int_equal(heard.phase, phase);
    }
    say(&(struct message){.kind = MESSAGE_EVAL,
                          .progress = {.epoch = 9.9, .has_loss = true, .loss = 0.1 + 0.2},
                          .score = {9400, 10000, 6}},
        STR(""), &heard);
    assert_true(heard.progress.epoch == 9.9 && heard.progress.loss == 0.1 + 0.2);
    assert_int_equal(heard.score.correct, 9400);
    assert_int_equal(heard.score.total, 10000);
    assert_int_equal(heard.score.views, 6);
    say(&(struct message){.kind = MESSAGE_STEP, .progress = {.step = 3, .step_count = 476}},
        STR(""), &heard);
    assert_int_equal(heard.progress.step, 3);
    say(&(struct message){.kind = MESSAGE_DONE, .progress = {.done = true}}, STR(""), &heard);
    assert_true(heard.progress.done);
    say(&(struct message){.kind = MESSAGE_FAILED, .failure = ST_IO, .text = "the \"disk\"\n"},
        STR(""), &heard);
    assert_int_equal(heard.failure, ST_IO);
    assert_string_equal(heard.text, "the \"disk\"\n");
}

static void anything_else_is_refused(void **state)
{
    static const char *const lines[] = {
        "",
        "hello",
        "{}",
        "{\"say\":\"sleep\"}",
        "{\"say\":\"begin\"}",
        "{\"say\":\"begin\",\"phase\":\"sleep\"}",
        "{\"say\":\"eval\",\"epoch\":1,\"correct\":2,\"total\":1,\"views\":1}",
        "{\"say\":\"eval\",\"epoch\":1,\"correct\":0,\"total\":0,\"views\":1}",
        "{\"say\":\"step\",\"step\":-1,\"step_count\":1}",
        "{\"say\":\"failed\",\"status\":0,\"text\":\"\"}",
        "{\"say\":\"failed\",\"status\":99,\"text\":\"\"}",
        "{\"say\":\"done\",\"whole\":1}",
        "{\"say\":\"done\",\"whole\":true,\"x\":1}",
        "{\"say\":\"ready\",\"facts\":[]}",
        "{\"say\":\"ready\",\"facts\":{},\"x\":{}}",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        struct message heard;
        struct error err = {0};

        if (message_parse(str_from_cstr(lines[i]), &heard, &err) == ST_OK)
            fail_msg("%s", lines[i]);
        assert_true(err.detail[0] != '\0');
        assert_null(heard.facts);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_are_heard_as_said),
        cmocka_unit_test(anything_else_is_refused),
    };

    return cmocka_run_group_tests_name("message", tests, NULL, NULL);
}
