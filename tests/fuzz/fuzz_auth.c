/* tests/fuzz/fuzz_auth.c: the value of an Authorization header. What is taken is safe to look up and to print. */
#include <stdint.h>

#include "server/http/auth.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    const struct str text = {(const char *)data, bytes};
    struct error err = {0};
    struct str token;

    if (auth_parse_header(text, &token, &err) == ST_OK) {
        if (token.len < 4 || token.len > TOKEN_TEXT_BYTES_MAX)
            __builtin_trap();
        for (size_t i = 0; i < token.len; i++)
            if (token.data[i] <= ' ' || token.data[i] > '~' || token.data[i] == '"')
                __builtin_trap();
    } else if (err.status != ST_UNAUTHENTICATED || err.code[0] == '\0') {
        __builtin_trap();
    }
    return 0;
}
