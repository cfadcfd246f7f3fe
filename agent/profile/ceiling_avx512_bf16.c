/* agent/profile/ceiling_avx512_bf16.c: products of pairs of bf16 in registers, AVX-512. Built with that instruction set. */
#include <immintrin.h>

#include "agent/profile/ceiling.h"

#define BURST  ceiling_burst_avx512_bf16
#define CHAINS CEILING_CHAINS_AVX512
#define vector __m512
#define ZERO   _mm512_setzero_ps()
#define SET1   _mm512_set1_ps
#define ADD    _mm512_add_ps
#define FIRST  _mm512_reduce_add_ps
#define OPERANDS \
    const __m512 a = _mm512_set1_ps(0.25f), b = _mm512_set1_ps(-0.25f) /* each is a pair with a 0 */
#define STEP(sum) _mm512_dpbf16_ps(sum, (__m512bh)a, (__m512bh)b)
#include "agent/profile/ceiling_body_internal.h"
