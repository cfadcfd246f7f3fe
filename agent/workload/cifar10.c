/* agent/workload/cifar10.c: the calls of workload.h for CIFAR-10. Everything that does not need the seed happens in
 * open, before the clock: all programs are planned and compiled. A step is one run of `train`; learning rates, order
 * and augmentation hang on the step counter that lives among the variables. */
#include "agent/workload/cifar10.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agent/workload/checkpoint.h"
#include "agent/workload/cifar10_internal.h"
#include "agent/workload/precision.h"
#include "common/build.h"
#include "common/crypto.h"
#include "common/log.h"

#define META_COUNT      9
#define META_TEXT_BYTES 32

static enum status cifar10_open(const struct workload_options *options, void **state,
                                struct error *err);
static enum status cifar10_start(void *state, uint32_t seed, struct error *err);
static enum status cifar10_resume(void *state, const char *path, struct workload_progress *progress,
                                  struct error *err);
static enum status cifar10_train(void *state, const struct workload_control *control,
                                 struct workload_progress *progress, struct error *err);
static enum status cifar10_evaluate(void *state, const struct workload_control *control,
                                    struct workload_score *score, struct error *err);
static enum status cifar10_save(void *state, const char *path, struct error *err);
static enum status cifar10_describe(void *state, struct buf *out, struct error *err);
static enum status cifar10_print_plan(const struct workload_options *options, FILE *out,
                                      struct error *err);
static void set_shape(const struct workload_options *options, struct cifar10_state *s);
static void describe_training(const struct cifar10_state *s, struct buf *out);
static enum status take_step(struct cifar10_state *s, struct error *err);
static bool is_partial(const struct cifar10_state *s);
static bool at_evaluation_point(const struct cifar10_state *s);
static enum status report_loss(struct cifar10_state *s, struct workload_progress *progress,
                               struct error *err);
static void write_losses(const struct cifar10_state *s, const float *log);
static void fill_progress(const struct cifar10_state *s, struct workload_progress *progress);
static enum status check_metas(const struct cifar10_state *s, const struct safetensors *file,
                               const char *path, struct error *err);
static bool should_stop(const struct workload_control *control);
static int64_t count_parameters(const struct store *store);

static const char *const recipe_names[] = {"cifar10-94", "cifar10-quick", "cifar10-muon"};
static const char *const tiny_names[] = {"cifar10-tiny", "cifar10-tiny-muon", "cifar10-tiny-whole"};

#define CIFAR10_CALLS                                                                       \
    .open = cifar10_open, .start = cifar10_start, .resume = cifar10_resume,                 \
    .train = cifar10_train, .evaluate = cifar10_evaluate, .save = cifar10_save,             \
    .describe = cifar10_describe, .close = cifar10_close, .print_plan = cifar10_print_plan, \
    .step_program = cifar10_step_program, .take_step = cifar10_take_step,                   \
    .sets = cifar10_score_sets, .set_count = CIFAR10_SET_COUNT, .score = cifar10_score,     \
    .open_inference = cifar10_open_inference, .classify = cifar10_classify

const struct workload_ops workload_cifar10 = {.name = "cifar10",
                                              .title = "CIFAR-10, convolutional network",
                                              .recipes = recipe_names,
                                              .recipe_count = ARRAY_LEN(recipe_names),
                                              CIFAR10_CALLS};
const struct workload_ops workload_cifar10_tiny = {.name = "cifar10-tiny",
                                                   .title = "CIFAR-10, a few images",
                                                   .recipes = tiny_names,
                                                   .recipe_count = ARRAY_LEN(tiny_names),
                                                   .hidden = true,
                                                   CIFAR10_CALLS};

static enum status cifar10_open(const struct workload_options *options, void **state,
                                struct error *err)
{
    struct cifar10_state *s = calloc(1, sizeof *s);
    enum status status;

