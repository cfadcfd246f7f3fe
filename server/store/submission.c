/* server/store/submission.c: takes entries in: submissions of people and published history. */
#include <assert.h>
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
    const char *why;            /* of the event that led to the state */
    const char *entry_date;     /* NULL: not yet */
    struct opt_i64 token_id, accepted_ms;
    struct opt_i64 lineage_id, entry_lineage_id, supersedes_id; /* none: it begins its own */
    int64_t revision;
    int64_t submission_id, entry_id; /* out */
    struct opt_i64 run_id;           /* out */
    int64_t *run_ids;                /* out, of all runs */
    struct flag_record *flags;       /* found before */
    size_t flag_count;
};

/* Where a new submission belongs: what it revises or supersedes. */
struct lineage {
    bool revises, replaces; /* replaces: what it revises leaves the review at once */
    struct subject former;  /* with revises */
    struct opt_i64 submission_lineage, entry_lineage, supersedes;
    int64_t revision;
    bool is_correction; /* of one that stands: with the same figures */
};

static void hash_content(const struct new_entry *entry, const struct submission_files *files,
                         unsigned char digest[SHA256_BYTES]);
static void hash_part(struct sha256 *hash, struct str part);
static enum status find_content(struct db *db, const unsigned char digest[SHA256_BYTES],
                                struct opt_i64 *id, struct error *err);
static enum status find_lineage(struct db *db, struct arena *arena, struct submit *submit,
                                struct lineage *lineage, struct error *err);
static enum status find_revised(struct db *db, struct arena *arena, struct submit *submit,
                                struct lineage *lineage, struct error *err);
static enum status find_superseded(struct db *db, struct arena *arena, struct submit *submit,
                                   struct lineage *lineage, struct error *err);
static bool has_figures(const struct new_entry *entry, const struct figures *figures);
static enum status check_new(struct db *db, struct submit *submit, const struct lineage *lineage,
                             struct error *err);
static enum status retire_former(struct db *db, struct arena *arena, const struct submit *submit,
                                 const struct lineage *lineage, struct error *err);
static enum status find_name(struct db *db, const char *task, struct str name, int64_t lineage_id,
                             struct opt_i64 *entry_id, struct opt_i64 *submission_id,
                             struct error *err);
static enum status get_next(struct db *db, struct arena *arena, struct submit *submit,
                            struct error *err);
static enum status insert_all(struct db *db, struct arena *arena, struct intake_row *row,
                              struct error *err);
static enum status insert_submission(struct db *db, struct intake_row *row, struct error *err);
static enum status insert_audit(struct db *db, struct arena *arena, const struct intake_row *row,
                                struct error *err);
static enum status insert_entry(struct db *db, struct arena *arena, struct intake_row *row,
                                struct error *err);
static void bind_figures(struct query_run *run, const struct new_entry *entry);
static enum status insert_further_files(struct db *db, const struct intake_row *row,
                                        struct error *err);
static enum status insert_runs(struct db *db, struct arena *arena, struct intake_row *row,
                               struct error *err);
static enum status insert_run(struct db *db, const struct intake_row *row, size_t index,
                              struct error *err);
static enum status insert_epochs(struct db *db, int64_t run_id, const struct new_run *new_run,
                                 struct error *err);
static enum status insert_checks(struct db *db, const struct intake_row *row, struct error *err);
static enum status insert_flags(struct db *db, const struct intake_row *row, struct error *err);

enum status verb_submit(struct db *db, struct arena *arena, void *args, struct error *err)
{
    struct submit *submit = args;
    const struct new_entry *entry = submit->entry;
    struct lineage lineage = {.revision = 1};
    struct admission admission;
    char date[CLOCK_TEXT_BYTES];
    bool accepted;
    enum status status = find_lineage(db, arena, submit, &lineage, err);

