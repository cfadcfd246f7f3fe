/* server/api/boards.c: see boards.h. Entries that changed are read outside of the boards' own locks and put in place
 * under them, each task's with its version, so that a reader never sees one without the other. */
#include "server/api/boards.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "server/api/board_load.h"
#include "server/store/read.h"

enum {
    FOLLOWED_MAX = 1000, /* more changes than that: everything is read again */
    BATCH = 500,         /* entries of one step of that */
    ARENA_BYTES = 256 << 20
};

#define RECORD_RATIO_MAX 100.0

struct task_boards {
    pthread_rwlock_t lock;
    struct kept *kept;           /* guarded by lock */
    atomic_int_fast64_t version; /* written under lock and refresh_lock */
};

struct boards {
    struct boards_options options;
    struct task_boards *tasks; /* as many as the table has, in its order */
    size_t lock_count;         /* of them that have a lock */
    pthread_mutex_t refresh_lock;
    struct store_reader *reader;   /* guarded by refresh_lock; NULL: not opened yet */
    bool loaded;                   /* guarded by refresh_lock */
    atomic_int_fast64_t change_id; /* all changes up to it are in; written under refresh_lock */
};

static bool is_current(struct boards *boards);
static enum status refresh(struct boards *boards, struct error *err);
static enum status read_changes(struct boards *boards, struct error *err);
static enum status follow(struct boards *boards, struct arena *arena,
                          const struct board_change *changes, size_t count, struct error *err);
static enum status put_task(struct boards *boards, struct arena *arena, size_t index,
                            const struct entry_record *records, size_t count, struct error *err);
static enum status load_all(struct boards *boards, struct error *err);
static enum status load_entries(struct boards *boards, struct kept **fresh, struct error *err);
static enum status load_batch(struct boards *boards, struct arena *arena, struct kept **fresh,
                              int64_t *after, size_t *count, struct error *err);
static enum status fill_entries(struct arena *arena, const struct task *task,
                                const struct entry_record *records, size_t count,
                                struct board_entry **entries, size_t *entry_count,
                                struct error *err);
static enum status read_version(struct boards *boards, struct arena *arena, size_t index,
                                int64_t *version, struct error *err);
static size_t index_of(const struct boards *boards, const struct task *task);

enum status boards_create(const struct boards_options *options, struct boards **boards,
                          struct error *err)
{
    struct boards *made = calloc(1, sizeof *made);
    pthread_rwlockattr_t attributes;
    enum status status = ST_OK;

    if (made == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for the boards");
    made->tasks = calloc(options->tasks->count, sizeof *made->tasks);
    if (made->tasks == NULL) {
        free(made);
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for the boards");
    }
    made->options = *options;
    (void)pthread_mutex_init(&made->refresh_lock, NULL);
    (void)pthread_rwlockattr_init(&attributes);
    /* Otherwise a stream of readers could keep the news out for ever. */
    (void)pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    for (size_t i = 0; i < options->tasks->count && status == ST_OK; i++) {
        (void)pthread_rwlock_init(&made->tasks[i].lock, &attributes);
        made->lock_count++;
        status = kept_create(&options->tasks->tasks[i], &made->tasks[i].kept, err);
    }
    (void)pthread_rwlockattr_destroy(&attributes);
    if (status != ST_OK) {
        boards_destroy(made);
        return status;
    }
    *boards = made;
    return ST_OK;
}

void boards_destroy(struct boards *boards)
{
    if (boards == NULL)
        return;
    store_reader_close(boards->reader);
    for (size_t i = 0; i < boards->lock_count; i++) {
        kept_destroy(boards->tasks[i].kept);
        (void)pthread_rwlock_destroy(&boards->tasks[i].lock);
    }
    free(boards->tasks);
    (void)pthread_mutex_destroy(&boards->refresh_lock);
    free(boards);
}

enum status boards_get_version(struct boards *boards, const struct task *task, int64_t *version,
                               struct error *err)
{
    const enum status status = is_current(boards) ? ST_OK : refresh(boards, err);

    if (status == ST_OK)
        *version = atomic_load(&boards->tasks[index_of(boards, task)].version);
    return status;
}

enum status boards_begin(struct boards *boards, const struct task *task, const struct kept **kept,
                         int64_t *version, struct error *err)
{
    struct task_boards *own = &boards->tasks[index_of(boards, task)];
    const enum status status = is_current(boards) ? ST_OK : refresh(boards, err);

    if (status != ST_OK)
        return status;
    (void)pthread_rwlock_rdlock(&own->lock);
    *kept = own->kept;
    *version = atomic_load(&own->version);
    return ST_OK;
}

void boards_end(struct boards *boards, const struct task *task)
{
    (void)pthread_rwlock_unlock(&boards->tasks[index_of(boards, task)].lock);
}

enum status boards_begin_all(struct boards *boards, const struct kept **kept, struct error *err)
{
    const enum status status = is_current(boards) ? ST_OK : refresh(boards, err);

