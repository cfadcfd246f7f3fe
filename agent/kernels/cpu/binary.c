/* agent/kernels/cpu/binary.c: binary, F32 and BF16, as rows x columns in which each operand is whole, one number, one row that
 * repeats (a bias) or one column that repeats (a scale of each row). Other broadcasts are refused. Bound by memory. */
#include <stdio.h>

#include "agent/kernels/cpu/table_internal.h"

/* How an operand lies over the result. columns: of its row or column; 0 where any will do. */
struct spread {
    bool fits;
    int64_t columns, row_step,
        column_step; /* steps in units of one row of `columns`, of one element */
};

/* The result seen as rows x columns. */
struct binary_job {
    int64_t rows, columns, rows_per_item;
    struct spread a, b;
};

static struct spread spread_of(const struct tensor *in, const struct tensor *out)
{
    const int64_t count = tensor_count(in), out_count = tensor_count(out);
    int64_t leading = 1, trailing = 1;
    int first = 0, last = 0; /* dims of `in`, aligned at out's end, that are not 1: [first, last) */
    bool dense = true;

    if (count == out_count)
        return (struct spread){true, 0, 1, 1};
    if (count == 1)
        return (struct spread){true, 0, 0, 0};
    for (int d = 0; d < in->rank; d++)
        if (in->dim[d] != 1) {
            if (last == 0)
                first = d;
            last = d + 1;
        }
    for (int d = first; d < last; d++) /* no repeated dim in the middle */
        dense = dense && in->dim[d] == out->dim[out->rank - in->rank + d];
    for (int d = 0; d < out->rank - in->rank + first; d++)
        leading *= out->dim[d];
    for (int d = out->rank - in->rank + last; d < out->rank; d++)
        trailing *= out->dim[d];
    if (dense && trailing == 1)
        return (struct spread){true, count, 0, 1};
    if (dense && leading == 1)
        return (struct spread){true, trailing, 1, 0};
    return (struct spread){.fits = false};
}

static bool plan_job(const struct tensor *const *in, const struct tensor *out,
                     struct binary_job *job)
{
    const int64_t count = tensor_count(out);

    *job = (struct binary_job){.rows_per_item = 1};
    job->a = spread_of(in[0], out);
    job->b = spread_of(in[1], out);
    if (!job->a.fits || !job->b.fits ||
        (job->a.columns != 0 && job->b.columns != 0 && job->a.columns != job->b.columns))
        return false;
    job->columns = job->a.columns != 0 ? job->a.columns : job->b.columns;
    if (job->columns == 0) { /* nothing but whole operands and numbers: rows of any length do */
        job->columns = count < CPU_ITEM_ELEMENTS ? count : CPU_ITEM_ELEMENTS;
        job->rows = cpu_divide_up(count, job->columns); /* the last one may be shorter */
        return true;
    }
    job->rows = count / job->columns;
    if (job->columns < CPU_ITEM_ELEMENTS)
        job->rows_per_item = CPU_ITEM_ELEMENTS / job->columns;
    return true;
}

static bool binary_accept(const struct kernel_query *query, const struct micro *micro,
                          struct fit *fit, char why[KERNEL_WHY_BYTES])
{
    const enum binary_fn fn = query->op->attr.binary.fn;
    const struct binary_span none = {.rows = 0};
    struct binary_job job;

    if (!cpu_accept_dtype(query, 0, micro->dtype, why))
        return false;
    if (!micro->binary(fn, &none)) {
        (void)snprintf(why, KERNEL_WHY_BYTES, "no vector %s", binary_name(fn));
        return false;
    }
    if (!plan_job(query->in, query->out[0], &job)) {
        (void)snprintf(why, KERNEL_WHY_BYTES, "broadcast is no row, column or number");
        return false;
    }
    for (int i = 0; i < 2; i++)
        if (tensor_count(query->in[i]) == tensor_count(query->out[0]))
            fit->inplace_mask |= 1u << i;
    return true;
}

static int64_t binary_items(const struct kernel_args *args, const struct micro *micro, int phase)
{
    struct binary_job job;

    (void)micro;
    (void)phase;
    (void)plan_job(args->in_tensor, args->out_tensor[0], &job); /* accept said that it fits */
    return cpu_divide_up(job.rows, job.rows_per_item);
}

/* Step from one row to the next, in elements. */
static int64_t row_stride(const struct spread *spread, int64_t columns)
{
    return spread->row_step * (spread->column_step != 0 ? columns : 1);
}

static void binary_work(const struct kernel_args *args, const struct micro *micro, int phase,
                        int64_t item)
{
    struct binary_job job;
    struct binary_span span;
    int64_t first;

    (void)phase;
    (void)plan_job(args->in_tensor, args->out_tensor[0], &job);
    first = item * job.rows_per_item;
    span.rows = job.rows - first < job.rows_per_item ? job.rows - first : job.rows_per_item;
    span.columns = job.columns;
    if (span.rows == 1 && tensor_count(args->out_tensor[0]) - first * job.columns < job.columns)
        span.columns = tensor_count(args->out_tensor[0]) - first * job.columns;
    span.a_row = row_stride(&job.a, job.columns);
    span.b_row = row_stride(&job.b, job.columns);
    span.a_column = job.a.column_step;
    span.b_column = job.b.column_step;
    span.a = cpu_at(micro, args->in[0], first * span.a_row);
    span.b = cpu_at(micro, args->in[1], first * span.b_row);
    span.out = cpu_at_out(micro, args->out[0], first * job.columns);
    (void)micro->binary(args->op->attr.binary.fn, &span);
}

DEFINE_MICRO_KERNELS(binary, binary, OP_BINARY, NULL);
DEFINE_BF16_KERNEL(binary, binary, OP_BINARY, NULL);
