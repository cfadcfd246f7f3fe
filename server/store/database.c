/* server/store/database.c: see store_internal.h. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/store/store_internal.h"

enum {
    READER_STEP = 10000,      /* virtual machine instructions between two progress calls */
    READER_STEPS_MAX = 20000, /* calls of one statement: about two seconds of work */
};

static enum status open_handle(const char *path, int flags, int busy_ms, struct db *db,
                               struct error *err);
static int count_steps(void *opaque);
static enum status exec_all(struct db *db, const char *const *sql, size_t count, struct error *err);
static void bind_result(struct query_run *run, int rc);

enum status db_open_writer(const char *path, int busy_ms, struct db *db, struct error *err)
{
    /* WAL with FULL: a COMMIT is on disk when it returns. The log is folded back every 1,000 pages and cut to
     * 64 MiB after a burst. What a savepoint must be able to undo stays in memory: a temporary file for each
     * command of a group cost a third of the writer's time. */
    static const char *const pragmas[] = {
        "PRAGMA journal_mode = WAL",
        "PRAGMA synchronous = FULL",
        "PRAGMA foreign_keys = ON",
        "PRAGMA wal_autocheckpoint = 1000",
        "PRAGMA journal_size_limit = 67108864",
        "PRAGMA cache_size = -32768",
        /* The triggers of notice use JSON functions, which SQLite 3.40 takes for unsafe in a schema. What the
         * setting guards against, functions and virtual tables of a program's own, this one does not have. */
        "PRAGMA trusted_schema = ON",
        "PRAGMA cell_size_check = ON",
        "PRAGMA temp_store = MEMORY",
    };
    enum status status;
    int fd;

    /* Made by us, so that it is never for a moment readable by others. SQLite gives its WAL the same mode. */
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (fd < 0)
        return error_set(err, ST_IO, "db", "cannot open the database %s: %s", path,
                         strerrordesc_np(errno));
    (void)close(fd);
    status = open_handle(path, SQLITE_OPEN_READWRITE, busy_ms, db, err);
    if (status == ST_OK)
        status = exec_all(db, pragmas, ARRAY_LEN(pragmas), err);
    if (status != ST_OK)
        db_close(db);
    return status;
}

enum status db_open_reader(const char *path, struct db *db, struct error *err)
{
    static const char *const pragmas[] = {"PRAGMA query_only = ON", "PRAGMA trusted_schema = OFF",
                                          "PRAGMA cache_size = -8192"};
    enum status status;

    if (access(path, F_OK) != 0)
        return error_set(err, ST_NOT_FOUND, "db", "there is no database %s", path);
    status = open_handle(path, SQLITE_OPEN_READONLY, 0, db, err);
    if (status == ST_OK)
        status = exec_all(db, pragmas, ARRAY_LEN(pragmas), err);
    if (status == ST_OK)
        sqlite3_progress_handler(db->handle, READER_STEP, count_steps, db);
    else
        db_close(db);
    return status;
}

enum status db_prepare(struct db *db, bool writer, struct error *err)
{
    for (int id = 0; id < STMT_COUNT; id++) {
        const struct query *query = &queries[id];
        int rc;

        if (writer ? !query->for_writer : !query->for_reader)
            continue;
        rc = sqlite3_prepare_v3(db->handle, query->sql, -1, SQLITE_PREPARE_PERSISTENT,
                                &db->stmts[id], NULL);
        if (rc != SQLITE_OK)
            return db_fail(db, rc, query->name, err);
    }
    return ST_OK;
}

void db_close(struct db *db)
{
    for (int id = 0; id < STMT_COUNT; id++) {
        (void)sqlite3_finalize(db->stmts[id]);
        db->stmts[id] = NULL;
    }
    (void)sqlite3_close(db->handle); /* all statements are gone: it cannot be busy */
    db->handle = NULL;
}

enum status db_exec(struct db *db, const char *sql, struct error *err)
{
    const int rc = sqlite3_exec(db->handle, sql, NULL, NULL, NULL);

    return rc == SQLITE_OK ? ST_OK : db_fail(db, rc, sql, err);
}

