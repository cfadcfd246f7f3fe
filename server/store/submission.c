/* server/store/submission.c: takes entries in: submissions of people and published history. */
#include <inttypes.h>
#include <stdio.h>

#include "common/clock.h"
#include "server/store/store_internal.h"
#include "server/store/verbs.h"

/* What submit and import have in common. */
struct intake_row {
    const struct new_entry *entry;
    const struct submission_files *files;
    const char *source;         /* history | submission */
    const char *state, *reason; /* of submission and entry */
    const char *entry_date;     /* NULL: not yet */
    struct opt_i64 token_id, accepted_ms;
    int64_t submission_id, entry_id; /* out */
    struct opt_i64 run_id;           /* out */
};

static void hash_content(const struct new_entry *entry, const struct submission_files *files,
                         unsigned char digest[SHA256_BYTES]);
static void hash_part(struct sha256 *hash, struct str part);
static enum status find_content(struct db *db, const unsigned char digest[SHA256_BYTES],
                                struct opt_i64 *id, struct error *err);
static enum status find_name(struct db *db, const char *task, struct str name,
                             struct opt_i64 *entry_id, struct opt_i64 *submission_id,
                             struct error *err);
static enum status get_next(struct db *db, struct arena *arena, const char *state,
                            const char **next, struct error *err);
static enum status insert_all(struct db *db, struct intake_row *row, struct error *err);
static enum status insert_submission(struct db *db, struct intake_row *row, struct error *err);
static enum status insert_audit(struct db *db, const struct intake_row *row, struct error *err);
static enum status insert_entry(struct db *db, struct intake_row *row, struct error *err);
static void bind_figures(struct query_run *run, const struct new_entry *entry);
static enum status insert_run(struct db *db, struct intake_row *row, struct error *err);
static enum status insert_epochs(struct db *db, const struct intake_row *row, struct error *err);

enum status verb_submit(struct db *db, struct arena *arena, void *args, struct error *err)
{
    struct submit *submit = args;
    const struct new_entry *entry = submit->entry;
    const bool open = entry->task->review == TASK_REVIEW_NONE;
    struct opt_i64 same = {0}, named = {0};
    unsigned char digest[SHA256_BYTES];
    char date[CLOCK_TEXT_BYTES];
    enum status status;

    hash_content(entry, &submit->files, digest);
    status = find_content(db, digest, &same, err);
    if (status != ST_OK)
        return status;
    if (same.has) {
        submit->other_id = same;
        return error_set_code(err, ST_CONFLICT, "duplicate", NULL,
                              "Withdraw the other one first, or send a result that differs.",
                              "submission %" PRId64 " has the same files", same.value);
    }
    status = find_name(db, entry->task->id, entry->name, &named, &submit->other_id, err);
    if (status != ST_OK)
        return status;
    if (named.has)
        return error_set_code(err, ST_CONFLICT, "name-taken", "name", "Choose another name.",
                              "entry %" PRId64 " of %s has the name %.*s", named.value,
                              entry->task->id, STR_ARG(entry->name));
    clock_format_date(db->now_ms, date);
    struct intake_row row = {
        .entry = entry,
        .files = &submit->files,
        .source = "submission",
        .state = open ? "accepted" : "in_review",
        .reason = open ? "" : "it waits for a reviewer",
        .entry_date = open ? date : NULL,
        .token_id = {true, submit->token_id},
        .accepted_ms = {open, db->now_ms},
    };
    status = insert_all(db, &row, err);
    submit->submission_id = row.submission_id;
    submit->entry_id = row.entry_id;
    submit->run_id = row.run_id;
    submit->state = row.state;
    submit->reason = row.reason;
    submit->since_ms = db->now_ms;
    return status == ST_OK ? get_next(db, arena, row.state, &submit->next, err) : status;
}

enum status verb_import_entry(struct db *db, struct arena *arena, void *args, struct error *err)
{
    struct import_entry *import = args;
    const struct new_entry *entry = import->entry;
    struct opt_i64 named, ignored;
    enum status status;
    struct intake_row row = {
        .entry = entry,
        .files = &import->files,
        .source = "history",
        .state = "accepted",
        .reason = "",
        .entry_date = entry->claimed_date,
        .accepted_ms = {true, db->now_ms},
    };

    (void)arena;
    status = find_name(db, entry->task->id, entry->name, &named, &ignored, err);
    if (status != ST_OK)
        return status;
    import->known = named.has;
    import->entry_id = named.value;
    if (named.has)
        return ST_OK;
    status = insert_all(db, &row, err);
    import->entry_id = row.entry_id;
    return status;
}

/* Each part with its length before it: no two contents run together. */
static void hash_content(const struct new_entry *entry, const struct submission_files *files,
                         unsigned char digest[SHA256_BYTES])
{
    struct sha256 *hash = sha256_create();

    hash_part(hash, str_from_cstr(entry->task->id));
    hash_part(hash, files->entry);
    if (files->has_progress)
        hash_part(hash, files->progress);
    sha256_finish(hash, digest);
}