    if (status == ST_OK)
        status = check_new(db, submit, &lineage, err);
    if (status == ST_OK)
        status = db_admit(db, arena,
                          &(struct admission_subject){
                              .task = entry->task,
                              .figures = {.tta_ns = entry->tta_ns,
                                          .cost_pico = entry->cost_pico,
                                          .latency_ns = entry->latency_ns,
                                          .inference_cost_pico = entry->inference_cost_pico},
                              .lineage_id = lineage.entry_lineage.value,
                              .is_correction = lineage.is_correction},
                          &admission, err);
    if (status == ST_OK && lineage.replaces)
        status = retire_former(db, arena, submit, &lineage, err);
    if (status != ST_OK)
        return status;
    accepted = strcmp(admission.state, "accepted") == 0;
    clock_format_date(db->now_ms, date);
    struct intake_row row = {
        .entry = entry,
        .files = &submit->files,
        .source = "submission",
        .state = admission.state,
        .reason = accepted                                    ? ""
                  : strcmp(admission.state, "in_review") == 0 ? "it waits for a reviewer"
                                                              : admission.reason,
        .why = admission.reason,
        .entry_date = accepted ? date : NULL,
        .token_id = {true, submit->by.token_id},
        .accepted_ms = {accepted, db->now_ms},
        .lineage_id = lineage.submission_lineage,
        .entry_lineage_id = lineage.entry_lineage,
        .supersedes_id = lineage.supersedes,
        .revision = lineage.revision,
    };
    status = db_find_flags(db, arena, entry, lineage.entry_lineage.value, &row.flags,
                           &row.flag_count, err);
    if (status == ST_OK)
        status = insert_all(db, arena, &row, err);
    if (status == ST_OK && lineage.revises)
        status = db_note_submission(db, lineage.former.id, "revision", row.submission_id, err);
    submit->submission_id = row.submission_id;
    submit->entry_id = row.entry_id;
    submit->run_id = row.run_id;
    submit->run_ids = row.run_ids;
    submit->flags = row.flags;
    submit->flag_count = row.flag_count;
    submit->state = row.state;
    submit->reason = row.reason;
    submit->since_ms = db->now_ms;
    submit->lineage_id = row.lineage_id.has ? row.lineage_id.value : row.submission_id;
    submit->revision = row.revision;
    submit->top5 = admission.top5;
    return status == ST_OK ? get_next(db, arena, submit, err) : status;
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
        .why = "history is accepted as it was",
        .revision = 1,
        .entry_date = entry->claimed_date,
        .accepted_ms = {true, db->now_ms},
    };

    status = find_name(db, entry->task->id, entry->name, 0, &named, &ignored, err);
    if (status != ST_OK)
        return status;
    import->known = named.has;
    import->entry_id = named.value;
    if (named.has)
        return ST_OK;
    status = insert_all(db, arena, &row, err);
    import->entry_id = row.entry_id;
    return status;
}

static enum status find_lineage(struct db *db, struct arena *arena, struct submit *submit,
                                struct lineage *lineage, struct error *err)
{
    if (submit->revises.has)
        return find_revised(db, arena, submit, lineage, err);
    if (submit->supersedes.has)
        return find_superseded(db, arena, submit, lineage, err);
    return ST_OK;
}

/* What is accepted stays until its revision is accepted, too; what is not leaves the review to it. */
static enum status find_revised(struct db *db, struct arena *arena, struct submit *submit,
                                struct lineage *lineage, struct error *err)
{
    struct subject *former = &lineage->former;
    struct query_run run;
    const char *to = NULL, *scope = "own", *state;
    int64_t newest_id, newest;
    bool accepted;
    enum status status = db_find_subject(db, arena, submit->revises.value, former, err);

