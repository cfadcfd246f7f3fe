/* server/http/listener.h: the listening socket, libmicrohttpd's daemon (epoll, thread pool, suspend and resume), its
 * connections with deadlines of their own, parked polls and streams.
 *
 *   connection: [headers <= 10 s] -> [body <= 30 s] -> handler .. reply -> [idle <= 60 s] -> next request
 *   request:    headers -> guard, route, authenticate -> body -> handler -> (suspended -> handler)* -> reply
 *
 * Ownership: the listener owns all of these. Threads: the library's workers run handlers; one thread of ours, the
 * pulse, enforces deadlines; wake functions may be called from any thread. */
#ifndef DAYBREAK_SERVER_HTTP_LISTENER_H
#define DAYBREAK_SERVER_HTTP_LISTENER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"
#include "common/str.h"
#include "server/http/client.h"
#include "server/http/rate.h"
#include "server/http/response.h"
#include "server/http/router.h"

#define LISTENER_CONNECTIONS_MAX 2000
#define LISTENER_PARKED_MAX      1000
#define LISTENER_STREAMS_MAX     500
#define LISTENER_HEADER_MS       10000
#define LISTENER_BODY_MS         30000
#define LISTENER_IDLE_MS         60000
#define LISTENER_SEND_S          30 /* a client that takes nothing of its reply for so long is dropped */
#define STREAM_HEARTBEAT_MS      15000
#define PARK_WAIT_MS_MAX         25000

struct listener;

struct listener_options {
    struct app *app;
    const char *listen; /* HOST:PORT, [IPV6]:PORT or unix:PATH; port 0: any free one */
    int workers;
    const struct router *router;         /* borrowed */
    response_error_page_fn *error_page;  /* NULL: browsers get problem+json, too */
    int64_t header_ms, body_ms, idle_ms; /* 0: the defaults above */
    struct proxy_trust proxy;
    struct rate_limits limits;
    bool https; /* whatever comes was sent by TLS, although nobody says so */
};

/* Binds and listens; nothing is accepted before listener_start(). ST_INVALID: not an address; ST_IO. */
enum status listener_create(const struct listener_options *options, struct listener **listener,
                            struct error *err);
enum status listener_start(struct listener *listener, struct error *err);
const char *listener_address(const struct listener *listener); /* "http://127.0.0.1:8080" */

/* Takes no new connection, wakes every parked request by its deadline, ends every stream; then waits, at most
 * wait_ms, until no request is at work. */
void listener_quiesce(struct listener *listener, int64_t wait_ms);
/* After the writer was drained: nothing is suspended any more. Accepts NULL. */
void listener_destroy(struct listener *listener);

/* Wakes what is parked on, or streams, the topic: "queue", "run:7", "board:cifar10-train". */
void listener_wake_topic(struct listener *listener, struct str topic);
/* What request_park() wants to know: raised by each wake, taken before the handler looked for work. */
uint64_t listener_mark(struct listener *listener);

#endif
