/* agent/profile/probe.c: see probe.h. Every probe is one job of the pool, an item a thread; its rounds are set so
 * that it takes PROBE_SECONDS: long enough that no item slips in behind another one on the same thread. */
#include "agent/profile/probe.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/backend/cpu/pool.h"
#include "agent/profile/ceiling.h"
#include "common/clock.h"

#define PROBE_SECONDS    0.008
#define ALIGNMENT_BYTES  (INT64_C(2) << 20) /* huge pages */
#define KIBIBYTE         1024
#define MEMORY_BYTES_MIN (INT64_C(128) << 20) /* of all threads together */
#define MEMORY_BYTES_MAX (INT64_C(1) << 30)
#define MEMORY_PER_CACHE 4  /* times the last cache */
#define MEMORY_SHARE     16 /* at most one part in so many of the machine's */
#define ROUNDS_MAX       1000000
#define WALKS            2 /* reading, copying */
#define FMA_ITEMS_MAX    4096
#define SIZING_TRIES     5
#define GROWTH           4 /* from one try at a size to the next */

struct walk {
    struct fit fit;
    struct kernel_args args;
    const struct kernel *kernel;
    double bytes_per_s; /* the greatest so far */
};

struct probe {
    struct pool *pool;
    int threads;
    uint32_t isa;
    unsigned char *memory; /* stride_bytes a thread */
    int64_t stride_bytes;
    float *sinks;
    int64_t capacity[LEVEL_COUNT];
    bool has_level[LEVEL_COUNT], has_peak[PEAK_COUNT];
    struct walk walks[LEVEL_COUNT][WALKS];
    int64_t fma_items[PEAK_COUNT];
    double flops_per_s[PEAK_COUNT];
    int64_t rounds;
};

static void choose_levels(struct probe *probe, const struct caches *caches,
                          int64_t piece[LEVEL_COUNT]);
static enum status take_memory(struct probe *probe, struct error *err);
static void set_up_walks(struct probe *probe, const int64_t piece[LEVEL_COUNT]);
static void set_up_peaks(struct probe *probe);
static double run(struct probe *probe, struct step *step);
static double run_walk(struct probe *probe, struct walk *walk);
static double run_peak(struct probe *probe, enum peak_type type);

enum status probe_open(int threads, uint32_t isa, const struct caches *caches, struct probe **probe,
                       struct error *err)
{
    struct probe *made = calloc(1, sizeof *made);
    int64_t piece[LEVEL_COUNT];
    enum status status;

    assert(threads > 0);
    if (made == NULL)
        return error_set(err, ST_NO_MEMORY, "probe", "no memory to measure this host");
    made->threads = threads;
    made->isa = isa;
    choose_levels(made, caches, piece);
    made->stride_bytes = piece[LEVEL_MEMORY];
    status = pool_create(threads, &made->pool, err);
    if (status == ST_OK)
        status = take_memory(made, err);
    if (status != ST_OK) {
        probe_close(made);
        return status;
    }
    set_up_walks(made, piece);
    set_up_peaks(made);
    *probe = made;
    return ST_OK;
}

void probe_close(struct probe *probe)
{
    if (probe == NULL)
        return;
    pool_destroy(probe->pool);
    free(probe->memory);
    free(probe->sinks);
    free(probe);
}

