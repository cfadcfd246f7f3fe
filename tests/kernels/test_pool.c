/* tests/kernels/test_pool.c: pooling against its reference: comparisons and copies, so equal bits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/kernel_case.h"

struct shape {
    int64_t n, h, w, c, window[2], stride[2], pad[4];
};

static const struct shape shapes[] = {
    {1, 2, 2, 1, {2, 2}, {2, 2}, {0}},
    {2, 31, 31, 24, {2, 2}, {2, 2}, {0}}, /* drops a row and a column */
    {2, 15, 15, 65, {2, 2}, {2, 2}, {0}},
    {3, 3, 3, 10, {3, 3}, {3, 3}, {0}},
    {40, 7, 7, 64, {2, 2}, {2, 2}, {0}}, /* more than one item */
    {1, 8, 9, 3, {3, 2}, {3, 2}, {0}},
};
/* Taken by the forward kernel alone. */
static const struct shape overlapping[] = {
    {2, 7, 8, 17, {3, 3}, {2, 2}, {1, 1, 1, 1}},
    {1, 5, 5, 4, {3, 3}, {1, 1}, {0, 1, 1, 0}},
};

static struct pool_attr attr_of(const struct shape *s)
{
    struct pool_attr attr = {.shape = {s->n, s->h, s->w, s->c}};

    memcpy(attr.window, s->window, sizeof attr.window);
    memcpy(attr.stride, s->stride, sizeof attr.stride);
    memcpy(attr.pad, s->pad, sizeof attr.pad);
    return attr;
}

/* Few different values, so that ties are everywhere; a NaN here and there. */
static void make_forward(struct kernel_case *c, const struct shape *s, bool bf16)
{
    const int64_t dims[4] = {s->n, s->h, s->w, s->c};
    float *x;

    case_init(c, OP_POOL_MAX);
    c->op.attr.pool = attr_of(s);
    memset(c->op.attr.pool.shape, 0, sizeof c->op.attr.pool.shape);
    x = case_add_normal(c, 4, dims, 0.0f, 2.0f);
    for (int64_t i = 0; i < tensor_count(&c->in_tensor[0]); i++)
        x[i] = i % 101 == 100 ? NAN : roundf(x[i]);
    if (bf16)
        case_make_bf16(c, 0);
    assert_true(case_infer(c));
}

static void check_forward(const struct shape *s, bool bf16)
{
    struct kernel_case c;

    make_forward(&c, s, bf16);
    case_run_reference(&c);
    case_check_kernels(&c, (const double *[OP_OUT_MAX]){NULL});
    case_fini(&c);
}

static void maxima_and_their_places_equal_the_reference(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(shapes); i++)
        for (int bf16 = 0; bf16 < 2; bf16++)
            check_forward(&shapes[i], bf16 != 0);
    for (size_t i = 0; i < ARRAY_LEN(overlapping); i++)
        for (int bf16 = 0; bf16 < 2; bf16++)
            check_forward(&overlapping[i], bf16 != 0);
}

static void make_backward(struct kernel_case *c, const struct shape *s, bool bf16)
{
    const int64_t y[4] = {s->n, (s->h + s->pad[0] + s->pad[1] - s->window[0]) / s->stride[0] + 1,
                          (s->w + s->pad[2] + s->pad[3] - s->window[1]) / s->stride[1] + 1, s->c};
    uint8_t *index;

    case_init(c, OP_POOL_MAX_GRAD);
    c->op.attr.pool = attr_of(s);
    case_add_normal(c, 4, y, 0.0f, 1.0f);
    index = case_add(c, DT_U8, 4, y);
    for (int64_t i = 0; i < tensor_count(&c->in_tensor[1]); i++)
        index[i] = (uint8_t)(i * 7 % (s->window[0] * s->window[1]));
    if (bf16)
        case_make_bf16(c, 0);
    assert_true(case_infer(c));
}

static void check_gradients_go_to_the_place_and_zero_elsewhere(bool bf16)
{
    for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
        struct kernel_case c;

        make_backward(&c, &shapes[i], bf16);
        case_run_reference(&c);
        case_check_kernels(&c, (const double *[OP_OUT_MAX]){NULL});
        case_fini(&c);
    }
}

static void gradients_go_to_the_place_and_zero_elsewhere(void **state)
{
    (void)state;
    check_gradients_go_to_the_place_and_zero_elsewhere(false);
    check_gradients_go_to_the_place_and_zero_elsewhere(true);
}

static void overlapping_windows_are_refused_backwards(void **state)
{
    const struct kernel *kernels[8];
    size_t lacking;

    (void)state;
    if (case_kernels_of(OP_POOL_MAX_GRAD, kernels, &lacking) == 0)
        skip();
    for (size_t i = 0; i < ARRAY_LEN(overlapping); i++) {
        struct kernel_case c;

        make_backward(&c, &overlapping[i], false);
        assert_false(case_accept(&c, kernels[0]));
        assert_string_equal(c.why, "windows overlap, leave gaps or are padded");
        case_fini(&c);
    }
}

/* Padding is no element: the corner window of a 3 x 3 mean with padding 1 has 4 elements. */
static void reference_means_count_real_pixels_alone(void **state)
{
    static const int64_t dims[4] = {1, 2, 2, 1};
    struct kernel_case c;

    (void)state;
    case_init(&c, OP_POOL_AVG);
    c.op.attr.pool = (struct pool_attr){.window = {3, 3}, .stride = {2, 2}, .pad = {1, 1, 1, 1}};
    memcpy(case_add(&c, DT_F32, 4, dims), (float[]){1, 2, 3, 6}, 4 * sizeof(float));
    assert_true(case_infer(&c));
    case_run_reference(&c);
    assert_int_equal(tensor_count(&c.out_tensor[0]), 1);
    assert_float_equal(((float *)(void *)c.want[0])[0], 3.0f, 0.0f);
    case_fini(&c);

    case_init(&c, OP_POOL_AVG_GRAD);
    c.op.attr.pool = (struct pool_attr){
        .window = {3, 3}, .stride = {2, 2}, .pad = {1, 1, 1, 1}, .shape = {1, 2, 2, 1}};
    *(float *)case_add(&c, DT_F32, 4, (const int64_t[]){1, 1, 1, 1}) = 8.0f;
    assert_true(case_infer(&c));
    case_run_reference(&c);
    for (int i = 0; i < 4; i++)
        assert_float_equal(((float *)(void *)c.want[0])[i], 2.0f, 0.0f);
    case_fini(&c);
}

/* 1 3 / 3 2: the first of two maxima wins, place 1. */
static void reference_takes_the_first_of_equal_maxima(void **state)
{
    static const int64_t dims[4] = {1, 2, 2, 1};
    struct kernel_case c;

    (void)state;
    case_init(&c, OP_POOL_MAX);
    c.op.attr.pool = (struct pool_attr){.window = {2, 2}, .stride = {2, 2}};
    memcpy(case_add(&c, DT_F32, 4, dims), (float[]){1, 3, 3, 2}, 4 * sizeof(float));
    assert_true(case_infer(&c));
    case_run_reference(&c);
    assert_float_equal(((float *)(void *)c.want[0])[0], 3.0f, 0.0f);
    assert_int_equal(c.want[1][0], 1);
    case_fini(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reference_takes_the_first_of_equal_maxima),
        cmocka_unit_test(reference_means_count_real_pixels_alone),
        cmocka_unit_test(maxima_and_their_places_equal_the_reference),
        cmocka_unit_test(gradients_go_to_the_place_and_zero_elsewhere),
        cmocka_unit_test(overlapping_windows_are_refused_backwards),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
