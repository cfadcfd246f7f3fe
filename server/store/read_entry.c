/* server/store/read_entry.c: reads entries and submissions (read.h). */
#include <inttypes.h>

#include "server/store/read.h"
#include "server/store/store_internal.h"

/* A row of either list of standings, and whose it is. */
struct standing_row {
    int64_t entry_id;
    struct standing_record standing;
};

static void read_entry(struct query_run *run, struct entry_record *entry);
static enum status list_entries(struct query_run *run, struct entry_record **rows, size_t *count,
                                struct error *err);
static enum status get_one_entry(struct query_run *run, struct entry_record *entry,
                                 struct error *err);
static enum status attach_all(struct store_reader *reader, struct arena *arena,
                              struct entry_record *rows, size_t count, struct error *err);
static enum status attach_all_ttas(struct store_reader *reader, struct arena *arena,
                                   struct entry_record *rows, size_t count, struct error *err);
static enum status attach_all_standings(struct store_reader *reader, struct arena *arena,
                                        struct entry_record *rows, size_t count, struct error *err);
static enum status list_further(struct store_reader *reader, struct arena *arena, int64_t id,
                                struct submission_files *files, struct error *err);
static enum status attach_rest(struct store_reader *reader, struct arena *arena,
                               struct entry_record *entry, struct error *err);
static enum status attach_ttas(struct store_reader *reader, struct arena *arena,
                               struct entry_record *entry, struct error *err);
static enum status attach_standings(struct store_reader *reader, struct arena *arena,
                                    struct entry_record *entry, struct error *err);
static enum status list_standings(struct query_run *run, struct standing_row **rows, size_t *count,
                                  struct error *err);
static enum status list_ttas(struct query_run *run, int64_t (**pairs)[2], size_t *count,
                             struct error *err);
static void read_submission(struct query_run *run, struct submission_record *row);

enum status store_list_entries(struct store_reader *reader, struct arena *arena, struct str task,
                               struct entry_record **rows, size_t *count, struct error *err)
{
    struct query_run run = query_begin(&reader->db, STMT_LIST_ENTRIES, arena);
    enum status status;

    query_bind_str(&run, task);
    status = list_entries(&run, rows, count, err);
    return status == ST_OK ? attach_all(reader, arena, *rows, *count, err) : status;
}

enum status store_list_entries_after(struct store_reader *reader, struct arena *arena,
                                     int64_t after, int limit, struct entry_record **rows,
                                     size_t *count, struct error *err)
{
    struct query_run run = query_begin(&reader->db, STMT_LIST_ENTRIES_AFTER, arena);
    enum status status;

    query_bind_i64(&run, after);
    query_bind_i64(&run, limit);
    status = list_entries(&run, rows, count, err);
    return status == ST_OK ? attach_all(reader, arena, *rows, *count, err) : status;
}

enum status store_get_entry(struct store_reader *reader, struct arena *arena, int64_t id,
                            struct entry_record *entry, struct error *err)
{
    struct query_run run = query_begin(&reader->db, STMT_GET_ENTRY, arena);
    enum status status;

    query_bind_i64(&run, id);
    status = get_one_entry(&run, entry, err);
    return status == ST_OK ? attach_rest(reader, arena, entry, err) : status;
}

enum status store_find_entry(struct store_reader *reader, struct arena *arena, struct str task,
                             struct str name, struct entry_record *entry, struct error *err)
{
    struct query_run run = query_begin(&reader->db, STMT_FIND_ENTRY, arena);
    enum status status;

    query_bind_str(&run, task);
    query_bind_str(&run, name);
    status = get_one_entry(&run, entry, err);
    return status == ST_OK ? attach_rest(reader, arena, entry, err) : status;
}

enum status store_list_latest_entries(struct store_reader *reader, struct arena *arena, int limit,
                                      struct entry_record **rows, size_t *count, struct error *err)
{
    struct query_run run = query_begin(&reader->db, STMT_LIST_LATEST_ENTRIES, arena);
    enum status status;

    query_bind_i64(&run, limit);
    status = list_entries(&run, rows, count, err);
    for (size_t i = 0; *rows != NULL && i < *count && status == ST_OK; i++)
        status = attach_rest(reader, arena, &(*rows)[i], err);
    return status;
}

