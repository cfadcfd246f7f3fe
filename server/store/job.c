/* server/store/job.c: runs that the server wants done, their cancellation, and their way back to the queue. */
#include <inttypes.h>
#include <stdio.h>

#include "common/entry.h"
#include "server/store/store_internal.h"
#include "server/store/verbs.h"

struct job_row {
    int64_t id, entry_id, run_id;
    const char *task, *state;
    bool cancel;
    struct opt_i64 attempt_id;
};

static enum status is_unbegun(struct db *db, int64_t entry_id, bool *unbegun, struct error *err);
static enum status next_name(struct db *db, struct arena *arena, const struct create_jobs *create,
                             const char **name, struct error *err);
static enum status is_name_taken(struct db *db, const char *task, const char *name, bool *taken,
                                 struct error *err);
static enum status check_policy(struct db *db, struct arena *arena,
                                const struct create_jobs *create, struct error *err);
static enum status insert_submission(struct db *db, struct create_jobs *create, struct error *err);
static enum status insert_entry(struct db *db, struct arena *arena,
                                const struct create_jobs *create, int64_t *id, struct error *err);
static enum status insert_run_and_job(struct db *db, const struct create_jobs *create, int ordinal,
                                      struct error *err);
static enum status find_job(struct db *db, struct arena *arena, int64_t id, struct job_row *job,
                            struct error *err);

enum status verb_create_jobs(struct db *db, struct arena *arena, void *args, struct error *err)
{
    struct create_jobs *create = args;
    enum status status;

    if (create->seeds < 1 || create->seeds > ENTRY_RUNS_MAX)
        return error_set(err, ST_INVALID, "seeds", "an entry has 1 to %d runs", ENTRY_RUNS_MAX);
    create->job_ids = ARENA_NEW_ARRAY(arena, (size_t)create->seeds, int64_t);
    create->run_ids = ARENA_NEW_ARRAY(arena, (size_t)create->seeds, int64_t);
    if (create->job_ids == NULL || create->run_ids == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for the jobs");
    status = check_policy(db, arena, create, err);
    if (status == ST_OK)
        status = next_name(db, arena, create, &create->entry_name, err);
    if (status == ST_OK)
        status = insert_submission(db, create, err);
    if (status == ST_OK)
        status = insert_entry(db, arena, create, &create->entry_id, err);
    for (int i = 0; i < create->seeds && status == ST_OK; i++)
        status = insert_run_and_job(db, create, i, err);
    if (status == ST_OK)
        status = db_note_submission(db, create->submission_id, "state", create->submission_id, err);
    return status == ST_OK ? db_note_board(db, create->task->id, create->entry_id, err) : status;
}

enum status verb_cancel_job(struct db *db, struct arena *arena, void *args, struct error *err)
{
    const struct cancel_job *cancel = args;
    struct job_row job = {0};
    struct query_run run;
    bool entry_ended;
    enum status status = find_job(db, arena, cancel->job_id, &job, err);

    if (status != ST_OK)
        return status;
    if (strcmp(job.state, "cancelled") == 0 || job.cancel)
        return ST_OK;
    if (strcmp(job.state, "queued") == 0) {
        const struct run_end end = {job.id,
                                    job.run_id,
                                    job.entry_id,
                                    job.task,
                                    "cancelled",
                                    "cancelled",
                                    "an operator cancelled it"};

        return db_end_run(db, arena, &end, &entry_ended, err);
    }
    if (strcmp(job.state, "leased") != 0)
        return error_set_code(err, ST_CONFLICT, "job-ended", NULL, NULL,
                              "job %" PRId64 " has ended: it is %s", job.id, job.state);
    run = query_begin(db, STMT_CANCEL_JOB, arena);
    query_bind_i64(&run, job.id);
    status = query_done(&run, err);
    return status == ST_OK ? db_note_job(db, job.id, err) : status;
}

enum status db_requeue_job(struct db *db, struct arena *arena, int64_t job_id, int64_t run_id,
                           int64_t entry_id, struct error *err)
{
    struct query_run run = query_begin(db, STMT_REQUEUE_JOB, NULL);
    bool unbegun = false;
    enum status status;

    query_bind_i64(&run, job_id);
    query_bind_i64(&run, db->now_ms);
    status = query_done(&run, err);
    if (status != ST_OK)
        return status;
    run = query_begin(db, STMT_RESET_RUN, NULL);
    query_bind_i64(&run, run_id);
    query_bind_i64(&run, db_draw_seed());
    status = query_done(&run, err);
    if (status == ST_OK)
        status = db_note_run(db, run_id, err);
    if (status == ST_OK)
        status = db_note_job(db, job_id, err);
    if (status == ST_OK)
        status = is_unbegun(db, entry_id, &unbegun, err);
    if (status == ST_OK && unbegun)
        status = db_move_jobs(db, arena, entry_id, "running", "requeue", NULL,
                              "its agent gave it back, or was not heard of again", err);
    return status == ST_OK ? db_raise_entry(db, entry_id, err) : status;
}

enum status db_move_jobs(struct db *db, struct arena *arena, int64_t entry_id, const char *from,
                         const char *action, const char *to, const char *reason, struct error *err)
{
    struct query_run run = query_begin(db, STMT_FIND_ENTRY_SUBMISSION, NULL);
    struct move move = {.action = action, .to = to, .reason = reason};
    struct subject subject;
    enum status status;

    query_bind_i64(&run, entry_id);
    status = query_row(&run, err);
    if (status != ST_OK)
        return status;
    move.submission_id = query_i64(&run);
    status = query_end(&run, err);
    if (status == ST_OK)
        status = db_find_subject(db, arena, move.submission_id, &subject, err);
    if (status != ST_OK || strcmp(subject.state, from) != 0)
        return status;
    return db_move_submission(db, arena, &move, err);
}

static enum status is_unbegun(struct db *db, int64_t entry_id, bool *unbegun, struct error *err)
{
    struct query_run run = query_begin(db, STMT_IS_ENTRY_UNBEGUN, NULL);
    enum status status;

