/* agent/kernels/cpu/simd_internal.h: vectors of floats under one set of names, for the instruction set that the
 * including file is built for. Only micro_<isa>.c may include it. vf_*_n touch the first n lanes alone: nothing
 * beyond them is read or written. */
#ifndef DAYBREAK_AGENT_KERNELS_CPU_SIMD_INTERNAL_H
#define DAYBREAK_AGENT_KERNELS_CPU_SIMD_INTERNAL_H

#include <immintrin.h>
#include <stdint.h>

/* `stored` is what activations lie in memory as: float, or with MICRO_BF16 bf16 (micro_avx512_bf16.c). vs_* move stored
 * numbers to and from vectors of floats; a cell is 4 bytes of an operand of a product: one float, or two bf16, whose two
 * products vf_dot adds to the sum. */

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)

#define VF_LANES    16
#define VF_ROWS_MAX 12
typedef __m512 vf; /* the compiler's vector types under a common name */
typedef __mmask16 vmask;

static inline vf vf_zero(void)
{
    return _mm512_setzero_ps();
}
static inline vf vf_set1(float a)
{
    return _mm512_set1_ps(a);
}
static inline vf vf_load(const float *p)
{
    return _mm512_loadu_ps(p);
}
static inline void vf_store(float *p, vf a)
{
    _mm512_storeu_ps(p, a);
}
static inline __mmask16 vf_first(int64_t n)
{
    return (__mmask16)((1u << n) - 1u);
}
static inline vf vf_load_n(const float *p, int64_t n)
{
    return _mm512_maskz_loadu_ps(vf_first(n), p);
}
static inline void vf_store_n(float *p, int64_t n, vf a)
{
    _mm512_mask_storeu_ps(p, vf_first(n), a);
}
static inline vf vf_add(vf a, vf b)
{
    return _mm512_add_ps(a, b);
}
static inline vf vf_sub(vf a, vf b)
{
    return _mm512_sub_ps(a, b);
}
static inline vf vf_mul(vf a, vf b)
{
    return _mm512_mul_ps(a, b);
}
static inline vf vf_div(vf a, vf b)
{
    return _mm512_div_ps(a, b);
}
static inline vf vf_fma(vf a, vf b, vf c)
{
    return _mm512_fmadd_ps(a, b, c);
}
static inline vf vf_fnma(vf a, vf b, vf c)
{
    return _mm512_fnmadd_ps(a, b, c);
} /* c - a b */
static inline vf vf_max(vf a, vf b)
{
    return _mm512_max_ps(a, b);
} /* b where either is NaN */
static inline vf vf_min(vf a, vf b)
{
    return _mm512_min_ps(a, b);
}
static inline vf vf_sqrt(vf a)
{
    return _mm512_sqrt_ps(a);
}
static inline vf vf_round(vf a)
{
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
static inline vf vf_abs(vf a)
{
    return _mm512_abs_ps(a);
}
static inline vf vf_neg(vf a)
{
    return _mm512_xor_ps(a, _mm512_set1_ps(-0.0f));
}
/* 1 / a, off by at most 2^-14 of it */
static inline vf vf_reciprocal14(vf a)
{
    return _mm512_rcp14_ps(a);
}
/* a 2^n, n an integer in [-126, 127] */
static inline vf vf_scale2(vf a, vf n)
{
    return _mm512_scalef_ps(a, n);
}
static inline vmask vf_lt(vf a, vf b)
{
    return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ);
}
static inline vmask vf_nan(vf a)
{
    return _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q);
}
/* a > b, or a is NaN and b is not */
static inline vmask vf_wins(vf a, vf b)
{
    return _mm512_mask_cmp_ps_mask(_mm512_cmp_ps_mask(a, b, _CMP_NLE_UQ), b, b, _CMP_ORD_Q);
}
static inline vf vf_select(vmask m, vf yes, vf no)
{
    return _mm512_mask_blend_ps(m, no, yes);
}

