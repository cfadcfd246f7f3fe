/* The interpreter: when variables are read and written, composites, inputs and outputs by position. */
#include "tests/support/engine.h"

static struct store *store;
static struct var *a, *b, *counter;

static int set_up(void **state)
{
    struct error err = {0};

    (void)state;
    store = store_create();
    a = engine_var(store, "a", DT_F32, 1, DIMS(2));
    b = engine_var(store, "b", DT_F32, 1, DIMS(2));
    counter = engine_var(store, "counter", DT_I32, 0, NULL);
    assert_int_equal(store_alloc(store, NULL, &err), ST_OK);
    store_write(store, a, (const float[]){1, 2});
    store_write(store, b, (const float[]){3, 4});
    store_write(store, counter, &(const int32_t){41});
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    store_destroy(store);
    return 0;
}

static void variables_swap_because_writes_wait_for_the_end(void **state)
{
    struct graph *g = graph_create("swap", store);
    float now[2];

    (void)state;
    graph_assign(g, a, graph_var(g, b));
    graph_assign(g, b, graph_var(g, a));
    engine_finish(g);
    engine_run(g, NULL, NULL);
    store_read(store, a, now);
    assert_true(now[0] == 3.0f && now[1] == 4.0f);
    store_read(store, b, now);
    assert_true(now[0] == 1.0f && now[1] == 2.0f);
    graph_destroy(g);
}

/* The order of ops cannot change what a program means: read after assign in the list, old value in the run. */
static void a_read_after_an_assignment_sees_the_old_value(void **state)
{
    struct graph *g = graph_create("count", store);
    int32_t seen = 0, now = 0;
    const uint64_t version = store_versions(store)[counter->index];

    (void)state;
    graph_assign(g, counter, graph_add(g, graph_var(g, counter), graph_scalar(g, DT_I32, 1.0)));
    graph_output(g, "seen", graph_var(g, counter));
    engine_finish(g);
    engine_run(g, NULL, (void *[]){&seen});
    assert_int_equal(seen, 41);
    engine_run(g, NULL, (void *[]){&seen});
    assert_int_equal(seen, 42);
    store_read(store, counter, &now);
    assert_int_equal(now, 43);
    assert_int_equal(store_versions(store)[counter->index], version + 2);
    graph_destroy(g);
}

static void inputs_and_outputs_go_by_position(void **state)
{
    struct graph *g = graph_create("io", store);
    const value x = graph_input(g, "x", DT_F32, 1, DIMS(2));
    const value y = graph_input(g, "y", DT_F32, 1, DIMS(2));
    const float x_data[] = {10, 20}, y_data[] = {1, 2};
    float difference[2] = {0}, echo[2] = {0};

    (void)state;
    graph_output(g, "difference", graph_sub(g, x, y));
    graph_output(g, "echo", y);
    engine_finish(g);
    engine_run(g, (const void *[]){x_data, y_data}, (void *[]){difference, echo});
    assert_true(difference[0] == 9.0f && difference[1] == 18.0f);
    assert_true(echo[0] == 1.0f && echo[1] == 2.0f);
    assert_string_equal(graph_source_name(g, graph_op(g, 1)), "y");
    graph_destroy(g);
}

static void batch_norm_is_its_two_parts_bit_for_bit(void **state)
{
    static float x_data[300], whole[300], parts[300], mean[2][3], var[2][3];
    struct graph *g = graph_create("bn", store);
    const value x = graph_input(g, "x", DT_F32, 2, DIMS(100, 3));
    const value gamma = graph_fill(g, DT_F32, 1, DIMS(3), 1.5);
    const value beta = graph_iota(g, DT_F32, 1, DIMS(3), 0);
    value means[2], vars[2];

    (void)state;
    rng_fill_normal((struct rng_key){1, 2}, 3.0f, 2.0f, x_data, 300);
    graph_output(g, "whole", graph_batch_norm(g, x, gamma, beta, 1e-5, &means[0], &vars[0]));
    graph_bn_stats(g, x, 1e-5, &means[1], &vars[1]);
    graph_output(g, "parts", graph_bn_apply(g, x, means[1], vars[1], gamma, beta, 1e-5));
    for (int i = 0; i < 2; i++) {
        graph_output(g, "mean", means[i]);
        graph_output(g, "var", vars[i]);
    }
    engine_finish(g);
    engine_run(g, (const void *[]){x_data},
               (void *[]){whole, parts, mean[0], var[0], mean[1], var[1]});
    assert_memory_equal(whole, parts, sizeof whole);
    assert_memory_equal(mean[0], mean[1], sizeof mean[0]);
    assert_memory_equal(var[0], var[1], sizeof var[0]);
    for (int i = 0; i < 300; i++) /* 1.5 xhat + 0, 1 or 2: nothing was left as it was */
        assert_true(fabsf(whole[i]) < 10.0f);
    graph_destroy(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(variables_swap_because_writes_wait_for_the_end, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_read_after_an_assignment_sees_the_old_value, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(inputs_and_outputs_go_by_position, set_up, tear_down),
        cmocka_unit_test_setup_teardown(batch_norm_is_its_two_parts_bit_for_bit, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
