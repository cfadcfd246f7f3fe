/* agent/run/link.h: one attempt's line to the server: a sender that carries events from the spool, and a
 * heartbeat that renews the lease, each a thread of its own with a connection of its own. Neither a slow
 * disk nor a dead network holds up the training: events wait in the spool.
 *
 *   link_open -> heartbeat runs ... link_start_clock (run_start, seed) ... events ... link_flush -> close
 *
 * Ownership: borrows settings and spool until link_close(). Threads: one caller, which must not be one of
 * the link's; state is behind a lock. */
#ifndef DAYBREAK_AGENT_RUN_LINK_H
#define DAYBREAK_AGENT_RUN_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/run/spool.h"
#include "common/status.h"

enum link_state {
    LINK_UP,         /* or trying to be */
    LINK_SUPERSEDED, /* the attempt is no longer the job's: stop, keep the spool */
    LINK_REFUSED     /* the server will never take our events; `detail` says why */
};

struct link_settings {
    const char *server, *token, *attempt;
    int64_t acked_seq; /* what the server has already */
    int64_t heartbeat_ms;
    int64_t events_bytes_max; /* of one body */
    struct spool *spool;
    bool (*should_stop)(void); /* true: give up waiting for the server */
};

struct link;

enum status link_open(const struct link_settings *settings, struct link **link, struct error *err);
void link_close(struct link *link); /* accepts NULL; what is not sent stays in the spool */

/* The spool has new records. alone: the last one goes at once, in a body of its own. */
void link_notify(struct link *link, bool alone);
/* Waits until the last record of the spool, which is run_start, is acknowledged with a seed. *answer_ns
 * is when that answer was here. ST_CONFLICT superseded, ST_DENIED refused, ST_CANCELLED. */
enum status link_start_clock(struct link *link, uint32_t *seed, int64_t *answer_ns,
                             struct error *err);
/* Waits until everything in the spool is acknowledged; the same failures. */
enum status link_flush(struct link *link, struct error *err);

/* From now on waiting for the server ends after so long, whatever should_stop says: an operator who
 * cancels still wants the server to know. */
void link_end_within(struct link *link, int64_t grace_ms);

/* After LINK_REFUSED: sends no more events, but lets link_post() tell the server that the attempt ends.
 * Returns the last seq that the server acknowledged. */
int64_t link_give_up_events(struct link *link);

/* Said with each heartbeat: "setup", "train", "evaluate", "checkpoint", "profile", "finish". */
void link_set_phase(struct link *link, const char *phase);
enum link_state link_state(struct link *link);
bool link_is_cancelled(struct link *link); /* the server wants the attempt to end */

/* POST of a JSON body to .../attempts/<attempt>/<verb>, repeated until the server answers. ST_OK: it
 * did with 2xx; the body of the answer is appended. */
enum status link_post(struct link *link, const char *verb, struct str body, struct buf *answer,
                      struct error *err);

/* From one failed try to the next, with jitter: 0.2 s, 0.4 s, ... 10 s. */
int64_t link_backoff_ms(int tries);

#endif
