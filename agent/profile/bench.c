/* agent/profile/bench.c: the command `bench`: times each kernel on the layers of the workloads. Every run of a kernel
 * stands between a run of the multiply-add ceiling and one of the copy ceiling, on the same threads: on a machine that is
 * shared or throttles, only figures of one interval may be divided. The ceilings run about as long as the kernel does: a short
 * burst may slip through between other processes' turns, a long kernel cannot. Medians over the runs; spread is (max - min) / median. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/backend/cpu/pool.h"
#include "agent/command.h"
#include "agent/data/files.h"
#include "agent/profile/bench_cases.h"
#include "agent/profile/bench_steps.h"
#include "agent/profile/ceiling.h"
#include "agent/profile/figures.h"
#include "agent/workload/precision.h"
#include "common/build.h"
#include "common/json.h"
#include "common/opt.h"

#define RUNS_MAX          101
#define BENCH_THREADS_MAX 256                   /* FMA_ITEMS_LEAST of each fit FMA_ITEMS_MAX */
#define COPY_BYTES        (UINT64_C(128) << 20) /* far beyond the share of a cache that a core has */
#define FMA_ITEMS_LEAST   16                    /* about 5 ms of one thread */
#define FMA_ITEMS_MAX     4096
#define COPIES_MAX        8
#define STEPS_MAX         32
#define ALIGNMENT_BYTES   64
#define SINK_FLOATS       16 /* of a burst: a cache line of its own */

enum { GROUP_FMA, GROUP_KERNEL, GROUP_COPY, GROUP_COUNT };

struct bench_options {
    const char *ops, *json_path, *isa_word, *precision_word;
    int64_t threads, batch, runs;
    uint32_t isa;
    enum workload_precision precision;
    enum dtype activations;
    const char *workload, *recipe, *data_dir; /* whole steps of it instead of kernels */
    bool profile;
};

struct bench {
    struct bench_options options;
    struct pool *pool;
    struct step *steps; /* STEPS_MAX */
    struct kernel_args fma_args;
    unsigned char *copy_from, *copy_to;
    json_t *rows;
    int64_t fma_items, copies; /* of a run, so that it takes as long as the kernel's */
};

struct figures {                                   /* medians */
    double seconds, spread, fma_flops, copy_bytes; /* the last two a second */
};

