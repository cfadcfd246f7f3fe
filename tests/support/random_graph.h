/* tests/support/random_graph.h: a generator of valid graphs: small tensors, most ops of ops.h, variables that are
 * read, assigned in place, swapped and updated by sgd, tables, random streams, inputs and outputs. The same seed
 * gives the same graph. Header only, since a test is one file.
 * Ownership: random_graph_fini() frees store and graph. Threads: one. */
#ifndef DAYBREAK_TESTS_SUPPORT_RANDOM_GRAPH_H
#define DAYBREAK_TESTS_SUPPORT_RANDOM_GRAPH_H

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "agent/graph/graph.h"
#include "common/rng.h"
#include "common/str.h"

#define RANDOM_VALUES_MAX  160
#define RANDOM_OUTPUTS_MAX 4
#define RANDOM_INPUTS_MAX  2

struct random_graph {
    struct store *store;
    struct graph *graph;
    uint32_t seed, drawn;
    value values[RANDOM_VALUES_MAX]; /* F32 ones, to be used again */
    size_t value_count, var_count, input_count, output_count;
    struct var *params[64]; /* F32 */
    bool assigned[64];
    struct tensor outputs[RANDOM_OUTPUTS_MAX], inputs[RANDOM_INPUTS_MAX];
    value step, seed_value;
};

static inline uint32_t random_below(struct random_graph *r, uint32_t bound)
{
    uint32_t word[2];

    rng_threefry((struct rng_key){r->seed, 77}, 0, r->drawn++, word);
    return rng_to_below(word[0], bound);
}

static inline void random_keep(struct random_graph *r, value v)
{
    if (r->value_count < RANDOM_VALUES_MAX && v != VALUE_NONE)
        r->values[r->value_count++] = v;
}

/* A value for which rank fits (0: any), favouring late ones so that graphs grow deep. */
static inline value random_pick(struct random_graph *r, int rank)
{
    for (int tries = 0; tries < 32; tries++) {
        const uint32_t n = (uint32_t)r->value_count;
        const uint32_t a = random_below(r, n), b = random_below(r, n);
        const value v = r->values[a > b ? a : b];

        if (rank == 0 || graph_tensor(r->graph, v)->rank == rank)
            return v;
    }
    return VALUE_NONE;
}

static inline struct var *random_var_of(struct random_graph *r, enum dtype dtype, int rank,
                                        const int64_t *dim, enum var_role role)
{
    char name[VAR_NAME_BYTES];
    struct var_spec spec = {.name = name, .tensor = tensor_make(dtype, rank, dim), .role = role};
    struct var *var;

    (void)snprintf(name, sizeof name, "v%zu", r->var_count++);
    var = store_add(r->store, &spec);
    if (dtype == DT_F32 && var->index < ARRAY_LEN(r->params))
        r->params[var->index] = var;
    return var;
}

static inline value random_param(struct random_graph *r, int rank, const int64_t *dim)
{
    return graph_var(r->graph, random_var_of(r, DT_F32, rank, dim, VAR_PARAM));
}

static inline void random_unary(struct random_graph *r)
{
    static const enum unary_fn fns[] = {UNARY_NEG,     UNARY_RELU, UNARY_GELU_ERF, UNARY_TANH,
                                        UNARY_SIGMOID, UNARY_SILU, UNARY_GELU_TANH};
    const enum unary_fn fn = fns[random_below(r, ARRAY_LEN(fns))];
    const value x = random_pick(r, 0), y = graph_unary(r->graph, fn, x);

    random_keep(r, y);
    if (random_below(r, 2) == 0)
        random_keep(r, graph_unary_grad(r->graph, fn, y, x, y));
}

static inline void random_binary(struct random_graph *r)
{
    static const enum binary_fn fns[] = {BINARY_ADD, BINARY_SUB, BINARY_MUL, BINARY_MAX,
                                         BINARY_MIN};
    const value a = random_pick(r, 0);
    const struct tensor *t = graph_tensor(r->graph, a);
    value b = random_pick(r, 0);

    if (!tensor_same_shape(t, graph_tensor(r->graph, b)))
        b = random_below(r, 2) == 0 || t->rank == 0 ? a : random_param(r, 1, &t->dim[t->rank - 1]);
    random_keep(r, graph_binary(r->graph, fns[random_below(r, ARRAY_LEN(fns))], a, b));
}

static inline void random_select(struct random_graph *r)
{
    const value a = random_pick(r, 0), zero = graph_scalar(r->graph, DT_F32, 0.0);
    const value positive = graph_binary(r->graph, BINARY_LT, zero, a);

    random_keep(r, graph_select(r->graph, positive, a, graph_unary(r->graph, UNARY_TANH, a)));
}