    for (size_t i = 0; i < boards->lock_count && status == ST_OK; i++) {
        (void)pthread_rwlock_rdlock(&boards->tasks[i].lock);
        kept[i] = boards->tasks[i].kept;
    }
    return status;
}

void boards_end_all(struct boards *boards)
{
    for (size_t i = 0; i < boards->lock_count; i++)
        (void)pthread_rwlock_unlock(&boards->tasks[i].lock);
}

void boards_read_by(struct request *request, const struct task *task, enum board_by *by,
                    struct error *err)
{
    static const char *const words[] = {"time",    "cost",           "energy",
                                        "latency", "inference-cost", NULL};
    const char *word = NULL;

    *by = task->phase == TASK_TRAIN ? BOARD_TIME : BOARD_LATENCY;
    (void)query_read_word(&request->query, "by", words, &word, err);
    if (word == NULL || !board_by_parse(str_from_cstr(word), by) || board_by_fits(*by, task))
        return;
    (void)request_fault(request, "no-such-board", "by", NULL, err, "%s has no board by %s",
                        task->id, word);
}

enum status boards_doubt_record(struct arena *arena, int64_t value_ns, int64_t record_ns,
                                const char **doubt, struct error *err)
{
    const double ratio = (double)record_ns / (double)value_ns;

    *doubt = NULL;
    if (ratio <= RECORD_RATIO_MAX)
        return ST_OK;
    *doubt = arena_printf(arena, "%.6g s is %.0f times faster than the board's record, %.6g s",
                          (double)value_ns / 1e9, ratio, (double)record_ns / 1e9);
    return *doubt == NULL ? error_set(err, ST_NO_MEMORY, NULL, "no memory for a verdict") : ST_OK;
}

/* The store knows its own commits; what another program wrote beside the server (an import) it finds with its next
 * one, within a second. */
static bool is_current(struct boards *boards)
{
    const int64_t change_id = atomic_load(&boards->change_id);

    return change_id > 0 && !boards->options.read_only &&
           change_id >= store_last_change_id(boards->options.store);
}

/* Holds no task's lock when it is called: it waits for them. */
static enum status refresh(struct boards *boards, struct error *err)
{
    enum status status = ST_OK;

    (void)pthread_mutex_lock(&boards->refresh_lock);
    if (!is_current(boards)) { /* else another one did it meanwhile */
        if (boards->reader == NULL)
            status = store_reader_open(boards->options.db_path, &boards->reader, err);
        if (status == ST_OK)
            status = store_reader_begin(boards->reader, err);
        if (status == ST_OK) {
            status = read_changes(boards, err);
            store_reader_end(boards->reader);
        }
    }
    (void)pthread_mutex_unlock(&boards->refresh_lock);
    return status;
}

static enum status read_changes(struct boards *boards, struct error *err)
{
    const int64_t known = boards->loaded ? atomic_load(&boards->change_id) : 0;
    struct board_change *changes;
    int64_t last = 0;
    bool reset = false;
    size_t count = 0;
    struct arena arena;
    enum status status;

