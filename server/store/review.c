/* server/store/review.c: moves submissions from state to state. Which moves there are stands in the table
 * submission_transition (schema/migrations/0002_service.sql) and nowhere else. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "common/clock.h"
#include "server/store/store_internal.h"
#include "server/store/verbs.h"

#define WORDS_BYTES 160

static bool is_seen_on_boards(const char *state);
static enum status check_owner(const struct subject *subject, const struct mover *by,
                               struct error *err);
static enum status check_impartial(const struct subject *subject, const struct mover *by,
                                   struct error *err);
static enum status refuse_action(int64_t submission_id, const char *from, const char *action,
                                 const char *allowed, struct error *err);
static enum status check_identity(struct db *db, const struct subject *subject, struct error *err);
static enum status write_state(struct db *db, struct arena *arena, const struct subject *subject,
                               const char *to, const char *reason, struct error *err);
static const char *entry_reason(struct arena *arena, const char *state, const char *reason);
static enum status move_entry(struct db *db, struct arena *arena, const struct subject *subject,
                              const char *to, struct error *err);
static enum status accept_entry(struct db *db, int64_t entry_id, struct error *err);
static enum status give_place_back(struct db *db, struct arena *arena,
                                   const struct subject *subject, struct error *err);
static enum status set_superseded(struct db *db, int64_t entry_id, struct opt_i64 by,
                                  struct error *err);
static enum status find_pair(struct query_run *run, struct opt_i64 *entry_id,
                             struct opt_i64 *submission_id, struct error *err);
static enum status stop_jobs(struct db *db, struct arena *arena, const struct subject *subject,
                             struct error *err);

enum status verb_review(struct db *db, struct arena *arena, void *args, struct error *err)
{
    const struct review *review = args;
    const struct move move = {.submission_id = review->submission_id,
                              .action = review->action,
                              .reason = review->reason,
                              .by = &review->by};

    return db_move_submission(db, arena, &move, err);
}

// NOLINTNEXTLINE(misc-no-recursion): a move may move one other entry of the lineage, and that no further
enum status db_move_submission(struct db *db, struct arena *arena, const struct move *move,
                               struct error *err)
{
    const char *to = move->to, *scope = "";
    struct subject subject;
    enum status status = db_find_subject(db, arena, move->submission_id, &subject, err);

    if (status == ST_OK)
        status = db_find_transition(db, arena, subject.id, subject.state, move->action, &to, &scope,
                                    err);
    if (status == ST_OK)
        status = db_check_mover(&subject, scope, move->by, err);
    assert(status != ST_OK || to != NULL); /* the row of the table names it */
    if (status == ST_OK && strcmp(subject.state, "rejected") == 0)
        status = check_identity(db, &subject, err); /* it held neither name nor content */
    if (status == ST_OK)
        status = write_state(db, arena, &subject, to, move->reason, err);
    if (status == ST_OK)
        status = db_append_event(
            db, subject.id,
            (struct opt_i64){move->by != NULL, move->by == NULL ? 0 : move->by->token_id},
            subject.state, move->action, to, move->reason, err);
    if (status == ST_OK)
        status = move_entry(db, arena, &subject, to, err);
    if (status == ST_OK)
        status = db_note_submission(db, subject.id, "state", subject.id, err);
    if (status != ST_OK)
        return status;
    return is_seen_on_boards(to) ? db_note_board(db, subject.task, subject.entry_id, err)
                                 : db_raise_entry(db, subject.entry_id, err);
}

/* While its runs are made, a board says the same of it: they have not ended. */
static bool is_seen_on_boards(const char *state)
{
    return strcmp(state, "queued") != 0 && strcmp(state, "running") != 0 &&
           strcmp(state, "scored") != 0;
}

enum status db_find_subject(struct db *db, struct arena *arena, int64_t submission_id,
                            struct subject *subject, struct error *err)
{
    struct query_run run = query_begin(db, STMT_FIND_SUBJECT, arena);
    enum status status;

