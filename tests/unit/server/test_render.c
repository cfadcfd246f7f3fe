/* tests/unit/server/test_render.c: server/page/render: what each context lets through and how the rest is
 * written. */
#include "server/page/render.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

typedef void render_fn(struct buf *out, struct str text);

struct example {
    const char *text, *want;
};

static void check_all(render_fn *render, const struct example *examples, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct buf out;

        buf_init(&out, 1 << 16);
        render(&out, str_from_cstr(examples[i].text));
        assert_false(out.failed);
        buf_append_char(&out, '|'); /* so that an empty text has bytes to compare */
        assert_int_equal(out.len, strlen(examples[i].want) + 1);
        assert_memory_equal(out.data, examples[i].want, out.len - 1);
        buf_fini(&out);
    }
}

static void html_escapes_what_begins_markup_and_keeps_the_rest(void **state)
{
    static const struct example examples[] = {
        {"", ""},
        {"plain \"text\" isn't touched", "plain \"text\" isn't touched"},
        {"<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"},
        {"a & b &amp; c", "a &amp; b &amp;amp; c"},
        {"tab\tline\nend", "tab\tline\nend"},
        {"Z\xC3\xBCrich \xF0\x9F\x8C\x85", "Z\xC3\xBCrich \xF0\x9F\x8C\x85"},
        {"bell\x07", "bell\xEF\xBF\xBD"},
        {"\xC2\x9B"
         "31m\xC2\xA0.",
         "\xEF\xBF\xBD"
         "31m\xC2\xA0."},
        {"\xE2\x80\xAE<\xE2\x81\xA6\xE2\x81\xA9", "\xEF\xBF\xBD&lt;\xEF\xBF\xBD\xEF\xBF\xBD"},
        {"\xE2\x80\xA9\xE2\x80\xAF\xE2\x81\xA5\xE2\x81\xAA",
         "\xE2\x80\xA9\xE2\x80\xAF\xE2\x81\xA5\xE2\x81\xAA"}, /* their neighbours stay */
        {"cut \xC3", "cut \xEF\xBF\xBD"},
        {"\xC0\xBC", "\xEF\xBF\xBD\xEF\xBF\xBD"},                 /* an overlong '<' */
        {"\xED\xA0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"}, /* a surrogate */
    };

    (void)state;
    check_all(render_append_html, examples, ARRAY_LEN(examples));
}

static void html_writes_a_nul_as_a_replacement(void **state)
{
    struct buf out;

    (void)state;
    buf_init(&out, 64);
    render_append_html(&out, (struct str){"a\0b", 3});
    assert_true(str_eq_cstr(buf_str(&out), "a\xEF\xBF\xBD"
                                           "b"));
    buf_fini(&out);
}

static void attr_cannot_leave_its_quotes(void **state)
{
    static const struct example examples[] = {
        {"\" onclick=\"alert(1)", "&quot; onclick=&quot;alert(1)"},
        {"' x", "&#39; x"},
        {"<>&", "&lt;&gt;&amp;"},
        {"a\tb\nc", "a&#9;b&#10;c"},
    };

    (void)state;
    check_all(render_append_attr, examples, ARRAY_LEN(examples));
}

static void url_encodes_all_but_the_unreserved(void **state)
{
    static const struct example examples[] = {
        {"AZaz09-._~", "AZaz09-._~"},
        {"a b/c?d=e&f#g%", "a%20b%2Fc%3Fd%3De%26f%23g%25"},
        {"\xC3\xBC\"'<", "%C3%BC%22%27%3C"},
    };

    (void)state;
    check_all(render_append_url, examples, ARRAY_LEN(examples));
}

static void address_takes_web_and_local_addresses_alone(void **state)
{
    static const struct example examples[] = {
        {"https://example.org/a?b=1&c=2#d", "https://example.org/a?b=1&amp;c=2#d"},
        {"HTTP://example.org", "HTTP://example.org"},
        {"/tasks/cifar10-train?by=cost", "/tasks/cifar10-train?by=cost"},
        {"/", "/"},
        {"?by=time", "?by=time"},
        {"#main", "#main"},
        {"https://example.org/\"><script>", "https://example.org/%22%3E%3Cscript%3E"},
        {"https://example.org/a b\tc'", "https://example.org/a%20b%09c%27"},
        {"javascript:alert(1)", "#"},
        {" javascript:alert(1)", "#"},
        {"JaVaScRiPt:alert(1)", "#"},
        {"data:text/html,x", "#"},
        {"//evil.example", "#"},
        {"/\\evil.example", "#"},
        {"ftp://example.org", "#"},
        {"mailto:somebody@example.org", "#"},
        {"https://", "#"},
        {"", "#"},
    };

    (void)state;
    check_all(render_append_address, examples, ARRAY_LEN(examples));
}

static void json_is_safe_inside_html(void **state)
{
    static const struct example examples[] = {
        {"</script>", "\"\\u003c/script\\u003e\""},
        {"a&b", "\"a\\u0026b\""},
        {"quote\" back\\", "\"quote\\\" back\\\\\""},
        {"\xE2\x80\xA8\xE2\x80\xA9", "\"\\u2028\\u2029\""},
    };

    (void)state;
    check_all(render_append_json, examples, ARRAY_LEN(examples));
}

static void a_full_buffer_fails_and_never_writes_half(void **state)
{
    struct buf out;

    (void)state;
    buf_init(&out, 8);
    render_append_html(&out, STR("<<<<<<<<<<"));
    assert_true(out.failed);
    buf_fini(&out);
    buf_init(&out, 8);
    render_append_json(&out, STR("0123456789"));
    assert_true(out.failed);
    buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(html_escapes_what_begins_markup_and_keeps_the_rest),
        cmocka_unit_test(html_writes_a_nul_as_a_replacement),
        cmocka_unit_test(attr_cannot_leave_its_quotes),
        cmocka_unit_test(url_encodes_all_but_the_unreserved),
        cmocka_unit_test(address_takes_web_and_local_addresses_alone),
        cmocka_unit_test(json_is_safe_inside_html),
        cmocka_unit_test(a_full_buffer_fails_and_never_writes_half),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
