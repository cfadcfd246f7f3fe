/* server/http/response.h: what a handler answers. Exactly one response_send_* or response_begin_* ends it; the
 * listener turns it into the library's response. X-Request-Id and the security headers are added to all.
 * Ownership: the body's buffer is the response's; embedded and shared bytes are borrowed. Threads: as request. */
#ifndef DAYBREAK_SERVER_HTTP_RESPONSE_H
#define DAYBREAK_SERVER_HTTP_RESPONSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/embed.h"
#include "common/status.h"
#include "common/str.h"
#include "server/http/request.h"

#define RESPONSE_BODY_BYTES_MAX (16u << 20)
#define RESPONSE_HEADERS_MAX    16

/* Bytes that several replies share, such as a board's cached JSON. */
struct shared_bytes {
    char *data;
    size_t len;
    int references; /* atomic */
};
struct shared_bytes *shared_bytes_create(struct str bytes); /* one reference; NULL: no memory */
struct shared_bytes *shared_bytes_hold(struct shared_bytes *bytes);
void shared_bytes_release(struct shared_bytes *bytes); /* accepts NULL */

/* A stream's source: appends to `out` what there is to send now and returns true; false ends the stream. Called
 * on a worker whenever the client can take more; when nothing was appended the stream sleeps until
 * stream_wake_topic() or its heartbeat. */
struct stream_source {
    bool (*fill)(void *state, struct buf *out);
    void (*destroy)(void *state);
    void *state;
    const char *const *topics; /* copied */
    size_t topic_count;
};

struct response {
    struct request *request;
    int status; /* 0: nothing was sent yet */
    struct {
        const char *name, *value; /* in the request's arena */
    } headers[RESPONSE_HEADERS_MAX];
    size_t header_count;
    const char *content_type;
    struct buf body;
    struct shared_bytes *shared;          /* in place of body */
    const struct embedded_file *embedded; /* in place of body */
    bool has_stream;
    struct stream_source stream; /* in place of body */
    bool close;                  /* end the connection after it */
};

/* One more header; value is printf text without control bytes. */
void response_add_header(struct response *response, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Starts a reply whose body the caller appends to the returned buffer; a buffer that failed becomes a 500. */
struct buf *response_begin(struct response *response, int status, const char *content_type);
/* The same for a page: text/html with web.md's Content-Security-Policy. */
struct buf *response_begin_html(struct response *response, int status);

void response_send_empty(struct response *response, int status); /* 204, 304 */
void response_send_embedded(struct response *response, const struct embedded_file *file,
                            const char *content_type); /* ETag from its hash; 304 if it matches */
void response_send_shared(struct response *response, struct shared_bytes *bytes,
                          const char *content_type); /* takes over one reference */
void response_send_redirect(struct response *response, int status, const char *location);
void response_begin_stream(struct response *response, const struct stream_source *source);

/* ETag `"value"`, Cache-Control: no-cache. True: the client has it, 304 was sent, return at once. */
bool response_send_not_modified(struct response *response, const char *etag_value);

/* One fault of a body or query. Empty texts are left out. */
struct problem_item {
    const char *file;
    int line;
    const char *pointer, *field, *code, *severity, *detail, *hint;
};
struct problem {
    int status;
    const char *code, *detail;
    const struct problem_item *items;
    size_t item_count;
    bool has_expected_seq, has_submission;
    int64_t expected_seq, submission;
    const char *state;       /* that the submission is in; NULL: not told */
    long long retry_after_s; /* sent as Retry-After; 0: none, but with a 503 */
    const char *request_id;  /* filled in by response_send_problem() */
};
/* application/problem+json; to browsers a page, through the server's error page hook. */
void response_send_problem(struct response *response, const struct problem *problem);
/* The one place where a status becomes an HTTP code, and where the request's faults become errors[]: err decides the
 * code, and stands among them. Of ST_INTERNAL and the like the client learns nothing but
 * the request id; the log has the rest. */
void response_send_error(struct response *response, const struct error *err);
int response_status_code(const struct error *err);
const char *response_reason(int status); /* "Not Found" */

/* Set once at start: draws an error for a browser. */
typedef void response_error_page_fn(struct request *request, struct response *response,
                                    const struct problem *problem);

#endif