    if (s == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for the workload");
    status = cifar10_check_options(options, s, err);
    if (status == ST_OK && s->recipe->verify_data)
        status = cifar10_verify(s->data_dir, s->data_digest, err);
    if (status == ST_OK)
        status = cifar10_open_backend(options, s, err);
    if (status == ST_OK)
        status = cifar10_compile(options, s, err);
    if (status == ST_OK) {
        s->log = calloc((size_t)(s->shape.total_steps * LOG_COLUMNS), sizeof *s->log);
        if (s->log == NULL)
            status = error_set(err, ST_NO_MEMORY, NULL, "no memory for the log of losses");
    }
    if (status != ST_OK) {
        cifar10_close(s);
        return status;
    }
    *state = s;
    return ST_OK;
}

static enum status cifar10_start(void *state, uint32_t seed, struct error *err)
{
    struct cifar10_state *s = state;
    struct cifar10 set = {0};
    enum status status;

    s->seed = seed;
    status = cifar10_load(&s->data, &set, err);
    if (status == ST_OK) {
        cifar10_init(s, &set);
        s->step = s->logged_step = 0;
        s->started = true;
    }
    cifar10_fini(&set);
    return status;
}

static enum status cifar10_resume(void *state, const char *path, struct workload_progress *progress,
                                  struct error *err)
{
    struct cifar10_state *s = state;
    struct safetensors *file = NULL;
    int32_t step = 0;
    enum status status = safetensors_open(path, &file, err);

    assert(s->started);
    if (status == ST_OK)
        status = check_metas(s, file, path, err);
    if (status == ST_OK)
        status = checkpoint_read(s->store, file, path, err);
    if (status == ST_OK) {
        store_read(s->store, s->vars.step, &step);
        if (step < 0 || step > s->shape.total_steps)
            status = error_set(err, ST_INVALID, "step", "%s stands at step %d of %lld", path,
                               (int)step, (long long)s->shape.total_steps);
    }
    if (status == ST_OK) {
        s->step = s->logged_step = step;
        fill_progress(s, progress);
    }
    safetensors_close(file);
    return status;
}

static enum status cifar10_train(void *state, const struct workload_control *control,
                                 struct workload_progress *progress, struct error *err)
{
    struct cifar10_state *s = state;
    enum status status = ST_OK;

    assert(s->started);
    while (s->step < s->step_limit) {
        if (should_stop(control))
            return error_set(err, ST_CANCELLED, NULL, "the training was stopped");
        status = take_step(s, err);
        if (status != ST_OK)
            return status;
        if (control->on_step != NULL)
            control->on_step(control->context, s->step, s->step_limit);
        if (at_evaluation_point(s))
            break;
    }
    return report_loss(s, progress, err);
}

static enum status cifar10_evaluate(void *state, const struct workload_control *control,
                                    struct workload_score *score, struct error *err)
{
    struct cifar10_state *s = state;

    *score = (struct workload_score){.total = s->shape.test_count, .views = s->recipe->views};
    return cifar10_count_correct(s, control, &score->correct, err);
}

static enum status cifar10_save(void *state, const char *path, struct error *err)
{
    struct cifar10_state *s = state;
    char step[META_TEXT_BYTES], seed[META_TEXT_BYTES], images[META_TEXT_BYTES];
    const struct safetensors_meta metas[META_COUNT] = {
        {"workload", "cifar10"},  {"recipe", s->recipe->name},
        {"step", step},           {"seed", seed},
        {"build", build_id()},    {"data_sha256", s->data_digest},
        {"train_images", images}, {"holdout", s->data.holdout ? "true" : "false"},
        {"partial", "true"}};
    const size_t meta_count =
        is_partial(s) ? META_COUNT : META_COUNT - 1; /* the mark is the last */

    (void)snprintf(step, sizeof step, "%lld", (long long)s->step);
    (void)snprintf(seed, sizeof seed, "%lu", (unsigned long)s->seed);
    (void)snprintf(images, sizeof images, "%lld", (long long)s->shape.train_count);
    return checkpoint_write(s->store, path, metas, meta_count, err);
}

static enum status cifar10_describe(void *state, struct buf *out, struct error *err)
{
    const struct cifar10_state *s = state;
    struct device_info device;

