/* common/run_profile.h: where the time of a training step goes, and what its host can do at most: the document that an
 * agent measures once a training has ended, sends (POST /v1/agent/attempts/{attempt}/profile) or leaves beside an entry
 * (NAME.profile.json), and that a server keeps. schema/openapi.yaml describes the same as RunProfile.
 *
 *   {"version":1, "measured":"2026-12-03T10:00:00.000Z", "workload":"cifar10", "recipe":"cifar10-94", "device":"cpu",
 *    "device_model":"..", "isa":"avx512", "precision":"f32", "threads":2, "batch":1000, "fusion":true,
 *    "ceilings":{"rounds":5, "levels":[{"level":"l1", "capacity_bytes":65536, "read_bytes_per_s":..,
 *                "copy_bytes_per_s":..}, ..], "peaks":[{"type":"f32", "flops_per_s":..}, ..]},
 *    "step":{"rounds":5, "seconds":.., "plain_s":.., "spread":.., "examples_per_s":..},
 *    "phases":{"data_s":.., "forward_s":.., "backward_s":.., "optimiser_s":.., "communication_s":0, "evaluation_s":..},
 *    "energy_j":..,
 *    "groups":[{"kind":"conv2d", "kernel":"conv2d_f32_avx512", "label":"layers.1.conv1", "phase":"forward",
 *               "type":"f32", "calls":1, "seconds":.., "flops":.., "flops_done":.., "flops_other":.., "l1_bytes":..,
 *               "l2_bytes":.., "l3_bytes":.., "memory_bytes":.., "source":"modelled"}, ..]}
 *
 * Ceilings and step are measured in turn, round by round, on the same threads. A ceiling is the greatest of its rounds;
 * `seconds` and the groups are those of the round whose step is the middle one by time, whose groups the device waits for one by one;
 * `plain_s` is the median of steps without that, and examples_per_s is of it.
 * Ownership: texts and groups lie in the caller's arena, or are borrowed from whoever filled them. Threads: pure, any. */
#ifndef DAYBREAK_COMMON_RUN_PROFILE_H
#define DAYBREAK_COMMON_RUN_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"
#include "common/json.h"
#include "common/status.h"
#include "common/str.h"

#define RUN_PROFILE_VERSION    1
#define RUN_PROFILE_BYTES_MAX  ((size_t)1 << 20)
#define RUN_PROFILE_GROUPS_MAX 400
/* The most by which the groups' times may differ in sum from the step's. */
#define RUN_PROFILE_SUM_TOLERANCE 0.05

enum memory_level { LEVEL_L1, LEVEL_L2, LEVEL_L3, LEVEL_MEMORY, LEVEL_COUNT };
enum peak_type { PEAK_F32, PEAK_BF16, PEAK_COUNT }; /* what is multiplied; sums are F32 */
enum step_phase {
    STEP_PHASE_DATA,
    STEP_PHASE_FORWARD,
    STEP_PHASE_BACKWARD,
    STEP_PHASE_OPTIMISER,
    STEP_PHASE_COUNT
};
const char *memory_level_name(enum memory_level level); /* "l1" */
const char *peak_type_name(enum peak_type type);        /* "f32" */
const char *step_phase_name(enum step_phase phase);     /* "forward" */

/* Bandwidths of all threads together; a copy counts what it reads and what it writes. */
struct profile_level {
    bool has;               /* false: this host has no such level, or does not tell its size */
    int64_t capacity_bytes; /* that the threads can reach together; of memory: 0 */
    double read_bytes_per_s, copy_bytes_per_s;
};

/* Calls of one kernel under one label. Bytes of a level are those that come from it or from beyond: l1 counts each
 * operand and result once, memory what no cache can still hold, so they fall from level to level. */
struct profile_group {
    const char *kind, *kernel, *label; /* label may be "" */
    enum step_phase phase;
    enum peak_type type; /* whose peak bounds it */
    bool counted;        /* by the device; else modelled, from the graph */
    int64_t calls;       /* in a step */
    double seconds;      /* of all of them */
    int64_t flops;       /* of matrix products and convolutions, by their definition */
    int64_t flops_done;  /* of these, what the kernel does: less where its algorithm saves some */
    int64_t flops_other; /* elementwise and reductions */
    int64_t bytes[LEVEL_COUNT];
};

struct run_profile {
    const char *measured; /* when, UTC */
    const char *workload, *recipe, *device, *device_model, *isa, *precision;
    int64_t threads, batch;
    bool fusion;

    int64_t ceiling_rounds;
    struct profile_level levels[LEVEL_COUNT]; /* memory is always there */
    bool has_peak[PEAK_COUNT];                /* F32 is always there */
    double peak_flops_per_s[PEAK_COUNT];

    int64_t step_rounds;
    double step_s, plain_s, spread,
        examples_per_s;               /* spread: of plain steps, (max - min) / median */
    double phase_s[STEP_PHASE_COUNT]; /* of step_s */
    double communication_s;
    bool has_evaluation, has_energy;
    double evaluation_s; /* of the run's last evaluation, whole */
    double energy_j; /* of the processors' packages, from the start of the training to its end */

    struct profile_group *groups;
    size_t group_count;
};

void run_profile_append(struct buf *out, const struct run_profile *profile);

/* The document of `reader`, every fault noted there with its pointer; texts are copied into the arena. Not ST_OK: what
 * the reader says, or ST_NO_MEMORY. */
enum status run_profile_read(struct json_reader *reader, struct arena *arena,
                             struct run_profile *profile, struct error *err);
/* The same of bytes. */
enum status run_profile_parse(struct str text, struct arena *arena, struct run_profile *profile,
                              struct error *err);

#endif
