/* agent/workload/cifar10_graph.c: the network of arXiv 2404.00498 (airbench94) and the programs around it.
 *
 *   image 32x32x3 -> whitening conv 2x2 to 24, GELU
 *   -> 3 x (conv 3x3, max-pool 2, BN, GELU, conv 3x3, BN, GELU)      31x31 -> 15x15 -> 7x7 -> 3x3
 *   -> max-pool 3 -> linear to 10 -> times 1/9                        GELU of the groups: SiLU where the recipe says so
 *
 * Precision: the whitening layer (three channels) and the last one (ten results) are F32; all between them is of the
 * state's compute type. Variables are F32, and so are sums, statistics and gradients of weights.
 *
 * Parameter groups: 0 stands still, 1 batch-norm biases, 2 all other parameters. */
#include <assert.h>
#include <string.h>

#include "agent/graph/nn.h"
#include "agent/graph/optimiser.h"
#include "agent/workload/cifar10_internal.h"
#include "agent/workload/whiten.h"
#include "common/str.h"

#define GROUP_NORM  1
#define GROUP_OTHER 2

const double cifar10_mean[3] = {0.49140, 0.48216, 0.44653};
const double cifar10_deviation[3] = {0.24703, 0.24349, 0.26159};

/* Names as the layers of PyTorch's Sequential have them. */
static const char *const group_names[CIFAR10_GROUPS] = {"2", "3", "4"};

/* One of the six test-time views (section 3.5): weight, shift in pixels, mirrored or not. */
struct view {
    double weight;
    int64_t shift;
    bool flip;
};
static const struct view views_one[] = {{1.0, 0, false}};
static const struct view views_six[] = {{0.25, 0, false},  {0.25, 0, true},   {0.125, -1, false},
                                        {0.125, -1, true}, {0.125, 1, false}, {0.125, 1, true}};

/* What a step moves: batch-norm biases, then all others, and the gradients in that order. */
struct trained {
    struct var *const *params;
    const value *grads;
    size_t norm_count, other_count;
};

static struct graph *build_train(struct cifar10_state *state, bool frozen);
static void add_updates(struct graph *g, const struct cifar10_recipe *recipe, value row,
                        const struct trained *trained);
static void sort_filters(struct var **params, size_t count);
static struct graph *build_lookahead(struct cifar10_state *state);
static struct graph *build_evaluate(struct cifar10_state *state);
static struct graph *build_infer(struct cifar10_state *state);
static value view_logits(struct nn *nn, const struct cifar10_state *state, value images, value idx,
                         int64_t views);
static value forward(struct nn *nn, const struct cifar10_state *state, value images);
static value conv_group(struct nn *nn, const struct cifar10_recipe *recipe, const char *name,
                        int64_t width, value x);
static value max_pool(struct nn *nn, value x, int64_t window);
static struct augment_attr augmentation(void);
static size_t list_params(const struct store *store, int group, struct var **params);
static size_t list_averaged(const struct store *store, struct var **vars);
static struct var *declare(struct store *store, const char *name, enum var_role role,
                           enum dtype dtype, int rank, const int64_t *dim);

void cifar10_declare(struct cifar10_state *state)
{
    const struct cifar10_shape *s = &state->shape;
    const int64_t train[4] = {s->train_count, CIFAR10_SIDE, CIFAR10_SIDE, 3};
    const int64_t test[4] = {s->test_count, CIFAR10_SIDE, CIFAR10_SIDE, 3};
    const int64_t hyper[2] = {s->total_steps + 1, HYPER_COLUMNS};
    const int64_t log[2] = {s->total_steps, LOG_COLUMNS};

    state->vars = (struct cifar10_vars){
        .train_images = declare(state->store, "train.images", VAR_DATA, DT_U8, 4, train),
        .train_labels = declare(state->store, "train.labels", VAR_DATA, DT_I32, 1, train),
        .test_images = declare(state->store, "test.images", VAR_DATA, DT_U8, 4, test),
        .test_labels = declare(state->store, "test.labels", VAR_DATA, DT_I32, 1, test),
        .hyper = declare(state->store, "hyper", VAR_TABLE, DT_F32, 2, hyper),
        .log = declare(state->store, "log", VAR_TABLE, DT_F32, 2, log),
        .step = declare(state->store, "step", VAR_STATE, DT_I32, 0, NULL),
        .seed = declare(state->store, "seed", VAR_STATE, DT_I32, 0, NULL),
    };
}

