/* Every vjp and whole networks against central differences in F64 on the interpreter; what is visited; faults. */
#include "tests/support/engine.h"

#include "agent/graph/nn.h"

#define VARS_MAX 7

/* One op under test: build() gives any F64 value from `in`; the loss is its sum weighted by random numbers. */
struct vjp_case {
    const char *name;
    value (*build)(struct graph *g, const value *in);
    int count, rank[VARS_MAX];
    int64_t dim[VARS_MAX][TENSOR_RANK_MAX];
    double low, high; /* of the values of the variables; both 0: -1 to 1 */
    double step;      /* 0: 1e-5 */
};

static value halves(struct graph *g, int64_t count) /* 0 0 1 1 2 2 .. */
{
    return graph_binary(g, BINARY_DIV, graph_iota(g, DT_I32, 1, &count, 0),
                        graph_scalar(g, DT_I32, 2.0));
}

#define UNARY_CASE(id, fn)                                    \
    static value build_##id(struct graph *g, const value *in) \
    {                                                         \
        return graph_unary(g, (fn), in[0]);                   \
    }
UNARY_CASE(neg, UNARY_NEG)
UNARY_CASE(exp, UNARY_EXP)
UNARY_CASE(log, UNARY_LOG)
UNARY_CASE(sqrt, UNARY_SQRT)
UNARY_CASE(rsqrt, UNARY_RSQRT)
UNARY_CASE(relu, UNARY_RELU)
UNARY_CASE(gelu_erf, UNARY_GELU_ERF)
UNARY_CASE(gelu_tanh, UNARY_GELU_TANH)
UNARY_CASE(sigmoid, UNARY_SIGMOID)
UNARY_CASE(tanh, UNARY_TANH)
UNARY_CASE(silu, UNARY_SILU)

#define BINARY_CASE(id, fn)                                   \
    static value build_##id(struct graph *g, const value *in) \
    {                                                         \
        return graph_binary(g, (fn), in[0], in[1]);           \
    }
BINARY_CASE(add, BINARY_ADD)
BINARY_CASE(sub, BINARY_SUB)
BINARY_CASE(mul, BINARY_MUL)
BINARY_CASE(div, BINARY_DIV)
BINARY_CASE(max, BINARY_MAX)
BINARY_CASE(min, BINARY_MIN)

static value build_square(struct graph *g, const value *in) /* two uses of one value are joined */
{
    return graph_mul(g, in[0], graph_add(g, in[0], in[0]));
}

static value build_select(struct graph *g, const value *in)
{
    const value odd = graph_binary(g, BINARY_EQ, graph_iota(g, DT_I32, 1, DIMS(3), 0),
                                   graph_scalar(g, DT_I32, 1.0));

    return graph_select(g, odd, in[0], in[1]);
}

static value build_row_read(struct graph *g, const value *in)
{
    return graph_row_read(g, in[0], graph_scalar(g, DT_I32, 2.0));
}

static value build_row_write(struct graph *g, const value *in)
{
    return graph_row_write(g, in[0], graph_scalar(g, DT_I32, 1.0), in[1]);
}

static value build_convert(struct graph *g, const value *in)
{
    return graph_convert(g, graph_convert(g, in[0], DT_F32), DT_F64);
}

static value build_reshape(struct graph *g, const value *in)
{
    return graph_reshape(g, in[0], 3, (int64_t[]){2, 2, 3});
}

static value build_transpose(struct graph *g, const value *in)
{
    return graph_transpose(g, in[0], (int32_t[]){2, 0, 1});
}

static value build_slice(struct graph *g, const value *in) /* one step ends early, one late */
{
    return graph_slice(
        g, in[0], (struct slice_attr){.start = {1, 0, 2}, .stop = {3, 6, 8}, .step = {1, 4, 3}});
}

static value build_pad_zero(struct graph *g, const value *in)
{
    return graph_pad(g, in[0],
                     (struct pad_attr){.fill = PAD_ZERO, .lo = {1, 0, 2}, .hi = {0, 3, 1}});
}

static value build_pad_reflect(struct graph *g, const value *in)
{
    return graph_pad(g, in[0],
                     (struct pad_attr){.fill = PAD_REFLECT, .lo = {1, 0, 3}, .hi = {0, 2, 1}});
}

static value build_concat(struct graph *g, const value *in)
{
    return graph_concat(g, (value[]){in[0], in[1], in[0]}, 3, 1);
}

