/* agent/graph/plan_internal.h: what the passes of the plan hand to each other (see plan.h). A draft is a graph's
 * ops with their operands inside, which are easier to rewrite than pools; a program comes of it in schedule order.
 * Ownership: draft_take() makes, draft_fini() frees. Threads: one. */
#ifndef DAYBREAK_AGENT_GRAPH_PLAN_INTERNAL_H
#define DAYBREAK_AGENT_GRAPH_PLAN_INTERNAL_H

#include "agent/graph/plan.h"

#define SLOT_NONE  UINT32_MAX
#define PLAN_ALIGN UINT64_C(64)

struct draft_op {
    struct op op; /* kind, attr, counts, stream, label; its pool positions mean nothing here */
    uint32_t in[OP_IN_MAX], out[OP_OUT_MAX]; /* draft values */
    uint32_t name;                           /* inputs and outputs: offset in labels; else 0 */
    bool prepared;
};

struct draft {
    struct draft_op *ops;
    size_t op_count, op_capacity;
    struct tensor *tensors; /* of values */
    uint32_t *producer;     /* of values: the op's index */
    size_t value_count, value_capacity;
    char *labels;
    size_t label_bytes, label_capacity;
    bool *assigned; /* of the store's variables: this program writes it */
    size_t var_count;
};

/* plan_draft.c: the passes over ops. */
void draft_take(struct draft *draft, const struct graph *g);
void draft_fini(struct draft *draft);
enum status draft_expand(struct draft *draft, struct error *err); /* composites into their parts */
void draft_merge(struct draft *draft);                            /* equal pure ops become one */
void draft_copy_old(struct draft *draft); /* old values of written variables that must outlive it */
void draft_prune(struct draft *draft);    /* ops that no assign or output needs */
/* plan_fuse.c: ops that the backend computes in one pass become one; pruning takes what nobody reads any more. */
void draft_fuse(struct draft *draft, struct backend *backend);
void draft_mark_prepared(struct draft *draft);
void draft_schedule(
    struct draft *draft); /* prepared first; weight gradient before input gradient */

/* plan_memory.c: barriers and places. Kernels and fits are chosen. */
void plan_place_barriers(struct program *program, const struct store *store);
void plan_place_memory(struct program *program, const struct store *store);

/* The slot of a variable's old value, per variable of the store; SLOT_NONE where none reads it. */
void plan_old_slots(const struct program *program, uint32_t *old_slots, size_t var_count);
uint64_t plan_align(uint64_t bytes); /* up to PLAN_ALIGN */
void *plan_heap(size_t count,
                size_t size); /* zeroed; exits when out of memory, as the builder does */
void *plan_grow(void *memory, size_t count, size_t size);

#endif
