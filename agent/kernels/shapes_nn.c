/* agent/kernels/shapes_nn.c: shape rules of products, convolutions, pools, norms, losses, data and optimisers;
 * see ops.h for the maths. */
#include "agent/kernels/shapes_internal.h"

/* The result of sliding `window` taps over `size` pixels; below 1 when they do not fit. */
static int64_t slide(int64_t size, int64_t before, int64_t after, int64_t window, int64_t stride,
                     int64_t dilation)
{
    const int64_t room = size + before + after - dilation * (window - 1) - 1;

    return room < 0 ? 0 : room / stride + 1;
}

enum status shape_OP_MATMUL(const struct op *op, const struct tensor *const *in,
                            struct tensor *result, struct error *err)
{
    const struct tensor *a = in[0], *b = in[1];
    int64_t dim[TENSOR_RANK_MAX];
    enum status status = shape_need_float(op, in, 0, err);

    if (status == ST_OK)
        status = shape_need_dtype(op, in, 1, a->dtype, err);
    if (status != ST_OK)
        return status;
    if (a->rank < 2)
        return shape_refuse(op, in, 0, err, "rank 2 or more is needed");
    if (b->rank != 2 && b->rank != a->rank)
        return shape_refuse(op, in, 1, err, "rank 2 or %d is needed", a->rank);
    for (int d = 0; d < a->rank - 2; d++) {
        dim[d] = a->dim[d];
        if (b->rank == a->rank && b->dim[d] != a->dim[d])
            return shape_refuse(op, in, 1, err, "batch dim %d must be %lld", d,
                                (long long)a->dim[d]);
    }
    const int a_k = op->attr.matmul.transpose_a ? a->rank - 2 : a->rank - 1;
    const int b_k = op->attr.matmul.transpose_b ? b->rank - 1 : b->rank - 2;

    if (a->dim[a_k] != b->dim[b_k])
        return shape_refuse(op, in, 1, err, "dim %d must be %lld, the inner dim of operand 0", b_k,
                            (long long)a->dim[a_k]);
    dim[a->rank - 2] = a->dim[op->attr.matmul.transpose_a ? a->rank - 1 : a->rank - 2];
    dim[a->rank - 1] = b->dim[op->attr.matmul.transpose_b ? b->rank - 2 : b->rank - 1];
    return shape_result(op, a->dtype, a->rank, dim, result, err);
}

/* y = [N,P,Q,K] of a convolution of x [N,H,W,C] with w [K,R,S,C/g]. w_at: the operand to blame for w, -1: attr.shape. */
static enum status conv_dims(const struct op *op, const struct tensor *const *in, const int64_t *x,
                             const int64_t *w, int w_at, int64_t *y, struct error *err)
{
    const struct conv_attr *a = &op->attr.conv;

    for (int d = 0; d < 4; d++)
        if (x[d] < 1 || w[d] < 1)
            return shape_refuse(op, in, -1, err, "dim %d of attr.shape is below 1", d);
    for (int i = 0; i < 2; i++)
        if (a->stride[i] < 1 || a->dilation[i] < 1)
            return shape_refuse(op, in, -1, err, "stride and dilation start at 1");
    for (int i = 0; i < 4; i++)
        if (a->pad[i] < 0)
            return shape_refuse(op, in, -1, err, "padding is not negative");
    if (a->groups < 1 || x[3] % a->groups != 0 || w[0] % a->groups != 0)
        return shape_refuse(op, in, -1, err, "%lld groups do not divide %lld and %lld channels",
                            (long long)a->groups, (long long)x[3], (long long)w[0]);
    if (w[3] != x[3] / a->groups)
        return shape_refuse(op, in, w_at, err, "%lld channels of %lld in %lld groups need %lld",
                            (long long)w[3], (long long)x[3], (long long)a->groups,
                            (long long)(x[3] / a->groups));
    y[0] = x[0];
    y[1] = slide(x[1], a->pad[0], a->pad[1], w[1], a->stride[0], a->dilation[0]);
    y[2] = slide(x[2], a->pad[2], a->pad[3], w[2], a->stride[1], a->dilation[1]);
    y[3] = w[0];
    if (y[1] < 1 || y[2] < 1)
        return shape_refuse(op, in, w_at, err, "%lldx%lld taps do not fit into %lldx%lld pixels",
                            (long long)w[1], (long long)w[2], (long long)x[1], (long long)x[2]);
    return ST_OK;
}

static enum status conv_operands(const struct op *op, const struct tensor *const *in,
                                 struct error *err)
{
    enum status status = shape_need_float(op, in, 0, err);