static value build_gather_rows(struct graph *g, const value *in)
{
    return graph_gather_rows(g, in[0], halves(g, 5));
}

static value build_scatter_rows(struct graph *g, const value *in)
{
    return graph_scatter_rows(g, halves(g, 5), in[0], 4);
}

#define REDUCE_CASE(id, fn, axes)                             \
    static value build_##id(struct graph *g, const value *in) \
    {                                                         \
        return graph_reduce(g, (fn), in[0], (axes));          \
    }
REDUCE_CASE(reduce_sum, REDUCE_SUM, 5)
REDUCE_CASE(reduce_mean, REDUCE_MEAN, 6)
REDUCE_CASE(reduce_max, REDUCE_MAX, 3)

#define MATMUL_CASE(id, a, b)                                                              \
    static value build_##id(struct graph *g, const value *in)                              \
    {                                                                                      \
        return graph_matmul(g, in[0], in[1],                                               \
                            (struct matmul_attr){.transpose_a = (a), .transpose_b = (b)}); \
    }
MATMUL_CASE(matmul_nn, false, false)
MATMUL_CASE(matmul_nt, false, true)
MATMUL_CASE(matmul_tn, true, false)
MATMUL_CASE(matmul_tt, true, true)

static const struct conv_attr plain = {.stride = {1, 1}, .dilation = {1, 1}, .groups = 1};
static const struct conv_attr rich = {
    .stride = {2, 1}, .pad = {1, 2, 0, 1}, .dilation = {1, 2}, .groups = 2};

static value build_conv_plain(struct graph *g, const value *in)
{
    return graph_conv2d(g, in[0], in[1], plain);
}

static value build_conv_rich(struct graph *g, const value *in)
{
    return graph_conv2d(g, in[0], in[1], rich);
}

static value build_conv_grad_input(struct graph *g, const value *in)
{
    struct conv_attr attr = rich;

    memcpy(attr.shape, DIMS(2, 5, 6, 4), sizeof attr.shape);
    return graph_conv2d_grad_input(g, in[0], in[1], attr);
}

static value build_conv_grad_weight(struct graph *g, const value *in)
{
    struct conv_attr attr = rich;

    memcpy(attr.shape, DIMS(6, 3, 2, 2), sizeof attr.shape);
    return graph_conv2d_grad_weight(g, in[0], in[1], attr);
}

static const struct pool_attr pool = {.window = {3, 2}, .stride = {2, 1}, .pad = {1, 0, 0, 1}};

static value build_pool_max(struct graph *g, const value *in)
{
    return graph_pool_max(g, in[0], pool, NULL);
}

static value build_pool_avg(struct graph *g, const value *in)
{
    return graph_pool_avg(g, in[0], pool);
}

static value build_pool_avg_grad(struct graph *g, const value *in)
{
    struct pool_attr attr = pool;

    memcpy(attr.shape, DIMS(2, 6, 5, 3), sizeof attr.shape);
    return graph_pool_avg_grad(g, in[0], attr);
}

static value build_batch_norm(struct graph *g, const value *in)
{
    value mean, var;

    return graph_batch_norm(g, in[0], in[1], in[2], 1e-3, &mean, &var);
}

static value build_bn_stats(struct graph *g, const value *in)
{
    value mean, var;

    graph_bn_stats(g, in[0], 1e-3, &mean, &var);
    return graph_concat(g, (value[]){mean, var}, 2, 0);
}

static value build_bn_apply(struct graph *g, const value *in)
{
    return graph_bn_apply(g, in[0], in[1], in[2], in[3], in[4], 1e-3);
}

static value build_layer_norm(struct graph *g, const value *in)
{
    return graph_layer_norm(g, in[0], in[1], in[2], 1e-3, NULL, NULL);
}

static value build_softmax(struct graph *g, const value *in)
{
    return graph_softmax(g, in[0], 0.7);
}

static value build_xent_label(struct graph *g, const value *in) /* the last row does not count */
{
    return graph_xent(g, in[0], halves(g, 5), graph_scalar(g, DT_I32, 4.0),
                      (struct xent_attr){.on = 0.85, .off = 0.05}, NULL);
}

static value build_xent_target(struct graph *g, const value *in)
{
    const value target = graph_fill(g, DT_F64, 2, DIMS(5, 4), 0.25);

    return graph_xent(g, in[0], target, graph_scalar(g, DT_I32, 5.0), (struct xent_attr){0}, NULL);
}

