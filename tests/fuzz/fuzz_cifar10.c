/* tests/fuzz/fuzz_cifar10.c: the two decoders behind `data fetch` on any bytes: the first byte chooses the image
 * or the list of labels. */
#include <stdint.h>

#include "agent/data/cifar10.h"
#include "agent/data/cifar10_fetch.h"

#define COUNT 2

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static uint8_t records[COUNT * CIFAR10_RECORD_BYTES];
    uint8_t labels[COUNT] = {0};
    struct error err = {0};
    struct str text;

    if (bytes == 0)
        return 0;
    text = (struct str){(const char *)data + 1, bytes - 1};
    if (data[0] == 'L') {
        if (cifar10_parse_labels(text, COUNT, labels, &err) == ST_OK) {
            if (labels[0] > 9 || labels[1] > 9)
                __builtin_trap();
        } else if (err.detail[0] == '\0') {
            __builtin_trap();
        }
    } else if (cifar10_decode_png(text, labels, COUNT, records, &err) != ST_OK &&
               err.detail[0] == '\0') {
        __builtin_trap();
    }
    return 0;
}