    *subject = (struct subject){.task = "", .state = "", .kind = "", .entry_name = ""};
    query_bind_i64(&run, submission_id);
    status = query_row(&run, err);
    if (status == ST_NOT_FOUND) {
        (void)query_end(&run, err);
        return error_set(err, ST_NOT_FOUND, "submission", "there is no submission %" PRId64,
                         submission_id);
    }
    if (status != ST_OK)
        return status;
    subject->id = query_i64(&run);
    subject->task = query_text(&run);
    subject->state = query_text(&run);
    subject->token_id = query_opt(&run);
    subject->kind = query_text(&run);
    subject->lineage_id = query_i64(&run);
    subject->revision = query_i64(&run);
    (void)query_digest(&run, subject->content_sha256);
    subject->entry_id = query_i64(&run);
    subject->entry_name = query_text(&run);
    subject->entry_lineage_id = query_i64(&run);
    subject->supersedes_id = query_opt(&run);
    subject->figures.tta_ns = query_opt(&run);
    subject->figures.cost_pico = query_opt(&run);
    subject->figures.latency_ns = query_opt(&run);
    subject->figures.inference_cost_pico = query_opt(&run);
    subject->figures.energy_uj = query_opt(&run);
    return query_end(&run, err);
}

enum status db_find_transition(struct db *db, struct arena *arena, int64_t submission_id,
                               const char *from, const char *action, const char **to,
                               const char **scope, struct error *err)
{
    struct query_run run = query_begin(db, STMT_LIST_TRANSITIONS, arena);
    const char *wanted = *to;
    char allowed[WORDS_BYTES] = "";
    bool found = false;
    enum status status;

    query_bind_text(&run, from);
    while (!found && query_next(&run)) {
        const char *name = query_text(&run), *state = query_text(&run), *needs = query_text(&run);
        const size_t used = strlen(allowed);

        found = strcmp(name, action) == 0 && (wanted == NULL || strcmp(wanted, state) == 0);
        if (found) {
            *to = state;
            *scope = needs;
        } else if (strcmp(needs, "server") != 0) {
            (void)snprintf(allowed + used, sizeof allowed - used, "%s%s", used == 0 ? "" : ", ",
                           name);
        }
    }
    status = query_end(&run, err);
    if (status != ST_OK || found)
        return status;
    return refuse_action(submission_id, from, action, allowed, err);
}

static enum status refuse_action(int64_t submission_id, const char *from, const char *action,
                                 const char *allowed, struct error *err)
{
    char hint[WORDS_BYTES + 32] = "Nothing can be done to it any more.";

    if (allowed[0] != '\0')
        (void)snprintf(hint, sizeof hint, "What can be done to it: %s.", allowed);
    return error_set_code(err, ST_CONFLICT, "illegal-transition", NULL, hint,
                          "submission %" PRId64 " is %s, from where there is no %s", submission_id,
                          from, action);
}

enum status db_check_mover(const struct subject *subject, const char *scope, const struct mover *by,
                           struct error *err)
{
    if (by == NULL)
        return ST_OK;
    if (strcmp(scope, "own") == 0)
        return check_owner(subject, by, err);
    if (strcmp(scope, "review") == 0 && (by->scopes & SCOPE_REVIEW) != 0)
        return check_impartial(subject, by, err);
    if (strcmp(scope, "review") == 0)
        return error_set_code(err, ST_DENIED, "scope-missing", NULL, NULL,
                              "this needs a token with the scope review");
    return error_set_code(err, ST_DENIED, "server-only", NULL, NULL,
                          "the server alone takes this step");
}

/* What nobody here owns, published history, is in the hands of those who review beside what the step itself needs. */
static enum status check_owner(const struct subject *subject, const struct mover *by,
                               struct error *err)
{
    if (subject->token_id.has ? subject->token_id.value == by->token_id
                              : (by->scopes & SCOPE_REVIEW) != 0)
        return ST_OK;
    return error_set_code(err, ST_DENIED, "not-owner", NULL,
                          subject->token_id.has
                              ? "Use the token that it was sent with, or ask a reviewer."
                              : "Ask an admin, or a reviewer to decide on it.",
                          "submission %" PRId64 " is %s", subject->id,
                          subject->token_id.has ? "another's" : "published history");
}

/* Nobody judges what the same token sent, whatever its role. */
static enum status check_impartial(const struct subject *subject, const struct mover *by,
                                   struct error *err)
{
    if (!subject->token_id.has || subject->token_id.value != by->token_id)
        return ST_OK;
    return error_set_code(err, ST_DENIED, "own-submission", NULL,
                          "Its owner may withdraw or revise it.",
                          "submission %" PRId64 " was sent with this token; another reviewer or "
                          "admin decides on it",
                          subject->id);
}