    if (status == ST_OK)
        status = shape_need_dtype(op, in, 1, in[0]->dtype, err);
    if (status == ST_OK)
        status = shape_need_rank(op, in, 0, 4, err);
    if (status == ST_OK)
        status = shape_need_rank(op, in, 1, 4, err);
    return status;
}

enum status shape_OP_CONV2D(const struct op *op, const struct tensor *const *in,
                            struct tensor *result, struct error *err)
{
    int64_t y[4];
    enum status status = conv_operands(op, in, err);

    if (status == ST_OK)
        status = conv_dims(op, in, in[0]->dim, in[1]->dim, 1, y, err);
    return status != ST_OK ? status : shape_result(op, in[0]->dtype, 4, y, result, err);
}

enum status shape_OP_CONV2D_GRAD_INPUT(const struct op *op, const struct tensor *const *in,
                                       struct tensor *result, struct error *err)
{
    int64_t y[4];
    enum status status = conv_operands(op, in, err);

    if (status == ST_OK)
        status = conv_dims(op, in, op->attr.conv.shape, in[1]->dim, 1, y, err);
    if (status == ST_OK)
        status = shape_need_dims(op, in, 0, 4, y, err);
    return status != ST_OK ? status
                           : shape_result(op, in[0]->dtype, 4, op->attr.conv.shape, result, err);
}

enum status shape_OP_CONV2D_GRAD_WEIGHT(const struct op *op, const struct tensor *const *in,
                                        struct tensor *result, struct error *err)
{
    int64_t y[4];
    enum status status = conv_operands(op, in, err);

    if (status == ST_OK)
        status = conv_dims(op, in, in[1]->dim, op->attr.conv.shape, -1, y, err);
    if (status == ST_OK)
        status = shape_need_dims(op, in, 0, 4, y, err);
    return status != ST_OK
               ? status
               : shape_result(op, dtype_of_sums(in[0]->dtype), 4, op->attr.conv.shape, result, err);
}

/* y = [N,P,Q,C] of pooling x [N,H,W,C]. Padding below the window: every window holds a real pixel. */
static enum status pool_dims(const struct op *op, const struct tensor *const *in, const int64_t *x,
                             int64_t *y, struct error *err)
{
    const struct pool_attr *a = &op->attr.pool;

    for (int d = 0; d < 4; d++)
        if (x[d] < 1)
            return shape_refuse(op, in, -1, err, "dim %d of attr.shape is below 1", d);
    for (int i = 0; i < 2; i++) {
        if (a->window[i] < 1 || a->stride[i] < 1)
            return shape_refuse(op, in, -1, err, "window and stride start at 1");
        for (int side = 0; side < 2; side++)
            if (a->pad[2 * i + side] < 0 || a->pad[2 * i + side] >= a->window[i])
                return shape_refuse(op, in, -1, err, "padding %lld is not below the window %lld",
                                    (long long)a->pad[2 * i + side], (long long)a->window[i]);
    }
    if (a->window[0] > 256 || a->window[1] > 256 || a->window[0] * a->window[1] > 256)
        return shape_refuse(op, in, -1, err, "the window has more than 256 places"); /* U8 index */
    y[0] = x[0];
    y[1] = slide(x[1], a->pad[0], a->pad[1], a->window[0], a->stride[0], 1);
    y[2] = slide(x[2], a->pad[2], a->pad[3], a->window[1], a->stride[1], 1);
    y[3] = x[3];
    if (y[1] < 1 || y[2] < 1)
        return shape_refuse(op, in, -1, err, "a window of %lldx%lld does not fit into %lldx%lld",
                            (long long)a->window[0], (long long)a->window[1], (long long)x[1],
                            (long long)x[2]);
    return ST_OK;
}

enum status shape_OP_POOL_AVG(const struct op *op, const struct tensor *const *in,
                              struct tensor *result, struct error *err)
{
    int64_t y[4];
    enum status status = shape_need_float(op, in, 0, err);

    if (status == ST_OK)
        status = shape_need_rank(op, in, 0, 4, err);
    if (status == ST_OK)
        status = pool_dims(op, in, in[0]->dim, y, err);
    return status != ST_OK ? status : shape_result(op, in[0]->dtype, 4, y, result, err);
}

enum status shape_OP_POOL_MAX(const struct op *op, const struct tensor *const *in,
                              struct tensor *result, struct error *err)
{
    const enum status status = shape_OP_POOL_AVG(op, in, result, err);

    return status != ST_OK ? status : shape_result(op, DT_U8, 4, result[0].dim, &result[1], err);
}