static void hash_part(struct sha256 *hash, struct str part)
{
    char length[24];
    const int bytes = snprintf(length, sizeof length, "%zu\n", part.len);

    sha256_update(hash, length, (size_t)bytes);
    sha256_update(hash, part.data, part.len);
}

static enum status find_content(struct db *db, const unsigned char digest[SHA256_BYTES],
                                struct opt_i64 *id, struct error *err)
{
    struct query_run run = query_begin(db, STMT_FIND_CONTENT, NULL);
    enum status status;

    *id = (struct opt_i64){0};
    query_bind_blob(&run, digest, SHA256_BYTES);
    status = query_row(&run, err);
    if (status == ST_OK)
        *id = query_opt(&run);
    else if (status != ST_NOT_FOUND)
        return status;
    return query_end(&run, err);
}

static enum status find_name(struct db *db, const char *task, struct str name,
                             struct opt_i64 *entry_id, struct opt_i64 *submission_id,
                             struct error *err)
{
    struct query_run run = query_begin(db, STMT_FIND_NAME, NULL);
    enum status status;

    *entry_id = *submission_id = (struct opt_i64){0};
    query_bind_text(&run, task);
    query_bind_str(&run, name);
    status = query_row(&run, err);
    if (status == ST_OK) {
        *entry_id = query_opt(&run);
        *submission_id = query_opt(&run);
    } else if (status != ST_NOT_FOUND) {
        return status;
    }
    return query_end(&run, err);
}

static enum status get_next(struct db *db, struct arena *arena, const char *state,
                            const char **next, struct error *err)
{
    struct query_run run = query_begin(db, STMT_GET_SUBMISSION_NEXT, arena);
    enum status status;

    query_bind_text(&run, state);
    status = query_row(&run, err);
    if (status == ST_NOT_FOUND)
        run.rc = SQLITE_CORRUPT; /* a foreign key names the state */
    else if (status == ST_OK)
        *next = query_text(&run);
    else
        return status;
    return query_end(&run, err);
}

static enum status insert_all(struct db *db, struct intake_row *row, struct error *err)
{
    char topic[TOPIC_BYTES_MAX];
    enum status status = insert_submission(db, row, err);

    if (status == ST_OK)
        status = insert_audit(db, row, err);
    if (status == ST_OK)
        status = insert_entry(db, row, err);
    if (status == ST_OK && row->entry->task->phase == TASK_TRAIN)
        status = insert_run(db, row, err);
    if (status == ST_OK && row->accepted_ms.has)
        status = db_begin_standing(db, row->entry_id, err);
    if (status == ST_OK)
        status = db_note_board(db, row->entry->task->id, row->entry_id, err);
    (void)snprintf(topic, sizeof topic, "submission:%" PRId64, row->submission_id);
    return status == ST_OK ? db_raise_version(db, topic, err) : status;
}

static enum status insert_submission(struct db *db, struct intake_row *row, struct error *err)
{
    struct query_run run = query_begin(db, STMT_INSERT_SUBMISSION, NULL);
    const struct submission_files *files = row->files;
    unsigned char digest[SHA256_BYTES];
    enum status status;

    hash_content(row->entry, files, digest);
    query_bind_text(&run, row->entry->task->id);
    query_bind_str(&run, row->entry->name);
    query_bind_text(&run, row->source);
    query_bind_blob(&run, files->entry.len == 0 ? "" : files->entry.data, files->entry.len);
    if (files->has_progress)
        query_bind_blob(&run, files->progress.len == 0 ? "" : files->progress.data,
                        files->progress.len);
    else
        query_bind_blob(&run, NULL, 0);
    query_bind_blob(&run, digest, sizeof digest);
    query_bind_text(&run, row->state);
    query_bind_text(&run, row->reason);
    query_bind_i64(&run, db->now_ms);
    query_bind_i64(&run, db->now_ms);
    query_bind_text(&run, row->entry->claimed_date);
    query_bind_opt(&run, row->token_id);
    status = query_done(&run, err);
    row->submission_id = sqlite3_last_insert_rowid(db->handle);
    return status;
}

/* received -> (checked) -> accepted or in_review: the checks ran before the command was made. */
static enum status insert_audit(struct db *db, const struct intake_row *row, struct error *err)
{
    const bool history = strcmp(row->source, "history") == 0;
    const struct {
        const char *from, *to, *reason;
    } steps[] = {
        {NULL, "received", history ? "imported as history" : "sent"},
        {"received", "checked", "no error was found"},
        {"checked", row->state,
         history                               ? "history is accepted as it was"
         : strcmp(row->state, "accepted") == 0 ? "this task is not reviewed"
                                               : "this task is reviewed"},
    };
    enum status status = ST_OK;

    for (size_t i = 0; i < ARRAY_LEN(steps) && status == ST_OK; i++) {
        struct query_run run = query_begin(db, STMT_INSERT_SUBMISSION_EVENT, NULL);

        query_bind_i64(&run, row->submission_id);
        query_bind_i64(&run, db->now_ms);
        query_bind_opt(&run, i == 0 ? row->token_id : (struct opt_i64){0});
        query_bind_text(&run, steps[i].from);
        query_bind_text(&run, steps[i].to);
        query_bind_text(&run, steps[i].reason);
        status = query_done(&run, err);
    }
    return status;
}

