/* agent/graph/gradient_nn.c: the vjp of products, convolutions, pools, norms and losses; see gradient.c. */
#include <string.h>

#include "agent/graph/gradient_internal.h"

/* Swaps the last two dims. */
static value transpose_last(struct walk *walk, value v)
{
    int32_t axis[TENSOR_RANK_MAX];

    if (v == VALUE_NONE)
        return VALUE_NONE;
    const int rank = vjp_tensor(walk, v).rank;

    for (int d = 0; d < rank; d++)
        axis[d] = d;
    axis[rank - 2] = rank - 1;
    axis[rank - 1] = rank - 2;
    return graph_transpose(walk->g, v, axis);
}

/* dA = dY op(B)^T, or its transpose op(B) dY^T when a is stored transposed. A shared b (rank 2 under batches)
 * cannot stand on the left: there the product is transposed afterwards. */
static value matmul_grad_a(struct walk *walk, const struct backward *m)
{
    const bool ta = m->op.attr.matmul.transpose_a, tb = m->op.attr.matmul.transpose_b;
    const bool shared = vjp_tensor(walk, m->in[0]).rank != vjp_tensor(walk, m->in[1]).rank;
    value da;

    if (ta && !shared)
        return graph_matmul(walk->g, m->in[1], m->dy[0],
                            (struct matmul_attr){.transpose_a = tb, .transpose_b = true});
    da = graph_matmul(walk->g, m->dy[0], m->in[1], (struct matmul_attr){.transpose_b = !tb});
    return ta ? transpose_last(walk, da) : da;
}

/* [..,M,N] as [..*M,N]. */
static value flatten_rows(struct walk *walk, value v)
{
    const struct tensor t = vjp_tensor(walk, v);
    const int64_t columns = t.dim[t.rank - 1];

    return graph_reshape(walk->g, v, 2, (int64_t[]){tensor_count(&t) / columns, columns});
}

/* dB = op(A)^T dY, or dY^T op(A) when b is stored transposed. A shared b sums over the batches: as more rows of
 * one product where a's rows are contiguous, else by a reduce. */
static value matmul_grad_b(struct walk *walk, const struct backward *m)
{
    const bool ta = m->op.attr.matmul.transpose_a, tb = m->op.attr.matmul.transpose_b;
    const struct tensor b = vjp_tensor(walk, m->in[1]);
    const int rank = vjp_tensor(walk, m->in[0]).rank;
    const bool shared = rank != b.rank;
    value a = m->in[0], dy = m->dy[0], db;

    if (shared && !ta) {
        a = flatten_rows(walk, a);
        dy = flatten_rows(walk, dy);
    }
    db = tb ? graph_matmul(walk->g, dy, a,
                           (struct matmul_attr){.transpose_a = true, .transpose_b = ta})
            : graph_matmul(walk->g, a, dy, (struct matmul_attr){.transpose_a = !ta});
    if (shared && ta) {
        db = graph_reduce(walk->g, REDUCE_SUM, db, (1u << (rank - 2)) - 1);
        db = graph_reshape(walk->g, db, b.rank, b.dim);
    }
    return db;
}

void vjp_matmul(struct walk *walk, const struct backward *b)
{
    if (vjp_wants(walk, b, 0))
        vjp_give(walk, b, 0, matmul_grad_a(walk, b));
    if (vjp_wants(walk, b, 1))
        vjp_give(walk, b, 1, matmul_grad_b(walk, b));
}

/* The attributes of a convolution whose result has the dims of v. */
static struct conv_attr conv_to(struct walk *walk, const struct backward *b, value v)
{
    struct conv_attr conv = b->op.attr.conv;
    const struct tensor t = vjp_tensor(walk, v);

    memcpy(conv.shape, t.dim, sizeof conv.shape);
    return conv;
}

/* Weight first: it frees its operands while dy is hot; the plan keeps this order, too. */
void vjp_conv2d(struct walk *walk, const struct backward *b)
{
    struct graph *g = walk->g;
    const value x = b->in[0], w = b->in[1];

    if (vjp_wants(walk, b, 1))
        vjp_give(walk, b, 1, graph_conv2d_grad_weight(g, b->dy[0], x, conv_to(walk, b, w)));
    if (vjp_wants(walk, b, 0))
        vjp_give(walk, b, 0, graph_conv2d_grad_input(g, b->dy[0], w, conv_to(walk, b, x)));
}

