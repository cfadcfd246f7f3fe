/* server/api/roofline.h: reading a run's profile and its roofline (analysis/roofline.h), for the API and its page alike.
 * Ownership: as request.h. Threads: the worker's. */
#ifndef DAYBREAK_SERVER_API_ROOFLINE_H
#define DAYBREAK_SERVER_API_ROOFLINE_H

#include "server/analysis/roofline.h"
#include "server/store/read.h"

/* Both borrow the arena, into which the stored profile is read. ST_NOT_FOUND: no such run, or "no-profile". */
enum status roofline_load(struct store_reader *reader, struct arena *arena, int64_t run_id,
                          struct run_profile *profile, struct roofline *roofline,
                          struct error *err);

#endif
