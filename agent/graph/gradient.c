/* agent/graph/gradient.c: the backward walk, and the vjp of ops that move and combine elements; see graph.h.
 * A vjp builds ops with the public builder. It prefers recomputation from an op's operands over its results, and
 * never decides what is stored: the plan's liveness does. Kinds without a vjp have no gradient: a walk that needs
 * one stops with a fault that names the op. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "agent/graph/gradient_internal.h"
#include "agent/graph/graph_internal.h"

static void mark_wanted(struct walk *walk, struct var *const *wanted, size_t count);
static void step_back(struct walk *walk, size_t op_index);
static value join(struct walk *walk, value v, value a, value b);

static void vjp_row_read(struct walk *walk, const struct backward *b);
static void vjp_row_write(struct walk *walk, const struct backward *b);
static void vjp_convert(struct walk *walk, const struct backward *b);
static void vjp_reshape(struct walk *walk, const struct backward *b);
static void vjp_transpose(struct walk *walk, const struct backward *b);
static void vjp_slice(struct walk *walk, const struct backward *b);
static void vjp_pad(struct walk *walk, const struct backward *b);
static void vjp_concat(struct walk *walk, const struct backward *b);
static void vjp_gather_rows(struct walk *walk, const struct backward *b);
static void vjp_scatter_rows(struct walk *walk, const struct backward *b);
static void vjp_unary(struct walk *walk, const struct backward *b);
static void vjp_binary(struct walk *walk, const struct backward *b);
static void vjp_select(struct walk *walk, const struct backward *b);
static void vjp_reduce(struct walk *walk, const struct backward *b);

static void (*const vjps[OP_KIND_COUNT])(struct walk *walk, const struct backward *b) = {
    [OP_ROW_READ] = vjp_row_read,
    [OP_ROW_WRITE] = vjp_row_write,
    [OP_CONVERT] = vjp_convert,
    [OP_RESHAPE] = vjp_reshape,
    [OP_TRANSPOSE] = vjp_transpose,
    [OP_SLICE] = vjp_slice,
    [OP_PAD] = vjp_pad,
    [OP_CONCAT] = vjp_concat,
    [OP_GATHER_ROWS] = vjp_gather_rows,
    [OP_SCATTER_ROWS] = vjp_scatter_rows,
    [OP_UNARY] = vjp_unary,
    [OP_BINARY] = vjp_binary,
    [OP_SELECT] = vjp_select,
    [OP_REDUCE] = vjp_reduce,
#define VJP_ROW(kind, name) [kind] = (name),
    VJP_NN_LIST(VJP_ROW)
#undef VJP_ROW
};

void graph_gradient(struct graph *g, value loss, struct var *const *wanted, size_t count,
                    value *grads)
{
    struct walk walk = {.g = g};

    for (size_t i = 0; i < count; i++) {
        (void)graph_var(g, wanted[i]);
        grads[i] = VALUE_NONE;
    }
    if (g->err.status != ST_OK)
        return;
    if (loss >= g->value_count || tensor_count(&g->tensors[loss]) != 1 ||
        !dtype_is_float(g->tensors[loss].dtype)) {
        graph_fault(g, NULL, "gradient: the loss must be one number of a float type");
        return;
    }
    walk.value_count = g->value_count;
    walk.grads = graph_need(calloc(walk.value_count + 1, sizeof *walk.grads));
    walk.wanted = graph_need(calloc(walk.value_count + 1, sizeof *walk.wanted));
    for (size_t v = 0; v < walk.value_count; v++)
        walk.grads[v] = VALUE_NONE;
    mark_wanted(&walk, wanted, count);
    const size_t last = g->op_count;

    walk.grads[loss] = vjp_fill_like(&walk, loss, 1.0);
    for (size_t i = last; i-- > 0 && g->err.status == ST_OK;)
        step_back(&walk, i);
    for (size_t i = 0; i < count && g->err.status == ST_OK; i++) {
        grads[i] = walk.grads[graph_var(g, wanted[i])];
        if (grads[i] == VALUE_NONE)
            graph_fault(g, NULL, "gradient: the loss does not depend on variable %s",
                        wanted[i]->name);
    }
    for (size_t i = 0; i < count && g->err.status != ST_OK; i++)
        grads[i] = VALUE_NONE;
    free(walk.grads);
    free(walk.wanted);
}

/* Creation order is a topological order: one sweep forward. Through integers and truth values nothing flows. */
static void mark_wanted(struct walk *walk, struct var *const *wanted, size_t count)
{
    const struct graph *g = walk->g;

    for (size_t i = 0; i < count; i++)
        walk->wanted[g->var_values[wanted[i]->index]] = true;
    for (size_t i = 0; i < g->op_count; i++) {
        const struct op *op = &g->ops[i];
        bool depends = false;

        for (uint32_t k = 0; k < op->in_count; k++)
            depends = depends || walk->wanted[g->operands[op->in_first + k]];
        for (uint32_t k = 0; k < op->out_count && depends; k++) {
            const value v = g->operands[op->out_first + k];

            walk->wanted[v] = dtype_is_float(g->tensors[v].dtype);
        }
    }
}

