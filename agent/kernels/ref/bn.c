/* agent/kernels/ref/bn.c: references of batch normalisation, taken apart: bn_stats, bn_apply, and the joint
 * backward form bn_grad_stats, bn_grad_apply (Ioffe, Szegedy, arXiv 1502.03167, section 3). Every dim but the
 * last is a row; two passes in double, so nothing cancels. Then the same with an activation behind it (bn_act). */
#include "agent/kernels/ref/ref.h"

#include <math.h>

static void bn_stats_work(const struct kernel_args *args, int phase, int64_t item)
{
    const struct tensor *x = args->in_tensor[0];
    const int64_t channels = x->dim[x->rank - 1], rows = tensor_count(x) / channels;

    (void)phase;
    (void)item;
    for (int64_t c = 0; c < channels; c++) {
        double sum = 0.0, squares = 0.0, mean;

        for (int64_t row = 0; row < rows; row++)
            sum += ref_get(x, args->in[0], row * channels + c);
        mean = sum / (double)rows;
        for (int64_t row = 0; row < rows; row++) {
            const double off = ref_get(x, args->in[0], row * channels + c) - mean;

            squares += off * off;
        }
        ref_set(args->out_tensor[0], args->out[0], c, mean);
        ref_set(args->out_tensor[1], args->out[1], c, squares / (double)rows);
    }
}

/* Operand `in` at channel c. */
static double at_channel(const struct kernel_args *args, int in, int64_t c)
{
    return ref_get(args->in_tensor[in], args->in[in], c);
}

static double reciprocal_deviation(const struct kernel_args *args, int var_in, int64_t c)
{
    return 1.0 / sqrt(at_channel(args, var_in, c) + args->op->attr.norm.eps);
}

/* y of element i, x, mean, var, gamma and beta being the operands from x_in on. */
static double normalised(const struct kernel_args *args, int x_in, int64_t i)
{
    const struct tensor *x = args->in_tensor[x_in];
    const int64_t c = i % x->dim[x->rank - 1];
    const double normal = (ref_get(x, args->in[x_in], i) - at_channel(args, x_in + 1, c)) *
                          reciprocal_deviation(args, x_in + 2, c);

    return at_channel(args, x_in + 3, c) * normal + at_channel(args, x_in + 4, c);
}

static void bn_apply_work(const struct kernel_args *args, int phase, int64_t item)
{
    (void)phase;
    (void)item;
    for (int64_t i = 0, count = tensor_count(args->in_tensor[0]); i < count; i++)
        ref_set(args->out_tensor[0], args->out[0], i, normalised(args, 0, i));
}

static void bn_act_work(const struct kernel_args *args, int phase, int64_t item)
{
    (void)phase;
    (void)item;
    for (int64_t i = 0, count = tensor_count(args->in_tensor[0]); i < count; i++)
        ref_set(args->out_tensor[0], args->out[0], i,
                ref_unary(args->op->attr.norm_act.fn, normalised(args, 0, i)));
}

/* dy of element i: operand 0 itself, or dz through the activation's slope. */
static double given_dy(const struct kernel_args *args, int64_t i)
{
    return ref_get(args->in_tensor[0], args->in[0], i);
}

static double dy_before_act(const struct kernel_args *args, int64_t i)
{
    return given_dy(args, i) * ref_unary_slope(args->op->attr.norm_act.fn, normalised(args, 1, i));
}

/* Of x, operand 1, with mean and var behind it. */
static void sum_gradient(const struct kernel_args *args,
                         double (*dy_of)(const struct kernel_args *args, int64_t i))
{
    const struct tensor *x = args->in_tensor[1];
    const int64_t channels = x->dim[x->rank - 1], count = tensor_count(x);

    for (int64_t c = 0; c < channels; c++) {
        const double mean = at_channel(args, 2, c), rstd = reciprocal_deviation(args, 3, c);
        double sum_dy = 0.0, sum_dy_xhat = 0.0;

        for (int64_t i = c; i < count; i += channels) {
            const double dy = dy_of(args, i);

            sum_dy += dy;
            sum_dy_xhat += dy * (ref_get(x, args->in[1], i) - mean) * rstd;
        }
        ref_set(args->out_tensor[0], args->out[0], c, sum_dy);
        ref_set(args->out_tensor[1], args->out[1], c, sum_dy_xhat);
    }
}

/* The two sums are the operands from sums_in on. */
static void apply_gradient(const struct kernel_args *args,
                           double (*dy_of)(const struct kernel_args *args, int64_t i), int sums_in)
{
    const struct tensor *x = args->in_tensor[1];
    const int64_t channels = x->dim[x->rank - 1], count = tensor_count(x);
    const int64_t row_count = count / channels;
    const double rows = (double)row_count;

    for (int64_t i = 0; i < count; i++) {
        const int64_t c = i % channels;
        const double rstd = reciprocal_deviation(args, 3, c);
        const double xhat = (ref_get(x, args->in[1], i) - at_channel(args, 2, c)) * rstd;

        ref_set(args->out_tensor[0], args->out[0], i,
                at_channel(args, 4, c) * rstd *
                    (dy_of(args, i) - at_channel(args, sums_in, c) / rows -
                     xhat * at_channel(args, sums_in + 1, c) / rows));
    }
}

static void bn_grad_stats_work(const struct kernel_args *args, int phase, int64_t item)
{
    (void)phase;
    (void)item;
    sum_gradient(args, given_dy);
}

static void bn_grad_apply_work(const struct kernel_args *args, int phase, int64_t item)
{
    (void)phase;
    (void)item;
    apply_gradient(args, given_dy, 5);
}

static void bn_act_grad_stats_work(const struct kernel_args *args, int phase, int64_t item)
{
    (void)phase;
    (void)item;
    sum_gradient(args, dy_before_act);
}

static void bn_act_grad_apply_work(const struct kernel_args *args, int phase, int64_t item)
{
    (void)phase;
    (void)item;
    apply_gradient(args, dy_before_act, 6);
}

REF_KERNEL(bn_act, OP_BN_ACT);
REF_KERNEL(bn_act_grad_stats, OP_BN_ACT_GRAD_STATS);
REF_KERNEL(bn_act_grad_apply, OP_BN_ACT_GRAD_APPLY);
REF_KERNEL(bn_stats, OP_BN_STATS);
REF_KERNEL(bn_apply, OP_BN_APPLY);
REF_KERNEL(bn_grad_stats, OP_BN_GRAD_STATS);
REF_KERNEL(bn_grad_apply, OP_BN_GRAD_APPLY);
