/* common/tsv.c: see tsv.h. */
#include "common/tsv.h"

#include <string.h>

static struct str skip_bom(struct str text);
static bool next_line(struct str *rest, struct str *line);
static enum status check_line(struct str line, int number, struct error *err);
static enum status fault(struct error *err, enum status status, int line, const char *code,
                         const char *hint, const char *detail);
static enum status parse_row(struct str line, int number, struct arena *arena, struct tsv_row *row,
                             struct error *err);

enum status tsv_parse(struct str text, struct arena *arena, struct tsv *tsv, struct error *err)
{
    const struct str body = skip_bom(text);
    struct str rest, line;
    size_t line_count = 0; /* up to the last one that is not blank */
    size_t number = 0;
    enum status status;

    *tsv = (struct tsv){0};
    for (rest = body; next_line(&rest, &line);) {
        number++;
        if ((status = check_line(line, (int)number, err)) != ST_OK)
            return status;
        if (str_trim(line).len > 0)
            line_count = number;
        if (line_count > TSV_ROWS_MAX + 1)
            return fault(err, ST_LIMIT, (int)number, "too_many_rows", "keep one row per evaluation",
                         "the file has more than 20,000 rows");
    }
    if (line_count == 0)
        return fault(err, ST_INVALID, 0, "empty_file", "send a header line and one row per epoch",
                     "the file is empty");
    tsv->rows = ARENA_NEW_ARRAY(arena, line_count, struct tsv_row);
    if (tsv->rows == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "out of memory for %zu rows", line_count);
    rest = body;
    for (number = 1; number <= line_count && next_line(&rest, &line); number++) {
        struct tsv_row *row = number == 1 ? &tsv->header : &tsv->rows[tsv->row_count++];

        if (str_trim(line).len == 0)
            return fault(err, ST_INVALID, (int)number, "tsv_blank_line", "remove the line",
                         "a blank line before the last row");
        if ((status = parse_row(line, (int)number, arena, row, err)) != ST_OK)
            return status;
    }
    return ST_OK;
}

static struct str skip_bom(struct str text)
{
    return str_starts_with(text, STR("\xEF\xBB\xBF")) ? str_slice(text, 3, text.len) : text;
}

/* Cuts one line off, whatever ends it: LF, CRLF or CR. */
static bool next_line(struct str *rest, struct str *line)
{
    size_t end = 0, next;

    if (rest->len == 0)
        return false;
    while (end < rest->len && rest->data[end] != '\n' && rest->data[end] != '\r')
        end++;
    next = end + 1;
    if (next < rest->len && rest->data[end] == '\r' && rest->data[next] == '\n')
        next++;
    *line = str_slice(*rest, 0, end);
    *rest = str_slice(*rest, next, rest->len);
    return true;
}

static enum status check_line(struct str line, int number, struct error *err)
{
    size_t at;

    if (str_find_char(line, '\0', &at))
        return fault(err, ST_INVALID, number, "nul_byte", "send plain text in UTF-8",
                     "the line has a NUL byte");
    if (!str_is_utf8(line))
        return fault(err, ST_INVALID, number, "not_utf8", "save the file as UTF-8",
                     "the line is not UTF-8");
    return ST_OK;
}

static enum status fault(struct error *err, enum status status, int line, const char *code,
                         const char *hint, const char *detail)
{
    if (err != NULL && err->status == ST_OK)
        err->line = line;
    return error_set_code(err, status, code, NULL, hint, "%s", detail);
}

static enum status parse_row(struct str line, int number, struct arena *arena, struct tsv_row *row,
                             struct error *err)
{
    struct str rest = line, cell;
    size_t count = 1, i = 0;
    bool more = true;

    for (size_t at = 0; at < line.len; at++)
        count += line.data[at] == '\t' ? 1 : 0;
    if (count > TSV_COLUMNS_MAX)
        return fault(err, ST_LIMIT, number, "too_many_columns",
                     "write only the columns that the task names",
                     "the line has more than 16 columns");
    row->line = number;
    row->cell_count = count;
    row->cells = ARENA_NEW_ARRAY(arena, count, struct str);
    if (row->cells == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "out of memory for a row");
    while (str_split_next(&rest, &more, '\t', &cell))
        row->cells[i++] = str_trim(cell);
    return ST_OK;
}
