/* agent/kernels/cpu/bn_act.c: batch norm with an activation behind it, in one pass each (ops.h: bn_act, bn_act_grad_stats,
 * bn_act_grad_apply). Forwards x is read and z written; backwards y and the slope are computed again from x, so that
 * y is never stored and dy never written: 7 passes over the activations where the parts take 12, and one tensor less to keep.
 * Bound by memory; chunks and bits as in bn.c. */
#include <stdio.h>

#include "agent/kernels/cpu/bn_internal.h"

static bool accept_act(const struct kernel_query *query, const struct micro *micro, int x,
                       char why[KERNEL_WHY_BYTES])
{
    const enum unary_fn fn = query->op->attr.norm_act.fn;

    if (fn != UNARY_GELU_ERF && fn != UNARY_SILU && fn != UNARY_RELU) {
        (void)snprintf(why, KERNEL_WHY_BYTES, "fn %s", unary_name(fn));
        return false;
    }
    return cpu_accept_dtype(query, x, micro->dtype, why);
}

/* The span of rows of x at `first`, whose operands start at x_in. */
static struct act_span span_at(const struct kernel_args *args, const struct micro *micro, int x_in,
                               const struct row_cut *cut, int64_t item, const float *scale)
{
    return (struct act_span){.fn = args->op->attr.norm_act.fn,
                             .rows = row_cut_rows(cut, item),
                             .channels = cut->channels,
                             .x = cpu_at(micro, args->in[x_in], row_cut_first(cut, item)),
                             .mean = args->in[x_in + 1],
                             .scale = scale,
                             .shift = args->in[x_in + 4]};
}

static void fill_scale(const struct kernel_args *args, int x_in, int64_t channels, float *scale)
{
    for (int64_t c = 0; c < channels; c++)
        scale[c] =
            (float)((double)((const float *)args->in[x_in + 3])[c] * bn_rstd_at(args, x_in + 2, c));
}

static bool bn_act_accept(const struct kernel_query *query, const struct micro *micro,
                          struct fit *fit, char why[KERNEL_WHY_BYTES])
{
    fit->scratch_bytes = (size_t)bn_channels_of(query->in[0]) * sizeof(float);
    fit->inplace_mask = 1u << 0;
    return accept_act(query, micro, 0, why);
}

static int64_t bn_act_items(const struct kernel_args *args, const struct micro *micro, int phase)
{
    const struct row_cut cut = bn_spans_of(args->in_tensor[0]);

    (void)micro;
    return phase == 0 ? 1 : row_cut_items(&cut);
}

static void bn_act_work(const struct kernel_args *args, const struct micro *micro, int phase,
                        int64_t item)
{
    const struct row_cut cut = bn_spans_of(args->in_tensor[0]);
    struct act_span span = span_at(args, micro, 0, &cut, item, args->scratch);

    if (phase == 0) {
        fill_scale(args, 0, cut.channels, args->scratch);
        return;
    }
    span.out = cpu_at_out(micro, args->out[0], row_cut_first(&cut, item));
    micro->norm_act(&span);
}

#define PARTIAL_NUMBERS 3 /* the two sums, and the chunk's copy of scale */

static bool bn_act_grad_stats_accept(const struct kernel_query *query, const struct micro *micro,
                                     struct fit *fit, char why[KERNEL_WHY_BYTES])
{
    const struct row_cut cut = bn_chunks_of(query->in[1]);

    fit->scratch_bytes =
        (size_t)(row_cut_items(&cut) * PARTIAL_NUMBERS * cut.channels) * sizeof(float);
    fit->block[0] = (int)cut.per_item;
    return accept_act(query, micro, 1, why);
}

static int64_t bn_act_grad_stats_items(const struct kernel_args *args, const struct micro *micro,
                                       int phase)
{
    const struct row_cut cut = bn_chunks_of(args->in_tensor[1]);

    (void)micro;
    return phase == 0 ? row_cut_items(&cut) : cpu_divide_up(cut.channels, BN_CHANNELS_PER_ITEM);
}

