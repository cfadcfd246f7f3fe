/* tests/unit/server/test_message.c: server/hook/message and target: signature, backoff, which URLs there are. */
#include "server/hook/message.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "common/arena.h"
#include "server/hook/target.h"

#define LABEL_61 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define LABEL_63 LABEL_61 "bb"

/* The example of schema/openapi.yaml (createWebhook), computed there with Python's hmac. */
static void the_documented_signature_holds(void **state)
{
    static const char body[] =
        "{\"kind\":\"board\",\"task\":\"cifar10-train\",\"at\":\"2026-12-02T12:00:00.000Z\","
        "\"data\":{\"entry\":7}}";
    char secret[MESSAGE_SECRET_CHARS + 1], signature[MESSAGE_SIGNATURE_CHARS + 1];
    unsigned char bytes[MESSAGE_SECRET_BYTES];

    (void)state;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)i;
    message_format_secret(bytes, secret);
    assert_string_equal(secret,
                        "whs_000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f");
    message_sign(str_from_cstr(secret), 42, 1796212800, str_from_cstr(body), signature);
    assert_string_equal(signature,
                        "v1=277fc82f5d89e2015394889a0adca1cb6c44db9cad8f58d25b55f7c465f1fbdc");
}

static void a_signature_covers_id_time_and_body(void **state)
{
    char first[MESSAGE_SIGNATURE_CHARS + 1], other[MESSAGE_SIGNATURE_CHARS + 1];

    (void)state;
    message_sign(STR("key"), 1, 23, STR("x"), first);
    message_sign(STR("key"), 12, 3, STR("x"), other);
    assert_string_not_equal(first, other);
    message_sign(STR("key"), 1, 23, STR(""), other);
    assert_string_not_equal(first, other);
    message_sign(STR("yek"), 1, 23, STR("x"), other);
    assert_string_not_equal(first, other);
}

static void backoff_doubles_with_jitter_and_ends(void **state)
{
    int64_t least = 0, most = 0;

    (void)state;
    for (int64_t tries = 1; tries <= MESSAGE_TRIES_MAX; tries++) {
        const int64_t full = MESSAGE_BACKOFF_MS << (tries - 1);

        assert_int_equal(message_backoff_ms(tries, 0), full / 2);
        assert_int_equal(message_backoff_ms(tries, (uint64_t)(full / 2)), full);
        for (uint64_t random = 0; random < 1000; random++)
            assert_in_range(message_backoff_ms(tries, random * UINT64_C(0x9E3779B97F4A7C15)),
                            full / 2, full);
        if (tries < MESSAGE_TRIES_MAX) { /* after the last there is no wait */
            least += full / 2;
            most += full;
        }
    }
    assert_in_range(least, INT64_C(4) * 3600 * 1000, INT64_C(5) * 3600 * 1000);
    assert_in_range(most, INT64_C(9) * 3600 * 1000, INT64_C(10) * 3600 * 1000);
    assert_int_equal(message_backoff_ms(0, 0), MESSAGE_BACKOFF_MS / 2);
    assert_int_equal(message_backoff_ms(INT64_MAX, 0), message_backoff_ms(MESSAGE_TRIES_MAX, 0));
}