    if (status != ST_OK)
        return status;
    if (strcmp(former->task, submit->entry->task->id) != 0)
        return error_set_code(err, ST_INVALID, "other-task", "task", NULL,
                              "submission %" PRId64 " is one of %s", former->id, former->task);
    accepted = strcmp(former->state, "accepted") == 0;
    status = db_check_mover(former, scope, &submit->by, err);
    if (status != ST_OK)
        return status;
    run = query_begin(db, STMT_FIND_NEWEST_REVISION, arena);
    query_bind_i64(&run, former->lineage_id);
    status = query_row(&run, err);
    if (status != ST_OK)
        return status;
    newest_id = query_i64(&run);
    state = query_text(&run);
    newest = query_i64(&run);
    status = query_end(&run, err);
    if (status == ST_OK && newest_id != former->id && strcmp(state, "withdrawn") != 0 &&
        strcmp(state, "rejected") != 0 && strcmp(state, "disqualified") != 0) {
        submit->other_id = (struct opt_i64){true, newest_id};
        return error_set_code(err, ST_CONFLICT, "newer-revision", NULL, "Revise that one.",
                              "submission %" PRId64 " is a newer revision of it and is %s",
                              newest_id, state);
    }
    if (status == ST_OK && !accepted)
        status =
            db_find_transition(db, arena, former->id, former->state, "revise", &to, &scope, err);
    lineage->revises = true;
    lineage->replaces = !accepted;
    lineage->submission_lineage = (struct opt_i64){true, former->lineage_id};
    lineage->entry_lineage = (struct opt_i64){true, former->entry_lineage_id};
    lineage->supersedes =
        accepted ? (struct opt_i64){true, former->entry_id} : former->supersedes_id;
    lineage->revision = newest + 1;
    lineage->is_correction = accepted && has_figures(submit->entry, &former->figures);
    return status;
}

static enum status find_superseded(struct db *db, struct arena *arena, struct submit *submit,
                                   struct lineage *lineage, struct error *err)
{
    struct query_run run = query_begin(db, STMT_FIND_ENTRY_SUBMISSION, NULL);
    struct subject former;
    int64_t submission_id = 0;
    enum status status;

    query_bind_opt(&run, submit->supersedes);
    status = query_row(&run, err);
    if (status == ST_OK)
        submission_id = query_i64(&run);
    if (status == ST_OK || status == ST_NOT_FOUND)
        status = query_end(&run, err);
    if (status == ST_OK && submission_id == 0)
        return error_set_code(err, ST_INVALID, "unknown_entry", "supersedes", NULL,
                              "there is no entry %" PRId64, submit->supersedes.value);
    if (status == ST_OK)
        status = db_find_subject(db, arena, submission_id, &former, err);
    if (status != ST_OK)
        return status;
    if (strcmp(former.task, submit->entry->task->id) != 0)
        return error_set_code(err, ST_INVALID, "other-task", "supersedes", NULL,
                              "entry %" PRId64 " is one of %s", former.entry_id, former.task);
    if ((submit->by.scopes & SCOPE_REVIEW) == 0) {
        status = db_check_mover(&former, "own", &submit->by, err);
        if (status != ST_OK)
            return status;
    }
    submit->other_id = (struct opt_i64){true, former.id};
    if (strcmp(former.state, "accepted") != 0)
        return error_set_code(err, ST_CONFLICT, "not-standing", "supersedes",
                              "Supersede the one that stands, or revise the submission.",
                              "entry %" PRId64 " is %s: only one that is accepted has a place",
                              former.entry_id, former.state);
    lineage->entry_lineage = (struct opt_i64){true, former.entry_lineage_id};
    lineage->supersedes = submit->supersedes;
    return ST_OK;
}

static bool same(struct opt_i64 a, struct opt_i64 b)
{
    return a.has == b.has && (!a.has || a.value == b.value);
}

static bool has_figures(const struct new_entry *entry, const struct figures *figures)
{
    return same(entry->tta_ns, figures->tta_ns) && same(entry->cost_pico, figures->cost_pico) &&
           same(entry->latency_ns, figures->latency_ns) &&
           same(entry->inference_cost_pico, figures->inference_cost_pico);
}

/* Neither the files nor, outside of its own lineage, the name are there. */
static enum status check_new(struct db *db, struct submit *submit, const struct lineage *lineage,
                             struct error *err)
{
    const struct new_entry *entry = submit->entry;
    struct opt_i64 known = {0}, named = {0};
    unsigned char digest[SHA256_BYTES];
    enum status status;

    hash_content(entry, &submit->files, digest);
    status = find_content(db, digest, &known, err);
    if (status != ST_OK)
        return status;
    if (known.has) {
        submit->other_id = known;
        return error_set_code(err, ST_CONFLICT, "duplicate", NULL,
                              "Withdraw the other one first, or send a result that differs.",
                              "submission %" PRId64 " has the same files", known.value);
    }
    status = find_name(db, entry->task->id, entry->name, lineage->entry_lineage.value, &named,
                       &submit->other_id, err);
    if (status == ST_OK && named.has)
        return error_set_code(err, ST_CONFLICT, "name-taken", "name", "Choose another name.",
                              "entry %" PRId64 " of %s has the name %.*s", named.value,
                              entry->task->id, STR_ARG(entry->name));
    return status;
}