/* Asks the vjp of one op, when its results have gradients and its operands want them. The ops it builds are labelled
 * as the op is, with ".grad". */
static void step_back(struct walk *walk, size_t op_index)
{
    struct graph *g = walk->g;
    struct backward b = {.op = g->ops[op_index]};
    char label[sizeof g->label];
    bool arrives = false, wants = false;

    for (uint32_t k = 0; k < b.op.out_count; k++) {
        b.out[k] = g->operands[b.op.out_first + k];
        b.dy[k] = walk->grads[b.out[k]];
        if (b.dy[k] != VALUE_NONE && b.op.kind != OP_CONVERT)
            b.dy[k] = graph_convert(g, b.dy[k], g->tensors[b.out[k]].dtype);
        arrives = arrives || b.dy[k] != VALUE_NONE;
    }
    for (uint32_t k = 0; k < b.op.in_count; k++) {
        b.in[k] = g->operands[b.op.in_first + k];
        wants = wants || walk->wanted[b.in[k]];
    }
    if (!arrives || !wants)
        return;
    if (vjps[b.op.kind] == NULL) {
        vjp_fault(walk, &b, "this op");
        return;
    }
    memcpy(label, g->label, sizeof label);
    (void)snprintf(g->label, sizeof g->label, "%.*s%s" GRAPH_LABEL_GRADIENT,
                   (int)(sizeof g->label - sizeof GRAPH_LABEL_GRADIENT - 1), graph_label(g, &b.op),
                   graph_label(g, &b.op)[0] != '\0' ? "." : "");
    g->label_at = UINT32_MAX;
    vjps[b.op.kind](walk, &b);
    memcpy(g->label, label, sizeof label);
    g->label_at = UINT32_MAX;
}

bool vjp_wants(const struct walk *walk, const struct backward *b, int i)
{
    return walk->wanted[b->in[i]];
}

void vjp_give(struct walk *walk, const struct backward *b, int i, value dv)
{
    value *grad = &walk->grads[b->in[i]];

    assert(walk->wanted[b->in[i]]);
    if (dv == VALUE_NONE) /* the graph has a fault already */
        return;
    const enum dtype type = vjp_tensor(walk, b->in[i]).dtype, given = vjp_tensor(walk, dv).dtype;

    assert(given == type || given == dtype_of_sums(type));
    assert(tensor_same_shape(graph_tensor(walk->g, dv), graph_tensor(walk->g, b->in[i])));
    *grad = *grad == VALUE_NONE ? dv : join(walk, b->in[i], *grad, dv);
}

/* A gradient has its value's type, or that of sums over it: weights that an F32 variable was converted to are BF16, and
 * their gradient reaches the variable without being rounded on its way. Two are added in the wider type. */
static value join(struct walk *walk, value v, value a, value b)
{
    const enum dtype type_a = vjp_tensor(walk, a).dtype, type_b = vjp_tensor(walk, b).dtype;
    const enum dtype wide = dtype_of_sums(vjp_tensor(walk, v).dtype);

    if (type_a == type_b)
        return graph_add(walk->g, a, b);
    return graph_add(walk->g, graph_convert(walk->g, a, wide), graph_convert(walk->g, b, wide));
}

