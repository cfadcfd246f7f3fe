/* server/analysis/variance.c: how much TTA varies over the runs of each entry, and where that comes from (trials.h).
 * Source: Coleman et al., arXiv 1806.01427, section 4 (variability); measures.md (CV, split of the variance,
 * probability of reaching the target). */
#include <stdlib.h>

#include "common/measure.h"
#include "server/analysis/trials.h"

#define PRECISION 0.05 /* of the mean, to either side: what runs_needed asks for */

static const struct table_column columns[] = {
    {"entry", "Entry", TABLE_ENTRY, TABLE_ALWAYS},
    {"n", "Runs", TABLE_COUNT, TABLE_ALWAYS},
    {"reached", "Reached", TABLE_COUNT, TABLE_MID},
    {"scored", "Scored", TABLE_COUNT, TABLE_DATA},
    {"p", "P(target)", TABLE_SHARE, TABLE_MID},
    {"p_low", "95 % from", TABLE_SHARE, TABLE_DATA},
    {"p_high", "to", TABLE_SHARE, TABLE_DATA},
    {"mean_s", "Mean TTA", TABLE_SECONDS, TABLE_ALWAYS},
    {"low_s", "95 % from", TABLE_SECONDS, TABLE_DATA},
    {"high_s", "to", TABLE_SECONDS, TABLE_DATA},
    {"cv", "CV", TABLE_SHARE, TABLE_ALWAYS},
    {"cv_population", "CV, n", TABLE_SHARE, TABLE_DATA},
    {"cv_epochs", "CV epochs", TABLE_SHARE, TABLE_MID},
    {"cv_per_epoch", "CV s/epoch", TABLE_SHARE, TABLE_MID},
    {"correlation", "r", TABLE_NUMBER, TABLE_DATA},
    {"epoch_share", "From epochs", TABLE_SHARE, TABLE_ALWAYS},
    {"runs_needed", "Runs for \u00B15 %", TABLE_COUNT, TABLE_MID},
};
static const struct table_column trial_columns[] = {
    {"entry", "Entry", TABLE_ENTRY, TABLE_ALWAYS},
    {"run", "Run", TABLE_RUN, TABLE_ALWAYS},
    {"state", "Ended", TABLE_TEXT, TABLE_MID},
    {"scored", "Scored", TABLE_FLAG, TABLE_DATA},
    {"tta_s", "TTA", TABLE_SECONDS, TABLE_ALWAYS},
    {"to_mean", "Of its mean", TABLE_RATIO, TABLE_ALWAYS},
    {"epochs", "Epochs", TABLE_NUMBER, TABLE_MID},
    {"per_epoch_s", "Per epoch", TABLE_SECONDS, TABLE_MID},
};

/* What the sentence says, gathered over the entries. */
struct summary {
    size_t repeated, split, epochs_vary_more;
    double *cvs; /* of repeated */
    double worst_cv;
};

static enum status start_parts(const struct trial_entry *entries, size_t count, struct arena *arena,
                               struct analysis *analysis, struct error *err);
static bool fill_entry(const struct trial_entry *entry, struct summary *summary,
                       struct analysis *analysis);
static size_t count_reached(const struct trial_entry *entry);
static void fill_trials(const struct trial_entry *entry, double mean_s, struct arena *arena,
                        struct table *table);
static const char *make_lead(struct arena *arena, const struct summary *summary);
static int compare_doubles(const void *left, const void *right);

enum status variance_build(const struct trial_entry *entries, size_t count, struct arena *arena,
                           struct analysis *analysis, struct error *err)
{
    struct summary summary = {.cvs = ARENA_NEW_ARRAY(arena, count, double)};
    enum status status;

