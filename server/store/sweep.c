/* server/store/sweep.c: what time does: leases run out, old rows age, a restart gives its downtime back. */
#include <inttypes.h>
#include <stdio.h>

#include "server/store/store_internal.h"
#include "server/store/verbs.h"

enum {
    ALIVE_EVERY_MS = 5000,
    HOOKS_EVERY_MS = 60000,
    TOUCH_EVERY_MS = 60000,
    PRUNE_EVERY_MS = 3600000
};

#define CHANGES_KEPT_MS    (INT64_C(7) * 24 * 3600 * 1000)
#define DELIVERIES_KEPT_MS (INT64_C(30) * 24 * 3600 * 1000)
#define SESSIONS_KEPT_MS   (INT64_C(24) * 3600 * 1000) /* after they expired */

struct open_attempt {
    int64_t id, job_id, run_id, entry_id;
    bool cancel;
    const char *task;
};

static enum status mark_unreachable(struct db *db, struct arena *arena, int64_t *count,
                                    struct error *err);
static enum status reclaim(struct db *db, struct arena *arena, int64_t *count, struct error *err);
static enum status reclaim_one(struct db *db, struct arena *arena,
                               const struct open_attempt *attempt, struct error *err);
static enum status sweep_deadlines(struct db *db, struct arena *arena, int64_t *count,
                                   struct error *err);
static enum status set_attempt(struct db *db, int64_t id, const char *state, const char *reason,
                               bool ended, struct error *err);
static enum status set_run(struct db *db, int64_t id, const char *state, struct error *err);
static enum status read_alive(struct db *db, struct arena *arena, int64_t *alive_ms,
                              struct error *err);
static enum status write_alive(struct db *db, struct error *err);
static enum status touch_tokens(struct db *db, struct store *store, struct error *err);
static enum status prune(struct db *db, struct error *err);
static enum status run_one(struct db *db, enum stmt_id id, int64_t value, struct error *err);

enum status verb_start_server(struct db *db, struct arena *arena, void *args, struct error *err)
{
    struct start_server *start = args;
    int64_t alive_ms;
    enum status status = read_alive(db, arena, &alive_ms, err);

    if (status != ST_OK)
        return status;
    start->downtime_ms = alive_ms > 0 && db->now_ms > alive_ms ? db->now_ms - alive_ms : 0;
    status = run_one(db, STMT_EXTEND_LEASES, start->downtime_ms, err);
    start->lease_count = sqlite3_changes64(db->handle);
    return status == ST_OK ? write_alive(db, err) : status;
}

enum status verb_sweep(struct db *db, struct arena *arena, void *args, struct error *err)
{
    struct sweep *sweep = args;
    int64_t alive_ms;
    enum status status;

    sweep->unreachable_count = sweep->requeued_count = sweep->overdue_count = 0;
    status = mark_unreachable(db, arena, &sweep->unreachable_count, err);
    if (status == ST_OK)
        status = reclaim(db, arena, &sweep->requeued_count, err);
    if (status == ST_OK)
        status = sweep_deadlines(db, arena, &sweep->overdue_count, err);
    if (status == ST_OK)
        status = read_alive(db, arena, &alive_ms, err);
    if (status == ST_OK && db->now_ms - alive_ms >= ALIVE_EVERY_MS)
        status = write_alive(db, err);
    if (status == ST_OK && db->now_ms - db->touched_ms >= TOUCH_EVERY_MS)
        status = touch_tokens(db, sweep->store, err);
    if (status == ST_OK && db->now_ms - db->hooks_ms >= HOOKS_EVERY_MS)
        status = db_give_webhooks_up(db, arena, err);
    if (status == ST_OK && db->now_ms - db->pruned_ms >= PRUNE_EVERY_MS)
        status = prune(db, err);
    return status;
}

/* The agent may go on, and spool: only its job's state says that nothing is heard. */
static enum status mark_unreachable(struct db *db, struct arena *arena, int64_t *count,
                                    struct error *err)
{
    struct query_run run = query_begin(db, STMT_LIST_EXPIRED_ATTEMPTS, arena);
    struct open_attempt *attempts = NULL;
    size_t found = 0, capacity = 0;
    enum status status;

