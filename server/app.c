/* server/app.c: see app.h. The ticker is the thread between the writer and whoever waits: after a COMMIT it reads
 * the new changes and wakes their topics; once a second it has the store swept. */
#include "server/app.h"

#include <stdatomic.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "server/api/api.h"
#include "server/api/board_cache.h"
#include "server/api/boards.h"
#include "server/hook/sender.h"
#include "server/http/listener.h"
#include "server/http/router.h"
#include "server/page/access_pages.h"
#include "server/page/analysis_pages.h"
#include "server/page/doc_pages.h"
#include "server/page/find_pages.h"
#include "server/page/pages.h"
#include "server/page/review_pages.h"
#include "server/page/submit_pages.h"
#include "server/page/work_pages.h"
#include "server/store/lock.h"
#include "server/store/read.h"
#include "server/store/verbs.h"

enum { SWEEP_MS = 1000, CHANGES_MAX = 1000, QUIESCE_MS = 5000, TICK_ARENA_BYTES = 4 << 20 };

struct ticker {
    struct app *app;
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool stop;              /* guarded by lock */
    int64_t last_change_id; /* guarded by lock: committed */
};

struct server { /* the app's private part; app comes first */
    struct app app;
    struct router *router;
    struct ticker ticker;
    struct store_options store_options;
    int lock_fd; /* held while this server may write; -1: none */
};

static enum status open_parts(struct server *server, const struct app_options *options,
                              struct error *err);
static void close_reader(void *reader);
static void note_commit(void *opaque, int64_t last_change_id, bool queue_changed);
static enum status start_ticker(struct ticker *ticker, struct error *err);
static void stop_ticker(struct ticker *ticker);
static void *run_ticker(void *arg);
static void wake_changes(struct app *app, int64_t *known, int64_t target);
static void sweep(struct app *app);

enum status app_create(const struct app_options *options, struct app **app, struct error *err)
{
    struct server *server = calloc(1, sizeof *server);
    pthread_condattr_t attributes;
    enum status status;

    if (server == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for the server");
    server->lock_fd = -1;
    server->ticker.app = &server->app;
    (void)pthread_mutex_init(&server->ticker.lock, NULL);
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&server->ticker.wake, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    status = open_parts(server, options, err);
    if (status != ST_OK) {
        app_destroy(&server->app);
        return status;
    }
    *app = &server->app;
    return ST_OK;
}

void app_destroy(struct app *app)
{
    struct server *server = (struct server *)app;

    if (server == NULL)
        return;
    if (app->listener != NULL)
        listener_quiesce(app->listener, QUIESCE_MS); /* the writer answers what was pushed */
    stop_ticker(&server->ticker);
    listener_destroy(app->listener);
    sender_destroy(app->sender); /* before the store, which learns what was delivered */
    boards_destroy(app->boards);
    store_close(app->store);
    store_lock_release(server->lock_fd); /* behind the last write */
    board_cache_destroy(app->board_bytes);
    router_destroy(server->router);
    mlperf_rules_destroy(app->mlperf);
    task_table_destroy(app->tasks);
    if (app->has_reader_key)
        (void)pthread_key_delete(app->reader_key);
    (void)pthread_cond_destroy(&server->ticker.wake);
    (void)pthread_mutex_destroy(&server->ticker.lock);
    free(server);
}

const char *app_address(const struct app *app)
{
    return listener_address(app->listener);
}

struct store_reader *app_reader(struct app *app, struct error *err)
{
    struct store_reader *reader = pthread_getspecific(app->reader_key);

    if (reader != NULL)
        return reader;
    if (store_reader_open(app->db_path, &reader, err) != ST_OK)
        return NULL;
    if (pthread_setspecific(app->reader_key, reader) != 0) {
        store_reader_close(reader);
        (void)error_set(err, ST_NO_MEMORY, NULL, "no memory for a reader");
        return NULL;
    }
    return reader;
}

static enum status open_parts(struct server *server, const struct app_options *options,
                              struct error *err)
{
    const struct route_table tables[] = {api_routes,    page_routes,     find_routes,
                                         work_routes,   access_routes,   review_routes,
                                         submit_routes, analysis_routes, doc_routes};
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    struct listener_options listen = {.app = &server->app,
                                      .listen = options->listen,
                                      .workers = options->workers > 0 ? options->workers
                                                 : cores > 2          ? (int)cores
                                                                      : 2,
                                      .error_page = page_draw_error,
                                      .proxy = options->proxy,
                                      .limits = options->limits,
                                      .https = options->https};
    struct app *app = &server->app;
    enum status status;

