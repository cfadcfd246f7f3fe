/* agent/profile/caches.h: how many bytes of cache a program's threads can reach, as the system tells. Threads: one. */
#ifndef DAYBREAK_AGENT_PROFILE_CACHES_H
#define DAYBREAK_AGENT_PROFILE_CACHES_H

#include "common/run_profile.h"

#define CACHES_FOLDER "/sys/devices/system/cpu"

struct caches {
    int64_t bytes[LEVEL_COUNT]; /* 0: no such level, or not told; of memory always */
};

/* Data caches of the first `threads` processors that this process may use, each once, however many share it. `folder`
 * holds cpuN/cache/indexM (CACHES_FOLDER); what cannot be read there counts as none. */
void caches_read(const char *folder, int threads, struct caches *caches);

#endif