struct tensor vjp_tensor(const struct walk *walk, value v)
{
    return *graph_tensor(walk->g, v);
}

value vjp_fill_like(struct walk *walk, value v, double number)
{
    const struct tensor t = vjp_tensor(walk, v);

    return graph_fill(walk->g, t.dtype, t.rank, t.dim, number);
}

/* In the type of sums: 1/n rounded to bf16 would bias every gradient by up to 0.4 %. */
value vjp_times(struct walk *walk, value v, double number)
{
    const enum dtype dtype = vjp_tensor(walk, v).dtype, sums = dtype_of_sums(dtype);
    const value wide = graph_convert(walk->g, v, sums);

    return graph_convert(walk->g, graph_mul(walk->g, wide, graph_scalar(walk->g, sums, number)),
                         dtype);
}

value vjp_unbroadcast(struct walk *walk, value dv, value v)
{
    const struct tensor to = vjp_tensor(walk, v);
    uint32_t axes = 0;

    if (dv == VALUE_NONE)
        return VALUE_NONE;
    const struct tensor from = vjp_tensor(walk, dv);
    const int lead = from.rank - to.rank;

    for (int d = 0; d < from.rank; d++)
        if (from.dim[d] != 1 && (d < lead || to.dim[d - lead] == 1))
            axes |= 1u << d;
    if (axes != 0)
        dv = graph_reduce(walk->g, REDUCE_SUM, dv, axes);
    return lead > 0 ? graph_reshape(walk->g, dv, to.rank, to.dim) : dv;
}

void vjp_fault(struct walk *walk, const struct backward *b, const char *what)
{
    graph_fault(walk->g, &b->op, "%s: %s has no gradient", op_info(b->op.kind)->name, what);
}

static void vjp_row_read(struct walk *walk, const struct backward *b)
{
    vjp_give(walk, b, 0,
             graph_row_write(walk->g, vjp_fill_like(walk, b->in[0], 0.0), b->in[1], b->dy[0]));
}

static void vjp_row_write(struct walk *walk, const struct backward *b)
{
    if (vjp_wants(walk, b, 0))
        vjp_give(walk, b, 0,
                 graph_row_write(walk->g, b->dy[0], b->in[1], vjp_fill_like(walk, b->in[2], 0.0)));
    if (vjp_wants(walk, b, 2))
        vjp_give(walk, b, 2, graph_row_read(walk->g, b->dy[0], b->in[1]));
}

static void vjp_convert(struct walk *walk, const struct backward *b)
{
    vjp_give(walk, b, 0, graph_convert(walk->g, b->dy[0], vjp_tensor(walk, b->in[0]).dtype));
}

static void vjp_reshape(struct walk *walk, const struct backward *b)
{
    const struct tensor x = vjp_tensor(walk, b->in[0]);

    vjp_give(walk, b, 0, graph_reshape(walk->g, b->dy[0], x.rank, x.dim));
}

static void vjp_transpose(struct walk *walk, const struct backward *b)
{
    const int rank = vjp_tensor(walk, b->in[0]).rank;
    int32_t inverse[TENSOR_RANK_MAX] = {0};

    for (int d = 0; d < rank; d++)
        inverse[b->op.attr.perm.axis[d]] = d;
    vjp_give(walk, b, 0, graph_transpose(walk->g, b->dy[0], inverse));
}

/* Puts step - 1 zeros behind every element along dim d: [A,n,B] is padded as [A,n,1,B] to [A,n,step,B]. */
static value dilate(struct walk *walk, value v, int d, int64_t step)
{
    struct tensor t = vjp_tensor(walk, v);
    int64_t fold[4] = {1, t.dim[d], 1, 1};
    struct pad_attr pad = {.fill = PAD_ZERO, .hi = {0, 0, step - 1, 0}};

    for (int i = 0; i < t.rank; i++)
        fold[i < d ? 0 : 3] *= i == d ? 1 : t.dim[i];
    v = graph_pad(walk->g, graph_reshape(walk->g, v, 4, fold), pad);
    t.dim[d] *= step;
    return graph_reshape(walk->g, v, t.rank, t.dim);
}

