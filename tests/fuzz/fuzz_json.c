/* tests/fuzz/fuzz_json.c: json_doc_parse() on any bytes. Whatever it takes must hold together: each place's raw
 * text lies inside the input and is a document of its own. */
#include <stdint.h>

#include "common/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

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
    } else if (err.status == ST_INVALID && (err.code[0] == '\0' || err.line < 1)) {
        __builtin_trap();
    }
    json_doc_fini(&doc);
    arena_fini(&arena);
    return 0;
}
