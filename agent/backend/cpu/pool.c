/* agent/backend/cpu/pool.c: see pool.h.
 *
 *   controller: ring[posted % RING] = job; posted++          completed >= posted?
 *   workers:    wait for posted > mine; walk the steps; end barrier: the last one resets counters, completed++
 *
 * Waiting is a short spin, since the next step is mostly microseconds away, and then a futex, since somebody else
 * may need the processor. */
#include "agent/backend/cpu/pool.h"

#include <assert.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "common/clock.h"
#include "common/str.h"

#define RING_JOBS     8
#define SPIN_NS       20000
#define SPIN_PAUSES   32 /* between two looks at the clock: about a microsecond */
#define SLICE_BYTES   UINT64_C(1048576)
#define NS_TO_SECONDS 1e-9
#define MXCSR_FTZ_DAZ 0x8040u
#define WORKER_STACK  (UINT64_C(8) << 20) /* kernels keep tiles and panels on it */

/* A number that others wait for. sleepers says whether a change must wake somebody. */
struct gate {
    _Alignas(CACHE_LINE_BYTES) _Atomic uint32_t number;
    _Atomic uint32_t sleepers;
};

struct worker {
    struct pool *pool;
    pthread_t thread;
    int index;
};

struct pool {
    int count, started;
    struct gate posted, completed, generation;
    _Alignas(CACHE_LINE_BYTES) _Atomic uint32_t arrived;
    _Atomic bool stop;
    int64_t
        stamp_ns; /* of a timed job: when its step began; written by the last one at a barrier */
    struct job ring[RING_JOBS];
    struct worker *workers;
};

static void *worker_main(void *argument);
static void pin_thread(const struct pool *pool, int index);
static void set_flush_to_zero(void);
static void walk(struct worker *worker, const struct job *job);
static void walk_timed(struct worker *worker, const struct job *job);
static void take_chain(struct step *first);
static void take_items(struct step *step);
static void do_slice(const struct step *step, int64_t item);
static void barrier_wait(struct pool *pool, const struct job *job, size_t next);
static void stamp(struct pool *pool, const struct job *job, size_t ended);
static void job_end(struct pool *pool, const struct job *job);
static void gate_raise(struct gate *gate);
static void gate_wait(struct gate *gate, uint32_t old);
static void pause_briefly(void);

int64_t step_slices(uint64_t bytes)
{
    return (int64_t)((bytes + SLICE_BYTES - 1) / SLICE_BYTES);
}

enum status pool_create(int threads, struct pool **pool, struct error *err)
{
    struct pool *made = NULL;
    pthread_attr_t attr;

    assert(threads > 0 && threads <= POOL_THREADS_MAX);
    if (posix_memalign((void **)&made, CACHE_LINE_BYTES, sizeof *made) != 0)
        return error_set(err, ST_NO_MEMORY, "threads", "No memory for the thread pool.");
    memset(made, 0, sizeof *made);
    made->count = threads;
    made->workers = calloc((size_t)threads, sizeof *made->workers);
    if (made->workers == NULL || pthread_attr_init(&attr) != 0) {
        pool_destroy(made);
        return error_set(err, ST_NO_MEMORY, "threads", "No memory for %d threads.", threads);
    }
    (void)pthread_attr_setstacksize(&attr, WORKER_STACK);
    for (int i = 0; i < threads; i++) {
        made->workers[i] = (struct worker){.pool = made, .index = i};
        if (pthread_create(&made->workers[i].thread, &attr, worker_main, &made->workers[i]) != 0)
            break;
        made->started++;
    }
    (void)pthread_attr_destroy(&attr);
    if (made->started < threads) {
        const int started = made->started;

        pool_destroy(made);
        return error_set(err, ST_UNAVAILABLE, "threads", "The system gave %d of %d threads.",
                         started, threads);
    }
    *pool = made;
    return ST_OK;
}

