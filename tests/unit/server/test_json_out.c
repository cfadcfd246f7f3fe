/* tests/unit/server/test_json_out.c: JSON and CSV as replies have them, and the cache of boards. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "server/api/board_cache.h"
#include "server/api/json_out.h"

static void json_out_leaves_absent_values_out(void **state)
{
    struct json_out out;
    struct buf buf;

    (void)state;
    buf_init(&buf, 4096);
    out = (struct json_out){&buf, false};
    json_out_begin(&out, NULL, '{');
    json_out_text(&out, "absent", NULL);
    json_out_text(&out, "text", "a\"b");
    json_out_optional(&out, "none", (struct opt_i64){0});
    json_out_optional(&out, "zero", (struct opt_i64){true, 0});
    json_out_decimal(&out, "seconds", (struct opt_i64){true, INT64_C(7200000000)}, 9);
    json_out_decimal(&out, "tiny", (struct opt_i64){true, 1}, 12);
    json_out_number(&out, "bad", "x");
    json_out_number(&out, "exact", "0.0630");
    json_out_bool(&out, "yes", true);
    json_out_begin(&out, "list", '[');
    json_out_i64(&out, NULL, -1);
    json_out_begin(&out, NULL, '{');
    json_out_end(&out, '}');
    json_out_double(&out, NULL, 1.25);
    json_out_double(&out, NULL, 1.0 / 0.0);
    json_out_end(&out, ']');
    json_out_time(&out, "at", 0);
    json_out_end(&out, '}');
    assert_string_equal(buf.data, "{\"text\":\"a\\\"b\",\"zero\":0,\"seconds\":7.2,"
                                  "\"tiny\":0.000000000001,\"exact\":0.0630,\"yes\":true,"
                                  "\"list\":[-1,{},1.25],\"at\":\"1970-01-01T00:00:00.000Z\"}");
    buf_fini(&buf);
}

static void csv_quotes_what_needs_it_and_disarms_formulas(void **state)
{
    static const struct {
        const char *text, *cell;
    } rows[] = {
        {"plain", "plain"},   {"", ""},
        {"a,b", "\"a,b\""},   {"a\"b", "\"a\"\"b\""},
        {"a\nb", "\"a\nb\""}, {"=1+1", "\"'=1+1\""},
        {"+x", "\"'+x\""},    {"-x", "\"'-x\""},
        {"@x", "\"'@x\""},    {"a=b", "a=b"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct buf buf;

        buf_init(&buf, 100);
        buf_append_cstr(&buf, "");
        csv_append_cell(&buf, str_from_cstr(rows[i].text));
        assert_true(str_eq_cstr(buf_str(&buf), rows[i].cell));
        buf_fini(&buf);
    }
}

static void board_cache_gives_bytes_of_that_version_alone(void **state)
{
    struct board_page_bytes page = {.bytes = shared_bytes_create(STR("board")), .next = "behind"};
    struct board_cache *cache = NULL;
    struct board_page_bytes found;

    (void)state;
    assert_int_equal(board_cache_create(&cache, NULL), ST_OK);
    assert_false(board_cache_get(cache, STR("key"), 1, &found));
    board_cache_begin_making(cache, STR("key"));
    board_cache_put(cache, STR("key"), 1, &page);
    board_cache_end_making(cache, STR("key"));
    shared_bytes_release(page.bytes);
    assert_true(board_cache_get(cache, STR("key"), 1, &found));
    assert_true(str_eq((struct str){found.bytes->data, found.bytes->len}, STR("board")));
    assert_string_equal(found.next, "behind");
    assert_false(board_cache_get(cache, STR("key"), 2, &page));
    assert_false(board_cache_get(cache, STR("other"), 1, &page));
    board_cache_destroy(cache);
    assert_int_equal(found.bytes->references, 1); /* ours outlives the cache */
    shared_bytes_release(found.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_out_leaves_absent_values_out),
        cmocka_unit_test(csv_quotes_what_needs_it_and_disarms_formulas),
        cmocka_unit_test(board_cache_gives_bytes_of_that_version_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
