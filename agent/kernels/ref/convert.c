/* agent/kernels/ref/convert.c: reference of convert: the value in another dtype, rounded as ref_set() says. */
#include "agent/kernels/ref/ref.h"

static void convert_work(const struct kernel_args *args, int phase, int64_t item)
{
    const struct tensor *in = args->in_tensor[0], *out = args->out_tensor[0];

    (void)phase;
    (void)item;
    for (int64_t i = 0, count = tensor_count(out); i < count; i++)
        ref_set(out, args->out[0], i, ref_get(in, args->in[0], i));
}

REF_KERNEL(convert, OP_CONVERT);
