/* agent/backend/cpu/pool.h: the threads that walk lists of steps together. A step is one phase of a kernel: numbered
 * items that threads take from a shared counter, because cores are not equally fast at all times and fixed halves
 * would wait for the slower one. A step with `barrier` starts when all steps before it have ended; steps of one small
 * item that follow each other are a chain, done by whoever comes first, since a barrier costs more than they do.
 * Ownership: the pool owns its threads; posted steps are borrowed until pool_wait() or the next post's end.
 * Threads: one controlling thread posts and waits; workers set flush-to-zero, are pinned where they may be. */
#ifndef DAYBREAK_AGENT_BACKEND_CPU_POOL_H
#define DAYBREAK_AGENT_BACKEND_CPU_POOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/kernels/kernels.h"

#define POOL_THREADS_MAX 1024
#define CACHE_LINE_BYTES 64

enum step_kind {
    STEP_WORK, /* items of a kernel's phase */
    STEP_COPY, /* items are slices of a copy */
    STEP_FILL, /* slices set to one byte: first touch, poison */
};

struct step {
    enum step_kind kind;
    bool barrier;
    unsigned char fill;
    uint32_t group; /* whose time it is */
    uint32_t chain; /* with this one, so many steps that one thread does in a row; 0, 1: none */
    int phase;
    const struct kernel *kernel;
    const struct kernel_args *args;
    int64_t items;
    const void *from;
    void *to;
    uint64_t bytes;
    _Alignas(CACHE_LINE_BYTES) _Atomic int64_t next; /* item; 0 between runs */
};

/* One walk. seconds (may be NULL) is a profile: every step then waits, and its time is added to seconds[group]. */
struct job {
    struct step *steps;
    size_t count;
    double *seconds;
};

/* Slices of STEP_COPY and STEP_FILL; `items` is set by this. */
int64_t step_slices(uint64_t bytes);

struct pool;
/* threads > 0. ST_UNAVAILABLE when the system gives no more threads. */
enum status pool_create(int threads, struct pool **pool, struct error *err);
void pool_destroy(struct pool *pool);                     /* waits; accepts NULL */
void pool_post(struct pool *pool, const struct job *job); /* blocks while too many are under way */
void pool_wait(struct pool *pool);                        /* until all that was posted has ended */
int pool_processors(void);                                /* how many this process may use */

#endif
