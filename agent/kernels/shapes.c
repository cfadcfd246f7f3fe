/* agent/kernels/shapes.c: shape rules of sources, data movement and arithmetic; see ops.h for the maths. */
#include <stdarg.h>
#include <stdio.h>

#include "agent/kernels/shapes_internal.h"

static enum status result_like(const struct tensor *t, struct tensor *result);
static enum status broadcast(const struct op *op, const struct tensor *const *in, uint32_t first,
                             int *rank, int64_t dim[TENSOR_RANK_MAX], struct error *err);

enum status shape_refuse(const struct op *op, const struct tensor *const *in, int operand,
                         struct error *err, const char *format, ...)
{
    char words[224], tensor[TENSOR_TEXT_BYTES];
    const char *name = op_info(op->kind)->name;
    va_list args;

    va_start(args, format);
    (void)vsnprintf(words, sizeof words, format, args);
    va_end(args);
    if (operand < 0)
        return error_set(err, ST_INVALID, NULL, "%s: %s", name, words);
    return error_set(err, ST_INVALID, NULL, "%s operand %d %s: %s", name, operand,
                     tensor_format(in[operand], tensor), words);
}

enum status shape_result(const struct op *op, enum dtype dtype, int rank, const int64_t *dim,
                         struct tensor *result, struct error *err)
{
    int64_t count = 1;

    if ((unsigned)dtype >= DT_COUNT)
        return shape_refuse(op, NULL, -1, err, "the result has no dtype");
    if (rank < 0 || rank > TENSOR_RANK_MAX)
        return shape_refuse(op, NULL, -1, err, "the result would have rank %d, above %d", rank,
                            TENSOR_RANK_MAX);
    for (int d = 0; d < rank; d++) {
        if (dim[d] < 1)
            return shape_refuse(op, NULL, -1, err, "dim %d of the result would be %lld", d,
                                (long long)dim[d]);
        if (__builtin_mul_overflow(count, dim[d], &count) || count > TENSOR_COUNT_MAX)
            return shape_refuse(op, NULL, -1, err, "the result would have more than 2^40 elements");
    }
    *result = tensor_make(dtype, rank, dim);
    return ST_OK;
}

enum status shape_need_float(const struct op *op, const struct tensor *const *in, int at,
                             struct error *err)
{
    if (!dtype_is_float(in[at]->dtype))
        return shape_refuse(op, in, at, err, "a float type is needed");
    return ST_OK;
}

enum status shape_need_dtype(const struct op *op, const struct tensor *const *in, int at,
                             enum dtype dtype, struct error *err)
{
    if (in[at]->dtype != dtype)
        return shape_refuse(op, in, at, err, "%s is needed", dtype_name(dtype));
    return ST_OK;
}

enum status shape_need_rank(const struct op *op, const struct tensor *const *in, int at, int rank,
                            struct error *err)
{
    if (in[at]->rank != rank)
        return shape_refuse(op, in, at, err, "rank %d is needed", rank);
    return ST_OK;
}

enum status shape_need_dims(const struct op *op, const struct tensor *const *in, int at, int rank,
                            const int64_t *dim, struct error *err)
{
    bool same = in[at]->rank == rank;
    char want[TENSOR_TEXT_BYTES];

    for (int d = 0; same && d < rank; d++)
        same = in[at]->dim[d] == dim[d];
    if (same)
        return ST_OK;
    const struct tensor wanted = tensor_make(in[at]->dtype, rank, dim);
    return shape_refuse(op, in, at, err, "%s is needed", tensor_format(&wanted, want));
}

enum status shape_need(const struct op *op, const struct tensor *const *in, int at,
                       enum dtype dtype, int rank, const int64_t *dim, struct error *err)
{
    const enum status status = shape_need_dtype(op, in, at, dtype, err);

    return status != ST_OK ? status : shape_need_dims(op, in, at, rank, dim, err);
}

enum status shape_need_like(const struct op *op, const struct tensor *const *in, int at, int like,
                            struct error *err)
{
    return shape_need(op, in, at, in[like]->dtype, in[like]->rank, in[like]->dim, err);
}

static enum status result_like(const struct tensor *t, struct tensor *result)
{
    *result = tensor_make(t->dtype, t->rank, t->dim);
    return ST_OK;
}

