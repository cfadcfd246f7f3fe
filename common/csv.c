/* common/csv.c: see csv.h. */
#include "common/csv.h"

#include <stdarg.h>
#include <string.h>

static enum status read_cell(struct csv_reader *reader, struct str *cell, char *end,
                             struct error *err);
static enum status read_quoted(struct csv_reader *reader, struct str *cell, struct error *err);
static enum status unquote(struct csv_reader *reader, struct str raw, struct str *cell,
                           struct error *err);
static enum status read_end(struct csv_reader *reader, char *end, struct error *err);
static enum status check_cell(const struct csv_reader *reader, struct str cell, struct error *err);
static bool is_blank(struct str text);
static enum status fault(const struct csv_reader *reader, int line, enum status status,
                         const char *code, const char *hint, struct error *err, const char *format,
                         ...) __attribute__((format(printf, 7, 8)));

void csv_init(struct csv_reader *reader, struct str text, struct arena *arena)
{
    const size_t bom = str_starts_with(text, STR("\xEF\xBB\xBF")) ? 3 : 0;

    *reader = (struct csv_reader){
        .text = text, .rest = str_slice(text, bom, text.len), .arena = arena, .next_line = 1};
}

enum status csv_next(struct csv_reader *reader, bool *more, struct error *err)
{
    const size_t cells_before = reader->cell_count;
    enum status status;
    char end = ',';

    *more = false;
    if (reader->rest.len == 0)
        return ST_OK;
    reader->line = reader->next_line;
    reader->cell_count = 0;
    if (reader->rest.data[0] == '\n' || reader->rest.data[0] == '\r') {
        if (is_blank(reader->rest)) {
            reader->rest = STR("");
            return ST_OK;
        }
        return fault(reader, reader->line, ST_INVALID, "csv_blank_line", "remove the line", err,
                     "a blank line before the last row");
    }
    if (reader->row_count == CSV_ROWS_MAX)
        return fault(reader, reader->line, ST_LIMIT, "too_many_rows", "split the file", err,
                     "the file has more than %d rows", CSV_ROWS_MAX);
    reader->row_count++;
    while (end == ',') {
        struct str cell = {0};

        if (reader->cell_count == CSV_COLUMNS_MAX)
            return fault(reader, reader->line, ST_LIMIT, "too_many_columns",
                         "leave out columns that nobody reads", err,
                         "the row has more than %d cells", CSV_COLUMNS_MAX);
        status = read_cell(reader, &cell, &end, err);
        if (status != ST_OK)
            return status;
        reader->cells[reader->cell_count++] = cell;
    }
    *more = true;
    if (reader->row_count > 1 && reader->cell_count != cells_before) {
        const size_t found = reader->cell_count;

        reader->cell_count = found < cells_before ? found : cells_before; /* the first at fault */
        (void)fault(reader, reader->line, ST_INVALID, "csv_ragged",
                    "give every row as many cells as the header", err,
                    "the row has %zu cells, the header %zu", found, cells_before);
        reader->cell_count = cells_before; /* what the next row is held against */
        return ST_INVALID;
    }
    return ST_OK;
}

/* *end: ',' when another cell follows in this row, '\n' at its end. */
static enum status read_cell(struct csv_reader *reader, struct str *cell, char *end,
                             struct error *err)
{
    struct str rest = reader->rest;
    enum status status = ST_OK;
    size_t at = 0;

    if (rest.len > 0 && rest.data[0] == '"') {
        status = read_quoted(reader, cell, err);
    } else {
        while (at < rest.len && rest.data[at] != ',' && rest.data[at] != '\n' &&
               rest.data[at] != '\r' && rest.data[at] != '"')
            at++;
        *cell = str_slice(rest, 0, at);
        reader->rest = str_slice(rest, at, rest.len);
    }
    if (status == ST_OK)
        status = check_cell(reader, *cell, err);
    return status == ST_OK ? read_end(reader, end, err) : status;
}