    s->backend->ops->describe(s->backend, &device);
    buf_append_cstr(out, "{\"model\":");
    buf_append_json(out, str_from_cstr(s->recipe->model));
    buf_append_cstr(out, ",\"recipe\":");
    buf_append_json(out, str_from_cstr(s->recipe->name));
    buf_append_cstr(out, ",\"device\":");
    buf_append_json(out, str_from_cstr(device.kind));
    buf_append_cstr(out, ",\"device_model\":");
    buf_append_json(out, str_from_cstr(device.model));
    buf_append_cstr(out, ",\"isa\":");
    buf_append_json(out, str_from_cstr(device.isa));
    buf_appendf(out, ",\"precision\":\"%s\",\"threads\":%d", dtype_name(s->compute),
                device.threads);
    buf_appendf(out, ",\"plan_sha256\":\"%s\",\"parameters\":%lld", s->plan_digest,
                (long long)count_parameters(s->store));
    if (s->inference)
        buf_appendf(out, ",\"batch\":1,\"test_images\":%lld,\"views\":%lld",
                    (long long)s->items.test_count, (long long)s->views);
    else
        describe_training(s, out);
    buf_appendf(out, ",\"memory_bytes\":%llu,\"data_sha256\":\"%s\"}",
                (unsigned long long)(session_bytes(s->session) + store_bytes(s->store)),
                s->data_digest);
    return buf_check(out, err);
}

static void describe_training(const struct cifar10_state *s, struct buf *out)
{
    const bool muon = s->recipe->optimiser == RECIPE_MUON;

    buf_appendf(out, ",\"batch\":%lld,\"steps\":%lld,\"epochs\":%.10g", (long long)s->shape.batch,
                (long long)s->step_limit, s->end_epoch);
    buf_appendf(out, ",\"train_images\":%lld,\"test_images\":%lld,\"views\":%lld",
                (long long)s->shape.train_count, (long long)s->shape.test_count,
                (long long)s->recipe->views);
    if (is_partial(s))
        buf_append_cstr(out, ",\"partial\":true");
    if (muon)
        buf_appendf(out,
                    ",\"bias_learning_rate\":%.10g,\"head_learning_rate\":%.10g,"
                    "\"sgd_momentum\":%.10g",
                    s->recipe->bias_lr, s->recipe->head_lr, s->recipe->momentum);
    buf_appendf(out,
                ",\"optimizer\":\"%s\",\"learning_rate\":%.10g,\"momentum\":%.10g,"
                "\"weight_decay\":%.10g,\"label_smoothing\":%.10g",
                muon ? "Muon, Nesterov; SGD, Nesterov for biases and head" : "SGD, Nesterov",
                muon ? s->recipe->muon_lr : s->recipe->lr,
                muon ? s->recipe->muon_momentum : s->recipe->momentum, s->recipe->weight_decay,
                s->recipe->label_smoothing);
}

void cifar10_close(void *state)
{
    struct cifar10_state *s = state;

    if (s == NULL)
        return;
    session_destroy(s->session);
    store_destroy(s->store);
    if (s->backend != NULL)
        s->backend->ops->close(s->backend);
    cifar10_fini(&s->items);
    free(s->log);
    free(s);
}

const float *cifar10_read_log(struct cifar10_state *state)
{
    store_read(state->store, state->vars.log, state->log);
    return state->log;
}

enum status cifar10_count_correct(struct cifar10_state *state,
                                  const struct workload_control *control, int64_t *correct,
                                  struct error *err)
{
    const size_t program = state->programs[PROGRAM_EVALUATE];
    const int64_t count = state->shape.test_count, batch = state->shape.eval_batch;

    *correct = 0;
    for (int64_t first = 0; first < count; first += batch) {
        const int32_t begin = (int32_t)first;
        const int32_t valid = (int32_t)(count - first < batch ? count - first : batch);
        float found = 0.0f;
        enum status status;

        if (should_stop(control))
            return error_set(err, ST_CANCELLED, NULL, "the evaluation was stopped");
        session_write(state->session, program, "first", &begin);
        session_write(state->session, program, "valid", &valid);
        status = session_run(state->session, program, err);
        if (status != ST_OK)
            return status;
        session_read(state->session, program, "correct", &found);
        *correct += (int64_t)found;
    }
    return ST_OK;
}

static enum status cifar10_print_plan(const struct workload_options *options, FILE *out,
                                      struct error *err)
{
    struct cifar10_state *s = calloc(1, sizeof *s);
    enum status status;

