/* tests/kernels/test_conv2d_winograd.c: Winograd's convolutions against the reference. V and U are rounded once to the
 * operands' type (u: 2^-8 in BF16, at most four times 2^-24 in F32, whose sums of three terms round too), sums of C
 * products and of 9 places in F32:
 *
 *   |error| <= (2 u + u^2 + (C + 16) 2^-24) |A|^T [ sum over c of (|G| |w| |G|^T) (|B|^T |d| |B|) ] |A|
 *
 * which is computed here from absolute values, by plain loops of its own. As that is far above what happens, the root
 * mean square of the error is bounded, too: the 9 places have 25/9 of the variance of the plain sum, so it is about
 * 5/3 sqrt(2/3) u of the values', below 2 u, beside one rounding of y and the sums' own, a walk of C random steps.
 * conv2d_grad_weight: sums over tiles instead of C, |G| |dy| |G|^T instead of |G| |w| |G|^T; its places have at most 4
 * times the plain sum's variance, so it is 2 sqrt(2/3) u. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/support/kernel_case.h"

/* Sides even and odd, no padding and uneven, fewer tiles than an item has and more, channels and filters around a vector
 * and a panel, the most channels. */
static const struct shape {
    int64_t n, h, w, c, k, pad[4];
} shapes[] = {
    {1, 2, 2, 32, 32, {1, 1, 1, 1}},  {2, 15, 15, 64, 64, {1, 1, 1, 1}},
    {3, 7, 7, 32, 96, {1, 0, 1, 0}},  {1, 8, 7, 64, 32, {0, 0, 0, 0}},
    {2, 9, 8, 24, 40, {1, 1, 1, 0}},  {1, 6, 8, 20, 33, {0, 1, 1, 0}},
    {1, 4, 4, 512, 34, {1, 1, 1, 1}}, {30, 4, 4, 64, 70, {1, 1, 1, 1}},
    {9, 8, 8, 65, 97, {1, 1, 1, 1}},  {80, 8, 8, 20, 20, {1, 1, 1, 1}},
};

static void make_case(struct kernel_case *c, enum op_kind kind, bool bf16, const struct shape *s)
{
    const int64_t x[4] = {s->n, s->h, s->w, s->c}, w[4] = {s->k, 3, 3, s->c};
    const int64_t y[4] = {s->n, s->h + s->pad[0] + s->pad[1] - 2, s->w + s->pad[2] + s->pad[3] - 2,
                          s->k};

    case_init(c, kind);
    c->op.attr.conv = (struct conv_attr){.stride = {1, 1}, .dilation = {1, 1}, .groups = 1};
    memcpy(c->op.attr.conv.pad, s->pad, sizeof s->pad);
    if (kind != OP_CONV2D)
        memcpy(c->op.attr.conv.shape, kind == OP_CONV2D_GRAD_INPUT ? x : w, sizeof x);
    case_add_normal(c, 4, kind == OP_CONV2D ? x : y, 0.0f, 1.0f);
    case_add_normal(c, 4, kind == OP_CONV2D_GRAD_WEIGHT ? x : w, 0.0f, 1.0f);
    for (int i = 0; i < 2 && bf16; i++)
        case_make_bf16(c, i);
    assert_true(case_infer(c));
}

/* |w| of tap (r, s) between channel c of the source and channel k of the result. */
static double tap_of(const struct kernel_case *c, int64_t r, int64_t s, int64_t source, int64_t k)
{
    const struct tensor *w = &c->in_tensor[1];
    const bool forward = c->op.kind == OP_CONV2D;
    const int64_t row = forward ? r : 2 - r, column = forward ? s : 2 - s;
    const int64_t outer = forward ? k : source, inner = forward ? source : k;

    return fabs(case_number(w, c->in[1], ((outer * 3 + row) * 3 + column) * w->dim[3] + inner));
}

/* |number| of operand `in` at a pixel, 0 outside. */
static double pixel_of(const struct kernel_case *c, int in, int64_t n, int64_t h, int64_t w,
                       int64_t channel)
{
    const struct tensor *x = &c->in_tensor[in];

    if (h < 0 || h >= x->dim[1] || w < 0 || w >= x->dim[2])
        return 0.0;
    return fabs(
        case_number(x, c->in[in], ((n * x->dim[1] + h) * x->dim[2] + w) * x->dim[3] + channel));
}

/* |G| and |B|^T, row by row. */
static const double taps_matrix[4][3] = {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, 0.5, 0.5}, {0, 0, 1}};
static const double tile_matrix[4][4] = {{1, 0, 1, 0}, {0, 1, 1, 0}, {0, 1, 1, 0}, {0, 1, 0, 1}};

