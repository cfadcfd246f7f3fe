/* common/task.h: a task as data (schema/tasks/NAME.json): what must be reached, and under which rules.
 * Both programs read the same embedded files. Ownership: task_table_create() owns all; immutable after.
 * Threads: any after creation. */
#ifndef DAYBREAK_COMMON_TASK_H
#define DAYBREAK_COMMON_TASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/decimal.h"
#include "common/embed.h"
#include "common/status.h"
#include "common/str.h"

enum task_phase { TASK_TRAIN, TASK_INFERENCE };
enum task_policy { TASK_OPEN, TASK_METADATA_ONLY, TASK_CLOSED };
enum task_review { TASK_REVIEW_NONE, TASK_REVIEW_TOP5, TASK_REVIEW_ALL };
/* How the times of an entry's runs make the one that is ranked; a run that missed counts as infinite. OLYMPIC: the
 * mean without the fastest and the slowest (measures.md, MLPerf score). */
enum task_score { TASK_SCORE_MEDIAN, TASK_SCORE_MEAN, TASK_SCORE_OLYMPIC };

struct task {
    const char *id;    /* "cifar10-train" */
    const char *title; /* "CIFAR-10 training" */
    int version;       /* of the rules; raised when they change */
    enum task_phase phase;
    const char *dawnbench; /* folder of DAWNBench's tree, "CIFAR10"; NULL: not one of its tasks */
    const char *
        mlperf_round; /* "v0.5": its entries are logs of MLPerf (server/mlperf); NULL: not one of its */
    const char *dataset;      /* "cifar10" */
    const char *metric;       /* "top1Accuracy": the field that is held against the target */
    const char *metric_title; /* "top-1 accuracy" */
    const char *unit;         /* "percent", "fraction", or "score" */
    double metric_max;        /* 100, 1, or any */
    bool higher_is_better;
    const char *target_text; /* "94.0", exact */
    struct decimal target;
    int64_t validation_size; /* items: 10000; 0 where the metric is not a count */
    const char *const
        *columns;         /* further columns of the progress file beside epoch, hours, metric */
    size_t column_count;  /* ImageNet: top1Accuracy */
    const char *workload; /* our implementation: "cifar10", or NULL */
    const char *recipe;   /* of that workload: "cifar10-quick" */
    int runs;             /* an entry needs that many; 1 */
    int scored_runs;      /* the first so many that reached the target count; 0: all that did */
    enum task_score score;
    enum task_policy policy;
    enum task_review review;
    int64_t reclaim_after_ms; /* an unreachable agent's job is queued again after that */
    const char *description;  /* a paragraph for people */
    const char *clock_rule;   /* what the clock counts and leaves out, for people */
    const char *allowed; /* what a submitter may choose and what not, for people; NULL: not said */
};

struct task_table {
    struct task *tasks; /* in order of schema's "order" member */
    size_t count;
};

/* Reads the embedded files. A fault in them is a fault of the build: ST_INTERNAL with file and field. */
enum status task_table_create(struct task_table **table, struct error *err);
/* The same from other files of that form. */
enum status task_table_create_from(const struct embedded_file *files, size_t count,
                                   struct task_table **table, struct error *err);
void task_table_destroy(struct task_table *table);                           /* accepts NULL */
const struct task *task_find(const struct task_table *table, struct str id); /* NULL: none */
/* By DAWNBench folder and phase: ("CIFAR10", "train"); NULL: none. */
const struct task *task_find_dawnbench(const struct task_table *table, struct str folder,
                                       struct str phase);

/* Of `reached` runs that reached the target, in order, how many are scored: the first. */
size_t task_scored(const struct task *task, size_t reached);

const char *task_phase_name(enum task_phase phase);    /* "train", "inference" */
const char *task_score_name(enum task_score score);    /* "median", "mean", "olympic" */
const char *task_policy_name(enum task_policy policy); /* "open", "metadata-only", "closed" */
const char *task_review_name(enum task_review review); /* "none", "top5", "all" */
bool task_policy_parse(struct str text, enum task_policy *policy);
bool task_review_parse(struct str text, enum task_review *review);

#endif
