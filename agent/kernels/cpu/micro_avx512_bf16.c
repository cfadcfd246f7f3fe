/* agent/kernels/cpu/micro_avx512_bf16.c: the micro-kernels for activations and weights in bf16, with AVX-512's products of
 * pairs of bf16 (VDPBF16PS) and sums in F32; see micro_avx512.c. Arithmetic of all other loops is in F32: numbers are
 * widened as they are loaded, and rounded to nearest as they are stored. */
#define MICRO_BF16
#include "agent/kernels/cpu/micro_body_internal.h"

const struct micro micro_avx512_bf16 = {
    .dtype = DT_BF16, MICRO_MEMBERS, .narrow = narrow, .widen = widen, .interleave = interleave};