/* NumPy's rule over operands first..in_count: aligned at the last dim, equal or 1. */
static enum status broadcast(const struct op *op, const struct tensor *const *in, uint32_t first,
                             int *rank, int64_t dim[TENSOR_RANK_MAX], struct error *err)
{
    *rank = 0;
    for (uint32_t i = first; i < op->in_count; i++)
        if (in[i]->rank > *rank)
            *rank = in[i]->rank;
    for (int d = 0; d < *rank; d++)
        dim[d] = 1;
    for (uint32_t i = first; i < op->in_count; i++)
        for (int d = 0; d < in[i]->rank; d++) {
            int64_t *at = &dim[*rank - in[i]->rank + d];

            if (in[i]->dim[d] == 1 || in[i]->dim[d] == *at)
                continue;
            if (*at != 1)
                return shape_refuse(op, in, (int)i, err, "dim %d does not broadcast with %lld", d,
                                    (long long)*at);
            *at = in[i]->dim[d];
        }
    return ST_OK;
}

enum status shape_OP_INPUT(const struct op *op, const struct tensor *const *in,
                           struct tensor *result, struct error *err)
{
    const struct source_attr *a = &op->attr.source;

    (void)in;
    return shape_result(op, a->dtype, a->rank, a->dim, result, err);
}

enum status shape_OP_VAR(const struct op *op, const struct tensor *const *in, struct tensor *result,
                         struct error *err)
{
    return shape_OP_INPUT(op, in, result, err);
}

enum status shape_OP_ASSIGN(const struct op *op, const struct tensor *const *in,
                            struct tensor *result, struct error *err)
{
    const struct source_attr *a = &op->attr.source;

    (void)result;
    return shape_need(op, in, 0, a->dtype, a->rank, a->dim, err);
}

enum status shape_OP_OUTPUT(const struct op *op, const struct tensor *const *in,
                            struct tensor *result, struct error *err)
{
    (void)op;
    (void)in;
    (void)result;
    (void)err;
    return ST_OK;
}

enum status shape_OP_FILL(const struct op *op, const struct tensor *const *in,
                          struct tensor *result, struct error *err)
{
    const struct fill_attr *a = &op->attr.fill;

    (void)in;
    return shape_result(op, a->dtype, a->rank, a->dim, result, err);
}

enum status shape_OP_IOTA(const struct op *op, const struct tensor *const *in,
                          struct tensor *result, struct error *err)
{
    const struct iota_attr *a = &op->attr.iota;

    if (a->dtype != DT_I32 && a->dtype != DT_F32)
        return shape_refuse(op, in, -1, err, "only i32 and f32 count");
    if (a->axis < 0 || a->axis >= a->rank)
        return shape_refuse(op, in, -1, err, "axis %d of rank %d", a->axis, a->rank);
    return shape_result(op, a->dtype, a->rank, a->dim, result, err);
}

enum status shape_OP_ROW_READ(const struct op *op, const struct tensor *const *in,
                              struct tensor *result, struct error *err)
{
    enum status status = shape_need(op, in, 1, DT_I32, 0, NULL, err);

    if (status != ST_OK)
        return status;
    if (in[0]->rank < 1)
        return shape_refuse(op, in, 0, err, "a table has rank 1 or more");
    return shape_result(op, in[0]->dtype, in[0]->rank - 1, in[0]->dim + 1, result, err);
}

enum status shape_OP_ROW_WRITE(const struct op *op, const struct tensor *const *in,
                               struct tensor *result, struct error *err)
{
    enum status status = shape_OP_ROW_READ(op, in, result, err);

    if (status == ST_OK)
        status = shape_need(op, in, 2, in[0]->dtype, in[0]->rank - 1, in[0]->dim + 1, err);
    return status != ST_OK ? status : result_like(in[0], result);
}

enum status shape_OP_CONVERT(const struct op *op, const struct tensor *const *in,
                             struct tensor *result, struct error *err)
{
    if (op->attr.convert.format != FMT_ROW)
        return shape_refuse(op, in, 0, err, "formats are chosen by the plan, not by the graph");
    return shape_result(op, op->attr.convert.dtype, in[0]->rank, in[0]->dim, result, err);
}

enum status shape_OP_RESHAPE(const struct op *op, const struct tensor *const *in,
                             struct tensor *result, struct error *err)
{
    const struct shape_attr *a = &op->attr.shape;
    enum status status = shape_result(op, in[0]->dtype, a->rank, a->dim, result, err);
    char text[TENSOR_TEXT_BYTES];

    if (status == ST_OK && tensor_count(result) != tensor_count(in[0]))
        status = shape_refuse(op, in, 0, err, "%s has another number of elements",
                              tensor_format(result, text));
    return status;
}

enum status shape_OP_TRANSPOSE(const struct op *op, const struct tensor *const *in,
                               struct tensor *result, struct error *err)
{
    int64_t dim[TENSOR_RANK_MAX];
    uint32_t seen = 0;

