/* agent/kernels/cpu/vector_norm_body_internal.h: batch norm and the activation behind it as one loop over rows x C
 * (bn_act.c), written once over the loads of channel_body_internal.h and the functions of vector_body_internal.h. Errors:
 * those of the parts, with y not rounded in between. Bound by memory, but for gelu's slope, which is near it. */
#include "agent/kernels/cpu/micro_internal.h"
#include "agent/kernels/cpu/simd_internal.h"

/* fn is a constant where these are inlined. */
static inline __attribute__((always_inline)) vf act_of(const enum unary_fn fn, vf y)
{
    if (fn == UNARY_RELU)
        return relu_of(y);
    return fn == UNARY_SILU ? silu_of(y) : gelu_of(y);
}

static inline __attribute__((always_inline)) vf act_slope_of(const enum unary_fn fn, vf y)
{
    if (fn == UNARY_RELU)
        return relu_slope_of(y);
    return fn == UNARY_SILU ? silu_slope_of(y) : gelu_slope_of(y);
}

/* What one vector of channels needs of their numbers. */
struct act_channels {
    vf mean, scale, shift;
};

static inline __attribute__((always_inline)) struct act_channels
act_channels_at(const struct act_span *span, int64_t c, int64_t n)
{
    return (struct act_channels){load_lanes(span->mean + c, n), load_lanes(span->scale + c, n),
                                 load_lanes(span->shift + c, n)};
}

static inline __attribute__((always_inline)) void norm_act_rows(const struct act_span *span,
                                                                const enum unary_fn fn)
{
    const stored *x = span->x;
    stored *z = span->out;

    for (int64_t row = 0; row < span->rows; row++, x += span->channels, z += span->channels)
        FOR_CHANNELS(span->channels, c, n, {
            const struct act_channels at = act_channels_at(span, c, n);
            const vf off = vf_sub(load_stored(x + c, n), at.mean);

            store_stored(z + c, n, act_of(fn, vf_fma(off, at.scale, at.shift)));
        });
}

static void norm_act(const struct act_span *span)
{
    if (span->fn == UNARY_RELU)
        norm_act_rows(span, UNARY_RELU);
    else if (span->fn == UNARY_SILU)
        norm_act_rows(span, UNARY_SILU);
    else
        norm_act_rows(span, UNARY_GELU_ERF);
}

/* One vector of channels over all rows: a column's sums are taken in row order. */
static inline __attribute__((always_inline)) void
dot_column(const struct act_span *span, const enum unary_fn fn, int64_t c, const int64_t n)
{
    const struct act_channels at = act_channels_at(span, c, n);
    const stored *x = (const stored *)span->x + c, *dz = (const stored *)span->dz + c;
    vf sum = vf_zero(), dot = vf_zero();

    for (int64_t row = 0; row < span->rows; row++, x += span->channels, dz += span->channels) {
        const vf off = vf_sub(load_stored(x, n), at.mean);
        const vf slope = act_slope_of(fn, vf_fma(off, at.scale, at.shift));
        const vf dy = vf_mul(load_stored(dz, n), slope);

        sum = vf_add(sum, dy);
        dot = vf_fma(dy, off, dot);
    }
    vf_store_n(span->sum + c, n, sum);
    vf_store_n(span->dot + c, n, dot);
}

static void norm_act_dot(const struct act_span *span)
{
    if (span->fn == UNARY_RELU)
        FOR_CHANNELS(span->channels, c, n, dot_column(span, UNARY_RELU, c, n));
    else if (span->fn == UNARY_SILU)
        FOR_CHANNELS(span->channels, c, n, dot_column(span, UNARY_SILU, c, n));
    else
        FOR_CHANNELS(span->channels, c, n, dot_column(span, UNARY_GELU_ERF, c, n));
}

static inline __attribute__((always_inline)) void norm_act_grad_rows(const struct act_span *span,
                                                                     const enum unary_fn fn)
{
    const stored *x = span->x, *dz = span->dz;
    stored *dx = span->out;

    for (int64_t row = 0; row < span->rows;
         row++, x += span->channels, dz += span->channels, dx += span->channels)
        FOR_CHANNELS(span->channels, c, n, {
            const struct act_channels at = act_channels_at(span, c, n);
            const vf off = vf_sub(load_stored(x + c, n), at.mean);
            const vf slope = act_slope_of(fn, vf_fma(off, at.scale, at.shift));
            const vf dy = vf_mul(load_stored(dz + c, n), slope);
            const vf rest = vf_fma(off, load_lanes(span->b + c, n), load_lanes(span->c + c, n));

            store_stored(dx + c, n, vf_fma(dy, at.scale, rest));
        });
}

static void norm_act_grad(const struct act_span *span)
{
    if (span->fn == UNARY_RELU)
        norm_act_grad_rows(span, UNARY_RELU);
    else if (span->fn == UNARY_SILU)
        norm_act_grad_rows(span, UNARY_SILU);
    else
        norm_act_grad_rows(span, UNARY_GELU_ERF);
}
