/* server/store/writer.c: the one thread that writes (writer.h). A group is a transaction; it ends when the queue
 * is empty, after GROUP_COMMANDS_MAX commands or GROUP_NS_MAX. While its COMMIT syncs, the next group gathers: that
 * is why syncing each COMMIT costs so little. */
#include "server/store/writer.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#ifdef DAYBREAK_CONTROL_REPLY_FIRST
#include <unistd.h>
#endif

#include "common/clock.h"
#include "common/log.h"
#include "server/store/store_internal.h"

/* A sync takes 0.3 to 7 ms on the disks that were measured: a group may take as long as a slow one, or syncing would
 * take most of the time under load. It bounds what a client waits beside the sync; it never waits for commands. */
enum { GROUP_COMMANDS_MAX = 256, GROUP_NS_MAX = 10000000 };

struct writer {
    struct db db; /* the thread's, after writer_create() */
    void (*committed)(void *opaque, int64_t last_change_id, bool queue_changed);
    void *opaque;
    int64_t (*now_ms)(void *opaque);
    char instance[STORE_INSTANCE_BYTES]; /* immutable after creation */
    atomic_int_fast64_t last_change_id;

    pthread_t thread;
    bool has_thread, has_lock;
    pthread_mutex_t lock;
    pthread_cond_t wake;           /* with lock: a command came, or closing */
    struct command *first, **last; /* guarded by lock */
    size_t count, count_max;       /* count guarded by lock */
    bool closing;                  /* guarded by lock */
};

/* The commands of a transaction, in order. */
struct group {
    struct command *first, **last;
    size_t count;
    int64_t begin_ns;
    bool lost; /* SQLite rolled the whole transaction back by itself */
};

static enum status prepare_database(struct writer *writer, struct error *err);
static enum status find_instance(struct writer *writer, struct error *err);
static int64_t read_clock(void *opaque);
static void *run_thread(void *opaque);
static struct command *pop(struct writer *writer, bool wait);
static void run_group(struct writer *writer, struct command *first);
static void add_to_group(struct writer *writer, struct group *group, struct command *command);
static enum status run_simple(struct db *db, enum stmt_id id, struct error *err);
static void run_command(struct writer *writer, struct group *group, struct command *command);
static enum status run_verb(struct db *db, struct command *command);
static enum status find_answer(struct db *db, struct command *command);
static enum status put_answer(struct db *db, struct command *command);
static void roll_back_command(struct db *db, struct group *group);
static void finish_group(struct writer *writer, struct group *group);
static void fail_group(struct group *group, const struct error *cause);
static void complete_group(struct group *group);
static enum status read_last_change(struct db *db, int64_t *id, struct error *err);
static void wake_waiter(struct command *command);

enum status writer_create(const struct store_options *options, struct store *store,
                          struct writer **writer, struct error *err)
{
    struct writer *made = calloc(1, sizeof *made);
    enum status status;

    if (made == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for the writer");
    made->committed = options->committed;
    made->opaque = options->opaque;
    made->now_ms = options->now_ms == NULL ? read_clock : options->now_ms;
    made->count_max = options->queue_max == 0 ? STORE_QUEUE_DEFAULT : options->queue_max;
    made->last = &made->first;
    status = db_open_writer(options->path, options->busy_ms, &made->db, err);
    if (status != ST_OK)
        goto done;
    made->db.tasks = options->tasks;
    made->db.store = store;
    fault_init(&made->db.fault, secure_getenv("DAYBREAK_KILL_POINT"));
    status = prepare_database(made, err);
    if (status != ST_OK)
        goto done;
    made->has_lock =
        pthread_mutex_init(&made->lock, NULL) == 0 && pthread_cond_init(&made->wake, NULL) == 0;
    made->has_thread = made->has_lock && pthread_create(&made->thread, NULL, run_thread, made) == 0;
    if (!made->has_thread)
        status = error_set(err, ST_NO_MEMORY, NULL, "the writer's thread cannot be started");
done:
    if (status != ST_OK) {
        writer_destroy(made);
        return status;
    }
    *writer = made;
    return ST_OK;
}

void writer_destroy(struct writer *writer)
{
    if (writer == NULL)
        return;
    if (writer->has_thread) {
        (void)pthread_mutex_lock(&writer->lock);
        writer->closing = true;
        (void)pthread_cond_signal(&writer->wake);
        (void)pthread_mutex_unlock(&writer->lock);
        (void)pthread_join(writer->thread, NULL);
    }
    if (writer->has_lock) {
        (void)pthread_cond_destroy(&writer->wake);
        (void)pthread_mutex_destroy(&writer->lock);
    }
    db_close(&writer->db);
    free(writer);
}

enum status writer_push(struct writer *writer, struct command *command, struct error *err)
{
    bool taken;