    for (int d = 0; d < in[0]->rank; d++) {
        const int32_t axis = op->attr.perm.axis[d];

        if (axis < 0 || axis >= in[0]->rank || (seen & (1u << axis)) != 0)
            return shape_refuse(op, in, 0, err, "axis %d in place %d is no permutation", axis, d);
        seen |= 1u << axis;
        dim[d] = in[0]->dim[axis];
    }
    return shape_result(op, in[0]->dtype, in[0]->rank, dim, result, err);
}

enum status shape_OP_SLICE(const struct op *op, const struct tensor *const *in,
                           struct tensor *result, struct error *err)
{
    const struct slice_attr *a = &op->attr.slice;
    int64_t dim[TENSOR_RANK_MAX];

    for (int d = 0; d < in[0]->rank; d++) {
        if (a->start[d] < 0 || a->stop[d] > in[0]->dim[d] || a->start[d] >= a->stop[d] ||
            a->step[d] < 1)
            return shape_refuse(op, in, 0, err, "dim %d cannot be cut %lld:%lld:%lld", d,
                                (long long)a->start[d], (long long)a->stop[d],
                                (long long)a->step[d]);
        dim[d] = (a->stop[d] - a->start[d] - 1) / a->step[d] + 1;
    }
    return shape_result(op, in[0]->dtype, in[0]->rank, dim, result, err);
}

enum status shape_OP_PAD(const struct op *op, const struct tensor *const *in, struct tensor *result,
                         struct error *err)
{
    const struct pad_attr *a = &op->attr.pad;
    int64_t dim[TENSOR_RANK_MAX];

    for (int d = 0; d < in[0]->rank; d++) {
        const int64_t most = a->fill == PAD_REFLECT ? in[0]->dim[d] - 1 : TENSOR_COUNT_MAX;

        if (a->lo[d] < 0 || a->hi[d] < 0 || a->lo[d] > most || a->hi[d] > most)
            return shape_refuse(op, in, 0, err, "dim %d cannot be padded by %lld and %lld", d,
                                (long long)a->lo[d], (long long)a->hi[d]);
        dim[d] = in[0]->dim[d] + a->lo[d] + a->hi[d];
    }
    return shape_result(op, in[0]->dtype, in[0]->rank, dim, result, err);
}

enum status shape_OP_CONCAT(const struct op *op, const struct tensor *const *in,
                            struct tensor *result, struct error *err)
{
    const int32_t axis = op->attr.axis.axis;
    int64_t dim[TENSOR_RANK_MAX];

    if (axis < 0 || axis >= in[0]->rank)
        return shape_refuse(op, in, 0, err, "there is no dim %d to join along", axis);
    for (int d = 0; d < TENSOR_RANK_MAX; d++)
        dim[d] = in[0]->dim[d];
    for (uint32_t i = 1; i < op->in_count; i++) {
        int64_t want[TENSOR_RANK_MAX];
        enum status status = shape_need_rank(op, in, (int)i, in[0]->rank, err);

        if (status != ST_OK)
            return status;
        for (int d = 0; d < in[0]->rank; d++)
            want[d] = d == axis ? in[i]->dim[d] : in[0]->dim[d];
        status = shape_need(op, in, (int)i, in[0]->dtype, in[0]->rank, want, err);
        if (status != ST_OK)
            return status;
        dim[axis] += in[i]->dim[axis];
    }
    return shape_result(op, in[0]->dtype, in[0]->rank, dim, result, err);
}

enum status shape_OP_GATHER_ROWS(const struct op *op, const struct tensor *const *in,
                                 struct tensor *result, struct error *err)
{
    int64_t dim[2 * TENSOR_RANK_MAX];
    const enum status status = shape_need_dtype(op, in, 1, DT_I32, err);
    int rank = 0;

    if (status != ST_OK)
        return status;
    if (in[0]->rank < 1)
        return shape_refuse(op, in, 0, err, "a table has rank 1 or more");
    for (int d = 0; d < in[1]->rank; d++)
        dim[rank++] = in[1]->dim[d];
    for (int d = 1; d < in[0]->rank; d++)
        dim[rank++] = in[0]->dim[d];
    return shape_result(op, in[0]->dtype, rank, dim, result, err);
}

enum status shape_OP_SCATTER_ROWS(const struct op *op, const struct tensor *const *in,
                                  struct tensor *result, struct error *err)
{
    int64_t dim[1 + TENSOR_RANK_MAX];
    enum status status = shape_need_dtype(op, in, 0, DT_I32, err);
    int rank = 0;

