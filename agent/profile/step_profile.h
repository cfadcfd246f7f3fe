/* agent/profile/step_profile.h: where the time of a training step goes, measured once the training is over: rounds of
 * one step as in training and one whose groups the device waits for, with the host's ceilings probed in between, and the
 * work of each group modelled from the plan (common/run_profile.h).
 * Ownership: as said. Threads: the workload's caller. */
#ifndef DAYBREAK_AGENT_PROFILE_STEP_PROFILE_H
#define DAYBREAK_AGENT_PROFILE_STEP_PROFILE_H

#include "agent/workload/workload.h"
#include "common/arena.h"
#include "common/run_profile.h"

struct step_profile_source {
    const struct workload_ops *ops;
    void *state; /* started; trained or not. Its training cannot go on afterwards */
    bool fusion; /* as it was opened */
    bool has_evaluation, has_energy;
    double evaluation_s, energy_j; /* of the training */
};

/* Texts are in the arena, or the workload's: valid until it is closed. ST_UNSUPPORTED: the workload has no step to
 * measure. */
enum status step_profile_measure(const struct step_profile_source *source, struct arena *arena,
                                 struct run_profile *profile, struct error *err);

/* Some lines of heading, then the groups, most time first. */
void step_profile_print(const struct run_profile *profile, FILE *out);

#endif
