/* server/analysis/trials.h: the entries of one task and their runs as the analyses read them: TTA, epochs and time per
 * epoch of each (measures.md).
 * Ownership: borrows records and texts; what is made lives in the arena. Threads: pure, any. */
#ifndef DAYBREAK_SERVER_ANALYSIS_TRIALS_H
#define DAYBREAK_SERVER_ANALYSIS_TRIALS_H

#include "common/task.h"
#include "server/analysis/table.h"
#include "server/store/records.h"

#define TRIAL_RUNS_MAX 1000 /* of one entry that count: the first */

struct trial {
    int64_t run, ordinal;
    const char *state;
    bool reached; /* the target: tta_s and epochs hold */
    bool scored;  /* and is among the first of those that the task scores */
    double tta_s;
    double epochs; /* 0: its log does not tell */
};
/* One accepted entry of a training task. */
struct trial_entry {
    const struct entry_record *entry;
    double tta_s;               /* that is ranked; 0: none */
    double epochs;              /* of the run that is shown; 0: unknown */
    const struct trial *trials; /* in order */
    size_t trial_count;
};

/* What the store has of one task. */
struct trial_source {
    const struct task *task;
    const struct entry_record
        *entries; /* in any order and state: those not accepted are left out */
    size_t entry_count;
    const struct trial_record *runs; /* by entry, then ordinal */
    size_t run_count;
};
/* ST_NO_MEMORY. */
enum status trials_join(const struct trial_source *source, struct arena *arena,
                        struct trial_entry **joined, size_t *count, struct error *err);

/* How many epochs a label of the entry's runs means, with the smallest label of that run; 0: it does not tell. */
double trial_epochs(const struct entry_record *entry, const char *label, double smallest);

/* TTA and epochs of the runs that are scored, in order; with_epochs: of those alone whose log tells them. Room for
 * trial_count numbers each. */
size_t trials_gather(const struct trial_entry *entry, bool with_epochs, double *tta_s,
                     double *epochs);

/* Whether both its TTA and its epochs are known, so that it has a time per epoch. */
bool trial_tells_epochs(const struct trial_entry *entry);
/* Seconds per epoch; 0: unknown. */
double trial_per_epoch(double tta_s, double epochs);

/* Each builds one analysis over the entries of a task, with its sentence. ST_NO_MEMORY. */

/* Spread of TTA over the runs of each entry, its split into epochs and time per epoch, the chance to reach the target. */
enum status variance_build(const struct trial_entry *entries, size_t count, struct arena *arena,
                           struct analysis *analysis, struct error *err);
/* Throughput speed-up against TTA speed-up relative to a base entry (id; 0: the slowest per epoch). ST_NOT_FOUND: there
 * is no such entry with time and epochs. */
enum status throughput_build(const struct trial_entry *entries, size_t count, int64_t base,
                             struct arena *arena, struct analysis *analysis, struct error *err);
/* Speed-up and efficiency over devices, among entries of one author, framework and device model. */
enum status scaling_build(const struct trial_entry *entries, size_t count, struct arena *arena,
                          struct analysis *analysis, struct error *err);
/* Accuracy on sets that a model has and has not seen, from the entries' misc. */
enum status generalisation_build(const struct trial_entry *entries, size_t count,
                                 struct arena *arena, struct analysis *analysis, struct error *err);
/* Cost against time, and the entries that no other beats in both. */
enum status tradeoff_build(const struct trial_entry *entries, size_t count, struct arena *arena,
                           struct analysis *analysis, struct error *err);

#endif
