/* tests/fuzz/fuzz_tsv.c: tsv_parse() on any bytes. What it takes holds together: lines ascend, cells lie inside the
 * input, are trimmed and have no tab; what it refuses has a code and a sentence. */
#include <stdint.h>

#include "common/tsv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void check_row(const struct tsv_row *row, struct str text)
{
    if (row->cell_count < 1 || row->cell_count > TSV_COLUMNS_MAX)
        __builtin_trap();
    for (size_t i = 0; i < row->cell_count; i++) {
        const struct str cell = row->cells[i];
        size_t at;

        if (cell.len > 0 && (cell.data < text.data || cell.data + cell.len > text.data + text.len))
            __builtin_trap();
        if (str_find_char(cell, '\t', &at) || str_find_char(cell, '\n', &at) ||
            !str_eq(cell, str_trim(cell)) || !str_is_utf8(cell))
            __builtin_trap();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    const struct str text = {(const char *)data, bytes};
    struct error err = {0};
    struct arena arena;
    struct tsv tsv;

    arena_init(&arena, 64 << 20);
    if (tsv_parse(text, &arena, &tsv, &err) == ST_OK) {
        check_row(&tsv.header, text);
        for (size_t i = 0; i < tsv.row_count; i++) {
            check_row(&tsv.rows[i], text);
            if (tsv.rows[i].line != tsv.header.line + 1 + (int)i)
                __builtin_trap();
        }
    } else if (err.code[0] == '\0' || err.detail[0] == '\0' || err.hint[0] == '\0') {
        __builtin_trap();
    }
    arena_fini(&arena);
    return 0;
}
