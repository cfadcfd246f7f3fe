/* agent/kernels/cpu/vector_body_internal.h: elementwise and per-channel loops, written once over simd_internal.h
 * and compiled by each micro_<isa>.c. All are bound by memory: a few flops a byte.
 *
 * exp(v), v <= 0 or clamped: v = n ln2 + r, |r| <= ln2/2, ln2 in two parts (Cody, Waite), a polynomial of degree 6
 * whose relative error is below 2e-8 (own Remez fit), then times 2^n. With roundings: below 2 ulp.
 * Results below 2^-126 become 0: denormals are flushed everywhere.
 *
 * Phi(-u), u >= 0, the normal tail: exp(-u^2/2) t P(t), t = 1/(1 + 0.34 u) (the form of Hastings 1955; P of
 * degree 8, own Remez fit on u <= 14, relative error below 3.1e-8 = 0.51 u, u = 2^-24).
 * gelu(x) = x Phi(x): Phi is at most 1 and off by at most 6 u: 0.5 u of P, 3 u of its Horner steps, exp and t, on
 * a tail of at most 0.5, and u/2 of 1 - tail; the argument -u^2/2 is rounded, which costs u^2/2 u relative but only on
 * a tail that falls faster. So |error| <= 6 u |x| + half an ulp of the result.
 *
 * In BF16, whose own rounding is 2^-9, Phi and the slope Phi + x phi are 1/2 + x p(x^2) over [-4, 4] and [-4.25, 4.25], exact
 * at the ends (own least squares, weighted until the error is level): off by at most 2^-14 and 2^-12. A third of the time.
 * sigmoid has exp with a polynomial of degree 3, off by 2^-13.7 of exp, so by at most 2^-15.7 of the result, and a
 * reciprocal that is off by 2^-14 of it. */
#include "agent/kernels/cpu/micro_internal.h"
#include "agent/kernels/cpu/simd_internal.h"

#define EXP_MIN (-87.33f) /* exp is 2^-126 a little below */
#define EXP_MAX 88.37f    /* exp is 2^127 sqrt(2) a little above */

/* EXP_MIN <= v <= EXP_MAX. */
static inline vf exp_in_range(vf v)
{
    const vf n = vf_round(vf_mul(v, vf_set1(1.44269504f)));
    const vf r = vf_fnma(n, vf_set1(-2.12194440e-4f), vf_fnma(n, vf_set1(0.693359375f), v));
    vf p = vf_set1(1.38368460e-3f);

    p = vf_fma(p, r, vf_set1(8.37481581e-3f));
    p = vf_fma(p, r, vf_set1(4.16682256e-2f));
    p = vf_fma(p, r, vf_set1(1.66664202e-1f));
    p = vf_fma(p, r, vf_set1(4.99999921e-1f));
    p = vf_fma(p, r, vf_set1(1.0f));
    p = vf_fma(p, r, vf_set1(1.0f));
    return vf_scale2(p, n);
}

static inline vf exp_of(vf v)
{
    vf p = exp_in_range(vf_min(vf_max(v, vf_set1(EXP_MIN)), vf_set1(EXP_MAX)));

    p = vf_select(vf_lt(v, vf_set1(EXP_MIN)), vf_zero(), p);
    p = vf_select(vf_lt(vf_set1(EXP_MAX), v), vf_set1(__builtin_inff()), p);
    return vf_select(vf_nan(v), v, p); /* the clamp lost it */
}

#ifndef MICRO_BF16
static inline vf sigmoid_of(vf x)
{
    const vf one = vf_set1(1.0f);

    return vf_div(one, vf_add(one, exp_of(vf_neg(x))));
}

/* 1 - sigmoid(x), s being sigmoid(x). */
static inline vf sigmoid_rest(vf x, vf s)
{
    (void)x;
    return vf_sub(vf_set1(1.0f), s);
}
#else
/* min and max in this order keep a NaN. */
static inline vf short_exp(vf x)
{
    const vf v = vf_max(vf_set1(EXP_MIN), vf_min(vf_set1(-EXP_MIN), x));
    const vf n = vf_round(vf_mul(v, vf_set1(1.44269504f)));
    const vf r = vf_fnma(n, vf_set1(0.693147181f), v);
    vf p = vf_set1(1.65668428e-1f);

    p = vf_fma(p, r, vf_set1(5.04963279e-1f));
    p = vf_fma(p, r, vf_set1(1.00016415f));
    p = vf_fma(p, r, vf_set1(9.99928057e-1f));
    return vf_scale2(p, n);
}

