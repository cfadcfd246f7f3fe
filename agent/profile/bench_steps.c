/* agent/profile/bench_steps.c: see bench_steps.h. A step is timed from the end of the one before to its own end, on the thread
 * that trains; between two steps, outside of both, the ceiling runs for about PROBE_SECONDS on threads of its own, so that
 * each step stands between two probes of the same moment. The first step warms caches and is not counted. */
#include "agent/profile/bench_steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/backend/backend.h"
#include "agent/backend/cpu/pool.h"
#include "agent/profile/ceiling.h"
#include "agent/profile/figures.h"
#include "agent/profile/step_profile.h"
#include "common/clock.h"
#include "common/json.h"
#include "common/str.h"

#define PROBE_SECONDS     0.03
#define PROBE_ITEMS_MAX   4096
#define SINK_FLOATS       16
#define RUNS_MAX          1000
#define FACTS_BYTES_MAX   65536
#define PROFILE_BYTES_MAX ((size_t)4 << 20)

/* What goes on between the steps. */
struct timing {
    struct pool *pool;
    struct kernel_args probe_args;
    uint32_t isa;
    enum dtype dtype;
    int64_t probe_items;
    int64_t begun_ns; /* of the step under way */
    int64_t runs, taken;
    double seconds[RUNS_MAX],
        ceiling[RUNS_MAX]; /* of step i; flops/s, the mean of the probes before and after */
    double probe;          /* the last one's */
};

static enum status time_workload(const struct bench_steps *options,
                                 const struct workload_ops *workload, struct timing *timing,
                                 struct error *err);
static enum status take_steps(const struct workload_ops *workload, void *state,
                              struct timing *timing, struct error *err);
static enum status open_timing(struct timing *timing, const struct bench_steps *options,
                               const json_t *facts, struct error *err);
static double run_probe(struct timing *timing);
static void on_step(void *context, int64_t step, int64_t step_count);
static bool should_stop(void *context);
static enum status report(const struct bench_steps *options, struct timing *timing,
                          const json_t *facts, double step_flops, struct error *err);
static enum status print_profile(const struct workload_ops *workload, void *state,
                                 struct error *err);
static double median_of(const double *numbers, int64_t count);

enum status bench_steps_run(const struct bench_steps *options, struct error *err)
{
    const struct workload_ops *workload = workload_find(options->workload);
    struct timing *timing;
    enum status status;

    if (workload == NULL || workload->step_program == NULL || workload->take_step == NULL)
        return error_set(err, ST_NOT_FOUND, "steps", "there is no workload '%.64s' to time",
                         options->workload);
    timing = calloc(1, sizeof *timing);
    if (timing == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for the bench");
    timing->runs = options->runs;
    status = time_workload(options, workload, timing, err);
    pool_destroy(timing->pool);
    free(timing->probe_args.scratch);
    free(timing);
    return status;
}

static enum status time_workload(const struct bench_steps *options,
                                 const struct workload_ops *workload, struct timing *timing,
                                 struct error *err)
{
    const struct workload_options open = {.recipe = options->recipe != NULL ? options->recipe
                                                                            : workload->recipes[0],
                                          .data_dir = options->data_dir,
                                          .device = "cpu",
                                          .isa = options->isa,
                                          .precision = options->precision,
                                          .threads = (int)options->threads,
                                          .fusion = true};
    json_t *facts = NULL;
    void *state = NULL;
    struct buf text;
    enum status status = workload->open(&open, &state, err);

    buf_init(&text, FACTS_BYTES_MAX);
    if (status == ST_OK)
        status = workload->start(state, 1, err);
    if (status == ST_OK)
        status = workload->describe(state, &text, err);
    if (status == ST_OK) {
        facts = json_loadb(text.data, text.len, 0, NULL);
        status = open_timing(timing, options, facts, err);
    }
    if (status == ST_OK)
        status = take_steps(workload, state, timing, err);
    if (status == ST_OK)
        status =
            report(options, timing, facts, (double)workload->step_program(state, 0)->flops, err);
    if (status == ST_OK && options->profile)
        status = print_profile(workload, state, err);
    workload->close(state);
    json_decref(facts);
    buf_fini(&text);
    return status;
}

static enum status take_steps(const struct workload_ops *workload, void *state,
                              struct timing *timing, struct error *err)
{
    const struct workload_control control = {should_stop, on_step, timing};
    struct workload_progress progress = {0};
    enum status status = ST_OK;

