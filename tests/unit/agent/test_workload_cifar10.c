/* tests/unit/agent/test_workload_cifar10.c: schedules, whitening, and the
 * workload itself on a few made-up images: it learns, repeats itself bit for
 * bit, resumes, and refuses what does not belong to it. The real data set, the
 * first losses and the accuracies are campaigns (docs/results). */
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "agent/data/safetensors.h"
#include "agent/kernels/kernels.h"
#include "agent/workload/cifar10.h"
#include "agent/workload/cifar10_internal.h"
#include "agent/workload/whiten.h"
#include "common/rng.h"
#include "tests/support/cifar10_tiny.h"

static void assert_close(double got, double want, double tolerance)
{
    if (!(fabs(got - want) <= tolerance))
        fail_msg("%.9g is not within %.3g of %.9g", got, tolerance, want);
}

static void assert_same_file(const char *a, const char *b)
{
    const char *names[2] = {a, b};
    char *bytes[2];
    size_t sizes[2];

    for (size_t i = 0; i < 2; i++) {
        FILE *file = fopen(path_of(names[i]), "rb");

        assert_non_null(file);
        bytes[i] = malloc(1 << 24);
        sizes[i] = fread(bytes[i], 1, 1 << 24, file);
        assert_true(sizes[i] > 0);
        (void)fclose(file);
    }
    assert_int_equal(sizes[0], sizes[1]);
    assert_memory_equal(bytes[0], bytes[1], sizes[0]);
    free(bytes[0]);
    free(bytes[1]);
}

/* Values worked by hand from arXiv 2404.00498: 11.5 / (1024 (1 + 1 / 0.15)) and
 * so on. */
static void schedules_are_the_papers(void **state)
{
    const struct cifar10_recipe *recipe = recipe_find("cifar10-94");
    const int64_t total = recipe_total_steps(recipe, recipe_steps_per_epoch(50000, 1024), 100.0);
    float *hyper = calloc((size_t)((total + 1) * HYPER_COLUMNS), sizeof *hyper);
    const double lr = 11.5 / (1024.0 * (1.0 + 1.0 / 0.15));

    (void)state;
    assert_int_equal(total, 476);
    recipe_fill_hyper(recipe, 1024, total, hyper);
#define AT(step, column) ((double)hyper[(step)*HYPER_COLUMNS + (column)])
    assert_close(AT(1, HYPER_LR), 0.2 * lr, 1e-9);
    assert_close(AT(110, HYPER_LR), lr, 1e-9); /* floor(0.23 * 476) = 109 steps before it */
    assert_close(AT(55, HYPER_LR), (0.2 + 0.8 * 54.0 / 109.0) * lr, 1e-9);
    assert_close(AT(476, HYPER_LR), (1.0 - 0.93 * 366.0 / 367.0) * lr, 1e-9);
    assert_close(AT(110, HYPER_LR_NORM), 64.0 * lr, 1e-8);
    assert_close(AT(7, HYPER_DECAY), 0.0153 / 11.5 * 1024.0, 1e-6);
    assert_close(AT(7, HYPER_DECAY_NORM), 0.0153 / 11.5 * 1024.0 / 64.0, 1e-8);
    assert_close(AT(300, HYPER_MOMENTUM), 0.85, 1e-7);
    assert_close(AT(5, HYPER_LOOKAHEAD), pow(0.95, 5.0) * pow(5.0 / 476.0, 3.0), 1e-12);
    assert_close(AT(475, HYPER_LOOKAHEAD), pow(0.95, 5.0) * pow(475.0 / 476.0, 3.0), 1e-7);
    assert_close(AT(476, HYPER_LOOKAHEAD), 1.0, 0.0);
#undef AT
    free(hyper);
    assert_int_equal(recipe_total_steps(recipe, 48, 2.0), 96);
    assert_int_equal(recipe_total_steps(recipe_find("cifar10-quick"), 48, 100.0), 144);
    assert_null(recipe_find("cifar10"));
}

