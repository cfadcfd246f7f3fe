/* agent/profile/ceiling_avx512.c: multiply-adds in registers and walks through memory, AVX-512. Built with that instruction set. */
#include <immintrin.h>

#include "agent/profile/ceiling.h"

#define BURST  ceiling_burst_avx512
#define CHAINS CEILING_CHAINS_AVX512
#define vector __m512
#define ZERO   _mm512_setzero_ps()
#define SET1   _mm512_set1_ps
#define ADD    _mm512_add_ps
#define FIRST  _mm512_reduce_add_ps
#define OPERANDS \
    const __m512 factor = _mm512_set1_ps(0.999f), term = _mm512_set1_ps(0.001f) /* stays near 1 */
#define STEP(sum) _mm512_fmadd_ps(sum, factor, term)
#define READ      ceiling_read_avx512
#define COPY      ceiling_copy_avx512
#define LANES     16
#define LOAD      _mm512_loadu_ps
#define STORE     _mm512_storeu_ps
#include "agent/profile/ceiling_body_internal.h"
