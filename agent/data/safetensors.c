/* agent/data/safetensors.c: the safetensors file format (see safetensors.h). */
#include "agent/data/safetensors.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/data/files.h"
#include "common/arena.h"
#include "common/json.h"

#define LENGTH_BYTES    8
#define HEADER_ALIGN    8
#define ARENA_BYTES_MAX ((size_t)256 * 1024 * 1024)
#define META_KEY        "__metadata__"

static const struct {
    const char *name;
    size_t bytes;
} dtypes[SAFETENSORS_DTYPE_COUNT] = {
    [SAFETENSORS_F64] = {"F64", 8}, [SAFETENSORS_F32] = {"F32", 4},
    [SAFETENSORS_F16] = {"F16", 2}, [SAFETENSORS_BF16] = {"BF16", 2},
    [SAFETENSORS_I64] = {"I64", 8}, [SAFETENSORS_I32] = {"I32", 4},
    [SAFETENSORS_I16] = {"I16", 2}, [SAFETENSORS_I8] = {"I8", 1},
    [SAFETENSORS_U8] = {"U8", 1},   [SAFETENSORS_BOOL] = {"BOOL", 1},
};

struct safetensors {
    struct arena arena;
    struct safetensors_content content;
    void *map; /* NULL when parsed from memory */
    size_t map_bytes;
};

static enum status parse_header(struct safetensors *file, struct str header, struct str data,
                                struct error *err);

size_t safetensors_dtype_bytes(enum safetensors_dtype dtype)
{
    assert(dtype < SAFETENSORS_DTYPE_COUNT);
    return dtypes[dtype].bytes;
}

/* False on overflow or a negative dimension. A rank of 0 is one element. */
static bool count_bytes(const struct safetensors_tensor *tensor, size_t *bytes)
{
    size_t total = dtypes[tensor->dtype].bytes;

    for (int i = 0; i < tensor->rank; i++)
        if (tensor->dim[i] < 0 || __builtin_mul_overflow(total, (size_t)tensor->dim[i], &total))
            return false;
    *bytes = total;
    return true;
}

static void append_header(struct buf *header, const struct safetensors_content *content)
{
    size_t offset = 0;

    buf_append_char(header, '{');
    if (content->meta_count > 0) {
        buf_append_cstr(header, "\"" META_KEY "\":{");
        for (size_t i = 0; i < content->meta_count; i++) {
            buf_append_cstr(header, i > 0 ? "," : "");
            buf_append_json(header, str_from_cstr(content->metas[i].key));
            buf_append_char(header, ':');
            buf_append_json(header, str_from_cstr(content->metas[i].value));
        }
        buf_append_char(header, '}');
    }
    for (size_t i = 0; i < content->tensor_count; i++) {
        const struct safetensors_tensor *tensor = &content->tensors[i];

        buf_append_cstr(header, i > 0 || content->meta_count > 0 ? "," : "");
        buf_append_json(header, str_from_cstr(tensor->name));
        buf_appendf(header, ":{\"dtype\":\"%s\",\"shape\":[", dtypes[tensor->dtype].name);
        for (int d = 0; d < tensor->rank; d++)
            buf_appendf(header, "%s%lld", d > 0 ? "," : "", (long long)tensor->dim[d]);
        buf_appendf(header, "],\"data_offsets\":[%zu,%zu]}", offset, offset + tensor->bytes);
        offset += tensor->bytes;
    }
    buf_append_char(header, '}');
    while (header->len % HEADER_ALIGN != 0 && !header->failed)
        buf_append_char(header, ' ');
}

static enum status write_content(int fd, const char *path, const struct buf *header,
                                 const struct safetensors_content *content, struct error *err)
{
    unsigned char length[LENGTH_BYTES];
    enum status status;

    for (size_t i = 0; i < LENGTH_BYTES; i++)
        length[i] = (unsigned char)((uint64_t)header->len >> (8 * i));
    status = files_write_all(fd, length, sizeof length, path, err);
    if (status == ST_OK)
        status = files_write_all(fd, header->data, header->len, path, err);
    for (size_t i = 0; i < content->tensor_count && status == ST_OK; i++)
        status =
            files_write_all(fd, content->tensors[i].data, content->tensors[i].bytes, path, err);
    if (status == ST_OK && fsync(fd) != 0)
        status = error_set(err, ST_IO, path, "cannot sync %s: %s", path, strerrordesc_np(errno));
    return status;
}

