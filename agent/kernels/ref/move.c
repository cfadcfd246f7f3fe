/* agent/kernels/ref/move.c: references of the ops that move elements: reshape, transpose, slice, pad, concat,
 * gather_rows, scatter_rows. All but the last (which adds) copy bytes, so every dtype keeps its bits. */
#include "agent/kernels/ref/ref.h"

static void copy_element(const struct kernel_args *args, int operand, int64_t from, int64_t to)
{
    const size_t bytes = dtype_bytes(args->out_tensor[0]->dtype);

    memcpy((unsigned char *)args->out[0] + bytes * (size_t)to,
           (const unsigned char *)args->in[operand] + bytes * (size_t)from, bytes);
}

static void reshape_work(const struct kernel_args *args, int phase, int64_t item)
{
    (void)phase;
    (void)item;
    if (args->out[0] != args->in[0])
        memcpy(args->out[0], args->in[0], (size_t)tensor_bytes(args->out_tensor[0]));
}

static void transpose_work(const struct kernel_args *args, int phase, int64_t item)
{
    const struct tensor *in = args->in_tensor[0], *out = args->out_tensor[0];
    int64_t to[TENSOR_RANK_MAX], from[TENSOR_RANK_MAX];

    (void)phase;
    (void)item;
    for (int64_t i = 0, count = tensor_count(out); i < count; i++) {
        ref_unravel(out, i, to);
        for (int d = 0; d < out->rank; d++)
            from[args->op->attr.perm.axis[d]] = to[d];
        copy_element(args, 0, ref_ravel(in, from), i);
    }
}

static void slice_work(const struct kernel_args *args, int phase, int64_t item)
{
    const struct tensor *in = args->in_tensor[0], *out = args->out_tensor[0];
    const struct slice_attr *slice = &args->op->attr.slice;
    int64_t at[TENSOR_RANK_MAX];

    (void)phase;
    (void)item;
    for (int64_t i = 0, count = tensor_count(out); i < count; i++) {
        ref_unravel(out, i, at);
        for (int d = 0; d < out->rank; d++)
            at[d] = slice->start[d] + at[d] * slice->step[d];
        copy_element(args, 0, ref_ravel(in, at), i);
    }
}

static void pad_work(const struct kernel_args *args, int phase, int64_t item)
{
    const struct tensor *in = args->in_tensor[0], *out = args->out_tensor[0];
    const struct pad_attr *pad = &args->op->attr.pad;
    int64_t at[TENSOR_RANK_MAX];

    (void)phase;
    (void)item;
    for (int64_t i = 0, count = tensor_count(out); i < count; i++) {
        bool inside = true;

        ref_unravel(out, i, at);
        for (int d = 0; d < out->rank; d++) {
            at[d] -= pad->lo[d];
            if (pad->fill == PAD_REFLECT && at[d] < 0)
                at[d] = -at[d];
            if (pad->fill == PAD_REFLECT && at[d] >= in->dim[d])
                at[d] = 2 * (in->dim[d] - 1) - at[d];
            inside = inside && at[d] >= 0 && at[d] < in->dim[d];
        }
        if (inside)
            copy_element(args, 0, ref_ravel(in, at), i);
        else
            ref_set(out, args->out[0], i, 0.0);
    }
}

static void concat_work(const struct kernel_args *args, int phase, int64_t item)
{
    const struct tensor *out = args->out_tensor[0];
    const int axis = args->op->attr.axis.axis;
    int64_t first = 0, at[TENSOR_RANK_MAX];

    (void)phase;
    (void)item;
    for (int k = 0; k < args->in_count; k++) {
        const struct tensor *in = args->in_tensor[k];

        for (int64_t i = 0, count = tensor_count(in); i < count; i++) {
            ref_unravel(in, i, at);
            at[axis] += first;
            copy_element(args, k, i, ref_ravel(out, at));
        }
        first += in->dim[axis];
    }
}

static int64_t clamped(const void *idx, int64_t position, int64_t rows)
{
    const int64_t i = ((const int32_t *)idx)[position];

    return i < 0 ? 0 : i >= rows ? rows - 1 : i;
}

static void gather_rows_work(const struct kernel_args *args, int phase, int64_t item)
{
    const struct tensor *table = args->in_tensor[0];
    const int64_t rows = table->dim[0], row_count = tensor_count(table) / rows;

    (void)phase;
    (void)item;
    for (int64_t p = 0, count = tensor_count(args->in_tensor[1]); p < count; p++)
        for (int64_t e = 0; e < row_count; e++)
            copy_element(args, 0, clamped(args->in[1], p, rows) * row_count + e, p * row_count + e);
}

/* The sum of one result is taken in double over all positions, in order, and rounded once. Indices outside
 * are clamped as gather_rows clamps them: this is its gradient. */
static void scatter_rows_work(const struct kernel_args *args, int phase, int64_t item)
{
    const struct tensor *out = args->out_tensor[0];
    const int64_t rows = out->dim[0], row_count = tensor_count(out) / rows;
    const int64_t positions = tensor_count(args->in_tensor[0]);

    (void)phase;
    (void)item;
    for (int64_t row = 0; row < rows; row++)
        for (int64_t e = 0; e < row_count; e++) {
            double sum = 0.0;

            for (int64_t p = 0; p < positions; p++)
                if (clamped(args->in[0], p, rows) == row)
                    sum += ref_get(args->in_tensor[1], args->in[1], p * row_count + e);
            ref_set(out, args->out[0], row * row_count + e, sum);
        }
}

REF_KERNEL(reshape, OP_RESHAPE);
REF_KERNEL(transpose, OP_TRANSPOSE);
REF_KERNEL(slice, OP_SLICE);
REF_KERNEL(pad, OP_PAD);
REF_KERNEL(concat, OP_CONCAT);
REF_KERNEL(gather_rows, OP_GATHER_ROWS);
REF_KERNEL(scatter_rows, OP_SCATTER_ROWS);
