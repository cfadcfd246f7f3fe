/* The builder: faults that stick and name their op, labels, variables, streams, the printed form, counts. */
#include "tests/support/engine.h"

#include "agent/graph/count.h"

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

static const struct conv_attr same = {
    .stride = {1, 1}, .pad = {1, 1, 1, 1}, .dilation = {1, 1}, .groups = 1};

static void the_first_fault_sticks_and_names_the_label(void **state)
{
    struct graph *g = graph_create("bad", store);
    const value x = graph_input(g, "x", DT_F32, 4, DIMS(2, 8, 8, 3));
    const value w = graph_input(g, "w", DT_F32, 4, DIMS(4, 3, 3, 2));
    struct error err = {0};
    value y;

    (void)state;
    graph_push_label(g, "layers.1");
    graph_push_label(g, "conv1");
    y = graph_conv2d(g, x, w, same);
    assert_int_equal(y, VALUE_NONE);
    graph_pop_label(g);
    y = graph_unary(g, UNARY_RELU, y);
    assert_int_equal(y, VALUE_NONE);
    assert_int_equal(graph_reduce(g, REDUCE_SUM, x, 0), VALUE_NONE); /* a second fault */
    graph_pop_label(g);
    assert_int_equal(graph_op_count(g), 2);
    assert_int_equal(graph_finish(g, &err), ST_INVALID);
    assert_string_equal(err.field, "layers.1.conv1");
    assert_string_equal(err.detail, "layers.1.conv1: conv2d operand 1 f32[4,3,3,2]: 2 channels of "
                                    "3 in 1 groups need 3");
    graph_destroy(g);
}

static void an_operand_that_is_no_value_is_a_fault(void **state)
{
    struct graph *g = graph_create("bad", store);
    struct error err = {0};

    (void)state;
    assert_int_equal(graph_add(g, graph_scalar(g, DT_F32, 1.0), 17), VALUE_NONE);
    assert_int_equal(graph_finish(g, &err), ST_INVALID);
    assert_string_equal(err.detail, "binary operand 1 is no value of this graph");
    graph_destroy(g);
}

static void a_variable_is_read_once_and_assigned_once(void **state)
{
    struct var *v = engine_var(store, "v", DT_F32, 1, DIMS(3));
    struct var *other = engine_var(store, "other", DT_F32, 1, DIMS(4));
    struct graph *g = graph_create("vars", store);
    const value read = graph_var(g, v);
    struct error err = {0};

    (void)state;
    assert_int_equal(graph_var(g, v), read);
    assert_int_not_equal(graph_var(g, other), read);
    graph_assign(g, v, read);
    graph_assign(g, v, read);
    assert_int_equal(graph_finish(g, &err), ST_INVALID);
    assert_string_equal(err.detail, "assign: variable v is assigned twice");
    graph_destroy(g);

    err = (struct error){0};
    g = graph_create("shape", store);
    graph_assign(g, v, graph_var(g, other));
    assert_int_equal(graph_finish(g, &err), ST_INVALID);
    assert_string_equal(err.detail, "assign operand 0 f32[4]: f32[3] is needed");
    graph_destroy(g);
}