    assert(command->verb != NULL && command->complete != NULL);
    assert(command->key.len == 0 || command->render != NULL);
    command->next = NULL;
    command->status = ST_OK;
    command->err = (struct error){0};
    command->answer = (struct answer){0};
    command->replayed = false;
    (void)pthread_mutex_lock(&writer->lock);
    taken = !writer->closing && writer->count < writer->count_max;
    if (taken) {
        *writer->last = command;
        writer->last = &command->next;
        writer->count++;
        (void)pthread_cond_signal(&writer->wake);
    }
    (void)pthread_mutex_unlock(&writer->lock);
    return taken ? ST_OK
                 : error_set_code(err, ST_UNAVAILABLE, "busy", NULL, "Try again in a second.",
                                  "the server has more to write than it can take");
}

int64_t writer_last_change_id(const struct writer *writer)
{
    return atomic_load(&writer->last_change_id);
}

const char *writer_instance(const struct writer *writer)
{
    return writer->instance;
}

enum status store_push(struct store *store, struct command *command, struct error *err)
{
    return writer_push(store_writer(store), command, err);
}

struct waiter {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool done; /* guarded by lock */
};

enum status store_run(struct store *store, struct command *command, struct error *err)
{
    struct waiter waiter = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false};
    enum status status;

    command->complete = wake_waiter;
    command->opaque = &waiter;
    status = store_push(store, command, err);
    (void)pthread_mutex_lock(&waiter.lock);
    while (status == ST_OK && !waiter.done)
        (void)pthread_cond_wait(&waiter.wake, &waiter.lock);
    (void)pthread_mutex_unlock(&waiter.lock);
    (void)pthread_cond_destroy(&waiter.wake);
    (void)pthread_mutex_destroy(&waiter.lock);
    command->opaque = NULL;
    if (status != ST_OK)
        return status;
    if (command->status != ST_OK && err != NULL && err->status == ST_OK)
        *err = command->err;
    return command->status;
}

enum status store_run_verb(struct store *store,
                           enum status (*verb)(struct db *, struct arena *, void *, struct error *),
                           void *args, struct arena *arena, struct error *err)
{
    struct command command = {.verb = verb, .args = args, .arena = arena};

    return store_run(store, &command, err);
}

static enum status prepare_database(struct writer *writer, struct error *err)
{
    int64_t last_change_id;
    enum status status = db_migrate(&writer->db, writer->now_ms(writer->opaque), err);

#ifdef DAYBREAK_CONTROL_NO_EVENT_KEY
    /* A build that the fault test must catch: events without their key (append.c). */
    if (status == ST_OK)
        status = db_exec(&writer->db,
                         "DROP INDEX IF EXISTS event_key; DROP INDEX IF EXISTS epoch_key", err);
#endif
    if (status == ST_OK)
        status = db_prepare(&writer->db, true, err);
    if (status == ST_OK)
        status = find_instance(writer, err);
    if (status == ST_OK)
        status = read_last_change(&writer->db, &last_change_id, err);
    if (status == ST_OK)
        atomic_store(&writer->last_change_id, last_change_id);
    return status;
}

static enum status find_instance(struct writer *writer, struct error *err)
{
    unsigned char random[(STORE_INSTANCE_BYTES - 1) / 2];
    struct arena arena;
    struct query_run run;
    enum status status = run_simple(&writer->db, STMT_BEGIN_GROUP, err);

    if (status != ST_OK)
        return status;
    arena_init(&arena, 1024);
    run = query_begin(&writer->db, STMT_GET_SETTING, &arena);
    query_bind_text(&run, "instance");
    status = query_row(&run, err);
    if (status == ST_OK) {
        const char *text = query_text(&run);

        (void)snprintf(writer->instance, sizeof writer->instance, "%s", text);
        status = query_end(&run, err);
    } else if (status == ST_NOT_FOUND) {
        status = query_end(&run, err);
        crypto_random(random, sizeof random);
        str_format_hex(random, sizeof random, writer->instance);
        run = query_begin(&writer->db, STMT_PUT_SETTING, NULL);
        query_bind_text(&run, "instance");
        query_bind_text(&run, writer->instance);
        if (status == ST_OK)
            status = query_done(&run, err);
    }
    if (status == ST_OK)
        status = run_simple(&writer->db, STMT_COMMIT_GROUP, err);
    arena_fini(&arena);
    return status;
}

static int64_t read_clock(void *opaque)
{
    (void)opaque;
    return clock_real_ms();
}

