/* tests/unit/agent/test_plan.c: a plan means what its graph means: equal bits
 * to the interpreter under the reference kernels, with one thread and two, and
 * with all dead memory poisoned; plan_check finds every kind of broken plan. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include <cmocka.h>

#include "agent/graph/session.h"
#include "tests/support/random_graph.h"

#define GRAPH_COUNT 200
#define ROUNDS      3

/* The workers flush denormals; the interpreter runs here and must do the same
 * for equal bits. */
static int flush_denormals(void **state)
{
    (void)state;
#if defined(__x86_64__)
    _mm_setcsr(_mm_getcsr() | 0x8040u);
#endif
    return 0;
}

static struct backend *open_cpu(int threads, bool poison)
{
    const struct backend_options options = {
        .threads = threads, .reference = true, .poison = poison};
    struct backend *backend = NULL;
    struct error err = {0};

    assert_int_equal(cpu_backend_open(&options, &backend, &err), ST_OK);
    return backend;
}

static void fill_store(struct store *store, uint32_t salt)
{
    for (size_t i = 0; i < store_count(store); i++) {
        struct var *var = store_at(store, i);
        void *data = calloc(1, (size_t)var->bytes);

        random_contents(&var->spec.tensor, salt + (uint32_t)i, data);
        store_write(store, var, data);
        free(data);
    }
}

/* All variables one after another, then the outputs. */
static size_t result_bytes(const struct random_graph *r)
{
    size_t bytes = 0;

    for (size_t i = 0; i < store_count(r->store); i++)
        bytes += (size_t)store_at(r->store, i)->bytes;
    for (size_t i = 0; i < r->output_count; i++)
        bytes += (size_t)tensor_bytes(&r->outputs[i]);
    return bytes;
}

static void make_inputs(const struct random_graph *r, uint32_t salt, void **inputs)
{
    for (size_t i = 0; i < r->input_count; i++) {
        inputs[i] = calloc(1, (size_t)tensor_bytes(&r->inputs[i]));
        random_contents(&r->inputs[i], salt + (uint32_t)i, inputs[i]);
    }
}

static unsigned char *read_vars(const struct store *store, unsigned char *to)
{
    for (size_t i = 0; i < store_count(store); i++) {
        store_read(store, store_at(store, i), to);
        to += store_at(store, i)->bytes;
    }
    return to;
}

/* Three rounds, so that state of one run meets the next; a variable that is
 * only read changes before the last, so that prepared values must be made
 * again. */
static void between_rounds(struct random_graph *r, int round)
{
    for (size_t i = 0; round == 1 && i < store_count(r->store) && i < ARRAY_LEN(r->params); i++)
        if (r->params[i] != NULL && !r->assigned[i]) {
            void *data = calloc(1, (size_t)r->params[i]->bytes);

            random_contents(&r->params[i]->spec.tensor, 999 + (uint32_t)i, data);
            store_write(r->store, r->params[i], data);
            free(data);
        }
}

static void run_interpreter(struct random_graph *r, unsigned char *results)
{
    struct error err = {0};
    void *inputs[RANDOM_INPUTS_MAX], *outputs[RANDOM_OUTPUTS_MAX];

    fill_store(r->store, 1);
    make_inputs(r, 500, inputs);
    for (int round = 0; round < ROUNDS; round++) {
        unsigned char *at = results + (size_t)round * result_bytes(r);
        unsigned char *out = at;

        for (size_t i = 0; i < store_count(r->store); i++)
            out += store_at(r->store, i)->bytes;
        for (size_t i = 0; i < r->output_count; i++) {
            outputs[i] = out;
            out += tensor_bytes(&r->outputs[i]);
        }
        assert_int_equal(graph_interpret(r->graph, (const void *const *)inputs, outputs, &err),
                         ST_OK);
        (void)read_vars(r->store, at);
        between_rounds(r, round);
    }
    for (size_t i = 0; i < r->input_count; i++)
        free(inputs[i]);
}