/* The plan merges equal ops by comparing bytes: what the caller's stack held must not get in. */
static void equal_ops_have_equal_bytes(void **state)
{
    struct graph *g = graph_create("equal", store);
    const value x = graph_input(g, "x", DT_F32, 2, DIMS(4, 6));
    const value images = graph_input(g, "images", DT_U8, 4, DIMS(5, 4, 4, 3));
    const value idx = graph_iota(g, DT_I32, 1, DIMS(2), 0), number = graph_scalar(g, DT_I32, 1.0);
    const size_t first = graph_op_count(g);
    struct slice_attr slice;
    struct pad_attr pad;
    struct conv_attr conv = same;
    struct augment_attr augment;

    (void)state;
    for (int round = 0; round < 2; round++) {
        const int dirt = round == 0 ? 0xff : 0x55;

        memset(&slice, dirt, sizeof slice);
        memset(&pad, dirt, sizeof pad);
        memset(&augment, dirt, sizeof augment);
        memset(conv.shape, dirt, sizeof conv.shape);
        for (int d = 0; d < 2; d++) {
            slice.start[d] = d;
            slice.stop[d] = 4;
            slice.step[d] = 2;
            pad.lo[d] = pad.hi[d] = d;
        }
        pad.fill = PAD_ZERO;
        (void)graph_slice(g, x, slice);
        (void)graph_pad(g, x, pad);
        augment = (struct augment_attr){.mode = AUGMENT_TRAIN,
                                        .pad = 1,
                                        .mean = {0.5, 0.5, 0.5},
                                        .deviation = {1, 1, 1},
                                        .dtype = DT_F32};
        (void)graph_augment(g, images, idx, number, number, augment);
        (void)graph_conv2d(g, graph_fill(g, DT_F32, 4, DIMS(1, 4, 4, 2), 0.0),
                           graph_fill(g, DT_F32, 4, DIMS(1, 3, 3, 2), 0.0), conv);
    }
    engine_finish(g);
    const size_t half = (graph_op_count(g) - first) / 2;

    for (size_t i = first; i < first + half; i++) {
        assert_int_equal(graph_op(g, i)->kind, graph_op(g, i + half)->kind);
        assert_memory_equal(&graph_op(g, i)->attr, &graph_op(g, i + half)->attr,
                            sizeof(union op_attr));
    }
    graph_destroy(g);
}

/* Random ops alone are counted, so that other ops may come and go without other random numbers. */
static void streams_count_random_ops_in_creation_order(void **state)
{
    (void)state;
    for (int extra = 0; extra < 2; extra++) {
        struct graph *g = graph_create("streams", store);
        const value seed = graph_scalar(g, DT_I32, 1.0), step = graph_scalar(g, DT_I32, 1.0);
        uint32_t next = 1;
        value epoch;

        for (int i = 0; i < 3; i++) {
            (void)graph_sample(g, seed, step, (struct sample_attr){.images = 9, .batch = 2},
                               &epoch);
            if (extra)
                (void)graph_add(g, epoch, epoch);
        }
        engine_finish(g);
        for (size_t i = 0; i < graph_op_count(g); i++)
            if (graph_op(g, i)->kind == OP_SAMPLE)
                assert_int_equal(graph_op(g, i)->stream, next++);
        assert_int_equal(next, 4);
        graph_destroy(g);
    }
}

static const char golden[] =
    "graph train\n"
    "%0 f32[2,8,8,3] = input() \"x\"\n"
    "%1 f32[4,3,3,3] = var() \"layers.0.weight\"\n"
    "%2 f32[2,8,8,4] = conv2d(%0, %1) stride=1,1 pad=1,1,1,1 dilation=1,1 groups=1 @layers.0\n"
    "%3 f32[2,4,4,4], %4 u8[2,4,4,4] = pool_max(%2) window=2,2 stride=2,2 pad=0,0,0,0 @layers.0\n"
    "%5 f32[2,4,4,4] = unary(%3) fn=gelu_erf @act\n"
    "%6 f32[2,64] = reshape(%5)\n"
    "%7 f32[64,2] = transpose(%6) perm=1,0\n"
    "%8 f32[3,1] = slice(%7) start=1,0 stop=6,2 step=2,2\n"
    "%9 f32[6,1] = pad(%8) fill=reflect lo=1,0 hi=2,0\n";

static void print_to(const struct graph *g, char *text, size_t bytes)
{
    FILE *file = fmemopen(text, bytes, "w");

    assert_non_null(file);
    graph_print(g, file);
    assert_int_equal(fclose(file), 0);
}