enum status safetensors_write(const char *path, const struct safetensors_content *content,
                              struct error *err)
{
    char temporary[FILES_PATH_BYTES_MAX];
    struct buf header;
    enum status status;
    int fd = -1;

    for (size_t i = 0; i < content->tensor_count; i++) {
        size_t bytes = 0;

        const bool counted = count_bytes(&content->tensors[i], &bytes);

        assert(counted);
        assert(bytes == content->tensors[i].bytes);
    }
    buf_init(&header, SAFETENSORS_HEADER_BYTES_MAX);
    append_header(&header, content);
    status = buf_check(&header, err);
    if (status != ST_OK)
        goto done;
    if (snprintf(temporary, sizeof temporary, "%s.%ld.part", path, (long)getpid()) >=
        (int)sizeof temporary) {
        status = error_set(err, ST_LIMIT, path, "the path of %s is too long", path);
        goto done;
    }
    fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0) {
        status =
            error_set(err, ST_IO, path, "cannot create %s: %s", temporary, strerrordesc_np(errno));
        goto done;
    }
    status = write_content(fd, temporary, &header, content, err);
    if (close(fd) != 0 && status == ST_OK)
        status =
            error_set(err, ST_IO, path, "cannot close %s: %s", temporary, strerrordesc_np(errno));
    if (status == ST_OK)
        status = files_rename(temporary, path, err);
    if (status != ST_OK)
        (void)unlink(temporary);
done:
    buf_fini(&header);
    return status;
}

enum status safetensors_open(const char *path, struct safetensors **file, struct error *err)
{
    struct stat info;
    enum status status = ST_OK;
    void *map = MAP_FAILED;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return error_set(err, errno == ENOENT ? ST_NOT_FOUND : ST_IO, path, "cannot open %s: %s",
                         path, strerrordesc_np(errno));
    if (fstat(fd, &info) != 0)
        status = error_set(err, ST_IO, path, "cannot look at %s: %s", path, strerrordesc_np(errno));
    else if (info.st_size < LENGTH_BYTES)
        status = error_set(err, ST_INVALID, path, "%s is too short for a safetensors file", path);
    else if (info.st_size > SAFETENSORS_FILE_BYTES_MAX)
        status = error_set(err, ST_LIMIT, path, "%s is larger than 64 GiB", path);
    if (status == ST_OK) {
        map = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (map == MAP_FAILED)
            status = error_set(err, ST_IO, path, "cannot map %s: %s", path, strerrordesc_np(errno));
    }
    close(fd);
    if (status != ST_OK)
        return status;
    status = safetensors_parse((struct str){map, (size_t)info.st_size}, file, err);
    if (status != ST_OK) {
        (void)munmap(map, (size_t)info.st_size);
        return status;
    }
    (*file)->map = map;
    (*file)->map_bytes = (size_t)info.st_size;
    return ST_OK;
}

enum status safetensors_parse(struct str bytes, struct safetensors **file, struct error *err)
{
    struct safetensors *parsed;
    uint64_t header_bytes = 0;
    enum status status;

