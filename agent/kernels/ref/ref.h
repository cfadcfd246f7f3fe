/* agent/kernels/ref/ref.h: what the reference kernels share: elements of any dtype by logical index, index
 * arithmetic, and the list that kernel_reference() looks in. References are oracles: plain loops in double,
 * ROW, one item, no intrinsics; they stay right where faster kernels may be wrong.
 * Ownership: borrows everything. Threads: pure, any thread.
 *
 * A reference file is agent/kernels/ref/<op>.c (a gradient may live beside its op). It defines
 * `static void <op>_work(args, phase, item)` and ends with REF_KERNEL(<op>, OP_...); its row joins REF_LIST
 * in the same commit. */
#ifndef DAYBREAK_AGENT_KERNELS_REF_REF_H
#define DAYBREAK_AGENT_KERNELS_REF_REF_H

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "agent/kernels/kernels.h"

/* X(op kind, op name): the object is <name>_ref. Ops without a row: sources, sinks and composites. */
#define REF_LIST(X)                              \
    X(OP_FILL, fill)                             \
    X(OP_IOTA, iota)                             \
    X(OP_ROW_READ, row_read)                     \
    X(OP_ROW_WRITE, row_write)                   \
    X(OP_CONVERT, convert)                       \
    X(OP_RESHAPE, reshape)                       \
    X(OP_TRANSPOSE, transpose)                   \
    X(OP_SLICE, slice)                           \
    X(OP_PAD, pad)                               \
    X(OP_CONCAT, concat)                         \
    X(OP_GATHER_ROWS, gather_rows)               \
    X(OP_SCATTER_ROWS, scatter_rows)             \
    X(OP_UNARY, unary)                           \
    X(OP_UNARY_GRAD, unary_grad)                 \
    X(OP_BINARY, binary)                         \
    X(OP_SELECT, select)                         \
    X(OP_REDUCE, reduce)                         \
    X(OP_LAYER_NORM, layer_norm)                 \
    X(OP_LAYER_NORM_GRAD, layer_norm_grad)       \
    X(OP_SOFTMAX, softmax)                       \
    X(OP_SOFTMAX_GRAD, softmax_grad)             \
    X(OP_MATMUL, matmul)                         \
    X(OP_CONV2D, conv2d)                         \
    X(OP_CONV2D_GRAD_INPUT, conv2d_grad_input)   \
    X(OP_CONV2D_GRAD_WEIGHT, conv2d_grad_weight) \
    X(OP_POOL_MAX, pool_max)                     \
    X(OP_POOL_MAX_GRAD, pool_max_grad)           \
    X(OP_POOL_AVG, pool_avg)                     \
    X(OP_POOL_AVG_GRAD, pool_avg_grad)           \
    X(OP_BN_STATS, bn_stats)                     \
    X(OP_BN_APPLY, bn_apply)                     \
    X(OP_BN_GRAD_STATS, bn_grad_stats)           \
    X(OP_BN_GRAD_APPLY, bn_grad_apply)           \
    X(OP_BN_ACT, bn_act)                         \
    X(OP_BN_ACT_GRAD_STATS, bn_act_grad_stats)   \
    X(OP_BN_ACT_GRAD_APPLY, bn_act_grad_apply)   \
    X(OP_XENT, xent)                             \
    X(OP_XENT_GRAD, xent_grad)                   \
    X(OP_SAMPLE, sample)                         \
    X(OP_AUGMENT, augment)                       \
    X(OP_SGD, sgd)

#define REF_DECLARE(kind, name) extern const struct kernel name##_ref;
REF_LIST(REF_DECLARE)
#undef REF_DECLARE

#define REF_KERNEL(op, kind)                              \
    const struct kernel op##_ref = {.name = #op "_ref",   \
                                    .anchor = (kind),     \
                                    .reference = true,    \
                                    .accept = ref_accept, \
                                    .work = op##_work}

/* ref/unary.c: f(x) and f'(x). */
double ref_unary(enum unary_fn fn, double x);
double ref_unary_slope(enum unary_fn fn, double x);

/* Takes whatever the shape rule took; fit stays all zero. */
bool ref_accept(const struct kernel_query *query, struct fit *fit, char why[KERNEL_WHY_BYTES]);

/* bf16 <-> float: round to nearest even, NaN kept (made quiet), infinities and signed zeros kept. */
static inline float ref_bf16_to_float(uint16_t half)
{
    const uint32_t bits = (uint32_t)half << 16;
    float number;

    memcpy(&number, &bits, sizeof number);
    return number;
}

static inline uint16_t ref_float_to_bf16(float number)
{
    uint32_t bits;

    memcpy(&bits, &number, sizeof bits);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t)((bits >> 16) | 0x40u);
    return (uint16_t)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

/* Element `index` of a ROW tensor, in row-major order of its logical dims; I32, U8 are exact in double. */
static inline double ref_get(const struct tensor *t, const void *data, int64_t index)
{
    switch (t->dtype) {
    case DT_F32: return (double)((const float *)data)[index];
    case DT_BF16: return (double)ref_bf16_to_float(((const uint16_t *)data)[index]);
    case DT_I32: return (double)((const int32_t *)data)[index];
    case DT_U8: return (double)((const uint8_t *)data)[index];
    case DT_F64: return ((const double *)data)[index];
    case DT_COUNT: break;
    }
    assert(t->dtype != DT_COUNT);
    return 0.0;
}

/* Rounds to the element's type: F32 to nearest even; BF16 by way of F32, as every kernel that sums in F32
 * does; I32 and U8 towards zero, clamped to their range, NaN to 0. */
static inline void ref_set(const struct tensor *t, void *data, int64_t index, double number)
{
    switch (t->dtype) {
    case DT_F32: ((float *)data)[index] = (float)number; return;
    case DT_BF16: ((uint16_t *)data)[index] = ref_float_to_bf16((float)number); return;
    case DT_I32:
        ((int32_t *)data)[index] = number >= 2147483647.0    ? INT32_MAX
                                   : number <= -2147483648.0 ? INT32_MIN
                                   : number == number        ? (int32_t)number
                                                             : 0;
        return;
    case DT_U8:
        ((uint8_t *)data)[index] = number >= 255.0 ? 255 : number > 0.0 ? (uint8_t)number : 0;
        return;
    case DT_F64: ((double *)data)[index] = number; return;
    case DT_COUNT: break;
    }
    assert(t->dtype != DT_COUNT);
}

/* Row-major index <-> coordinates of a tensor's logical dims. coord has rank entries. */
void ref_unravel(const struct tensor *t, int64_t index, int64_t coord[TENSOR_RANK_MAX]);
int64_t ref_ravel(const struct tensor *t, const int64_t coord[TENSOR_RANK_MAX]);

/* The element of `in` that lands on element `index` of `out` under NumPy's broadcasting: dims are aligned at
 * the last one, and a dim of 1 in `in` repeats. */
int64_t ref_broadcast(const struct tensor *out, int64_t index, const struct tensor *in);

#endif
