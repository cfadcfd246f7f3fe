/* agent/kernels/cpu/micro_avx2.c: the micro-kernels for AVX2, one instance of the shared bodies; the Makefile builds
 * this file alone with that instruction set, so nothing here runs before cpu_isa_detect() has said that it may. */
#include "agent/kernels/cpu/channel_body_internal.h"
#include "agent/kernels/cpu/gemm_body_internal.h"
#include "agent/kernels/cpu/micro_internal.h"
#include "agent/kernels/cpu/vector_body_internal.h"

const struct micro micro_avx2 = {
    .dtype = DT_F32,
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
    .sgd = sgd,
};
