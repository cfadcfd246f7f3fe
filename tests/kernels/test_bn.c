/* tests/kernels/test_bn.c: the four passes of batch norm against their references in double. u = 2^-24. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/kernel_case.h"

struct shape {
    int64_t n, h, w, c;
};

/* One row; odd channels; around vectors and groups of four; more rows than a chunk of 4,096 and than one of 256 KiB. */
static const struct shape shapes[] = {
    {1, 1, 1, 1},  {1, 1, 2, 3},  {2, 3, 3, 10},   {2, 5, 5, 24},
    {3, 4, 4, 64}, {2, 3, 5, 65}, {5, 31, 31, 16}, {4, 40, 40, 130},
};
#define EPS 1e-12

static void add_channels(struct kernel_case *c, int64_t channels, float mean, float deviation,
                         bool positive)
{
    float *data = case_add_normal(c, 1, &channels, mean, deviation);

    for (int64_t i = 0; positive && i < channels; i++)
        data[i] = fabsf(data[i]) + 0.1f;
}

static double in_at(const struct kernel_case *c, int operand, int64_t i)
{
    return case_number(&c->in_tensor[operand], c->in[operand], i);
}

/* x, or dy and x. */
static void make_bf16(struct kernel_case *c, int operands, bool bf16)
{
    for (int i = 0; i < operands && bf16; i++)
        case_make_bf16(c, i);
}

static float at(const void *data, int64_t i)
{
    return ((const float *)data)[i];
}

/* Rows that one chunk sums in one F32 lane: at most 4,096, and all of them. */
static double chunk_rows(const struct shape *s)
{
    const double rows = (double)(s->n * s->h * s->w);

    return rows < 4096.0 ? rows : 4096.0;
}

/* A chunk's mean is off by e <= chunk u mean|x|; joining in double adds nothing. Its M2 is taken about that mean: e^2 more,
 * and every term of it is rounded three times; a chunk's wrong mean shifts the joined variance by 2 e |delta|, where
 * |delta|, a chunk's mean against the whole one, is below 2 here (deviation 1.5, offset 2). */
static void check_statistics_are_those_of_two_passes_in_double(bool bf16)
{
    for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
        const struct shape *s = &shapes[i];
        const int64_t dims[4] = {s->n, s->h, s->w, s->c}, rows = s->n * s->h * s->w;
        struct kernel_case c;
        double *bounds[2];

        case_init(&c, OP_BN_STATS);
        c.op.attr.norm.eps = EPS;
        case_add_normal(&c, 4, dims, 2.0f, 1.5f);
        make_bf16(&c, 1, bf16);
        assert_true(case_infer(&c));
        case_run_reference(&c);
        for (int k = 0; k < 2; k++)
            assert_non_null(bounds[k] = malloc((size_t)s->c * sizeof(double)));
        for (int64_t ch = 0; ch < s->c; ch++) {
            double size = 0.0, e;

            for (int64_t row = 0; row < rows; row++)
                size += fabs(in_at(&c, 0, row * s->c + ch)) / (double)rows;
            e = chunk_rows(s) * UNIT_ROUNDOFF * size + UNIT_ROUNDOFF * size;
            bounds[0][ch] = e;
            bounds[1][ch] = (chunk_rows(s) + 4.0) * UNIT_ROUNDOFF * (double)at(c.want[1], ch) +
                            e * e + 2.0 * e * 2.0;
        }
        case_check_kernels(&c, (const double *[OP_OUT_MAX]){bounds[0], bounds[1]});
        free(bounds[0]);
        free(bounds[1]);
        case_fini(&c);
    }
}

static void statistics_are_those_of_two_passes_in_double(void **state)
{
    (void)state;
    check_statistics_are_those_of_two_passes_in_double(false);
    check_statistics_are_those_of_two_passes_in_double(true);
}