#define SMOOTH(fn)                                    \
    {                                                 \
#fn, build_##fn, 1, {2 }, {{3, 4 } }, 0, 0, 0 \
    }
#define ABOVE_0(fn)                                     \
    {                                                   \
#fn, build_##fn, 1, {2 }, {{3, 4 } }, 0.5, 2, 0 \
    }
#define TWO(name, fn, ra, da, rb, db)                    \
    {                                                    \
        name, build_##fn, 2, {ra, rb}, {da, db}, 0, 0, 0 \
    }
#define D(...)      \
    {               \
        __VA_ARGS__ \
    }

static const struct vjp_case cases[] = {
    SMOOTH(neg),
    SMOOTH(exp),
    ABOVE_0(log),
    ABOVE_0(sqrt),
    ABOVE_0(rsqrt),
    SMOOTH(relu),
    SMOOTH(gelu_erf),
    SMOOTH(gelu_tanh),
    SMOOTH(sigmoid),
    SMOOTH(tanh),
    SMOOTH(silu),
    SMOOTH(square),
    TWO("add, equal", add, 2, D(2, 3), 2, D(2, 3)),
    TWO("add, lower rank", add, 3, D(2, 4, 3), 1, D(3)),
    TWO("sub, both repeat", sub, 2, D(4, 1), 3, D(2, 1, 3)),
    TWO("mul, scalar", mul, 2, D(2, 3), 0, D(0)),
    TWO("mul, repeated in front", mul, 2, D(2, 3), 3, D(2, 2, 3)),
    {"div", build_div, 2, {2, 1}, {{2, 3}, {3}}, 0.5, 2, 0},
    TWO("max", max, 2, D(2, 3), 1, D(3)),
    TWO("min", min, 1, D(3), 2, D(2, 3)),
    TWO("select", select, 2, D(2, 1), 2, D(2, 3)),
    {"row_read", build_row_read, 1, {3}, {{4, 2, 3}}, 0, 0, 0},
    TWO("row_write", row_write, 2, D(3, 2), 1, D(2)),
    /* Linear: a step of 1 keeps the rounding to F32 (6e-8) below the bound. */
    {"convert", build_convert, 1, {2}, {{3, 4}}, 0, 0, 1.0},
    {"reshape", build_reshape, 1, {2}, {{3, 4}}, 0, 0, 0},
    {"transpose", build_transpose, 1, {3}, {{2, 3, 4}}, 0, 0, 0},
    {"slice", build_slice, 1, {3}, {{4, 6, 9}}, 0, 0, 0},
    {"pad_zero", build_pad_zero, 1, {3}, {{2, 3, 4}}, 0, 0, 0},
    {"pad_reflect", build_pad_reflect, 1, {3}, {{2, 3, 4}}, 0, 0, 0},
    TWO("concat", concat, 2, D(2, 3), 2, D(2, 1)),
    {"gather_rows", build_gather_rows, 1, {3}, {{4, 2, 2}}, 0, 0, 0},
    {"scatter_rows", build_scatter_rows, 1, {2}, {{5, 3}}, 0, 0, 0},
    {"reduce_sum", build_reduce_sum, 1, {3}, {{2, 3, 4}}, 0, 0, 0},
    {"reduce_mean", build_reduce_mean, 1, {3}, {{2, 3, 4}}, 0, 0, 0},
    {"reduce_max", build_reduce_max, 1, {3}, {{2, 3, 4}}, 0, 0, 0},
    TWO("matmul nn", matmul_nn, 2, D(3, 4), 2, D(4, 2)),
    TWO("matmul nt", matmul_nt, 2, D(3, 4), 2, D(2, 4)),
    TWO("matmul tn", matmul_tn, 2, D(4, 3), 2, D(4, 2)),
    TWO("matmul tt", matmul_tt, 2, D(4, 3), 2, D(2, 4)),
    TWO("matmul nn, batch", matmul_nn, 4, D(2, 2, 3, 4), 4, D(2, 2, 4, 2)),
    TWO("matmul nt, batch", matmul_nt, 3, D(2, 3, 4), 3, D(2, 2, 4)),
    TWO("matmul tn, batch", matmul_tn, 3, D(2, 4, 3), 3, D(2, 4, 2)),
    TWO("matmul tt, batch", matmul_tt, 3, D(2, 4, 3), 3, D(2, 2, 4)),
    TWO("matmul nn, shared", matmul_nn, 3, D(2, 3, 4), 2, D(4, 2)),
    TWO("matmul nt, shared", matmul_nt, 4, D(2, 2, 3, 4), 2, D(2, 4)),
    TWO("matmul tn, shared", matmul_tn, 3, D(2, 4, 3), 2, D(4, 2)),
    TWO("matmul tt, shared", matmul_tt, 4, D(2, 2, 4, 3), 2, D(2, 4)),
    TWO("conv2d", conv_plain, 4, D(2, 4, 5, 3), 4, D(4, 3, 2, 3)),
    TWO("conv2d, all attributes", conv_rich, 4, D(2, 5, 6, 4), 4, D(6, 3, 2, 2)),
    TWO("conv2d_grad_input", conv_grad_input, 4, D(2, 3, 5, 6), 4, D(6, 3, 2, 2)),
    TWO("conv2d_grad_weight", conv_grad_weight, 4, D(2, 3, 5, 6), 4, D(2, 5, 6, 4)),
    {"pool_max", build_pool_max, 1, {4}, {{2, 6, 5, 3}}, 0, 0, 0},
    {"pool_avg", build_pool_avg, 1, {4}, {{2, 6, 5, 3}}, 0, 0, 0},
    {"pool_avg_grad", build_pool_avg_grad, 1, {4}, {{2, 3, 5, 3}}, 0, 0, 0},
    {"batch_norm", build_batch_norm, 3, {4, 1, 1}, {{2, 3, 2, 3}, {3}, {3}}, 0, 0, 0},
    {"bn_stats", build_bn_stats, 1, {2}, {{6, 3}}, 0, 0, 0},
    {"bn_apply", build_bn_apply, 5, {2, 1, 1, 1, 1}, {{6, 3}, {3}, {3}, {3}, {3}}, 0.5, 1.5, 0},
    {"layer_norm", build_layer_norm, 3, {3, 1, 1}, {{2, 3, 5}, {5}, {5}}, 0, 0, 0},
    {"softmax", build_softmax, 1, {3}, {{2, 2, 4}}, 0, 0, 0},
    {"xent, label", build_xent_label, 1, {2}, {{5, 4}}, 0, 0, 0},
    {"xent, target", build_xent_target, 1, {2}, {{5, 4}}, 0, 0, 0},
};

