/* server/analysis/compare.c: runs beside one another (see compare.h). */
#include "server/analysis/compare.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/str.h"
#include "server/analysis/trials.h"

#define S_PER_HOUR  3600.0
#define FACTS_MAX   64
#define VALUE_BYTES 200

static const struct table_column item_columns[] = {
    {"run", "Run", TABLE_RUN, TABLE_ALWAYS},
    {"entry", "Entry", TABLE_ENTRY, TABLE_ALWAYS},
    {"task", "Task", TABLE_TEXT, TABLE_MID},
    {"state", "State", TABLE_TEXT, TABLE_MID},
    {"tta_s", "TTA", TABLE_SECONDS, TABLE_ALWAYS},
    {"epochs", "Epochs", TABLE_NUMBER, TABLE_MID},
    {"per_epoch_s", "Per epoch", TABLE_SECONDS, TABLE_MID},
    {"throughput_speedup", "Faster per epoch", TABLE_RATIO, TABLE_ALWAYS},
    {"tta_speedup", "Faster to the target", TABLE_RATIO, TABLE_ALWAYS},
};
static const struct table_column curve_columns[] = {
    {"run", "Run", TABLE_RUN, TABLE_ALWAYS},         {"label", "Curve", TABLE_TEXT, TABLE_MID},
    {"epoch", "Epoch", TABLE_NUMBER, TABLE_ALWAYS},  {"x", "x", TABLE_NUMBER, TABLE_ALWAYS},
    {"value", "Metric", TABLE_NUMBER, TABLE_ALWAYS},
};
static const struct {
    const char *title;
    enum table_kind kind;
} axes[] = {
    [COMPARE_TIME] = {"Time, s", TABLE_SECONDS},
    [COMPARE_EPOCH] = {"Epoch", TABLE_NUMBER},
    [COMPARE_COST] = {"Cost, USD", TABLE_USD},
};

/* The facts of all runs: value[fact][run]; NULL: the run does not tell. */
struct facts {
    const char *names[FACTS_MAX];
    const char *values[FACTS_MAX][COMPARE_RUNS_MAX];
    size_t count;
};

static enum status fill_items(const struct compare_run *runs, size_t count, struct arena *arena,
                              struct table *table, struct error *err);
static enum status fill_differences(const struct compare_run *runs, size_t count,
                                    struct arena *arena, struct table *table, struct error *err);
static enum status fill_curves(const struct compare_run *runs, size_t count, enum compare_axis axis,
                               struct arena *arena, struct table *table, struct error *err);
static bool spans_decades(const struct table *curves);
static const char *make_lead(const struct compare_run *runs, size_t count, struct arena *arena,
                             const struct table *items, const struct table *differences);

enum status compare_build(const struct compare_run *runs, size_t count, enum compare_axis axis,
                          struct arena *arena, struct analysis *analysis, struct error *err)
{
    struct analysis_part *parts = analysis->parts;
    enum status status;

    *analysis = (struct analysis){.part_count = 3};
    parts[0] = (struct analysis_part){
        .key = "curves",
        .rows_max = (size_t)COMPARE_RUNS_MAX * COMPARE_EPOCHS_MAX,
        .title = "Curves",
        .caption = "Every evaluation is a point; nothing is smoothed.",
        .empty = "None of these runs has an evaluation that can be drawn so.",
        .chart = {.kind = "line",
                  .x = "x",
                  .y = "value",
                  .series = "label",
                  .x_title = axes[axis].title,
                  .y_title = "Metric of the task"}};
    parts[1] = (struct analysis_part){
        .key = "items",
        .title = "Time and throughput",
        .caption = "Speed-ups are relative to the first run that reached the target.",
        .empty = "No run is chosen."};
    parts[2] = (struct analysis_part){.key = "differences",
                                      .title = "What differs",
                                      .caption = "What all of them have in common is left out.",
                                      .empty = "Nothing that is known of them differs."};
    status = fill_curves(runs, count, axis, arena, &parts[0].table, err);
    if (status == ST_OK)
        status = fill_items(runs, count, arena, &parts[1].table, err);
    if (status == ST_OK)
        status = fill_differences(runs, count, arena, &parts[2].table, err);
    if (status != ST_OK)
        return status;
    parts[0].chart.log_x = spans_decades(&parts[0].table);
    analysis->lead = make_lead(runs, count, arena, &parts[1].table, &parts[2].table);
    return analysis->lead == NULL ? error_set(err, ST_NO_MEMORY, NULL, "no memory for an analysis")
                                  : ST_OK;
}

