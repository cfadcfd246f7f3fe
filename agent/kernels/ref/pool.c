/* agent/kernels/ref/pool.c: references of max and average pooling and their gradients. Padding never wins a
 * maximum and never counts in a mean. Ties go to the first maximum in row order; a NaN is a maximum, as in
 * PyTorch, so that a diverged run shows. */
#include "agent/kernels/ref/ref.h"

#include <math.h>

struct pool_shape {
    int64_t images, height, width, channels, out_height, out_width;
    const struct pool_attr *attr;
};

static struct pool_shape pool_shape_of(const struct pool_attr *attr, const struct tensor *x,
                                       const struct tensor *y)
{
    return (struct pool_shape){.images = x->dim[0],
                               .height = x->dim[1],
                               .width = x->dim[2],
                               .channels = x->dim[3],
                               .out_height = y->dim[1],
                               .out_width = y->dim[2],
                               .attr = attr};
}

/* Index of the element of x under place `at` (r * S + s) of the window of output element `out`, -1: padding. */
static int64_t element_under_window(const struct pool_shape *c, int64_t out, int64_t at)
{
    const int64_t channel = out % c->channels, q = out / c->channels % c->out_width;
    const int64_t p = out / c->channels / c->out_width % c->out_height;
    const int64_t n = out / c->channels / c->out_width / c->out_height;
    const int64_t h = p * c->attr->stride[0] + at / c->attr->window[1] - c->attr->pad[0];
    const int64_t w = q * c->attr->stride[1] + at % c->attr->window[1] - c->attr->pad[2];

    if (h < 0 || h >= c->height || w < 0 || w >= c->width)
        return -1;
    return ((n * c->height + h) * c->width + w) * c->channels + channel;
}

static void pool_max_work(const struct kernel_args *args, int phase, int64_t item)
{
    const struct tensor *x = args->in_tensor[0], *y = args->out_tensor[0];
    const struct pool_shape c = pool_shape_of(&args->op->attr.pool, x, y);
    const int64_t places = c.attr->window[0] * c.attr->window[1];

    (void)phase;
    (void)item;
    for (int64_t i = 0, count = tensor_count(y); i < count; i++) {
        double best = (double)-INFINITY;
        int64_t best_at = -1;

        for (int64_t at = 0; at < places; at++) {
            const int64_t from = element_under_window(&c, i, at);
            double number;

            if (from < 0)
                continue;
            number = ref_get(x, args->in[0], from);
            if (best_at < 0 || number > best || (isnan(number) && !isnan(best))) {
                best = number;
                best_at = at;
            }
        }
        ref_set(y, args->out[0], i, best);
        ref_set(args->out_tensor[1], args->out[1], i, best_at < 0 ? 0.0 : (double)best_at);
    }
}

static void fill_with_zero(const struct tensor *t, void *data)
{
    for (int64_t i = 0, count = tensor_count(t); i < count; i++)
        ref_set(t, data, i, 0.0);
}

/* Sums in the type of dx, window after window in row order: overlapping windows meet in few elements. */
static void pool_max_grad_work(const struct kernel_args *args, int phase, int64_t item)
{
    const struct tensor *dy = args->in_tensor[0], *dx = args->out_tensor[0];
    const struct pool_shape c = pool_shape_of(&args->op->attr.pool, dx, dy);

    (void)phase;
    (void)item;
    fill_with_zero(dx, args->out[0]);
    for (int64_t i = 0, count = tensor_count(dy); i < count; i++) {
        const int64_t at = (int64_t)ref_get(args->in_tensor[1], args->in[1], i);
        const int64_t to = element_under_window(&c, i, at);

        if (to >= 0)
            ref_set(dx, args->out[0], to,
                    ref_get(dx, args->out[0], to) + ref_get(dy, args->in[0], i));
    }
}

/* Elements of x, not of padding, under the window of output element i. */
static int64_t count_elements(const struct pool_shape *c, int64_t i)
{
    int64_t count = 0;

    for (int64_t at = 0; at < c->attr->window[0] * c->attr->window[1]; at++)
        count += element_under_window(c, i, at) >= 0;
    return count;
}

static void pool_avg_work(const struct kernel_args *args, int phase, int64_t item)
{
    const struct tensor *x = args->in_tensor[0], *y = args->out_tensor[0];
    const struct pool_shape c = pool_shape_of(&args->op->attr.pool, x, y);

    (void)phase;
    (void)item;
    for (int64_t i = 0, count = tensor_count(y); i < count; i++) {
        const int64_t elements = count_elements(&c, i);
        double sum = 0.0;

        for (int64_t at = 0; at < c.attr->window[0] * c.attr->window[1]; at++) {
            const int64_t from = element_under_window(&c, i, at);

            if (from >= 0)
                sum += ref_get(x, args->in[0], from);
        }
        ref_set(y, args->out[0], i, elements > 0 ? sum / (double)elements : 0.0);
    }
}

static void pool_avg_grad_work(const struct kernel_args *args, int phase, int64_t item)
{
    const struct tensor *dy = args->in_tensor[0], *dx = args->out_tensor[0];
    const struct pool_shape c = pool_shape_of(&args->op->attr.pool, dx, dy);

    (void)phase;
    (void)item;
    fill_with_zero(dx, args->out[0]);
    for (int64_t i = 0, count = tensor_count(dy); i < count; i++) {
        const int64_t elements = count_elements(&c, i);

        for (int64_t at = 0; at < c.attr->window[0] * c.attr->window[1]; at++) {
            const int64_t to = element_under_window(&c, i, at);

            if (to >= 0)
                ref_set(dx, args->out[0], to,
                        ref_get(dx, args->out[0], to) +
                            ref_get(dy, args->in[0], i) / (double)elements);
        }
    }
}

REF_KERNEL(pool_max, OP_POOL_MAX);
REF_KERNEL(pool_max_grad, OP_POOL_MAX_GRAD);
REF_KERNEL(pool_avg, OP_POOL_AVG);
REF_KERNEL(pool_avg_grad, OP_POOL_AVG_GRAD);
