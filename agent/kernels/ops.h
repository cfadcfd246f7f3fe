/* agent/kernels/ops.h: the vocabulary of the engine: tensors, op kinds, their attributes and shape rules.
 * Plain data, immutable once built; no pointers in attributes. Kernels, backends, graph and emitters share
 * it; it knows nothing of models, files or devices. Threads: any.
 *
 * Letters: N images, H W input pixels, P Q output pixels, C input channels, K output channels, R S taps.
 * Logical layouts are fixed: images NHWC, convolution weights [K,R,S,C/groups], matrices [in,out]. */
#ifndef DAYBREAK_AGENT_KERNELS_OPS_H
#define DAYBREAK_AGENT_KERNELS_OPS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/status.h"

#define TENSOR_RANK_MAX   6
#define OP_IN_MAX         8
#define OP_OUT_MAX        4
#define CHANNELS_MAX      4                  /* of an image that `augment` reads */
#define TENSOR_COUNT_MAX  ((int64_t)1 << 40) /* elements of one tensor */
#define TENSOR_TEXT_BYTES 96

/* BF16 is stored, F32 computed; F64 exists for the finite differences of tests only. */
enum dtype { DT_F32, DT_BF16, DT_I32, DT_U8, DT_F64, DT_COUNT };

/* How a tensor lies in memory. ROW: dense, row-major. N32: [N/32][H][W][32][c_phys], N a multiple of 32.
 * PACK: a weight in one kernel's own order, known by pack_id. C is innermost in every activation format;
 * lanes dim[C]..c_phys-1 are written as zero by every producer. In ROW c_phys is the last dim. */
enum format { FMT_ROW, FMT_N32, FMT_PACK, FMT_COUNT };

struct tensor {
    enum dtype dtype;
    enum format format;
    uint8_t rank;                 /* 0: a scalar */
    int64_t dim[TENSOR_RANK_MAX]; /* logical; beyond rank: 1 */
    int64_t c_phys;
    uint32_t pack_id;
};

size_t dtype_bytes(enum dtype dtype);
const char *dtype_name(enum dtype dtype); /* "f32" */
/* A ROW tensor; dims beyond rank are set to 1. Asserts rank and dims > 0. */
struct tensor tensor_make(enum dtype dtype, int rank, const int64_t *dim);
int64_t tensor_count(const struct tensor *t);  /* logical elements */
uint64_t tensor_bytes(const struct tensor *t); /* physical, in its format */
bool tensor_same_shape(const struct tensor *a, const struct tensor *b);
/* "f32[2,3]", cut at TENSOR_TEXT_BYTES with its NUL; returns text. */
char *tensor_format(const struct tensor *t, char text[TENSOR_TEXT_BYTES]);
/* What sums over values of this type are kept in: F64 for F64, F32 for the others. */
enum dtype dtype_of_sums(enum dtype dtype);
bool dtype_is_float(enum dtype dtype);

/* X(enumerator, name, min operands, max operands, results, composite, pure)
 * composite: expanded by the plan unless a backend takes it whole. pure: equal operands give equal results,
 * so the plan may merge or clone it. Rules of shape and maths stand below, op by op. */
