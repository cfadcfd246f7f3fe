/* tests/unit/server/test_address.c: server/hook/address: a webhook reaches public addresses alone, in every spelling. */
#include "server/hook/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/un.h>

#include <cmocka.h>

#include "common/status.h"

struct row {
    const char *text, *special; /* NULL: public */
};

static const char *find(const char *text)
{
    struct sockaddr_in in4 = {.sin_family = AF_INET};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};

    if (inet_pton(AF_INET, text, &in4.sin_addr) == 1)
        return address_find_special((const struct sockaddr *)&in4, sizeof in4);
    assert_int_equal(inet_pton(AF_INET6, text, &in6.sin6_addr), 1);
    return address_find_special((const struct sockaddr *)&in6, sizeof in6);
}

static void check(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *special = find(rows[i].text);

        if ((special == NULL) != (rows[i].special == NULL) ||
            (special != NULL && strcmp(special, rows[i].special) != 0))
            fail_msg("%s is %s, not %s", rows[i].text, special == NULL ? "public" : special,
                     rows[i].special == NULL ? "public" : rows[i].special);
    }
}

/* The last address before, the first and last within, and the first behind each range. */
static void special_ipv4_ends_at_its_bounds(void **state)
{
    static const struct row rows[] = {
        {"0.0.0.0", "this network"},
        {"0.255.255.255", "this network"},
        {"1.0.0.0", NULL},
        {"9.255.255.255", NULL},
        {"10.0.0.0", "private"},
        {"10.255.255.255", "private"},
        {"11.0.0.0", NULL},
        {"100.63.255.255", NULL},
        {"100.64.0.0", "shared"},
        {"100.127.255.255", "shared"},
        {"100.128.0.0", NULL},
        {"126.255.255.255", NULL},
        {"127.0.0.1", "loopback"},
        {"127.255.255.255", "loopback"},
        {"128.0.0.0", NULL},
        {"169.253.255.255", NULL},
        {"169.254.169.254", "link-local"},
        {"169.255.0.0", NULL},
        {"172.15.255.255", NULL},
        {"172.16.0.0", "private"},
        {"172.31.255.255", "private"},
        {"172.32.0.0", NULL},
        {"192.0.0.8", "reserved"},
        {"192.0.1.0", NULL},
        {"192.0.2.1", "documentation"},
        {"192.0.3.0", NULL},
        {"192.88.99.1", "6to4 relay"},
        {"192.167.255.255", NULL},
        {"192.168.0.0", "private"},
        {"192.168.255.255", "private"},
        {"192.169.0.0", NULL},
        {"198.17.255.255", NULL},
        {"198.18.0.0", "benchmarking"},
        {"198.19.255.255", "benchmarking"},
        {"198.20.0.0", NULL},
        {"198.51.100.1", "documentation"},
        {"203.0.113.255", "documentation"},
        {"203.0.114.0", NULL},
        {"223.255.255.255", NULL},
        {"224.0.0.0", "multicast"},
        {"239.255.255.255", "multicast"},
        {"240.0.0.0", "reserved"},
        {"255.255.255.255", "reserved"},
        {"8.8.8.8", NULL},
    };

    (void)state;
    check(rows, ARRAY_LEN(rows));
}

static void special_ipv6_and_what_carries_ipv4_is_refused(void **state)
{
    static const struct row rows[] = {
        {"::", "unspecified"},
        {"::1", "loopback"},
        {"::2", "IPv4-compatible"},
        {"::8.8.8.8", "IPv4-compatible"},
        {"::ffff:127.0.0.1", "IPv4-mapped"},
        {"::ffff:8.8.8.8", "IPv4-mapped"},
        {"::ffff:0:127.0.0.1", "not global"},
        {"64:ff9b::7f00:1", "translated IPv4"},
        {"64:ff9b:1::a00:1", "translated IPv4"},
        {"100::1", "not global"},
        {"1fff:ffff::", "not global"},
        {"2000::1", NULL},
        {"2001::1", "reserved"},
        {"2001:1ff:ffff::1", "reserved"},
        {"2001:200::1", NULL},
        {"2001:db7:ffff::1", NULL},
        {"2001:db8::1", "documentation"},
        {"2001:db9::1", NULL},
        {"2001:4860:4860::8888", NULL},
        {"2002:7f00:1::", "6to4"},
        {"2003::1", NULL},
        {"2606:4700:4700::1111", NULL},
        {"3ffe:ffff::1", NULL},
        {"3fff:0fff::1", "documentation"},
        {"3fff:1000::1", NULL},
        {"4000::1", "not global"},
        {"5f00::1", "not global"},
        {"fc00::1", "private"},
        {"fdff::1", "private"},
        {"fe80::1", "link-local"},
        {"febf::1", "link-local"},
        {"fec0::1", "site-local"},
        {"ff02::1", "multicast"},
    };

    (void)state;
    check(rows, ARRAY_LEN(rows));
}

static void other_addresses_are_none(void **state)
{
    const struct sockaddr_un local = {.sun_family = AF_UNIX, .sun_path = "/run/docker.sock"};
    struct sockaddr_in6 scoped = {.sin6_family = AF_INET6, .sin6_scope_id = 2};
    const struct sockaddr_in in4 = {.sin_family = AF_INET, .sin_addr = {htonl(0x08080808)}};

    (void)state;
    assert_string_equal(address_find_special((const struct sockaddr *)&local, sizeof local),
                        "not an internet address");
    assert_int_equal(inet_pton(AF_INET6, "2606:4700:4700::1111", &scoped.sin6_addr), 1);
    assert_non_null(address_find_special((const struct sockaddr *)&scoped, sizeof scoped));
    assert_null(address_find_special((const struct sockaddr *)&in4, sizeof in4));
    assert_non_null(address_find_special((const struct sockaddr *)&in4, sizeof in4 - 1));
}

static void hosts_are_judged_by_what_they_say(void **state)
{
    static const struct row rows[] = {
        {"127.0.0.1", "loopback"},
        {"[::1]", "loopback"},
        {"[::ffff:10.0.0.1]", "IPv4-mapped"},
        {"[2606:4700:4700::1111]", NULL},
        {"[nonsense]", "not an internet address"},
        {"", "not an internet address"},
        {".", "not an internet address"},
        {"localhost", "a name of this host"},
        {"LOCALHOST.", "a name of this host"},
        {"a.localhost", "a name of this host"},
        {"notlocalhost", NULL},
        {"metadata.google.internal", "a name of a local network"},
        {"printer.local", "a name of a local network"},
        {"localhost.example.org", NULL},
        {"example.org", NULL},
        {"8.8.8.8", NULL},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *special = address_find_special_host(str_from_cstr(rows[i].text));

        if ((special == NULL) != (rows[i].special == NULL) ||
            (special != NULL && strcmp(special, rows[i].special) != 0))
            fail_msg("%s is %s", rows[i].text, special == NULL ? "public" : special);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(special_ipv4_ends_at_its_bounds),
        cmocka_unit_test(special_ipv6_and_what_carries_ipv4_is_refused),
        cmocka_unit_test(other_addresses_are_none),
        cmocka_unit_test(hosts_are_judged_by_what_they_say),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