/* 32 steps an epoch: 10 epochs are 320, and the whitening bias learns for 7, ceil(0.2 x 32). */
static void schedules_with_muon_fall_to_zero(void **state)
{
    const struct cifar10_recipe *recipe = recipe_find("cifar10-muon");
    const int64_t total = recipe_total_steps(recipe, recipe_steps_per_epoch(50000, 1536), 100.0);
    float *hyper = calloc((size_t)((total + 1) * HYPER_COLUMNS), sizeof *hyper);

    (void)state;
    assert_int_equal(total, 320);
    assert_int_equal(recipe->batch, 1536);
    recipe_fill_hyper(recipe, 1536, total, hyper);
#define AT(step, column) ((double)hyper[(step)*HYPER_COLUMNS + (column)])
    assert_close(AT(1, HYPER_LR_MUON), 0.205, 1e-7);
    assert_close(AT(161, HYPER_LR_MUON), 0.1025, 1e-7);
    assert_close(AT(320, HYPER_LR_MUON), 0.205 / 320.0, 1e-9);
    assert_close(AT(161, HYPER_LR_NORM), 0.02865, 1e-8);
    assert_close(AT(161, HYPER_LR), 0.27075, 1e-7);
    assert_close(AT(1, HYPER_LR_WHITEN), 0.0573, 1e-8);
    assert_close(AT(4, HYPER_LR_WHITEN), 0.0573 * 4.0 / 7.0, 1e-8);
    assert_close(AT(7, HYPER_LR_WHITEN), 0.0573 / 7.0, 1e-9);
    assert_close(AT(8, HYPER_LR_WHITEN), 0.0, 0.0);
    assert_close(AT(7, HYPER_DECAY_NORM), 1.0418e-6 * 1536.0 / 0.0573, 1e-8);
    assert_close(AT(7, HYPER_DECAY), 1.0418e-6 * 1536.0 / 0.5415, 1e-9);
    assert_close(AT(7, HYPER_MOMENTUM), 0.825, 1e-7);
    assert_close(AT(7, HYPER_MOMENTUM_MUON), 0.655, 1e-7);
    assert_close(AT(320, HYPER_LOOKAHEAD), 0.0, 0.0);
#undef AT
    free(hyper);
}

static void eigenvectors_rebuild_their_matrix(void **state)
{
    double matrix[WHITEN_PATCH][WHITEN_PATCH], values[WHITEN_PATCH];
    double vectors[WHITEN_PATCH][WHITEN_PATCH];
    float noise[WHITEN_PATCH * WHITEN_PATCH];

    (void)state;
    rng_fill_normal((struct rng_key){5, 5}, 0.0f, 1.0f, noise, ARRAY_LEN(noise));
    for (int i = 0; i < WHITEN_PATCH; i++)
        for (int j = 0; j < WHITEN_PATCH; j++)
            matrix[i][j] =
                (double)noise[i * WHITEN_PATCH + j] + (double)noise[j * WHITEN_PATCH + i];
    whiten_eigen((const double(*)[WHITEN_PATCH])matrix, values, vectors);
    for (int i = 0; i < WHITEN_PATCH; i++) {
        double largest = 0.0;

        assert_true(i == 0 || values[i - 1] >= values[i]);
        for (int j = 0; j < WHITEN_PATCH; j++) {
            double dot = 0.0, rebuilt = 0.0;

            largest = fabs(vectors[i][j]) > fabs(largest) ? vectors[i][j] : largest;
            for (int k = 0; k < WHITEN_PATCH; k++) {
                dot += vectors[i][k] * vectors[j][k];
                rebuilt += vectors[k][i] * values[k] * vectors[k][j];
            }
            assert_close(dot, i == j ? 1.0 : 0.0, 1e-12);
            assert_close(rebuilt, matrix[i][j], 1e-12);
        }
        assert_true(largest > 0.0);
    }
}

/* Patches through the weights have covariance value / (value + eps), and
 * nothing beside the diagonal. */
