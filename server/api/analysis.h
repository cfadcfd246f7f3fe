/* server/api/analysis.h: which analyses there are of a task's entries, and how each is read and computed, for the API
 * and its page alike.
 * Ownership: as request.h. Threads: the worker's. */
#ifndef DAYBREAK_SERVER_API_ANALYSIS_H
#define DAYBREAK_SERVER_API_ANALYSIS_H

#include "server/analysis/trials.h"
#include "server/http/request.h"
#include "server/http/response.h"
#include "server/store/read.h"

enum analysis_kind {
    ANALYSIS_TRADEOFF,
    ANALYSIS_VARIANCE,
    ANALYSIS_THROUGHPUT,
    ANALYSIS_SCALING,
    ANALYSIS_GENERALISATION,
    ANALYSIS_COUNT
};

/* The one whose name is the last segment of the request's path, as in the routes of both. */
enum analysis_kind analysis_kind_of(const struct request *request);
const char *analysis_name(enum analysis_kind kind); /* last segment of both addresses: "variance" */
const char *analysis_title(enum analysis_kind kind); /* of its page: "Variance" */

/* Of a training task. base: of THROUGHPUT; 0: the slowest. ST_NOT_FOUND: there is no such base. */
enum status analysis_load(struct store_reader *reader, const struct task *task,
                          enum analysis_kind kind, int64_t base, struct arena *arena,
                          struct analysis *analysis, struct error *err);

/* The entries of a training task, and their runs where they are asked for. */
enum status analysis_load_trials(struct store_reader *reader, const struct task *task,
                                 bool with_runs, struct arena *arena, struct trial_entry **joined,
                                 size_t *count, struct error *err);

/* The end of every handler of an analysis, when all parameters have been read: refuses what is at fault, else loads the
 * analysis and sends it as JSON, whose first member is `key`: `value`, or as CSV, of the part that is named. */
struct analysis_answer {
    enum status (*load)(struct store_reader *reader, const void *question, struct arena *arena,
                        struct analysis *analysis, struct error *err);
    const void *question;
    const char *key, *value; /* NULL: none */
    bool csv;
    const char *part; /* key of a part; NULL: the first */
};
void analysis_send(struct request *request, struct response *response,
                   const struct analysis_answer *answer, struct error *err);

#endif
