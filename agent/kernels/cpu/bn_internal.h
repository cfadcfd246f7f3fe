/* agent/kernels/cpu/bn_internal.h: what batch norm's passes share, alone (bn.c) and with an activation behind them
 * (bn_act.c). Operands are numbered as ops.h has them. Threads: pure. */
#ifndef DAYBREAK_AGENT_KERNELS_CPU_BN_INTERNAL_H
#define DAYBREAK_AGENT_KERNELS_CPU_BN_INTERNAL_H

#include <math.h>

#include "agent/kernels/cpu/rows_internal.h"

#define BN_CHANNELS_PER_ITEM 64 /* of phase 1 */

static inline int64_t bn_channels_of(const struct tensor *x)
{
    return x->dim[x->rank - 1];
}

static inline struct row_cut bn_chunks_of(const struct tensor *x)
{
    return row_cut_chunks(tensor_count(x) / bn_channels_of(x), bn_channels_of(x));
}

static inline struct row_cut bn_spans_of(const struct tensor *x)
{
    return row_cut_spans(tensor_count(x) / bn_channels_of(x), bn_channels_of(x));
}

/* The channels of an item of phase 1. */
static inline int64_t bn_channels_at(int64_t channels, int64_t first)
{
    return channels - first < BN_CHANNELS_PER_ITEM ? channels - first : BN_CHANNELS_PER_ITEM;
}

/* What a chunk leaves in scratch: `numbers` a channel, [number][channel]. */
static inline float *bn_partial_at(const struct kernel_args *args, int64_t chunk, int64_t numbers,
                                   int64_t channels)
{
    return (float *)args->scratch + chunk * numbers * channels;
}

static inline double bn_rstd_at(const struct kernel_args *args, int var_in, int64_t c)
{
    return 1.0 / sqrt((double)((const float *)args->in[var_in])[c] + args->op->attr.norm.eps);
}

/* Phase 1 of the backward sums: sum dy and sum dy (x - mean) of all chunks, whose first two numbers they are, into out[0]
 * and, times rstd, out[1]; in index order, in double. */
void bn_add_backward_chunks(const struct kernel_args *args, const struct row_cut *cut,
                            int64_t numbers, int64_t first);

#endif
