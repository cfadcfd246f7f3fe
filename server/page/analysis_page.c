/* server/page/analysis_page.c: see analysis_page.h. */
#include "server/page/analysis_page.h"

#include <inttypes.h>
#include <string.h>

#include "common/clock.h"
#include "server/page/figure.h"
#include "server/page/format.h"
#include "server/page/measure_view.h"

#define LABEL_BYTES 100 /* of a choice */
#define CHOICES_MAX 500 /* entries to compare with */

static const char *const words_of_kind[ANALYSIS_COUNT] = {
    [ANALYSIS_TRADEOFF] = "Who is fast for little money: cost against time to accuracy.",
    [ANALYSIS_VARIANCE] = "How much time to accuracy varies from run to run, and why.",
    [ANALYSIS_THROUGHPUT] = "Whether more examples a second mean less time to accuracy.",
    [ANALYSIS_SCALING] = "What more devices bring, beside linear scaling.",
    [ANALYSIS_GENERALISATION] = "How models do on data that nobody has trained or tuned on.",
};

/* The formulas of each. */
static const char *const how_of_kind[ANALYSIS_COUNT] = {
    [ANALYSIS_TRADEOFF] = "/docs/measures#cost-against-time",
    [ANALYSIS_VARIANCE] = "/docs/measures#spread-of-the-runs",
    [ANALYSIS_THROUGHPUT] = "/docs/measures#throughput-against-time",
    [ANALYSIS_SCALING] = "/docs/measures#scaling",
    [ANALYSIS_GENERALISATION] = "/docs/measures#generalisation-gap",
};

static void fill_choices(struct arena *arena, const struct analysis_page *data,
                         struct analysis_view *view);
static enum status fill_history(struct arena *arena, const struct history_page *data, size_t board,
                                struct analysis_part *part);
static const char *history_lead(struct arena *arena, const struct history_page *data);

struct tabs_view analysis_tabs(struct arena *arena, const struct task *task, const char *current)
{
    struct link_view *links = ARENA_NEW_ARRAY(arena, ANALYSIS_COUNT + 2, struct link_view);
    struct tabs_view view = {.label = STR("Analyses"), .small = current == NULL, .links = links};

    if (links == NULL)
        return view;
    if (current != NULL)
        links[view.links_count++] =
            (struct link_view){STR("Board"), format_text(arena, "/tasks/%s", task->id), false};
    links[view.links_count++] =
        (struct link_view){STR("History"), format_text(arena, "/tasks/%s/history", task->id),
                           current != NULL && strcmp(current, "history") == 0};
    for (int kind = 0; task->phase == TASK_TRAIN && kind < ANALYSIS_COUNT; kind++) {
        const char *name = analysis_name((enum analysis_kind)kind);

        links[view.links_count++] =
            (struct link_view){str_from_cstr(analysis_title((enum analysis_kind)kind)),
                               format_text(arena, "/tasks/%s/%s", task->id, name),
                               current != NULL && strcmp(current, name) == 0};
    }
    return view;
}

/* Chart.js comes where there is something to draw. */
static void draw_analysis(struct buf *out, struct analysis_view *view)
{
    for (size_t i = 0; i < view->figures_count; i++)
        if (view->figures[i].kind.len > 0 && view->figures[i].rows_count > 0)
            view->page.chart = true;
    template_analysis(out, view);
}

void page_render_analysis(struct buf *out, const struct page_frame *frame,
                          const struct analysis_page *data)
{
    struct arena *arena = frame->arena;
    const char *name = analysis_name(data->kind);
    const struct page_title title = {
        .title = format_text(arena, "%s, %s", analysis_title(data->kind), data->task->title),
        .description = str_from_cstr(words_of_kind[data->kind]),
        .section = SECTION_TASKS,
        .script = "figure.js",
    };
    struct figure_view *figures =
        ARENA_NEW_ARRAY(arena, data->analysis->part_count, struct figure_view);
    struct str address = format_text(arena, "/v1/analysis/%s?task=%s", name, data->task->id);
    const struct tabs_view tabs = analysis_tabs(arena, data->task, name);
    struct analysis_view view = {
        .page = layout_make(frame, &title),
        .heading = str_from_cstr(analysis_title(data->kind)),
        .task = str_from_cstr(data->task->title),
        .task_href = format_text(arena, "/tasks/%s", data->task->id),
        .lead = str_from_cstr(data->analysis->lead),
        .how_href = str_from_cstr(how_of_kind[data->kind]),
        .figures = figures,
    };

    if (data->base != 0)
        address = format_text(arena, "%.*s&base=%" PRId64, STR_ARG(address), data->base);
    view.json_href = address;
    view.tabs = &tabs;
    view.tabs_count = 1;
    for (size_t i = 0; figures != NULL && i < data->analysis->part_count; i++) {
        struct str csv = format_text(arena, "%.*s&format=csv", STR_ARG(address));

        if (i > 0)
            csv = format_text(arena, "%.*s&part=%s", STR_ARG(csv), data->analysis->parts[i].key);
        figures[view.figures_count++] = figure_make(arena, &data->analysis->parts[i], csv);
    }
    if (data->kind == ANALYSIS_THROUGHPUT)
        fill_choices(arena, data, &view);
    draw_analysis(out, &view);
}

