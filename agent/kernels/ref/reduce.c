/* agent/kernels/ref/reduce.c: reference of reduce: sum, mean, max, argmax over any set of dims. */
#include <math.h>

#include "agent/kernels/ref/ref.h"

struct cells { /* the elements of the operand behind one result */
    struct tensor shape;
    int64_t origin[TENSOR_RANK_MAX];
};

static double reduce_cells(const struct kernel_args *args, const struct cells *cells)
{
    const struct tensor *in = args->in_tensor[0];
    const enum reduce_fn fn = args->op->attr.reduce.fn;
    const int64_t count = tensor_count(&cells->shape);
    int64_t at[TENSOR_RANK_MAX], best_index = 0, wrapped = 0;
    double sum = 0.0, best = 0.0;

    for (int64_t i = 0; i < count; i++) {
        ref_unravel(&cells->shape, i, at);
        for (int d = 0; d < in->rank; d++)
            at[d] += cells->origin[d];
        const double x = ref_get(in, args->in[0], ref_ravel(in, at));

        /* The first of equal ones wins; the first NaN wins over all, as PyTorch. */
        if (i == 0 || (x > best && !isnan(best)) || (isnan(x) && !isnan(best))) {
            best = x;
            best_index = i;
        }
        sum += x;
        wrapped += in->dtype == DT_I32 ? (int64_t)x : 0;
    }
    switch (fn) {
    case REDUCE_SUM: /* I32 wraps */
        return in->dtype == DT_I32 ? (double)(int32_t)(uint32_t)(uint64_t)wrapped : sum;
    case REDUCE_MEAN: return sum / (double)count;
    case REDUCE_MAX: return best;
    case REDUCE_ARGMAX: return (double)best_index;
    case REDUCE_COUNT: break;
    }
    assert(fn != REDUCE_COUNT);
    return 0.0;
}

static void reduce_work(const struct kernel_args *args, int phase, int64_t item)
{
    const struct tensor *in = args->in_tensor[0], *out = args->out_tensor[0];
    struct cells cells = {.shape = *in};

    (void)phase;
    (void)item;
    for (int d = 0; d < in->rank; d++)
        cells.shape.dim[d] = (args->op->attr.reduce.axes >> d & 1u) != 0 ? in->dim[d] : 1;
    for (int64_t i = 0, count = tensor_count(out); i < count; i++) {
        ref_unravel(out, i, cells.origin);
        ref_set(out, args->out[0], i, reduce_cells(args, &cells));
    }
}

REF_KERNEL(reduce, OP_REDUCE);
