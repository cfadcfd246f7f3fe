/* server/http/exchange_internal.h: what the files of this folder share: a connection, a request under way, a
 * parked request, a stream, and the listener that owns them. */
#ifndef DAYBREAK_SERVER_HTTP_EXCHANGE_INTERNAL_H
#define DAYBREAK_SERVER_HTTP_EXCHANGE_INTERNAL_H

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/arena.h"
#include "server/http/listener.h"
#include "server/http/request.h"
#include "server/http/response.h"
#include "server/http/router.h"

#define EXCHANGE_ARENA_BYTES (24u << 20)
#define TOPIC_BYTES_MAX      96

struct connection { /* in listener->connections while its socket is open */
    struct connection *previous, *next;
    int fd;
    struct client_address peer;
    _Atomic int64_t
        deadline_ns; /* CLOCK_MONOTONIC; 0: none. Then the pulse shuts the socket down */
};

enum exchange_phase {
    EXCHANGE_NEW,    /* the request line was read */
    EXCHANGE_BODY,   /* collecting */
    EXCHANGE_REFUSE, /* reading the body away; then the refusal is sent */
    EXCHANGE_RUN     /* the handler runs, or is suspended */
};

struct exchange {
    struct request request;
    struct response response;
    struct arena arena;
    struct listener *listener;
    struct MHD_Connection *mhd;
    struct connection *connection;
    enum exchange_phase phase;
    struct str target; /* as sent; in the arena */
    const char
        *raw_target; /* where it lies in the library's buffer: for the guard, in the first call */
    struct buf body;
    struct error refusal;
    bool too_large;    /* the body went beyond its cap */
    size_t swallowed;  /* bytes read away */
    unsigned allowed;  /* with a 405 */
    int suspends;      /* counted by the worker alone */
    bool is_active;    /* counted in listener->active */
    bool is_unlimited; /* on this machine, which is not limited unless that was asked for */
    /* Parked: guarded by listener->park_lock. */
    struct exchange *park_next;
    bool is_parked;
    char park_topic[TOPIC_BYTES_MAX];
    int64_t park_key, park_deadline_ns;
};

struct stream {
    struct stream *previous, *next; /* guarded by listener->stream_lock */
    struct listener *listener;
    struct MHD_Connection *mhd;
    struct stream_source source;
    char (*topics)[TOPIC_BYTES_MAX];
    size_t topic_count;
    struct buf pending; /* the worker's */
    size_t sent;        /* of pending */
    pthread_mutex_t lock;
    bool woken, asleep, beat; /* guarded by lock */
    int64_t beat_ns;          /* the next heartbeat; guarded by listener->stream_lock */
};

struct listener {
    struct listener_options options;
    struct rate *rate;
    int fd;
    char address[160];
    char unix_path[108]; /* unlinked at the end; "" for TCP */
    struct MHD_Daemon *daemon;
    bool is_quiet; /* MHD_quiesce_daemon() was called */
    char id_prefix[9];
    _Atomic uint64_t id_counter;
    _Atomic int active; /* requests between their headers and their reply */
    _Atomic bool stopping;
    _Atomic uint64_t mark;

    pthread_mutex_t connections_lock;
    struct connection *connections; /* guarded by connections_lock */

    pthread_mutex_t park_lock;
    struct exchange *parked; /* guarded by park_lock */
    size_t parked_count;     /* guarded by park_lock */

    pthread_mutex_t stream_lock;
    struct stream *streams; /* guarded by stream_lock */
    size_t stream_count;    /* guarded by stream_lock */

    pthread_t pulse;
    bool has_pulse;
    pthread_mutex_t pulse_lock;
    pthread_cond_t pulse_cond;
    bool pulse_stop; /* guarded by pulse_lock */
};

/* exchange.c: the library's callbacks. */
void *exchange_note_target(void *cls, const char *uri, struct MHD_Connection *mhd);
enum MHD_Result exchange_handle(void *cls, struct MHD_Connection *mhd, const char *url,
                                const char *method, const char *version, const char *upload,
                                size_t *upload_bytes, void **con_cls);
void exchange_complete(void *cls, struct MHD_Connection *mhd, void **con_cls,
                       enum MHD_RequestTerminationCode how);

/* reply.c: turns the response into the library's and queues it. */
enum MHD_Result reply_queue(struct exchange *exchange);

/* park.c */
void park_wake_all(struct listener *listener); /* by deadline */
void park_wake_topic(struct listener *listener, struct str topic);
int64_t park_expire(struct listener *listener, int64_t now_ns); /* next deadline, or 0 */

/* stream.c */
struct MHD_Response *stream_create(struct exchange *exchange);
void stream_wake_topic(struct listener *listener, struct str topic);
void stream_end_all(struct listener *listener);
int64_t stream_beat(struct listener *listener, int64_t now_ns); /* next heartbeat, or 0 */

static inline struct exchange *exchange_of(const struct request *request)
{
    union { /* request is the exchange's first member; const is the reader's promise, not the object's */
        const struct request *request;
        struct exchange *exchange;
    } u = {request};

    return u.exchange;
}

#endif