/* Every row of the table can be the base. */
static void fill_choices(struct arena *arena, const struct analysis_page *data,
                         struct analysis_view *view)
{
    const struct table *table = &data->analysis->parts[0].table;
    const size_t rows = table->row_count < CHOICES_MAX ? table->row_count : CHOICES_MAX;
    const size_t speedup = table_find(table, "throughput_speedup");
    struct base_choice_view *choices = ARENA_NEW_ARRAY(arena, rows, struct base_choice_view);

    for (size_t i = 0; choices != NULL && i < rows; i++) {
        const struct table_cell *row = table_row(table, i);

        choices[view->choices_count++] = (struct base_choice_view){
            .label = format_text(arena, "%.*s (%.*s)", name_cut(row[0].text, LABEL_BYTES),
                                 row[0].text, name_cut(row[0].sub, NAME_BYTES), row[0].sub),
            .value = format_text(arena, "%" PRId64, row[0].integer),
            .current = data->base != 0
                           ? row[0].integer == data->base
                           : !(row[speedup].number < 1.0) && !(row[speedup].number > 1.0),
        };
    }
    view->choices = choices;
    view->action = format_text(arena, "/tasks/%s/throughput", data->task->id);
    view->choice_name = STR("base");
    view->choice_label = STR("Compared with");
}

static const struct table_column history_columns[] = {
    {"from", "From", TABLE_DATE, TABLE_ALWAYS},
    {"to", "To", TABLE_DATE, TABLE_MID},
    {"entry", "Entry", TABLE_ENTRY, TABLE_ALWAYS},
    {"value", "Time", TABLE_SECONDS, TABLE_ALWAYS},
    {"improvement", "Better by", TABLE_RATIO, TABLE_MID},
    {"p", "p", TABLE_NUMBER, TABLE_MID},
};

void page_render_roofline(struct buf *out, const struct page_frame *frame,
                          const struct roofline_page *data)
{
    struct arena *arena = frame->arena;
    const struct page_title title = {
        .title = format_text(arena, "Roofline, run %" PRId64, data->run),
        .description = STR("Where the time of a training step goes, and what its host allows."),
        .section = SECTION_TASKS,
        .script = "figure.js",
        .chart = true,
    };
    const struct analysis *analysis = data->analysis;
    const struct str address = format_text(arena, "/v1/analysis/roofline?run=%" PRId64, data->run);
    struct figure_view *figures = ARENA_NEW_ARRAY(arena, analysis->part_count, struct figure_view);
    struct analysis_view view = {
        .page = layout_make(frame, &title),
        .heading = STR("Roofline"),
        .task = format_text(arena, "Run %" PRId64 " of %s", data->run, data->entry),
        .task_href = format_text(arena, "/runs/%" PRId64, data->run),
        .lead = str_from_cstr(analysis->lead),
        .how_href = STR("/docs/measures#roofline"),
        .json_href = address,
        .figures = figures,
    };

    for (size_t i = 0; figures != NULL && i < analysis->part_count; i++)
        figures[view.figures_count++] =
            figure_make(arena, &analysis->parts[i],
                        format_text(arena, "%.*s&format=csv&part=%s", STR_ARG(address),
                                    analysis->parts[i].key));
    view.facts = figure_facts(arena, &analysis->facts, &view.facts_count);
    template_analysis(out, &view);
}

