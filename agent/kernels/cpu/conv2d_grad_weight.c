/* agent/kernels/cpu/conv2d_grad_weight.c: dw[k][t] = sum over output pixels of x[pixel run][t] dy[pixel][k], an outer
 * product a pixel. The batch is cut into chunks of images by shape alone; each (chunk, panels) is an item of phase 0
 * and has its own sums in scratch, [chunk][panel][t][column]; phase 1 adds the chunks in index order and transposes.
 *
 * Loops of an item: piece of the chunk (padded copy of x, conv_internal.h); panel (dy packed as [pixel][column], at
 * most 28 KiB, so that it stays in L1); run of taps; tile of rows_max places t, over all pixels of the piece.
 * In BF16 a cell is the same place of two images (conv_internal.h), and the batch is as many pairs; an odd last image has
 * zeros beside it.
 * Sums are loaded and stored once a piece: 2 of 100 to 220 vector operations. Bound by the multiply-add units. */
#include <stdio.h>
#include <string.h>

#include "agent/kernels/cpu/conv_internal.h"
#include "agent/kernels/cpu/table_internal.h"

#define PIXELS_WANTED     200
#define PIXELS_MAX        224 /* of a piece: PIXELS_MAX x 32 floats of dy are 28 KiB */
#define PARTIAL_BYTES_MAX (INT64_C(32) << 20)
#define CHUNK_FLOPS       150e6 /* about 0.8 ms: small against the op, large against one image */
#define PANELS_PER_ITEM   2     /* share a copy of x */

struct weight_job {
    struct conv_geometry g;
    struct conv_cut cut; /* within a chunk: pieces */
    struct conv_runs runs;
    int64_t depth, panels, chunks, chunk_images;
};

static bool plan_job(const struct conv_attr *attr, const struct tensor *const *in,
                     const struct tensor *dw, const struct micro *micro, struct weight_job *job,
                     char why[KERNEL_WHY_BYTES])
{
    const int columns = micro->columns;
    double image_flops;
    int64_t chunk_bytes, chunks_max;

    if (!conv_geometry_forward(attr, in[1], dw, in[0], &job->g, why))
        return false;
    if (micro->dtype == DT_BF16)
        conv_pair_images(&job->g, micro);
    if (job->g.out_width > PIXELS_MAX) {
        (void)snprintf(why, KERNEL_WHY_BYTES, "output columns above %d: %lld", PIXELS_MAX,
                       (long long)job->g.out_width);
        return false;
    }
    if (!conv_cut_output(&job->g, PIXELS_WANTED, &job->cut, why))
        return false;
    while (job->cut.images > 1 &&
           job->cut.images * job->g.out_height * job->g.out_width > PIXELS_MAX)
        job->cut.images--;
    job->runs = conv_runs_of(&job->g);
    job->depth = job->runs.count * job->runs.length;
    job->panels = cpu_divide_up(job->g.filters, columns);
    image_flops =
        2.0 * (double)(job->g.out_height * job->g.out_width) * (double)job->depth *
        (double)(columns * (job->panels < PANELS_PER_ITEM ? job->panels : PANELS_PER_ITEM));
    job->chunk_images = image_flops < CHUNK_FLOPS ? (int64_t)(CHUNK_FLOPS / image_flops) : 1;
    chunk_bytes = job->panels * columns * job->depth * (int64_t)sizeof(float);
    chunks_max = PARTIAL_BYTES_MAX / chunk_bytes > 0 ? PARTIAL_BYTES_MAX / chunk_bytes : 1;
    if (job->chunk_images < cpu_divide_up(job->g.images, chunks_max))
        job->chunk_images = cpu_divide_up(job->g.images, chunks_max);
    if (job->chunk_images > job->g.images)
        job->chunk_images = job->g.images;
    job->chunks = cpu_divide_up(job->g.images, job->chunk_images);
    return true;
}

static struct weight_job job_of(const struct kernel_args *args, const struct micro *micro)
{
    struct weight_job job;
    char why[KERNEL_WHY_BYTES];
    const bool planned =
        plan_job(&args->op->attr.conv, args->in_tensor, args->out_tensor[0], micro, &job, why);

    (void)planned; /* accept said so */
    return job;
}

static bool weight_accept(const struct kernel_query *query, const struct micro *micro,
                          struct fit *fit, char why[KERNEL_WHY_BYTES])
{
    struct weight_job job;

    if (!cpu_accept_dtype(query, 0, micro->dtype, why) ||
        !plan_job(&query->op->attr.conv, query->in, query->out[0], micro, &job, why))
        return false;
    fit->scratch_bytes =
        (size_t)(job.chunks * job.panels * job.depth * micro->columns) * sizeof(float);
    fit->block[0] = (int)job.chunk_images;
    fit->block[1] = (int)job.cut.images;
    fit->block[2] = (int)job.cut.rows;
    fit->block[3] = micro->rows_max;
    return true;
}

static int64_t weight_items(const struct kernel_args *args, const struct micro *micro, int phase)
{
    const struct weight_job job = job_of(args, micro);

    if (phase == 0)
        return job.chunks * cpu_divide_up(job.panels, PANELS_PER_ITEM);
    return job.panels * cpu_divide_up(job.depth, CONV_ADD_ROWS);
}

/* Columns [first, first + columns) of dy at the pixels of a piece, zeros beyond K. Its pixels lie one after another:
 * a piece is whole rows of one image, or whole images. */
