/* agent/kernels/ref/sgd.c: reference of sgd: PyTorch's rule, decay added to the gradient. Works in place:
 * w' and m' of an element depend on that element alone. */
#include "agent/kernels/ref/ref.h"

static void sgd_work(const struct kernel_args *args, int phase, int64_t item)
{
    const double lr = ref_get(args->in_tensor[3], args->in[3], 0);
    const double decay = ref_get(args->in_tensor[4], args->in[4], 0);
    const double momentum = ref_get(args->in_tensor[5], args->in[5], 0);

    (void)phase;
    (void)item;
    for (int64_t i = 0, count = tensor_count(args->out_tensor[0]); i < count; i++) {
        const double w = ref_get(args->in_tensor[0], args->in[0], i);
        const double g = ref_get(args->in_tensor[1], args->in[1], i) + decay * w;
        const double m = momentum * ref_get(args->in_tensor[2], args->in[2], i) + g;

        ref_set(args->out_tensor[0], args->out[0], i,
                w - lr * (args->op->attr.sgd.nesterov ? g + momentum * m : m));
        ref_set(args->out_tensor[1], args->out[1], i, m);
    }
}

REF_KERNEL(sgd, OP_SGD);
