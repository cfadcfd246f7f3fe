/* tests/kernels/test_conv2d.c: the convolution kernels against their reference. An output is a sum of T products of
 * x and w in some order, each product and sum rounded at most once (FMA): |error| <= T u sum|ab|; the reference sums
 * in double and rounds once: half an ulp more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/kernel_case.h"

struct conv_shape {
    int64_t n, h, w, c, k, r, s, stride, dilation, pad[4];
};

/* Sizes of 1, channels 3, 10, 24 and around a vector (15, 16, 17, 33), strides, dilations, uneven padding, none, more
 * pixels than an item holds, images beyond a group, long rows of taps; images so small that taps lie outside: several
 * chunks, panels and blocks of them, taps that are never inside, pixels that have none. */
static const struct conv_shape shapes[] = {
    {1, 1, 1, 1, 1, 1, 1, 1, 1, {0}},
    {2, 8, 8, 3, 24, 2, 2, 1, 1, {0}},
    {3, 5, 7, 10, 17, 3, 3, 1, 1, {1, 1, 1, 1}},
    {2, 9, 9, 24, 64, 3, 3, 1, 1, {1, 1, 1, 1}},
    {5, 3, 3, 33, 15, 3, 3, 1, 1, {1, 1, 1, 1}},
    {2, 7, 7, 70, 40, 3, 3, 1, 1, {1, 1, 1, 1}},
    {2, 9, 8, 16, 16, 3, 3, 2, 1, {1, 1, 1, 1}},
    {1, 11, 10, 5, 6, 3, 2, 3, 1, {0, 1, 1, 0}},
    {1, 12, 12, 7, 9, 3, 3, 1, 2, {2, 2, 2, 2}},
    {2, 10, 9, 4, 8, 3, 3, 2, 2, {1, 2, 2, 0}},
    {1, 31, 31, 3, 10, 5, 5, 1, 1, {2, 2, 2, 2}},
    {40, 4, 4, 6, 12, 3, 3, 1, 1, {1, 1, 1, 1}},
    {2, 6, 5, 8, 32, 1, 1, 1, 1, {0}},
    {2, 6, 5, 8, 32, 1, 1, 2, 1, {0}},
    {1, 4, 4, 260, 34, 1, 3, 1, 1, {0, 0, 1, 1}},
    {101, 3, 3, 150, 70, 3, 3, 1, 1, {1, 1, 1, 1}},
    {30, 1, 1, 8, 8, 3, 3, 1, 1, {1, 1, 1, 1}},
    {30, 2, 3, 4, 6, 2, 2, 1, 1, {1, 1, 1, 0}},
    {24, 2, 2, 4, 4, 1, 1, 1, 1, {1, 1, 1, 1}},
};

static struct conv_attr attr_of(const struct conv_shape *s)
{
    return (struct conv_attr){.stride = {s->stride, s->stride},
                              .pad = {s->pad[0], s->pad[1], s->pad[2], s->pad[3]},
                              .dilation = {s->dilation, s->dilation},
                              .groups = 1};
}

static int64_t out_size(int64_t in, int64_t taps, int64_t pad, const struct conv_shape *s)
{
    return (in + pad - s->dilation * (taps - 1) - 1) / s->stride + 1;
}

static void make_case(struct kernel_case *c, enum op_kind kind, bool bf16,
                      const struct conv_shape *s)
{
    const int64_t x[4] = {s->n, s->h, s->w, s->c}, w[4] = {s->k, s->r, s->s, s->c};
    const int64_t y[4] = {s->n, out_size(s->h, s->r, s->pad[0] + s->pad[1], s),
                          out_size(s->w, s->s, s->pad[2] + s->pad[3], s), s->k};

    case_init(c, kind);
    c->op.attr.conv = attr_of(s);
    if (kind == OP_CONV2D_GRAD_INPUT)
        memcpy(c->op.attr.conv.shape, x, sizeof x);
    if (kind == OP_CONV2D_GRAD_WEIGHT)
        memcpy(c->op.attr.conv.shape, w, sizeof w);
    case_add_normal(c, 4, kind == OP_CONV2D ? x : y, 0.0f, 1.0f);
    case_add_normal(c, 4, kind == OP_CONV2D_GRAD_WEIGHT ? x : w, 0.0f, 1.0f);
    for (int i = 0; i < 2 && bf16; i++)
        case_make_bf16(c, i);
    assert_true(case_infer(c));
}