struct graph *cifar10_build(struct cifar10_state *state, enum cifar10_program program)
{
    switch (program) {
    case PROGRAM_TRAIN: return build_train(state, false);
    case PROGRAM_TRAIN_FROZEN: return build_train(state, true);
    case PROGRAM_LOOKAHEAD: return build_lookahead(state);
    case PROGRAM_EVALUATE: return build_evaluate(state);
    case PROGRAM_INFER: return build_infer(state);
    case PROGRAM_COUNT: break;
    }
    assert(program < PROGRAM_COUNT);
    return NULL;
}

static struct graph *build_train(struct cifar10_state *state, bool frozen)
{
    const struct cifar10_recipe *recipe = state->recipe;
    const struct cifar10_vars *vars = &state->vars;
    const int64_t batch = state->shape.batch, classes = CIFAR10_CLASS_COUNT, one = 1;
    struct graph *g = graph_create(frozen ? "train_frozen" : "train", state->store);
    struct nn nn = {.graph = g, .compute = DT_F32, .training = true};
    struct var *params[CIFAR10_PARAMS_MAX] = {0};
    value grads[CIFAR10_PARAMS_MAX] = {0}, epoch, correct, row, log_row[LOG_COLUMNS];
    size_t norm_count, count;

    graph_push_label(g, GRAPH_LABEL_DATA);
    const value step = optimiser_next_step(g, vars->step), seed = graph_var(g, vars->seed);
    const value idx = graph_sample(
        g, seed, step, (struct sample_attr){.images = state->shape.train_count, .batch = batch},
        &epoch);
    struct augment_attr augment = augmentation();

    augment.mode = AUGMENT_TRAIN;
    augment.flip = FLIP_ALTERNATE;
    augment.pad = recipe->translate;
    augment.brightness = recipe->brightness;
    augment.contrast = recipe->contrast;
    const value images =
        graph_augment(g, graph_var(g, vars->train_images), idx, epoch, seed, augment);
    const value labels = graph_gather_rows(g, graph_var(g, vars->train_labels), idx);
    graph_pop_label(g);
    const value logits = forward(&nn, state, images);
    const struct xent_attr smooth = {.on = 1.0 - recipe->label_smoothing +
                                           recipe->label_smoothing / (double)classes,
                                     .off = recipe->label_smoothing / (double)classes};
    const value losses =
        graph_xent(g, logits, labels, graph_scalar(g, DT_I32, (double)batch), smooth, &correct);
    const value loss = graph_reduce(g, REDUCE_SUM, losses, 1);

    norm_count = list_params(state->store, GROUP_NORM, params);
    count = norm_count + list_params(state->store, GROUP_OTHER, params + norm_count);
    if (frozen) { /* the bias is the first of its group: the layer is declared first */
        assert(count > norm_count);
        assert(strcmp(params[norm_count]->name, "0.bias") == 0);
        count--;
        memmove(params + norm_count, params + norm_count + 1,
                (count - norm_count) * sizeof(struct var *));
    }
    if (recipe->optimiser == RECIPE_MUON)
        sort_filters(params + norm_count, count - norm_count);
    graph_gradient(g, loss, params, count, grads);

    graph_push_label(g, GRAPH_LABEL_OPTIMISER);
    row = graph_row_read(g, graph_var(g, vars->hyper), step);
    add_updates(g, recipe, row, &(struct trained){params, grads, norm_count, count - norm_count});
    graph_pop_label(g);