static void run_plan(struct random_graph *r, struct backend *backend, unsigned char *results)
{
    const struct plan_options options = {.fuse = true};
    struct session *session = session_create(backend, r->store);
    struct error err = {0};
    size_t index = 0;
    void *inputs[RANDOM_INPUTS_MAX];

    if (session_add(session, r->graph, &options, &index, &err) != ST_OK)
        fail_msg("seed %u: %s", r->seed, err.detail);
    assert_int_equal(session_compile(session, &err), ST_OK);
    fill_store(r->store, 1);
    make_inputs(r, 500, inputs);
    for (int round = 0; round < ROUNDS; round++) {
        unsigned char *at = results + (size_t)round * result_bytes(r);
        char name[PROGRAM_NAME_BYTES];

        for (size_t i = 0; i < r->input_count; i++) {
            (void)snprintf(name, sizeof name, "in%zu", i);
            session_write(session, index, name, inputs[i]);
        }
        assert_int_equal(session_run(session, index, &err), ST_OK);
        at = read_vars(r->store, at);
        for (size_t i = 0; i < r->output_count; i++) {
            (void)snprintf(name, sizeof name, "out%zu", i);
            session_read(session, index, name, at);
            at += tensor_bytes(&r->outputs[i]);
        }
        between_rounds(r, round);
    }
    for (size_t i = 0; i < r->input_count; i++)
        free(inputs[i]);
    session_destroy(session);
}

/* One graph on one backend against the interpreter. */
static void compare(uint32_t seed, int ops, int threads, bool poison)
{
    struct random_graph r;
    struct backend *backend = open_cpu(threads, poison);
    struct error err = {0};
    unsigned char *want, *got;
    size_t bytes;

    random_graph_init(&r, seed, ops);
    assert_int_equal(store_alloc(r.store, backend, &err), ST_OK);
    bytes = ROUNDS * result_bytes(&r);
    want = calloc(1, bytes);
    got = calloc(1, bytes);
    run_interpreter(&r, want);
    run_plan(&r, backend, got);
    for (size_t i = 0; i < bytes; i++)
        if (want[i] != got[i])
            fail_msg("seed %u, %d threads, poison %d: byte %zu of %zu differs", seed, threads,
                     (int)poison, i, bytes);
    free(got);
    free(want);
    random_graph_fini(&r);
    backend->ops->close(backend);
}

static void plan_equals_interpreter_on_random_graphs(void **state)
{
    (void)state;
    for (uint32_t seed = 0; seed < GRAPH_COUNT; seed++)
        compare(seed, 5 + (int)(seed % 40), 1, false);
}

static void plan_equals_interpreter_when_dead_memory_is_poisoned(void **state)
{
    (void)state;
    for (uint32_t seed = 0; seed < GRAPH_COUNT; seed++)
        compare(seed, 5 + (int)(seed % 40), 1, true);
}

static void two_threads_give_the_bits_of_one(void **state)
{
    (void)state;
    for (uint32_t seed = 0; seed < GRAPH_COUNT / 2; seed++)
        compare(seed, 5 + (int)(seed % 40), 2, false);
}

/* The results of one graph under the kernels of one instruction set; *bytes of them. */
static unsigned char *run_isa(uint32_t seed, int ops, struct backend_options options, size_t *bytes)
{
    struct random_graph r;
    struct backend *backend = NULL;
    struct error err = {0};
    unsigned char *results;

    assert_int_equal(cpu_backend_open(&options, &backend, &err), ST_OK);
    random_graph_init(&r, seed, ops);
    assert_int_equal(store_alloc(r.store, backend, &err), ST_OK);
    *bytes = ROUNDS * result_bytes(&r);
    results = calloc(1, *bytes);
    run_plan(&r, backend, results);
    random_graph_fini(&r);
    backend->ops->close(backend);
    return results;
}

/* The reference kernels never share memory or need scratch; the CPU's own do. Who takes which item, and what lies in
 * dead memory, must change no bit of theirs. */
static void own_kernels_give_the_same_bits_on_two_threads_over_poison(void **state)
{
    static const char *const isas[] = {"avx2", "avx512"};
    int tried = 0;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(isas); i++) {
        struct backend_options options = {.threads = 1};

        if (cpu_isa_parse(isas[i], &options.isa, NULL) != ST_OK)
            continue;
        tried++;
        for (uint32_t seed = 0; seed < GRAPH_COUNT; seed++) {
            const int ops = 5 + (int)(seed % 40);
            struct backend_options hard = options;
            size_t bytes, other_bytes;
            unsigned char *want = run_isa(seed, ops, options, &bytes), *got;

            hard.threads = 2;
            hard.poison = true;
            got = run_isa(seed, ops, hard, &other_bytes);
            assert_int_equal(bytes, other_bytes);
            for (size_t b = 0; b < bytes; b++)
                if (want[b] != got[b])
                    fail_msg("seed %u, %s: byte %zu of %zu differs", seed, isas[i], b, bytes);
            free(got);
            free(want);
        }
    }
    if (tried == 0)
        skip();
}

