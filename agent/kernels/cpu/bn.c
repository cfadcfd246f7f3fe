/* agent/kernels/cpu/bn.c: batch norm's four passes over rows x C; x, y and their gradients F32 or BF16,
 * all else F32. All are bound by memory.
 * Statistics: chunks of rows, fixed by shape (at most 4,096, about 256 KiB: the second look at a chunk finds it in L2),
 * each giving a mean and a sum of squares about it; phase 1 joins them in double, in index order, by Chan, Golub and
 * LeVeque (1983): nothing cancels, and bits depend on the shape alone. The backward sums are joined likewise. */
#include "agent/kernels/cpu/bn_internal.h"

static int64_t stats_items_of(const struct tensor *x, int phase)
{
    const struct row_cut cut = bn_chunks_of(x);

    return phase == 0 ? row_cut_items(&cut) : cpu_divide_up(cut.channels, BN_CHANNELS_PER_ITEM);
}

static bool stats_accept_of(const struct kernel_query *query, const struct micro *micro, int x,
                            struct fit *fit, char why[KERNEL_WHY_BYTES])
{
    const struct row_cut cut = bn_chunks_of(query->in[x]);

    if (!cpu_accept_dtype(query, x, micro->dtype, why))
        return false;
    fit->scratch_bytes = (size_t)(row_cut_items(&cut) * 2 * cut.channels) * sizeof(float);
    fit->block[0] = (int)cut.per_item;
    return true;
}

static bool bn_stats_accept(const struct kernel_query *query, const struct micro *micro,
                            struct fit *fit, char why[KERNEL_WHY_BYTES])
{
    return stats_accept_of(query, micro, 0, fit, why);
}

static int64_t bn_stats_items(const struct kernel_args *args, const struct micro *micro, int phase)
{
    (void)micro;
    return stats_items_of(args->in_tensor[0], phase);
}

/* Phase 0: mean and M2 of one chunk. */
static void measure_chunk(const struct kernel_args *args, const struct micro *micro,
                          const struct row_cut *cut, int64_t chunk)
{
    const int64_t rows = row_cut_rows(cut, chunk);
    const void *x = cpu_at(micro, args->in[0], row_cut_first(cut, chunk));
    float *mean = bn_partial_at(args, chunk, 2, cut->channels), *m2 = mean + cut->channels;

    micro->column_sum(rows, cut->channels, x, mean);
    for (int64_t c = 0; c < cut->channels; c++)
        mean[c] /= (float)rows;
    micro->column_m2(rows, cut->channels, x, mean, m2);
}

/* Phase 1: all chunks of some channels, in order. */
static void join_chunks(const struct kernel_args *args, const struct row_cut *cut, int64_t first)
{
    const int64_t channels = bn_channels_at(cut->channels, first), chunks = row_cut_items(cut);
    double mean[BN_CHANNELS_PER_ITEM] = {0}, m2[BN_CHANNELS_PER_ITEM] = {0}, rows = 0.0;

    for (int64_t chunk = 0; chunk < chunks; chunk++) {
        const double more = (double)row_cut_rows(cut, chunk), share = more / (rows + more);
        const float *from = bn_partial_at(args, chunk, 2, cut->channels) + first;

        for (int64_t c = 0; c < channels; c++) {
            const double off = (double)from[c] - mean[c];

            mean[c] += off * share;
            m2[c] += (double)from[cut->channels + c] + off * off * rows * share;
        }
        rows += more;
    }
    for (int64_t c = 0; c < channels; c++) {
        ((float *)args->out[0])[first + c] = (float)mean[c];
        ((float *)args->out[1])[first + c] = (float)(m2[c] / rows);
    }
}

static void bn_stats_work(const struct kernel_args *args, const struct micro *micro, int phase,
                          int64_t item)
{
    const struct row_cut cut = bn_chunks_of(args->in_tensor[0]);

    if (phase == 0)
        measure_chunk(args, micro, &cut, item);
    else
        join_chunks(args, &cut, item * BN_CHANNELS_PER_ITEM);
}

static bool bn_apply_accept(const struct kernel_query *query, const struct micro *micro,
                            struct fit *fit, char why[KERNEL_WHY_BYTES])
{
    fit->scratch_bytes = (size_t)bn_channels_of(query->in[0]) * sizeof(float);
    fit->inplace_mask = 1u << 0;
    return cpu_accept_dtype(query, 0, micro->dtype, why);
}

static int64_t bn_apply_items(const struct kernel_args *args, const struct micro *micro, int phase)
{
    const struct row_cut cut = bn_spans_of(args->in_tensor[0]);

    (void)micro;
    return phase == 0 ? 1 : row_cut_items(&cut);
}

static void bn_apply_work(const struct kernel_args *args, const struct micro *micro, int phase,
                          int64_t item)
{
    const struct row_cut cut = bn_spans_of(args->in_tensor[0]);
    const int64_t first = row_cut_first(&cut, item);
    float *scale = args->scratch;

    if (phase == 0) {
        for (int64_t c = 0; c < cut.channels; c++)
            scale[c] = (float)((double)((const float *)args->in[3])[c] * bn_rstd_at(args, 2, c));
        return;
    }
    micro->normalise(row_cut_rows(&cut, item), cut.channels, cpu_at(micro, args->in[0], first),
                     args->in[1], scale, args->in[4], cpu_at_out(micro, args->out[0], first));
}

