/* tests/kernels/test_sgd.c: sgd against the rule in double. u = 2^-24. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/kernel_case.h"

static const float hyper[3] = {0.1f, 5e-4f, 0.85f}; /* lr, decay, momentum */

static void make_case(struct kernel_case *c, int64_t size, bool nesterov)
{
    case_init(c, OP_SGD);
    c->op.attr.sgd.nesterov = nesterov;
    for (int i = 0; i < 3; i++)
        case_add_normal(c, 1, &size, 0.0f, 1.0f);
    for (int i = 0; i < 3; i++)
        *(float *)case_add(c, DT_F32, 0, NULL) = hyper[i];
}

static double at(const void *data, int64_t i)
{
    return (double)((const float *)data)[i];
}

/* g + wd w and mu m + g are rounded once each, the nesterov step once more, w' once: the roundings of a step count
 * with lr. */
static void steps_are_within_their_roundings(void **state)
{
    static const int64_t sizes[] = {1, 15, 16, 17, 100, 65536 + 3};

    (void)state;
    for (int nesterov = 0; nesterov < 2; nesterov++)
        for (size_t s = 0; s < ARRAY_LEN(sizes); s++) {
            const int64_t size = sizes[s];
            struct kernel_case c;
            double *bounds[2];

            make_case(&c, size, nesterov == 1);
            assert_true(case_infer(&c));
            case_run_reference(&c);
            for (int k = 0; k < 2; k++)
                assert_non_null(bounds[k] = malloc((size_t)size * sizeof(double)));
            for (int64_t i = 0; i < size; i++) {
                const double g = fabs(at(c.in[1], i)) + (double)hyper[1] * fabs(at(c.in[0], i));
                const double m = (double)hyper[2] * fabs(at(c.in[2], i)) + g;

                bounds[1][i] = UNIT_ROUNDOFF * (g + 2.0 * m);
                bounds[0][i] = UNIT_ROUNDOFF *
                               ((double)hyper[0] * 5.0 * (g + m) + 2.0 * fabs(at(c.want[0], i)));
            }
            case_check_kernels(&c, (const double *[OP_OUT_MAX]){bounds[0], bounds[1]});
            free(bounds[0]);
            free(bounds[1]);
            case_fini(&c);
        }
}

/* w 1, g 0.5, m 2: g' = 0.5005, m' = 2.2005; plain w' = 0.77995. */
static void reference_takes_the_step_worked_by_hand(void **state)
{
    struct kernel_case c;

    (void)state;
    make_case(&c, 1, false);
    *(float *)(void *)c.in[0] = 1.0f;
    *(float *)(void *)c.in[1] = 0.5f;
    *(float *)(void *)c.in[2] = 2.0f;
    assert_true(case_infer(&c));
    case_run_reference(&c);
    assert_true(fabs(at(c.want[1], 0) - 2.2005) < 1e-6);
    assert_true(fabs(at(c.want[0], 0) - 0.77995) < 1e-6);
    c.op.attr.sgd.nesterov = true;
    case_run_reference(&c); /* w' = 1 - 0.1 (0.5005 + 0.85 * 2.2005) */
    assert_true(fabs(at(c.want[0], 0) - 0.7629075) < 1e-6);
    case_fini(&c);
}

/* The plan lets w' be w and m' be m. */
static void in_place_gives_the_same_bits(void **state)
{
    const struct kernel *kernels[8];
    size_t lacking;
    const size_t count = case_kernels_of(OP_SGD, kernels, &lacking);

    (void)state;
    if (count == 0)
        skip();
    for (size_t k = 0; k < count; k++) {
        struct kernel_case c;
        unsigned char *in_place[OP_OUT_MAX];

        make_case(&c, 1000, true);
        assert_true(case_infer(&c));
        assert_true(case_accept(&c, kernels[k]));
        assert_int_equal(c.fit.inplace_mask, 5);
        assert_true(case_run_into(&c, kernels[k], c.out, false));
        in_place[0] = c.in[0];
        in_place[1] = c.in[2];
        assert_true(case_run_into(&c, kernels[k], in_place, false));
        assert_memory_equal(c.in[0], c.out[0], 4000);
        assert_memory_equal(c.in[2], c.out[1], 4000);
        case_fini(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reference_takes_the_step_worked_by_hand),
        cmocka_unit_test(steps_are_within_their_roundings),
        cmocka_unit_test(in_place_gives_the_same_bits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