    if (s == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for the workload");
    status = cifar10_check_options(options, s, err);
    if (status == ST_OK)
        status = cifar10_open_backend(options, s, err);
    if (status == ST_OK)
        status = cifar10_compile(options, s, err);
    for (size_t i = 0; status == ST_OK && i < session_count(s->session); i++)
        plan_print(session_program(s->session, i), out);
    cifar10_close(s);
    return status;
}

enum status cifar10_check_options(const struct workload_options *options, struct cifar10_state *s,
                                  struct error *err)
{
    const char *name = options->recipe == NULL ? recipe_names[0] : options->recipe;

    s->recipe = recipe_find(name);
    if (s->recipe == NULL)
        return error_set(err, ST_NOT_FOUND, "recipe", "there is no recipe %s of cifar10", name);
    if (strcmp(options->device, "auto") != 0 && strcmp(options->device, "cpu") != 0)
        return error_set(err, ST_UNSUPPORTED, "device", "cifar10 runs on cpu, not on %s",
                         options->device);
    if (options->image_limit < 0 || (options->has_max_epochs && !(options->max_epochs > 0.0)))
        return error_set(err, ST_USAGE, options->image_limit < 0 ? "image_limit" : "max_epochs",
                         "a limit is a positive number");
    if ((size_t)snprintf(s->data_dir, sizeof s->data_dir, "%s", options->data_dir) >=
        sizeof s->data_dir)
        return error_set(err, ST_LIMIT, "data", "the data folder's name is too long");
    set_shape(options, s);
    return ST_OK;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void set_shape(const struct workload_options *options, struct cifar10_state *s)
{
    const struct cifar10_recipe *recipe = s->recipe;
    int64_t train = CIFAR10_TRAIN_COUNT, test = CIFAR10_TEST_COUNT;
    int64_t limit = options->image_limit;

    if (options->holdout) {
        train = CIFAR10_TRAIN_COUNT - CIFAR10_TUNE_COUNT - CIFAR10_FRESH_COUNT;
        test = CIFAR10_TUNE_COUNT;
    }
    if (recipe->image_limit > 0 && (limit == 0 || limit > recipe->image_limit))
        limit = recipe->image_limit;
    if (limit > 0) {
        train = smaller(train, limit);
        if (!recipe->whole_test)
            test = smaller(test, limit);
    }
    s->data = (struct cifar10_options){.dir = s->data_dir,
                                       .holdout = options->holdout,
                                       .image_limit = (size_t)limit,
                                       .whole_test = recipe->whole_test};
    s->shape = (struct cifar10_shape){.train_count = train,
                                      .test_count = test,
                                      .batch = smaller(recipe->batch, train),
                                      .eval_batch = smaller(recipe->eval_batch, test)};
    s->shape.steps_per_epoch = recipe_steps_per_epoch(train, s->shape.batch);
    s->shape.total_steps = recipe_total_steps(recipe, s->shape.steps_per_epoch, recipe->epochs);
    s->step_limit = s->shape.total_steps;
    s->end_epoch = recipe->epochs;
    if (options->has_max_epochs && options->max_epochs < recipe->epochs) {
        s->step_limit = recipe_total_steps(recipe, s->shape.steps_per_epoch, options->max_epochs);
        s->end_epoch = options->max_epochs;
    }
}

enum cifar10_program cifar10_program_of(const struct cifar10_state *s, int64_t step)
{
    const double trained = (double)s->shape.steps_per_epoch * s->recipe->whiten_bias_epochs;

    return (double)step >= ceil(trained) ? PROGRAM_TRAIN_FROZEN : PROGRAM_TRAIN;
}

static enum status take_step(struct cifar10_state *s, struct error *err)
{
    enum status status = session_run(s->session, s->programs[cifar10_program_of(s, s->step)], err);

