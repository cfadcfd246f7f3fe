/* server/http/request.h: one HTTP request as its handler sees it: guarded, routed, authenticated, with the whole
 * body. A handler is called again after it parked or handed a command to the writer; what it wants to keep
 * between its calls stands in `state`.
 * Ownership: everything lives in `arena`, which lasts until the reply is sent. Threads: owned by the worker that
 * runs the handler; while suspended nobody touches it but who will resume it. */
#ifndef DAYBREAK_SERVER_HTTP_REQUEST_H
#define DAYBREAK_SERVER_HTTP_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "common/arena.h"
#include "common/json.h"
#include "common/status.h"
#include "common/str.h"
#include "server/http/client.h"
#include "server/http/multipart.h"
#include "server/http/query.h"
#include "server/store/records.h"

#define REQUEST_ARGS_MAX 4
#define REQUEST_ID_BYTES 20

struct app;   /* server/app.h: what handlers work with */
struct route; /* server/http/router.h */
struct connection;

enum http_method {
    HTTP_GET = 1 << 0, /* HEAD, too: the library leaves the body out */
    HTTP_POST = 1 << 1,
    HTTP_PUT = 1 << 2,
    HTTP_PATCH = 1 << 3,
    HTTP_DELETE = 1 << 4,
    HTTP_OPTIONS = 1 << 5
};

enum media {
    MEDIA_NONE = 0,
    MEDIA_JSON = 1 << 0,
    MEDIA_MULTIPART = 1 << 1,
    MEDIA_NDJSON = 1 << 2,
    MEDIA_FORM = 1 << 3 /* of a page: form.h */
};

struct request {
    struct app *app;
    const struct route *route;
    struct arena *arena;
    struct connection *connection;
    char id[REQUEST_ID_BYTES]; /* also sent as X-Request-Id */
    enum http_method method;
    bool is_head;
    struct str path;                   /* as sent, without the query */
    struct str args[REQUEST_ARGS_MAX]; /* what stood in the route's {..}, decoded; NUL-terminated */
    size_t arg_count;
    struct query query;
    struct fault_list faults; /* of query and body: response_send_error() lists them all */
    bool has_caller; /* a token, on pages a session, was checked; always so on routes with scopes */
    struct principal caller;
    enum media media;
    struct str body;
    struct multipart parts;        /* MEDIA_MULTIPART */
    struct query form;             /* MEDIA_FORM: source, session and csrf are checked */
    struct str session;            /* of a browser that is signed in, the cookie's text; "" else */
    const char *csrf;              /* what its forms must hold; NULL: not signed in */
    bool is_secure;                /* it came by TLS, as far as our proxy or --https says */
    struct client_address address; /* of the client; behind our proxy, the one it names */
    bool wants_html;               /* Accept names text/html before any other: a browser */
    int step;                      /* how often this handler was called before */
    bool
        woken_by_deadline; /* after request_park(): nothing happened in time, or the server stops */
    void *state;           /* the handler's own, in arena */
};

/* A header's value, "" when absent. Names are compared without case. */
struct str request_header(const struct request *request, const char *name);

/* Where a token is tried that no header held, as at /login: ST_LIMIT "rate-limited" (429) while the address has to wait
 * after failed attempts; and one more of these, when err says that nobody has such a token. Whoever sends one that has
 * expired or was revoked guesses nothing: a forgotten program slows nobody down. */
enum status request_check_attempts(struct request *request, struct error *err);
void request_note_failed_attempt(struct request *request, const struct error *err);

/* {..} number `index` as a positive decimal id. ST_NOT_FOUND otherwise: no such thing can exist. */
enum status request_arg_id(const struct request *request, size_t index, int64_t *id,
                           struct error *err);

/* The body as JSON, and a reader over it that notes every fault among the request's; parameters that nobody has
 * taken are noted, too. Not ST_OK: it is no JSON, `doc` is not there; answered with 400. Whatever else is wrong,
 * even that it is no object, json_reader_finish() tells. */
enum status request_read_json(struct request *request, struct json_doc *doc,
                              struct json_reader *reader, struct error *err);

/* A fault that the caller found in a body's part, a header or a parameter: noted with the others. ST_INVALID. */
enum status request_fault(struct request *request, const char *code, const char *field,
                          const char *hint, struct error *err, const char *format, ...)
    __attribute__((format(printf, 6, 7)));

/* Whether Accept names `media` ("text/csv") before JSON or a wildcard: the order counts, weights do not. */
bool request_prefers(const struct request *request, const char *media);

/* If-None-Match holds the ETag (with its quotes) or "*". */
bool request_matches_etag(const struct request *request, const char *etag);
/* If-Match, which a PATCH needs, as a text in the arena; a verb compares it with what is stored (db_check_if_match), so
 * that nothing comes between. ST_CONFLICT "precondition-required" (428) without one; ST_INVALID "bad-etag". */
enum status request_read_if_match(const struct request *request, struct str *if_match,
                                  struct error *err);

/* The two-step answer: request_suspend() before the command is pushed where another thread can see it, then
 * exactly one request_resume(), from any thread, which has the handler called again with step + 1. The handler
 * must return right after request_suspend() without touching the request again once it was pushed. */
void request_suspend(struct request *request);
void request_resume(struct request *request);

/* Long polls: parks the request until its topic is woken or its deadline passes; then the handler is called again.
 * `mark` is listener_mark() from before the handler looked for work: if anything was woken since, the handler is
 * called again at once. ST_UNAVAILABLE when too many are parked or the server stops; the request then goes on. */
struct park {
    const char *topic; /* "queue" */
    int64_t key; /* 0: none; else one parked request each: an older one is woken by its deadline */
    uint64_t mark;
    int64_t deadline_ns; /* CLOCK_MONOTONIC */
};
enum status request_park(struct request *request, const struct park *park, struct error *err);

/* Whether one more stream may begin (response_begin_stream). */
bool request_stream_has_room(const struct request *request);

#endif
