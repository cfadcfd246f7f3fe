/* agent/kernels/cpu/conv2d_grad_weight_inside.c: conv2d_grad_weight over the taps inside the image alone
 * (inside_internal.h). The batch is cut into chunks of images by shape alone. Phase 0 has an item per (chunk, block of
 * channels), with its own sums in scratch (struct conv_partial); phase 1 adds the chunks in index order.
 *
 *     item: for each piece of PIECE_CELLS images:   x   [pixel][image][channel]  16 KiB a pixel, on the stack
 *             for each panel of filters:            dy  [pixel][image][column]    4 KiB a pixel, on the stack
 *               for each tap:
 *                 for each rows_max channels:       sums of 12 x 32
 *                   for each pixel with the tap inside:  += x[pixel of the tap] dy[pixel], over images, in registers
 *
 * In BF16 a cell holds two images that follow each other; beside an odd last image there are zeros. Bound by the
 * multiply-add units. */
#include <string.h>

#include "agent/kernels/cpu/inside_internal.h"
#include "agent/kernels/cpu/table_internal.h"

#define PIECE_CELLS       32
#define CHANNEL_BLOCK     128
#define PIXELS_MAX        25 /* 400 KiB of x and 100 KiB of dy: inside the L2 cache of 1 MiB */
#define PARTIAL_BYTES_MAX (INT64_C(32) << 20)
#define CHUNKS_WANTED     8

struct weight_job {
    struct conv_geometry g;
    struct conv_partial partial;
    int64_t blocks, cell_images, chunk_images;
};

