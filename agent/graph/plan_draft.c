/* agent/graph/plan_draft.c: the passes of the plan that rewrite ops: take, expand, merge, prune, prepare, schedule
 * (plan_internal.h). Each makes a new list of the previous one; order is creation order until the last. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "agent/graph/plan_internal.h"
#include "common/str.h"

static uint32_t add_value(struct draft *draft, const struct tensor *tensor);
static struct draft_op *add_op(struct draft *draft, const struct draft_op *op);
static uint32_t add_text(struct draft *draft, const char *text);
static uint32_t root_value(const struct draft *draft, uint32_t v);
static enum status expand_batch_norm(struct draft *to, const struct draft_op *from,
                                     struct error *err);
static enum status append_shaped(struct draft *to, struct draft_op *op, struct error *err);
static bool may_merge(const struct draft_op *op);
static bool ops_equal(const struct draft_op *a, const struct draft_op *b);
static uint64_t op_hash(const struct draft_op *op);
static bool is_old_value(const struct draft *draft, uint32_t v);
static void rename_operands(struct draft_op *op, const uint32_t *names);

void draft_take(struct draft *draft, const struct graph *g)
{
    const uint32_t *operands = graph_operands(g);

    memset(draft, 0, sizeof *draft);
    add_text(draft, "");
    for (size_t v = 0; v < graph_value_count(g); v++)
        add_value(draft, graph_tensor(g, (value)v));
    draft->var_count = store_count(graph_store(g));
    draft->assigned = plan_heap(draft->var_count + 1, sizeof *draft->assigned);
    for (size_t i = 0; i < graph_op_count(g); i++) {
        struct draft_op op;

        memset(&op, 0, sizeof op);
        op.op = *graph_op(g, i);
        op.op.label = add_text(draft, graph_label(g, graph_op(g, i)));
        if (op.op.kind == OP_INPUT || op.op.kind == OP_OUTPUT)
            op.name = add_text(draft, graph_source_name(g, graph_op(g, i)));
        for (uint32_t k = 0; k < op.op.in_count; k++)
            op.in[k] = operands[op.op.in_first + k];
        for (uint32_t k = 0; k < op.op.out_count; k++)
            op.out[k] = operands[op.op.out_first + k];
        if (op.op.kind == OP_ASSIGN)
            draft->assigned[op.op.attr.source.index] = true;
        add_op(draft, &op);
    }
}

void draft_fini(struct draft *draft)
{
    free(draft->ops);
    free(draft->tensors);
    free(draft->producer);
    free(draft->labels);
    free(draft->assigned);
    memset(draft, 0, sizeof *draft);
}

enum status draft_expand(struct draft *draft, struct error *err)
{
    struct draft_op *old = draft->ops;
    const size_t count = draft->op_count;
    enum status status = ST_OK;

    draft->ops = NULL;
    draft->op_count = draft->op_capacity = 0;
    for (size_t i = 0; i < count && status == ST_OK; i++) {
        if (!op_info(old[i].op.kind)->composite)
            add_op(draft, &old[i]);
        else if (old[i].op.kind == OP_BATCH_NORM)
            status = expand_batch_norm(draft, &old[i], err);
        else
            status = error_set(err, ST_UNSUPPORTED, op_info(old[i].op.kind)->name,
                               "No expansion of the composite op %s is known.",
                               op_info(old[i].op.kind)->name);
    }
    free(old);
    return status;
}

/* One walk in creation order: operands are renamed to the survivors first, so chains merge at once. */
void draft_merge(struct draft *draft)
{
    uint32_t *names = plan_heap(draft->value_count + 1, sizeof *names);
    size_t bucket_count = 64, kept = 0;
    uint32_t *buckets;

    while (bucket_count < 2 * draft->op_count)
        bucket_count *= 2;
    buckets = plan_heap(bucket_count, sizeof *buckets); /* index + 1 of a kept op; 0: free */
    for (size_t v = 0; v < draft->value_count; v++)
        names[v] = (uint32_t)v;
    for (size_t i = 0; i < draft->op_count; i++) {
        struct draft_op *op = &draft->ops[i];
        size_t at;

        rename_operands(op, names);
        at = op_hash(op) & (bucket_count - 1);
        while (may_merge(op) && buckets[at] != 0 && !ops_equal(op, &draft->ops[buckets[at] - 1]))
            at = (at + 1) & (bucket_count - 1);
        if (may_merge(op) && buckets[at] != 0) {
            for (uint32_t k = 0; k < op->op.out_count; k++)
                names[op->out[k]] = draft->ops[buckets[at] - 1].out[k];
            continue;
        }
        if (may_merge(op))
            buckets[at] = (uint32_t)kept + 1;
        for (uint32_t k = 0; k < op->op.out_count; k++)
            draft->producer[op->out[k]] = (uint32_t)kept;
        draft->ops[kept++] = *op;
    }
    draft->op_count = kept;
    free(buckets);
    free(names);
}

