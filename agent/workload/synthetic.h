/* agent/workload/synthetic.h: a workload without a model, for tests of everything around one: it sleeps
 * instead of training and counts its correct answers from the seed. Hidden unless
 * DAYBREAK_TEST_WORKLOAD=1, so no benchmark can be run with it by mistake.
 *
 * DAYBREAK_SYNTHETIC_EPOCHS (default 10) and DAYBREAK_SYNTHETIC_RATE (epochs a second, default 50) set
 * its length and pace; DAYBREAK_SYNTHETIC_DIE=N makes the process abort instead of training epoch N.
 * Accuracy rises evenly to 99 %, so every target below is crossed, at the same epoch for every seed. */
#ifndef DAYBREAK_AGENT_WORKLOAD_SYNTHETIC_H
#define DAYBREAK_AGENT_WORKLOAD_SYNTHETIC_H

#include "agent/workload/workload.h"

#define SYNTHETIC_TOTAL 10000 /* validation items, as CIFAR-10 has */

extern const struct workload_ops workload_synthetic;

#endif
