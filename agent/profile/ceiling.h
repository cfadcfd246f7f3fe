/* agent/profile/ceiling.h: what this host can do at most, as kernels of their own, so that the thread pool can run them
 * between the kernels that are judged by them: a share is only as good as the ceiling of the same moment.
 * Threads: work() may run on any; the two objects are constant. */
#ifndef DAYBREAK_AGENT_PROFILE_CEILING_H
#define DAYBREAK_AGENT_PROFILE_CEILING_H

#include "agent/kernels/kernels.h"

/* Multiply-adds in registers with the widest set in `isa`, of F32 or of BF16 with F32 sums (F32's where the set has no
 * products of bf16); an item takes a few hundred microseconds. */
const struct kernel *ceiling_fma_kernel(uint32_t isa, enum dtype dtype);
double ceiling_fma_flops(uint32_t isa, enum dtype dtype); /* of one item */

/* Walks of `rounds` rounds through a piece of memory of each item's own, with the widest set in `isa`: reading out[0], or
 * copying from its first half to its second one. struct fit says how:
 *   block[0]  KiB of a piece, an even number     block[1]  rounds     block[2]  KiB from a piece to the next
 * scratch: CEILING_SINK_FLOATS an item. */
const struct kernel *ceiling_read_kernel(uint32_t isa);
const struct kernel *ceiling_copy_kernel(uint32_t isa);

#define CEILING_SINK_FLOATS 16 /* of an item: a cache line of its own */

/* One burst of `rounds` rounds of multiply-adds, each of CEILING_CHAINS vectors; ceiling_<isa>.c. *sink keeps the
 * result alive. */
#define CEILING_CHAINS_AVX512 24
#define CEILING_CHAINS_AVX2   12
void ceiling_burst_avx512(int64_t rounds, float *sink);
void ceiling_burst_avx512_bf16(int64_t rounds, float *sink); /* CEILING_CHAINS_AVX512 of pairs */
void ceiling_burst_avx2(int64_t rounds, float *sink);
/* The walks; floats: a multiple of 128. */
void ceiling_read_avx512(const float *from, int64_t floats, int64_t rounds, float *sink);
void ceiling_read_avx2(const float *from, int64_t floats, int64_t rounds, float *sink);
void ceiling_copy_avx512(float *to, const float *from, int64_t floats, int64_t rounds);
void ceiling_copy_avx2(float *to, const float *from, int64_t floats, int64_t rounds);

#endif
