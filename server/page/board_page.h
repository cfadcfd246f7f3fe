/* server/page/board_page.h: /tasks/{task}: one board with its filters, sorted by any column.
 * The page's whole state is its query: board_query_read() reads it, and every link on the page is one of its
 * neighbours written out again. rank/board.h alone decides places; sorting by a column moves rows and keeps them.
 * Ownership: as layout.h; a query borrows the request's. Threads: pure, any. */
#ifndef DAYBREAK_SERVER_PAGE_BOARD_PAGE_H
#define DAYBREAK_SERVER_PAGE_BOARD_PAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/status.h"
#include "common/str.h"
#include "common/task.h"
#include "server/http/query.h"
#include "server/page/layout.h"
#include "server/rank/records.h"

#define BOARD_PAGE_ROWS 100

enum board_sort {
    SORT_PLACE,
    SORT_MODEL,
    SORT_AUTHOR,
    SORT_HARDWARE,
    SORT_FRAMEWORK,
    SORT_VALUE, /* time or latency */
    SORT_COST,
    SORT_ENERGY,
    SORT_EPOCH,
    SORT_ACCURACY,
    SORT_TIER,
    SORT_DATE,
    SORT_COUNT
};

struct board_query {
    enum board_by by;
    enum board_sort sort;
    bool descending;
    struct str tier, hardware, framework; /* empty: any */
    struct str cloud;                     /* "public": any provider; empty: any */
    struct str from, to, as_of;           /* as written; empty: any, now */
    bool has_from, has_to, has_as_of;
    int64_t from_days, to_days, as_of_days;
    int64_t devices;   /* 0: any */
    bool best_author;  /* of each author the first alone */
    int64_t page;      /* from 1; 0: the first, or the one with `highlight` */
    int64_t highlight; /* entry id; 0: none */
};

/* Takes by hardware devices cloud framework from to as_of best tier sort dir page hl. ST_INVALID with the parameter in err->field. */
enum status board_query_read(struct query *query, const struct task *task, struct board_query *out,
                             struct error *err);

/* "/tasks/cifar10-train?by=cost&sort=date&dir=desc"; what is the default is left out. */
struct str board_query_address(struct arena *arena, const struct task *task,
                               const struct board_query *query);

struct board_page {
    const struct board *board; /* by the query's rule */
    const struct board_query *query;
    const struct record *records; /* of the whole board until today, in order of time */
    size_t record_count;
};
void page_render_board(struct buf *out, const struct page_frame *frame,
                       const struct board_page *data);

#endif