/* sums[16] += (|G| |w| |G|^T) (|B|^T |d| |B|) of one channel of the tile whose first source pixel is (h, w). */
static void add_channel(const struct kernel_case *c, int64_t n, int64_t h, int64_t w,
                        int64_t channel, int64_t k, double sums[16])
{
    double d[4][4], g[3][3];

    for (int r = 0; r < 4; r++)
        for (int s = 0; s < 4; s++)
            d[r][s] = pixel_of(c, 0, n, h + r, w + s, channel);
    for (int r = 0; r < 3; r++)
        for (int s = 0; s < 3; s++)
            g[r][s] = tap_of(c, r, s, channel, k);
    for (int i = 0; i < 16; i++) {
        double u = 0.0, v = 0.0;

        for (int r = 0; r < 3; r++)
            for (int s = 0; s < 3; s++)
                u += taps_matrix[i / 4][r] * g[r][s] * taps_matrix[i % 4][s];
        for (int r = 0; r < 4; r++)
            for (int s = 0; s < 4; s++)
                v += tile_matrix[i / 4][r] * d[r][s] * tile_matrix[i % 4][s];
        sums[i] += u * v;
    }
}

/* |B|^T |d| |B| at place i, of the tile of operand `in` whose first pixel is (h, w). */
static double spread_source(const struct kernel_case *c, int in, int64_t n, int64_t h, int64_t w,
                            int64_t channel, int i)
{
    double v = 0.0;

    for (int r = 0; r < 4; r++)
        for (int s = 0; s < 4; s++)
            v += tile_matrix[i / 4][r] * pixel_of(c, in, n, h + r, w + s, channel) *
                 tile_matrix[i % 4][s];
    return v;
}

/* |G| |dy| |G|^T at place i, of the 2 x 2 pixels of dy from (h, w) on. */
static double spread_dy(const struct kernel_case *c, int64_t n, int64_t h, int64_t w, int64_t k,
                        int i)
{
    static const double dy_matrix[4][2] = {{1, 0}, {0.5, 0.5}, {0.5, 0.5}, {0, 1}};
    double v = 0.0;

    for (int p = 0; p < 2; p++)
        for (int q = 0; q < 2; q++)
            v += dy_matrix[i / 4][p] * pixel_of(c, 0, n, h + p, w + q, k) * dy_matrix[i % 4][q];
    return v;
}

/* The bound of dw at tap (r, s), channel and filter: |A|^T takes these places in each direction. */
static double bound_of_weight(const struct kernel_case *c, int64_t k, int64_t r, int64_t s,
                              int64_t channel)
{
    static const bool takes[3][4] = {{1, 1, 1, 0}, {0, 1, 1, 0}, {0, 1, 1, 1}};
    const struct tensor *dy = &c->in_tensor[0];
    const double u = case_has_bf16(c) ? 0x1p-8 : 4.0 * UNIT_ROUNDOFF;
    double total = 0.0;
    int64_t tiles = 0;

    for (int64_t n = 0; n < dy->dim[0]; n++)
        for (int64_t h = 0; h < dy->dim[1]; h += 2)
            for (int64_t w = 0; w < dy->dim[2]; w += 2, tiles++)
                for (int i = 0; i < 16; i++)
                    if (takes[r][i / 4] && takes[s][i % 4])
                        total += spread_dy(c, n, h, w, k, i) *
                                 spread_source(c, 1, n, h - c->op.attr.conv.pad[0],
                                               w - c->op.attr.conv.pad[2], channel, i);
    return total * (2.0 * u + u * u + (double)(tiles + 16) * UNIT_ROUNDOFF);
}

/* The bound of one result: output p of a tile takes places p .. p + 2 of 4 in each direction (|A|^T). */
static double bound_of(const struct kernel_case *c, int64_t n, int64_t p, int64_t q, int64_t k)
{
    const struct tensor *x = &c->in_tensor[0];
    const bool bf16 = case_has_bf16(c), forward = c->op.kind == OP_CONV2D;
    const int64_t top = forward ? c->op.attr.conv.pad[0] : 2 - c->op.attr.conv.pad[0];
    const int64_t left = forward ? c->op.attr.conv.pad[2] : 2 - c->op.attr.conv.pad[2];
    const double u = bf16 ? 0x1p-8 : 4.0 * UNIT_ROUNDOFF;
    double sums[16] = {0}, total = 0.0;

    for (int64_t channel = 0; channel < x->dim[3]; channel++)
        add_channel(c, n, p / 2 * 2 - top, q / 2 * 2 - left, channel, k, sums);
    for (int64_t i = p % 2; i < p % 2 + 3; i++)
        for (int64_t j = q % 2; j < q % 2 + 3; j++)
            total += sums[i * 4 + j];
    return total * (2.0 * u + u * u + (double)(x->dim[3] + 16) * UNIT_ROUNDOFF);
}

static double bound_at(const struct kernel_case *c, int64_t i)
{
    const struct tensor *y = &c->out_tensor[0];
    const int64_t last = i % y->dim[3], pixel = i / y->dim[3];
    const int64_t first = pixel / y->dim[2] / y->dim[1], row = pixel / y->dim[2] % y->dim[1];

    if (c->op.kind == OP_CONV2D_GRAD_WEIGHT)
        return bound_of_weight(c, first, row, pixel % y->dim[2], last);
    return bound_of(c, first, row, pixel % y->dim[2], last);
}

