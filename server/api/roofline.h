/* server/api/roofline.h: a run's roofline (analysis/roofline.h) from its stored profile, for the API and its page alike.
 * Ownership: as request.h. Threads: the worker's. */
#ifndef DAYBREAK_SERVER_API_ROOFLINE_H
#define DAYBREAK_SERVER_API_ROOFLINE_H

#include "server/analysis/roofline.h"
#include "server/store/read.h"

/* In the arena, into which the stored profile is read. ST_NOT_FOUND: no such run, or "no-profile". */
enum status roofline_load(struct store_reader *reader, int64_t run, struct arena *arena,
                          struct analysis *analysis, struct error *err);

#endif