static void graph_print_shows_values_attributes_and_labels(void **state)
{
    struct var *w = engine_var(store, "layers.0.weight", DT_F32, 4, DIMS(4, 3, 3, 3));
    struct graph *g = graph_create("train", store);
    value x = graph_input(g, "x", DT_F32, 4, DIMS(2, 8, 8, 3)), v = graph_var(g, w);
    static char text[2048];

    (void)state;
    graph_push_label(g, "layers.0");
    x = graph_conv2d(g, x, v, same);
    x = graph_pool_max(g, x, (struct pool_attr){.window = {2, 2}, .stride = {2, 2}}, NULL);
    graph_pop_label(g);
    graph_push_label(g, "act");
    x = graph_unary(g, UNARY_GELU_ERF, x);
    graph_pop_label(g);
    x = graph_transpose(g, graph_reshape(g, x, 2, DIMS(2, 64)), (int32_t[]){1, 0});
    x = graph_slice(g, x, (struct slice_attr){.start = {1, 0}, .stop = {6, 2}, .step = {2, 2}});
    (void)graph_pad(g, x, (struct pad_attr){.fill = PAD_REFLECT, .lo = {1, 0}, .hi = {2, 0}});
    engine_finish(g);
    print_to(g, text, sizeof text);
    assert_string_equal(text, golden);
    graph_destroy(g);
}

static void graph_print_shows_sources_sinks_and_scalars(void **state)
{
    static const char want[] = "graph rest\n"
                               "%0 f32[3,4] = fill() value=0.5\n"
                               "%1 i32[3] = iota() axis=0\n"
                               "%2 i32[] = fill() value=3\n"
                               "%3 f32[3], %4 f32[3] = xent(%0, %1, %2) on=0.9 off=0.1\n"
                               "%5 f32[1] = reduce(%3) fn=sum axes=0x1\n"
                               "%6 f32[3,4] = softmax(%0) scale=0.25\n"
                               "%7 f32[4,4] = matmul(%0, %6) transpose_a\n"
                               "output(%5) \"loss\"\n"
                               "%8 f32[4,4] = var() \"state\"\n"
                               "%9 f32[4,4] = binary(%7, %8) fn=max\n"
                               "assign(%9) \"state\"\n";
    struct var *var = engine_var(store, "state", DT_F32, 2, DIMS(4, 4));
    struct graph *g = graph_create("rest", store);
    const value x = graph_fill(g, DT_F32, 2, DIMS(3, 4), 0.5);
    const value label = graph_iota(g, DT_I32, 1, DIMS(3), 0);
    const value valid = graph_scalar(g, DT_I32, 3.0);
    value loss = graph_xent(g, x, label, valid, (struct xent_attr){0.9, 0.1}, NULL);
    static char text[2048];

    (void)state;
    loss = graph_reduce(g, REDUCE_SUM, loss, 1);
    const value y =
        graph_matmul(g, x, graph_softmax(g, x, 0.25), (struct matmul_attr){.transpose_a = true});

    graph_output(g, "loss", loss);
    graph_assign(g, var, graph_binary(g, BINARY_MAX, y, graph_var(g, var)));
    engine_finish(g);
    print_to(g, text, sizeof text);
    assert_string_equal(text, want);
    graph_destroy(g);
}

/* [2,3] x [3,4] is 48 flops; relu is one step for each of 8 results; bytes: (6 + 12 + 8) + (8 + 8) floats. */
static void count_work_adds_flops_bytes_and_parameters(void **state)
{
    struct var *w = engine_var(store, "w", DT_F32, 2, DIMS(3, 4));
    struct graph *g = graph_create("count", store);
    const value x = graph_input(g, "x", DT_F32, 2, DIMS(2, 3));
    struct graph_count count;

    (void)state;
    graph_output(
        g, "y",
        graph_unary(g, UNARY_RELU, graph_matmul(g, x, graph_var(g, w), (struct matmul_attr){0})));
    engine_finish(g);
    count = graph_count_work(g);
    assert_int_equal(count.flops, 48);
    assert_int_equal(count.flops_other, 8);
    assert_int_equal(count.bytes, 4 * (6 + 12 + 8 + 8 + 8));
    assert_int_equal(count.param_count, 12);
    graph_destroy(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_first_fault_sticks_and_names_the_label, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(an_operand_that_is_no_value_is_a_fault, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_variable_is_read_once_and_assigned_once, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(equal_ops_have_equal_bytes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(streams_count_random_ops_in_creation_order, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(graph_print_shows_values_attributes_and_labels, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(graph_print_shows_sources_sinks_and_scalars, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(count_work_adds_flops_bytes_and_parameters, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
