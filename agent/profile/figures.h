/* agent/profile/figures.h: what the benches do with the numbers that they measured. Threads: one. */
#ifndef DAYBREAK_AGENT_PROFILE_FIGURES_H
#define DAYBREAK_AGENT_PROFILE_FIGURES_H

#include <stdint.h>

#include "common/json.h"
#include "common/status.h"

void figures_sort(double *numbers, int64_t count); /* the least first */
/* Of sorted numbers: the middle one, or the mean of the two. */
double figures_median(const double *sorted, int64_t count);
/* (greatest - least) / median, of sorted numbers. */
double figures_spread(const double *sorted, int64_t count, double median);
/* Takes root; NULL: there was no memory for it. ST_IO: the file cannot be written. */
enum status figures_write_json(json_t *root, const char *path, struct error *err);

#endif
