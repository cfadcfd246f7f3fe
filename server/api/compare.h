/* server/api/compare.h: which runs are to be compared, read from a question and from the store, for the API and its page
 * alike. Ownership: as request.h. Threads: the worker's. */
#ifndef DAYBREAK_SERVER_API_COMPARE_H
#define DAYBREAK_SERVER_API_COMPARE_H

#include "server/analysis/compare.h"
#include "server/http/query.h"
#include "server/store/read.h"

struct compare_form {
    int64_t runs[COMPARE_RUNS_MAX]; /* ids, each once */
    size_t count;
    enum compare_axis axis;
};
extern const char *const compare_axis_names[]; /* "time", "epoch", "cost", NULL */

/* runs=1,2,3 and x=time|epoch|cost; without runs none is chosen. Faults are the query's. */
void compare_read_form(struct query *query, struct compare_form *form, struct error *err);
/* ST_NOT_FOUND: there is no such run. */
enum status compare_load(struct store_reader *reader, const struct compare_form *form,
                         struct arena *arena, struct analysis *analysis, struct error *err);

#endif
