/* agent/kernels/ref/xent.c: references of cross-entropy with label smoothing, and of its gradient
 * dloss * (softmax * sum of t - t). The row's maximum is subtracted before exp. A label outside [0, C) is no
 * class: every t is `off`, and it is never correct. */
#include "agent/kernels/ref/ref.h"

#include <math.h>

struct xent_row {
    double max, log_sum; /* log_sum: of exp(logit - max) */
    int64_t first_max;
};

static struct xent_row reduce_row(const struct tensor *logits, const void *data, int64_t row)
{
    const int64_t classes = logits->dim[1];
    struct xent_row r = {.max = (double)-INFINITY};
    double sum = 0.0;

    for (int64_t c = 0; c < classes; c++) {
        const double number = ref_get(logits, data, row * classes + c);

        if (number > r.max) {
            r.max = number;
            r.first_max = c;
        }
    }
    for (int64_t c = 0; c < classes; c++)
        sum += exp(ref_get(logits, data, row * classes + c) - r.max);
    r.log_sum = log(sum);
    return r;
}

/* t of class c in a row: `label` holds classes (rank 1) or whole targets (rank 2). */
static double target_of(const struct kernel_args *args, int label_in, int64_t row, int64_t c,
                        int64_t classes)
{
    const struct tensor *label = args->in_tensor[label_in];

    if (label->rank == 2)
        return ref_get(label, args->in[label_in], row * classes + c);
    return (int64_t)ref_get(label, args->in[label_in], row) == c ? args->op->attr.xent.on
                                                                 : args->op->attr.xent.off;
}

/* The class that counts as right: the label, or the first maximum of the target. */
static int64_t right_class(const struct kernel_args *args, int64_t row, int64_t classes)
{
    const struct tensor *label = args->in_tensor[1];
    int64_t best = 0;

    if (label->rank == 1)
        return (int64_t)ref_get(label, args->in[1], row);
    for (int64_t c = 1; c < classes; c++)
        if (target_of(args, 1, row, c, classes) > target_of(args, 1, row, best, classes))
            best = c;
    return best;
}

static void xent_work(const struct kernel_args *args, int phase, int64_t item)
{
    const struct tensor *logits = args->in_tensor[0];
    const int64_t rows = logits->dim[0], classes = logits->dim[1];
    const int64_t valid = (int64_t)ref_get(args->in_tensor[2], args->in[2], 0);

    (void)phase;
    (void)item;
    for (int64_t row = 0; row < rows; row++) {
        double loss = 0.0, correct = 0.0;

        if (row < valid) {
            const struct xent_row r = reduce_row(logits, args->in[0], row);

            for (int64_t c = 0; c < classes; c++)
                loss -= target_of(args, 1, row, c, classes) *
                        (ref_get(logits, args->in[0], row * classes + c) - r.max - r.log_sum);
            correct = right_class(args, row, classes) == r.first_max ? 1.0 : 0.0;
        }
        ref_set(args->out_tensor[0], args->out[0], row, loss);
        ref_set(args->out_tensor[1], args->out[1], row, correct);
    }
}

static void xent_grad_work(const struct kernel_args *args, int phase, int64_t item)
{
    const struct tensor *logits = args->in_tensor[1];
    const int64_t rows = logits->dim[0], classes = logits->dim[1];
    const int64_t valid = (int64_t)ref_get(args->in_tensor[3], args->in[3], 0);

    (void)phase;
    (void)item;
    for (int64_t row = 0; row < rows; row++) {
        const double dloss = ref_get(args->in_tensor[0], args->in[0], row);
        struct xent_row r = {0};
        double target_sum = 0.0;

        if (row < valid)
            r = reduce_row(logits, args->in[1], row);
        for (int64_t c = 0; c < classes; c++)
            target_sum += target_of(args, 2, row, c, classes);
        for (int64_t c = 0; c < classes; c++) {
            double slope = 0.0; /* rows that are not valid */

            if (row < valid)
                slope = exp(ref_get(logits, args->in[1], row * classes + c) - r.max - r.log_sum) *
                            target_sum -
                        target_of(args, 2, row, c, classes);
            ref_set(args->out_tensor[0], args->out[0], row * classes + c,
                    row < valid ? dloss * slope : 0.0);
        }
    }
}

REF_KERNEL(xent, OP_XENT);
REF_KERNEL(xent_grad, OP_XENT_GRAD);
