/* tests/unit/common/test_json.c: what json.c takes, what it refuses and where it says the fault is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/json.h"

struct refused {
    const char *text;
    const char *code;
    int line;
    const char *field;
};

#define DIGITS_64  "1111111111111111111111111111111111111111111111111111111111111111"
#define DIGITS_256 DIGITS_64 DIGITS_64 DIGITS_64 DIGITS_64
#define DIGITS_512 DIGITS_256 DIGITS_256

static void json_refuses_with_code_line_and_pointer(void **state)
{
    static const struct refused rows[] = {
        {"", "json_syntax", 1, ""},
        {" \n ", "json_syntax", 2, ""},
        {"{", "json_syntax", 1, ""},
        {"{\"a\":1", "json_syntax", 1, ""},
        {"{\"a\":1,\n}", "json_syntax", 2, ""},
        {"{\"a\":1\n\"b\":2}", "json_syntax", 2, ""},
        {"{\"a\" 1}", "json_syntax", 1, "/a"},
        {"{\"a\":}", "json_syntax", 1, "/a"},
        {"{a:1}", "json_syntax", 1, ""},
        {"[1,]", "json_syntax", 1, "/1"},
        {"[1 2]", "json_syntax", 1, ""},
        {"[1}", "json_syntax", 1, ""},
        {"{\"a\":[1]]", "json_syntax", 1, ""},
        {"# x\n1", "json_syntax", 1, ""},
        {"01", "json_trailing", 1, ""},
        {"+1", "json_syntax", 1, ""},
        {"-", "json_syntax", 1, ""},
        {"1.", "json_syntax", 1, ""},
        {".5", "json_syntax", 1, ""},
        {"1e", "json_syntax", 1, ""},
        {"{\"a\":\"x", "json_syntax", 1, "/a"},
        {"\"x\\", "json_syntax", 1, ""},
        {"\"\\x\"", "json_syntax", 1, ""},
        {"\"\\u12\"", "json_syntax", 1, ""},
        {"\"\\u0000\"", "json_syntax", 1, ""},
        {"\"\\ud800\"", "json_syntax", 1, ""},
        {"\"\\ud800\\u0041\"", "json_syntax", 1, ""},
        {"\"\\udc00\"", "json_syntax", 1, ""},
        {"\"a\tb\"", "json_syntax", 1, ""},
        {"tru", "json_syntax", 1, ""},
        {"True", "json_syntax", 1, ""},
        {"nulls", "json_trailing", 1, ""},
        {"{}\n{}", "json_trailing", 2, ""},
        {"{\"a\":NaN}", "json_number", 1, "/a"},
        {"[1,\n Infinity]", "json_number", 2, "/1"},
        {"[1e999]", "json_number", 1, "/0"},
        {"[1, 3." DIGITS_512 "]", "number_too_long", 1, "/1"},
        {"{\"a\":0." DIGITS_512 "e999}", "number_too_long", 1, "/a"},
        {"{\"a\":1,\n\"b\":2,\n\"a\":3}", "json_duplicate_key", 3, "/a"},
        {"{\"a\":1,\"\\u0061\":3}", "json_duplicate_key", 1, "/a"},
        {"{\"x/y\":{\"k\":1,\"k\":1}}", "json_duplicate_key", 1, "/x~1y/k"},
        {"[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]", "json_depth", 1,
         "/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0"},
        {"{\"a\":\n\"\xC0\x80\"}", "not_utf8", 2, ""},
        {"\xFF", "not_utf8", 1, ""},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct arena arena;
        struct json_doc doc;
        struct error err = {0};

        arena_init(&arena, 1 << 20);
        if (json_doc_parse(str_from_cstr(rows[i].text), &arena, &doc, &err) != ST_INVALID)
            fail_msg("not refused: %s", rows[i].text);
        if (strcmp(err.code, rows[i].code) != 0 || err.line != rows[i].line ||
            strcmp(err.field, rows[i].field) != 0)
            fail_msg("%s: got %s line %d field %s (%s)", rows[i].text, err.code, err.line,
                     err.field, err.detail);
        assert_null(doc.root);
        arena_fini(&arena);
    }
}

static void json_takes_what_the_grammar_has(void **state)
{
    static const char *const texts[] = {
        "0",
        "-0",
        "1.5e-3",
        "\"\"",
        "true",
        "null",
        "[]",
        "{}",
        " [ ] ",
        "\xEF\xBB\xBF{}",
        "[1,[2,{}],\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud83d\\ude00\"]",
        "[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]",
        "{\"\":{\"\":1}}",
        "1e-999",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct arena arena;
        struct json_doc doc;
        struct error err = {0};

        arena_init(&arena, 1 << 20);
        if (json_doc_parse(str_from_cstr(texts[i]), &arena, &doc, &err) != ST_OK)
            fail_msg("%s: %s %s", texts[i], err.code, err.detail);
        json_doc_fini(&doc);
        arena_fini(&arena);
    }
}

static void json_places_tell_line_and_raw_text(void **state)
{
    static const char text[] =
        "{\n \"costPerHour\": 0.0630,\n \"misc\":\n  {\"a~b/c\": [true, {}]}\n}";
    const struct json_place *place;
    struct arena arena;
    struct json_doc doc;
    struct error err = {0};

    (void)state;
    arena_init(&arena, 1 << 20);
    assert_int_equal(json_doc_parse(str_from_cstr(text), &arena, &doc, &err), ST_OK);
    place = json_doc_find(&doc, "/costPerHour");
    assert_non_null(place);
    assert_true(str_eq(place->raw, STR("0.0630")));
    assert_int_equal(place->line, 2);
    place = json_doc_find(&doc, "/misc");
    assert_int_equal(place->line, 4);
    assert_int_equal(place->key_line, 3);
    assert_true(str_eq(place->raw, STR("{\"a~b/c\": [true, {}]}")));
    place = json_doc_find(&doc, "/misc/a~0b~1c/1");
    assert_non_null(place);
    assert_true(str_eq(place->raw, STR("{}")));
    assert_true(str_eq(json_doc_find(&doc, "")->raw, str_from_cstr(text)));
    assert_null(json_doc_find(&doc, "/nowhere"));
    json_doc_fini(&doc);
    arena_fini(&arena);
}

static void json_reads_big_integers_as_reals(void **state)
{
    struct arena arena;
    struct json_doc doc;
    struct error err = {0};

    (void)state;
    arena_init(&arena, 1 << 20);
    assert_int_equal(json_doc_parse(STR("[9223372036854775807,9223372036854775808,-1e2,"
                                        "100000000000000000000]"),
                                    &arena, &doc, &err),
                     ST_OK);
    assert_true(json_is_integer(json_array_get(doc.root, 0)));
    assert_true(json_is_real(json_array_get(doc.root, 1)));
    assert_true(json_number_value(json_array_get(doc.root, 1)) == 9223372036854775808.0);
    assert_true(json_number_value(json_array_get(doc.root, 3)) == 1e20);
    json_doc_fini(&doc);
    arena_fini(&arena);
}

static void json_refuses_more_values_than_it_keeps(void **state)
{
    struct arena arena;
    struct json_doc doc;
    struct error err = {0};
    struct buf text;

    (void)state;
    buf_init(&text, 1 << 20);
    buf_append_char(&text, '[');
    for (int i = 0; i < 9000; i++)
        buf_append_cstr(&text, i == 0 ? "1" : ",1");
    buf_append_char(&text, ']');
    arena_init(&arena, 4 << 20);
    assert_int_equal(json_doc_parse(buf_str(&text), &arena, &doc, &err), ST_INVALID);
    assert_string_equal(err.code, "json_values");
    arena_fini(&arena);
    buf_fini(&text);
}

static void json_says_when_the_arena_is_used_up(void **state)
{
    struct arena arena;
    struct json_doc doc;
    struct error err = {0};

    (void)state;
    arena_init(&arena, 16);
    assert_int_equal(json_doc_parse(STR("{\"a\":1}"), &arena, &doc, &err), ST_NO_MEMORY);
    arena_fini(&arena);
}

static void reader_takes_members_and_refuses_the_rest(void **state)
{
    static const char text[] =
        "{\"t\":\"x\",\"i\":5,\"d\":1.5,\"b\":true,\"o\":{},\"a\":[1,2],\"odd/one\":1}";
    struct json_reader reader;
    struct arena arena;
    struct json_doc doc;
    struct error err = {0};
    const json_t *object = NULL, *array = NULL;
    struct str t = {0};
    int64_t i = 0, absent = 7;
    double d = 0;
    bool b = false;

    (void)state;
    arena_init(&arena, 1 << 20);
    assert_int_equal(json_doc_parse(str_from_cstr(text), &arena, &doc, &err), ST_OK);
    json_reader_init(&reader, doc.root, "/in", &err);
    assert_true(json_read_text(&reader, "t", true, 1, &t));
    assert_true(json_read_i64(&reader, "i", true, 5, 5, &i));
    assert_true(json_read_double(&reader, "d", true, &d));
    assert_true(json_read_bool(&reader, "b", true, &b));
    assert_true(json_read_object(&reader, "o", true, &object));
    assert_true(json_read_array(&reader, "a", true, 2, &array));
    assert_false(json_read_i64(&reader, "absent", false, 0, 9, &absent));
    assert_int_equal(absent, 7);
    assert_true(b && d == 1.5 && i == 5 && str_eq(t, STR("x")));
    assert_int_equal(json_reader_finish(&reader), ST_INVALID);
    assert_string_equal(err.code, "unknown_member");
    assert_string_equal(err.field, "/in/odd~1one");
    json_doc_fini(&doc);
    arena_fini(&arena);
}

static void reader_names_the_first_fault(void **state)
{
    static const struct {
        const char *text, *code, *field;
    } rows[] = {
        {"{}", "missing_member", "/n"},
        {"{\"n\":null}", "wrong_type", "/n"},
        {"{\"n\":\"5\"}", "wrong_type", "/n"},
        {"{\"n\":5.0}", "wrong_type", "/n"},
        {"{\"n\":11}", "out_of_range", "/n"},
        {"{\"n\":-1}", "out_of_range", "/n"},
        {"{\"n\":99999999999999999999}", "wrong_type", "/n"},
        {"[]", "wrong_type", ""},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct json_reader reader;
        struct arena arena;
        struct json_doc doc;
        struct error err = {0};
        struct str later;
        int64_t n;

        arena_init(&arena, 1 << 20);
        assert_int_equal(json_doc_parse(str_from_cstr(rows[i].text), &arena, &doc, &err), ST_OK);
        json_reader_init(&reader, doc.root, "", &err);
        assert_false(json_read_i64(&reader, "n", true, 0, 10, &n));
        assert_false(json_read_text(&reader, "later", true, 10, &later));
        assert_int_equal(json_reader_finish(&reader), ST_INVALID);
        assert_string_equal(err.code, rows[i].code);
        assert_string_equal(err.field, rows[i].field);
        json_doc_fini(&doc);
        arena_fini(&arena);
    }
}

static void reader_names_every_fault_with_line_and_pointer(void **state)
{
    static const char text[] = "{\"word\": \"dance\",\n"
                               " \"n\": 11,\n"
                               " \"part\": {\n"
                               "   \"deep\": false, \"odd/one\": 1},\n"
                               " \"long\": \"abcd\",\n"
                               " \"colour\": \"red\"}";
    static const char *const words[] = {"setup", "train", "finish", NULL};
    static const struct {
        const char *field, *code;
        int line;
    } rows[] = {
        {"/task", "missing_member", 1},
        {"/word", "bad_value", 1},
        {"/n", "out_of_range", 2},
        {"/part/deep", "wrong_type", 4},
        {"/part/more", "missing_member", 3},
        {"/part/odd~1one", "unknown_member", 4},
        {"/part", "bad_part", 3},
        {"/long", "too_long", 5},
        {"/colour", "unknown_member", 6},
    };
    struct json_reader reader, part;
    struct arena arena;
    struct json_doc doc;
    struct error err = {0};
    struct fault_list faults = {.arena = &arena};
    const json_t *object = NULL;
    const char *word = NULL;
    struct str string = {0};
    int64_t number = 7;

    (void)state;
    arena_init(&arena, 1 << 20);
    assert_int_equal(json_doc_parse(str_from_cstr(text), &arena, &doc, &err), ST_OK);
    json_reader_init_doc(&reader, &doc, &faults, &err);
    assert_false(json_read_text(&reader, "task", true, 10, &string));
    assert_false(json_read_word(&reader, "word", true, words, &word));
    assert_false(json_read_i64(&reader, "n", true, 0, 10, &number));
    assert_int_equal(number, 7);
    assert_true(json_read_object(&reader, "part", true, &object));
    json_reader_init_part(&part, &reader, object, "/part");
    assert_false(json_read_i64(&part, "deep", true, 0, 9, &number));
    assert_false(json_read_bool(&part, "more", true, &(bool){false}));
    assert_int_equal(json_reader_finish(&part), ST_INVALID);
    assert_int_equal(json_reader_fault(&part, NULL, "bad_part", NULL, "none of it"), ST_INVALID);
    assert_false(json_read_text(&reader, "long", true, 3, &string));
    assert_int_equal(json_reader_finish(&reader), ST_INVALID);
    assert_int_equal(faults.count, ARRAY_LEN(rows));
    assert_int_equal(faults.left_out, 0);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_string_equal(faults.items[i].field, rows[i].field);
        assert_string_equal(faults.items[i].code, rows[i].code);
        assert_int_equal(faults.items[i].line, rows[i].line);
    }
    assert_string_equal(faults.items[1].hint, "setup, train or finish");
    assert_string_equal(err.field, "/task"); /* the first fault alone */
    json_doc_fini(&doc);
    arena_fini(&arena);
}