enum status store_list_accepted(struct store_reader *reader, struct arena *arena, const char *task,
                                int limit, struct entry_record **rows, size_t *count,
                                struct error *err)
{
    struct query_run run = query_begin(&reader->db, STMT_LIST_ACCEPTED, arena);

    query_bind_text(&run, task);
    query_bind_i64(&run, limit);
    return list_entries(&run, rows, count, err);
}

enum status store_list_submissions(struct store_reader *reader, struct arena *arena,
                                   const struct submission_filter *filter,
                                   struct submission_record **rows, size_t *count,
                                   struct error *err)
{
    const struct str texts[] = {filter->task, filter->state, filter->author};
    struct query_run run = query_begin(&reader->db, STMT_LIST_SUBMISSIONS, arena);
    size_t capacity = 0;

    *rows = NULL;
    *count = 0;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        if (texts[i].len == 0)
            query_bind_text(&run, NULL);
        else
            query_bind_str(&run, texts[i]);
    }
    query_bind_opt(&run, filter->token_id);
    query_bind_i64(&run, filter->before_id);
    query_bind_i64(&run, filter->limit);
    while (query_next(&run)) {
        struct submission_record row;

        read_submission(&run, &row);
        *rows = query_grow(&run, *rows, *count, &capacity, sizeof row);
        if (*rows != NULL)
            (*rows)[(*count)++] = row;
    }
    return query_end(&run, err);
}

enum status store_get_submission(struct store_reader *reader, struct arena *arena, int64_t id,
                                 struct submission_record *submission, struct error *err)
{
    struct query_run run = query_begin(&reader->db, STMT_GET_SUBMISSION, arena);
    struct submission_files files = {0};
    char hex[SHA256_HEX_BYTES];
    enum status status;

    query_bind_i64(&run, id);
    status = query_row(&run, err);
    if (status == ST_NOT_FOUND) {
        (void)query_end(&run, err);
        return error_set(err, ST_NOT_FOUND, "submission", "there is no submission %" PRId64, id);
    }
    if (status != ST_OK)
        return status;
    read_submission(&run, submission);
    status = query_end(&run, err);
    if (status == ST_OK)
        status = store_get_submission_files(reader, arena, id, &files, err);
    if (status != ST_OK)
        return status;
    crypto_sha256_hex(files.entry, hex);
    submission->entry_sha256 = arena_copy(arena, str_from_cstr(hex));
    crypto_sha256_hex(files.progress, hex);
    submission->progress_sha256 = arena_copy(arena, str_from_cstr(hex));
    if (submission->entry_sha256 == NULL || submission->progress_sha256 == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for the submission");
    if (!files.has_progress)
        submission->progress_sha256 = NULL;
    submission->further = files.further;
    submission->further_count = files.further_count;
    return ST_OK;
}

enum status store_get_submission_files(struct store_reader *reader, struct arena *arena, int64_t id,
                                       struct submission_files *files, struct error *err)
{
    struct query_run run = query_begin(&reader->db, STMT_GET_SUBMISSION_FILES, arena);
    enum status status;

    query_bind_i64(&run, id);
    status = query_row(&run, err);
    if (status == ST_NOT_FOUND) {
        (void)query_end(&run, err);
        return error_set(err, ST_NOT_FOUND, "submission", "there is no submission %" PRId64, id);
    }
    if (status != ST_OK)
        return status;
    *files = (struct submission_files){.entry = query_blob(&run)};
    files->has_progress = sqlite3_column_type(run.stmt, run.next) != SQLITE_NULL;
    files->progress = query_blob(&run);
    status = query_end(&run, err);
    return status == ST_OK ? list_further(reader, arena, id, files, err) : status;
}

static enum status list_further(struct store_reader *reader, struct arena *arena, int64_t id,
                                struct submission_files *files, struct error *err)
{
    struct query_run run = query_begin(&reader->db, STMT_LIST_SUBMISSION_FILES, arena);
    struct submission_file *rows = NULL;
    size_t capacity = 0;

