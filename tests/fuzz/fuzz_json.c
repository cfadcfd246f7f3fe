/* tests/fuzz/fuzz_json.c: json_doc_parse() on any bytes, and a reader over what it makes of them. Whatever it takes must hold together: each place's raw
 * text lies inside the input and is a document of its own. */
#include <stdint.h>

#include "common/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* A reader over any tree: it refuses exactly when it names a fault, and each fault has code, line and sentence. */
static void check_reader(const struct json_doc *doc, struct arena *arena)
{
    static const char *const words[] = {"a", "b", NULL};
    struct fault_list faults = {.arena = arena};
    struct json_reader reader, part;
    struct error err = {0};
    const json_t *object;
    const char *word;
    struct str text;
    int64_t number;

    json_reader_init_doc(&reader, doc, &faults, &err);
    (void)json_read_text(&reader, "a", true, 8, &text);
    (void)json_read_i64(&reader, "b", false, 0, 9, &number);
    (void)json_read_word(&reader, "c", false, words, &word);
    if (json_read_object(&reader, "d", false, &object)) {
        json_reader_init_part(&part, &reader, object, "/d");
        (void)json_read_array(&part, "e", true, 2, &object);
        (void)json_reader_finish(&part);
    }
    if ((json_reader_finish(&reader) == ST_OK) != (faults.count == 0) ||
        (faults.count == 0) != (err.status == ST_OK) || faults.count > FAULTS_MAX)
        __builtin_trap();
    for (size_t i = 0; i < faults.count; i++)
        if (faults.items[i].line < 1 || faults.items[i].code[0] == '\0' ||
            faults.items[i].detail[0] == '\0' ||
            !str_is_utf8(str_from_cstr(faults.items[i].field)) ||
            !str_is_utf8(str_from_cstr(faults.items[i].detail)))
            __builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    const struct str text = {(const char *)data, bytes};
    struct error err = {0};
    struct json_doc doc;
    struct arena arena;

    arena_init(&arena, 4 << 20);
    if (json_doc_parse(text, &arena, &doc, &err) == ST_OK) {
        for (size_t i = 0; i < doc.place_count; i++) {
            const struct json_place *place = &doc.places[i];

            if (place->raw.len == 0 || place->raw.data < text.data ||
                place->raw.data + place->raw.len > text.data + text.len || place->line < 1 ||
                place->key_line > place->line)
                __builtin_trap();
        }
        if (doc.places[0].pointer.len != 0)
            __builtin_trap();
        check_reader(&doc, &arena);
    } else if (err.status == ST_INVALID && (err.code[0] == '\0' || err.line < 1)) {
        __builtin_trap();
    }
    json_doc_fini(&doc);
    arena_fini(&arena);
    return 0;
}
