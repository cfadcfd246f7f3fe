/* agent/workload/synthetic.c: a workload without a model, for tests (see synthetic.h). */
#include "agent/workload/synthetic.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "agent/data/safetensors.h"
#include "common/clock.h"
#include "common/rng.h"

#define EPOCHS_DEFAULT     10
#define EPOCHS_MAX         1000000
#define RATE_DEFAULT       50
#define RATE_MAX           100000
#define STEPS_PER_EPOCH    4
#define BEST_SHARE_PERCENT 99

struct synthetic {
    struct rng_key key;
    int64_t epochs, rate, die_at; /* die_at: 0 is never */
    int64_t epoch;
    bool partial; /* --max-epochs ends it before DAYBREAK_SYNTHETIC_EPOCHS do */
};

static const char *const recipes[] = {"synthetic"};

static enum status read_setting(const char *name, int64_t fallback, int64_t max, int64_t *value,
                                struct error *err)
{
    const char *text = getenv(name);

    *value = fallback;
    if (text == NULL)
        return ST_OK;
    if (!str_parse_i64(str_from_cstr(text), value) || *value < 0 || *value > max)
        return error_set(err, ST_INVALID, name, "%s is a number from 0 to %lld", name,
                         (long long)max);
    return ST_OK;
}

static enum status synthetic_open(const struct workload_options *options, void **state,
                                  struct error *err)
{
    struct synthetic *w = calloc(1, sizeof *w);
    enum status status;

    if (w == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for the workload");
    status = read_setting("DAYBREAK_SYNTHETIC_EPOCHS", EPOCHS_DEFAULT, EPOCHS_MAX, &w->epochs, err);
    if (status == ST_OK)
        status = read_setting("DAYBREAK_SYNTHETIC_RATE", RATE_DEFAULT, RATE_MAX, &w->rate, err);
    if (status == ST_OK)
        status = read_setting("DAYBREAK_SYNTHETIC_DIE", 0, EPOCHS_MAX, &w->die_at, err);
    if (status == ST_OK && (w->epochs == 0 || w->rate == 0))
        status = error_set(err, ST_INVALID, "synthetic", "neither epochs nor rate may be 0");
    if (status != ST_OK) {
        free(w);
        return status;
    }
    w->partial = options->has_max_epochs && options->max_epochs < (double)w->epochs;
    if (w->partial)
        w->epochs = options->max_epochs < 1.0 ? 1 : (int64_t)options->max_epochs;
    *state = w;
    return ST_OK;
}

static enum status synthetic_start(void *state, uint32_t seed, struct error *err)
{
    struct synthetic *w = state;

    (void)err;
    w->key = (struct rng_key){seed, 1};
    return ST_OK;
}

static void fill_progress(const struct synthetic *w, struct workload_progress *progress)
{
    *progress = (struct workload_progress){
        .epoch = (double)w->epoch,
        .step = w->epoch * STEPS_PER_EPOCH,
        .step_count = w->epochs * STEPS_PER_EPOCH,
        .has_loss = w->epoch > 0,
        .loss = w->epoch > 0 ? 2.5 / (double)w->epoch : 0.0,
        .done = w->epoch >= w->epochs,
    };
}

static enum status synthetic_resume(void *state, const char *path,
                                    struct workload_progress *progress, struct error *err)
{
    struct synthetic *w = state;
    struct safetensors *file = NULL;
    const struct safetensors_tensor *epoch;
    enum status status = safetensors_open(path, &file, err);

    if (status != ST_OK)
        return status;
    epoch = safetensors_find(file, "epoch");
    if (epoch == NULL || epoch->dtype != SAFETENSORS_I64 || epoch->rank != 0) {
        status =
            error_set(err, ST_INVALID, "epoch", "%s is not a checkpoint of this workload", path);
    } else {
        memcpy(&w->epoch, epoch->data, sizeof w->epoch);
        if (w->epoch < 0 || w->epoch > w->epochs)
            status = error_set(err, ST_INVALID, "epoch", "%s is beyond the last epoch", path);
        fill_progress(w, progress);
    }
    safetensors_close(file);
    return status;
}

static enum status synthetic_train(void *state, const struct workload_control *control,
                                   struct workload_progress *progress, struct error *err)
{
    struct synthetic *w = state;
    const int64_t step_ns = NS_PER_S / (w->rate * STEPS_PER_EPOCH);
    const struct timespec pause = {step_ns / NS_PER_S, (long)(step_ns % NS_PER_S)};

    if (w->die_at > 0 && w->epoch + 1 == w->die_at)
        abort();
    for (int64_t i = 0; i < STEPS_PER_EPOCH; i++) {
        if (control->should_stop != NULL && control->should_stop(control->context))
            return error_set(err, ST_CANCELLED, NULL, "the training was stopped");
        (void)nanosleep(&pause, NULL);
        if (control->on_step != NULL)
            control->on_step(control->context, w->epoch * STEPS_PER_EPOCH + i + 1,
                             w->epochs * STEPS_PER_EPOCH);
    }
    w->epoch++;
    fill_progress(w, progress);
    return ST_OK;
}

static enum status synthetic_evaluate(void *state, const struct workload_control *control,
                                      struct workload_score *score, struct error *err)
{
    const struct synthetic *w = state;
    const int64_t best = (int64_t)SYNTHETIC_TOTAL / 100 * BEST_SHARE_PERCENT;
    const int64_t rise = best / w->epochs; /* of one epoch, at least */
    const uint32_t jitter = rise < 1 ? 1 : rise > 10 ? 10 : (uint32_t)rise;
    uint32_t word[2];

    (void)control;
    (void)err;
    rng_threefry(w->key, 0, (uint32_t)w->epoch, word);
    /* The jitter shows the seed in the curve and stays below one epoch's rise, so no two epochs of a run
     * of up to 9,900 are alike: a test can tell which are there. */
    *score = (struct workload_score){
        .correct = best * w->epoch / w->epochs - (int64_t)rng_to_below(word[0], jitter),
        .total = SYNTHETIC_TOTAL,
        .views = 1,
    };
    if (score->correct < 0)
        score->correct = 0;
    return ST_OK;
}

static enum status synthetic_save(void *state, const char *path, struct error *err)
{
    const struct synthetic *w = state;
    const struct safetensors_tensor epoch = {
        .name = "epoch", .dtype = SAFETENSORS_I64, .data = &w->epoch, .bytes = sizeof w->epoch};
    const struct safetensors_meta meta = {"workload", "synthetic"};
    const struct safetensors_content content = {&epoch, 1, &meta, 1};

    return safetensors_write(path, &content, err);
}

static enum status synthetic_describe(void *state, struct buf *out, struct error *err)
{
    const struct synthetic *w = state;

    buf_appendf(out,
                "{\"model\":\"synthetic\",\"recipe\":\"synthetic\",\"device\":\"cpu\","
                "\"isa\":\"none\",\"precision\":\"f32\",\"threads\":1,\"rate\":%lld%s}",
                (long long)w->rate, w->partial ? ",\"partial\":true" : "");
    return buf_check(out, err);
}

static void synthetic_close(void *state)
{
    free(state);
}

const struct workload_ops workload_synthetic = {
    .name = "synthetic",
    .title = "synthetic, without training",
    .recipes = recipes,
    .recipe_count = ARRAY_LEN(recipes),
    .hidden = true,
    .open = synthetic_open,
    .start = synthetic_start,
    .resume = synthetic_resume,
    .train = synthetic_train,
    .evaluate = synthetic_evaluate,
    .save = synthetic_save,
    .describe = synthetic_describe,
    .close = synthetic_close,
};
