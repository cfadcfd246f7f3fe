/* agent/kernels/cpu/winograd_body_internal.h: the two transforms of Winograd's F(2x2, 3x3) around the products of
 * conv2d_winograd.c, which has the formulas; written once over simd_internal.h and compiled by each micro_<isa>.c.
 * A transform works on one tile and a vector of channels: 16 numbers in registers, adds only. Bound by loads and stores. */
#include <stdbool.h>

#include "agent/kernels/cpu/micro_internal.h"
#include "agent/kernels/cpu/simd_internal.h"

/* B^T times a column of four. */
static inline void spread(const vf d[4], vf out[4])
{
    out[0] = vf_sub(d[0], d[2]);
    out[1] = vf_add(d[1], d[2]);
    out[2] = vf_sub(d[2], d[1]);
    out[3] = vf_sub(d[1], d[3]);
}

/* One vector of channels from c on; `whole`, a constant where this is inlined: all its lanes are channels. */
static inline __attribute__((always_inline)) void spread_channels(const struct winograd_in *in,
                                                                  int64_t c, const bool whole)
{
    const int64_t left = in->channels - c;
    vf rows[4][4]; /* [s][i]: column s of the tile, spread */

#pragma GCC unroll 4
    for (int s = 0; s < 4; s++) {
        vf column[4];

#pragma GCC unroll 4
        for (int r = 0; r < 4; r++) {
            const stored *x = (const stored *)in->pixel[r * 4 + s] + c;

            column[r] = whole ? vs_load(x) : vs_load_n(x, left);
        }
        spread(column, rows[s]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        const vf row[4] = {rows[0][i], rows[1][i], rows[2][i], rows[3][i]};
        vf out[4];

        spread(row, out);
#pragma GCC unroll 4
        for (int j = 0; j < 4; j++) {
            stored *v = (stored *)in->v + (i * 4 + j) * in->place_stride + c;

            if (whole)
                vs_store(v, out[j]);
            else
                vs_store_n(v, left, out[j]);
        }
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

/* A^T times a column of four. */
static inline void gather(const vf m[4], vf out[2])
{
    out[0] = vf_add(vf_add(m[0], m[1]), m[2]);
    out[1] = vf_sub(vf_sub(m[1], m[2]), m[3]);
}

static inline __attribute__((always_inline)) void gather_columns(const struct winograd_out *out,
                                                                 int64_t c, const bool whole)
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
