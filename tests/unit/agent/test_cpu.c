/* tests/unit/agent/test_cpu.c: the CPU backend: no allocation in a run, the same bits from 1, 2 and more threads and
 * with dead memory poisoned (under the fast kernels, which work in place), runs in a row, profiles, refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/graph/session.h"
#include "tests/support/random_graph.h"

#define GRAPH_COUNT 60
#define STEPS       100

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define COUNTS_ALLOCATIONS 0 /* a sanitizer has its own allocator */
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define COUNTS_ALLOCATIONS 0
#endif
#endif
#ifndef COUNTS_ALLOCATIONS
#define COUNTS_ALLOCATIONS 1
#endif

static _Atomic long allocation_count;

#if COUNTS_ALLOCATIONS
/* Every allocation of the process comes through here: glibc's own names for its functions stand behind. */
extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *memory, size_t bytes);
void *malloc(size_t bytes)
{
    allocation_count++;
    return __libc_malloc(bytes);
}
void *calloc(size_t count, size_t bytes)
{
    allocation_count++;
    return __libc_calloc(count, bytes);
}
void *realloc(void *memory, size_t bytes)
{
    allocation_count++;
    return __libc_realloc(memory, bytes);
}
#endif

static struct backend *open_cpu(int threads, bool reference, bool poison)
{
    const struct backend_options options = {
        .threads = threads, .isa = cpu_isa_detect(), .reference = reference, .poison = poison};
    struct backend *backend = NULL;
    struct error err = {0};

    assert_int_equal(cpu_backend_open(&options, &backend, &err), ST_OK);
    return backend;
}

static void fill_store(struct store *store)
{
    for (size_t i = 0; i < store_count(store); i++) {
        struct var *var = store_at(store, i);
        void *data = calloc(1, (size_t)var->bytes);

        random_contents(&var->spec.tensor, 1 + (uint32_t)i, data);
        store_write(store, var, data);
        free(data);
    }
}

static void write_inputs(const struct random_graph *r, struct session *session, size_t index)
{
    for (size_t i = 0; i < r->input_count; i++) {
        void *data = calloc(1, (size_t)tensor_bytes(&r->inputs[i]));
        char name[PROGRAM_NAME_BYTES];

        (void)snprintf(name, sizeof name, "in%zu", i);
        random_contents(&r->inputs[i], 500 + (uint32_t)i, data);
        session_write(session, index, name, data);
        free(data);
    }
}

/* All variables and outputs after two runs; the caller frees. */
static unsigned char *run_graph(uint32_t seed, struct backend *backend, size_t *bytes)
{
    const struct plan_options options = {.fuse = true};
    struct random_graph r;
    struct session *session;
    struct error err = {0};
    unsigned char *results, *at;
    size_t index = 0;

    random_graph_init(&r, seed, 10 + (int)(seed % 40));
    assert_int_equal(store_alloc(r.store, backend, &err), ST_OK);
    session = session_create(backend, r.store);
    if (session_add(session, r.graph, &options, &index, &err) != ST_OK)
        fail_msg("seed %u: %s", seed, err.detail);
    assert_int_equal(session_compile(session, &err), ST_OK);
    fill_store(r.store);
    for (int run = 0; run < 2; run++) {
        write_inputs(&r, session, index);
        assert_int_equal(session_run(session, index, &err), ST_OK);
    }
    *bytes = (size_t)store_bytes(r.store);
    for (size_t i = 0; i < r.output_count; i++)
        *bytes += (size_t)tensor_bytes(&r.outputs[i]);
    results = calloc(1, *bytes);
    memcpy(results, store_host(r.store), (size_t)store_bytes(r.store));
    at = results + store_bytes(r.store);
    for (size_t i = 0; i < r.output_count; i++) {
        char name[PROGRAM_NAME_BYTES];

        (void)snprintf(name, sizeof name, "out%zu", i);
        session_read(session, index, name, at);
        at += tensor_bytes(&r.outputs[i]);
    }
    session_destroy(session);
    random_graph_fini(&r);
    return results;
}

static void expect_equal_bits(struct backend *a, struct backend *b)
{
    for (uint32_t seed = 1000; seed < 1000 + GRAPH_COUNT; seed++) {
        size_t want_bytes = 0, got_bytes = 0;
        unsigned char *want = run_graph(seed, a, &want_bytes);
        unsigned char *got = run_graph(seed, b, &got_bytes);

        assert_int_equal(want_bytes, got_bytes);
        if (memcmp(want, got, want_bytes) != 0)
            fail_msg("seed %u gives other bits", seed);
        free(got);
        free(want);
    }
    a->ops->close(a);
    b->ops->close(b);
}

static void fast_kernels_give_equal_bits_on_one_and_two_threads(void **state)
{
    (void)state;
    expect_equal_bits(open_cpu(1, false, false), open_cpu(2, false, false));
}

static void more_threads_than_processors_give_equal_bits(void **state)
{
    (void)state;
    expect_equal_bits(open_cpu(1, false, false), open_cpu(5, false, false));
    expect_equal_bits(open_cpu(1, false, false), open_cpu(5, false, true)); /* and no chains */
}

static void fast_kernels_read_no_dead_memory(void **state)
{
    (void)state;
    expect_equal_bits(open_cpu(2, false, false), open_cpu(2, false, true));
}

