/* server/mlperf/rcp.h: reference convergence points: how many epochs reference runs needed at each batch size, and
 * whether an entry converged implausibly early beside them (measures.md, RCP limit).
 * Ownership: a set lives in the caller's arena. Threads: pure, any. */
#ifndef DAYBREAK_SERVER_MLPERF_RCP_H
#define DAYBREAK_SERVER_MLPERF_RCP_H

#include <stdbool.h>
#include <stddef.h>

#include "common/arena.h"
#include "common/status.h"
#include "common/str.h"

#define RCP_POINTS_MAX 128
#define RCP_VALUES_MAX 1000 /* reference runs of one point */

struct rcp_point {
    const char *name; /* "resnet_ref_1632" */
    double batch;
    const double *values; /* epochs (or samples) to converge, ascending */
    size_t count;         /* 3 or more */
};
struct rcp_set {
    struct rcp_point *points; /* by batch size, each its own */
    size_t count;             /* 1 or more */
};

/* A file of MLCommons: {NAME: {"BS": n, "Epochs to converge" | "samples to converge": [..], ..}, ..}. ST_INVALID with
 * line, field and hint. */
enum status rcp_parse(struct str text, struct arena *arena, struct rcp_set *set, struct error *err);

/* The deviation of a reference: RULES takes it of the list without its extremes, as the worked example of the rules
 * does; TOOL of the whole list, as mlcommons/logging does. */
enum rcp_variant { RCP_RULES, RCP_TOOL, RCP_VARIANT_COUNT };
const char *rcp_variant_name(enum rcp_variant variant); /* "rules", "tool" */

enum rcp_match { RCP_EXACT, RCP_INTERPOLATED, RCP_SMALLER, RCP_LARGER };
struct rcp_verdict {
    enum rcp_match match;
    const char *point;                /* of EXACT, SMALLER (the smallest there is); else NULL */
    double mean, deviation, min_mean; /* of the reference; not with LARGER */
    double max_speedup;               /* mean / min_mean */
    double entry_mean;                /* of the entry's epochs without the extremes */
    double factor; /* its score times this: 1, or mean / entry_mean where that is more */
    bool pass;
};

/* values: epochs of the entry's runs that converged (each a finite number above 0), `missed` those that did not (at
 * most one, which is the slowest); `runs` what the benchmark needs; count + missed >= 3. Points that need more
 * epochs than both neighbours let expect are left out, and so are those below the batch size that needs fewest. */
struct rcp_question {
    enum rcp_variant variant;
    size_t runs, count, missed;
    double batch;
    const double *values;
};
enum status rcp_check(const struct rcp_set *set, const struct rcp_question *question,
                      struct arena *arena, struct rcp_verdict *verdict, struct error *err);

#endif
