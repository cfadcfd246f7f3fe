/* agent/profile/probe.h: the ceilings of this host for so many threads: bandwidth of each level of memory, and the peak
 * of each data type, as they are at the moment. A try takes about a tenth of a second; rounds belong between the steps
 * that are judged by them, because a shared machine is not equally fast at all times.
 * Ownership: the caller closes it. Threads: one; a probe has workers of its own, idle between rounds. */
#ifndef DAYBREAK_AGENT_PROFILE_PROBE_H
#define DAYBREAK_AGENT_PROFILE_PROBE_H

#include "agent/profile/caches.h"
#include "common/run_profile.h"
#include "common/status.h"

struct probe;

/* isa: the sets that the probe may use (kernels.h). A level is measured when it is at least twice as large as the one
 * before. ST_NO_MEMORY, ST_UNAVAILABLE: no threads. */
enum status probe_open(int threads, uint32_t isa, const struct caches *caches, struct probe **probe,
                       struct error *err);
void probe_close(struct probe *probe); /* accepts NULL */
/* The size of a trial of which `size` took `seconds`: more, up to `most`, where waking the threads took most of that. One
 * that was sized while its threads had to wait for the processor comes to its size by this. */
int probe_grow(int size, int most, double seconds);
/* Each of its ceilings `tries` times. */
void probe_round(struct probe *probe, int tries);
/* The greatest of all rounds so far, of which there is at least one, into the ceilings of `profile`. */
void probe_fill(const struct probe *probe, struct run_profile *profile);

#endif
