/* server/app.h: the running server: owns store, tasks, listener, webhooks and the ticker, and hands them to handlers.
 *
 * Lock order: listener's connection list -> parked list -> a stream's own lock; board cache, making -> the boards'
 * refresh -> a task's boards, in the table's order -> board cache. The writer's queue lock is inside all of them; none
 * is held while a client is waited for, or, but for the boards' refresh, while SQL runs.
 * Ownership: app_create() owns all. Threads: immutable after creation but for what has its own lock. */
#ifndef DAYBREAK_SERVER_APP_H
#define DAYBREAK_SERVER_APP_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/status.h"
#include "common/task.h"
#include "server/http/client.h"
#include "server/http/rate.h"
#include "server/mlperf/rules.h"
#include "server/store/store.h"

struct board_cache; /* server/api/board_cache.h */
struct boards;      /* server/api/boards.h */
struct listener;    /* server/http/listener.h */
struct sender;      /* server/hook/sender.h */

struct app {
    struct task_table *tasks;
    struct mlperf_rules *mlperf; /* of MLPerf's rounds */
    struct store *store;
    const char *db_path;
    bool read_only;      /* writes are answered 503 */
    const char *web_dir; /* NULL: the embedded assets */
    struct boards *boards;
    struct board_cache *board_bytes;
    struct listener *listener;
    struct sender *sender; /* NULL: read-only */
    bool webhook_allow_private;
    pthread_key_t reader_key; /* of each thread's struct store_reader */
    bool has_reader_key;
};

struct app_options {
    const char *db_path;
    const char *listen;  /* HOST:PORT or unix:PATH */
    const char *web_dir; /* NULL: embedded */
    int workers;         /* threads that serve; 0: one per core, at least 2 */
    struct proxy_trust proxy;
    struct rate_limits limits;
    bool https; /* reached by TLS alone: cookies say so */
    bool read_only;
    bool webhook_allow_private; /* webhooks may reach any address, by http as well */
    int64_t webhook_timeout_ms; /* 0: SENDER_TIMEOUT_MS */
};

/* Opens everything and begins to serve. ST_UNAVAILABLE when another server that writes has the database. */
enum status app_create(const struct app_options *options, struct app **app, struct error *err);
/* Stops in the order of design.md: quiesce, answer parked polls, end streams, drain the writer, stop. */
void app_destroy(struct app *app);              /* accepts NULL */
const char *app_address(const struct app *app); /* "http://127.0.0.1:8080" or "unix:PATH" */

/* The calling thread's own read-only connection, opened at its first use; NULL with err filled on failure. */
struct store_reader *app_reader(struct app *app, struct error *err);

#endif
