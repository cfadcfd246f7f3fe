/* agent/profile/bench_steps.h: whole training steps of a workload, timed beside this host's multiply-add ceiling. */
#ifndef DAYBREAK_AGENT_PROFILE_BENCH_STEPS_H
#define DAYBREAK_AGENT_PROFILE_BENCH_STEPS_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/workload/workload.h"

struct bench_steps {
    const char *workload, *recipe; /* recipe NULL: the workload's first */
    const char *data_dir, *isa;
    enum workload_precision precision;
    const char *json_path; /* NULL: none */
    int64_t threads, runs; /* threads 0: the workload's choice */
    bool profile;          /* print where the time goes, group by group, afterwards */
};

/* Prints to stdout. ST_NOT_FOUND: there is no such workload, recipe or data set; else as the workload's open says. */
enum status bench_steps_run(const struct bench_steps *options, struct error *err);

#endif
