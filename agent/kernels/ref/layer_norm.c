/* agent/kernels/ref/layer_norm.c: references of layer_norm and its gradient (Ba, Kiros, Hinton, arXiv 1607.06450).
 * Over the last dim, D elements a row: xhat = (x - mean) rstd, y = gamma xhat + beta; backward with g = dy gamma:
 * dx = rstd (g - mean(g) - xhat mean(g xhat)). */
#include <math.h>

#include "agent/kernels/ref/ref.h"

static void layer_norm_work(const struct kernel_args *args, int phase, int64_t item)
{
    const struct tensor *x = args->in_tensor[0];
    const int64_t width = x->dim[x->rank - 1], rows = tensor_count(x) / width;

    (void)phase;
    (void)item;
    for (int64_t r = 0; r < rows; r++) {
        double mean = 0.0, var = 0.0;

        for (int64_t d = 0; d < width; d++)
            mean += ref_get(x, args->in[0], r * width + d);
        mean /= (double)width;
        for (int64_t d = 0; d < width; d++) {
            const double off = ref_get(x, args->in[0], r * width + d) - mean;

            var += off * off;
        }
        var /= (double)width;
        const double rstd = 1.0 / sqrt(var + args->op->attr.norm.eps);

        for (int64_t d = 0; d < width; d++) {
            const double xhat = (ref_get(x, args->in[0], r * width + d) - mean) * rstd;

            ref_set(args->out_tensor[0], args->out[0], r * width + d,
                    ref_get(args->in_tensor[1], args->in[1], d) * xhat +
                        ref_get(args->in_tensor[2], args->in[2], d));
        }
        ref_set(args->out_tensor[1], args->out[1], r, mean);
        ref_set(args->out_tensor[2], args->out[2], r, rstd);
    }
}

/* Operands of layer_norm_grad by name. */
enum { DY, X, MEAN, RSTD, GAMMA };

static double get(const struct kernel_args *args, int operand, int64_t index)
{
    return ref_get(args->in_tensor[operand], args->in[operand], index);
}

static double xhat_at(const struct kernel_args *args, int64_t row, int64_t index)
{
    return (get(args, X, index) - get(args, MEAN, row)) * get(args, RSTD, row);
}

static void layer_norm_grad_work(const struct kernel_args *args, int phase, int64_t item)
{
    const struct tensor *x = args->in_tensor[X];
    const int64_t width = x->dim[x->rank - 1], rows = tensor_count(x) / width;

    (void)phase;
    (void)item;
    for (int64_t r = 0; r < rows; r++) {
        double sum_g = 0.0, sum_gx = 0.0;

        for (int64_t d = 0; d < width; d++) {
            const double g = get(args, DY, r * width + d) * get(args, GAMMA, d);

            sum_g += g;
            sum_gx += g * xhat_at(args, r, r * width + d);
        }
        for (int64_t d = 0; d < width; d++) {
            const double g = get(args, DY, r * width + d) * get(args, GAMMA, d);
            const double xhat = xhat_at(args, r, r * width + d);

            ref_set(args->out_tensor[0], args->out[0], r * width + d,
                    get(args, RSTD, r) *
                        (g - sum_g / (double)width - xhat * sum_gx / (double)width));
        }
    }
    for (int64_t d = 0; d < width; d++) {
        double dgamma = 0.0, dbeta = 0.0;

        for (int64_t r = 0; r < rows; r++) {
            const double dy = get(args, DY, r * width + d);

            dgamma += dy * xhat_at(args, r, r * width + d);
            dbeta += dy;
        }
        ref_set(args->out_tensor[1], args->out[1], d, dgamma);
        ref_set(args->out_tensor[2], args->out[2], d, dbeta);
    }
}

REF_KERNEL(layer_norm, OP_LAYER_NORM);
REF_KERNEL(layer_norm_grad, OP_LAYER_NORM_GRAD);