static void bn_act_grad_stats_work(const struct kernel_args *args, const struct micro *micro,
                                   int phase, int64_t item)
{
    const struct row_cut cut = bn_chunks_of(args->in_tensor[1]);
    struct act_span span;
    float *partial;

    if (phase == 1) {
        bn_add_backward_chunks(args, &cut, PARTIAL_NUMBERS, item * BN_CHANNELS_PER_ITEM);
        return;
    }
    partial = bn_partial_at(args, item, PARTIAL_NUMBERS, cut.channels);
    fill_scale(args, 1, cut.channels, partial + 2 * cut.channels);
    span = span_at(args, micro, 1, &cut, item, partial + 2 * cut.channels);
    span.dz = cpu_at(micro, args->in[0], row_cut_first(&cut, item));
    span.sum = partial;
    span.dot = partial + cut.channels;
    micro->norm_act_dot(&span);
}

static bool bn_act_grad_apply_accept(const struct kernel_query *query, const struct micro *micro,
                                     struct fit *fit, char why[KERNEL_WHY_BYTES])
{
    fit->scratch_bytes = (size_t)(3 * bn_channels_of(query->in[1])) * sizeof(float);
    fit->inplace_mask = 1u << 0 | 1u << 1;
    return accept_act(query, micro, 1, why);
}

static int64_t bn_act_grad_apply_items(const struct kernel_args *args, const struct micro *micro,
                                       int phase)
{
    const struct row_cut cut = bn_spans_of(args->in_tensor[1]);

    (void)micro;
    return phase == 0 ? 1 : row_cut_items(&cut);
}

/* gamma rstd (dy - s1/M - xhat s2/M) = scale dy + (x - mean) b + c. */
static void bn_act_grad_apply_work(const struct kernel_args *args, const struct micro *micro,
                                   int phase, int64_t item)
{
    const struct row_cut cut = bn_spans_of(args->in_tensor[1]);
    float *scale = args->scratch, *b = scale + cut.channels, *c = b + cut.channels;
    struct act_span span;

    if (phase == 0) {
        fill_scale(args, 1, cut.channels, scale);
        for (int64_t i = 0; i < cut.channels; i++) {
            const double rstd = bn_rstd_at(args, 3, i), rows = (double)cut.rows;
            const double factor = (double)((const float *)args->in[4])[i] * rstd;

            b[i] = (float)(-factor * rstd * (double)((const float *)args->in[7])[i] / rows);
            c[i] = (float)(-factor * (double)((const float *)args->in[6])[i] / rows);
        }
        return;
    }
    span = span_at(args, micro, 1, &cut, item, scale);
    span.dz = cpu_at(micro, args->in[0], row_cut_first(&cut, item));
    span.b = b;
    span.c = c;
    span.out = cpu_at_out(micro, args->out[0], row_cut_first(&cut, item));
    micro->norm_act_grad(&span);
}

DEFINE_MICRO_KERNELS(bn_act, bn_act, OP_BN_ACT, cpu_two_phases);
DEFINE_MICRO_KERNELS(bn_act_grad_stats, bn_act_grad_stats, OP_BN_ACT_GRAD_STATS, cpu_two_phases);
DEFINE_MICRO_KERNELS(bn_act_grad_apply, bn_act_grad_apply, OP_BN_ACT_GRAD_APPLY, cpu_two_phases);
DEFINE_BF16_KERNEL(bn_act, bn_act, OP_BN_ACT, cpu_two_phases);
DEFINE_BF16_KERNEL(bn_act_grad_stats, bn_act_grad_stats, OP_BN_ACT_GRAD_STATS, cpu_two_phases);
DEFINE_BF16_KERNEL(bn_act_grad_apply, bn_act_grad_apply, OP_BN_ACT_GRAD_APPLY, cpu_two_phases);
