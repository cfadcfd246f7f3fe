/* server/store/flag.c: finds and keeps what looks wrong about an entry although no rule forbids it: runs with equal
 * logs or equal seeds, of one entry or of two (docs/format.md, Flags). */
#include <inttypes.h>
#include <string.h>

#include "common/entry.h"
#include "server/store/read.h"
#include "server/store/store_internal.h"
#include "server/store/verbs.h"

struct finder {
    struct db *db;
    struct arena *arena;
    const struct new_entry *entry;
    int64_t lineage_id;
    struct flag_record *rows; /* room for two per run */
    size_t count;
};

static enum status find_log(struct finder *finder, size_t index, struct error *err);
static enum status find_other_log(struct finder *finder, size_t index, struct error *err);
static enum status find_seed(struct finder *finder, size_t index, struct error *err);
static enum status find_other_seed(struct finder *finder, size_t index, struct error *err);
static enum status add(struct finder *finder, struct flag_record flag, struct error *err);

enum status db_find_flags(struct db *db, struct arena *arena, const struct new_entry *entry,
                          int64_t lineage_id, struct flag_record **rows, size_t *count,
                          struct error *err)
{
    struct finder finder = {.db = db, .arena = arena, .entry = entry, .lineage_id = lineage_id};
    enum status status = ST_OK;

    *rows = NULL;
    *count = 0;
    finder.rows = ARENA_NEW_ARRAY(arena, 2 * entry->run_count, struct flag_record);
    if (finder.rows == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for an entry's flags");
    for (size_t i = 0; i < entry->run_count && status == ST_OK; i++) {
        status = find_log(&finder, i, err);
        if (status == ST_OK && entry->runs[i].seed_text != NULL)
            status = find_seed(&finder, i, err);
    }
    *rows = finder.rows;
    *count = finder.count;
    return status;
}

enum status store_find_flags(struct store_reader *reader, struct arena *arena,
                             const struct new_entry *entry, struct flag_record **rows,
                             size_t *count, struct error *err)
{
    return db_find_flags(&reader->db, arena, entry, 0, rows, count, err);
}

enum status db_insert_flag(struct db *db, int64_t entry_id, const struct flag_record *flag,
                           struct error *err)
{
    struct query_run run = query_begin(db, STMT_INSERT_FLAG, NULL);

    query_bind_i64(&run, entry_id);
    query_bind_text(&run, flag->code);
    query_bind_text(&run, flag->detail);
    query_bind_opt(&run, flag->run_id);
    query_bind_opt(&run, flag->other_entry_id);
    query_bind_opt(&run, flag->other_run_id);
    query_bind_i64(&run, db->now_ms);
    return query_done(&run, err);
}

/* Of this entry first: who repeats another's log in both runs has one fault, not two. */
static enum status find_log(struct finder *finder, size_t index, struct error *err)
{
    const struct new_run *runs = finder->entry->runs;

    for (size_t k = 0; k < index; k++) {
        if (memcmp(runs[index].rows_sha256, runs[k].rows_sha256, SHA256_BYTES) != 0)
            continue;
        return add(
            finder,
            (struct flag_record){
                .code = "equal-logs",
                .detail = arena_printf(
                    finder->arena, "run %zu has the %s of run %zu", index + 1,
                    memcmp(runs[index].progress_sha256, runs[k].progress_sha256, SHA256_BYTES) == 0
                        ? "file, byte for byte,"
                        : "times and values",
                    k + 1),
                .ordinal = {true, (int64_t)index + 1},
                .other_ordinal = {true, (int64_t)k + 1}},
            err);
    }
    return find_other_log(finder, index, err);
}

static enum status find_other_log(struct finder *finder, size_t index, struct error *err)
{
    const struct new_run *own = &finder->entry->runs[index];
    struct query_run run = query_begin(finder->db, STMT_FIND_EQUAL_LOG, finder->arena);
    struct flag_record flag = {.code = "equal-logs", .ordinal = {true, (int64_t)index + 1}};
    const char *name;
    bool same_bytes;
    enum status status;

    query_bind_text(&run, finder->entry->task->id);
    query_bind_blob(&run, own->rows_sha256, SHA256_BYTES);
    query_bind_blob(&run, own->progress_sha256, SHA256_BYTES);
    query_bind_i64(&run, finder->lineage_id);
    status = query_row(&run, err);
    if (status != ST_OK)
        return status == ST_NOT_FOUND ? query_end(&run, err) : status;
    flag.other_run_id = query_opt(&run);
    flag.other_entry_id = query_opt(&run);
    name = query_text(&run);
    same_bytes = query_bool(&run);
    status = query_end(&run, err);
    if (status != ST_OK)
        return status;
    flag.detail = arena_printf(
        finder->arena, "run %zu has the %s of a run of entry %" PRId64 ", %s", index + 1,
        same_bytes ? "file, byte for byte," : "times and values", flag.other_entry_id.value, name);
    return add(finder, flag, err);
}

static enum status find_seed(struct finder *finder, size_t index, struct error *err)
{
    const struct new_run *runs = finder->entry->runs;

    for (size_t k = 0; k < index; k++) {
        if (runs[k].seed_text == NULL || strcmp(runs[index].seed_text, runs[k].seed_text) != 0)
            continue;
        return add(finder,
                   (struct flag_record){.code = "equal-seeds",
                                        .detail = arena_printf(finder->arena,
                                                               "run %zu has the seed of run %zu",
                                                               index + 1, k + 1),
                                        .ordinal = {true, (int64_t)index + 1},
                                        .other_ordinal = {true, (int64_t)k + 1}},
                   err);
    }
    return find_other_seed(finder, index, err);
}

static enum status find_other_seed(struct finder *finder, size_t index, struct error *err)
{
    const struct new_entry *entry = finder->entry;
    struct query_run run = query_begin(finder->db, STMT_FIND_EQUAL_SEED, finder->arena);
    struct flag_record flag = {.code = "equal-seeds", .ordinal = {true, (int64_t)index + 1}};
    const char *name;
    enum status status;

    query_bind_text(&run, entry->task->id);
    query_bind_text(&run, entry->runs[index].seed_text);
    query_bind_i64(&run, finder->lineage_id);
    query_bind_text(&run, entry->author);
    query_bind_text(&run, entry->model);
    query_bind_text(&run, entry->hardware);
    query_bind_text(&run, entry->framework);
    status = query_row(&run, err);
    if (status != ST_OK)
        return status == ST_NOT_FOUND ? query_end(&run, err) : status;
    flag.other_run_id = query_opt(&run);
    flag.other_entry_id = query_opt(&run);
    name = query_text(&run);
    status = query_end(&run, err);
    if (status != ST_OK)
        return status;
    flag.detail = arena_printf(
        finder->arena, "run %zu has the seed of a run of entry %" PRId64 ", %s, of the same model",
        index + 1, flag.other_entry_id.value, name);
    return add(finder, flag, err);
}

static enum status add(struct finder *finder, struct flag_record flag, struct error *err)
{
    if (flag.detail == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for an entry's flags");
    finder->rows[finder->count++] = flag;
    return ST_OK;
}