    arena_init(&arena, ARENA_BYTES);
    status = store_list_board_changes(boards->reader, &arena, known, FOLLOWED_MAX + 1, &changes,
                                      &count, &last, &reset, err);
    if (status == ST_OK && (!boards->loaded || reset || count > FOLLOWED_MAX))
        status = load_all(boards, err);
    else if (status == ST_OK)
        status = follow(boards, &arena, changes, count, err);
    if (status == ST_OK) {
        boards->loaded = true;
        /* A database without any change is asked again each time. */
        atomic_store(&boards->change_id, last);
    } else {
        boards->loaded = false; /* part of the changes may be in: from the start, next time */
    }
    arena_fini(&arena);
    return status;
}

static enum status follow(struct boards *boards, struct arena *arena,
                          const struct board_change *changes, size_t count, struct error *err)
{
    struct entry_record *records = ARENA_NEW_ARRAY(arena, count, struct entry_record);
    const struct task_table *tasks = boards->options.tasks;
    enum status status = ST_OK;

    if (records == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for the boards");
    for (size_t t = 0; t < tasks->count && status == ST_OK; t++) {
        const char *topic = arena_printf(arena, "board:%s", tasks->tasks[t].id);
        size_t record_count = 0;
        bool changed = false;

        if (topic == NULL)
            return error_set(err, ST_NO_MEMORY, NULL, "no memory for the boards");
        for (size_t i = 0; i < count && status == ST_OK; i++) {
            if (strcmp(changes[i].topic, topic) != 0)
                continue;
            changed = true;
            status = store_get_entry(boards->reader, arena, changes[i].entry_id,
                                     &records[record_count], err);
            if (status == ST_OK)
                record_count++;
        }
        if (status == ST_OK && changed)
            status = put_task(boards, arena, t, records, record_count, err);
    }
    return status;
}

static enum status put_task(struct boards *boards, struct arena *arena, size_t index,
                            const struct entry_record *records, size_t count, struct error *err)
{
    struct task_boards *own = &boards->tasks[index];
    struct board_entry *entries;
    size_t entry_count;
    int64_t version;
    enum status status = fill_entries(arena, &boards->options.tasks->tasks[index], records, count,
                                      &entries, &entry_count, err);

    if (status == ST_OK)
        status = read_version(boards, arena, index, &version, err);
    if (status != ST_OK)
        return status;
    (void)pthread_rwlock_wrlock(&own->lock);
    status = kept_put(own->kept, entries, entry_count, err);
    if (status == ST_OK)
        atomic_store(&own->version, version);
    (void)pthread_rwlock_unlock(&own->lock);
    return status;
}

/* Beside the old boards, which are read until the new ones are there. */
static enum status load_all(struct boards *boards, struct error *err)
{
    const struct task_table *tasks = boards->options.tasks;
    struct kept **fresh = calloc(tasks->count, sizeof(struct kept *));
    enum status status = ST_OK;

    if (fresh == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for the boards");
    for (size_t i = 0; i < tasks->count && status == ST_OK; i++)
        status = kept_create(&tasks->tasks[i], &fresh[i], err);
    if (status == ST_OK)
        status = load_entries(boards, fresh, err);
    for (size_t i = 0; i < tasks->count && status == ST_OK; i++) {
        struct task_boards *own = &boards->tasks[i];
        struct kept *old = own->kept;
        struct arena arena;
        int64_t version;

        arena_init(&arena, 4096);
        status = read_version(boards, &arena, i, &version, err);
        arena_fini(&arena);
        if (status != ST_OK)
            break;
        (void)pthread_rwlock_wrlock(&own->lock);
        own->kept = fresh[i];
        atomic_store(&own->version, version);
        (void)pthread_rwlock_unlock(&own->lock);
        fresh[i] = old;
    }
    for (size_t i = 0; i < tasks->count; i++)
        kept_destroy(fresh[i]);
    free(fresh);
    return status;
}

static enum status load_entries(struct boards *boards, struct kept **fresh, struct error *err)
{
    enum status status = ST_OK;
    size_t count = BATCH;
    int64_t after = 0;

    while (count == BATCH && status == ST_OK) {
        struct arena arena;

        arena_init(&arena, ARENA_BYTES);
        status = load_batch(boards, &arena, fresh, &after, &count, err);
        arena_fini(&arena);
    }
    return status;
}

static enum status load_batch(struct boards *boards, struct arena *arena, struct kept **fresh,
                              int64_t *after, size_t *count, struct error *err)
{
    const struct task_table *tasks = boards->options.tasks;
    struct entry_record *records;
    enum status status =
        store_list_entries_after(boards->reader, arena, *after, BATCH, &records, count, err);

    if (status != ST_OK || *count == 0)
        return status;
    *after = records[*count - 1].id;
    for (size_t t = 0; t < tasks->count && status == ST_OK; t++) {
        struct board_entry *entries;
        size_t entry_count;

        status =
            fill_entries(arena, &tasks->tasks[t], records, *count, &entries, &entry_count, err);
        if (status == ST_OK && entry_count > 0)
            status = kept_put(fresh[t], entries, entry_count, err);
    }
    return status;
}

/* Those of the task. */
static enum status fill_entries(struct arena *arena, const struct task *task,
                                const struct entry_record *records, size_t count,
                                struct board_entry **entries, size_t *entry_count,
                                struct error *err)
{
    enum status status = ST_OK;

    *entry_count = 0;
    *entries = ARENA_NEW_ARRAY(arena, count, struct board_entry);
    if (*entries == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for the boards");
    for (size_t i = 0; i < count && status == ST_OK; i++)
        if (strcmp(records[i].task, task->id) == 0)
            status = board_fill_entry(&records[i], task, arena, &(*entries)[(*entry_count)++], err);
    return status;
}

static enum status read_version(struct boards *boards, struct arena *arena, size_t index,
                                int64_t *version, struct error *err)
{
    const char *topic = arena_printf(arena, "board:%s", boards->options.tasks->tasks[index].id);

    if (topic == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for the boards");
    return store_get_version(boards->reader, str_from_cstr(topic), version, err);
}

static size_t index_of(const struct boards *boards, const struct task *task)
{
    const size_t index = (size_t)(task - boards->options.tasks->tasks);

    assert(index < boards->options.tasks->count);
    return index;
}
