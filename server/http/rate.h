/* server/http/rate.h: how often an address and a token may ask, and how soon an address may try a token again.
 *
 * A bucket holds RATE_BURST_S seconds' worth of requests and fills at the rate. Of each bucket one number is kept: when it
 * will be full again. The table is bounded: 4 places to a key, found by a keyed hash; a new key takes the place whose
 * bucket is the fullest, so what is forgotten errs on the side of the client. O(1), one short lock of 256.
 *
 * An address may fail RATE_FAILURES_FREE times; each failure after that doubles a wait, from a second to RATE_WAIT_S_MAX,
 * within which no token is even looked at. RATE_FORGET_S after its last failure it begins anew. What a good token did
 * before changes nothing: else one who has one could try others for ever.
 *
 * Ownership: rate_create() owns all. Threads: any. */
#ifndef DAYBREAK_SERVER_HTTP_RATE_H
#define DAYBREAK_SERVER_HTTP_RATE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/status.h"
#include "server/http/client.h"

#define RATE_BURST_S       10
#define RATE_FAILURES_FREE 5
#define RATE_WAIT_S_MAX    300
#define RATE_FORGET_S      900

struct rate_limits {
    int per_address, per_token; /* requests a second; 0: any number */
    bool loopback;              /* for clients on this machine, too */
};

struct rate;
enum status rate_create(const struct rate_limits *limits, struct rate **rate, struct error *err);
void rate_destroy(struct rate *rate); /* accepts NULL */

/* Each returns how long to wait, in nanoseconds, at now_ns of CLOCK_MONOTONIC; 0: go on. An unknown address has no
 * bucket: it would be that of all who come through a proxy. */
int64_t rate_take_address(struct rate *rate, const struct client_address *address, int64_t now_ns);
int64_t rate_take_token(struct rate *rate, int64_t token_id, int64_t now_ns);
int64_t rate_failure_wait(struct rate *rate, const struct client_address *address, int64_t now_ns);
void rate_note_failure(struct rate *rate, const struct client_address *address, int64_t now_ns);

#endif
