/* agent/kernels/cpu/conv2d.c: conv2d and conv2d_grad_input as implicit products over padded copies
 * (conv_internal.h). Phase 0 packs the weights into panels of micro->columns filters, [panel][run][t][column];
 * phase 1 has an item per (panels, piece of the output).
 *
 * Loops of an item, outermost first: panel; block of at most RUN_FLOATS rows of it (24 KiB with AVX-512: it stays in
 * the L1 cache of 32 KiB or more while all pixels pass); tile of pixels. Sums are kept in y between blocks: one load and
 * store of a tile per RUN_FLOATS * rows multiply-adds, under 2 %. Tiles of a piece are of like size, so that no
 * remainder runs on few registers. Bound by the multiply-add units from C = 24 on, by stores of y at C = 3.
 * The sum of an output runs over its taps in one order, whatever the pieces: bits depend on the shape alone.
 *
 * In BF16 a cell is a pair of channels, and the sums of a panel lie on the stack, in F32, until all taps are in: they are
 * rounded once, as y is written. */
#include <string.h>

#include "agent/kernels/cpu/conv_internal.h"
#include "agent/kernels/cpu/table_internal.h"

#define RUN_FLOATS   192
#define ITEM_FLOPS   12e6 /* about 60 us of one core */
#define PIXELS_LEAST 96   /* so that a block of weights, once in L1, is used by 8 tiles */

/* All that follows from the shapes. */
struct conv_job {
    struct conv_geometry g;
    struct conv_cut cut;
    struct conv_runs runs;
    int64_t depth;                      /* cells: runs.count * runs.length, R * S * C numbers */
    int64_t panels, panels_per_item;    /* panels of micro->columns filters */
    int64_t blocks_per_run, block_runs; /* a block: a part of one run, or block_runs whole ones */
};

static bool plan_job(enum op_kind kind, const struct conv_attr *attr,
                     const struct tensor *const *in, const struct tensor *out,
                     const struct micro *micro, struct conv_job *job, char why[KERNEL_WHY_BYTES])
{
    const int columns = micro->columns;
    double panel_flops, pixels_wanted;

    if (!conv_geometry_of(kind, attr, in[0], in[1], out, &job->g, why))
        return false;
    if (micro->dtype == DT_BF16 && !conv_pair_channels(&job->g, why))
        return false;
    job->runs = conv_runs_of(&job->g);
    job->depth = job->runs.count * job->runs.length;
    job->panels = cpu_divide_up(job->g.filters, columns);
    job->blocks_per_run = cpu_divide_up(job->runs.length, RUN_FLOATS);
    job->block_runs = job->blocks_per_run > 1 ? 1 : RUN_FLOATS / job->runs.length;
    panel_flops = 2.0 * (double)job->depth * columns; /* of one pixel */
    pixels_wanted = ITEM_FLOPS / panel_flops;
    if (pixels_wanted < PIXELS_LEAST)
        pixels_wanted = PIXELS_LEAST;
    if (pixels_wanted > CONV_PIXELS_MAX)
        pixels_wanted = CONV_PIXELS_MAX;
    if (!conv_cut_output(&job->g, (int64_t)pixels_wanted, &job->cut, why))
        return false;
    panel_flops *= (double)(job->cut.images * job->cut.rows * job->g.out_width);
    job->panels_per_item = (int64_t)(ITEM_FLOPS / panel_flops + 0.5);
    if (job->panels_per_item < 1)
        job->panels_per_item = 1;
    if (job->panels_per_item > job->panels)
        job->panels_per_item = job->panels;
    return true;
}

static struct conv_job job_of(const struct kernel_args *args, const struct micro *micro)
{
    struct conv_job job;
    char why[KERNEL_WHY_BYTES];
    const bool planned = plan_job(args->op->kind, &args->op->attr.conv, args->in_tensor,
                                  args->out_tensor[0], micro, &job, why);

    (void)planned; /* accept said so */
    return job;
}

static bool conv_accept(const struct kernel_query *query, const struct micro *micro,
                        struct fit *fit, char why[KERNEL_WHY_BYTES])
{
    struct conv_job job;

    if (!cpu_accept_dtype(query, 0, micro->dtype, why) ||
        !plan_job(query->op->kind, &query->op->attr.conv, query->in, query->out[0], micro, &job,
                  why))
        return false;
    fit->scratch_bytes = (size_t)(job.panels * job.depth * micro->columns) * sizeof(float);
    fit->block[0] = (int)job.cut.images;
    fit->block[1] = (int)job.cut.rows;
    fit->block[2] = (int)job.panels_per_item;
    fit->block[3] = (int)(job.depth < RUN_FLOATS ? job.depth : RUN_FLOATS);
    return true;
}

static int64_t conv_items(const struct kernel_args *args, const struct micro *micro, int phase)
{
    const struct conv_job job = job_of(args, micro);

    if (phase == 0)
        return job.panels;
    return cpu_divide_up(job.panels, job.panels_per_item) * job.cut.image_groups * job.cut.strips;
}

