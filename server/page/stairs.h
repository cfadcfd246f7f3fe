/* server/page/stairs.h: the record's stairs of one board as a drawing: time to the right, the value on a log axis.
 * A record is an entry that was better than all before it; several of one day count as the best of them.
 * Ownership: as layout.h. Threads: pure, any. */
#ifndef DAYBREAK_SERVER_PAGE_STAIRS_H
#define DAYBREAK_SERVER_PAGE_STAIRS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/arena.h"
#include "server/rank/board.h"
#include "templates.h"

#define STAIRS_RECORDS_MAX 64

/* Fills records[0..*count) in order of date; the latest of them when there are more than the maximum. */
void stairs_find_records(const struct board *board,
                         const struct board_entry *records[STAIRS_RECORDS_MAX], size_t *count);

/* False, and nothing is drawn, below two records or without memory. */
bool stairs_make(struct arena *arena, const struct board *board, struct stairs_view *view);

#endif