    if (status != ST_OK)
        return status;
    s->step++;
    if (s->recipe->lookahead_every > 0 &&
        (s->step % s->recipe->lookahead_every == 0 || s->step == s->shape.total_steps))
        status = session_run(s->session, s->programs[PROGRAM_LOOKAHEAD], err);
    return status;
}

/* Training ends before the recipe does. */
static bool is_partial(const struct cifar10_state *s)
{
    return s->step_limit < s->shape.total_steps;
}

static bool at_evaluation_point(const struct cifar10_state *s)
{
    return s->step % s->shape.steps_per_epoch == 0 || s->step == s->step_limit;
}

/* Mean over the steps since the last report; a loss that is not finite ends the run here, an epoch late at most. */
static enum status report_loss(struct cifar10_state *s, struct workload_progress *progress,
                               struct error *err)
{
    const float *log = cifar10_read_log(s);
    double sum = 0.0;

    for (int64_t step = s->logged_step; step < s->step; step++) {
        const double loss = (double)log[step * LOG_COLUMNS];

        if (!isfinite(loss))
            return error_set(err, ST_INVALID, "loss",
                             "the training diverged: the loss of step %lld is not finite",
                             (long long)(step + 1));
        sum += loss;
    }
    write_losses(s, log);
    fill_progress(s, progress);
    progress->has_loss = s->step > s->logged_step;
    if (progress->has_loss)
        progress->loss = sum / (double)(s->step - s->logged_step);
    s->logged_step = s->step;
    return ST_OK;
}

/* For comparing with other implementations: DAYBREAK_STEP_LOSSES names a file that receives "step, mean loss, correct"
 * of the steps since the last report. Not part of a run: a failure to write is logged and no more. */
static void write_losses(const struct cifar10_state *s, const float *log)
{
    const char *path = getenv("DAYBREAK_STEP_LOSSES");
    FILE *out;

    if (path == NULL)
        return;
    out = fopen(path, s->logged_step == 0 ? "w" : "a");
    for (int64_t step = s->logged_step; out != NULL && step < s->step; step++)
        (void)fprintf(out, "%lld\t%.6f\t%.0f\n", (long long)(step + 1),
                      (double)log[step * LOG_COLUMNS], (double)log[step * LOG_COLUMNS + 1]);
    if (out == NULL || fclose(out) != 0)
        log_event(LOG_WARN, "step_losses", "result=not_written");
}

static void fill_progress(const struct cifar10_state *s, struct workload_progress *progress)
{
    const bool done = s->step >= s->step_limit;

    *progress = (struct workload_progress){
        .epoch = done ? s->end_epoch : (double)s->step / (double)s->shape.steps_per_epoch,
        .step = s->step,
        .step_count = s->step_limit,
        .done = done};
}

static enum status check_metas(const struct cifar10_state *s, const struct safetensors *file,
                               const char *path, struct error *err)
{
    char seed[META_TEXT_BYTES], images[META_TEXT_BYTES];
    const struct safetensors_meta want[] = {{"workload", "cifar10"},
                                            {"recipe", s->recipe->name},
                                            {"seed", seed},
                                            {"data_sha256", s->data_digest},
                                            {"train_images", images}}; /* epochs hang on it */
    const char *holdout = safetensors_find_meta(file, "holdout");      /* older ones do not say */

    (void)snprintf(seed, sizeof seed, "%lu", (unsigned long)s->seed);
    (void)snprintf(images, sizeof images, "%lld", (long long)s->shape.train_count);
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        const char *have = safetensors_find_meta(file, want[i].key);

        if (have == NULL || strcmp(have, want[i].value) != 0)
            return error_set(err, ST_INVALID, want[i].key,
                             "%s was saved with %s %s, this run has %s", path, want[i].key,
                             have == NULL ? "unknown" : have, want[i].value);
    }
    if (holdout != NULL && strcmp(holdout, s->data.holdout ? "true" : "false") != 0)
        return error_set(err, ST_INVALID, "holdout",
                         "%s was saved with holdout %s: go on %s --holdout", path, holdout,
                         s->data.holdout ? "without" : "with");
    return ST_OK;
}

static bool should_stop(const struct workload_control *control)
{
    return control->should_stop != NULL && control->should_stop(control->context);
}

/* Trained or not: what the network is made of. */
static int64_t count_parameters(const struct store *store)
{
    int64_t count = 0;

    for (size_t i = 0; i < store_count(store); i++)
        if (store_at(store, i)->spec.role == VAR_PARAM)
            count += tensor_count(&store_at(store, i)->spec.tensor);
    return count;
}