void pool_destroy(struct pool *pool)
{
    if (pool == NULL)
        return;
    if (pool->started == pool->count)
        pool_wait(pool);
    atomic_store(&pool->stop, true);
    gate_raise(&pool->posted); /* no job belongs to this number: workers see stop first */
    for (int i = 0; i < pool->started; i++)
        (void)pthread_join(pool->workers[i].thread, NULL);
    free(pool->workers);
    free(pool);
}

void pool_post(struct pool *pool, const struct job *job)
{
    const uint32_t posted = atomic_load_explicit(&pool->posted.number, memory_order_relaxed);
    uint32_t completed = atomic_load_explicit(&pool->completed.number, memory_order_acquire);

    while (posted - completed >= RING_JOBS) {
        gate_wait(&pool->completed, completed);
        completed = atomic_load_explicit(&pool->completed.number, memory_order_acquire);
    }
    pool->ring[posted % RING_JOBS] = *job;
    gate_raise(&pool->posted);
}

void pool_wait(struct pool *pool)
{
    const uint32_t posted = atomic_load_explicit(&pool->posted.number, memory_order_relaxed);
    uint32_t completed = atomic_load_explicit(&pool->completed.number, memory_order_acquire);

    while (completed != posted) {
        gate_wait(&pool->completed, completed);
        completed = atomic_load_explicit(&pool->completed.number, memory_order_acquire);
    }
}

int pool_processors(void)
{
    cpu_set_t allowed;

    CPU_ZERO(&allowed);
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) < 1)
        return 1;
    return CPU_COUNT(&allowed) > POOL_THREADS_MAX ? POOL_THREADS_MAX : CPU_COUNT(&allowed);
}

static void *worker_main(void *argument)
{
    struct worker *worker = argument;
    struct pool *pool = worker->pool;

    pin_thread(pool, worker->index);
    set_flush_to_zero();
    for (uint32_t mine = 0;; mine++) {
        while (atomic_load_explicit(&pool->posted.number, memory_order_acquire) == mine)
            gate_wait(&pool->posted, mine);
        if (atomic_load(&pool->stop))
            return NULL;
        walk(worker, &pool->ring[mine % RING_JOBS]);
    }
}

/* One processor a thread, and only when there are enough: pinned threads that share one would take turns. */
static void pin_thread(const struct pool *pool, int index)
{
    cpu_set_t allowed, one;
    int seen = 0;

    CPU_ZERO(&allowed);
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) < pool->count)
        return;
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &allowed) || seen++ != index)
            continue;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        (void)pthread_setaffinity_np(pthread_self(), sizeof one, &one); /* a hint, not a need */
        return;
    }
}

/* Denormals are hundreds of cycles each and mean nothing here; AMX flushes them anyway. */
static void set_flush_to_zero(void)
{
#if defined(__x86_64__)
    _mm_setcsr(_mm_getcsr() | MXCSR_FTZ_DAZ);
#elif defined(__aarch64__)
    uint64_t fpcr;

    __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
    fpcr |= UINT64_C(1) << 24;
    __asm__ volatile("msr fpcr, %0" : : "r"(fpcr));
#endif
}

static void walk(struct worker *worker, const struct job *job)
{
    if (job->seconds != NULL) {
        walk_timed(worker, job);
    } else {
        for (size_t i = 0; i < job->count; i++) {
            struct step *step = &job->steps[i];

            if (step->barrier)
                barrier_wait(worker->pool, job, i);
            if (step->chain > 1) {
                take_chain(step);
                i += step->chain - 1;
            } else {
                take_items(step);
            }
        }
    }
    job_end(worker->pool, job);
}

/* Every step waits for the one before. */
static void walk_timed(struct worker *worker, const struct job *job)
{
    for (size_t i = 0; i <= job->count; i++) {
        barrier_wait(worker->pool, job, i);
        if (i < job->count)
            take_items(&job->steps[i]);
    }
}

/* Between step `ended - 1` and the next, by whoever came last and lets the others go: a thread that looks at the clock
 * once it was let go may have slept in between, and find the next step done. */
