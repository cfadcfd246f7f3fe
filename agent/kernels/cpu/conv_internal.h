/* agent/kernels/cpu/conv_internal.h: the geometry that the three convolutions share. Each is one product over a
 * padded copy of a piece of its source:
 *
 *   conv2d              y  = x  (*) w                 source x
 *   conv2d_grad_input   dx = dy (*) flipped w         source dy, zeros between its pixels where stride > 1
 *   conv2d_grad_weight  dw = x^T dy                   source x
 *
 * In the copy, the input of tap row r of output pixel (p, q) is one run of S * C floats at
 * pixel_offset(p, q) + r * dilation * pitch: no im2col, every element is copied once, not R * S times.
 *
 *   copy of output rows [row_first, row_first + rows) of `images` images:
 *     per image: buffer_rows x buffer_columns x C, zeros where the source has no pixel
 *
 * All lengths are in cells of 4 bytes (micro_internal.h). In F32 a cell is a number. In BF16 it is two that follow each
 * other in the dim that the product sums over: two channels for the first two, so that C is halved and nothing else
 * changes; for the last, which sums over pixels, the same pixel and channel of two images, which the copy interleaves:
 * there N is halved.
 *
 * Ownership: borrows. Threads: pure, any thread. */
#ifndef DAYBREAK_AGENT_KERNELS_CPU_CONV_INTERNAL_H
#define DAYBREAK_AGENT_KERNELS_CPU_CONV_INTERNAL_H

#include "agent/kernels/cpu/micro_internal.h"
#include "agent/kernels/kernels.h"

/* Floats of a padded copy: it lies on the worker's stack, 320 KiB, inside the L2 cache of 1 MiB or more. */
#define CONV_BUFFER_FLOATS 81920
/* Pixels of one item: their pointers and the panel of dy lie on the stack, too. */
#define CONV_PIXELS_MAX 512

/* N source images of H x W x C give N x P x Q x K; insert: distance of source pixels in the virtual input. */
struct conv_geometry {
    int64_t images, height, width, channels;
    int64_t out_height, out_width, filters;
    int64_t taps_h, taps_w, stride_h, stride_w, dilation_h, dilation_w;
    int64_t top, left, insert_h, insert_w;
    int64_t
        pair_images; /* BF16 images of which the copy interleaves two; 0: cells are copied as they lie */
    const struct micro *micro; /* that does it */
};

/* A piece of the output: whole rows of whole images, and where its copy lies. */
struct conv_piece {
    int64_t image_first, images, row_first, rows;
    const float *data; /* cells of the copy, or of the source itself where it needs no padding */
    int64_t image_pitch, row_pitch;
};

/* why = what and the number, as in "groups=2"; returns false. */
bool conv_refuse(char why[KERNEL_WHY_BYTES], const char *what, int64_t number);

/* For conv2d (and grad_weight) and for grad_input; false with why when this code cannot do it. */
bool conv_geometry_forward(const struct conv_attr *attr, const struct tensor *x,
                           const struct tensor *w, const struct tensor *y, struct conv_geometry *g,
                           char why[KERNEL_WHY_BYTES]);
bool conv_geometry_backward(const struct conv_attr *attr, const struct tensor *dy,
                            const struct tensor *w, const struct tensor *dx,
                            struct conv_geometry *g, char why[KERNEL_WHY_BYTES]);

/* The one of conv2d, or of conv2d_grad_input. */
bool conv_geometry_of(enum op_kind kind, const struct conv_attr *attr, const struct tensor *source,
                      const struct tensor *w, const struct tensor *result, struct conv_geometry *g,
                      char why[KERNEL_WHY_BYTES]);

/* Place in w of the weight of tap (r, s), source channel c, filter k of the product at hand. w is [K][R][S][C] in both: the
 * backward product has w's C as its filters, w's K as its channels, and flipped taps. */
int64_t conv_weight_place(enum op_kind kind, const struct conv_geometry *g, int64_t channels,
                          int64_t tap, int64_t c, int64_t k);

/* Panel `panel` of the weights into scratch, [panel][tap][cell of channels][column], zeros beyond the last filter. */
void conv_pack_panel(const struct kernel_args *args, const struct conv_geometry *g,
                     const struct micro *micro, int64_t panel);

/* Sums of a weight gradient as its first phase leaves them in scratch: [chunk][panel][t][column], t < depth. */
struct conv_partial {
    int64_t chunks, panels, depth, filters;
};
#define CONV_ADD_ROWS 16 /* places t of an item of the second phase: it writes 64 bytes a filter */
/* Adds the chunks of one panel in index order, from t_first on, into dw[k][t]. */
void conv_add_chunks(const struct kernel_args *args, const struct conv_partial *partial,
                     int64_t columns, int64_t panel, int64_t t_first);

/* For BF16: cells of two channels, when their number is even; cells of two images. */
bool conv_pair_channels(struct conv_geometry *g, char why[KERNEL_WHY_BYTES]);
void conv_pair_images(struct conv_geometry *g, const struct micro *micro);

/* How the output is cut: pieces of `images` images by `rows` rows, of about pixels_wanted pixels each. */
struct conv_cut {
    int64_t images, rows; /* of a piece; one of them spans: rows == P or images == 1 */
    int64_t image_groups, strips;
};
/* false when not even one output row fits the buffer. */
bool conv_cut_output(const struct conv_geometry *g, int64_t pixels_wanted, struct conv_cut *cut,
                     char why[KERNEL_WHY_BYTES]);
/* Piece `index` < image_groups * strips: strips of one group of images follow each other. */
struct conv_piece conv_piece_at(const struct conv_geometry *g, const struct conv_cut *cut,
                                int64_t index);

/* Fills piece->data: the source where it needs no copy, else `buffer` (CONV_BUFFER_FLOATS). */
void conv_load_piece(const struct conv_geometry *g, struct conv_piece *piece, const void *source,
                     float *buffer);

/* Runs of one output pixel: offsets from its first input element. */
struct conv_runs {
    int64_t count, length; /* length: S * C, or C where dilation parts the taps */
};
struct conv_runs conv_runs_of(const struct conv_geometry *g);
int64_t conv_run_offset(const struct conv_geometry *g, const struct conv_piece *piece, int64_t run);

#endif