/* The three convolution ops are bilinear and each other's adjoints, so they are closed under gradient. */
void vjp_conv2d_grad_input(struct walk *walk, const struct backward *b)
{
    struct graph *g = walk->g;
    const value y = b->in[0], w = b->in[1];

    if (vjp_wants(walk, b, 1))
        vjp_give(walk, b, 1, graph_conv2d_grad_weight(g, y, b->dy[0], conv_to(walk, b, w)));
    if (vjp_wants(walk, b, 0))
        vjp_give(walk, b, 0, graph_conv2d(g, b->dy[0], w, b->op.attr.conv));
}

void vjp_conv2d_grad_weight(struct walk *walk, const struct backward *b)
{
    struct graph *g = walk->g;
    const value y = b->in[0], x = b->in[1];
    const value dw = graph_convert(g, b->dy[0], vjp_tensor(walk, x).dtype);

    if (vjp_wants(walk, b, 0))
        vjp_give(walk, b, 0, graph_conv2d(g, x, dw, b->op.attr.conv));
    if (vjp_wants(walk, b, 1))
        vjp_give(walk, b, 1, graph_conv2d_grad_input(g, y, dw, conv_to(walk, b, x)));
}

static struct pool_attr pool_to(struct walk *walk, const struct backward *b, value v)
{
    struct pool_attr pool = b->op.attr.pool;
    const struct tensor t = vjp_tensor(walk, v);

    memcpy(pool.shape, t.dim, sizeof pool.shape);
    return pool;
}

void vjp_pool_max(struct walk *walk, const struct backward *b)
{
    vjp_give(walk, b, 0,
             graph_pool_max_grad(walk->g, b->dy[0], b->out[1], pool_to(walk, b, b->in[0])));
}

void vjp_pool_avg(struct walk *walk, const struct backward *b)
{
    vjp_give(walk, b, 0, graph_pool_avg_grad(walk->g, b->dy[0], pool_to(walk, b, b->in[0])));
}

void vjp_pool_avg_grad(struct walk *walk, const struct backward *b)
{
    vjp_give(walk, b, 0, graph_pool_avg(walk->g, b->dy[0], b->op.attr.pool));
}

/* The joint form: two sums over the batch, then dx; the sums are the gradients of beta and gamma. */
void vjp_batch_norm(struct walk *walk, const struct backward *b)
{
    const double eps = b->op.attr.norm.eps;
    const value x = b->in[0], gamma = b->in[1], mean = b->out[1], var = b->out[2];
    value sum_dy, sum_dy_xhat;

    if (b->dy[1] != VALUE_NONE || b->dy[2] != VALUE_NONE) {
        vjp_fault(walk, b, "the mean or the variance");
        return;
    }
    graph_bn_grad_stats(walk->g, b->dy[0], x, mean, var, eps, &sum_dy, &sum_dy_xhat);
    if (vjp_wants(walk, b, 2))
        vjp_give(walk, b, 2, sum_dy);
    if (vjp_wants(walk, b, 1))
        vjp_give(walk, b, 1, sum_dy_xhat);
    if (vjp_wants(walk, b, 0))
        vjp_give(
            walk, b, 0,
            graph_bn_grad_apply(walk->g, b->dy[0], x, mean, var, gamma, sum_dy, sum_dy_xhat, eps));
}

/* dx = (dmean + 2 (x - mean) dvar) / M. Only for statistics that something else than batch_norm uses. */
void vjp_bn_stats(struct walk *walk, const struct backward *b)
{
    struct graph *g = walk->g;
    const struct tensor x = vjp_tensor(walk, b->in[0]);
    const enum dtype sums = dtype_of_sums(x.dtype);
    const int64_t rows = tensor_count(&x) / x.dim[x.rank - 1];
    value dx = graph_fill(g, sums, x.rank, x.dim, 0.0);

    if (b->dy[0] != VALUE_NONE)
        dx = graph_add(g, dx, vjp_times(walk, b->dy[0], 1.0 / (double)rows));
    if (b->dy[1] != VALUE_NONE) {
        const value off = graph_sub(g, graph_convert(g, b->in[0], sums), b->out[0]);

        dx = graph_add(g, dx, graph_mul(g, off, vjp_times(walk, b->dy[1], 2.0 / (double)rows)));
    }
    vjp_give(walk, b, 0, graph_convert(g, dx, x.dtype));
}

