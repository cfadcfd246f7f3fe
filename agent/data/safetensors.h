/* agent/data/safetensors.h: the safetensors file format: 8 bytes little-endian header length, a JSON
 * header, then the tensors' bytes. Speaks of named arrays only.
 * Writing pads the header with spaces to a multiple of 8 and replaces the file at once (temporary file,
 * fsync, rename). Reading refuses holes, overlaps, unknown dtypes, sizes that contradict shapes,
 * duplicate names, and headers above 16 MB.
 * Ownership: an opened file owns its bytes; what it hands out lives until safetensors_close().
 * Threads: one owner; read-only after opening. */
#ifndef DAYBREAK_AGENT_DATA_SAFETENSORS_H
#define DAYBREAK_AGENT_DATA_SAFETENSORS_H

#include <stddef.h>
#include <stdint.h>

#include "common/status.h"
#include "common/str.h"

#define SAFETENSORS_RANK_MAX         6
#define SAFETENSORS_HEADER_BYTES_MAX ((size_t)16 * 1024 * 1024)
#define SAFETENSORS_TENSORS_MAX      65536
#define SAFETENSORS_FILE_BYTES_MAX   (INT64_C(1) << 36)

enum safetensors_dtype {
    SAFETENSORS_F64,
    SAFETENSORS_F32,
    SAFETENSORS_F16,
    SAFETENSORS_BF16,
    SAFETENSORS_I64,
    SAFETENSORS_I32,
    SAFETENSORS_I16,
    SAFETENSORS_I8,
    SAFETENSORS_U8,
    SAFETENSORS_BOOL,
    SAFETENSORS_DTYPE_COUNT
};

struct safetensors_tensor {
    const char *name;
    enum safetensors_dtype dtype;
    int rank;
    int64_t dim[SAFETENSORS_RANK_MAX];
    const void *data; /* row-major; 8-byte aligned at least when all tensors before it are */
    size_t bytes;
};

struct safetensors_meta { /* of "__metadata__" */
    const char *key, *value;
};

struct safetensors_content {
    const struct safetensors_tensor *tensors; /* written in this order */
    size_t tensor_count;
    const struct safetensors_meta *metas;
    size_t meta_count;
};

size_t safetensors_dtype_bytes(enum safetensors_dtype dtype);

enum status safetensors_write(const char *path, const struct safetensors_content *content,
                              struct error *err);

struct safetensors;
/* ST_NOT_FOUND, ST_IO, ST_INVALID (what is wrong with it), ST_LIMIT. */
enum status safetensors_open(const char *path, struct safetensors **file, struct error *err);
/* The same from memory that outlives the result. */
enum status safetensors_parse(struct str bytes, struct safetensors **file, struct error *err);
void safetensors_close(struct safetensors *file); /* accepts NULL */

/* In the order of their bytes. */
const struct safetensors_content *safetensors_content(const struct safetensors *file);
const struct safetensors_tensor *safetensors_find(const struct safetensors *file,
                                                  const char *name);                /* NULL: none */
const char *safetensors_find_meta(const struct safetensors *file, const char *key); /* NULL: none */

#endif
