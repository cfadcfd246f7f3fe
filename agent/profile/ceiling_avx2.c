/* agent/profile/ceiling_avx2.c: multiply-adds in registers and walks through memory, AVX2. Built with that instruction set. */
#include <immintrin.h>

#include "agent/profile/ceiling.h"

#define BURST  ceiling_burst_avx2
#define CHAINS CEILING_CHAINS_AVX2
#define vector __m256
#define ZERO   _mm256_setzero_ps()
#define SET1   _mm256_set1_ps
#define ADD    _mm256_add_ps
#define FIRST  _mm256_cvtss_f32
#define OPERANDS \
    const __m256 factor = _mm256_set1_ps(0.999f), term = _mm256_set1_ps(0.001f) /* stays near 1 */
#define STEP(sum) _mm256_fmadd_ps(sum, factor, term)
#define READ      ceiling_read_avx2
#define COPY      ceiling_copy_avx2
#define LANES     8
#define LOAD      _mm256_loadu_ps
#define STORE     _mm256_storeu_ps
#include "agent/profile/ceiling_body_internal.h"
