/* server/rank/board_internal.h: what board.c and kept.c share: the one order of a board, and what follows from it.
 * Threads: pure, any. */
#ifndef DAYBREAK_SERVER_RANK_BOARD_INTERNAL_H
#define DAYBREAK_SERVER_RANK_BOARD_INTERNAL_H

#include "server/rank/board.h"

#define BOARD_BY_COUNT (BOARD_ENERGY + 1)

/* Of two entries that have a place: by value, then date, then name, then id: never 0 for two of them. */
int board_compare(const struct board_entry *a, const struct board_entry *b, enum board_by by);
/* By name, then id: of those that have none. */
int board_compare_names(const struct board_entry *a, const struct board_entry *b);

/* Why the entry has no place by this rule (best is not asked); NULL: it has one. */
const char *board_missing_reason(const struct board_entry *entry, const struct board_rule *rule);

/* ST_INVALID: the task has no such board. */
enum status board_check_by(enum board_by by, const struct task *task, struct error *err);

/* Gives the items, whose rows are set and in order, what they say beside them: place, tie, spread. They may be a part
 * of the whole board: `first` items come before it, `better` of them with a better value. */
void board_describe_items(struct board *board, size_t first, size_t better);

#endif
