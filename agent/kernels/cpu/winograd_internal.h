/* agent/kernels/cpu/winograd_internal.h: the tiles of a 3 x 3 convolution of stride 1 that Winograd's kernels share
 * (conv2d_winograd.c, conv2d_grad_weight_winograd.c). A tile is 2 x 2 pixels of the result, or of dy, and the 4 x 4 of
 * the source that they see; tiles run through all images.
 * Ownership: borrows. Threads: pure, any thread. */
#ifndef DAYBREAK_AGENT_KERNELS_CPU_WINOGRAD_INTERNAL_H
#define DAYBREAK_AGENT_KERNELS_CPU_WINOGRAD_INTERNAL_H

#include "agent/kernels/cpu/conv_internal.h"

#define WINOGRAD_PLACES 16 /* of a transformed tile */

struct winograd_tiles {
    struct conv_geometry g;
    int64_t rows, columns, count; /* of an image, of an image, of all images */
};

/* The tiles of g; false with why where the plain sum is possible alone, or faster. */
bool winograd_tiles_of(const struct conv_geometry *g, struct winograd_tiles *tiles,
                       char why[KERNEL_WHY_BYTES]);

/* Products and sums of them all, without the transforms. */
uint64_t winograd_flops(const struct winograd_tiles *tiles);

/* The 4 x 4 pixels of tile `tile` in the source, from `channel` on; `zeros` for those outside. */
void winograd_source(const struct winograd_tiles *tiles, const struct micro *micro,
                     const void *source, int64_t tile, int64_t channel, const void *zeros,
                     const void *pixel[16]);
/* Where its 2 x 2 pixels lie among N x P x Q x K numbers, from `column` on; -1: outside. */
void winograd_result(const struct winograd_tiles *tiles, int64_t tile, int64_t column,
                     int64_t place[4]);

#endif
