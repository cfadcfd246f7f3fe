/* agent/kernels/cpu/conv2d_inside.c: conv2d and conv2d_grad_input over the taps inside the image alone
 * (inside_internal.h). Phase 0 packs the weights as conv2d.c does; phase 1 has an item per (panel, ITEM_IMAGES images).
 *
 *     item: for each output pixel:          sums  96 x 32, 12 KiB, on the stack
 *             for each tap inside:          weights of the tap  [channel][column], 16 KiB at 128 cells: they stay in L1
 *               for each rows_max images:   += x[image][pixel of the tap][channel] x weights, in registers
 *             sums -> y[image][pixel][panel's columns], rounded once in BF16
 *
 * The sum of an output runs over its taps in index order. Bound by the multiply-add units. */
#include <string.h>

#include "agent/kernels/cpu/inside_internal.h"
#include "agent/kernels/cpu/table_internal.h"

#define ITEM_IMAGES  96
#define IMAGES_LEAST 24 /* two tiles of rows */
#define SHARE_MOST \
    0.9 /* of taps inside: above, sums that go to and fro at each tap take what is won */

int64_t inside_pixel(const struct conv_geometry *g, int64_t p, int64_t q, int64_t tap)
{
    const int64_t h = p + tap / g->taps_w - g->top, w = q + tap % g->taps_w - g->left;

    return h >= 0 && h < g->height && w >= 0 && w < g->width ? h * g->width + w : -1;
}

bool inside_accept(const struct conv_geometry *g, struct fit *fit, char why[KERNEL_WHY_BYTES])
{
    const int64_t taps = g->taps_h * g->taps_w, all = g->out_height * g->out_width * taps;
    int64_t inside = 0;

    if (g->stride_h * g->stride_w * g->dilation_h * g->dilation_w * g->insert_h * g->insert_w != 1)
        return conv_refuse(why, "stride or dilation above ", 1);
    if (g->images < IMAGES_LEAST)
        return conv_refuse(why, "images below 24: ", g->images);
    if (g->out_height * g->out_width > CONV_PIXELS_MAX)
        return conv_refuse(why, "pixels above 512: ", g->out_height * g->out_width);
    for (int64_t p = 0; p < g->out_height; p++)
        for (int64_t q = 0; q < g->out_width; q++)
            for (int64_t tap = 0; tap < taps; tap++)
                inside += inside_pixel(g, p, q, tap) >= 0 ? 1 : 0;
    if ((double)inside > SHARE_MOST * (double)all)
        return conv_refuse(why, "per cent of taps inside: ", inside * 100 / all);
    fit->flops = 2 * (uint64_t)(inside * g->images * g->channels * g->filters);
    return true;
}

static bool plan_geometry(enum op_kind kind, const struct conv_attr *attr,
                          const struct tensor *const *in, const struct tensor *out,
                          const struct micro *micro, struct conv_geometry *g,
                          char why[KERNEL_WHY_BYTES])
{
    return conv_geometry_of(kind, attr, in[0], in[1], out, g, why) &&
           (micro->dtype != DT_BF16 || conv_pair_channels(g, why));
}

static struct conv_geometry geometry_of(const struct kernel_args *args, const struct micro *micro)
{
    struct conv_geometry g;
    char why[KERNEL_WHY_BYTES];
    const bool planned = plan_geometry(args->op->kind, &args->op->attr.conv, args->in_tensor,
                                       args->out_tensor[0], micro, &g, why);

    (void)planned; /* accept said so */
    return g;
}

static bool conv_inside_accept(const struct kernel_query *query, const struct micro *micro,
                               struct fit *fit, char why[KERNEL_WHY_BYTES])
{
    struct conv_geometry g;

    if (!cpu_accept_dtype(query, 0, micro->dtype, why) ||
        !plan_geometry(query->op->kind, &query->op->attr.conv, query->in, query->out[0], micro, &g,
                       why) ||
        !inside_accept(&g, fit, why))
        return false;
    fit->scratch_bytes = (size_t)(cpu_divide_up(g.filters, micro->columns) * g.taps_h * g.taps_w *
                                  g.channels * micro->columns) *
                         sizeof(float);
    fit->block[0] = ITEM_IMAGES;
    fit->block[1] = micro->rows_max;
    return true;
}