enum status db_fail(struct db *db, int rc, const char *what, struct error *err)
{
    const char *message = db->handle == NULL ? sqlite3_errstr(rc) : sqlite3_errmsg(db->handle);

    switch (rc & 0xFF) { /* the low byte is the primary code */
    case SQLITE_INTERRUPT:
        return error_set(err, ST_TIMEOUT, NULL, "%s: more work than one request may cause", what);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return error_set(err, ST_UNAVAILABLE, NULL, "another program holds the database");
    case SQLITE_FULL: return error_set(err, ST_UNAVAILABLE, NULL, "the disk is full");
    case SQLITE_NOMEM: return error_set(err, ST_NO_MEMORY, NULL, "%s: out of memory", what);
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY: return error_set(err, ST_IO, "db", "%s: %s", what, message);
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
        return error_set(err, ST_IO, "db", "the file is no sound database: %s", message);
    case SQLITE_CONSTRAINT:
        return error_set_code(err, ST_CONFLICT, "constraint", NULL, NULL, "%s: %s", what, message);
    default: return error_set(err, ST_INTERNAL, NULL, "%s: %s (%d)", what, message, rc);
    }
}

struct query_run query_begin(struct db *db, enum stmt_id id, struct arena *arena)
{
    struct query_run run = {.db = db, .id = id, .stmt = db->stmts[id], .next = 1, .arena = arena};

    assert(run.stmt != NULL); /* else queries.sql does not give it to this connection */
    db->steps_left = READER_STEPS_MAX;
    return run;
}

void query_bind_i64(struct query_run *run, int64_t value)
{
    bind_result(run, sqlite3_bind_int64(run->stmt, run->next, value));
}

void query_bind_opt(struct query_run *run, struct opt_i64 value)
{
    if (value.has)
        query_bind_i64(run, value.value);
    else
        bind_result(run, sqlite3_bind_null(run->stmt, run->next));
}

/* SQLITE_STATIC: what is bound outlives the statement's run, which ends within the caller's function. */
void query_bind_text(struct query_run *run, const char *text)
{
    if (text == NULL)
        bind_result(run, sqlite3_bind_null(run->stmt, run->next));
    else
        query_bind_str(run, str_from_cstr(text));
}

void query_bind_str(struct query_run *run, struct str text)
{
    bind_result(run, sqlite3_bind_text64(run->stmt, run->next, text.len == 0 ? "" : text.data,
                                         text.len, SQLITE_STATIC, SQLITE_UTF8));
}

void query_bind_blob(struct query_run *run, const void *data, size_t bytes)
{
    if (data == NULL)
        bind_result(run, sqlite3_bind_null(run->stmt, run->next));
    else if (bytes == 0)
        bind_result(run, sqlite3_bind_zeroblob(run->stmt, run->next, 0));
    else
        bind_result(run, sqlite3_bind_blob64(run->stmt, run->next, data, bytes, SQLITE_STATIC));
}

void query_bind_double(struct query_run *run, bool has, double value)
{
    if (has)
        bind_result(run, sqlite3_bind_double(run->stmt, run->next, value));
    else
        bind_result(run, sqlite3_bind_null(run->stmt, run->next));
}

enum status query_done(struct query_run *run, struct error *err)
{
    if (run->rc == SQLITE_OK) {
        run->rc = sqlite3_step(run->stmt);
        if (run->rc == SQLITE_DONE)
            run->rc = SQLITE_OK;
        else if (run->rc == SQLITE_ROW)
            run->rc = SQLITE_INTERNAL; /* the caller's mistake: the statement has rows */
    }
    return query_end(run, err);
}

enum status query_row(struct query_run *run, struct error *err)
{
    if (query_next(run))
        return ST_OK;
    return run->rc == SQLITE_OK ? ST_NOT_FOUND : query_end(run, err);
}

bool query_next(struct query_run *run)
{
    int rc;

    if (run->rc != SQLITE_OK || run->no_memory)
        return false;
    rc = sqlite3_step(run->stmt);
    run->next = 0;
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        run->rc = rc;
    return rc == SQLITE_ROW;
}

