/* agent/kernels/cpu/conv2d_winograd.c: conv2d and conv2d_grad_input of 3 x 3 taps and stride 1 by Winograd's F(2x2, 3x3)
 * (Lavin and Gray, arXiv 1509.09308, section 4.1): 16 products a channel for 2 x 2 outputs where the plain sum has 36.
 *
 *     4 x 4 of x            per place i of 16, over channels                    2 x 2 of y
 *     d  -- B^T d B -->  V[i][tile][c]  x  U[i][c][k]  =  M[i][tile][k]  -- A^T M A -->  y
 *                                       U = G w G^T, once a call
 *
 *     B^T = 1  0 -1  0     G = 1    0    0      A^T = 1  1  1  0
 *           0  1  1  0         1/2  1/2  1/2          0  1 -1 -1
 *           0 -1  1  0         1/2 -1/2  1/2
 *           0  1  0 -1         0    0    1
 *
 * Phase 0 makes U, [panel][place][cell of channels][column], an item a panel. Phase 1 has an item per TILES tiles, which
 * run through all images: V of them lies on the stack, then per panel of filters 16 products and the way back. Pixels
 * outside the source are read from a row of zeros; outputs of a tile outside y are not written.
 * V and, in BF16, U are rounded to the type of the operands: the one difference in accuracy to the plain sum. Sums are F32.
 * Bound by the multiply-add units from 64 channels on; the transforms take 10 to 20 % of the time. */
#include <string.h>

#include "agent/kernels/cpu/conv_internal.h"
#include "agent/kernels/cpu/table_internal.h"

#define PLACES 16
#define V_BYTES_MAX \
    (INT64_C(400) << 10) /* of an item's V: with M and a panel of U inside the L2 cache of 1 MiB */
#define TILES_MAX           96
#define SOURCE_CHANNELS_MAX 512
#define CHANNELS_LEAST \
    20 /* of source and result: below, the transforms take more than the products */
#define GAIN_LEAST \
    1.3 /* multiply-adds of the plain sum to ours, below which the transforms eat what is won */

struct winograd_job {
    struct conv_geometry g;
    int64_t tiles_h, tiles_w, tiles;   /* of an image; of all */
    int64_t item_tiles, cells, panels; /* cells of 4 bytes that a pixel's channels take */
    int64_t panel_floats;              /* of U */
};

static bool plan_job(enum op_kind kind, const struct conv_attr *attr,
                     const struct tensor *const *in, const struct tensor *out,
                     const struct micro *micro, struct winograd_job *job,
                     char why[KERNEL_WHY_BYTES])
{
    const int64_t number_bytes = (int64_t)dtype_bytes(micro->dtype);
    struct conv_geometry *g = &job->g;

    if (!conv_geometry_of(kind, attr, in[0], in[1], out, g, why))
        return false;
    if (g->taps_h != 3 || g->taps_w != 3)
        return conv_refuse(why, "taps are not 3 x 3: ", g->taps_h);
    if (g->stride_h * g->stride_w * g->dilation_h * g->dilation_w * g->insert_h * g->insert_w != 1)
        return conv_refuse(why, "stride or dilation above ", 1);
    if (g->channels % 2 != 0 || g->channels < CHANNELS_LEAST || g->channels > SOURCE_CHANNELS_MAX)
        return conv_refuse(why, "channels not even from 20 to 512: ", g->channels);
    if (g->filters < CHANNELS_LEAST)
        return conv_refuse(why, "filters below 20: ", g->filters);
    job->tiles_h = cpu_divide_up(g->out_height, 2);
    job->tiles_w = cpu_divide_up(g->out_width, 2);
    if (9.0 * (double)(g->out_height * g->out_width) <
        GAIN_LEAST * (double)PLACES * (double)(job->tiles_h * job->tiles_w))
        return conv_refuse(why, "tiles of 2 x 2 waste too much of width ", g->out_width);
    job->tiles = g->images * job->tiles_h * job->tiles_w;
    job->item_tiles = V_BYTES_MAX / ((int64_t)PLACES * g->channels * number_bytes);
    if (job->item_tiles > TILES_MAX)
        job->item_tiles = TILES_MAX;
    job->item_tiles -= job->item_tiles % micro->rows_max;
    job->cells = g->channels * number_bytes / 4;
    job->panels = cpu_divide_up(g->filters, micro->columns);
    job->panel_floats = (int64_t)PLACES * job->cells * micro->columns;
    return true;
}