/* With given statistics dx = gamma rstd dy: bn_grad_apply with both sums 0. */
void vjp_bn_apply(struct walk *walk, const struct backward *b)
{
    enum { X, MEAN, VAR, GAMMA, BETA };
    struct graph *g = walk->g;
    const double eps = b->op.attr.norm.eps;
    const value x = b->in[X], mean = b->in[MEAN], var = b->in[VAR], gamma = b->in[GAMMA];
    value s1 = VALUE_NONE, s2 = VALUE_NONE, slope = VALUE_NONE;

    if (vjp_wants(walk, b, MEAN) || vjp_wants(walk, b, VAR) || vjp_wants(walk, b, GAMMA) ||
        vjp_wants(walk, b, BETA))
        graph_bn_grad_stats(g, b->dy[0], x, mean, var, eps, &s1, &s2);
    if (vjp_wants(walk, b, BETA))
        vjp_give(walk, b, BETA, s1);
    if (vjp_wants(walk, b, GAMMA))
        vjp_give(walk, b, GAMMA, s2);
    if (vjp_wants(walk, b, MEAN) || vjp_wants(walk, b, VAR)) {
        const value eps_value = graph_scalar(g, vjp_tensor(walk, var).dtype, eps);

        slope = graph_unary(g, UNARY_RSQRT, graph_add(g, var, eps_value)); /* rstd */
    }
    if (vjp_wants(walk, b, MEAN)) { /* -gamma rstd sum dy */
        const value dmean = graph_mul(g, graph_mul(g, gamma, slope), s1);

        vjp_give(walk, b, MEAN, graph_unary(g, UNARY_NEG, dmean));
    }
    if (vjp_wants(walk, b, VAR)) { /* -1/2 gamma rstd^2 sum dy xhat */
        const value dvar = graph_mul(g, graph_mul(g, gamma, graph_mul(g, slope, slope)), s2);

        vjp_give(walk, b, VAR, vjp_times(walk, dvar, -0.5));
    }
    if (vjp_wants(walk, b, X)) {
        const value zero = vjp_fill_like(walk, gamma, 0.0);

        vjp_give(walk, b, X,
                 graph_bn_grad_apply(g, b->dy[0], x, mean, var, gamma, zero, zero, eps));
    }
}

void vjp_layer_norm(struct walk *walk, const struct backward *b)
{
    value dx, dgamma, dbeta;

    if (b->dy[1] != VALUE_NONE || b->dy[2] != VALUE_NONE) {
        vjp_fault(walk, b, "the mean or the deviation");
        return;
    }
    dx = graph_layer_norm_grad(walk->g, b->dy[0], b->in[0], b->out[1], b->out[2], b->in[1], &dgamma,
                               &dbeta);
    if (vjp_wants(walk, b, 0))
        vjp_give(walk, b, 0, dx);
    if (vjp_wants(walk, b, 1))
        vjp_give(walk, b, 1, dgamma);
    if (vjp_wants(walk, b, 2))
        vjp_give(walk, b, 2, dbeta);
}

void vjp_softmax(struct walk *walk, const struct backward *b)
{
    vjp_give(walk, b, 0,
             graph_softmax_grad(walk->g, b->dy[0], b->out[0], b->op.attr.softmax.scale));
}

/* `correct` counts: nothing flows through it. */
void vjp_xent(struct walk *walk, const struct backward *b)
{
    if (b->dy[0] == VALUE_NONE)
        return;
    if (vjp_wants(walk, b, 1)) {
        vjp_fault(walk, b, "the target");
        return;
    }
    vjp_give(walk, b, 0,
             graph_xent_grad(walk->g, b->dy[0], b->in[0], b->in[1], b->in[2], b->op.attr.xent));
}
