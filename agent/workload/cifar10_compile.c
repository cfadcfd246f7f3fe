/* agent/workload/cifar10_compile.c: from a recipe to what runs: the device, the variables, and a plan and an executable
 * of each program (cifar10_internal.h). */
#include <stdlib.h>
#include <string.h>

#include "agent/workload/cifar10_internal.h"
#include "agent/workload/precision.h"
#include "common/crypto.h"

static void hash_plans(struct cifar10_state *s);

enum status cifar10_open_backend(const struct workload_options *options,
                                 struct cifar10_state *state, struct error *err)
{
    struct backend_options backend = {.threads = options->threads,
                                      .reference = strcmp(options->isa, "ref") == 0};
    enum status status = ST_OK;

    /* The references compute in every type, and are chosen to be slow. */
    state->compute = options->precision == WORKLOAD_PRECISION_BF16 ? DT_BF16 : DT_F32;
    if (!backend.reference)
        status = cpu_isa_parse(options->isa, &backend.isa, err);
    if (status == ST_OK && !backend.reference)
        status = precision_choose(options->precision, backend.isa, &state->compute, err);
    if (status == ST_OK)
        status = cpu_backend_open(&backend, &state->backend, err);
    return status;
}

enum status cifar10_compile(const struct workload_options *options, struct cifar10_state *state,
                            struct error *err)
{
    const struct plan_options plan = {.fuse = options->fusion};
    const int first = state->inference ? PROGRAM_INFER
                      : state->scoring ? PROGRAM_EVALUATE
                                       : PROGRAM_TRAIN;
    const int end = state->inference ? PROGRAM_COUNT : PROGRAM_INFER;
    struct graph *graphs[PROGRAM_COUNT] = {NULL};
    enum status status = ST_OK;

    state->store = store_create();
    state->session = session_create(state->backend, state->store);
    if (!state->inference)
        cifar10_declare(state);
    for (int p = first; p < end && status == ST_OK; p++) { /* all variables come first */
        graphs[p] = cifar10_build(state, (enum cifar10_program)p);
        status = graph_finish(graphs[p], err);
    }
    if (status == ST_OK)
        status = store_alloc(state->store, state->backend, err);
    for (int p = first; p < end && status == ST_OK; p++)
        status = session_add(state->session, graphs[p], &plan, &state->programs[p], err);
    for (int p = first; p < end; p++)
        graph_destroy(graphs[p]);
    if (status == ST_OK)
        status = session_compile(state->session, err);
    if (status == ST_OK)
        hash_plans(state);
    return status;
}

/* The printed plans of all programs name what runs: kernels, order, places. */
static void hash_plans(struct cifar10_state *s)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);

    if (out == NULL) {
        (void)fputs("cifar10: out of memory\n", stderr);
        exit(4); /* NOLINT(concurrency-mt-unsafe): set-up, one thread */
    }
    for (size_t i = 0; i < session_count(s->session); i++)
        plan_print(session_program(s->session, i), out);
    (void)fclose(out);
    crypto_sha256_hex((struct str){text, bytes}, s->plan_digest);
    free(text);
}
