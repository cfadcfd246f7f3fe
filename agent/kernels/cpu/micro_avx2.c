/* agent/kernels/cpu/micro_avx2.c: the micro-kernels for AVX2, one instance of the shared bodies; the Makefile builds
 * this file alone with that instruction set, so nothing here runs before cpu_isa_detect() has said that it may. */
#include "agent/kernels/cpu/micro_body_internal.h"

const struct micro micro_avx2 = {.dtype = DT_F32, MICRO_MEMBERS, .sgd = sgd};