    timing->probe = run_probe(timing);
    timing->begun_ns = clock_mono_ns();
    while (status == ST_OK && timing->taken < timing->runs && !progress.done)
        status = workload->train(state, &control, &progress, err);
    if (status != ST_CANCELLED)
        return status;
    *err = (struct error){0}; /* should_stop said so */
    return ST_OK;
}

/* As many threads as the workload has, and what it multiplies. */
static enum status open_timing(struct timing *timing, const struct bench_steps *options,
                               const json_t *facts, struct error *err)
{
    const char *precision = json_string_value(json_object_get(facts, "precision"));
    const int threads = (int)json_integer_value(json_object_get(facts, "threads"));
    enum status status = cpu_isa_parse(options->isa, &timing->isa, err);

    if (status != ST_OK)
        return status;
    timing->dtype = precision != NULL && strcmp(precision, "bf16") == 0 ? DT_BF16 : DT_F32;
    timing->probe_items = threads;
    timing->probe_args.scratch = aligned_alloc(64, (size_t)PROBE_ITEMS_MAX * SINK_FLOATS * 4);
    if (timing->probe_args.scratch == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for the bench");
    status = pool_create(threads > 0 ? threads : 1, &timing->pool, err);
    if (status == ST_OK) { /* sizes the probe */
        const double flops = run_probe(timing);
        const double items = PROBE_SECONDS * flops / ceiling_fma_flops(timing->isa, timing->dtype);

        timing->probe_items = items < threads           ? threads
                              : items < PROBE_ITEMS_MAX ? (int64_t)items
                                                        : PROBE_ITEMS_MAX;
    }
    return status;
}

/* Flops a second. */
static double run_probe(struct timing *timing)
{
    struct step step = {.kind = STEP_WORK,
                        .barrier = true,
                        .kernel = ceiling_fma_kernel(timing->isa, timing->dtype),
                        .args = &timing->probe_args,
                        .items = timing->probe_items};
    const int64_t begun = clock_mono_ns();
    double seconds;

    pool_post(timing->pool, &(struct job){.steps = &step, .count = 1});
    pool_wait(timing->pool);
    seconds = (double)(clock_mono_ns() - begun) * 1e-9;
    return ceiling_fma_flops(timing->isa, timing->dtype) * (double)timing->probe_items / seconds;
}

static void on_step(void *context, int64_t step, int64_t step_count)
{
    struct timing *timing = context;
    const double seconds = (double)(clock_mono_ns() - timing->begun_ns) * 1e-9;
    const double before = timing->probe;

    (void)step_count;
    timing->probe = run_probe(timing);
    if (step > 1 && timing->taken < timing->runs) {
        timing->seconds[timing->taken] = seconds;
        timing->ceiling[timing->taken++] = (before + timing->probe) / 2.0;
    }
    timing->begun_ns = clock_mono_ns();
}

static bool should_stop(void *context)
{
    const struct timing *timing = context;

    return timing->taken >= timing->runs;
}

static enum status report(const struct bench_steps *options, struct timing *timing,
                          const json_t *facts, double step_flops, struct error *err)
{
    const double batch = (double)json_integer_value(json_object_get(facts, "batch"));
    double share[RUNS_MAX], seconds, spread;
    json_t *root, *times = json_array();

    for (int64_t i = 0; i < timing->taken; i++) {
        share[i] = step_flops / timing->seconds[i] / timing->ceiling[i];
        (void)json_array_append_new(times, json_real(timing->seconds[i]));
    }
    if (timing->taken == 0) {
        json_decref(times);
        return error_set(err, ST_INVALID, "steps", "the recipe has too few steps to time");
    }
    seconds = median_of(timing->seconds, timing->taken);
    figures_sort(timing->seconds, timing->taken);
    spread = figures_spread(timing->seconds, timing->taken, seconds);
    (void)printf("%s, %s, %s, %lld threads: median of %lld steps %.4f s (spread %.0f %%), %.1f "
                 "images/s, %.1f GFLOP/s, %.1f %% of the multiply-adds of the same moment\n",
                 json_string_value(json_object_get(facts, "recipe")),
                 json_string_value(json_object_get(facts, "isa")), dtype_name(timing->dtype),
                 (long long)json_integer_value(json_object_get(facts, "threads")),
                 (long long)timing->taken, seconds, 100.0 * spread, batch / seconds,
                 step_flops / seconds * 1e-9, 100.0 * median_of(share, timing->taken));
    if (options->json_path == NULL) {
        json_decref(times);
        return ST_OK;
    }
    root = json_pack("{sO so sf sf sf sf sf}", "facts", facts, "step_seconds", times, "median_s",
                     seconds, "images_per_s", batch / seconds, "step_flops", step_flops,
                     "ceiling_flops_per_s", median_of(timing->ceiling, timing->taken),
                     "share_of_ceiling", median_of(share, timing->taken));
    return figures_write_json(root, options->json_path, err);
}

static enum status print_profile(const struct workload_ops *workload, void *state,
                                 struct error *err)
{
    const struct step_profile_source source = {.ops = workload, .state = state, .fusion = true};
    struct run_profile profile;
    struct arena arena;
    enum status status;

    arena_init(&arena, PROFILE_BYTES_MAX);
    status = step_profile_measure(&source, &arena, &profile, err);
    if (status == ST_OK)
        step_profile_print(&profile, stdout);
    arena_fini(&arena);
    return status;
}

static double median_of(const double *numbers, int64_t count)
{
    double sorted[RUNS_MAX];

    memcpy(sorted, numbers, (size_t)count * sizeof *sorted);
    figures_sort(sorted, count);
    return figures_median(sorted, count);
}