static void reader_takes_a_good_body_whole(void **state)
{
    static const char *const words[] = {"setup", "train", NULL};
    struct json_reader reader;
    struct arena arena;
    struct json_doc doc;
    struct error err = {0};
    struct fault_list faults = {.arena = &arena};
    const char *word = NULL;

    (void)state;
    arena_init(&arena, 1 << 20);
    assert_int_equal(json_doc_parse(STR("{\"word\":\"train\"}"), &arena, &doc, &err), ST_OK);
    json_reader_init_doc(&reader, &doc, &faults, &err);
    assert_true(json_read_word(&reader, "word", true, words, &word));
    assert_ptr_equal(word, words[1]);
    assert_false(json_read_word(&reader, "absent", false, words, &word));
    assert_int_equal(json_reader_finish(&reader), ST_OK);
    assert_int_equal(faults.count, 0);
    assert_null(faults.items);
    json_doc_fini(&doc);
    arena_fini(&arena);
}

static void reader_counts_what_the_list_cannot_hold(void **state)
{
    struct json_reader reader;
    struct arena arena;
    struct json_doc doc;
    struct error err = {0};
    struct fault_list faults = {.arena = &arena};
    struct buf text;

    (void)state;
    arena_init(&arena, 1 << 20);
    buf_init(&text, 4096);
    for (int i = 0; i < 64; i++)
        buf_appendf(&text, "%s\"m%d\":1", i == 0 ? "{" : ",", i);
    buf_append_char(&text, '}');
    assert_int_equal(json_doc_parse(buf_str(&text), &arena, &doc, &err), ST_OK);
    json_reader_init_doc(&reader, &doc, &faults, &err);
    assert_int_equal(json_reader_finish(&reader), ST_INVALID);
    assert_int_equal(faults.count, FAULTS_MAX);
    assert_int_equal(faults.left_out, 64 - FAULTS_MAX);
    assert_string_equal(faults.items[FAULTS_MAX - 1].field, "/m19");
    json_doc_fini(&doc);
    /* No memory for the list: the first fault is in err all the same. */
    faults = (struct fault_list){.arena = &(struct arena){.bytes_max = 1}};
    err = (struct error){0};
    json_reader_init(&reader, NULL, "", NULL);
    assert_int_equal(json_reader_finish(&reader), ST_INVALID); /* with nobody who listens */
    assert_int_equal(fault_list_add(&faults, &(struct error){.status = ST_INVALID}, &err),
                     ST_INVALID);
    assert_int_equal(err.status, ST_INVALID);
    assert_int_equal(faults.count, 0);
    assert_int_equal(faults.left_out, 1);
    buf_fini(&text);
    arena_fini(&arena);
}