static bool read_number(const char *text, double *value)
{
    return text != NULL && str_parse_double(str_from_cstr(text), value);
}

/* Epochs trained at the crossing. */
static double epochs_of(const struct compare_run *run)
{
    double smallest = 0.0, label;
    bool has_label = false;

    for (size_t i = 0; i < run->epoch_count; i++)
        if (read_number(run->epochs[i].label, &label) && (!has_label || label < smallest)) {
            smallest = label;
            has_label = true;
        }
    return trial_epochs(run->entry, run->run->tta_epoch_text, smallest);
}

static enum status fill_items(const struct compare_run *runs, size_t count, struct arena *arena,
                              struct table *table, struct error *err)
{
    double base_tta = 0.0, base_per_epoch = 0.0;
    enum status status =
        table_init(table, arena, item_columns, ARRAY_LEN(item_columns), count, err);

    for (size_t i = 0; i < count && status == ST_OK; i++) {
        const struct run_record *run = runs[i].run;
        struct table_cell *row = table_add_row(table);
        const double tta = run->tta_ns.has ? (double)run->tta_ns.value * 1e-9 : 0.0;
        const double epochs = epochs_of(&runs[i]);
        const double per_epoch = epochs > 0.0 ? tta / epochs : 0.0;

        if (!(base_tta > 0.0) && tta > 0.0) {
            base_tta = tta;
            base_per_epoch = per_epoch;
        }
        row[0] = cell_id(run->id, arena_printf(arena, "%" PRId64, run->id), NULL);
        row[1] = cell_id(runs[i].entry->id, runs[i].entry->model, runs[i].entry->author);
        row[2] = cell_text(run->task);
        row[3] = cell_text(run->state);
        row[4] = cell_if(tta > 0.0, cell_number(tta));
        row[5] = cell_if(tta > 0.0 && epochs > 0.0, cell_number(epochs));
        row[6] = cell_if(per_epoch > 0.0, cell_number(per_epoch));
        row[7] = cell_if(per_epoch > 0.0 && base_per_epoch > 0.0,
                         cell_number(base_per_epoch / per_epoch));
        row[8] = cell_if(tta > 0.0, cell_number(base_tta / tta));
    }
    return status;
}

/* ---- what differs ---- */

static void put_fact(struct facts *facts, const char *name, size_t run, const char *value)
{
    size_t i = 0;

    if (name == NULL || value == NULL || value[0] == '\0')
        return;
    while (i < facts->count && strcmp(facts->names[i], name) != 0)
        i++;
    if (i == FACTS_MAX)
        return;
    if (i == facts->count)
        facts->names[facts->count++] = name;
    facts->values[i][run] = value;
}

/* A member of misc as one short text; objects and arrays are no facts to compare. */
static const char *text_of(struct arena *arena, const json_t *value)
{
    if (json_is_string(value))
        return arena_printf(arena, "%.*s",
                            (int)str_utf8_cut(str_from_cstr(json_string_value(value)), VALUE_BYTES),
                            json_string_value(value));
    if (json_is_integer(value))
        return arena_printf(arena, "%lld", (long long)json_integer_value(value));
    if (json_is_real(value))
        return arena_printf(arena, "%.9g", json_real_value(value));
    return json_is_boolean(value) ? (json_is_true(value) ? "true" : "false") : NULL;
}

