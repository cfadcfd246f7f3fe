/* agent/graph/count.h: modelled work of one run of a graph. Ownership: borrows the graph. Threads: pure. */
#ifndef DAYBREAK_AGENT_GRAPH_COUNT_H
#define DAYBREAK_AGENT_GRAPH_COUNT_H

#include "agent/graph/graph.h"

struct graph_count {
    uint64_t
        flops; /* matrix products and convolutions: 2 x multiply-adds, all taps, logical channels */
    uint64_t flops_other; /* elementwise and reductions: one per element and arithmetic step */
    uint64_t bytes;       /* every operand and result of every op once: the unfused traffic */
    uint64_t param_count; /* elements of PARAM variables that the graph reads */
};
struct graph_count graph_count_work(const struct graph *g);

#endif