static bool bn_grad_stats_accept(const struct kernel_query *query, const struct micro *micro,
                                 struct fit *fit, char why[KERNEL_WHY_BYTES])
{
    return stats_accept_of(query, micro, 1, fit, why);
}

static int64_t bn_grad_stats_items(const struct kernel_args *args, const struct micro *micro,
                                   int phase)
{
    (void)micro;
    return stats_items_of(args->in_tensor[1], phase);
}

void bn_add_backward_chunks(const struct kernel_args *args, const struct row_cut *cut,
                            int64_t numbers, int64_t first)
{
    const int64_t channels = bn_channels_at(cut->channels, first), chunks = row_cut_items(cut);
    double sum_dy[BN_CHANNELS_PER_ITEM] = {0}, sum_dy_x[BN_CHANNELS_PER_ITEM] = {0};

    for (int64_t chunk = 0; chunk < chunks; chunk++) {
        const float *from = bn_partial_at(args, chunk, numbers, cut->channels) + first;

        for (int64_t c = 0; c < channels; c++) {
            sum_dy[c] += (double)from[c];
            sum_dy_x[c] += (double)from[cut->channels + c];
        }
    }
    for (int64_t c = 0; c < channels; c++) {
        ((float *)args->out[0])[first + c] = (float)sum_dy[c];
        ((float *)args->out[1])[first + c] = (float)(sum_dy_x[c] * bn_rstd_at(args, 3, first + c));
    }
}

static void bn_grad_stats_work(const struct kernel_args *args, const struct micro *micro, int phase,
                               int64_t item)
{
    const struct row_cut cut = bn_chunks_of(args->in_tensor[1]);
    const int64_t first = row_cut_first(&cut, item);
    float *partial;

    if (phase == 1) {
        bn_add_backward_chunks(args, &cut, 2, item * BN_CHANNELS_PER_ITEM);
        return;
    }
    partial = bn_partial_at(args, item, 2, cut.channels);
    micro->column_dot(row_cut_rows(&cut, item), cut.channels, cpu_at(micro, args->in[0], first),
                      cpu_at(micro, args->in[1], first), args->in[2], partial,
                      partial + cut.channels);
}

static bool bn_grad_apply_accept(const struct kernel_query *query, const struct micro *micro,
                                 struct fit *fit, char why[KERNEL_WHY_BYTES])
{
    fit->scratch_bytes = (size_t)(3 * bn_channels_of(query->in[1])) * sizeof(float);
    fit->inplace_mask = 1u << 0 | 1u << 1;
    return cpu_accept_dtype(query, 1, micro->dtype, why);
}

static int64_t bn_grad_apply_items(const struct kernel_args *args, const struct micro *micro,
                                   int phase)
{
    const struct row_cut cut = bn_spans_of(args->in_tensor[1]);

    (void)micro;
    return phase == 0 ? 1 : row_cut_items(&cut);
}

/* gamma rstd (dy - s1/M - xhat s2/M) = a dy + (x - mean) b + c. */
static void bn_grad_apply_work(const struct kernel_args *args, const struct micro *micro, int phase,
                               int64_t item)
{
    const struct row_cut cut = bn_spans_of(args->in_tensor[1]);
    const int64_t first = row_cut_first(&cut, item);
    float *a = args->scratch, *b = a + cut.channels, *c = b + cut.channels;

    if (phase == 0) {
        for (int64_t i = 0; i < cut.channels; i++) {
            const double rstd = bn_rstd_at(args, 3, i), rows = (double)cut.rows;
            const double scale = (double)((const float *)args->in[4])[i] * rstd;

            a[i] = (float)scale;
            b[i] = (float)(-scale * rstd * (double)((const float *)args->in[6])[i] / rows);
            c[i] = (float)(-scale * (double)((const float *)args->in[5])[i] / rows);
        }
        return;
    }
    micro->normalise_grad(row_cut_rows(&cut, item), cut.channels, cpu_at(micro, args->in[0], first),
                          cpu_at(micro, args->in[1], first), args->in[2], a, b, c,
                          cpu_at_out(micro, args->out[0], first));
}

DEFINE_MICRO_KERNELS(bn_stats, bn_stats, OP_BN_STATS, cpu_two_phases);
DEFINE_MICRO_KERNELS(bn_apply, bn_apply, OP_BN_APPLY, cpu_two_phases);
DEFINE_MICRO_KERNELS(bn_grad_stats, bn_grad_stats, OP_BN_GRAD_STATS, cpu_two_phases);
DEFINE_MICRO_KERNELS(bn_grad_apply, bn_grad_apply, OP_BN_GRAD_APPLY, cpu_two_phases);
DEFINE_BF16_KERNEL(bn_stats, bn_stats, OP_BN_STATS, cpu_two_phases);
DEFINE_BF16_KERNEL(bn_apply, bn_apply, OP_BN_APPLY, cpu_two_phases);
DEFINE_BF16_KERNEL(bn_grad_stats, bn_grad_stats, OP_BN_GRAD_STATS, cpu_two_phases);
DEFINE_BF16_KERNEL(bn_grad_apply, bn_grad_apply, OP_BN_GRAD_APPLY, cpu_two_phases);
