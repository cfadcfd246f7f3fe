/* agent/graph/optimiser.c: see optimiser.h. */
#include "agent/graph/optimiser.h"

#include <assert.h>
#include <math.h>

#include "common/str.h"

#define MUON_STEPS 3
#define MUON_EPS   1e-7

/* The companion variable of `of`: the same tensor, group and order in the checkpoint. */
static struct var *companion(struct store *store, const struct var *of, const char *before,
                             const char *after)
{
    struct var_spec spec = of->spec;
    char name[VAR_NAME_BYTES];
    const int length = snprintf(name, sizeof name, "%s%s%s", before, of->name, after);
    struct var *var;

    assert(length > 0);
    assert((size_t)length < sizeof name);
    spec.name = name;
    spec.role = VAR_STATE;
    var = store_find(store, name);
    return var != NULL ? var : store_add(store, &spec);
}

struct var *optimiser_momentum(struct store *store, const struct var *param)
{
    return companion(store, param, "opt.", ".m");
}

struct var *optimiser_average(struct store *store, const struct var *var)
{
    return companion(store, var, "ema.", "");
}

value optimiser_next_step(struct graph *g, struct var *step)
{
    const value next = graph_add(g, graph_var(g, step), graph_scalar(g, DT_I32, 1.0));

    graph_assign(g, step, next);
    return next;
}

value optimiser_column(struct graph *g, value row, int64_t column)
{
    const struct slice_attr cut = {.start = {column}, .stop = {column + 1}, .step = {1}};

    return graph_reshape(g, graph_slice(g, row, cut), 0, NULL);
}

void optimiser_sgd(struct graph *g, value row, const struct sgd_group *groups, size_t group_count,
                   const value *grads)
{
    size_t next = 0;

    for (size_t k = 0; k < group_count; k++) {
        const struct sgd_group *group = &groups[k];
        const value lr = optimiser_column(g, row, group->lr_column);
        const value decay = optimiser_column(g, row, group->decay_column);
        const value mu = optimiser_column(g, row, group->momentum_column);

        for (size_t i = 0; i < group->param_count; i++) {
            struct var *param = group->params[i];
            struct var *momentum = optimiser_momentum(graph_store(g), param);
            const enum dtype dtype = param->spec.tensor.dtype;
            value m_new = VALUE_NONE;

            graph_push_label(g, param->name);
            const value w_new = graph_sgd(
                g, graph_var(g, param), graph_convert(g, grads[next++], dtype),
                graph_var(g, momentum), graph_convert(g, lr, dtype), graph_convert(g, decay, dtype),
                graph_convert(g, mu, dtype), group->nesterov, &m_new);
            graph_assign(g, param, w_new);
            graph_assign(g, momentum, m_new);
            graph_pop_label(g);
        }
    }
}

/* sqrt of the sum of squares, as a scalar. */
static value norm(struct graph *g, value x)
{
    const int64_t count = tensor_count(graph_tensor(g, x));
    const value flat = graph_reshape(g, x, 1, &count);

    return graph_unary(g, UNARY_SQRT, graph_reduce(g, REDUCE_SUM, graph_mul(g, flat, flat), 1));
}

/* x [K,N] with its singular values taken towards 1: x = a x + (b A + c A A) x with A = x x^T. Of a tall x the same is
 * written from the right, with A = x^T x: A is the smaller square, and nothing is transposed in memory. */
static value orthogonalise(struct graph *g, value x, enum dtype dtype)
{
    const value a = graph_scalar(g, dtype, 3.4445), b = graph_scalar(g, dtype, -4.7750);
    const value c = graph_scalar(g, dtype, 2.0315);
    const struct tensor shape = *graph_tensor(g, x);
    const bool tall = shape.dim[0] > shape.dim[1];
    const struct matmul_attr square = {.transpose_a = tall, .transpose_b = !tall};
    const struct matmul_attr plain = {0};

    x = graph_binary(g, BINARY_DIV, x, graph_add(g, norm(g, x), graph_scalar(g, dtype, MUON_EPS)));
    for (int i = 0; i < MUON_STEPS; i++) {
        const value gram = graph_matmul(g, x, x, square);
        const value both = graph_add(g, graph_mul(g, gram, b),
                                     graph_mul(g, graph_matmul(g, gram, gram, plain), c));
        const value turned =
            tall ? graph_matmul(g, x, both, plain) : graph_matmul(g, both, x, plain);

        x = graph_add(g, graph_mul(g, x, a), turned);
    }
    return x;
}

void optimiser_muon(struct graph *g, value row, const struct muon_group *group, const value *grads)
{
    const value rate = optimiser_column(g, row, group->lr_column);
    const value keep = optimiser_column(g, row, group->momentum_column);

    for (size_t i = 0; i < group->param_count; i++) {
        struct var *param = group->params[i];
        struct var *momentum = optimiser_momentum(graph_store(g), param);
        const struct tensor *tensor = &param->spec.tensor;
        const int64_t matrix[2] = {tensor->dim[0], tensor_count(tensor) / tensor->dim[0]};
        value w, m, u;

        assert(tensor->rank == 4);
        graph_push_label(g, param->name);
        const value grad = graph_convert(g, grads[i], tensor->dtype);
        const value lr = graph_convert(g, rate, tensor->dtype);
        const value mu = graph_convert(g, keep, tensor->dtype);

        w = graph_var(g, param);
        m = graph_add(g, graph_mul(g, graph_var(g, momentum), mu), grad);
        u = group->nesterov ? graph_add(g, grad, graph_mul(g, m, mu)) : m;
        u = orthogonalise(g, graph_reshape(g, u, 2, matrix), tensor->dtype);
        u = graph_reshape(g, u, 4, tensor->dim);
        w = graph_mul(g, w,
                      graph_binary(g, BINARY_DIV,
                                   graph_scalar(g, tensor->dtype, sqrt((double)matrix[0])),
                                   norm(g, w)));
        graph_assign(g, param, graph_sub(g, w, graph_mul(g, u, lr)));
        graph_assign(g, momentum, m);
        graph_pop_label(g);
    }
}

void optimiser_lookahead(struct graph *g, value decay, struct var *const *vars, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct var *average = optimiser_average(graph_store(g), vars[i]);
        const enum dtype dtype = vars[i]->spec.tensor.dtype;

        graph_push_label(g, vars[i]->name);
        const value d = graph_convert(g, decay, dtype);
        const value rest = graph_sub(g, graph_scalar(g, dtype, 1.0), d);
        const value joined = graph_add(g, graph_mul(g, graph_var(g, average), d),
                                       graph_mul(g, graph_var(g, vars[i]), rest));

        graph_assign(g, average, joined);
        graph_assign(g, vars[i], joined);
        graph_pop_label(g);
    }
}