static void *run_thread(void *opaque)
{
    struct writer *writer = opaque;
    struct command *command;

    while ((command = pop(writer, true)) != NULL)
        run_group(writer, command);
    return NULL;
}

/* NULL: the queue is empty (and closing, when waiting). */
static struct command *pop(struct writer *writer, bool wait)
{
    struct command *command;

    (void)pthread_mutex_lock(&writer->lock);
    while (wait && writer->first == NULL && !writer->closing)
        (void)pthread_cond_wait(&writer->wake, &writer->lock);
    command = writer->first;
    if (command != NULL) {
        writer->first = command->next;
        if (writer->first == NULL)
            writer->last = &writer->first;
        writer->count--;
        command->next = NULL;
    }
    (void)pthread_mutex_unlock(&writer->lock);
    return command;
}

static void run_group(struct writer *writer, struct command *first)
{
    struct group group = {.begin_ns = clock_mono_ns()};
    struct db *db = &writer->db;
    struct error err = {0};
    int64_t known = atomic_load(&writer->last_change_id), before = known;

    group.last = &group.first;
    db->queue_changed = false;
    if (run_simple(db, STMT_BEGIN_GROUP, &err) != ST_OK) {
        for (struct command *next = first; next != NULL; next = pop(writer, false))
            add_to_group(writer, &group, next);
        fail_group(&group, &err);
        complete_group(&group);
        return;
    }
    /* Another program (an import beside the server) may have written since. */
    if (read_last_change(db, &before, &err) == ST_OK && before != known)
        db->queue_changed = true;
    for (struct command *next = first; next != NULL;) {
        add_to_group(writer, &group, next);
        run_command(writer, &group, next);
        if (group.lost || group.count == GROUP_COMMANDS_MAX ||
            clock_mono_ns() - group.begin_ns >= GROUP_NS_MAX)
            break;
        next = pop(writer, false);
    }
    finish_group(writer, &group);
}

static void add_to_group(struct writer *writer, struct group *group, struct command *command)
{
    (void)writer;
    command->next = NULL;
    *group->last = command;
    group->last = &command->next;
    group->count++;
}

static enum status run_simple(struct db *db, enum stmt_id id, struct error *err)
{
    struct query_run run = query_begin(db, id, NULL);

    return query_done(&run, err);
}

static void run_command(struct writer *writer, struct group *group, struct command *command)
{
    struct db *db = &writer->db;

    db->now_ms = writer->now_ms(writer->opaque);
    command->status = run_simple(db, STMT_BEGIN_COMMAND, &command->err);
    if (command->status != ST_OK) {
        group->lost = sqlite3_get_autocommit(db->handle) != 0;
        return;
    }
    command->status = run_verb(db, command);
    if (command->status != ST_OK) {
        roll_back_command(db, group);
        return;
    }
    command->status = run_simple(db, STMT_RELEASE_COMMAND, &command->err);
    if (command->status != ST_OK)
        roll_back_command(db, group);
}

static enum status run_verb(struct db *db, struct command *command)
{
    enum status status = ST_OK;

    if (command->key.len > 0)
        status = find_answer(db, command);
    if (status != ST_OK || command->replayed)
        return status;
    status = command->verb(db, command->arena, command->args, &command->err);
    if (status == ST_OK && command->render != NULL)
        status = command->render(command, &command->err);
    if (status == ST_OK && command->key.len > 0)
        status = put_answer(db, command);
    assert(status == ST_OK || command->err.status == status || command->err.status == ST_OK);
    return status;
}

static enum status find_answer(struct db *db, struct command *command)
{
    struct query_run run = query_begin(db, STMT_FIND_ANSWER, command->arena);
    unsigned char digest[SHA256_BYTES] = {0};
    enum status status;

    query_bind_i64(&run, command->key_token_id);
    query_bind_str(&run, command->key);
    query_bind_i64(&run, db->now_ms - IDEMPOTENCY_KEPT_MS);
    status = query_row(&run, &command->err);
    if (status == ST_NOT_FOUND)
        return query_end(&run, &command->err);
    if (status != ST_OK)
        return status;
    (void)query_digest(&run, digest);
    command->answer.status = (int)query_i64(&run);
    command->answer.location = str_from_cstr(query_text(&run));
    command->answer.etag = str_from_cstr(query_text(&run));
    command->answer.body = query_blob(&run);
    status = query_end(&run, &command->err);
    if (status == ST_OK && memcmp(digest, command->body_sha256, sizeof digest) != 0)
        return error_set_code(&command->err, ST_INVALID, "idempotency-mismatch", "Idempotency-Key",
                              "Use a new key for a new request.",
                              "this key was used for another request");
    command->replayed = status == ST_OK;
    return status;
}