#ifdef MICRO_BF16
typedef uint16_t stored;
static inline vf vs_widen(__m256i a)
{
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(a), 16));
}
static inline vf vs_load(const stored *p)
{
    return vs_widen(_mm256_loadu_si256((const __m256i *)(const void *)p));
}
static inline vf vs_load_n(const stored *p, int64_t n)
{
    return vs_widen(_mm256_maskz_loadu_epi16(vf_first(n), p));
}
/* To nearest, ties to even; a NaN stays one. */
static inline void vs_store(stored *p, vf a)
{
    _mm256_storeu_si256((__m256i *)(void *)p, (__m256i)_mm512_cvtneps_pbh(a));
}
static inline void vs_store_n(stored *p, int64_t n, vf a)
{
    _mm256_mask_storeu_epi16(p, vf_first(n), (__m256i)_mm512_cvtneps_pbh(a));
}
static inline vf vf_dot(vf a, vf b, vf c)
{
    return _mm512_dpbf16_ps(c, (__m512bh)a, (__m512bh)b);
}
/* Cells of a number of each. */
#define CELL_NUMBERS 2
static inline vf vs_cells(vf first, vf second)
{
    const __m512i order =
        _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                         21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);

    return _mm512_castsi512_ps(
        _mm512_permutexvar_epi16(order, (__m512i)_mm512_cvtne2ps_pbh(second, first)));
}
/* Of 32 numbers the even ones, the odd ones: a shift and a mask, where loading them in order converts. vs_cells joins them. */
static inline vf vs_load_even(const stored *p)
{
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_loadu_si512(p), 16));
}
static inline vf vs_load_odd(const stored *p)
{
    const __m512i high = _mm512_set1_epi32((int)0xffff0000u);

    return _mm512_castsi512_ps(_mm512_and_si512(_mm512_loadu_si512(p), high));
}
/* Cells of 32 numbers of two rows, which lie in even and odd vectors: the first 16, then the others. */
static inline void vs_store_cells(float *p, vf first_even, vf first_odd, vf second_even,
                                  vf second_odd)
{
    /* Of the first row's 16 even numbers and 16 odd ones (0..31), then the second's (32..63). */
    const __m512i low =
        _mm512_set_epi16(55, 23, 39, 7, 54, 22, 38, 6, 53, 21, 37, 5, 52, 20, 36, 4, 51, 19, 35, 3,
                         50, 18, 34, 2, 49, 17, 33, 1, 48, 16, 32, 0);
    const __m512i high = _mm512_add_epi16(low, _mm512_set1_epi16(8));
    const __m512i first = (__m512i)_mm512_cvtne2ps_pbh(first_odd, first_even);
    const __m512i second = (__m512i)_mm512_cvtne2ps_pbh(second_odd, second_even);

    _mm512_storeu_si512(p, _mm512_permutex2var_epi16(first, low, second));
    _mm512_storeu_si512(p + 16, _mm512_permutex2var_epi16(first, high, second));
}
#endif

/* Small integers beside the lanes: the places of a pooling window. */
typedef __m512i vi;
static inline vi vi_set1(int32_t a)
{
    return _mm512_set1_epi32(a);
}
static inline vi vi_select(vmask m, vi yes, vi no)
{
    return _mm512_mask_blend_epi32(m, no, yes);
}
static inline vmask vi_eq(vi a, vi b)
{
    return _mm512_cmpeq_epi32_mask(a, b);
}
static inline void vi_store_u8_n(uint8_t *p, int64_t n, vi a)
{
    _mm512_mask_cvtepi32_storeu_epi8(p, vf_first(n), a);
}
static inline vi vi_load_u8_n(const uint8_t *p, int64_t n)
{
    return _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(vf_first(n), p));
}

#elif defined(__AVX2__) && defined(__FMA__)

#include <string.h>

#define VF_LANES    8
#define VF_ROWS_MAX 6
typedef __m256 vf;
typedef __m256 vmask; /* all bits of a lane */