static enum status retire_former(struct db *db, struct arena *arena, const struct submit *submit,
                                 const struct lineage *lineage, struct error *err)
{
    const struct move move = {
        .submission_id = lineage->former.id,
        .action = "revise",
        .reason =
            arena_printf(arena, "revision %" PRId64 " was sent in its place", lineage->revision),
        .by = &submit->by,
    };

    return move.reason == NULL ? error_set(err, ST_NO_MEMORY, NULL, "no memory for a reason")
                               : db_move_submission(db, arena, &move, err);
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
    for (size_t i = 0; i < files->further_count; i++)
        hash_part(
            hash,
            files->further[i].bytes); /* their names are given by the entry's, or as one likes */
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

static enum status find_lineage(struct db *db, struct arena *arena, struct submit *submit,
                                struct lineage *lineage, struct error *err);
static enum status find_revised(struct db *db, struct arena *arena, struct submit *submit,
                                struct lineage *lineage, struct error *err);
static enum status find_superseded(struct db *db, struct arena *arena, struct submit *submit,
                                   struct lineage *lineage, struct error *err);
static bool has_figures(const struct new_entry *entry, const struct figures *figures);
static enum status check_new(struct db *db, struct submit *submit, const struct lineage *lineage,
                             struct error *err);
static enum status retire_former(struct db *db, struct arena *arena, const struct submit *submit,
                                 const struct lineage *lineage, struct error *err);
static enum status find_name(struct db *db, const char *task, struct str name, int64_t lineage_id,
                             struct opt_i64 *entry_id, struct opt_i64 *submission_id,
                             struct error *err)
{
    struct query_run run = query_begin(db, STMT_FIND_NAME, NULL);
    enum status status;

    *entry_id = *submission_id = (struct opt_i64){0};
    query_bind_text(&run, task);
    query_bind_str(&run, name);
    query_bind_i64(&run, lineage_id);
    status = query_row(&run, err);
    if (status == ST_OK) {
        *entry_id = query_opt(&run);
        *submission_id = query_opt(&run);
    } else if (status != ST_NOT_FOUND) {
        return status;
    }
    return query_end(&run, err);
}

static enum status get_next(struct db *db, struct arena *arena, struct submit *submit,
                            struct error *err)
{
    struct query_run run = query_begin(db, STMT_GET_SUBMISSION_NEXT, arena);
    enum status status;

    query_bind_text(&run, submit->state);
    status = query_row(&run, err);
    if (status == ST_NOT_FOUND)
        run.rc = SQLITE_CORRUPT; /* a foreign key names the state */
    else if (status != ST_OK)
        return status;
    submit->next = query_text(&run);
    submit->owner = query_text(&run);
    submit->deadline_ms = query_opt(&run);
    submit->deadline_ms.value += submit->since_ms;
    return query_end(&run, err);
}

static enum status insert_all(struct db *db, struct arena *arena, struct intake_row *row,
                              struct error *err)
{
    enum status status = insert_submission(db, row, err);

    if (status == ST_OK)
        status = insert_further_files(db, row, err);
    if (status == ST_OK)
        status = insert_audit(db, arena, row, err);
    if (status == ST_OK)
        status = insert_entry(db, arena, row, err);
    if (status == ST_OK && row->entry->task->phase == TASK_TRAIN)
        status = insert_runs(db, arena, row, err);
    if (status == ST_OK)
        status = insert_checks(db, row, err);
    if (status == ST_OK)
        status = insert_flags(db, row, err);
    if (status == ST_OK && row->accepted_ms.has)
        status = db_begin_standing(db, row->entry_id, err);
    if (status == ST_OK && row->accepted_ms.has && row->entry_lineage_id.has)
        status = db_take_place(db, arena, row->entry_id, arena_copy(arena, row->entry->name),
                               row->entry_lineage_id.value, err);
    if (status == ST_OK)
        status = db_note_board(db, row->entry->task->id, row->entry_id, err);
    return status == ST_OK
               ? db_note_submission(db, row->submission_id, "state", row->submission_id, err)
               : status;
}

static enum status insert_submission(struct db *db, struct intake_row *row, struct error *err)
{
    struct query_run run = query_begin(db, STMT_INSERT_SUBMISSION, NULL);
    const struct submission_files *files = row->files;
    size_t bytes = files->entry.len + files->progress.len;
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
    query_bind_text(&run, row->entry->kind == NULL ? "dawnbench" : row->entry->kind);
    query_bind_opt(&run, row->lineage_id);
    query_bind_i64(&run, row->revision);
    status = query_done(&run, err);
    row->submission_id = sqlite3_last_insert_rowid(db->handle);
    for (size_t i = 0; i < files->further_count; i++)
        bytes += files->further[i].bytes.len;
    if (status == ST_OK && row->token_id.has)
        status = db_charge_token(db, row->token_id.value, true, bytes, err);
    return status;
}

/* received -> (checked) -> accepted or in_review: the checks ran before the command was made. */
static enum status insert_audit(struct db *db, struct arena *arena, const struct intake_row *row,
                                struct error *err)
{
    const bool history = strcmp(row->source, "history") == 0;
    const struct {
        const char *from, *action, *to, *reason;
    } steps[] = {
        {NULL, history ? "import" : "send", "received", history ? "imported as history" : "sent"},
        {"received", "check", "checked", "no error was found"},
        {"checked", "admit", row->state, row->why},
    };
    enum status status = ST_OK;

    for (size_t i = 0; i < ARRAY_LEN(steps) && status == ST_OK; i++) {
        const char *to = steps[i].to, *scope;

        if (i > 0)
            status = db_find_transition(db, arena, row->submission_id, steps[i].from,
                                        steps[i].action, &to, &scope, err);
        if (status == ST_OK)
            status = db_append_event(db, row->submission_id,
                                     i == 0 ? row->token_id : (struct opt_i64){0}, steps[i].from,
                                     steps[i].action, to, steps[i].reason, err);
    }
    return status;
}

static enum status insert_entry(struct db *db, struct arena *arena, struct intake_row *row,
                                struct error *err)
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
    query_bind_i64(&run, (int64_t)entry->run_count);
    query_bind_text(&run, task_score_name(entry->task->score));
    bind_figures(&run, entry);
    query_bind_opt(&run, row->entry_lineage_id);
    query_bind_opt(&run, row->supersedes_id);
    status = query_done(&run, err);
    row->entry_id = sqlite3_last_insert_rowid(db->handle);
    if (status != ST_OK || strcmp(row->source, "history") == 0)
        return status; /* history stands as it was */
    return db_price_claim(db, arena, entry, row->entry_id, err);
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
    query_bind_text(run, entry->claim.instance);
    query_bind_text(run, entry->claim.region);
}

