/* common/csv.h: reads CSV row by row (RFC 4180): cells between commas, in quotes where they hold a comma, a quote
 * (doubled) or a line's end. Accepts a UTF-8 BOM, LF and CRLF, no final line end and blank lines after the last row;
 * anything else that the grammar does not know is refused. Knows nothing of what columns mean.
 * Ownership: cells borrow the text, or the arena where a quote had to be taken out of them; the array is the reader's
 * and is filled anew by each csv_next(). Threads: one owner. */
#ifndef DAYBREAK_COMMON_CSV_H
#define DAYBREAK_COMMON_CSV_H

#include <stdbool.h>
#include <stddef.h>

#include "common/arena.h"
#include "common/status.h"
#include "common/str.h"

#define CSV_COLUMNS_MAX    64
#define CSV_ROWS_MAX       1000000
#define CSV_CELL_BYTES_MAX 65536

struct csv_reader {
    struct str text, rest;
    struct arena *arena;
    size_t cell_count;
    struct str cells[CSV_COLUMNS_MAX]; /* as they are: blanks at their ends belong to them */
    int line;                          /* where the row begins, from 1 */
    int row_count;                     /* rows so far, this one with them */
    int next_line;                     /* where the next begins */
};

void csv_init(struct csv_reader *reader, struct str text, struct arena *arena);
/* The next row; *more is false after the last. Faults have line, code, hint and, as the field, "column N":
 * ST_INVALID: nul_byte, not_utf8, csv_quote, csv_line_end, csv_blank_line, csv_ragged (another count of cells than
 * the row before); ST_LIMIT: too_many_columns, too_many_rows, cell_too_long; ST_NO_MEMORY. The reader is of no use
 * after a fault, but for csv_ragged, which is noted and left behind. */
enum status csv_next(struct csv_reader *reader, bool *more, struct error *err);

#endif
