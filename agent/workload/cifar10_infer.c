/* agent/workload/cifar10_infer.c: a saved model classifies the test images one at a time (workload.h). Its one program
 * holds no variable of training; batch norms are folded into the weights when the first image is classified. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "agent/workload/checkpoint.h"
#include "agent/workload/cifar10_internal.h"

#define SIX_VIEWS 6

static enum status check_views(const struct workload_options *options, int64_t *views,
                               struct error *err);
static enum status check_factors(const struct cifar10_state *s, const char *path,
                                 struct error *err);
static enum status load_items(struct cifar10_state *s, struct error *err);

enum status cifar10_open_inference(const struct workload_options *options,
                                   const struct safetensors *model, const char *path,
                                   struct workload_items *items, void **state, struct error *err)
{
    struct cifar10_state *s = calloc(1, sizeof *s);
    enum status status;

    if (s == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for the workload");
    s->inference = true;
    status = check_views(options, &s->views, err);
    if (status == ST_OK)
        status = cifar10_check_options(options, s, err);
    if (status == ST_OK)
        status = cifar10_check_model(s, model, path, err);
    if (status == ST_OK && s->recipe->verify_data)
        status = cifar10_verify(s->data_dir, s->data_digest, err);
    if (status == ST_OK)
        status = cifar10_open_backend(options, s, err);
    if (status == ST_OK)
        status = cifar10_compile(options, s, err);
    if (status == ST_OK)
        status = checkpoint_read(s->store, model, path, err);
    if (status == ST_OK)
        status = check_factors(s, path, err);
    if (status == ST_OK)
        status = load_items(s, err);
    if (status != ST_OK) {
        cifar10_close(s);
        return status;
    }
    *items = (struct workload_items){.count = (int64_t)s->items.test_count,
                                     .labels = s->items.test_labels};
    *state = s;
    return ST_OK;
}

enum status cifar10_classify(void *state, int64_t index, int *label, struct error *err)
{
    struct cifar10_state *s = state;
    const size_t program = s->programs[PROGRAM_INFER];
    int32_t found = 0;
    enum status status;

    assert(index >= 0);
    assert(index < (int64_t)s->items.test_count);
    session_write(s->session, program, "image",
                  s->items.test_images + (size_t)index * CIFAR10_IMAGE_BYTES);
    status = session_run(s->session, program, err);
    if (status != ST_OK)
        return status;
    session_read(s->session, program, "class", &found);
    *label = found;
    return ST_OK;
}

static enum status check_views(const struct workload_options *options, int64_t *views,
                               struct error *err)
{
    *views = options->views == 0 ? 1 : options->views;
    if (*views != 1 && *views != SIX_VIEWS)
        return error_set(err, ST_USAGE, "views", "an image has 1 or %d views, not %lld", SIX_VIEWS,
                         (long long)*views);
    return ST_OK;
}

/* Seed, step and training images are its own: any training of the recipe makes a model. */
enum status cifar10_check_model(const struct cifar10_state *s, const struct safetensors *model,
                                const char *path, struct error *err)
{
    const struct safetensors_meta want[] = {{"workload", "cifar10"}, {"recipe", s->recipe->name}};

    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        const char *have = safetensors_find_meta(model, want[i].key);

        if (have == NULL)
            return error_set(err, ST_INVALID, want[i].key,
                             "%s does not say its %s: it is no model that train has written", path,
                             want[i].key);
        if (strcmp(have, want[i].value) != 0)
            return error_set(err, ST_INVALID, want[i].key, "%s is a model of the %s %.64s, not %s",
                             path, want[i].key, have, want[i].value);
    }
    return ST_OK;
}

/* Where a max-pool stands between the two, a norm may be folded only when its factor keeps the order. Training
 * leaves these weights at 1. */
static enum status check_factors(const struct cifar10_state *s, const char *path, struct error *err)
{
    for (size_t i = 0; i < store_count(s->store); i++) {
        const struct var *var = store_at(s->store, i);
        enum status status = ST_OK;
        float *weights;

        if (strstr(var->name, ".norm1.weight") == NULL)
            continue;
        weights = malloc((size_t)var->bytes);
        if (weights == NULL)
            return error_set(err, ST_NO_MEMORY, NULL, "no memory for a model");
        store_read(s->store, var, weights);
        for (int64_t c = 0; status == ST_OK && c < tensor_count(&var->spec.tensor); c++)
            if (!(weights[c] >= 0.0f))
                status = error_set(err, ST_INVALID, var->name,
                                   "%s has a weight below 0 in %s, which cannot be folded", path,
                                   var->name);
        free(weights);
        if (status != ST_OK)
            return status;
    }
    return ST_OK;
}

/* All test images, whatever the recipe evaluates on. */
static enum status load_items(struct cifar10_state *s, struct error *err)
{
    return cifar10_load_set(s->data_dir, CIFAR10_SET_TEST, &s->items, err);
}
