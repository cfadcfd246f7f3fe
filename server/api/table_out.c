/* server/api/table_out.c: see table_out.h. */
#include "server/api/table_out.h"

#include <inttypes.h>

static void write_row(struct json_out *out, const struct table *table, size_t index);
static void write_cell(struct json_out *out, const struct table_column *column,
                       const struct table_cell *cell);
static void append_cell(struct buf *out, const struct table_column *column,
                        const struct table_cell *cell);

void table_out_members(struct json_out *out, const struct analysis *analysis)
{
    for (size_t r = 0; r < analysis->facts.row_count; r++)
        write_row(out, &analysis->facts, r);
    json_out_text(out, "lead", analysis->lead);
    for (size_t p = 0; p < analysis->part_count; p++) {
        const struct table *table = &analysis->parts[p].table;

        json_out_begin(out, analysis->parts[p].key, '[');
        for (size_t r = 0; r < table->row_count; r++) {
            json_out_begin(out, NULL, '{');
            write_row(out, table, r);
            json_out_end(out, '}');
        }
        json_out_end(out, ']');
    }
}

static void write_row(struct json_out *out, const struct table *table, size_t index)
{
    const struct table_cell *row = table_row(table, index);

    for (size_t c = 0; c < table->column_count; c++)
        if (row[c].has)
            write_cell(out, &table->columns[c], &row[c]);
}

static void write_cell(struct json_out *out, const struct table_column *column,
                       const struct table_cell *cell)
{
    switch (column->kind) {
    case TABLE_TEXT:
    case TABLE_DATE: json_out_text(out, column->key, cell->text); break;
    case TABLE_ENTRY:
        json_out_i64(out, column->key, cell->integer);
        json_out_text(out, "model", cell->text);
        json_out_text(out, "author", cell->sub);
        break;
    case TABLE_RUN:
    case TABLE_BYTES:
    case TABLE_COUNT: json_out_i64(out, column->key, cell->integer); break;
    case TABLE_FLAG: json_out_bool(out, column->key, cell->integer != 0); break;
    case TABLE_NUMBER:
    case TABLE_SECONDS:
    case TABLE_USD:
    case TABLE_SHARE:
    case TABLE_RATIO:
    case TABLE_BYTE_RATE:
    case TABLE_FLOP_RATE: json_out_double(out, column->key, cell->number); break;
    }
}

void table_out_csv(struct buf *out, const struct table *table)
{
    for (size_t c = 0; c < table->column_count; c++)
        buf_appendf(out, "%s%s%s", c > 0 ? "," : "", table->columns[c].key,
                    table->columns[c].kind == TABLE_ENTRY ? ",model,author" : "");
    buf_append_cstr(out, "\r\n");
    for (size_t r = 0; r < table->row_count; r++) {
        const struct table_cell *row = table_row(table, r);

        for (size_t c = 0; c < table->column_count; c++) {
            if (c > 0)
                buf_append_char(out, ',');
            append_cell(out, &table->columns[c], &row[c]);
        }
        buf_append_cstr(out, "\r\n");
    }
}

static void append_cell(struct buf *out, const struct table_column *column,
                        const struct table_cell *cell)
{
    if (!cell->has) {
        buf_append_cstr(out, column->kind == TABLE_ENTRY ? ",," : "");
        return;
    }
    switch (column->kind) {
    case TABLE_TEXT:
    case TABLE_DATE: csv_append_cell(out, str_from_cstr(cell->text)); break;
    case TABLE_ENTRY:
        buf_appendf(out, "%" PRId64 ",", cell->integer);
        csv_append_cell(out, str_from_cstr(cell->text));
        buf_append_char(out, ',');
        csv_append_cell(out, str_from_cstr(cell->sub == NULL ? "" : cell->sub));
        break;
    case TABLE_RUN:
    case TABLE_BYTES:
    case TABLE_COUNT: buf_appendf(out, "%" PRId64, cell->integer); break;
    case TABLE_FLAG: buf_append_cstr(out, cell->integer != 0 ? "true" : "false"); break;
    case TABLE_NUMBER:
    case TABLE_SECONDS:
    case TABLE_USD:
    case TABLE_SHARE:
    case TABLE_RATIO:
    case TABLE_BYTE_RATE:
    case TABLE_FLOP_RATE: buf_appendf(out, "%.9g", cell->number); break;
    }
}
