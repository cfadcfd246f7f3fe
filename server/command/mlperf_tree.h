/* server/command/mlperf_tree.h: a tree of MLPerf logs on disk: <round>/<submitter>/<system>/<benchmark>/result_*.txt[.gz],
 * beside the rounds rcp/, in a system of v0.5 entry.json.
 * Ownership: an entry lives in its own arena until mlperf_entry_fini(). Threads: main. */
#ifndef DAYBREAK_SERVER_COMMAND_MLPERF_TREE_H
#define DAYBREAK_SERVER_COMMAND_MLPERF_TREE_H

#include <stddef.h>

#include "common/arena.h"
#include "common/status.h"
#include "server/mlperf/judge.h"
#include "server/mlperf/system.h"

struct mlperf_tree {
    const char *dir;
    const struct mlperf_rules *rules;
    struct arena arena;
    const char **
        paths; /* <round>/<submitter>/<system>/<benchmark>, in order of bytes; also where logs lie of a
                         * round that we do not know, or too high in the tree: these do not load */
    size_t path_count;
    bool has_rcp; /* it has reference points of its own: these count, else those built in */
};
/* ST_NOT_FOUND: the folder is not there; ST_INVALID: it holds no such path. */
enum status mlperf_tree_open(const char *dir, const struct mlperf_rules *rules,
                             struct mlperf_tree *tree, struct error *err);
void mlperf_tree_close(struct mlperf_tree *tree); /* accepts zeroed */

struct mlperf_entry {
    struct arena arena;
    const char *path, *round, *submitter, *system, *folder; /* folder: the benchmark's, as named */
    const struct mlperf_benchmark *benchmark;
    struct mlperf_system description; /* zeroed: the tree has none */
    struct mlperf_file files[MLPERF_RUNS_MAX];
    struct str bytes[MLPERF_RUNS_MAX]; /* of the files, as they lie there */
    size_t file_count;
    struct mlperf_result result;
};
/* Reads and judges. ST_INVALID, ST_LIMIT: the entry cannot be judged at all, err says why in one sentence; other
 * errors stop an import. Always to be ended. */
enum status mlperf_entry_load(const struct mlperf_tree *tree, size_t index,
                              struct mlperf_entry *entry, struct error *err);
void mlperf_entry_fini(struct mlperf_entry *entry);

#endif
