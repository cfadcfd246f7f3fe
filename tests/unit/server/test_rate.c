/* tests/unit/server/test_rate.c: buckets and waits, by a clock that the test moves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/clock.h"
#include "server/http/rate.h"

enum { PER_ADDRESS = 10, PER_TOKEN = 4 };

static const int64_t start_ns = 1000 * NS_PER_S;

static int set_up(void **state)
{
    const struct rate_limits limits = {.per_address = PER_ADDRESS, .per_token = PER_TOKEN};
    struct error err = {0};

    return rate_create(&limits, (struct rate **)state, &err) == ST_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    rate_destroy(*state);
    return 0;
}

static struct client_address parse(const char *text)
{
    struct client_address address;

    assert_true(client_address_parse(str_from_cstr(text), &address));
    return address;
}

static void a_bucket_gives_its_burst_and_then_its_rate(void **state)
{
    const struct client_address address = parse("192.0.2.1");
    int64_t now_ns = start_ns, wait_ns;

    for (int i = 0; i < PER_ADDRESS * RATE_BURST_S; i++)
        assert_true(rate_take_address(*state, &address, now_ns) == 0);
    wait_ns = rate_take_address(*state, &address, now_ns);
    assert_true(wait_ns == NS_PER_S / PER_ADDRESS);
    assert_true(rate_take_address(*state, &address, now_ns + wait_ns - 1) == 1);
    now_ns += wait_ns;
    assert_true(rate_take_address(*state, &address, now_ns) == 0);
    assert_true(rate_take_address(*state, &address, now_ns) > 0);
    now_ns += 1000 * NS_PER_S; /* never more than a burst */
    for (int i = 0; i < PER_ADDRESS * RATE_BURST_S; i++)
        assert_true(rate_take_address(*state, &address, now_ns) == 0);
    assert_true(rate_take_address(*state, &address, now_ns) > 0);
}

static void keys_have_buckets_of_their_own(void **state)
{
    const struct client_address one = parse("2001:db8:0:1::1"), same = parse("2001:db8:0:1::2"),
                                other = parse("2001:db8:0:2::1"), unknown = {0};

    for (int i = 0; i < PER_ADDRESS * RATE_BURST_S; i++)
        assert_true(rate_take_address(*state, &one, start_ns) == 0);
    assert_true(rate_take_address(*state, &same, start_ns) > 0); /* one /64 is one client */
    assert_true(rate_take_address(*state, &other, start_ns) == 0);
    for (int i = 0; i < PER_TOKEN * RATE_BURST_S; i++)
        assert_true(rate_take_token(*state, 7, start_ns) == 0);
    assert_true(rate_take_token(*state, 7, start_ns) > 0);
    assert_true(rate_take_token(*state, 8, start_ns) == 0);
    for (int i = 0; i < 10000; i++) /* all who come through a proxy */
        assert_true(rate_take_address(*state, &unknown, start_ns) == 0);
}

static void no_rate_is_no_limit(void **state)
{
    const struct client_address address = parse("192.0.2.1");
    const struct rate_limits none = {0};
    struct rate *rate;

    (void)state;
    assert_int_equal(rate_create(&none, &rate, NULL), ST_OK);
    for (int i = 0; i < 10000; i++)
        assert_true(rate_take_address(rate, &address, start_ns) == 0 &&
                    rate_take_token(rate, 1, start_ns) == 0);
    rate_destroy(rate);
}

static void failures_double_the_wait_up_to_its_end(void **state)
{
    const struct client_address address = parse("192.0.2.1"), other = parse("192.0.2.2");
    int64_t now_ns = start_ns, wanted_s = 1;

    for (int i = 0; i < RATE_FAILURES_FREE; i++) {
        rate_note_failure(*state, &address, now_ns);
        assert_true(rate_failure_wait(*state, &address, now_ns) == 0);
    }
    for (int i = 0; i < 40; i++) {
        rate_note_failure(*state, &address, now_ns);
        assert_true(rate_failure_wait(*state, &address, now_ns) == wanted_s * NS_PER_S);
        now_ns += wanted_s * NS_PER_S;
        assert_true(rate_failure_wait(*state, &address, now_ns) == 0);
        wanted_s = wanted_s * 2 < RATE_WAIT_S_MAX ? wanted_s * 2 : RATE_WAIT_S_MAX;
    }
    assert_true(rate_failure_wait(*state, &other, now_ns) == 0);
    now_ns += (RATE_FORGET_S + 1) * NS_PER_S;
    rate_note_failure(*state, &address, now_ns);
    assert_true(rate_failure_wait(*state, &address, now_ns) == 0); /* it begins anew */
}

static void an_unknown_address_is_never_made_to_wait(void **state)
{
    const struct client_address unknown = {0};

    for (int i = 0; i < 100; i++)
        rate_note_failure(*state, &unknown, start_ns);
    assert_true(rate_failure_wait(*state, &unknown, start_ns) == 0);
}

/* More keys than places: what was busy lately is still limited, and nothing grows. */
static void a_full_table_forgets_the_fullest_buckets(void **state)
{
    const struct client_address busy = parse("192.0.2.1");
    int64_t now_ns = start_ns;

    for (int i = 0; i < PER_ADDRESS * RATE_BURST_S; i++)
        assert_true(rate_take_address(*state, &busy, now_ns) == 0);
    for (uint64_t i = 0; i < 200000; i++) {
        const struct client_address one = {.kind = CLIENT_IPV6, .net = i};

        assert_true(rate_take_address(*state, &one, now_ns) == 0);
    }
    assert_true(rate_take_address(*state, &busy, now_ns) > 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_bucket_gives_its_burst_and_then_its_rate),
        TEST(keys_have_buckets_of_their_own),
        TEST(no_rate_is_no_limit),
        TEST(failures_double_the_wait_up_to_its_end),
        TEST(an_unknown_address_is_never_made_to_wait),
        TEST(a_full_table_forgets_the_fullest_buckets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