    log_row[0] =
        graph_reshape(g, graph_mul(g, loss, graph_scalar(g, DT_F32, 1.0 / (double)batch)), 1, &one);
    log_row[1] = graph_reshape(g, graph_reduce(g, REDUCE_SUM, correct, 1), 1, &one);
    graph_assign(g, vars->log,
                 graph_row_write(g, graph_var(g, vars->log),
                                 graph_sub(g, step, graph_scalar(g, DT_I32, 1.0)),
                                 graph_concat(g, log_row, LOG_COLUMNS, 0)));
    return g;
}

/* Muon takes the filters, which sort_filters() has put last; before them stand the whitening bias, unless it is
 * frozen, and the last layer. */
static void add_updates(struct graph *g, const struct cifar10_recipe *recipe, value row,
                        const struct trained *trained)
{
    const size_t norms = trained->norm_count;
    struct sgd_group groups[3] = {{.params = trained->params,
                                   .param_count = norms,
                                   .lr_column = HYPER_LR_NORM,
                                   .decay_column = HYPER_DECAY_NORM,
                                   .momentum_column = HYPER_MOMENTUM,
                                   .nesterov = true},
                                  {.params = trained->params + norms,
                                   .param_count = trained->other_count,
                                   .lr_column = HYPER_LR,
                                   .decay_column = HYPER_DECAY,
                                   .momentum_column = HYPER_MOMENTUM,
                                   .nesterov = true}};
    size_t filters = 0, biases;

    if (recipe->optimiser == RECIPE_SGD) {
        optimiser_sgd(g, row, groups, 2, trained->grads);
        return;
    }
    while (filters < trained->other_count &&
           trained->params[norms + filters]->spec.tensor.rank != 4)
        filters++;
    biases = filters - 1; /* 0 or 1: the last layer is always there */
    groups[2] = groups[1];
    groups[1] = groups[0]; /* its rate falls to 0 sooner than that of the other biases */
    groups[1].params = trained->params + norms;
    groups[1].param_count = biases;
    groups[1].lr_column = HYPER_LR_WHITEN;
    groups[2].params = trained->params + norms + biases;
    groups[2].param_count = 1;
    optimiser_sgd(g, row, groups, 3, trained->grads);
    optimiser_muon(g, row,
                   &(struct muon_group){.params = trained->params + norms + filters,
                                        .param_count = trained->other_count - filters,
                                        .lr_column = HYPER_LR_MUON,
                                        .momentum_column = HYPER_MOMENTUM_MUON,
                                        .nesterov = true},
                   trained->grads + norms + filters);
}

/* Filters behind the rest; both keep their order. */
static void sort_filters(struct var **params, size_t count)
{
    struct var *sorted[CIFAR10_PARAMS_MAX];
    size_t next = 0;

    assert(count <= CIFAR10_PARAMS_MAX);
    for (int filters = 0; filters < 2; filters++)
        for (size_t i = 0; i < count; i++)
            if ((params[i]->spec.tensor.rank == 4) == (filters == 1))
                sorted[next++] = params[i];
    memcpy(params, sorted, count * sizeof(struct var *));
}

static struct graph *build_lookahead(struct cifar10_state *state)
{
    struct graph *g = graph_create("lookahead", state->store);
    struct var *vars[2 * CIFAR10_PARAMS_MAX];
    const size_t count = list_averaged(state->store, vars);
    const value row =
        graph_row_read(g, graph_var(g, state->vars.hyper), graph_var(g, state->vars.step));

    optimiser_lookahead(g, optimiser_column(g, row, HYPER_LOOKAHEAD), vars, count);
    return g;
}

