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
column_sum_group(int64_t rows, int64_t stride, const stored *x, float *sum, int vectors, int64_t n)
{
    vf s[GROUP];

    for (int v = 0; v < vectors; v++)
        s[v] = vf_zero();
    for (int64_t row = 0; row < rows; row++, x += stride)
        for (int v = 0; v < vectors; v++)
            s[v] = vf_add(s[v], vs_load_n(x + v * VF_LANES, n));
    for (int v = 0; v < vectors; v++)
        vf_store_n(sum + v * VF_LANES, n, s[v]);
}

static void column_sum(int64_t rows, int64_t channels, const void *data, float *sum)
{
    const stored *x = data;

    FOR_CHANNEL_GROUPS(
        channels, c, column_sum_group(rows, channels, x + c, sum + c, GROUP, VF_LANES),
        column_sum_group(rows, channels, x + c, sum + c, 1, lanes_left(channels, c)));
}

static inline __attribute__((always_inline)) void column_m2_group(int64_t rows, int64_t stride,
                                                                  const stored *x,
                                                                  const float *mean, float *m2,
                                                                  int vectors, int64_t n)
{
    vf s[GROUP], m[GROUP];

    for (int v = 0; v < vectors; v++) {
        s[v] = vf_zero();
        m[v] = vf_load_n(mean + v * VF_LANES, n);
    }
    for (int64_t row = 0; row < rows; row++, x += stride)
        for (int v = 0; v < vectors; v++) {
            const vf off = vf_sub(vs_load_n(x + v * VF_LANES, n), m[v]);

            s[v] = vf_fma(off, off, s[v]);
        }
    for (int v = 0; v < vectors; v++)
        vf_store_n(m2 + v * VF_LANES, n, s[v]);
}

static void column_m2(int64_t rows, int64_t channels, const void *data, const float *mean,
                      float *m2)
{
    const stored *x = data;

    FOR_CHANNEL_GROUPS(
        channels, c, column_m2_group(rows, channels, x + c, mean + c, m2 + c, GROUP, VF_LANES),
        column_m2_group(rows, channels, x + c, mean + c, m2 + c, 1, lanes_left(channels, c)));
}

/* What column_dot works on, at one channel. */
struct dot_columns {
    const stored *dy, *x;
    const float *mean;
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
            const vf dy = vs_load_n(at.dy + v * VF_LANES, n);

            s[v] = vf_add(s[v], dy);
            d[v] = vf_fma(dy, vf_sub(vs_load_n(at.x + v * VF_LANES, n), m[v]), d[v]);
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

static void column_dot(int64_t rows, int64_t channels, const void *dy, const void *x,
                       const float *mean, float *sum_dy, float *sum_dy_x)
{
    const struct dot_columns all = {dy, x, mean, sum_dy, sum_dy_x};

    FOR_CHANNEL_GROUPS(
        channels, c, column_dot_group(rows, channels, dot_at(&all, c), GROUP, VF_LANES),
        column_dot_group(rows, channels, dot_at(&all, c), 1, lanes_left(channels, c)));
}

/* Vectors of a row at channel c: whole ones, then one of n lanes; `body` uses c and n. Whole vectors have a path of
 * their own, for masks cost as much as the arithmetic. */
#define FOR_CHANNELS(channels, c, n, body)                  \
    do {                                                    \
        int64_t c = 0;                                      \
                                                            \
        for (; c + VF_LANES <= (channels); c += VF_LANES) { \
            const int64_t n = VF_LANES;                     \
                                                            \
            body;                                           \
        }                                                   \
        if (c < (channels)) {                               \
            const int64_t n = (channels)-c;                 \
                                                            \
            body;                                           \
        }                                                   \
    } while (0)

static inline __attribute__((always_inline)) vf load_lanes(const float *p, int64_t n)
{
    return n == VF_LANES ? vf_load(p) : vf_load_n(p, n);
}

static inline __attribute__((always_inline)) vf load_stored(const stored *p, int64_t n)
{
    return n == VF_LANES ? vs_load(p) : vs_load_n(p, n);
}

static inline __attribute__((always_inline)) void store_stored(stored *p, int64_t n, vf a)
{
    if (n == VF_LANES)
        vs_store(p, a);
    else
        vs_store_n(p, n, a);
}

static void normalise(int64_t rows, int64_t channels, const void *from, const float *mean,
                      const float *scale, const float *shift, void *to)
{
    const stored *x = from;
    stored *y = to;

    for (int64_t row = 0; row < rows; row++, x += channels, y += channels)
        FOR_CHANNELS(channels, c, n,
                     store_stored(y + c, n,
                                  vf_fma(vf_sub(load_stored(x + c, n), load_lanes(mean + c, n)),
                                         load_lanes(scale + c, n), load_lanes(shift + c, n))));
}

static void normalise_grad(int64_t rows, int64_t channels, const void *dy_from, const void *x_from,
                           const float *mean, const float *a, const float *b, const float *c,
                           void *to)
{
    const stored *dy = dy_from, *x = x_from;
    stored *dx = to;

    for (int64_t row = 0; row < rows; row++, x += channels, dy += channels, dx += channels)
        FOR_CHANNELS(channels, i, n, {
            const vf off = vf_sub(load_stored(x + i, n), load_lanes(mean + i, n));
            const vf rest = vf_fma(off, load_lanes(b + i, n), load_lanes(c + i, n));

            store_stored(dx + i, n, vf_fma(load_stored(dy + i, n), load_lanes(a + i, n), rest));
        });
}

/* One vector of one output pixel. */
static inline __attribute__((always_inline)) void pool_vector(const struct pool_span *span,
                                                              int places, int64_t at, int64_t c,
                                                              int64_t n, stored *y, uint8_t *index)
{
    vf best = load_stored((const stored *)span->x[0] + at + c, n);
    vi place = vi_set1(span->place[0]);

    for (int i = 1; i < places; i++) {
        const vf x = load_stored((const stored *)span->x[i] + at + c, n);
        const vmask wins = vf_wins(x, best);

        best = vf_select(wins, x, best);
        place = vi_select(wins, vi_set1(span->place[i]), place);
    }
    store_stored(y + c, n, best);
    vi_store_u8_n(index + c, n, place);
}

static inline __attribute__((always_inline)) void pool_row(const struct pool_span *span, int places)
{
    stored *y = span->y;
    uint8_t *index = span->index;

    for (int64_t q = 0, at = 0; q < span->pixels; q++, at += span->x_step) {
        FOR_CHANNELS(span->channels, c, n, pool_vector(span, places, at, c, n, y, index));
        y += span->channels;
        index += span->channels;
    }
}

static void pool_max(const struct pool_span *span)
{
    if (span->places == 4)
        pool_row(span, 4); /* the common window, unrolled */
    else
        pool_row(span, span->places);
}

static void unpool_max(const struct unpool_span *span)
{
    const stored *dy = span->dy;
    const uint8_t *index = span->index;
    stored *dx = span->dx;

    for (int64_t q = 0; q < span->pixels; q++) {
        for (int64_t s = 0; s < span->taps; s++, dx += span->channels) {
            const vi place = vi_set1(span->place_first + (int)s);

            FOR_CHANNELS(span->channels, c, n,
                         store_stored(dx + c, n,
                                      vf_select(vi_eq(vi_load_u8_n(index + c, n), place),
                                                load_stored(dy + c, n), vf_zero())));
        }
        dy += span->channels;
        index += span->channels;
    }
}