    query_bind_i64(&run, id);
    while (query_next(&run)) {
        struct submission_file row = {.name = query_text(&run)};
        unsigned char digest[SHA256_BYTES];
        char hex[SHA256_HEX_BYTES];

        row.bytes = query_blob(&run);
        if (query_digest(&run, digest)) {
            str_format_hex(digest, sizeof digest, hex);
            row.sha256 = arena_copy(arena, str_from_cstr(hex));
        }
        rows = query_grow(&run, rows, files->further_count, &capacity, sizeof row);
        if (rows != NULL)
            rows[files->further_count++] = row;
    }
    files->further = rows;
    return query_end(&run, err);
}

enum status store_list_checks(struct store_reader *reader, struct arena *arena, int64_t entry_id,
                              struct check_record **rows, size_t *count, struct error *err)
{
    struct query_run run = query_begin(&reader->db, STMT_LIST_ENTRY_CHECKS, arena);
    size_t capacity = 0;

    *rows = NULL;
    *count = 0;
    query_bind_i64(&run, entry_id);
    while (query_next(&run)) {
        struct check_record row = {.rule = query_text(&run)};

        row.verdict = query_text(&run);
        row.file = query_text(&run);
        row.line = query_opt(&run);
        row.detail = query_text(&run);
        row.hint = query_text(&run);
        row.run_id = query_opt(&run);
        *rows = query_grow(&run, *rows, *count, &capacity, sizeof row);
        if (*rows != NULL)
            (*rows)[(*count)++] = row;
    }
    return query_end(&run, err);
}

enum status store_list_flags(struct store_reader *reader, struct arena *arena, int64_t entry_id,
                             struct flag_record **rows, size_t *count, struct error *err)
{
    struct query_run run = query_begin(&reader->db, STMT_LIST_FLAGS, arena);
    size_t capacity = 0;

    *rows = NULL;
    *count = 0;
    query_bind_i64(&run, entry_id);
    while (query_next(&run)) {
        struct flag_record row = {.code = query_text(&run)};

        row.detail = query_text(&run);
        row.run_id = query_opt(&run);
        row.other_entry_id = query_opt(&run);
        row.other_run_id = query_opt(&run);
        *rows = query_grow(&run, *rows, *count, &capacity, sizeof row);
        if (*rows != NULL)
            (*rows)[(*count)++] = row;
    }
    return query_end(&run, err);
}

enum status store_list_submission_events(struct store_reader *reader, struct arena *arena,
                                         int64_t id, struct submission_event_record **rows,
                                         size_t *count, struct error *err)
{
    struct query_run run = query_begin(&reader->db, STMT_LIST_SUBMISSION_EVENTS, arena);
    size_t capacity = 0;

    *rows = NULL;
    *count = 0;
    query_bind_i64(&run, id);
    while (query_next(&run)) {
        struct submission_event_record row = {.at_ms = query_i64(&run)};

        row.token_id = query_opt(&run);
        row.token_name = query_text(&run);
        row.from_state = query_text(&run);
        row.to_state = query_text(&run);
        row.reason = query_text(&run);
        row.action = query_text(&run);
        *rows = query_grow(&run, *rows, *count, &capacity, sizeof row);
        if (*rows != NULL)
            (*rows)[(*count)++] = row;
    }
    return query_end(&run, err);
}

/* The columns of entry_row, in order. */
static void read_entry(struct query_run *run, struct entry_record *entry)
{
    *entry = (struct entry_record){.id = query_i64(run)};
    entry->task = query_text(run);
    entry->task_version = query_i64(run);
    entry->name = query_text(run);
    entry->source = query_text(run);
    entry->submission_id = query_opt(run);
    entry->token_id = query_opt(run);
    entry->run_id = query_opt(run);
    entry->state = query_text(run);
    entry->reason = query_text(run);
    entry->tier = query_text(run);
    entry->model = query_text(run);
    entry->author = query_text(run);
    entry->hardware = query_text(run);
    entry->framework = query_text(run);
    entry->code_url = query_text(run);
    entry->claimed_date = query_text(run);
    entry->entry_date = query_text(run);
    entry->accepted_ms = query_opt(run);
    entry->created_ms = query_i64(run);
    entry->run_count = query_i64(run);
    entry->tta_ns = query_opt(run);
    entry->wall_ns = query_opt(run);
    entry->cost_pico = query_opt(run);
    entry->latency_ns = query_opt(run);
    entry->inference_cost_pico = query_opt(run);
    entry->tta_hours_text = query_text(run);
    entry->latency_ms_text = query_text(run);
    entry->inference_cost_text = query_text(run);
    entry->cost_per_hour_text = query_text(run);
    entry->epoch_text = query_text(run);
    entry->epoch_count_text = query_text(run);
    entry->accuracy_text = query_text(run);
    entry->views = query_opt(run);
    entry->devices = query_opt(run);
    entry->nodes = query_opt(run);
    entry->device_kind = query_text(run);
    entry->device_model = query_text(run);
    entry->cloud = query_text(run);
    entry->misc_json = query_text(run);
    entry->extra_json = query_text(run);
    entry->lineage_id = query_i64(run);
    entry->supersedes_id = query_opt(run);
    entry->superseded_by_id = query_opt(run);
    entry->score_rule = query_text(run);
    entry->energy_uj = query_opt(run);
    entry->instance = query_text(run);
    entry->region = query_text(run);
    entry->price_id = query_opt(run);
    entry->cost_reason = query_text(run);
    entry->accelerator_price_id = query_opt(run);
    entry->list_price_pico = query_opt(run);
}

static enum status list_entries(struct query_run *run, struct entry_record **rows, size_t *count,
                                struct error *err)
{
    size_t capacity = 0;

