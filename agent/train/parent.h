/* agent/train/parent.h: one training seen from its parent: starts the child, stamps what it says, keeps
 * the clock (protocol.md, The clock) and turns it into events. Used by `train` and `run` alike; what
 * they do with an event is the handler's.
 *
 *   phase_begin setup .. phase_end setup, run_start --start_clock()--> seed to the child, the clock runs
 *   phase_begin train .. phase_end train [official time of the evaluation that follows ends here]
 *   phase_begin evaluate, eval, phase_end evaluate      }  left out of the clock
 *   phase_begin checkpoint, phase_end checkpoint        }
 *   .. run_end, then the profile, if one is wanted: it counts for nothing, and its failure fails nothing
 *
 * Ownership: borrows plan and handler for the call; parent_result_fini() frees a result.
 * Threads: the main thread (process.h). */
#ifndef DAYBREAK_AGENT_TRAIN_PARENT_H
#define DAYBREAK_AGENT_TRAIN_PARENT_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/train/device.h"
#include "common/entry.h"
#include "common/event.h"
#include "common/json.h"
#include "common/status.h"
#include "common/task.h"

#define PARENT_GRACE_NS INT64_C(30000000000) /* from a cancel to the kill */

struct parent_plan {
    const struct task *task;
    int64_t target_e6; /* in 1e-6 percent: marks the crossing, changes nothing else */
    const char *workload, *recipe;
    const struct device_choice *device;
    const char *data_dir;
    bool has_max_epochs, holdout;
    double max_epochs;
    int64_t image_limit;
    const char *checkpoint_path, *model_path, *resume_path; /* NULL: none */
    const char *profile_path; /* where a whole training leaves its profile; NULL: none is taken */
};

enum parent_wish { PARENT_GO_ON, PARENT_DRAIN, PARENT_CANCEL };

struct parent_handler {
    void *context;
    /* Gets the run_start event and gives the seed; *answer_ns is when the clock started. May block. */
    enum status (*start_clock)(void *context, const struct event *start, uint32_t *seed,
                               int64_t *answer_ns, struct error *err);
    /* Each event but run_start, in order. crossing: the evaluation that first meets the target. A
     * failure ends the training. */
    enum status (*on_event)(void *context, const struct event *event, bool crossing,
                            struct error *err);
    void (*on_phase)(void *context, const char *phase);               /* may be NULL */
    void (*on_step)(void *context, int64_t step, int64_t step_count); /* may be NULL */
    /* Asked several times a second. DRAIN: stop behind the current epoch. CANCEL: stop at once. */
    enum parent_wish (*wish)(void *context);
};

struct parent_result {
    bool whole;   /* trained to the recipe's end, or to max_epochs */
    bool started; /* the clock ran */
    uint32_t seed;
    bool reached; /* and then, at the crossing: */
    double crossing_epoch;
    int64_t crossing_official_ns, crossing_wall_ns;
    struct entry_epoch *epochs; /* every evaluation, in order */
    size_t epoch_count;
    int64_t views, wall_ns; /* of the last evaluation; at the end of the last training step */
    json_t *facts;          /* what the workload says of itself; NULL: it never came so far */
};

/* ST_OK: the child came to its end (or drained: result.whole is false). ST_CANCELLED: as wished. All
 * other failures have been told by a run_end event, if the clock had started. result is valid and needs
 * parent_result_fini() in each case. */
enum status parent_run(const struct parent_plan *plan, const struct parent_handler *handler,
                       struct parent_result *result, struct error *err);
void parent_result_fini(struct parent_result *result);

#endif