    if (bytes.len < LENGTH_BYTES)
        return error_set(err, ST_INVALID, "header", "the file ends within the header's length");
    for (size_t i = 0; i < LENGTH_BYTES; i++)
        header_bytes |= (uint64_t)(unsigned char)bytes.data[i] << (8 * i);
    if (header_bytes > SAFETENSORS_HEADER_BYTES_MAX)
        return error_set(err, ST_LIMIT, "header", "the header is larger than 16 MB");
    if (header_bytes > bytes.len - LENGTH_BYTES)
        return error_set(err, ST_INVALID, "header", "the file ends within the header");
    parsed = calloc(1, sizeof *parsed);
    if (parsed == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory to read a safetensors file");
    arena_init(&parsed->arena, ARENA_BYTES_MAX);
    status =
        parse_header(parsed, str_slice(bytes, LENGTH_BYTES, LENGTH_BYTES + (size_t)header_bytes),
                     str_slice(bytes, LENGTH_BYTES + (size_t)header_bytes, bytes.len), err);
    if (status != ST_OK) {
        safetensors_close(parsed);
        return status;
    }
    *file = parsed;
    return ST_OK;
}

void safetensors_close(struct safetensors *file)
{
    if (file == NULL)
        return;
    if (file->map != NULL)
        (void)munmap(file->map, file->map_bytes);
    arena_fini(&file->arena);
    free(file);
}

const struct safetensors_content *safetensors_content(const struct safetensors *file)
{
    return &file->content;
}

const struct safetensors_tensor *safetensors_find(const struct safetensors *file, const char *name)
{
    for (size_t i = 0; i < file->content.tensor_count; i++)
        if (strcmp(file->content.tensors[i].name, name) == 0)
            return &file->content.tensors[i];
    return NULL;
}

const char *safetensors_find_meta(const struct safetensors *file, const char *key)
{
    for (size_t i = 0; i < file->content.meta_count; i++)
        if (strcmp(file->content.metas[i].key, key) == 0)
            return file->content.metas[i].value;
    return NULL;
}

static enum status refuse(struct error *err, const char *name, const char *what)
{
    return error_set(err, ST_INVALID, name, "tensor \"%.64s\": %s", name, what);
}

static enum status parse_dtype(const char *name, struct str text, enum safetensors_dtype *dtype,
                               struct error *err)
{
    for (int i = 0; i < SAFETENSORS_DTYPE_COUNT; i++)
        if (str_eq_cstr(text, dtypes[i].name)) {
            *dtype = (enum safetensors_dtype)i;
            return ST_OK;
        }
    return refuse(err, name, "unknown dtype");
}

static enum status parse_shape(const json_t *shape, struct safetensors_tensor *tensor,
                               struct error *err)
{
    tensor->rank = (int)json_array_size(shape);
    for (int i = 0; i < tensor->rank; i++) {
        const json_t *dim = json_array_get(shape, (size_t)i);

        if (!json_is_integer(dim) || json_integer_value(dim) < 0)
            return refuse(err, tensor->name, "a dimension is not a whole number");
        tensor->dim[i] = json_integer_value(dim);
    }
    return ST_OK;
}

static enum status parse_offsets(const json_t *offsets, struct str data,
                                 struct safetensors_tensor *tensor, struct error *err)
{
    const json_t *begin = json_array_get(offsets, 0), *end = json_array_get(offsets, 1);
    size_t bytes = 0;

    if (json_array_size(offsets) != 2 || !json_is_integer(begin) || !json_is_integer(end))
        return refuse(err, tensor->name, "data_offsets are not two whole numbers");
    if (json_integer_value(begin) < 0 || json_integer_value(end) < json_integer_value(begin) ||
        (uint64_t)json_integer_value(end) > data.len)
        return refuse(err, tensor->name, "data_offsets lie outside the file");
    tensor->data = data.data + json_integer_value(begin);
    tensor->bytes = (size_t)(json_integer_value(end) - json_integer_value(begin));
    if (!count_bytes(tensor, &bytes) || bytes != tensor->bytes)
        return refuse(err, tensor->name, "shape and data_offsets contradict each other");
    return ST_OK;
}

static enum status parse_tensor(const char *name, const json_t *value, struct str data,
                                struct safetensors_tensor *tensor, struct error *err)
{
    const json_t *shape = NULL, *offsets = NULL;
    struct json_reader reader;
    struct str dtype = {0};
    enum status status;

    tensor->name = name;
    json_reader_init(&reader, value, name, err);
    (void)json_read_text(&reader, "dtype", true, 8, &dtype);
    (void)json_read_array(&reader, "shape", true, SAFETENSORS_RANK_MAX, &shape);
    (void)json_read_array(&reader, "data_offsets", true, 2, &offsets);
    status = json_reader_finish(&reader);
    if (status == ST_OK)
        status = parse_dtype(name, dtype, &tensor->dtype, err);
    if (status == ST_OK)
        status = parse_shape(shape, tensor, err);
    if (status == ST_OK)
        status = parse_offsets(offsets, data, tensor, err);
    return status;
}

static enum status parse_metas(struct safetensors *file, json_t *object, struct error *err)
{
    struct safetensors_meta *metas;
    const char *key;
    json_t *value;
    size_t count = 0;