static void whitened_patches_are_uncorrelated(void **state)
{
    static const double mean[3] = {0.5, 0.4, 0.3}, deviation[3] = {0.2, 0.3, 0.25};
    uint8_t pixels[4 * 8 * 8 * 3];
    const struct whiten_images images = {
        .pixels = pixels, .count = 4, .side = 8, .mean = mean, .deviation = deviation};
    double c[WHITEN_PATCH][WHITEN_PATCH], values[WHITEN_PATCH], v[WHITEN_PATCH][WHITEN_PATCH];
    float w[WHITEN_WIDTH * WHITEN_PATCH];

    (void)state;
    for (size_t i = 0; i < sizeof pixels; i++) {
        uint32_t word[2];

        rng_threefry((struct rng_key){9, 9}, 0, (uint32_t)i, word);
        pixels[i] = (uint8_t)((i % 24 * 8 + rng_to_below(word[0], 60)) % 256);
    }
    whiten_covariance(&images, c);
    whiten_eigen((const double(*)[WHITEN_PATCH])c, values, v);
    whiten_weights(&images, 1e-2, w);
    for (int a = 0; a < WHITEN_PATCH; a++)
        for (int b = 0; b < WHITEN_PATCH; b++) {
            double sum = 0.0;

            for (int i = 0; i < WHITEN_PATCH; i++)
                for (int j = 0; j < WHITEN_PATCH; j++)
                    sum +=
                        (double)w[a * WHITEN_PATCH + i] * c[i][j] * (double)w[b * WHITEN_PATCH + j];
            assert_close(sum, a == b ? values[a] / (values[a] + 1e-2) : 0.0, 1e-5);
            assert_true(w[(WHITEN_PATCH + a) * WHITEN_PATCH + b] == -w[a * WHITEN_PATCH + b]);
        }
}

static void it_learns_and_reports_its_epochs(void **state)
{
    const struct workload_options options = tiny_options(2);
    void *tiny = open_tiny(&options, 1);
    struct workload_progress p;
    struct workload_score score;
    double first_loss;

    (void)state;
    p = train_on(tiny);
    assert_close(p.epoch, 1.0, 0.0);
    assert_int_equal(p.step, TINY_IMAGES / 32);
    assert_int_equal(p.step_count, 20);
    assert_true(p.has_loss && !p.done);
    first_loss = p.loss;
    score = evaluate(tiny);
    assert_int_equal(score.views, 6);
    assert_int_equal(score.total, TINY_IMAGES);
    p = train_on(tiny);
    assert_close(p.epoch, 2.0, 0.0);
    p = train_on(tiny);
    assert_close(p.epoch, 2.5, 0.0);
    assert_int_equal(p.step, 20);
    assert_true(p.done);
    assert_true(p.loss < first_loss);
    score = evaluate(tiny);
    assert_int_equal(score.views, 6);
    assert_true(score.correct > TINY_IMAGES / 4); /* chance is a tenth */
    workload_cifar10_tiny.close(tiny);
}

static void train_thrice(const char *recipe, enum workload_precision precision)
{
    static const char *const names[] = {"a.safetensors", "b.safetensors", "c.safetensors"};

    for (int run = 0; run < 3; run++) {
        struct workload_options options = tiny_options(run == 1 ? 1 : 2);
        void *tiny;

        options.recipe = recipe;
        options.precision = precision;
        tiny = open_tiny(&options, run == 2 ? 8 : 7);
        while (!train_on(tiny).done)
            (void)evaluate(tiny); /* must not disturb the training */
        save(tiny, names[run]);
        workload_cifar10_tiny.close(tiny);
    }
    assert_same_file(names[0], names[1]);
}

static void the_same_seed_gives_the_same_file(void **state)
{
    (void)state;
    train_thrice("cifar10-tiny", WORKLOAD_PRECISION_F32);
    train_thrice("cifar10-tiny-muon", WORKLOAD_PRECISION_F32);
}

static void so_it_does_in_bf16(void **state)
{
    (void)state;
    if ((cpu_isa_detect() & ISA_AVX512_BF16) == 0)
        skip();
    train_thrice("cifar10-tiny", WORKLOAD_PRECISION_BF16);
    train_thrice("cifar10-tiny-muon", WORKLOAD_PRECISION_BF16);
}

/* Losses of every step. The first is of the same weights and images: it differs by roundings to 8 bits alone, each 2^-8 of a
 * value, which average out over 32 images. */
static void bf16_learns_as_f32_does(void **state)
{
    double mean[2] = {0.0, 0.0}, first[2];

    (void)state;
    if ((cpu_isa_detect() & ISA_AVX512_BF16) == 0)
        skip();
    for (int i = 0; i < 2; i++) {
        struct workload_options options = tiny_options(2);
        const float *log;
        int64_t steps;
        void *tiny;

        options.precision = i == 0 ? WORKLOAD_PRECISION_F32 : WORKLOAD_PRECISION_BF16;
        tiny = open_tiny(&options, 7);
        while (!train_on(tiny).done)
            ;
        log = cifar10_read_log(tiny);
        steps = ((struct cifar10_state *)tiny)->step;
        first[i] = (double)log[0];
        for (int64_t step = 0; step < steps; step++)
            mean[i] += (double)log[step * LOG_COLUMNS] / (double)steps;
        workload_cifar10_tiny.close(tiny);
    }
    assert_close(first[1], first[0], 0.01);
    assert_close(mean[1], mean[0], 0.1);
    assert_true(first[1] != first[0]); /* else it was not computed in bf16 */
}