/* (x - mean) * scale + shift: the difference and scale are rounded once each, the rest in one FMA. */
static void check_normalising_is_within_three_roundings(bool bf16)
{
    for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
        const struct shape *s = &shapes[i];
        const int64_t dims[4] = {s->n, s->h, s->w, s->c}, count = s->n * s->h * s->w * s->c;
        struct kernel_case c;
        double *bound = malloc((size_t)count * sizeof *bound);

        assert_non_null(bound);
        case_init(&c, OP_BN_APPLY);
        c.op.attr.norm.eps = EPS;
        case_add_normal(&c, 4, dims, 2.0f, 1.5f);
        add_channels(&c, s->c, 2.0f, 0.1f, false);
        add_channels(&c, s->c, 2.0f, 0.3f, true);
        add_channels(&c, s->c, 1.0f, 0.3f, false);
        add_channels(&c, s->c, 0.0f, 1.0f, false);
        make_bf16(&c, 1, bf16);
        assert_true(case_infer(&c));
        case_run_reference(&c);
        for (int64_t k = 0; k < count; k++) {
            const double want = case_number(&c.out_tensor[0], c.want[0], k);

            bound[k] =
                UNIT_ROUNDOFF * (2.01 * fabs(want - in_at(&c, 4, k % s->c)) + 2.0 * fabs(want));
        }
        case_allow_bf16(&c, 0, bound);
        case_check_kernels(&c, (const double *[OP_OUT_MAX]){bound});
        free(bound);
        case_fini(&c);
    }
}

static void normalising_is_within_three_roundings(void **state)
{
    (void)state;
    check_normalising_is_within_three_roundings(false);
    check_normalising_is_within_three_roundings(true);
}

/* Sums of `chunk` terms in F32, joined in double: chunk u sum|dy|; with xhat one more rounding a term. */
static void check_backward_sums_are_within_their_bounds(bool bf16)
{
    for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
        const struct shape *s = &shapes[i];
        const int64_t dims[4] = {s->n, s->h, s->w, s->c}, rows = s->n * s->h * s->w;
        struct kernel_case c;
        double *bounds[2];

        case_init(&c, OP_BN_GRAD_STATS);
        c.op.attr.norm.eps = EPS;
        case_add_normal(&c, 4, dims, 0.0f, 1.0f);
        case_add_normal(&c, 4, dims, 2.0f, 1.5f);
        add_channels(&c, s->c, 2.0f, 0.1f, false);
        add_channels(&c, s->c, 2.0f, 0.3f, true);
        make_bf16(&c, 2, bf16);
        assert_true(case_infer(&c));
        case_run_reference(&c);
        for (int k = 0; k < 2; k++)
            assert_non_null(bounds[k] = malloc((size_t)s->c * sizeof(double)));
        for (int64_t ch = 0; ch < s->c; ch++) {
            double sizes[2] = {0.0, 0.0};

            for (int64_t row = 0; row < rows; row++) {
                const double dy = fabs(in_at(&c, 0, row * s->c + ch));

                sizes[0] += dy;
                sizes[1] += dy * fabs(in_at(&c, 1, row * s->c + ch) - in_at(&c, 2, ch)) /
                            sqrt(in_at(&c, 3, ch) + EPS);
            }
            for (int k = 0; k < 2; k++)
                bounds[k][ch] = (chunk_rows(s) + 2.0) * UNIT_ROUNDOFF * sizes[k] +
                                UNIT_ROUNDOFF * fabs((double)at(c.want[k], ch));
        }
        case_check_kernels(&c, (const double *[OP_OUT_MAX]){bounds[0], bounds[1]});
        free(bounds[0]);
        free(bounds[1]);
        case_fini(&c);
    }
}

static void backward_sums_are_within_their_bounds(void **state)
{
    (void)state;
    check_backward_sums_are_within_their_bounds(false);
    check_backward_sums_are_within_their_bounds(true);
}

/* a dy + ((x - mean) b + c): each coefficient rounded once, the difference once, two FMAs: 3 roundings on each of the
 * three terms, and one of the result. */
