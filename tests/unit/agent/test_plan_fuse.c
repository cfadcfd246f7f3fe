/* tests/unit/agent/test_plan_fuse.c: what the plan makes one op of several gives the numbers of the parts but for rounding,
 * stores less, and is left alone where somebody else reads what would not be stored. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/graph/nn.h"
#include "agent/graph/session.h"
#include "tests/support/random_graph.h"

#define CHANNELS INT64_C(20)
#define NUMBERS  (6 * 5 * 5 * CHANNELS)

enum form {
    FORM_PLAIN, /* loss = sum of t * act(norm(x)), gradients of w in x * w, of gamma and beta */
    FORM_OTHER_READER, /* and y is put out */
    FORM_EVALUATION    /* act(norm(x)) alone */
};

struct net {
    struct backend *backend;
    struct store *store;
    struct var *w, *gamma, *beta;
    struct graph *graph;
    size_t output_count;
};

static const int64_t image_dim[4] = {6, 5, 5, CHANNELS};

/* Of the last `rank` dims. */
static struct var *add_var(struct store *store, const char *name, int rank)
{
    const struct var_spec spec = {
        .name = name, .tensor = tensor_make(DT_F32, rank, &image_dim[4 - rank]), .role = VAR_PARAM};

    return store_add(store, &spec);
}

static void net_init(struct net *net, enum form form, enum unary_fn fn, enum dtype dtype,
                     const struct backend_options *options)
{
    struct error err = {0};
    struct graph *g;
    value x, t, y, z, mean, var, grads[3];

    net->store = store_create();
    net->w = add_var(net->store, "w", 4);
    net->gamma = add_var(net->store, "gamma", 1);
    net->beta = add_var(net->store, "beta", 1);
    net->graph = g = graph_create("net", net->store);
    x = graph_mul(g, graph_input(g, "x", DT_F32, 4, image_dim), graph_var(g, net->w));
    t = graph_input(g, "t", DT_F32, 4, image_dim);
    y = graph_batch_norm(g, graph_convert(g, x, dtype), graph_var(g, net->gamma),
                         graph_var(g, net->beta), 1e-5, &mean, &var);
    z = graph_convert(g, graph_unary(g, fn, y), DT_F32);
    net->output_count = 1;
    graph_output(g, "out0", z);
    if (form != FORM_EVALUATION) {
        struct var *const wanted[] = {net->w, net->gamma, net->beta};
        const value loss = graph_reduce(g, REDUCE_SUM, graph_mul(g, z, t), 0xf);

        graph_gradient(g, graph_reshape(g, loss, 0, NULL), wanted, 3, grads);
        graph_output(g, "out1", grads[0]);
        graph_output(g, "out2", grads[1]);
        graph_output(g, "out3", grads[2]);
        net->output_count = 4;
    }
    if (form == FORM_OTHER_READER)
        graph_output(g, "y", graph_convert(g, y, DT_F32));
    if (graph_finish(g, &err) != ST_OK)
        fail_msg("%s", err.detail);
    assert_int_equal(cpu_backend_open(options, &net->backend, &err), ST_OK);
    assert_int_equal(store_alloc(net->store, net->backend, &err), ST_OK);
}

static void net_fini(struct net *net)
{
    graph_destroy(net->graph);
    store_destroy(net->store);
    net->backend->ops->close(net->backend);
}

static size_t count_ops(const struct program *program, enum op_kind kind)
{
    size_t count = 0;

    for (size_t i = 0; i < program->op_count; i++)
        count += program->ops[i].kind == kind ? 1 : 0;
    return count;
}

static void write_random(struct net *net, struct session *session, size_t index)
{
    static const char *const inputs[] = {"x", "t"};
    struct var *const vars[] = {net->w, net->gamma, net->beta};

    for (size_t i = 0; i < session_program(session, index)->input_count; i++) {
        const struct slot *slot = program_input(session_program(session, index), inputs[i]);
        void *data = calloc(1, (size_t)slot->bytes);

        random_contents(&slot->tensor, 5 + (uint32_t)i, data);
        session_write(session, index, inputs[i], data);
        free(data);
    }
    for (size_t i = 0; i < ARRAY_LEN(vars); i++) {
        float *data = calloc(1, (size_t)vars[i]->bytes);

        random_contents(&vars[i]->spec.tensor, 20 + (uint32_t)i, data);
        store_write(net->store, vars[i], data);
        free(data);
    }
}

