/* server/store/agent.c: agents register and claim jobs. */
#include <inttypes.h>
#include <stdio.h>

#include "server/store/store_internal.h"
#include "server/store/verbs.h"

enum { FENCE_RANDOM_BYTES = 15, CLAIM_ID_BYTES_MAX = 64, AGENT_NAME_BYTES_MAX = 64 };

static enum status check_agent(struct db *db, struct arena *arena, int64_t id, bool *draining,
                               struct error *err);
static enum status repeat_claim(struct db *db, struct arena *arena, struct claim *claim,
                                bool *known, struct error *err);
static enum status take_job(struct db *db, struct arena *arena, struct claim *claim,
                            struct error *err);
static enum status begin_attempt(struct db *db, struct arena *arena, const struct claim *claim,
                                 int64_t entry_id, struct error *err);
static enum status run_pair(struct db *db, enum stmt_id id, int64_t a, int64_t b,
                            struct error *err);

enum status verb_register_agent(struct db *db, struct arena *arena, void *args, struct error *err)
{
    struct register_agent *agent = args;
    const struct new_token token = {
        .role = ROLE_AGENT, .name = agent->name, .created_by = {true, agent->owner_token_id}};
    struct query_run run;
    int64_t token_id;
    enum status status;

    if (agent->name.len == 0 || agent->name.len > AGENT_NAME_BYTES_MAX)
        return error_set(err, ST_INVALID, "name", "an agent's name has 1 to %d bytes",
                         AGENT_NAME_BYTES_MAX);
    status = db_insert_token(db, arena, &token, &token_id, &agent->token, err);
    if (status != ST_OK)
        return status;
    run = query_begin(db, STMT_INSERT_AGENT, arena);
    query_bind_str(&run, agent->name);
    query_bind_blob(&run, agent->public_key, sizeof agent->public_key);
    query_bind_i64(&run, agent->protocol);
    query_bind_text(&run, agent->build);
    query_bind_text(&run, agent->capabilities_json);
    query_bind_text(&run, agent->device_kind);
    query_bind_text(&run, agent->device_model);
    query_bind_i64(&run, agent->devices);
    query_bind_text(&run, agent->tags_json == NULL ? "[]" : agent->tags_json);
    query_bind_text(&run, agent->hardware);
    query_bind_text(&run, agent->framework);
    query_bind_text(&run, agent->instance);
    query_bind_text(&run, agent->cloud);
    query_bind_text(&run, agent->cost_per_hour_text);
    query_bind_i64(&run, token_id);
    query_bind_i64(&run, agent->owner_token_id);
    query_bind_i64(&run, db->now_ms);
    status = query_done(&run, err);
    if (status != ST_OK)
        return status;
    agent->agent_id = sqlite3_last_insert_rowid(db->handle);
    return db_note_agent(db, agent->agent_id, err);
}

enum status verb_claim(struct db *db, struct arena *arena, void *args, struct error *err)
{
    struct claim *claim = args;
    bool draining = false, known = false;
    enum status status;

    claim->found = false;
    if (claim->claim_id.len == 0 || claim->claim_id.len > CLAIM_ID_BYTES_MAX)
        return error_set(err, ST_INVALID, "claim_id", "a claim_id has 1 to %d bytes",
                         CLAIM_ID_BYTES_MAX);
    status = check_agent(db, arena, claim->agent_id, &draining, err);
    if (status == ST_OK)
        status = run_pair(db, STMT_TOUCH_AGENT, claim->agent_id, db->now_ms, err);
    if (status == ST_OK)
        status = repeat_claim(db, arena, claim, &known, err);
    if (status == ST_OK && !known && !draining)
        status = take_job(db, arena, claim, err);
    return status;
}

static enum status check_agent(struct db *db, struct arena *arena, int64_t id, bool *draining,
                               struct error *err)
{
    struct query_run run = query_begin(db, STMT_FIND_AGENT, arena);
    const char *state = NULL;
    enum status status;

    query_bind_i64(&run, id);
    status = query_row(&run, err);
    if (status == ST_NOT_FOUND) {
        (void)query_end(&run, err);
        return error_set_code(err, ST_NOT_FOUND, "agent-unknown", NULL, "Register afresh.",
                              "there is no agent %" PRId64, id);
    }
    if (status != ST_OK)
        return status;
    query_skip(&run);
    state = query_text(&run);
    status = query_end(&run, err);
    if (status != ST_OK)
        return status;
    if (strcmp(state, "revoked") == 0)
        return error_set_code(err, ST_DENIED, "agent-revoked", NULL, "Register afresh.",
                              "this agent was revoked");
    *draining = strcmp(state, "draining") == 0;
    return ST_OK;
}

