/* agent/train/host.h: what this machine is, for entries and for registration.
 * Ownership: values only. Threads: any. */
#ifndef DAYBREAK_AGENT_TRAIN_HOST_H
#define DAYBREAK_AGENT_TRAIN_HOST_H

#include <stdint.h>

#include "common/status.h"

#define HOST_TEXT_BYTES 128

struct host {
    char name[65];                   /* of the machine in its network */
    char cpu_model[HOST_TEXT_BYTES]; /* "unknown CPU" where the kernel does not say */
    char cpu_isa[HOST_TEXT_BYTES];   /* the best set that kernels here may use: "avx512", "avx2" */
    int64_t cpu_cores;               /* that this process may run on */
    int64_t memory_bytes;
};

enum status host_read(struct host *host, struct error *err);
/* For an entry's `hardware`: "1 c7i.large (2 cores, Intel(R) Xeon(R))"; instance may be NULL. */
void host_format_hardware(const struct host *host, const char *instance,
                          char text[2 * HOST_TEXT_BYTES]);

#endif