static void only_urls_of_public_https_pass(void **state)
{
    static const struct {
        const char *text, *url; /* url NULL: refused */
        bool with_private;      /* passes with the option for tests */
    } rows[] = {
        {"https://example.org/hook?a=b", "https://example.org/hook?a=b", true},
        {"https://example.org", "https://example.org/", true},
        {"HTTPS://EXAMPLE.org/x", "https://EXAMPLE.org/x", true},
        {"https://example.org:8443/", "https://example.org:8443/", true},
        {"https://[2606:4700:4700::1111]/", "https://[2606:4700:4700::1111]/", true},
        {"http://example.org/", NULL, true},
        {"https://127.0.0.1/", NULL, true},
        {"http://127.0.0.1:8080/", NULL, true},
        {"https://127.1/", NULL, true},
        {"https://0x7f.0.0.1/", NULL, true},
        {"https://2130706433/", NULL, true},
        {"https://0177.0.0.1/", NULL, true},
        {"https://%31%32%37.0.0.1/", NULL, false},
        {"https:/example.org", NULL, false},
        {"https:example.org", NULL, false},
        {"https:///x", NULL, false},
        {"https:////example.org/", NULL, false},
        {"https://exa%6dple.org/", NULL, false},
        {"https://example.org:/", NULL, false},
        {"https://a..example.org/", NULL, false},
        {"https://example.org/?a=%6d", "https://example.org/?a=%6d", true},
        {"https://" LABEL_63 ".org/", "https://" LABEL_63 ".org/", true},
        {"https://" LABEL_63 "a.org/", NULL, false},
        {"https://" LABEL_63 "." LABEL_63 "." LABEL_63 "." LABEL_61 "/",
         "https://" LABEL_63 "." LABEL_63 "." LABEL_63 "." LABEL_61 "/", true},
        {"https://" LABEL_63 "." LABEL_63 "." LABEL_63 "." LABEL_61 "a/", NULL, false},
        {"https://0%7f.1/", NULL, false},
        {"https://a%00.example.org/", NULL, false},
        {"https://[::ffff:127.0.0.1]/", NULL, true},
        {"https://localhost/", NULL, true},
        {"https://example.org:22/", NULL, false},
        {"https://example.org:80/", NULL, true},
        {"https://example.org:0/", NULL, false},
        {"https://example.org:65536/", NULL, false},
        {"https://user:secret@example.org/", NULL, false},
        {"https://user@example.org/", NULL, false},
        {"https://example.org@127.0.0.1/", NULL, false},
        {"https://example.org\\@127.0.0.1/", NULL, false},
        {"https://example.org/#part", NULL, false},
        {"https://[fe80::1%25eth0]/", NULL, false},
        {"https://example.org/a b", NULL, false},
        {"https://example.org/\r\nX: y", NULL, false},
        {"https://ex\xC3\xA4mple.org/", NULL, false},
        {"file:///etc/passwd", NULL, false},
        {"gopher://example.org/", NULL, false},
        {"ftp://example.org/", NULL, false},
        {"https://", NULL, false},
        {"example.org/hook", NULL, false},
        {"//example.org/hook", NULL, false},
        {"", NULL, false},
    };
    struct arena arena;

    (void)state;
    arena_init(&arena, 1 << 20);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *url = NULL;
        struct error err = {0};
        const enum status status =
            target_check(str_from_cstr(rows[i].text), false, &arena, &url, &err);

        if ((status == ST_OK) != (rows[i].url != NULL))
            fail_msg("%s: %s %s", rows[i].text, status_name(status), err.detail);
        if (rows[i].url != NULL)
            assert_string_equal(url, rows[i].url);
        else
            assert_string_equal(err.code, "bad_url");
        err = (struct error){0};
        if ((target_check(str_from_cstr(rows[i].text), true, &arena, &url, &err) == ST_OK) !=
            rows[i].with_private)
            fail_msg("%s, private ones allowed: %s", rows[i].text, err.detail);
    }
    arena_fini(&arena);
}

static void a_url_has_a_longest(void **state)
{
    char text[TARGET_BYTES_MAX + 2];
    const char *url = NULL;
    struct arena arena;

    (void)state;
    arena_init(&arena, 1 << 20);
    memset(text, 'a', sizeof text);
    memcpy(text, "https://example.org/", 20);
    assert_int_equal(target_check((struct str){text, TARGET_BYTES_MAX}, false, &arena, &url, NULL),
                     ST_OK);
    assert_int_equal(
        target_check((struct str){text, TARGET_BYTES_MAX + 1}, false, &arena, &url, NULL),
        ST_INVALID);
    arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_documented_signature_holds),
        cmocka_unit_test(a_signature_covers_id_time_and_body),
        cmocka_unit_test(backoff_doubles_with_jitter_and_ends),
        cmocka_unit_test(only_urls_of_public_https_pass),
        cmocka_unit_test(a_url_has_a_longest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