/* What is assigned or put out must not be the memory of a variable that this program writes: it would change
 * before the end (a <- b, b <- a). A convert to the same dtype is the copy. */
void draft_copy_old(struct draft *draft)
{
    struct draft_op *old = draft->ops;
    const size_t count = draft->op_count;
    bool *copied = plan_heap(count + 1, sizeof *copied);

    for (size_t i = 0; i < count; i++) /* is_old_value() looks at the ops while the list is whole */
        copied[i] = (old[i].op.kind == OP_ASSIGN || old[i].op.kind == OP_OUTPUT) &&
                    is_old_value(draft, old[i].in[0]);
    draft->ops = NULL;
    draft->op_count = draft->op_capacity = 0;
    for (size_t i = 0; i < count; i++) {
        if (copied[i]) {
            const uint32_t from = old[i].in[0];
            const struct tensor tensor = draft->tensors[from];
            struct draft_op copy;

            memset(&copy, 0, sizeof copy);
            copy.op.kind = OP_CONVERT;
            copy.op.attr.convert.dtype = tensor.dtype;
            copy.op.attr.convert.format = tensor.format;
            copy.op.label = old[i].op.label;
            copy.op.in_count = copy.op.out_count = 1;
            copy.in[0] = from;
            copy.out[0] = add_value(draft, &tensor);
            add_op(draft, &copy);
            old[i].in[0] = copy.out[0];
        }
        add_op(draft, &old[i]);
    }
    free(copied);
    free(old);
}

void draft_prune(struct draft *draft)
{
    bool *needed = plan_heap(draft->value_count + 1, sizeof *needed);
    bool *keep = plan_heap(draft->op_count + 1, sizeof *keep);
    size_t kept = 0;

    for (size_t i = draft->op_count; i-- > 0;) {
        const struct draft_op *op = &draft->ops[i];

        /* Inputs stay although unused: callers write them by name. */
        keep[i] = op->op.kind == OP_ASSIGN || op->op.kind == OP_OUTPUT || op->op.kind == OP_INPUT;
        for (uint32_t k = 0; k < op->op.out_count; k++)
            keep[i] = keep[i] || needed[op->out[k]];
        for (uint32_t k = 0; keep[i] && k < op->op.in_count; k++)
            needed[op->in[k]] = true;
    }
    for (size_t i = 0; i < draft->op_count; i++) {
        if (!keep[i])
            continue;
        for (uint32_t k = 0; k < draft->ops[i].op.out_count; k++)
            draft->producer[draft->ops[i].out[k]] = (uint32_t)kept;
        draft->ops[kept++] = draft->ops[i];
    }
    draft->op_count = kept;
    free(keep);
    free(needed);
}

void draft_mark_prepared(struct draft *draft)
{
    for (size_t i = 0; i < draft->op_count; i++) {
        struct draft_op *op = &draft->ops[i];

        op->prepared = op_info(op->op.kind)->pure;
        if (op->op.kind == OP_VAR)
            op->prepared = !draft->assigned[op->op.attr.source.index];
        for (uint32_t k = 0; k < op->op.in_count; k++)
            op->prepared = op->prepared && draft->ops[draft->producer[op->in[k]]].prepared;
    }
}