static inline vf sigmoid_of(vf x)
{
    return vf_reciprocal14(vf_add(vf_set1(1.0f), short_exp(vf_neg(x))));
}

/* exp(-x) s: where s is near 1, a difference would keep the error of s alone. */
static inline vf sigmoid_rest(vf x, vf s)
{
    return vf_mul(short_exp(vf_neg(x)), s);
}
#endif

/* Phi(x); *bell is exp(-x^2/2). */
static inline vf normal_cdf(vf x, vf *bell)
{
    const vf u = vf_abs(x), one = vf_set1(1.0f);
    const vf e = exp_in_range(vf_max(vf_mul(vf_mul(vf_set1(-0.5f), u), u), vf_set1(EXP_MIN)));
    const vf t = vf_div(one, vf_fma(vf_set1(0.34f), u, one));
    vf p = vf_set1(-2.61204708e-2f), tail;

    p = vf_fma(p, t, vf_set1(1.39499476e-1f));
    p = vf_fma(p, t, vf_set1(-2.73132721e-1f));
    p = vf_fma(p, t, vf_set1(2.02182652e-1f));
    p = vf_fma(p, t, vf_set1(-4.47184391e-2f));
    p = vf_fma(p, t, vf_set1(1.15359157e-1f));
    p = vf_fma(p, t, vf_set1(1.15197660e-1f));
    p = vf_fma(p, t, vf_set1(1.36112196e-1f));
    p = vf_fma(p, t, vf_set1(1.35620503e-1f));
    tail = vf_mul(vf_mul(p, t), e);
    *bell = e;
    return vf_select(vf_lt(x, vf_zero()), tail, vf_sub(one, tail));
}

#ifndef MICRO_BF16
static inline vf gelu_of(vf x)
{
    vf bell;

    return vf_mul(x, normal_cdf(x, &bell));
}

/* Phi(x) + x phi(x) */
static inline vf gelu_slope_of(vf x)
{
    vf bell;
    const vf cdf = normal_cdf(x, &bell);

    return vf_fma(vf_mul(x, bell), vf_set1(0.398942280f), cdf);
}
#else
/* 1/2 + x p(x^2) for |x| <= end, and its value at `end` beyond: a NaN stays one. */
static inline vf odd_step(vf x, float end, const float *p, int count)
{
    const vf s = vf_max(vf_set1(-end), vf_min(vf_set1(end), x)), t = vf_mul(s, s);
    vf sum = vf_set1(p[count - 1]);

#pragma GCC unroll 8
    for (int i = count - 2; i >= 0; i--)
        sum = vf_fma(sum, t, vf_set1(p[i]));
    return vf_fma(s, sum, vf_set1(0.5f));
}

static inline vf gelu_of(vf x)
{
    static const float p[] = {3.98805559e-1f, -6.60641417e-2f, 9.58142057e-3f, -1.02105516e-3f,
                              7.61915508e-5f, -3.70971361e-6f, 1.04446073e-7f, -1.27802824e-9f};
    const vf cdf = odd_step(x, 4.0f, p, 8);

    return vf_mul(x, vf_select(vf_lt(x, vf_set1(-4.0f)), vf_zero(), cdf));
}

static inline vf gelu_slope_of(vf x)
{
    static const float p[] = {7.97015190e-1f,  -2.62982070e-1f, 5.68144098e-2f,
                              -8.06813128e-3f, 7.72801402e-4f,  -4.92223080e-5f,
                              1.98512248e-6f,  -4.56169005e-8f, 4.53037330e-10f};

    return odd_step(x, 4.25f, p, 9);
}
#endif

static inline vf relu_of(vf x)
{
    return vf_max(vf_zero(), x); /* this order keeps a NaN */
}

static inline vf rsqrt_of(vf x)
{
    return vf_div(vf_set1(1.0f), vf_sqrt(x));
}

