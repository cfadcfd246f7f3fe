/* agent/run/attempt.h: one try at a job: trains under a lease and tells the server, or sends what an
 * earlier life of this agent left in the spool.
 *
 *   spool empty            train: events -> spool -> server; then finish
 *   spool ends in run_end  the training is over: send the rest; then finish
 *   anything else          the training died with the agent: its time is void, so release
 *
 * Ownership: borrows all for the call. Threads: the main thread. */
#ifndef DAYBREAK_AGENT_RUN_ATTEMPT_H
#define DAYBREAK_AGENT_RUN_ATTEMPT_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/run/lease.h"
#include "agent/run/state.h"
#include "agent/train/device.h"
#include "common/status.h"
#include "common/task.h"

struct attempt_setting {
    const char *server;
    const struct state *state;
    const struct task_table *tasks;
    const struct device_choice *device;
    bool profile; /* measures, after the training, where a step's time goes, and sends it */
};

enum attempt_outcome {
    ATTEMPT_FINISHED, /* the server has its result, whichever */
    ATTEMPT_RELEASED, /* given back: the job is queued again */
    ATTEMPT_LOST,     /* superseded, or refused for good; the spool is kept */
    ATTEMPT_KEPT      /* stopped before the server knew all: the next start goes on */
};

/* outcome is always valid; a status other than ST_OK says why it is not FINISHED. */
enum status attempt_run(const struct attempt_setting *setting, const struct lease *lease,
                        enum attempt_outcome *outcome, struct error *err);
/* Gives a job back that nothing was done for. */
enum status attempt_release(const struct attempt_setting *setting, const struct lease *lease,
                            const char *reason, const char *detail, struct error *err);

#endif