void page_render_history(struct buf *out, const struct page_frame *frame,
                         const struct history_page *data)
{
    struct arena *arena = frame->arena;
    const struct page_title title = {
        .title = format_text(arena, "History, %s", data->task->title),
        .description = STR("The record's stairs: who held it when, and by how much it fell."),
        .section = SECTION_TASKS,
        .script = "figure.js",
    };
    struct figure_view *figures = ARENA_NEW_ARRAY(arena, data->board_count, struct figure_view);
    const struct tabs_view tabs = analysis_tabs(arena, data->task, "history");
    struct analysis_view view = {
        .page = layout_make(frame, &title),
        .heading = STR("History"),
        .task = str_from_cstr(data->task->title),
        .task_href = format_text(arena, "/tasks/%s", data->task->id),
        .lead = layout_text(history_lead(arena, data)),
        .json_href = format_text(arena, "/v1/leaderboards/%s/records", data->task->id),
        .figures = figures,
        .how_href = STR("/docs/measures#records"),
    };

    view.tabs = &tabs;
    view.tabs_count = 1;
    for (size_t i = 0; figures != NULL && i < data->board_count; i++) {
        struct analysis_part part;

        if (fill_history(arena, data, i, &part) == ST_OK)
            figures[view.figures_count++] = figure_make(arena, &part, STR(""));
    }
    draw_analysis(out, &view);
}

static enum status fill_history(struct arena *arena, const struct history_page *data, size_t board,
                                struct analysis_part *part)
{
    static const struct {
        const char *key, *title, *axis, *column;
        enum table_kind kind;
        double one; /* of the unit, in the board's integers */
    } kinds[] = {
        [BOARD_TIME] = {"time", "The record in time", "Time to accuracy, s", "Time", TABLE_SECONDS,
                        1e9},
        [BOARD_COST] = {"cost", "The record in cost", "Cost, USD", "Cost", TABLE_USD, 1e12},
        [BOARD_LATENCY] = {"latency", "The record in latency", "Latency, ms", "Latency, ms",
                           TABLE_NUMBER, 1e6},
        [BOARD_INFERENCE_COST] = {"inference-cost", "The record in cost of an item",
                                  "USD for an item", "USD an item", TABLE_NUMBER, 1e12},
        [BOARD_ENERGY] = {"energy", "The record in energy", "Energy, J", "Energy, J", TABLE_NUMBER,
                          1e6},
    };
    const enum board_by by = data->boards[board].by;
    struct table_column *columns =
        ARENA_NEW_ARRAY(arena, ARRAY_LEN(history_columns), struct table_column);

    *part = (struct analysis_part){
        .key = kinds[by].key,
        .title = kinds[by].title,
        .caption = "Each record as long as it was held; better by: the value of the one before "
                   "over this one.",
        .empty = "Nobody has held this record yet.",
        .chart =
            {.kind = "steps", .x = "from", .y = "value", .y_title = kinds[by].axis, .log_y = true},
    };
    if (columns == NULL)
        return ST_NO_MEMORY;
    memcpy(columns, history_columns, sizeof history_columns);
    columns[3].kind = kinds[by].kind;
    columns[3].title = kinds[by].column;
    if (table_init(&part->table, arena, columns, ARRAY_LEN(history_columns),
                   data->boards[board].count, NULL) != ST_OK)
        return ST_NO_MEMORY;
    for (size_t i = 0; i < data->boards[board].count; i++) {
        const struct record *record = &data->boards[board].records[i];
        struct table_cell *row = table_add_row(&part->table);
        char date[CLOCK_TEXT_BYTES];

        clock_format_days(record->from_days, date);
        row[0] = cell_text(arena_copy(arena, str_from_cstr(date)));
        if (record->has_to) {
            clock_format_days(record->to_days, date);
            row[1] = cell_text(arena_copy(arena, str_from_cstr(date)));
        }
        row[2] = cell_id(record->row->entry, record->row->model, record->row->author);
        row[3] = cell_number((double)record->value / kinds[by].one);
        row[4] = cell_if(record->has_before, cell_number(record->improvement));
        row[5] = cell_if(record->has_welch, cell_number(record->welch.p));
    }
    return ST_OK;
}

