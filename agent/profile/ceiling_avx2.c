/* agent/profile/ceiling_avx2.c: multiply-adds in registers, AVX2: enough independent chains to hide the latency of every
 * unit. Built with that instruction set. */
#include <immintrin.h>

#include "agent/profile/ceiling.h"

#define CHAINS CEILING_CHAINS_AVX2

void ceiling_burst_avx2(int64_t rounds, float *sink)
{
    const __m256 factor = _mm256_set1_ps(0.999f), term = _mm256_set1_ps(0.001f); /* stays near 1 */
    __m256 chain[CHAINS], sum = _mm256_setzero_ps();

#pragma GCC unroll 24
    for (int i = 0; i < CHAINS; i++)
        chain[i] = _mm256_set1_ps((float)i);
    for (int64_t round = 0; round < rounds; round++) {
#pragma GCC unroll 24
        for (int i = 0; i < CHAINS; i++)
            chain[i] = _mm256_fmadd_ps(chain[i], factor, term);
    }
#pragma GCC unroll 24
    for (int i = 0; i < CHAINS; i++)
        sum = _mm256_add_ps(sum, chain[i]);
    *sink = _mm256_cvtss_f32(sum);
}
