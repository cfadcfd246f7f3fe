/* server/page/measure_view.h: a board's value as a cell shows it: readable, exact, as a bar, as a ratio.
 * Ownership: text lives in the arena. Threads: pure, any. */
#ifndef DAYBREAK_SERVER_PAGE_MEASURE_VIEW_H
#define DAYBREAK_SERVER_PAGE_MEASURE_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "common/arena.h"
#include "common/str.h"
#include "server/rank/board.h"
#include "templates.h"

/* The values of a whole board, so that bars and ratios do not change with a filter. */
struct measure_range {
    enum board_by by;
    int64_t best, worst; /* 0: the board is empty */
    bool logarithmic;    /* the values span more than MEASURE_LINEAR_MAX */
};
#define MEASURE_LINEAR_MAX 20

struct measure_range measure_range_of(const struct board *board);
struct str measure_shown(struct arena *arena, enum board_by by, int64_t value);
const char *measure_title(enum board_by by); /* "Time", "Cost of 1M items" */
/* Where its formula stands: "/docs/measures#cost". */
const char *measure_how(enum board_by by);
/* As the API writes it: seconds, milliseconds, dollars; empty when there is none. */
struct str measure_exact(struct arena *arena, enum board_by by, const struct board_entry *entry);
/* The same with what it counts: "10.663472 s". */
struct str measure_with_unit(struct arena *arena, enum board_by by,
                             const struct board_entry *entry);
struct measure_view measure_make(struct arena *arena, enum board_by by,
                                 const struct board_entry *entry,
                                 const struct measure_range *range);

#endif
