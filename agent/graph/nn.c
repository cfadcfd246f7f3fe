/* agent/graph/nn.c: see nn.h. */
#include "agent/graph/nn.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "common/str.h"

static struct tensor tensor_of(const struct nn *nn, value x);
static bool failed(value x);
static struct var *channel_var(struct nn *nn, const char *name, int64_t count, enum var_role role,
                               int group);
static value split_heads(struct nn *nn, value qkv, int part, int64_t heads);

void nn_push(struct nn *nn, const char *name)
{
    graph_push_label(nn->graph, name);
}

void nn_pop(struct nn *nn)
{
    graph_pop_label(nn->graph);
}

struct var *nn_var(struct nn *nn, const struct var_spec *spec)
{
    struct store *store = graph_store(nn->graph);
    const char *label = graph_current_label(nn->graph);
    struct var_spec named = *spec;
    char name[VAR_NAME_BYTES];
    struct var *var;
    const int length =
        snprintf(name, sizeof name, "%s%s%s", label, label[0] != '\0' ? "." : "", spec->name);

    assert(length > 0);
    assert((size_t)length < sizeof name);
    named.name = name;
    var = store_find(store, name);
    if (var == NULL)
        return store_add(store, &named);
    assert(tensor_same_shape(&var->spec.tensor, &spec->tensor));
    assert(var->spec.tensor.dtype == spec->tensor.dtype);
    assert(var->spec.role == spec->role);
    return var;
}

value nn_read(struct nn *nn, struct var *var)
{
    return graph_convert(nn->graph, graph_var(nn->graph, var), nn->compute);
}

/* Under the label of the layer. */
static struct var *conv_weight(struct nn *nn, value x, const struct nn_conv *conv)
{
    const struct tensor in = tensor_of(nn, x);
    const int64_t dim[4] = {conv->channels, conv->window[0], conv->window[1],
                            in.dim[in.rank > 0 ? in.rank - 1 : 0]};

    return nn_var(nn, &(struct var_spec){.name = "weight",
                                         .tensor = tensor_make(dtype_of_sums(nn->compute), 4, dim),
                                         .role = VAR_PARAM,
                                         .group = conv->weight_group,
                                         .has_torch_perm = true,
                                         .torch_perm = {0, 3, 1, 2}});
}

static struct conv_attr conv_attr_of(const struct nn_conv *conv)
{
    struct conv_attr attr = {.dilation = {1, 1}, .groups = 1};

    memcpy(attr.pad, conv->pad, sizeof attr.pad);
    for (int i = 0; i < 2; i++)
        attr.stride[i] = conv->stride[i] == 0 ? 1 : conv->stride[i];
    return attr;
}

value nn_conv2d(struct nn *nn, const char *name, value x, const struct nn_conv *conv)
{
    value y;

    if (failed(x))
        return VALUE_NONE;
    nn_push(nn, name);
    y = graph_conv2d(nn->graph, x, nn_read(nn, conv_weight(nn, x, conv)), conv_attr_of(conv));
    if (conv->bias) {
        struct var *bias = channel_var(nn, "bias", conv->channels, VAR_PARAM, conv->bias_group);

        y = graph_add(nn->graph, y, nn_read(nn, bias));
    }
    nn_pop(nn);
    return y;
}

value nn_linear(struct nn *nn, const char *name, value x, const struct nn_linear *linear)
{
    value y;

    if (failed(x))
        return VALUE_NONE;
    nn_push(nn, name);
    const struct tensor in = tensor_of(nn, x);
    const int64_t dim[2] = {in.dim[in.rank > 0 ? in.rank - 1 : 0], linear->width};
    struct var *weight =
        nn_var(nn, &(struct var_spec){.name = "weight",
                                      .tensor = tensor_make(dtype_of_sums(nn->compute), 2, dim),
                                      .role = VAR_PARAM,
                                      .group = linear->weight_group,
                                      .has_torch_perm = true,
                                      .torch_perm = {1, 0}});

    y = graph_matmul(nn->graph, x, nn_read(nn, weight), (struct matmul_attr){0});
    if (linear->bias) {
        struct var *bias = channel_var(nn, "bias", linear->width, VAR_PARAM, linear->bias_group);

        y = graph_add(nn->graph, y, nn_read(nn, bias));
    }
    nn_pop(nn);
    return y;
}

/* running = (1 - momentum) running + momentum scale new */
static void assign_running(struct nn *nn, struct var *running, value batch, double momentum,
                           double scale)
{
    struct graph *g = nn->graph;
    const enum dtype dtype = running->spec.tensor.dtype;
    const value kept = graph_mul(g, graph_var(g, running), graph_scalar(g, dtype, 1.0 - momentum));
    const value joined = graph_mul(g, batch, graph_scalar(g, dtype, momentum * scale));

    graph_assign(g, running, graph_add(g, kept, joined));
}

