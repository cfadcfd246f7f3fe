/* agent/kernels/cpu/rows_internal.h: a tensor as rows x C, and how its rows are cut into items. Threads: pure. */
#ifndef DAYBREAK_AGENT_KERNELS_CPU_ROWS_INTERNAL_H
#define DAYBREAK_AGENT_KERNELS_CPU_ROWS_INTERNAL_H

#include "agent/kernels/cpu/table_internal.h"

#define CHUNK_ROWS_MAX 4096 /* ops.h: bn_stats */

struct row_cut {
    int64_t rows, channels, per_item;
};

/* Items of about CPU_ITEM_ELEMENTS, whole rows. */
static inline struct row_cut row_cut_spans(int64_t rows, int64_t channels)
{
    return (struct row_cut){rows, channels,
                            channels < CPU_ITEM_ELEMENTS ? CPU_ITEM_ELEMENTS / channels : 1};
}

/* The same with at most CHUNK_ROWS_MAX rows: each gives partial sums. */
static inline struct row_cut row_cut_chunks(int64_t rows, int64_t channels)
{
    struct row_cut cut = row_cut_spans(rows, channels);

    if (cut.per_item > CHUNK_ROWS_MAX)
        cut.per_item = CHUNK_ROWS_MAX;
    return cut;
}

static inline int64_t row_cut_items(const struct row_cut *cut)
{
    return cpu_divide_up(cut->rows, cut->per_item);
}

static inline int64_t row_cut_rows(const struct row_cut *cut, int64_t item)
{
    const int64_t left = cut->rows - item * cut->per_item;

    return left < cut->per_item ? left : cut->per_item;
}

/* Elements before an item. */
static inline int64_t row_cut_first(const struct row_cut *cut, int64_t item)
{
    return item * cut->per_item * cut->channels;
}

#endif