    query_bind_i64(&run, db->now_ms);
    while (query_next(&run)) {
        struct open_attempt attempt = {.id = query_i64(&run)};

        attempt.job_id = query_i64(&run);
        attempt.run_id = query_i64(&run);
        attempts = query_grow(&run, attempts, found, &capacity, sizeof attempt);
        if (attempts != NULL)
            attempts[found++] = attempt;
    }
    status = query_end(&run, err);
    for (size_t i = 0; attempts != NULL && i < found && status == ST_OK; i++) {
        status = set_attempt(db, attempts[i].id, "unreachable", "its lease ran out", false, err);
        if (status == ST_OK)
            status = set_run(db, attempts[i].run_id, "unreachable", err);
        if (status == ST_OK)
            status = db_note_job(db, attempts[i].job_id, err);
        (*count)++;
    }
    return status;
}

static enum status reclaim(struct db *db, struct arena *arena, int64_t *count, struct error *err)
{
    struct query_run run = query_begin(db, STMT_LIST_RECLAIMABLE_ATTEMPTS, arena);
    struct open_attempt *attempts = NULL;
    size_t found = 0, capacity = 0;
    enum status status;

    query_bind_i64(&run, db->now_ms);
    while (query_next(&run)) {
        struct open_attempt attempt = {.id = query_i64(&run)};

        attempt.job_id = query_i64(&run);
        attempt.run_id = query_i64(&run);
        attempt.entry_id = query_i64(&run);
        attempt.cancel = query_bool(&run);
        attempt.task = query_text(&run);
        attempts = query_grow(&run, attempts, found, &capacity, sizeof attempt);
        if (attempts != NULL)
            attempts[found++] = attempt;
    }
    status = query_end(&run, err);
    for (size_t i = 0; attempts != NULL && i < found && status == ST_OK; i++) {
        status = reclaim_one(db, arena, &attempts[i], err);
        (*count)++;
    }
    return status;
}

static enum status reclaim_one(struct db *db, struct arena *arena,
                               const struct open_attempt *attempt, struct error *err)
{
    const struct run_end end = {attempt->job_id,
                                attempt->run_id,
                                attempt->entry_id,
                                attempt->task,
                                "cancelled",
                                "cancelled",
                                "an operator cancelled it; its agent was not heard of again"};
    bool entry_ended;
    enum status status =
        set_attempt(db, attempt->id, "superseded", "its agent was not heard of again", true, err);

    if (status != ST_OK)
        return status;
    if (attempt->cancel)
        return db_end_run(db, arena, &end, &entry_ended, err);
    return db_requeue_job(db, arena, attempt->job_id, attempt->run_id, attempt->entry_id, err);
}

/* No state is silently stuck: what its submitter did not answer is withdrawn, what waits for others is marked and
 * told. */
static enum status sweep_deadlines(struct db *db, struct arena *arena, int64_t *count,
                                   struct error *err)
{
    struct query_run run = query_begin(db, STMT_LIST_OVERDUE, arena);
    struct move *moves = NULL;
    size_t capacity = 0, found = 0;
    enum status status;

    query_bind_i64(&run, db->now_ms);
    while (query_next(&run)) {
        struct move move = {.submission_id = query_i64(&run)};

        if (strcmp(query_text(&run), "changes_requested") == 0)
            move.action = "expire";
        move.reason = "its submitter did not answer in time";
        moves = query_grow(&run, moves, found, &capacity, sizeof move);
        if (moves != NULL)
            moves[found++] = move;
    }
    status = query_end(&run, err);
    for (size_t i = 0; moves != NULL && i < found && status == ST_OK; i++) {
        (*count)++;
        if (moves[i].action != NULL) {
            status = db_move_submission(db, arena, &moves[i], err);
            continue;
        }
        run = query_begin(db, STMT_SET_OVERDUE, NULL);
        query_bind_i64(&run, moves[i].submission_id);
        query_bind_i64(&run, db->now_ms);
        status = query_done(&run, err);
        if (status == ST_OK)
            status = db_note_submission(db, moves[i].submission_id, "overdue",
                                        moves[i].submission_id, err);
    }
    return status;
}