static void pack_dy(const struct conv_geometry *g, const struct conv_piece *piece, const float *dy,
                    int64_t first, int columns, float *to)
{
    const int64_t left = g->filters - first, valid = left < columns ? left : columns;
    const int64_t pixels = piece->images * piece->rows * g->out_width;
    const float *from =
        dy + (piece->image_first * g->out_height + piece->row_first) * g->out_width * g->filters +
        first;

    for (int64_t i = 0; i < pixels; i++, from += g->filters, to += columns) {
        memcpy(to, from, (size_t)valid * sizeof *to);
        memset(to + valid, 0, (size_t)(columns - valid) * sizeof *to);
    }
}

/* The same for BF16: pairs of images, number by number. */
static void pack_dy_pairs(const struct conv_geometry *g, const struct conv_piece *piece,
                          const uint16_t *dy, int64_t first, int columns, float *to)
{
    const int64_t left = g->filters - first, valid = left < columns ? left : columns;
    const int64_t image = g->out_height * g->out_width * g->filters;
    const int64_t pixels = piece->rows * g->out_width;

    for (int64_t n = piece->image_first; n < piece->image_first + piece->images; n++) {
        const uint16_t *from =
            dy + 2 * n * image + piece->row_first * g->out_width * g->filters + first;
        const bool has_second = 2 * n + 1 < g->pair_images;

        for (int64_t i = 0; i < pixels; i++, from += g->filters, to += columns) {
            g->micro->interleave(valid, from, has_second ? from + image : NULL, to);
            memset(to + valid, 0, (size_t)(columns - valid) * sizeof *to);
        }
    }
}

/* Adds one piece to one panel's sums, [t][column]. */
static void add_piece(const struct micro *micro, const struct weight_job *job,
                      const struct conv_piece *piece, const float *dy, float *sums, bool add)
{
    const int64_t tiles = cpu_divide_up(job->runs.length, micro->rows_max);
    const int64_t small = job->runs.length / tiles, larger_ones = job->runs.length % tiles;
    struct outer_tile tile = {.x_row = job->g.stride_h * piece->row_pitch,
                              .x_pixel = job->g.stride_w * job->g.channels,
                              .out_height = piece->rows,
                              .out_width = job->g.out_width};

    for (int64_t run = 0; run < job->runs.count; run++) {
        const float *x = piece->data + conv_run_offset(&job->g, piece, run);

        for (int64_t i = 0; i < tiles; i++) {
            tile.rows = (int)(small + (i < larger_ones));
            tile.acc = sums;
            for (int64_t n = 0; n < piece->images; n++) {
                tile.x = x + n * piece->image_pitch;
                tile.dy = dy + n * piece->rows * job->g.out_width * micro->columns;
                tile.add = add || n > 0;
                micro->outer_tile(&tile);
            }
            x += tile.rows;
            sums += (ptrdiff_t)tile.rows * micro->columns;
        }
    }
}

static void sum_chunk(const struct kernel_args *args, const struct micro *micro,
                      const struct weight_job *job, int64_t chunk, int64_t panel_first)
{
    const int64_t panel_last =
        panel_first + PANELS_PER_ITEM < job->panels ? panel_first + PANELS_PER_ITEM : job->panels;
    const int64_t panel_floats = job->depth * micro->columns;
    float *sums = (float *)args->scratch + chunk * job->panels * panel_floats;
    _Alignas(64) float buffer[CONV_BUFFER_FLOATS];
    _Alignas(64) float dy[PIXELS_MAX * MICRO_COLUMNS_MAX];
    struct conv_geometry part = job->g; /* the chunk as a batch of its own */
    const int64_t image_first = chunk * job->chunk_images;
    int64_t pieces;

    if (part.images > image_first + job->chunk_images)
        part.images = image_first + job->chunk_images;
    part.images -= image_first;
    pieces = cpu_divide_up(part.images, job->cut.images) * job->cut.strips;
    for (int64_t i = 0; i < pieces; i++) {
        struct conv_piece piece = conv_piece_at(&part, &job->cut, i);

        piece.image_first += image_first;
        conv_load_piece(&job->g, &piece, args->in[1], buffer);
        for (int64_t panel = panel_first; panel < panel_last; panel++) {
            if (micro->dtype == DT_BF16)
                pack_dy_pairs(&job->g, &piece, args->in[0], panel * micro->columns, micro->columns,
                              dy);
            else
                pack_dy(&job->g, &piece, args->in[0], panel * micro->columns, micro->columns, dy);
            add_piece(micro, job, &piece, dy, sums + panel * panel_floats, i > 0);
        }
    }
}

static void weight_work(const struct kernel_args *args, const struct micro *micro, int phase,
                        int64_t item)
{
    const struct weight_job job = job_of(args, micro);

    if (phase == 0) {
        const int64_t parts = cpu_divide_up(job.panels, PANELS_PER_ITEM);

        sum_chunk(args, micro, &job, item / parts, item % parts * PANELS_PER_ITEM);
    } else {
        const int64_t parts = cpu_divide_up(job.depth, CONV_ADD_ROWS);
        const struct conv_partial partial = {job.chunks, job.panels, job.depth, job.g.filters};

        conv_add_chunks(args, &partial, micro->columns, item / parts, item % parts * CONV_ADD_ROWS);
    }
}

DEFINE_MICRO_KERNELS(conv2d_grad_weight, weight, OP_CONV2D_GRAD_WEIGHT, cpu_two_phases);
DEFINE_BF16_KERNEL(conv2d_grad_weight, weight, OP_CONV2D_GRAD_WEIGHT, cpu_two_phases);