/* Pointers to the first input element of each output pixel of the piece; returns their count. */
static int point_at_pixels(const struct conv_geometry *g, const struct conv_piece *piece,
                           const float *pixel[CONV_PIXELS_MAX])
{
    int count = 0;

    for (int64_t n = 0; n < piece->images; n++)
        for (int64_t p = 0; p < piece->rows; p++)
            for (int64_t q = 0; q < g->out_width; q++)
                pixel[count++] = piece->data + n * piece->image_pitch +
                                 p * g->stride_h * piece->row_pitch + q * g->stride_w * g->channels;
    return count;
}

/* One block of weights against all pixels, in tiles of like size. */
static void run_tiles(const struct micro *micro, struct gemm_tile tile, const float *const *pixel,
                      int pixels, float *y)
{
    const int tiles = (pixels + micro->rows_max - 1) / micro->rows_max;
    const int small = pixels / tiles, larger_ones = pixels % tiles;

    for (int i = 0; i < tiles; i++) {
        tile.rows = small + (i < larger_ones);
        tile.a = pixel;
        tile.c = y;
        micro->gemm_tile(&tile);
        pixel += tile.rows;
        y += tile.rows * tile.c_stride;
    }
}

#define BLOCK_RUNS_MAX RUN_FLOATS

static void run_panel(const struct micro *micro, const struct conv_job *job,
                      const struct conv_piece *piece, const float *const *pixel, int pixels,
                      struct gemm_tile tile, float *y)
{
    const int64_t part_length = cpu_divide_up(job->runs.length, job->blocks_per_run);
    int64_t segment[BLOCK_RUNS_MAX];

    tile.segment = segment;
    tile.add = false;
    for (int64_t run = 0; run < job->runs.count; run += job->block_runs) {
        tile.segments =
            job->runs.count - run < job->block_runs ? job->runs.count - run : job->block_runs;
        for (int64_t at = 0; at < job->runs.length; at += part_length) {
            for (int64_t i = 0; i < tile.segments; i++)
                segment[i] = conv_run_offset(&job->g, piece, run + i) + at;
            tile.length = job->runs.length - at < part_length ? job->runs.length - at : part_length;
            run_tiles(micro, tile, pixel, pixels, y);
            tile.b += tile.segments * tile.length * micro->columns;
            tile.add = true;
        }
    }
}

/* One panel of a piece in BF16: sums in F32, then rounded into y, at the panel's first filter. */
static void run_panel_bf16(const struct micro *micro, const struct conv_job *job,
                           const struct conv_piece *piece, const float *const *pixel, int pixels,
                           struct gemm_tile tile, uint16_t *y)
{
    _Alignas(64) float sums[CONV_PIXELS_MAX * MICRO_COLUMNS_MAX];
    const int columns = tile.columns;

    tile.columns = micro->columns;
    tile.c_stride = micro->columns;
    run_panel(micro, job, piece, pixel, pixels, tile, sums);
    for (int64_t i = 0; i < pixels; i++)
        micro->narrow(columns, sums + i * micro->columns, y + i * job->g.filters);
}

static void conv_work(const struct kernel_args *args, const struct micro *micro, int phase,
                      int64_t item)
{
    const struct conv_job job = job_of(args, micro);
    const int64_t pieces = job.cut.image_groups * job.cut.strips;
    _Alignas(64) float buffer[CONV_BUFFER_FLOATS];
    const float *pixel[CONV_PIXELS_MAX];
    struct conv_piece piece;
    int64_t panel_first, panel_last;
    int64_t y_first;
    int pixels;

    if (phase == 0) {
        conv_pack_panel(args, &job.g, micro, item);
        return;
    }
    piece = conv_piece_at(&job.g, &job.cut, item % pieces); /* panels outermost: they stay in L2 */
    panel_first = item / pieces * job.panels_per_item;
    panel_last = panel_first + job.panels_per_item;
    if (panel_last > job.panels)
        panel_last = job.panels;
    conv_load_piece(&job.g, &piece, args->in[0], buffer);
    pixels = point_at_pixels(&job.g, &piece, pixel);
    y_first =
        (piece.image_first * job.g.out_height + piece.row_first) * job.g.out_width * job.g.filters;
    for (int64_t panel = panel_first; panel < panel_last; panel++) {
        const int64_t first = panel * micro->columns, left = job.g.filters - first;
        const struct gemm_tile tile = {
            .b = (const float *)args->scratch + panel * job.depth * micro->columns,
            .c_stride = job.g.filters,
            .columns = (int)(left < micro->columns ? left : micro->columns)};

        if (micro->dtype == DT_BF16)
            run_panel_bf16(micro, &job, &piece, pixel, pixels, tile,
                           (uint16_t *)args->out[0] + y_first + first);
        else
            run_panel(micro, &job, &piece, pixel, pixels, tile,
                      (float *)args->out[0] + y_first + first);
    }
}

DEFINE_MICRO_KERNELS(conv2d, conv, OP_CONV2D, cpu_two_phases);
DEFINE_MICRO_KERNELS(conv2d_grad_input, conv, OP_CONV2D_GRAD_INPUT, cpu_two_phases);
DEFINE_BF16_KERNEL(conv2d, conv, OP_CONV2D, cpu_two_phases);
DEFINE_BF16_KERNEL(conv2d_grad_input, conv, OP_CONV2D_GRAD_INPUT, cpu_two_phases);
