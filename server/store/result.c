/* server/store/result.c: ends runs, and gives an entry of jobs its figures when its last run has ended: by the task's
 * rule, one that missed counting as infinite (server/rank/score.h). */
#include <inttypes.h>
#include <stdio.h>

#include "common/entry.h"
#include "server/rank/score.h"
#include "server/store/store_internal.h"
#include "server/store/verbs.h"

/* A run of the entry that is scored. */
struct result {
    int64_t run_id;
    const char *state;
    struct opt_i64 tta_ns, wall_ns, views, agent_id;
    const char *epoch_text, *value_text;
};

static enum status hash_finish(const struct finish *finish, struct arena *arena,
                               unsigned char digest[SHA256_BYTES], struct error *err);
static enum status check_finish(struct finish *finish, const struct attempt *attempt,
                                const unsigned char digest[SHA256_BYTES], bool *repeated,
                                struct error *err);
static enum status judge_result(struct finish *finish, bool reached, const char **job_state,
                                struct error *err);
static enum status close_attempt(struct db *db, const struct finish *finish, int64_t attempt_id,
                                 const unsigned char digest[SHA256_BYTES], struct error *err);
static enum status end_run_and_job(struct db *db, const struct run_end *end, struct error *err);
static enum status list_results(struct db *db, struct arena *arena, int64_t entry_id,
                                struct result *results, size_t *count, struct error *err);
static bool has_ended(const struct result *result);
static bool has_reached(const struct result *result);
static const struct result *find_score(const struct result *results, size_t count,
                                       enum task_score rule, int64_t *tta_ns);
static enum status score_entry(struct db *db, struct arena *arena, const struct run_end *end,
                               const struct result *results, size_t count, struct error *err);
static enum status end_submission(struct db *db, struct arena *arena, const struct run_end *end,
                                  const struct figures *figures, const char *miss,
                                  struct error *err);
static const char *miss_reason(const struct result *results, size_t count);

enum status verb_finish(struct db *db, struct arena *arena, void *args, struct error *err)
{
    struct finish *finish = args;
    unsigned char digest[SHA256_BYTES];
    const char *job_state, *detail = arena_copy(arena, finish->detail);
    struct attempt attempt = {0};
    bool repeated = false;
    enum status status = db_find_attempt(db, arena, finish->agent_id, finish->fence, &attempt, err);

    if (status == ST_OK && detail == NULL)
        status = error_set(err, ST_NO_MEMORY, NULL, "no memory to finish the run");
    if (status == ST_OK)
        status = hash_finish(finish, arena, digest, err);
    if (status != ST_OK)
        return status;
    finish->run_id = attempt.run_id;
    finish->entry_id = attempt.entry_id;
    finish->run_state = attempt.run_state;
    finish->tta_ns = attempt.tta_ns;
    finish->entry_ended = false;
    status = check_finish(finish, &attempt, digest, &repeated, err);
    if (status != ST_OK || repeated)
        return status;
    status = judge_result(finish, attempt.tta_ns.has, &job_state, err);
    if (status == ST_OK)
        status = close_attempt(db, finish, attempt.id, digest, err);
    if (status != ST_OK)
        return status;
    const struct run_end end = {.job_id = attempt.job_id,
                                .run_id = attempt.run_id,
                                .entry_id = attempt.entry_id,
                                .task = attempt.task,
                                .run_state = finish->run_state,
                                .job_state = job_state,
                                .reason = detail};

    return db_end_run(db, arena, &end, &finish->entry_ended, err);
}

