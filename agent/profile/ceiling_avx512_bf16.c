/* agent/profile/ceiling_avx512_bf16.c: products of pairs of bf16 in registers, AVX-512: enough independent chains to hide the latency of every
 * unit. Built with that instruction set. */
#include <immintrin.h>

#include "agent/profile/ceiling.h"

#define CHAINS CEILING_CHAINS_AVX512

void ceiling_burst_avx512_bf16(int64_t rounds, float *sink)
{
    const __m512bh a = (__m512bh)_mm512_set1_ps(0.25f); /* a pair of it and of a number near 0 */
    const __m512bh b = (__m512bh)_mm512_set1_ps(-0.25f);
    __m512 chain[CHAINS], sum = _mm512_setzero_ps();

#pragma GCC unroll 24
    for (int i = 0; i < CHAINS; i++)
        chain[i] = _mm512_set1_ps((float)i);
    for (int64_t round = 0; round < rounds; round++) {
#pragma GCC unroll 24
        for (int i = 0; i < CHAINS; i++)
            chain[i] = _mm512_dpbf16_ps(chain[i], a, b);
    }
#pragma GCC unroll 24
    for (int i = 0; i < CHAINS; i++)
        sum = _mm512_add_ps(sum, chain[i]);
    *sink = _mm512_reduce_add_ps(sum);
}
