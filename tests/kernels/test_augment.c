/* tests/kernels/test_augment.c: sample and augment: what they draw, and the fast augment against the reference, bit by bit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/kernel_case.h"

#define IMAGES 50
#define BATCH  33 /* beyond an item of 32 */

static void make_case(struct kernel_case *c, struct augment_attr attr, int64_t channels,
                      int32_t epoch)
{
    const int64_t images[4] = {IMAGES, 8, 6, channels}, batch = BATCH;
    uint8_t *pixels;
    int32_t *idx;

    case_init(c, OP_AUGMENT);
    c->op.attr.augment = attr;
    for (int i = 0; i < CHANNELS_MAX; i++) {
        c->op.attr.augment.mean[i] = 0.4 + 0.05 * i;
        c->op.attr.augment.deviation[i] = 0.25;
    }
    pixels = case_add(c, DT_U8, 4, images);
    for (int64_t i = 0; i < tensor_count(&c->in_tensor[0]); i++)
        pixels[i] = (uint8_t)(i * 31 % 256);
    idx = case_add(c, DT_I32, 1, &batch);
    for (int32_t i = 0; i < BATCH; i++)
        idx[i] = i * 3 % IMAGES;
    *(int32_t *)case_add(c, DT_I32, 0, NULL) = epoch;
    *(int32_t *)case_add(c, DT_I32, 0, NULL) = 5; /* seed */
    assert_true(case_infer(c));
}

static void every_mode_equals_the_reference_bit_by_bit(void **state)
{
    static const struct augment_attr attrs[] = {
        {.mode = AUGMENT_TRAIN, .flip = FLIP_NONE, .pad = 0, .dtype = DT_F32},
        {.mode = AUGMENT_TRAIN, .flip = FLIP_RANDOM, .pad = 4, .dtype = DT_F32},
        {.mode = AUGMENT_TRAIN, .flip = FLIP_ALTERNATE, .pad = 2, .dtype = DT_F32},
        {.mode = AUGMENT_TRAIN, .pad = 1, .brightness = 0.2, .contrast = 0.3, .dtype = DT_F32},
        {.mode = AUGMENT_TRAIN, .flip = FLIP_RANDOM, .contrast = 0.5, .dtype = DT_F32},
        {.mode = AUGMENT_VIEW, .pad = 0, .dtype = DT_F32},
        {.mode = AUGMENT_VIEW,
         .pad = 1,
         .view_dy = -1,
         .view_dx = 1,
         .view_flip = true,
         .dtype = DT_F32},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(attrs); i++)
        for (int64_t channels = 1; channels <= CHANNELS_MAX; channels++)
            for (int32_t epoch = 0; epoch < 3; epoch++) {
                struct kernel_case c;

                make_case(&c, attrs[i], channels, epoch);
                case_run_reference(&c);
                case_check_kernels(&c, (const double *[OP_OUT_MAX]){NULL});
                case_fini(&c);
            }
}

/* Row 0 of a one-channel image is 0 31 62 .. 155; the view shifted by (0, -1) reflects its first column. */
static void views_shift_reflect_and_flip(void **state)
{
    static const uint8_t want[2][6] = {{31, 0, 31, 62, 93, 124}, {124, 93, 62, 31, 0, 31}};

    (void)state;
    for (int flip = 0; flip < 2; flip++) {
        struct kernel_case c;
        const float *y;

        make_case(&c,
                  (struct augment_attr){.mode = AUGMENT_VIEW,
                                        .pad = 1,
                                        .view_dx = -1,
                                        .view_flip = flip == 1,
                                        .dtype = DT_F32},
                  1, 0);
        case_run_reference(&c);
        y = (const float *)(const void *)c.want[0];
        for (int w = 0; w < 6; w++)
            assert_true(fabs((double)y[w] - (want[flip][w] / 255.0 - 0.4) / 0.25) < 1e-6);
        case_fini(&c);
    }
}

