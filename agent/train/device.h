/* agent/train/device.h: the options that say where and how a workload runs (design.md: DEVICE), shared
 * by every command that starts one. Ownership: borrows argv. Threads: one, at start. */
#ifndef DAYBREAK_AGENT_TRAIN_DEVICE_H
#define DAYBREAK_AGENT_TRAIN_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/workload/workload.h"
#include "common/opt.h"

#define DEVICE_OPT_COUNT   6
#define DEVICE_OPT_THREADS 3 /* its place among them, for commands with another default */
#define DEVICE_THREADS_MAX 1024

struct device_choice {
    const char *device, *isa, *precision, *tune;
    int64_t threads;
    bool no_fusion;
};

void device_choice_init(struct device_choice *choice); /* auto everywhere */
/* The entries of a command's option table that fill `choice`. */
void device_choice_fill_opts(struct device_choice *choice, struct opt opts[DEVICE_OPT_COUNT]);
/* ST_USAGE for a word that is not known; whether the device is there is the workload's to say. */
enum status device_choice_apply(const struct device_choice *choice,
                                struct workload_options *options, struct error *err);

#endif
