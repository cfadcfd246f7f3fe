/* agent/graph/graph.c: the graph's memory, labels, faults and reading; see graph.h. The functions that build one
 * op each are in graph_ops.c, the printer in graph_print.c. */
#include "agent/graph/graph.h"

#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/graph/graph_internal.h"
#include "common/banned.h"
#include "common/log.h"

void *graph_grow(void *array, size_t count, size_t size)
{
    /* Capacities are 16, 32, 64 ..: the array is full exactly when count is 0 or one of these. */
    if (count != 0 && (count < 16 || (count & (count - 1)) != 0))
        return array;
    return graph_need(reallocarray(array, count < 16 ? 16 : 2 * count, size));
}

void *graph_need(void *memory)
{
    if (memory == NULL) {
        log_event(LOG_ERROR, "out_of_memory", "where=graph");
        exit(status_exit_code(ST_NO_MEMORY)); /* NOLINT(concurrency-mt-unsafe): one thread */
    }
    return memory;
}

uint32_t graph_add_text(struct graph *g, const char *text)
{
    const size_t bytes = strlen(text) + 1, at = g->text_bytes;

    for (size_t i = 0; i < bytes; i++) {
        g->text = graph_grow(g->text, g->text_bytes, 1);
        g->text[g->text_bytes++] = text[i];
    }
    assert(g->text_bytes < UINT32_MAX);
    return (uint32_t)at;
}

struct graph *graph_create(const char *name, struct store *store)
{
    struct graph *g = graph_need(calloc(1, sizeof *g));

    g->store = store;
    g->label_at = UINT32_MAX;
    (void)graph_add_text(g, name); /* at 0 */
    return g;
}

void graph_destroy(struct graph *g)
{
    if (g == NULL)
        return;
    free(g->ops);
    free(g->operands);
    free(g->tensors);
    free(g->producers);
    free(g->var_values);
    free(g->var_assigned);
    free(g->inputs);
    free(g->outputs);
    free(g->text);
    free(g);
}

void graph_fault(struct graph *g, const struct op *label_of, const char *format, ...)
{
    const char *label = label_of != NULL ? graph_label(g, label_of) : g->label;
    char words[sizeof g->err.detail];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(words, sizeof words, format, args);
    va_end(args);
    (void)error_set(&g->err, ST_INVALID, label, "%s%s%s", label, label[0] != '\0' ? ": " : "",
                    words);
}

/* Numbers, tensors and producers for the results of an op that is about to be appended. */
static void add_results(struct graph *g, struct op *op, const struct tensor *results, value *out)
{
    op->out_first = (uint32_t)g->operand_count;
    for (uint32_t i = 0; i < op->out_count; i++) {
        assert(g->value_count < VALUE_NONE);
        out[i] = (value)g->value_count;
        g->operands = graph_grow(g->operands, g->operand_count, sizeof *g->operands);
        g->operands[g->operand_count++] = out[i];
        g->tensors = graph_grow(g->tensors, g->value_count, sizeof *g->tensors);
        g->producers = graph_grow(g->producers, g->value_count, sizeof *g->producers);
        g->tensors[g->value_count] = results[i];
        g->producers[g->value_count++] = (uint32_t)g->op_count;
    }
}

void graph_append(struct graph *g, enum op_kind kind, const union op_attr *attr, const value *in,
                  size_t in_count, value *out)
{
    const struct op_info *info = op_info(kind);
    const struct tensor *tensors[OP_IN_MAX];
    struct tensor results[OP_OUT_MAX];
    struct op op = {.kind = kind, .in_count = (uint32_t)in_count};
    struct error err = {0};

    assert(!g->finished);
    for (int i = 0; i < info->out_count; i++)
        out[i] = VALUE_NONE;
    if (g->err.status != ST_OK)
        return;
    memcpy(&op.attr, attr, sizeof op.attr);
    op.out_count = (uint32_t)info->out_count;
    for (size_t i = 0; i < in_count && i < OP_IN_MAX; i++) {
        if (in[i] >= g->value_count) {
            graph_fault(g, NULL, "%s operand %zu is no value of this graph", info->name, i);
            return;
        }
        tensors[i] = &g->tensors[in[i]];
    }
    if (op_shape(&op, tensors, results, &err) != ST_OK) {
        graph_fault(g, NULL, "%s", err.detail);
        return;
    }
    op.in_first = (uint32_t)g->operand_count;
    for (size_t i = 0; i < in_count; i++) {
        g->operands = graph_grow(g->operands, g->operand_count, sizeof *g->operands);
        g->operands[g->operand_count++] = in[i];
    }
    add_results(g, &op, results, out);
    if (g->label_at == UINT32_MAX)
        g->label_at = graph_add_text(g, g->label);
    op.label = g->label_at;
    if (kind == OP_SAMPLE || kind == OP_AUGMENT)
        op.stream = ++g->stream_count; /* counted alone: other ops may come and go */
    g->ops = graph_grow(g->ops, g->op_count, sizeof *g->ops);
    g->ops[g->op_count++] = op;
}

value graph_append_one(struct graph *g, enum op_kind kind, const union op_attr *attr,
                       const value *in, size_t in_count)
{
    value out[OP_OUT_MAX] = {VALUE_NONE};

    assert(op_info(kind)->out_count == 1);
    graph_append(g, kind, attr, in, in_count, out);
    return out[0];
}

void graph_push_label(struct graph *g, const char *label)
{
    const size_t length = strlen(g->label);
    int written;

    assert(g->label_depth < GRAPH_LABEL_DEPTH_MAX);
    g->label_lengths[g->label_depth++] = length;
    written = snprintf(g->label + length, sizeof g->label - length, "%s%s",
                       length > 0 && label[0] != '\0' ? "." : "", label);
    assert(written >= 0);
    assert((size_t)written < sizeof g->label - length);
    g->label_at = UINT32_MAX;
}

void graph_pop_label(struct graph *g)
{
    assert(g->label_depth > 0);
    g->label[g->label_lengths[--g->label_depth]] = '\0';
    g->label_at = UINT32_MAX;
}

const char *graph_current_label(const struct graph *g)
{
    return g->label;
}

enum status graph_finish(struct graph *g, struct error *err)
{
    assert(!g->finished);
    assert(g->label_depth == 0);
    g->finished = true;
    if (g->err.status == ST_OK)
        return ST_OK;
    return error_set(err, g->err.status, g->err.field, "%s", g->err.detail);
}

const char *graph_name(const struct graph *g)
{
    return g->text;
}

struct store *graph_store(const struct graph *g)
{
    return g->store;
}

size_t graph_op_count(const struct graph *g)
{
    return g->op_count;
}

const struct op *graph_op(const struct graph *g, size_t index)
{
    assert(index < g->op_count);
    return &g->ops[index];
}

const uint32_t *graph_operands(const struct graph *g)
{
    return g->operands;
}

size_t graph_value_count(const struct graph *g)
{
    return g->value_count;
}

const struct tensor *graph_tensor(const struct graph *g, value v)
{
    assert(v < g->value_count);
    return &g->tensors[v];
}

const char *graph_label(const struct graph *g, const struct op *op)
{
    return g->text + op->label;
}

const char *graph_source_name(const struct graph *g, const struct op *op)
{
    assert(op->kind == OP_INPUT || op->kind == OP_OUTPUT);
    return g->text + (op->kind == OP_INPUT ? g->inputs : g->outputs)[op->attr.source.index];
}
