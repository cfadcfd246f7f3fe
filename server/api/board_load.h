/* server/api/board_load.h: from the store's entries to a ranked board; the one bridge between server/store and
 * server/rank that API, pages and the `board` command share.
 * Ownership: results live in the arena. Threads: the reader's. */
#ifndef DAYBREAK_SERVER_API_BOARD_LOAD_H
#define DAYBREAK_SERVER_API_BOARD_LOAD_H

#include "common/arena.h"
#include "common/status.h"
#include "common/task.h"
#include "server/rank/board.h"
#include "server/store/read.h"

#define BOARD_ARENA_BYTES (64u << 20) /* for 10,000 entries with room */

/* One entry as rank wants it. ST_NO_MEMORY. */
enum status board_fill_entry(const struct entry_record *record, const struct task *task,
                             struct arena *arena, struct board_entry *entry, struct error *err);

/* The whole board by a rule (rank/board.h). ST_INVALID: the task has no such board. */
enum status board_load(struct store_reader *reader, struct arena *arena, const struct task *task,
                       const struct board_rule *rule, struct board *board, struct error *err);

#endif
