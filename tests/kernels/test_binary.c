/* tests/kernels/test_binary.c: vector add, sub, mul, div under every broadcast that they take: each is one operation,
 * rounded once as the reference is: equal bits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/kernel_case.h"

struct shapes {
    int a_rank, b_rank;
    int64_t a[3], b[3];
};

static const struct shapes taken[] = {
    {1, 1, {1}, {1}},
    {1, 1, {17}, {17}},
    {3, 3, {3, 5, 24}, {3, 5, 24}},
    {3, 1, {3, 5, 24}, {24}}, /* a row that repeats */
    {3, 2, {3, 5, 24}, {5, 24}},
    {3, 3, {3, 5, 24}, {1, 1, 24}},
    {3, 3, {3, 5, 10}, {3, 5, 1}}, /* a column */
    {3, 3, {3, 5, 10}, {3, 1, 1}},
    {2, 0, {7, 9}, {0}}, /* a number */
    {0, 2, {0}, {7, 9}},
    {1, 3, {33}, {2, 2, 33}},
    {2, 2, {3, 1}, {1, 4}}, /* a column and a row */
    {2, 2, {5, 1}, {5, 40}},
    {2, 2, {3, 40000}, {3, 40000}}, /* more than one item, a shorter last one */
    {2, 1, {70000, 3}, {3}},
};

static void make_case(struct kernel_case *c, enum binary_fn fn, const struct shapes *s, bool bf16)
{
    case_init(c, OP_BINARY);
    c->op.attr.binary.fn = fn;
    case_add_normal(c, s->a_rank, s->a, 0.0f, 1.0f);
    case_add_normal(c, s->b_rank, s->b, 3.0f, 0.5f); /* no division by 0 */
    for (int i = 0; i < 2 && bf16; i++)
        case_make_bf16(c, i);
    assert_true(case_infer(c));
}

/* In BF16, too: F32 has more than twice its digits and two, so that rounding to F32 first changes nothing. */
static void check_broadcasts_give_the_references_bits(bool bf16)
{
    for (int fn = BINARY_ADD; fn <= BINARY_DIV; fn++)
        for (size_t i = 0; i < ARRAY_LEN(taken); i++) {
            struct kernel_case c;

            make_case(&c, (enum binary_fn)fn, &taken[i], bf16);
            case_run_reference(&c);
            case_check_kernels(&c, (const double *[OP_OUT_MAX]){NULL});
            case_fini(&c);
        }
}

static void broadcasts_give_the_references_bits(void **state)
{
    (void)state;
    check_broadcasts_give_the_references_bits(false);
    check_broadcasts_give_the_references_bits(true);
}

static void other_broadcasts_are_refused_with_words(void **state)
{
    static const struct shapes refused[] = {
        {3, 3, {3, 5, 4}, {1, 5, 1}}, /* the middle alone */
        {3, 3, {3, 5, 4}, {3, 1, 4}},
    };
    const struct kernel *kernels[8];
    size_t lacking;

    (void)state;
    if (case_kernels_of(OP_BINARY, kernels, &lacking) == 0)
        skip();
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        struct kernel_case c;

        make_case(&c, BINARY_ADD, &refused[i], false);
        assert_false(case_accept(&c, kernels[0]));
        assert_true(c.why[0] != '\0');
        case_fini(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(broadcasts_give_the_references_bits),
        cmocka_unit_test(other_broadcasts_are_refused_with_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