/* Hand-made: v' = v + 1, twice read, and a constant that is prepared. */
struct small {
    struct backend *backend;
    struct store *store;
    struct var *v, *w;
    struct graph *graph;
};

static void small_init(struct small *s)
{
    static const int64_t dim[1] = {4};
    struct var_spec spec = {.name = "v", .tensor = tensor_make(DT_F32, 1, dim), .role = VAR_STATE};

    s->backend = open_cpu(1, false);
    s->store = store_create();
    s->v = store_add(s->store, &spec);
    spec.name = "w";
    s->w = store_add(s->store, &spec);
    s->graph = graph_create("small", s->store);
}

static struct program *small_plan(struct small *s)
{
    const struct plan_options options = {.fuse = true};
    struct program *program = NULL;
    struct error err = {0};

    assert_int_equal(graph_finish(s->graph, &err), ST_OK);
    assert_int_equal(store_alloc(s->store, s->backend, &err), ST_OK);
    if (plan_build(s->graph, s->backend, &options, &program, &err) != ST_OK)
        fail_msg("%s", err.detail);
    return program;
}

static void small_fini(struct small *s, struct program *program)
{
    program_destroy(program);
    graph_destroy(s->graph);
    store_destroy(s->store);
    s->backend->ops->close(s->backend);
}

/* y = tanh(x), z = tanh(y), w <- z + v, v <- v + w: chains that use memory
 * again. */
static void small_chain(struct small *s)
{
    struct graph *g = s->graph;
    static const int64_t dim[1] = {4};
    value x, y, z, sum;

    graph_push_label(g, "net");
    x = graph_input(g, "x", DT_F32, 1, dim);
    y = graph_unary(g, UNARY_TANH, graph_add(g, x, graph_var(g, s->v)));
    z = graph_unary(g, UNARY_TANH, y);
    sum = graph_mul(g, y, z);
    graph_pop_label(g);
    graph_assign(g, s->w, graph_add(g, sum, graph_var(g, s->v)));
    graph_assign(g, s->v, graph_add(g, graph_var(g, s->v), graph_var(g, s->w)));
    graph_output(g, "z", z);
}

static void a_value_goes_into_its_variable_when_nobody_reads_the_old_one(void **state)
{
    struct small s;
    struct program *program;

    (void)state;
    small_init(&s);
    graph_assign(s.graph, s.v,
                 graph_add(s.graph, graph_unary(s.graph, UNARY_TANH, graph_var(s.graph, s.v)),
                           graph_var(s.graph, s.w)));
    program = small_plan(&s);
    assert_int_equal(program->writeback_count, 0);
    assert_int_equal(program->assigned_var_count, 1);
    assert_int_equal(program->assigned_vars[0], s.v->index);
    small_fini(&s, program);
}

/* Two ops of one stage read h: whichever comes last, its result may not take h's memory from the other. The
 * reference kernels never share memory, so this needs the CPU's own. */
static void a_value_with_two_readers_in_a_stage_is_not_overwritten(void **state)
{
    struct backend_options options = {.threads = 2};
    const struct plan_options plan = {0};
    static const int64_t dim[2] = {64, 1000};
    struct store *store = store_create();
    struct graph *g = graph_create("fork", store);
    struct backend *backend = NULL;
    struct program *program = NULL;
    struct error err = {0};
    value h, left, right;

    (void)state;
    assert_int_equal(cpu_isa_parse("auto", &options.isa, &err), ST_OK);
    assert_int_equal(cpu_backend_open(&options, &backend, &err), ST_OK);
    h = graph_unary(g, UNARY_EXP, graph_input(g, "x", DT_F32, 2, dim));
    left = graph_unary(g, UNARY_NEG, h);
    right = graph_unary(g, UNARY_RELU, h);
    graph_output(g, "left", graph_unary(g, UNARY_EXP, left));
    graph_output(g, "right", graph_unary(g, UNARY_EXP, right));
    assert_int_equal(graph_finish(g, &err), ST_OK);
    assert_int_equal(store_alloc(store, backend, &err), ST_OK);
    if (plan_build(g, backend, &plan, &program, &err) != ST_OK)
        fail_msg("%s", err.detail);
    program_destroy(program);
    graph_destroy(g);
    store_destroy(store);
    backend->ops->close(backend);
}

static void swapped_variables_are_copied_at_the_end(void **state)
{
    struct small s;
    struct program *program;

    (void)state;
    small_init(&s);
    graph_assign(s.graph, s.v, graph_var(s.graph, s.w));
    graph_assign(s.graph, s.w, graph_var(s.graph, s.v));
    program = small_plan(&s);
    assert_int_equal(program->assigned_var_count, 2);
    assert_true(program->writeback_count >= 1);
    small_fini(&s, program);
}

