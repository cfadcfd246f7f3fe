/* server/store/migrate.c: brings a database to this program's version (store_internal.h). The files are
 * embedded; each runs in a transaction of its own and leaves its number in PRAGMA user_version and its checksum
 * in the table `migration`, so that edited history is noticed. */
#include <assert.h>
#include <stdio.h>

#include "server/embedded.h"
#include "server/store/store_internal.h"

#define PREFIX "schema/migrations/"

static bool is_migration(const struct embedded_file *file);
static int migration_number(const struct embedded_file *file);
static enum status read_pragma(struct db *db, const char *sql, int64_t *value, struct error *err);
static enum status check_owner(struct db *db, int64_t version, struct error *err);
static enum status check_history(struct db *db, int64_t version, struct error *err);
static enum status apply(struct db *db, const struct embedded_file *file, int64_t now_ms,
                         struct error *err);
static enum status record(struct db *db, const struct embedded_file *file, int64_t now_ms,
                          struct error *err);

int store_schema_version(void)
{
    int version = 0;

    for (size_t i = 0; i < embedded_schema_count; i++)
        if (is_migration(&embedded_schema[i]))
            version++;
    return version;
}

enum status db_migrate(struct db *db, int64_t now_ms, struct error *err)
{
    int64_t version = 0;
    enum status status = read_pragma(db, "PRAGMA user_version", &version, err);

    if (status == ST_OK)
        status = check_owner(db, version, err);
    if (status == ST_OK)
        status = check_history(db, version, err);
    for (size_t i = 0; i < embedded_schema_count && status == ST_OK; i++)
        if (is_migration(&embedded_schema[i]) && migration_number(&embedded_schema[i]) > version)
            status = apply(db, &embedded_schema[i], now_ms, err);
    return status;
}

enum status db_check_version(struct db *db, struct error *err)
{
    int64_t version = 0;
    enum status status = read_pragma(db, "PRAGMA user_version", &version, err);

    if (status == ST_OK)
        status = check_owner(db, version, err);
    if (status == ST_OK)
        status = check_history(db, version, err);
    if (status == ST_OK && version < store_schema_version())
        status = error_set(err, ST_UNSUPPORTED, "db",
                           "the database is of version %d and this program needs %d: run "
                           "`daybreakd migrate`",
                           (int)version, store_schema_version());
    return status;
}

static bool is_migration(const struct embedded_file *file)
{
    return str_starts_with(str_from_cstr(file->path), STR(PREFIX));
}

/* "schema/migrations/0001_core.sql" -> 1 */
static int migration_number(const struct embedded_file *file)
{
    uint64_t number = 0;

    if (!str_parse_u64(str_slice(str_from_cstr(file->path), sizeof PREFIX - 1, sizeof PREFIX + 3),
                       &number))
        assert(false); /* a fault of the build: the file's name does not begin with four digits */
    return (int)number;
}

static enum status read_pragma(struct db *db, const char *sql, int64_t *value, struct error *err)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(db->handle, sql, -1, &stmt, NULL);

    if (rc == SQLITE_OK)
        rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW)
        *value = sqlite3_column_int64(stmt, 0);
    (void)sqlite3_finalize(stmt);
    return rc == SQLITE_ROW ? ST_OK : db_fail(db, rc, sql, err);
}

/* A fresh file has neither version, nor id, nor a table. */
static enum status check_owner(struct db *db, int64_t version, struct error *err)
{
    int64_t id = 0, tables = 0;
    enum status status = read_pragma(db, "PRAGMA application_id", &id, err);

    if (status == ST_OK)
        status = read_pragma(db, "SELECT count(*) FROM sqlite_schema", &tables, err);
    if (status != ST_OK)
        return status;
    if (id != STORE_APPLICATION_ID && (id != 0 || version != 0 || tables != 0))
        return error_set(err, ST_UNSUPPORTED, "db", "the file is another program's database");
    if (version > store_schema_version())
        return error_set(err, ST_UNSUPPORTED, "db",
                         "the database is of version %d, newer than this program's %d: use a "
                         "newer daybreakd",
                         (int)version, store_schema_version());
    return ST_OK;
}

static enum status check_history(struct db *db, int64_t version, struct error *err)
{
    const char *sql = queries[STMT_LIST_MIGRATIONS].sql;
    sqlite3_stmt *stmt = NULL;
    enum status status = ST_OK;
    size_t at = 0;
    int rc;

    if (version == 0)
        return ST_OK;
    rc = sqlite3_prepare_v2(db->handle, sql, -1, &stmt, NULL);
    while (rc == SQLITE_OK || rc == SQLITE_ROW) {
        const char *sha256;

        rc = sqlite3_step(stmt);
        if (rc != SQLITE_ROW)
            break;
        while (at < embedded_schema_count && !is_migration(&embedded_schema[at]))
            at++;
        assert(at < embedded_schema_count); /* version <= ours was checked */
        sha256 = (const char *)sqlite3_column_text(stmt, 2);
        if (sha256 == NULL || strcmp(sha256, embedded_schema[at].sha256) != 0) {
            status = error_set(err, ST_UNSUPPORTED, "db",
                               "the database was made by another text of %s: that history must "
                               "not be edited",
                               embedded_schema[at].path);
            rc = SQLITE_DONE;
            break;
        }
        at++;
    }
    (void)sqlite3_finalize(stmt);
    return rc == SQLITE_DONE ? status : db_fail(db, rc, "list_migrations", err);
}

static enum status apply(struct db *db, const struct embedded_file *file, int64_t now_ms,
                         struct error *err)
{
    char pragma[64];
    int64_t version = 0;
    enum status status = db_exec(db, "BEGIN IMMEDIATE", err);

    if (status != ST_OK)
        return status;
    status = read_pragma(db, "PRAGMA user_version", &version, err);
    if (status == ST_OK && version >= migration_number(file))
        return db_exec(db, "ROLLBACK", err); /* another program was faster */
    if (status == ST_OK)
        status = db_exec(db, (const char *)file->data, err);
    (void)snprintf(pragma, sizeof pragma, "PRAGMA user_version = %d", migration_number(file));
    if (status == ST_OK)
        status = db_exec(db, pragma, err);
    (void)snprintf(pragma, sizeof pragma, "PRAGMA application_id = %d", STORE_APPLICATION_ID);
    if (status == ST_OK)
        status = db_exec(db, pragma, err);
    if (status == ST_OK)
        status = record(db, file, now_ms, err);
    if (status == ST_OK)
        status = db_exec(db, "COMMIT", err);
    if (status != ST_OK)
        (void)db_exec(db, "ROLLBACK", NULL); /* the first failure is the one to tell */
    return status;
}

static enum status record(struct db *db, const struct embedded_file *file, int64_t now_ms,
                          struct error *err)
{
    const char *sql = queries[STMT_INSERT_MIGRATION].sql;
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(db->handle, sql, -1, &stmt, NULL);

    if (rc == SQLITE_OK)
        rc = sqlite3_bind_int64(stmt, 1, migration_number(file));
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_text(stmt, 2, file->path, -1, SQLITE_STATIC);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_text(stmt, 3, file->sha256, -1, SQLITE_STATIC);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_int64(stmt, 4, now_ms);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(stmt);
    (void)sqlite3_finalize(stmt);
    return rc == SQLITE_DONE ? ST_OK : db_fail(db, rc, "insert_migration", err);
}