static struct winograd_job job_of(const struct kernel_args *args, const struct micro *micro)
{
    struct winograd_job job;
    char why[KERNEL_WHY_BYTES];
    const bool planned = plan_job(args->op->kind, &args->op->attr.conv, args->in_tensor,
                                  args->out_tensor[0], micro, &job, why);

    (void)planned; /* accept said so */
    return job;
}

static bool winograd_accept(const struct kernel_query *query, const struct micro *micro,
                            struct fit *fit, char why[KERNEL_WHY_BYTES])
{
    struct winograd_job job;

    if (!cpu_accept_dtype(query, 0, micro->dtype, why) ||
        !plan_job(query->op->kind, &query->op->attr.conv, query->in, query->out[0], micro, &job,
                  why))
        return false;
    fit->scratch_bytes = (size_t)(job.panels * job.panel_floats) * sizeof(float);
    fit->block[0] = (int)job.item_tiles;
    return true;
}

static int64_t winograd_items(const struct kernel_args *args, const struct micro *micro, int phase)
{
    const struct winograd_job job = job_of(args, micro);

    return phase == 0 ? job.panels : cpu_divide_up(job.tiles, job.item_tiles);
}

/* The nine weights of channel c and filter k of the product at hand. */
static void load_taps(const struct kernel_args *args, const struct conv_geometry *g,
                      const struct micro *micro, int64_t c, int64_t k, float taps[9])
{
    for (int64_t tap = 0; tap < 9; tap++) {
        const int64_t at = conv_weight_place(args->op->kind, g, g->channels, tap, c, k);

        if (micro->dtype == DT_BF16) {
            const uint32_t bits = (uint32_t)((const uint16_t *)args->in[1])[at] << 16;

            memcpy(&taps[tap], &bits, sizeof bits);
        } else {
            taps[tap] = ((const float *)args->in[1])[at];
        }
    }
}

/* G times the column of three at w, w + stride, w + 2 stride. */
static void spread_taps(const float *w, ptrdiff_t stride, float out[4])
{
    const float ends = w[0] + w[2 * stride], middle = w[stride];

    out[0] = w[0];
    out[1] = 0.5f * (ends + middle);
    out[2] = 0.5f * (ends - middle);
    out[3] = w[2 * stride];
}

static void transform_taps(const float taps[9], float u[PLACES])
{
    float rows[3][4]; /* [s][i] */

    for (int s = 0; s < 3; s++)
        spread_taps(&taps[s], 3, rows[s]);
    for (int i = 0; i < 4; i++) {
        const float row[3] = {rows[0][i], rows[1][i], rows[2][i]};

        spread_taps(row, 1, &u[(ptrdiff_t)i * 4]);
    }
}

/* Phase 0: U of one panel. */
static void pack_panel(const struct kernel_args *args, const struct winograd_job *job,
                       const struct micro *micro, int64_t panel)
{
    const int64_t in_cell = job->g.channels / job->cells;
    const int64_t numbers = in_cell * micro->columns; /* of a row of cells */
    float *to = (float *)args->scratch + panel * job->panel_floats;

    for (int64_t cell = 0; cell < job->cells; cell++, to += micro->columns) {
        float rows[PLACES][2 * MICRO_COLUMNS_MAX];

        for (int64_t i = 0; i < numbers; i++) {
            const int64_t k = panel * micro->columns + i / in_cell;
            float taps[9] = {0}, u[PLACES];

            if (k < job->g.filters)
                load_taps(args, &job->g, micro, cell * in_cell + i % in_cell, k, taps);
            transform_taps(taps, u);
            for (int place = 0; place < PLACES; place++)
                rows[place][i] = u[place];
        }
        for (int64_t place = 0; place < PLACES; place++) {
            float *row = to + place * job->cells * micro->columns;

            if (micro->dtype == DT_BF16)
                micro->narrow(numbers, rows[place], row);
            else
                memcpy(row, rows[place], (size_t)numbers * sizeof *row);
        }
    }
}

/* Where a tile stands. */
struct tile_place {
    int64_t image, row, column; /* first output pixel */
};

static struct tile_place tile_at(const struct winograd_job *job, int64_t tile)
{
    const int64_t of_image = job->tiles_h * job->tiles_w, rest = tile % of_image;

    return (struct tile_place){tile / of_image, rest / job->tiles_w * 2, rest % job->tiles_w * 2};
}

static void transform_tile(const struct winograd_job *job, const struct micro *micro,
                           const void *source, struct tile_place at, const float *zeros,
                           struct winograd_in *in)
{
    const struct conv_geometry *g = &job->g;

