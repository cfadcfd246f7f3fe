/* tests/fuzz/fuzz_lease.c: lease_parse() on any bytes. What it takes names a folder inside its parent and has
 * numbers that are limits. */
#include <stdint.h>

#include "agent/run/lease.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct error err = {0};
    struct lease lease;

    if (lease_parse((struct str){(const char *)data, bytes}, &lease, &err) != ST_OK) {
        if (err.detail[0] == '\0')
            __builtin_trap();
        return 0;
    }
    if (lease.attempt[0] == '\0' || lease.attempt[0] == '.' ||
        strpbrk(lease.attempt, "/\\ ") != NULL || lease.job < 1 || lease.run < 1 ||
        lease.lease_ms < 1 || lease.heartbeat_ms < 1 || lease.event_bytes < 1 ||
        lease.events_bytes < 1)
        __builtin_trap();
    return 0;
}
