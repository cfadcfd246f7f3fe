/* tests/unit/server/test_form.c: the bodies of forms, and the field that binds them to a session. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "server/http/form.h"

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

static void fields_come_out_decoded(void **state)
{
    static const struct {
        const char *body, *name, *value;
    } rows[] = {
        {"a=1&b=x%20y+z", "b", "x y z"},
        {"text=one%0D%0Atwo%0Athree%0D", "text", "one\ntwo\nthree\n"},
        {"t=a%09b", "t", "a\tb"},
        {"a=", "a", ""},
        {"a=b=c", "a", "b=c"},
        {"n%C3%A9=%C3%A9", "n\xC3\xA9", "\xC3\xA9"},
        {"a=%0A%0A", "a", "\n\n"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct query form;
        struct str value;

        assert_int_equal(form_parse(str_from_cstr(rows[i].body), &arena, &form, NULL), ST_OK);
        assert_true(query_read_text(&form, rows[i].name, &value));
        assert_string_equal(value.data, rows[i].value);
    }
}

static void what_no_browser_sends_is_refused(void **state)
{
    static const char *const rows[] = {
        "a=1&a=2", "=1",    "&",     "a=1&",  "a=%",   "a=%4",   "a=%zz",
        "a=%00",   "a=%1B", "a=%7F", "a=%FF", "a=1\n", "a%0A=1", "%ED%A0%80=1",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        struct query form;

        assert_int_equal(form_parse(str_from_cstr(rows[i]), &arena, &form, &err), ST_INVALID);
        assert_true(err.code[0] != '\0' && err.detail[0] != '\0');
    }
}

static void too_many_fields_are_refused(void **state)
{
    struct error err = {0};
    struct query form;
    struct buf body;

    (void)state;
    buf_init(&body, 4096);
    for (int i = 0; i <= QUERY_PARAMETERS_MAX; i++)
        buf_appendf(&body, "%sf%d=1", i == 0 ? "" : "&", i);
    assert_int_equal(form_parse(buf_str(&body), &arena, &form, &err), ST_INVALID);
    body.len -= 6; /* "&f64=1" */
    assert_int_equal(form_parse(buf_str(&body), &arena, &form, NULL), ST_OK);
    assert_int_equal(form.count, QUERY_PARAMETERS_MAX);
    buf_fini(&body);
}

static void a_form_belongs_to_one_session(void **state)
{
    char mine[FORM_CSRF_BYTES], other[FORM_CSRF_BYTES], again[FORM_CSRF_BYTES];
    const char *bodies[5];

    (void)state;
    form_csrf(STR("session-a"), mine);
    form_csrf(STR("session-a"), again);
    form_csrf(STR("session-b"), other);
    assert_string_equal(mine, again); /* over a restart as well: nothing else goes in */
    assert_string_not_equal(mine, other);
    bodies[0] = arena_printf(&arena, "csrf=%s", mine);
    bodies[1] = arena_printf(&arena, "csrf=%s", other);
    bodies[2] = "csrf=";
    bodies[3] = "a=1";
    bodies[4] = arena_printf(&arena, "csrf=%sA", mine);
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        struct error err = {0};
        struct query form;

        assert_int_equal(form_parse(str_from_cstr(bodies[i]), &arena, &form, NULL), ST_OK);
        assert_int_equal(form_check_csrf(&form, STR("session-a"), &err),
                         i == 0 ? ST_OK : ST_DENIED);
        if (i > 0)
            assert_string_equal(err.code, "csrf-mismatch");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_come_out_decoded),
        cmocka_unit_test(what_no_browser_sends_is_refused),
        cmocka_unit_test(too_many_fields_are_refused),
        cmocka_unit_test(a_form_belongs_to_one_session),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