enum status db_end_run(struct db *db, struct arena *arena, const struct run_end *end,
                       bool *entry_ended, struct error *err)
{
    struct result *results = ARENA_NEW_ARRAY(arena, ENTRY_RUNS_MAX, struct result);
    enum status status = end_run_and_job(db, end, err);
    size_t count = 0;

    *entry_ended = false;
    if (status != ST_OK)
        return status;
    if (results == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory to score the entry");
    status = list_results(db, arena, end->entry_id, results, &count, err);
    if (status != ST_OK)
        return status;
    for (size_t i = 0; i < count; i++)
        if (!has_ended(&results[i]))
            return db_raise_entry(db, end->entry_id, err);
    *entry_ended = true;
    status = score_entry(db, arena, end, results, count, err);
    return status == ST_OK ? db_raise_entry(db, end->entry_id, err) : status;
}

/* What makes a finish the same as another: all that it says. */
static enum status hash_finish(const struct finish *finish, struct arena *arena,
                               unsigned char digest[SHA256_BYTES], struct error *err)
{
    const char *text =
        arena_printf(arena, "%" PRId64 "\n%.*s\n%.*s\n%.*s", finish->last_seq,
                     STR_ARG(finish->result), STR_ARG(finish->detail), STR_ARG(finish->plan));

    if (text == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory to finish the run");
    crypto_sha256(str_from_cstr(text), digest);
    return ST_OK;
}

static enum status check_finish(struct finish *finish, const struct attempt *attempt,
                                const unsigned char digest[SHA256_BYTES], bool *repeated,
                                struct error *err)
{
    enum status status;

    *repeated = attempt->has_finish && memcmp(digest, attempt->finish_sha256, SHA256_BYTES) == 0;
    if (*repeated)
        return ST_OK; /* the answer was lost on the wire */
    if (attempt->has_finish)
        return error_set_code(err, ST_CONFLICT, "finish-conflict", NULL, NULL,
                              "this attempt was finished otherwise");
    status = db_check_fence(attempt, err);
    if (status != ST_OK || finish->last_seq == attempt->last_seq)
        return status;
    finish->expected_seq = attempt->last_seq + 1;
    return error_set_code(
        err, ST_CONFLICT, "event-gap", "last_seq", "Send the events that are lacking first.",
        "last_seq is %" PRId64 ", stored are %" PRId64, finish->last_seq, attempt->last_seq);
}

/* Whether the target was reached is counted from the events, not claimed. */
static enum status judge_result(struct finish *finish, bool reached, const char **job_state,
                                struct error *err)
{
    *job_state = "done";
    if (str_eq(finish->result, STR("reached")) || str_eq(finish->result, STR("missed")))
        finish->run_state = reached ? "reached" : "missed";
    else if (str_eq(finish->result, STR("failed")))
        finish->run_state = *job_state = "failed";
    else if (str_eq(finish->result, STR("cancelled")))
        finish->run_state = *job_state = "cancelled";
    else
        return error_set(err, ST_INVALID, "/result",
                         "a result is reached, missed, failed or cancelled");
    return ST_OK;
}

static enum status close_attempt(struct db *db, const struct finish *finish, int64_t attempt_id,
                                 const unsigned char digest[SHA256_BYTES], struct error *err)
{
    struct query_run run = query_begin(db, STMT_FINISH_ATTEMPT, NULL);

    query_bind_i64(&run, attempt_id);
    query_bind_str(&run, finish->result);
    query_bind_str(&run, finish->detail);
    query_bind_str(&run, finish->plan);
    query_bind_blob(&run, digest, SHA256_BYTES);
    query_bind_i64(&run, db->now_ms);
    return query_done(&run, err);
}

static enum status end_run_and_job(struct db *db, const struct run_end *end, struct error *err)
{
    struct query_run run = query_begin(db, STMT_END_RUN, NULL);
    enum status status;

    query_bind_i64(&run, end->run_id);
    query_bind_text(&run, end->run_state);
    query_bind_text(&run, end->reason);
    query_bind_i64(&run, db->now_ms);
    status = query_done(&run, err);
    if (status != ST_OK)
        return status;
    run = query_begin(db, STMT_END_JOB, NULL);
    query_bind_i64(&run, end->job_id);
    query_bind_text(&run, end->job_state);
    query_bind_text(&run, end->reason);
    query_bind_i64(&run, db->now_ms);
    status = query_done(&run, err);
    if (status == ST_OK)
        status = db_note_run(db, end->run_id, err);
    return status == ST_OK ? db_note_job(db, end->job_id, err) : status;
}

static enum status list_results(struct db *db, struct arena *arena, int64_t entry_id,
                                struct result *results, size_t *count, struct error *err)
{
    struct query_run run = query_begin(db, STMT_LIST_ENTRY_RESULTS, arena);

    query_bind_i64(&run, entry_id);
    while (*count < ENTRY_RUNS_MAX && query_next(&run)) {
        struct result *result = &results[(*count)++];

        result->run_id = query_i64(&run);
        result->state = query_text(&run);
        result->tta_ns = query_opt(&run);
        result->wall_ns = query_opt(&run);
        result->epoch_text = query_text(&run);
        result->value_text = query_text(&run);
        result->views = query_opt(&run);
        result->agent_id = query_opt(&run);
    }
    return query_end(&run, err);
}

static bool has_ended(const struct result *result)
{
    static const char *const states[] = {"reached", "missed", "failed", "cancelled"};

    for (size_t i = 0; i < ARRAY_LEN(states); i++)
        if (strcmp(result->state, states[i]) == 0)
            return true;
    return false;
}

/* A run that failed or was cancelled after it had crossed counts as one that missed: otherwise breaking off
 * the bad ones would mend a median. */
static bool has_reached(const struct result *result)
{
    return strcmp(result->state, "reached") == 0 && result->tta_ns.has;
}

/* The score by the entry's rule, and the run that stands for it; NULL: there is none. */
static const struct result *find_score(const struct result *results, size_t count,
                                       enum task_score rule, int64_t *tta_ns)
{
    struct score_run runs[ENTRY_RUNS_MAX];
    struct score score;

    for (size_t i = 0; i < count; i++)
        runs[i] = (struct score_run){has_reached(&results[i]), results[i].tta_ns.value};
    score = score_runs(rule, runs, count);
    *tta_ns = score.tta_ns;
    return score.has ? &results[score.shown] : NULL;
}

static enum status score_entry(struct db *db, struct arena *arena, const struct run_end *end,
                               const struct result *results, size_t count, struct error *err)
{
    const struct task *task = task_find(db->tasks, str_from_cstr(end->task));
    const enum task_score rule = task == NULL ? TASK_SCORE_MEDIAN : task->score;
    int64_t tta_ns;
    const struct result *scored = find_score(results, count, rule, &tta_ns);
    const struct result none = {0}, *shown = scored == NULL ? &none : scored;
    struct figures figures = {.tta_ns = {scored != NULL, tta_ns}};
    struct query_run run;
    enum status status;

    if (scored != NULL && scored->agent_id.has) {
        run = query_begin(db, STMT_DESCRIBE_ENTRY, NULL);
        query_bind_i64(&run, end->entry_id);
        query_bind_opt(&run, scored->agent_id);
        status = query_done(&run, err);
        if (status == ST_OK)
            status = db_price_rented(db, arena,
                                     &(struct db_rented){.entry_id = end->entry_id,
                                                         .agent_id = scored->agent_id.value,
                                                         .run_id = {true, scored->run_id},
                                                         .has_tta = true,
                                                         .tta_ns = tta_ns},
                                     &figures.cost_pico, err);
        if (status != ST_OK)
            return status;
    }
    run = query_begin(db, STMT_SCORE_ENTRY, NULL);
    query_bind_i64(&run, end->entry_id);
    query_bind_i64(&run, scored == NULL ? results[0].run_id : scored->run_id);
    query_bind_opt(&run, figures.tta_ns);
    query_bind_opt(&run, shown->wall_ns);
    query_bind_text(&run, shown->epoch_text);
    query_bind_text(&run, shown->value_text);
    query_bind_opt(&run, shown->views);
    query_bind_opt(&run, figures.cost_pico);
    query_bind_text(&run, task_score_name(rule));
    status = query_done(&run, err);
    return status == ST_OK
               ? end_submission(db, arena, end, &figures,
                                scored == NULL ? miss_reason(results, count) : NULL, err)
               : status;
}

/* From the last run's end to the boards, or to where the entry is listed below them. */
static enum status end_submission(struct db *db, struct arena *arena, const struct run_end *end,
                                  const struct figures *figures, const char *miss,
                                  struct error *err)
{
    const struct task *task = task_find(db->tasks, str_from_cstr(end->task));
    const struct admission_subject subject = {.task = task, .figures = *figures, .is_late = true};
    struct admission admission = {.state = "accepted", .reason = "its task is gone"};
    enum status status;

    if (miss != NULL) { /* queued: all runs were cancelled before any began */
        status = db_move_jobs(db, arena, end->entry_id, "queued", "end", "not_eligible", miss, err);
        return status == ST_OK ? db_move_jobs(db, arena, end->entry_id, "running", "end",
                                              "not_eligible", miss, err)
                               : status;
    }
    if (task != NULL) {
        status = db_admit(db, arena, &subject, &admission, err);
        if (status != ST_OK)
            return status;
    }
    status =
        db_move_jobs(db, arena, end->entry_id, "running", "end", "scored", "all runs ended", err);
    return status == ST_OK ? db_move_jobs(db, arena, end->entry_id, "scored", "admit",
                                          admission.state, admission.reason, err)
                           : status;
}

static const char *miss_reason(const struct result *results, size_t count)
{
    if (count != 1)
        return "too many of its runs did not reach the target";
    if (strcmp(results[0].state, "missed") == 0)
        return "the target was not reached";
    return strcmp(results[0].state, "cancelled") == 0 ? "its run was cancelled" : "its run failed";
}
