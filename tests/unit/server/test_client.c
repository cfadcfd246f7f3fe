/* tests/unit/server/test_client.c: addresses, forwarded addresses, cookies, and where a form came from. */
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "server/http/client.h"

static void addresses_count_by_what_one_client_has(void **state)
{
    static const struct {
        const char *a, *b;
        bool same_net, loopback;
    } rows[] = {
        {"192.0.2.1", "192.0.2.1", true, false},
        {"192.0.2.1", "192.0.2.2", false, false},
        {"2001:db8:0:1::1", "2001:db8:0:1:ffff::2", true, false}, /* one /64 */
        {"2001:db8:0:1::1", "2001:db8:0:2::1", false, false},
        {"::ffff:192.0.2.1", "192.0.2.1", true, false},
        {"127.0.0.1", "127.0.0.1", true, true},
        {"::1", "::1", true, true},
        {"::ffff:127.9.9.9", "127.9.9.9", true, true},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct client_address a, b;

        assert_true(client_address_parse(str_from_cstr(rows[i].a), &a));
        assert_true(client_address_parse(str_from_cstr(rows[i].b), &b));
        assert_int_equal(a.kind == b.kind && a.net == b.net, rows[i].same_net);
        assert_int_equal(a.is_loopback, rows[i].loopback);
    }
}

static void what_is_no_address_is_refused(void **state)
{
    static const char *const rows[] = {
        "",         "unknown",   "192.0.2.1:80", "[2001:db8::1]",
        "1.2.3",    "1.2.3.4.5", "01.2.3.4x",    "_hidden",
        "1.2.3.4 ", "::g",       "1.2.3.4\x01",  "0000:0000:0000:0000:0000:0000:0000:0000:0000:00",
    };
    struct client_address address;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_false(client_address_parse(str_from_cstr(rows[i]), &address));
    assert_false(client_address_parse((struct str){"1.2.3.4\0", 8}, &address));
}

static void a_socket_has_its_peer_s_address(void **state)
{
    struct sockaddr_in ipv4 = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0xC0000201)};
    struct sockaddr_in6 ipv6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    const struct sockaddr local = {.sa_family = AF_UNIX};
    struct client_address address, wanted;

    (void)state;
    assert_true(client_address_parse(STR("192.0.2.1"), &wanted));
    client_address_from_socket((const struct sockaddr *)&ipv4, &address);
    assert_true(client_address_equal(&address, &wanted));
    client_address_from_socket((const struct sockaddr *)&ipv6, &address);
    assert_true(address.kind == CLIENT_IPV6 && address.is_loopback);
    client_address_from_socket(&local, &address);
    assert_int_equal(address.kind, CLIENT_UNKNOWN);
    client_address_from_socket(NULL, &address);
    assert_int_equal(address.kind, CLIENT_UNKNOWN);
}

/* The last one is what our proxy saw; a client may write what it likes before it. */
static void the_last_forwarded_address_counts(void **state)
{
    static const struct {
        const char *header, *address; /* NULL: none */
    } rows[] = {
        {"192.0.2.7", "192.0.2.7"},
        {"10.0.0.1, 192.0.2.7", "192.0.2.7"},
        {"not an address,192.0.2.7", "192.0.2.7"},
        {" 2001:db8::1 ", "2001:db8::1"},
        {"192.0.2.7,", NULL},
        {"192.0.2.7, unknown", NULL},
        {"", NULL},
        {",", NULL},
    };
    struct client_address address, wanted;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const bool found = client_forwarded_parse(str_from_cstr(rows[i].header), &address);

        assert_int_equal(found, rows[i].address != NULL);
        if (!found)
            continue;
        assert_true(client_address_parse(str_from_cstr(rows[i].address), &wanted));
        assert_true(client_address_equal(&address, &wanted));
    }
}

static void a_cookie_is_found_when_it_is_there_once(void **state)
{
    static const struct {
        const char *header, *value; /* NULL: not found */
    } rows[] = {
        {"daybreak=abc", "abc"},
        {"theme=dark; daybreak=abc", "abc"},
        {"daybreak=abc; theme=dark", "abc"},
        {"daybreak=a=b", "a=b"},
        {"daybreak=", ""},
        {"", NULL},
        {"daybreak", NULL},
        {"xdaybreak=abc", NULL},
        {"daybreakx=abc", NULL},
        {"Daybreak=abc", NULL},
        {"__Host-daybreak=abc", NULL},
        {"daybreak=abc; daybreak=abd", NULL}, /* one of them was planted: which? */
        {";;;", NULL},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct str value = {0};

        assert_int_equal(cookie_find(str_from_cstr(rows[i].header), "daybreak", &value),
                         rows[i].value != NULL);
        if (rows[i].value != NULL)
            assert_true(str_eq_cstr(value, rows[i].value));
    }
}

static void a_form_of_another_site_is_refused(void **state)
{
    static const struct {
        const char *fetch_site, *origin;
        bool is_secure, good;
    } rows[] = {
        {"", "", false, true}, /* no browser */
        {"same-origin", "http://example.org", false, true},
        {"same-origin", "", true, true},
        {"", "http://example.org", false, true},
        {"", "http://EXAMPLE.org", false, true},
        {"", "https://example.org", false, true}, /* a proxy of which nobody told us */
        {"", "https://example.org", true, true},
        {"", "http://example.org", true, false},
        {"", "http://example.org:81", false, false},
        {"", "http://evil.example", false, false},
        {"", "http://example.org.evil.example", false, false},
        {"", "http://", false, false},
        {"", "null", false, false},
        {"", "ftp://example.org", false, false},
        {"same-site", "", false, false},
        {"cross-site", "http://example.org", false, false},
        {"none", "", false, false},
        {"same-origin", "http://evil.example", false, false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct form_source source = {str_from_cstr(rows[i].fetch_site),
                                           str_from_cstr(rows[i].origin), STR("example.org"),
                                           rows[i].is_secure};
        struct error err = {0};

        assert_int_equal(form_check_source(&source, &err), rows[i].good ? ST_OK : ST_DENIED);
        if (!rows[i].good)
            assert_string_equal(err.code, "foreign-origin");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_count_by_what_one_client_has),
        cmocka_unit_test(what_is_no_address_is_refused),
        cmocka_unit_test(a_socket_has_its_peer_s_address),
        cmocka_unit_test(the_last_forwarded_address_counts),
        cmocka_unit_test(a_cookie_is_found_when_it_is_there_once),
        cmocka_unit_test(a_form_of_another_site_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
