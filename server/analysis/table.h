/* server/analysis/table.h: what an analysis says: one plain sentence, and tables of typed cells. The API writes them as
 * JSON and CSV (api/table_out.h), the pages as tables with the chart that is drawn from them (page/figure.h), so that
 * all three say the same.
 * Ownership: all lives in the caller's arena, names of columns are literals. Threads: pure, any. */
#ifndef DAYBREAK_SERVER_ANALYSIS_TABLE_H
#define DAYBREAK_SERVER_ANALYSIS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"
#include "common/status.h"

#define TABLE_COLUMNS_MAX  24
#define ANALYSIS_PARTS_MAX 4

/* What a column holds decides how it is written: in JSON and CSV a number of the unit, on a page as people read it. */
enum table_kind {
    TABLE_TEXT,
    TABLE_ENTRY,     /* integer: id; text: what it is called; sub: its author */
    TABLE_RUN,       /* integer: id; text: what it is called */
    TABLE_COUNT,     /* integer */
    TABLE_NUMBER,    /* number without a unit */
    TABLE_SECONDS,   /* number: s */
    TABLE_USD,       /* number: USD */
    TABLE_SHARE,     /* number: 0..1, on a page in per cent */
    TABLE_RATIO,     /* number: so many times */
    TABLE_BYTES,     /* integer */
    TABLE_BYTE_RATE, /* number: bytes/s */
    TABLE_FLOP_RATE, /* number: flops/s */
    TABLE_DATE,      /* text: yyyy-mm-dd */
    TABLE_FLAG,      /* integer: 0 or 1 */
};
enum table_place {
    TABLE_ALWAYS,
    TABLE_MID,  /* left out on a narrow screen */
    TABLE_DATA, /* on no page: JSON and CSV alone */
};
struct table_column {
    const char *key;   /* of JSON and CSV: "cv_epochs" */
    const char *title; /* of the page: "CV of the epochs" */
    enum table_kind kind;
    enum table_place place;
};
#define NAME_BYTES 80 /* of a name in a sentence */

struct table_cell { /* zeroed: absent */
    bool has;
    double number; /* finite */
    int64_t integer;
    const char *text, *sub; /* sub: may be NULL */
    bool has_range;         /* of a number: its 95 % interval, which a page shows below it */
    double low, high;
};
struct table {
    const struct table_column *columns;
    size_t column_count, row_count, row_capacity;
    struct table_cell *cells; /* row by row */
};

/* For so many rows at most. ST_NO_MEMORY. */
enum status table_init(struct table *table, struct arena *arena, const struct table_column *columns,
                       size_t column_count, size_t row_capacity, struct error *err);
/* One more row of absent cells, to be filled in the order of the columns. row_count < row_capacity. */
struct table_cell *table_add_row(struct table *table);
const struct table_cell *table_row(const struct table *table, size_t row);
/* Index of a column by its key; the column must be there. */
size_t table_find(const struct table *table, const char *key);

struct table_cell cell_text(const char *text);                            /* NULL: absent */
struct table_cell cell_id(int64_t id, const char *text, const char *sub); /* an entry, a run */
struct table_cell cell_count(int64_t count);
struct table_cell cell_number(double number); /* not finite: absent */
struct table_cell cell_range(struct table_cell number, double low, double high);
struct table_cell cell_if(bool has, struct table_cell cell);
/* For "%.*s": bytes of a name that a sentence shows, in whole characters. NULL has none. */
int name_cut(const char *name, size_t bytes_max);

/* How a part's table is drawn: each row a point. Columns by their keys. */
struct table_chart {
    const char *kind;   /* "scatter", "line", "steps"; NULL: no chart */
    const char *x, *y;  /* y of kind TEXT or ENTRY: one line of points for each value */
    const char *series; /* rows with the same text are one series; NULL: all are */
    const char *x_title, *y_title;
    bool log_x, log_y;
    bool diagonal;     /* the line y = x */
    const char *front; /* FLAG column whose rows are joined by a step line; NULL: none */
    const char *
        roofs; /* part whose rows are the roofs of a roofline: roof, bytes_per_s, flops_per_s; NULL: none */
};
struct analysis_part {
    const char *key;     /* member of the JSON: "items", "trials" */
    const char *title;   /* on the page */
    const char *caption; /* how it is to be read */
    const char *empty;   /* why there is no row */
    size_t rows_max;     /* of a page; 0: FIGURE_ROWS_MAX */
    struct table table;
    struct table_chart chart;
};
struct analysis {
    const char *lead;   /* one sentence of what it says about these data */
    struct table facts; /* at most one row: members of the JSON beside the parts; zeroed: none */
    struct analysis_part parts[ANALYSIS_PARTS_MAX];
    size_t part_count;
};

#endif
