/* tests/fuzz/fuzz_safetensors.c: safetensors_parse() on any bytes. What it takes covers the file: every tensor's
 * bytes lie inside and fit its shape. */
#include <stdint.h>

#include "agent/data/safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void check_tensor(const struct safetensors_tensor *tensor, const char *begin,
                         const char *end)
{
    size_t count = 1;

    if ((const char *)tensor->data < begin || (const char *)tensor->data + tensor->bytes > end)
        __builtin_trap();
    for (int i = 0; i < tensor->rank; i++)
        if (__builtin_mul_overflow(count, (size_t)tensor->dim[i], &count))
            __builtin_trap();
    if (count * safetensors_dtype_bytes(tensor->dtype) != tensor->bytes)
        __builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    const char *text = (const char *)data;
    struct safetensors *file = NULL;
    struct error err = {0};
    size_t total = 0;

    if (safetensors_parse((struct str){text, bytes}, &file, &err) != ST_OK) {
        if (err.detail[0] == '\0')
            __builtin_trap();
        return 0;
    }
    for (size_t i = 0; i < safetensors_content(file)->tensor_count; i++) {
        check_tensor(&safetensors_content(file)->tensors[i], text, text + bytes);
        total += safetensors_content(file)->tensors[i].bytes;
    }
    if (total > bytes)
        __builtin_trap();
    safetensors_close(file);
    return 0;
}
