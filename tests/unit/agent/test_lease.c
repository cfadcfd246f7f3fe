/* tests/unit/agent/test_lease.c: what a claim's answer must hold. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "agent/run/lease.h"

#define HEAD                                                                             \
    "{\"job\":7,\"run\":8,\"lease_ms\":60000,\"heartbeat_ms\":10000,\"task_version\":1," \
    "\"resume_seq\":0,\"task\":\"cifar10-train\",\"workload\":\"cifar10\","              \
    "\"recipe\":\"cifar10-train\","
#define LIMITS "\"limits\":{\"event_bytes\":8192,\"events_bytes\":1048576}}"

static enum status parse(const char *text, struct lease *lease, struct error *err)
{
    *err = (struct error){0};
    return lease_parse(str_from_cstr(text), lease, err);
}

static void lease_parse_reads_every_field(void **state)
{
    struct lease lease;
    struct error err;

    (void)state;
    assert_int_equal(parse(HEAD "\"attempt\":\"a-1_B\"," LIMITS, &lease, &err), ST_OK);
    assert_int_equal(lease.job, 7);
    assert_int_equal(lease.run, 8);
    assert_int_equal(lease.lease_ms, 60000);
    assert_int_equal(lease.heartbeat_ms, 10000);
    assert_int_equal(lease.event_bytes, 8192);
    assert_int_equal(lease.events_bytes, 1048576);
    assert_string_equal(lease.attempt, "a-1_B");
    assert_string_equal(lease.task, "cifar10-train");
}

static void lease_parse_refuses_names_that_are_no_folder(void **state)
{
    static const char *const names[] = {"", ".", "../x", "a/b", "a b", "\\u00e9"};
    struct lease lease;
    struct error err;
    char text[512];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        (void)snprintf(text, sizeof text, HEAD "\"attempt\":\"%s\"," LIMITS, names[i]);
        assert_int_equal(parse(text, &lease, &err), ST_INVALID);
        assert_string_equal(err.field, "/attempt");
    }
}

/* They go into log lines as they are. */
static void lease_parse_refuses_words_that_could_forge_a_log_line(void **state)
{
    static const char text[] =
        "{\"job\":7,\"run\":8,\"lease_ms\":60000,\"heartbeat_ms\":10000,\"task_version\":1,"
        "\"resume_seq\":0,\"task\":\"x\\nlevel=error\",\"workload\":\"cifar10\","
        "\"recipe\":\"cifar10-train\",\"attempt\":\"a\"," LIMITS;
    struct lease lease;
    struct error err;

    (void)state;
    assert_int_equal(parse(text, &lease, &err), ST_INVALID);
    assert_string_equal(err.field, "/task");
    assert_int_equal(parse(HEAD "\"attempt\":\"v0.5_a\"," LIMITS, &lease, &err), ST_OK);
}

static void lease_parse_names_what_is_missing_or_too_large(void **state)
{
    struct lease lease;
    struct error err;

    (void)state;
    assert_int_equal(parse(HEAD "\"attempt\":\"a\"}", &lease, &err), ST_INVALID);
    assert_string_equal(err.field, "/limits");
    assert_int_equal(parse(HEAD
                           "\"attempt\":\"a\",\"limits\":{\"event_bytes\":0,\"events_bytes\":1}}",
                           &lease, &err),
                     ST_INVALID);
    assert_string_equal(err.field, "/limits/event_bytes");
    assert_int_equal(parse("[]", &lease, &err), ST_INVALID);
    assert_int_equal(parse("", &lease, &err), ST_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lease_parse_reads_every_field),
        cmocka_unit_test(lease_parse_refuses_names_that_are_no_folder),
        cmocka_unit_test(lease_parse_refuses_words_that_could_forge_a_log_line),
        cmocka_unit_test(lease_parse_names_what_is_missing_or_too_large),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