#define OP_LIST(X)                                                \
    X(OP_INPUT, "input", 0, 0, 1, 0, 0)                           \
    X(OP_VAR, "var", 0, 0, 1, 0, 1)                               \
    X(OP_ASSIGN, "assign", 1, 1, 0, 0, 0)                         \
    X(OP_OUTPUT, "output", 1, 1, 0, 0, 0)                         \
    X(OP_FILL, "fill", 0, 0, 1, 0, 1)                             \
    X(OP_IOTA, "iota", 0, 0, 1, 0, 1)                             \
    X(OP_ROW_READ, "row_read", 2, 2, 1, 0, 1)                     \
    X(OP_ROW_WRITE, "row_write", 3, 3, 1, 0, 1)                   \
    X(OP_CONVERT, "convert", 1, 1, 1, 0, 1)                       \
    X(OP_RESHAPE, "reshape", 1, 1, 1, 0, 1)                       \
    X(OP_TRANSPOSE, "transpose", 1, 1, 1, 0, 1)                   \
    X(OP_SLICE, "slice", 1, 1, 1, 0, 1)                           \
    X(OP_PAD, "pad", 1, 1, 1, 0, 1)                               \
    X(OP_CONCAT, "concat", 1, 8, 1, 0, 1)                         \
    X(OP_GATHER_ROWS, "gather_rows", 2, 2, 1, 0, 1)               \
    X(OP_SCATTER_ROWS, "scatter_rows", 2, 2, 1, 0, 1)             \
    X(OP_UNARY, "unary", 1, 1, 1, 0, 1)                           \
    X(OP_UNARY_GRAD, "unary_grad", 3, 3, 1, 0, 1)                 \
    X(OP_BINARY, "binary", 2, 2, 1, 0, 1)                         \
    X(OP_SELECT, "select", 3, 3, 1, 0, 1)                         \
    X(OP_REDUCE, "reduce", 1, 1, 1, 0, 1)                         \
    X(OP_MATMUL, "matmul", 2, 2, 1, 0, 1)                         \
    X(OP_CONV2D, "conv2d", 2, 2, 1, 0, 1)                         \
    X(OP_CONV2D_GRAD_INPUT, "conv2d_grad_input", 2, 2, 1, 0, 1)   \
    X(OP_CONV2D_GRAD_WEIGHT, "conv2d_grad_weight", 2, 2, 1, 0, 1) \
    X(OP_POOL_MAX, "pool_max", 1, 1, 2, 0, 1)                     \
    X(OP_POOL_MAX_GRAD, "pool_max_grad", 2, 2, 1, 0, 1)           \
    X(OP_POOL_AVG, "pool_avg", 1, 1, 1, 0, 1)                     \
    X(OP_POOL_AVG_GRAD, "pool_avg_grad", 1, 1, 1, 0, 1)           \
    X(OP_BATCH_NORM, "batch_norm", 3, 3, 3, 1, 1)                 \
    X(OP_BN_STATS, "bn_stats", 1, 1, 2, 0, 1)                     \
    X(OP_BN_APPLY, "bn_apply", 5, 5, 1, 0, 1)                     \
    X(OP_BN_GRAD_STATS, "bn_grad_stats", 4, 4, 2, 0, 1)           \
    X(OP_BN_GRAD_APPLY, "bn_grad_apply", 7, 7, 1, 0, 1)           \
    X(OP_BN_ACT, "bn_act", 5, 5, 1, 0, 1)                         \
    X(OP_BN_ACT_GRAD_STATS, "bn_act_grad_stats", 6, 6, 2, 0, 1)   \
    X(OP_BN_ACT_GRAD_APPLY, "bn_act_grad_apply", 8, 8, 1, 0, 1)   \
    X(OP_LAYER_NORM, "layer_norm", 3, 3, 3, 0, 1)                 \
    X(OP_LAYER_NORM_GRAD, "layer_norm_grad", 5, 5, 3, 0, 1)       \
    X(OP_SOFTMAX, "softmax", 1, 1, 1, 0, 1)                       \
    X(OP_SOFTMAX_GRAD, "softmax_grad", 2, 2, 1, 0, 1)             \
    X(OP_XENT, "xent", 3, 3, 2, 0, 1)                             \
    X(OP_XENT_GRAD, "xent_grad", 4, 4, 1, 0, 1)                   \
    X(OP_SAMPLE, "sample", 2, 2, 2, 0, 1)                         \
    X(OP_AUGMENT, "augment", 4, 4, 1, 0, 1)                       \
    X(OP_SGD, "sgd", 6, 6, 2, 0, 1)

enum op_kind {
#define OP_ENUM(id, name, in_min, in_max, out, composite, pure) id,
    OP_LIST(OP_ENUM)
#undef OP_ENUM
        OP_KIND_COUNT
};

