/* agent/kernels/cpu/gemm_body_internal.h: the two tiles of sums in registers (micro_internal.h has the drawing),
 * written once over simd_internal.h and compiled by each micro_<isa>.c. The row count is a constant of every
 * instance, so that sums stay in registers; a table holds the instances for 1 .. VF_ROWS_MAX rows.
 * Bound by the multiply-add units: 2 rows of them per t against rows + 2 loads. */
#include "agent/kernels/cpu/micro_internal.h"
#include "agent/kernels/cpu/simd_internal.h"

#define FORCE_INLINE static inline __attribute__((always_inline))

FORCE_INLINE void store_pair(float *c, int columns, vf left, vf right)
{
    if (columns == 2 * VF_LANES) {
        vf_store(c, left);
        vf_store(c + VF_LANES, right);
    } else if (columns >= VF_LANES) {
        vf_store(c, left);
        vf_store_n(c + VF_LANES, columns - VF_LANES, right);
    } else {
        vf_store_n(c, columns, left);
    }
}

FORCE_INLINE void load_pair(const float *c, int columns, vf *left, vf *right)
{
    *right = vf_zero();
    if (columns == 2 * VF_LANES) {
        *left = vf_load(c);
        *right = vf_load(c + VF_LANES);
    } else if (columns >= VF_LANES) {
        *left = vf_load(c);
        *right = vf_load_n(c + VF_LANES, columns - VF_LANES);
    } else {
        *left = vf_load_n(c, columns);
    }
}

FORCE_INLINE void gemm_rows(const struct gemm_tile *tile, const int rows)
{
    const float *b = tile->b;
    vf left[VF_ROWS_MAX], right[VF_ROWS_MAX];

#pragma GCC unroll 16
    for (int i = 0; i < rows; i++) {
        left[i] = vf_zero();
        right[i] = vf_zero();
        if (tile->add)
            load_pair(tile->c + i * tile->c_stride, tile->columns, &left[i], &right[i]);
    }
    for (int64_t g = 0; g < tile->segments; g++) {
        const float *a[VF_ROWS_MAX];

#pragma GCC unroll 16
        for (int i = 0; i < rows; i++)
            a[i] = tile->a[i] + tile->segment[g];
        for (int64_t t = 0; t < tile->length; t++) {
            const vf b_left = vf_load(b), b_right = vf_load(b + VF_LANES);

            b += 2 * VF_LANES;
#pragma GCC unroll 16
            for (int i = 0; i < rows; i++) {
                const vf one = vf_set1(a[i][t]);

                left[i] = vf_dot(one, b_left, left[i]);
                right[i] = vf_dot(one, b_right, right[i]);
            }
        }
    }
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++)
        store_pair(tile->c + i * tile->c_stride, tile->columns, left[i], right[i]);
}

FORCE_INLINE void outer_rows(const struct outer_tile *tile, const int rows)
{
    const float *dy = tile->dy;
    vf left[VF_ROWS_MAX], right[VF_ROWS_MAX];

#pragma GCC unroll 16
    for (int i = 0; i < rows; i++) {
        left[i] = tile->add ? vf_load(tile->acc + i * 2 * VF_LANES) : vf_zero();
        right[i] = tile->add ? vf_load(tile->acc + (i * 2 + 1) * VF_LANES) : vf_zero();
    }
    for (int64_t p = 0; p < tile->out_height; p++) {
        const float *x = tile->x + p * tile->x_row;

        for (int64_t q = 0; q < tile->out_width; q++) {
            const vf dy_left = vf_load(dy), dy_right = vf_load(dy + VF_LANES);

#pragma GCC unroll 16
            for (int i = 0; i < rows; i++) {
                const vf one = vf_set1(x[i]);

                left[i] = vf_dot(one, dy_left, left[i]);
                right[i] = vf_dot(one, dy_right, right[i]);
            }
            dy += 2 * VF_LANES;
            x += tile->x_pixel;
        }
    }
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++) {
        vf_store(tile->acc + i * 2 * VF_LANES, left[i]);
        vf_store(tile->acc + (i * 2 + 1) * VF_LANES, right[i]);
    }
}

#define ROW_COUNTS_6(X)  X(1) X(2) X(3) X(4) X(5) X(6)
#define ROW_COUNTS_12(X) ROW_COUNTS_6(X) X(7) X(8) X(9) X(10) X(11) X(12)
#if VF_ROWS_MAX == 12
#define ROW_COUNTS ROW_COUNTS_12
#else
#define ROW_COUNTS ROW_COUNTS_6
#endif

#define DEFINE_ROWS(n)                                        \
    static void gemm_rows_##n(const struct gemm_tile *tile)   \
    {                                                         \
        gemm_rows(tile, n);                                   \
    }                                                         \
    static void outer_rows_##n(const struct outer_tile *tile) \
    {                                                         \
        outer_rows(tile, n);                                  \
    }
ROW_COUNTS(DEFINE_ROWS)

static void gemm_tile(const struct gemm_tile *tile)
{
#define GEMM_ENTRY(n) gemm_rows_##n,
    static void (*const by_rows[])(const struct gemm_tile *) = {ROW_COUNTS(GEMM_ENTRY)};

    by_rows[tile->rows - 1](tile);
}

static void outer_tile(const struct outer_tile *tile)
{
#define OUTER_ENTRY(n) outer_rows_##n,
    static void (*const by_rows[])(const struct outer_tile *) = {ROW_COUNTS(OUTER_ENTRY)};

    by_rows[tile->rows - 1](tile);
}
