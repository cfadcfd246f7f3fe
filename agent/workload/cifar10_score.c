/* agent/workload/cifar10_score.c: a saved model, evaluated once on a named set (workload.h). Its one program is that of
 * a training's evaluations, so the score on `test` is what the training's last evaluation counted. */
#include <stdlib.h>
#include <string.h>

#include "agent/workload/checkpoint.h"
#include "agent/workload/cifar10_internal.h"
#include "common/str.h"

#define HOLDOUT_IMAGES "40000" /* train_images of a model that does not say `holdout` */

static enum status find_set(const char *name, enum cifar10_set *set, struct error *err);
static enum status score_set(struct cifar10_state *s, const struct workload_options *options,
                             const struct safetensors *model, const char *path,
                             const struct cifar10 *set, struct workload_score *score,
                             struct error *err);
static bool is_held_out(const struct safetensors *model);
static enum workload_exposure exposure_of(enum cifar10_set set, bool holdout);
static void digest_set(const struct cifar10 *set, char digest[SHA256_HEX_BYTES]);

const char *const cifar10_score_sets[CIFAR10_SET_COUNT] = {
    [CIFAR10_SET_TEST] = "test",
    [CIFAR10_SET_TUNE] = "tune",
    [CIFAR10_SET_FRESH] = "fresh",
    [CIFAR10_SET_V6] = "cifar10.1",
};

enum status cifar10_score(const struct workload_options *options, const struct safetensors *model,
                          const char *path, const char *name, struct workload_scored *scored,
                          struct error *err)
{
    struct cifar10_state *s = calloc(1, sizeof *s);
    struct cifar10 set = {0};
    enum cifar10_set which = CIFAR10_SET_COUNT;
    enum status status;

    if (s == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for the workload");
    s->scoring = true;
    status = find_set(name, &which, err);
    if (status == ST_OK)
        status = cifar10_check_options(options, s, err);
    if (status == ST_OK)
        status = cifar10_check_model(s, model, path, err);
    if (status == ST_OK && s->recipe->verify_data && which != CIFAR10_SET_V6)
        status = cifar10_verify(s->data_dir, s->data_digest, err);
    if (status == ST_OK)
        status = cifar10_load_set(s->data_dir, which, &set, err);
    if (status == ST_OK)
        status = score_set(s, options, model, path, &set, &scored->score, err);
    if (status == ST_OK) {
        scored->holdout = is_held_out(model);
        scored->exposure = exposure_of(which, scored->holdout);
        digest_set(&set, scored->digest);
    }
    cifar10_fini(&set);
    cifar10_close(s);
    return status;
}

static enum status find_set(const char *name, enum cifar10_set *set, struct error *err)
{
    for (int i = 0; i < CIFAR10_SET_COUNT; i++)
        if (strcmp(name, cifar10_score_sets[i]) == 0) {
            *set = (enum cifar10_set)i;
            return ST_OK;
        }
    return error_set(err, ST_NOT_FOUND, "set", "cifar10 has no set \"%.64s\"", name);
}

/* Training images are declared, as in every program of the network, and none is read. */
static enum status score_set(struct cifar10_state *s, const struct workload_options *options,
                             const struct safetensors *model, const char *path,
                             const struct cifar10 *set, struct workload_score *score,
                             struct error *err)
{
    const struct workload_control control = {0};
    const int64_t count = (int64_t)set->test_count;
    enum status status;

    s->shape.train_count = 1;
    s->shape.test_count = count;
    s->shape.eval_batch = s->recipe->eval_batch < count ? s->recipe->eval_batch : count;
    status = cifar10_open_backend(options, s, err);
    if (status == ST_OK)
        status = cifar10_compile(options, s, err);
    if (status == ST_OK)
        status = checkpoint_read(s->store, model, path, err);
    if (status != ST_OK)
        return status;
    cifar10_write_test(s, set);
    *score = (struct workload_score){.total = count, .views = s->recipe->views};
    return cifar10_count_correct(s, &control, &score->correct, err);
}

/* Older models tell it by the number of their images alone. */
static bool is_held_out(const struct safetensors *model)
{
    const char *holdout = safetensors_find_meta(model, "holdout");
    const char *images = safetensors_find_meta(model, "train_images");

    if (holdout != NULL)
        return strcmp(holdout, "true") == 0;
    return images != NULL && strcmp(images, HOLDOUT_IMAGES) == 0;
}

/* Recipes are tuned on `tune` alone; without --holdout both parts were among the training images. */
static enum workload_exposure exposure_of(enum cifar10_set set, bool holdout)
{
    if (set == CIFAR10_SET_TUNE)
        return holdout ? WORKLOAD_TUNED : WORKLOAD_TRAINED;
    return set == CIFAR10_SET_FRESH && !holdout ? WORKLOAD_TRAINED : WORKLOAD_UNSEEN;
}

static void digest_set(const struct cifar10 *set, char digest[SHA256_HEX_BYTES])
{
    char both[2 * (SHA256_HEX_BYTES - 1) + 1];

    crypto_sha256_hex(
        (struct str){(const char *)set->test_images, set->test_count * CIFAR10_IMAGE_BYTES}, both);
    crypto_sha256_hex((struct str){(const char *)set->test_labels, set->test_count},
                      both + SHA256_HEX_BYTES - 1);
    crypto_sha256_hex(str_from_cstr(both), digest);
}
