/* server/store/store.c: see store.h. */
#include "server/store/store.h"

#include <pthread.h>

#include "server/store/store_internal.h"

/* Tokens seen within a minute, each at one of a few places that its id gives; when all are taken a last use is not noted. */
enum { TOKEN_USES_MAX = 4096, TOKEN_USE_PLACES = 8 };

struct token_use {
    int64_t token_id, used_ms; /* token_id 0: the place is free */
};

struct store {
    char *path;
    struct writer *writer;
    pthread_mutex_t uses_lock;
    struct token_use uses[TOKEN_USES_MAX]; /* guarded by uses_lock */
    size_t use_next;                       /* of store_take_token_use(); guarded by uses_lock */
};

enum status store_open(const struct store_options *options, struct store **store, struct error *err)
{
    struct store *made = calloc(1, sizeof *made);
    enum status status;

    if (made == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for the store");
    if (pthread_mutex_init(&made->uses_lock, NULL) != 0) {
        free(made);
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for the store");
    }
    made->path = strdup(options->path);
    status = made->path == NULL ? error_set(err, ST_NO_MEMORY, NULL, "no memory for the store")
                                : writer_create(options, made, &made->writer, err);
    if (status != ST_OK) {
        store_close(made);
        return status;
    }
    *store = made;
    return ST_OK;
}

void store_close(struct store *store)
{
    if (store == NULL)
        return;
    writer_destroy(store->writer);
    (void)pthread_mutex_destroy(&store->uses_lock);
    free(store->path);
    free(store);
}

const char *store_path(const struct store *store)
{
    return store->path;
}

const char *store_instance(const struct store *store)
{
    return writer_instance(store->writer);
}

int64_t store_last_change_id(const struct store *store)
{
    return writer_last_change_id(store->writer);
}

struct writer *store_writer(struct store *store)
{
    return store->writer;
}

enum status store_reader_open(const char *path, struct store_reader **reader, struct error *err)
{
    struct store_reader *made = calloc(1, sizeof *made);
    enum status status;

    if (made == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for a reader");
    status = db_open_reader(path, &made->db, err);
    if (status == ST_OK) {
        made->db.steps_left = INT32_MAX; /* opening is not a request */
        status = db_check_version(&made->db, err);
        if (status == ST_OK)
            status = db_prepare(&made->db, false, err);
        if (status != ST_OK)
            db_close(&made->db);
    }
    if (status != ST_OK) {
        free(made);
        return status;
    }
    *reader = made;
    return ST_OK;
}

void store_reader_close(struct store_reader *reader)
{
    if (reader == NULL)
        return;
    db_close(&reader->db);
    free(reader);
}

enum status store_reader_begin(struct store_reader *reader, struct error *err)
{
    struct query_run run = query_begin(&reader->db, STMT_BEGIN_READ, NULL);
    const enum status status = query_done(&run, err);

    reader->in_transaction = status == ST_OK;
    return status;
}

void store_reader_end(struct store_reader *reader)
{
    struct query_run run;
    struct error ignored = {0};

    if (!reader->in_transaction)
        return;
    run = query_begin(&reader->db, STMT_END_READ, NULL);
    (void)query_done(&run, &ignored); /* a read transaction has nothing to lose */
    reader->in_transaction = false;
}

void store_note_token_use(struct store *store, int64_t token_id, int64_t now_ms)
{
    (void)pthread_mutex_lock(&store->uses_lock);
    for (size_t i = 0; i < TOKEN_USE_PLACES; i++) {
        struct token_use *use = &store->uses[((uint64_t)token_id + i) % TOKEN_USES_MAX];

        if (use->token_id == token_id || use->token_id == 0) {
            *use = (struct token_use){token_id, now_ms};
            break;
        }
    }
    (void)pthread_mutex_unlock(&store->uses_lock);
}

bool store_take_token_use(struct store *store, int64_t *token_id, int64_t *used_ms)
{
    bool taken = false;

    (void)pthread_mutex_lock(&store->uses_lock);
    while (!taken && store->use_next < TOKEN_USES_MAX) {
        struct token_use *use = &store->uses[store->use_next++];

        taken = use->token_id != 0;
        *token_id = use->token_id;
        *used_ms = use->used_ms;
        *use = (struct token_use){0};
    }
    if (!taken)
        store->use_next = 0; /* round again, a minute later */
    (void)pthread_mutex_unlock(&store->uses_lock);
    return taken;
}
