/* tests/fuzz/fuzz_npy.c: npy_parse() on any bytes. What it takes covers the file, and every number can be read. */
#include <stdint.h>

#include "agent/data/npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    const struct str text = {(const char *)data, bytes};
    struct error err = {0};
    struct npy npy;
    int64_t count = 1;

    if (npy_parse(text, &npy, &err) != ST_OK) {
        if (err.detail[0] == '\0')
            __builtin_trap();
        return 0;
    }
    for (int i = 0; i < npy.rank; i++)
        count *= npy.dim[i];
    if (count != npy.count || npy.data + count * npy.number_bytes != data + bytes)
        __builtin_trap();
    for (int64_t i = 0; i < npy.count; i++)
        (void)npy_number(&npy, i);
    return 0;
}