static int64_t conv_inside_items(const struct kernel_args *args, const struct micro *micro,
                                 int phase)
{
    const struct conv_geometry g = geometry_of(args, micro);
    const int64_t panels = cpu_divide_up(g.filters, micro->columns);

    return phase == 0 ? panels : panels * cpu_divide_up(g.images, ITEM_IMAGES);
}

/* sums[image][column] (+)= one tap, whose pixel of the first image lies at x. */
static void add_tap(const struct micro *micro, const struct conv_geometry *g, const float *x,
                    int64_t images, const float *weights, float *sums, bool add)
{
    const int64_t no_offset = 0, pitch = g->height * g->width * g->channels;
    const int64_t count = cpu_divide_up(images, micro->rows_max);
    const int64_t small = images / count, larger_ones = images % count;
    const float *a[MICRO_ROWS_MAX];
    struct gemm_tile tile = {.a = a,
                             .segment = &no_offset,
                             .segments = 1,
                             .length = g->channels,
                             .b = weights,
                             .c_stride = micro->columns,
                             .columns = micro->columns};

    tile.c = sums;
    tile.add = add;
    for (int64_t i = 0; i < count; i++) {
        tile.rows = (int)(small + (i < larger_ones));
        for (int k = 0; k < tile.rows; k++, x += pitch)
            a[k] = x;
        micro->gemm_tile(&tile);
        tile.c += (ptrdiff_t)tile.rows * micro->columns;
    }
}

static void conv_inside_work(const struct kernel_args *args, const struct micro *micro, int phase,
                             int64_t item)
{
    const struct conv_geometry g = geometry_of(args, micro);
    const int64_t groups = cpu_divide_up(g.images, ITEM_IMAGES), taps = g.taps_h * g.taps_w;
    const int64_t panel = item / groups, first = item % groups * ITEM_IMAGES;
    const int64_t images = g.images - first < ITEM_IMAGES ? g.images - first : (int64_t)ITEM_IMAGES;
    const int64_t column = panel * micro->columns, tap_floats = g.channels * micro->columns;
    const int64_t columns =
        g.filters - column < micro->columns ? g.filters - column : (int64_t)micro->columns;
    const float *weights = (const float *)args->scratch + panel * taps * tap_floats;
    const float *x = (const float *)args->in[0] + first * g.height * g.width * g.channels;
    const int64_t pixels = g.out_height * g.out_width;
    _Alignas(64) float sums[ITEM_IMAGES * MICRO_COLUMNS_MAX];

    if (phase == 0) {
        conv_pack_panel(args, &g, micro, item);
        return;
    }
    for (int64_t pixel = 0; pixel < pixels; pixel++) {
        bool add = false;

        for (int64_t tap = 0; tap < taps; tap++) {
            const int64_t from = inside_pixel(&g, pixel / g.out_width, pixel % g.out_width, tap);

            if (from < 0)
                continue;
            add_tap(micro, &g, x + from * g.channels, images, weights + tap * tap_floats, sums,
                    add);
            add = true;
        }
        if (!add)
            memset(sums, 0, sizeof sums);
        for (int64_t n = 0; n < images; n++) {
            void *y = cpu_at_out(micro, args->out[0],
                                 ((first + n) * pixels + pixel) * g.filters + column);

            if (micro->dtype == DT_BF16)
                micro->narrow(columns, sums + n * micro->columns, y);
            else
                memcpy(y, sums + n * micro->columns, (size_t)columns * sizeof(float));
        }
    }
}

DEFINE_MICRO_KERNELS(conv2d_inside, conv_inside, OP_CONV2D, cpu_two_phases);
DEFINE_MICRO_KERNELS(conv2d_grad_input_inside, conv_inside, OP_CONV2D_GRAD_INPUT, cpu_two_phases);
DEFINE_BF16_KERNEL(conv2d_inside, conv_inside, OP_CONV2D, cpu_two_phases);
DEFINE_BF16_KERNEL(conv2d_grad_input_inside, conv_inside, OP_CONV2D_GRAD_INPUT, cpu_two_phases);