/* Pairs of channels need an even number of them: of x forwards, of y backwards. */
static bool refuses_odd(struct kernel_case *c)
{
    const int64_t channels = c->in_tensor[0].dim[3];
    const struct kernel *kernels[8];
    size_t lacking, count;

    if (c->op.kind == OP_CONV2D_GRAD_WEIGHT || channels % 2 == 0)
        return false;
    count = case_kernels_for(c->op.kind, true, kernels, &lacking);
    if (count > 0) { /* the last is no Winograd one */
        assert_false(case_accept(c, kernels[count - 1]));
        assert_non_null(strstr(c->why, "odd number of channels"));
    }
    return true;
}

static double terms_of(enum op_kind kind, const struct kernel_case *c, const struct conv_shape *s)
{
    const int64_t *y = c->in_tensor[0].dim; /* of the gradients */

    return (double)(kind == OP_CONV2D              ? s->r * s->s * s->c
                    : kind == OP_CONV2D_GRAD_INPUT ? s->r * s->s * s->k
                                                   : y[0] * y[1] * y[2]);
}

static void check_op(enum op_kind kind, bool bf16)
{
    for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
        struct kernel_case c;
        float *magnitude;
        double *bound;

        if (kind == OP_CONV2D_GRAD_INPUT && shapes[i].pad[0] >= shapes[i].r &&
            shapes[i].dilation == 1)
            continue; /* refused: padding beyond the taps */
        make_case(&c, kind, bf16, &shapes[i]);
        if (bf16 && refuses_odd(&c)) {
            case_fini(&c);
            continue;
        }
        case_run_reference(&c);
        magnitude = case_run_magnitude(&c);
        bound = case_sum_bound(&c, terms_of(kind, &c, &shapes[i]), magnitude);
        case_check_kernels(&c, (const double *[OP_OUT_MAX]){bound});
        free(magnitude);
        free(bound);
        case_fini(&c);
    }
}

static void conv2d_matches_the_reference_at_edge_shapes(void **state)
{
    (void)state;
    check_op(OP_CONV2D, false);
    check_op(OP_CONV2D, true);
}

static void conv2d_grad_input_matches_the_reference_at_edge_shapes(void **state)
{
    (void)state;
    check_op(OP_CONV2D_GRAD_INPUT, false);
    check_op(OP_CONV2D_GRAD_INPUT, true);
}

static void conv2d_grad_weight_matches_the_reference_at_edge_shapes(void **state)
{
    (void)state;
    check_op(OP_CONV2D_GRAD_WEIGHT, false);
    check_op(OP_CONV2D_GRAD_WEIGHT, true);
}