/* Pieces of half a level: they fit, beside what else lies there, and not into the level before. */
static void choose_levels(struct probe *probe, const struct caches *caches,
                          int64_t piece[LEVEL_COUNT])
{
    const long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    const int64_t unit = 2 * (int64_t)KIBIBYTE;
    int64_t before = 0, memory;

    for (int i = LEVEL_L1; i < LEVEL_MEMORY; i++) {
        piece[i] = caches->bytes[i] / 2 / probe->threads / unit * unit;
        probe->has_level[i] = piece[i] >= unit && caches->bytes[i] >= 2 * before;
        probe->capacity[i] = caches->bytes[i];
        if (probe->has_level[i])
            before = caches->bytes[i];
    }
    memory = MEMORY_PER_CACHE * before;
    memory = memory < MEMORY_BYTES_MIN ? MEMORY_BYTES_MIN : memory;
    memory = memory > MEMORY_BYTES_MAX ? MEMORY_BYTES_MAX : memory;
    if (pages > 0 && page_bytes > 0 && memory > (int64_t)pages * page_bytes / MEMORY_SHARE)
        memory = (int64_t)pages * page_bytes / MEMORY_SHARE;
    piece[LEVEL_MEMORY] = (memory / probe->threads / ALIGNMENT_BYTES + 1) * ALIGNMENT_BYTES;
    for (int i = LEVEL_L1; i < LEVEL_MEMORY; i++)
        probe->has_level[i] = probe->has_level[i] && piece[i] <= piece[LEVEL_MEMORY];
    probe->has_level[LEVEL_MEMORY] = true;
}

/* Written once: a page that nobody has written is the one page of zeros, and lies in a cache. */
static enum status take_memory(struct probe *probe, struct error *err)
{
    const size_t bytes = (size_t)(probe->stride_bytes * probe->threads);
    struct step touch = {.kind = STEP_FILL, .bytes = bytes, .items = step_slices(bytes)};
    const int64_t sinks = probe->threads > FMA_ITEMS_MAX ? probe->threads : FMA_ITEMS_MAX;

    probe->memory = aligned_alloc((size_t)ALIGNMENT_BYTES, bytes);
    probe->sinks = calloc((size_t)sinks * CEILING_SINK_FLOATS, sizeof *probe->sinks);
    if (probe->memory == NULL || probe->sinks == NULL)
        return error_set(err, ST_NO_MEMORY, "probe", "no memory to measure this host");
    (void)madvise(probe->memory, bytes, MADV_HUGEPAGE); /* a hint */
    touch.to = probe->memory;
    (void)run(probe, &touch);
    return ST_OK;
}

/* Seconds of the shortest of a few tries of the walk or, of none, of the peak: one that had to wait for the processor
 * would size its probe far too small. */
static double least_of(struct probe *probe, struct walk *walk, enum peak_type type)
{
    double least = HUGE_VAL;

    for (int i = 0; i < SIZING_TRIES; i++) {
        const double seconds = walk != NULL ? run_walk(probe, walk) : run_peak(probe, type);

        least = seconds < least ? seconds : least;
    }
    return least;
}

static void set_up_walks(struct probe *probe, const int64_t piece[LEVEL_COUNT])
{
    for (int i = 0; i < LEVEL_COUNT; i++)
        for (int copies = 0; copies < WALKS && probe->has_level[i]; copies++) {
            struct walk *walk = &probe->walks[i][copies];
            double seconds, rounds;

            walk->fit.block[0] = (int)(piece[i] / KIBIBYTE);
            walk->fit.block[1] = 1;
            walk->fit.block[2] = (int)(probe->stride_bytes / KIBIBYTE);
            walk->args.fit = &walk->fit;
            walk->args.out[0] = probe->memory;
            walk->args.scratch = probe->sinks;
            walk->kernel =
                copies == 1 ? ceiling_copy_kernel(probe->isa) : ceiling_read_kernel(probe->isa);
            seconds = least_of(probe, walk, PEAK_COUNT);
            while (probe_grow(walk->fit.block[1], seconds) > walk->fit.block[1]) {
                walk->fit.block[1] = probe_grow(walk->fit.block[1], seconds);
                seconds = least_of(probe, walk, PEAK_COUNT);
            }
            rounds = walk->fit.block[1] * (PROBE_SECONDS / seconds);
            walk->fit.block[1] = rounds < 1.0 ? 1 : rounds < ROUNDS_MAX ? (int)rounds : ROUNDS_MAX;
        }
}