/* Emits op i after the weight gradients that read the same dy: they need no input gradient, and once both have
 * run, dy's memory is free; the input gradient, which goes on down the network, then comes last. */
void draft_schedule(struct draft *draft)
{
    struct draft_op *order = plan_heap(draft->op_count + 1, sizeof *order);
    bool *done = plan_heap(draft->op_count + 1, sizeof *done);
    size_t count = 0;

    for (size_t i = 0; i < draft->op_count; i++) {
        done[i] = draft->ops[i].prepared;
        if (done[i])
            order[count++] = draft->ops[i];
    }
    for (size_t i = 0; i < draft->op_count; i++) {
        const struct draft_op *op = &draft->ops[i];

        for (size_t j = i + 1;
             op->op.kind == OP_CONV2D_GRAD_INPUT && !done[i] && j < draft->op_count; j++) {
            const struct draft_op *other = &draft->ops[j];

            if (other->op.kind != OP_CONV2D_GRAD_WEIGHT || done[j] || other->in[0] != op->in[0] ||
                !done[draft->producer[other->in[1]]])
                continue;
            order[count++] = *other;
            done[j] = true;
        }
        if (!done[i])
            order[count++] = *op;
        done[i] = true;
    }
    assert(count == draft->op_count);
    free(done);
    free(draft->ops);
    draft->ops = order;
    draft->op_capacity = draft->op_count + 1;
    for (size_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < order[i].op.out_count; k++)
            draft->producer[order[i].out[k]] = (uint32_t)i;
}

static uint32_t add_value(struct draft *draft, const struct tensor *tensor)
{
    if (draft->value_count == draft->value_capacity) {
        draft->value_capacity = draft->value_capacity == 0 ? 256 : 2 * draft->value_capacity;
        draft->tensors = plan_grow(draft->tensors, draft->value_capacity, sizeof *draft->tensors);
        draft->producer =
            plan_grow(draft->producer, draft->value_capacity, sizeof *draft->producer);
    }
    draft->tensors[draft->value_count] = *tensor;
    draft->producer[draft->value_count] = UINT32_MAX;
    return (uint32_t)draft->value_count++;
}

static struct draft_op *add_op(struct draft *draft, const struct draft_op *op)
{
    if (draft->op_count == draft->op_capacity) {
        draft->op_capacity = draft->op_capacity == 0 ? 256 : 2 * draft->op_capacity;
        draft->ops = plan_grow(draft->ops, draft->op_capacity, sizeof *draft->ops);
    }
    draft->ops[draft->op_count] = *op;
    for (uint32_t k = 0; k < op->op.out_count; k++)
        draft->producer[op->out[k]] = (uint32_t)draft->op_count;
    return &draft->ops[draft->op_count++];
}

/* Labels come in runs, so looking at the last text alone shares nearly all of them. */
static uint32_t add_text(struct draft *draft, const char *text)
{
    const size_t bytes = strlen(text) + 1;
    size_t last = draft->label_bytes;

    while (last > 1 && draft->labels[last - 2] != '\0')
        last--;
    if (last > 0 && strcmp(draft->labels + last - 1, text) == 0)
        return (uint32_t)(last - 1);
    if (draft->label_bytes + bytes > draft->label_capacity) {
        draft->label_capacity = 2 * draft->label_capacity + bytes + 1024;
        draft->labels = plan_grow(draft->labels, draft->label_capacity, 1);
    }
    memcpy(draft->labels + draft->label_bytes, text, bytes);
    draft->label_bytes += bytes;
    return (uint32_t)(draft->label_bytes - bytes);
}

static uint32_t root_value(const struct draft *draft, uint32_t v)
{
    while (draft->ops[draft->producer[v]].op.kind == OP_RESHAPE)
        v = draft->ops[draft->producer[v]].in[0];
    return v;
}