static enum status insert_further_files(struct db *db, const struct intake_row *row,
                                        struct error *err)
{
    const struct submission_files *files = row->files;
    enum status status = ST_OK;

    for (size_t i = 0; i < files->further_count && status == ST_OK; i++) {
        const struct submission_file *file = &files->further[i];
        struct query_run run = query_begin(db, STMT_INSERT_SUBMISSION_FILE, NULL);
        unsigned char digest[SHA256_BYTES];

        crypto_sha256(file->bytes, digest);
        query_bind_i64(&run, row->submission_id);
        query_bind_i64(&run, (int64_t)i + 1);
        query_bind_text(&run, file->name);
        query_bind_blob(&run, file->bytes.len == 0 ? "" : file->bytes.data, file->bytes.len);
        query_bind_blob(&run, digest, sizeof digest);
        status = query_done(&run, err);
    }
    return status;
}

static enum status insert_runs(struct db *db, struct arena *arena, struct intake_row *row,
                               struct error *err)
{
    const struct new_entry *entry = row->entry;
    struct query_run run;
    enum status status = ST_OK;

    row->run_ids = ARENA_NEW_ARRAY(arena, entry->run_count, int64_t);
    if (row->run_ids == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for the runs");
    for (size_t i = 0; i < entry->run_count && status == ST_OK; i++) {
        status = insert_run(db, row, i, err);
        row->run_ids[i] = sqlite3_last_insert_rowid(db->handle);
        if (status == ST_OK)
            status = insert_epochs(db, row->run_ids[i], &entry->runs[i], err);
        if (status == ST_OK)
            status = db_note_run(db, row->run_ids[i], err);
    }
    if (status != ST_OK)
        return status;
    row->run_id = (struct opt_i64){true, row->run_ids[entry->shown_run]};
    run = query_begin(db, STMT_SET_ENTRY_RUN, NULL);
    query_bind_i64(&run, row->entry_id);
    query_bind_opt(&run, row->run_id);
    return query_done(&run, err);
}

static enum status insert_run(struct db *db, const struct intake_row *row, size_t index,
                              struct error *err)
{
    const struct new_run *new_run = &row->entry->runs[index];
    struct query_run run = query_begin(db, STMT_INSERT_UPLOADED_RUN, NULL);