static void equal_ops_merge_and_unused_ones_go(void **state)
{
    struct small s;
    struct program *program;
    value a, b;
    size_t tanh_count = 0;

    (void)state;
    small_init(&s);
    a = graph_unary(s.graph, UNARY_TANH, graph_var(s.graph, s.v));
    b = graph_unary(s.graph, UNARY_TANH, graph_var(s.graph, s.v));
    (void)graph_unary(s.graph, UNARY_NEG, b);
    graph_assign(s.graph, s.v, graph_add(s.graph, a, b));
    program = small_plan(&s);
    for (size_t i = 0; i < program->op_count; i++) {
        assert_true(program->ops[i].kind != OP_UNARY ||
                    program->ops[i].attr.unary.fn == UNARY_TANH);
        tanh_count += program->ops[i].kind == OP_UNARY ? 1 : 0;
    }
    assert_int_equal(tanh_count, 1);
    small_fini(&s, program);
}

static void what_hangs_on_unwritten_variables_alone_is_prepared(void **state)
{
    struct small s;
    struct program *program;

    (void)state;
    small_init(&s);
    graph_assign(s.graph, s.v,
                 graph_add(s.graph, graph_var(s.graph, s.v),
                           graph_unary(s.graph, UNARY_TANH, graph_var(s.graph, s.w))));
    program = small_plan(&s);
    assert_int_equal(program->prepare_var_count, 1);
    assert_int_equal(program->prepare_vars[0], s.w->index);
    assert_int_equal(program->prepared_bytes, 64);
    small_fini(&s, program);
}

static void the_weight_gradient_comes_before_the_input_gradient(void **state)
{
    static const int64_t x_dim[4] = {2, 4, 4, 3}, w_dim[4] = {5, 3, 3, 3};
    struct conv_attr attr = {
        .stride = {1, 1}, .pad = {1, 1, 1, 1}, .dilation = {1, 1}, .groups = 1};
    struct small s;
    struct program *program;
    value x, w, dy, dx, dw;
    size_t input_at = 0, weight_at = 0;

    (void)state;
    small_init(&s);
    x = graph_input(s.graph, "x", DT_F32, 4, x_dim);
    w = graph_input(s.graph, "w", DT_F32, 4, w_dim);
    dy = graph_conv2d(s.graph, x, w, attr);
    memcpy(attr.shape, x_dim, sizeof attr.shape);
    dx = graph_conv2d_grad_input(s.graph, dy, w, attr);
    memcpy(attr.shape, w_dim, sizeof attr.shape);
    dw = graph_conv2d_grad_weight(s.graph, dy, x, attr);
    graph_output(s.graph, "dx", dx);
    graph_output(s.graph, "dw", dw);
    program = small_plan(&s);
    for (size_t i = 0; i < program->op_count; i++) {
        if (program->ops[i].kind == OP_CONV2D_GRAD_INPUT)
            input_at = i;
        if (program->ops[i].kind == OP_CONV2D_GRAD_WEIGHT)
            weight_at = i;
    }
    assert_true(weight_at < input_at);
    small_fini(&s, program);
}

static void a_plan_above_the_memory_limit_is_refused(void **state)
{
    struct plan_options options = {.fuse = true, .memory_bytes_max = 1};
    struct small s;
    struct program *program = NULL;
    struct error err = {0};

    (void)state;
    small_init(&s);
    small_chain(&s);
    assert_int_equal(graph_finish(s.graph, &err), ST_OK);
    assert_int_equal(store_alloc(s.store, s.backend, &err), ST_OK);
    assert_int_equal(plan_build(s.graph, s.backend, &options, &program, &err), ST_LIMIT);
    options.memory_bytes_max = 1 << 20;
    memset(&err, 0, sizeof err);
    assert_int_equal(plan_build(s.graph, s.backend, &options, &program, &err), ST_OK);
    small_fini(&s, program);
}

/* Each mutation must be found; the untouched program passes, or the test would
 * prove nothing. */