static void check_case(const struct vjp_case *c)
{
    struct store *store = store_create();
    struct graph *g = graph_create(c->name, store);
    struct var *vars[VARS_MAX + 1];
    value in[VARS_MAX], grads[VARS_MAX], y;
    struct error err = {0};
    char name[16];

    for (int i = 0; i < c->count; i++) {
        (void)snprintf(name, sizeof name, "v%d", i);
        vars[i] = engine_var(store, name, DT_F64, c->rank[i], c->dim[i]);
        in[i] = graph_var(g, vars[i]);
    }
    y = c->build(g, in);
    if (y == VALUE_NONE) {
        (void)graph_finish(g, &err);
        fail_msg("%s: %s", c->name, err.detail);
    }
    const struct tensor t = *graph_tensor(g, y);

    vars[c->count] = engine_var(store, "weights", DT_F64, t.rank, t.dim);
    y = graph_mul(g, y, graph_var(g, vars[c->count]));
    if (t.rank > 0)
        y = graph_reduce(g, REDUCE_SUM, y, (1u << t.rank) - 1);
    graph_gradient(g, y, vars, (size_t)c->count, grads);
    graph_output(g, "loss", y);
    for (int i = 0; i < c->count; i++)
        graph_output(g, "grad", grads[i]);
    if (graph_finish(g, &err) != ST_OK)
        fail_msg("%s: %s", c->name, err.detail);
    assert_int_equal(store_alloc(store, NULL, &err), ST_OK);
    for (int i = 0; i <= c->count; i++)
        engine_fill(store, vars[i], (uint32_t)i, c->low == c->high ? -1.0 : c->low,
                    c->low == c->high ? 1.0 : c->high);
    print_message("    %s\n", c->name);
    engine_check_gradients(g, store, vars, (size_t)c->count, NULL, c->step > 0 ? c->step : 1e-5,
                           1e-7);
    graph_destroy(g);
    store_destroy(store);
}

