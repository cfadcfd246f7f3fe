/* server/api/paper.h: gathers what the paper's claims are held against, for the API and its page alike.
 * Ownership: as request.h. Threads: the worker's. */
#ifndef DAYBREAK_SERVER_API_PAPER_H
#define DAYBREAK_SERVER_API_PAPER_H

#include "common/task.h"
#include "server/analysis/paper.h"
#include "server/store/read.h"

enum status paper_load(struct store_reader *reader, const struct task_table *tasks,
                       struct arena *arena, struct analysis *analysis, struct error *err);

#endif
