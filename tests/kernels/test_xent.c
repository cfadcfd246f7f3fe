/* tests/kernels/test_xent.c: the reference of cross-entropy against numbers worked by hand and finite differences. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/kernel_case.h"

#define ROWS    3
#define CLASSES 4

static const float logits[ROWS * CLASSES] = {1, 2, 3, 2, 0, 0, 0, 0, 500, -500, 2, 1};
static const int32_t labels[ROWS] = {2, 1, 0};

static void make_case(struct kernel_case *c, enum op_kind kind, int32_t valid)
{
    const int64_t dims[2] = {ROWS, CLASSES}, rows = ROWS;

    case_init(c, kind);
    c->op.attr.xent = (struct xent_attr){.on = 0.85, .off = 0.05}; /* smoothing 0.2 */
    if (kind == OP_XENT_GRAD)
        memcpy(case_add(c, DT_F32, 1, &rows), (float[]){1, 2, 1}, ROWS * sizeof(float));
    memcpy(case_add(c, DT_F32, 2, dims), logits, sizeof logits);
    memcpy(case_add(c, DT_I32, 1, &rows), labels, sizeof labels);
    *(int32_t *)case_add(c, DT_I32, 0, NULL) = valid;
    assert_true(case_infer(c));
    case_run_reference(c);
}

static double at(const struct kernel_case *c, int out, int i)
{
    return (double)((const float *)(const void *)c->want[out])[i];
}

/* Row 1: log 4 whatever the targets, as they sum to 1. Row 0: log(e + 2 e^2 + e^3) - (0.05 * 5 + 0.85 * 3). Row 2: the maximum
 * is taken out, so exp does not overflow: 500 - (0.85 * 500 + 0.05 * (-500 + 2 + 1)). */
static void losses_and_hits_are_those_worked_by_hand(void **state)
{
    struct kernel_case c;

    (void)state;
    make_case(&c, OP_XENT, ROWS);
    assert_true(fabs(at(&c, 0, 0) - (log(exp(1) + 2 * exp(2) + exp(3)) - 2.8)) < 1e-6);
    assert_true(fabs(at(&c, 0, 1) - log(4.0)) < 1e-6);
    assert_true(fabs(at(&c, 0, 2) - 99.85) < 1e-4);
    assert_float_equal(at(&c, 1, 0), 1.0, 0.0);
    assert_float_equal(at(&c, 1, 1), 0.0, 0.0); /* the first of equal maxima is class 0 */
    assert_float_equal(at(&c, 1, 2), 1.0, 0.0);
    case_fini(&c);
}

static void rows_beyond_valid_give_zero(void **state)
{
    struct kernel_case c;

    (void)state;
    make_case(&c, OP_XENT, 1);
    for (int row = 1; row < ROWS; row++) {
        assert_float_equal(at(&c, 0, row), 0.0, 0.0);
        assert_float_equal(at(&c, 1, row), 0.0, 0.0);
    }
    case_fini(&c);
    make_case(&c, OP_XENT_GRAD, 1);
    for (int i = CLASSES; i < ROWS * CLASSES; i++)
        assert_float_equal(at(&c, 0, i), 0.0, 0.0);
    case_fini(&c);
}

/* dlogits = dloss (softmax - t). Row 1: 2 (1/4 - t). */
static void gradient_is_softmax_minus_target(void **state)
{
    struct kernel_case c;

    (void)state;
    make_case(&c, OP_XENT_GRAD, ROWS);
    for (int k = 0; k < CLASSES; k++)
        assert_true(fabs(at(&c, 0, CLASSES + k) - 2.0 * (0.25 - (k == 1 ? 0.85 : 0.05))) < 1e-6);
    for (int row = 0; row < ROWS; row++) { /* targets sum to 1: each row of the gradient to 0 */
        double sum = 0.0;

        for (int k = 0; k < CLASSES; k++)
            sum += at(&c, 0, row * CLASSES + k);
        assert_true(fabs(sum) < 1e-6);
    }
    case_fini(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_and_hits_are_those_worked_by_hand),
        cmocka_unit_test(rows_beyond_valid_give_zero),
        cmocka_unit_test(gradient_is_softmax_minus_target),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
