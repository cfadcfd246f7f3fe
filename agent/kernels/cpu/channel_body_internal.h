/* agent/kernels/cpu/channel_body_internal.h: loops over rows x C with one number or sum a channel: batch norm,
 * reduction over rows, pooling. Written once over simd_internal.h and compiled by each micro_<isa>.c. Bound by memory.
 * A column's sum is taken in row order, in one F32 lane: its order depends on the shape alone. */
#include "agent/kernels/cpu/micro_internal.h"
#include "agent/kernels/cpu/simd_internal.h"

#define GROUP \
    4 /* vectors of a row taken together: four chains of adds hide most of their latency */

/* Calls body(first channel, channels) for full groups of vectors, then for single ones, the last maybe partial. */
#define FOR_CHANNEL_GROUPS(channels, c, wide, narrow)                     \
    do {                                                                  \
        int64_t c = 0;                                                    \
                                                                          \
        for (; c + GROUP * VF_LANES <= (channels); c += GROUP * VF_LANES) \
            wide;                                                         \
        for (; c < (channels); c += VF_LANES)                             \
            narrow;                                                       \
    } while (0)

static inline int64_t lanes_left(int64_t channels, int64_t c)
{
    return channels - c < VF_LANES ? channels - c : VF_LANES;
}

/* vectors: 1 (n lanes of it) or GROUP (n = VF_LANES); a constant at every call. */
static inline __attribute__((always_inline)) void
column_sum_group(int64_t rows, int64_t stride, const float *x, float *sum, int vectors, int64_t n)
{
    vf s[GROUP];

    for (int v = 0; v < vectors; v++)
        s[v] = vf_zero();
    for (int64_t row = 0; row < rows; row++, x += stride)
        for (int v = 0; v < vectors; v++)
            s[v] = vf_add(s[v], vf_load_n(x + v * VF_LANES, n));
    for (int v = 0; v < vectors; v++)
        vf_store_n(sum + v * VF_LANES, n, s[v]);
}

static void column_sum(int64_t rows, int64_t channels, const float *x, float *sum)
{
    FOR_CHANNEL_GROUPS(
        channels, c, column_sum_group(rows, channels, x + c, sum + c, GROUP, VF_LANES),
        column_sum_group(rows, channels, x + c, sum + c, 1, lanes_left(channels, c)));
}

static inline __attribute__((always_inline)) void column_m2_group(int64_t rows, int64_t stride,
                                                                  const float *x, const float *mean,
                                                                  float *m2, int vectors, int64_t n)
{
    vf s[GROUP], m[GROUP];

    for (int v = 0; v < vectors; v++) {
        s[v] = vf_zero();
        m[v] = vf_load_n(mean + v * VF_LANES, n);
    }
    for (int64_t row = 0; row < rows; row++, x += stride)
        for (int v = 0; v < vectors; v++) {
            const vf off = vf_sub(vf_load_n(x + v * VF_LANES, n), m[v]);

            s[v] = vf_fma(off, off, s[v]);
        }
    for (int v = 0; v < vectors; v++)
        vf_store_n(m2 + v * VF_LANES, n, s[v]);
}

static void column_m2(int64_t rows, int64_t channels, const float *x, const float *mean, float *m2)
{
    FOR_CHANNEL_GROUPS(
        channels, c, column_m2_group(rows, channels, x + c, mean + c, m2 + c, GROUP, VF_LANES),
        column_m2_group(rows, channels, x + c, mean + c, m2 + c, 1, lanes_left(channels, c)));
}

/* What column_dot works on, at one channel. */
struct dot_columns {
    const float *dy, *x, *mean;
    float *sum_dy, *sum_dy_x;
};

