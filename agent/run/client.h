/* agent/run/client.h: HTTP as the agent speaks it; the only user of libcurl's header.
 * Ownership: a client owns its connection, which it keeps open between calls; a reply owns its body
 * until client_reply_fini(). Threads: one owner per client; different clients in different threads. */
#ifndef DAYBREAK_AGENT_RUN_CLIENT_H
#define DAYBREAK_AGENT_RUN_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"
#include "common/str.h"

#define CLIENT_REPLY_BYTES_MAX    ((size_t)4 * 1024 * 1024)
#define CLIENT_CONNECT_TIMEOUT_MS 5000
#define CLIENT_DOWNLOAD_BYTES_MAX (INT64_C(2) << 30)

struct client;

struct client_part {              /* of multipart/form-data */
    const char *name, *file_name; /* file_name NULL: a plain field */
    struct str data;
};

struct client_request {
    const char *method, *path; /* "POST", "/v1/agent/claim" */
    const char *content_type;  /* NULL: no body, or parts */
    struct str body;
    const struct client_part *parts; /* instead of a body */
    size_t part_count;
    const char *token;  /* NULL: none */
    int64_t timeout_ms; /* for the whole call */
    /* Asked at least once a second while waiting; true ends the call with ST_CANCELLED. May be NULL. */
    bool (*should_stop)(void *context);
    void *context;
};

struct client_reply {
    int status; /* HTTP */
    struct buf body;
    int64_t retry_after_s;              /* 0: not said */
    int64_t round_trip_ns, received_ns; /* CLOCK_MONOTONIC when the whole answer was here */
};

/* Call once, before threads start. */
enum status client_library_init(struct error *err);
/* server: "http://host:port" or https, with or without a slash at the end. ST_USAGE otherwise. */
enum status client_create(const char *server, struct client **client, struct error *err);
void client_destroy(struct client *client); /* accepts NULL */

/* ST_OK: the server answered, whatever it said. ST_IO, ST_TIMEOUT: it did not, try again later.
 * Begin with a zeroed reply; it can be used for several calls. */
enum status client_send(struct client *client, const struct client_request *request,
                        struct client_reply *reply, struct error *err);
void client_reply_fini(struct client_reply *reply); /* accepts zeroed */
/* What a problem+json answer says, as one sentence; code and expected_seq are "" and 0 if absent. */
struct client_problem {
    char code[64], detail[320];
    int64_t expected_seq;
    bool is_object; /* else no daybreakd said it: all its answers with a body are JSON objects */
};
void client_read_problem(const struct client_reply *reply, struct client_problem *problem);

/* Writes what a URL holds into a new file. */
enum status client_download(const char *url, const char *path, struct error *err);

#endif
