/* server/store/writer.h: hands commands to the one thread that writes.
 *
 *   store_push: [waiting] --writer--> SAVEPOINT; replay? verb; render; RELEASE (or ROLLBACK TO: command failed)
 *                                     .. up to 256 commands or 2 ms ..   COMMIT   committed()   complete() of each
 *
 * A command that fails changes nothing and harms no other. When COMMIT fails, every command of the group
 * completes with ST_UNAVAILABLE. complete() with ST_OK means: on disk (WAL, synchronous=FULL).
 * Ownership: the caller keeps command, arena and args alive and untouched from store_push() to complete().
 * Threads: store_push() and store_run() any but the writer's; complete() and render() run on the writer's
 * thread and must not block or push. */
#ifndef DAYBREAK_SERVER_STORE_WRITER_H
#define DAYBREAK_SERVER_STORE_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/arena.h"
#include "common/crypto.h"
#include "common/status.h"
#include "common/str.h"
#include "server/store/store.h"

struct db; /* the writer's connection: only verbs see it */

#define IDEMPOTENCY_KEY_BYTES_MAX 128
#define IDEMPOTENCY_KEPT_MS       (INT64_C(48) * 3600 * 1000)

/* The answer to a request as it is stored for its repeats. */
struct answer {
    int status; /* HTTP */
    struct str location, etag, body;
};

struct command {
    /* One of verbs.h, with its args struct: inputs and, after ST_OK, outputs. */
    enum status (*verb)(struct db *db, struct arena *arena, void *args, struct error *err);
    void *args;
    struct arena *arena; /* for outputs; used by the writer alone until complete() */

    /* Idempotency-Key; key.len == 0: none. body_sha256 is over method, path and body. */
    struct str key;
    int64_t key_token_id;
    unsigned char body_sha256[SHA256_BYTES];
    /* Fills `answer` (texts in the arena) after the verb did well, still inside the transaction; the answer
     * is stored under the key. NULL: none is made; needed with a key. */
    enum status (*render)(struct command *command, struct error *err);

    void (*complete)(struct command *command); /* called once, always */
    void *opaque;                              /* the caller's */

    /* Results. */
    enum status status;
    struct error err;
    struct answer answer;
    bool replayed; /* the key was known: `answer` is the first one, the verb did not run */

    struct command *next; /* the queue's */
};

/* ST_UNAVAILABLE when the queue is full or the store is closing: complete() is then not called. */
enum status store_push(struct store *store, struct command *command, struct error *err);

/* Pushes and waits; the caller leaves complete and opaque alone. For programs and tests. Returns the
 * command's status, with err filled from it. */
enum status store_run(struct store *store, struct command *command, struct error *err);
/* The same for a bare verb. */
enum status store_run_verb(struct store *store,
                           enum status (*verb)(struct db *, struct arena *, void *, struct error *),
                           void *args, struct arena *arena, struct error *err);

#endif
