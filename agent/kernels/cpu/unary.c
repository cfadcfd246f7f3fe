/* agent/kernels/cpu/unary.c: unary and unary_grad, F32 and BF16, in equal spans of elements. Bound by memory. The gradient reads
 * x, never y. Functions without a vector form are refused: their reference serves the few small uses they have. */
#include <stdio.h>

#include "agent/kernels/cpu/table_internal.h"

static bool has_function(bool has, enum unary_fn fn, char why[KERNEL_WHY_BYTES])
{
    if (!has)
        (void)snprintf(why, KERNEL_WHY_BYTES, "no vector %s", unary_name(fn));
    return has;
}

static bool unary_accept(const struct kernel_query *query, const struct micro *micro,
                         struct fit *fit, char why[KERNEL_WHY_BYTES])
{
    const enum unary_fn fn = query->op->attr.unary.fn;

    fit->inplace_mask = 1u << 0;
    return cpu_accept_dtype(query, 0, micro->dtype, why) &&
           has_function(micro->unary(fn, 0, NULL, NULL), fn, why);
}

static int64_t unary_items(const struct kernel_args *args, const struct micro *micro, int phase)
{
    (void)micro;
    (void)phase;
    return cpu_span_items(args);
}

static void unary_work(const struct kernel_args *args, const struct micro *micro, int phase,
                       int64_t item)
{
    const int64_t first = item * CPU_ITEM_ELEMENTS;

    (void)phase;
    (void)micro->unary(args->op->attr.unary.fn, cpu_span_length(args, first),
                       cpu_at(micro, args->in[0], first), cpu_at_out(micro, args->out[0], first));
}

static bool unary_grad_accept(const struct kernel_query *query, const struct micro *micro,
                              struct fit *fit, char why[KERNEL_WHY_BYTES])
{
    const enum unary_fn fn = query->op->attr.unary.fn;

    fit->unread_mask = 1u << 2;
    fit->inplace_mask = 1u << 0 | 1u << 1;
    return cpu_accept_dtype(query, 0, micro->dtype, why) &&
           has_function(micro->unary_grad(fn, 0, NULL, NULL, NULL), fn, why);
}

static int64_t unary_grad_items(const struct kernel_args *args, const struct micro *micro,
                                int phase)
{
    (void)micro;
    (void)phase;
    return cpu_span_items(args);
}

static void unary_grad_work(const struct kernel_args *args, const struct micro *micro, int phase,
                            int64_t item)
{
    const int64_t first = item * CPU_ITEM_ELEMENTS;

    (void)phase;
    (void)micro->unary_grad(args->op->attr.unary.fn, cpu_span_length(args, first),
                            cpu_at(micro, args->in[0], first), cpu_at(micro, args->in[1], first),
                            cpu_at_out(micro, args->out[0], first));
}

DEFINE_MICRO_KERNELS(unary, unary, OP_UNARY, NULL);
DEFINE_MICRO_KERNELS(unary_grad, unary_grad, OP_UNARY_GRAD, NULL);
DEFINE_BF16_KERNEL(unary, unary, OP_UNARY, NULL);
DEFINE_BF16_KERNEL(unary_grad, unary_grad, OP_UNARY_GRAD, NULL);
