/* tests/fuzz/fuzz_csv.c: csv_next() on any bytes. What it takes holds together: lines ascend, rows are of one width, cells
 * are UTF-8 and of a bounded size; written again with every cell in quotes they read the same. What it refuses has a
 * code, a line and a sentence. */
#include <stdint.h>

#include "common/csv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void append_row(struct buf *out, const struct csv_reader *reader)
{
    for (size_t i = 0; i < reader->cell_count; i++) {
        buf_append_cstr(out, i == 0 ? "\"" : ",\"");
        for (size_t at = 0; at < reader->cells[i].len; at++) {
            if (reader->cells[i].data[at] == '"')
                buf_append_char(out, '"');
            buf_append_char(out, reader->cells[i].data[at]);
        }
        buf_append_char(out, '"');
    }
    buf_append_char(out, '\n');
}

/* Writes what was read; false: it was refused. */
static bool read_all(struct str text, struct arena *arena, struct buf *out)
{
    struct error err = {0};
    struct csv_reader reader;
    size_t width = 0;
    bool more = true;
    int line = 0;

    csv_init(&reader, text, arena);
    for (;;) {
        const enum status status = csv_next(&reader, &more, &err);

        if (status != ST_OK) {
            if (err.code[0] == '\0' || err.line < 1 || err.detail[0] == '\0')
                __builtin_trap();
            return false;
        }
        if (!more)
            return true;
        if (reader.line <= line || reader.cell_count == 0 || reader.cell_count > CSV_COLUMNS_MAX ||
            (width != 0 && reader.cell_count != width))
            __builtin_trap();
        line = reader.line;
        width = reader.cell_count;
        for (size_t i = 0; i < width; i++)
            if (!str_is_utf8(reader.cells[i]) || reader.cells[i].len > CSV_CELL_BYTES_MAX)
                __builtin_trap();
        append_row(out, &reader);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct arena arena;
    struct buf once, twice;

    arena_init(&arena, 64 << 20);
    buf_init(&once, 16 << 20);
    buf_init(&twice, 16 << 20);
    if (read_all((struct str){(const char *)data, bytes}, &arena, &once) &&
        (!read_all(buf_str(&once), &arena, &twice) || !str_eq(buf_str(&once), buf_str(&twice))))
        __builtin_trap();
    buf_fini(&once);
    buf_fini(&twice);
    arena_fini(&arena);
    return 0;
}
