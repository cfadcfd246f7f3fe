/* agent/kernels/ref/fill.c: reference of fill (one number everywhere) and iota (0, 1, 2 .. along an axis). */
#include "agent/kernels/ref/ref.h"

static void fill_work(const struct kernel_args *args, int phase, int64_t item)
{
    const struct tensor *out = args->out_tensor[0];

    (void)phase;
    (void)item;
    for (int64_t i = 0, count = tensor_count(out); i < count; i++)
        ref_set(out, args->out[0], i, args->op->attr.fill.value);
}

static void iota_work(const struct kernel_args *args, int phase, int64_t item)
{
    const struct tensor *out = args->out_tensor[0];
    int64_t coord[TENSOR_RANK_MAX];

    (void)phase;
    (void)item;
    for (int64_t i = 0, count = tensor_count(out); i < count; i++) {
        ref_unravel(out, i, coord);
        ref_set(out, args->out[0], i, (double)coord[args->op->attr.iota.axis]);
    }
}

REF_KERNEL(fill, OP_FILL);
REF_KERNEL(iota, OP_IOTA);