/* One batch from position `first`, of which `valid` count; the positions behind the last image repeat it. */
static struct graph *build_evaluate(struct cifar10_state *state)
{
    const struct cifar10_vars *vars = &state->vars;
    const int64_t batch = state->shape.eval_batch;
    struct graph *g = graph_create("evaluate", state->store);
    struct nn nn = {.graph = g, .compute = DT_F32, .training = false};
    value correct;

    const value first = graph_input(g, "first", DT_I32, 0, NULL);
    const value valid = graph_input(g, "valid", DT_I32, 0, NULL);
    const value last = graph_scalar(g, DT_I32, (double)(state->shape.test_count - 1));
    const value idx =
        graph_binary(g, BINARY_MIN, graph_add(g, graph_iota(g, DT_I32, 1, &batch, 0), first), last);
    const value logits =
        view_logits(&nn, state, graph_var(g, vars->test_images), idx, state->recipe->views);

    (void)graph_xent(g, logits, graph_gather_rows(g, graph_var(g, vars->test_labels), idx), valid,
                     (struct xent_attr){.on = 1.0}, &correct);
    graph_output(g, "correct", graph_reduce(g, REDUCE_SUM, correct, 1));
    return g;
}

/* One image in, its class out; of equal logits the first wins, as in evaluate. */
static struct graph *build_infer(struct cifar10_state *state)
{
    const int64_t image[4] = {1, CIFAR10_SIDE, CIFAR10_SIDE, 3}, one = 1;
    struct graph *g = graph_create("infer", state->store);
    struct nn nn = {.graph = g, .compute = DT_F32, .folded = true};
    const value input = graph_input(g, "image", DT_U8, 4, image);
    const value idx = graph_fill(g, DT_I32, 1, &one, 0.0);
    const value logits = view_logits(&nn, state, input, idx, state->views);

    graph_output(g, "class", graph_reduce(g, REDUCE_ARGMAX, logits, 1U << 1));
    return g;
}

/* The weighted mean over the views of images[idx]. */
static value view_logits(struct nn *nn, const struct cifar10_state *state, value images, value idx,
                         int64_t views)
{
    const struct view *view = views == 1 ? views_one : views_six;
    struct graph *g = nn->graph;
    const value zero = graph_scalar(g, DT_I32, 0.0);
    value logits = VALUE_NONE;

    assert(views == 1 || views == (int64_t)ARRAY_LEN(views_six));
    for (int64_t i = 0; i < views; i++) {
        struct augment_attr augment = augmentation();
        value part;

        augment.mode = AUGMENT_VIEW;
        augment.pad = view[i].shift == 0 ? 0 : 1;
        augment.view_dy = augment.view_dx = view[i].shift;
        augment.view_flip = view[i].flip;
        part = graph_augment(g, images, idx, zero, zero, augment);
        part = forward(nn, state, part);
        part = graph_mul(g, part, graph_scalar(g, DT_F32, view[i].weight));
        logits = i == 0 ? part : graph_add(g, logits, part);
    }
    return logits;
}

static value forward(struct nn *nn, const struct cifar10_state *state, value images)
{
    const struct cifar10_recipe *recipe = state->recipe;
    const struct nn_conv whiten = {.channels = (int64_t)WHITEN_WIDTH,
                                   .window = {WHITEN_WINDOW, WHITEN_WINDOW},
                                   .bias = true,
                                   .bias_group = GROUP_OTHER};
    const struct nn_linear linear = {.width = CIFAR10_CLASS_COUNT, .weight_group = GROUP_OTHER};
    const int64_t last_width = recipe->widths[CIFAR10_GROUPS - 1];
    value x = nn_conv2d(nn, "0", images, &whiten);

    nn->compute = state->compute;
    x = graph_convert(nn->graph, x, nn->compute);
    x = graph_unary(nn->graph, UNARY_GELU_ERF, x);
    for (int i = 0; i < CIFAR10_GROUPS; i++)
        x = conv_group(nn, recipe, group_names[i], recipe->widths[i], x);
    x = max_pool(nn, x, 3);
    if (x == VALUE_NONE)
        return x;
    nn->compute = DT_F32;
    x = graph_convert(nn->graph, x, nn->compute);
    x = graph_reshape(nn->graph, x, 2, (int64_t[]){graph_tensor(nn->graph, x)->dim[0], last_width});
    x = nn_linear(nn, "7", x, &linear);
    return graph_mul(nn->graph, x, graph_scalar(nn->graph, DT_F32, recipe->logit_scale));
}

