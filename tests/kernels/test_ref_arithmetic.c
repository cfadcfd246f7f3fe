/* References of unary, binary, select, reduce, layer_norm and softmax, against cases worked by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the four above. */
#include <cmocka.h>

#include "tests/support/ref_case.h"

#define E    2.71828182845904524 /* e */
#define PHI1 0.84134474606854293 /* Phi(1), the normal distribution's function at 1 */
#define PDF1 0.24197072451914337 /* its density there */
#define SIG1 0.73105857863000488 /* 1 / (1 + 1/e) */
#define TAN1 0.76159415595576486 /* tanh 1 */

/* f(x) and f'(x) at points whose values are known: tables of functions to 12 digits or more. */
static void unary_functions_and_slopes_have_known_values(void **state)
{
    static const struct {
        enum unary_fn fn;
        double x, y, slope;
    } cases[] = {
        {UNARY_NEG, 3.0, -3.0, -1.0},
        {UNARY_EXP, 1.0, E, E},
        {UNARY_EXP, 0.0, 1.0, 1.0},
        {UNARY_LOG, 1.0, 0.0, 1.0},
        {UNARY_LOG, 4.0, 1.38629436111989062, 0.25},
        {UNARY_SQRT, 9.0, 3.0, 1.0 / 6.0},
        {UNARY_RSQRT, 4.0, 0.5, -0.0625},
        {UNARY_RELU, 2.0, 2.0, 1.0},
        {UNARY_RELU, -2.0, 0.0, 0.0},
        {UNARY_RELU, 0.0, 0.0, 0.0},
        {UNARY_GELU_ERF, 0.0, 0.0, 0.5},
        {UNARY_GELU_ERF, 1.0, PHI1, PHI1 + PDF1},
        {UNARY_GELU_ERF, -1.0, PHI1 - 1.0, 1.0 - PHI1 - PDF1},
        {UNARY_GELU_ERF, -40.0, 0.0, 0.0},
        {UNARY_GELU_TANH, 0.0, 0.0, 0.5},
        {UNARY_GELU_TANH, 1.0, 0.84119199060827670, 1.08296408384578580},
        {UNARY_GELU_TANH, 20.0, 20.0, 1.0},
        {UNARY_SIGMOID, 0.0, 0.5, 0.25},
        {UNARY_SIGMOID, 1.0, SIG1, SIG1 * (1.0 - SIG1)},
        {UNARY_SIGMOID, -800.0, 0.0, 0.0},
        {UNARY_TANH, 1.0, TAN1, 0.41997434161402607},
        {UNARY_SILU, 1.0, SIG1, 0.92767051187148680},
        {UNARY_SILU, 0.0, 0.0, 0.5},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const union op_attr attr = {.unary = {cases[i].fn}};
        const double dx = 2.0 * cases[i].slope;
        const struct ref_operand in[] = {{EACH_FLOAT, 1, {1}, NUMBERS(2.0)},
                                         {EACH_FLOAT, 1, {1}, &cases[i].x},
                                         {EACH_FLOAT, 1, {1}, &cases[i].y}};
        const struct ref_operand y = {EACH_FLOAT, 1, {1}, &cases[i].y},
                                 slope = {EACH_FLOAT, 1, {1}, &dx};
        /* Half an ulp of what the type stores: 2^-24 and 2^-8 of the result; 1e-13 for the table itself. */
        static const struct {
            enum dtype dtype;
            double unit;
        } types[] = {{DT_F64, 1e-13}, {DT_F32, 0x1p-24}, {DT_BF16, 0x1.01p-8}};

        for (size_t t = 0; t < ARRAY_LEN(types); t++) {
            ref_check_dtype(OP_UNARY, &attr, &in[1], 1, &y, 1,
                            types[t].unit * (fabs(cases[i].y) + 1e-9), types[t].dtype);
            ref_check_dtype(OP_UNARY_GRAD, &attr, in, 3, &slope, 1,
                            types[t].unit * (fabs(dx) + 1e-9), types[t].dtype);
        }
    }
}