enum status db_append_event(struct db *db, int64_t submission_id, struct opt_i64 token_id,
                            const char *from, const char *action, const char *to,
                            const char *reason, struct error *err)
{
    struct query_run run = query_begin(db, STMT_INSERT_SUBMISSION_EVENT, NULL);

    query_bind_i64(&run, submission_id);
    query_bind_i64(&run, db->now_ms);
    query_bind_opt(&run, token_id);
    query_bind_text(&run, from);
    query_bind_text(&run, to);
    query_bind_text(&run, reason);
    query_bind_text(&run, action);
    return query_done(&run, err);
}

/* Others may have sent the same files or taken the name since. */
static enum status check_identity(struct db *db, const struct subject *subject, struct error *err)
{
    struct query_run run = query_begin(db, STMT_FIND_CONTENT, NULL);
    int64_t other = 0;
    enum status status;

    query_bind_blob(&run, subject->content_sha256, SHA256_BYTES);
    status = query_row(&run, err);
    if (status == ST_OK)
        other = query_i64(&run);
    if (status == ST_OK || status == ST_NOT_FOUND)
        status = query_end(&run, err);
    if (status == ST_OK && other != 0)
        return error_set_code(err, ST_CONFLICT, "duplicate", NULL, NULL,
                              "submission %" PRId64 " has the same files since", other);
    if (status != ST_OK)
        return status;
    run = query_begin(db, STMT_FIND_NAME, NULL);
    query_bind_text(&run, subject->task);
    query_bind_text(&run, subject->entry_name);
    query_bind_i64(&run, subject->entry_lineage_id);
    status = query_row(&run, err);
    if (status == ST_OK)
        other = query_i64(&run);
    if (status == ST_OK || status == ST_NOT_FOUND)
        status = query_end(&run, err);
    if (status == ST_OK && other != 0)
        return error_set_code(err, ST_CONFLICT, "name-taken", "name", NULL,
                              "entry %" PRId64 " has the name %s since", other,
                              subject->entry_name);
    return status;
}

