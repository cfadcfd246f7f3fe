/* agent/data/cifar10.c: the CIFAR-10 data set in memory (see cifar10.h). */
#include "agent/data/cifar10.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/data/files.h"
#include "common/str.h"

#define PLANE_BYTES  ((size_t)CIFAR10_SIDE * CIFAR10_SIDE)
#define IMAGE_ALIGN  64
#define TEST_FILE    (CIFAR10_FILE_COUNT - 1)
#define FILE_BYTES   ((size_t)CIFAR10_FILE_RECORDS * CIFAR10_RECORD_BYTES)
#define FETCH_HINT   "daybreak-agent data fetch cifar10"
#define DIGEST_CHARS (SHA256_HEX_BYTES - 1)

const struct cifar10_file cifar10_files[CIFAR10_FILE_COUNT] = {
    {"data_batch_1.bin", "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5"},
    {"data_batch_2.bin", "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed"},
    {"data_batch_3.bin", "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67"},
    {"data_batch_4.bin", "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48"},
    {"data_batch_5.bin", "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add"},
    {"test_batch.bin", "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b"},
};

uint32_t cifar10_split_image(uint32_t position)
{
    const struct rng_key key = {CIFAR10_SPLIT_SEED, CIFAR10_SPLIT_STREAM};

    return rng_permute(key, 0, position, CIFAR10_TRAIN_COUNT);
}

/* records: FILE_BYTES of the caller's. */
static enum status read_records(const char *dir, const char *name, uint8_t *records,
                                struct error *err)
{
    char path[FILES_PATH_BYTES_MAX];
    enum status status = files_join(path, dir, name, err);
    struct stat info;
    size_t have = 0;
    int fd;

    if (status != ST_OK)
        return status;
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return error_set_code(err, errno == ENOENT ? ST_NOT_FOUND : ST_IO, "no_data", name,
                              FETCH_HINT, "cannot open %s: %s", path, strerrordesc_np(errno));
    if (fstat(fd, &info) != 0 || info.st_size != (off_t)FILE_BYTES) {
        status = error_set_code(err, ST_INVALID, "data_size", name, FETCH_HINT,
                                "%s does not have %zu bytes", path, FILE_BYTES);
        goto done;
    }
    while (have < FILE_BYTES) {
        const ssize_t got = read(fd, records + have, FILE_BYTES - have);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            status = error_set(err, ST_IO, name, "cannot read %s: %s", path,
                               got < 0 ? strerrordesc_np(errno) : "it became shorter");
            goto done;
        }
        have += (size_t)got;
    }
done:
    close(fd);
    return status;
}

/* One record: a label, then planes of red, green, blue; the image has them interleaved. */
static enum status decode_record(const uint8_t *record, uint8_t *image, uint8_t *label,
                                 struct error *err)
{
    const uint8_t *planes = record + 1;

    if (record[0] >= CIFAR10_CLASS_COUNT)
        return error_set_code(err, ST_INVALID, "data_label", "label", FETCH_HINT,
                              "a label is %u, above 9", record[0]);
    *label = record[0];
    for (size_t i = 0; i < PLANE_BYTES; i++) {
        image[3 * i] = planes[i];
        image[3 * i + 1] = planes[PLANE_BYTES + i];
        image[3 * i + 2] = planes[2 * PLANE_BYTES + i];
    }
    return ST_OK;
}

static enum status alloc_images(size_t count, uint8_t **images, uint8_t **labels, struct error *err)
{
    *images = aligned_alloc(IMAGE_ALIGN, count * CIFAR10_IMAGE_BYTES);
    *labels = aligned_alloc(IMAGE_ALIGN, (count + IMAGE_ALIGN - 1) / IMAGE_ALIGN * IMAGE_ALIGN);
    if (*images == NULL || *labels == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for %zu images", count);
    return ST_OK;
}

/* Where each training image goes: its place in one of the two sets, or nowhere. */
enum { PLACE_NONE = -1 };

struct placing {
    int32_t train[CIFAR10_TRAIN_COUNT]; /* by image of the training files */
    int32_t test[CIFAR10_TRAIN_COUNT];  /* the same; only with --holdout */
};

static void place_images(const struct cifar10_options *options, const struct cifar10 *set,
                         struct placing *placing)
{
    for (uint32_t i = 0; i < CIFAR10_TRAIN_COUNT; i++) {
        placing->train[i] = !options->holdout && i < set->train_count ? (int32_t)i : PLACE_NONE;
        placing->test[i] = PLACE_NONE;
    }
    if (!options->holdout)
        return;
    for (uint32_t i = 0; i < set->test_count; i++)
        placing->test[cifar10_split_image((options->fresh ? CIFAR10_TUNE_COUNT : 0) + i)] =
            (int32_t)i;
    for (uint32_t i = 0; i < set->train_count; i++)
        placing->train[cifar10_split_image(CIFAR10_TUNE_COUNT + CIFAR10_FRESH_COUNT + i)] =
            (int32_t)i;
}

static enum status load_training_file(const uint8_t *records, size_t first,
                                      const struct placing *placing, struct cifar10 *set,
                                      struct error *err)
{
    for (size_t i = 0; i < CIFAR10_FILE_RECORDS; i++) {
        const uint8_t *record = records + i * CIFAR10_RECORD_BYTES;
        const int32_t train = placing->train[first + i], test = placing->test[first + i];
        enum status status = ST_OK;

        assert(train == PLACE_NONE || test == PLACE_NONE); /* never both learnt and asked */
        if (train != PLACE_NONE)
            status = decode_record(record, set->train_images + (size_t)train * CIFAR10_IMAGE_BYTES,
                                   set->train_labels + train, err);
        else if (test != PLACE_NONE)
            status = decode_record(record, set->test_images + (size_t)test * CIFAR10_IMAGE_BYTES,
                                   set->test_labels + test, err);
        if (status != ST_OK)
            return status;
    }
    return ST_OK;
}

static size_t limit_count(size_t count, size_t limit)
{
    return limit > 0 && limit < count ? limit : count;
}

enum status cifar10_load(const struct cifar10_options *options, struct cifar10 *set,
                         struct error *err)
{
    struct placing *placing = malloc(sizeof *placing);
    uint8_t *records = malloc(FILE_BYTES);
    enum status status;