static void unary_keeps_nan(void **state)
{
    (void)state;
    for (int fn = 0; fn < UNARY_COUNT; fn++) {
        const union op_attr attr = {.unary = {(enum unary_fn)fn}};
        const struct ref_operand nan = {EACH_FLOAT, 1, {1}, NUMBERS(REF_NAN)};

        ref_check(OP_UNARY, &attr, &nan, 1, &nan, 1);
    }
}

static void binary_broadcasts_as_numpy(void **state)
{
    static const double a[] = {1, 2, 3, 4, 5, 6}, b[] = {4, 2, 8};
    static const struct {
        enum binary_fn fn;
        bool truth;
        double y[6];
    } cases[] = {
        {BINARY_ADD, false, {5, 4, 11, 8, 7, 14}},
        {BINARY_SUB, false, {-3, 0, -5, 0, 3, -2}},
        {BINARY_MUL, false, {4, 4, 24, 16, 10, 48}},
        {BINARY_DIV, false, {.25, 1, .375, 1, 2.5, .75}},
        {BINARY_MAX, false, {4, 2, 8, 4, 5, 8}},
        {BINARY_MIN, false, {1, 2, 3, 4, 2, 6}},
        {BINARY_EQ, true, {0, 1, 0, 1, 0, 0}},
        {BINARY_LT, true, {1, 0, 1, 0, 0, 1}},
        {BINARY_GE, true, {0, 1, 0, 1, 1, 0}},
    };
    const union op_attr mul = {.binary = {BINARY_MUL}};
    const struct ref_operand cross[] = {{EACH_FLOAT, 2, {2, 1}, NUMBERS(2, 3)},
                                        {EACH_FLOAT, 3, {2, 1, 2}, NUMBERS(1, 2, 4, 8)}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const union op_attr attr = {.binary = {cases[i].fn}};
        const struct ref_operand in[] = {{EACH_FLOAT, 2, {2, 3}, a}, {EACH_FLOAT, 1, {3}, b}};

        ref_check(OP_BINARY, &attr, in, 2,
                  &(struct ref_operand){cases[i].truth ? DT_U8 : EACH_FLOAT, 2, {2, 3}, cases[i].y},
                  1);
    }
    ref_check(OP_BINARY, &mul, cross, 2,
              &(struct ref_operand){EACH_FLOAT, 3, {2, 2, 2}, NUMBERS(2, 4, 3, 6, 8, 16, 12, 24)},
              1);
}

static void binary_of_integers_wraps_and_never_traps(void **state)
{
    static const struct {
        enum binary_fn fn;
        double a, b, y;
    } cases[] = {
        {BINARY_ADD, INT32_MAX, 1, INT32_MIN},
        {BINARY_SUB, INT32_MIN, 1, INT32_MAX},
        {BINARY_MUL, 65536, 65536, 0},
        {BINARY_DIV, -7, 2, -3},
        {BINARY_DIV, 5, 0, 0},
        {BINARY_DIV, INT32_MIN, -1, INT32_MIN},
        {BINARY_MAX, -1, -2, -1},
        {BINARY_MIN, -1, -2, -2},
    };
    static const double truth[] = {0, 0, 1, 1}, other[] = {0, 1, 0, 1};
    const struct ref_operand bits[] = {{DT_U8, 1, {4}, truth}, {DT_U8, 1, {4}, other}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const union op_attr attr = {.binary = {cases[i].fn}};
        const struct ref_operand in[] = {{DT_I32, 0, {0}, &cases[i].a},
                                         {DT_I32, 0, {0}, &cases[i].b}};

        ref_check(OP_BINARY, &attr, in, 2, &(struct ref_operand){DT_I32, 0, {0}, &cases[i].y}, 1);
    }
    ref_check(OP_BINARY, &(union op_attr){.binary = {BINARY_AND}}, bits, 2,
              &(struct ref_operand){DT_U8, 1, {4}, NUMBERS(0, 0, 0, 1)}, 1);
    ref_check(OP_BINARY, &(union op_attr){.binary = {BINARY_OR}}, bits, 2,
              &(struct ref_operand){DT_U8, 1, {4}, NUMBERS(0, 1, 1, 1)}, 1);
}

