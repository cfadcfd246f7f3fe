/* agent/workload/workload.h: a model that can be trained, as agent/train sees it. A workload is a table
 * of functions and recipes (data); an opened one is one training of one recipe. Nothing here knows a
 * clock or a server; a graph and a device show only in what a step's time is measured with (step_program).
 *
 * The order of calls, and what the clock sees of it (protocol.md, The clock):
 *
 *   open      before the clock: choose kernels, compile all programs, check data files. Seed unknown.
 *   start     the clock runs: read data into memory, initialise weights, whitening.
 *   resume    instead of a fresh start's weights: continue from a checkpoint, bit-equal.
 *   train     to the next evaluation point: a whole epoch, or the recipe's end    } repeated until
 *   evaluate  left out of the clock: counts correct answers on the validation set } progress.done
 *   save      left out of the clock: a checkpoint, which is also the model file
 *   close     at any time after open; frees all
 *
 * Ownership: an opened workload owns its memory and borrows nothing of its options after open.
 * Threads: one caller; a workload may start threads of its own between open and close. */
#ifndef DAYBREAK_AGENT_WORKLOAD_WORKLOAD_H
#define DAYBREAK_AGENT_WORKLOAD_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/crypto.h"
#include "common/status.h"
#include "common/str.h"

enum workload_precision {
    WORKLOAD_PRECISION_AUTO,
    WORKLOAD_PRECISION_F32,
    WORKLOAD_PRECISION_BF16
};

/* Only `auto` may be replaced by something else; whatever else is not there is ST_UNSUPPORTED. */
struct workload_options {
    const char *recipe;   /* name in the workload's list */
    const char *data_dir; /* folder with the decoded data set */
    const char *device;   /* "auto", "cpu" */
    const char *isa;      /* "auto", "avx512", "avx2", "ref" */
    enum workload_precision precision;
    int threads;  /* 0: as many as the workload finds useful here */
    bool fusion;  /* false: one op a group, for comparison */
    bool tune;    /* false: the kernel table's defaults */
    bool holdout; /* train without, and evaluate on, the published tune split */
    bool has_max_epochs;
    double max_epochs;   /* stop after that many epochs; the schedule stays the recipe's */
    int64_t image_limit; /* 0: all. Tests: only so many training and validation images */
    int64_t views;       /* inference: of test-time augmentation; 0: one, which is none */
};

/* Asked between steps, on the caller's thread. */
struct workload_control {
    bool (*should_stop)(void *context);                               /* may be NULL: never */
    void (*on_step)(void *context, int64_t step, int64_t step_count); /* may be NULL */
    void *context;
};

struct workload_progress {
    double epoch;       /* trained so far: 1, 2, .., 9.9 */
    int64_t step;       /* taken so far */
    int64_t step_count; /* of the whole recipe, or until max_epochs */
    bool has_loss;
    double loss; /* mean training loss per item since the last evaluation point */
    bool done;   /* the recipe's end, or max_epochs */
};

struct workload_score {
    int64_t correct, total;
    int64_t views; /* test-time augmentation; 1: none */
};

/* What a set of data is to a saved model. */
enum workload_exposure {
    WORKLOAD_TRAINED, /* the model has learnt from it: its score says nothing */
    WORKLOAD_TUNED,   /* recipes were chosen by it */
    WORKLOAD_UNSEEN
};
const char *
workload_exposure_name(enum workload_exposure exposure); /* "trained", "tuned", "unseen" */

/* A saved model on one set of data. */
struct workload_scored {
    struct workload_score score;
    enum workload_exposure exposure;
    bool holdout;                  /* the model was trained without the images that are held out */
    char digest[SHA256_HEX_BYTES]; /* of the set's items and labels, in order */
};

/* The validation set of an inference, in order. The workload's, until it is closed. */
struct workload_items {
    int64_t count;
    const uint8_t *labels;
};

struct group_time;
struct program;
struct safetensors;

struct workload_ops {
    const char *name; /* "cifar10" */
    const char *title;
    const char *const *recipes; /* names; the first is the default */
    size_t recipe_count;
    /* For tests: not in help, found only with DAYBREAK_TEST_WORKLOAD=1. Its first recipe is for `train`,
     * its last for jobs, where evaluations must count the whole validation set. */
    bool hidden;

    enum status (*open)(const struct workload_options *options, void **state, struct error *err);
    enum status (*start)(void *state, uint32_t seed, struct error *err);
    /* After start. ST_INVALID: the file is of another recipe, seed or build of the network. */
    enum status (*resume)(void *state, const char *path, struct workload_progress *progress,
                          struct error *err);
    /* ST_CANCELLED when should_stop said so; ST_INVALID with the step when the loss is not finite. */
    enum status (*train)(void *state, const struct workload_control *control,
                         struct workload_progress *progress, struct error *err);
    enum status (*evaluate)(void *state, const struct workload_control *control,
                            struct workload_score *score, struct error *err);
    /* safetensors, by a temporary file and rename; training goes on from the same state. */
    enum status (*save)(void *state, const char *path, struct error *err);
    /* Appends one JSON object of plain members (text, numbers, booleans) that says what was chosen:
     * at least model, recipe, device, isa, precision, threads, plan_sha256, parameters, batch,
     * data_sha256; `partial` is true when max_epochs ends it before its recipe does. It becomes `misc` of the entry. Valid after open; without line feeds. */
    enum status (*describe)(void *state, struct buf *out, struct error *err);
    /* In place of open .. save: a saved model that classifies one item at a time. `path` names the file in errors;
     * ST_INVALID: it is of another workload, recipe or network. describe and close serve it, too. NULL: none. */
    enum status (*open_inference)(const struct workload_options *options,
                                  const struct safetensors *model, const char *path,
                                  struct workload_items *items, void **state, struct error *err);
    /* From the item's bytes, which lie in memory, to its class. Allocates nothing. */
    enum status (*classify)(void *state, int64_t index, int *label, struct error *err);
    void (*close)(void *state); /* accepts NULL */
    /* Sets of data that a saved model can be scored on; the first one is the validation set. score: evaluates it on the
     * set of that name, as a training evaluates. ST_NOT_FOUND: the set's data is not there; else as open_inference.
     * NULL: none. */
    const char *const *sets;
    size_t set_count;
    enum status (*score)(const struct workload_options *options, const struct safetensors *model,
                         const char *path, const char *set, struct workload_scored *scored,
                         struct error *err);
    /* What open would compile, as text: needs no data. NULL: the workload has no plan to show. */
    enum status (*print_plan)(const struct workload_options *options, FILE *out, struct error *err);
    /* For who measures where the time of step `step` goes: the program that it runs, and one such step, taken for that
     * alone: its training cannot go on. times[0 .. group_count] (backend.h), or NULL: as in training, untimed.
     * After start. NULL: neither. */
    const struct program *(*step_program)(void *state, int64_t step);
    enum status (*take_step)(void *state, int64_t step, struct group_time *times,
                             struct error *err);
};

/* By name, or NULL. The list is in workload.c. */
const struct workload_ops *workload_find(const char *name);
/* The index-th workload that is not hidden, or NULL behind the last. */
const struct workload_ops *workload_at(size_t index);

#endif