struct norm_vars {
    struct var *weight, *bias, *running_mean, *running_var;
};

/* Under the label of the layer. */
static struct norm_vars norm_vars_of(struct nn *nn, const struct nn_norm *norm, int64_t count)
{
    struct norm_vars vars;

    vars.weight = channel_var(nn, "weight", count, VAR_PARAM, norm->weight_group);
    vars.bias = channel_var(nn, "bias", count, VAR_PARAM, norm->bias_group);
    vars.running_mean = channel_var(nn, "running_mean", count, VAR_STATE, 0);
    vars.running_var = channel_var(nn, "running_var", count, VAR_STATE, 0);
    return vars;
}

value nn_batch_norm(struct nn *nn, const char *name, value x, const struct nn_norm *norm)
{
    struct graph *g = nn->graph;
    value y, mean, variance;

    if (failed(x))
        return VALUE_NONE;
    nn_push(nn, name);
    const struct tensor in = tensor_of(nn, x);

    assert(in.rank > 0);
    const int64_t count = in.dim[in.rank - 1];
    const int64_t rows = tensor_count(&in) / count;
    const struct norm_vars vars = norm_vars_of(nn, norm, count);

    if (nn->training) {
        assert(rows > 1);
        y = graph_batch_norm(g, x, graph_var(g, vars.weight), graph_var(g, vars.bias), norm->eps,
                             &mean, &variance);
        assign_running(nn, vars.running_mean, mean, norm->momentum, 1.0);
        assign_running(nn, vars.running_var, variance, norm->momentum,
                       (double)rows / (double)(rows - 1));
    } else {
        y = graph_bn_apply(g, x, graph_var(g, vars.running_mean), graph_var(g, vars.running_var),
                           graph_var(g, vars.weight), graph_var(g, vars.bias), norm->eps);
    }
    nn_pop(nn);
    return y;
}

/* The factor a and the shift b of each channel (nn.h), in the type of the variables. */
static void fold_norm(struct nn *nn, const char *name, int64_t count, const struct nn_norm *norm,
                      value *factor, value *shift)
{
    struct graph *g = nn->graph;

    nn_push(nn, name);
    const struct norm_vars vars = norm_vars_of(nn, norm, count);
    const value eps = graph_scalar(g, vars.running_var->spec.tensor.dtype, norm->eps);
    const value root =
        graph_unary(g, UNARY_RSQRT, graph_add(g, graph_var(g, vars.running_var), eps));

    *factor = graph_mul(g, graph_var(g, vars.weight), root);
    *shift = graph_sub(g, graph_var(g, vars.bias),
                       graph_mul(g, graph_var(g, vars.running_mean), *factor));
    nn_pop(nn);
}

static value pool_if_any(struct nn *nn, value x, const struct pool_attr *pool)
{
    value index;

    return pool == NULL ? x : graph_pool_max(nn->graph, x, *pool, &index);
}

value nn_conv2d_norm(struct nn *nn, const char *conv_name, const char *norm_name, value x,
                     const struct nn_conv *conv, const struct pool_attr *pool,
                     const struct nn_norm *norm)
{
    const int64_t broad[4] = {conv->channels, 1, 1, 1}; /* against [K,R,S,C] */
    struct graph *g = nn->graph;
    value factor, shift, weight;

    assert(!conv->bias);
    if (failed(x))
        return VALUE_NONE;
    if (!nn->folded) {
        x = pool_if_any(nn, nn_conv2d(nn, conv_name, x, conv), pool);
        return nn_batch_norm(nn, norm_name, x, norm);
    }
    assert(!nn->training);
    fold_norm(nn, norm_name, conv->channels, norm, &factor, &shift);
    nn_push(nn, conv_name);
    weight =
        graph_mul(g, graph_var(g, conv_weight(nn, x, conv)), graph_reshape(g, factor, 4, broad));
    x = graph_conv2d(g, x, graph_convert(g, weight, nn->compute), conv_attr_of(conv));
    x = pool_if_any(nn, x, pool); /* adding to what is left is less work */
    x = graph_add(g, x, graph_convert(g, shift, nn->compute));
    nn_pop(nn);
    return x;
}

