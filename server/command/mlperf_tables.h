/* server/command/mlperf_tables.h: entries of MLPerf as tables of text, with the columns of data/mlperf/expected*.tsv.
 * Ownership: appends to the caller's buffer. Threads: pure. */
#ifndef DAYBREAK_SERVER_COMMAND_MLPERF_TABLES_H
#define DAYBREAK_SERVER_COMMAND_MLPERF_TABLES_H

#include <stdbool.h>

#include "common/str.h"
#include "server/command/mlperf_tree.h"

enum mlperf_table { MLPERF_ENTRIES, MLPERF_RUNS, MLPERF_RCP };

void mlperf_table_begin(struct buf *out, enum mlperf_table table); /* the header line */
/* One row, a row per run, or a row per variant; an entry that is not taken has rows among the runs alone. */
void mlperf_table_add(struct buf *out, enum mlperf_table table, const struct mlperf_entry *entry,
                      bool taken);

#endif
