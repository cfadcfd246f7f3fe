/* tests/fuzz/fuzz_identity.c: state_parse_identity() on any bytes, as a damaged disk might give them. What is
 * refused changes nothing. */
#include <stdint.h>

#include "agent/run/state.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct state state, before;
    struct error err = {0};

    memset(&state, 0, sizeof state);
    state.lock_fd = -1;
    before = state;
    if (state_parse_identity((struct str){(const char *)data, bytes}, &state, &err) == ST_OK) {
        if (!state.has_identity || state.agent < 1 || strlen(state.token) >= STATE_TOKEN_BYTES ||
            strlen(state.instance) >= STATE_NAME_BYTES)
            __builtin_trap();
    } else if (err.detail[0] == '\0' || memcmp(&state, &before, sizeof state) != 0) {
        __builtin_trap();
    }
    return 0;
}
