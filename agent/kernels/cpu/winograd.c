/* agent/kernels/cpu/winograd.c: see winograd_internal.h. */
#include "agent/kernels/cpu/winograd_internal.h"

#include "agent/kernels/cpu/table_internal.h"

#define CHANNELS_LEAST \
    20 /* of source and result: below, the transforms take more than the products */
#define GAIN_LEAST \
    1.3 /* multiply-adds of the plain sum to ours, below which the transforms eat what is won */

bool winograd_tiles_of(const struct conv_geometry *g, struct winograd_tiles *tiles,
                       char why[KERNEL_WHY_BYTES])
{
    if (g->taps_h != 3 || g->taps_w != 3)
        return conv_refuse(why, "taps are not 3 x 3: ", g->taps_h);
    if (g->stride_h * g->stride_w * g->dilation_h * g->dilation_w * g->insert_h * g->insert_w != 1)
        return conv_refuse(why, "stride or dilation above ", 1);
    if (g->channels < CHANNELS_LEAST)
        return conv_refuse(why, "channels below 20: ", g->channels);
    if (g->filters < CHANNELS_LEAST)
        return conv_refuse(why, "filters below 20: ", g->filters);
    tiles->g = *g;
    tiles->rows = cpu_divide_up(g->out_height, 2);
    tiles->columns = cpu_divide_up(g->out_width, 2);
    if (9.0 * (double)(g->out_height * g->out_width) <
        GAIN_LEAST * (double)WINOGRAD_PLACES * (double)(tiles->rows * tiles->columns))
        return conv_refuse(why, "tiles of 2 x 2 waste too much of width ", g->out_width);
    tiles->count = g->images * tiles->rows * tiles->columns;
    return true;
}

uint64_t winograd_flops(const struct winograd_tiles *tiles)
{
    return 2 * (uint64_t)(WINOGRAD_PLACES * tiles->count * tiles->g.channels * tiles->g.filters);
}

/* Where a tile stands. */
struct tile_place {
    int64_t image, row, column; /* first output pixel */
};

static struct tile_place tile_at(const struct winograd_tiles *tiles, int64_t tile)
{
    const int64_t of_image = tiles->rows * tiles->columns, rest = tile % of_image;

    return (struct tile_place){tile / of_image, rest / tiles->columns * 2,
                               rest % tiles->columns * 2};
}

void winograd_source(const struct winograd_tiles *tiles, const struct micro *micro,
                     const void *source, int64_t tile, int64_t channel, const void *zeros,
                     const void *pixel[16])
{
    const struct conv_geometry *g = &tiles->g;
    const struct tile_place at = tile_at(tiles, tile);
    const int64_t top = at.row - g->top, left = at.column - g->left;

    for (int64_t r = 0; r < 4; r++) {
        const int64_t h = top + r;
        const int64_t row = ((at.image * g->height + h) * g->width + left) * g->channels + channel;
        const bool inside = h >= 0 && h < g->height;

        for (int64_t s = 0; s < 4; s++)
            pixel[r * 4 + s] = inside && left + s >= 0 && left + s < g->width
                                   ? cpu_at(micro, source, row + s * g->channels)
                                   : zeros;
    }
}

void winograd_result(const struct winograd_tiles *tiles, int64_t tile, int64_t column,
                     int64_t place[4])
{
    const struct conv_geometry *g = &tiles->g;
    const struct tile_place at = tile_at(tiles, tile);

    for (int64_t p = 0; p < 2; p++)
        for (int64_t q = 0; q < 2; q++) {
            const int64_t h = at.row + p, w = at.column + q;

            place[p * 2 + q] =
                h < g->out_height && w < g->out_width
                    ? ((at.image * g->out_height + h) * g->out_width + w) * g->filters + column
                    : -1;
        }
}
