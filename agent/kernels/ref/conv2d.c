/* agent/kernels/ref/conv2d.c: references of conv2d and of its two gradients. All three are sums of the same
 * products x[n, p*stride + r*dilation - top, q*stride + s*dilation - left, c] * w[k, r, s, c], taken over
 * different letters; sums in double. */
#include "agent/kernels/ref/ref.h"

/* The letters of one convolution, whichever of its three tensors is the result. */
struct conv_shape {
    int64_t images, height, width, channels; /* x */
    int64_t out_height, out_width, filters;  /* y */
    int64_t taps_h, taps_w, group_channels;  /* w */
    int64_t group_filters;
    const struct conv_attr *attr;
};

static struct conv_shape conv_shape_of(const struct conv_attr *attr, const struct tensor *x,
                                       const struct tensor *w, const struct tensor *y)
{
    return (struct conv_shape){.images = x->dim[0],
                               .height = x->dim[1],
                               .width = x->dim[2],
                               .channels = x->dim[3],
                               .out_height = y->dim[1],
                               .out_width = y->dim[2],
                               .filters = y->dim[3],
                               .taps_h = w->dim[1],
                               .taps_w = w->dim[2],
                               .group_channels = w->dim[3],
                               .group_filters = y->dim[3] / attr->groups,
                               .attr = attr};
}

/* The input pixel under tap (r, s) of output pixel (p, q), or -1 where that is padding. */
static int64_t pixel_under_tap(const struct conv_shape *c, int64_t p, int64_t q, int64_t r,
                               int64_t s)
{
    const int64_t h = p * c->attr->stride[0] + r * c->attr->dilation[0] - c->attr->pad[0];
    const int64_t w = q * c->attr->stride[1] + s * c->attr->dilation[1] - c->attr->pad[2];

    return h < 0 || h >= c->height || w < 0 || w >= c->width ? -1 : h * c->width + w;
}

static int64_t weight_index(const struct conv_shape *c, int64_t k, int64_t r, int64_t s, int64_t gc)
{
    return ((k * c->taps_h + r) * c->taps_w + s) * c->group_channels + gc;
}

static double sum_one_output(const struct kernel_args *args, const struct conv_shape *c, int64_t n,
                             int64_t p, int64_t q, int64_t k)
{
    const int64_t channel_first = k / c->group_filters * c->group_channels;
    double sum = 0.0;

    for (int64_t tap = 0; tap < c->taps_h * c->taps_w; tap++) {
        const int64_t r = tap / c->taps_w, s = tap % c->taps_w;
        const int64_t pixel = pixel_under_tap(c, p, q, r, s);

        if (pixel < 0)
            continue;
        for (int64_t gc = 0; gc < c->group_channels; gc++)
            sum += ref_get(args->in_tensor[0], args->in[0],
                           (n * c->height * c->width + pixel) * c->channels + channel_first + gc) *
                   ref_get(args->in_tensor[1], args->in[1], weight_index(c, k, r, s, gc));
    }
    return sum;
}

static void conv2d_work(const struct kernel_args *args, int phase, int64_t item)
{
    const struct tensor *y = args->out_tensor[0];
    const struct conv_shape c =
        conv_shape_of(&args->op->attr.conv, args->in_tensor[0], args->in_tensor[1], y);

    (void)phase;
    (void)item;
    for (int64_t i = 0, count = tensor_count(y); i < count; i++) {
        const int64_t k = i % c.filters, q = i / c.filters % c.out_width;
        const int64_t p = i / c.filters / c.out_width % c.out_height;
        const int64_t n = i / c.filters / c.out_width / c.out_height;

        ref_set(y, args->out[0], i, sum_one_output(args, &c, n, p, q, k));
    }
}

/* The sum over all (p, q, r, s, k) that put input element (n, h, w, channel) under a tap. */
static double sum_one_input(const struct kernel_args *args, const struct conv_shape *c, int64_t n,
                            int64_t pixel, int64_t channel)
{
    const int64_t group = channel / c->group_channels, gc = channel % c->group_channels;
    double sum = 0.0;

    for (int64_t out = 0; out < c->out_height * c->out_width; out++)
        for (int64_t tap = 0; tap < c->taps_h * c->taps_w; tap++) {
            const int64_t r = tap / c->taps_w, s = tap % c->taps_w;

            if (pixel_under_tap(c, out / c->out_width, out % c->out_width, r, s) != pixel)
                continue;
            for (int64_t gk = 0; gk < c->group_filters; gk++) {
                const int64_t k = group * c->group_filters + gk;

                sum += ref_get(args->in_tensor[0], args->in[0],
                               (n * c->out_height * c->out_width + out) * c->filters + k) *
                       ref_get(args->in_tensor[1], args->in[1], weight_index(c, k, r, s, gc));
            }
        }
    return sum;
}

static void conv2d_grad_input_work(const struct kernel_args *args, int phase, int64_t item)
{
    const struct tensor *dx = args->out_tensor[0];
    const struct conv_shape c =
        conv_shape_of(&args->op->attr.conv, dx, args->in_tensor[1], args->in_tensor[0]);
    const int64_t pixels = c.height * c.width;

    (void)phase;
    (void)item;
    for (int64_t i = 0, count = tensor_count(dx); i < count; i++)
        ref_set(dx, args->out[0], i,
                sum_one_input(args, &c, i / c.channels / pixels, i / c.channels % pixels,
                              i % c.channels));
}

static double sum_one_weight(const struct kernel_args *args, const struct conv_shape *c, int64_t k,
                             int64_t r, int64_t s, int64_t gc)
{
    const int64_t channel = k / c->group_filters * c->group_channels + gc;
    double sum = 0.0;

    for (int64_t n = 0; n < c->images; n++)
        for (int64_t out = 0; out < c->out_height * c->out_width; out++) {
            const int64_t pixel = pixel_under_tap(c, out / c->out_width, out % c->out_width, r, s);

            if (pixel < 0)
                continue;
            sum += ref_get(args->in_tensor[0], args->in[0],
                           (n * c->out_height * c->out_width + out) * c->filters + k) *
                   ref_get(args->in_tensor[1], args->in[1],
                           (n * c->height * c->width + pixel) * c->channels + channel);
        }
    return sum;
}

static void conv2d_grad_weight_work(const struct kernel_args *args, int phase, int64_t item)
{
    const struct tensor *dw = args->out_tensor[0];
    const struct conv_shape c =
        conv_shape_of(&args->op->attr.conv, args->in_tensor[1], dw, args->in_tensor[0]);

    (void)phase;
    (void)item;
    for (int64_t i = 0, count = tensor_count(dw); i < count; i++) {
        const int64_t gc = i % c.group_channels, s = i / c.group_channels % c.taps_w;
        const int64_t r = i / c.group_channels / c.taps_w % c.taps_h;

        ref_set(dw, args->out[0], i,
                sum_one_weight(args, &c, i / c.group_channels / c.taps_w / c.taps_h, r, s, gc));
    }
}

REF_KERNEL(conv2d, OP_CONV2D);
REF_KERNEL(conv2d_grad_input, OP_CONV2D_GRAD_INPUT);
REF_KERNEL(conv2d_grad_weight, OP_CONV2D_GRAD_WEIGHT);
