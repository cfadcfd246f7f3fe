/* tests/fuzz/fuzz_cursor.c: a cursor. The first byte chooses its kinds; what is taken makes the same text again. */
#include <stdint.h>

#include "server/http/cursor.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static const char *const kinds[] = {"i", "t", "ti", "tiit"};
    struct cursor_value values[CURSOR_VALUES_MAX] = {0};
    struct error err = {0};
    struct arena arena;
    struct str text;

    if (bytes == 0)
        return 0;
    text = (struct str){(const char *)data + 1, bytes - 1};
    arena_init(&arena, 1 << 20);
    if (cursor_parse(text, "fuzz", kinds[data[0] % 4], &arena, values, &err) == ST_OK) {
        if (!str_eq_cstr(text, cursor_make(&arena, "fuzz", kinds[data[0] % 4], values)))
            __builtin_trap();
    } else if (err.status != ST_INVALID || err.code[0] == '\0') {
        __builtin_trap();
    }
    arena_fini(&arena);
    return 0;
}
