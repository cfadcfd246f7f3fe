/* agent/kernels/cpu/winograd_body_internal.h: the transforms of Winograd's F(2x2, 3x3) and F(3x3, 2x2) around the
 * products of conv2d_winograd.c and conv2d_grad_weight_winograd.c, which have the formulas; written once over
 * simd_internal.h and compiled by each micro_<isa>.c.
 * A transform works on one tile and a vector of channels: 16 numbers in registers, adds only. Bound by loads and stores. */
#include <stdbool.h>

#include "agent/kernels/cpu/micro_internal.h"
#include "agent/kernels/cpu/simd_internal.h"

#define TRANSFORM_INLINE static inline __attribute__((always_inline))

/* B^T times a column of four. */
static inline void spread(const vf d[4], vf out[4])
{
    out[0] = vf_sub(d[0], d[2]);
    out[1] = vf_add(d[1], d[2]);
    out[2] = vf_sub(d[2], d[1]);
    out[3] = vf_sub(d[1], d[3]);
}

/* B^T d B of one vector of channels from c on, `left` of them; `whole`, a constant where this is inlined: all its lanes
 * are channels. */
TRANSFORM_INLINE void spread_x(const void *const pixel[16], int64_t c, int64_t left,
                               const bool whole, vf out[16])
{
    vf rows[4][4]; /* [s][i]: column s of the tile, spread */

#pragma GCC unroll 4
    for (int s = 0; s < 4; s++) {
        vf column[4];

#pragma GCC unroll 4
        for (int r = 0; r < 4; r++) {
            const stored *x = (const stored *)pixel[r * 4 + s] + c;

            column[r] = whole ? vs_load(x) : vs_load_n(x, left);
        }
        spread(column, rows[s]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        const vf row[4] = {rows[0][i], rows[1][i], rows[2][i], rows[3][i]};

        spread(row, &out[(ptrdiff_t)i * 4]);
    }
}

TRANSFORM_INLINE void spread_channels(const struct winograd_in *in, int64_t c, const bool whole)
{
    const int64_t left = in->channels - c;
    vf out[16];

    spread_x(in->pixel, c, left, whole, out);
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++) {
        stored *v = (stored *)in->v + i * in->place_stride + c;

        if (whole)
            vs_store(v, out[i]);
        else
            vs_store_n(v, left, out[i]);
    }
}

static void winograd_in(const struct winograd_in *in)
{
    int64_t c = 0;

    for (; c + VF_LANES <= in->channels; c += VF_LANES)
        spread_channels(in, c, true);
    if (c < in->channels)
        spread_channels(in, c, false);
}

/* Twice G times a column of two of dy, but for its ends: the halves are left to the last transform. */
static inline void spread_two(vf first, vf second, vf out[4])
{
    out[0] = first;
    out[1] = vf_add(first, second);
    out[2] = vf_sub(first, second);
    out[3] = second;
}

TRANSFORM_INLINE void spread_dy(const void *const pixel[4], int64_t c, int64_t left,
                                const bool whole, vf out[16])
{
    vf d[4], columns[2][4]; /* [s][i] */

#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        const stored *dy = (const stored *)pixel[i] + c;

        d[i] = whole ? vs_load(dy) : vs_load_n(dy, left);
    }
    spread_two(d[0], d[2], columns[0]);
    spread_two(d[1], d[3], columns[1]);
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++)
        spread_two(columns[0][i], columns[1][i], &out[(ptrdiff_t)i * 4]);
}

TRANSFORM_INLINE void spread_cells(const struct winograd_cells *in, int64_t c, const bool whole,
                                   const bool is_dy)
{
    const int64_t left = in->channels - c;
    vf out[CELL_NUMBERS][16];

#pragma GCC unroll 2
    for (int i = 0; i < CELL_NUMBERS; i++)
        if (is_dy)
            spread_dy(in->pixel[i], c, left, whole, out[i]);
        else
            spread_x(in->pixel[i], c, left, whole, out[i]);
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++) {
        float *to = in->cells + i * in->place_stride + c;
        const vf cells = vs_cells(out[0][i], out[CELL_NUMBERS - 1][i]);

        if (whole)
            vf_store(to, cells);
        else
            vf_store_n(to, left, cells);
    }
}

static void winograd_x_cells(const struct winograd_cells *in)
{
    int64_t c = 0;

    for (; c + VF_LANES <= in->channels; c += VF_LANES)
        spread_cells(in, c, true, false);
    if (c < in->channels)
        spread_cells(in, c, false, false);
}

static void winograd_dy_cells(const struct winograd_cells *in)
{
    int64_t c = 0;

    for (; c + VF_LANES <= in->channels; c += VF_LANES)
        spread_cells(in, c, true, true);
    if (c < in->channels)
        spread_cells(in, c, false, true);
}

/* A^T times a column of four. */
static inline void gather(const vf m[4], vf out[2])
{
    out[0] = vf_add(vf_add(m[0], m[1]), m[2]);
    out[1] = vf_sub(vf_sub(m[1], m[2]), m[3]);
}

TRANSFORM_INLINE void gather_columns(const struct winograd_out *out, int64_t c, const bool whole)
{
    const int64_t left = out->columns - c;
    vf rows[4][2]; /* [j][p]: column j of the products, gathered */

#pragma GCC unroll 4
    for (int j = 0; j < 4; j++) {
        vf column[4];

#pragma GCC unroll 4
        for (int i = 0; i < 4; i++)
            column[i] = vf_load(out->sums + (i * 4 + j) * out->place_stride + c);
        gather(column, rows[j]);
    }
#pragma GCC unroll 2
    for (int p = 0; p < 2; p++) {
        const vf row[4] = {rows[0][p], rows[1][p], rows[2][p], rows[3][p]};
        vf y[2];

        gather(row, y);
#pragma GCC unroll 2
        for (int q = 0; q < 2; q++) {
            stored *to = (stored *)out->pixel[p * 2 + q];

            if (to == NULL)
                continue;
            if (whole)
                vs_store(to + c, y[q]);
            else
                vs_store_n(to + c, left, y[q]);
        }
    }
}

static void winograd_out(const struct winograd_out *out)
{
    int64_t c = 0;

    for (; c + VF_LANES <= out->columns; c += VF_LANES)
        gather_columns(out, c, true);
    if (c < out->columns)
        gather_columns(out, c, false);
}