    if (!json_is_object(object))
        return error_set(err, ST_INVALID, META_KEY, META_KEY " is not an object");
    metas = ARENA_NEW_ARRAY(&file->arena, json_object_size(object), struct safetensors_meta);
    if (metas == NULL)
        return error_set(err, ST_NO_MEMORY, META_KEY, "no memory for the metadata");
    json_object_foreach(object, key, value)
    {
        if (!json_is_string(value))
            return error_set(err, ST_INVALID, META_KEY, "the metadata %.64s is not text", key);
        metas[count].key = arena_copy(&file->arena, str_from_cstr(key));
        metas[count].value = arena_copy(
            &file->arena, (struct str){json_string_value(value), json_string_length(value)});
        if (metas[count].key == NULL || metas[count].value == NULL)
            return error_set(err, ST_NO_MEMORY, META_KEY, "no memory for the metadata");
        count++;
    }
    file->content.metas = metas;
    file->content.meta_count = count;
    return ST_OK;
}

static int compare_places(const void *left, const void *right)
{
    const struct safetensors_tensor *a = left, *b = right;
    const uintptr_t x = (uintptr_t)a->data, y = (uintptr_t)b->data;

    if (x != y)
        return x < y ? -1 : 1;
    return a->bytes < b->bytes ? -1 : a->bytes > b->bytes; /* empty ones first */
}

/* Sorted by place, each tensor must begin where the one before ended, and the last end the file. */
static enum status check_coverage(const struct safetensors_content *content, struct str data,
                                  struct error *err)
{
    const char *next = data.data;

    for (size_t i = 0; i < content->tensor_count; i++) {
        const struct safetensors_tensor *tensor = &content->tensors[i];

        if ((const char *)tensor->data > next)
            return refuse(err, tensor->name, "there is a hole before its bytes");
        if ((const char *)tensor->data < next)
            return refuse(err, tensor->name, "its bytes overlap another's");
        next += tensor->bytes;
    }
    if (next != data.data + data.len)
        return error_set(err, ST_INVALID, "data", "bytes behind the last tensor belong to none");
    return ST_OK;
}

static enum status parse_tensors(struct safetensors *file, json_t *root, struct str data,
                                 struct error *err)
{
    struct safetensors_tensor *tensors;
    const char *key;
    json_t *value;
    size_t count = 0;

    tensors = ARENA_NEW_ARRAY(&file->arena, json_object_size(root), struct safetensors_tensor);
    if (tensors == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for the list of tensors");
    json_object_foreach(root, key, value)
    {
        enum status status;

        if (strcmp(key, META_KEY) == 0) {
            status = parse_metas(file, value, err);
        } else {
            const char *name = arena_copy(&file->arena, str_from_cstr(key));

            if (name == NULL)
                return error_set(err, ST_NO_MEMORY, NULL, "no memory for the list of tensors");
            status = parse_tensor(name, value, data, &tensors[count++], err);
        }
        if (status != ST_OK)
            return status;
    }
    qsort(tensors, count, sizeof *tensors, compare_places);
    file->content.tensors = tensors;
    file->content.tensor_count = count;
    return check_coverage(&file->content, data, err);
}

static enum status parse_header(struct safetensors *file, struct str header, struct str data,
                                struct error *err)
{
    struct json_doc doc = {0};
    enum status status;

    if (header.len == 0 || header.data[0] != '{')
        return error_set(err, ST_INVALID, "header", "the header does not begin with '{'");
    status = json_doc_parse(header, &file->arena, &doc, err);
    if (status != ST_OK)
        return status;
    if (!json_is_object(doc.root))
        status = error_set(err, ST_INVALID, "header", "the header is not an object");
    else if (json_object_size(doc.root) > SAFETENSORS_TENSORS_MAX)
        status =
            error_set(err, ST_LIMIT, "header", "more than %d tensors", SAFETENSORS_TENSORS_MAX);
    else
        status = parse_tensors(file, doc.root, data, err);
    json_doc_fini(&doc);
    return status;
}
