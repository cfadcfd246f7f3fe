/* agent/kernels/cpu/micro_avx512_bf16.c: the micro-kernels for activations and weights in bf16, with AVX-512's products of
 * pairs of bf16 (VDPBF16PS) and sums in F32; see micro_avx512.c. Arithmetic of all other loops is in F32: numbers are
 * widened as they are loaded, and rounded to nearest as they are stored. */
#define MICRO_BF16
#include "agent/kernels/cpu/channel_body_internal.h"
#include "agent/kernels/cpu/gemm_body_internal.h"
#include "agent/kernels/cpu/micro_internal.h"
#include "agent/kernels/cpu/vector_body_internal.h"

const struct micro micro_avx512_bf16 = {
    .dtype = DT_BF16,
    .lanes = VF_LANES,
    .columns = 2 * VF_LANES,
    .rows_max = VF_ROWS_MAX,
    .gemm_tile = gemm_tile,
    .outer_tile = outer_tile,
    .unary = unary,
    .unary_grad = unary_grad,
    .binary = binary,
    .column_sum = column_sum,
    .column_m2 = column_m2,
    .column_dot = column_dot,
    .normalise = normalise,
    .normalise_grad = normalise_grad,
    .pool_max = pool_max,
    .unpool_max = unpool_max,
    .narrow = narrow,
    .widen = widen,
    .interleave = interleave,
};
