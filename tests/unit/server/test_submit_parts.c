/* tests/unit/server/test_submit_parts.c: the form of /submit as the parts of a submission. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "server/page/submit_parts.h"

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

/* file_name NULL: no file. */
static struct multipart_part make_part(const char *name, const char *file_name, const char *data)
{
    return (struct multipart_part){.name = str_from_cstr(name),
                                   .has_file_name = file_name != NULL,
                                   .file_name = str_from_cstr(file_name),
                                   .data = str_from_cstr(data)};
}

static void fields_of_the_form_become_parts(void **state)
{
    struct multipart_part list[] = {
        make_part("csrf", NULL, "secret"),         make_part("do", NULL, "send"),
        make_part("task", NULL, "squad-train"),    make_part("name", NULL, " "),
        make_part("supersedes", NULL, ""),         make_part("entry", "", ""),
        make_part("entry_text", NULL, "{\r}\r\n"), make_part("progress", "a.tsv", ""),
        make_part("progress_text", NULL, "\n"),    make_part("other", NULL, "x"),
    };
    struct multipart parts = {list, ARRAY_LEN(list)};
    struct submit_fields fields;
    struct error err = {0};

    (void)state;
    assert_int_equal(submit_parts_read(&parts, &arena, &fields, &err), ST_OK);
    assert_true(fields.sends);
    assert_true(str_eq_cstr(fields.task_id, "squad-train"));
    assert_true(str_eq_cstr(fields.entry_text, "{\r}\n")); /* shown; sent is what was pasted: */
    assert_int_equal(parts.count, 4);
    assert_true(str_eq_cstr(parts.parts[0].name, "task"));
    assert_true(str_eq_cstr(parts.parts[1].name, "entry"));
    assert_true(str_eq_cstr(parts.parts[1].data, "{\r}\r\n"));
    assert_false(parts.parts[1].has_file_name);
    assert_true(str_eq_cstr(parts.parts[2].file_name, "a.tsv")); /* an empty file is a file */
    assert_true(str_eq_cstr(parts.parts[3].name, "other"));
}

static void a_kept_file_comes_back_byte_for_byte(void **state)
{
    static const char bytes[] = "\xEF\xBB\xBF"
                                "a\r\n\0\xFF\n";
    static const struct {
        const char *name;
        size_t bytes;
    } rows[] = {{"run 1 \xC3\xA9.tsv", sizeof bytes - 1}, {"", 7}, {"a", 0}, {"", 0}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct str data = {bytes, rows[i].bytes};
        struct multipart_part part = make_part(
            "progress_kept", NULL, submit_keep_file(&arena, str_from_cstr(rows[i].name), data));
        struct multipart parts = {&part, 1};
        struct submit_fields fields;
        struct error err = {0};

        assert_int_equal(submit_parts_read(&parts, &arena, &fields, &err), ST_OK);
        assert_false(fields.sends);
        assert_int_equal(parts.count, 1);
        assert_true(str_eq_cstr(parts.parts[0].name, "progress"));
        assert_true(str_eq(parts.parts[0].data, data));
        assert_true(str_eq_cstr(parts.parts[0].file_name, rows[i].name));
        assert_int_equal(parts.parts[0].has_file_name, rows[i].name[0] != '\0');
    }
}

static void what_the_form_does_not_send_is_refused(void **state)
{
    static const struct {
        const char *name, *data, *field;
    } rows[] = {
        {"do", "delete", "do"},
        {"do", "", "do"},
        {"entry_kept", "", "entry"},
        {"entry_kept", "YQ", "entry"},
        {"entry_kept", "YQ.?", "entry"},
        {"entry_kept", "YQ.YQ=", "entry"},
        {"entry_kept", "_w.YQ", "entry"},
        {"progress_kept", "AA.YQ", "progress"},
        {"progress_text", "x", "progress"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct multipart_part list[] = {make_part(rows[i].name, NULL, rows[i].data),
                                        make_part("progress", "a.tsv", "x")};
        struct multipart parts = {list, ARRAY_LEN(list)};
        struct submit_fields fields;
        struct error err = {0};

        assert_int_equal(submit_parts_read(&parts, &arena, &fields, &err), ST_INVALID);
        assert_string_equal(err.field, rows[i].field);
        assert_int_equal(parts.count, 2); /* untouched */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(fields_of_the_form_become_parts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_kept_file_comes_back_byte_for_byte, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_the_form_does_not_send_is_refused, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