/* The same claim again: the answer may have been lost on the wire. */
static enum status repeat_claim(struct db *db, struct arena *arena, struct claim *claim,
                                bool *known, struct error *err)
{
    struct query_run run = query_begin(db, STMT_FIND_CLAIM, arena);
    struct lease *lease = &claim->lease;
    struct attempt attempt = {0};
    enum status status;

    query_bind_i64(&run, claim->agent_id);
    query_bind_str(&run, claim->claim_id);
    status = query_row(&run, err);
    *known = status == ST_OK;
    if (status == ST_NOT_FOUND)
        return query_end(&run, err);
    if (status != ST_OK)
        return status;
    query_skip(&run);
    *lease = (struct lease){.fence = query_text(&run)};
    lease->job_id = query_i64(&run);
    lease->run_id = query_i64(&run);
    query_skip(&run); /* state and current attempt: db_find_attempt() has them */
    lease->resume_seq = query_i64(&run);
    query_skip(&run);
    lease->task = query_text(&run);
    lease->task_version = query_i64(&run);
    lease->workload = query_text(&run);
    lease->recipe = query_text(&run);
    lease->lease_ms = LEASE_MS;
    lease->heartbeat_ms = HEARTBEAT_MS;
    status = query_end(&run, err);
    if (status == ST_OK)
        status =
            db_find_attempt(db, arena, claim->agent_id, str_from_cstr(lease->fence), &attempt, err);
    if (status != ST_OK)
        return status;
    if (db_check_fence(&attempt, NULL) != ST_OK)
        return error_set_code(err, ST_CONFLICT, "claim-used", "claim_id", "Use a new claim_id.",
                              "the lease of this claim_id has ended: it is %s", attempt.state);
    claim->found = true;
    return db_renew_attempt(db, claim->agent_id, &attempt, NULL, err);
}

static enum status take_job(struct db *db, struct arena *arena, struct claim *claim,
                            struct error *err)
{
    struct query_run run = query_begin(db, STMT_FIND_JOB_FOR_AGENT, arena);
    unsigned char random[FENCE_RANDOM_BYTES];
    struct lease *lease = &claim->lease;
    char fence[FENCE_BYTES] = "at_";
    int64_t entry_id;
    enum status status;

    query_bind_i64(&run, claim->agent_id);
    status = query_row(&run, err);
    if (status == ST_NOT_FOUND)
        return query_end(&run, err);
    if (status != ST_OK)
        return status;
    *lease = (struct lease){.job_id = query_i64(&run)};
    lease->run_id = query_i64(&run);
    entry_id = query_i64(&run);
    lease->task = query_text(&run);
    lease->task_version = query_i64(&run);
    lease->workload = query_text(&run);
    lease->recipe = query_text(&run);
    lease->lease_ms = LEASE_MS;
    lease->heartbeat_ms = HEARTBEAT_MS;
    status = query_end(&run, err);
    if (status != ST_OK)
        return status;
    crypto_random(random, sizeof random);
    crypto_base64url(random, sizeof random, fence + 3);
    lease->fence = arena_copy(arena, str_from_cstr(fence));
    if (lease->fence == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for the lease");
    claim->found = true;
    return begin_attempt(db, arena, claim, entry_id, err);
}

static enum status begin_attempt(struct db *db, struct arena *arena, const struct claim *claim,
                                 int64_t entry_id, struct error *err)
{
    const struct lease *lease = &claim->lease;
    struct query_run run = query_begin(db, STMT_INSERT_ATTEMPT, arena);
    struct opt_i64 cost; /* none before it has a time */
    int64_t attempt_id;
    enum status status;

    query_bind_text(&run, lease->fence);
    query_bind_i64(&run, lease->job_id);
    query_bind_i64(&run, lease->run_id);
    query_bind_i64(&run, claim->agent_id);
    query_bind_str(&run, claim->claim_id);
    query_bind_i64(&run, db->now_ms);
    query_bind_i64(&run, db->now_ms + LEASE_MS);
    status = query_done(&run, err);
    attempt_id = sqlite3_last_insert_rowid(db->handle);
    if (status == ST_OK)
        status = run_pair(db, STMT_LEASE_JOB, lease->job_id, attempt_id, err);
    if (status == ST_OK)
        status = run_pair(db, STMT_ASSIGN_RUN, lease->run_id, attempt_id, err);
    if (status == ST_OK)
        status = run_pair(db, STMT_DESCRIBE_ENTRY, entry_id, claim->agent_id, err);
    if (status == ST_OK)
        status = db_price_rented(
            db, arena, &(struct db_rented){.entry_id = entry_id, .agent_id = claim->agent_id},
            &cost, err);
    if (status != ST_OK)
        return status;
    status =
        db_move_jobs(db, arena, entry_id, "queued", "begin", NULL, "its runs have not ended", err);
    if (status == ST_OK)
        status = db_note_job(db, lease->job_id, err);
    if (status == ST_OK)
        status = db_note_run(db, lease->run_id, err);
    if (status == ST_OK)
        status = db_note_agent(db, claim->agent_id, err);
    return status == ST_OK ? db_raise_entry(db, entry_id, err) : status;
}

static enum status run_pair(struct db *db, enum stmt_id id, int64_t a, int64_t b, struct error *err)
{
    struct query_run run = query_begin(db, id, NULL);

    query_bind_i64(&run, a);
    query_bind_i64(&run, b);
    return query_done(&run, err);
}
