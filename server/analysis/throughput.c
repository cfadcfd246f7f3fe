/* server/analysis/throughput.c: is a system that is faster per epoch faster to the target? (trials.h)
 * S_thr / S_tta = E_new / E_ref: what is gained per step is paid in part by epochs. Source: Coleman et al., arXiv
 * 1806.01427, section 3; measures.md (throughput and TTA speedup). */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "server/analysis/trials.h"

static const struct table_column columns[] = {
    {"entry", "Entry", TABLE_ENTRY, TABLE_ALWAYS},
    {"per_epoch_s", "Per epoch", TABLE_SECONDS, TABLE_MID},
    {"epochs", "Epochs", TABLE_NUMBER, TABLE_MID},
    {"tta_s", "TTA", TABLE_SECONDS, TABLE_ALWAYS},
    {"throughput_speedup", "Faster per epoch", TABLE_RATIO, TABLE_ALWAYS},
    {"tta_speedup", "Faster to the target", TABLE_RATIO, TABLE_ALWAYS},
    {"epoch_price", "Epochs against the base", TABLE_RATIO, TABLE_MID},
};

static double per_epoch_of(const struct trial_entry *entry)
{
    return trial_per_epoch(entry->tta_s, entry->epochs);
}

/* By id; 0: the slowest per epoch, the one with the smallest id of equal ones. */
static const struct trial_entry *find_base(const struct trial_entry *entries, size_t count,
                                           int64_t id)
{
    const struct trial_entry *base = NULL;

    for (size_t i = 0; i < count; i++)
        if (trial_tells_epochs(&entries[i]) &&
            (id != 0 ? entries[i].entry->id == id
                     : base == NULL || per_epoch_of(&entries[i]) > per_epoch_of(base)))
            base = &entries[i];
    return base;
}

static const char *make_lead(struct arena *arena, const struct trial_entry *base, size_t faster,
                             size_t paid, size_t others)
{
    if (others == 0)
        return "There are not two entries that tell their epochs: nothing can be compared.";
    assert(base != NULL);
    if (faster == 0)
        return arena_printf(arena, "Of %zu entries compared with %.*s none is faster per epoch.",
                            others, name_cut(base->entry->model, NAME_BYTES), base->entry->model);
    if (paid == 0)
        return arena_printf(arena,
                            "Of %zu entries compared with %.*s, %zu %s faster per epoch, and none "
                            "of those needs more epochs: what is gained in throughput is gained "
                            "in time to accuracy.",
                            others, name_cut(base->entry->model, NAME_BYTES), base->entry->model,
                            faster, faster == 1 ? "is" : "are");
    return arena_printf(arena,
                        "Of %zu entries compared with %.*s, %zu %s faster per epoch; %zu of those "
                        "%s more epochs and %s less in time to accuracy than in throughput.",
                        others, name_cut(base->entry->model, NAME_BYTES), base->entry->model,
                        faster, faster == 1 ? "is" : "are", paid, paid == 1 ? "needs" : "need",
                        paid == 1 ? "gains" : "gain");
}

enum status throughput_build(const struct trial_entry *entries, size_t count, int64_t base_id,
                             struct arena *arena, struct analysis *analysis, struct error *err)
{
    const struct trial_entry *base = find_base(entries, count, base_id);
    struct table *table = &analysis->parts[0].table;
    size_t faster = 0, paid = 0;

    *analysis = (struct analysis){.part_count = 1};
    analysis->parts[0] = (struct analysis_part){
        .key = "items",
        .title = "Speed-up per epoch and to the target",
        .caption = "Below the line y = x: faster per epoch than to the target, the rest is paid in "
                   "epochs.",
        .empty = "No entry tells both its time and its epochs.",
        .chart = {.kind = "scatter",
                  .x = "throughput_speedup",
                  .y = "tta_speedup",
                  .x_title = "Throughput speed-up",
                  .y_title = "TTA speed-up",
                  .log_x = true,
                  .log_y = true,
                  .diagonal = true},
    };
    if (base == NULL && base_id != 0)
        return error_set(err, ST_NOT_FOUND, "base",
                         "entry %lld is not on this board with its time and epochs",
                         (long long)base_id);
    if (table_init(table, arena, columns, ARRAY_LEN(columns), count, err) != ST_OK)
        return ST_NO_MEMORY;
    for (size_t i = 0; base != NULL && i < count; i++) {
        struct table_cell *row;
        double throughput, tta;

        if (!trial_tells_epochs(&entries[i]))
            continue;
        throughput = per_epoch_of(base) / per_epoch_of(&entries[i]);
        tta = base->tta_s / entries[i].tta_s;
        row = table_add_row(table);
        row[0] = cell_id(entries[i].entry->id, entries[i].entry->model, entries[i].entry->author);
        row[1] = cell_number(per_epoch_of(&entries[i]));
        row[2] = cell_number(entries[i].epochs);
        row[3] = cell_number(entries[i].tta_s);
        row[4] = cell_number(throughput);
        row[5] = cell_number(tta);
        row[6] = cell_number(entries[i].epochs / base->epochs);
        faster += throughput > 1.0;
        paid += throughput > 1.0 && entries[i].epochs > base->epochs;
    }
    analysis->lead =
        make_lead(arena, base, faster, paid, table->row_count > 0 ? table->row_count - 1 : 0);
    return analysis->lead == NULL ? error_set(err, ST_NO_MEMORY, NULL, "no memory for an analysis")
                                  : ST_OK;
}
