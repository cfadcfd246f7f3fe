/* agent/kernels/cpu/sgd.c: sgd, F32, in equal spans. Bound by memory: 12 bytes read and 8 written a weight. */
#include "agent/kernels/cpu/table_internal.h"

static bool sgd_accept(const struct kernel_query *query, const struct micro *micro, struct fit *fit,
                       char why[KERNEL_WHY_BYTES])
{
    (void)micro;
    fit->inplace_mask = 1u << 0 | 1u << 2; /* w' over w, m' over m */
    return cpu_accept_f32(query, why);
}

static int64_t sgd_items(const struct kernel_args *args, const struct micro *micro, int phase)
{
    (void)micro;
    (void)phase;
    return cpu_divide_up(tensor_count(args->out_tensor[0]), CPU_ITEM_ELEMENTS);
}

static void sgd_work(const struct kernel_args *args, const struct micro *micro, int phase,
                     int64_t item)
{
    const int64_t first = item * CPU_ITEM_ELEMENTS;
    const int64_t left = tensor_count(args->out_tensor[0]) - first;
    const float hyper[3] = {*(const float *)args->in[3], *(const float *)args->in[4],
                            *(const float *)args->in[5]};

    (void)phase;
    micro->sgd(left < CPU_ITEM_ELEMENTS ? left : CPU_ITEM_ELEMENTS,
               (const float *)args->in[0] + first, (const float *)args->in[1] + first,
               (const float *)args->in[2] + first, hyper, args->op->attr.sgd.nesterov,
               (float *)args->out[0] + first, (float *)args->out[1] + first);
}

DEFINE_MICRO_KERNELS(sgd, sgd, OP_SGD, NULL);
