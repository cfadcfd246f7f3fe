/* common/tsv.h: reads the progress file of a DAWNBench training entry: a header line and rows of
 * tab-separated cells. Accepts a UTF-8 BOM, LF, CRLF or bare CR line ends, no final line end, blank
 * lines at the end, blanks around cells. Knows nothing of tasks: what the columns mean is intake's.
 * Ownership: cells borrow the text and live in the caller's arena. Threads: pure, any thread. */
#ifndef DAYBREAK_COMMON_TSV_H
#define DAYBREAK_COMMON_TSV_H

#include <stddef.h>

#include "common/arena.h"
#include "common/status.h"
#include "common/str.h"

#define TSV_COLUMNS_MAX 16
#define TSV_ROWS_MAX    20000

struct tsv_row {
    int line;          /* in the file, from 1 */
    size_t cell_count; /* may differ from the header's: the caller judges, with the line */
    struct str *cells; /* trimmed */
};

struct tsv {
    struct tsv_row header;
    struct tsv_row *rows;
    size_t row_count;
};

/* ST_INVALID: empty, not UTF-8, a NUL byte, or a blank line before the last row (err->line);
 * ST_LIMIT: more columns or rows than the maxima; ST_NO_MEMORY. */
enum status tsv_parse(struct str text, struct arena *arena, struct tsv *tsv, struct error *err);

#endif
