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

/* One figure that is measured: a kernel that runs `size` times over, `amount` bytes or flops each time. A walk's items
 * are the threads, and its size the rounds in its fit; the size of a peak is its items. */
struct trial {
    const struct kernel *kernel; /* NULL: not measured here */
    struct fit fit;
    struct kernel_args args;
    int size, least, most;
    double amount;
    double per_second; /* the greatest so far */
};

struct probe {
    struct pool *pool;
    int threads;
    uint32_t isa;
    unsigned char *memory; /* stride_bytes a thread */
    int64_t stride_bytes;
    float *sinks;
    int64_t capacity[LEVEL_COUNT];
    bool has_level[LEVEL_COUNT];
    struct trial walks[LEVEL_COUNT][WALKS], peaks[PEAK_COUNT];
    int64_t rounds;
};

static void choose_levels(struct probe *probe, const struct caches *caches,
                          int64_t piece[LEVEL_COUNT]);
static enum status take_memory(struct probe *probe, struct error *err);
static void set_up_walks(struct probe *probe, const int64_t piece[LEVEL_COUNT]);
static void set_up_peaks(struct probe *probe);
static double run(struct probe *probe, struct step *step);
static double run_trial(struct probe *probe, struct trial *trial);

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

/* Seconds of the shortest of a few tries: one that had to wait for the processor would size its trial far too small. */
static double least_of(struct probe *probe, struct trial *trial)
{
    double least = HUGE_VAL;

    for (int i = 0; i < SIZING_TRIES; i++) {
        const double seconds = run_trial(probe, trial);

        least = seconds < least ? seconds : least;
    }
    return least;
}

/* The size that takes PROBE_SECONDS, as near as its bounds let it. */
static void size_trial(struct probe *probe, struct trial *trial)
{
    double seconds = least_of(probe, trial), size;
    int grown;

    while ((grown = probe_grow(trial->size, trial->most, seconds)) > trial->size) {
        trial->size = grown;
        seconds = least_of(probe, trial);
    }
    size = trial->size * (PROBE_SECONDS / seconds);
    trial->size = size < trial->least ? trial->least : size < trial->most ? (int)size : trial->most;
}

static void set_up_walks(struct probe *probe, const int64_t piece[LEVEL_COUNT])
{
    for (int i = 0; i < LEVEL_COUNT; i++)
        for (int copies = 0; copies < WALKS && probe->has_level[i]; copies++) {
            struct trial *walk = &probe->walks[i][copies];
            const int64_t kibibytes = piece[i] / KIBIBYTE;

            walk->kernel =
                copies == 1 ? ceiling_copy_kernel(probe->isa) : ceiling_read_kernel(probe->isa);
            walk->fit.block[0] = (int)kibibytes;
            walk->fit.block[2] = (int)(probe->stride_bytes / KIBIBYTE);
            walk->args = (struct kernel_args){.fit = &walk->fit, .scratch = probe->sinks};
            walk->args.out[0] = probe->memory;
            walk->size = walk->least = 1;
            walk->most = ROUNDS_MAX;
            walk->amount = (double)(kibibytes * KIBIBYTE * probe->threads);
            size_trial(probe, walk);
        }
}

static void set_up_peaks(struct probe *probe)
{
    for (int i = 0; i < PEAK_COUNT; i++) {
        const enum dtype type = i == PEAK_BF16 ? DT_BF16 : DT_F32;
        struct trial *peak = &probe->peaks[i];

        if (i != PEAK_F32 && (probe->isa & ISA_AVX512_BF16) == 0)
            continue;
        peak->kernel = ceiling_fma_kernel(probe->isa, type);
        peak->args.scratch = probe->sinks;
        peak->size = peak->least = probe->threads;
        peak->most = probe->threads > FMA_ITEMS_MAX ? probe->threads : FMA_ITEMS_MAX;
        peak->amount = ceiling_fma_flops(probe->isa, type);
        size_trial(probe, peak);
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

static double run_trial(struct probe *probe, struct trial *trial)
{
    const bool walks = trial->args.fit != NULL;
    struct step step = {.kind = STEP_WORK,
                        .barrier = true,
                        .kernel = trial->kernel,
                        .args = &trial->args,
                        .items = walks ? probe->threads : trial->size};

    if (walks)
        trial->fit.block[1] = trial->size;
    return run(probe, &step);
}

int probe_grow(int size, int most, double seconds)
{
    return seconds < PROBE_SECONDS / GROWTH && size < most / GROWTH ? size * GROWTH : size;
}

static void try_trial(struct probe *probe, struct trial *trial)
{
    const double amount = trial->amount * trial->size;
    double seconds;

    if (trial->kernel == NULL)
        return;
    seconds = run_trial(probe, trial);
    if (seconds > 0.0 && amount / seconds > trial->per_second)
        trial->per_second = amount / seconds;
    trial->size = probe_grow(trial->size, trial->most, seconds);
}

static void try_once(struct probe *probe)
{
    for (int i = 0; i < PEAK_COUNT; i++)
        try_trial(probe, &probe->peaks[i]);
    for (int i = 0; i < LEVEL_COUNT; i++)
        for (int copies = 0; copies < WALKS; copies++)
            try_trial(probe, &probe->walks[i][copies]);
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
                                   .read_bytes_per_s = probe->walks[i][0].per_second,
                                   .copy_bytes_per_s = probe->walks[i][1].per_second};
    for (int i = 0; i < PEAK_COUNT; i++) {
        profile->has_peak[i] = probe->peaks[i].kernel != NULL;
        profile->peak_flops_per_s[i] = probe->peaks[i].per_second;
    }
}