static void resume_from_the_first_epoch(const char *recipe)
{
    struct workload_options options = tiny_options(2);
    void *tiny;
    struct workload_progress progress = {0};
    struct error err = {0};

    options.recipe = recipe;
    tiny = open_tiny(&options, 7);
    (void)train_on(tiny);
    save(tiny, "b.safetensors");
    while (!train_on(tiny).done)
        continue;
    save(tiny, "a.safetensors");
    workload_cifar10_tiny.close(tiny);

    tiny = open_tiny(&options, 7);
    assert_int_equal(workload_cifar10_tiny.resume(tiny, path_of("b.safetensors"), &progress, &err),
                     ST_OK);
    assert_int_equal(progress.step, TINY_IMAGES / 32);
    assert_close(progress.epoch, 1.0, 0.0);
    assert_false(progress.has_loss);
    while (!train_on(tiny).done)
        continue;
    save(tiny, "c.safetensors");
    workload_cifar10_tiny.close(tiny);
    assert_same_file("a.safetensors", "c.safetensors");
}

static void a_resumed_run_ends_with_the_same_bits(void **state)
{
    (void)state;
    resume_from_the_first_epoch("cifar10-tiny");
    resume_from_the_first_epoch("cifar10-tiny-muon");
}

/* Muon moves the filters and nothing averages; the entry says so. */
static void muon_learns_and_is_named(void **state)
{
    struct workload_options options = tiny_options(2);
    struct workload_progress p;
    struct error err = {0};
    double first_loss;
    struct buf out;
    json_t *object;
    void *tiny;

    (void)state;
    options.recipe = "cifar10-tiny-muon";
    tiny = open_tiny(&options, 7);
    p = train_on(tiny);
    first_loss = p.loss;
    while (!p.done)
        p = train_on(tiny);
    print_message("    first epoch %.4f last %.4f correct %lld of %d\n", first_loss, p.loss,
                  (long long)evaluate(tiny).correct, TINY_IMAGES);
    assert_true(p.loss < first_loss);
    assert_true(evaluate(tiny).correct > TINY_IMAGES / 4); /* chance is a tenth */
    buf_init(&out, 1 << 16);
    assert_int_equal(workload_cifar10_tiny.describe(tiny, &out, &err), ST_OK);
    object = json_loadb(out.data, out.len, JSON_REJECT_DUPLICATES, NULL);
    assert_true(strncmp(json_string_value(json_object_get(object, "optimizer")), "Muon", 4) == 0);
    assert_close(json_real_value(json_object_get(object, "learning_rate")), 0.205, 1e-9);
    assert_close(json_real_value(json_object_get(object, "momentum")), 0.655, 1e-9);
    json_decref(object);
    buf_fini(&out);
    workload_cifar10_tiny.close(tiny);
}

static void a_foreign_checkpoint_is_refused(void **state)
{
    const struct workload_options options = tiny_options(1);
    struct workload_options fewer = options;
    const float number = 1.0f;
    const struct safetensors_tensor tensor = {
        .name = "x", .dtype = SAFETENSORS_F32, .data = &number, .bytes = sizeof number};
    const struct safetensors_content content = {.tensors = &tensor, .tensor_count = 1};
    struct workload_progress progress;
    struct error err = {0};
    void *tiny = open_tiny(&options, 7);

    (void)state;
    save(tiny, "a.safetensors");
    workload_cifar10_tiny.close(tiny);
    tiny = open_tiny(&options, 8);
    assert_int_equal(workload_cifar10_tiny.resume(tiny, path_of("a.safetensors"), &progress, &err),
                     ST_INVALID);
    assert_string_equal(err.field, "seed");
    memset(&err, 0, sizeof err);
    assert_int_equal(safetensors_write(path_of("b.safetensors"), &content, &err), ST_OK);
    assert_int_equal(workload_cifar10_tiny.resume(tiny, path_of("b.safetensors"), &progress, &err),
                     ST_INVALID);
    memset(&err, 0, sizeof err);
    assert_int_equal(workload_cifar10_tiny.resume(tiny, path_of("none"), &progress, &err),
                     ST_NOT_FOUND);
    workload_cifar10_tiny.close(tiny);
    fewer.image_limit = 100; /* other epochs, another schedule */
    tiny = open_tiny(&fewer, 7);
    memset(&err, 0, sizeof err);
    assert_int_equal(workload_cifar10_tiny.resume(tiny, path_of("a.safetensors"), &progress, &err),
                     ST_INVALID);
    assert_string_equal(err.field, "train_images");
    workload_cifar10_tiny.close(tiny);
}

