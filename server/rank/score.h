/* server/rank/score.h: from the times of an entry's runs to the one that is ranked, and how sure it is. Pure.
 * Source: design.md, Words (median, a run that missed is infinite); measures.md (MLPerf score, Welch, Wilson).
 * Ownership: borrows. Threads: any. */
#ifndef DAYBREAK_SERVER_RANK_SCORE_H
#define DAYBREAK_SERVER_RANK_SCORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/task.h"

struct score_run {
    bool reached;   /* false: it missed, failed or was cancelled, and counts as infinite */
    int64_t tta_ns; /* with reached */
};

/* The time that is ranked.
 * MEDIAN: of all runs; of an even count the mean of the two middle ones, rounded down to ns.
 * MEAN: rounded down; none when any run missed.
 * OLYMPIC: the mean, rounded down, without the fastest and the slowest (one that missed is the slowest); none when
 * two or more missed, or with fewer than three runs. */
struct score {
    bool has; /* false: no score: the runs do not reach the target by this rule */
    int64_t tta_ns;
    size_t
        shown; /* index of the run that stands for it: of those that reached the target the one whose time is
                      nearest to the score, the faster of two, the earlier of equal ones */
};
struct score score_runs(enum task_score rule, const struct score_run *runs, size_t count);

#endif
