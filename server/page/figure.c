/* server/page/figure.c: see figure.h. */
#include "server/page/figure.h"

#include <inttypes.h>
#include <math.h>

#include "common/clock.h"
#include "server/page/format.h"

#define FOLDED_ROWS    30 /* more than that hide what stands below the table */
#define NS_MAX         9e18
#define LEAST_DURATION 0.1 /* s; below, three places of a second are too few */
#define PICO_MAX       9e6 /* USD that fit an integer of pico-dollars */

static struct figure_cell_view make_cell(struct arena *arena, const struct table_column *column,
                                         const struct table_cell *cell);
static struct str format_number(struct arena *arena, const struct table_column *column,
                                double number);
static const char *css_of(const struct table_column *column);
static bool is_text(enum table_kind kind);

struct figure_view figure_make(struct arena *arena, const struct analysis_part *part,
                               struct str csv_href)
{
    const struct table *table = &part->table;
    const struct table_chart *chart = &part->chart;
    const size_t most = part->rows_max == 0 ? FIGURE_ROWS_MAX : part->rows_max;
    const size_t rows = table->row_count < most ? table->row_count : most;
    struct figure_head_view *heads =
        ARENA_NEW_ARRAY(arena, table->column_count, struct figure_head_view);
    struct figure_row_view *lines = ARENA_NEW_ARRAY(arena, rows, struct figure_row_view);
    struct figure_view view = {
        .id = str_from_cstr(part->key),
        .title = str_from_cstr(part->title),
        .caption = layout_text(part->caption),
        .empty = layout_text(part->empty),
        .csv_href = csv_href,
        .kind = layout_text(chart->kind),
        .x = layout_text(chart->x),
        .y = layout_text(chart->y),
        .series = layout_text(chart->series),
        .front = layout_text(chart->front),
        .roofs = layout_text(chart->roofs),
        .x_title = layout_text(chart->x_title),
        .y_title = layout_text(chart->y_title),
        .log = layout_text(chart->log_x   ? chart->log_y ? "xy" : "x"
                           : chart->log_y ? "y"
                                          : ""),
        .diagonal = chart->diagonal,
        .rows_words = format_counted(arena, (int64_t)rows, "row", "rows"),
        .folded = chart->kind != NULL && rows > FOLDED_ROWS,
        .heads = heads,
        .rows = lines,
    };

    if (rows < table->row_count)
        view.left_out = format_text(arena, "The first %zu of %zu rows; the CSV has all.", rows,
                                    table->row_count);
    for (size_t c = 0; heads != NULL && c < table->column_count; c++)
        if (table->columns[c].place != TABLE_DATA)
            heads[view.heads_count++] = (struct figure_head_view){
                str_from_cstr(table->columns[c].key), str_from_cstr(table->columns[c].title),
                str_from_cstr(css_of(&table->columns[c]))};
    for (size_t r = 0; lines != NULL && r < rows; r++) {
        struct figure_cell_view *cells =
            ARENA_NEW_ARRAY(arena, table->column_count, struct figure_cell_view);
        size_t count = 0;

        for (size_t c = 0; cells != NULL && c < table->column_count; c++)
            if (table->columns[c].place != TABLE_DATA)
                cells[count++] = make_cell(arena, &table->columns[c], &table_row(table, r)[c]);
        lines[view.rows_count++] = (struct figure_row_view){cells, count};
    }
    return view;
}

struct fact_view *figure_facts(struct arena *arena, const struct table *table, size_t *count)
{
    struct fact_view *facts = ARENA_NEW_ARRAY(arena, table->column_count, struct fact_view);

    *count = 0;
    for (size_t c = 0; facts != NULL && table->row_count > 0 && c < table->column_count; c++) {
        const struct table_cell *cell = &table_row(table, 0)[c];

        if (table->columns[c].place != TABLE_DATA && cell->has)
            facts[(*count)++] = layout_fact(table->columns[c].title,
                                            make_cell(arena, &table->columns[c], cell).shown);
    }
    return facts;
}