static void a_run_allocates_nothing(void **state)
{
    const struct plan_options options = {.fuse = true};
    struct backend *backend = open_cpu(2, false, false);
    struct random_graph r;
    struct session *session;
    struct error err = {0};
    size_t index = 0;
    long before, after;

    (void)state;
    random_graph_init(&r, 7, 40);
    assert_int_equal(store_alloc(r.store, backend, &err), ST_OK);
    session = session_create(backend, r.store);
    assert_int_equal(session_add(session, r.graph, &options, &index, &err), ST_OK);
    assert_int_equal(session_compile(session, &err), ST_OK);
    assert_true(allocation_count > 0 || !COUNTS_ALLOCATIONS); /* the hook works */
    before = allocation_count;
    for (int step = 0; step < STEPS; step++)
        assert_int_equal(session_run(session, index, &err), ST_OK);
    after = allocation_count;
    assert_int_equal(after - before, 0);
    session_destroy(session);
    random_graph_fini(&r);
    backend->ops->close(backend);
}

/* v' = v + 1 once a run: as many runs as were posted, though nobody waits between them. */
static void posted_runs_all_happen_in_order(void **state)
{
    const struct plan_options options = {.fuse = true};
    struct backend *backend = open_cpu(2, true, false);
    struct store *store = store_create();
    struct var *v = store_add(
        store,
        &(struct var_spec){.name = "v", .tensor = tensor_make(DT_I32, 0, NULL), .role = VAR_STATE});
    struct graph *g = graph_create("count", store);
    struct program *program = NULL;
    struct executable *executable = NULL;
    struct binding binding = {0};
    struct error err = {0};
    int32_t count = 0;

    (void)state;
    graph_assign(g, v, graph_add(g, graph_var(g, v), graph_scalar(g, DT_I32, 1.0)));
    assert_int_equal(graph_finish(g, &err), ST_OK);
    assert_int_equal(store_alloc(store, backend, &err), ST_OK);
    assert_int_equal(plan_build(g, backend, &options, &program, &err), ST_OK);
    binding.variables = store_memory(store);
    binding.var_versions = store_versions(store);
    assert_int_equal(backend->ops->alloc(backend, program->arena_bytes, &binding.arena, &err),
                     ST_OK);
    assert_int_equal(backend->ops->alloc(backend, program->prepared_bytes, &binding.prepared, &err),
                     ST_OK);
    assert_int_equal(backend->ops->compile(backend, program, &binding, &executable, &err), ST_OK);
    for (int i = 0; i < STEPS; i++)
        assert_int_equal(backend->ops->run(executable, &err), ST_OK);
    assert_int_equal(backend->ops->wait(backend, &err), ST_OK);
    store_read(store, v, &count);
    assert_int_equal(count, STEPS);
    backend->ops->discard(executable);
    backend->ops->release(backend, binding.prepared);
    backend->ops->release(backend, binding.arena);
    program_destroy(program);
    graph_destroy(g);
    store_destroy(store);
    backend->ops->close(backend);
}

static void a_profile_counts_each_kernel(void **state)
{
    const struct plan_options options = {.fuse = true};
    struct backend *backend = open_cpu(2, false, false);
    struct random_graph r;
    struct session *session;
    struct group_time times[512];
    struct error err = {0};
    size_t index = 0;
    double seconds = 0.0;

    (void)state;
    random_graph_init(&r, 11, 30);
    assert_int_equal(store_alloc(r.store, backend, &err), ST_OK);
    session = session_create(backend, r.store);
    assert_int_equal(session_add(session, r.graph, &options, &index, &err), ST_OK);
    assert_true(session_program(session, index)->group_count <= ARRAY_LEN(times));
    assert_int_equal(session_compile(session, &err), ST_OK);
    assert_int_equal(session_profile(session, index, 3, times, &err), ST_OK);
    for (size_t i = 0; i < session_program(session, index)->group_count; i++) {
        assert_int_equal(times[i].calls, 3);
        assert_true((session_program(session, index)->groups[i].kernel != NULL) ==
                    (times[i].seconds > 0.0));
        seconds += times[i].seconds;
    }
    assert_true(seconds > 0.0);
    session_destroy(session);
    random_graph_fini(&r);
    backend->ops->close(backend);
}

static void thread_counts_out_of_range_are_refused(void **state)
{
    static const int counts[] = {-1, 100000};
    struct backend *backend = NULL;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
        const struct backend_options options = {.threads = counts[i]};
        struct error err = {0};

        assert_int_equal(cpu_backend_open(&options, &backend, &err), ST_USAGE);
        assert_string_equal(err.field, "threads");
    }
}

static void the_device_describes_itself(void **state)
{
    struct backend *backend = open_cpu(1, true, false);
    struct device_info info;

    (void)state;
    backend->ops->describe(backend, &info);
    assert_string_equal(info.kind, "cpu");
    assert_string_equal(info.isa, "ref");
    assert_int_equal(info.threads, 1);
    assert_true(info.model[0] != '\0');
    assert_true(info.memory_bytes > 0);
    backend->ops->close(backend);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fast_kernels_give_equal_bits_on_one_and_two_threads),
        cmocka_unit_test(more_threads_than_processors_give_equal_bits),
        cmocka_unit_test(fast_kernels_read_no_dead_memory),
        cmocka_unit_test(a_run_allocates_nothing),
        cmocka_unit_test(posted_runs_all_happen_in_order),
        cmocka_unit_test(a_profile_counts_each_kernel),
        cmocka_unit_test(thread_counts_out_of_range_are_refused),
        cmocka_unit_test(the_device_describes_itself),
    };

    return cmocka_run_group_tests_name("cpu", tests, NULL, NULL);
}
