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

/* Which numbers from p on a vector takes; a constant where this is inlined. Even and odd ones exist in BF16 alone. */
enum take { TAKE_WHOLE, TAKE_LEFT, TAKE_EVEN, TAKE_ODD };

TRANSFORM_INLINE vf load_as(const enum take take, const stored *p, int64_t left)
{
#ifdef MICRO_BF16
    if (take == TAKE_EVEN)
        return vs_load_even(p);
    if (take == TAKE_ODD)
        return vs_load_odd(p);
#endif
    return take == TAKE_WHOLE ? vs_load(p) : vs_load_n(p, left);
}

/* B^T d B of one vector of channels from c on, `left` of them. */
TRANSFORM_INLINE void spread_x(const void *const pixel[16], int64_t c, int64_t left,
                               const enum take take, vf out[16])
{
    vf rows[4][4]; /* [s][i]: column s of the tile, spread */

#pragma GCC unroll 4
    for (int s = 0; s < 4; s++) {
        vf column[4];

#pragma GCC unroll 4
        for (int r = 0; r < 4; r++)
            column[r] = load_as(take, (const stored *)pixel[r * 4 + s] + c, left);
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

    spread_x(in->pixel, c, left, whole ? TAKE_WHOLE : TAKE_LEFT, out);
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++) {
        stored *v = (stored *)in->v + i * in->place_stride + c;

        if (whole)
            vs_store(v, out[i]);
        else
            vs_store_n(v, left, out[i]);
    }
}

#ifdef MICRO_BF16
/* Two vectors of channels at once. */
static inline void spread_both(const struct winograd_in *in, int64_t c)
{
    vf even[16], odd[16];

    spread_x(in->pixel, c, 0, TAKE_EVEN, even);
    spread_x(in->pixel, c, 0, TAKE_ODD, odd);
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++)
        vf_store((float *)(void *)((stored *)in->v + i * in->place_stride + c),
                 vs_cells(even[i], odd[i]));
}
#endif

static void winograd_in(const struct winograd_in *in)
{
    int64_t c = 0;

#ifdef MICRO_BF16
    for (; c + (int64_t)2 * VF_LANES <= in->channels; c += (int64_t)2 * VF_LANES)
        spread_both(in, c);
#endif
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
                                const enum take take, vf out[16])
{
    vf d[4], columns[2][4]; /* [s][i] */

#pragma GCC unroll 4
    for (int i = 0; i < 4; i++)
        d[i] = load_as(take, (const stored *)pixel[i] + c, left);
    spread_two(d[0], d[2], columns[0]);
    spread_two(d[1], d[3], columns[1]);
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++)
        spread_two(columns[0][i], columns[1][i], &out[(ptrdiff_t)i * 4]);
}

TRANSFORM_INLINE void spread_either(const bool is_dy, const void *const pixel[16], int64_t c,
                                    int64_t left, const enum take take, vf out[16])
{
    if (is_dy)
        spread_dy(pixel, c, left, take, out);
    else
        spread_x(pixel, c, left, take, out);
}

TRANSFORM_INLINE void spread_cells(const struct winograd_cells *in, int64_t c, const enum take take,
                                   const bool is_dy)
{
    const int64_t left = in->channels - c;
    vf out[CELL_NUMBERS][16];

#pragma GCC unroll 2
    for (int i = 0; i < CELL_NUMBERS; i++)
        spread_either(is_dy, in->pixel[i], c, left, take, out[i]);
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++) {
        float *to = in->cells + i * in->place_stride + c;
        const vf cells = vs_cells(out[0][i], out[CELL_NUMBERS - 1][i]);

        if (take == TAKE_WHOLE)
            vf_store(to, cells);
        else
            vf_store_n(to, left, cells);
    }
}

#ifdef MICRO_BF16
/* Two vectors of channels at once. */
TRANSFORM_INLINE void spread_cells_both(const struct winograd_cells *in, int64_t c,
                                        const bool is_dy)
{
    vf even[2][16], odd[2][16];

#pragma GCC unroll 2
    for (int i = 0; i < 2; i++) {
        spread_either(is_dy, in->pixel[i], c, 0, TAKE_EVEN, even[i]);
        spread_either(is_dy, in->pixel[i], c, 0, TAKE_ODD, odd[i]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++)
        vs_store_cells(in->cells + i * in->place_stride + c, even[0][i], odd[0][i], even[1][i],
                       odd[1][i]);
}
#endif

TRANSFORM_INLINE void spread_all_cells(const struct winograd_cells *in, const bool is_dy)
{
    int64_t c = 0;

#ifdef MICRO_BF16
    for (; c + (int64_t)2 * VF_LANES <= in->channels; c += (int64_t)2 * VF_LANES)
        spread_cells_both(in, c, is_dy);
#endif
    for (; c + VF_LANES <= in->channels; c += VF_LANES)
        spread_cells(in, c, TAKE_WHOLE, is_dy);
    if (c < in->channels)
        spread_cells(in, c, TAKE_LEFT, is_dy);
}

static void winograd_x_cells(const struct winograd_cells *in)
{
    spread_all_cells(in, false);
}

static void winograd_dy_cells(const struct winograd_cells *in)
{
    spread_all_cells(in, true);
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