static bool is_text(enum table_kind kind)
{
    return kind == TABLE_TEXT || kind == TABLE_ENTRY || kind == TABLE_DATE || kind == TABLE_FLAG;
}

static const char *css_of(const struct table_column *column)
{
    if (column->kind == TABLE_ENTRY)
        return column->place == TABLE_MID ? "who mid" : "who";
    if (is_text(column->kind))
        return column->place == TABLE_MID ? "mid" : "";
    return column->place == TABLE_MID ? "num mid" : "num";
}

static struct figure_cell_view make_cell(struct arena *arena, const struct table_column *column,
                                         const struct table_cell *cell)
{
    struct figure_cell_view view = {.css = str_from_cstr(css_of(column))};

    if (!cell->has)
        return view;
    view.sub = layout_text(cell->sub);
    switch (column->kind) {
    case TABLE_TEXT:
    case TABLE_DATE: view.shown = str_from_cstr(cell->text); break;
    case TABLE_ENTRY:
    case TABLE_RUN:
        view.shown = layout_either(cell->text, "?");
        view.href =
            format_text(arena, column->kind == TABLE_RUN ? "/runs/%" PRId64 : "/entries/%" PRId64,
                        cell->integer);
        break;
    case TABLE_BYTES:
        view.shown = format_scaled(arena, (double)cell->integer, "B");
        view.exact = format_text(arena, "%" PRId64, cell->integer);
        break;
    case TABLE_COUNT:
        view.shown = format_count(arena, cell->integer);
        view.exact = format_text(arena, "%" PRId64, cell->integer);
        break;
    case TABLE_FLAG:
        view.shown = str_from_cstr(cell->integer != 0 ? "yes" : "no");
        view.exact = str_from_cstr(cell->integer != 0 ? "1" : "0");
        break;
    case TABLE_NUMBER:
    case TABLE_SECONDS:
    case TABLE_USD:
    case TABLE_SHARE:
    case TABLE_RATIO:
    case TABLE_BYTE_RATE:
    case TABLE_FLOP_RATE:
        view.shown = format_number(arena, column, cell->number);
        view.exact = format_text(arena, "%.9g", cell->number);
        if (cell->has_range) {
            const struct str low = format_number(arena, column, cell->low);
            const struct str high = format_number(arena, column, cell->high);

            view.sub = format_text(arena, "%.*s to %.*s", STR_ARG(low), STR_ARG(high));
        }
        break;
    }
    return view;
}

/* A number too large for the integers of the other pages keeps its own form. */
static struct str format_number(struct arena *arena, const struct table_column *column,
                                double number)
{
    switch (column->kind) {
    case TABLE_SECONDS:
        if (number >= LEAST_DURATION && number * NS_PER_S < NS_MAX)
            return format_duration(arena, llround(number * NS_PER_S));
        if (number > 0.0 && number < LEAST_DURATION)
            return number < 1e-3 ? format_text(arena, "%.3g \u00B5s", 1e6 * number)
                                 : format_text(arena, "%.3g ms", 1e3 * number);
        return format_text(arena, "%.3g s", number);
    case TABLE_USD:
        return number >= 0.0 && number < PICO_MAX ? format_money(arena, llround(number * 1e12))
                                                  : format_text(arena, "$%.6g", number);
    case TABLE_SHARE: return format_text(arena, "%.2f\u00A0%%", 100.0 * number);
    case TABLE_RATIO:
        return format_text(arena, number < 9.995 ? "%.2f\u00D7" : "%.0f\u00D7", number);
    case TABLE_BYTE_RATE: return format_scaled(arena, number, "B/s");
    case TABLE_FLOP_RATE: return format_scaled(arena, number, "FLOP/s");
    default: return format_text(arena, "%.4g", number);
    }
}