    if (summary.cvs == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for an analysis");
    status = start_parts(entries, count, arena, analysis, err);
    for (size_t i = 0; i < count && status == ST_OK; i++) {
        double mean_s = 0.0;

        if (entries[i].trial_count < 2)
            continue;
        if (fill_entry(&entries[i], &summary, analysis)) {
            const struct table *items = &analysis->parts[0].table;

            mean_s = table_row(items, items->row_count - 1)[table_find(items, "mean_s")].number;
        }
        fill_trials(&entries[i], mean_s, arena, &analysis->parts[1].table);
    }
    analysis->lead = status == ST_OK ? make_lead(arena, &summary) : NULL;
    if (status == ST_OK && analysis->lead == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for an analysis");
    return status;
}

static enum status start_parts(const struct trial_entry *entries, size_t count, struct arena *arena,
                               struct analysis *analysis, struct error *err)
{
    size_t repeated = 0, trials = 0;
    enum status status;

    for (size_t i = 0; i < count; i++) {
        repeated += entries[i].trial_count >= 2;
        trials += entries[i].trial_count >= 2 ? entries[i].trial_count : 0;
    }
    *analysis = (struct analysis){.part_count = 2};
    analysis->parts[0] = (struct analysis_part){
        .key = "items",
        .title = "Spread of each entry",
        .caption =
            "CV: standard deviation (n - 1) over the mean; its split by CV\u00B2 of epochs and of "
            "seconds per epoch. From epochs: the epochs' part of both. Of the runs that the task "
            "scores: all that reached the target, of NCF the first 50.",
        .empty = "No entry here has two runs or more: one run says nothing about its spread.",
        .chart = {.kind = "scatter",
                  .x = "cv_per_epoch",
                  .y = "cv_epochs",
                  .x_title = "CV of the seconds per epoch, %",
                  .y_title = "CV of the epochs needed, %",
                  .diagonal = true},
    };
    analysis->parts[1] = (struct analysis_part){
        .key = "trials",
        .title = "Every run",
        .caption = "A point is one run, to the right by its TTA over the mean of its entry.",
        .empty = "There are no repeated runs.",
        .chart = {.kind = "scatter",
                  .x = "to_mean",
                  .y = "entry",
                  .x_title = "TTA of the run / mean TTA of its entry"},
    };
    status =
        table_init(&analysis->parts[0].table, arena, columns, ARRAY_LEN(columns), repeated, err);
    return status == ST_OK ? table_init(&analysis->parts[1].table, arena, trial_columns,
                                        ARRAY_LEN(trial_columns), trials, err)
                           : status;
}

/* True: the row has a mean. */
static bool fill_entry(const struct trial_entry *entry, struct summary *summary,
                       struct analysis *analysis)
{
    struct table_cell *row = table_add_row(&analysis->parts[0].table);
    double tta[TRIAL_RUNS_MAX], epochs[TRIAL_RUNS_MAX], low, high;
    const size_t known = trials_gather(entry, true, tta, epochs);
    const size_t scored = trials_gather(entry, false, tta, epochs);
    const size_t reached = count_reached(entry);
    struct measure_split split;
    struct measure_spread spread;

    measure_wilson(reached, entry->trial_count, &low, &high);
    row[0] = cell_id(entry->entry->id, entry->entry->model, entry->entry->author);
    row[1] = cell_count((int64_t)entry->trial_count);
    row[2] = cell_count((int64_t)reached);
    row[3] = cell_count((int64_t)scored);
    row[4] = cell_range(cell_number((double)reached / (double)entry->trial_count), low, high);
    row[5] = cell_number(low);
    row[6] = cell_number(high);
    if (scored == 0)
        return false;
    spread = measure_spread(tta, scored);
    row[7] = cell_number(spread.mean);
    if (scored < 2)
        return true;
    measure_mean_interval(&spread, &low, &high);
    row[7] = cell_range(row[7], low, high);
    row[8] = cell_number(low);
    row[9] = cell_number(high);
    row[10] = cell_number(spread.cv);
    row[11] = cell_number(spread.cv_population);
    row[16] = cell_count((int64_t)measure_runs_needed(spread.cv, PRECISION));
    summary->cvs[summary->repeated++] = spread.cv;
    if (spread.cv > summary->worst_cv)
        summary->worst_cv = spread.cv;
    if (known < scored)
        return true;
    split = measure_split(tta, epochs, scored);
    row[12] = cell_number(split.epochs.cv);
    row[13] = cell_number(split.per_epoch.cv);
    row[14] = cell_number(split.correlation);
    row[15] = cell_if(split.has_share, cell_number(split.epoch_share));
    summary->split++;
    summary->epochs_vary_more += split.epochs.cv > split.per_epoch.cv;
    return true;
}

static size_t count_reached(const struct trial_entry *entry)
{
    size_t count = 0;

    for (size_t i = 0; i < entry->trial_count; i++)
        count += entry->trials[i].reached;
    return count;
}

static void fill_trials(const struct trial_entry *entry, double mean_s, struct arena *arena,
                        struct table *table)
{
    for (size_t i = 0; i < entry->trial_count; i++) {
        const struct trial *trial = &entry->trials[i];
        struct table_cell *row = table_add_row(table);

        row[0] = cell_id(entry->entry->id, entry->entry->model, entry->entry->author);
        row[1] = cell_id(trial->run, arena_printf(arena, "%lld", (long long)trial->ordinal), NULL);
        row[2] = cell_text(trial->state);
        row[3] = cell_count(trial->scored);
        row[4] = cell_if(trial->reached, cell_number(trial->tta_s));
        row[5] = cell_if(trial->reached && mean_s > 0.0, cell_number(trial->tta_s / mean_s));
        row[6] = cell_if(trial->epochs > 0.0, cell_number(trial->epochs));
        row[7] =
            cell_if(trial->epochs > 0.0, cell_number(trial_per_epoch(trial->tta_s, trial->epochs)));
    }
}

static const char *make_lead(struct arena *arena, const struct summary *summary)
{
    const size_t n = summary->repeated;
    const char *split;

    if (n == 0)
        return "No entry has two runs that reached the target, so nothing is known about the "
               "spread of TTA.";
    qsort(summary->cvs, n, sizeof *summary->cvs, compare_doubles);
    if (n == 1)
        return arena_printf(arena, "One entry has several runs: its TTA varies by %.2f %% (CV)%s.",
                            100.0 * summary->cvs[0],
                            summary->split == 0 ? ""
                            : summary->epochs_vary_more == 1
                                ? ", more by the epochs needed than by "
                                  "the time of an epoch"
                                : ", not more by the epochs needed than "
                                  "by the time of an epoch");
    split = summary->split == 0
                ? "none tells its epochs"
                : arena_printf(arena,
                               "in %zu of the %zu that tell their epochs, these vary more than the "
                               "time of an epoch",
                               summary->epochs_vary_more, summary->split);
    if (split == NULL)
        return NULL;
    return arena_printf(
        arena,
        "Over %zu entries with several runs the CV of TTA is %.2f %% in the middle and %.2f %% at "
        "most; %s.",
        n, 100.0 * (summary->cvs[(n - 1) / 2] + summary->cvs[n / 2]) / 2.0,
        100.0 * summary->worst_cv, split);
}

static int compare_doubles(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}