/* What was cut away gets zeros. With a step, the last run of zeros may be longer than what was there. */
static void vjp_slice(struct walk *walk, const struct backward *b)
{
    const struct slice_attr *cut = &b->op.attr.slice;
    const struct tensor x = vjp_tensor(walk, b->in[0]);
    struct slice_attr trim = {.step = {1, 1, 1, 1, 1, 1}};
    struct pad_attr pad = {.fill = PAD_ZERO};
    value dv = b->dy[0];
    bool trims = false;

    for (int d = 0; d < x.rank && dv != VALUE_NONE; d++) {
        if (cut->step[d] > 1)
            dv = dilate(walk, dv, d, cut->step[d]);
        if (dv == VALUE_NONE)
            return;
        const int64_t length = vjp_tensor(walk, dv).dim[d], room = x.dim[d] - cut->start[d];

        trim.stop[d] = length < room ? length : room;
        trims = trims || trim.stop[d] < length;
        pad.lo[d] = cut->start[d];
        pad.hi[d] = room - trim.stop[d];
    }
    if (trims)
        dv = graph_slice(walk->g, dv, trim);
    vjp_give(walk, b, 0, graph_pad(walk->g, dv, pad));
}

/* Adds what a reflected border along dim d holds to where it came from: rows of dv, with d in front, are summed
 * at the index that pad read: |i - lo|, folded back at the far edge. */
static value fold_border(struct walk *walk, value dv, int d, int64_t size, int64_t lo)
{
    struct graph *g = walk->g;
    const struct tensor t = vjp_tensor(walk, dv);
    int32_t swap[TENSOR_RANK_MAX];
    value idx = graph_iota(g, DT_I32, 1, &t.dim[d], 0);

    for (int i = 0; i < TENSOR_RANK_MAX; i++)
        swap[i] = i == 0 ? d : i == d ? 0 : i; /* its own inverse */
    idx = graph_sub(g, idx, graph_scalar(g, DT_I32, (double)lo));
    idx = graph_binary(g, BINARY_MAX, idx, graph_sub(g, graph_scalar(g, DT_I32, 0.0), idx));
    idx = graph_binary(g, BINARY_MIN, idx,
                       graph_sub(g, graph_scalar(g, DT_I32, 2.0 * (double)(size - 1)), idx));
    dv = graph_scatter_rows(g, idx, graph_transpose(g, dv, swap), size);
    return graph_transpose(g, dv, swap);
}

static void vjp_pad(struct walk *walk, const struct backward *b)
{
    const struct pad_attr *pad = &b->op.attr.pad;
    const struct tensor x = vjp_tensor(walk, b->in[0]);
    struct slice_attr cut = {.step = {1, 1, 1, 1, 1, 1}};
    value dv = b->dy[0];

    for (int d = 0; d < x.rank; d++) {
        cut.start[d] = pad->lo[d];
        cut.stop[d] = pad->lo[d] + x.dim[d];
        if (pad->fill == PAD_REFLECT && pad->lo[d] + pad->hi[d] > 0 && dv != VALUE_NONE)
            dv = fold_border(walk, dv, d, x.dim[d], pad->lo[d]);
    }
    vjp_give(walk, b, 0, pad->fill == PAD_ZERO ? graph_slice(walk->g, dv, cut) : dv);
}

static void vjp_concat(struct walk *walk, const struct backward *b)
{
    const int axis = b->op.attr.axis.axis;
    int64_t first = 0;

    for (int k = 0; k < (int)b->op.in_count; k++) {
        const struct tensor x = vjp_tensor(walk, b->in[k]);
        struct slice_attr cut = {.step = {1, 1, 1, 1, 1, 1}};

        memcpy(cut.stop, x.dim, sizeof cut.stop);
        cut.start[axis] = first;
        first += x.dim[axis];
        cut.stop[axis] = first;
        if (vjp_wants(walk, b, k))
            vjp_give(walk, b, k, graph_slice(walk->g, b->dy[0], cut));
    }
}

static void vjp_gather_rows(struct walk *walk, const struct backward *b)
{
    vjp_give(walk, b, 0,
             graph_scatter_rows(walk->g, b->in[1], b->dy[0], vjp_tensor(walk, b->in[0]).dim[0]));
}

static void vjp_scatter_rows(struct walk *walk, const struct backward *b)
{
    vjp_give(walk, b, 1, graph_gather_rows(walk->g, b->dy[0], b->in[0]));
}