static inline vf silu_of(vf x)
{
    return vf_mul(x, sigmoid_of(x));
}

#define DEFINE_UNARY(name, expression)                             \
    static void name##_span(int64_t n, const stored *x, stored *y) \
    {                                                              \
        int64_t i = 0;                                             \
                                                                   \
        for (; i + VF_LANES <= n; i += VF_LANES) {                 \
            const vf v = vs_load(x + i);                           \
                                                                   \
            vs_store(y + i, expression);                           \
        }                                                          \
        if (i < n) {                                               \
            const vf v = vs_load_n(x + i, n - i);                  \
                                                                   \
            vs_store_n(y + i, n - i, expression);                  \
        }                                                          \
    }

DEFINE_UNARY(neg, vf_neg(v))
DEFINE_UNARY(exp, exp_of(v))
DEFINE_UNARY(sqrt, vf_sqrt(v))
DEFINE_UNARY(rsqrt, rsqrt_of(v))
DEFINE_UNARY(relu, relu_of(v))
DEFINE_UNARY(gelu_erf, gelu_of(v))
DEFINE_UNARY(sigmoid, sigmoid_of(v))
DEFINE_UNARY(silu, silu_of(v))

static bool unary(enum unary_fn fn, int64_t n, const void *x, void *y)
{
    static void (*const spans[UNARY_COUNT])(int64_t, const stored *, stored *) = {
        [UNARY_NEG] = neg_span,         [UNARY_EXP] = exp_span,   [UNARY_SQRT] = sqrt_span,
        [UNARY_RSQRT] = rsqrt_span,     [UNARY_RELU] = relu_span, [UNARY_GELU_ERF] = gelu_erf_span,
        [UNARY_SIGMOID] = sigmoid_span, [UNARY_SILU] = silu_span,
    };

    if (spans[fn] == NULL)
        return false;
    spans[fn](n, x, y);
    return true;
}

static inline vf relu_slope_of(vf x)
{
    return vf_select(vf_lt(vf_zero(), x), vf_set1(1.0f), vf_zero());
}

/* s + x s (1 - s) */
static inline vf silu_slope_of(vf x)
{
    const vf s = sigmoid_of(x);

    return vf_fma(vf_mul(x, s), sigmoid_rest(x, s), s);
}

static inline vf sigmoid_slope_of(vf x)
{
    const vf s = sigmoid_of(x);

    return vf_mul(s, sigmoid_rest(x, s));
}

#define DEFINE_UNARY_GRAD(name, slope)                                                     \
    static void name##_grad_span(int64_t n, const stored *dy, const stored *x, stored *dx) \
    {                                                                                      \
        int64_t i = 0;                                                                     \
                                                                                           \
        for (; i + VF_LANES <= n; i += VF_LANES)                                           \
            vs_store(dx + i, vf_mul(vs_load(dy + i), slope(vs_load(x + i))));              \
        if (i < n)                                                                         \
            vs_store_n(dx + i, n - i,                                                      \
                       vf_mul(vs_load_n(dy + i, n - i), slope(vs_load_n(x + i, n - i))));  \
    }

DEFINE_UNARY_GRAD(relu, relu_slope_of)
DEFINE_UNARY_GRAD(gelu_erf, gelu_slope_of)
DEFINE_UNARY_GRAD(sigmoid, sigmoid_slope_of)
DEFINE_UNARY_GRAD(silu, silu_slope_of)

static bool unary_grad(enum unary_fn fn, int64_t n, const void *dy, const void *x, void *dx)
{
    static void (*const spans[UNARY_COUNT])(int64_t, const stored *, const stored *, stored *) = {
        [UNARY_RELU] = relu_grad_span,
        [UNARY_GELU_ERF] = gelu_erf_grad_span,
        [UNARY_SIGMOID] = sigmoid_grad_span,
        [UNARY_SILU] = silu_grad_span,
    };

    if (spans[fn] == NULL)
        return false;
    spans[fn](n, dy, x, dx);
    return true;
}

