/* server/store/change.c: what a write tells the stream, the feed and the caches (store_internal.h). */
#include <inttypes.h>
#include <stdio.h>

#include "common/etag.h"
#include "server/store/store_internal.h"

enum status db_note_change(struct db *db, const char *topic, const char *kind, int64_t ref,
                           struct error *err)
{
    struct query_run run = query_begin(db, STMT_APPEND_CHANGE, NULL);
    enum status status;

    query_bind_text(&run, topic);
    query_bind_text(&run, kind);
    query_bind_i64(&run, ref);
    query_bind_i64(&run, db->now_ms);
    status = query_done(&run, err);
    return status == ST_OK ? db_raise_version(db, topic, err) : status;
}

enum status db_note_board(struct db *db, const char *task, int64_t entry_id, struct error *err)
{
    char topic[TOPIC_BYTES_MAX];
    enum status status;

    (void)snprintf(topic, sizeof topic, "board:%s", task);
    status = db_note_change(db, topic, "board", entry_id, err);
    return status == ST_OK ? db_raise_entry(db, entry_id, err) : status;
}

enum status db_note_submission(struct db *db, int64_t submission_id, const char *kind, int64_t ref,
                               struct error *err)
{
    char topic[TOPIC_BYTES_MAX];

    (void)snprintf(topic, sizeof topic, "submission:%" PRId64, submission_id);
    return db_note_change(db, topic, kind, ref, err);
}

enum status db_note_run(struct db *db, int64_t run_id, struct error *err)
{
    char topic[TOPIC_BYTES_MAX];

    (void)snprintf(topic, sizeof topic, "run:%" PRId64, run_id);
    return db_note_change(db, topic, "run", run_id, err);
}

enum status db_note_job(struct db *db, int64_t job_id, struct error *err)
{
    db->queue_changed = true;
    return db_note_change(db, "queue", "job", job_id, err);
}

enum status db_note_agent(struct db *db, int64_t agent_id, struct error *err)
{
    return db_note_change(db, "queue", "agent", agent_id, err);
}

enum status db_raise_version(struct db *db, const char *topic, struct error *err)
{
    struct query_run run = query_begin(db, STMT_RAISE_VERSION, NULL);

    query_bind_text(&run, topic);
    return query_done(&run, err);
}

enum status db_raise_entry(struct db *db, int64_t entry_id, struct error *err)
{
    char topic[TOPIC_BYTES_MAX];

    (void)snprintf(topic, sizeof topic, "entry:%" PRId64, entry_id);
    return db_raise_version(db, topic, err);
}

enum status db_check_if_match(struct db *db, const char *topic, const char *name,
                              struct str if_match, struct error *err)
{
    struct query_run run = query_begin(db, STMT_GET_VERSION, NULL);
    char etag[ETAG_BYTES];
    int64_t version = 0; /* never written */
    enum status status;

    query_bind_text(&run, topic);
    status = query_row(&run, err);
    if (status != ST_OK && status != ST_NOT_FOUND)
        return status;
    if (status == ST_OK)
        version = query_i64(&run);
    status = query_end(&run, err);
    if (status != ST_OK)
        return status;
    etag_format(etag, name, version);
    if (!etag_list_holds(if_match, etag, false))
        return error_set_code(err, ST_CONFLICT, "precondition-failed", "If-Match",
                              "GET it again, and change what it says now",
                              "it was changed since it was read");
    return ST_OK;
}
