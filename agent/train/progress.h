/* agent/train/progress.h: how a training goes, for the person who watches: one line that is written over
 * on a terminal, key=value events on stderr otherwise. Ownership: values only. Threads: one owner. */
#ifndef DAYBREAK_AGENT_TRAIN_PROGRESS_H
#define DAYBREAK_AGENT_TRAIN_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/event.h"

struct progress {
    bool terminal;    /* stderr is one */
    bool line_open;   /* a line without line feed stands on it */
    char label[96];   /* of the training: "cifar10-quick seed 7" */
    int64_t start_ns; /* 0: the clock has not started */
    double accuracy;  /* in percent, of the last evaluation; below 0: none yet */
};

void progress_init(struct progress *progress, const char *label);
void progress_start(struct progress *progress);
void progress_phase(struct progress *progress, const char *phase);
void progress_step(struct progress *progress, int64_t step, int64_t step_count);
void progress_eval(struct progress *progress, const struct event *event, bool crossing);
void progress_end(struct progress *progress); /* frees the line for other output */

#endif