    app->db_path = options->db_path;
    app->read_only = options->read_only;
    app->webhook_allow_private = options->webhook_allow_private;
    app->web_dir = options->web_dir;
    if (pthread_key_create(&app->reader_key, close_reader) != 0)
        return error_set(err, ST_NO_MEMORY, NULL, "no further thread key");
    app->has_reader_key = true;
    status = task_table_create(&app->tasks, err);
    if (status == ST_OK)
        status = mlperf_rules_create(&app->mlperf, err);
    if (status == ST_OK)
        status = router_create(tables, ARRAY_LEN(tables), &server->router, err);
    if (status == ST_OK)
        status = board_cache_create(&app->board_bytes, err);
    server->store_options = (struct store_options){.path = options->db_path,
                                                   .tasks = app->tasks,
                                                   .committed = note_commit,
                                                   .opaque = &server->ticker};
    if (status == ST_OK && !app->read_only) /* before the store: a refused server changes nothing */
        status = store_lock_acquire(options->db_path, &server->lock_fd, err);
    if (status == ST_OK)
        status = store_open(&server->store_options, &app->store, err);
    if (status == ST_OK)
        status = boards_create(&(struct boards_options){.db_path = options->db_path,
                                                        .tasks = app->tasks,
                                                        .store = app->store,
                                                        .read_only = options->read_only},
                               &app->boards, err);
    listen.router = server->router;
    if (status == ST_OK)
        status = listener_create(&listen, &app->listener, err);
    if (status == ST_OK && !app->read_only)
        status = sender_create(&(struct sender_options){.store = app->store,
                                                        .db_path = options->db_path,
                                                        .allow_private = app->webhook_allow_private,
                                                        .timeout_ms = options->webhook_timeout_ms},
                               &app->sender, err);
    if (status == ST_OK)
        status = start_ticker(&server->ticker, err);
    if (status == ST_OK)
        status = listener_start(app->listener, err);
    return status;
}

/* At the end of each thread that read. */
static void close_reader(void *reader)
{
    store_reader_close(reader);
}

/* On the writer's thread: leaves a note and is gone. */
static void note_commit(void *opaque, int64_t last_change_id, bool queue_changed)
{
    struct ticker *ticker = opaque;

    (void)queue_changed;
    (void)pthread_mutex_lock(&ticker->lock);
    ticker->last_change_id = last_change_id;
    (void)pthread_cond_signal(&ticker->wake);
    (void)pthread_mutex_unlock(&ticker->lock);
}

static enum status start_ticker(struct ticker *ticker, struct error *err)
{
    struct start_server start = {0};
    struct arena arena;
    enum status status = ST_OK;

    if (!ticker->app->read_only) {
        arena_init(&arena, 65536);
        status = store_run_verb(ticker->app->store, verb_start_server, &start, &arena, err);
        arena_fini(&arena);
    }
    if (status != ST_OK)
        return status;
    if (start.lease_count > 0)
        log_event(LOG_INFO, "leases_extended", "count=%lld downtime_ms=%lld",
                  (long long)start.lease_count, (long long)start.downtime_ms);
    if (pthread_create(&ticker->thread, NULL, run_ticker, ticker) != 0)
        return error_set(err, ST_NO_MEMORY, NULL, "no further thread could be started");
    ticker->has_thread = true;
    return ST_OK;
}

static void stop_ticker(struct ticker *ticker)
{
    if (!ticker->has_thread)
        return;
    (void)pthread_mutex_lock(&ticker->lock);
    ticker->stop = true;
    (void)pthread_cond_signal(&ticker->wake);
    (void)pthread_mutex_unlock(&ticker->lock);
    (void)pthread_join(ticker->thread, NULL);
    ticker->has_thread = false;
}

static void *run_ticker(void *arg)
{
    struct ticker *ticker = arg;
    struct app *app = ticker->app;
    int64_t known = store_last_change_id(app->store);
    int64_t sweep_ns = clock_mono_ns() + SWEEP_MS * (NS_PER_S / 1000);

    (void)pthread_mutex_lock(&ticker->lock);
    while (!ticker->stop) {
        const int64_t target = ticker->last_change_id;

        if (target > known) {
            (void)pthread_mutex_unlock(&ticker->lock);
            wake_changes(app, &known, target);
            (void)pthread_mutex_lock(&ticker->lock);
        } else if (clock_mono_ns() >= sweep_ns) {
            sweep_ns = clock_mono_ns() + SWEEP_MS * (NS_PER_S / 1000);
            (void)pthread_mutex_unlock(&ticker->lock);
            sweep(app);
            (void)pthread_mutex_lock(&ticker->lock);
        } else {
            const struct timespec until = {sweep_ns / NS_PER_S, sweep_ns % NS_PER_S};

            (void)pthread_cond_timedwait(&ticker->wake, &ticker->lock, &until);
        }
    }
    (void)pthread_mutex_unlock(&ticker->lock);
    return NULL;
}

/* When the changes cannot be read, the streams sleep until the next commit or their heartbeat: nothing is lost,
 * they read from where they were. */
static void wake_changes(struct app *app, int64_t *known, int64_t target)
{
    struct change_record *rows;
    struct store_reader *reader;
    struct error err = {0};
    struct arena arena;
    size_t count = 0;
    bool reset;

    arena_init(&arena, TICK_ARENA_BYTES);
    reader = app_reader(app, &err);
    if (reader != NULL && store_list_changes(reader, &arena, *known, CHANGES_MAX, &rows, &count,
                                             &reset, &err) == ST_OK)
        for (size_t i = 0; i < count; i++)
            listener_wake_topic(app->listener, str_from_cstr(rows[i].topic));
    sender_wake(app->sender);
    if (err.status != ST_OK)
        log_event(LOG_WARN, "changes_unread", "status=%s", status_name(err.status));
    *known = count > 0 ? rows[count - 1].id : target;
    arena_fini(&arena);
}

static void sweep(struct app *app)
{
    struct sweep args = {.store = app->store};
    struct error err = {0};
    struct arena arena;

    if (app->read_only)
        return;
    arena_init(&arena, 1 << 20);
    if (store_run_verb(app->store, verb_sweep, &args, &arena, &err) != ST_OK)
        log_event(LOG_WARN, "sweep_failed", "status=%s", status_name(err.status));
    else if (args.unreachable_count > 0 || args.requeued_count > 0)
        log_event(LOG_INFO, "swept", "unreachable=%lld requeued=%lld",
                  (long long)args.unreachable_count, (long long)args.requeued_count);
    arena_fini(&arena);
}