static void every_vjp_agrees_with_central_differences(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check_case(&cases[i]);
}

/* A network: build() gives the loss from the input; every PARAM of the store is wanted. */
static void check_network(const char *name, value (*build)(struct nn *nn))
{
    struct store *store = store_create();
    struct graph *g = graph_create(name, store);
    struct nn nn = {.graph = g, .compute = DT_F64, .training = true};
    struct var *params[32];
    value grads[32];
    size_t count = 0;
    struct error err = {0};
    const value loss = build(&nn);

    for (size_t i = 0; i < store_count(store); i++)
        if (store_at(store, i)->spec.role == VAR_PARAM)
            params[count++] = store_at(store, i);
    assert_true(count >= 4);
    graph_gradient(g, loss, params, count, grads);
    graph_output(g, "loss", loss);
    for (size_t i = 0; i < count; i++)
        graph_output(g, "grad", grads[i]);
    engine_finish(g);
    assert_int_equal(store_alloc(store, NULL, &err), ST_OK);
    for (size_t i = 0; i < count; i++)
        engine_fill(store, params[i], (uint32_t)i, -0.8, 1.0);
    engine_check_gradients(g, store, params, count, NULL, 1e-5, 1e-6);
    graph_destroy(g);
    store_destroy(store);
}

/* The input is a parameter as well: its gradient is the hardest to get right. */
static value image_param(struct nn *nn, int rank, const int64_t *dim)
{
    return graph_var(nn->graph, engine_var(graph_store(nn->graph), "x", DT_F64, rank, dim));
}

static value mean_xent(struct nn *nn, value logits, int64_t rows)
{
    const value loss = graph_xent(nn->graph, logits, halves(nn->graph, rows),
                                  graph_scalar(nn->graph, DT_I32, (double)rows),
                                  (struct xent_attr){.on = 0.8, .off = 0.05}, NULL);

    return graph_reduce(nn->graph, REDUCE_MEAN, loss, 1);
}

static value build_airbench(struct nn *nn)
{
    const struct nn_norm norm = {.eps = 1e-5, .momentum = 0.4};
    const struct nn_conv first = {.channels = 4, .window = {2, 2}, .bias = true};
    const struct nn_conv second = {.channels = 5, .window = {3, 3}, .pad = {1, 1, 1, 1}};
    const struct pool_attr half = {.window = {2, 2}, .stride = {2, 2}};
    value x = image_param(nn, 4, DIMS(4, 8, 8, 3));

    x = graph_unary(nn->graph, UNARY_GELU_ERF, nn_conv2d(nn, "whiten", x, &first));
    nn_push(nn, "layers.1");
    x = graph_pool_max(nn->graph, nn_conv2d(nn, "conv1", x, &second), half, NULL);
    x = graph_unary(nn->graph, UNARY_GELU_ERF, nn_batch_norm(nn, "norm1", x, &norm));
    x = nn_batch_norm(nn, "norm2", nn_conv2d(nn, "conv2", x, &second), &norm);
    x = graph_unary(nn->graph, UNARY_GELU_ERF, x);
    nn_pop(nn);
    x = graph_pool_max(nn->graph, x, (struct pool_attr){.window = {3, 3}, .stride = {3, 3}}, NULL);
    x = graph_reshape(nn->graph, x, 2, DIMS(4, 5));
    x = nn_linear(nn, "head", x, &(struct nn_linear){.width = 6});
    return mean_xent(nn, graph_mul(nn->graph, x, graph_scalar(nn->graph, DT_F64, 1.0 / 9.0)), 4);
}

static value build_residual(struct nn *nn)
{
    const struct nn_norm norm = {.eps = 1e-5, .momentum = 0.1};
    value x = image_param(nn, 4, DIMS(3, 5, 5, 3));

    x = nn_residual_block(nn, "layer1.0", x, 3, 1, &norm); /* the shortcut is x */
    x = nn_residual_block(nn, "layer2.0", x, 4, 2, &norm); /* projection */
    x = graph_pool_avg(nn->graph, x, (struct pool_attr){.window = {3, 3}, .stride = {1, 1}});
    x = graph_reshape(nn->graph, x, 2, DIMS(3, 4));
    return mean_xent(nn, nn_linear(nn, "fc", x, &(struct nn_linear){.width = 5, .bias = true}), 3);
}

