/* tests/unit/agent/test_plan_packed.c: weights that a program only reads are packed once and kept: the bits are those of
 * packing at every run, and plan_check finds what is packed wrongly. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/graph/session.h"
#include "tests/support/random_graph.h"

#define CHANNELS INT64_C(32)
#define NUMBERS  (2 * 8 * 8 * CHANNELS) /* of a result */
#define RUNS     4

struct packed {
    struct backend *backend;
    struct store *store;
    struct var *w;
    struct graph *graph;
};

/* y0 = conv(x, w), y1 = conv(tanh(x), w), y2 = conv(x, tanh(w)); writes_w: then w = -w, so that nothing stands still. */
static void packed_init(struct packed *p, const struct backend_options *options, bool writes_w)
{
    static const int64_t x_dim[4] = {2, 8, 8, CHANNELS}, w_dim[4] = {CHANNELS, 3, 3, CHANNELS};
    const struct conv_attr attr = {
        .stride = {1, 1}, .pad = {1, 1, 1, 1}, .dilation = {1, 1}, .groups = 1};
    const struct var_spec spec = {
        .name = "w", .tensor = tensor_make(DT_F32, 4, w_dim), .role = VAR_PARAM};
    struct error err = {0};
    struct graph *g;
    value x, w;

    p->store = store_create();
    p->w = store_add(p->store, &spec);
    p->graph = g = graph_create("packed", p->store);
    x = graph_input(g, "x", DT_F32, 4, x_dim);
    w = graph_var(g, p->w);
    graph_output(g, "y0", graph_conv2d(g, x, w, attr));
    graph_output(g, "y1", graph_conv2d(g, graph_unary(g, UNARY_TANH, x), w, attr));
    graph_output(g, "y2", graph_conv2d(g, x, graph_unary(g, UNARY_TANH, w), attr));
    if (writes_w)
        graph_assign(g, p->w, graph_unary(g, UNARY_NEG, w));
    assert_int_equal(graph_finish(g, &err), ST_OK);
    assert_int_equal(cpu_backend_open(options, &p->backend, &err), ST_OK);
    assert_int_equal(store_alloc(p->store, p->backend, &err), ST_OK);
}

static void packed_fini(struct packed *p)
{
    graph_destroy(p->graph);
    store_destroy(p->store);
    p->backend->ops->close(p->backend);
}

static size_t count_packers(const struct program *program)
{
    size_t count = 0;

    for (size_t i = 0; i < program->group_count; i++)
        count += program->groups[i].packed && program->groups[i].packer == i ? 1 : 0;
    return count;
}

/* The same weights twice, then others twice; the results of all runs. Returns how many groups pack. */
static size_t run_packed(const struct backend_options *options, bool writes_w, float *results)
{
    static const char *const names[] = {"y0", "y1", "y2"};
    const struct plan_options plan = {.fuse = true};
    struct packed p;
    struct error err = {0};
    struct session *session;
    const struct slot *slot;
    size_t index = 0, packers;
    void *weights, *images;

    packed_init(&p, options, writes_w);
    session = session_create(p.backend, p.store);
    assert_int_equal(session_add(session, p.graph, &plan, &index, &err), ST_OK);
    assert_int_equal(session_compile(session, &err), ST_OK);
    packers = count_packers(session_program(session, index));
    slot = program_input(session_program(session, index), "x");
    images = calloc(1, (size_t)slot->bytes);
    weights = calloc(1, (size_t)p.w->bytes);
    for (uint32_t run = 0; run < RUNS; run++) {
        random_contents(&slot->tensor, 70 + run, images);
        session_write(session, index, "x", images);
        random_contents(&p.w->spec.tensor, 80 + run / 2, weights);
        if (writes_w || run % 2 == 0)
            store_write(p.store, p.w, weights);
        assert_int_equal(session_run(session, index, &err), ST_OK);
        for (size_t i = 0; i < ARRAY_LEN(names); i++, results += NUMBERS)
            session_read(session, index, names[i], results);
    }
    free(weights);
    free(images);
    session_destroy(session);
    packed_fini(&p);
    return packers;
}

/* Once for both convolutions that want them alike, and again when they have changed. */
static void weights_that_stand_still_are_packed_once(void **state)
{
    static const char *const isas[] = {"avx2", "avx512"};
    const size_t bytes = (size_t)(RUNS * 3 * NUMBERS) * sizeof(float);
    float *want = malloc(bytes), *got = malloc(bytes);
    int tried = 0;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(isas); i++) {
        struct backend_options options = {.threads = 1};

        if (cpu_isa_parse(isas[i], &options.isa, NULL) != ST_OK)
            continue;
        tried++;
        assert_int_equal(run_packed(&options, true, want), 0);
        for (int hard = 0; hard < 2; hard++) {
            options.poison = hard == 1;
            options.threads = 1 + hard;
            memset(got, 0, bytes);
            assert_int_equal(run_packed(&options, false, got), 2);
            assert_memory_equal(got, want, bytes);
        }
    }
    free(got);
    free(want);
    if (tried == 0)
        skip();
}

static void plan_check_finds_what_is_packed_wrongly(void **state)
{
    struct backend_options options = {.threads = 1};

    (void)state;
    if (cpu_isa_parse("avx2", &options.isa, NULL) != ST_OK) {
        skip();
        return;
    }
    for (int fault = 0; fault < 7; fault++) {
        const struct plan_options plan = {.fuse = true};
        struct packed p;
        struct program *program = NULL;
        struct error err = {0};
        struct group *packers[2], *sharer = NULL;
        size_t count = 0;

        packed_init(&p, &options, false);
        assert_int_equal(plan_build(p.graph, p.backend, &plan, &program, &err), ST_OK);
        for (size_t i = 0; i < program->group_count; i++) {
            if (program->groups[i].packed && program->groups[i].packer == i && count < 2)
                packers[count++] = &program->groups[i];
            else if (program->groups[i].packed)
                sharer = &program->groups[i];
        }
        assert_int_equal(count, 2);
        assert_non_null(sharer);
        switch (fault) {
        case 0: packers[1]->scratch_offset = packers[0]->scratch_offset; break;
        case 1: packers[0]->scratch_offset = 0; break; /* where tanh(w) lies */
        case 2: program->prepared_bytes -= 64; break;
        case 3: sharer->packer = (uint32_t)(packers[1] - program->groups); break;
        case 4: sharer->scratch_offset += 64; break;
        case 5: packers[0]->packer = (uint32_t)(sharer - program->groups); break;
        default: program->prepare_count = 0; break; /* what is packed is not prepared then */
        }
        assert_int_equal(plan_check(program, &err), ST_INTERNAL);
        program_destroy(program);
        packed_fini(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_that_stand_still_are_packed_once),
        cmocka_unit_test(plan_check_finds_what_is_packed_wrongly),
    };

    return cmocka_run_group_tests_name("plan packed", tests, NULL, NULL);
}
