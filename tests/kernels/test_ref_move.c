/* References that make or move elements, against cases worked by hand, in every float type. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the four above. */
#include <cmocka.h>

#include "tests/support/ref_case.h"

static const double count_to_12[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};

static void fill_and_iota_write_every_element(void **state)
{
    union op_attr attr = {.fill = {.value = -2.5, .rank = 1, .dim = {3}, .dtype = DT_BF16}};

    (void)state;
    ref_check(OP_FILL, &attr, NULL, 0,
              &(struct ref_operand){DT_BF16, 1, {3}, NUMBERS(-2.5, -2.5, -2.5)}, 1);
    attr = (union op_attr){.iota = {.dtype = DT_I32, .axis = 0, .rank = 2, .dim = {2, 3}}};
    ref_check(OP_IOTA, &attr, NULL, 0,
              &(struct ref_operand){DT_I32, 2, {2, 3}, NUMBERS(0, 0, 0, 1, 1, 1)}, 1);
    attr = (union op_attr){.iota = {.dtype = DT_F32, .axis = 1, .rank = 2, .dim = {2, 3}}};
    ref_check(OP_IOTA, &attr, NULL, 0,
              &(struct ref_operand){DT_F32, 2, {2, 3}, NUMBERS(0, 1, 2, 0, 1, 2)}, 1);
}

static void row_read_and_row_write_clamp_the_row(void **state)
{
    static const struct {
        double i;
        double row[2], table[6];
    } cases[] = {
        {1, {2, 3}, {0, 1, 8, 9, 4, 5}},
        {-7, {0, 1}, {8, 9, 2, 3, 4, 5}},
        {3, {4, 5}, {0, 1, 2, 3, 8, 9}},
    };
    const union op_attr none = {0};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct ref_operand in[] = {{EACH_FLOAT, 2, {3, 2}, count_to_12},
                                         {DT_I32, 0, {0}, &cases[i].i},
                                         {EACH_FLOAT, 1, {2}, NUMBERS(8, 9)}};

        ref_check(OP_ROW_READ, &none, in, 2,
                  &(struct ref_operand){EACH_FLOAT, 1, {2}, cases[i].row}, 1);
        ref_check(OP_ROW_WRITE, &none, in, 3,
                  &(struct ref_operand){EACH_FLOAT, 2, {3, 2}, cases[i].table}, 1);
    }
}

static void convert_rounds_as_the_contract_says(void **state)
{
    /* bf16 keeps 8 bits: 257 lies between 256 and 258, 259 between 258 and 260: ties go to the even mantissa. */
    static const double from[] = {257, 259, 258.5, -257, 3e38, REF_INF, REF_NAN, -0.5};
    static const double to_bf16[] = {256, 260, 258, -256, 0x1.c4p127, REF_INF, REF_NAN, -0.5};
    static const double to_i32[] = {257, 259, 258, -257, 2147483647, 2147483647, 0, 0};
    union op_attr attr = {.convert = {.dtype = DT_BF16}};
    const struct ref_operand in = {DT_F32, 1, {8}, from};

    (void)state;
    ref_check(OP_CONVERT, &attr, &in, 1, &(struct ref_operand){DT_BF16, 1, {8}, to_bf16}, 1);
    attr.convert.dtype = DT_I32;
    ref_check(OP_CONVERT, &attr, &in, 1, &(struct ref_operand){DT_I32, 1, {8}, to_i32}, 1);
    attr.convert.dtype = DT_F64;
    ref_check(OP_CONVERT, &attr, &(struct ref_operand){DT_U8, 1, {2}, NUMBERS(0, 255)}, 1,
              &(struct ref_operand){DT_F64, 1, {2}, NUMBERS(0, 255)}, 1);
}

static void bf16_survives_every_bit_pattern(void **state)
{
    (void)state;
    for (uint32_t half = 0; half < 65536; half++) {
        const float number = ref_bf16_to_float((uint16_t)half);
        const uint16_t back = ref_float_to_bf16(number);

        if (isnan(number))
            assert_true(isnan(ref_bf16_to_float(back)));
        else
            assert_int_equal(back, half);
    }
    assert_int_equal(ref_float_to_bf16(0x1.ffp127f), 0x7f80); /* above the largest: infinity */
}

static void reshape_and_transpose_reorder_nothing_and_everything(void **state)
{
    union op_attr attr = {.shape = {.rank = 1, .dim = {6}}};
    const struct ref_operand in = {EACH_FLOAT, 2, {2, 3}, count_to_12};

    (void)state;
    ref_check(OP_RESHAPE, &attr, &in, 1, &(struct ref_operand){EACH_FLOAT, 1, {6}, count_to_12}, 1);
    attr = (union op_attr){.perm = {.axis = {1, 0}}};
    ref_check(OP_TRANSPOSE, &attr, &in, 1,
              &(struct ref_operand){EACH_FLOAT, 2, {3, 2}, NUMBERS(0, 3, 1, 4, 2, 5)}, 1);
    attr = (union op_attr){.perm = {.axis = {2, 0, 1}}}; /* out[c][a][b] = in[a][b][c] */
    ref_check(OP_TRANSPOSE, &attr, &(struct ref_operand){EACH_FLOAT, 3, {2, 3, 2}, count_to_12}, 1,
              &(struct ref_operand){
                  EACH_FLOAT, 3, {2, 2, 3}, NUMBERS(0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11)},
              1);
}