/* Of the first board, which is the one by time or latency. */
static const char *history_lead(struct arena *arena, const struct history_page *data)
{
    const size_t count = data->board_count == 0 ? 0 : data->boards[0].count;
    const struct record *first, *last;
    struct str from, to;
    char date[CLOCK_TEXT_BYTES], last_date[CLOCK_TEXT_BYTES];

    if (count == 0)
        return "Nobody has held this record yet.";
    first = &data->boards[0].records[0];
    last = &data->boards[0].records[count - 1];
    clock_format_days(first->from_days, date);
    clock_format_days(last->from_days, last_date);
    from = measure_shown(arena, data->boards[0].by, first->value);
    to = measure_shown(arena, data->boards[0].by, last->value);
    if (count == 1)
        return arena_printf(arena, "One entry has held the record, with %.*s since %s.",
                            STR_ARG(from), date);
    return arena_printf(
        arena, "The record went from %.*s (%s) to %.*s (%s) in %zu steps: %.4g times better.",
        STR_ARG(from), date, STR_ARG(to), last_date, count - 1,
        (double)first->value / (double)last->value);
}

/* A figure for each part. */
static void fill_figures(struct arena *arena, const struct analysis *analysis, struct str csv_href,
                         struct analysis_view *view)
{
    struct figure_view *figures = ARENA_NEW_ARRAY(arena, analysis->part_count, struct figure_view);

    for (size_t i = 0; figures != NULL && i < analysis->part_count; i++)
        figures[view->figures_count++] = figure_make(arena, &analysis->parts[i], csv_href);
    view->figures = figures;
}

void page_render_compare(struct buf *out, const struct page_frame *frame,
                         const struct compare_form *form, const struct analysis *analysis)
{
    static const char *const labels[] = {"By time", "By epoch", "By cost"};
    struct arena *arena = frame->arena;
    const struct page_title title = {
        .title = STR("Runs compared"),
        .description =
            STR("Several runs beside one another: curves, time, throughput, what differs."),
        .section = SECTION_TASKS,
        .script = "figure.js",
    };
    struct link_view *links = ARENA_NEW_ARRAY(arena, ARRAY_LEN(labels), struct link_view);
    struct tabs_view tabs = {.label = STR("Analyses"), .links = links};
    struct analysis_view view = {
        .page = layout_make(frame, &title),
        .heading = title.title,
        .lead = str_from_cstr(analysis->lead),
        .tabs = &tabs,
        .how_href = STR("/docs/measures#comparing-runs"),
    };
    struct str runs = {0};

    for (size_t i = 0; i < form->count; i++)
        runs = i == 0 ? format_text(arena, "%" PRId64, form->runs[i])
                      : format_text(arena, "%.*s,%" PRId64, STR_ARG(runs), form->runs[i]);
    for (size_t i = 0; links != NULL && form->count > 0 && i < ARRAY_LEN(labels); i++)
        links[tabs.links_count++] = (struct link_view){
            str_from_cstr(labels[i]),
            format_text(arena, "/compare?runs=%.*s&x=%s", STR_ARG(runs), compare_axis_names[i]),
            i == (size_t)form->axis};
    view.tabs_count = tabs.links_count > 0;
    if (form->count > 0) {
        view.json_href = format_text(arena, "/v1/analysis/compare?runs=%.*s&x=%s", STR_ARG(runs),
                                     compare_axis_names[form->axis]);
        fill_figures(arena, analysis, STR(""), &view);
    }
    draw_analysis(out, &view);
}

void page_render_paper(struct buf *out, const struct page_frame *frame,
                       const struct analysis *analysis)
{
    const struct page_title title = {
        .title = STR("The paper, tested"),
        .description =
            STR("Each claim of the analysis of DAWNBench, held against the entries here."),
        .section = SECTION_NONE,
        .script = "figure.js",
    };
    struct analysis_view view = {
        .page = layout_make(frame, &title),
        .heading = STR("Analysis of DAWNBench, tested"),
        .task = STR("Coleman et al., arXiv 1806.01427"),
        .task_href = STR("https://arxiv.org/abs/1806.01427"),
        .lead = str_from_cstr(analysis->lead),
        .json_href = STR("/v1/analysis/paper"),
        .how_href = STR("/docs/measures#claims-of-the-paper"),
    };

    fill_figures(frame->arena, analysis, STR("/v1/analysis/paper?format=csv"), &view);
    draw_analysis(out, &view);
}