static value conv_group(struct nn *nn, const struct cifar10_recipe *recipe, const char *name,
                        int64_t width, value x)
{
    const struct nn_conv conv = {
        .channels = width, .window = {3, 3}, .pad = {1, 1, 1, 1}, .weight_group = GROUP_OTHER};
    struct nn_conv pooled = conv;
    const struct nn_norm norm = {
        .eps = recipe->norm_eps, .momentum = recipe->norm_momentum, .bias_group = GROUP_NORM};
    const struct pool_attr pool = {.window = {2, 2}, .stride = {2, 2}};
    const enum unary_fn act = recipe->silu ? UNARY_SILU : UNARY_GELU_ERF;

    if (x == VALUE_NONE)
        return x;
    /* Pooling drops the last row and column of an odd side: they are not computed, by having no zeros to stand on. */
    pooled.pad[1] = graph_tensor(nn->graph, x)->dim[1] % 2 == 0 ? 1 : 0;
    pooled.pad[3] = graph_tensor(nn->graph, x)->dim[2] % 2 == 0 ? 1 : 0;
    nn_push(nn, name);
    x = nn_conv2d_norm(nn, "conv1", "norm1", x, &pooled, &pool, &norm);
    x = graph_unary(nn->graph, act, x);
    x = nn_conv2d_norm(nn, "conv2", "norm2", x, &conv, NULL, &norm);
    x = graph_unary(nn->graph, act, x);
    nn_pop(nn);
    return x;
}

static value max_pool(struct nn *nn, value x, int64_t window)
{
    struct pool_attr attr = {.window = {window, window}, .stride = {window, window}};
    value index;

    return graph_pool_max(nn->graph, x, attr, &index);
}

static struct augment_attr augmentation(void)
{
    struct augment_attr attr;

    memset(&attr, 0, sizeof attr);
    attr.dtype = DT_F32;
    for (int c = 0; c < 3; c++) {
        attr.mean[c] = cifar10_mean[c];
        attr.deviation[c] = cifar10_deviation[c];
    }
    return attr;
}

/* Trained parameters of a group in order of declaration. */
static size_t list_params(const struct store *store, int group, struct var **params)
{
    size_t count = 0;

    for (size_t i = 0; i < store_count(store); i++) {
        struct var *var = store_at(store, i);

        if (var->spec.role != VAR_PARAM || var->spec.group != group)
            continue;
        assert(count < CIFAR10_PARAMS_MAX / 2);
        params[count++] = var;
    }
    return count;
}

/* What lookahead averages: all that training moves, running statistics included. */
static size_t list_averaged(const struct store *store, struct var **vars)
{
    size_t count = list_params(store, GROUP_NORM, vars);

    count += list_params(store, GROUP_OTHER, vars + count);
    for (size_t i = 0; i < store_count(store); i++) {
        struct var *var = store_at(store, i);

        if (strstr(var->name, ".running_") != NULL && strncmp(var->name, "ema.", 4) != 0) {
            assert(count < (size_t)2 * CIFAR10_PARAMS_MAX);
            vars[count++] = var;
        }
    }
    return count;
}

static struct var *declare(struct store *store, const char *name, enum var_role role,
                           enum dtype dtype, int rank, const int64_t *dim)
{
    return store_add(
        store,
        &(struct var_spec){.name = name, .tensor = tensor_make(dtype, rank, dim), .role = role});
}
