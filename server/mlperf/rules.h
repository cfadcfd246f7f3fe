/* server/mlperf/rules.h: the rules of MLPerf's rounds as data (schema/mlperf/<round>.json): which line format, which
 * targets, how many runs, which evaluation counts, which reference points.
 * Ownership: mlperf_rules_create() owns all; immutable after. Threads: any after creation. */
#ifndef DAYBREAK_SERVER_MLPERF_RULES_H
#define DAYBREAK_SERVER_MLPERF_RULES_H

#include <stdbool.h>
#include <stddef.h>

#include "common/embed.h"
#include "common/status.h"
#include "common/str.h"
#include "server/mlperf/log.h"
#include "server/mlperf/rcp.h"

/* Which evaluation ends a run: the first that meets the target, or the last before a run_stop that says success. */
enum mlperf_accept { MLPERF_FIRST_THAT_MEETS, MLPERF_LAST_BEFORE_SUCCESS };
/* Its epochs: its label + 1 - min(0, the smallest label), or its label as logged. */
enum mlperf_epochs { MLPERF_COUNT_LABELS, MLPERF_AS_LOGGED };

struct mlperf_round;
struct mlperf_benchmark {
    const struct mlperf_round *round;
    const char *id;             /* "resnet" */
    const char *const *aliases; /* other names of its folder */
    size_t alias_count;
    const char *task; /* "mlperf-v0.5-resnet" */
    const char *title, *metric_title;
    bool higher_is_better;
    const char *target_texts[MLPERF_VALUES_MAX];
    double targets[MLPERF_VALUES_MAX]; /* compared in single precision */
    size_t target_count;
    size_t runs;          /* that an entry needs */
    size_t scored_runs;   /* the first so many that converged are scored; 0: all that converged */
    const char *rcp_file; /* NULL: its round has no such check */
};
struct mlperf_round {
    const char *id; /* "v0.5" */
    const char *title;
    int version;
    enum mlperf_format format;
    enum mlperf_accept accept;
    enum mlperf_epochs epochs;
    enum rcp_variant rcp_variant; /* the one that decides */
    struct mlperf_benchmark *benchmarks;
    size_t benchmark_count;
};
struct mlperf_rules {
    struct mlperf_round *rounds;
    size_t round_count;
    const struct embedded_file *files; /* among them the reference points */
    size_t file_count;
};

/* A fault in the embedded files is the build's: ST_INTERNAL with file and field. */
enum status mlperf_rules_create(struct mlperf_rules **rules, struct error *err);
/* The same from other files of that form; "schema/mlperf/rcp/NAME" are reference points. */
enum status mlperf_rules_create_from(const struct embedded_file *files, size_t count,
                                     struct mlperf_rules **rules, struct error *err);
void mlperf_rules_destroy(struct mlperf_rules *rules); /* accepts NULL */

const struct mlperf_round *mlperf_find_round(const struct mlperf_rules *rules, struct str id);
/* By id or alias; NULL: the round has no such benchmark. */
const struct mlperf_benchmark *mlperf_find_benchmark(const struct mlperf_round *round,
                                                     struct str name);
const struct mlperf_benchmark *mlperf_find_task(const struct mlperf_rules *rules, struct str task);
/* The embedded reference points of that name; len 0: none. */
struct str mlperf_find_rcp(const struct mlperf_rules *rules, const char *file);

#endif