static enum status insert_entry(struct db *db, struct intake_row *row, struct error *err)
{
    const struct new_entry *entry = row->entry;
    struct query_run run = query_begin(db, STMT_INSERT_ENTRY, NULL);
    enum status status;

    query_bind_text(&run, entry->task->id);
    query_bind_i64(&run, entry->task->version);
    query_bind_str(&run, entry->name);
    query_bind_text(&run, row->source);
    query_bind_i64(&run, row->submission_id);
    query_bind_opt(&run, row->token_id);
    query_bind_text(&run, row->state);
    query_bind_text(&run, row->reason);
    query_bind_text(&run, "reported");
    query_bind_text(&run, entry->model);
    query_bind_text(&run, entry->author);
    query_bind_text(&run, entry->hardware);
    query_bind_text(&run, entry->framework);
    query_bind_text(&run, entry->code_url);
    query_bind_text(&run, entry->claimed_date);
    query_bind_text(&run, row->entry_date);
    query_bind_opt(&run, row->accepted_ms);
    query_bind_i64(&run, db->now_ms);
    query_bind_i64(&run, entry->task->phase == TASK_TRAIN ? 1 : 0);
    bind_figures(&run, entry);
    status = query_done(&run, err);
    row->entry_id = sqlite3_last_insert_rowid(db->handle);
    return status;
}

static void bind_figures(struct query_run *run, const struct new_entry *entry)
{
    query_bind_opt(run, entry->tta_ns);
    query_bind_text(run, entry->tta_hours_text);
    query_bind_text(run, entry->epoch_text);
    query_bind_text(run, entry->epoch_count_text);
    query_bind_text(run, entry->accuracy_text);
    query_bind_text(run, entry->cost_per_hour_text);
    query_bind_opt(run, entry->cost_pico);
    query_bind_opt(run, entry->latency_ns);
    query_bind_text(run, entry->latency_ms_text);
    query_bind_opt(run, entry->inference_cost_pico);
    query_bind_text(run, entry->inference_cost_text);
    query_bind_text(run, entry->device_kind);
    query_bind_text(run, entry->device_model);
    query_bind_opt(run, entry->devices);
    query_bind_opt(run, entry->nodes);
    query_bind_text(run, entry->cloud);
    query_bind_text(run, entry->misc_json);
    query_bind_text(run, entry->extra_json);
}

static enum status insert_run(struct db *db, struct intake_row *row, struct error *err)
{
    const struct new_entry *entry = row->entry;
    const bool reached = entry->tta_ns.has && entry->crossing_index < entry->epoch_count;
    struct query_run run = query_begin(db, STMT_INSERT_RUN, NULL);
    enum status status;

    query_bind_i64(&run, row->entry_id);
    query_bind_i64(&run, 1);
    query_bind_text(&run, reached ? "reached" : "missed");
    query_bind_opt(&run, (struct opt_i64){0}); /* whatever seed it had is in misc */
    query_bind_opt(&run, entry->tta_ns);
    query_bind_text(&run, entry->epoch_text);
    query_bind_opt(&run, (struct opt_i64){reached, (int64_t)entry->crossing_index + 1});
    query_bind_text(&run, entry->accuracy_text);
    status = query_done(&run, err);
    if (status != ST_OK)
        return status;
    row->run_id = (struct opt_i64){true, sqlite3_last_insert_rowid(db->handle)};
    run = query_begin(db, STMT_SET_ENTRY_RUN, NULL);
    query_bind_i64(&run, row->entry_id);
    query_bind_opt(&run, row->run_id);
    status = query_done(&run, err);
    if (status == ST_OK)
        status = insert_epochs(db, row, err);
    return status == ST_OK ? db_note_run(db, row->run_id.value, err) : status;
}

static enum status insert_epochs(struct db *db, const struct intake_row *row, struct error *err)
{
    const struct new_entry *entry = row->entry;
    enum status status = ST_OK;

    for (size_t i = 0; i < entry->epoch_count && status == ST_OK; i++) {
        const struct new_epoch *epoch = &entry->epochs[i];
        struct query_run run = query_begin(db, STMT_INSERT_EPOCH, NULL);

        query_bind_opt(&run, row->run_id);
        query_bind_opt(&run, (struct opt_i64){0}); /* no attempt */
        query_bind_i64(&run, (int64_t)i + 1);
        query_bind_str(&run, epoch->label);
        query_bind_i64(&run, epoch->official_ns);
        query_bind_opt(&run, (struct opt_i64){0}); /* wall, correct, total are not known */
        query_bind_str(&run, epoch->value_text);
        query_bind_opt(&run, (struct opt_i64){0});
        query_bind_opt(&run, (struct opt_i64){0});
        query_bind_double(&run, false, 0);
        query_bind_opt(&run, (struct opt_i64){0});
        query_bind_text(&run, epoch->extra_json);
        status = query_done(&run, err);
    }
    return status;
}
