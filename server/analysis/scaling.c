/* server/analysis/scaling.c: what more devices bring, among entries of one author, framework and device model
 * (trials.h). Linear would be as many times faster as there are devices.
 * Source: Coleman et al., arXiv 1806.01427, section 4 (scaling, communication); measures.md (scaling efficiency,
 * communication share: 1 - t_1 / t_n of a step with the same batch per device, which is 1 - efficiency per epoch). */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "server/analysis/trials.h"

static const struct table_column columns[] = {
    {"group", "System", TABLE_TEXT, TABLE_ALWAYS},
    {"entry", "Entry", TABLE_ENTRY, TABLE_MID},
    {"devices", "Devices", TABLE_COUNT, TABLE_ALWAYS},
    {"per_epoch_s", "Per epoch", TABLE_SECONDS, TABLE_MID},
    {"tta_s", "TTA", TABLE_SECONDS, TABLE_ALWAYS},
    {"linear", "Linear", TABLE_RATIO, TABLE_MID},
    {"throughput_speedup", "Faster per epoch", TABLE_RATIO, TABLE_ALWAYS},
    {"tta_speedup", "Faster to the target", TABLE_RATIO, TABLE_ALWAYS},
    {"throughput_efficiency", "Efficiency per epoch", TABLE_SHARE, TABLE_MID},
    {"tta_efficiency", "Efficiency to the target", TABLE_SHARE, TABLE_MID},
    {"communication_share", "Not computing, at most", TABLE_SHARE, TABLE_MID},
};

static bool is_known(const struct trial_entry *entry)
{
    const struct entry_record *record = entry->entry;

    return trial_tells_epochs(entry) && record->devices.has && record->device_model != NULL &&
           record->device_model[0] != '\0';
}

static int compare_groups(const struct entry_record *a, const struct entry_record *b)
{
    int order = strcmp(a->author, b->author);

    if (order == 0)
        order = strcmp(a->framework, b->framework);
    return order == 0 ? strcmp(a->device_model, b->device_model) : order;
}

/* By group, then devices; of equal ones the fastest to the target is first and stands for them. */
static int compare(const void *left, const void *right)
{
    const struct trial_entry *a = *(const struct trial_entry *const *)left,
                             *b = *(const struct trial_entry *const *)right;
    const int order = compare_groups(a->entry, b->entry);

    if (order != 0)
        return order;
    if (a->entry->devices.value != b->entry->devices.value)
        return a->entry->devices.value < b->entry->devices.value ? -1 : 1;
    if (a->tta_s < b->tta_s || a->tta_s > b->tta_s)
        return a->tta_s < b->tta_s ? -1 : 1;
    return (a->entry->id > b->entry->id) - (a->entry->id < b->entry->id);
}

struct summary {
    size_t groups;
    double worst; /* efficiency per epoch */
    const struct trial_entry *worst_entry;
};

static void fill_row(const struct trial_entry *entry, const struct trial_entry *base,
                     const char *group, struct table *table, struct summary *summary)
{
    struct table_cell *row = table_add_row(table);
    const double linear = (double)entry->entry->devices.value / (double)base->entry->devices.value;
    const double per_epoch = trial_per_epoch(entry->tta_s, entry->epochs);
    const double throughput = trial_per_epoch(base->tta_s, base->epochs) / per_epoch;
    const double tta = base->tta_s / entry->tta_s;

    row[0] = cell_text(group);
    row[1] = cell_id(entry->entry->id, entry->entry->model, entry->entry->author);
    row[2] = cell_count(entry->entry->devices.value);
    row[3] = cell_number(per_epoch);
    row[4] = cell_number(entry->tta_s);
    row[5] = cell_number(linear);
    row[6] = cell_number(throughput);
    row[7] = cell_number(tta);
    if (entry == base)
        return;
    row[8] = cell_number(throughput / linear);
    row[9] = cell_number(tta / linear);
    row[10] = cell_if(throughput < linear, cell_number(1.0 - throughput / linear));
    if (summary->worst_entry == NULL || throughput / linear < summary->worst) {
        summary->worst = throughput / linear;
        summary->worst_entry = entry;
    }
}

/* One group of `count` entries with two numbers of devices or more. */
static enum status fill_group(const struct trial_entry *const *group, size_t count,
                              struct arena *arena, struct table *table, struct summary *summary,
                              struct error *err)
{
    const struct entry_record *record = group[0]->entry;
    const char *name =
        arena_printf(arena, "%s, %s, %s", record->author, record->framework, record->device_model);
    int64_t before = 0;

    if (name == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for an analysis");
    summary->groups++;
    for (size_t i = 0; i < count; i++) {
        if (group[i]->entry->devices.value != before)
            fill_row(group[i], group[0], name, table, summary);
        before = group[i]->entry->devices.value;
    }
    return ST_OK;
}

static const char *make_lead(struct arena *arena, const struct summary *summary)
{
    if (summary->groups == 0)
        return "No author has entries with the same devices in two numbers: nothing is known about "
               "scaling.";
    assert(summary->worst_entry != NULL);
    return arena_printf(
        arena,
        "%zu system%s with several numbers of devices; per epoch the farthest from linear "
        "is %.*s on %lld devices, with %.1f %% of what linear would give.",
        summary->groups, summary->groups == 1 ? "" : "s",
        name_cut(summary->worst_entry->entry->model, NAME_BYTES),
        summary->worst_entry->entry->model, (long long)summary->worst_entry->entry->devices.value,
        100.0 * summary->worst);
}

enum status scaling_build(const struct trial_entry *entries, size_t count, struct arena *arena,
                          struct analysis *analysis, struct error *err)
{
    const struct trial_entry **known = ARENA_NEW_ARRAY(arena, count, const struct trial_entry *);
    struct table *table = &analysis->parts[0].table;
    struct summary summary = {0};
    size_t known_count = 0, next;
    enum status status;

    *analysis = (struct analysis){.part_count = 1};
    analysis->parts[0] = (struct analysis_part){
        .key = "items",
        .title = "Speed-up over devices",
        .caption =
            "Against the fewest devices of the same author, framework and device. Not computing, "
            "at "
            "most: 1 - efficiency per epoch, the share of communication if nothing else keeps the "
            "system from linear and the batch per device is the same.",
        .empty = "There is nothing to compare yet.",
        .chart = {.kind = "line",
                  .x = "linear",
                  .y = "throughput_speedup",
                  .series = "group",
                  .x_title = "Devices, times as many",
                  .y_title = "Speed-up per epoch",
                  .log_x = true,
                  .log_y = true,
                  .diagonal = true},
    };
    if (known == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for an analysis");
    for (size_t i = 0; i < count; i++)
        if (is_known(&entries[i]))
            known[known_count++] = &entries[i];
    qsort(known, known_count, sizeof known[0], /* NOLINT(bugprone-sizeof-expression): pointers */
          compare);
    status = table_init(table, arena, columns, ARRAY_LEN(columns), known_count, err);
    for (size_t i = 0; i < known_count && status == ST_OK; i = next) {
        next = i + 1;
        while (next < known_count && compare_groups(known[i]->entry, known[next]->entry) == 0)
            next++;
        if (known[i]->entry->devices.value != known[next - 1]->entry->devices.value)
            status = fill_group(known + i, next - i, arena, table, &summary, err);
    }
    analysis->lead = status == ST_OK ? make_lead(arena, &summary) : NULL;
    if (status == ST_OK && analysis->lead == NULL)
        status = error_set(err, ST_NO_MEMORY, NULL, "no memory for an analysis");
    return status;
}