    if (status == ST_OK)
        status = shape_need_float(op, in, 1, err);
    if (status != ST_OK)
        return status;
    if (in[1]->rank < in[0]->rank)
        return shape_refuse(op, in, 1, err, "rank %d or more is needed", in[0]->rank);
    for (int d = 0; d < in[0]->rank; d++)
        if (in[1]->dim[d] != in[0]->dim[d])
            return shape_refuse(op, in, 1, err, "dim %d must be %lld, as of the indices", d,
                                (long long)in[0]->dim[d]);
    dim[rank++] = op->attr.rows.rows;
    for (int d = in[0]->rank; d < in[1]->rank; d++)
        dim[rank++] = in[1]->dim[d];
    return shape_result(op, in[1]->dtype, rank, dim, result, err);
}

enum status shape_OP_UNARY(const struct op *op, const struct tensor *const *in,
                           struct tensor *result, struct error *err)
{
    const enum status status = shape_need_float(op, in, 0, err);

    if (status != ST_OK)
        return status;
    if ((unsigned)op->attr.unary.fn >= UNARY_COUNT)
        return shape_refuse(op, in, -1, err, "there is no function %d", (int)op->attr.unary.fn);
    return result_like(in[0], result);
}

enum status shape_OP_UNARY_GRAD(const struct op *op, const struct tensor *const *in,
                                struct tensor *result, struct error *err)
{
    enum status status = shape_OP_UNARY(op, in, result, err);

    if (status == ST_OK)
        status = shape_need_like(op, in, 1, 0, err);
    if (status == ST_OK)
        status = shape_need_like(op, in, 2, 0, err);
    return status;
}

enum status shape_OP_BINARY(const struct op *op, const struct tensor *const *in,
                            struct tensor *result, struct error *err)
{
    const enum binary_fn fn = op->attr.binary.fn;
    const bool logic = fn == BINARY_AND || fn == BINARY_OR;
    const bool compares = fn == BINARY_EQ || fn == BINARY_LT || fn == BINARY_GE;
    int64_t dim[TENSOR_RANK_MAX];
    int rank;
    enum status status = shape_need_dtype(op, in, 1, in[0]->dtype, err);

    if (status != ST_OK)
        return status;
    if ((unsigned)fn >= BINARY_COUNT)
        return shape_refuse(op, in, -1, err, "there is no function %d", (int)fn);
    if (logic != (in[0]->dtype == DT_U8) && !(compares && in[0]->dtype == DT_U8))
        return shape_refuse(op, in, 0, err, "%s does not take this type", binary_name(fn));
    status = broadcast(op, in, 0, &rank, dim, err);
    if (status != ST_OK)
        return status;
    return shape_result(op, compares ? DT_U8 : in[0]->dtype, rank, dim, result, err);
}

enum status shape_OP_SELECT(const struct op *op, const struct tensor *const *in,
                            struct tensor *result, struct error *err)
{
    int64_t dim[TENSOR_RANK_MAX];
    int rank;
    enum status status = shape_need_dtype(op, in, 0, DT_U8, err);

    if (status == ST_OK)
        status = shape_need_dtype(op, in, 2, in[1]->dtype, err);
    if (status == ST_OK)
        status = broadcast(op, in, 0, &rank, dim, err);
    if (status != ST_OK)
        return status;
    return shape_result(op, in[1]->dtype, rank, dim, result, err);
}

enum status shape_OP_REDUCE(const struct op *op, const struct tensor *const *in,
                            struct tensor *result, struct error *err)
{
    const struct reduce_attr *a = &op->attr.reduce;
    int64_t dim[TENSOR_RANK_MAX];

    if ((unsigned)a->fn >= REDUCE_COUNT)
        return shape_refuse(op, in, -1, err, "there is no function %d", (int)a->fn);
    if (a->axes == 0 || a->axes >> in[0]->rank != 0)
        return shape_refuse(op, in, 0, err, "it has not the dims of mask 0x%x", a->axes);
    if ((a->fn == REDUCE_MEAN && !dtype_is_float(in[0]->dtype)) ||
        (a->fn == REDUCE_SUM && in[0]->dtype == DT_U8))
        return shape_refuse(op, in, 0, err, "%s does not take this type", reduce_name(a->fn));
    for (int d = 0; d < in[0]->rank; d++)
        dim[d] = (a->axes >> d & 1u) != 0 ? 1 : in[0]->dim[d];
    return shape_result(op, a->fn == REDUCE_ARGMAX ? DT_I32 : in[0]->dtype, in[0]->rank, dim,
                        result, err);
}
