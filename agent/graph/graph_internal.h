/* agent/graph/graph_internal.h: the graph's own memory, for the files of agent/graph that build or print ops.
 * Ownership: graph_create() and graph_destroy(). Threads: one. */
#ifndef DAYBREAK_AGENT_GRAPH_GRAPH_INTERNAL_H
#define DAYBREAK_AGENT_GRAPH_GRAPH_INTERNAL_H

#include "agent/graph/graph.h"

#define GRAPH_LABEL_BYTES     96 /* the field of struct error */
#define GRAPH_LABEL_DEPTH_MAX 16

/* Arrays grow by doubling; a capacity is the count rounded up to a power of two (see graph_grow()). */
struct graph {
    struct store *store; /* borrowed */
    struct op *ops;
    uint32_t *operands; /* operands and results of all ops, in order */
    struct tensor *tensors;
    uint32_t *producers; /* per value: index of its op */
    value *var_values;   /* per variable of the store: its value, VALUE_NONE: not read */
    bool *var_assigned;  /* per variable of the store */
    uint32_t *inputs;    /* offsets of names in text */
    uint32_t *outputs;   /* the same */
    char *text;          /* name, labels, names of inputs and outputs, each with its NUL */
    size_t op_count, operand_count, value_count, var_count, input_count, output_count, text_bytes;
    char label[GRAPH_LABEL_BYTES]; /* of the ops to come */
    size_t label_lengths[GRAPH_LABEL_DEPTH_MAX];
    int label_depth;
    uint32_t label_at; /* offset of `label` in text, UINT32_MAX: not there yet */
    uint32_t stream_count;
    bool finished;
    struct error err;
};

/* Appends an op after its shape rule agreed. out[0..results of the kind) are its values, all VALUE_NONE once the
 * graph has a fault. attr is copied. */
void graph_append(struct graph *g, enum op_kind kind, const union op_attr *attr, const value *in,
                  size_t in_count, value *out);
/* The same for kinds of one result. */
value graph_append_one(struct graph *g, enum op_kind kind, const union op_attr *attr,
                       const value *in, size_t in_count);
/* Keeps the first fault, with the label of `label_of` (NULL: the current one) as its field. */
void graph_fault(struct graph *g, const struct op *label_of, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
uint32_t graph_add_text(struct graph *g, const char *text);
/* Room for one more element of an array of `count`; exits when out of memory. */
void *graph_grow(void *array, size_t count, size_t size);
/* memory, or the end of the program when it is NULL. */
void *graph_need(void *memory);

#endif
