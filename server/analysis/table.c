/* server/analysis/table.c: tables of typed cells (see table.h). */
#include "server/analysis/table.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum status table_init(struct table *table, struct arena *arena, const struct table_column *columns,
                       size_t column_count, size_t row_capacity, struct error *err)
{
    size_t cells;

    assert(column_count <= TABLE_COLUMNS_MAX);
    *table = (struct table){
        .columns = columns, .column_count = column_count, .row_capacity = row_capacity};
    if (!__builtin_mul_overflow(column_count, row_capacity, &cells))
        table->cells = ARENA_NEW_ARRAY(arena, cells, struct table_cell);
    return table->cells == NULL ? error_set(err, ST_NO_MEMORY, NULL, "no memory for an analysis")
                                : ST_OK;
}

struct table_cell *table_add_row(struct table *table)
{
    assert(table->row_count < table->row_capacity);
    return table->cells + table->column_count * table->row_count++;
}

const struct table_cell *table_row(const struct table *table, size_t row)
{
    assert(row < table->row_count);
    return table->cells + table->column_count * row;
}

size_t table_find(const struct table *table, const char *key)
{
    size_t i = 0;

    while (i < table->column_count && strcmp(table->columns[i].key, key) != 0)
        i++;
    assert(i < table->column_count);
    return i;
}

struct table_cell cell_text(const char *text)
{
    return (struct table_cell){.has = text != NULL, .text = text};
}

struct table_cell cell_id(int64_t id, const char *text, const char *sub)
{
    return (struct table_cell){.has = true, .integer = id, .text = text, .sub = sub};
}

struct table_cell cell_count(int64_t count)
{
    return (struct table_cell){.has = true, .integer = count};
}

struct table_cell cell_number(double number)
{
    return isfinite(number) ? (struct table_cell){.has = true, .number = number}
                            : (struct table_cell){0};
}

struct table_cell cell_range(struct table_cell number, double low, double high)
{
    number.has_range = number.has && isfinite(low) && isfinite(high);
    number.low = low;
    number.high = high;
    return number;
}

int name_cut(const char *name, size_t bytes_max)
{
    return name == NULL ? 0 : (int)str_utf8_cut(str_from_cstr(name), bytes_max);
}

struct table_cell cell_if(bool has, struct table_cell cell)
{
    return has ? cell : (struct table_cell){0};
}