/* An image of the first epoch reappears mirrored in the second and as it was in the third, whatever its coin. */
static void alternate_flips_mirror_every_other_epoch(void **state)
{
    struct kernel_case epochs[3];
    const struct augment_attr attr = {
        .mode = AUGMENT_TRAIN, .flip = FLIP_ALTERNATE, .pad = 0, .dtype = DT_F32};
    int mirrored_first = 0;

    (void)state;
    for (int e = 0; e < 3; e++) {
        make_case(&epochs[e], attr, 1, e);
        case_run_reference(&epochs[e]);
    }
    for (int b = 0; b < BATCH; b++) {
        const float *first = (const float *)(const void *)epochs[0].want[0] + b * 48;
        const float *second = (const float *)(const void *)epochs[1].want[0] + b * 48;
        const float *third = (const float *)(const void *)epochs[2].want[0] + b * 48;

        for (int h = 0; h < 8; h++)
            for (int w = 0; w < 6; w++) {
                assert_true(first[h * 6 + w] == second[h * 6 + 5 - w]);
                assert_true(first[h * 6 + w] == third[h * 6 + w]);
            }
        mirrored_first += first[1] < first[0];
    }
    assert_in_range(mirrored_first, 5, 28); /* a coin: 33 throws, both sides seen */
    for (int e = 0; e < 3; e++)
        case_fini(&epochs[e]);
}

/* Of each image y = (x + b) c: two pixels give both, which lie within their bounds, differ between images and epochs, and
 * fill their range. */
static void colours_differ_by_image_and_epoch(void **state)
{
    const struct augment_attr plain = {.mode = AUGMENT_TRAIN, .dtype = DT_F32};
    struct augment_attr attr = plain;
    double low[2] = {9.0, 9.0}, high[2] = {-9.0, -9.0}, last[2] = {0.0, 0.0};

    (void)state;
    attr.brightness = 0.2;
    attr.contrast = 0.3;
    for (int32_t epoch = 0; epoch < 3; epoch++) {
        struct kernel_case x, y;

        make_case(&x, plain, 1, epoch);
        make_case(&y, attr, 1, epoch);
        case_run_reference(&x);
        case_run_reference(&y);
        for (int64_t image = 0; image < BATCH; image++) {
            const double x0 = case_number(&x.out_tensor[0], x.want[0], image * 48);
            const double x1 = case_number(&x.out_tensor[0], x.want[0], image * 48 + 1);
            const double y0 = case_number(&y.out_tensor[0], y.want[0], image * 48);
            const double y1 = case_number(&y.out_tensor[0], y.want[0], image * 48 + 1);
            const double now[2] = {y0 / ((y1 - y0) / (x1 - x0)) - x0, (y1 - y0) / (x1 - x0) - 1.0};

            for (int i = 0; i < 2; i++) {
                assert_true(fabs(now[i]) <= (i == 0 ? attr.brightness : attr.contrast) + 1e-5);
                assert_true(now[i] != last[i]);
                low[i] = now[i] < low[i] ? now[i] : low[i];
                high[i] = now[i] > high[i] ? now[i] : high[i];
                last[i] = now[i];
            }
        }
        case_fini(&x);
        case_fini(&y);
    }
    assert_true(low[0] < -0.15 && high[0] > 0.15 && low[1] < -0.22 && high[1] > 0.22);
}

/* 23 images, batches of 5: an epoch is 4 steps, 20 images, no image twice; the next epoch has another order. */
static void samples_visit_each_image_at_most_once_an_epoch(void **state)
{
    int32_t seen[2][23] = {{0}}, order[2][20];

    (void)state;
    for (int32_t step = 1; step <= 8; step++) {
        struct kernel_case c;
        const int32_t *idx;
        const int epoch = (step - 1) / 4;

        case_init(&c, OP_SAMPLE);
        c.op.attr.sample = (struct sample_attr){.images = 23, .batch = 5};
        *(int32_t *)case_add(&c, DT_I32, 0, NULL) = 9;
        *(int32_t *)case_add(&c, DT_I32, 0, NULL) = step;
        assert_true(case_infer(&c));
        case_run_reference(&c);
        idx = (const int32_t *)(const void *)c.want[0];
        for (int i = 0; i < 5; i++) {
            assert_in_range(idx[i], 0, 22);
            assert_int_equal(seen[epoch][idx[i]]++, 0);
            order[epoch][(step - 1) % 4 * 5 + i] = idx[i];
        }
        assert_int_equal(*(const int32_t *)(const void *)c.want[1], epoch);
        case_fini(&c);
    }
    assert_memory_not_equal(order[0], order[1], sizeof order[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(views_shift_reflect_and_flip),
        cmocka_unit_test(alternate_flips_mirror_every_other_epoch),
        cmocka_unit_test(colours_differ_by_image_and_epoch),
        cmocka_unit_test(samples_visit_each_image_at_most_once_an_epoch),
        cmocka_unit_test(every_mode_equals_the_reference_bit_by_bit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
