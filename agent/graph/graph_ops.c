/* agent/graph/graph_ops.c: the builder's functions, one per op; see graph.h for use, ops.h for the maths.
 * Attributes are copied field by field into zeroed memory: equal ops must compare as bytes, so neither padding
 * nor entries beyond the rank may carry what the caller's stack held. */
#include <assert.h>
#include <string.h>

#include "agent/graph/graph.h"
#include "agent/graph/graph_internal.h"

/* A zeroed union op_attr; an initialiser would zero its first member only. */
#define NEW_ATTR(name)  \
    union op_attr name; \
    memset(&(name), 0, sizeof(name))

static void copy_dims(int64_t *to, const int64_t *from, int rank)
{
    for (int d = 0; d < rank && d < TENSOR_RANK_MAX; d++)
        to[d] = from[d];
}

static int rank_of(const struct graph *g, value v)
{
    return v < g->value_count ? g->tensors[v].rank : 0;
}

static void set_source(struct source_attr *source, size_t index, const struct tensor *t)
{
    source->index = (uint32_t)index;
    source->dtype = t->dtype;
    source->rank = t->rank;
    copy_dims(source->dim, t->dim, t->rank);
}

value graph_input(struct graph *g, const char *name, enum dtype dtype, int rank, const int64_t *dim)
{
    NEW_ATTR(attr);
    attr.source.index = (uint32_t)g->input_count;
    attr.source.dtype = dtype;
    attr.source.rank = rank;
    copy_dims(attr.source.dim, dim, rank);
    const value v = graph_append_one(g, OP_INPUT, &attr, NULL, 0);

    if (v != VALUE_NONE) {
        g->inputs = graph_grow(g->inputs, g->input_count, sizeof *g->inputs);
        g->inputs[g->input_count++] = graph_add_text(g, name);
    }
    return v;
}

/* Variables may join the store while graphs are built. */
static void know_var(struct graph *g, const struct var *var)
{
    assert(var->index < store_count(g->store));
    assert(store_at(g->store, var->index) == var);
    while (g->var_count <= var->index) {
        g->var_values = graph_grow(g->var_values, g->var_count, sizeof *g->var_values);
        g->var_assigned = graph_grow(g->var_assigned, g->var_count, sizeof *g->var_assigned);
        g->var_values[g->var_count] = VALUE_NONE;
        g->var_assigned[g->var_count++] = false;
    }
}

value graph_var(struct graph *g, struct var *var)
{
    NEW_ATTR(attr);
    know_var(g, var);
    if (g->var_values[var->index] == VALUE_NONE) {
        set_source(&attr.source, var->index, &var->spec.tensor);
        g->var_values[var->index] = graph_append_one(g, OP_VAR, &attr, NULL, 0);
    }
    return g->var_values[var->index];
}

void graph_assign(struct graph *g, struct var *var, value v)
{
    value none[OP_OUT_MAX];
    NEW_ATTR(attr);

    know_var(g, var);
    if (g->var_assigned[var->index])
        graph_fault(g, NULL, "assign: variable %s is assigned twice", var->name);
    g->var_assigned[var->index] = true;
    set_source(&attr.source, var->index, &var->spec.tensor);
    graph_append(g, OP_ASSIGN, &attr, &v, 1, none);
}

void graph_output(struct graph *g, const char *name, value v)
{
    value none[OP_OUT_MAX];
    NEW_ATTR(attr);

    if (v < g->value_count)
        set_source(&attr.source, g->output_count, &g->tensors[v]);
    graph_append(g, OP_OUTPUT, &attr, &v, 1, none);
    if (g->err.status == ST_OK) {
        g->outputs = graph_grow(g->outputs, g->output_count, sizeof *g->outputs);
        g->outputs[g->output_count++] = graph_add_text(g, name);
    }
}

value graph_fill(struct graph *g, enum dtype dtype, int rank, const int64_t *dim, double number)
{
    NEW_ATTR(attr);
    attr.fill.value = number;
    attr.fill.dtype = dtype;
    attr.fill.rank = rank;
    copy_dims(attr.fill.dim, dim, rank);
    return graph_append_one(g, OP_FILL, &attr, NULL, 0);
}

value graph_scalar(struct graph *g, enum dtype dtype, double number)
{
    return graph_fill(g, dtype, 0, NULL, number);
}

