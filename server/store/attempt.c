/* server/store/attempt.c: what an agent says about the attempt it holds: that it lives, that it gives it back.
 *
 *   leased <-> unreachable --reclaim_after--> superseded       (sweep.c)
 *   leased --finish--> finished, --release--> released         every other message then gets 409
 *
 * The fence is checked here, in the transaction of what it guards. */
#include "server/store/store_internal.h"
#include "server/store/verbs.h"

static enum status set_run_state(struct db *db, int64_t run_id, const char *state,
                                 struct error *err);

enum status db_find_attempt(struct db *db, struct arena *arena, int64_t agent_id, struct str fence,
                            struct attempt *attempt, struct error *err)
{
    struct query_run run = query_begin(db, STMT_FIND_ATTEMPT, arena);
    enum status status;

    *attempt = (struct attempt){.state = "", .job_state = "", .run_state = "", .task = ""};
    query_bind_str(&run, fence);
    query_bind_i64(&run, agent_id);
    status = query_row(&run, err);
    if (status == ST_NOT_FOUND) {
        (void)query_end(&run, err);
        return error_set_code(err, ST_NOT_FOUND, "attempt-unknown", NULL, NULL,
                              "this agent has no such attempt");
    }
    if (status != ST_OK)
        return status;
    attempt->id = query_i64(&run);
    attempt->job_id = query_i64(&run);
    attempt->run_id = query_i64(&run);
    attempt->state = query_text(&run);
    attempt->last_seq = query_i64(&run);
    attempt->started_ms = query_opt(&run);
    attempt->has_finish = query_digest(&run, attempt->finish_sha256);
    attempt->job_attempt_id = query_opt(&run);
    attempt->job_state = query_text(&run);
    attempt->cancel = query_bool(&run);
    attempt->task = query_text(&run);
    attempt->entry_id = query_i64(&run);
    attempt->seed = query_i64(&run);
    attempt->run_state = query_text(&run);
    attempt->tta_ns = query_opt(&run);
    return query_end(&run, err);
}

enum status db_check_fence(const struct attempt *attempt, struct error *err)
{
    const bool current =
        attempt->job_attempt_id.has && attempt->job_attempt_id.value == attempt->id;
    const bool open =
        strcmp(attempt->state, "leased") == 0 || strcmp(attempt->state, "unreachable") == 0;

    if (current && open)
        return ST_OK;
    return error_set_code(
        err, ST_CONFLICT, "attempt-superseded", NULL, "Stop the run; keep its spool.",
        "this attempt is not its job's current one any more: it is %s", attempt->state);
}

enum status db_renew_attempt(struct db *db, int64_t agent_id, const struct attempt *attempt,
                             const char *phase, struct error *err)
{
    struct query_run run = query_begin(db, STMT_RENEW_ATTEMPT, NULL);
    enum status status;

    query_bind_i64(&run, attempt->id);
    query_bind_i64(&run, db->now_ms + LEASE_MS);
    query_bind_i64(&run, db->now_ms);
    query_bind_text(&run, phase);
    status = query_done(&run, err);
    if (status != ST_OK)
        return status;
    run = query_begin(db, STMT_TOUCH_AGENT, NULL);
    query_bind_i64(&run, agent_id);
    query_bind_i64(&run, db->now_ms);
    status = query_done(&run, err);
    if (status != ST_OK || strcmp(attempt->state, "unreachable") != 0)
        return status;
    status =
        set_run_state(db, attempt->run_id, attempt->started_ms.has ? "running" : "queued", err);
    return status == ST_OK ? db_note_job(db, attempt->job_id, err) : status;
}

enum status verb_heartbeat(struct db *db, struct arena *arena, void *args, struct error *err)
{
    struct attempt_heartbeat *beat = args;
    struct attempt attempt = {0};
    const char *phase = arena_copy(arena, beat->phase);
    enum status status = db_find_attempt(db, arena, beat->agent_id, beat->fence, &attempt, err);

    if (phase == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for the heartbeat");
    if (status == ST_OK)
        status = db_check_fence(&attempt, err);
    if (status == ST_OK)
        status = db_renew_attempt(db, beat->agent_id, &attempt, phase, err);
    if (status != ST_OK)
        return status;
    beat->lease_ms = LEASE_MS;
    beat->heartbeat_ms = HEARTBEAT_MS;
    beat->cancel = attempt.cancel;
    return ST_OK;
}

enum status verb_release(struct db *db, struct arena *arena, void *args, struct error *err)
{
    struct release *release = args;
    struct attempt attempt = {0};
    struct query_run run;
    bool entry_ended;
    enum status status =
        db_find_attempt(db, arena, release->agent_id, release->fence, &attempt, err);

    if (status != ST_OK)
        return status;
    release->job_id = attempt.job_id;
    release->job_state = attempt.job_state;
    if (strcmp(attempt.state, "released") == 0)
        return ST_OK;
    status = db_check_fence(&attempt, err);
    if (status != ST_OK)
        return status;
    run = query_begin(db, STMT_SET_ATTEMPT_STATE, arena);
    query_bind_i64(&run, attempt.id);
    query_bind_text(&run, "released");
    query_bind_str(&run, release->reason);
    query_bind_i64(&run, db->now_ms);
    status = query_done(&run, err);
    if (status != ST_OK)
        return status;
    if (attempt.cancel) {
        const struct run_end end = {
            attempt.job_id, attempt.run_id, attempt.entry_id,          attempt.task,
            "cancelled",    "cancelled",    "an operator cancelled it"};

        release->job_state = "cancelled";
        return db_end_run(db, arena, &end, &entry_ended, err);
    }
    release->job_state = "queued";
    return db_requeue_job(db, arena, attempt.job_id, attempt.run_id, attempt.entry_id, err);
}

static enum status set_run_state(struct db *db, int64_t run_id, const char *state,
                                 struct error *err)
{
    struct query_run run = query_begin(db, STMT_SET_RUN_STATE, NULL);
    enum status status;

    query_bind_i64(&run, run_id);
    query_bind_text(&run, state);
    status = query_done(&run, err);
    return status == ST_OK ? db_note_run(db, run_id, err) : status;
}