enum status shape_OP_POOL_AVG_GRAD(const struct op *op, const struct tensor *const *in,
                                   struct tensor *result, struct error *err)
{
    int64_t y[4];
    enum status status = shape_need_float(op, in, 0, err);

    if (status == ST_OK)
        status = pool_dims(op, in, op->attr.pool.shape, y, err);
    if (status == ST_OK)
        status = shape_need_dims(op, in, 0, 4, y, err);
    return status != ST_OK ? status
                           : shape_result(op, in[0]->dtype, 4, op->attr.pool.shape, result, err);
}

enum status shape_OP_POOL_MAX_GRAD(const struct op *op, const struct tensor *const *in,
                                   struct tensor *result, struct error *err)
{
    const enum status status = shape_OP_POOL_AVG_GRAD(op, in, result, err);

    return status != ST_OK ? status : shape_need(op, in, 1, DT_U8, in[0]->rank, in[0]->dim, err);
}

/* Operands from..to: vectors over the last dim of operand `of`, in the type of its sums. */
static enum status need_vectors(const struct op *op, const struct tensor *const *in, int of,
                                int from, int to, struct error *err)
{
    enum status status = shape_need_float(op, in, of, err);

    if (status == ST_OK && in[of]->rank < 1)
        status = shape_refuse(op, in, of, err, "rank 1 or more is needed");
    for (int i = from; status == ST_OK && i <= to; i++)
        status = shape_need(op, in, i, dtype_of_sums(in[of]->dtype), 1,
                            &in[of]->dim[in[of]->rank - 1], err);
    return status;
}

static enum status need_eps(const struct op *op, const struct tensor *const *in, struct error *err)
{
    if (!(op->attr.norm.eps >= 0))
        return shape_refuse(op, in, -1, err, "eps is negative or no number");
    return ST_OK;
}

/* A vector over the last dim of `x`, in the type of its sums. */
static struct tensor vector_of(const struct tensor *x)
{
    return tensor_make(dtype_of_sums(x->dtype), 1, &x->dim[x->rank - 1]);
}

enum status shape_OP_BATCH_NORM(const struct op *op, const struct tensor *const *in,
                                struct tensor *result, struct error *err)
{
    enum status status = need_vectors(op, in, 0, 1, 2, err);

    if (status == ST_OK)
        status = need_eps(op, in, err);
    if (status != ST_OK)
        return status;
    result[0] = tensor_make(in[0]->dtype, in[0]->rank, in[0]->dim);
    result[1] = result[2] = vector_of(in[0]);
    return ST_OK;
}

enum status shape_OP_BN_STATS(const struct op *op, const struct tensor *const *in,
                              struct tensor *result, struct error *err)
{
    const enum status status = need_vectors(op, in, 0, 1, 0, err);

    if (status == ST_OK)
        result[0] = result[1] = vector_of(in[0]);
    return status;
}

enum status shape_OP_BN_APPLY(const struct op *op, const struct tensor *const *in,
                              struct tensor *result, struct error *err)
{
    enum status status = need_vectors(op, in, 0, 1, 4, err);

    if (status == ST_OK)
        status = need_eps(op, in, err);
    if (status == ST_OK)
        result[0] = tensor_make(in[0]->dtype, in[0]->rank, in[0]->dim);
    return status;
}

enum status shape_OP_BN_GRAD_STATS(const struct op *op, const struct tensor *const *in,
                                   struct tensor *result, struct error *err)
{
    enum status status = need_vectors(op, in, 0, 2, 3, err);

    if (status == ST_OK)
        status = need_eps(op, in, err);
    if (status == ST_OK)
        status = shape_need_like(op, in, 1, 0, err);
    if (status == ST_OK)
        result[0] = result[1] = vector_of(in[0]);
    return status;
}

enum status shape_OP_BN_GRAD_APPLY(const struct op *op, const struct tensor *const *in,
                                   struct tensor *result, struct error *err)
{
    enum status status = need_vectors(op, in, 0, 2, 6, err);

    if (status == ST_OK)
        status = need_eps(op, in, err);
    if (status == ST_OK)
        status = shape_need_like(op, in, 1, 0, err);
    if (status == ST_OK)
        result[0] = tensor_make(in[0]->dtype, in[0]->rank, in[0]->dim);
    return status;
}

static enum status need_act(const struct op *op, const struct tensor *const *in, struct error *err)
{
    return (unsigned)op->attr.norm_act.fn < UNARY_COUNT
               ? need_eps(op, in, err)
               : shape_refuse(op, in, -1, err, "there is no such function");
}

