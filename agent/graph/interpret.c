/* agent/graph/interpret.c: runs a graph op by op with the reference kernels: the meaning that every plan must
 * reproduce. Independent of plan and backend: one allocation a value, all alive to the end; composites are
 * expanded as they come. Variables are read as they were before: assignments wait for the last op. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "agent/graph/graph.h"
#include "agent/kernels/kernels.h"
#include "common/banned.h"

struct run {
    const struct graph *graph;
    const uint32_t *operands;
    const void **values; /* per value */
    void **owned;        /* per value: what to free; NULL where the memory is borrowed */
    bool *assigned;      /* per variable */
};

static enum status run_op(struct run *run, const struct op *op, const void *const *inputs,
                          void *const *outputs, struct error *err);
static enum status load_var(struct run *run, const struct op *op, struct error *err);
static enum status new_value(struct run *run, value v, struct error *err);
static enum status call_kernel(struct run *run, const struct op *op, const value *in,
                               const value *out, struct error *err);
static enum status expand_batch_norm(struct run *run, const struct op *op, struct error *err);
static void write_assigned(struct run *run);

enum status graph_interpret(const struct graph *g, const void *const *inputs, void *const *outputs,
                            struct error *err)
{
    const size_t value_count = graph_value_count(g);
    struct run run = {.graph = g, .operands = graph_operands(g)};
    enum status status = ST_OK;

    run.values = calloc(value_count + 1, sizeof *run.values);
    run.owned = calloc(value_count + 1, sizeof *run.owned);
    run.assigned = calloc(store_count(graph_store(g)) + 1, sizeof *run.assigned);
    if (run.values == NULL || run.owned == NULL || run.assigned == NULL) {
        status = error_set(err, ST_NO_MEMORY, NULL, "no memory for %zu values", value_count);
        goto done;
    }
    for (size_t i = 0; i < graph_op_count(g); i++)
        if (graph_op(g, i)->kind == OP_ASSIGN)
            run.assigned[graph_op(g, i)->attr.source.index] = true;
    for (size_t i = 0; i < graph_op_count(g) && status == ST_OK; i++)
        status = run_op(&run, graph_op(g, i), inputs, outputs, err);
    if (status == ST_OK)
        write_assigned(&run);
done:
    for (size_t v = 0; run.owned != NULL && v < value_count; v++)
        free(run.owned[v]);
    free(run.assigned);
    free(run.owned);
    free(run.values);
    return status;
}

static enum status run_op(struct run *run, const struct op *op, const void *const *inputs,
                          void *const *outputs, struct error *err)
{
    const value *in = run->operands + op->in_first, *out = run->operands + op->out_first;
    enum status status = ST_OK;

    switch ((int)op->kind) {
    case OP_INPUT: run->values[out[0]] = inputs[op->attr.source.index]; return ST_OK;
    case OP_VAR: return load_var(run, op, err);
    case OP_ASSIGN: return ST_OK; /* at the end */
    case OP_OUTPUT:
        memcpy(outputs[op->attr.source.index], run->values[in[0]],
               (size_t)tensor_bytes(graph_tensor(run->graph, in[0])));
        return ST_OK;
    default: break;
    }
    for (uint32_t i = 0; i < op->out_count && status == ST_OK; i++)
        status = new_value(run, out[i], err);
    if (status != ST_OK)
        return status;
    return op->kind == OP_BATCH_NORM ? expand_batch_norm(run, op, err)
                                     : call_kernel(run, op, in, out, err);
}

/* Borrows the store's memory, so that data sets are not copied; a copy where it is written at the end, since
 * another assignment may still want the old value. */
static enum status load_var(struct run *run, const struct op *op, struct error *err)
{
    struct store *store = graph_store(run->graph);
    const struct var *var = store_at(store, op->attr.source.index);
    const value v = run->operands[op->out_first];
    const unsigned char *host = store_host(store);
    enum status status;

    if (host != NULL && !run->assigned[var->index]) {
        run->values[v] = host + var->offset;
        return ST_OK;
    }
    status = new_value(run, v, err);
    if (status == ST_OK)
        store_read(store, var, run->owned[v]);
    return status;
}

/* Filled with bits that are NaN in every float type: what a kernel forgets to write is seen. */
static enum status new_value(struct run *run, value v, struct error *err)
{
    const size_t bytes = (size_t)tensor_bytes(graph_tensor(run->graph, v));

    run->owned[v] = malloc(bytes);
    if (run->owned[v] == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for a value of %zu bytes", bytes);
    memset(run->owned[v], 0xff, bytes);
    run->values[v] = run->owned[v];
    return ST_OK;
}

/* in and out may name other values than the op's own (parts of a composite). */
static enum status call_kernel(struct run *run, const struct op *op, const value *in,
                               const value *out, struct error *err)
{
    const struct kernel *kernel = kernel_reference(op->kind);
    struct kernel_query query = {.op = op, .threads = 1};
    struct fit fit = {0};
    struct kernel_args args = {.op = op, .fit = &fit};
    char why[KERNEL_WHY_BYTES] = "";
    bool accepted;

    assert(kernel != NULL);
    args.in_count = (int)op->in_count;
    args.out_count = (int)op->out_count;
    for (uint32_t i = 0; i < op->in_count; i++) {
        args.in[i] = run->values[in[i]];
        args.in_tensor[i] = query.in[i] = graph_tensor(run->graph, in[i]);
    }
    for (uint32_t i = 0; i < op->out_count; i++) {
        args.out[i] = run->owned[out[i]];
        args.out_tensor[i] = query.out[i] = graph_tensor(run->graph, out[i]);
    }
    accepted = kernel->accept(&query, &fit, why);
    assert(accepted); /* a reference takes what the shape rule took */
    if (fit.scratch_bytes > 0) {
        args.scratch = aligned_alloc(64, (fit.scratch_bytes + 63) / 64 * 64);
        if (args.scratch == NULL)
            return error_set(err, ST_NO_MEMORY, NULL, "no memory for %zu bytes of scratch",
                             fit.scratch_bytes);
    }
    for (int phase = 0; phase < (kernel->phases != NULL ? kernel->phases(&args) : 1); phase++) {
        const int64_t items = kernel->items != NULL ? kernel->items(&args, phase) : 1;

        for (int64_t item = 0; item < items; item++)
            kernel->work(&args, phase, item);
    }
    free(args.scratch);
    return ST_OK;
}

static enum status expand_batch_norm(struct run *run, const struct op *op, struct error *err)
{
    const value *in = run->operands + op->in_first, *out = run->operands + op->out_first;
    const value apply_in[] = {in[0], out[1], out[2], in[1], in[2]}; /* x mean var gamma beta */
    struct op stats = *op, apply = *op;
    enum status status;

    stats.kind = OP_BN_STATS;
    stats.in_count = 1;
    stats.out_count = 2;
    apply.kind = OP_BN_APPLY;
    apply.in_count = ARRAY_LEN(apply_in);
    apply.out_count = 1;
    status = call_kernel(run, &stats, in, out + 1, err);
    return status != ST_OK ? status : call_kernel(run, &apply, apply_in, out, err);
}

static void write_assigned(struct run *run)
{
    struct store *store = graph_store(run->graph);

    for (size_t i = 0; i < graph_op_count(run->graph); i++) {
        const struct op *op = graph_op(run->graph, i);

        if (op->kind == OP_ASSIGN)
            store_write(store, store_at(store, op->attr.source.index),
                        run->values[run->operands[op->in_first]]);
    }
}