    query_bind_i64(&run, entry_id);
    status = query_row(&run, err);
    if (status != ST_OK)
        return status;
    *unbegun = query_bool(&run);
    return query_end(&run, err);
}

/* 31 bits: a seed that people can retype (`train --seed N`). */
int64_t db_draw_seed(void)
{
    uint32_t bits;

    crypto_random(&bits, sizeof bits);
    return (int64_t)(bits & INT32_MAX);
}

/* <workload>-<first job's id>; a submitter may have taken that name: then with a mark behind it. */
static enum status next_name(struct db *db, struct arena *arena, const struct create_jobs *create,
                             const char **name, struct error *err)
{
    struct query_run run = query_begin(db, STMT_GET_NEXT_JOB_ID, NULL);
    enum status status = query_row(&run, err);
    const char *mark = "";
    bool taken = true;
    int64_t job_id;

    if (status != ST_OK)
        return status;
    job_id = query_i64(&run);
    status = query_end(&run, err);
    for (int tries = 0; taken && status == ST_OK; tries++) {
        if (tries > 0)
            mark = arena_printf(arena, "-%d", tries + 1);
        *name = arena_printf(arena, "%.*s-%" PRId64 "%s", STR_ARG(create->workload), job_id,
                             mark == NULL ? "" : mark);
        if (mark == NULL || *name == NULL)
            return error_set(err, ST_NO_MEMORY, NULL, "no memory for a name");
        status = is_name_taken(db, create->task->id, *name, &taken, err);
    }
    return status;
}

static enum status is_name_taken(struct db *db, const char *task, const char *name, bool *taken,
                                 struct error *err)
{
    struct query_run run = query_begin(db, STMT_FIND_NAME, NULL);
    enum status status;

    query_bind_text(&run, task);
    query_bind_text(&run, name);
    query_bind_i64(&run, 0);
    status = query_row(&run, err);
    if (status != ST_OK && status != ST_NOT_FOUND)
        return status;
    *taken = status == ST_OK;
    return query_end(&run, err);
}

/* A closed task wants no runs. */
static enum status check_policy(struct db *db, struct arena *arena,
                                const struct create_jobs *create, struct error *err)
{
    const struct admission_subject subject = {.task = create->task};
    struct admission ignored;

    return db_admit(db, arena, &subject, &ignored, err);
}

/* Its one file is the request for the runs; the name makes it different from all others. */
static enum status insert_submission(struct db *db, struct create_jobs *create, struct error *err)
{
    struct query_run run = query_begin(db, STMT_INSERT_SUBMISSION, NULL);
    const struct str file = create->request.len > 0 ? create->request : STR("{}");
    struct sha256 *hash = sha256_create();
    unsigned char digest[SHA256_BYTES];
    enum status status;

