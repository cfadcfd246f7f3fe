/* agent/kernels/cpu/pool.c: max-pooling with its index, and its gradient for windows that do not overlap, F32 and BF16, an item
 * per some images. Bound by memory: every input element is read once where windows do not overlap. */
#include <stdio.h>
#include <string.h>

#include "agent/kernels/cpu/table_internal.h"

#define WINDOW_MAX 64 /* places of a window; the index is one byte */

static int64_t images_per_item(const struct tensor *x)
{
    const int64_t image = x->dim[1] * x->dim[2] * x->dim[3];

    return image < CPU_ITEM_ELEMENTS ? CPU_ITEM_ELEMENTS / image : 1;
}

static int64_t image_items(const struct tensor *x)
{
    return cpu_divide_up(x->dim[0], images_per_item(x));
}

static int64_t last_image(const struct tensor *x, int64_t item)
{
    const int64_t end = (item + 1) * images_per_item(x);

    return end < x->dim[0] ? end : x->dim[0];
}

static bool pool_max_accept(const struct kernel_query *query, const struct micro *micro,
                            struct fit *fit, char why[KERNEL_WHY_BYTES])
{
    const struct pool_attr *attr = &query->op->attr.pool;

    (void)fit;
    if (attr->window[0] * attr->window[1] > WINDOW_MAX) {
        (void)snprintf(why, KERNEL_WHY_BYTES, "window above %d places", WINDOW_MAX);
        return false;
    }
    return cpu_accept_dtype(query, 0, micro->dtype, why);
}

static int64_t pool_max_items(const struct kernel_args *args, const struct micro *micro, int phase)
{
    (void)micro;
    (void)phase;
    return image_items(args->in_tensor[0]);
}

/* Points at the places of the window of output pixel (p, q) that are no padding: one at least, by the shape rule. */
static int point_at_places(const struct micro *micro, const struct pool_attr *attr,
                           const struct tensor *x, const void *image, int64_t p, int64_t q,
                           const void *from[WINDOW_MAX], uint8_t place[WINDOW_MAX])
{
    int count = 0;

    for (int64_t r = 0; r < attr->window[0]; r++)
        for (int64_t s = 0; s < attr->window[1]; s++) {
            const int64_t h = p * attr->stride[0] + r - attr->pad[0];
            const int64_t w = q * attr->stride[1] + s - attr->pad[2];

            if (h < 0 || h >= x->dim[1] || w < 0 || w >= x->dim[2])
                continue;
            place[count] = (uint8_t)(r * attr->window[1] + s);
            from[count++] = cpu_at(micro, image, (h * x->dim[2] + w) * x->dim[3]);
        }
    return count;
}

/* Output row p of image n. Without padding at the sides all its windows look alike: one call does them. */
static void pool_one_row(const struct kernel_args *args, const struct micro *micro, int64_t n,
                         int64_t p)
{
    const struct pool_attr *attr = &args->op->attr.pool;
    const struct tensor *x = args->in_tensor[0], *y = args->out_tensor[0];
    const void *image = cpu_at(micro, args->in[0], n * x->dim[1] * x->dim[2] * x->dim[3]);
    const int64_t step = attr->pad[2] == 0 && attr->pad[3] == 0 ? y->dim[2] : 1;
    const void *from[WINDOW_MAX];
    uint8_t place[WINDOW_MAX];

    for (int64_t q = 0; q < y->dim[2]; q += step) {
        const int64_t at = ((n * y->dim[1] + p) * y->dim[2] + q) * x->dim[3];
        const struct pool_span span = {
            .x = from,
            .place = place,
            .places = point_at_places(micro, attr, x, image, p, q, from, place),
            .pixels = step,
            .x_step = attr->stride[1] * x->dim[3],
            .channels = x->dim[3],
            .y = cpu_at_out(micro, args->out[0], at),
            .index = (uint8_t *)args->out[1] + at};

        micro->pool_max(&span);
    }
}

static void pool_max_work(const struct kernel_args *args, const struct micro *micro, int phase,
                          int64_t item)
{
    const struct tensor *x = args->in_tensor[0], *y = args->out_tensor[0];

    (void)phase;
    for (int64_t n = item * images_per_item(x); n < last_image(x, item); n++)
        for (int64_t p = 0; p < y->dim[1]; p++)
            pool_one_row(args, micro, n, p);
}

static bool pool_max_grad_accept(const struct kernel_query *query, const struct micro *micro,
                                 struct fit *fit, char why[KERNEL_WHY_BYTES])
{
    const struct pool_attr *attr = &query->op->attr.pool;

    (void)fit;
    if (!cpu_accept_dtype(query, 0, micro->dtype, why))
        return false;
    if (attr->stride[0] != attr->window[0] || attr->stride[1] != attr->window[1] ||
        attr->pad[0] != 0 || attr->pad[1] != 0 || attr->pad[2] != 0 || attr->pad[3] != 0) {
        (void)snprintf(why, KERNEL_WHY_BYTES, "windows overlap, leave gaps or are padded");
        return false;
    }
    return true;
}

static int64_t pool_max_grad_items(const struct kernel_args *args, const struct micro *micro,
                                   int phase)
{
    (void)micro;
    (void)phase;
    return image_items(args->out_tensor[0]);
}

/* Input row h of one image: row h % R of the windows of output row h / R; pixels right of the last window get 0. */
static void unpool_row(const struct kernel_args *args, const struct micro *micro, const void *dy,
                       const uint8_t *index, int64_t r, void *dx)
{
    const struct tensor *y = args->in_tensor[0], *x = args->out_tensor[0];
    const int64_t channels = x->dim[3], taps = args->op->attr.pool.window[1];

    const struct unpool_span span = {.dy = dy,
                                     .index = index,
                                     .dx = dx,
                                     .pixels = y->dim[2],
                                     .taps = taps,
                                     .channels = channels,
                                     .place_first = (int)(r * taps)};

    micro->unpool_max(&span);
    memset(cpu_at_out(micro, dx, y->dim[2] * taps * channels), 0,
           (size_t)((x->dim[2] - y->dim[2] * taps) * channels) * dtype_bytes(micro->dtype));
}

static void pool_max_grad_work(const struct kernel_args *args, const struct micro *micro, int phase,
                               int64_t item)
{
    const struct tensor *y = args->in_tensor[0], *x = args->out_tensor[0];
    const int64_t window = args->op->attr.pool.window[0], y_row = y->dim[2] * y->dim[3];
    const int64_t x_row = x->dim[2] * x->dim[3];

    (void)phase;
    for (int64_t n = item * images_per_item(x); n < last_image(x, item); n++)
        for (int64_t h = 0; h < x->dim[1]; h++) {
            void *dx = cpu_at_out(micro, args->out[0], (n * x->dim[1] + h) * x_row);
            const int64_t at = (n * y->dim[1] + h / window) * y_row;

            if (h / window < y->dim[1])
                unpool_row(args, micro, cpu_at(micro, args->in[0], at),
                           (const uint8_t *)args->in[1] + at, h % window, dx);
            else
                memset(dx, 0, (size_t)x_row * dtype_bytes(micro->dtype));
        }
}

DEFINE_MICRO_KERNELS(pool_max, pool_max, OP_POOL_MAX, NULL);
DEFINE_MICRO_KERNELS(pool_max_grad, pool_max_grad, OP_POOL_MAX_GRAD, NULL);
DEFINE_BF16_KERNEL(pool_max, pool_max, OP_POOL_MAX, NULL);
DEFINE_BF16_KERNEL(pool_max_grad, pool_max_grad, OP_POOL_MAX_GRAD, NULL);
