/* server/rank/kept.h: the entries of one task, kept in the order of each of its boards while entries come and change:
 * a place costs a binary search, a page of a board its rows, and nothing is sorted for a request.
 *
 *   all       by id
 *   ranked    one list for each board that the task has: those with a place, in the board's order
 *   missing   the others, by name
 *
 * Knows no SQL and no clock. Ownership: keeps copies of the entries and their texts; what the read functions give
 * borrows them until the next kept_put(). Threads: the caller's lock: many may read, one may put. */
#ifndef DAYBREAK_SERVER_RANK_KEPT_H
#define DAYBREAK_SERVER_RANK_KEPT_H

#include "server/rank/board.h"

struct kept;

enum status kept_create(const struct task *task, struct kept **kept, struct error *err);
void kept_destroy(struct kept *kept); /* accepts NULL */

/* Takes entries of different ids; each replaces the one that has its id. All or none: ST_NO_MEMORY. */
enum status kept_put(struct kept *kept, const struct board_entry *entries, size_t count,
                     struct error *err);

size_t kept_count(const struct kept *kept); /* of all entries, with a place or without */
const struct board_entry *kept_entry(const struct kept *kept, size_t index); /* by id */

/* The whole board by a rule, as board_rank() gives it. Without as_of and best of an author nothing is sorted. */
enum status kept_rank(const struct kept *kept, const struct board_rule *rule, struct arena *arena,
                      struct board *board, struct error *err);
/* The board's items from index `first` on, `count` at most, with their places on the whole board; those without a
 * place only with the first. *total: of all items. */
enum status kept_page(const struct kept *kept, enum board_by by, size_t first, size_t count,
                      struct arena *arena, struct board *board, size_t *total, struct error *err);

/* Index of the first item behind the key. */
size_t kept_skip(const struct kept *kept, enum board_by by, const struct board_key *key);

/* Those with a place on a board, best first, as they are kept: nothing is copied. None: the task has no such board. */
const struct board_entry *const *kept_ranked(const struct kept *kept, enum board_by by,
                                             size_t *count);

/* The best value on a board; 0: it has none. */
int64_t kept_record(const struct kept *kept, enum board_by by);

/* The place that a further entry of this value would take; 0: the task has no such board. */
size_t kept_place_of(const struct kept *kept, enum board_by by, int64_t value);

struct kept_place {
    size_t place, total;
    bool tied;
};
/* Where a further entry of this value would stand, itself among the total; false: the task has no such board. */
bool kept_preview(const struct kept *kept, enum board_by by, int64_t value,
                  struct kept_place *place);
/* Where an entry stands; false: it has no place there. */
bool kept_find(const struct kept *kept, enum board_by by, int64_t entry, struct kept_place *place);

#endif