static inline void random_move(struct random_graph *r)
{
    const value x = random_pick(r, 0);
    const struct tensor t = *graph_tensor(r->graph, x);
    const int64_t flat = tensor_count(&t);
    struct slice_attr slice = {0};
    struct pad_attr pad = {.fill = PAD_ZERO};
    int32_t axis[TENSOR_RANK_MAX] = {0};
    const value both[2] = {x, graph_unary(r->graph, UNARY_NEG, x)};

    if (t.rank == 0)
        return;
    for (int d = 0; d < t.rank; d++) {
        slice.start[d] = 0;
        slice.stop[d] = t.dim[d];
        slice.step[d] = 1 + (int64_t)random_below(r, 2);
        pad.lo[d] = d == 0 ? (int64_t)random_below(r, 2) : 0;
        axis[d] = t.rank - 1 - d;
    }
    switch (random_below(r, 5)) {
    case 0: random_keep(r, graph_reshape(r->graph, x, 1, &flat)); break;
    case 1: random_keep(r, graph_transpose(r->graph, x, axis)); break;
    case 2: random_keep(r, graph_slice(r->graph, x, slice)); break;
    case 3: random_keep(r, graph_pad(r->graph, x, pad)); break;
    default:
        if (flat < 512)
            random_keep(r, graph_concat(r->graph, both, 2, t.rank - 1));
        break;
    }
}

static inline void random_reduce(struct random_graph *r)
{
    static const enum reduce_fn fns[] = {REDUCE_SUM, REDUCE_MAX, REDUCE_MEAN};
    const value x = random_pick(r, 0);
    const int rank = graph_tensor(r->graph, x)->rank;

    if (rank > 0)
        random_keep(r, graph_reduce(r->graph, fns[random_below(r, ARRAY_LEN(fns))], x,
                                    1u << random_below(r, (uint32_t)rank)));
}

static inline void random_matmul(struct random_graph *r)
{
    const value x = random_pick(r, 2);
    int64_t dim[2] = {0, 1 + (int64_t)random_below(r, 6)};

    if (x == VALUE_NONE)
        return;
    dim[0] = graph_tensor(r->graph, x)->dim[1];
    random_keep(r, graph_unary(r->graph, UNARY_TANH,
                               graph_matmul(r->graph, x, random_param(r, 2, dim),
                                            (struct matmul_attr){0})));
}

/* A convolution and, often, its gradients as if y were dy. */
static inline void random_conv(struct random_graph *r)
{
    const value x = random_pick(r, 4);
    const struct tensor *t;
    struct conv_attr attr = {
        .stride = {1, 1}, .pad = {1, 1, 1, 1}, .dilation = {1, 1}, .groups = 1};
    int64_t dim[4] = {1 + (int64_t)random_below(r, 4), 3, 3, 0};
    value w, y;

    if (x == VALUE_NONE)
        return;
    t = graph_tensor(r->graph, x);
    dim[3] = t->dim[3];
    attr.stride[0] = attr.stride[1] = 1 + (int64_t)random_below(r, 2);
    w = random_param(r, 4, dim);
    y = graph_unary(r->graph, UNARY_TANH, graph_conv2d(r->graph, x, w, attr));
    random_keep(r, y);
    if (random_below(r, 2) == 0)
        return;
    memcpy(attr.shape, graph_tensor(r->graph, x)->dim, sizeof attr.shape);
    random_keep(r,
                graph_unary(r->graph, UNARY_TANH, graph_conv2d_grad_input(r->graph, y, w, attr)));
    memcpy(attr.shape, dim, sizeof attr.shape);
    random_keep(r,
                graph_unary(r->graph, UNARY_TANH, graph_conv2d_grad_weight(r->graph, y, x, attr)));
}

static inline void random_pool(struct random_graph *r)
{
    const value x = random_pick(r, 4);
    struct pool_attr attr = {.window = {2, 2}, .stride = {2, 2}};
    value y, index;

    if (x == VALUE_NONE)
        return;
    memcpy(attr.shape, graph_tensor(r->graph, x)->dim, sizeof attr.shape);
    if (attr.shape[1] < 2 || attr.shape[2] < 2)
        return;
    y = graph_pool_max(r->graph, x, attr, &index);
    random_keep(r, y);
    if (random_below(r, 2) == 0)
        random_keep(r, graph_pool_max_grad(r->graph, y, index, attr));
}

