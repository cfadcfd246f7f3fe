/* tests/kernels/test_unary.c: vector unary functions and gradients against the reference, which computes in double. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/kernel_case.h"

/* Error of a vector function as a x u |f| + b x u |x| + c x u, u = 2^-24; derivations stand in vector_body_internal.h.
 * neg, sqrt, relu: exact or rounded once; rsqrt: two roundings, each half an ulp, up to 1 ulp of the result: 3 u.
 * exp: polynomial, its Horner steps and the scaling, 4 u. sigmoid: exp, a sum, a quotient; where exp is large its error
 * counts whole: 4 + 2. silu: one product more. gelu: 6 u |x|. */
struct tolerance {
    enum unary_fn fn;
    double value, argument;
};
static const struct tolerance values[] = {
    {UNARY_NEG, 0, 0},      {UNARY_SQRT, 1, 0},    {UNARY_RSQRT, 3, 0}, {UNARY_RELU, 0, 0},
    {UNARY_GELU_ERF, 1, 6}, {UNARY_SIGMOID, 7, 0}, {UNARY_SILU, 8, 0},  {UNARY_EXP, 5, 0},
};
/* Slopes: of gelu, Phi (6 u) + x phi(x): |x| phi(x) <= 0.25, its exp has an argument of at most x^2/2 (1 + u): an error of
 * (4 + x^2/2) u, and x^2/2 |x| phi <= 0.24: 8 u in all. sigmoid: s (1 - s): 7 u + 8 u on at most 1/4. silu: 8 u + x s (1 - s)
 * with 15 u of at most 0.23 + the rounding of 1 - s, u |x| s: |x| <= 12 here: 24 u. Times dy and a rounding. */
static const struct tolerance slopes[] = {
    {UNARY_RELU, 0, 0}, {UNARY_GELU_ERF, 8, 0}, {UNARY_SIGMOID, 5, 0}, {UNARY_SILU, 24, 0}};

/* What the shorter polynomials for BF16 add to that, of |x| or |dy|. The slope of silu is s + x s (1 - s), sigmoid being off
 * by 2^-13.5 of itself: |x| (1 - s) s <= 0.28 where s is not 1, twice that error at most. */
static double short_polynomial(enum unary_fn fn, bool bf16, bool slope)
{
    if (!bf16)
        return 0.0;
    if (fn == UNARY_GELU_ERF)
        return slope ? 0x1p-12 : 0x1p-14;
    if (fn == UNARY_SILU)
        return slope ? 0x1p-12 : 0x1p-13;
    return 0.0;
}

static const int64_t sizes[] = {1, 7, 8, 9, 15, 16, 17, 33, 1000, 65536, 65536 + 5};

static bool wants_positive(enum unary_fn fn)
{
    return fn == UNARY_SQRT || fn == UNARY_RSQRT;
}

static void fill_argument(float *x, int64_t count, enum unary_fn fn)
{
    static const float edges[] = {0.0f,  -0.0f, 1.0f,  -1.0f, 12.0f, -12.0f,
                                  1e-8f, 5.0f,  -5.0f, 3.3f,  -3.3f};
    const int64_t edge_count = (int64_t)ARRAY_LEN(edges);

    for (int64_t i = 0; i < count; i++) {
        if (count > 2 * edge_count && i < edge_count)
            x[i] = edges[i];
        if (wants_positive(fn))
            x[i] = fabsf(x[i]) + 1e-3f;
    }
}

static void check_functions_are_within_their_bounds_at_all_tails(bool bf16)
{
    for (size_t f = 0; f < ARRAY_LEN(values); f++)
        for (size_t s = 0; s < ARRAY_LEN(sizes); s++) {
            struct kernel_case c;
            double *bound = malloc((size_t)sizes[s] * sizeof *bound);

            assert_non_null(bound);
            case_init(&c, OP_UNARY);
            c.op.attr.unary.fn = values[f].fn;
            case_add_normal(&c, 1, &sizes[s], 0.0f, 3.0f);
            fill_argument((float *)(void *)c.in[0], sizes[s], values[f].fn);
            if (bf16)
                case_make_bf16(&c, 0);
            assert_true(case_infer(&c));
            case_run_reference(&c);
            for (int64_t i = 0; i < sizes[s]; i++)
                bound[i] = UNIT_ROUNDOFF * values[f].value *
                               fabs(case_number(&c.out_tensor[0], c.want[0], i)) +
                           (UNIT_ROUNDOFF * values[f].argument +
                            short_polynomial(values[f].fn, bf16, false)) *
                               fabs(case_number(&c.in_tensor[0], c.in[0], i));
            case_allow_bf16(&c, 0, bound);
            case_check_kernels(&c, (const double *[OP_OUT_MAX]){bound});
            free(bound);
            case_fini(&c);
        }
}

