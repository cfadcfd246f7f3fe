/* tests/support/ref_case.h: a reference kernel against a case worked by hand. Operands and results are written as
 * numbers; DT_COUNT as a dtype stands for each float type in turn. Include it after cmocka. */
#ifndef DAYBREAK_TESTS_SUPPORT_REF_CASE_H
#define DAYBREAK_TESTS_SUPPORT_REF_CASE_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agent/kernels/ref/ref.h"

#define EACH_FLOAT DT_COUNT
#define REF_NAN    ((double)NAN) /* clang warns of the float that these are */
#define REF_INF    ((double)INFINITY)

struct ref_operand {
    enum dtype dtype;
    int rank;
    int64_t dim[TENSOR_RANK_MAX];
    const double *data;
};
#define NUMBERS(...) ((const double[]){__VA_ARGS__})

/* Runs the reference on operands of dtype `each` where they say EACH_FLOAT, and compares dtype, dims and every number:
 * |got - want| <= tolerance (NaN equals NaN). Results start as 0xff bytes. */
static inline void ref_check_dtype(enum op_kind kind, const union op_attr *attr,
                                   const struct ref_operand *in, int in_count,
                                   const struct ref_operand *want, int out_count, double tolerance,
                                   enum dtype each)
{
    struct op op = {.kind = kind, .in_count = (uint32_t)in_count, .out_count = (uint32_t)out_count};
    struct kernel_args args = {.op = &op, .in_count = in_count, .out_count = out_count};
    struct tensor in_tensor[OP_IN_MAX], out_tensor[OP_OUT_MAX];
    void *memory[OP_IN_MAX] = {0};
    struct error err = {0};
    struct fit fit = {0};
    char why[KERNEL_WHY_BYTES] = "";
    const struct kernel *kernel = kernel_reference(kind);

    memcpy(&op.attr, attr, sizeof op.attr);
    args.fit = &fit;
    for (int i = 0; i < in_count; i++) {
        in_tensor[i] =
            tensor_make(in[i].dtype == EACH_FLOAT ? each : in[i].dtype, in[i].rank, in[i].dim);
        memory[i] = malloc((size_t)tensor_bytes(&in_tensor[i]));
        for (int64_t e = 0; e < tensor_count(&in_tensor[i]); e++)
            ref_set(&in_tensor[i], memory[i], e, in[i].data[e]);
        args.in[i] = memory[i];
        args.in_tensor[i] = &in_tensor[i];
    }
    if (op_shape(&op, args.in_tensor, out_tensor, &err) != ST_OK)
        fail_msg("%s", err.detail);
    for (int i = 0; i < out_count; i++) {
        args.out[i] = malloc((size_t)tensor_bytes(&out_tensor[i]));
        memset(args.out[i], 0xff, (size_t)tensor_bytes(&out_tensor[i]));
        args.out_tensor[i] = &out_tensor[i];
    }
    assert_non_null(kernel);
    assert_true(kernel->accept(&(struct kernel_query){.op = &op, .threads = 1}, &fit, why));
    kernel->work(&args, 0, 0);
    for (int i = 0; i < out_count; i++) {
        const struct tensor shape = tensor_make(want[i].dtype == EACH_FLOAT ? each : want[i].dtype,
                                                want[i].rank, want[i].dim);

        assert_int_equal(out_tensor[i].dtype, shape.dtype);
        assert_true(tensor_same_shape(&out_tensor[i], &shape));
        for (int64_t e = 0; e < tensor_count(&shape); e++) {
            const double got = ref_get(&shape, args.out[i], e), wanted = want[i].data[e];

            if (!(fabs(got - wanted) <= tolerance) && !(isnan(got) && isnan(wanted)) &&
                !(isinf(got) && got == wanted))
                fail_msg("%s %s result %d[%lld]: got %.9g, want %.9g", op_info(kind)->name,
                         dtype_name(each), i, (long long)e, got, wanted);
        }
        free(args.out[i]);
    }
    for (int i = 0; i < in_count; i++)
        free(memory[i]);
}

/* Numbers and results that every float type holds exactly. */
static inline void ref_check(enum op_kind kind, const union op_attr *attr,
                             const struct ref_operand *in, int in_count,
                             const struct ref_operand *want, int out_count)
{
    static const enum dtype floats[] = {DT_F32, DT_BF16, DT_F64};

    for (size_t i = 0; i < sizeof floats / sizeof floats[0]; i++)
        ref_check_dtype(kind, attr, in, in_count, want, out_count, 0.0, floats[i]);
}

#endif
