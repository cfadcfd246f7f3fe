/* agent/kernels/ref/softmax.c: references of softmax over the last dim of scale * x, and of its gradient:
 * dx = scale y (dy - sum(dy y)). */
#include <math.h>

#include "agent/kernels/ref/ref.h"

static void softmax_work(const struct kernel_args *args, int phase, int64_t item)
{
    const struct tensor *x = args->in_tensor[0];
    const int64_t width = x->dim[x->rank - 1], rows = tensor_count(x) / width;
    const double scale = args->op->attr.softmax.scale;

    (void)phase;
    (void)item;
    for (int64_t first = 0; first < rows * width; first += width) {
        double most = scale * ref_get(x, args->in[0], first), sum = 0.0;

        for (int64_t d = 1; d < width; d++)
            most = fmax(most, scale * ref_get(x, args->in[0], first + d));
        for (int64_t d = 0; d < width; d++)
            sum += exp(scale * ref_get(x, args->in[0], first + d) - most);
        for (int64_t d = 0; d < width; d++)
            ref_set(args->out_tensor[0], args->out[0], first + d,
                    exp(scale * ref_get(x, args->in[0], first + d) - most) / sum);
    }
}

static void softmax_grad_work(const struct kernel_args *args, int phase, int64_t item)
{
    const struct tensor *dy = args->in_tensor[0], *y = args->in_tensor[1];
    const int64_t width = y->dim[y->rank - 1], rows = tensor_count(y) / width;

    (void)phase;
    (void)item;
    for (int64_t first = 0; first < rows * width; first += width) {
        double sum = 0.0;

        for (int64_t d = 0; d < width; d++)
            sum += ref_get(dy, args->in[0], first + d) * ref_get(y, args->in[1], first + d);
        for (int64_t d = 0; d < width; d++)
            ref_set(args->out_tensor[0], args->out[0], first + d,
                    args->op->attr.softmax.scale * ref_get(y, args->in[1], first + d) *
                        (ref_get(dy, args->in[0], first + d) - sum));
    }
}

REF_KERNEL(softmax, OP_SOFTMAX);
REF_KERNEL(softmax_grad, OP_SOFTMAX_GRAD);
