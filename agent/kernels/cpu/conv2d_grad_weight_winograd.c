/* agent/kernels/cpu/conv2d_grad_weight_winograd.c: conv2d_grad_weight of 3 x 3 taps and stride 1 by Winograd's F(3x3, 2x2)
 * (Lavin and Gray, arXiv 1509.09308, section 4.2): per tile, 16 products of a channel and a filter where the plain sum
 * has 36.
 *
 *     4 x 4 of x        per place i of 16, over tiles                            3 x 3 of dw
 *     d -- B^T d B -->  V[i][tile][c]  x  W[i][tile][k]  =  S[i][c][k]  -- A^T S A -->  dw
 *     2 x 2 of dy  -- G g G^T -->         W
 *
 *     B^T as in conv2d_winograd.c    G = 1  0   A^T = 1  1/2  1/2  0     The halves belong to G and stand in A^T, so that
 *                                        1  1         0  1/2 -1/2  0     W is made by adds alone.
 *                                        1 -1         0  1/2  1/2 -1
 *                                        0  1
 *
 * The tiles are cut into chunks by shape alone. Phase 0 has an item per (chunk, block of channels, pair of panels of
 * filters), with its own S in scratch, [chunk][panel][place][c][column]; phase 1 adds the chunks in index order and goes the
 * way back, an item per few channels of a panel.
 *
 *     item: for each piece of PIECE_CELLS tiles:   V  16 x 64 x 64 cells, 256 KiB, on the stack
 *             for each panel:                      W  16 x 64 x 32 cells, 128 KiB, on the stack
 *               for each place:                    V[place] and W[place] are 24 KiB: they stay in L1
 *                 for each rows_max channels:      sums in registers over the piece; S, 128 KiB a panel, stays in L2
 *
 * In BF16 a cell holds two tiles that follow each other; beside an odd last tile there are zeros.
 * V and, in BF16, W are rounded to the type of the operands; sums are F32. Bound by the multiply-add units; transforms
 * take a tenth. */
#include <string.h>

#include "agent/kernels/cpu/table_internal.h"
#include "agent/kernels/cpu/winograd_internal.h"

#define PLACES            WINOGRAD_PLACES
#define PIECE_CELLS       64
#define CHANNEL_BLOCK     128
#define PANELS_PER_ITEM   8 /* share V */
#define PARTIAL_BYTES_MAX (INT64_C(32) << 20)
#define CHUNK_FLOPS       150e6 /* of an item: about 0.8 ms, small against the op */
#define BACK_CHANNELS     16    /* of an item of phase 1: it writes 64 bytes of a filter's tap */

struct weight_job {
    struct winograd_tiles tiles;
    int64_t blocks, panels, chunks, chunk_tiles;
    int64_t cell_tiles;   /* tiles of a cell */
    int64_t panel_floats; /* of S */
};

