/* tests/support/cifar10_tiny.h: what tests of the workload cifar10 share: a folder of made-up images, and the hidden
 * workload on them. Header only: a test program is one file. */
#ifndef DAYBREAK_TESTS_SUPPORT_CIFAR10_TINY_H
#define DAYBREAK_TESTS_SUPPORT_CIFAR10_TINY_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the four above. */
#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/workload/cifar10.h"
#include "agent/workload/cifar10_internal.h"
#include "common/rng.h"
#include "common/str.h"

#define TINY_IMAGES 256
#define PATH_BYTES  512

static char cifar10_tiny_folder[] = "/tmp/daybreak-cifar10-XXXXXX";

/* Files of the official size, of which only the first records hold anything: an
 * image of class k is bright in the k-th fifth of one half, under noise. The
 * rest are holes: black images of class 0. */
static inline int make_data(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(cifar10_tiny_folder));
    for (size_t f = 0; f < CIFAR10_FILE_COUNT; f++) {
        unsigned char *records = calloc(TINY_IMAGES, CIFAR10_RECORD_BYTES);
        char path[PATH_BYTES];
        int fd;

        for (uint32_t n = 0; n < TINY_IMAGES; n++) {
            unsigned char *record = records + (size_t)n * CIFAR10_RECORD_BYTES;

            record[0] = (unsigned char)((n * 7 + f) % CIFAR10_CLASS_COUNT);
            for (uint32_t i = 0; i < CIFAR10_IMAGE_BYTES; i++) {
                const uint32_t y = i % 1024 / 32, x = i % 32;
                uint32_t word[2];

                rng_threefry((struct rng_key){(uint32_t)f, 3}, n, i, word);
                record[1 + i] = (unsigned char)rng_to_below(word[0], 100);
                if (y / 7 == record[0] % 5u && (x < 16) == (record[0] < 5))
                    record[1 + i] = (unsigned char)(record[1 + i] + 150);
            }
        }
        (void)snprintf(path, sizeof path, "%s/%s", cifar10_tiny_folder, cifar10_files[f].name);
        fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        assert_true(fd >= 0);
        assert_int_equal(write(fd, records, (size_t)TINY_IMAGES * CIFAR10_RECORD_BYTES),
                         (ssize_t)TINY_IMAGES * CIFAR10_RECORD_BYTES);
        assert_int_equal(ftruncate(fd, (off_t)CIFAR10_FILE_RECORDS * CIFAR10_RECORD_BYTES), 0);
        (void)close(fd);
        free(records);
    }
    return 0;
}

static inline int remove_data(void **state)
{
    static const char *const names[] = {"a.safetensors", "b.safetensors", "c.safetensors"};
    char path[PATH_BYTES];

    (void)state;
    for (size_t f = 0; f < CIFAR10_FILE_COUNT; f++) {
        (void)snprintf(path, sizeof path, "%s/%s", cifar10_tiny_folder, cifar10_files[f].name);
        (void)unlink(path);
    }
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        (void)snprintf(path, sizeof path, "%s/%s", cifar10_tiny_folder, names[i]);
        (void)unlink(path);
    }
    return rmdir(cifar10_tiny_folder);
}

static inline const char *path_of(const char *name)
{
    static char path[PATH_BYTES];

    (void)snprintf(path, sizeof path, "%s/%s", cifar10_tiny_folder, name);
    return path;
}

static inline struct workload_options tiny_options(int threads)
{
    return (struct workload_options){.recipe = "cifar10-tiny",
                                     .data_dir = cifar10_tiny_folder,
                                     .device = "auto",
                                     .isa = "auto",
                                     .threads = threads,
                                     .fusion = true};
}

static inline void *open_tiny(const struct workload_options *options, uint32_t seed)
{
    struct error err = {0};
    void *state = NULL;

    if (workload_cifar10_tiny.open(options, &state, &err) != ST_OK)
        fail_msg("%s", err.detail);
    if (workload_cifar10_tiny.start(state, seed, &err) != ST_OK)
        fail_msg("%s", err.detail);
    return state;
}

static inline struct workload_progress train_on(void *state)
{
    const struct workload_control control = {0};
    struct workload_progress progress;
    struct error err = {0};

    if (workload_cifar10_tiny.train(state, &control, &progress, &err) != ST_OK)
        fail_msg("%s", err.detail);
    return progress;
}

static inline struct workload_score evaluate(void *state)
{
    const struct workload_control control = {0};
    struct workload_score score;
    struct error err = {0};

    if (workload_cifar10_tiny.evaluate(state, &control, &score, &err) != ST_OK)
        fail_msg("%s", err.detail);
    return score;
}

static inline void save(void *state, const char *name)
{
    struct error err = {0};

    if (workload_cifar10_tiny.save(state, path_of(name), &err) != ST_OK)
        fail_msg("%s", err.detail);
}

#endif