    sha256_update(hash, "job", 4);
    sha256_update(hash, create->task->id, strlen(create->task->id) + 1);
    sha256_update(hash, create->entry_name, strlen(create->entry_name) + 1);
    sha256_update(hash, file.data, file.len);
    sha256_finish(hash, digest);
    query_bind_text(&run, create->task->id);
    query_bind_text(&run, create->entry_name);
    query_bind_text(&run, "submission");
    query_bind_blob(&run, file.data, file.len);
    query_bind_blob(&run, NULL, 0);
    query_bind_blob(&run, digest, sizeof digest);
    query_bind_text(&run, "queued");
    query_bind_text(&run, "its runs have not ended");
    query_bind_i64(&run, db->now_ms);
    query_bind_i64(&run, db->now_ms);
    query_bind_text(&run, NULL);
    query_bind_i64(&run, create->token_id);
    query_bind_text(&run, "job");
    query_bind_opt(&run, (struct opt_i64){0});
    query_bind_i64(&run, 1);
    status = query_done(&run, err);
    create->submission_id = sqlite3_last_insert_rowid(db->handle);
    return status == ST_OK ? db_append_event(db, create->submission_id,
                                             (struct opt_i64){true, create->token_id}, NULL,
                                             "queue", "queued", "its runs were asked for", err)
                           : status;
}

static enum status insert_entry(struct db *db, struct arena *arena,
                                const struct create_jobs *create, int64_t *id, struct error *err)
{
    const char *model = create->model != NULL
                            ? create->model
                            : arena_printf(arena, "%.*s, recipe %.*s", STR_ARG(create->workload),
                                           STR_ARG(create->recipe));
    struct query_run run = query_begin(db, STMT_INSERT_ENTRY, arena);
    enum status status;

    query_bind_text(&run, create->task->id);
    query_bind_i64(&run, create->task->version);
    query_bind_text(&run, create->entry_name);
    query_bind_text(&run, "job");
    query_bind_i64(&run, create->submission_id);
    query_bind_i64(&run, create->token_id);
    query_bind_text(&run, "queued");
    query_bind_text(&run, "its runs have not ended");
    query_bind_text(&run, "witnessed");
    query_bind_text(&run, model == NULL ? "" : model);
    query_bind_str(&run, create->author);
    query_bind_text(&run, ""); /* hardware and framework: of the agent that will claim it */
    query_bind_text(&run, "");
    query_bind_text(&run, NULL);
    query_bind_text(&run, NULL);
    query_bind_text(&run, NULL);
    query_bind_opt(&run, (struct opt_i64){0});
    query_bind_i64(&run, db->now_ms);
    query_bind_i64(&run, create->seeds);
    query_bind_text(&run, task_score_name(create->task->score));
    /* its figures stay NULL until it is scored */
    status = query_done(&run, err);
    *id = sqlite3_last_insert_rowid(db->handle);
    return status;
}

static enum status insert_run_and_job(struct db *db, const struct create_jobs *create, int ordinal,
                                      struct error *err)
{
    struct query_run run = query_begin(db, STMT_INSERT_RUN, NULL);
    enum status status;

    query_bind_i64(&run, create->entry_id);
    query_bind_i64(&run, ordinal + 1);
    query_bind_text(&run, "queued");
    query_bind_i64(&run, db_draw_seed());
    status = query_done(&run, err);
    if (status != ST_OK)
        return status;
    create->run_ids[ordinal] = sqlite3_last_insert_rowid(db->handle);
    run = query_begin(db, STMT_INSERT_JOB, NULL);
    query_bind_i64(&run, create->entry_id);
    query_bind_i64(&run, create->run_ids[ordinal]);
    query_bind_text(&run, create->task->id);
    query_bind_i64(&run, create->task->version);
    query_bind_str(&run, create->workload);
    query_bind_str(&run, create->recipe);
    query_bind_text(&run, create->device_kind);
    query_bind_text(&run, create->tags_json == NULL ? "[]" : create->tags_json);
    query_bind_i64(&run, create->task->reclaim_after_ms);
    query_bind_i64(&run, create->token_id);
    query_bind_i64(&run, db->now_ms);
    status = query_done(&run, err);
    if (status != ST_OK)
        return status;
    create->job_ids[ordinal] = sqlite3_last_insert_rowid(db->handle);
    status = db_note_job(db, create->job_ids[ordinal], err);
    return status == ST_OK ? db_note_run(db, create->run_ids[ordinal], err) : status;
}

static enum status find_job(struct db *db, struct arena *arena, int64_t id, struct job_row *job,
                            struct error *err)
{
    struct query_run run = query_begin(db, STMT_FIND_JOB, arena);
    enum status status;

    *job = (struct job_row){.task = "", .state = ""};
    query_bind_i64(&run, id);
    status = query_row(&run, err);
    if (status == ST_NOT_FOUND) {
        (void)query_end(&run, err);
        return error_set(err, ST_NOT_FOUND, "job", "there is no job %" PRId64, id);
    }
    if (status != ST_OK)
        return status;
    job->id = query_i64(&run);
    job->entry_id = query_i64(&run);
    job->run_id = query_i64(&run);
    job->task = query_text(&run);
    job->state = query_text(&run);
    job->cancel = query_bool(&run);
    job->attempt_id = query_opt(&run);
    return query_end(&run, err);
}