static inline vf vf_zero(void)
{
    return _mm256_setzero_ps();
}
static inline vf vf_set1(float a)
{
    return _mm256_set1_ps(a);
}
static inline vf vf_load(const float *p)
{
    return _mm256_loadu_ps(p);
}
static inline void vf_store(float *p, vf a)
{
    _mm256_storeu_ps(p, a);
}
static inline __m256i vf_first(int64_t n)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
static inline vf vf_load_n(const float *p, int64_t n)
{
    return _mm256_maskload_ps(p, vf_first(n));
}
static inline void vf_store_n(float *p, int64_t n, vf a)
{
    _mm256_maskstore_ps(p, vf_first(n), a);
}
static inline vf vf_add(vf a, vf b)
{
    return _mm256_add_ps(a, b);
}
static inline vf vf_sub(vf a, vf b)
{
    return _mm256_sub_ps(a, b);
}
static inline vf vf_mul(vf a, vf b)
{
    return _mm256_mul_ps(a, b);
}
static inline vf vf_div(vf a, vf b)
{
    return _mm256_div_ps(a, b);
}
static inline vf vf_fma(vf a, vf b, vf c)
{
    return _mm256_fmadd_ps(a, b, c);
}
static inline vf vf_fnma(vf a, vf b, vf c)
{
    return _mm256_fnmadd_ps(a, b, c);
}
static inline vf vf_max(vf a, vf b)
{
    return _mm256_max_ps(a, b);
}
static inline vf vf_min(vf a, vf b)
{
    return _mm256_min_ps(a, b);
}
static inline vf vf_sqrt(vf a)
{
    return _mm256_sqrt_ps(a);
}
static inline vf vf_round(vf a)
{
    return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
static inline vf vf_abs(vf a)
{
    return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a);
}
static inline vf vf_neg(vf a)
{
    return _mm256_xor_ps(a, _mm256_set1_ps(-0.0f));
}
static inline vf vf_scale2(vf a, vf n)
{
    const __m256i exponent = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));

    return _mm256_mul_ps(a, _mm256_castsi256_ps(_mm256_slli_epi32(exponent, 23)));
}
static inline vmask vf_lt(vf a, vf b)
{
    return _mm256_cmp_ps(a, b, _CMP_LT_OQ);
}
static inline vmask vf_nan(vf a)
{
    return _mm256_cmp_ps(a, a, _CMP_UNORD_Q);
}
static inline vmask vf_wins(vf a, vf b)
{
    return _mm256_and_ps(_mm256_cmp_ps(a, b, _CMP_NLE_UQ), _mm256_cmp_ps(b, b, _CMP_ORD_Q));
}
static inline vf vf_select(vmask m, vf yes, vf no)
{
    return _mm256_blendv_ps(no, yes, m);
}

typedef __m256i vi;
static inline vi vi_set1(int32_t a)
{
    return _mm256_set1_epi32(a);
}
static inline vi vi_select(vmask m, vi yes, vi no)
{
    return _mm256_blendv_epi8(no, yes, _mm256_castps_si256(m));
}
static inline vmask vi_eq(vi a, vi b)
{
    return _mm256_castsi256_ps(_mm256_cmpeq_epi32(a, b));
}
static inline void vi_store_u8_n(uint8_t *p, int64_t n, vi a)
{
    /* Values are below 256: the unsigned saturations of both packs change nothing. */
    const __m128i words =
        _mm_packus_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
    const int64_t bytes = _mm_cvtsi128_si64(_mm_packus_epi16(words, words));

    memcpy(p, &bytes, (size_t)n);
}
static inline vi vi_load_u8_n(const uint8_t *p, int64_t n)
{
    int64_t bytes = 0;

    memcpy(&bytes, p, (size_t)n);
    return _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(bytes));
}

#else
#error "simd_internal.h is for micro_<isa>.c, which are built with their flags"
#endif

#ifndef MICRO_BF16
typedef float stored;
static inline vf vs_load(const stored *p)
{
    return vf_load(p);
}
static inline vf vs_load_n(const stored *p, int64_t n)
{
    return vf_load_n(p, n);
}
static inline void vs_store(stored *p, vf a)
{
    vf_store(p, a);
}
static inline void vs_store_n(stored *p, int64_t n, vf a)
{
    vf_store_n(p, n, a);
}
static inline vf vf_dot(vf a, vf b, vf c)
{
    return vf_fma(a, b, c);
}
#define CELL_NUMBERS 1
static inline vf vs_cells(vf first, vf second)
{
    (void)second;
    return first;
}
#endif

#endif
