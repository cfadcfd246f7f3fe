/* tests/kernels/test_matmul.c: vector matmul against the reference: K products a sum, bound K u sum|ab| + half an ulp. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/kernel_case.h"

struct shapes {
    int64_t batches, b_batches, m, k, n;
};

/* 0 batches: rank 2. */
static const struct shapes shapes[] = {
    {0, 0, 1, 1, 1},     {0, 0, 3, 5, 7},   {0, 0, 100, 256, 10}, {0, 0, 49, 193, 33},
    {0, 0, 13, 400, 64}, {3, 0, 5, 17, 20}, {3, 3, 13, 8, 40},    {2, 1, 4, 6, 5},
};

static void make_case(struct kernel_case *c, const struct shapes *s, bool ta, bool tb)
{
    const int64_t a[3] = {s->batches, ta ? s->k : s->m, ta ? s->m : s->k};
    const int64_t b[3] = {s->b_batches, tb ? s->n : s->k, tb ? s->k : s->n};

    case_init(c, OP_MATMUL);
    c->op.attr.matmul = (struct matmul_attr){ta, tb};
    case_add_normal(c, s->batches > 0 ? 3 : 2, s->batches > 0 ? a : a + 1, 0.0f, 1.0f);
    case_add_normal(c, s->b_batches > 0 ? 3 : 2, s->b_batches > 0 ? b : b + 1, 0.0f, 1.0f);
}

static void products_are_within_the_bound_in_all_transpositions(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(shapes); i++)
        for (int t = 0; t < 4; t++) {
            struct kernel_case c;
            float *magnitude;
            double *bound;

            make_case(&c, &shapes[i], (t & 1) != 0, (t & 2) != 0);
            if (!case_infer(&c)) { /* batches of 1 in b: the shape rule decides */
                case_fini(&c);
                continue;
            }
            case_run_reference(&c);
            magnitude = case_run_magnitude(&c);
            bound = case_sum_bound(&c, (double)shapes[i].k, magnitude);
            case_check_kernels(&c, (const double *[OP_OUT_MAX]){bound});
            free(magnitude);
            free(bound);
            case_fini(&c);
        }
}

/* [1 2; 3 4] [5 6; 7 8] = [19 22; 43 50]; a transposed: [1 3; 2 4]: [26 30; 38 44]. */
static void reference_gives_the_products_worked_by_hand(void **state)
{
    static const int64_t two[2] = {2, 2};
    static const float want[2][4] = {{19, 22, 43, 50}, {26, 30, 38, 44}};

    (void)state;
    for (int t = 0; t < 2; t++) {
        struct kernel_case c;

        case_init(&c, OP_MATMUL);
        c.op.attr.matmul.transpose_a = t == 1;
        memcpy(case_add(&c, DT_F32, 2, two), (float[]){1, 2, 3, 4}, 4 * sizeof(float));
        memcpy(case_add(&c, DT_F32, 2, two), (float[]){5, 6, 7, 8}, 4 * sizeof(float));
        assert_true(case_infer(&c));
        case_run_reference(&c);
        assert_memory_equal(c.want[0], want[t], sizeof want[t]);
        case_fini(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reference_gives_the_products_worked_by_hand),
        cmocka_unit_test(products_are_within_the_bound_in_all_transpositions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