static enum status bench_open(struct bench *bench, struct error *err)
{
    if (bench->options.threads == 0)
        bench->options.threads = pool_processors();
    bench->steps = aligned_alloc(ALIGNMENT_BYTES, STEPS_MAX * sizeof *bench->steps);
    bench->fma_args.scratch =
        aligned_alloc(ALIGNMENT_BYTES, (size_t)FMA_ITEMS_MAX * SINK_FLOATS * sizeof(float));
    bench->copy_from = aligned_alloc(ALIGNMENT_BYTES, COPY_BYTES);
    bench->copy_to = aligned_alloc(ALIGNMENT_BYTES, COPY_BYTES);
    bench->rows = json_array();
    if (bench->steps == NULL || bench->fma_args.scratch == NULL || bench->copy_from == NULL ||
        bench->copy_to == NULL || bench->rows == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for the bench");
    memset(bench->copy_from, 1, COPY_BYTES);
    memset(bench->copy_to, 0, COPY_BYTES);
    return pool_create((int)bench->options.threads, &bench->pool, err);
}

static void bench_close(struct bench *bench)
{
    pool_destroy(bench->pool);
    free(bench->steps);
    free(bench->fma_args.scratch);
    free(bench->copy_from);
    free(bench->copy_to);
    json_decref(bench->rows);
}

/* fma, the phases of the kernel, copy; returns the count. */
static size_t make_steps(struct bench *bench, const struct bench_call *call)
{
    const int phases = call->kernel->phases != NULL ? call->kernel->phases(&call->args) : 1;
    struct step *step = bench->steps;

    memset(bench->steps, 0, STEPS_MAX * sizeof *bench->steps);
    *step++ = (struct step){.kind = STEP_WORK,
                            .barrier = true,
                            .group = GROUP_FMA,
                            .kernel = ceiling_fma_kernel(bench->options.isa, call->activations),
                            .args = &bench->fma_args,
                            .items = bench->fma_items};
    for (int phase = 0; phase < phases && phase < STEPS_MAX - 1 - COPIES_MAX; phase++)
        *step++ = (struct step){
            .kind = STEP_WORK,
            .barrier = true,
            .group = GROUP_KERNEL,
            .phase = phase,
            .kernel = call->kernel,
            .args = &call->args,
            .items = call->kernel->items != NULL ? call->kernel->items(&call->args, phase) : 1};
    for (int64_t i = 0; i < bench->copies; i++)
        *step++ = (struct step){.kind = STEP_COPY,
                                .barrier = true,
                                .group = GROUP_COPY,
                                .from = bench->copy_from,
                                .to = bench->copy_to,
                                .bytes = COPY_BYTES,
                                .items = step_slices(COPY_BYTES)};
    return (size_t)(step - bench->steps);
}

static void run_once(struct bench *bench, const struct bench_call *call,
                     double seconds[GROUP_COUNT])
{
    const struct job job = {
        .steps = bench->steps, .count = make_steps(bench, call), .seconds = seconds};

    for (int g = 0; g < GROUP_COUNT; g++)
        seconds[g] = 0.0;
    pool_post(bench->pool, &job);
    pool_wait(bench->pool);
}

/* Lets the ceilings take about as long as the kernel took. */
static void size_ceilings(struct bench *bench, const double seconds[GROUP_COUNT])
{
    const double least = (double)(FMA_ITEMS_LEAST * bench->options.threads);
    const double items = least * seconds[GROUP_KERNEL] / seconds[GROUP_FMA];
    const double copies = seconds[GROUP_KERNEL] / seconds[GROUP_COPY];

    bench->fma_items = items < least           ? (int64_t)least
                       : items < FMA_ITEMS_MAX ? (int64_t)items
                                               : FMA_ITEMS_MAX;
    bench->copies = copies < 1.0 ? 1 : copies < COPIES_MAX ? (int64_t)copies : COPIES_MAX;
}

static struct figures measure(struct bench *bench, const struct bench_call *call)
{
    const int64_t runs = bench->options.runs;
    double times[GROUP_COUNT][RUNS_MAX], seconds[GROUP_COUNT];
    struct figures figures;

    bench->fma_items = FMA_ITEMS_LEAST * bench->options.threads;
    bench->copies = 1;
    run_once(bench, call, seconds); /* warms caches and clocks, too */
    size_ceilings(bench, seconds);
    for (int64_t run = 0; run < runs; run++) {
        run_once(bench, call, seconds);
        for (int g = 0; g < GROUP_COUNT; g++)
            times[g][run] = seconds[g];
    }
    for (int g = 0; g < GROUP_COUNT; g++)
        figures_sort(times[g], runs);
    figures.seconds = times[GROUP_KERNEL][runs / 2];
    figures.spread = figures_spread(times[GROUP_KERNEL], runs, figures.seconds);
    figures.fma_flops = ceiling_fma_flops(bench->options.isa, call->activations) *
                        (double)bench->fma_items / times[GROUP_FMA][runs / 2];
    figures.copy_bytes =
        2.0 * (double)COPY_BYTES * (double)bench->copies / times[GROUP_COPY][runs / 2];
    return figures;
}

static void print_row(const struct bench_call *call, const struct figures *f)
{
    const double flops = call->flops / f->seconds, bytes = call->bytes / f->seconds;

    (void)printf("%-19s %-27s %-27s %8.3f %5.1f%%", op_info(call->op.kind)->name, call->shape,
                 call->kernel->name, f->seconds * 1e3, 100.0 * f->spread);
    if (call->flops > 0.0)
        (void)printf(" %8.1f %5.1f%%", flops * 1e-9, 100.0 * flops / f->fma_flops);
    else
        (void)printf(" %8s %6s", "-", "-");
    (void)printf(" %7.1f %5.1f%%\n", bytes * 1e-9, 100.0 * bytes / f->copy_bytes);
    (void)fflush(stdout);
}

static void add_json_row(struct bench *bench, const struct bench_call *call,
                         const struct figures *f)
{
    json_t *row =
        json_pack("{ss ss ss sf sf sf sf sf sf}", "op", op_info(call->op.kind)->name, "shape",
                  call->shape, "kernel", call->kernel->name, "seconds", f->seconds, "spread",
                  f->spread, "flops", call->flops, "bytes", call->bytes, "fma_ceiling_flops_per_s",
                  f->fma_flops, "copy_ceiling_bytes_per_s", f->copy_bytes);

    (void)json_array_append_new(bench->rows, row); /* checked by count when written */
}

/* What has no kernel for bf16 is timed in F32, as workloads run it. */
static enum status run_case(struct bench *bench, const struct bench_case *from, struct error *err)
{
    struct bench_call call = {0};
    enum status status = bench_call_init(&call, from, bench->options.batch, bench->options.isa,
                                         bench->options.activations, err);

