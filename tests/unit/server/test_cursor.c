/* tests/unit/server/test_cursor.c: cursors come back as they were made, and no others do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/crypto.h"
#include "server/http/cursor.h"

static struct arena arena;

static int set_up(void **state)
{
    (void)state;
    arena_init(&arena, 1 << 20);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arena_fini(&arena);
    return 0;
}

static void a_key_comes_back(void **state)
{
    const struct cursor_value key[] = {
        {.text = STR("na\xC3\xAFve")}, {.number = -1}, {.number = INT64_MAX}, {.text = STR("")}};
    struct cursor_value back[4];
    const char *text = cursor_make(&arena, "entries", "tiit", key);

    (void)state;
    assert_non_null(text);
    assert_int_equal(cursor_parse(str_from_cstr(text), "entries", "tiit", &arena, back, NULL),
                     ST_OK);
    assert_string_equal(back[0].text.data, "na\xC3\xAFve");
    assert_true(back[1].number == -1 && back[2].number == INT64_MAX);
    assert_int_equal(back[3].text.len, 0);
}

static void another_list_or_kind_is_refused(void **state)
{
    const struct cursor_value key[] = {{.number = 7, .text = STR("7")}};
    const struct str text = str_from_cstr(cursor_make(&arena, "tokens", "i", key));
    static const struct {
        const char *list, *kinds;
    } rows[] = {{"agents", "i"}, {"tokens", "t"}, {"tokens", "ii"}, {"tokens", ""}};
    struct cursor_value back[2];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};

        assert_int_equal(cursor_parse(text, rows[i].list, rows[i].kinds, &arena, back, &err),
                         ST_INVALID);
        assert_string_equal(err.code, "bad_cursor");
        assert_string_equal(err.field, "cursor");
    }
}

/* Every text that differs in one character, is shorter, longer, or padded. */
static void an_edited_cursor_is_refused(void **state)
{
    const struct cursor_value key[] = {{.number = 12345}};
    const char *made = cursor_make(&arena, "tokens", "i", key);
    struct cursor_value back[1];
    char text[64];

    (void)state;
    for (size_t i = 0; i < strlen(made); i++) {
        (void)snprintf(text, sizeof text, "%s", made);
        text[i] = text[i] == 'A' ? 'B' : 'A';
        assert_int_equal(cursor_parse(str_from_cstr(text), "tokens", "i", &arena, back, NULL),
                         ST_INVALID);
        assert_int_equal(cursor_parse((struct str){made, i}, "tokens", "i", &arena, back, NULL),
                         ST_INVALID);
    }
    for (const char *const *tail = (const char *const[]){"A", "=", " ", "AAAA", NULL};
         *tail != NULL; tail++) {
        (void)snprintf(text, sizeof text, "%s%s", made, *tail);
        assert_int_equal(cursor_parse(str_from_cstr(text), "tokens", "i", &arena, back, NULL),
                         ST_INVALID);
    }
}

static void a_key_beyond_the_cap_has_no_cursor(void **state)
{
    char text[CURSOR_TEXT_BYTES_MAX];
    struct cursor_value key[] = {{.text = {text, 700}}};

    (void)state;
    memset(text, 'x', sizeof text);
    assert_non_null(cursor_make(&arena, "entries", "t", key));
    key[0].text.len = sizeof text;
    assert_null(cursor_make(&arena, "entries", "t", key));
}

static void base64url_has_one_text_for_each_value(void **state)
{
    static const struct {
        const char *text;
        int bytes; /* -1: refused */
    } rows[] = {{"", 0},     {"AA", 1},   {"AB", -1},    {"_w", 1},       {"AAA", 2},
                {"AAB", -1}, {"AAAB", 3}, {"A", -1},     {"AA=", -1},     {"AA==", -1},
                {"A+", -1},  {"A/", -1},  {"AAAAA", -1}, {"\xC3\xA9", -1}};
    unsigned char data[3];
    char again[8];
    size_t bytes;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const bool good =
            crypto_base64url_parse(str_from_cstr(rows[i].text), data, sizeof data, &bytes);

        assert_int_equal(good, rows[i].bytes >= 0);
        if (!good)
            continue;
        assert_int_equal(bytes, rows[i].bytes);
        crypto_base64url(data, bytes, again);
        assert_string_equal(again, rows[i].text);
    }
    assert_false(crypto_base64url_parse(STR("AAAAAA"), data, sizeof data, &bytes)); /* 4 bytes */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_comes_back),
        cmocka_unit_test(another_list_or_kind_is_refused),
        cmocka_unit_test(an_edited_cursor_is_refused),
        cmocka_unit_test(a_key_beyond_the_cap_has_no_cursor),
        cmocka_unit_test(base64url_has_one_text_for_each_value),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