static bool plan_job(const struct conv_attr *attr, const struct tensor *const *in,
                     const struct tensor *dw, const struct micro *micro, struct weight_job *job,
                     char why[KERNEL_WHY_BYTES])
{
    struct conv_geometry *g = &job->g;
    int64_t piece_images, chunk_bytes, chunks;

    if (!conv_geometry_forward(attr, in[1], dw, in[0], g, why))
        return false;
    job->cell_images = micro->dtype == DT_BF16 ? 2 : 1;
    job->blocks = cpu_divide_up(g->channels, CHANNEL_BLOCK);
    job->partial = (struct conv_partial){.panels = cpu_divide_up(g->filters, micro->columns),
                                         .depth = g->taps_h * g->taps_w * g->channels,
                                         .filters = g->filters};
    piece_images = PIECE_CELLS * job->cell_images;
    chunk_bytes =
        job->partial.panels * job->partial.depth * micro->columns * (int64_t)sizeof(float);
    chunks = PARTIAL_BYTES_MAX / chunk_bytes;
    if (chunks > CHUNKS_WANTED)
        chunks = CHUNKS_WANTED;
    if (chunks < 1)
        chunks = 1;
    job->chunk_images =
        cpu_divide_up(cpu_divide_up(g->images, chunks), piece_images) * piece_images;
    job->partial.chunks = cpu_divide_up(g->images, job->chunk_images);
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

static bool weight_inside_accept(const struct kernel_query *query, const struct micro *micro,
                                 struct fit *fit, char why[KERNEL_WHY_BYTES])
{
    struct weight_job job;

    if (!cpu_accept_dtype(query, 0, micro->dtype, why) ||
        !plan_job(&query->op->attr.conv, query->in, query->out[0], micro, &job, why) ||
        !inside_accept(&job.g, fit, why))
        return false;
    if (job.g.height * job.g.width > PIXELS_MAX || job.g.out_height * job.g.out_width > PIXELS_MAX)
        return conv_refuse(why, "pixels above 25: ", job.g.height * job.g.width);
    fit->scratch_bytes =
        (size_t)(job.partial.chunks * job.partial.panels * job.partial.depth * micro->columns) *
        sizeof(float);
    fit->block[0] = (int)job.chunk_images;
    fit->block[1] = (int)(PIECE_CELLS * job.cell_images);
    fit->block[2] = CHANNEL_BLOCK;
    fit->block[3] = micro->rows_max;
    return true;
}

static int64_t weight_inside_items(const struct kernel_args *args, const struct micro *micro,
                                   int phase)
{
    const struct weight_job job = job_of(args, micro);

    return phase == 0 ? job.partial.chunks * job.blocks
                      : job.partial.panels * cpu_divide_up(job.partial.depth, CONV_ADD_ROWS);
}

/* Some channels of some images: of x or of dy, each image of `pixels` pixels of `all` channels. */
struct side {
    const void *data;
    int64_t pixels, all, channel, channels;
    int64_t row; /* cells from an image to the next in the copy */
};

/* Cells of the images [first, last), to[pixel][cell][channel]; columns up to `row` that are no channels become zero. */
static void copy_images(const struct weight_job *job, const struct micro *micro,
                        const struct side *side, int64_t first, int64_t last, float *to)
{
    const int64_t image = side->pixels * side->all;

    for (int64_t pixel = 0; pixel < side->pixels; pixel++) {
        float *row = to + pixel * PIECE_CELLS * side->row;

        for (int64_t n = first; n < last; n += job->cell_images, row += side->row) {
            const void *from =
                cpu_at(micro, side->data, n * image + pixel * side->all + side->channel);

            if (micro->dtype == DT_BF16)
                micro->interleave(side->channels, from,
                                  n + 1 < last ? (const uint16_t *)from + image : NULL, row);
            else
                memcpy(row, from, (size_t)side->channels * sizeof *row);
            memset(row + side->channels, 0, (size_t)(side->row - side->channels) * sizeof *row);
        }
    }
}

/* sums[channel][column] of one tap (+)= what a piece adds. */
static void add_tap(const struct micro *micro, const struct conv_geometry *g, int64_t tap,
                    int64_t channels, const float *x, const float *dy, int64_t cells, float *sums,
                    bool add)
{
    const int64_t tiles = cpu_divide_up(channels, micro->rows_max);
    const int64_t small = channels / tiles, larger_ones = channels % tiles;
    struct outer_tile tile = {.x_pixel = CHANNEL_BLOCK, .out_height = 1, .out_width = cells};
    int64_t at = 0;

    for (int64_t i = 0; i < tiles; i++, at += tile.rows) {
        tile.rows = (int)(small + (i < larger_ones));
        tile.acc = sums + at * micro->columns;
        tile.add = add;
        for (int64_t pixel = 0; pixel < g->out_height * g->out_width; pixel++) {
            const int64_t from = inside_pixel(g, pixel / g->out_width, pixel % g->out_width, tap);

            if (from < 0)
                continue;
            tile.x = x + from * PIECE_CELLS * CHANNEL_BLOCK + at;
            tile.dy = dy + pixel * PIECE_CELLS * micro->columns;
            micro->outer_tile(&tile);
            tile.add = true;
        }
        if (!tile.add) /* this tap is never inside */
            memset(tile.acc, 0, (size_t)(tile.rows * micro->columns) * sizeof *tile.acc);
    }
}

/* Phase 0: what one chunk adds to one block of channels of all panels. */
static void sum_chunk(const struct kernel_args *args, const struct micro *micro,
                      const struct weight_job *job, int64_t chunk, int64_t block)
{
    const struct conv_geometry *g = &job->g;
    const struct conv_partial *partial = &job->partial;
    const int64_t piece_images = PIECE_CELLS * job->cell_images, begin = chunk * job->chunk_images;
    const int64_t end =
        begin + job->chunk_images < g->images ? begin + job->chunk_images : g->images;
    const int64_t panel_floats = partial->depth * micro->columns;
    float *chunk_sums = (float *)args->scratch + chunk * partial->panels * panel_floats;
    struct side x = {.data = args->in[1],
                     .pixels = g->height * g->width,
                     .all = g->channels,
                     .channel = block * CHANNEL_BLOCK,
                     .row = CHANNEL_BLOCK};
    struct side dy = {.data = args->in[0],
                      .pixels = g->out_height * g->out_width,
                      .all = g->filters,
                      .row = micro->columns};
    _Alignas(64) float x_copy[PIXELS_MAX * PIECE_CELLS * CHANNEL_BLOCK];
    _Alignas(64) float dy_copy[PIXELS_MAX * PIECE_CELLS * MICRO_COLUMNS_MAX];

    x.channels =
        g->channels - x.channel < CHANNEL_BLOCK ? g->channels - x.channel : (int64_t)CHANNEL_BLOCK;
    for (int64_t first = begin; first < end; first += piece_images) {
        const int64_t last = first + piece_images < end ? first + piece_images : end;

        copy_images(job, micro, &x, first, last, x_copy);
        for (int64_t panel = 0; panel < partial->panels; panel++) {
            float *sums = chunk_sums + panel * panel_floats + x.channel * micro->columns;

            dy.channel = panel * micro->columns;
            dy.channels = g->filters - dy.channel < micro->columns ? g->filters - dy.channel
                                                                   : (int64_t)micro->columns;
            copy_images(job, micro, &dy, first, last, dy_copy);
            for (int64_t tap = 0; tap < g->taps_h * g->taps_w; tap++)
                add_tap(micro, g, tap, x.channels, x_copy, dy_copy,
                        cpu_divide_up(last - first, job->cell_images),
                        sums + tap * g->channels * micro->columns, first > begin);
        }
    }
}

static void weight_inside_work(const struct kernel_args *args, const struct micro *micro, int phase,
                               int64_t item)
{
    const struct weight_job job = job_of(args, micro);

    if (phase == 0) {
        sum_chunk(args, micro, &job, item / job.blocks, item % job.blocks);
    } else {
        const int64_t parts = cpu_divide_up(job.partial.depth, CONV_ADD_ROWS);

        conv_add_chunks(args, &job.partial, micro->columns, item / parts,
                        item % parts * CONV_ADD_ROWS);
    }
}

DEFINE_MICRO_KERNELS(conv2d_grad_weight_inside, weight_inside, OP_CONV2D_GRAD_WEIGHT,
                     cpu_two_phases);
DEFINE_BF16_KERNEL(conv2d_grad_weight_inside, weight_inside, OP_CONV2D_GRAD_WEIGHT, cpu_two_phases);
