/* server/mlperf/judge.h: an entry of MLPerf, n logs of one benchmark on one system, held against the rules of its round:
 * times, epochs, score, spread, and the verdict of every rule in words with file and line.
 * Ownership: results live in the caller's arena and borrow the input. Threads: pure, any. */
#ifndef DAYBREAK_SERVER_MLPERF_JUDGE_H
#define DAYBREAK_SERVER_MLPERF_JUDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"
#include "common/measure.h"
#include "common/status.h"
#include "common/str.h"
#include "server/mlperf/log.h"
#include "server/mlperf/rcp.h"
#include "server/mlperf/rules.h"

#define MLPERF_RUNS_MAX        100
#define MLPERF_FILE_NAME_BYTES 200

/* One log of the entry, in the order of the runs. */
struct mlperf_file {
    const char *name;             /* "result_0.txt.gz" */
    int64_t number;               /* of the run, as its name has it */
    const struct mlperf_log *log; /* NULL: it could not be read, and `fault` says why */
    struct error fault;
};
struct mlperf_input {
    const struct mlperf_benchmark *benchmark;
    const char *division; /* where a file beside the logs states it, "closed"; NULL: the logs say */
    const struct mlperf_file *files;
    size_t file_count;         /* 1..MLPERF_RUNS_MAX */
    const struct rcp_set *rcp; /* NULL: the benchmark has none */
};

enum mlperf_verdict { MLPERF_PASS, MLPERF_WARNING, MLPERF_FAIL, MLPERF_NOT_APPLICABLE };
const char *mlperf_verdict_name(enum mlperf_verdict verdict); /* "pass", "not-applicable" */

struct mlperf_check {
    const char *rule; /* "clock", "convergence", ...: docs/codes.md */
    enum mlperf_verdict verdict;
    bool has_run;
    size_t run;         /* index; of one run */
    const char *file;   /* NULL: no file */
    int line;           /* 0: none */
    const char *detail; /* one sentence */
    const char *hint;   /* how to mend it; "" where there is nothing to mend */
};

struct mlperf_run {
    const struct mlperf_file *file;
    bool has_tta;
    int64_t tta_ns; /* last run_stop - first run_start */
    bool converged, scored;
    const struct mlperf_eval *accept; /* with converged */
    double epochs;                    /* with converged */
    const char *epochs_text;
    size_t eval_count; /* before the last run_stop */
};

struct mlperf_rcp {
    bool has; /* the check could be made */
    struct rcp_verdict verdict;
};

struct mlperf_result {
    struct mlperf_run *runs; /* as many as files */
    size_t run_count, converged_count, scored_count;
    bool has_batch;
    double batch;
    bool has_score;
    int64_t score_ns; /* mean without the fastest and the slowest, rounded down */
    double score_s;
    int64_t tta_min_ns, tta_max_ns; /* of the scored ones, with scored_count > 0 */
    struct measure_split split;     /* of the scored ones */
    struct mlperf_rcp rcp[RCP_VARIANT_COUNT];
    bool is_open; /* the open division: no check of convergence points */
    struct mlperf_check *checks;
    size_t check_count;
    bool refused;                       /* a rule that every entry must keep failed */
    const struct mlperf_check *refusal; /* the first of those */
};

/* ST_NO_MEMORY; what is wrong with the logs is in the checks. */
enum status mlperf_judge(const struct mlperf_input *input, struct arena *arena,
                         struct mlperf_result *result, struct error *err);

/* "result_12.txt.gz" -> 12; false: it is not a log's name. */
bool mlperf_run_number(struct str name, int64_t *number);

#endif