/* The maths, op by op. "F" is F32, BF16 or F64; sums are taken in F32 (F64 for F64) unless said.
 *
 * input, var         -> value of attr.source; dtype and shape as declared
 * assign, output     (v); equal dtype and shape as the variable
 * fill               -> attr.fill.value everywhere; dtype and dims of attr.fill
 * iota               -> 0, 1, 2 .. along attr.iota.axis; I32 or F32
 * row_read           (table[T,...], i I32[]) -> table[i,...]; i is clamped to [0, T)
 * row_write          (table[T,...], i I32[], row[...]) -> table with row i replaced; the plan works in place
 * convert            to attr.convert.dtype; F -> BF16 rounds to nearest even, NaN kept; F -> I32 towards zero
 * reshape            to attr.shape, equal count; in ROW a view
 * transpose          out.dim[i] = in.dim[attr.perm.axis[i]]
 * slice              per dim start, stop, step > 0: ceil((stop - start) / step)
 * pad                per dim lo, hi >= 0: zero, or reflect without repeating the edge (then lo, hi < dim)
 * concat             along attr.axis; other dims equal
 * gather_rows        (table[V,D...], idx I32[...]) -> [..., D...]; indices are clamped to [0, V)
 * scatter_rows       (idx[n...], rows[n..., D...]) -> [V, D...]; equal indices summed in order of position
 * unary              elementwise F, computed in F32; gelu_erf: x Phi(x) (Hendrycks, Gimpel, arXiv 1606.08415)
 * unary_grad         (dy, x, y) -> dy * f'(x); a kernel says by read_mask whether it reads x or y
 * binary             NumPy broadcasting; equal dtypes; comparisons give U8 0 or 1; I32 wraps; div of I32
 *                    truncates, by 0 gives 0
 * select             (cond U8, a, b) -> cond ? a : b; broadcast
 * reduce             over dims with bit set in attr.reduce.axes, kept as 1; mean in F; argmax -> I32, first wins
 * matmul             op(a)[..,M,K] x op(b)[..,K,N] -> [..,M,N]; batch dims equal, or b has rank 2
 * conv2d             (x[N,H,W,C], w[K,R,S,C/g]) -> [N,P,Q,K]; cross-correlation;
 *                    P = (H + top + bottom - dilation*(R-1) - 1) / stride + 1, floor
 * conv2d_grad_input  (dy[N,P,Q,K], w) -> dx of attr.conv.shape = x's dims
 * conv2d_grad_weight (dy, x) -> dw of attr.conv.shape = w's dims; F32 (F64) whatever the operands
 * pool_max           (x) -> (y, index U8: r * S + s of the first maximum in row order; padding never wins)
 * pool_max_grad      (dy, index) -> dx of attr.pool.shape; pixels that no window covers get 0
 * pool_avg, _grad    mean over the window, padding counted as no element; grad to attr.pool.shape
 * batch_norm         (x[...,C], gamma[C], beta[C]) -> (y, mean[C], var[C]) = bn_stats, then bn_apply
 * bn_stats           (x) -> mean, biased variance over all but the last dim; F32 (F64); chunks of at most 4,096
 *                    rows as mean and M2, combined in double in index order (Chan et al. 1983)
 * bn_apply           (x, mean, var, gamma, beta) -> gamma * (x - mean) / sqrt(var + eps) + beta
 * bn_grad_stats      (dy, x, mean, var) -> (sum dy, sum dy * xhat), xhat = (x - mean) / sqrt(var + eps)
 * bn_grad_apply      (dy, x, mean, var, gamma, s1, s2) -> gamma * rstd * (dy - s1/M - xhat * s2/M)
 * bn_act             (x, mean, var, gamma, beta) -> f(bn_apply(..)), f = attr.norm_act.fn. These three are made by the plan
 *                    alone: what lies between the parts is not stored and not rounded, and is computed again backwards
 * bn_act_grad_stats  (dz, x, mean, var, gamma, beta) -> bn_grad_stats of dy = dz f'(bn_apply(x, ..))
 * bn_act_grad_apply  (dz, x, mean, var, gamma, beta, s1, s2) -> bn_grad_apply of that dy
 * layer_norm         (x[...,D], gamma[D], beta[D]) -> (y, mean[...,1], rstd[...,1]), over the last dim
 * layer_norm_grad    (dy, x, mean, rstd, gamma) -> (dx, dgamma, dbeta)
 * softmax            over the last dim of scale * x, maximum subtracted; grad (dy, y) -> dx
 * xent               (logits[N,C], label I32[N] or target F[N,C], valid I32[]) -> (loss[N], correct[N]) F32:
 *                    loss = -sum_c t_c log softmax_c, t = on at the label, off elsewhere (targets as given);
 *                    correct = 1 where the first maximum is the label; rows >= valid give 0
 * xent_grad          (dloss[N], logits, label, valid) -> dlogits; rows >= valid give 0
 * sample             (seed I32[], step I32[] from 1) -> (idx I32[B], epoch I32[] from 0): position p =
 *                    (step-1)*B + i, per epoch floor(images/B)*B positions; idx = rng_permute of (seed, stream)
 * augment            (images U8[V,H,W,C], idx I32[B], epoch I32[], seed I32[]) -> F[B,H,W,C]: reflect-pad by
 *                    attr.pad, crop at a shift, flip, then (u/255 - mean) / std by a table of 256 x C;
 *                    TRAIN: shift and flip from Threefry (seed, stream), counter (epoch, image index);
 *                    then (y + b) c of the image, uniform, from counter (epoch + 2^31, image index);
 *                    ALTERNATE: flip = first epoch's coin of that image xor epoch's parity (arXiv 2404.00498);
 *                    VIEW: attr's own dy, dx, flip; epoch and seed are not read
 * sgd                (w, g, m, lr[], wd[], mu[]) -> (w', m'): g += wd w; m' = mu m + g;
 *                    w' = w - lr (nesterov ? g + mu m' : m')   (PyTorch's rule)                        */

