/* Layers: their variables' names, shapes and groups, batch norm's running statistics, conversions of the policy. */
#include "tests/support/engine.h"

#include "agent/graph/nn.h"

static struct store *store;

static int set_up(void **state)
{
    (void)state;
    store = store_create();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    store_destroy(store);
    return 0;
}

static void expect_var(const char *name, enum var_role role, int group, const char *tensor)
{
    const struct var *var = store_find(store, name);
    char text[TENSOR_TEXT_BYTES];

    if (var == NULL)
        fail_msg("no variable %s", name);
    assert_int_equal(var->spec.role, role);
    assert_int_equal(var->spec.group, group);
    assert_string_equal(tensor_format(&var->spec.tensor, text), tensor);
}

static void layers_declare_variables_by_pytorchs_names(void **state)
{
    struct graph *g = graph_create("names", store);
    struct nn nn = {.graph = g, .compute = DT_F32, .training = true};
    const struct nn_conv conv = {.channels = 8,
                                 .window = {3, 2},
                                 .stride = {2, 1},
                                 .pad = {1, 1, 0, 0},
                                 .bias = true,
                                 .weight_group = 1,
                                 .bias_group = 2};
    value x = graph_input(g, "x", DT_F32, 4, DIMS(4, 8, 8, 3));
    char text[TENSOR_TEXT_BYTES];

    (void)state;
    nn_push(&nn, "layers.1");
    x = nn_conv2d(&nn, "conv1", x, &conv);
    assert_string_equal(tensor_format(graph_tensor(g, x), text), "f32[4,4,7,8]");
    x = nn_batch_norm(&nn, "norm1", x, &(struct nn_norm){.eps = 1e-5, .bias_group = 2});
    nn_pop(&nn);
    x = graph_reshape(g, x, 3, DIMS(4, 28, 8));
    x = nn_linear(&nn, "head", x, &(struct nn_linear){.width = 5, .bias = true});
    assert_string_equal(tensor_format(graph_tensor(g, x), text), "f32[4,28,5]");
    engine_finish(g);
    expect_var("layers.1.conv1.weight", VAR_PARAM, 1, "f32[8,3,2,3]");
    expect_var("layers.1.conv1.bias", VAR_PARAM, 2, "f32[8]");
    expect_var("layers.1.norm1.weight", VAR_PARAM, 0, "f32[8]");
    expect_var("layers.1.norm1.bias", VAR_PARAM, 2, "f32[8]");
    expect_var("layers.1.norm1.running_mean", VAR_STATE, 0, "f32[8]");
    expect_var("layers.1.norm1.running_var", VAR_STATE, 0, "f32[8]");
    expect_var("head.weight", VAR_PARAM, 0, "f32[8,5]");
    expect_var("head.bias", VAR_PARAM, 0, "f32[5]");
    assert_int_equal(store_count(store), 8);
    /* OIHW and [out,in] in the checkpoint. */
    assert_memory_equal(store_find(store, "layers.1.conv1.weight")->spec.torch_perm,
                        ((const int[]){0, 3, 1, 2}), 4 * sizeof(int));
    assert_memory_equal(store_find(store, "head.weight")->spec.torch_perm, ((const int[]){1, 0}),
                        2 * sizeof(int));
    graph_destroy(g);
}

static void a_second_program_finds_the_same_variables(void **state)
{
    const struct nn_norm norm = {.eps = 1e-5, .momentum = 0.1};
    size_t count[2];

    (void)state;
    for (int training = 1; training >= 0; training--) {
        struct graph *g = graph_create("program", store);
        struct nn nn = {.graph = g, .compute = DT_F32, .training = training != 0};
        const value x = graph_input(g, "x", DT_F32, 4, DIMS(2, 6, 6, 3));

        graph_output(g, "y", nn_residual_block(&nn, "layer1.0", x, 4, 2, &norm));
        engine_finish(g);
        count[training] = store_count(store);
        assert_int_equal(engine_count_ops(g, OP_BATCH_NORM), training ? 3 : 0);
        assert_int_equal(engine_count_ops(g, OP_BN_APPLY), training ? 0 : 3);
        assert_int_equal(engine_count_ops(g, OP_ASSIGN), training ? 6 : 0);
        graph_destroy(g);
    }
    assert_int_equal(count[0], count[1]);
    expect_var("layer1.0.downsample.0.weight", VAR_PARAM, 0, "f32[4,1,1,3]");
}

/* Column (1, 2, 3, 4): mean 2.5, variance 5/4 (biased) and 5/3. Momentum 0.4 on running 1 and 2: 0.6 + 0.4 * 2.5 = 1.6,
 * 1.2 + 0.4 * 5/3. A constant column has variance 0. */