static void put_misc(struct facts *facts, size_t run, const char *misc_json, struct arena *arena)
{
    struct json_doc doc = {0};
    const char *key;
    const json_t *value;

    if (misc_json == NULL || json_doc_parse(str_from_cstr(misc_json), arena, &doc, NULL) != ST_OK)
        return;
    json_object_foreach(doc.root, key, value)
        put_fact(facts, arena_copy(arena, str_from_cstr(key)), run, text_of(arena, value));
    json_doc_fini(&doc);
}

static void put_run(struct facts *facts, size_t i, const struct compare_run *run,
                    struct arena *arena)
{
    const struct entry_record *entry = run->entry;

    put_fact(facts, "task", i, run->run->task);
    put_fact(facts, "model", i, entry->model);
    put_fact(facts, "author", i, entry->author);
    put_fact(facts, "hardware", i, entry->hardware);
    put_fact(facts, "framework", i, entry->framework);
    put_fact(facts, "device", i, entry->device_model);
    if (entry->devices.has)
        put_fact(facts, "devices", i, arena_printf(arena, "%" PRId64, entry->devices.value));
    put_fact(facts, "cost per hour, USD", i, entry->cost_per_hour_text);
    put_fact(facts, "tier", i, entry->tier);
    if (run->run->seed.has)
        put_fact(facts, "seed", i, arena_printf(arena, "%" PRId64, run->run->seed.value));
    else
        put_fact(facts, "seed", i, run->run->seed_text);
    put_fact(facts, "plan", i, run->run->plan);
    put_misc(facts, i, entry->misc_json, arena);
}

static bool is_same(const char *const *values, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if ((values[i] == NULL) != (values[0] == NULL) ||
            (values[0] != NULL && strcmp(values[i], values[0]) != 0))
            return false;
    return true;
}

static enum status fill_differences(const struct compare_run *runs, size_t count,
                                    struct arena *arena, struct table *table, struct error *err)
{
    struct table_column *columns = ARENA_NEW_ARRAY(arena, count + 1, struct table_column);
    struct facts *facts = ARENA_NEW(arena, struct facts);
    enum status status;

    if (columns == NULL || facts == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for an analysis");
    columns[0] = (struct table_column){"fact", "Fact", TABLE_TEXT, TABLE_ALWAYS};
    for (size_t i = 0; i < count; i++) {
        columns[i + 1] = (struct table_column){arena_printf(arena, "run_%" PRId64, runs[i].run->id),
                                               arena_printf(arena, "Run %" PRId64, runs[i].run->id),
                                               TABLE_TEXT, TABLE_ALWAYS};
        if (columns[i + 1].key == NULL || columns[i + 1].title == NULL)
            return error_set(err, ST_NO_MEMORY, NULL, "no memory for an analysis");
        put_run(facts, i, &runs[i], arena);
    }
    status = table_init(table, arena, columns, count + 1, facts->count, err);
    for (size_t f = 0; f < facts->count && status == ST_OK; f++) {
        struct table_cell *row;

        if (is_same(facts->values[f], count))
            continue;
        row = table_add_row(table);
        row[0] = cell_text(facts->names[f]);
        for (size_t i = 0; i < count; i++)
            row[i + 1] = cell_text(facts->values[f][i]);
    }
    return status;
}

/* ---- the curves ---- */

/* False: it cannot be drawn along this axis. */
static bool read_x(const struct compare_run *run, const struct epoch_record *epoch,
                   enum compare_axis axis, double *x)
{
    const double seconds = (double)epoch->official_ns * 1e-9;
    double price;

