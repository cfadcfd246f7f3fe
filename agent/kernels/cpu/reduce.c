/* agent/kernels/cpu/reduce.c: sum and mean over the leading dims, F32 (the gradient of a bias, a mean over a batch).
 * Chunks of rows fixed by shape are summed in F32 lanes, then added in double, in index order. Bound by memory. */
#include <stdio.h>

#include "agent/kernels/cpu/rows_internal.h"

/* Rows (reduced) x channels (kept), or rows 0: the reduced dims are not the leading ones. Dims of 1 are either. */
static struct row_cut cut_of(const struct op *op, const struct tensor *x)
{
    int64_t rows = 1, channels = 1;

    for (int d = 0; d < x->rank; d++) {
        if (x->dim[d] == 1)
            continue;
        if ((op->attr.reduce.axes >> d & 1) == 0)
            channels *= x->dim[d];
        else if (channels > 1)
            return (struct row_cut){0};
        else
            rows *= x->dim[d];
    }
    return row_cut_chunks(rows, channels);
}

static bool reduce_accept(const struct kernel_query *query, const struct micro *micro,
                          struct fit *fit, char why[KERNEL_WHY_BYTES])
{
    const enum reduce_fn fn = query->op->attr.reduce.fn;
    const struct row_cut cut = cut_of(query->op, query->in[0]);

    (void)micro;
    if (!cpu_accept_f32(query, why))
        return false;
    if (fn != REDUCE_SUM && fn != REDUCE_MEAN) {
        (void)snprintf(why, KERNEL_WHY_BYTES, "no vector %s", reduce_name(fn));
        return false;
    }
    if (cut.rows == 0) {
        (void)snprintf(why, KERNEL_WHY_BYTES, "reduces dims that are not the leading ones");
        return false;
    }
    fit->scratch_bytes = (size_t)(row_cut_items(&cut) * cut.channels) * sizeof(float);
    fit->block[0] = (int)cut.per_item;
    return true;
}

static int64_t reduce_items(const struct kernel_args *args, const struct micro *micro, int phase)
{
    const struct row_cut cut = cut_of(args->op, args->in_tensor[0]);

    (void)micro;
    return phase == 0 ? row_cut_items(&cut) : 1;
}

static void reduce_work(const struct kernel_args *args, const struct micro *micro, int phase,
                        int64_t item)
{
    const struct row_cut cut = cut_of(args->op, args->in_tensor[0]);
    const double divisor = args->op->attr.reduce.fn == REDUCE_MEAN ? (double)cut.rows : 1.0;
    float *partial = args->scratch;

    if (phase == 0) {
        micro->column_sum(row_cut_rows(&cut, item), cut.channels,
                          (const float *)args->in[0] + row_cut_first(&cut, item),
                          partial + item * cut.channels);
        return;
    }
    for (int64_t c = 0; c < cut.channels; c++) {
        double sum = 0.0;

        for (int64_t chunk = 0, chunks = row_cut_items(&cut); chunk < chunks; chunk++)
            sum += (double)partial[chunk * cut.channels + c];
        ((float *)args->out[0])[c] = (float)(sum / divisor);
    }
}

DEFINE_MICRO_KERNELS(reduce, reduce, OP_REDUCE, cpu_two_phases);