static void stamp(struct pool *pool, const struct job *job, size_t ended)
{
    const int64_t now_ns = clock_mono_ns();

    if (ended > 0)
        job->seconds[job->steps[ended - 1].group] +=
            (double)(now_ns - pool->stamp_ns) * NS_TO_SECONDS;
    pool->stamp_ns = now_ns;
}

static void take_chain(struct step *first)
{
    if (atomic_fetch_add_explicit(&first->next, 1, memory_order_relaxed) != 0)
        return;
    for (uint32_t i = 0; i < first->chain; i++)
        first[i].kernel->work(first[i].args, first[i].phase, 0);
}

static void take_items(struct step *step)
{
    int64_t item;

    /* Relaxed: the counter only deals out numbers; barriers order the data. */
    while ((item = atomic_fetch_add_explicit(&step->next, 1, memory_order_relaxed)) < step->items) {
        if (step->kind == STEP_WORK)
            step->kernel->work(step->args, step->phase, item);
        else
            do_slice(step, item);
    }
}

static void do_slice(const struct step *step, int64_t item)
{
    const uint64_t at = (uint64_t)item * SLICE_BYTES;
    const uint64_t bytes = step->bytes - at < SLICE_BYTES ? step->bytes - at : SLICE_BYTES;

    if (step->kind == STEP_COPY)
        memcpy((unsigned char *)step->to + at, (const unsigned char *)step->from + at,
               (size_t)bytes);
    else
        memset((unsigned char *)step->to + at, step->fill, (size_t)bytes);
}

/* Before step `next` of the job. */
static void barrier_wait(struct pool *pool, const struct job *job, size_t next)
{
    const uint32_t old = atomic_load_explicit(&pool->generation.number, memory_order_acquire);

    if (atomic_fetch_add_explicit(&pool->arrived, 1, memory_order_acq_rel) + 1 ==
        (uint32_t)pool->count) {
        if (job->seconds != NULL)
            stamp(pool, job, next);
        atomic_store_explicit(&pool->arrived, 0, memory_order_relaxed);
        gate_raise(&pool->generation);
        return;
    }
    while (atomic_load_explicit(&pool->generation.number, memory_order_acquire) == old)
        gate_wait(&pool->generation, old);
}

/* The last one to arrive is alone with the counters; then nobody touches the job any more. */
static void job_end(struct pool *pool, const struct job *job)
{
    const uint32_t old = atomic_load_explicit(&pool->generation.number, memory_order_acquire);

    if (atomic_fetch_add_explicit(&pool->arrived, 1, memory_order_acq_rel) + 1 ==
        (uint32_t)pool->count) {
        for (size_t i = 0; i < job->count; i++)
            atomic_store_explicit(&job->steps[i].next, 0, memory_order_relaxed);
        atomic_store_explicit(&pool->arrived, 0, memory_order_relaxed);
        gate_raise(&pool->generation);
        gate_raise(&pool->completed);
        return;
    }
    while (atomic_load_explicit(&pool->generation.number, memory_order_acquire) == old)
        gate_wait(&pool->generation, old);
}

/* Sequentially consistent on both sides: either the sleeper is seen here, or the futex sees the new number. */
static void gate_raise(struct gate *gate)
{
    atomic_fetch_add(&gate->number, 1);
    if (atomic_load(&gate->sleepers) > 0)
        (void)syscall(SYS_futex, &gate->number, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* Until the number is (most likely) no longer `old`: callers look again. */
static void gate_wait(struct gate *gate, uint32_t old)
{
    const int64_t end_ns = clock_mono_ns() + SPIN_NS;

    do {
        for (int i = 0; i < SPIN_PAUSES; i++) {
            if (atomic_load_explicit(&gate->number, memory_order_acquire) != old)
                return;
            pause_briefly();
        }
    } while (clock_mono_ns() < end_ns);
    atomic_fetch_add(&gate->sleepers, 1);
    (void)syscall(SYS_futex, &gate->number, FUTEX_WAIT_PRIVATE, old, NULL, NULL, 0);
    atomic_fetch_sub(&gate->sleepers, 1);
}

static void pause_briefly(void)
{
#if defined(__x86_64__)
    _mm_pause();
#endif
}
