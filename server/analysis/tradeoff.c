/* server/analysis/tradeoff.c: cost against time, and the Pareto front: the entries that no other beats in one without
 * losing in the other (trials.h). On exact integers, as the boards. */
#include <stdlib.h>

#include "server/analysis/trials.h"

static const struct table_column columns[] = {
    {"entry", "Entry", TABLE_ENTRY, TABLE_ALWAYS},
    {"hardware", "Hardware", TABLE_TEXT, TABLE_MID},
    {"tta_s", "TTA", TABLE_SECONDS, TABLE_ALWAYS},
    {"cost_usd", "Cost", TABLE_USD, TABLE_ALWAYS},
    {"front", "On the front", TABLE_FLAG, TABLE_ALWAYS},
};

static int compare(const void *left, const void *right)
{
    const struct entry_record *a = (*(const struct trial_entry *const *)left)->entry,
                              *b = (*(const struct trial_entry *const *)right)->entry;

    if (a->tta_ns.value != b->tta_ns.value)
        return a->tta_ns.value < b->tta_ns.value ? -1 : 1;
    if (a->cost_pico.value != b->cost_pico.value)
        return a->cost_pico.value < b->cost_pico.value ? -1 : 1;
    return (a->id > b->id) - (a->id < b->id);
}

/* In order of time: on the front is who is cheaper than all before, and who equals the last of those in both. */
static size_t fill_rows(const struct trial_entry *const *known, size_t count, struct table *table)
{
    const struct entry_record *last = NULL;
    size_t on_front = 0;

    for (size_t i = 0; i < count; i++) {
        const struct entry_record *entry = known[i]->entry;
        struct table_cell *row = table_add_row(table);
        const bool front = last == NULL || entry->cost_pico.value < last->cost_pico.value ||
                           (entry->cost_pico.value == last->cost_pico.value &&
                            entry->tta_ns.value == last->tta_ns.value);

        row[0] = cell_id(entry->id, entry->model, entry->author);
        row[1] = cell_text(entry->hardware);
        row[2] = cell_number(known[i]->tta_s);
        row[3] = cell_number((double)entry->cost_pico.value * 1e-12);
        row[4] = cell_count(front);
        if (!front)
            continue;
        last = entry;
        on_front++;
    }
    return on_front;
}

enum status tradeoff_build(const struct trial_entry *entries, size_t count, struct arena *arena,
                           struct analysis *analysis, struct error *err)
{
    const struct trial_entry **known = ARENA_NEW_ARRAY(arena, count, const struct trial_entry *);
    struct table *table = &analysis->parts[0].table;
    size_t known_count = 0, front;

    *analysis = (struct analysis){.part_count = 1};
    analysis->parts[0] = (struct analysis_part){
        .key = "items",
        .title = "Cost against time",
        .caption =
            "The line joins the front: whoever is not on it is beaten in both by somebody who is.",
        .empty = "No entry has both a time and a cost.",
        .chart = {.kind = "scatter",
                  .x = "tta_s",
                  .y = "cost_usd",
                  .x_title = "Time to accuracy, s",
                  .y_title = "Cost, USD",
                  .log_x = true,
                  .log_y = true,
                  .front = "front"},
    };
    if (known == NULL || table_init(table, arena, columns, ARRAY_LEN(columns), count, err) != ST_OK)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for an analysis");
    for (size_t i = 0; i < count; i++)
        if (entries[i].entry->tta_ns.has && entries[i].entry->cost_pico.has &&
            entries[i].entry->cost_reason == NULL)
            known[known_count++] = &entries[i];
    qsort(known, known_count, sizeof known[0], /* NOLINT(bugprone-sizeof-expression): pointers */
          compare);
    front = fill_rows(known, known_count, table);
    analysis->lead =
        known_count == 0
            ? "No entry has both a time and a cost."
            : arena_printf(arena,
                           "%zu of %zu entries %s on the front: nobody is both faster and cheaper.",
                           front, known_count, front == 1 ? "is" : "are");
    return analysis->lead == NULL ? error_set(err, ST_NO_MEMORY, NULL, "no memory for an analysis")
                                  : ST_OK;
}