static void vjp_unary(struct walk *walk, const struct backward *b)
{
    const enum unary_fn fn = b->op.attr.unary.fn;

    vjp_give(walk, b, 0,
             fn == UNARY_NEG ? graph_unary(walk->g, UNARY_NEG, b->dy[0])
                             : graph_unary_grad(walk->g, fn, b->dy[0], b->in[0], b->out[0]));
}

/* dy where `condition`, else 0 (or the other way round), in the shape of operand i. */
static void give_masked(struct walk *walk, const struct backward *b, int i, value condition,
                        bool where)
{
    const value zero = graph_scalar(walk->g, vjp_tensor(walk, b->dy[0]).dtype, 0.0);
    const value dv = where ? graph_select(walk->g, condition, b->dy[0], zero)
                           : graph_select(walk->g, condition, zero, b->dy[0]);

    vjp_give(walk, b, i, vjp_unbroadcast(walk, dv, b->in[i]));
}

/* d (a fn b) / d operand i, times dy, before broadcasting is undone. max and min are handled apart. */
static value binary_slope(struct walk *walk, const struct backward *b, int i)
{
    struct graph *g = walk->g;
    const value dy = b->dy[0];

    switch ((int)b->op.attr.binary.fn) {
    case BINARY_ADD: return dy;
    case BINARY_SUB: return i == 0 ? dy : graph_unary(g, UNARY_NEG, dy);
    case BINARY_MUL: return graph_mul(g, dy, b->in[1 - i]);
    default: break;
    }
    const value over = graph_binary(g, BINARY_DIV, dy, b->in[1]); /* div: dy/b, -(dy/b)(a/b) */

    if (i == 0)
        return over;
    return graph_unary(g, UNARY_NEG,
                       graph_mul(g, over, graph_binary(g, BINARY_DIV, b->in[0], b->in[1])));
}

/* At a tie of max or min the first operand gets all. */
static void vjp_binary(struct walk *walk, const struct backward *b)
{
    const enum binary_fn fn = b->op.attr.binary.fn;

    if (fn == BINARY_MAX || fn == BINARY_MIN) {
        const int larger = fn == BINARY_MAX ? 0 : 1;
        const value first = graph_binary(walk->g, BINARY_GE, b->in[larger], b->in[1 - larger]);

        for (int i = 0; i < 2; i++)
            if (vjp_wants(walk, b, i))
                give_masked(walk, b, i, first, i == 0);
        return;
    }
    for (int i = 0; i < 2; i++)
        if (vjp_wants(walk, b, i))
            vjp_give(walk, b, i, vjp_unbroadcast(walk, binary_slope(walk, b, i), b->in[i]));
}

static void vjp_select(struct walk *walk, const struct backward *b)
{
    for (int i = 1; i <= 2; i++)
        if (vjp_wants(walk, b, i))
            give_masked(walk, b, i, b->in[0], i == 1);
}

/* sum and mean repeat dy; max shares it among equal maxima. */
static void vjp_reduce(struct walk *walk, const struct backward *b)
{
    struct graph *g = walk->g;
    const struct tensor x = vjp_tensor(walk, b->in[0]), y = vjp_tensor(walk, b->out[0]);
    const value zeros = vjp_fill_like(walk, b->in[0], 0.0);
    value dy = b->dy[0];

    if (b->op.attr.reduce.fn == REDUCE_MAX) {
        const value best = graph_binary(g, BINARY_EQ, b->in[0], b->out[0]);
        const value ones = vjp_fill_like(walk, b->in[0], 1.0);
        const value shares =
            graph_reduce(g, REDUCE_SUM, graph_select(g, best, ones, zeros), b->op.attr.reduce.axes);

        dy = graph_binary(g, BINARY_DIV, dy, shares);
        vjp_give(walk, b, 0, graph_select(g, best, dy, zeros));
        return;
    }
    if (b->op.attr.reduce.fn == REDUCE_MEAN)
        dy = vjp_times(walk, dy, (double)tensor_count(&y) / (double)tensor_count(&x));
    vjp_give(walk, b, 0, graph_add(g, zeros, dy));
}