value nn_layer_norm(struct nn *nn, const char *name, value x, const struct nn_norm *norm)
{
    struct graph *g = nn->graph;
    value y;

    if (failed(x))
        return VALUE_NONE;
    nn_push(nn, name);
    const struct tensor in = tensor_of(nn, x);

    assert(in.rank > 0);
    const int64_t width = in.dim[in.rank - 1];
    struct var *weight = channel_var(nn, "weight", width, VAR_PARAM, norm->weight_group);
    struct var *bias = channel_var(nn, "bias", width, VAR_PARAM, norm->bias_group);

    y = graph_layer_norm(g, x, graph_var(g, weight), graph_var(g, bias), norm->eps, NULL, NULL);
    nn_pop(nn);
    return y;
}

value nn_residual_block(struct nn *nn, const char *name, value x, int64_t channels, int64_t stride,
                        const struct nn_norm *norm)
{
    struct graph *g = nn->graph;
    const struct nn_conv first = {
        .channels = channels, .window = {3, 3}, .stride = {stride, stride}, .pad = {1, 1, 1, 1}};
    const struct nn_conv second = {.channels = channels, .window = {3, 3}, .pad = {1, 1, 1, 1}};
    const struct nn_conv project = {
        .channels = channels, .window = {1, 1}, .stride = {stride, stride}};
    value y, shortcut = x;

    if (failed(x))
        return VALUE_NONE;
    nn_push(nn, name);
    y = nn_conv2d(nn, "conv1", x, &first);
    y = nn_batch_norm(nn, "bn1", y, norm);
    y = graph_unary(g, UNARY_RELU, y);
    y = nn_conv2d(nn, "conv2", y, &second);
    y = nn_batch_norm(nn, "bn2", y, norm);
    if (stride != 1 || tensor_of(nn, x).dim[3] != channels) {
        nn_push(nn, "downsample");
        shortcut = nn_batch_norm(nn, "1", nn_conv2d(nn, "0", x, &project), norm);
        nn_pop(nn);
    }
    y = graph_unary(g, UNARY_RELU, graph_add(g, y, shortcut));
    nn_pop(nn);
    return y;
}

value nn_attention(struct nn *nn, const char *name, value x, int64_t heads)
{
    struct graph *g = nn->graph;
    value y, scores;

    if (failed(x))
        return VALUE_NONE;
    nn_push(nn, name);
    const struct tensor in = tensor_of(nn, x);
    const int64_t width = in.dim[2], head_width = width / heads;

    assert(in.rank == 3);
    assert(width % heads == 0);
    y = nn_linear(nn, "in_proj", x, &(struct nn_linear){.width = 3 * width, .bias = true});
    const value q = split_heads(nn, y, 0, heads), k = split_heads(nn, y, 1, heads);
    const value v = split_heads(nn, y, 2, heads);

    scores = graph_matmul(g, q, k, (struct matmul_attr){.transpose_b = true});
    scores = graph_softmax(g, scores, 1.0 / sqrt((double)head_width));
    y = graph_matmul(g, scores, v, (struct matmul_attr){0}); /* [N,h,T,d] */
    y = graph_transpose(g, y, (int32_t[]){0, 2, 1, 3});
    y = graph_reshape(g, y, 3, in.dim);
    y = nn_linear(nn, "out_proj", y, &(struct nn_linear){.width = width, .bias = true});
    nn_pop(nn);
    return y;
}

/* Part 0, 1, 2 (q, k, v) of [N,T,3D] as [N,h,T,d]. */
static value split_heads(struct nn *nn, value qkv, int part, int64_t heads)
{
    struct slice_attr cut = {.step = {1, 1, 1}};

    if (failed(qkv))
        return VALUE_NONE;
    const struct tensor t = tensor_of(nn, qkv);
    const int64_t width = t.dim[2] / 3;

    memcpy(cut.stop, t.dim, 3 * sizeof cut.stop[0]);
    cut.start[2] = part * width;
    cut.stop[2] = cut.start[2] + width;
    return graph_transpose(nn->graph,
                           graph_reshape(nn->graph, graph_slice(nn->graph, qkv, cut), 4,
                                         (int64_t[]){t.dim[0], t.dim[1], heads, width / heads}),
                           (int32_t[]){0, 2, 1, 3});
}

/* A copy: building moves the graph's memory. */
static struct tensor tensor_of(const struct nn *nn, value x)
{
    return *graph_tensor(nn->graph, x);
}

/* The graph has a fault already: there is no shape to declare variables from. */
static bool failed(value x)
{
    return x == VALUE_NONE;
}

static struct var *channel_var(struct nn *nn, const char *name, int64_t count, enum var_role role,
                               int group)
{
    const struct var_spec spec = {.name = name,
                                  .tensor = tensor_make(dtype_of_sums(nn->compute), 1, &count),
                                  .role = role,
                                  .group = group};

    return nn_var(nn, &spec);
}
