/* tests/kernels/test_convert.c: conversion between F32 and BF16 gives the reference's bits: to nearest, ties to even,
 * a NaN stays one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/kernel_case.h"

static const int64_t sizes[] = {1, 7, 15, 16, 17, 33, 1000, 65536 + 5};

static void check(int64_t size, enum dtype from)
{
    struct kernel_case c;
    float *x;

    case_init(&c, OP_CONVERT);
    c.op.attr.convert.dtype = from == DT_F32 ? DT_BF16 : DT_F32;
    x = case_add_normal(&c, 1, &size, 0.0f, 1e3f);
    for (int64_t i = 0; i < size; i++) /* ties: 257 and 259 lie between numbers of bf16 */
        if (i % 5 == 4)
            x[i] = i % 3 == 0 ? 257.0f : i % 3 == 1 ? 259.0f : -INFINITY;
    if (from == DT_BF16)
        case_make_bf16(&c, 0);
    assert_true(case_infer(&c));
    case_run_reference(&c);
    case_check_kernels(&c, (const double *[OP_OUT_MAX]){NULL});
    case_fini(&c);
}

static void numbers_convert_as_the_reference_does(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        check(sizes[i], DT_F32);
        check(sizes[i], DT_BF16);
    }
}

static void other_types_are_refused(void **state)
{
    const int64_t size = 3;
    const struct kernel *kernels[8];
    size_t lacking;
    struct kernel_case c;

    (void)state;
    if (case_kernels_for(OP_CONVERT, true, kernels, &lacking) == 0)
        skip();
    case_init(&c, OP_CONVERT);
    c.op.attr.convert.dtype = DT_I32;
    case_add_normal(&c, 1, &size, 0.0f, 1.0f);
    assert_true(case_infer(&c));
    assert_false(case_accept(&c, kernels[0]));
    assert_string_equal(c.why, "f32 to i32");
    case_fini(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_convert_as_the_reference_does),
        cmocka_unit_test(other_types_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
