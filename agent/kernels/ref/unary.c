/* agent/kernels/ref/unary.c: references of unary and unary_grad, in double.
 * gelu_erf: Hendrycks, Gimpel, arXiv 1606.08415; gelu_tanh: its approximation there, eq. in section 2. */
#include <math.h>

#include "agent/kernels/ref/ref.h"

#define SQRT_HALF       0.70710678118654752440 /* sqrt(1/2) */
#define SQRT_2_OVER_PI  0.79788456080286535588
#define RSQRT_2PI       0.39894228040143267794
#define GELU_TANH_CUBIC 0.044715

static double sigmoid(double x)
{
    return 1.0 / (1.0 + exp(-x)); /* exp may overflow to infinity: the result is then 0 */
}

double ref_unary(enum unary_fn fn, double x)
{
    switch (fn) {
    case UNARY_NEG: return -x;
    case UNARY_EXP: return exp(x);
    case UNARY_LOG: return log(x);
    case UNARY_SQRT: return sqrt(x);
    case UNARY_RSQRT: return 1.0 / sqrt(x);
    case UNARY_RELU: return x > 0.0 || isnan(x) ? x : 0.0;
    case UNARY_GELU_ERF: return x * 0.5 * erfc(-x * SQRT_HALF);
    case UNARY_GELU_TANH:
        return 0.5 * x * (1.0 + tanh(SQRT_2_OVER_PI * (x + GELU_TANH_CUBIC * x * x * x)));
    case UNARY_SIGMOID: return sigmoid(x);
    case UNARY_TANH: return tanh(x);
    case UNARY_SILU: return x * sigmoid(x);
    case UNARY_COUNT: break;
    }
    assert(fn != UNARY_COUNT);
    return 0.0;
}

static double gelu_tanh_slope(double x)
{
    const double u = SQRT_2_OVER_PI * (x + GELU_TANH_CUBIC * x * x * x);
    const double t = tanh(u);

    return 0.5 * (1.0 + t) +
           0.5 * x * (1.0 - t * t) * SQRT_2_OVER_PI * (1.0 + 3.0 * GELU_TANH_CUBIC * x * x);
}

/* f'(x); at relu's kink 0, as PyTorch. */
double ref_unary_slope(enum unary_fn fn, double x)
{
    switch (fn) {
    case UNARY_NEG: return -1.0;
    case UNARY_EXP: return exp(x);
    case UNARY_LOG: return 1.0 / x;
    case UNARY_SQRT: return 0.5 / sqrt(x);
    case UNARY_RSQRT: return -0.5 / (x * sqrt(x));
    case UNARY_RELU: return x > 0.0 ? 1.0 : 0.0;
    case UNARY_GELU_ERF: return 0.5 * erfc(-x * SQRT_HALF) + x * RSQRT_2PI * exp(-0.5 * x * x);
    case UNARY_GELU_TANH: return gelu_tanh_slope(x);
    case UNARY_SIGMOID: return sigmoid(x) * (1.0 - sigmoid(x));
    case UNARY_TANH: return 1.0 - tanh(x) * tanh(x);
    case UNARY_SILU: return sigmoid(x) * (1.0 + x * (1.0 - sigmoid(x)));
    case UNARY_COUNT: break;
    }
    assert(fn != UNARY_COUNT);
    return 0.0;
}

static void unary_work(const struct kernel_args *args, int phase, int64_t item)
{
    const struct tensor *in = args->in_tensor[0], *out = args->out_tensor[0];

    (void)phase;
    (void)item;
    for (int64_t i = 0, count = tensor_count(out); i < count; i++)
        ref_set(out, args->out[0], i,
                ref_unary(args->op->attr.unary.fn, ref_get(in, args->in[0], i)));
}

static void unary_grad_work(const struct kernel_args *args, int phase, int64_t item)
{
    const struct tensor *out = args->out_tensor[0];

    (void)phase;
    (void)item;
    for (int64_t i = 0, count = tensor_count(out); i < count; i++)
        ref_set(out, args->out[0], i,
                ref_get(args->in_tensor[0], args->in[0], i) *
                    ref_unary_slope(args->op->attr.unary.fn,
                                    ref_get(args->in_tensor[1], args->in[1], i)));
}

/* Everything is computed from x. */
static bool unary_grad_accept(const struct kernel_query *query, struct fit *fit,
                              char why[KERNEL_WHY_BYTES])
{
    fit->unread_mask = 1u << 2;
    return ref_accept(query, fit, why);
}

REF_KERNEL(unary, OP_UNARY);
const struct kernel unary_grad_ref = {.name = "unary_grad_ref",
                                      .anchor = OP_UNARY_GRAD,
                                      .reference = true,
                                      .accept = unary_grad_accept,
                                      .work = unary_grad_work};