static void a_checkpoint_speaks_pytorch(void **state)
{
    const struct workload_options options = tiny_options(1);
    const struct safetensors_tensor *conv, *linear, *variance;
    struct safetensors *file = NULL;
    struct error err = {0};
    void *tiny = open_tiny(&options, 3);
    const float *w;

    (void)state;
    save(tiny, "a.safetensors");
    workload_cifar10_tiny.close(tiny);
    assert_int_equal(safetensors_open(path_of("a.safetensors"), &file, &err), ST_OK);
    conv = safetensors_find(file, "2.conv1.weight");
    assert_non_null(conv);
    assert_int_equal(conv->dim[0], 8); /* OIHW */
    assert_int_equal(conv->dim[1], 24);
    assert_int_equal(conv->dim[2], 3);
    w = conv->data;
    for (size_t k = 0; k < 8; k++) /* identity filters: 1 at [k][k][1][1], else 0 */
        for (size_t i = 0; i < (size_t)24 * 9; i++)
            assert_true(w[k * 24 * 9 + i] == (i == k * 9 + 4 ? 1.0f : 0.0f));
    linear = safetensors_find(file, "7.weight");
    assert_non_null(linear);
    assert_int_equal(linear->dim[0], 10); /* [out,in] */
    assert_int_equal(linear->dim[1], 16);
    variance = safetensors_find(file, "ema.4.norm2.running_var");
    assert_non_null(variance);
    assert_true(((const float *)variance->data)[0] == 1.0f);
    assert_non_null(safetensors_find(file, "opt.0.bias.m"));
    assert_null(safetensors_find(file, "train.images"));
    assert_null(safetensors_find(file, "hyper"));
    assert_string_equal(safetensors_find_meta(file, "seed"), "3");
    assert_string_equal(safetensors_find_meta(file, "recipe"), "cifar10-tiny");
    safetensors_close(file);
}

static void write_zeros(struct cifar10_state *tiny, const char *name)
{
    struct var *var = store_find(tiny->store, name);
    void *zeros = calloc(1, (size_t)var->bytes);

    store_write(tiny->store, var, zeros);
    free(zeros);
}

/* With a last layer of zeros all logits are equal, the first class wins, and
 * its images are known; the last batch is not full. */
static void evaluation_counts_every_image_once(void **state)
{
    const struct workload_options options = tiny_options(2);
    const struct workload_control control = {0};
    struct cifar10_state *tiny = open_tiny(&options, 1);
    struct error err = {0};
    int64_t want = 0, correct = 0;

    (void)state;
    assert_int_not_equal(tiny->shape.test_count % tiny->shape.eval_batch, 0);
    for (uint32_t n = 0; n < TINY_IMAGES; n++)
        want += (n * 7 + CIFAR10_FILE_COUNT - 1) % CIFAR10_CLASS_COUNT == 0 ? 1 : 0;
    write_zeros(tiny, "7.weight");
    assert_int_equal(cifar10_count_correct(tiny, &control, &correct, &err), ST_OK);
    assert_int_equal(correct, want);
    workload_cifar10_tiny.close(tiny);
}

/* The tiny recipe trains the whitening bias for one epoch: then its momentum
 * stands still, others move. */
