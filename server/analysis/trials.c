/* server/analysis/trials.c: entries and their runs, joined (see trials.h). */
#include "server/analysis/trials.h"

#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/str.h"

#define S_PER_NS 1e-9

static bool read_number(const char *text, double *value);
static double first_of(double smallest);
static size_t fill_trials(const struct trial_source *source, const struct entry_record *entry,
                          struct trial *trials);
static void fill_trial(const struct trial_record *from, const struct entry_record *entry,
                       struct trial *to);
static bool counts_labels(const struct entry_record *entry);
static int compare_runs(const void *key, const void *item);

enum status trials_join(const struct trial_source *source, struct arena *arena,
                        struct trial_entry **joined, size_t *count, struct error *err)
{
    struct trial *trials = ARENA_NEW_ARRAY(arena, source->run_count, struct trial);

    *joined = ARENA_NEW_ARRAY(arena, source->entry_count, struct trial_entry);
    *count = 0;
    if (*joined == NULL || trials == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for an analysis");
    for (size_t i = 0; i < source->entry_count; i++) {
        const struct entry_record *entry = &source->entries[i];
        struct trial_entry *to = &(*joined)[*count];

        if (strcmp(entry->state, "accepted") != 0)
            continue;
        *to = (struct trial_entry){.entry = entry, .trials = trials};
        if (entry->tta_ns.has)
            to->tta_s = (double)entry->tta_ns.value * S_PER_NS;
        if (!read_number(entry->epoch_count_text, &to->epochs) || to->epochs <= 0.0)
            to->epochs = 0.0;
        to->trial_count = fill_trials(source, entry, trials);
        trials += to->trial_count;
        (*count)++;
    }
    return ST_OK;
}

/* The runs of one entry; returns how many. */
static size_t fill_trials(const struct trial_source *source, const struct entry_record *entry,
                          struct trial *trials)
{
    const struct trial_record *end = source->runs + source->run_count;
    const struct trial_record *run =
        source->run_count == 0
            ? end
            : bsearch(&entry->id, source->runs, source->run_count, sizeof *run, compare_runs);
    size_t count = 0, reached = 0;

    if (run == NULL)
        return 0;
    while (run > source->runs && run[-1].entry_id == entry->id)
        run--;
    for (; run < end && run->entry_id == entry->id && count < TRIAL_RUNS_MAX; run++) {
        struct trial *trial = &trials[count++];

        fill_trial(run, entry, trial);
        reached += trial->reached;
        trial->scored = trial->reached && task_scored(source->task, reached) == reached;
    }
    return count;
}

double trial_epochs(const struct entry_record *entry, const char *label, double smallest)
{
    double epochs;

    if (!read_number(label, &epochs))
        return 0.0;
    if (counts_labels(entry))
        epochs += first_of(smallest);
    return epochs > 0.0 ? epochs : 0.0;
}

size_t trials_gather(const struct trial_entry *entry, bool with_epochs, double *tta_s,
                     double *epochs)
{
    size_t count = 0;

    for (size_t i = 0; i < entry->trial_count; i++) {
        const struct trial *trial = &entry->trials[i];

        if (!trial->scored || (with_epochs && !(trial->epochs > 0.0)))
            continue;
        tta_s[count] = trial->tta_s;
        epochs[count++] = trial->epochs;
    }
    return count;
}

bool trial_tells_epochs(const struct trial_entry *entry)
{
    return entry->tta_s > 0.0 && entry->epochs > 0.0;
}

double trial_per_epoch(double tta_s, double epochs)
{
    return epochs > 0.0 ? tta_s / epochs : 0.0;
}

static int compare_runs(const void *key, const void *item)
{
    const int64_t id = *(const int64_t *)key, other = ((const struct trial_record *)item)->entry_id;

    return (id > other) - (id < other);
}

static bool read_number(const char *text, double *value)
{
    return text != NULL && str_parse_double(str_from_cstr(text), value);
}

/* Whether its labels are names of epochs, of which the first is an epoch as well, and not counts of them. */
static bool counts_labels(const struct entry_record *entry)
{
    double label, epochs;

    return read_number(entry->epoch_text, &label) &&
           read_number(entry->epoch_count_text, &epochs) && epochs > label;
}

/* Labels from -1 on mean two epochs more than they say, from 0 on one, and those from 1 on are such names as well
 * when the entry's are (data of MLPerf: label + 1 - min(0, smallest label)). */
static double first_of(double smallest)
{
    return smallest < 0.0 ? 1.0 - smallest : 1.0;
}

static void fill_trial(const struct trial_record *from, const struct entry_record *entry,
                       struct trial *to)
{
    *to = (struct trial){.run = from->run_id, .ordinal = from->ordinal, .state = from->state};
    if (strcmp(from->state, "reached") != 0 || !from->tta_ns.has)
        return;
    to->reached = true;
    to->tta_s = (double)from->tta_ns.value * S_PER_NS;
    to->epochs =
        trial_epochs(entry, from->epoch_text, from->has_first_label ? from->first_label : 0.0);
}
