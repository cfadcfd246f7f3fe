/* server/store/run_profile.c: what an agent measured of a run's training step, once for each attempt. */
#include <inttypes.h>

#include "server/store/read.h"
#include "server/store/store_internal.h"
#include "server/store/verbs.h"

/* *known: the same bytes are there. */
static enum status check_repeat(struct db *db, int64_t attempt_id,
                                const unsigned char digest[SHA256_BYTES], bool *known,
                                struct error *err)
{
    struct query_run run = query_begin(db, STMT_FIND_RUN_PROFILE, NULL);
    unsigned char stored[SHA256_BYTES] = {0};
    enum status status;

    *known = false;
    query_bind_i64(&run, attempt_id);
    status = query_row(&run, err);
    if (status == ST_OK)
        *known = query_digest(&run, stored);
    else if (status != ST_NOT_FOUND)
        return status;
    status = query_end(&run, err);
    if (status == ST_OK && *known && memcmp(stored, digest, sizeof stored) != 0)
        return error_set_code(err, ST_CONFLICT, "profile-conflict", NULL, NULL,
                              "this attempt has another profile already");
    return status;
}

enum status verb_put_profile(struct db *db, struct arena *arena, void *args, struct error *err)
{
    struct put_profile *put = args;
    unsigned char digest[SHA256_BYTES];
    struct attempt attempt = {0};
    struct query_run run;
    bool known = false;
    enum status status = db_find_attempt(db, arena, put->agent_id, put->fence, &attempt, err);

    if (status == ST_OK)
        status = db_check_fence(&attempt, err);
    if (status == ST_OK)
        status = db_renew_attempt(db, put->agent_id, &attempt, NULL, err);
    if (status != ST_OK)
        return status;
    put->run_id = attempt.run_id;
    crypto_sha256(put->bytes, digest);
    status = check_repeat(db, attempt.id, digest, &known, err);
    if (status != ST_OK || known)
        return status;
    run = query_begin(db, STMT_INSERT_RUN_PROFILE, NULL);
    query_bind_i64(&run, attempt.id);
    query_bind_i64(&run, attempt.run_id);
    query_bind_blob(&run, put->bytes.data, put->bytes.len);
    query_bind_blob(&run, digest, SHA256_BYTES);
    query_bind_i64(&run, db->now_ms);
    status = query_done(&run, err);
    return status == ST_OK ? db_note_run(db, attempt.run_id, err) : status;
}

enum status store_get_run_profile(struct store_reader *reader, struct arena *arena, int64_t run_id,
                                  struct str *bytes, struct error *err)
{
    struct query_run run = query_begin(&reader->db, STMT_GET_RUN_PROFILE, arena);
    enum status status;

    query_bind_i64(&run, run_id);
    status = query_row(&run, err);
    if (status == ST_NOT_FOUND) {
        (void)query_end(&run, err);
        return error_set_code(err, ST_NOT_FOUND, "no-profile", "run", NULL,
                              "run %" PRId64 " has no profile", run_id);
    }
    if (status != ST_OK)
        return status;
    *bytes = query_blob(&run);
    return query_end(&run, err);
}

enum status store_has_run_profile(struct store_reader *reader, int64_t run_id, bool *has,
                                  struct error *err)
{
    struct query_run run = query_begin(&reader->db, STMT_HAS_RUN_PROFILE, NULL);
    enum status status;

    query_bind_i64(&run, run_id);
    status = query_row(&run, err);
    *has = status == ST_OK;
    return status == ST_OK || status == ST_NOT_FOUND ? query_end(&run, err) : status;
}