enum unary_fn {
    UNARY_NEG,
    UNARY_EXP,
    UNARY_LOG,
    UNARY_SQRT,
    UNARY_RSQRT,
    UNARY_RELU,
    UNARY_GELU_ERF,
    UNARY_GELU_TANH,
    UNARY_SIGMOID,
    UNARY_TANH,
    UNARY_SILU,
    UNARY_COUNT
};
enum binary_fn {
    BINARY_ADD,
    BINARY_SUB,
    BINARY_MUL,
    BINARY_DIV,
    BINARY_MAX,
    BINARY_MIN,
    BINARY_EQ,
    BINARY_LT,
    BINARY_GE,
    BINARY_AND,
    BINARY_OR,
    BINARY_COUNT
};
enum reduce_fn { REDUCE_SUM, REDUCE_MAX, REDUCE_MEAN, REDUCE_ARGMAX, REDUCE_COUNT };
enum pad_fill { PAD_ZERO, PAD_REFLECT };
enum augment_mode { AUGMENT_TRAIN, AUGMENT_VIEW };
enum augment_flip { FLIP_NONE, FLIP_RANDOM, FLIP_ALTERNATE };

struct source_attr {
    uint32_t index;
    enum dtype dtype;
    int32_t rank;
    int64_t dim[TENSOR_RANK_MAX];
};
struct fill_attr {
    double value;
    enum dtype dtype;
    int32_t rank;
    int64_t dim[TENSOR_RANK_MAX];
};
struct iota_attr {
    enum dtype dtype;
    int32_t axis, rank;
    int64_t dim[TENSOR_RANK_MAX];
};
struct convert_attr {
    enum dtype dtype;
    enum format format;
};
struct shape_attr {
    int32_t rank;
    int64_t dim[TENSOR_RANK_MAX];
};
struct perm_attr {
    int32_t axis[TENSOR_RANK_MAX];
};
struct slice_attr {
    int64_t start[TENSOR_RANK_MAX], stop[TENSOR_RANK_MAX], step[TENSOR_RANK_MAX];
};
struct pad_attr {
    enum pad_fill fill;
    int64_t lo[TENSOR_RANK_MAX], hi[TENSOR_RANK_MAX];
};
struct axis_attr {
    int32_t axis;
};
struct rows_attr {
    int64_t rows;
};
struct unary_attr {
    enum unary_fn fn;
};
struct binary_attr {
    enum binary_fn fn;
};
struct reduce_attr {
    enum reduce_fn fn;
    uint32_t axes;
};
struct matmul_attr {
    bool transpose_a, transpose_b;
};
struct conv_attr {
    int64_t stride[2], pad[4] /* top, bottom, left, right */, dilation[2], groups;
    int64_t shape[4]; /* of the result, for the two gradients */
};
struct pool_attr {
    int64_t window[2], stride[2], pad[4], shape[4];
};
struct norm_attr {
    double eps;
};
struct norm_act_attr {
    double eps; /* where norm_attr has it */
    enum unary_fn fn;
};
struct softmax_attr {
    double scale;
};
struct xent_attr {
    double on, off;
};
struct sample_attr {
    int64_t images, batch;
};
struct augment_attr {
    enum augment_mode mode;
    enum augment_flip flip;
    int64_t pad;              /* largest shift in pixels, 0..4 */
    int64_t view_dy, view_dx; /* VIEW: y[h][w] = padded x[h + dy][w + dx], |d| <= pad */
    bool view_flip;
    double brightness,
        contrast; /* TRAIN: the most by which an image's b and c differ from 0 and 1 */
    double mean[CHANNELS_MAX], deviation[CHANNELS_MAX]; /* of u / 255 */
    enum dtype dtype;
};
struct sgd_attr {
    bool nesterov;
};

