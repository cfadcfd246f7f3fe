/* agent/profile/traffic.h: how many bytes each group of a program moves at least, by level of memory. A model: each
 * group reads its operands and writes its results once, in order, and every level holds what was touched last, as far as
 * its capacity goes. What a real cache does worse (sets, scratch, two threads that do not touch the same half) is left
 * out, so a dot of the roofline may lie left of the truth, never right of it.
 * Threads: pure, any. */
#ifndef DAYBREAK_AGENT_PROFILE_TRAFFIC_H
#define DAYBREAK_AGENT_PROFILE_TRAFFIC_H

#include "agent/backend/backend.h"
#include "common/run_profile.h"

/* bytes[0 .. group_count][level]: of each group, and last of the writebacks, in a run that follows many others.
 * [LEVEL_L1]: all; [l]: what the level before l does not hold. capacity[l]: bytes, 0: there is no such level.
 * ST_NO_MEMORY. */
enum status traffic_model(const struct program *program, const int64_t capacity[LEVEL_COUNT],
                          int64_t (*bytes)[LEVEL_COUNT], struct error *err);

#endif