/* The family for small images takes those alone. */
static void small_images_leave_out_the_taps_outside(void **state)
{
    static const struct {
        struct conv_shape shape;
        const char *why; /* NULL: accepted */
    } cases[] = {
        {{24, 3, 3, 8, 8, 3, 3, 1, 1, {1, 1, 1, 1}}, NULL},
        {{24, 5, 5, 8, 8, 3, 3, 1, 1, {1, 1, 1, 1}}, NULL},
        {{23, 3, 3, 8, 8, 3, 3, 1, 1, {1, 1, 1, 1}}, "images below 24: 23"},
        {{24, 20, 20, 8, 8, 3, 3, 1, 1, {1, 1, 1, 1}}, "per cent of taps inside: 93"},
        {{24, 3, 3, 8, 8, 3, 3, 2, 1, {1, 1, 1, 1}}, "stride or dilation above 1"},
    };
    static const enum op_kind kinds[] = {OP_CONV2D, OP_CONV2D_GRAD_INPUT, OP_CONV2D_GRAD_WEIGHT};
    size_t asked = 0;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases) * ARRAY_LEN(kinds) * 2; i++) {
        const bool bf16 = i % 2 == 1;
        const enum op_kind kind = kinds[i / 2 % ARRAY_LEN(kinds)];
        const size_t number = i / 2 / ARRAY_LEN(kinds);
        const struct kernel *kernels[8] = {0};
        struct kernel_case c;
        size_t lacking, count;

        make_case(&c, kind, bf16, &cases[number].shape);
        count = case_kernels_for(kind, bf16, kernels, &lacking);
        for (size_t k = 0; k < count; k++) {
            if (strstr(kernels[k]->name, "inside") == NULL)
                continue;
            asked++;
            assert_int_equal(case_accept(&c, kernels[k]), cases[number].why == NULL);
            if (cases[number].why != NULL)
                assert_string_equal(c.why, cases[number].why);
        }
        case_fini(&c);
    }
    if (asked == 0)
        skip();
}

static const struct kernel *first_kernel(enum op_kind kind)
{
    const struct kernel *kernels[8];
    size_t lacking;

    return case_kernels_of(kind, kernels, &lacking) > 0 ? kernels[0] : NULL;
}

static void kernels_say_why_they_refuse(void **state)
{
    const struct kernel *kernel = first_kernel(OP_CONV2D);
    struct kernel_case c;
    const int64_t x[4] = {1, 4, 4, 4}, w[4] = {4, 3, 3, 2};

    (void)state;
    if (kernel == NULL)
        skip();
    case_init(&c, OP_CONV2D);
    c.op.attr.conv = (struct conv_attr){.stride = {1, 1}, .dilation = {1, 1}, .groups = 2};
    case_add_normal(&c, 4, x, 0.0f, 1.0f);
    case_add_normal(&c, 4, w, 0.0f, 1.0f);
    assert_true(case_infer(&c));
    assert_false(case_accept(&c, kernel));
    assert_string_equal(c.why, "groups=2");
    case_fini(&c);
}

/* By hand: 1 + 2 + 3 + 4 = 10 under a 2 x 2 window of ones; its gradients likewise. */
static void reference_gives_the_sums_worked_by_hand(void **state)
{
    struct kernel_case c;
    const int64_t x[4] = {1, 2, 2, 1}, w[4] = {1, 2, 2, 1};

    (void)state;
    case_init(&c, OP_CONV2D);
    c.op.attr.conv =
        (struct conv_attr){.stride = {1, 1}, .pad = {1, 0, 0, 0}, .dilation = {1, 1}, .groups = 1};
    memcpy(case_add(&c, DT_F32, 4, x), (float[]){1, 2, 3, 4}, 4 * sizeof(float));
    memcpy(case_add(&c, DT_F32, 4, w), (float[]){1, 1, 1, 10}, 4 * sizeof(float));
    assert_true(case_infer(&c));
    case_run_reference(&c);
    /* Row 0 sees padding above: 1 * w10 + 2 * w11; row 1 sees all. */
    assert_float_equal(((float *)(void *)c.want[0])[0], 21.0f, 0.0f);
    assert_float_equal(((float *)(void *)c.want[0])[1], 46.0f, 0.0f);
    case_fini(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reference_gives_the_sums_worked_by_hand),
        cmocka_unit_test(conv2d_matches_the_reference_at_edge_shapes),
        cmocka_unit_test(conv2d_grad_input_matches_the_reference_at_edge_shapes),
        cmocka_unit_test(conv2d_grad_weight_matches_the_reference_at_edge_shapes),
        cmocka_unit_test(small_images_leave_out_the_taps_outside),
        cmocka_unit_test(kernels_say_why_they_refuse),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
