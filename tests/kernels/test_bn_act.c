/* tests/kernels/test_bn_act.c: batch norm with an activation behind it, in one pass, against the references in double.
 * u = 2^-24. y = (x - mean) * scale + shift is off by e = u (2.01 |y - beta| + 2 |y|) (test_bn.c); the function and its slope,
 * which change by at most 1.2 and 0.8 a unit of y, add what test_unary.c says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/kernel_case.h"

struct shape {
    int64_t n, h, w, c;
};

/* One row; odd channels; around a vector; more rows than a chunk. */
static const struct shape shapes[] = {{1, 1, 1, 1},  {1, 1, 2, 3},  {2, 5, 5, 24},
                                      {3, 4, 4, 64}, {2, 3, 5, 65}, {5, 31, 31, 16}};
static const enum unary_fn fns[] = {UNARY_GELU_ERF, UNARY_SILU, UNARY_RELU};
#define EPS 1e-12

static double in_at(const struct kernel_case *c, int operand, int64_t i)
{
    return case_number(&c->in_tensor[operand], c->in[operand], i);
}

static void add_channels(struct kernel_case *c, int64_t channels, float mean, float deviation,
                         bool positive)
{
    float *data = case_add_normal(c, 1, &channels, mean, deviation);

    for (int64_t i = 0; positive && i < channels; i++)
        data[i] = fabsf(data[i]) + 0.1f;
}

/* dz, but for bn_act; x, mean, var, gamma, beta; two sums for bn_act_grad_apply. */
static void make_case(struct kernel_case *c, enum op_kind kind, enum unary_fn fn, bool bf16,
                      const struct shape *s)
{
    const int64_t dims[4] = {s->n, s->h, s->w, s->c};
    const float rows = (float)(s->n * s->h * s->w);

    case_init(c, kind);
    c->op.attr.norm_act = (struct norm_act_attr){.eps = EPS, .fn = fn};
    if (kind != OP_BN_ACT)
        case_add_normal(c, 4, dims, 0.0f, 1.0f);
    case_add_normal(c, 4, dims, 2.0f, 1.5f);
    add_channels(c, s->c, 2.0f, 0.1f, false);
    add_channels(c, s->c, 2.0f, 0.3f, true);
    add_channels(c, s->c, 1.0f, 0.3f, false);
    add_channels(c, s->c, 0.0f, 1.0f, false);
    for (int i = 0; i < 2 && kind == OP_BN_ACT_GRAD_APPLY; i++)
        add_channels(c, s->c, 0.0f, rows, false);
    for (int i = 0; bf16 && i < (kind == OP_BN_ACT ? 1 : 2); i++)
        case_make_bf16(c, i);
    assert_true(case_infer(c));
    case_run_reference(c);
}

/* Of one element: y, its error, xhat; x is operand x_in. */
struct element {
    double y, error, xhat;
};

static struct element element_at(const struct kernel_case *c, int x_in, int64_t i)
{
    const int64_t ch = i % c->in_tensor[x_in].dim[3];
    const double beta = in_at(c, x_in + 4, ch);
    struct element e;

    e.xhat = (in_at(c, x_in, i) - in_at(c, x_in + 1, ch)) / sqrt(in_at(c, x_in + 2, ch) + EPS);
    e.y = in_at(c, x_in + 3, ch) * e.xhat + beta;
    e.error = UNIT_ROUNDOFF * (2.01 * fabs(e.y - beta) + 2.0 * fabs(e.y));
    return e;
}

/* How far dy = dz f'(y) may be off. relu's slope jumps at 0. */
static double dy_error(const struct kernel_case *c, int64_t i, const struct element *e)
{
    const double dz = fabs(in_at(c, 0, i));

    if (c->op.attr.norm_act.fn == UNARY_RELU)
        return fabs(e->y) <= e->error ? dz : 0.0;
    return dz * (9.0 * UNIT_ROUNDOFF + (case_has_bf16(c) ? 0x1p-12 : 0.0) + 0.8 * e->error);
}

static void check_forward(enum unary_fn fn, bool bf16, const struct shape *s)
{
    const int64_t count = s->n * s->h * s->w * s->c;
    double *bound = malloc((size_t)count * sizeof *bound);
    struct kernel_case c;

    assert_non_null(bound);
    make_case(&c, OP_BN_ACT, fn, bf16, s);
    for (int64_t i = 0; i < count; i++) {
        const struct element e = element_at(&c, 0, i);

        bound[i] = 1.2 * e.error + UNIT_ROUNDOFF * (fabs(e.y) * 6.0 + 1.0 * fabs(e.y));
        if (bf16 && fn == UNARY_GELU_ERF)
            bound[i] += 0x1p-14 * fabs(e.y);
    }
    case_allow_bf16(&c, 0, bound);
    case_check_kernels(&c, (const double *[OP_OUT_MAX]){bound});
    free(bound);
    case_fini(&c);
}

