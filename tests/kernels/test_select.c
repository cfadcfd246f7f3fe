/* tests/kernels/test_select.c: the choice among the rows of the CPU table, and the words for instruction sets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/kernel_case.h"

static void make_unary(struct kernel_case *c, enum unary_fn fn)
{
    static const int64_t size = 10;

    case_init(c, OP_UNARY);
    c->op.attr.unary.fn = fn;
    case_add_normal(c, 1, &size, 1.0f, 0.1f);
    assert_true(case_infer(c));
}

static const struct kernel *choose(struct kernel_case *c, uint32_t isa)
{
    struct kernel_query query = {.op = &c->op, .threads = 1};

    query.in[0] = &c->in_tensor[0];
    query.out[0] = &c->out_tensor[0];
    return cpu_select_kernel(&query, isa, &c->fit, c->why);
}

static void the_best_allowed_row_is_taken(void **state)
{
    struct kernel_case c;

    (void)state;
    make_unary(&c, UNARY_GELU_ERF);
    assert_string_equal(choose(&c, ISA_AVX512 | ISA_AVX2)->name, "unary_f32_avx512");
    assert_string_equal(c.why, "");
    assert_int_equal(c.fit.inplace_mask, 1);
    assert_string_equal(choose(&c, ISA_AVX2)->name, "unary_f32_avx2");
    assert_string_equal(c.why, "unary_f32_avx512: no avx512");
    assert_ptr_equal(choose(&c, 0), kernel_reference(OP_UNARY));
    assert_int_equal(c.fit.inplace_mask, 0); /* a refused row leaves nothing behind */
    case_fini(&c);
}

static void a_refusal_keeps_its_reason(void **state)
{
    struct kernel_case c;

    (void)state;
    make_unary(&c, UNARY_LOG);
    assert_true(choose(&c, ISA_AVX512 | ISA_AVX2)->reference);
    assert_string_equal(c.why, "unary_f32_avx512: no vector log; unary_f32_avx2: no vector log");
    case_fini(&c);
}

static void every_row_has_a_reference_and_a_name_of_its_own(void **state)
{
    size_t count;
    const struct kernel *const *table = cpu_kernel_table(&count);

    (void)state;
    assert_true(count > 0);
    for (size_t i = 0; i < count; i++) {
        assert_non_null(kernel_reference(table[i]->anchor));
        assert_false(table[i]->reference);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(table[i]->name, table[j]->name);
    }
}

static void words_for_instruction_sets_are_read_strictly(void **state)
{
    struct error err = {0};
    const uint32_t host = cpu_isa_detect();
    uint32_t mask = 99;

    (void)state;
    assert_int_equal(cpu_isa_parse("auto", &mask, &err), ST_OK);
    assert_int_equal(mask, host);
    assert_int_equal(cpu_isa_parse("scalar", &mask, &err), ST_OK);
    assert_int_equal(mask, 0);
    assert_int_equal(cpu_isa_parse("sse9", &mask, &err), ST_USAGE);
    assert_string_equal(cpu_isa_name(ISA_AVX512 | ISA_AVX2), "avx512");
    assert_string_equal(cpu_isa_name(ISA_AVX2), "avx2");
    assert_string_equal(cpu_isa_name(0), "scalar");
}

/* Each allows what is below it; what the host lacks is refused in one sentence that names it and what is there. */
static void a_set_that_the_host_lacks_is_refused(void **state)
{
    static const struct {
        const char *word;
        uint32_t mask; /* its own bit is the highest */
    } sets[] = {
        {"avx2", ISA_AVX2},
        {"avx512", ISA_AVX512 | ISA_AVX2},
        {"avx512-bf16", ISA_AVX512_BF16 | ISA_AVX512 | ISA_AVX2},
        {"amx", ISA_AMX_BF16 | ISA_AVX512_BF16 | ISA_AVX512 | ISA_AVX2},
    };
    const uint32_t host = cpu_isa_detect();

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(sets); i++) {
        const uint32_t own = sets[i].mask & ~(i == 0 ? 0 : sets[i - 1].mask);
        struct error err = {0};
        uint32_t mask = 99;

        assert_int_not_equal(own, 0);
        if ((host & own) != 0) {
            assert_int_equal(cpu_isa_parse(sets[i].word, &mask, &err), ST_OK);
            assert_int_equal(mask, sets[i].mask & host);
            continue;
        }
        assert_int_equal(cpu_isa_parse(sets[i].word, &mask, &err), ST_UNSUPPORTED);
        assert_int_equal(mask, 99);
        assert_string_equal(err.field, "isa");
        assert_non_null(strstr(err.detail, sets[i].word));
        assert_non_null(strstr(err.detail, cpu_isa_name(host)));
        assert_null(strchr(err.detail, '\n'));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_allowed_row_is_taken),
        cmocka_unit_test(a_refusal_keeps_its_reason),
        cmocka_unit_test(every_row_has_a_reference_and_a_name_of_its_own),
        cmocka_unit_test(words_for_instruction_sets_are_read_strictly),
        cmocka_unit_test(a_set_that_the_host_lacks_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