/* All outputs one after another, NUMBERS for each. Returns the bytes of the arena. */
static uint64_t run(struct net *net, bool fuse, float *results, size_t *fused, size_t *parts)
{
    const struct plan_options options = {.fuse = fuse};
    struct session *session = session_create(net->backend, net->store);
    const struct program *program;
    struct error err = {0};
    uint64_t bytes;
    size_t index = 0;

    if (session_add(session, net->graph, &options, &index, &err) != ST_OK)
        fail_msg("%s", err.detail);
    assert_int_equal(session_compile(session, &err), ST_OK);
    program = session_program(session, index);
    *fused = count_ops(program, OP_BN_ACT) + count_ops(program, OP_BN_ACT_GRAD_STATS) +
             count_ops(program, OP_BN_ACT_GRAD_APPLY);
    *parts = count_ops(program, OP_BN_APPLY) + count_ops(program, OP_UNARY) +
             count_ops(program, OP_UNARY_GRAD) + count_ops(program, OP_BN_GRAD_STATS) +
             count_ops(program, OP_BN_GRAD_APPLY);
    bytes = program->arena_bytes;
    write_random(net, session, index);
    assert_int_equal(session_run(session, index, &err), ST_OK);
    for (size_t i = 0; i < net->output_count; i++) {
        char name[PROGRAM_NAME_BYTES];

        (void)snprintf(name, sizeof name, "out%zu", i);
        session_read(session, index, name, results + i * NUMBERS);
    }
    session_destroy(session);
    return bytes;
}

static void check(enum form form, enum unary_fn fn, enum dtype dtype,
                  const struct backend_options *options, size_t want_fused, size_t want_parts)
{
    /* Sums of 150 terms about 1 in F32; in BF16 the parts round y and dy, to 2^-9 of each. */
    const double tolerance = dtype == DT_BF16 ? 0x1p-6 : 1e-5;
    float *plain = calloc(4 * NUMBERS, sizeof *plain),
          *joined = calloc(4 * NUMBERS, sizeof *joined);
    size_t fused, parts;
    uint64_t plain_bytes, joined_bytes;
    struct net net;

    net_init(&net, form, fn, dtype, options);
    plain_bytes = run(&net, false, plain, &fused, &parts);
    assert_int_equal(fused, 0);
    joined_bytes = run(&net, true, joined, &fused, &parts);
    assert_int_equal(fused, want_fused);
    assert_int_equal(parts, want_parts);
    assert_true(joined_bytes <= plain_bytes);
    if (form == FORM_PLAIN && want_fused > 0)
        assert_true(joined_bytes < plain_bytes);
    for (size_t i = 0; i < net.output_count; i++) {
        double errors = 0.0, values = 0.0;

        for (int64_t k = 0; k < NUMBERS; k++) {
            const double want = (double)plain[(int64_t)i * NUMBERS + k];
            const double off = (double)joined[(int64_t)i * NUMBERS + k] - want;

            errors += off * off;
            values += want * want;
        }
        assert_true(values > 0.0);
        if (!(sqrt(errors / values) <= tolerance))
            fail_msg("output %zu: error %.3g of its size", i, sqrt(errors / values));
    }
    net_fini(&net);
    free(joined);
    free(plain);
}

static void parts_become_one_with_the_same_numbers(void **state)
{
    static const char *const isas[] = {"avx2", "avx512", "avx512-bf16"};
    int tried = 0;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(isas); i++) {
        struct backend_options options = {.threads = 1};
        const enum dtype dtype = strcmp(isas[i], "avx512-bf16") == 0 ? DT_BF16 : DT_F32;

        if (cpu_isa_parse(isas[i], &options.isa, NULL) != ST_OK)
            continue;
        tried++;
        options.poison = true;
        check(FORM_PLAIN, UNARY_GELU_ERF, dtype, &options, 3, 0);
        check(FORM_PLAIN, UNARY_SILU, dtype, &options, 3, 0);
        check(FORM_PLAIN, UNARY_RELU, dtype, &options, 3, 0);
        check(FORM_EVALUATION, UNARY_GELU_ERF, dtype, &options, 1, 0);
    }
    if (tried == 0)
        skip();
}

static void what_others_read_or_no_kernel_takes_stays_apart(void **state)
{
    struct backend_options options = {.threads = 1};

    (void)state;
    if (cpu_isa_parse("avx2", &options.isa, NULL) == ST_OK) {
        check(FORM_OTHER_READER, UNARY_GELU_ERF, DT_F32, &options, 0, 5);
        check(FORM_PLAIN, UNARY_TANH, DT_F32, &options, 0, 5);
    }
    options.reference = true;
    check(FORM_PLAIN, UNARY_GELU_ERF, DT_F32, &options, 0, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_become_one_with_the_same_numbers),
        cmocka_unit_test(what_others_read_or_no_kernel_takes_stays_apart),
    };

    return cmocka_run_group_tests_name("plan fuse", tests, NULL, NULL);
}
