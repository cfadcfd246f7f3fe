/* server/rank/board_write.h: a board as text: JSON (protocol.md, the board object), CSV, and the TSV of the CLI.
 * API, pages' downloads and `daybreakd board` all call it, so the three cannot differ.
 * A caller that filters or pages hands in a board whose items are a part of the whole one's: places stay.
 * Ownership: appends to the caller's buffer, whose buf_check() tells of failure. Threads: pure, any. */
#ifndef DAYBREAK_SERVER_RANK_BOARD_WRITE_H
#define DAYBREAK_SERVER_RANK_BOARD_WRITE_H

#include "common/str.h"
#include "server/rank/board.h"

/* as_of (yyyy-mm-dd) and next_cursor may be NULL: left out. No line feed behind. */
void board_write_json(struct buf *out, const struct board *board, const char *as_of,
                      const char *next_cursor);
/* One item as the member of `items`. */
void board_write_item_json(struct buf *out, const struct board_item *item);
/* RFC 4180, with a header line; the members of the JSON items in their order. A text that a spreadsheet would
 * take for a formula gets a quote in front. */
void board_write_csv(struct buf *out, const struct board *board);
/* DAWNBench's own headings: rank, file, model, author, hardware, framework, then seconds, cost, epoch, date
 * (training) or ms, cost, accuracy, date (inference). */
void board_write_tsv(struct buf *out, const struct board *board);

#endif