static inline __attribute__((always_inline)) void
column_dot_group(int64_t rows, int64_t stride, struct dot_columns at, int vectors, int64_t n)
{
    vf s[GROUP], d[GROUP], m[GROUP];

    for (int v = 0; v < vectors; v++) {
        s[v] = d[v] = vf_zero();
        m[v] = vf_load_n(at.mean + v * VF_LANES, n);
    }
    for (int64_t row = 0; row < rows; row++, at.dy += stride, at.x += stride)
        for (int v = 0; v < vectors; v++) {
            const vf dy = vf_load_n(at.dy + v * VF_LANES, n);

            s[v] = vf_add(s[v], dy);
            d[v] = vf_fma(dy, vf_sub(vf_load_n(at.x + v * VF_LANES, n), m[v]), d[v]);
        }
    for (int v = 0; v < vectors; v++) {
        vf_store_n(at.sum_dy + v * VF_LANES, n, s[v]);
        vf_store_n(at.sum_dy_x + v * VF_LANES, n, d[v]);
    }
}

static struct dot_columns dot_at(const struct dot_columns *all, int64_t c)
{
    return (struct dot_columns){all->dy + c, all->x + c, all->mean + c, all->sum_dy + c,
                                all->sum_dy_x + c};
}

static void column_dot(int64_t rows, int64_t channels, const float *dy, const float *x,
                       const float *mean, float *sum_dy, float *sum_dy_x)
{
    const struct dot_columns all = {dy, x, mean, sum_dy, sum_dy_x};

    FOR_CHANNEL_GROUPS(
        channels, c, column_dot_group(rows, channels, dot_at(&all, c), GROUP, VF_LANES),
        column_dot_group(rows, channels, dot_at(&all, c), 1, lanes_left(channels, c)));
}

static void normalise(int64_t rows, int64_t channels, const float *x, const float *mean,
                      const float *scale, const float *shift, float *y)
{
    for (int64_t row = 0; row < rows; row++, x += channels, y += channels)
        for (int64_t c = 0; c < channels; c += VF_LANES) {
            const int64_t n = lanes_left(channels, c);
            const vf off = vf_sub(vf_load_n(x + c, n), vf_load_n(mean + c, n));

            vf_store_n(y + c, n, vf_fma(off, vf_load_n(scale + c, n), vf_load_n(shift + c, n)));
        }
}

static void normalise_grad(int64_t rows, int64_t channels, const float *dy, const float *x,
                           const float *mean, const float *a, const float *b, const float *c,
                           float *dx)
{
    for (int64_t row = 0; row < rows; row++, x += channels, dy += channels, dx += channels)
        for (int64_t i = 0; i < channels; i += VF_LANES) {
            const int64_t n = lanes_left(channels, i);
            const vf off = vf_sub(vf_load_n(x + i, n), vf_load_n(mean + i, n));
            const vf rest = vf_fma(off, vf_load_n(b + i, n), vf_load_n(c + i, n));

            vf_store_n(dx + i, n, vf_fma(vf_load_n(dy + i, n), vf_load_n(a + i, n), rest));
        }
}

static void pool_max(const struct pool_span *span)
{
    for (int64_t c = 0; c < span->channels; c += VF_LANES) {
        const int64_t n = lanes_left(span->channels, c);
        vf best = vf_load_n(span->x[0] + c, n);
        vi place = vi_set1(span->place[0]);

        for (int i = 1; i < span->places; i++) {
            const vf x = vf_load_n(span->x[i] + c, n);
            const vmask wins = vf_wins(x, best);

            best = vf_select(wins, x, best);
            place = vi_select(wins, vi_set1(span->place[i]), place);
        }
        vf_store_n(span->y + c, n, best);
        vi_store_u8_n(span->index + c, n, place);
    }
}

static void unpool_max(int64_t channels, const float *dy, const uint8_t *index, uint8_t place,
                       float *dx)
{
    for (int64_t c = 0; c < channels; c += VF_LANES) {
        const int64_t n = lanes_left(channels, c);
        const vmask here = vi_eq(vi_load_u8_n(index + c, n), vi_set1(place));

        vf_store_n(dx + c, n, vf_select(here, vf_load_n(dy + c, n), vf_zero()));
    }
}