/* y, mean, var of batch_norm: the statistics, then their application. */
static enum status expand_batch_norm(struct draft *to, const struct draft_op *from,
                                     struct error *err)
{
    struct draft_op stats, apply;
    enum status status;

    memset(&stats, 0, sizeof stats);
    stats.op = from->op;
    stats.op.kind = OP_BN_STATS;
    stats.op.in_count = 1;
    stats.op.out_count = 2;
    stats.in[0] = from->in[0];
    stats.out[0] = from->out[1];
    stats.out[1] = from->out[2];
    status = append_shaped(to, &stats, err);
    if (status != ST_OK)
        return status;

    memset(&apply, 0, sizeof apply);
    apply.op = from->op;
    apply.op.kind = OP_BN_APPLY;
    apply.op.in_count = 5;
    apply.op.out_count = 1;
    apply.in[0] = from->in[0];
    apply.in[1] = from->out[1];
    apply.in[2] = from->out[2];
    apply.in[3] = from->in[1];
    apply.in[4] = from->in[2];
    apply.out[0] = from->out[0];
    return append_shaped(to, &apply, err);
}

/* The parts of a composite must have the shapes that the composite promised. */
static enum status append_shaped(struct draft *to, struct draft_op *op, struct error *err)
{
    const struct tensor *in[OP_IN_MAX];
    struct tensor out[OP_OUT_MAX];
    enum status status;

    memset(out, 0, sizeof out);
    for (uint32_t k = 0; k < op->op.in_count; k++)
        in[k] = &to->tensors[op->in[k]];
    status = op_info(op->op.kind)->shape(&op->op, in, out, err);
    for (uint32_t k = 0; status == ST_OK && k < op->op.out_count; k++)
        if (!tensor_same_shape(&out[k], &to->tensors[op->out[k]]))
            status = error_set(err, ST_INTERNAL, op_info(op->op.kind)->name,
                               "An expanded %s has another shape than its composite.",
                               op_info(op->op.kind)->name);
    if (status == ST_OK)
        add_op(to, op);
    return status;
}

/* Ops that draw random numbers stay apart: two dropouts are not one. */
static bool may_merge(const struct draft_op *op)
{
    return op_info(op->op.kind)->pure && op->op.kind != OP_SAMPLE && op->op.kind != OP_AUGMENT;
}

/* Attributes compare as bytes: they are zeroed beyond the member in use (ops.h). */
static bool ops_equal(const struct draft_op *a, const struct draft_op *b)
{
    return a->op.kind == b->op.kind && a->op.in_count == b->op.in_count &&
           memcmp(a->in, b->in, a->op.in_count * sizeof a->in[0]) == 0 &&
           memcmp(&a->op.attr, &b->op.attr, /* NOLINT(bugprone-suspicious-memory-comparison) */
                  sizeof a->op.attr) == 0;
}

static uint64_t op_hash(const struct draft_op *op)
{
    const unsigned char *bytes = (const unsigned char *)&op->op.attr;
    uint64_t hash = UINT64_C(14695981039346656037) ^ (uint64_t)op->op.kind; /* FNV-1a */

    for (size_t i = 0; i < sizeof op->op.attr; i++)
        hash = (hash ^ bytes[i]) * UINT64_C(1099511628211);
    for (uint32_t k = 0; k < op->op.in_count; k++)
        hash = (hash ^ op->in[k]) * UINT64_C(1099511628211);
    return hash ^ (hash >> 32);
}

/* Does v lie in the memory of a variable that this program writes? */
static bool is_old_value(const struct draft *draft, uint32_t v)
{
    const struct draft_op *op = &draft->ops[draft->producer[root_value(draft, v)]];

    return op->op.kind == OP_VAR && draft->assigned[op->op.attr.source.index];
}

static void rename_operands(struct draft_op *op, const uint32_t *names)
{
    for (uint32_t k = 0; k < op->op.in_count; k++)
        op->in[k] = names[op->in[k]];
}