static enum status write_state(struct db *db, struct arena *arena, const struct subject *subject,
                               const char *to, const char *reason, struct error *err)
{
    const char *shown = entry_reason(arena, to, reason);
    struct query_run run = query_begin(db, STMT_SET_SUBMISSION_STATE, NULL);
    enum status status;

    if (shown == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for a reason");
    query_bind_i64(&run, subject->id);
    query_bind_text(&run, to);
    query_bind_text(&run, reason);
    query_bind_i64(&run, db->now_ms);
    status = query_done(&run, err);
    if (status != ST_OK)
        return status;
    run = query_begin(db, STMT_SET_ENTRY_STATE, NULL);
    query_bind_i64(&run, subject->entry_id);
    query_bind_text(&run, to);
    query_bind_text(&run, shown);
    return query_done(&run, err);
}

/* Why it is not ranked, as the list below a board says it. */
static const char *entry_reason(struct arena *arena, const char *state, const char *reason)
{
    static const struct {
        const char *state, *words; /* NULL: the reason alone */
        bool with_reason;
    } rows[] = {
        {"accepted", "", false},
        {"in_review", "it waits for a reviewer", false},
        {"changes_requested", "changes were requested", true},
        {"rejected", "it was rejected", true},
        {"disqualified", "it was disqualified", true},
        {"withdrawn", "it was withdrawn", true},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (strcmp(rows[i].state, state) == 0)
            return rows[i].with_reason ? arena_printf(arena, "%s: %s", rows[i].words, reason)
                                       : rows[i].words;
    return reason;
}

// NOLINTNEXTLINE(misc-no-recursion): a move may move one other entry of the lineage, and that no further
static enum status move_entry(struct db *db, struct arena *arena, const struct subject *subject,
                              const char *to, struct error *err)
{
    const bool stood = strcmp(subject->state, "accepted") == 0;
    const bool stands = strcmp(to, "accepted") == 0, left = strcmp(to, "withdrawn") == 0;
    enum status status = ST_OK;

    if (stands) {
        status = accept_entry(db, subject->entry_id, err);
        if (status == ST_OK)
            status = set_superseded(db, subject->entry_id, (struct opt_i64){0}, err);
        return status == ST_OK ? db_take_place(db, arena, subject->entry_id, subject->entry_name,
                                               subject->entry_lineage_id, err)
                               : status;
    }
    if (stood)
        status = db_end_standing(db, subject->entry_id, err);
    if (status == ST_OK && stood && strcmp(to, "superseded") != 0)
        status = give_place_back(db, arena, subject, err);
    if (status == ST_OK && left && strcmp(subject->state, "superseded") == 0) {
        struct query_run run = query_begin(db, STMT_PASS_FORMERS_ON, NULL);

        query_bind_i64(&run, subject->entry_id);
        status = query_done(&run, err);
    }
    if (status == ST_OK && left && strcmp(subject->kind, "job") == 0)
        status = stop_jobs(db, arena, subject, err);
    return status;
}

static enum status accept_entry(struct db *db, int64_t entry_id, struct error *err)
{
    struct query_run run = query_begin(db, STMT_SET_ENTRY_ACCEPTED, NULL);
    char date[CLOCK_TEXT_BYTES];
    enum status status;

    clock_format_date(db->now_ms, date);
    query_bind_i64(&run, entry_id);
    query_bind_text(&run, date);
    query_bind_i64(&run, db->now_ms);
    status = query_done(&run, err);
    return status == ST_OK ? db_begin_standing(db, entry_id, err) : status;
}

// NOLINTNEXTLINE(misc-no-recursion): a move may move one other entry of the lineage, and that no further
enum status db_take_place(struct db *db, struct arena *arena, int64_t entry_id, const char *name,
                          int64_t lineage_id, struct error *err)
{
    struct query_run run = query_begin(db, STMT_FIND_STANDING, NULL);
    struct move move = {.action = "supersede"};
    struct opt_i64 former_id, submission_id;
    enum status status;

    query_bind_i64(&run, lineage_id);
    query_bind_i64(&run, entry_id);
    status = find_pair(&run, &former_id, &submission_id, err);
    if (status != ST_OK || !former_id.has)
        return status;
    move.submission_id = submission_id.value;
    move.reason = arena_printf(arena, "%s (entry %" PRId64 ") stands in its place", name, entry_id);
    if (move.reason == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for a reason");
    status = db_move_submission(db, arena, &move, err);
    return status == ST_OK
               ? set_superseded(db, former_id.value, (struct opt_i64){true, entry_id}, err)
               : status;
}

/* The one whose place it took comes back by itself. */
// NOLINTNEXTLINE(misc-no-recursion): a move may move one other entry of the lineage, and that no further
static enum status give_place_back(struct db *db, struct arena *arena,
                                   const struct subject *subject, struct error *err)
{
    struct query_run run = query_begin(db, STMT_FIND_FORMER, NULL);
    struct move move = {.action = "restore"};
    struct opt_i64 former_id, submission_id;
    enum status status;

    query_bind_i64(&run, subject->entry_id);
    status = find_pair(&run, &former_id, &submission_id, err);
    if (status != ST_OK || !former_id.has)
        return status;
    move.submission_id = submission_id.value;
    move.reason = arena_printf(arena, "%s (entry %" PRId64 ") no longer stands in its place",
                               subject->entry_name, subject->entry_id);
    if (move.reason == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for a reason");
    return db_move_submission(db, arena, &move, err);
}

static enum status set_superseded(struct db *db, int64_t entry_id, struct opt_i64 by,
                                  struct error *err)
{
    struct query_run run = query_begin(db, STMT_SET_ENTRY_SUPERSEDED, NULL);

    query_bind_i64(&run, entry_id);
    query_bind_opt(&run, by);
    return query_done(&run, err);
}

/* An entry and its submission; neither without a row. */
static enum status find_pair(struct query_run *run, struct opt_i64 *entry_id,
                             struct opt_i64 *submission_id, struct error *err)
{
    enum status status = query_row(run, err);

    *entry_id = *submission_id = (struct opt_i64){0};
    if (status == ST_OK) {
        *entry_id = query_opt(run);
        *submission_id = query_opt(run);
    }
    return status == ST_OK || status == ST_NOT_FOUND ? query_end(run, err) : status;
}

/* A withdrawn submission of jobs: those that wait end, those at work are told to stop. */
static enum status stop_jobs(struct db *db, struct arena *arena, const struct subject *subject,
                             struct error *err)
{
    struct query_run run = query_begin(db, STMT_LIST_OPEN_JOBS, arena);
    int64_t *jobs = NULL;
    size_t count = 0, capacity = 0;
    enum status status;

    query_bind_i64(&run, subject->entry_id);
    while (query_next(&run)) {
        const int64_t id = query_i64(&run);

        jobs = query_grow(&run, jobs, count, &capacity, sizeof *jobs);
        if (jobs != NULL)
            jobs[count++] = id;
    }
    status = query_end(&run, err);
    for (size_t i = 0; jobs != NULL && i < count && status == ST_OK; i++) {
        struct cancel_job cancel = {.job_id = jobs[i]};

        status = verb_cancel_job(db, arena, &cancel, err);
    }
    return status;
}