    query_bind_i64(&run, row->entry_id);
    query_bind_i64(&run, (int64_t)index + 1);
    query_bind_text(&run, new_run->tta_ns.has ? "reached" : "missed");
    query_bind_opt(&run, new_run->tta_ns);
    query_bind_text(&run, new_run->epoch_text);
    query_bind_opt(&run,
                   (struct opt_i64){new_run->tta_ns.has, (int64_t)new_run->crossing_index + 1});
    query_bind_text(&run, new_run->accuracy_text);
    query_bind_text(&run, new_run->file_name);
    query_bind_text(&run, new_run->seed_text);
    query_bind_blob(&run, new_run->progress_sha256, SHA256_BYTES);
    query_bind_blob(&run, new_run->rows_sha256, SHA256_BYTES);
    return query_done(&run, err);
}

static enum status insert_epochs(struct db *db, int64_t run_id, const struct new_run *new_run,
                                 struct error *err)
{
    enum status status = ST_OK;

    for (size_t i = 0; i < new_run->epoch_count && status == ST_OK; i++) {
        const struct new_epoch *epoch = &new_run->epochs[i];
        struct query_run run = query_begin(db, STMT_INSERT_EPOCH, NULL);

        query_bind_i64(&run, run_id);
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

static enum status insert_checks(struct db *db, const struct intake_row *row, struct error *err)
{
    enum status status = ST_OK;

    for (size_t i = 0; i < row->entry->check_count && status == ST_OK; i++) {
        const struct check_record *check = &row->entry->checks[i];
        struct query_run run = query_begin(db, STMT_INSERT_ENTRY_CHECK, NULL);

        assert(!check->ordinal.has ||
               row->run_ids != NULL); /* a check of a run is of an entry with runs */
        query_bind_i64(&run, row->entry_id);
        query_bind_opt(&run, check->ordinal.has
                                 ? (struct opt_i64){true, row->run_ids[check->ordinal.value - 1]}
                                 : (struct opt_i64){0});
        query_bind_text(&run, check->rule);
        query_bind_text(&run, check->verdict);
        query_bind_text(&run, check->file);
        query_bind_opt(&run, check->line);
        query_bind_text(&run, check->detail);
        query_bind_text(&run, check->hint);
        status = query_done(&run, err);
    }
    return status;
}

/* They name runs by their place in the entry until it is stored. */
static enum status insert_flags(struct db *db, const struct intake_row *row, struct error *err)
{
    enum status status = ST_OK;

    for (size_t i = 0; i < row->flag_count && status == ST_OK; i++) {
        struct flag_record *flag = &row->flags[i];

        if (flag->ordinal.has)
            flag->run_id = (struct opt_i64){true, row->run_ids[flag->ordinal.value - 1]};
        if (flag->other_ordinal.has) {
            flag->other_entry_id = (struct opt_i64){true, row->entry_id};
            flag->other_run_id =
                (struct opt_i64){true, row->run_ids[flag->other_ordinal.value - 1]};
        }
        status = db_insert_flag(db, row->entry_id, flag, err);
    }
    return status;
}