static void max_and_min_keep_nan(void **state)
{
    const struct ref_operand in[] = {{EACH_FLOAT, 1, {2}, NUMBERS(REF_NAN, 1)},
                                     {EACH_FLOAT, 1, {2}, NUMBERS(1, REF_NAN)}};
    const struct ref_operand nan = {EACH_FLOAT, 1, {2}, NUMBERS(REF_NAN, REF_NAN)};

    (void)state;
    ref_check(OP_BINARY, &(union op_attr){.binary = {BINARY_MAX}}, in, 2, &nan, 1);
    ref_check(OP_BINARY, &(union op_attr){.binary = {BINARY_MIN}}, in, 2, &nan, 1);
}

static void select_takes_a_where_the_condition_holds(void **state)
{
    const union op_attr none = {0};
    const struct ref_operand in[] = {{DT_U8, 1, {3}, NUMBERS(1, 0, 2)},
                                     {EACH_FLOAT, 2, {2, 1}, NUMBERS(5, 6)},
                                     {EACH_FLOAT, 0, {0}, NUMBERS(-1)}};

    (void)state;
    ref_check(OP_SELECT, &none, in, 3,
              &(struct ref_operand){EACH_FLOAT, 2, {2, 3}, NUMBERS(5, -1, 5, 6, -1, 6)}, 1);
}

static void reduce_keeps_dims_and_takes_the_first_maximum(void **state)
{
    const struct ref_operand in = {EACH_FLOAT, 3, {2, 2, 2}, NUMBERS(1, 7, 3, 7, -8, 2, 2, -4)};
    const struct ref_operand integers = {DT_I32, 1, {2}, NUMBERS(INT32_MAX, 1)};

    (void)state;
    ref_check(OP_REDUCE, &(union op_attr){.reduce = {REDUCE_SUM, 1u << 1}}, &in, 1,
              &(struct ref_operand){EACH_FLOAT, 3, {2, 1, 2}, NUMBERS(4, 14, -6, -2)}, 1);
    ref_check(OP_REDUCE, &(union op_attr){.reduce = {REDUCE_SUM, 7}}, &in, 1,
              &(struct ref_operand){EACH_FLOAT, 3, {1, 1, 1}, NUMBERS(10)}, 1);
    ref_check(OP_REDUCE, &(union op_attr){.reduce = {REDUCE_MEAN, 5}}, &in, 1,
              &(struct ref_operand){EACH_FLOAT, 3, {1, 2, 1}, NUMBERS(0.5, 2)}, 1);
    ref_check(OP_REDUCE, &(union op_attr){.reduce = {REDUCE_MAX, 6}}, &in, 1,
              &(struct ref_operand){EACH_FLOAT, 3, {2, 1, 1}, NUMBERS(7, 2)}, 1);
    ref_check(OP_REDUCE, &(union op_attr){.reduce = {REDUCE_ARGMAX, 6}}, &in, 1,
              &(struct ref_operand){DT_I32, 3, {2, 1, 1}, NUMBERS(1, 1)}, 1);
    ref_check(OP_REDUCE, &(union op_attr){.reduce = {REDUCE_SUM, 1}}, &integers, 1,
              &(struct ref_operand){DT_I32, 1, {1}, NUMBERS(INT32_MIN)}, 1);
}

static void reduce_lets_nan_win(void **state)
{
    const struct ref_operand in = {EACH_FLOAT, 1, {4}, NUMBERS(1, REF_NAN, 5, REF_NAN)};

    (void)state;
    ref_check(OP_REDUCE, &(union op_attr){.reduce = {REDUCE_MAX, 1}}, &in, 1,
              &(struct ref_operand){EACH_FLOAT, 1, {1}, NUMBERS(REF_NAN)}, 1);
    ref_check(OP_REDUCE, &(union op_attr){.reduce = {REDUCE_ARGMAX, 1}}, &in, 1,
              &(struct ref_operand){DT_I32, 1, {1}, NUMBERS(1)}, 1);
}

