/* agent/kernels/ref/binary.c: references of binary and select, with NumPy's broadcasting. */
#include <math.h>

#include "agent/kernels/ref/ref.h"

/* max and min of a NaN and a number are NaN, as NumPy's maximum and PyTorch. */
static double evaluate(enum binary_fn fn, double a, double b)
{
    switch (fn) {
    case BINARY_ADD: return a + b;
    case BINARY_SUB: return a - b;
    case BINARY_MUL: return a * b;
    case BINARY_DIV: return a / b;
    case BINARY_MAX: return isnan(a) || a > b ? a : b;
    case BINARY_MIN: return isnan(a) || a < b ? a : b;
    case BINARY_EQ: return a == b;
    case BINARY_LT: return a < b;
    case BINARY_GE: return a >= b;
    case BINARY_AND: return a != 0.0 && b != 0.0;
    case BINARY_OR: return a != 0.0 || b != 0.0;
    case BINARY_COUNT: break;
    }
    assert(fn != BINARY_COUNT);
    return 0.0;
}

/* I32 wraps; a quotient is cut towards zero, by 0 it is 0. The one quotient that overflows wraps as well. */
static int32_t evaluate_i32(enum binary_fn fn, int32_t a, int32_t b)
{
    const uint32_t ua = (uint32_t)a, ub = (uint32_t)b;

    switch ((int)fn) {
    case BINARY_ADD: return (int32_t)(ua + ub);
    case BINARY_SUB: return (int32_t)(ua - ub);
    case BINARY_MUL: return (int32_t)(ua * ub);
    case BINARY_DIV: return b == 0 ? 0 : b == -1 ? (int32_t)(0u - ua) : a / b;
    case BINARY_MAX: return a > b ? a : b;
    default: return a < b ? a : b; /* min: the others do not give I32 */
    }
}

static void binary_work(const struct kernel_args *args, int phase, int64_t item)
{
    const struct tensor *a = args->in_tensor[0], *b = args->in_tensor[1];
    const struct tensor *out = args->out_tensor[0];
    const enum binary_fn fn = args->op->attr.binary.fn;

    (void)phase;
    (void)item;
    for (int64_t i = 0, count = tensor_count(out); i < count; i++) {
        const int64_t ai = ref_broadcast(out, i, a), bi = ref_broadcast(out, i, b);

        if (out->dtype == DT_I32)
            ((int32_t *)args->out[0])[i] = evaluate_i32(fn, ((const int32_t *)args->in[0])[ai],
                                                        ((const int32_t *)args->in[1])[bi]);
        else
            ref_set(out, args->out[0], i,
                    evaluate(fn, ref_get(a, args->in[0], ai), ref_get(b, args->in[1], bi)));
    }
}

static void select_work(const struct kernel_args *args, int phase, int64_t item)
{
    const struct tensor *out = args->out_tensor[0];
    const size_t bytes = dtype_bytes(out->dtype);

    (void)phase;
    (void)item;
    for (int64_t i = 0, count = tensor_count(out); i < count; i++) {
        const uint8_t *condition = args->in[0];
        const int from = condition[ref_broadcast(out, i, args->in_tensor[0])] != 0 ? 1 : 2;
        const int64_t at = ref_broadcast(out, i, args->in_tensor[from]);

        memcpy((unsigned char *)args->out[0] + bytes * (size_t)i,
               (const unsigned char *)args->in[from] + bytes * (size_t)at, bytes);
    }
}

REF_KERNEL(binary, OP_BINARY);
REF_KERNEL(select, OP_SELECT);
