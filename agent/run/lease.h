/* agent/run/lease.h: a job that the server hands to this agent, read from its answer to a claim.
 * Ownership: the lease owns its text. Threads: pure. */
#ifndef DAYBREAK_AGENT_RUN_LEASE_H
#define DAYBREAK_AGENT_RUN_LEASE_H

#include <stdint.h>

#include "common/status.h"
#include "common/str.h"

#define LEASE_TEXT_BYTES 65

struct lease { /* openapi.yaml, Lease */
    int64_t job, run, lease_ms, heartbeat_ms, task_version, resume_seq;
    int64_t event_bytes, events_bytes;
    char attempt[LEASE_TEXT_BYTES], task[LEASE_TEXT_BYTES], workload[LEASE_TEXT_BYTES],
        recipe[LEASE_TEXT_BYTES];
};

/* Reads the body of a 200. The attempt's id is a plain name: it becomes a folder. ST_INVALID names the field. */
enum status lease_parse(struct str text, struct lease *lease, struct error *err);

#endif
