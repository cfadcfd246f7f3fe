/* server/mlperf/gunzip.h: unpacks gzip as it comes, into a sink; the only user of zlib in the server.
 * Ownership: everything is the call's. Threads: pure, any. */
#ifndef DAYBREAK_SERVER_MLPERF_GUNZIP_H
#define DAYBREAK_SERVER_MLPERF_GUNZIP_H

#include <stdbool.h>
#include <stddef.h>

#include "common/status.h"
#include "common/str.h"

typedef enum status gunzip_sink_fn(void *state, struct str bytes, struct error *err);

bool gunzip_is(struct str bytes); /* begins as gzip does */
/* Hands out what is in `bytes` piece by piece, all members one after the other. ST_INVALID "bad_gzip": torn, corrupt or
 * followed by something else; ST_LIMIT "too-large": unpacks to more than bytes_max; else what the sink said. */
enum status gunzip_all(struct str bytes, size_t bytes_max, gunzip_sink_fn *sink, void *state,
                       struct error *err);

#endif
