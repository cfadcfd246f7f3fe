/* server/api/mlperf_accept.h: from an entry of MLPerf that was judged to what the store keeps; the one bridge between
 * the two, for API and import alike. Ownership: the entry borrows its source, further texts are the arena's. Threads:
 * pure, any. */
#ifndef DAYBREAK_SERVER_API_MLPERF_ACCEPT_H
#define DAYBREAK_SERVER_API_MLPERF_ACCEPT_H

#include "common/arena.h"
#include "common/status.h"
#include "common/task.h"
#include "server/mlperf/judge.h"
#include "server/mlperf/system.h"
#include "server/store/verbs.h"

struct mlperf_source {
    const struct task *task; /* of the benchmark */
    const struct mlperf_benchmark *benchmark;
    const char *name;                        /* of the entry; NULL: <submitter>_<system> */
    const char *submitter, *system;          /* as boards show them */
    const struct mlperf_system *description; /* NULL: there is none */
    const struct mlperf_result *result;      /* not refused, with a score */
    const struct str *bytes; /* of the files, as they were sent, in the runs' order */
};

/* ST_INVALID "bad_name"; ST_NO_MEMORY. */
enum status mlperf_fill_entry(const struct mlperf_source *source, struct arena *arena,
                              struct new_entry *entry, struct submission_files *files,
                              struct error *err);

/* The checks as the store and JSON have them, by the runs' ordinals; NULL without memory. */
const struct check_record *mlperf_list_checks(const struct mlperf_result *result,
                                              struct arena *arena);

#endif
