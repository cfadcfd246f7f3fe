/* server/mlperf/system.h: the description of a system that submitters of v0.5 put beside their logs (entry.json).
 * Ownership: texts live in the caller's arena. Threads: pure, any. */
#ifndef DAYBREAK_SERVER_MLPERF_SYSTEM_H
#define DAYBREAK_SERVER_MLPERF_SYSTEM_H

#include <stdbool.h>
#include <stdint.h>

#include "common/arena.h"
#include "common/status.h"
#include "common/str.h"

#define MLPERF_SYSTEM_BYTES_MAX 65536

struct mlperf_system {
    const char *division, *status, *hardware, *framework, *accelerator; /* NULL: not stated */
    bool has_nodes, has_devices;                                        /* of all kinds of nodes */
    int64_t nodes, devices; /* devices: accelerators of all nodes, as stated */
};

/* A JSON object; numbers may be texts, "NA" states nothing. ST_INVALID with line and hint: it is no object, or a text of it
 * that is shown has a character that nobody sees. */
enum status mlperf_system_parse(struct str text, struct arena *arena, struct mlperf_system *system,
                                struct error *err);

#endif
