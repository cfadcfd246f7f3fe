/* tests/fuzz/fuzz_message.c: message_parse() on any bytes: what a child that went wild might say. */
#include <stdint.h>

#include "agent/train/message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct error err = {0};
    struct message message;

    if (message_parse((struct str){(const char *)data, bytes}, &message, &err) == ST_OK) {
        if (message.kind >= MESSAGE_KIND_COUNT || message.phase >= PHASE_COUNT)
            __builtin_trap();
        if (message.kind == MESSAGE_EVAL && message.score.correct > message.score.total)
            __builtin_trap();
        json_decref(message.facts);
    } else if (message.facts != NULL || err.detail[0] == '\0') {
        __builtin_trap();
    }
    return 0;
}