    if (axis == COMPARE_EPOCH)
        return read_number(epoch->label, x);
    *x = seconds;
    if (axis == COMPARE_TIME)
        return true;
    if (!read_number(run->entry->cost_per_hour_text, &price))
        return false;
    *x = seconds / S_PER_HOUR * price;
    return true;
}

static enum status fill_curves(const struct compare_run *runs, size_t count, enum compare_axis axis,
                               struct arena *arena, struct table *table, struct error *err)
{
    struct table_column *columns =
        ARENA_NEW_ARRAY(arena, ARRAY_LEN(curve_columns), struct table_column);
    size_t rows = 0;
    enum status status;

    if (columns == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for an analysis");
    memcpy(columns, curve_columns, sizeof curve_columns);
    columns[3].title = axes[axis].title;
    columns[3].kind = axes[axis].kind;
    for (size_t i = 0; i < count; i++)
        rows += runs[i].epoch_count < COMPARE_EPOCHS_MAX ? runs[i].epoch_count : COMPARE_EPOCHS_MAX;
    status = table_init(table, arena, columns, ARRAY_LEN(curve_columns), rows, err);
    for (size_t i = 0; i < count && status == ST_OK; i++) {
        const char *label =
            arena_printf(arena, "%" PRId64 ": %.*s", runs[i].run->id,
                         name_cut(runs[i].entry->model, NAME_BYTES), runs[i].entry->model);
        const char *id = arena_printf(arena, "%" PRId64, runs[i].run->id);

        if (label == NULL || id == NULL)
            return error_set(err, ST_NO_MEMORY, NULL, "no memory for an analysis");
        for (size_t e = 0; e < runs[i].epoch_count && e < COMPARE_EPOCHS_MAX; e++) {
            const struct epoch_record *epoch = &runs[i].epochs[e];
            double x, value, epoch_label;
            struct table_cell *row;

            if (!read_x(&runs[i], epoch, axis, &x) || !read_number(epoch->value_text, &value))
                continue;
            row = table_add_row(table);
            row[0] = cell_id(runs[i].run->id, id, NULL);
            row[1] = cell_text(label);
            if (read_number(epoch->label, &epoch_label))
                row[2] = cell_number(epoch_label);
            row[3] = cell_number(x);
            row[4] = cell_number(value);
        }
    }
    return status;
}

/* Whether the longest run is more than ten times as long as the shortest: then a linear axis would hide the short. */
static bool spans_decades(const struct table *curves)
{
    const size_t run = table_find(curves, "run"), x = table_find(curves, "x");
    double shortest = 0.0, longest = 0.0;

    for (size_t r = 0; r < curves->row_count; r++) {
        const struct table_cell *row = table_row(curves, r);
        const bool is_last =
            r + 1 == curves->row_count || table_row(curves, r + 1)[run].integer != row[run].integer;

        if (!(row[x].number > 0.0))
            return false; /* a log axis has no place for it */
        if (!is_last)
            continue;
        if (!(shortest > 0.0) || row[x].number < shortest)
            shortest = row[x].number;
        if (row[x].number > longest)
            longest = row[x].number;
    }
    return longest > 10.0 * shortest;
}

static const char *make_lead(const struct compare_run *runs, size_t count, struct arena *arena,
                             const struct table *items, const struct table *differences)
{
    const size_t tta = table_find(items, "tta_s");
    size_t best = count;

    if (count == 0)
        return "Name the runs to compare in the address: /compare?runs=1,2.";
    for (size_t i = 1; i < count; i++)
        if (strcmp(runs[i].run->task, runs[0].run->task) != 0)
            return "These runs are of different tasks: their metrics and targets are not the same.";
    for (size_t i = 0; i < count; i++)
        if (table_row(items, i)[tta].has &&
            (best == count || table_row(items, i)[tta].number < table_row(items, best)[tta].number))
            best = i;
    if (best == count)
        return arena_printf(arena, "None of %zu runs has reached the target.", count);
    return arena_printf(arena,
                        "Of %zu run%s, run %" PRId64
                        " reached the target first, after %.4g s; they differ in %zu facts.",
                        count, count == 1 ? "" : "s", runs[best].run->id,
                        table_row(items, best)[tta].number, differences->row_count);
}