    *rows = NULL;
    *count = 0;
    while (query_next(run)) {
        struct entry_record row;

        read_entry(run, &row);
        *rows = query_grow(run, *rows, *count, &capacity, sizeof row);
        if (*rows != NULL)
            (*rows)[(*count)++] = row;
    }
    return query_end(run, err);
}

static enum status get_one_entry(struct query_run *run, struct entry_record *entry,
                                 struct error *err)
{
    const enum status status = query_row(run, err);

    if (status == ST_NOT_FOUND) {
        (void)query_end(run, err);
        return error_set(err, ST_NOT_FOUND, "entry", "there is no such entry");
    }
    if (status != ST_OK)
        return status;
    read_entry(run, entry);
    return query_end(run, err);
}

static enum status attach_all(struct store_reader *reader, struct arena *arena,
                              struct entry_record *rows, size_t count, struct error *err)
{
    enum status status;

    if (count == 0)
        return ST_OK;
    status = attach_all_ttas(reader, arena, rows, count, err);
    return status == ST_OK ? attach_all_standings(reader, arena, rows, count, err) : status;
}

/* Both lists are in order of the entry's id: one walk gives each entry its runs. */
static enum status attach_all_ttas(struct store_reader *reader, struct arena *arena,
                                   struct entry_record *rows, size_t count, struct error *err)
{
    struct query_run run = query_begin(&reader->db, STMT_LIST_RANGE_TTAS, arena);
    int64_t(*pairs)[2] = NULL;
    size_t pair_count = 0, at = 0;
    int64_t *values;
    enum status status;

    query_bind_i64(&run, rows[0].id);
    query_bind_i64(&run, rows[count - 1].id);
    status = list_ttas(&run, &pairs, &pair_count, err);
    if (status != ST_OK)
        return status;
    values = ARENA_NEW_ARRAY(arena, pair_count, int64_t);
    if (values == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for the entries");
    for (size_t i = 0; i < pair_count; i++)
        values[i] = pairs[i][1];
    for (size_t i = 0; i < count; i++) {
        while (at < pair_count && pairs[at][0] < rows[i].id)
            at++;
        rows[i].tta_runs_ns = values + at;
        while (at < pair_count && pairs[at][0] == rows[i].id) {
            rows[i].tta_run_count++;
            at++;
        }
    }
    return ST_OK;
}

static enum status attach_all_standings(struct store_reader *reader, struct arena *arena,
                                        struct entry_record *rows, size_t count, struct error *err)
{
    struct query_run run = query_begin(&reader->db, STMT_LIST_RANGE_STANDINGS, arena);
    struct standing_record *standings;
    struct standing_row *found = NULL;
    size_t found_count = 0, at = 0;
    enum status status;