static inline void random_norm(struct random_graph *r)
{
    const value x = random_pick(r, 4);
    int64_t channels; /* a copy: building moves the graph's memory */
    value gamma, mean, var, y, s1, s2;

    if (x == VALUE_NONE)
        return;
    channels = graph_tensor(r->graph, x)->dim[3];
    gamma = random_param(r, 1, &channels);
    y = graph_batch_norm(r->graph, x, gamma, random_param(r, 1, &channels), 1e-3, &mean, &var);
    random_keep(r, y);
    random_keep(r, mean);
    if (random_below(r, 2) == 0)
        return;
    graph_bn_grad_stats(r->graph, y, x, mean, var, 1e-3, &s1, &s2);
    random_keep(r,
                graph_unary(r->graph, UNARY_TANH,
                            graph_bn_grad_apply(r->graph, y, x, mean, var, gamma, s1, s2, 1e-3)));
}

static inline void random_softmax(struct random_graph *r)
{
    const value x = random_pick(r, 2);
    value y;

    if (x == VALUE_NONE)
        return;
    y = graph_softmax(r->graph, x, 0.5);
    random_keep(r, y);
    random_keep(r, graph_softmax_grad(r->graph, x, y, 0.5));
}

static inline void random_convert(struct random_graph *r)
{
    const value x = random_pick(r, 0);

    random_keep(r, graph_convert(r->graph, graph_convert(r->graph, x, DT_BF16), DT_F32));
}

/* The table row of the step, changed and written back. */
static inline void random_table(struct random_graph *r)
{
    const int64_t dim[2] = {4, 1 + (int64_t)random_below(r, 4)};
    struct var *table = random_var_of(r, DT_F32, 2, dim, VAR_TABLE);
    const value old = graph_var(r->graph, table), row = graph_row_read(r->graph, old, r->step);

    random_keep(r, row);
    if (random_below(r, 2) == 0)
        graph_assign(
            r->graph, table,
            graph_row_write(r->graph, old, r->step, graph_unary(r->graph, UNARY_TANH, row)));
    if (table->index < ARRAY_LEN(r->assigned))
        r->assigned[table->index] = true;
}

/* Batch positions, an image of a resident set, a gathered row: all hang on the step. */
static inline void random_sampled(struct random_graph *r)
{
    const int64_t images[4] = {6, 4, 4, 2};
    struct augment_attr augment = {.mode = AUGMENT_TRAIN,
                                   .flip = FLIP_ALTERNATE,
                                   .pad = 1,
                                   .mean = {0.5, 0.5},
                                   .deviation = {0.25, 0.25},
                                   .dtype = DT_F32};
    const value data = graph_var(r->graph, random_var_of(r, DT_U8, 4, images, VAR_DATA));
    value epoch, idx;

    idx = graph_sample(r->graph, r->seed_value, r->step,
                       (struct sample_attr){.images = 6, .batch = 2}, &epoch);
    random_keep(r, graph_augment(r->graph, data, idx, epoch, r->seed_value, augment));
}

/* sgd of a parameter by a value of its shape, with momentum, both assigned. */
static inline void random_sgd(struct random_graph *r)
{
    const value grad = random_pick(r, 0);
    const struct tensor t = *graph_tensor(r->graph, grad);
    struct var *w = random_var_of(r, DT_F32, t.rank, t.dim, VAR_PARAM);
    struct var *m = random_var_of(r, DT_F32, t.rank, t.dim, VAR_STATE);
    const value rate = graph_scalar(r->graph, DT_F32, 0.125);
    value m_new;
    const value w_new = graph_sgd(r->graph, graph_var(r->graph, w), grad, graph_var(r->graph, m),
                                  rate, rate, rate, true, &m_new);

    graph_assign(r->graph, w, w_new);
    graph_assign(r->graph, m, m_new);
    if (m->index < ARRAY_LEN(r->assigned))
        r->assigned[w->index] = r->assigned[m->index] = true;
    if (random_below(r, 2) == 0)
        random_keep(r, w_new);
}

/* Assigns to some variables a value of their shape: a computed one, or another variable's old one. */
static inline void random_assign(struct random_graph *r)
{
    for (size_t i = 0; i < store_count(r->store) && i < ARRAY_LEN(r->params); i++) {
        if (r->params[i] == NULL || r->assigned[i] || random_below(r, 3) != 0)
            continue;
        for (size_t n = r->value_count; n-- > 0;) {
            if (!tensor_same_shape(graph_tensor(r->graph, r->values[n]),
                                   &r->params[i]->spec.tensor) ||
                random_below(r, 2) == 0)
                continue;
            graph_assign(r->graph, r->params[i], r->values[n]);
            r->assigned[i] = true;
            break;
        }
    }
}