value graph_iota(struct graph *g, enum dtype dtype, int rank, const int64_t *dim, int axis)
{
    NEW_ATTR(attr);
    attr.iota.dtype = dtype;
    attr.iota.axis = axis;
    attr.iota.rank = rank;
    copy_dims(attr.iota.dim, dim, rank);
    return graph_append_one(g, OP_IOTA, &attr, NULL, 0);
}

value graph_row_read(struct graph *g, value table, value i)
{
    NEW_ATTR(attr);
    return graph_append_one(g, OP_ROW_READ, &attr, (value[]){table, i}, 2);
}

value graph_row_write(struct graph *g, value table, value i, value row)
{
    NEW_ATTR(attr);
    return graph_append_one(g, OP_ROW_WRITE, &attr, (value[]){table, i, row}, 3);
}

value graph_convert(struct graph *g, value x, enum dtype dtype)
{
    NEW_ATTR(attr);
    if (x < g->value_count && g->tensors[x].dtype == dtype)
        return x;
    attr.convert.dtype = dtype;
    attr.convert.format = FMT_ROW;
    return graph_append_one(g, OP_CONVERT, &attr, &x, 1);
}

value graph_reshape(struct graph *g, value x, int rank, const int64_t *dim)
{
    NEW_ATTR(attr);
    attr.shape.rank = rank;
    copy_dims(attr.shape.dim, dim, rank);
    return graph_append_one(g, OP_RESHAPE, &attr, &x, 1);
}

value graph_transpose(struct graph *g, value x, const int32_t *axis)
{
    NEW_ATTR(attr);
    for (int d = 0; d < rank_of(g, x); d++)
        attr.perm.axis[d] = axis[d];
    return graph_append_one(g, OP_TRANSPOSE, &attr, &x, 1);
}

value graph_slice(struct graph *g, value x, struct slice_attr slice)
{
    NEW_ATTR(attr);
    copy_dims(attr.slice.start, slice.start, rank_of(g, x));
    copy_dims(attr.slice.stop, slice.stop, rank_of(g, x));
    copy_dims(attr.slice.step, slice.step, rank_of(g, x));
    return graph_append_one(g, OP_SLICE, &attr, &x, 1);
}

value graph_pad(struct graph *g, value x, struct pad_attr pad)
{
    NEW_ATTR(attr);
    attr.pad.fill = pad.fill;
    copy_dims(attr.pad.lo, pad.lo, rank_of(g, x));
    copy_dims(attr.pad.hi, pad.hi, rank_of(g, x));
    return graph_append_one(g, OP_PAD, &attr, &x, 1);
}

value graph_concat(struct graph *g, const value *x, int count, int axis)
{
    NEW_ATTR(attr);
    attr.axis.axis = axis;
    return graph_append_one(g, OP_CONCAT, &attr, x, (size_t)count);
}

value graph_gather_rows(struct graph *g, value table, value idx)
{
    NEW_ATTR(attr);
    return graph_append_one(g, OP_GATHER_ROWS, &attr, (value[]){table, idx}, 2);
}

value graph_scatter_rows(struct graph *g, value idx, value rows, int64_t row_count)
{
    NEW_ATTR(attr);
    attr.rows.rows = row_count;
    return graph_append_one(g, OP_SCATTER_ROWS, &attr, (value[]){idx, rows}, 2);
}

value graph_unary(struct graph *g, enum unary_fn fn, value x)
{
    NEW_ATTR(attr);
    attr.unary.fn = fn;
    return graph_append_one(g, OP_UNARY, &attr, &x, 1);
}

value graph_unary_grad(struct graph *g, enum unary_fn fn, value dy, value x, value y)
{
    NEW_ATTR(attr);
    attr.unary.fn = fn;
    return graph_append_one(g, OP_UNARY_GRAD, &attr, (value[]){dy, x, y}, 3);
}

value graph_binary(struct graph *g, enum binary_fn fn, value a, value b)
{
    NEW_ATTR(attr);
    attr.binary.fn = fn;
    return graph_append_one(g, OP_BINARY, &attr, (value[]){a, b}, 2);
}

value graph_add(struct graph *g, value a, value b)
{
    return graph_binary(g, BINARY_ADD, a, b);
}

value graph_sub(struct graph *g, value a, value b)
{
    return graph_binary(g, BINARY_SUB, a, b);
}

value graph_mul(struct graph *g, value a, value b)
{
    return graph_binary(g, BINARY_MUL, a, b);
}