static enum status read_quoted(struct csv_reader *reader, struct str *cell, struct error *err)
{
    const struct str rest = reader->rest;
    bool doubled = false;
    int line = reader->next_line;
    size_t at = 1;

    for (;; at++) {
        if (at == rest.len)
            return fault(reader, reader->next_line, ST_INVALID, "csv_quote",
                         "close the cell with a quote", err,
                         "a cell in quotes begins here and never ends");
        if (rest.data[at] == '\n')
            line++;
        if (rest.data[at] != '"')
            continue;
        if (at + 1 == rest.len || rest.data[at + 1] != '"')
            break;
        doubled = true;
        at++;
    }
    reader->next_line = line;
    *cell = str_slice(rest, 1, at);
    reader->rest = str_slice(rest, at + 1, rest.len);
    return doubled ? unquote(reader, *cell, cell, err) : ST_OK;
}

static enum status unquote(struct csv_reader *reader, struct str raw, struct str *cell,
                           struct error *err)
{
    char *copy = arena_alloc(reader->arena, raw.len + 1, 1);
    size_t bytes = 0;

    if (copy == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "out of memory for a cell");
    for (size_t i = 0; i < raw.len; i++) {
        copy[bytes++] = raw.data[i];
        if (raw.data[i] == '"')
            i++; /* the second of two */
    }
    *cell = (struct str){copy, bytes};
    return ST_OK;
}

static enum status read_end(struct csv_reader *reader, char *end, struct error *err)
{
    const struct str rest = reader->rest;

    *end = '\n';
    if (rest.len == 0)
        return ST_OK;
    if (rest.data[0] == ',') {
        *end = ',';
        reader->rest = str_slice(rest, 1, rest.len);
        return ST_OK;
    }
    if (rest.data[0] == '\n' || (rest.len > 1 && rest.data[0] == '\r' && rest.data[1] == '\n')) {
        reader->rest = str_slice(rest, rest.data[0] == '\r' ? 2 : 1, rest.len);
        reader->next_line++;
        return ST_OK;
    }
    if (rest.data[0] == '\r')
        return fault(reader, reader->next_line, ST_INVALID, "csv_line_end",
                     "end lines with LF or CRLF", err, "a CR without LF");
    return fault(reader, reader->next_line, ST_INVALID, "csv_quote",
                 "put the whole cell in quotes and double those inside of it", err,
                 "a quote inside of a cell, or something behind its closing quote");
}

static enum status check_cell(const struct csv_reader *reader, struct str cell, struct error *err)
{
    size_t at;

    if (cell.len > CSV_CELL_BYTES_MAX)
        return fault(reader, reader->line, ST_LIMIT, "cell_too_long", "shorten it", err,
                     "a cell has %zu bytes, at most %d are read", cell.len, CSV_CELL_BYTES_MAX);
    if (str_find_char(cell, '\0', &at))
        return fault(reader, reader->line, ST_INVALID, "nul_byte", "send plain text in UTF-8", err,
                     "a cell has a NUL byte");
    if (!str_is_utf8(cell))
        return fault(reader, reader->line, ST_INVALID, "not_utf8", "save the file as UTF-8", err,
                     "a cell is not UTF-8");
    return ST_OK;
}

/* Nothing but line ends from here on. */
static bool is_blank(struct str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.data[i] != '\n' &&
            !(text.data[i] == '\r' && i + 1 < text.len && text.data[i + 1] == '\n'))
            return false;
    return true;
}

static enum status fault(const struct csv_reader *reader, int line, enum status status,
                         const char *code, const char *hint, struct error *err, const char *format,
                         ...)
{
    char column[32];
    va_list args;

    (void)snprintf(column, sizeof column, "column %zu", reader->cell_count + 1);
    if (err != NULL && err->status == ST_OK)
        err->line = line;
    va_start(args, format);
    (void)error_set_code_v(err, status, code, column, hint, format, args);
    va_end(args);
    return status;
}
