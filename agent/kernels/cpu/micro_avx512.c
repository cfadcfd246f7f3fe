/* agent/kernels/cpu/micro_avx512.c: the micro-kernels for AVX512, one instance of the shared bodies; the Makefile builds
 * this file alone with that instruction set, so nothing here runs before cpu_isa_detect() has said that it may. */
#include "agent/kernels/cpu/micro_body_internal.h"

const struct micro micro_avx512 = {.dtype = DT_F32, MICRO_MEMBERS, .sgd = sgd};