static void a_frozen_bias_keeps_its_momentum(void **state)
{
    static const char *const names[2] = {"opt.0.bias.m", "opt.2.norm1.bias.m"};
    const struct workload_options options = tiny_options(1);
    struct cifar10_state *tiny = open_tiny(&options, 1);
    float before[2][24], after[2][24];

    (void)state;
    (void)train_on(tiny);
    for (size_t i = 0; i < 2; i++)
        store_read(tiny->store, store_find(tiny->store, names[i]), before[i]);
    assert_true(before[0][0] != 0.0f);
    while (!train_on(tiny).done)
        continue;
    for (size_t i = 0; i < 2; i++)
        store_read(tiny->store, store_find(tiny->store, names[i]), after[i]);
    assert_memory_equal(before[0], after[0], sizeof before[0]);
    assert_memory_not_equal(before[1], after[1], 8 * sizeof before[1][0]);
    workload_cifar10_tiny.close(tiny);
}

/* 0 as airbench94 has it; with Muon PyTorch's default, uniform within 1 / sqrt(12). */
static void the_whitening_bias_starts_as_its_recipe_says(void **state)
{
    static const char *const recipes[2] = {"cifar10-tiny", "cifar10-tiny-muon"};
    float bias[2][24], low = 1.0f, high = -1.0f;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct workload_options options = tiny_options(1);
        struct cifar10_state *tiny;

        options.recipe = recipes[i];
        tiny = open_tiny(&options, 1);
        store_read(tiny->store, store_find(tiny->store, "0.bias"), bias[i]);
        workload_cifar10_tiny.close(tiny);
    }
    for (size_t c = 0; c < 24; c++) {
        assert_true(bias[0][c] == 0.0f);
        low = bias[1][c] < low ? bias[1][c] : low;
        high = bias[1][c] > high ? bias[1][c] : high;
    }
    assert_true(low >= -0.288676f && low < -0.1f);
    assert_true(high <= 0.288676f && high > 0.1f);
}

static void max_epochs_ends_early_on_the_same_schedule(void **state)
{
    struct workload_options options = tiny_options(1);
    struct cifar10_state *tiny;
    struct workload_progress p;
    float short_run[20 * LOG_COLUMNS], long_run[20 * LOG_COLUMNS];

    (void)state;
    tiny = open_tiny(&options, 4);
    while (!train_on(tiny).done)
        continue;
    memcpy(long_run, cifar10_read_log(tiny), sizeof long_run);
    workload_cifar10_tiny.close(tiny);
    options.has_max_epochs = true;
    options.max_epochs = 1.5;
    tiny = open_tiny(&options, 4);
    p = train_on(tiny);
    assert_false(p.done);
    assert_int_equal(p.step_count, 12);
    p = train_on(tiny);
    assert_true(p.done);
    assert_close(p.epoch, 1.5, 0.0);
    memcpy(short_run, cifar10_read_log(tiny), sizeof short_run);
    assert_memory_equal(short_run, long_run, sizeof(float) * 12 * LOG_COLUMNS);
    workload_cifar10_tiny.close(tiny);
}

static bool stop_at_once(void *context)
{
    (void)context;
    return true;
}

static void a_stop_cancels(void **state)
{
    const struct workload_control control = {.should_stop = stop_at_once};
    const struct workload_options options = tiny_options(1);
    struct workload_progress progress;
    struct workload_score score;
    struct error err = {0};
    void *tiny = open_tiny(&options, 4);

    (void)state;
    assert_int_equal(workload_cifar10_tiny.train(tiny, &control, &progress, &err), ST_CANCELLED);
    memset(&err, 0, sizeof err);
    assert_int_equal(workload_cifar10_tiny.evaluate(tiny, &control, &score, &err), ST_CANCELLED);
    workload_cifar10_tiny.close(tiny);
}

/* A weight that is not finite makes the loss so: the first such step is named.
 */
static void a_diverged_run_says_at_which_step(void **state)
{
    const struct workload_control control = {0};
    const struct workload_options options = tiny_options(1);
    struct cifar10_state *tiny = open_tiny(&options, 4);
    struct workload_progress progress;
    struct error err = {0};
    float weights[16 * 10];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(weights); i++)
        weights[i] = NAN;
    store_write(tiny->store, store_find(tiny->store, "7.weight"), weights);
    assert_int_equal(workload_cifar10_tiny.train(tiny, &control, &progress, &err), ST_INVALID);
    assert_non_null(strstr(err.detail, "step 1 "));
    workload_cifar10_tiny.close(tiny);
}