/* Row (1, 3, 5, 7): mean 4, variance 5; with eps 4 rstd = 1/3: xhat = (-1, -1/3, 1/3, 1). With g = dy gamma =
 * (3, 0, 0, 3): mean(g) = 3/2, mean(g xhat) = 0, dx = (g - 3/2) / 3. */
static void layer_norm_and_its_gradient_match_a_worked_row(void **state)
{
    const union op_attr attr = {.norm = {4.0}};
    const double third = 1.0 / 3.0;
    const struct ref_operand x = {DT_F64, 2, {1, 4}, NUMBERS(1, 3, 5, 7)};
    const struct ref_operand gamma = {DT_F64, 1, {4}, NUMBERS(3, 3, 6, 1)};
    const struct ref_operand beta = {DT_F64, 1, {4}, NUMBERS(1, 0, 0, 2)};
    const struct ref_operand mean = {DT_F64, 2, {1, 1}, NUMBERS(4)};
    const struct ref_operand rstd = {DT_F64, 2, {1, 1}, &third};
    const struct ref_operand dy = {DT_F64, 2, {1, 4}, NUMBERS(1, 0, 0, 3)};
    const struct ref_operand want[] = {{DT_F64, 2, {1, 4}, NUMBERS(-2, -1, 2, 3)}, mean, rstd};
    const struct ref_operand grads[] = {{DT_F64, 2, {1, 4}, NUMBERS(0.5, -0.5, -0.5, 0.5)},
                                        {DT_F64, 1, {4}, NUMBERS(-1, 0, 0, 3)},
                                        {DT_F64, 1, {4}, NUMBERS(1, 0, 0, 3)}};

    (void)state;
    ref_check_dtype(OP_LAYER_NORM, &attr, (struct ref_operand[]){x, gamma, beta}, 3, want, 3, 1e-14,
                    DT_F64);
    ref_check_dtype(OP_LAYER_NORM_GRAD, &attr, (struct ref_operand[]){dy, x, mean, rstd, gamma}, 5,
                    grads, 3, 1e-14, DT_F64);
}

/* exp(2 (0, ln 2, ln 3 / 2)) = (1, 4, 3), so y = (1, 4, 3) / 8; far from zero the maximum is taken off first. */
static void softmax_and_its_gradient_match_a_worked_row(void **state)
{
    const union op_attr attr = {.softmax = {2.0}};
    const double ln2 = 0.69314718055994531, ln3 = 1.09861228866810969;
    const struct ref_operand x = {
        DT_F64, 2, {2, 3}, NUMBERS(0, ln2, ln3 / 2, 1e3, 1e3 + ln2, 1e3 + ln3 / 2)};
    const double y[] = {.125, .5, .375, .125, .5, .375};
    const struct ref_operand want = {DT_F64, 2, {2, 3}, y};
    const struct ref_operand in[] = {{DT_F64, 2, {2, 3}, NUMBERS(8, 0, 0, 0, 2, 0)},
                                     {DT_F64, 2, {2, 3}, y}};

    (void)state;
    ref_check_dtype(OP_SOFTMAX, &attr, &x, 1, &want, 1, 1e-12, DT_F64); /* 1e3 leaves 1e-13 */
    /* sum(dy y) = 1 and 1: dx = 2 y (dy - 1). */
    ref_check_dtype(
        OP_SOFTMAX_GRAD, &attr, in, 2,
        &(struct ref_operand){DT_F64, 2, {2, 3}, NUMBERS(1.75, -1, -.75, -.25, 1, -.75)}, 1, 1e-14,
        DT_F64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unary_functions_and_slopes_have_known_values),
        cmocka_unit_test(unary_keeps_nan),
        cmocka_unit_test(binary_broadcasts_as_numpy),
        cmocka_unit_test(binary_of_integers_wraps_and_never_traps),
        cmocka_unit_test(max_and_min_keep_nan),
        cmocka_unit_test(select_takes_a_where_the_condition_holds),
        cmocka_unit_test(reduce_keeps_dims_and_takes_the_first_maximum),
        cmocka_unit_test(reduce_lets_nan_win),
        cmocka_unit_test(layer_norm_and_its_gradient_match_a_worked_row),
        cmocka_unit_test(softmax_and_its_gradient_match_a_worked_row),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