static void plan_check_finds_what_is_broken(void **state)
{
    (void)state;
    for (int fault = 0; fault < 8; fault++) {
        struct small s;
        struct program *p;
        struct error err = {0};
        size_t first = 0, last = 0, barrier = 0;

        small_init(&s);
        small_chain(&s);
        p = small_plan(&s);
        assert_int_equal(plan_check(p, &err), ST_OK);
        for (size_t i = 0; i < p->group_count; i++) {
            first = first == 0 && p->groups[i].kernel != NULL ? i : first;
            last = p->groups[i].kernel != NULL ? i : last;
            barrier = p->groups[i].barrier ? i : barrier;
        }
        switch (fault) {
        case 0: /* two live values in one place: z lives to the end */
            for (size_t i = 0; i < p->slot_count; i++)
                p->slots[i].offset = p->slots[i].place == PLACE_ARENA ? 0 : p->slots[i].offset;
            break;
        case 1: p->groups[barrier].barrier = false; break;
        case 2: p->arena_bytes = 64; break;
        case 3:
            p->ops[p->groups[last].op_first].out_first =
                p->ops[p->groups[first].op_first].out_first;
            break;
        case 4: p->groups[first].kernel = NULL; break;
        case 5:
            p->slots[p->operands[p->ops[p->groups[first].op_first].out_first]].offset += 4;
            break;
        case 6:
            p->ops[p->groups[first].op_first].in_first = p->ops[p->groups[last].op_first].out_first;
            break;
        default: /* the new v into its memory at once, though it is read later */
            for (size_t i = 0; i < p->slot_count; i++)
                if (i == p->operands[p->ops[p->groups[first].op_first].out_first]) {
                    p->slots[i].place = PLACE_VARIABLE;
                    p->slots[i].var = s.v->index;
                    p->slots[i].offset = s.v->offset;
                }
            break;
        }
        if (plan_check(p, &err) != ST_INTERNAL)
            fail_msg("fault %d was not found", fault);
        small_fini(&s, p);
    }
}

static void plan_print_is_golden(void **state)
{
    static const char want[] = "program small: 12 groups, 0 prepared; arena 192 bytes, prepared 0, "
                               "inputs 64; 0 flops\n"
                               "  0 input [-] -> %0:i0+0 f32[4]  (net)\n"
                               "  1 var [-] -> %1:v0+0 f32[4]  (net)\n"
                               "  2 binary [binary_ref] %0:i0+0 %1:v0+0 -> %2:a+0 f32[4]  (net)\n"
                               "! 3 unary [unary_ref] %2:a+0 -> %3:a+64 f32[4]  (net)\n"
                               "! 4 unary [unary_ref] %3:a+64 -> %4:a+0 f32[4]  (net)\n"
                               "! 5 binary [binary_ref] %3:a+64 %4:a+0 -> %5:a+128 f32[4]  (net)\n"
                               "! 6 binary [binary_ref] %5:a+128 %1:v0+0 -> %6:a+64 f32[4]  ()\n"
                               "  7 assign [-] %6:a+64  ()\n"
                               "  8 var [-] -> %7:v1+64 f32[4]  ()\n"
                               "! 9 binary [binary_ref] %1:v0+0 %7:v1+64 -> %8:a+128 f32[4]  ()\n"
                               "  10 assign [-] %8:a+128  ()\n"
                               "  11 output [-] %4:a+0  ()\n"
                               "copy %6:a+64 -> v1+64, 16 bytes\n"
                               "copy %8:a+128 -> v0+0, 16 bytes\n";
    struct small s;
    struct program *program;
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);

    (void)state;
    small_init(&s);
    small_chain(&s);
    program = small_plan(&s);
    plan_print(program, out);
    (void)fclose(out);
    assert_string_equal(text, want);
    free(text);
    small_fini(&s, program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plan_equals_interpreter_on_random_graphs),
        cmocka_unit_test(plan_equals_interpreter_when_dead_memory_is_poisoned),
        cmocka_unit_test(two_threads_give_the_bits_of_one),
        cmocka_unit_test(own_kernels_give_the_same_bits_on_two_threads_over_poison),
        cmocka_unit_test(a_value_goes_into_its_variable_when_nobody_reads_the_old_one),
        cmocka_unit_test(a_value_with_two_readers_in_a_stage_is_not_overwritten),
        cmocka_unit_test(swapped_variables_are_copied_at_the_end),
        cmocka_unit_test(equal_ops_merge_and_unused_ones_go),
        cmocka_unit_test(what_hangs_on_unwritten_variables_alone_is_prepared),
        cmocka_unit_test(the_weight_gradient_comes_before_the_input_gradient),
        cmocka_unit_test(a_plan_above_the_memory_limit_is_refused),
        cmocka_unit_test(plan_check_finds_what_is_broken),
        cmocka_unit_test(plan_print_is_golden),
    };

    return cmocka_run_group_tests_name("plan", tests, flush_denormals, NULL);
}