    if (status == ST_OK && call.kernel->reference && call.activations == DT_BF16) {
        bench_call_fini(&call);
        status =
            bench_call_init(&call, from, bench->options.batch, bench->options.isa, DT_F32, err);
    }
    if (status == ST_OK && call.kernel->reference) { /* an oracle: minutes, and of no interest */
        (void)printf("%-19s %-27s not timed: the reference alone takes it (%s)\n",
                     op_info(from->kind)->name, call.shape, call.why);
    } else if (status == ST_OK) {
        const struct figures figures = measure(bench, &call);

        print_row(&call, &figures);
        add_json_row(bench, &call, &figures);
    }
    bench_call_fini(&call);
    return status;
}

/* Is `name` one of the words of a list with commas? NULL: all are. */
static bool list_has(const char *list, const char *name)
{
    struct str rest = str_from_cstr(list), part;
    bool more = true;

    if (list == NULL)
        return true;
    while (str_split_next(&rest, &more, ',', &part))
        if (str_eq_cstr(part, name))
            return true;
    return false;
}

/* Every word of --ops must name an op that is timed. */
static enum status check_ops(const char *list, struct error *err)
{
    struct str rest = str_from_cstr(list), part;
    bool more = true;
    size_t count;
    const struct bench_case *cases = bench_cases(&count);

    while (list != NULL && str_split_next(&rest, &more, ',', &part)) {
        bool known = false;

        for (size_t i = 0; i < count; i++)
            known = known || str_eq_cstr(part, op_info(cases[i].kind)->name);
        if (!known)
            return error_set(err, ST_USAGE, "ops", "bench has no op '%.*s'",
                             (int)(part.len < 64 ? part.len : 64), part.data);
    }
    return ST_OK;
}

static enum status write_json(struct bench *bench, struct error *err)
{
    json_t *root = json_pack(
        "{ss ss ss si si sO}", "build", build_id(), "isa", cpu_isa_name(bench->options.isa),
        "precision", dtype_name(bench->options.activations), "threads", (int)bench->options.threads,
        "batch", (int)bench->options.batch, "kernels", bench->rows);

    return figures_write_json(root, bench->options.json_path, err);
}

static enum status run_all(struct bench *bench, struct error *err)
{
    size_t count;
    const struct bench_case *cases = bench_cases(&count);
    enum status status = check_ops(bench->options.ops, err);

