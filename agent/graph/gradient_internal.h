/* agent/graph/gradient_internal.h: what the vector-Jacobian products (vjp) of the op kinds share. gradient.c walks
 * and has those of data movement and arithmetic; gradient_nn.c those of networks.
 * Ownership: the walk's arrays are graph_gradient()'s. Threads: one. */
#ifndef DAYBREAK_AGENT_GRAPH_GRADIENT_INTERNAL_H
#define DAYBREAK_AGENT_GRAPH_GRADIENT_INTERNAL_H

#include "agent/graph/graph.h"

/* One backward walk. Arrays have an entry per value that was there when it began. */
struct walk {
    struct graph *g;
    value *grads; /* d loss / d value, as far as it was joined; VALUE_NONE: none yet */
    bool *wanted; /* of a float type, and depends on a wanted variable */
    size_t value_count;
};

/* The op whose vjp is asked for: a copy, since building moves the graph's memory. */
struct backward {
    struct op op;
    value in[OP_IN_MAX], out[OP_OUT_MAX];
    value dy[OP_OUT_MAX]; /* gradients of the results; at least one is not VALUE_NONE */
};

/* Is the gradient of operand i asked for? */
bool vjp_wants(const struct walk *walk, const struct backward *b, int i);
/* Joins dv to the gradient of operand i, which must be wanted: same dtype and shape. */
void vjp_give(struct walk *walk, const struct backward *b, int i, value dv);
/* A copy of the tensor of a value (pointers do not survive building). */
struct tensor vjp_tensor(const struct walk *walk, value v);
/* A fill of the shape and dtype of v. */
value vjp_fill_like(struct walk *walk, value v, double number);
/* v * number, computed in the type of sums of v's dtype. */
value vjp_times(struct walk *walk, value v, double number);
/* The gradient of NumPy's broadcasting: sums dv over the dims that v repeats, and takes v's shape. */
value vjp_unbroadcast(struct walk *walk, value dv, value v);
/* A fault: gradients arrive where there are none. */
void vjp_fault(struct walk *walk, const struct backward *b, const char *what);

#define VJP_NN_LIST(X)                               \
    X(OP_MATMUL, vjp_matmul)                         \
    X(OP_CONV2D, vjp_conv2d)                         \
    X(OP_CONV2D_GRAD_INPUT, vjp_conv2d_grad_input)   \
    X(OP_CONV2D_GRAD_WEIGHT, vjp_conv2d_grad_weight) \
    X(OP_POOL_MAX, vjp_pool_max)                     \
    X(OP_POOL_AVG, vjp_pool_avg)                     \
    X(OP_POOL_AVG_GRAD, vjp_pool_avg_grad)           \
    X(OP_BATCH_NORM, vjp_batch_norm)                 \
    X(OP_BN_STATS, vjp_bn_stats)                     \
    X(OP_BN_APPLY, vjp_bn_apply)                     \
    X(OP_LAYER_NORM, vjp_layer_norm)                 \
    X(OP_SOFTMAX, vjp_softmax)                       \
    X(OP_XENT, vjp_xent)
#define VJP_DECLARE(kind, name) void name(struct walk *walk, const struct backward *b);
VJP_NN_LIST(VJP_DECLARE)
#undef VJP_DECLARE

#endif
