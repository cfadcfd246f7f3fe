/* agent/data/cifar10_sets.c: see cifar10_sets.h. */
#include "agent/data/cifar10_sets.h"

#include <stdlib.h>
#include <string.h>

#include "agent/data/files.h"
#include "agent/data/npy.h"

#define ARRAY_BYTES_MAX ((size_t)256 << 20)
#define IMAGES_MAX      60000
#define IMAGE_ALIGN     64

static enum status load_part(const char *dir, bool holdout, bool fresh, struct cifar10 *set,
                             struct error *err);
static enum status load_v6(const char *dir, struct cifar10 *set, struct error *err);
static enum status read_array(const char *dir, const char *name, struct buf *bytes,
                              struct error *err);

enum status cifar10_load_set(const char *dir, enum cifar10_set which, struct cifar10 *set,
                             struct error *err)
{
    switch (which) {
    case CIFAR10_SET_TEST: return load_part(dir, false, false, set, err);
    case CIFAR10_SET_TUNE: return load_part(dir, true, false, set, err);
    case CIFAR10_SET_FRESH: return load_part(dir, true, true, set, err);
    case CIFAR10_SET_V6: return load_v6(dir, set, err);
    case CIFAR10_SET_COUNT: break;
    }
    return error_set(err, ST_INTERNAL, NULL, "no such set");
}

/* The loader reads one training image at least: it is let go. */
static enum status load_part(const char *dir, bool holdout, bool fresh, struct cifar10 *set,
                             struct error *err)
{
    const struct cifar10_options options = {
        .dir = dir, .holdout = holdout, .fresh = fresh, .image_limit = 1, .whole_test = true};
    const enum status status = cifar10_load(&options, set, err);

    if (status != ST_OK)
        return status;
    free(set->train_images);
    free(set->train_labels);
    set->train_images = set->train_labels = NULL;
    set->train_count = 0;
    return ST_OK;
}

static enum status load_v6(const char *dir, struct cifar10 *set, struct error *err)
{
    char folder[FILES_PATH_BYTES_MAX], above[FILES_PATH_BYTES_MAX];
    struct buf images, labels;
    enum status status;

    buf_init(&images, ARRAY_BYTES_MAX);
    buf_init(&labels, ARRAY_BYTES_MAX);
    status = files_join(above, dir, "..", err);
    if (status == ST_OK)
        status = files_join(folder, above, CIFAR10_V6_FOLDER, err);
    if (status == ST_OK)
        status = read_array(folder, CIFAR10_V6_IMAGES, &images, err);
    if (status == ST_OK)
        status = read_array(folder, CIFAR10_V6_LABELS, &labels, err);
    if (status == ST_OK)
        status = cifar10_load_arrays(buf_str(&images), buf_str(&labels), set, err);
    buf_fini(&images);
    buf_fini(&labels);
    return status;
}

static enum status read_array(const char *dir, const char *name, struct buf *bytes,
                              struct error *err)
{
    char path[FILES_PATH_BYTES_MAX];
    enum status status = files_join(path, dir, name, err);

    if (status == ST_OK && !files_exists(path))
        return error_set(err, ST_NOT_FOUND, name, "%s is not there", path);
    return status == ST_OK ? files_read(path, bytes, err) : status;
}

static enum status check_arrays(const struct npy *images, const struct npy *labels,
                                struct error *err)
{
    if (images->rank != 4 || images->dim[0] > IMAGES_MAX || images->dim[1] != CIFAR10_SIDE ||
        images->dim[2] != CIFAR10_SIDE || images->dim[3] != 3 || images->number_bytes != 1 ||
        images->is_signed)
        return error_set(err, ST_INVALID, "images",
                         "the images are not at most %d of 32 x 32 x 3 bytes", IMAGES_MAX);
    if (labels->rank != 1 || labels->dim[0] != images->dim[0])
        return error_set(err, ST_INVALID, "labels", "there are %lld labels for %lld images",
                         (long long)labels->count, (long long)images->dim[0]);
    for (int64_t i = 0; i < labels->count; i++)
        if (npy_number(labels, i) < 0 || npy_number(labels, i) >= CIFAR10_CLASS_COUNT)
            return error_set(err, ST_INVALID, "labels", "label %lld is not 0 to 9", (long long)i);
    return ST_OK;
}

enum status cifar10_load_arrays(struct str images_bytes, struct str labels_bytes,
                                struct cifar10 *set, struct error *err)
{
    struct npy images, labels;
    size_t count, bytes;
    enum status status = npy_parse(images_bytes, &images, err);

    *set = (struct cifar10){0};
    if (status == ST_OK)
        status = npy_parse(labels_bytes, &labels, err);
    if (status == ST_OK)
        status = check_arrays(&images, &labels, err);
    if (status != ST_OK)
        return status;
    count = (size_t)images.dim[0];
    bytes = count * CIFAR10_IMAGE_BYTES;
    set->test_images = aligned_alloc(IMAGE_ALIGN, bytes);
    set->test_labels = malloc(count);
    if (set->test_images == NULL || set->test_labels == NULL) {
        cifar10_fini(set);
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for %zu images", count);
    }
    memcpy(set->test_images, images.data, bytes);
    for (size_t i = 0; i < count; i++)
        set->test_labels[i] = (uint8_t)npy_number(&labels, (int64_t)i);
    set->test_count = count;
    return ST_OK;
}