/* The sums of a chunk are in F32: of at most 4,096 rows. */
static void check_sums(enum unary_fn fn, bool bf16, const struct shape *s)
{
    const int64_t rows = s->n * s->h * s->w, chunk = rows < 4096 ? rows : 4096;
    struct kernel_case c;
    double *bounds[2];

    make_case(&c, OP_BN_ACT_GRAD_STATS, fn, bf16, s);
    for (int k = 0; k < 2; k++)
        assert_non_null(bounds[k] = calloc((size_t)s->c, sizeof(double)));
    for (int64_t i = 0; i < rows * s->c; i++) {
        const struct element e = element_at(&c, 1, i);
        const double size = 1.2 * fabs(in_at(&c, 0, i)) * ((double)chunk + 4.0) * UNIT_ROUNDOFF;
        const double off = dy_error(&c, i, &e) + size;

        bounds[0][i % s->c] += off;
        bounds[1][i % s->c] += off * fabs(e.xhat);
    }
    for (int k = 0; k < 2; k++)
        for (int64_t ch = 0; ch < s->c; ch++)
            bounds[k][ch] += UNIT_ROUNDOFF * fabs(case_number(&c.out_tensor[k], c.want[k], ch));
    case_check_kernels(&c, (const double *[OP_OUT_MAX]){bounds[0], bounds[1]});
    free(bounds[0]);
    free(bounds[1]);
    case_fini(&c);
}

static void check_backward(enum unary_fn fn, bool bf16, const struct shape *s)
{
    const int64_t count = s->n * s->h * s->w * s->c;
    const double rows = (double)(s->n * s->h * s->w);
    double *bound = malloc((size_t)count * sizeof *bound);
    struct kernel_case c;

    assert_non_null(bound);
    make_case(&c, OP_BN_ACT_GRAD_APPLY, fn, bf16, s);
    for (int64_t i = 0; i < count; i++) {
        const int64_t ch = i % s->c;
        const struct element e = element_at(&c, 1, i);
        const double scale = fabs(in_at(&c, 4, ch)) / sqrt(in_at(&c, 3, ch) + EPS);
        const double terms = 1.2 * fabs(in_at(&c, 0, i)) + fabs(in_at(&c, 6, ch)) / rows +
                             fabs(e.xhat * in_at(&c, 7, ch)) / rows;

        bound[i] = scale * dy_error(&c, i, &e) +
                   UNIT_ROUNDOFF *
                       (4.01 * scale * terms + fabs(case_number(&c.out_tensor[0], c.want[0], i)));
    }
    case_allow_bf16(&c, 0, bound);
    case_check_kernels(&c, (const double *[OP_OUT_MAX]){bound});
    free(bound);
    case_fini(&c);
}

static void check_all(void (*check)(enum unary_fn fn, bool bf16, const struct shape *s))
{
    for (size_t f = 0; f < ARRAY_LEN(fns); f++)
        for (size_t s = 0; s < ARRAY_LEN(shapes); s++)
            for (int bf16 = 0; bf16 < 2; bf16++)
                check(fns[f], bf16 == 1, &shapes[s]);
}

static void forward_pass_is_within_its_bound(void **state)
{
    (void)state;
    check_all(check_forward);
}

static void backward_sums_are_within_their_bounds(void **state)
{
    (void)state;
    check_all(check_sums);
}

static void backward_pass_is_within_its_bound(void **state)
{
    (void)state;
    check_all(check_backward);
}

/* The references are those of the parts, one after the other. */
static void references_are_their_parts(void **state)
{
    static const int64_t dims[2] = {4, 1}, one = 1;
    struct kernel_case c;

    (void)state;
    case_init(&c, OP_BN_ACT_GRAD_STATS);
    c.op.attr.norm_act.fn = UNARY_RELU;
    memcpy(case_add(&c, DT_F32, 2, dims), (float[]){1, 1, 1, 2}, 4 * sizeof(float));
    memcpy(case_add(&c, DT_F32, 2, dims), (float[]){1, 3, 5, 7}, 4 * sizeof(float));
    *(float *)case_add(&c, DT_F32, 1, &one) = 4.0f;
    *(float *)case_add(&c, DT_F32, 1, &one) = 4.0f; /* rstd 1/2 */
    *(float *)case_add(&c, DT_F32, 1, &one) = 1.0f;
    *(float *)case_add(&c, DT_F32, 1, &one) = 1.0f; /* y: -0.5, 0.5, 1.5, 2.5 */
    assert_true(case_infer(&c));
    case_run_reference(&c);
    assert_float_equal(((float *)(void *)c.want[0])[0], 4.0f, 0.0f); /* the first is cut off */
    assert_float_equal(((float *)(void *)c.want[1])[0], 3.0f, 0.0f); /* (-1 + 1 + 2 * 3) / 2 */
    case_fini(&c);
}

static void other_functions_are_refused(void **state)
{
    const struct kernel *kernels[8];
    struct kernel_case c;
    size_t lacking, count;

    (void)state;
    make_case(&c, OP_BN_ACT, UNARY_TANH, false, &shapes[2]);
    count = case_kernels_of(OP_BN_ACT, kernels, &lacking);
    for (size_t i = 0; i < count; i++) {
        assert_false(case_accept(&c, kernels[i]));
        assert_string_equal(c.why, "fn tanh");
    }
    case_fini(&c);
    if (count == 0)
        skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(references_are_their_parts),
        cmocka_unit_test(forward_pass_is_within_its_bound),
        cmocka_unit_test(backward_sums_are_within_their_bounds),
        cmocka_unit_test(backward_pass_is_within_its_bound),
        cmocka_unit_test(other_functions_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