    query_bind_i64(&run, rows[0].id);
    query_bind_i64(&run, rows[count - 1].id);
    status = list_standings(&run, &found, &found_count, err);
    if (status != ST_OK)
        return status;
    standings = ARENA_NEW_ARRAY(arena, found_count, struct standing_record);
    if (standings == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for the entries");
    for (size_t i = 0; i < found_count; i++)
        standings[i] = found[i].standing;
    for (size_t i = 0; i < count; i++) {
        while (at < found_count && found[at].entry_id < rows[i].id)
            at++;
        rows[i].standings = standings + at;
        while (at < found_count && found[at].entry_id == rows[i].id) {
            rows[i].standing_count++;
            at++;
        }
    }
    return ST_OK;
}

static enum status attach_rest(struct store_reader *reader, struct arena *arena,
                               struct entry_record *entry, struct error *err)
{
    const enum status status = attach_ttas(reader, arena, entry, err);

    return status == ST_OK ? attach_standings(reader, arena, entry, err) : status;
}

static enum status attach_ttas(struct store_reader *reader, struct arena *arena,
                               struct entry_record *entry, struct error *err)
{
    struct query_run run = query_begin(&reader->db, STMT_LIST_ENTRY_TTAS, arena);
    int64_t(*pairs)[2] = NULL;
    size_t count = 0;
    int64_t *values;
    enum status status;

    query_bind_i64(&run, entry->id);
    status = list_ttas(&run, &pairs, &count, err);
    if (status != ST_OK)
        return status;
    values = ARENA_NEW_ARRAY(arena, count, int64_t);
    if (values == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for the entry");
    for (size_t i = 0; i < count; i++)
        values[i] = pairs[i][1];
    entry->tta_runs_ns = values;
    entry->tta_run_count = count;
    return ST_OK;
}

static enum status attach_standings(struct store_reader *reader, struct arena *arena,
                                    struct entry_record *entry, struct error *err)
{
    struct query_run run = query_begin(&reader->db, STMT_LIST_ENTRY_STANDINGS, arena);
    struct standing_record *standings;
    struct standing_row *found = NULL;
    size_t count = 0;
    enum status status;

    query_bind_i64(&run, entry->id);
    status = list_standings(&run, &found, &count, err);
    if (status != ST_OK)
        return status;
    standings = ARENA_NEW_ARRAY(arena, count, struct standing_record);
    if (standings == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for the entry");
    for (size_t i = 0; i < count; i++)
        standings[i] = found[i].standing;
    entry->standings = standings;
    entry->standing_count = count;
    return ST_OK;
}

static enum status list_standings(struct query_run *run, struct standing_row **rows, size_t *count,
                                  struct error *err)
{
    size_t capacity = 0;

    while (query_next(run)) {
        struct standing_row row = {.entry_id = query_i64(run)};

        row.standing.from_date = query_text(run);
        row.standing.to_ms = query_opt(run);
        *rows = query_grow(run, *rows, *count, &capacity, sizeof **rows);
        if (*rows != NULL)
            (*rows)[(*count)++] = row;
    }
    return query_end(run, err);
}

static enum status list_ttas(struct query_run *run, int64_t (**pairs)[2], size_t *count,
                             struct error *err)
{
    size_t capacity = 0;

    while (query_next(run)) {
        const int64_t entry_id = query_i64(run), tta_ns = query_i64(run);

        *pairs = query_grow(run, *pairs, *count, &capacity, sizeof **pairs);
        if (*pairs != NULL) {
            (*pairs)[*count][0] = entry_id;
            (*pairs)[(*count)++][1] = tta_ns;
        }
    }
    return query_end(run, err);
}

/* The columns of submission_row, in order. */
static void read_submission(struct query_run *run, struct submission_record *row)
{
    *row = (struct submission_record){.id = query_i64(run)};
    row->task = query_text(run);
    row->name = query_text(run);
    row->source = query_text(run);
    row->state = query_text(run);
    row->reason = query_text(run);
    row->next = query_text(run);
    row->owner = query_text(run);
    row->is_final = query_bool(run);
    row->since_ms = query_i64(run);
    row->received_ms = query_i64(run);
    row->deadline_ms = query_opt(run);
    row->claimed_date = query_text(run);
    row->token_id = query_opt(run);
    row->entry_id = query_opt(run);
    row->author = query_text(run);
    row->entry_bytes = (size_t)query_i64(run);
    row->progress_bytes = (size_t)query_i64(run);
    row->has_progress = query_bool(run);
    row->kind = query_text(run);
    row->lineage_id = query_i64(run);
    row->revision = query_i64(run);
    row->overdue_ms = query_opt(run);
}