enum status query_end(struct query_run *run, struct error *err)
{
    enum status status = ST_OK;

    if (run->rc != SQLITE_OK)
        status = db_fail(run->db, run->rc, queries[run->id].name, err);
    else if (run->no_memory)
        status = error_set(err, ST_NO_MEMORY, NULL, "%s: the answer is too large",
                           queries[run->id].name);
    (void)sqlite3_reset(run->stmt); /* on every path: a busy statement holds its transaction open */
    (void)sqlite3_clear_bindings(run->stmt);
    return status;
}

int64_t query_i64(struct query_run *run)
{
    return sqlite3_column_int64(run->stmt, run->next++);
}

bool query_bool(struct query_run *run)
{
    return query_i64(run) != 0;
}

struct opt_i64 query_opt(struct query_run *run)
{
    const bool has = sqlite3_column_type(run->stmt, run->next) != SQLITE_NULL;

    return (struct opt_i64){has, query_i64(run)};
}

const char *query_text(struct query_run *run)
{
    const bool has = sqlite3_column_type(run->stmt, run->next) != SQLITE_NULL;

    return has ? query_blob(run).data : (run->next++, (const char *)NULL);
}

struct str query_blob(struct query_run *run)
{
    const char *data = sqlite3_column_blob(run->stmt, run->next);
    const size_t bytes = (size_t)sqlite3_column_bytes(run->stmt, run->next);
    char *copy = arena_copy(run->arena, (struct str){data, data == NULL ? 0 : bytes});

    run->next++;
    if (copy == NULL) {
        run->no_memory = true;
        return (struct str){"", 0};
    }
    return (struct str){copy, data == NULL ? 0 : bytes};
}

bool query_digest(struct query_run *run, unsigned char digest[SHA256_BYTES])
{
    const void *data = sqlite3_column_blob(run->stmt, run->next);
    const int bytes = sqlite3_column_bytes(run->stmt, run->next);

    run->next++;
    if (data == NULL || bytes != SHA256_BYTES)
        return false;
    memcpy(digest, data, SHA256_BYTES);
    return true;
}

bool query_double(struct query_run *run, double *value)
{
    const bool has = sqlite3_column_type(run->stmt, run->next) != SQLITE_NULL;

    *value = sqlite3_column_double(run->stmt, run->next++);
    return has;
}

void query_skip(struct query_run *run)
{
    run->next++;
}

void *query_grow(struct query_run *run, void *rows, size_t count, size_t *capacity, size_t size)
{
    size_t wanted = *capacity == 0 ? 16 : *capacity * 2;
    void *larger;

    if (run->rc != SQLITE_OK || run->no_memory)
        return NULL;
    if (count < *capacity)
        return rows;
    larger = arena_alloc(run->arena, wanted, size);
    if (larger == NULL) {
        run->no_memory = true;
        return NULL;
    }
    if (count > 0)
        memcpy(larger, rows, count * size);
    *capacity = wanted;
    return larger;
}

static enum status open_handle(const char *path, int flags, int busy_ms, struct db *db,
                               struct error *err)
{
    int rc;

    *db = (struct db){0};
    rc = sqlite3_open_v2(path, &db->handle, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
                         NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_busy_timeout(db->handle, busy_ms == 0 ? STORE_BUSY_MS_DEFAULT : busy_ms);
    if (rc != SQLITE_OK) {
        const enum status status = db_fail(db, rc, "open", err);

        db_close(db);
        return status;
    }
    return ST_OK;
}

static int count_steps(void *opaque)
{
    struct db *db = opaque;

    return db->steps_left-- <= 0;
}

static enum status exec_all(struct db *db, const char *const *sql, size_t count, struct error *err)
{
    enum status status = ST_OK;

    for (size_t i = 0; i < count && status == ST_OK; i++)
        status = db_exec(db, sql[i], err);
    return status;
}

static void bind_result(struct query_run *run, int rc)
{
    run->next++;
    if (run->rc == SQLITE_OK)
        run->rc = rc;
}