/* Every `step`-th result exactly bounded; the others are in the mean. */
static void check_result(const struct kernel_case *c, const char *name)
{
    const struct tensor *y = &c->out_tensor[0];
    const double u = case_has_bf16(c) ? 0x1p-8 : 4.0 * UNIT_ROUNDOFF;
    const int64_t count = tensor_count(y), step = count > 200 ? count / 200 | 1 : 1;
    const int64_t terms = c->op.kind == OP_CONV2D_GRAD_WEIGHT
                              ? tensor_count(&c->in_tensor[0]) / c->in_tensor[0].dim[3]
                              : c->in_tensor[0].dim[3];
    double errors = 0.0, values = 0.0;

    for (int64_t i = 0; i < count; i++) {
        const double got = case_number(y, c->out[0], i), want = case_number(y, c->want[0], i);

        errors += (got - want) * (got - want);
        values += want * want;
        if (i % step == 0) {
            const double bound = bound_at(c, i);

            if (!(fabs(got - want) <= bound + 2.0 * case_rounding(c, 0, fabs(want) + bound)))
                fail_msg("%s: result %lld: got %.9g, want %.9g, bound %.3g", name, (long long)i,
                         got, want, bound);
        }
    }
    if (!(sqrt(errors / values) <= 3.0 * u + sqrt((double)terms) * UNIT_ROUNDOFF))
        fail_msg("%s: root mean square of errors %.3g of the values'", name, sqrt(errors / values));
}

static bool is_winograd(const struct kernel *kernel)
{
    return strstr(kernel->name, "winograd") != NULL;
}

static void check_op(enum op_kind kind, bool bf16)
{
    size_t checked = 0, lacking = 0;

    for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
        struct kernel_case c;
        const struct kernel *kernels[8];
        size_t count;

        make_case(&c, kind, bf16, &shapes[i]);
        case_run_reference(&c);
        count = case_kernels_for(kind, bf16, kernels, &lacking);
        for (size_t k = 0; k < count; k++) {
            unsigned char *forwards;
            const size_t bytes = (size_t)tensor_bytes(&c.out_tensor[0]);

            if (!is_winograd(kernels[k]) || !case_accept(&c, kernels[k]))
                continue;
            checked++;
            case_poison_results(&c);
            assert_true(case_run_into(&c, kernels[k], c.out, false));
            check_result(&c, kernels[k]->name);
            forwards = case_alloc(bytes);
            memcpy(forwards, c.out[0], bytes);
            case_poison_results(&c);
            assert_true(case_run_into(&c, kernels[k], c.out, true)); /* items backwards */
            assert_memory_equal(forwards, c.out[0], bytes);
            case_free(forwards);
        }
        case_fini(&c);
    }
    if (checked == 0 && lacking > 0)
        skip();
    assert_true(checked >= 5);
}

static void conv2d_stays_within_the_bounds(void **state)
{
    (void)state;
    check_op(OP_CONV2D, false);
    check_op(OP_CONV2D, true);
}

static void conv2d_grad_input_stays_within_the_bounds(void **state)
{
    (void)state;
    check_op(OP_CONV2D_GRAD_INPUT, false);
    check_op(OP_CONV2D_GRAD_INPUT, true);
}

static void conv2d_grad_weight_stays_within_the_bounds(void **state)
{
    (void)state;
    check_op(OP_CONV2D_GRAD_WEIGHT, false);
    check_op(OP_CONV2D_GRAD_WEIGHT, true);
}

/* A shape that another kernel does better: refused with the reason. */
static void refuses_what_it_would_slow_down(void **state)
{
    static const struct {
        struct shape shape;
        const char *why;
    } refused[] = {
        {{1, 3, 3, 64, 64, {1, 1, 1, 1}}, "tiles of 2 x 2 waste too much of width 3"},
        {{1, 8, 8, 16, 64, {1, 1, 1, 1}}, "channels below 20: 16"},
        {{1, 8, 8, 33, 64, {1, 1, 1, 1}}, "channels not even or above 512: 33"},
        {{1, 8, 8, 64, 16, {1, 1, 1, 1}}, "filters below 20: 16"},
    };
    const struct kernel *kernels[8] = {0};
    size_t lacking;

    (void)state;
    if (case_kernels_for(OP_CONV2D, false, kernels, &lacking) == 0) {
        skip();
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        struct kernel_case c;

        make_case(&c, OP_CONV2D, false, &refused[i].shape);
        assert_true(is_winograd(kernels[0]));
        assert_false(case_accept(&c, kernels[0]));
        assert_string_equal(c.why, refused[i].why);
        case_fini(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conv2d_stays_within_the_bounds),
        cmocka_unit_test(conv2d_grad_input_stays_within_the_bounds),
        cmocka_unit_test(conv2d_grad_weight_stays_within_the_bounds),
        cmocka_unit_test(refuses_what_it_would_slow_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
