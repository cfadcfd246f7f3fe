/* server/store/store.h: opens the database, and gives each reading thread a connection of its own. This folder
 * is the only user of SQLite; what is stored is described by schema/migrations.
 *
 *   handlers -- struct command --> writer thread: rw connection --> one COMMIT for a group   (writer.h, verbs.h)
 *   handlers, pages, stream ----> struct store_reader: ro connection of that thread          (read.h)
 *
 * Ownership: store_open() owns all; readers are closed before the store. Threads: see each function. */
#ifndef DAYBREAK_SERVER_STORE_STORE_H
#define DAYBREAK_SERVER_STORE_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/status.h"
#include "common/str.h"
#include "common/task.h"

struct store;
struct store_reader;

struct store_options {
    const char *path;               /* of the database; made with mode 0600 if absent */
    const struct task_table *tasks; /* outlives the store: targets and versions of the rules */
    size_t queue_max;               /* commands that may wait; 0: STORE_QUEUE_DEFAULT */
    int busy_ms; /* how long to wait for another program's transaction; 0: STORE_BUSY_MS_DEFAULT */
    /* Called from the writer thread after each COMMIT that appended to the change table, before the
     * commands of the group complete. Must not block. NULL: none. */
    void (*committed)(void *opaque, int64_t last_change_id, bool queue_changed);
    void *opaque;
    int64_t (*now_ms)(void *opaque); /* NULL: clock_real_ms(); tests inject theirs */
};

#define STORE_BUSY_MS_DEFAULT 5000
#define STORE_QUEUE_DEFAULT   4096
#define STORE_INSTANCE_BYTES  33 /* hex and NUL */

/* Opens or makes the database, brings it up to this program's version, prepares every statement and starts
 * the writer thread. The folder of the path must be there.
 * ST_IO, ST_UNSUPPORTED (a newer database, edited history, another program's file), ST_INTERNAL. */
enum status store_open(const struct store_options *options, struct store **store,
                       struct error *err);
/* Refuses new commands, finishes those that wait, stops the writer, closes. Accepts NULL. One caller. */
void store_close(struct store *store);

const char *store_path(const struct store *store);
/* Names this database for as long as it lives: 32 hex digits. */
const char *store_instance(const struct store *store);
int64_t store_last_change_id(const struct store *store); /* committed; any thread */

/* A read-only connection. It never migrates: ST_UNSUPPORTED when the database is not of this program's
 * version; ST_NOT_FOUND when there is none. A read beyond its work limit ends with ST_TIMEOUT.
 * Threads: the reader belongs to the thread that uses it. */
enum status store_reader_open(const char *path, struct store_reader **reader, struct error *err);
void store_reader_close(struct store_reader *reader); /* accepts NULL */
/* Several reads between these two see one state of the database (for a page and its ETag). */
enum status store_reader_begin(struct store_reader *reader, struct error *err);
void store_reader_end(struct store_reader *reader);

/* Remembers in memory that a token was used; written once a minute by verb_sweep. Any thread. */
void store_note_token_use(struct store *store, int64_t token_id, int64_t now_ms);

/* Version of the schema that this program knows: the number of its last migration. */
int store_schema_version(void);

#endif
