/* agent/data/cifar10.h: the CIFAR-10 data set in memory: reads the six official .bin files (10,000
 * records of one label byte and three 32 x 32 planes) and turns them to images with channels innermost.
 * Ownership: struct cifar10 owns its arrays until cifar10_fini(). Threads: one loader; then immutable. */
#ifndef DAYBREAK_AGENT_DATA_CIFAR10_H
#define DAYBREAK_AGENT_DATA_CIFAR10_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/crypto.h"
#include "common/rng.h"
#include "common/status.h"

#define CIFAR10_SIDE         32
#define CIFAR10_IMAGE_BYTES  3072 /* 32 x 32 x 3 */
#define CIFAR10_RECORD_BYTES 3073
#define CIFAR10_FILE_RECORDS 10000
#define CIFAR10_FILE_COUNT   6 /* data_batch_1.bin .. data_batch_5.bin, test_batch.bin */
#define CIFAR10_TRAIN_COUNT  50000
#define CIFAR10_TEST_COUNT   10000
#define CIFAR10_CLASS_COUNT  10

/* The published split of the training images: position i of the permutation is image
 * rng_permute({0x64617962, 0x7265616b}, 0, i, 50000), the key being "daybreak" in ASCII. Its first
 * 5,000 are `tune`, the next 5,000 `fresh`, and the other 40,000 are what --holdout trains on. */
#define CIFAR10_SPLIT_SEED   UINT32_C(0x64617962)
#define CIFAR10_SPLIT_STREAM UINT32_C(0x7265616b)
#define CIFAR10_TUNE_COUNT   5000
#define CIFAR10_FRESH_COUNT  5000
uint32_t cifar10_split_image(uint32_t position);

struct cifar10_file {
    const char *name;   /* "data_batch_1.bin" */
    const char *sha256; /* of the official file, hexadecimal */
};
extern const struct cifar10_file cifar10_files[CIFAR10_FILE_COUNT];

struct cifar10_options {
    const char *dir;
    bool holdout;       /* train: positions 10,000.. of the split, in that order; test: `tune` */
    bool fresh;         /* with holdout, test: `fresh` in its place */
    size_t image_limit; /* 0: all; else at most so many of each, the first ones */
    bool whole_test;    /* image_limit is for the training images alone */
};

struct cifar10 {
    uint8_t *train_images; /* [train_count][32][32][3], 64-byte aligned */
    uint8_t *train_labels; /* [train_count], 0..9 */
    size_t train_count;
    uint8_t *test_images, *test_labels;
    size_t test_count;
};

/* ST_NOT_FOUND with a hint at `data fetch` when a file is missing; ST_INVALID: size or label wrong. */
enum status cifar10_load(const struct cifar10_options *options, struct cifar10 *set,
                         struct error *err);
void cifar10_fini(struct cifar10 *set); /* accepts NULL and zeroed */

/* Compares the SHA-256 of all six files, before the clock starts. `digest` (65 bytes, may be NULL)
 * receives the SHA-256 of the six digests' text, one name for the whole set. */
enum status cifar10_verify(const char *dir, char digest[SHA256_HEX_BYTES], struct error *err);

#endif
