/* agent/workload/cifar10_init.c: first values of the variables, on the host, in a fixed order of draws: PyTorch's
 * default for convolutions and the linear layer (uniform within 1 / sqrt(fan-in): He et al., arXiv 1502.01852, with
 * a = sqrt(5)), identity filters for the first C of each 3 x 3 convolution (arXiv 2404.00498, section 3.2). The whitening
 * bias is 0 in airbench94, PyTorch's default where Muon trains. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agent/workload/cifar10_internal.h"
#include "agent/workload/whiten.h"
#include "common/rng.h"
#include "common/str.h"

/* Streams of initial values lie apart from those of ops, which count from 1: "init" in ASCII, plus the variable. */
#define INIT_STREAM UINT32_C(0x696e6974)

static void write_data(struct cifar10_state *state, const struct cifar10 *set);
static void write_labels(struct store *store, struct var *var, const uint8_t *labels, size_t count);
static void write_scalar(struct store *store, struct var *var, int32_t number);
static void init_var(struct cifar10_state *state, const struct cifar10 *set, struct var *var);
static void fill(float *data, size_t count, float number);
static void divide_by_deviation(float *data, size_t count);
static void fill_conv(const struct var *var, struct rng_key key, float *data);
static void copy_average(struct cifar10_state *state, struct var *average);
static float *heap_floats(uint64_t bytes);

void cifar10_init(struct cifar10_state *state, const struct cifar10 *set)
{
    struct store *store = state->store;
    float *hyper = heap_floats(state->vars.hyper->bytes);

    write_data(state, set);
    recipe_fill_hyper(state->recipe, state->shape.batch, state->shape.total_steps, hyper);
    store_write(store, state->vars.hyper, hyper);
    free(hyper);
    write_scalar(store, state->vars.step, 0);
    write_scalar(store, state->vars.seed, (int32_t)state->seed);
    for (size_t i = 0; i < store_count(store); i++)
        if (store_at(store, i)->spec.role == VAR_PARAM ||
            store_at(store, i)->spec.role == VAR_STATE)
            init_var(state, set, store_at(store, i));
    for (size_t i = 0; i < store_count(store); i++)
        if (strncmp(store_at(store, i)->name, "ema.", 4) == 0)
            copy_average(state, store_at(store, i));
}

static void write_data(struct cifar10_state *state, const struct cifar10 *set)
{
    assert((int64_t)set->train_count == state->shape.train_count);
    store_write(state->store, state->vars.train_images, set->train_images);
    write_labels(state->store, state->vars.train_labels, set->train_labels, set->train_count);
    cifar10_write_test(state, set);
}

void cifar10_write_test(struct cifar10_state *state, const struct cifar10 *set)
{
    assert((int64_t)set->test_count == state->shape.test_count);
    store_write(state->store, state->vars.test_images, set->test_images);
    write_labels(state->store, state->vars.test_labels, set->test_labels, set->test_count);
}

static void write_labels(struct store *store, struct var *var, const uint8_t *labels, size_t count)
{
    int32_t *wide = (int32_t *)(void *)heap_floats(count * sizeof *wide);

    for (size_t i = 0; i < count; i++)
        wide[i] = labels[i];
    store_write(store, var, wide);
    free(wide);
}

static void write_scalar(struct store *store, struct var *var, int32_t number)
{
    store_write(store, var, &number);
}

static void init_var(struct cifar10_state *state, const struct cifar10 *set, struct var *var)
{
    const struct rng_key key = {state->seed, INIT_STREAM + var->index};
    const char *dot = strrchr(var->name, '.');
    const struct tensor *tensor = &var->spec.tensor;
    float *data;

    if (tensor->dtype != DT_F32)
        return; /* step and seed */
    data = heap_floats(var->bytes);
    fill(data, (size_t)tensor_count(tensor), 0.0f);
    if (strcmp(var->name, "0.weight") == 0) {
        const int64_t count = state->recipe->whiten_images < (int64_t)set->train_count
                                  ? state->recipe->whiten_images
                                  : (int64_t)set->train_count;
        const struct whiten_images images = {.pixels = set->train_images,
                                             .count = count,
                                             .side = CIFAR10_SIDE,
                                             .mean = cifar10_mean,
                                             .deviation = cifar10_deviation};

        whiten_weights(&images, state->recipe->whiten_eps, data);
    } else if (strcmp(var->name, "0.bias") == 0 && state->recipe->optimiser == RECIPE_MUON) {
        const float bound = (float)(1.0 / sqrt((double)WHITEN_PATCH));

        rng_fill_uniform(key, -bound, bound, data, (size_t)tensor_count(tensor));
    } else if (var->spec.role == VAR_PARAM && tensor->rank == 4) {
        fill_conv(var, key, data);
    } else if (var->spec.role == VAR_PARAM && tensor->rank == 2) {
        const float bound = (float)(1.0 / sqrt((double)tensor->dim[0]));

        rng_fill_uniform(key, -bound, bound, data, (size_t)tensor_count(tensor));
        if (state->recipe->unit_head)
            divide_by_deviation(data, (size_t)tensor_count(tensor));
    } else if ((var->spec.role == VAR_PARAM && strcmp(dot, ".weight") == 0) ||
               strcmp(dot, ".running_var") == 0) {
        fill(data, (size_t)tensor_count(tensor), 1.0f); /* batch norm's scale and variance */
    }
    store_write(state->store, var, data);
    free(data);
}

static void fill(float *data, size_t count, float number)
{
    for (size_t i = 0; i < count; i++)
        data[i] = number;
}

/* PyTorch's std(): unbiased. */
static void divide_by_deviation(float *data, size_t count)
{
    double mean = 0.0, squares = 0.0;

    for (size_t i = 0; i < count; i++)
        mean += (double)data[i] / (double)count;
    for (size_t i = 0; i < count; i++)
        squares += ((double)data[i] - mean) * ((double)data[i] - mean);
    const double deviation = sqrt(squares / (double)(count - 1));

    for (size_t i = 0; i < count; i++)
        data[i] = (float)((double)data[i] / deviation);
}

/* [K,R,S,C] */
static void fill_conv(const struct var *var, struct rng_key key, float *data)
{
    const int64_t *dim = var->spec.tensor.dim;
    const int64_t filter = dim[1] * dim[2] * dim[3];
    const int64_t identity = dim[0] < dim[3] ? dim[0] : dim[3];
    const float bound = (float)(1.0 / sqrt((double)filter));

    rng_fill_uniform(key, -bound, bound, data, (size_t)(dim[0] * filter));
    fill(data, (size_t)(identity * filter), 0.0f);
    for (int64_t k = 0; k < identity; k++)
        data[k * filter + (dim[1] / 2 * dim[2] + dim[2] / 2) * dim[3] + k] = 1.0f;
}

static void copy_average(struct cifar10_state *state, struct var *average)
{
    const struct var *of = store_find(state->store, average->name + strlen("ema."));
    float *data = heap_floats(average->bytes);

    assert(of != NULL);
    store_read(state->store, of, data);
    store_write(state->store, average, data);
    free(data);
}

static float *heap_floats(uint64_t bytes)
{
    float *data = malloc((size_t)bytes);

    if (data == NULL) {
        (void)fputs("cifar10: out of memory\n", stderr);
        exit(4); /* NOLINT(concurrency-mt-unsafe): set-up, one thread */
    }
    return data;
}