    if (status == ST_OK)
        status = bench_open(bench, err);
    if (status != ST_OK)
        return status;
    (void)printf("%d threads, %s, %s, batch %lld, median of %lld runs\n",
                 (int)bench->options.threads, cpu_isa_name(bench->options.isa),
                 dtype_name(bench->options.activations), (long long)bench->options.batch,
                 (long long)bench->options.runs);
    (void)printf("%-19s %-27s %-27s %8s %6s %8s %6s %7s %6s\n", "op", "shape", "kernel", "ms",
                 "spread", "GFLOP/s", "of FMA", "GB/s", "of cp");
    for (size_t i = 0; i < count && status == ST_OK; i++)
        if (list_has(bench->options.ops, op_info(cases[i].kind)->name))
            status = run_case(bench, &cases[i], err);
    if (status == ST_OK && bench->options.json_path != NULL)
        status = write_json(bench, err);
    return status;
}

static enum status run_steps(const struct bench_options *options, struct error *err)
{
    char cache[FILES_PATH_BYTES_MAX];
    const struct bench_steps steps = {
        .workload = options->workload,
        .recipe = options->recipe,
        .data_dir = options->data_dir != NULL ? options->data_dir : cache,
        .isa = options->isa_word,
        .precision = options->precision,
        .json_path = options->json_path,
        .threads = options->threads,
        .runs = options->runs,
        .profile = options->profile,
    };

    if (options->data_dir == NULL && files_cache_path(cache, options->workload, err) != ST_OK)
        return err->status;
    return bench_steps_run(&steps, err);
}

int command_bench(int argc, char *const *argv)
{
    struct bench bench = {
        .options = {.isa_word = "auto", .precision_word = "auto", .batch = 256, .runs = 7}};
    const struct opt opts[] = {
        {"ops", OPT_TEXT, &bench.options.ops, NULL, 0, 0, "LIST", "only these ops: conv2d,unary"},
        {"json", OPT_TEXT, &bench.options.json_path, NULL, 0, 0, "FILE", "write all figures there"},
        {"isa", OPT_TEXT, &bench.options.isa_word, NULL, 0, 0, "ISA",
         "auto, avx512-bf16, avx512, avx2 or scalar (default auto)"},
        {"precision", OPT_TEXT, &bench.options.precision_word, NULL, 0, 0, "auto|f32|bf16",
         "of activations, as training chooses it (default auto)"},
        {"steps", OPT_TEXT, &bench.options.workload, NULL, 0, 0, "WORKLOAD",
         "time whole training steps of it instead"},
        {"recipe", OPT_TEXT, &bench.options.recipe, NULL, 0, 0, "NAME",
         "with --steps: its recipe (default: the first)"},
        {"data", OPT_TEXT, &bench.options.data_dir, NULL, 0, 0, "DIR",
         "with --steps: its data set (default: the cache)"},
        {"profile", OPT_FLAG, &bench.options.profile, NULL, 0, 0, NULL,
         "with --steps: then the time of each group of a step"},
        {"threads", OPT_INT, &bench.options.threads, NULL, 0, BENCH_THREADS_MAX, "N",
         "threads; 0: all processors (default 0)"},
        {"batch", OPT_INT, &bench.options.batch, NULL, 1, 65536, "N", "images (default 256)"},
        {"runs", OPT_INT, &bench.options.runs, NULL, 1, RUNS_MAX, "N", "runs a kernel (default 7)"},
    };
    const struct opt_command command = {.program = AGENT_PROGRAM,
                                        .name = "bench",
                                        .arguments = "",
                                        .summary = "time each kernel beside this host's ceilings",
                                        .opts = opts,
                                        .opt_count = ARRAY_LEN(opts)};
    int argument_count, code;
    const char **arguments = opt_begin(&command, argc, argv, &argument_count, &code);
    struct error err = {0};
    enum status status;

    if (arguments == NULL)
        return code;
    free(arguments);
    status = cpu_isa_parse(bench.options.isa_word, &bench.options.isa, &err);
    if (status == ST_OK)
        status = precision_parse(bench.options.precision_word, &bench.options.precision, &err);
    if (status == ST_OK)
        status = precision_choose(bench.options.precision, bench.options.isa,
                                  &bench.options.activations, &err);
    if (status == ST_OK)
        status = bench.options.workload != NULL ? run_steps(&bench.options, &err)
                                                : run_all(&bench, &err);
    bench_close(&bench);
    if (status != ST_OK)
        (void)fprintf(stderr, "%s bench: %s\n", AGENT_PROGRAM, err.detail);
    return status_exit_code(status);
}
