/* agent/graph/plan.h: turns a graph into a program for one backend: a flat list of kernel calls over one arena.
 * Passes, each a function of the previous result: expand composites; merge, prune; fuse; prepare list; schedule; kernels;
 * barriers, memory; check.
 * Pure: the same graph, backend and options give the same program. Threads: one. */
#ifndef DAYBREAK_AGENT_GRAPH_PLAN_H
#define DAYBREAK_AGENT_GRAPH_PLAN_H

#include <stdio.h>

#include "agent/backend/backend.h"
#include "agent/graph/graph.h"

struct plan_options {
    bool fuse;                 /* --no-fusion clears it */
    uint64_t memory_bytes_max; /* 0: no limit; else ST_LIMIT with the bytes needed */
};

enum status plan_build(const struct graph *g, struct backend *backend,
                       const struct plan_options *options, struct program **program,
                       struct error *err);
/* Proves order, disjoint live ranges, no read before a write, variables not overwritten before their last reader.
 * plan_build() always runs it. ST_INTERNAL with the group's number and label. */
enum status plan_check(const struct program *program, struct error *err);
void plan_print(const struct program *program,
                FILE *out); /* groups, kernels, refusals, offsets; golden in tests */

#endif