    for (int64_t r = 0; r < 4; r++)
        for (int64_t s = 0; s < 4; s++) {
            const int64_t h = at.row + r - g->top, w = at.column + s - g->left;
            const bool inside = h >= 0 && h < g->height && w >= 0 && w < g->width;

            in->pixel[r * 4 + s] =
                inside ? cpu_at(micro, source,
                                ((at.image * g->height + h) * g->width + w) * g->channels)
                       : (const void *)zeros;
        }
    micro->winograd_in(in);
}

/* The 16 products of `tiles` tiles with one panel, into sums[place][tile][column]. */
static void multiply(const struct winograd_job *job, const struct micro *micro, const float *v,
                     int64_t tiles, const float *u, float *sums)
{
    const int64_t no_offset = 0, count = cpu_divide_up(tiles, micro->rows_max);
    const int64_t small = tiles / count, larger_ones = tiles % count;
    struct gemm_tile tile = {.segment = &no_offset,
                             .segments = 1,
                             .length = job->cells,
                             .b = u,
                             .c = sums,
                             .c_stride = micro->columns,
                             .columns = micro->columns};

    for (int64_t place = 0; place < PLACES; place++) {
        const float *row = v + place * job->item_tiles * job->cells;

        tile.c = sums + place * job->item_tiles * micro->columns;
        for (int64_t i = 0; i < count; i++) {
            const float *a[MICRO_ROWS_MAX];

            tile.rows = (int)(small + (i < larger_ones));
            for (int k = 0; k < tile.rows; k++, row += job->cells)
                a[k] = row;
            tile.a = a;
            micro->gemm_tile(&tile);
            tile.c += (ptrdiff_t)tile.rows * micro->columns;
        }
        tile.b += job->cells * micro->columns;
    }
}

static void store_tile(const struct winograd_job *job, const struct micro *micro, void *y,
                       struct tile_place at, int64_t column, struct winograd_out *out)
{
    const struct conv_geometry *g = &job->g;

    for (int64_t p = 0; p < 2; p++)
        for (int64_t q = 0; q < 2; q++) {
            const int64_t h = at.row + p, w = at.column + q;

            out->pixel[p * 2 + q] =
                h < g->out_height && w < g->out_width
                    ? cpu_at_out(micro, y,
                                 ((at.image * g->out_height + h) * g->out_width + w) * g->filters +
                                     column)
                    : NULL;
        }
    micro->winograd_out(out);
}

static void winograd_work(const struct kernel_args *args, const struct micro *micro, int phase,
                          int64_t item)
{
    const struct winograd_job job = job_of(args, micro);
    const int64_t first = item * job.item_tiles, left = job.tiles - first;
    const int64_t tiles = left < job.item_tiles ? left : job.item_tiles;
    _Alignas(64) float v[V_BYTES_MAX / sizeof(float)];
    _Alignas(64) float sums[(size_t)PLACES * TILES_MAX * MICRO_COLUMNS_MAX];
    const float zeros[SOURCE_CHANNELS_MAX] = {0};

    if (phase == 0) {
        pack_panel(args, &job, micro, item);
        return;
    }
    for (int64_t i = 0; i < tiles; i++) {
        struct winograd_in in = {.channels = job.g.channels,
                                 .v = v + i * job.cells,
                                 .place_stride = job.item_tiles * job.g.channels};

        transform_tile(&job, micro, args->in[0], tile_at(&job, first + i), zeros, &in);
    }
    for (int64_t panel = 0; panel < job.panels; panel++) {
        const int64_t rest = job.g.filters - panel * micro->columns;
        const int64_t columns = rest < micro->columns ? rest : micro->columns;

        multiply(&job, micro, v, tiles, (const float *)args->scratch + panel * job.panel_floats,
                 sums);
        for (int64_t i = 0; i < tiles; i++) {
            struct winograd_out out = {.sums = sums + i * micro->columns,
                                       .columns = columns,
                                       .place_stride = job.item_tiles * micro->columns};

            store_tile(&job, micro, args->out[0], tile_at(&job, first + i), panel * micro->columns,
                       &out);
        }
    }
}

DEFINE_MICRO_KERNELS(conv2d_winograd, winograd, OP_CONV2D, cpu_two_phases);
DEFINE_MICRO_KERNELS(conv2d_grad_input_winograd, winograd, OP_CONV2D_GRAD_INPUT, cpu_two_phases);
DEFINE_BF16_KERNEL(conv2d_winograd, winograd, OP_CONV2D, cpu_two_phases);
DEFINE_BF16_KERNEL(conv2d_grad_input_winograd, winograd, OP_CONV2D_GRAD_INPUT, cpu_two_phases);
