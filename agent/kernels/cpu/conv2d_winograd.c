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

#include "agent/kernels/cpu/table_internal.h"
#include "agent/kernels/cpu/winograd_internal.h"

#define PLACES WINOGRAD_PLACES
#define V_BYTES_MAX \
    (INT64_C(400) << 10) /* of an item's V: with M and a panel of U inside the L2 cache of 1 MiB */
#define TILES_MAX           96
#define SOURCE_CHANNELS_MAX 512

struct winograd_job {
    struct winograd_tiles tiles;
    int64_t item_tiles, cells, panels; /* cells of 4 bytes that a pixel's channels take */
    int64_t panel_floats;              /* of U */
};

static bool plan_job(enum op_kind kind, const struct conv_attr *attr,
                     const struct tensor *const *in, const struct tensor *out,
                     const struct micro *micro, struct winograd_job *job,
                     char why[KERNEL_WHY_BYTES])
{
    const int64_t number_bytes = (int64_t)dtype_bytes(micro->dtype);
    struct conv_geometry g;

    if (!conv_geometry_of(kind, attr, in[0], in[1], out, &g, why))
        return false;
    if (g.channels % 2 != 0 || g.channels > SOURCE_CHANNELS_MAX) {
        (void)conv_refuse(why, "channels not even or above 512: ", g.channels);
        return false;
    }
    if (!winograd_tiles_of(&g, &job->tiles, why))
        return false;
    job->item_tiles = V_BYTES_MAX / ((int64_t)PLACES * g.channels * number_bytes);
    if (job->item_tiles > TILES_MAX)
        job->item_tiles = TILES_MAX;
    job->item_tiles -= job->item_tiles % micro->rows_max;
    job->cells = g.channels * number_bytes / 4;
    job->panels = cpu_divide_up(g.filters, micro->columns);
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
    fit->flops = winograd_flops(&job.tiles);
    return true;
}

static int64_t winograd_items(const struct kernel_args *args, const struct micro *micro, int phase)
{
    const struct winograd_job job = job_of(args, micro);

    return phase == 0 ? job.panels : cpu_divide_up(job.tiles.count, job.item_tiles);
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
    const int64_t in_cell = job->tiles.g.channels / job->cells;
    const int64_t numbers = in_cell * micro->columns; /* of a row of cells */
    float *to = (float *)args->scratch + panel * job->panel_floats;

    for (int64_t cell = 0; cell < job->cells; cell++, to += micro->columns) {
        float rows[PLACES][2 * MICRO_COLUMNS_MAX];

        for (int64_t i = 0; i < numbers; i++) {
            const int64_t k = panel * micro->columns + i / in_cell;
            float taps[9] = {0}, u[PLACES];

            if (k < job->tiles.g.filters)
                load_taps(args, &job->tiles.g, micro, cell * in_cell + i % in_cell, k, taps);
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
                       int64_t tile, int64_t column, struct winograd_out *out)
{
    int64_t place[4];

    winograd_result(&job->tiles, tile, column, place);
    for (int i = 0; i < 4; i++)
        out->pixel[i] = place[i] < 0 ? NULL : cpu_at_out(micro, y, place[i]);
    micro->winograd_out(out);
}

static void winograd_work(const struct kernel_args *args, const struct micro *micro, int phase,
                          int64_t item)
{
    const struct winograd_job job = job_of(args, micro);
    const int64_t first = item * job.item_tiles, left = job.tiles.count - first;
    const int64_t tiles = left < job.item_tiles ? left : job.item_tiles;
    _Alignas(64) float v[V_BYTES_MAX / sizeof(float)];
    _Alignas(64) float sums[(size_t)PLACES * TILES_MAX * MICRO_COLUMNS_MAX];
    const float zeros[SOURCE_CHANNELS_MAX] = {0};

    if (phase == 0) {
        pack_panel(args, &job, micro, item);
        return;
    }
    for (int64_t i = 0; i < tiles; i++) {
        struct winograd_in in = {.channels = job.tiles.g.channels,
                                 .v = v + i * job.cells,
                                 .place_stride = job.item_tiles * job.tiles.g.channels};

        winograd_source(&job.tiles, micro, args->in[0], first + i, 0, zeros, in.pixel);
        micro->winograd_in(&in);
    }
    for (int64_t panel = 0; panel < job.panels; panel++) {
        const int64_t rest = job.tiles.g.filters - panel * micro->columns;
        const int64_t columns = rest < micro->columns ? rest : micro->columns;

        multiply(&job, micro, v, tiles, (const float *)args->scratch + panel * job.panel_floats,
                 sums);
        for (int64_t i = 0; i < tiles; i++) {
            struct winograd_out out = {.sums = sums + i * micro->columns,
                                       .columns = columns,
                                       .place_stride = job.item_tiles * micro->columns};

            store_tile(&job, micro, args->out[0], first + i, panel * micro->columns, &out);
        }
    }
}

DEFINE_MICRO_KERNELS(conv2d_winograd, winograd, OP_CONV2D, cpu_two_phases);
DEFINE_MICRO_KERNELS(conv2d_grad_input_winograd, winograd, OP_CONV2D_GRAD_INPUT, cpu_two_phases);
DEFINE_BF16_KERNEL(conv2d_winograd, winograd, OP_CONV2D, cpu_two_phases);
DEFINE_BF16_KERNEL(conv2d_grad_input_winograd, winograd, OP_CONV2D_GRAD_INPUT, cpu_two_phases);