static void batch_norm_averages_the_unbiased_variance(void **state)
{
    const struct nn_norm norm = {.eps = 0.25, .momentum = 0.4};
    const double x_data[] = {1, 7, 2, 7, 3, 7, 4, 7};
    double y[2][8], now[2];
    struct graph *g[2];
    struct error err = {0};

    (void)state;
    for (int training = 0; training < 2; training++) {
        g[training] = graph_create("bn", store);
        struct nn nn = {.graph = g[training], .compute = DT_F64, .training = training != 0};

        graph_output(g[training], "y",
                     nn_batch_norm(&nn, "norm",
                                   graph_input(g[training], "x", DT_F64, 2, DIMS(4, 2)), &norm));
        engine_finish(g[training]);
    }
    assert_int_equal(store_alloc(store, NULL, &err), ST_OK);
    store_write(store, store_find(store, "norm.weight"), (const double[]){2, 1});
    store_write(store, store_find(store, "norm.bias"), (const double[]){1, -1});
    store_write(store, store_find(store, "norm.running_mean"), (const double[]){1, 0});
    store_write(store, store_find(store, "norm.running_var"), (const double[]){2, 1});
    engine_run(g[1], (const void *[]){x_data}, (void *[]){y[1]});
    store_read(store, store_find(store, "norm.running_mean"), now);
    assert_true(fabs(now[0] - 1.6) < 1e-12 && fabs(now[1] - 2.8) < 1e-12);
    store_read(store, store_find(store, "norm.running_var"), now);
    assert_true(fabs(now[0] - (1.2 + 2.0 / 3.0)) < 1e-12 && fabs(now[1] - 0.6) < 1e-12);
    engine_run(g[0], (const void *[]){x_data}, (void *[]){y[0]});
    for (int i = 0; i < 4; i++) { /* batch: sqrt(1.25 + 0.25); evaluation: running averages */
        assert_true(fabs(y[1][2 * i] - (1 + 2 * (i - 1.5) / sqrt(1.5))) < 1e-12);
        assert_true(fabs(y[1][2 * i + 1] - -1.0) < 1e-12);
        assert_true(fabs(y[0][2 * i] - (1 + 2 * (i + 1 - 1.6) / sqrt(1.45 + 2.0 / 3.0))) < 1e-12);
        assert_true(fabs(y[0][2 * i + 1] - (-1 + (7 - 2.8) / sqrt(0.85))) < 1e-12);
    }
    graph_destroy(g[0]);
    graph_destroy(g[1]);
}

/* Weights F32, activations bf16, statistics and the gradients of weights F32. */
static void bf16_computes_on_converted_weights(void **state)
{
    struct graph *g = graph_create("bf16", store);
    struct nn nn = {.graph = g, .compute = DT_BF16, .training = true};
    const struct nn_conv conv = {.channels = 4, .window = {3, 3}, .bias = true};
    struct var *weight;
    value x = graph_input(g, "x", DT_BF16, 4, DIMS(2, 6, 6, 3)), grad;

    (void)state;
    x = nn_batch_norm(&nn, "norm", nn_conv2d(&nn, "conv", x, &conv),
                      &(struct nn_norm){.eps = 1e-5, .momentum = 0.1});
    assert_int_equal(graph_tensor(g, x)->dtype, DT_BF16);
    weight = store_find(store, "conv.weight");
    assert_int_equal(weight->spec.tensor.dtype, DT_F32);
    x = graph_reduce(g, REDUCE_SUM, graph_convert(g, x, DT_F32), 15);
    graph_gradient(g, x, &weight, 1, &grad);
    engine_finish(g);
    assert_int_equal(graph_tensor(g, grad)->dtype, DT_F32);
    assert_int_equal(engine_count_ops(g, OP_CONV2D_GRAD_WEIGHT), 1);
    graph_destroy(g);
}

static void a_bad_layer_is_a_fault_with_its_label(void **state)
{
    struct graph *g = graph_create("bad", store);
    struct nn nn = {.graph = g, .compute = DT_F32, .training = true};
    const struct nn_conv conv = {.channels = 4, .window = {9, 9}};
    value x = graph_input(g, "x", DT_F32, 4, DIMS(2, 6, 6, 3));
    struct error err = {0};

    (void)state;
    nn_push(&nn, "layers.2");
    x = nn_conv2d(&nn, "conv", x, &conv);
    x = nn_batch_norm(&nn, "norm", x, &(struct nn_norm){.eps = 1e-5});
    x = nn_linear(&nn, "head", x, &(struct nn_linear){.width = 5});
    nn_pop(&nn);
    assert_int_equal(x, VALUE_NONE);
    assert_int_equal(graph_finish(g, &err), ST_INVALID);
    assert_string_equal(err.field, "layers.2.conv");
    assert_null(store_find(store, "layers.2.norm.weight"));
    graph_destroy(g);
}

/* One token attends to itself alone: the scores are 1, so y = out_proj(v). */
static void attention_over_one_token_returns_its_value(void **state)
{
    struct graph *g = graph_create("attention", store);
    struct nn nn = {.graph = g, .compute = DT_F64};
    const double x_data[] = {1, 2};
    double y[2] = {0}, in_weight[12] = {0};
    struct error err = {0};

    (void)state;
    graph_output(g, "y",
                 nn_attention(&nn, "attn", graph_input(g, "x", DT_F64, 3, DIMS(1, 1, 2)), 2));
    engine_finish(g);
    assert_int_equal(store_alloc(store, NULL, &err), ST_OK);
    in_weight[4] = 3;      /* v0 = 3 x0 */
    in_weight[6 + 5] = -1; /* v1 = -x1 */
    store_write(store, store_find(store, "attn.in_proj.weight"), in_weight);
    store_write(store, store_find(store, "attn.out_proj.weight"), (const double[]){0, 1, 1, 0});
    store_write(store, store_find(store, "attn.out_proj.bias"), (const double[]){0.5, 0});
    engine_run(g, (const void *[]){x_data}, (void *[]){y});
    assert_true(y[0] == -2.0 + 0.5 && y[1] == 3.0);
    graph_destroy(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(layers_declare_variables_by_pytorchs_names, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_second_program_finds_the_same_variables, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(batch_norm_averages_the_unbiased_variance, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(bf16_computes_on_converted_weights, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_bad_layer_is_a_fault_with_its_label, set_up, tear_down),
        cmocka_unit_test_setup_teardown(attention_over_one_token_returns_its_value, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
