/* tests/unit/agent/test_step_memory.c: training allocates nothing once it is under way. This program has its own malloc,
 * calloc, realloc, aligned_alloc, memalign, posix_memalign and mmap, which every library and thread of the process then
 * calls: they count and pass on to glibc. What glibc maps inside of itself shows in the size of the address space. */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/kernels/kernels.h"
#include "tests/support/cifar10_tiny.h"

#define STEPS      20
#define THREADS    3 /* the caller, and more than one worker */
#define STATM_TEXT 128

/* A sanitizer has an allocator of its own, which must stay. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define COUNTS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define COUNTS 0
#endif
#endif
#ifndef COUNTS
#define COUNTS 1
#endif

static pthread_barrier_t gate;
static _Atomic int64_t calls; /* that asked for memory, of all threads, since the start */

#if COUNTS
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *block, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);

void *malloc(size_t bytes)
{
    atomic_fetch_add(&calls, 1);
    return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    atomic_fetch_add(&calls, 1);
    return __libc_calloc(count, bytes);
}

void *realloc(void *block, size_t bytes)
{
    atomic_fetch_add(&calls, 1);
    return __libc_realloc(block, bytes);
}

void *memalign(size_t alignment, size_t bytes)
{
    atomic_fetch_add(&calls, 1);
    return __libc_memalign(alignment, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return memalign(alignment, bytes);
}

int posix_memalign(void **block, size_t alignment, size_t bytes)
{
    *block = memalign(alignment, bytes);
    return *block == NULL ? ENOMEM : 0;
}

void *mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    atomic_fetch_add(&calls, 1);
    /* The kernel answers in the type that it was asked in. */
    return (void *)(uintptr_t)syscall(SYS_mmap, at, bytes, protection, flags, fd, offset);
}
#endif

/* Pages of the address space; asks for no memory. */
static long long mapped_pages(void)
{
    char text[STATM_TEXT] = "";
    const int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);

    assert_true(fd >= 0 && read(fd, text, sizeof text - 1) > 0);
    (void)close(fd);
    return strtoll(text, NULL, 10);
}

static void skip_without_counters(void)
{
#if !COUNTS
    print_message("# a sanitizer's allocator cannot be replaced\n");
    skip();
#endif
}

static void *take_a_block(void *context)
{
    void **block = context;

    (void)pthread_barrier_wait(&gate);
    *block = malloc(100);
    return NULL;
}

/* Each way of asking counts, on any thread: else the tests below would prove nothing. */
static void every_request_is_counted(void **state)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const long long pages = mapped_pages();
    void *volatile kept[5];
    void *block = NULL, *foreign = NULL;
    pthread_t thread;
    int64_t before;

    (void)state;
    skip_without_counters();
    before = atomic_load(&calls);
    kept[0] = malloc(100);
    kept[1] = calloc(1, 100);
    kept[2] = realloc(NULL, 100);
    kept[3] = aligned_alloc(64, 128);
    kept[4] = mmap(NULL, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_int_equal(posix_memalign(&block, 64, 128), 0);
    assert_int_equal(atomic_load(&calls) - before, 6);
    assert_true(kept[4] != MAP_FAILED && mapped_pages() > pages);
    assert_int_equal(munmap(kept[4], page), 0);
    for (size_t i = 0; i < 4; i++)
        free(kept[i]);
    free(block);
    assert_int_equal(pthread_barrier_init(&gate, NULL, 2), 0);
    assert_int_equal(pthread_create(&thread, NULL, take_a_block, &foreign), 0);
    before = atomic_load(&calls); /* what made the thread is counted, the thread still waits */
    (void)pthread_barrier_wait(&gate);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(atomic_load(&calls) - before, 1);
    assert_int_equal(pthread_barrier_destroy(&gate), 0);
    free(foreign);
    before = atomic_load(&calls);
    block = strdup("a library's request"); /* by glibc itself */
    assert_int_equal(atomic_load(&calls) - before, 1);
    free(block);
}

/* One training to warm up, and then the same again, counted: both programs of a step, the lookahead, and the reports
 * at the evaluation points. */
static void check_steps(enum workload_precision precision)
{
    struct workload_options options = tiny_options(THREADS);
    struct error err = {0};
    long long pages = 0;
    int64_t before = 0;
    void *tiny;

    options.precision = precision;
    tiny = open_tiny(&options, 1);
    for (int run = 0; run < 2; run++) {
        struct workload_progress progress = {0};

        if (run == 1 && workload_cifar10_tiny.start(tiny, 1, &err) != ST_OK)
            fail_msg("%s", err.detail);
        pages = mapped_pages();
        before = atomic_load(&calls);
        while (!progress.done)
            progress = train_on(tiny);
        assert_int_equal(progress.step, STEPS);
    }
    assert_int_equal(atomic_load(&calls) - before, 0);
    assert_int_equal(mapped_pages() - pages, 0);
    workload_cifar10_tiny.close(tiny);
}

static void steps_allocate_nothing(void **state)
{
    (void)state;
    skip_without_counters();
    check_steps(WORKLOAD_PRECISION_F32);
}

static void nor_do_they_in_bf16(void **state)
{
    (void)state;
    skip_without_counters();
    if ((cpu_isa_detect() & ISA_AVX512_BF16) == 0)
        skip();
    check_steps(WORKLOAD_PRECISION_BF16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_request_is_counted),
        cmocka_unit_test(steps_allocate_nothing),
        cmocka_unit_test(nor_do_they_in_bf16),
    };

    return cmocka_run_group_tests_name("step_memory", tests, make_data, remove_data);
}