static bool plan_job(const struct conv_attr *attr, const struct tensor *const *in,
                     const struct tensor *dw, const struct micro *micro, struct weight_job *job,
                     char why[KERNEL_WHY_BYTES])
{
    struct conv_geometry g;
    int64_t piece_tiles, wanted, chunks_max, width;

    if (!conv_geometry_forward(attr, in[1], dw, in[0], &g, why) ||
        !winograd_tiles_of(&g, &job->tiles, why))
        return false;
    job->cell_tiles = micro->dtype == DT_BF16 ? 2 : 1;
    job->blocks = cpu_divide_up(g.channels, CHANNEL_BLOCK);
    job->panels = cpu_divide_up(g.filters, micro->columns);
    job->panel_floats = (int64_t)PLACES * g.channels * micro->columns;
    piece_tiles = PIECE_CELLS * job->cell_tiles;
    width = (job->panels < PANELS_PER_ITEM ? job->panels : PANELS_PER_ITEM) * micro->columns;
    wanted = (int64_t)(CHUNK_FLOPS / (2.0 * PLACES * CHANNEL_BLOCK * (double)width));
    chunks_max = PARTIAL_BYTES_MAX / (job->panels * job->panel_floats * (int64_t)sizeof(float));
    if (chunks_max < 1)
        chunks_max = 1;
    if (wanted < cpu_divide_up(job->tiles.count, chunks_max))
        wanted = cpu_divide_up(job->tiles.count, chunks_max);
    job->chunk_tiles = cpu_divide_up(wanted, piece_tiles) * piece_tiles;
    job->chunks = cpu_divide_up(job->tiles.count, job->chunk_tiles);
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

static bool weight_winograd_accept(const struct kernel_query *query, const struct micro *micro,
                                   struct fit *fit, char why[KERNEL_WHY_BYTES])
{
    struct weight_job job;

    if (!cpu_accept_dtype(query, 0, micro->dtype, why) ||
        !plan_job(&query->op->attr.conv, query->in, query->out[0], micro, &job, why))
        return false;
    fit->scratch_bytes = (size_t)(job.chunks * job.panels * job.panel_floats) * sizeof(float);
    fit->block[0] = (int)job.chunk_tiles;
    fit->block[1] = (int)(PIECE_CELLS * job.cell_tiles);
    fit->block[2] = CHANNEL_BLOCK;
    fit->block[3] = micro->rows_max;
    fit->flops = winograd_flops(&job.tiles);
    return true;
}

static int64_t weight_winograd_items(const struct kernel_args *args, const struct micro *micro,
                                     int phase)
{
    const struct weight_job job = job_of(args, micro);

    if (phase == 0)
        return job.chunks * job.blocks * cpu_divide_up(job.panels, PANELS_PER_ITEM);
    return job.panels * cpu_divide_up(job.tiles.g.channels, BACK_CHANNELS);
}

/* Some channels of some tiles: of x or of dy. */
struct side {
    const void *data;
    bool is_dy;
    int64_t channel, channels; /* the first, how many */
    int64_t row;               /* cells from a tile to the next in V or W */
};

static const float zeros[CHANNEL_BLOCK]; /* a pixel outside */

/* The pixels of one tile, all outside where it is none. */
static void find_pixels(const struct weight_job *job, const struct micro *micro,
                        const struct side *side, int64_t tile, bool exists, const void *pixel[16])
{
    int64_t place[4];

    if (!exists) {
        for (int i = 0; i < 16; i++)
            pixel[i] = zeros;
    } else if (side->is_dy) {
        winograd_result(&job->tiles, tile, side->channel, place);
        for (int i = 0; i < 4; i++)
            pixel[i] = place[i] < 0 ? (const void *)zeros : cpu_at(micro, side->data, place[i]);
    } else {
        winograd_source(&job->tiles, micro, side->data, tile, side->channel, zeros, pixel);
    }
}

/* Cells of the tiles [first, last), to[place][cell][channel]. */
static void transform(const struct weight_job *job, const struct micro *micro,
                      const struct side *side, int64_t first, int64_t last, float *to)
{
    struct winograd_cells cells = {.channels = side->channels,
                                   .place_stride = PIECE_CELLS * side->row};

    cells.cells = to;
    for (int64_t tile = first; tile < last; tile += job->cell_tiles, cells.cells += side->row) {
        for (int64_t i = 0; i < job->cell_tiles; i++)
            find_pixels(job, micro, side, tile + i, tile + i < last, cells.pixel[i]);
        if (side->is_dy)
            micro->winograd_dy_cells(&cells);
        else
            micro->winograd_x_cells(&cells);
    }
}

/* S of one panel, [place][c][column] from the block's first channel on, += V x W over `cells`. */
static void multiply(const struct weight_job *job, const struct micro *micro,
                     const struct side *side, const float *v, const float *w, int64_t cells,
                     float *sums, bool add)
{
    const int64_t tiles = cpu_divide_up(side->channels, micro->rows_max);
    const int64_t small = side->channels / tiles, larger_ones = side->channels % tiles;
    struct outer_tile tile = {.x_pixel = side->row, .out_height = 1, .out_width = cells};

    tile.add = add;
    for (int64_t place = 0; place < PLACES; place++) {
        tile.x = v + place * PIECE_CELLS * side->row;
        tile.dy = w + place * PIECE_CELLS * micro->columns;
        tile.acc = sums + place * job->tiles.g.channels * micro->columns;
        for (int64_t i = 0; i < tiles; i++) {
            tile.rows = (int)(small + (i < larger_ones));
            micro->outer_tile(&tile);
            tile.x += tile.rows;
            tile.acc += (ptrdiff_t)tile.rows * micro->columns;
        }
    }
}

/* Phase 0: what one chunk adds to one block of channels of the panels from panel_first on. */
static void sum_chunk(const struct kernel_args *args, const struct micro *micro,
                      const struct weight_job *job, int64_t chunk, int64_t block,
                      int64_t panel_first)
{
    const struct conv_geometry *g = &job->tiles.g;
    const int64_t piece_tiles = PIECE_CELLS * job->cell_tiles, begin = chunk * job->chunk_tiles;
    const int64_t end =
        begin + job->chunk_tiles < job->tiles.count ? begin + job->chunk_tiles : job->tiles.count;
    const int64_t channel = block * CHANNEL_BLOCK, channels_left = g->channels - channel;
    struct side x = {.data = args->in[1], .channel = channel, .row = CHANNEL_BLOCK};
    _Alignas(64) float v[PLACES * PIECE_CELLS * CHANNEL_BLOCK];
    _Alignas(64) float w[PLACES * PIECE_CELLS * MICRO_COLUMNS_MAX];

    x.channels = channels_left < CHANNEL_BLOCK ? channels_left : (int64_t)CHANNEL_BLOCK;
    for (int64_t first = begin; first < end; first += piece_tiles) {
        const int64_t last = first + piece_tiles < end ? first + piece_tiles : end;
        const int64_t cells = cpu_divide_up(last - first, job->cell_tiles);

        transform(job, micro, &x, first, last, v);
        for (int64_t panel = panel_first;
             panel < panel_first + PANELS_PER_ITEM && panel < job->panels; panel++) {
            const int64_t column = panel * micro->columns, columns_left = g->filters - column;
            struct side dy = {
                .data = args->in[0], .is_dy = true, .channel = column, .row = micro->columns};
            float *sums = (float *)args->scratch +
                          (chunk * job->panels + panel) * job->panel_floats +
                          channel * micro->columns;

            dy.channels = columns_left < micro->columns ? columns_left : (int64_t)micro->columns;
            if (dy.channels < micro->columns)
                memset(w, 0, sizeof w); /* the panel's other columns are read */
            transform(job, micro, &dy, first, last, w);
            multiply(job, micro, &x, v, w, cells, sums, first > begin);
        }
    }
}

/* A^T times a column of four, `stride` floats apart, for all columns of a panel: out[tap], out_stride apart. */
static void gather_taps(const float *m, int64_t stride, float *out, int64_t out_stride,
                        int64_t columns)
{
    for (int64_t k = 0; k < columns; k++) {
        const float sum = 0.5f * (m[stride + k] + m[2 * stride + k]);
        const float difference = 0.5f * (m[stride + k] - m[2 * stride + k]);

        out[k] = m[k] + sum;
        out[out_stride + k] = difference;
        out[2 * out_stride + k] = sum - m[3 * stride + k];
    }
}

/* Phase 1: dw of the channels [first, first + BACK_CHANNELS) and of one panel. */
static void finish(const struct kernel_args *args, const struct micro *micro,
                   const struct weight_job *job, int64_t panel, int64_t first)
{
    const struct conv_geometry *g = &job->tiles.g;
    const int64_t columns = micro->columns, left = g->channels - first;
    const int64_t channels = left < BACK_CHANNELS ? left : (int64_t)BACK_CHANNELS;
    const int64_t filters_left = g->filters - panel * columns;
    const float *from = (const float *)args->scratch + panel * job->panel_floats + first * columns;
    float *dw = (float *)args->out[0] + panel * columns * 9 * g->channels + first;

    for (int64_t c = 0; c < channels; c++) {
        float m[PLACES][MICRO_COLUMNS_MAX] = {{0}}, rows[3][4][MICRO_COLUMNS_MAX];
        float taps[9][MICRO_COLUMNS_MAX];

        for (int64_t chunk = 0; chunk < job->chunks; chunk++)
            for (int64_t place = 0; place < PLACES; place++) {
                const float *s = from + chunk * job->panels * job->panel_floats +
                                 (place * g->channels + c) * columns;

                for (int64_t k = 0; k < columns; k++)
                    m[place][k] += s[k];
            }
        for (int64_t j = 0; j < 4; j++)
            gather_taps(m[j], (ptrdiff_t)4 * MICRO_COLUMNS_MAX, rows[0][j],
                        (ptrdiff_t)4 * MICRO_COLUMNS_MAX, columns);
        for (int64_t r = 0; r < 3; r++)
            gather_taps(rows[r][0], MICRO_COLUMNS_MAX, taps[r * 3], MICRO_COLUMNS_MAX, columns);
        for (int64_t k = 0; k < columns && k < filters_left; k++)
            for (int64_t tap = 0; tap < 9; tap++)
                dw[(k * 9 + tap) * g->channels + c] = taps[tap][k];
    }
}

static void weight_winograd_work(const struct kernel_args *args, const struct micro *micro,
                                 int phase, int64_t item)
{
    const struct weight_job job = job_of(args, micro);

    if (phase == 0) {
        const int64_t groups = cpu_divide_up(job.panels, PANELS_PER_ITEM);

        sum_chunk(args, micro, &job, item / groups / job.blocks, item / groups % job.blocks,
                  item % groups * PANELS_PER_ITEM);
    } else {
        const int64_t parts = cpu_divide_up(job.tiles.g.channels, BACK_CHANNELS);

        finish(args, micro, &job, item / parts, item % parts * BACK_CHANNELS);
    }
}

DEFINE_MICRO_KERNELS(conv2d_grad_weight_winograd, weight_winograd, OP_CONV2D_GRAD_WEIGHT,
                     cpu_two_phases);
DEFINE_BF16_KERNEL(conv2d_grad_weight_winograd, weight_winograd, OP_CONV2D_GRAD_WEIGHT,
                   cpu_two_phases);