static void what_is_not_there_is_refused(void **state)
{
    struct workload_options options;
    struct error err = {0};
    void *tiny = NULL;

    (void)state;
    options = tiny_options(1);
    options.recipe = "nothing";
    assert_int_equal(workload_cifar10.open(&options, &tiny, &err), ST_NOT_FOUND);
    options = tiny_options(1);
    options.device = "cuda";
    memset(&err, 0, sizeof err);
    assert_int_equal(workload_cifar10.open(&options, &tiny, &err), ST_UNSUPPORTED);
    assert_string_equal(err.field, "device");
    options = tiny_options(1);
    options.isa = "scalar";
    options.precision = WORKLOAD_PRECISION_BF16;
    memset(&err, 0, sizeof err);
    assert_int_equal(workload_cifar10.open(&options, &tiny, &err), ST_UNSUPPORTED);
    assert_string_equal(err.field, "precision");
    assert_non_null(strstr(err.detail, "scalar"));
    options = tiny_options(1);
    options.isa = "mmx";
    memset(&err, 0, sizeof err);
    assert_int_equal(workload_cifar10.open(&options, &tiny, &err), ST_USAGE);
    options = tiny_options(1); /* the real recipes take the official files alone */
    options.recipe = "cifar10-quick";
    memset(&err, 0, sizeof err);
    assert_int_equal(workload_cifar10.open(&options, &tiny, &err), ST_INVALID);
}

static void it_describes_what_was_chosen(void **state)
{
    static const char *const members[] = {"model",     "recipe",      "device",     "isa",
                                          "precision", "plan_sha256", "data_sha256"};
    const struct workload_options options = tiny_options(2);
    void *tiny = open_tiny(&options, 1);
    struct error err = {0};
    struct buf out;
    json_t *object;

    (void)state;
    buf_init(&out, 1 << 16);
    assert_int_equal(workload_cifar10_tiny.describe(tiny, &out, &err), ST_OK);
    object = json_loadb(out.data, out.len, JSON_REJECT_DUPLICATES, NULL);
    assert_true(json_is_object(object));
    for (size_t i = 0; i < ARRAY_LEN(members); i++)
        assert_true(json_is_string(json_object_get(object, members[i])));
    assert_int_equal(json_integer_value(json_object_get(object, "threads")), 2);
    assert_int_equal(json_integer_value(json_object_get(object, "batch")), 32);
    assert_int_equal(strlen(json_string_value(json_object_get(object, "plan_sha256"))), 64);
    /* 24*12+24 + 9*(24*8+8*8+8*16+16*16+16*16+16*16) + 4*(8+16+16) + 160 */
    assert_int_equal(json_integer_value(json_object_get(object, "parameters")), 11000);
    assert_null(memchr(out.data, '\n', out.len));
    json_decref(object);
    buf_fini(&out);
    workload_cifar10_tiny.close(tiny);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schedules_are_the_papers),
        cmocka_unit_test(schedules_with_muon_fall_to_zero),
        cmocka_unit_test(eigenvectors_rebuild_their_matrix),
        cmocka_unit_test(whitened_patches_are_uncorrelated),
        cmocka_unit_test(it_learns_and_reports_its_epochs),
        cmocka_unit_test(the_same_seed_gives_the_same_file),
        cmocka_unit_test(so_it_does_in_bf16),
        cmocka_unit_test(bf16_learns_as_f32_does),
        cmocka_unit_test(a_resumed_run_ends_with_the_same_bits),
        cmocka_unit_test(muon_learns_and_is_named),
        cmocka_unit_test(a_foreign_checkpoint_is_refused),
        cmocka_unit_test(a_checkpoint_speaks_pytorch),
        cmocka_unit_test(evaluation_counts_every_image_once),
        cmocka_unit_test(a_frozen_bias_keeps_its_momentum),
        cmocka_unit_test(the_whitening_bias_starts_as_its_recipe_says),
        cmocka_unit_test(max_epochs_ends_early_on_the_same_schedule),
        cmocka_unit_test(a_stop_cancels),
        cmocka_unit_test(a_diverged_run_says_at_which_step),
        cmocka_unit_test(what_is_not_there_is_refused),
        cmocka_unit_test(it_describes_what_was_chosen),
    };

    return cmocka_run_group_tests_name("workload_cifar10", tests, make_data, remove_data);
}
