/* agent/workload/checkpoint.c: see checkpoint.h. */
#include "agent/workload/checkpoint.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/str.h"

static bool is_saved(const struct var *var);
static enum safetensors_dtype file_dtype(enum dtype dtype);
static struct safetensors_tensor describe_var(const struct var *var);
static void permute(const struct var *var, bool to_file, const void *from, void *to);
static enum status check_tensor(const struct var *var, const struct safetensors_tensor *tensor,
                                const char *path, struct error *err);

enum status checkpoint_write(const struct store *store, const char *path,
                             const struct safetensors_meta *metas, size_t meta_count,
                             struct error *err)
{
    struct safetensors_content content = {.metas = metas, .meta_count = meta_count};
    struct safetensors_tensor *tensors = calloc(store_count(store) + 1, sizeof *tensors);
    unsigned char *bytes = NULL, *scratch = NULL, *at;
    uint64_t total = 1, largest = 1;
    enum status status = ST_NO_MEMORY;

    for (size_t i = 0; i < store_count(store); i++)
        if (is_saved(store_at(store, i))) {
            total += store_at(store, i)->bytes;
            if (largest < store_at(store, i)->bytes)
                largest = store_at(store, i)->bytes;
        }
    bytes = malloc((size_t)total);
    scratch = malloc((size_t)largest);
    if (tensors == NULL || bytes == NULL || scratch == NULL) {
        (void)error_set(err, status, NULL, "no memory for a checkpoint");
        goto done;
    }
    at = bytes;
    for (size_t i = 0; i < store_count(store); i++) {
        const struct var *var = store_at(store, i);

        if (!is_saved(var))
            continue;
        store_read(store, var, scratch);
        permute(var, true, scratch, at);
        tensors[content.tensor_count] = describe_var(var);
        tensors[content.tensor_count++].data = at;
        at += var->bytes;
    }
    content.tensors = tensors;
    status = safetensors_write(path, &content, err);
done:
    free(scratch);
    free(bytes);
    free(tensors);
    return status;
}

/* A weight that is no number makes every answer the same one. */
static enum status check_numbers(const struct var *var, const struct safetensors_tensor *tensor,
                                 const char *path, struct error *err)
{
    const unsigned char *data = tensor->data;

    for (size_t i = 0; var->spec.tensor.dtype == DT_F32 && i < tensor->bytes / sizeof(float); i++) {
        float number;

        memcpy(&number, data + i * sizeof number, sizeof number);
        if (!isfinite(number))
            return error_set(err, ST_INVALID, var->name, "%s has a number in %s that is not finite",
                             path, var->name);
    }
    return ST_OK;
}

enum status checkpoint_read(struct store *store, const struct safetensors *file, const char *path,
                            struct error *err)
{
    enum status status = ST_OK;

    for (size_t i = 0; i < store_count(store) && status == ST_OK; i++)
        if (is_saved(store_at(store, i)))
            status = check_tensor(store_at(store, i),
                                  safetensors_find(file, store_at(store, i)->name), path, err);
    for (size_t i = 0; i < store_count(store) && status == ST_OK; i++)
        if (is_saved(store_at(store, i)))
            status = check_numbers(store_at(store, i),
                                   safetensors_find(file, store_at(store, i)->name), path, err);
    for (size_t i = 0; i < store_count(store) && status == ST_OK; i++) {
        struct var *var = store_at(store, i);
        unsigned char *data;

        if (!is_saved(var))
            continue;
        data = malloc((size_t)var->bytes);
        if (data == NULL) {
            (void)fputs("checkpoint: out of memory\n", stderr);
            /* Half of the variables may be written: nobody can go on. */
            exit(4); /* NOLINT(concurrency-mt-unsafe): no thread's work outlives it */
        }
        permute(var, false, safetensors_find(file, var->name)->data, data);
        store_write(store, var, data);
        free(data);
    }
    return status;
}

static bool is_saved(const struct var *var)
{
    return var->spec.role == VAR_PARAM || var->spec.role == VAR_STATE;
}

static enum safetensors_dtype file_dtype(enum dtype dtype)
{
    switch (dtype) {
    case DT_F32: return SAFETENSORS_F32;
    case DT_BF16: return SAFETENSORS_BF16;
    case DT_I32: return SAFETENSORS_I32;
    case DT_U8: return SAFETENSORS_U8;
    case DT_F64: return SAFETENSORS_F64;
    case DT_COUNT: break;
    }
    assert(dtype < DT_COUNT);
    return SAFETENSORS_DTYPE_COUNT;
}

static struct safetensors_tensor describe_var(const struct var *var)
{
    const struct tensor *t = &var->spec.tensor;
    struct safetensors_tensor out = {.name = var->name,
                                     .dtype = file_dtype(t->dtype),
                                     .rank = t->rank,
                                     .bytes = (size_t)var->bytes};

    for (int d = 0; d < t->rank; d++)
        out.dim[d] = t->dim[var->spec.has_torch_perm ? var->spec.torch_perm[d] : d];
    return out;
}

/* dim[d] of the file is our dim[perm[d]]: walks the file's elements in order. */
static void permute(const struct var *var, bool to_file, const void *from, void *to)
{
    const struct tensor *t = &var->spec.tensor;
    const size_t size = dtype_bytes(t->dtype);
    int64_t stride[TENSOR_RANK_MAX], index[TENSOR_RANK_MAX] = {0}, step = 1;

    if (!var->spec.has_torch_perm) {
        memcpy(to, from, (size_t)var->bytes);
        return;
    }
    for (int d = t->rank; d-- > 0;) {
        stride[d] = step;
        step *= t->dim[d];
    }
    for (int64_t n = 0; n < step; n++) {
        int64_t ours = 0;

        for (int d = 0; d < t->rank; d++)
            ours += index[d] * stride[var->spec.torch_perm[d]];
        if (to_file)
            memcpy((unsigned char *)to + (size_t)n * size,
                   (const unsigned char *)from + (size_t)ours * size, size);
        else
            memcpy((unsigned char *)to + (size_t)ours * size,
                   (const unsigned char *)from + (size_t)n * size, size);
        for (int d = t->rank; d-- > 0 && ++index[d] == t->dim[var->spec.torch_perm[d]];)
            index[d] = 0;
    }
}

static enum status check_tensor(const struct var *var, const struct safetensors_tensor *tensor,
                                const char *path, struct error *err)
{
    const struct safetensors_tensor want = describe_var(var);

    if (tensor == NULL)
        return error_set(err, ST_INVALID, var->name, "%s has no tensor %s", path, var->name);
    if (tensor->dtype != want.dtype || tensor->rank != want.rank || tensor->bytes != want.bytes ||
        memcmp(tensor->dim, want.dim, (size_t)want.rank * sizeof want.dim[0]) != 0)
        return error_set(err, ST_INVALID, var->name,
                         "%s has another type or shape of %s than this network", path, var->name);
    return ST_OK;
}
