/* agent/kernels/cpu/convert.c: convert between F32 and BF16, in equal spans of elements. Bound by memory. Same bits as the
 * reference: to nearest, ties to even, a NaN stays one. */
#include <stdio.h>

#include "agent/kernels/cpu/table_internal.h"

static bool convert_accept(const struct kernel_query *query, const struct micro *micro,
                           struct fit *fit, char why[KERNEL_WHY_BYTES])
{
    const enum dtype from = query->in[0]->dtype, to = query->out[0]->dtype;

    (void)micro;
    (void)fit;
    if ((from == DT_F32 && to == DT_BF16) || (from == DT_BF16 && to == DT_F32))
        return true;
    (void)snprintf(why, KERNEL_WHY_BYTES, "%s to %s", dtype_name(from), dtype_name(to));
    return false;
}

static int64_t convert_items(const struct kernel_args *args, const struct micro *micro, int phase)
{
    (void)micro;
    (void)phase;
    return cpu_span_items(args);
}

static void convert_work(const struct kernel_args *args, const struct micro *micro, int phase,
                         int64_t item)
{
    const int64_t first = item * CPU_ITEM_ELEMENTS;
    const int64_t count = cpu_span_length(args, first);

    (void)phase;
    if (args->in_tensor[0]->dtype == DT_F32)
        micro->narrow(count, (const float *)args->in[0] + first,
                      cpu_at_out(micro, args->out[0], first));
    else
        micro->widen(count, cpu_at(micro, args->in[0], first), (float *)args->out[0] + first);
}

DEFINE_BF16_KERNEL(convert, convert, OP_CONVERT, NULL);