static void set_up_peaks(struct probe *probe)
{
    for (int i = 0; i < PEAK_COUNT; i++) {
        double seconds, items;

        probe->has_peak[i] = i == PEAK_F32 || (probe->isa & ISA_AVX512_BF16) != 0;
        if (!probe->has_peak[i])
            continue;
        probe->fma_items[i] = probe->threads;
        while ((seconds = least_of(probe, NULL, (enum peak_type)i)) < PROBE_SECONDS / GROWTH &&
               probe->fma_items[i] < FMA_ITEMS_MAX / GROWTH)
            probe->fma_items[i] *= GROWTH;
        items = (double)probe->fma_items[i] * PROBE_SECONDS / seconds;
        probe->fma_items[i] = items < probe->threads  ? probe->threads
                              : items < FMA_ITEMS_MAX ? (int64_t)items
                                                      : FMA_ITEMS_MAX;
    }
}

/* Seconds. */
static double run(struct probe *probe, struct step *step)
{
    const int64_t begun_ns = clock_mono_ns();

    pool_post(probe->pool, &(struct job){.steps = step, .count = 1});
    pool_wait(probe->pool);
    return (double)(clock_mono_ns() - begun_ns) / (double)NS_PER_S;
}

static double run_walk(struct probe *probe, struct walk *walk)
{
    struct step step = {.kind = STEP_WORK,
                        .barrier = true,
                        .kernel = walk->kernel,
                        .args = &walk->args,
                        .items = probe->threads};

    return run(probe, &step);
}

static double run_peak(struct probe *probe, enum peak_type type)
{
    const struct kernel_args args = {.scratch = probe->sinks};
    struct step step = {.kind = STEP_WORK,
                        .barrier = true,
                        .kernel =
                            ceiling_fma_kernel(probe->isa, type == PEAK_BF16 ? DT_BF16 : DT_F32),
                        .args = &args,
                        .items = probe->fma_items[type]};

    return run(probe, &step);
}

static void raise_to(double *greatest, double amount, double seconds)
{
    if (seconds > 0.0 && amount / seconds > *greatest)
        *greatest = amount / seconds;
}

int probe_grow(int rounds, double seconds)
{
    return seconds < PROBE_SECONDS / GROWTH && rounds < ROUNDS_MAX / GROWTH ? rounds * GROWTH
                                                                            : rounds;
}

static void try_once(struct probe *probe)
{
    for (int i = 0; i < PEAK_COUNT; i++)
        if (probe->has_peak[i])
            raise_to(&probe->flops_per_s[i],
                     ceiling_fma_flops(probe->isa, i == PEAK_BF16 ? DT_BF16 : DT_F32) *
                         (double)probe->fma_items[i],
                     run_peak(probe, (enum peak_type)i));
    for (int i = 0; i < LEVEL_COUNT; i++)
        for (int copies = 0; copies < WALKS && probe->has_level[i]; copies++) {
            struct walk *walk = &probe->walks[i][copies];
            const double bytes =
                (double)walk->fit.block[0] * KIBIBYTE * walk->fit.block[1] * probe->threads;
            const double seconds = run_walk(probe, walk);

            raise_to(&walk->bytes_per_s, bytes, seconds);
            walk->fit.block[1] = probe_grow(walk->fit.block[1], seconds);
        }
}

void probe_round(struct probe *probe, int tries)
{
    for (int i = 0; i < tries; i++)
        try_once(probe);
    probe->rounds++;
}

void probe_fill(const struct probe *probe, struct run_profile *profile)
{
    assert(probe->rounds > 0);
    profile->ceiling_rounds = probe->rounds;
    for (int i = 0; i < LEVEL_COUNT; i++)
        profile->levels[i] =
            (struct profile_level){.has = probe->has_level[i],
                                   .capacity_bytes = probe->capacity[i],
                                   .read_bytes_per_s = probe->walks[i][0].bytes_per_s,
                                   .copy_bytes_per_s = probe->walks[i][1].bytes_per_s};
    for (int i = 0; i < PEAK_COUNT; i++) {
        profile->has_peak[i] = probe->has_peak[i];
        profile->peak_flops_per_s[i] = probe->flops_per_s[i];
    }
}
