/* server/analysis/paper.h: the claims of Coleman et al., arXiv 1806.01427, held against the entries that are here.
 * Ownership: borrows; what is made lives in the arena. Threads: pure, any. */
#ifndef DAYBREAK_SERVER_ANALYSIS_PAPER_H
#define DAYBREAK_SERVER_ANALYSIS_PAPER_H

#include "common/task.h"
#include "server/analysis/trials.h"

/* What is known of one training task. */
struct paper_task {
    const struct task *task;
    const struct trial_entry *entries;
    size_t entry_count;
    size_t curves,
        relapses; /* runs that reached the target; those that were below it again later */
};

/* One row a claim: holds, fails, or not testable with these data, with the numbers. ST_NO_MEMORY. */
enum status paper_build(const struct paper_task *tasks, size_t count, struct arena *arena,
                        struct analysis *analysis, struct error *err);

#endif
