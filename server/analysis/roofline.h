/* server/analysis/roofline.h: the roofline of one run's training step (measures.md; Williams, Waterman and Patterson,
 * "Roofline", CACM 52(4), 2009; by level of memory as in Ilic, Pratas and Sousa, IEEE CAL 13(1), 2014).
 *
 *   operational intensity at a level = flops / bytes that come from that level or beyond
 *   attainable flops/s               = min(peak of the type that is multiplied, intensity x bandwidth) over all levels
 *
 * In times, which holds for kernels without a flop as well: attainable time = max(flops / peak, bytes / bandwidth); the
 * roof with the greatest part of it is the binding one, and attainable / measured time is the share that was reached.
 * A level's roof is the greater of its bandwidths of reading and of copying: no mix of both gets more.
 * roofline_place() computes, roofline_build() says the same as tables.
 * Ownership: results live in the caller's arena and borrow the profile's texts. Threads: pure, any. */
#ifndef DAYBREAK_SERVER_ANALYSIS_ROOFLINE_H
#define DAYBREAK_SERVER_ANALYSIS_ROOFLINE_H

#include "common/arena.h"
#include "common/run_profile.h"
#include "common/status.h"
#include "server/analysis/table.h"

#define ROOFLINE_ROOFS_MAX (LEVEL_COUNT + PEAK_COUNT)

struct roofline_roof {
    const char *name; /* "l1", "l2", "l3", "memory", "f32", "bf16" */
    bool is_peak;     /* else the bandwidth of a level */
    double value;     /* flops/s of a peak, bytes/s of a level */
};

/* A kernel under its label, or all kernels of one kind and type. */
struct roofline_dot {
    const char *kind;
    const char *kernel, *label; /* NULL: of a kind */
    const char *phase;          /* NULL: of a kind */
    enum peak_type type;
    bool counted; /* all of it by the device; else modelled, from the graph */
    int64_t calls;
    double seconds;
    int64_t flops; /* that are done: products and elementwise */
    int64_t
        products; /* of matrix products and convolutions, by their definition: what utilisation counts */
    int64_t bytes[LEVEL_COUNT];
    enum memory_level level; /* of the levels, the one whose bandwidth leaves it the least */
    const struct roofline_roof *roof;           /* that binds it: this level, or its peak */
    bool has_intensity;                         /* it has flops, and bytes at that level */
    double intensity;                           /* flops a byte at `level` */
    double flops_per_s, attainable_flops_per_s; /* 0 without flops */
    double attainable_s, share;                 /* share 0: it took no time that a clock tells */
};

struct roofline {
    struct roofline_roof roofs[ROOFLINE_ROOFS_MAX]; /* levels from the core outwards, then peaks */
    size_t roof_count;
    struct roofline_dot *kinds, *kernels; /* most time first */
    size_t kind_count, kernel_count;
    double groups_s;    /* all kernels' time in sum */
    double utilisation; /* products / (peak of their type x the time of a step as trained) */
};

/* ST_NO_MEMORY alone. */
enum status roofline_place(const struct run_profile *profile, struct arena *arena,
                           struct roofline *roofline, struct error *err);

/* Facts of run and profile; parts "kinds", "kernels" (the dots), "roofs" and "phases". ST_NO_MEMORY alone. */
enum status roofline_build(int64_t run, const struct run_profile *profile, struct arena *arena,
                           struct analysis *analysis, struct error *err);

#endif