value graph_select(struct graph *g, value condition, value a, value b)
{
    NEW_ATTR(attr);
    return graph_append_one(g, OP_SELECT, &attr, (value[]){condition, a, b}, 3);
}

value graph_reduce(struct graph *g, enum reduce_fn fn, value x, uint32_t axes)
{
    NEW_ATTR(attr);
    attr.reduce.fn = fn;
    attr.reduce.axes = axes;
    return graph_append_one(g, OP_REDUCE, &attr, &x, 1);
}

value graph_matmul(struct graph *g, value a, value b, struct matmul_attr matmul)
{
    NEW_ATTR(attr);
    attr.matmul = matmul;
    return graph_append_one(g, OP_MATMUL, &attr, (value[]){a, b}, 2);
}

value graph_conv2d(struct graph *g, value x, value w, struct conv_attr conv)
{
    NEW_ATTR(attr);
    attr.conv = conv;
    memset(attr.conv.shape, 0, sizeof attr.conv.shape); /* of the gradients alone */
    return graph_append_one(g, OP_CONV2D, &attr, (value[]){x, w}, 2);
}

value graph_conv2d_grad_input(struct graph *g, value dy, value w, struct conv_attr conv)
{
    NEW_ATTR(attr);
    attr.conv = conv;
    return graph_append_one(g, OP_CONV2D_GRAD_INPUT, &attr, (value[]){dy, w}, 2);
}

value graph_conv2d_grad_weight(struct graph *g, value dy, value x, struct conv_attr conv)
{
    NEW_ATTR(attr);
    attr.conv = conv;
    return graph_append_one(g, OP_CONV2D_GRAD_WEIGHT, &attr, (value[]){dy, x}, 2);
}

value graph_pool_max(struct graph *g, value x, struct pool_attr pool, value *index)
{
    value out[OP_OUT_MAX];
    NEW_ATTR(attr);
    attr.pool = pool;
    memset(attr.pool.shape, 0, sizeof attr.pool.shape);
    graph_append(g, OP_POOL_MAX, &attr, &x, 1, out);
    if (index != NULL)
        *index = out[1];
    return out[0];
}

value graph_pool_max_grad(struct graph *g, value dy, value index, struct pool_attr pool)
{
    NEW_ATTR(attr);
    attr.pool = pool;
    return graph_append_one(g, OP_POOL_MAX_GRAD, &attr, (value[]){dy, index}, 2);
}

value graph_pool_avg(struct graph *g, value x, struct pool_attr pool)
{
    NEW_ATTR(attr);
    attr.pool = pool;
    memset(attr.pool.shape, 0, sizeof attr.pool.shape);
    return graph_append_one(g, OP_POOL_AVG, &attr, &x, 1);
}

value graph_pool_avg_grad(struct graph *g, value dy, struct pool_attr pool)
{
    NEW_ATTR(attr);
    attr.pool = pool;
    return graph_append_one(g, OP_POOL_AVG_GRAD, &attr, &dy, 1);
}

value graph_batch_norm(struct graph *g, value x, value gamma, value beta, double eps, value *mean,
                       value *var)
{
    value out[OP_OUT_MAX];
    NEW_ATTR(attr);
    attr.norm.eps = eps;
    graph_append(g, OP_BATCH_NORM, &attr, (value[]){x, gamma, beta}, 3, out);
    *mean = out[1];
    *var = out[2];
    return out[0];
}

void graph_bn_stats(struct graph *g, value x, double eps, value *mean, value *var)
{
    value out[OP_OUT_MAX];
    NEW_ATTR(attr);
    attr.norm.eps = eps;
    graph_append(g, OP_BN_STATS, &attr, &x, 1, out);
    *mean = out[0];
    *var = out[1];
}

value graph_bn_apply(struct graph *g, value x, value mean, value var, value gamma, value beta,
                     double eps)
{
    NEW_ATTR(attr);
    attr.norm.eps = eps;
    return graph_append_one(g, OP_BN_APPLY, &attr, (value[]){x, mean, var, gamma, beta}, 5);
}

void graph_bn_grad_stats(struct graph *g, value dy, value x, value mean, value var, double eps,
                         value *sum_dy, value *sum_dy_xhat)
{
    value out[OP_OUT_MAX];
    NEW_ATTR(attr);
    attr.norm.eps = eps;
    graph_append(g, OP_BN_GRAD_STATS, &attr, (value[]){dy, x, mean, var}, 4, out);
    *sum_dy = out[0];
    *sum_dy_xhat = out[1];
}

