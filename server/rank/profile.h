/* server/rank/profile.h: one score across several tasks, as AlgoPerf's (measures.md): a board of boards. Who has entries
 * is a row; in each task its fastest entry counts. Knows no SQL, HTTP or clock.
 * Ownership: borrows the boards and their texts; results live in the caller's arena. Threads: pure, any. */
#ifndef DAYBREAK_SERVER_RANK_PROFILE_H
#define DAYBREAK_SERVER_RANK_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"
#include "common/status.h"
#include "server/rank/board.h"

#define PROFILE_TASKS_MAX 32
#define PROFILE_ROWS_MAX  1000 /* that are described, the best; all count */
#define PROFILE_R_MAX     4.0  /* this many times the best time gives nothing */

enum profile_group { PROFILE_AUTHOR, PROFILE_AUTHOR_HARDWARE };

struct profile_cell {                /* one row in one task */
    const struct board_entry *entry; /* NULL: it has none there */
    double ratio;                    /* its time / the best there; 1 or more */
};
struct profile_row {
    const char *author, *hardware; /* hardware: NULL when authors alone are rows */
    double score;                  /* 0..1 */
    size_t place;                  /* 1, 2, 2, 4 */
    bool tied;
    struct profile_cell *cells; /* as many as tasks */
};
struct profile {
    struct profile_row *rows; /* by score, then author, then hardware; PROFILE_ROWS_MAX at most */
    size_t row_count;
    size_t total; /* of all rows, those that are not described as well */
};

struct profile_board {                        /* of one task, by time */
    const struct board_entry *const *entries; /* best first */
    size_t count;
};

/* boards: 1..PROFILE_TASKS_MAX of them, of any size: what is needed to rank them is taken and given back within, and
 * `arena` holds the described rows alone, PROFILE_ARENA_BYTES at most. ST_NO_MEMORY: the host has no more. */
#define PROFILE_ARENA_BYTES (4u << 20)
enum status profile_build(const struct profile_board *boards, size_t count,
                          enum profile_group group, struct arena *arena, struct profile *profile,
                          struct error *err);

#endif