enum status shape_OP_BN_ACT(const struct op *op, const struct tensor *const *in,
                            struct tensor *result, struct error *err)
{
    const enum status status = need_act(op, in, err);

    return status == ST_OK ? shape_OP_BN_APPLY(op, in, result, err) : status;
}

enum status shape_OP_BN_ACT_GRAD_STATS(const struct op *op, const struct tensor *const *in,
                                       struct tensor *result, struct error *err)
{
    enum status status = need_vectors(op, in, 0, 2, 5, err);

    if (status == ST_OK)
        status = need_act(op, in, err);
    if (status == ST_OK)
        status = shape_need_like(op, in, 1, 0, err);
    if (status == ST_OK)
        result[0] = result[1] = vector_of(in[0]);
    return status;
}

enum status shape_OP_BN_ACT_GRAD_APPLY(const struct op *op, const struct tensor *const *in,
                                       struct tensor *result, struct error *err)
{
    enum status status = need_vectors(op, in, 0, 2, 7, err);

    if (status == ST_OK)
        status = need_act(op, in, err);
    if (status == ST_OK)
        status = shape_need_like(op, in, 1, 0, err);
    if (status == ST_OK)
        result[0] = tensor_make(in[0]->dtype, in[0]->rank, in[0]->dim);
    return status;
}

enum status shape_OP_LAYER_NORM(const struct op *op, const struct tensor *const *in,
                                struct tensor *result, struct error *err)
{
    enum status status = need_vectors(op, in, 0, 1, 2, err);
    struct tensor *rows = &result[1];

    if (status == ST_OK)
        status = need_eps(op, in, err);
    if (status != ST_OK)
        return status;
    result[0] = tensor_make(in[0]->dtype, in[0]->rank, in[0]->dim);
    *rows = tensor_make(dtype_of_sums(in[0]->dtype), in[0]->rank, in[0]->dim);
    rows->dim[rows->rank - 1] = 1;
    *rows = tensor_make(rows->dtype, rows->rank, rows->dim);
    result[2] = *rows;
    return ST_OK;
}

enum status shape_OP_LAYER_NORM_GRAD(const struct op *op, const struct tensor *const *in,
                                     struct tensor *result, struct error *err)
{
    enum status status = need_vectors(op, in, 0, 4, 4, err);
    int64_t rows[TENSOR_RANK_MAX];

    if (status == ST_OK)
        status = shape_need_like(op, in, 1, 0, err);
    for (int d = 0; d < in[0]->rank; d++)
        rows[d] = d == in[0]->rank - 1 ? 1 : in[0]->dim[d];
    for (int i = 2; status == ST_OK && i <= 3; i++)
        status = shape_need(op, in, i, dtype_of_sums(in[0]->dtype), in[0]->rank, rows, err);
    if (status != ST_OK)
        return status;
    result[0] = tensor_make(in[0]->dtype, in[0]->rank, in[0]->dim);
    result[1] = result[2] = vector_of(in[0]);
    return ST_OK;
}

enum status shape_OP_SOFTMAX(const struct op *op, const struct tensor *const *in,
                             struct tensor *result, struct error *err)
{
    const enum status status = need_vectors(op, in, 0, 1, 0, err);

    if (status == ST_OK)
        *result = tensor_make(in[0]->dtype, in[0]->rank, in[0]->dim);
    return status;
}

enum status shape_OP_SOFTMAX_GRAD(const struct op *op, const struct tensor *const *in,
                                  struct tensor *result, struct error *err)
{
    const enum status status = shape_OP_SOFTMAX(op, in, result, err);

    return status != ST_OK ? status : shape_need_like(op, in, 1, 0, err);
}

/* Operands at, at + 1, at + 2: logits, label or target, valid. */
static enum status need_labels(const struct op *op, const struct tensor *const *in, int at,
                               struct error *err)
{
    const struct tensor *logits = in[at];
    enum status status = shape_need_float(op, in, at, err);

    if (status == ST_OK)
        status = shape_need_rank(op, in, at, 2, err);
    if (status == ST_OK && in[at + 1]->dtype == DT_I32)
        status = shape_need_dims(op, in, at + 1, 1, logits->dim, err);
    else if (status == ST_OK)
        status = shape_need(op, in, at + 1, dtype_of_sums(logits->dtype), 2, logits->dim, err);
    return status != ST_OK ? status : shape_need(op, in, at + 2, DT_I32, 0, NULL, err);
}