static void functions_are_within_their_bounds_at_all_tails(void **state)
{
    (void)state;
    check_functions_are_within_their_bounds_at_all_tails(false);
    check_functions_are_within_their_bounds_at_all_tails(true);
}

static void check_gradients_are_within_their_bounds_at_all_tails(bool bf16)
{
    for (size_t f = 0; f < ARRAY_LEN(slopes); f++)
        for (size_t s = 0; s < ARRAY_LEN(sizes); s++) {
            struct kernel_case c;
            double *bound = malloc((size_t)sizes[s] * sizeof *bound);

            assert_non_null(bound);
            case_init(&c, OP_UNARY_GRAD);
            c.op.attr.unary.fn = slopes[f].fn;
            case_add_normal(&c, 1, &sizes[s], 0.0f, 1.0f);
            case_add_normal(&c, 1, &sizes[s], 0.0f, 3.0f);
            fill_argument((float *)(void *)c.in[1], sizes[s], UNARY_NEG);
            case_add_normal(&c, 1, &sizes[s], 0.0f, 1.0f); /* y: the reference must not need it */
            for (int i = 0; i < 3 && bf16; i++)
                case_make_bf16(&c, i);
            assert_true(case_infer(&c));
            case_run_reference(&c);
            for (int64_t i = 0; i < sizes[s]; i++)
                bound[i] =
                    (UNIT_ROUNDOFF * slopes[f].value + short_polynomial(slopes[f].fn, bf16, true)) *
                        fabs(case_number(&c.in_tensor[0], c.in[0], i)) +
                    UNIT_ROUNDOFF * fabs(case_number(&c.out_tensor[0], c.want[0], i));
            case_allow_bf16(&c, 0, bound);
            case_check_kernels(&c, (const double *[OP_OUT_MAX]){bound});
            free(bound);
            case_fini(&c);
        }
}

static void gradients_are_within_their_bounds_at_all_tails(void **state)
{
    (void)state;
    check_gradients_are_within_their_bounds_at_all_tails(false);
    check_gradients_are_within_their_bounds_at_all_tails(true);
}

static void extremes_stay_what_they_are(void **state)
{
    static const int64_t size = 20;
    static const enum unary_fn fns[] = {UNARY_EXP, UNARY_RELU, UNARY_GELU_ERF, UNARY_SIGMOID};
    double bound[20] = {0};

    (void)state;
    for (size_t f = 0; f < ARRAY_LEN(fns); f++) {
        struct kernel_case c;
        float *x;

        case_init(&c, OP_UNARY);
        c.op.attr.unary.fn = fns[f];
        x = case_add_normal(&c, 1, &size, 0.0f, 1.0f);
        for (int i = 0; i < 20; i++) /* NaN and infinity; 100: gelu is x, exp is infinite */
            x[i] = i % 4 == 0 ? NAN : i % 4 == 1 ? INFINITY : i % 4 == 2 ? 100.0f : -200.0f;
        assert_true(case_infer(&c));
        case_run_reference(&c);
        for (int i = 0; i < 20; i++) /* denormals may be flushed */
            bound[i] = i % 4 == 3 ? 0x1p-100 : 0.0;
        case_check_kernels(&c, (const double *[OP_OUT_MAX]){bound});
        case_fini(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_are_within_their_bounds_at_all_tails),
        cmocka_unit_test(gradients_are_within_their_bounds_at_all_tails),
        cmocka_unit_test(extremes_stay_what_they_are),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