    *set = (struct cifar10){
        .train_count = limit_count(options->holdout ? CIFAR10_TRAIN_COUNT - CIFAR10_TUNE_COUNT -
                                                          CIFAR10_FRESH_COUNT
                                                    : CIFAR10_TRAIN_COUNT,
                                   options->image_limit),
        .test_count = limit_count(options->holdout ? CIFAR10_TUNE_COUNT : CIFAR10_TEST_COUNT,
                                  options->whole_test ? 0 : options->image_limit),
    };
    if (placing == NULL || records == NULL) {
        status = error_set(err, ST_NO_MEMORY, NULL, "no memory to read CIFAR-10");
        goto done;
    }
    status = alloc_images(set->train_count, &set->train_images, &set->train_labels, err);
    if (status == ST_OK)
        status = alloc_images(set->test_count, &set->test_images, &set->test_labels, err);
    if (status != ST_OK)
        goto done;
    place_images(options, set, placing);
    for (size_t file = 0; file < TEST_FILE && status == ST_OK; file++) {
        status = read_records(options->dir, cifar10_files[file].name, records, err);
        if (status == ST_OK)
            status = load_training_file(records, file * CIFAR10_FILE_RECORDS, placing, set, err);
    }
    if (status != ST_OK || options->holdout)
        goto done;
    status = read_records(options->dir, cifar10_files[TEST_FILE].name, records, err);
    for (size_t i = 0; i < set->test_count && status == ST_OK; i++)
        status =
            decode_record(records + i * CIFAR10_RECORD_BYTES,
                          set->test_images + i * CIFAR10_IMAGE_BYTES, set->test_labels + i, err);
done:
    free(records);
    free(placing);
    if (status != ST_OK)
        cifar10_fini(set);
    return status;
}

void cifar10_fini(struct cifar10 *set)
{
    if (set == NULL)
        return;
    free(set->train_images);
    free(set->train_labels);
    free(set->test_images);
    free(set->test_labels);
    *set = (struct cifar10){0};
}

enum status cifar10_verify(const char *dir, char digest[SHA256_HEX_BYTES], struct error *err)
{
    char all[CIFAR10_FILE_COUNT * DIGEST_CHARS];

    for (size_t i = 0; i < CIFAR10_FILE_COUNT; i++) {
        unsigned char bytes[SHA256_BYTES];
        char path[FILES_PATH_BYTES_MAX], text[SHA256_HEX_BYTES];
        enum status status = files_join(path, dir, cifar10_files[i].name, err);

        if (status != ST_OK)
            return status;
        if (!files_exists(path))
            return error_set_code(err, ST_NOT_FOUND, "no_data", cifar10_files[i].name, FETCH_HINT,
                                  "%s is not there", path);
        status = crypto_sha256_file(path, bytes, err);
        if (status != ST_OK)
            return status;
        str_format_hex(bytes, SHA256_BYTES, text);
        if (strcmp(text, cifar10_files[i].sha256) != 0)
            return error_set_code(err, ST_INVALID, "data_sha256", cifar10_files[i].name, FETCH_HINT,
                                  "%s is not the official file: its SHA-256 is %s", path, text);
        memcpy(all + i * DIGEST_CHARS, text, DIGEST_CHARS);
    }
    if (digest != NULL)
        crypto_sha256_hex((struct str){all, sizeof all}, digest);
    return ST_OK;
}
