/* server/analysis/compare.h: several runs beside one another: their curves, what of their set-up differs, throughput
 * and TTA speed-up relative to the first.
 * Ownership: borrows records and texts; what is made lives in the arena. Threads: pure, any. */
#ifndef DAYBREAK_SERVER_ANALYSIS_COMPARE_H
#define DAYBREAK_SERVER_ANALYSIS_COMPARE_H

#include "server/analysis/table.h"
#include "server/store/records.h"

#define COMPARE_RUNS_MAX   8
#define COMPARE_EPOCHS_MAX 1000 /* of each run that are drawn: the first */

enum compare_axis { COMPARE_TIME, COMPARE_EPOCH, COMPARE_COST };
struct compare_run {
    const struct run_record *run;
    const struct entry_record *entry;
    const struct epoch_record *epochs;
    size_t epoch_count;
};

/* 1..COMPARE_RUNS_MAX runs, of one task when drawn together they are to mean anything: the sentence says when they are
 * not. Parts: items, differences (a column for each run, a row for each fact that is not the same), curves. COST: runs
 * without a price per hour have no curve. ST_NO_MEMORY. */
enum status compare_build(const struct compare_run *runs, size_t count, enum compare_axis axis,
                          struct arena *arena, struct analysis *analysis, struct error *err);

#endif