static void check_backward_pass_is_within_its_bound(bool bf16)
{
    for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
        const struct shape *s = &shapes[i];
        const int64_t dims[4] = {s->n, s->h, s->w, s->c}, count = s->n * s->h * s->w * s->c;
        const double rows = (double)(s->n * s->h * s->w);
        struct kernel_case c;
        double *bound = malloc((size_t)count * sizeof *bound);

        assert_non_null(bound);
        case_init(&c, OP_BN_GRAD_APPLY);
        c.op.attr.norm.eps = EPS;
        case_add_normal(&c, 4, dims, 0.0f, 1.0f);
        case_add_normal(&c, 4, dims, 2.0f, 1.5f);
        add_channels(&c, s->c, 2.0f, 0.1f, false);
        add_channels(&c, s->c, 2.0f, 0.3f, true);
        add_channels(&c, s->c, 1.0f, 0.3f, false);
        add_channels(&c, s->c, 0.0f, (float)rows, false);
        add_channels(&c, s->c, 0.0f, (float)rows, false);
        make_bf16(&c, 2, bf16);
        assert_true(case_infer(&c));
        case_run_reference(&c);
        for (int64_t k = 0; k < count; k++) {
            const int64_t ch = k % s->c;
            const double rstd = 1.0 / sqrt(in_at(&c, 3, ch) + EPS);
            const double scale = fabs(in_at(&c, 4, ch)) * rstd;
            const double off = fabs(in_at(&c, 1, k) - in_at(&c, 2, ch));
            const double terms = fabs(in_at(&c, 0, k)) + fabs(in_at(&c, 5, ch)) / rows +
                                 off * rstd * fabs(in_at(&c, 6, ch)) / rows;

            bound[k] = UNIT_ROUNDOFF *
                       (3.01 * scale * terms + fabs(case_number(&c.out_tensor[0], c.want[0], k)));
        }
        case_allow_bf16(&c, 0, bound);
        case_check_kernels(&c, (const double *[OP_OUT_MAX]){bound});
        free(bound);
        case_fini(&c);
    }
}

static void backward_pass_is_within_its_bound(void **state)
{
    (void)state;
    check_backward_pass_is_within_its_bound(false);
    check_backward_pass_is_within_its_bound(true);
}

/* Channel values 1, 3, 5, 7: mean 4, variance 5; dy = 1: sums 4 and 0; so dx = 0 where gamma = 1. */
static void references_give_the_numbers_worked_by_hand(void **state)
{
    static const int64_t dims[2] = {4, 1}, one = 1;
    struct kernel_case c;

    (void)state;
    case_init(&c, OP_BN_STATS);
    memcpy(case_add(&c, DT_F32, 2, dims), (float[]){1, 3, 5, 7}, 4 * sizeof(float));
    assert_true(case_infer(&c));
    case_run_reference(&c);
    assert_float_equal(at(c.want[0], 0), 4.0f, 0.0f);
    assert_float_equal(at(c.want[1], 0), 5.0f, 0.0f);
    case_fini(&c);

    case_init(&c, OP_BN_GRAD_STATS);
    memcpy(case_add(&c, DT_F32, 2, dims), (float[]){1, 1, 1, 2}, 4 * sizeof(float));
    memcpy(case_add(&c, DT_F32, 2, dims), (float[]){1, 3, 5, 7}, 4 * sizeof(float));
    *(float *)case_add(&c, DT_F32, 1, &one) = 4.0f;
    *(float *)case_add(&c, DT_F32, 1, &one) = 4.0f; /* rstd 1/2 */
    assert_true(case_infer(&c));
    case_run_reference(&c);
    assert_float_equal(at(c.want[0], 0), 5.0f, 0.0f);
    assert_float_equal(at(c.want[1], 0), 1.5f, 0.0f); /* (-3 - 1 + 1 + 2 * 3) / 2 */
    case_fini(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(references_give_the_numbers_worked_by_hand),
        cmocka_unit_test(statistics_are_those_of_two_passes_in_double),
        cmocka_unit_test(normalising_is_within_three_roundings),
        cmocka_unit_test(backward_sums_are_within_their_bounds),
        cmocka_unit_test(backward_pass_is_within_its_bound),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