union op_attr {
    struct source_attr source;
    struct fill_attr fill;
    struct iota_attr iota;
    struct convert_attr convert;
    struct shape_attr shape;
    struct perm_attr perm;
    struct slice_attr slice;
    struct pad_attr pad;
    struct axis_attr axis;
    struct rows_attr rows;
    struct unary_attr unary;
    struct binary_attr binary;
    struct reduce_attr reduce;
    struct matmul_attr matmul;
    struct conv_attr conv;
    struct pool_attr pool;
    struct norm_attr norm;
    struct norm_act_attr norm_act;
    struct softmax_attr softmax;
    struct xent_attr xent;
    struct sample_attr sample;
    struct augment_attr augment;
    struct sgd_attr sgd;
};

/* Operands and results are numbers of values (graph) or slots (program); the lists live in the owner's pool. */
struct op {
    enum op_kind kind;
    union op_attr attr; /* zeroed beyond the member in use, so that equal ops compare as bytes */
    uint32_t in_first, in_count, out_first, out_count;
    uint32_t stream; /* of random numbers; from creation order, so backends agree */
    uint32_t label;  /* offset in the owner's text: "layers.1.conv1" */
};

struct op_info {
    const char *name;
    int in_min, in_max, out_count;
    bool composite, pure;
    /* Fills out[0..out_count) or says what is wrong with which operand. Operands beyond in_count of the op are
     * not looked at; the count itself was checked by op_shape(). */
    enum status (*shape)(const struct op *op, const struct tensor *const *in, struct tensor *out,
                         struct error *err);
};

const struct op_info *op_info(enum op_kind kind);
/* Checks the number of operands, then asks the kind's shape rule. */
enum status op_shape(const struct op *op, const struct tensor *const *in, struct tensor *out,
                     struct error *err);
const char *unary_name(enum unary_fn fn);
const char *binary_name(enum binary_fn fn);
const char *reduce_name(enum reduce_fn fn);
/* Matrix products and convolutions: 2 x multiply-adds, all taps, logical channels. Others 0 here. */
uint64_t op_flops(const struct op *op, const struct tensor *const *in,
                  const struct tensor *const *out);
/* Elementwise and reduction flops, a column of its own: one per element and arithmetic step. */
uint64_t op_flops_other(const struct op *op, const struct tensor *const *in,
                        const struct tensor *const *out);

#endif