value graph_bn_grad_apply(struct graph *g, value dy, value x, value mean, value var, value gamma,
                          value sum_dy, value sum_dy_xhat, double eps)
{
    NEW_ATTR(attr);
    attr.norm.eps = eps;
    return graph_append_one(g, OP_BN_GRAD_APPLY, &attr,
                            (value[]){dy, x, mean, var, gamma, sum_dy, sum_dy_xhat}, 7);
}

value graph_layer_norm(struct graph *g, value x, value gamma, value beta, double eps, value *mean,
                       value *rstd)
{
    value out[OP_OUT_MAX];
    NEW_ATTR(attr);
    attr.norm.eps = eps;
    graph_append(g, OP_LAYER_NORM, &attr, (value[]){x, gamma, beta}, 3, out);
    if (mean != NULL)
        *mean = out[1];
    if (rstd != NULL)
        *rstd = out[2];
    return out[0];
}

value graph_layer_norm_grad(struct graph *g, value dy, value x, value mean, value rstd, value gamma,
                            value *dgamma, value *dbeta)
{
    value out[OP_OUT_MAX];
    NEW_ATTR(attr);
    graph_append(g, OP_LAYER_NORM_GRAD, &attr, (value[]){dy, x, mean, rstd, gamma}, 5, out);
    *dgamma = out[1];
    *dbeta = out[2];
    return out[0];
}

value graph_softmax(struct graph *g, value x, double scale)
{
    NEW_ATTR(attr);
    attr.softmax.scale = scale;
    return graph_append_one(g, OP_SOFTMAX, &attr, &x, 1);
}

value graph_softmax_grad(struct graph *g, value dy, value y, double scale)
{
    NEW_ATTR(attr);
    attr.softmax.scale = scale;
    return graph_append_one(g, OP_SOFTMAX_GRAD, &attr, (value[]){dy, y}, 2);
}

value graph_xent(struct graph *g, value logits, value label, value valid, struct xent_attr xent,
                 value *correct)
{
    value out[OP_OUT_MAX];
    NEW_ATTR(attr);
    attr.xent = xent;
    graph_append(g, OP_XENT, &attr, (value[]){logits, label, valid}, 3, out);
    if (correct != NULL)
        *correct = out[1];
    return out[0];
}

value graph_xent_grad(struct graph *g, value dloss, value logits, value label, value valid,
                      struct xent_attr xent)
{
    NEW_ATTR(attr);
    attr.xent = xent;
    return graph_append_one(g, OP_XENT_GRAD, &attr, (value[]){dloss, logits, label, valid}, 4);
}

value graph_sample(struct graph *g, value seed, value step, struct sample_attr sample, value *epoch)
{
    value out[OP_OUT_MAX];
    NEW_ATTR(attr);
    attr.sample = sample;
    graph_append(g, OP_SAMPLE, &attr, (value[]){seed, step}, 2, out);
    *epoch = out[1];
    return out[0];
}

value graph_augment(struct graph *g, value images, value idx, value epoch, value seed,
                    struct augment_attr augment)
{
    NEW_ATTR(attr);
    attr.augment.mode = augment.mode;
    attr.augment.flip = augment.flip;
    attr.augment.pad = augment.pad;
    attr.augment.view_dy = augment.view_dy;
    attr.augment.view_dx = augment.view_dx;
    attr.augment.view_flip = augment.view_flip;
    for (int c = 0; c < CHANNELS_MAX; c++) {
        attr.augment.mean[c] = augment.mean[c];
        attr.augment.deviation[c] = augment.deviation[c];
    }
    attr.augment.dtype = augment.dtype;
    return graph_append_one(g, OP_AUGMENT, &attr, (value[]){images, idx, epoch, seed}, 4);
}

value graph_sgd(struct graph *g, value w, value grad, value m, value lr, value wd, value mu,
                bool nesterov, value *m_new)
{
    value out[OP_OUT_MAX];
    NEW_ATTR(attr);
    attr.sgd.nesterov = nesterov;
    graph_append(g, OP_SGD, &attr, (value[]){w, grad, m, lr, wd, mu}, 6, out);
    *m_new = out[1];
    return out[0];
}