static enum status put_answer(struct db *db, struct command *command)
{
    struct query_run run = query_begin(db, STMT_PUT_ANSWER, NULL);
    const struct answer *answer = &command->answer;

    query_bind_i64(&run, command->key_token_id);
    query_bind_str(&run, command->key);
    query_bind_blob(&run, command->body_sha256, SHA256_BYTES);
    query_bind_i64(&run, answer->status);
    query_bind_text(&run, answer->location.len == 0 ? NULL : answer->location.data);
    query_bind_text(&run, answer->etag.len == 0 ? NULL : answer->etag.data);
    query_bind_blob(&run, answer->body.len == 0 ? "" : answer->body.data, answer->body.len);
    query_bind_i64(&run, db->now_ms);
    return query_done(&run, &command->err);
}

/* Undoes one command and goes on with the group, unless SQLite gave up the whole transaction (a full disk, an
 * I/O error): then nothing of the group was written. */
static void roll_back_command(struct db *db, struct group *group)
{
    struct error ignored = {0};

    for (sqlite3_stmt *stmt = sqlite3_next_stmt(db->handle, NULL); stmt != NULL;
         stmt = sqlite3_next_stmt(db->handle, stmt))
        if (sqlite3_stmt_busy(stmt))
            (void)sqlite3_reset(stmt);
    if (sqlite3_get_autocommit(db->handle) != 0 ||
        run_simple(db, STMT_ROLLBACK_COMMAND, &ignored) != ST_OK ||
        run_simple(db, STMT_RELEASE_COMMAND, &ignored) != ST_OK)
        group->lost = true;
}

static void finish_group(struct writer *writer, struct group *group)
{
    struct db *db = &writer->db;
    const int64_t known = atomic_load(&writer->last_change_id);
    struct error err = {0};
    enum status status = ST_OK;
    int64_t last = known;

#ifdef DAYBREAK_CONTROL_REPLY_FIRST
    complete_group(group); /* a build that the fault test must catch: it answers before COMMIT */
    (void)usleep(100000);  /* the answer is on the wire before the kill point comes */
#endif
    if (!group->lost)
        status = read_last_change(db, &last, &err);
    fault_reach(&db->fault, "before-commit");
    if (group->lost)
        status = error_set(&err, ST_UNAVAILABLE, NULL, "the database gave up the transaction");
    else if (status == ST_OK)
        status = run_simple(db, STMT_COMMIT_GROUP, &err);
    if (status != ST_OK) {
        struct error ignored = {0};

        log_event(LOG_ERROR, "commit_failed", "commands=%zu detail=\"%s\"", group->count,
                  err.detail);
        if (sqlite3_get_autocommit(db->handle) == 0)
            (void)run_simple(db, STMT_ROLLBACK_GROUP, &ignored); /* the failure is told already */
        fail_group(group, &err);
    } else {
        atomic_store(&writer->last_change_id, last);
        fault_reach(&db->fault, "after-commit-before-reply");
        if (last != known && writer->committed != NULL)
            writer->committed(writer->opaque, last, db->queue_changed);
    }
    complete_group(group);
    fault_reach(&db->fault, "after-reply");
}

/* Commands that failed by themselves keep their own reason; the clients of the others may try again. */
static void fail_group(struct group *group, const struct error *cause)
{
    for (struct command *command = group->first; command != NULL; command = command->next) {
        if (command->status != ST_OK)
            continue;
        command->err = (struct error){0};
        command->replayed = false;
        command->status =
            error_set_code(&command->err, ST_UNAVAILABLE, "not-written", NULL,
                           "Try again in a second.", "nothing was written: %s", cause->detail);
    }
}

static void complete_group(struct group *group)
{
    struct command *next;

    for (struct command *command = group->first; command != NULL; command = next) {
        next = command->next; /* complete() may free the command */
        if (command->status != ST_OK && command->err.status == ST_OK)
            (void)error_set(&command->err, command->status, NULL, "the command failed");
        command->complete(command);
    }
    group->first = NULL; /* they are their owners' again */
}

static enum status read_last_change(struct db *db, int64_t *id, struct error *err)
{
    struct query_run run = query_begin(db, STMT_GET_LAST_CHANGE, NULL);
    enum status status = query_row(&run, err);

    if (status != ST_OK)
        return status;
    *id = query_i64(&run);
    return query_end(&run, err);
}

static void wake_waiter(struct command *command)
{
    struct waiter *waiter = command->opaque;

    (void)pthread_mutex_lock(&waiter->lock);
    waiter->done = true;
    (void)pthread_cond_signal(&waiter->wake);
    (void)pthread_mutex_unlock(&waiter->lock);
}