enum status shape_OP_XENT(const struct op *op, const struct tensor *const *in,
                          struct tensor *result, struct error *err)
{
    const enum status status = need_labels(op, in, 0, err);

    if (status == ST_OK)
        result[0] = result[1] = tensor_make(dtype_of_sums(in[0]->dtype), 1, in[0]->dim);
    return status;
}

enum status shape_OP_XENT_GRAD(const struct op *op, const struct tensor *const *in,
                               struct tensor *result, struct error *err)
{
    enum status status = need_labels(op, in, 1, err);

    if (status == ST_OK)
        status = shape_need(op, in, 0, dtype_of_sums(in[1]->dtype), 1, in[1]->dim, err);
    if (status == ST_OK)
        *result = tensor_make(in[1]->dtype, in[1]->rank, in[1]->dim);
    return status;
}

enum status shape_OP_SAMPLE(const struct op *op, const struct tensor *const *in,
                            struct tensor *result, struct error *err)
{
    const struct sample_attr *a = &op->attr.sample;
    enum status status = shape_need(op, in, 0, DT_I32, 0, NULL, err);

    if (status == ST_OK)
        status = shape_need(op, in, 1, DT_I32, 0, NULL, err);
    if (status != ST_OK)
        return status;
    if (a->batch < 1 || a->images < a->batch || a->images > INT32_MAX)
        return shape_refuse(op, in, -1, err, "a batch of %lld from %lld images",
                            (long long)a->batch, (long long)a->images);
    result[0] = tensor_make(DT_I32, 1, &a->batch);
    result[1] = tensor_make(DT_I32, 0, NULL);
    return ST_OK;
}

enum status shape_OP_AUGMENT(const struct op *op, const struct tensor *const *in,
                             struct tensor *result, struct error *err)
{
    const struct augment_attr *a = &op->attr.augment;
    const struct tensor *images = in[0];
    enum status status = shape_need_rank(op, in, 0, 4, err);

    if (status == ST_OK)
        status = shape_need_dtype(op, in, 0, DT_U8, err);
    if (status == ST_OK)
        status = shape_need_rank(op, in, 1, 1, err);
    if (status == ST_OK)
        status = shape_need_dtype(op, in, 1, DT_I32, err);
    for (int i = 2; status == ST_OK && i <= 3; i++)
        status = shape_need(op, in, i, DT_I32, 0, NULL, err);
    if (status != ST_OK)
        return status;
    if (images->dim[3] > CHANNELS_MAX)
        return shape_refuse(op, in, 0, err, "more than %d channels", CHANNELS_MAX);
    if (a->pad < 0 || a->pad > 4 || a->pad >= images->dim[1] || a->pad >= images->dim[2])
        return shape_refuse(op, in, 0, err, "a shift of %lld pixels is not possible",
                            (long long)a->pad);
    if (a->mode == AUGMENT_VIEW && (a->view_dy < -a->pad || a->view_dy > a->pad ||
                                    a->view_dx < -a->pad || a->view_dx > a->pad))
        return shape_refuse(op, in, -1, err, "the view is shifted by more than %lld pixels",
                            (long long)a->pad);
    if (!(a->brightness >= 0.0) || !(a->contrast >= 0.0 && a->contrast < 1.0))
        return shape_refuse(op, in, -1, err, "brightness is below 0 or contrast outside of [0, 1)");
    for (int64_t c = 0; c < images->dim[3]; c++)
        if (!(a->deviation[c] > 0))
            return shape_refuse(op, in, -1, err, "channel %lld has no deviation", (long long)c);
    if (!dtype_is_float(a->dtype))
        return shape_refuse(op, in, -1, err, "the result needs a float type");
    const int64_t dim[4] = {in[1]->dim[0], images->dim[1], images->dim[2], images->dim[3]};

    return shape_result(op, a->dtype, 4, dim, result, err);
}

enum status shape_OP_SGD(const struct op *op, const struct tensor *const *in, struct tensor *result,
                         struct error *err)
{
    enum status status = ST_OK;

    if (in[0]->dtype != DT_F32 && in[0]->dtype != DT_F64)
        return shape_refuse(op, in, 0, err, "weights are f32, or f64 in tests");
    for (int i = 1; status == ST_OK && i <= 2; i++)
        status = shape_need_like(op, in, i, 0, err);
    for (int i = 3; status == ST_OK && i <= 5; i++)
        status = shape_need(op, in, i, in[0]->dtype, 0, NULL, err);
    if (status == ST_OK)
        result[0] = result[1] = tensor_make(in[0]->dtype, in[0]->rank, in[0]->dim);
    return status;
}
