/* server/store/comment.c: threads of comments on submissions. What was said is never changed; a thread is closed and
 * opened again. */
#include <inttypes.h>
#include <stdio.h>

#include "server/store/store_internal.h"
#include "server/store/verbs.h"

/* What a verb needs to know of a comment that is there. */
struct comment_row {
    int64_t submission_id, token_id;
    struct opt_i64 thread_id, resolved_ms, owner_id;
};

static enum status find_comment(struct db *db, int64_t id, struct comment_row *row,
                                struct error *err);

enum status verb_post_comment(struct db *db, struct arena *arena, void *args, struct error *err)
{
    struct post_comment *comment = args;
    struct comment_row begun;
    struct subject subject;
    struct query_run run;
    enum status status = db_find_subject(db, arena, comment->submission_id, &subject, err);

    if (status == ST_OK && comment->thread.has) {
        status = find_comment(db, comment->thread.value, &begun, err);
        if (status == ST_NOT_FOUND ||
            (status == ST_OK && (begun.submission_id != subject.id || begun.thread_id.has)))
            return error_set_code(err, ST_INVALID, "unknown_thread", "/thread",
                                  "give the comment that began the thread",
                                  "%" PRId64 " began no thread of submission %" PRId64,
                                  comment->thread.value, subject.id);
    }
    if (status != ST_OK)
        return status;
    run = query_begin(db, STMT_INSERT_COMMENT, NULL);
    query_bind_i64(&run, subject.id);
    query_bind_opt(&run, comment->thread);
    query_bind_i64(&run, comment->by.token_id);
    query_bind_i64(&run, db->now_ms);
    query_bind_text(&run, comment->file);
    query_bind_opt(&run, comment->line);
    query_bind_text(&run, comment->text);
    status = query_done(&run, err);
    comment->id = sqlite3_last_insert_rowid(db->handle);
    comment->at_ms = db->now_ms;
    return status == ST_OK ? db_note_submission(db, subject.id, "comment", comment->id, err)
                           : status;
}

enum status verb_resolve_comment(struct db *db, struct arena *arena, void *args, struct error *err)
{
    const struct resolve_comment *resolve = args;
    struct comment_row row;
    struct query_run run;
    enum status status = find_comment(db, resolve->comment_id, &row, err);

    (void)arena;
    if (status == ST_NOT_FOUND ||
        (status == ST_OK && (row.submission_id != resolve->submission_id || row.thread_id.has)))
        return error_set(err, ST_NOT_FOUND, "comment", "%" PRId64 " began no thread here",
                         resolve->comment_id);
    if (status != ST_OK)
        return status;
    if ((resolve->by.scopes & SCOPE_REVIEW) == 0 && row.token_id != resolve->by.token_id &&
        !(row.owner_id.has && row.owner_id.value == resolve->by.token_id))
        return error_set_code(err, ST_DENIED, "not-owner", NULL, NULL,
                              "a thread is closed by who began it, by the submission's owner, or "
                              "with the scope review");
    if (row.resolved_ms.has == resolve->resolved)
        return ST_OK;
    run = query_begin(db, STMT_RESOLVE_COMMENT, NULL);
    query_bind_i64(&run, resolve->comment_id);
    query_bind_opt(&run, (struct opt_i64){resolve->resolved, db->now_ms});
    query_bind_opt(&run, (struct opt_i64){resolve->resolved, resolve->by.token_id});
    status = query_done(&run, err);
    return status == ST_OK
               ? db_note_submission(db, resolve->submission_id, "comment", resolve->comment_id, err)
               : status;
}

/* ST_NOT_FOUND: silently. */
static enum status find_comment(struct db *db, int64_t id, struct comment_row *row,
                                struct error *err)
{
    struct query_run run = query_begin(db, STMT_FIND_COMMENT, NULL);
    enum status found, status;

    *row = (struct comment_row){0};
    query_bind_i64(&run, id);
    found = query_row(&run, err);
    if (found == ST_OK) {
        row->submission_id = query_i64(&run);
        row->thread_id = query_opt(&run);
        row->token_id = query_i64(&run);
        row->resolved_ms = query_opt(&run);
        row->owner_id = query_opt(&run);
    } else if (found != ST_NOT_FOUND) {
        return found;
    }
    status = query_end(&run, err);
    return status == ST_OK ? found : status;
}