static void json_writes_compactly_and_exactly(void **state)
{
    static const char text[] = "{\"b\":1,\"a\":[0.1,true,null,\"\xC3\xA9\"]}";
    struct arena arena;
    struct json_doc doc;
    struct error err = {0};
    struct buf out;

    (void)state;
    arena_init(&arena, 1 << 20);
    buf_init(&out, 1024);
    assert_int_equal(json_doc_parse(str_from_cstr(text), &arena, &doc, &err), ST_OK);
    assert_int_equal(json_write(doc.root, &out, &err), ST_OK);
    assert_string_equal(out.data, "{\"b\":1,\"a\":[0.10000000000000001,true,null,\"\xC3\xA9\"]}");
    buf_fini(&out);
    json_doc_fini(&doc);
    arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_refuses_with_code_line_and_pointer),
        cmocka_unit_test(json_takes_what_the_grammar_has),
        cmocka_unit_test(json_places_tell_line_and_raw_text),
        cmocka_unit_test(json_reads_big_integers_as_reals),
        cmocka_unit_test(json_refuses_more_values_than_it_keeps),
        cmocka_unit_test(json_says_when_the_arena_is_used_up),
        cmocka_unit_test(reader_takes_members_and_refuses_the_rest),
        cmocka_unit_test(reader_names_the_first_fault),
        cmocka_unit_test(reader_names_every_fault_with_line_and_pointer),
        cmocka_unit_test(reader_takes_a_good_body_whole),
        cmocka_unit_test(reader_counts_what_the_list_cannot_hold),
        cmocka_unit_test(json_writes_compactly_and_exactly),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
