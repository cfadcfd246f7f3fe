/* server/rank/records.h: who held the record when: the first of a board from day to day, by the standings of its
 * entries. One that was withdrawn held it as long as it stood; then the one before it held it again.
 * Ownership: borrows the kept entries, results live in the arena. Threads: as kept.h: the caller's lock. */
#ifndef DAYBREAK_SERVER_RANK_RECORDS_H
#define DAYBREAK_SERVER_RANK_RECORDS_H

#include "common/measure.h"
#include "server/rank/kept.h"

struct record {
    const struct board_entry *row;
    int64_t value, from_days;
    bool has_to; /* false: it holds it still */
    int64_t to_days;
    bool has_before;    /* there was another one directly before it */
    double improvement; /* with has_before: its value / this value */
    /* Whether the difference may be chance: by time, where both have two runs or more that reached the target. */
    bool has_welch;
    struct measure_welch welch;
};

/* In order of time. ST_INVALID: the task has no such board; ST_NO_MEMORY. */
enum status records_list(const struct kept *kept, const struct task *task, enum board_by by,
                         struct arena *arena, struct record **records, size_t *count,
                         struct error *err);

#endif