/* Two variables change places: neither copy may see the other's. */
static inline void random_swap(struct random_graph *r)
{
    const int64_t dim[2] = {2, 3};
    struct var *a = random_var_of(r, DT_F32, 2, dim, VAR_STATE);
    struct var *b = random_var_of(r, DT_F32, 2, dim, VAR_STATE);

    random_keep(r, graph_var(r->graph, a));
    graph_assign(r->graph, a, graph_var(r->graph, b));
    graph_assign(r->graph, b, graph_var(r->graph, a));
    if (b->index < ARRAY_LEN(r->assigned))
        r->assigned[a->index] = r->assigned[b->index] = true;
}

static inline void random_sources(struct random_graph *r)
{
    static const int64_t shapes[4][4] = {{2, 4, 4, 3}, {3, 5, 0, 0}, {7, 0, 0, 0}, {2, 5, 4, 2}};
    static const int ranks[4] = {4, 2, 1, 4};
    struct var *step = random_var_of(r, DT_I32, 0, NULL, VAR_STATE);
    struct var *seed = random_var_of(r, DT_I32, 0, NULL, VAR_STATE);

    r->step = graph_add(r->graph, graph_var(r->graph, step), graph_scalar(r->graph, DT_I32, 1.0));
    graph_assign(r->graph, step, r->step);
    r->seed_value = graph_var(r->graph, seed);
    for (size_t i = 0; i < 4; i++)
        random_keep(r, random_param(r, ranks[i], shapes[i]));
    for (size_t i = 0; i < RANDOM_INPUTS_MAX; i++) {
        char name[PROGRAM_NAME_BYTES];

        (void)snprintf(name, sizeof name, "in%zu", i);
        r->inputs[i] = tensor_make(DT_F32, ranks[i], shapes[i]);
        random_keep(r, graph_input(r->graph, name, DT_F32, ranks[i], shapes[i]));
        r->input_count++;
    }
}

/* ops: about how many steps of the generator. store_alloc() and plan or interpreter are the caller's. */
static inline void random_graph_init(struct random_graph *r, uint32_t seed, int ops)
{
    static void (*const menu[])(struct random_graph *) = {
        random_unary, random_unary, random_binary,  random_binary,  random_select,
        random_move,  random_move,  random_reduce,  random_matmul,  random_conv,
        random_conv,  random_pool,  random_norm,    random_softmax, random_convert,
        random_table, random_sgd,   random_sampled, random_swap};
    struct error err = {0};

    memset(r, 0, sizeof *r);
    r->seed = seed;
    r->store = store_create();
    r->graph = graph_create("random", r->store);
    random_sources(r);
    for (int i = 0; i < ops && r->var_count < 48; i++) {
        char label[16];

        (void)snprintf(label, sizeof label, "s%d", i);
        graph_push_label(r->graph, label);
        menu[random_below(r, ARRAY_LEN(menu))](r);
        graph_pop_label(r->graph);
    }
    random_assign(r);
    for (size_t i = 0; i < RANDOM_OUTPUTS_MAX; i++) {
        const value v = random_pick(r, 0);
        char name[PROGRAM_NAME_BYTES];

        (void)snprintf(name, sizeof name, "out%zu", i);
        r->outputs[r->output_count++] = *graph_tensor(r->graph, v);
        graph_output(r->graph, name, v);
    }
    if (graph_finish(r->graph, &err) != ST_OK) {
        (void)fprintf(stderr, "random graph %u: %s\n", seed, err.detail);
        abort();
    }
}

static inline void random_graph_fini(struct random_graph *r)
{
    graph_destroy(r->graph);
    store_destroy(r->store);
}

/* Deterministic contents of a variable or input; NaN-free. */
static inline void random_contents(const struct tensor *t, uint32_t seed, void *data)
{
    const size_t count = (size_t)tensor_count(t);
    uint32_t word[2];

    for (size_t i = 0; i < count; i++) {
        rng_threefry((struct rng_key){seed, 78}, 0, (uint32_t)i, word);
        switch (t->dtype) {
        case DT_F32: ((float *)data)[i] = 2.0f * rng_to_unit(word[0]) - 1.0f; break;
        case DT_I32: ((int32_t *)data)[i] = (int32_t)rng_to_below(word[0], 5); break;
        case DT_U8: ((uint8_t *)data)[i] = (uint8_t)word[0]; break;
        default: assert(t->dtype == DT_F32); break;
        }
    }
}

#endif