static void slice_takes_steps(void **state)
{
    const union op_attr attr = {.slice = {.start = {1, 0}, .stop = {3, 4}, .step = {1, 3}}};

    (void)state;
    ref_check(OP_SLICE, &attr, &(struct ref_operand){EACH_FLOAT, 2, {3, 4}, count_to_12}, 1,
              &(struct ref_operand){EACH_FLOAT, 2, {2, 2}, NUMBERS(4, 7, 8, 11)}, 1);
}

static void pad_fills_with_zeros_or_reflects_without_the_edge(void **state)
{
    union op_attr attr = {.pad = {.fill = PAD_ZERO, .lo = {1, 0}, .hi = {0, 2}}};
    const struct ref_operand in = {EACH_FLOAT, 2, {2, 3}, NUMBERS(1, 2, 3, 4, 5, 6)};

    (void)state;
    ref_check(OP_PAD, &attr, &in, 1,
              &(struct ref_operand){
                  EACH_FLOAT, 2, {3, 5}, NUMBERS(0, 0, 0, 0, 0, 1, 2, 3, 0, 0, 4, 5, 6, 0, 0)},
              1);
    attr = (union op_attr){.pad = {.fill = PAD_REFLECT, .lo = {0, 2}, .hi = {1, 1}}};
    ref_check(
        OP_PAD, &attr, &in, 1,
        &(struct ref_operand){
            EACH_FLOAT, 2, {3, 6}, NUMBERS(3, 2, 1, 2, 3, 2, 6, 5, 4, 5, 6, 5, 3, 2, 1, 2, 3, 2)},
        1);
}

static void concat_joins_along_its_axis(void **state)
{
    const union op_attr attr = {.axis = {1}};
    const struct ref_operand in[] = {{EACH_FLOAT, 2, {2, 2}, NUMBERS(1, 2, 3, 4)},
                                     {EACH_FLOAT, 2, {2, 1}, NUMBERS(5, 6)},
                                     {EACH_FLOAT, 2, {2, 1}, NUMBERS(7, 8)}};

    (void)state;
    ref_check(OP_CONCAT, &attr, in, 3,
              &(struct ref_operand){EACH_FLOAT, 2, {2, 4}, NUMBERS(1, 2, 5, 7, 3, 4, 6, 8)}, 1);
}

static void gather_clamps_and_scatter_sums_equal_rows(void **state)
{
    union op_attr attr = {0};
    const double idx[] = {2, -1, 2, 9};
    const struct ref_operand gather[] = {{EACH_FLOAT, 2, {3, 2}, count_to_12},
                                         {DT_I32, 2, {2, 2}, idx}};
    const struct ref_operand scatter[] = {
        {DT_I32, 1, {4}, idx}, {EACH_FLOAT, 2, {4, 2}, NUMBERS(1, 10, 2, 20, 3, 30, 4, 40)}};

    (void)state;
    ref_check(OP_GATHER_ROWS, &attr, gather, 2,
              &(struct ref_operand){EACH_FLOAT, 3, {2, 2, 2}, NUMBERS(4, 5, 0, 1, 4, 5, 4, 5)}, 1);
    attr.rows.rows = 3;
    ref_check(OP_SCATTER_ROWS, &attr, scatter, 2,
              &(struct ref_operand){EACH_FLOAT, 2, {3, 2}, NUMBERS(2, 20, 0, 0, 8, 80)}, 1);
}

static void every_plain_op_has_a_reference(void **state)
{
    (void)state;
    for (int kind = 0; kind < OP_KIND_COUNT; kind++) {
        const bool runs_itself = kind == OP_INPUT || kind == OP_VAR || kind == OP_ASSIGN ||
                                 kind == OP_OUTPUT || op_info((enum op_kind)kind)->composite;
        const struct kernel *kernel = kernel_reference((enum op_kind)kind);

        assert_int_equal(kernel == NULL, runs_itself);
        if (kernel != NULL) {
            assert_int_equal(kernel->anchor, kind);
            assert_true(kernel->reference);
            assert_int_equal(kernel->isa, 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fill_and_iota_write_every_element),
        cmocka_unit_test(row_read_and_row_write_clamp_the_row),
        cmocka_unit_test(convert_rounds_as_the_contract_says),
        cmocka_unit_test(bf16_survives_every_bit_pattern),
        cmocka_unit_test(reshape_and_transpose_reorder_nothing_and_everything),
        cmocka_unit_test(slice_takes_steps),
        cmocka_unit_test(pad_fills_with_zeros_or_reflects_without_the_edge),
        cmocka_unit_test(concat_joins_along_its_axis),
        cmocka_unit_test(gather_clamps_and_scatter_sums_equal_rows),
        cmocka_unit_test(every_plain_op_has_a_reference),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
