/* agent/kernels/cpu/micro_internal.h: what differs by instruction set, as one table of functions per set.
 * Packing and blocking (<op>.c) are plain C over this table; micro_<isa>.c fill it. Letters as in ops.h.
 * Ownership: borrows all pointers; nothing is kept. Threads: pure, any thread.
 *
 * Products work on tiles of `rows` x `columns` sums that stay in registers: rows_max x 2 vectors.
 *
 *                    columns (2 vectors of packed B)
 *              t --> [ b0 ][ b1 ]        12 x 2 vectors of 16 (AVX-512): 24 sums, 2 of B, 1 broadcast of 32
 *   rows  a0[t]      sum    sum           6 x 2 vectors of 8 (AVX2):     12 sums, 2 of B, 1 broadcast of 16
 *         a1[t]      sum    sum          per t: 2 rows multiply-adds on rows + 2 loads, so loads never bound */
#ifndef DAYBREAK_AGENT_KERNELS_CPU_MICRO_INTERNAL_H
#define DAYBREAK_AGENT_KERNELS_CPU_MICRO_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/kernels/ops.h"

#define MICRO_ROWS_MAX    12
#define MICRO_COLUMNS_MAX 32

/* Activations and weights are F32 or, in micro_avx512_bf16, BF16; sums and statistics are F32. Products count in cells of
 * 4 bytes, one F32 or two BF16 that follow each other in the summed dim: below, a product of two cells is the sum of the
 * products of their numbers. Spans are pointers to numbers of micro->dtype.
 *
 * c[i][j] (+)= sum over segments g and t < length of a[i][segment[g] + t] * b[g * length + t][j],
 * i < rows, j < columns; b has all micro->columns columns, the unused ones zero. */
struct gemm_tile {
    const float *const *a; /* one pointer a row */
    const int64_t *segment;
    int64_t segments, length;
    const float *b;
    float *c;
    int64_t c_stride;
    int rows, columns;
    bool add; /* to what is in c; else c is not read */
};

/* acc[m][j] (+)= sum over p < out_height, q < out_width of x[p * x_row + q * x_pixel + m] * dy[p*out_width+q][j],
 * m < rows, j < micro->columns; acc and dy dense. */
struct outer_tile {
    const float *x;
    int64_t x_row, x_pixel, out_height, out_width;
    const float *dy;
    float *acc;
    int rows;
    bool add;
};

/* out[i][j] = fn(a[i][j], b[i][j]) over rows x columns; a stride of 0 repeats. */
struct binary_span {
    const void *a, *b;
    void *out;
    int64_t rows, columns;
    int64_t a_row, a_column, b_row, b_column; /* *_column: 0 or 1; out is dense */
};

/* Output pixels of max-pooling, next to each other in a row, over all channels: x[at] is the place of the first pixel's
 * window, for the places that are no padding; the next pixel's lies x_step numbers on. */
struct pool_span {
    const void *const *x;
    const uint8_t *place; /* r * S + s of each */
    int places;
    int64_t pixels, x_step, channels;
    void *y;
    uint8_t *index;
};

/* A row of pixels of dx under windows that lie side by side: tap s of pixel q's window is pixel q * taps + s of dx, and gets
 * dy where the index says place_first + s, else 0. */
struct unpool_span {
    const void *dy;
    const uint8_t *index;
    void *dx;
    int64_t pixels, taps, channels;
    int place_first;
};

/* Rows of a batch norm with the activation fn behind it (gelu_erf, silu or relu), over the channels' numbers:
 * y = (x - mean) * scale + shift, dy = dz * fn'(y). */
struct act_span {
    enum unary_fn fn;
    int64_t rows, channels;
    const void *dz, *x;
    const float *mean, *scale, *shift, *b, *c;
    float *sum, *dot; /* results of norm_act_dot */
    void *out;        /* of the other two */
};

/* One tile of conv2d_winograd.c: 4 x 4 pixels, each of `channels` numbers; to place i of 16 of V go the channels
 * at v + i * place_stride numbers. */
struct winograd_in {
    const void *pixel[16];
    int64_t channels, place_stride;
    void *v;
};
/* One cell of tiles of conv2d_grad_weight_winograd.c: 4 x 4 pixels of x, or 2 x 2 of dy, of the one tile of F32 or the two
 * of BF16; to place i go the channels' cells at cells + i * place_stride. */
struct winograd_cells {
    const void *pixel[2][16];
    int64_t channels, place_stride;
    float *cells;
};
/* And back: `columns` sums of place i at sums + i * place_stride, micro->columns of them readable, to as many numbers of
 * 2 x 2 pixels; NULL: outside. */
struct winograd_out {
    const float *sums;
    int64_t columns, place_stride;
    void *pixel[4];
};

struct micro {
    enum dtype dtype; /* F32, BF16: of spans, and of what cells hold */
    int lanes, columns, rows_max;
    void (*gemm_tile)(const struct gemm_tile *tile);
    void (*outer_tile)(const struct outer_tile *tile);

    void (*winograd_in)(const struct winograd_in *in);
    void (*winograd_x_cells)(const struct winograd_cells *in);
    void (*winograd_dy_cells)(const struct winograd_cells *in);
    void (*winograd_out)(const struct winograd_out *out);

    bool (*unary)(enum unary_fn fn, int64_t n, const void *x, void *y); /* false: has no such fn */
    bool (*unary_grad)(enum unary_fn fn, int64_t n, const void *dy, const void *x, void *dx);
    bool (*binary)(enum binary_fn fn, const struct binary_span *span);
    /* Per column over dense rows x C: sum; sum of (x - mean)^2; sums of dy and of dy * (x - mean). */
    void (*column_sum)(int64_t rows, int64_t channels, const void *x, float *sum);
    void (*column_m2)(int64_t rows, int64_t channels, const void *x, const float *mean, float *m2);
    void (*column_dot)(int64_t rows, int64_t channels, const void *dy, const void *x,
                       const float *mean, float *sum_dy, float *sum_dy_x);
    /* y = (x - mean) * scale + shift */
    void (*normalise)(int64_t rows, int64_t channels, const void *x, const float *mean,
                      const float *scale, const float *shift, void *y);
    /* dx = a dy + (x - mean) b + c */
    void (*normalise_grad)(int64_t rows, int64_t channels, const void *dy, const void *x,
                           const float *mean, const float *a, const float *b, const float *c,
                           void *dx);
    void (*norm_act)(const struct act_span *span); /* out = fn(y) */
    void (*norm_act_dot)(
        const struct act_span *span); /* per column: sums of dy, of dy * (x - mean) */
    void (*norm_act_grad)(const struct act_span *span); /* out = scale dy + (x - mean) b + c */
    void (*pool_max)(const struct pool_span *span);
    void (*unpool_max)(const struct unpool_span *span);
    void (*sgd)(int64_t n, const float *w, const float *g, const float *m, const float hyper[3],
                bool nesterov, float *w_new, float *m_new); /* hyper: lr, decay, momentum */

    /* BF16 alone: to and from F32. */
    void (*narrow)(int64_t n, const float *x, void *y);
    void (*widen)(int64_t n, const void *x, float *y);
    /* cells[i] = first[i], second[i]; second NULL: zeros. */
    void (*interleave)(int64_t n, const uint16_t *first, const uint16_t *second, float *cells);
};

extern const struct micro micro_avx512, micro_avx2, micro_avx512_bf16;

#endif
