/* agent/graph/plan_fuse.c: the pass that makes one op of several which a kernel computes in one go (plan_internal.h).
 *
 *   z = unary(y), y = bn_apply(x, ..)                    ->  z = bn_act(x, ..)
 *   dy = unary_grad(dz, y, z), read by                   ->  both from dz and x: y and dy are not stored
 *     bn_grad_stats(dy, x, ..) and bn_grad_apply(dy, x, ..)
 *
 * All readers of y and of dy must be these, or nothing changes: the graph's ops are the reference and the fallback. */
#include <stdlib.h>
#include <string.h>

#include "agent/graph/plan_internal.h"

#define READERS_MAX 4 /* of dy, and gradients of one activation; with more nothing is fused */

struct readers {
    uint32_t op[READERS_MAX];
    size_t count;
    bool more;
};

/* The ops that read value v, each once. */
static struct readers list_readers(const struct draft *draft, uint32_t v)
{
    struct readers readers = {.count = 0};

    for (size_t i = 0; i < draft->op_count; i++) {
        bool reads = false;

        for (uint32_t k = 0; k < draft->ops[i].op.in_count; k++)
            reads = reads || draft->ops[i].in[k] == v;
        if (reads && readers.count == READERS_MAX)
            readers.more = true;
        else if (reads)
            readers.op[readers.count++] = (uint32_t)i;
    }
    return readers;
}

/* Does the op take dy as its first operand alone, and the batch norm's x, mean, var (and gamma) behind it? */
static bool is_norm_gradient(const struct draft_op *op, const struct draft_op *norm, uint32_t dy)
{
    const bool applies = op->op.kind == OP_BN_GRAD_APPLY;

    if (op->op.kind != OP_BN_GRAD_STATS && !applies)
        return false;
    for (uint32_t k = 1; k < op->op.in_count; k++)
        if (op->in[k] == dy)
            return false;
    return op->in[0] == dy && op->in[1] == norm->in[0] && op->in[2] == norm->in[1] &&
           op->in[3] == norm->in[2] && (!applies || op->in[4] == norm->in[3]) &&
           op->op.attr.norm.eps == norm->op.attr.norm.eps;
}

/* The op that stands for `from` with the activation: its operands, the norm's five behind dz, its own sums last. */
static struct draft_op join(const struct draft_op *from, const struct draft_op *norm,
                            enum unary_fn fn, uint32_t dz)
{
    struct draft_op op = *from;
    uint32_t n = 0;

    memset(&op.op.attr, 0, sizeof op.op.attr);
    op.op.attr.norm_act = (struct norm_act_attr){.eps = norm->op.attr.norm.eps, .fn = fn};
    op.op.kind = from->op.kind == OP_BN_GRAD_STATS   ? OP_BN_ACT_GRAD_STATS
                 : from->op.kind == OP_BN_GRAD_APPLY ? OP_BN_ACT_GRAD_APPLY
                                                     : OP_BN_ACT;
    if (op.op.kind != OP_BN_ACT)
        op.in[n++] = dz;
    for (uint32_t k = 0; k < norm->op.in_count; k++)
        op.in[n++] = norm->in[k];
    if (op.op.kind == OP_BN_ACT_GRAD_APPLY) {
        op.in[n++] = from->in[5];
        op.in[n++] = from->in[6];
    }
    op.op.in_count = n;
    return op;
}

static bool backend_fuses(const struct draft *draft, struct backend *backend,
                          const struct draft_op *op)
{
    struct kernel_query query;

    memset(&query, 0, sizeof query);
    query.op = &op->op;
    for (uint32_t k = 0; k < op->op.in_count; k++)
        query.in[k] = &draft->tensors[op->in[k]];
    for (uint32_t k = 0; k < op->op.out_count; k++)
        query.out[k] = &draft->tensors[op->out[k]];
    return backend->ops->fuses != NULL && backend->ops->fuses(backend, &query);
}

/* The fused forms of one activation and of what reads it backwards. */
struct fusion {
    struct draft_op op[1 + READERS_MAX * READERS_MAX];
    uint32_t at[1 + READERS_MAX * READERS_MAX];
    size_t count;
};

static bool add_fused(const struct draft *draft, struct backend *backend, uint32_t at,
                      const struct draft_op *op, struct fusion *fusion)
{
    fusion->at[fusion->count] = at;
    fusion->op[fusion->count++] = *op;
    return backend_fuses(draft, backend, op);
}

/* Whether all that reads y = norm is op `unary` and gradients of it that only the norm's own gradients read. */
static bool find_fusion(const struct draft *draft, struct backend *backend, uint32_t unary,
                        struct fusion *fusion)
{
    const struct draft_op *act = &draft->ops[unary];
    const struct draft_op *norm = &draft->ops[draft->producer[act->in[0]]];
    const enum unary_fn fn = act->op.attr.unary.fn;
    const struct readers of_y = list_readers(draft, norm->out[0]);
    struct draft_op joined = join(act, norm, fn, 0);

    fusion->count = 0;
    if (of_y.more || !add_fused(draft, backend, unary, &joined, fusion))
        return false;
    for (size_t i = 0; i < of_y.count; i++) {
        const struct draft_op *grad = &draft->ops[of_y.op[i]];
        struct readers of_dy;

        if (of_y.op[i] == unary)
            continue;
        if (grad->op.kind != OP_UNARY_GRAD || grad->op.attr.unary.fn != fn ||
            grad->in[0] == norm->out[0] || grad->in[2] != act->out[0])
            return false;
        of_dy = list_readers(draft, grad->out[0]);
        if (of_dy.more)
            return false;
        for (size_t k = 0; k < of_dy.count; k++) {
            const struct draft_op *reader = &draft->ops[of_dy.op[k]];

            if (!is_norm_gradient(reader, norm, grad->out[0]))
                return false;
            joined = join(reader, norm, fn, grad->in[0]);
            if (!add_fused(draft, backend, of_dy.op[k], &joined, fusion))
                return false;
        }
    }
    return true;
}

void draft_fuse(struct draft *draft, struct backend *backend)
{
    struct fusion *fusion = plan_heap(1, sizeof *fusion);

    for (uint32_t i = 0; i < draft->op_count; i++) {
        const struct draft_op *op = &draft->ops[i];

        if (op->op.kind != OP_UNARY ||
            draft->ops[draft->producer[op->in[0]]].op.kind != OP_BN_APPLY ||
            !find_fusion(draft, backend, i, fusion))
            continue;
        for (size_t k = 0; k < fusion->count; k++)
            draft->ops[fusion->at[k]] = fusion->op[k];
    }
    free(fusion);
}