static value build_attention(struct nn *nn)
{
    const struct nn_norm norm = {.eps = 1e-5};
    const value x = image_param(nn, 3, DIMS(2, 3, 8));
    value y = nn_attention(nn, "self_attn", nn_layer_norm(nn, "norm1", x, &norm), 2);

    y = graph_add(nn->graph, x, y);
    y = nn_linear(nn, "linear", nn_layer_norm(nn, "norm2", y, &norm),
                  &(struct nn_linear){.width = 4, .bias = true});
    return mean_xent(nn, graph_reshape(nn->graph, y, 2, DIMS(6, 4)), 6);
}

static void an_airbench_block_passes_central_differences(void **state)
{
    (void)state;
    check_network("airbench", build_airbench);
}

static void a_residual_network_passes_central_differences(void **state)
{
    (void)state;
    check_network("residual", build_residual);
}

static void an_attention_layer_passes_central_differences(void **state)
{
    (void)state;
    check_network("attention", build_attention);
}

/* Two convolutions; with the first weight frozen nothing is propagated through the second to the first. */
static void a_frozen_weight_costs_no_backward_ops(void **state)
{
    (void)state;
    for (int frozen = 0; frozen < 2; frozen++) {
        struct store *store = store_create();
        struct graph *g = graph_create("frozen", store);
        struct var *w[2] = {engine_var(store, "w0", DT_F32, 4, DIMS(4, 3, 3, 3)),
                            engine_var(store, "w1", DT_F32, 4, DIMS(5, 3, 3, 4))};
        value x = graph_input(g, "x", DT_F32, 4, DIMS(2, 8, 8, 3)), grads[2];

        x = graph_conv2d(g, graph_conv2d(g, x, graph_var(g, w[0]), plain), graph_var(g, w[1]),
                         plain);
        x = graph_reduce(g, REDUCE_SUM, x, 15);
        graph_gradient(g, x, w + frozen, (size_t)(2 - frozen), grads);
        engine_finish(g);
        assert_int_equal(engine_count_ops(g, OP_CONV2D_GRAD_WEIGHT), 2 - frozen);
        assert_int_equal(engine_count_ops(g, OP_CONV2D_GRAD_INPUT), 1 - frozen);
        graph_destroy(g);
        store_destroy(store);
    }
}

static void batch_norm_takes_the_joint_form(void **state)
{
    struct store *store = store_create();
    struct graph *g = graph_create("bn", store);
    struct var *vars[] = {engine_var(store, "gamma", DT_F32, 1, DIMS(3)),
                          engine_var(store, "beta", DT_F32, 1, DIMS(3)),
                          engine_var(store, "x", DT_F32, 2, DIMS(4, 3))};
    value mean, var, grads[3];
    value y = graph_batch_norm(g, graph_var(g, vars[2]), graph_var(g, vars[0]),
                               graph_var(g, vars[1]), 1e-5, &mean, &var);

    (void)state;
    y = graph_reduce(g, REDUCE_SUM, y, 3);
    graph_gradient(g, y, vars, 3, grads);
    engine_finish(g);
    assert_int_equal(engine_count_ops(g, OP_BN_GRAD_STATS), 1);
    assert_int_equal(engine_count_ops(g, OP_BN_GRAD_APPLY), 1);
    graph_destroy(g);
    store_destroy(store);
}

static void backward_ops_carry_the_label_of_their_op(void **state)
{
    struct store *store = store_create();
    struct graph *g = graph_create("labels", store);
    struct var *w = engine_var(store, "w", DT_F32, 2, DIMS(3, 2));
    value grad;

    (void)state;
    graph_push_label(g, "fc");
    value y = graph_matmul(g, graph_input(g, "x", DT_F32, 2, DIMS(4, 3)), graph_var(g, w),
                           (struct matmul_attr){0});
    graph_pop_label(g);
    y = graph_reduce(g, REDUCE_SUM, y, 3);
    graph_gradient(g, y, &w, 1, &grad);
    engine_finish(g);
    assert_string_equal(graph_label(g, graph_op(g, graph_op_count(g) - 1)), "fc.grad");
    graph_destroy(g);
    store_destroy(store);
}

static void expect_fault(struct graph *g, const char *field, const char *part)
{
    struct error err = {0};

    assert_int_equal(graph_finish(g, &err), ST_INVALID);
    assert_string_equal(err.field, field);
    if (strstr(err.detail, part) == NULL)
        fail_msg("\"%s\" not in \"%s\"", part, err.detail);
    graph_destroy(g);
}

