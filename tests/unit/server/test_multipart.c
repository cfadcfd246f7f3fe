/* tests/unit/server/test_multipart.c: multipart/form-data in one buffer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "server/http/multipart.h"

#define PART(headers, data) "--b\r\n" headers "\r\n\r\n" data "\r\n"
#define FORM(rest)          "Content-Disposition: form-data; " rest

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

static void multipart_finds_parts_and_their_bytes(void **state)
{
    static const char body[] = PART(FORM("name=\"task\""), "cifar10-train")
        PART(FORM("name=entry; filename=\"C:\\\\dir\\\\a \\\"b\\\".json\"") "\r\nContent-Type: "
                                                                            "application/json",
             "{\"x\":\r\n--bx}\r\n") PART(FORM("name=\"empty\""), "") "--b--\r\n";
    const struct multipart_part *part;
    struct multipart multipart;
    struct error err = {0};

    (void)state;
    assert_int_equal(
        multipart_parse(str_from_cstr(body), STR("b"), &arena, &multipart, &err),
        ST_INVALID); /* "\r\n--bx" is a delimiter by RFC 2046, and not followed by a line end */
    assert_int_equal(
        multipart_parse(STR(PART(FORM("name=\"task\""), "cifar10-train") PART(
                            FORM("name=entry; filename=\"d/a \\\"b\\\".json\"") "\r\ncontent-type: "
                                                                                "application/json",
                            "{\"x\":\r\n-b\n}\r\n") PART(FORM("name=\"empty\""), "") "--b--\r\n"),
                        STR("b"), &arena, &multipart, NULL),
        ST_OK);
    assert_int_equal(multipart.count, 3);
    part = multipart_find(&multipart, "task");
    assert_true(str_eq(part->data, STR("cifar10-train")));
    assert_false(part->has_file_name);
    part = multipart_find(&multipart, "entry");
    assert_string_equal(part->file_name.data, "a \"b\".json");
    assert_true(str_eq(part->content_type, STR("application/json")));
    assert_true(str_eq(part->data, STR("{\"x\":\r\n-b\n}\r\n")));
    assert_int_equal(multipart_find(&multipart, "empty")->data.len, 0);
    assert_null(multipart_find(&multipart, "absent"));
}

static void parts_of_one_name_come_in_their_order(void **state)
{
    struct multipart multipart;

    (void)state;
    assert_int_equal(multipart_parse(STR(PART(FORM("name=a"), "x") PART(FORM("name=b"), "z")
                                             PART(FORM("name=a"), "y") "--b--\r\n"),
                                     STR("b"), &arena, &multipart, NULL),
                     ST_OK);
    assert_int_equal(multipart.count, 3);
    assert_true(str_eq(multipart.parts[2].name, STR("a")));
    assert_true(str_eq(multipart.parts[2].data, STR("y")));
    assert_ptr_equal(multipart_find(&multipart, "a"), &multipart.parts[0]);
}

static void multipart_refuses_what_is_malformed(void **state)
{
    static const char *const bodies[] = {
        "",
        "--b",
        "--b\r\n",
        "hello",
        "preamble\r\n" PART(FORM("name=a"), "x") "--b--",
        PART(FORM("name=a"), "x"),
        PART(FORM("name=a"), "x") "--b",
        PART(FORM("name=a"), "x") "--b--trailing",
        PART(FORM("filename=a"), "x") "--b--\r\n",
        PART(FORM("name=a; name=b"), "x") "--b--\r\n",
        PART("Content-Type: text/plain", "x") "--b--\r\n",
        PART("Content-Disposition: attachment; name=a", "x") "--b--\r\n",
        PART(FORM("name=\"a"), "x") "--b--\r\n",
        PART(FORM("name=\"\""), "x") "--b--\r\n",
        PART(FORM("name=\"\xFF\""), "x") "--b--\r\n",
        PART("Content-Disposition form-data", "x") "--b--\r\n",
        PART(FORM("name=a") "\r\n" FORM("name=b"), "x") "--b--\r\n",
        PART(FORM("name=a\x01"), "x") "--b--\r\n",
        "--b\r\n" FORM("name=a") "\r\n",
        "--b\n" FORM("name=a") "\n\nx\n--b--\n",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        struct multipart multipart;
        struct error err = {0};

        if (multipart_parse(str_from_cstr(bodies[i]), STR("b"), &arena, &multipart, &err) !=
            ST_INVALID)
            fail_msg("%s", bodies[i]);
        assert_string_equal(err.code, "bad_multipart");
    }
}

static void multipart_takes_so_many_parts(void **state)
{
    struct multipart multipart;
    struct buf body;

    (void)state;
    buf_init(&body, 65536);
    for (int i = 0; i <= MULTIPART_PARTS_MAX; i++) {
        if (i == MULTIPART_PARTS_MAX) {
            buf_append_cstr(&body, "--b--");
            assert_int_equal(multipart_parse(buf_str(&body), STR("b"), &arena, &multipart, NULL),
                             ST_OK);
            body.len -= 5;
        }
        buf_appendf(&body, PART(FORM("name=p%d"), "x"), i);
    }
    buf_append_cstr(&body, "--b--");
    assert_int_equal(multipart_parse(buf_str(&body), STR("b"), &arena, &multipart, NULL), ST_LIMIT);
    buf_fini(&body);
}

static void boundary_is_found_in_the_content_type(void **state)
{
    static const struct {
        const char *type, *boundary;
    } rows[] = {
        {"multipart/form-data; boundary=abc", "abc"},
        {"multipart/form-data; charset=utf-8; BOUNDARY=\"a b:c\"", "a b:c"},
        {"multipart/form-data", NULL},
        {"multipart/form-data; boundary", NULL},
        {"multipart/form-data; boundary=", NULL},
        {"multipart/form-data; boundary=a;boundary=b", NULL},
        {"multipart/form-data; boundary=\"a ", NULL},
        {"multipart/form-data; boundary=a@b", NULL},
        {"multipart/form-data; boundary=\"a \"", NULL},
        {"multipart/form-data; boundary="
         "0123456789012345678901234567890123456789012345678901234567890123456789x",
         NULL},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct str boundary;
        const enum status status =
            multipart_find_boundary(str_from_cstr(rows[i].type), &arena, &boundary, NULL);

        assert_int_equal(status, rows[i].boundary == NULL ? ST_INVALID : ST_OK);
        if (status == ST_OK)
            assert_true(str_eq_cstr(boundary, rows[i].boundary));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(multipart_finds_parts_and_their_bytes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(multipart_refuses_what_is_malformed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(parts_of_one_name_come_in_their_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(multipart_takes_so_many_parts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(boundary_is_found_in_the_content_type, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
