/* server/api/boards.h: the boards of all tasks in memory (rank/kept.h), never older than the last commit: what was
 * acknowledged before a request came is on the board that the request sees. Who reads first after a commit has its
 * changes read from the store, once for all that wait; the whole record is read at the first request alone, and when
 * more changed than is worth following.
 * Ownership: boards_create() owns all; what is read is borrowed between boards_begin() and boards_end(). Threads: any. */
#ifndef DAYBREAK_SERVER_API_BOARDS_H
#define DAYBREAK_SERVER_API_BOARDS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/status.h"
#include "common/task.h"
#include "server/http/request.h"
#include "server/rank/kept.h"
#include "server/store/store.h"

struct boards;

struct boards_options {
    const char *db_path;
    const struct task_table *tasks; /* outlives the boards, as the store does */
    struct store *store;            /* tells of commits */
    bool read_only;                 /* others write: the database is asked each time */
};
enum status boards_create(const struct boards_options *options, struct boards **boards,
                          struct error *err);
void boards_destroy(struct boards *boards); /* accepts NULL */

/* The board's version, for an ETag. Costs nothing while nothing was written. */
enum status boards_get_version(struct boards *boards, const struct task *task, int64_t *version,
                               struct error *err);

/* One task's entries, which do not change until boards_end(). A thread reads one task at a time, or all. */
enum status boards_begin(struct boards *boards, const struct task *task, const struct kept **kept,
                         int64_t *version, struct error *err);
void boards_end(struct boards *boards, const struct task *task);

/* All tasks at once, in the order of the table; kept: room for as many. */
enum status boards_begin_all(struct boards *boards, const struct kept **kept, struct error *err);
void boards_end_all(struct boards *boards);

/* by= of a request, or the first board that the task has; query_finish() tells whether all was well. */
void boards_read_by(struct request *request, const struct task *task, enum board_by *by,
                    struct error *err);

/* Times and latencies fall by steps: what leaves the record far behind is rather in another unit. *doubt says so in one
 * sentence; NULL: it is plausible, or the board has no record (0). Both in nanoseconds. */
enum status boards_doubt_record(struct arena *arena, int64_t value_ns, int64_t record_ns,
                                const char **doubt, struct error *err);

#endif