static int count_lines(const char *text, const char *part)
{
    int count = 0;

    for (; (text = strstr(text, part)) != NULL; text++)
        count++;
    return count;
}

/* An F32 variable that a product uses in BF16: its gradient is the F32 sum itself, never rounded to BF16 on the way; of two
 * uses, one in F32, the sum is F32, too. */
static void gradients_of_converted_weights_are_not_rounded(void **state)
{
    struct store *store = store_create();
    struct graph *g = graph_create("converted", store);
    struct var *w = engine_var(store, "w", DT_F32, 4, DIMS(2, 1, 1, 4));
    const value x = graph_input(g, "x", DT_BF16, 4, DIMS(1, 3, 3, 4));
    const struct conv_attr attr = {.stride = {1, 1}, .dilation = {1, 1}, .groups = 1};
    const value y = graph_conv2d(g, x, graph_convert(g, graph_var(g, w), DT_BF16), attr);
    const value used = graph_reduce(g, REDUCE_SUM, graph_convert(g, y, DT_F32), 15);
    const value again = graph_reduce(g, REDUCE_SUM, graph_var(g, w), 15);
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    value grad;

    (void)state;
    graph_gradient(g, graph_add(g, used, again), &w, 1, &grad);
    assert_int_equal(graph_tensor(g, grad)->dtype, DT_F32);
    engine_finish(g);
    graph_print(g, out);
    assert_int_equal(fclose(out), 0);
    /* convert: of w, of y, of y's gradient; none of a gradient of w */
    assert_int_equal(count_lines(text, " = convert"), 3);
    free(text);
    graph_destroy(g);
    store_destroy(store);
}

static void gradients_that_do_not_exist_are_faults(void **state)
{
    struct store *store = store_create();
    struct var *w = engine_var(store, "w", DT_F32, 2, DIMS(3, 2));
    struct var *b = engine_var(store, "b", DT_F32, 1, DIMS(2));
    struct graph *g = graph_create("apart", store);
    value grad = 0, mean, var;

    (void)state;
    graph_gradient(g, graph_reduce(g, REDUCE_SUM, graph_var(g, b), 1), &w, 1, &grad);
    assert_int_equal(grad, VALUE_NONE);
    expect_fault(g, "", "the loss does not depend on variable w");

    g = graph_create("not a number", store);
    graph_gradient(g, graph_var(g, w), &w, 1, &grad);
    expect_fault(g, "", "the loss must be one number");

    g = graph_create("second", store);
    graph_push_label(g, "act");
    value y = graph_unary_grad(g, UNARY_EXP, graph_var(g, w), graph_var(g, w), graph_var(g, w));
    graph_pop_label(g);
    graph_gradient(g, graph_reduce(g, REDUCE_SUM, y, 3), &w, 1, &grad);
    expect_fault(g, "act", "unary_grad: this op has no gradient");

    g = graph_create("statistics", store);
    (void)graph_batch_norm(g, graph_var(g, w), graph_var(g, b), graph_var(g, b), 0.0, &mean, &var);
    graph_gradient(g, graph_reduce(g, REDUCE_SUM, var, 1), &w, 1, &grad);
    expect_fault(g, "", "batch_norm: the mean or the variance has no gradient");

    g = graph_create("target", store);
    y = graph_xent(g, graph_var(g, w), graph_var(g, w), graph_scalar(g, DT_I32, 3.0),
                   (struct xent_attr){0}, NULL);
    graph_gradient(g, graph_reduce(g, REDUCE_SUM, y, 1), &w, 1, &grad);
    expect_fault(g, "", "xent: the target has no gradient");
    store_destroy(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_vjp_agrees_with_central_differences),
        cmocka_unit_test(an_airbench_block_passes_central_differences),
        cmocka_unit_test(a_residual_network_passes_central_differences),
        cmocka_unit_test(an_attention_layer_passes_central_differences),
        cmocka_unit_test(a_frozen_weight_costs_no_backward_ops),
        cmocka_unit_test(batch_norm_takes_the_joint_form),
        cmocka_unit_test(backward_ops_carry_the_label_of_their_op),
        cmocka_unit_test(gradients_of_converted_weights_are_not_rounded),
        cmocka_unit_test(gradients_that_do_not_exist_are_faults),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