/* The first number in all lanes. */
static inline vf vs_repeat(const stored *p)
{
#ifdef MICRO_BF16
    return _mm512_castsi512_ps(_mm512_set1_epi32((int)((uint32_t)p[0] << 16)));
#else
    return vf_set1(p[0]);
#endif
}

static inline vf load_or_repeat(const stored *p, int64_t step, int64_t j, int64_t n)
{
    return step == 0 ? vs_repeat(p) : n >= VF_LANES ? vs_load(p + j) : vs_load_n(p + j, n);
}

#define DEFINE_BINARY(name, fn)                                        \
    static void name##_span(const struct binary_span *s)               \
    {                                                                  \
        for (int64_t i = 0; i < s->rows; i++) {                        \
            const stored *a = (const stored *)s->a + i * s->a_row;     \
            const stored *b = (const stored *)s->b + i * s->b_row;     \
            stored *out = (stored *)s->out + i * s->columns;           \
                                                                       \
            for (int64_t j = 0; j < s->columns; j += VF_LANES) {       \
                const int64_t n = s->columns - j;                      \
                const vf r = fn(load_or_repeat(a, s->a_column, j, n),  \
                                load_or_repeat(b, s->b_column, j, n)); \
                                                                       \
                if (n >= VF_LANES)                                     \
                    vs_store(out + j, r);                              \
                else                                                   \
                    vs_store_n(out + j, n, r);                         \
            }                                                          \
        }                                                              \
    }

DEFINE_BINARY(add, vf_add)
DEFINE_BINARY(sub, vf_sub)
DEFINE_BINARY(mul, vf_mul)
DEFINE_BINARY(div, vf_div)

static bool binary(enum binary_fn fn, const struct binary_span *span)
{
    static void (*const spans[BINARY_COUNT])(const struct binary_span *) = {
        [BINARY_ADD] = add_span,
        [BINARY_SUB] = sub_span,
        [BINARY_MUL] = mul_span,
        [BINARY_DIV] = div_span,
    };

    if (spans[fn] == NULL)
        return false;
    spans[fn](span);
    return true;
}

#ifndef MICRO_BF16
static void sgd(int64_t n, const float *w, const float *g, const float *m, const float hyper[3],
                bool nesterov, float *w_new, float *m_new)
{
    const vf minus_lr = vf_set1(-hyper[0]), decay = vf_set1(hyper[1]), mu = vf_set1(hyper[2]);

    for (int64_t i = 0; i < n; i += VF_LANES) {
        const int64_t lanes = n - i < VF_LANES ? n - i : VF_LANES;
        const vf old = vf_load_n(w + i, lanes);
        const vf slope = vf_fma(decay, old, vf_load_n(g + i, lanes));
        const vf moment = vf_fma(mu, vf_load_n(m + i, lanes), slope);
        const vf step = nesterov ? vf_fma(mu, moment, slope) : moment;

        vf_store_n(m_new + i, lanes, moment);
        vf_store_n(w_new + i, lanes, vf_fma(minus_lr, step, old));
    }
}
#endif

#ifdef MICRO_BF16
static void narrow(int64_t n, const float *x, void *y)
{
    for (int64_t i = 0; i < n; i += VF_LANES) {
        const int64_t lanes = n - i < VF_LANES ? n - i : VF_LANES;

        vs_store_n((stored *)y + i, lanes, vf_load_n(x + i, lanes));
    }
}

static void widen(int64_t n, const void *x, float *y)
{
    for (int64_t i = 0; i < n; i += VF_LANES) {
        const int64_t lanes = n - i < VF_LANES ? n - i : VF_LANES;

        vf_store_n(y + i, lanes, vs_load_n((const stored *)x + i, lanes));
    }
}

static void interleave(int64_t n, const uint16_t *first, const uint16_t *second, float *cells)
{
    for (int64_t i = 0; i < n; i += VF_LANES) {
        const int64_t lanes = n - i < VF_LANES ? n - i : VF_LANES;
        const __mmask16 mask = vf_first(lanes);
        __m512i cell = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, first + i));

        if (second != NULL)
            cell = _mm512_or_si512(cell, _mm512_castps_si512(vs_load_n(second + i, lanes)));
        _mm512_mask_storeu_epi32(cells + i, mask, cell);
    }
}
#endif