static enum status set_attempt(struct db *db, int64_t id, const char *state, const char *reason,
                               bool ended, struct error *err)
{
    struct query_run run = query_begin(db, STMT_SET_ATTEMPT_STATE, NULL);

    query_bind_i64(&run, id);
    query_bind_text(&run, state);
    query_bind_text(&run, reason);
    query_bind_opt(&run, (struct opt_i64){ended, db->now_ms});
    return query_done(&run, err);
}

static enum status set_run(struct db *db, int64_t id, const char *state, struct error *err)
{
    struct query_run run = query_begin(db, STMT_SET_RUN_STATE, NULL);
    enum status status;

    query_bind_i64(&run, id);
    query_bind_text(&run, state);
    status = query_done(&run, err);
    return status == ST_OK ? db_note_run(db, id, err) : status;
}

/* When a server last was alive: its own mark, or a later sign of life that it stored. 0: never. */
static enum status read_alive(struct db *db, struct arena *arena, int64_t *alive_ms,
                              struct error *err)
{
    struct query_run run = query_begin(db, STMT_GET_SETTING, arena);
    struct opt_i64 heartbeat = {0};
    enum status status;

    *alive_ms = 0;
    query_bind_text(&run, "alive_ms");
    status = query_row(&run, err);
    if (status == ST_OK && !str_parse_i64(str_from_cstr(query_text(&run)), alive_ms))
        *alive_ms = 0;
    if (status == ST_OK || status == ST_NOT_FOUND)
        status = query_end(&run, err);
    if (status != ST_OK)
        return status;
    run = query_begin(db, STMT_GET_LAST_HEARTBEAT, NULL);
    status = query_row(&run, err);
    if (status != ST_OK)
        return status;
    heartbeat = query_opt(&run);
    if (heartbeat.has && heartbeat.value > *alive_ms && *alive_ms > 0)
        *alive_ms = heartbeat.value;
    return query_end(&run, err);
}

static enum status write_alive(struct db *db, struct error *err)
{
    struct query_run run = query_begin(db, STMT_PUT_SETTING, NULL);
    char text[24];

    (void)snprintf(text, sizeof text, "%" PRId64, db->now_ms);
    query_bind_text(&run, "alive_ms");
    query_bind_text(&run, text);
    return query_done(&run, err);
}

static enum status touch_tokens(struct db *db, struct store *store, struct error *err)
{
    int64_t token_id, used_ms;
    enum status status = ST_OK;

    while (status == ST_OK && store_take_token_use(store, &token_id, &used_ms)) {
        struct query_run run = query_begin(db, STMT_TOUCH_TOKEN, NULL);

        query_bind_i64(&run, token_id);
        query_bind_i64(&run, used_ms);
        status = query_done(&run, err);
    }
    db->touched_ms = db->now_ms;
    return status;
}

static enum status prune(struct db *db, struct error *err)
{
    enum status status = run_one(db, STMT_DELETE_OLD_CHANGES, db->now_ms - CHANGES_KEPT_MS, err);

    db->pruned_ms = db->now_ms;
    if (status == ST_OK)
        status = run_one(db, STMT_DELETE_OLD_ANSWERS, db->now_ms - IDEMPOTENCY_KEPT_MS, err);
    if (status == ST_OK)
        status = run_one(db, STMT_DELETE_OLD_DELIVERIES, db->now_ms - DELIVERIES_KEPT_MS, err);
    return status == ST_OK
               ? run_one(db, STMT_DELETE_OLD_SESSIONS, db->now_ms - SESSIONS_KEPT_MS, err)
               : status;
}

static enum status run_one(struct db *db, enum stmt_id id, int64_t value, struct error *err)
{
    struct query_run run = query_begin(db, id, NULL);

    query_bind_i64(&run, value);
    return query_done(&run, err);
}
