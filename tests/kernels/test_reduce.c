/* tests/kernels/test_reduce.c: sums and means over leading dims. A chunk of at most 4,096 rows is summed in F32, chunks are
 * added in double: |error| <= 4096 u sum|x| (mean: over the count), and half an ulp. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/kernel_case.h"

struct shape {
    int rank;
    int64_t dim[4];
    uint32_t axes;
};

static const struct shape shapes[] = {
    {1, {1}, 1},        {1, {1000}, 1},         {2, {9000, 3}, 1}, {4, {2, 31, 31, 24}, 7},
    {3, {4, 1, 65}, 1}, {4, {5, 7, 1, 130}, 3}, {3, {3, 4, 5}, 7}, {2, {300, 1000}, 1},
    {2, {1, 17}, 1},
};

static void sums_and_means_are_within_the_bound(void **state)
{
    static const enum reduce_fn fns[] = {REDUCE_SUM, REDUCE_MEAN};

    (void)state;
    for (size_t f = 0; f < ARRAY_LEN(fns); f++)
        for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
            struct kernel_case c;
            int64_t rows;
            float *magnitude;
            double *bound;

            case_init(&c, OP_REDUCE);
            c.op.attr.reduce = (struct reduce_attr){fns[f], shapes[i].axes};
            case_add_normal(&c, shapes[i].rank, shapes[i].dim, 0.5f, 1.0f);
            assert_true(case_infer(&c));
            rows = tensor_count(&c.in_tensor[0]) / tensor_count(&c.out_tensor[0]);
            case_run_reference(&c);
            magnitude = case_run_magnitude(&c);
            bound = case_sum_bound(&c, rows < 4096 ? (double)rows : 4096.0, magnitude);
            case_check_kernels(&c, (const double *[OP_OUT_MAX]){bound});
            free(magnitude);
            free(bound);
            case_fini(&c);
        }
}

static void other_reductions_are_refused_with_words(void **state)
{
    static const int64_t dims[2] = {4, 5};
    const struct kernel *kernels[8];
    size_t lacking;
    struct kernel_case c;

    (void)state;
    if (case_kernels_of(OP_REDUCE, kernels, &lacking) == 0)
        skip();
    case_init(&c, OP_REDUCE);
    c.op.attr.reduce = (struct reduce_attr){REDUCE_SUM, 1u << 1};
    case_add_normal(&c, 2, dims, 0.0f, 1.0f);
    assert_true(case_infer(&c));
    assert_false(case_accept(&c, kernels[0]));
    assert_string_equal(c.why, "reduces dims that are not the leading ones");
    c.op.attr.reduce = (struct reduce_attr){REDUCE_MAX, 1u << 0};
    assert_false(case_accept(&c, kernels[0]));
    assert_string_equal(c.why, "no vector max");
    case_fini(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_and_means_are_within_the_bound),
        cmocka_unit_test(other_reductions_are_refused_with_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
