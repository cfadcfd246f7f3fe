/* server/store/store_internal.h: a connection with its prepared statements, and short ways to bind, step and
 * read. Parameters and columns are taken in order, so each call names only the value.
 * Ownership: struct db owns connection and statements. Threads: a db belongs to one thread at a time. */
#ifndef DAYBREAK_SERVER_STORE_STORE_INTERNAL_H
#define DAYBREAK_SERVER_STORE_STORE_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include <sqlite3.h>

#include "common/arena.h"
#include "common/status.h"
#include "common/str.h"
#include "common/task.h"
#include "queries.h"
#include "server/price/quote.h"
#include "server/store/records.h"
#include "server/store/writer.h"

#define STORE_APPLICATION_ID 0x44425245 /* "DBRE": in the file's header */
#define TOPIC_BYTES_MAX      160

/* Named moments at which a fault test lets the program kill itself: DAYBREAK_KILL_POINT=NAME[:N] does so at
 * the N-th passage (the first without N). Names: after-event-insert, before-commit, after-commit-before-reply,
 * after-reply. */
struct fault {
    char name[32]; /* "": none */
    int64_t left;  /* passages until then */
};
void fault_init(struct fault *fault, const char *setting); /* NULL: none */
void fault_reach(struct fault *fault, const char *name);

struct db {
    sqlite3 *handle;
    sqlite3_stmt *stmts[STMT_COUNT];         /* NULL where the connection may not */
    const struct task_table *tasks;          /* writer only */
    struct store *store;                     /* writer only */
    int64_t now_ms;                          /* writer only: of the running command */
    bool queue_changed;                      /* writer only: since the last COMMIT */
    int64_t pruned_ms, touched_ms, hooks_ms; /* writer only: when verb_sweep last did so */
    struct fault fault;                      /* writer only */
    long steps_left;                         /* reader only: progress calls until ST_TIMEOUT */
};

struct store_reader {
    struct db db;
    bool in_transaction;
};

/* A statement being bound, stepped, read. The first failure sticks and is reported by the last call. */
struct query_run {
    struct db *db;
    enum stmt_id id;
    sqlite3_stmt *stmt;
    int next; /* parameter or column, whichever is at work */
    int rc;
    struct arena *arena; /* for texts and blobs read */
    bool no_memory;
};

enum status db_open_writer(const char *path, int busy_ms, struct db *db, struct error *err);
enum status db_open_reader(const char *path, struct db *db, struct error *err);
enum status db_prepare(struct db *db, bool writer, struct error *err); /* after migration */
void db_close(struct db *db);
enum status db_exec(struct db *db, const char *sql, struct error *err);
/* Turns the connection's last failure into a status; what names the statement. */
enum status db_fail(struct db *db, int rc, const char *what, struct error *err);

/* query_begin .. query_bind_* .. then query_done() for a statement without rows, query_row() for at most one,
 * or query_next() until it says no; query_row() and query_next() are closed by query_end(). */
struct query_run query_begin(struct db *db, enum stmt_id id, struct arena *arena);
void query_bind_i64(struct query_run *run, int64_t value);
void query_bind_opt(struct query_run *run, struct opt_i64 value);
void query_bind_text(struct query_run *run, const char *text); /* NULL binds NULL */
void query_bind_str(struct query_run *run, struct str text);
void query_bind_blob(struct query_run *run, const void *data, size_t bytes); /* NULL binds NULL */
void query_bind_double(struct query_run *run, bool has, double value);
enum status query_done(struct query_run *run, struct error *err);
/* ST_NOT_FOUND without a row: silently, err untouched. */
enum status query_row(struct query_run *run, struct error *err);
bool query_next(struct query_run *run);
/* Resets; a failure of any step, or of memory for what was read. */
enum status query_end(struct query_run *run, struct error *err);

int64_t query_i64(struct query_run *run);
bool query_bool(struct query_run *run);
struct opt_i64 query_opt(struct query_run *run);
const char *query_text(struct query_run *run); /* copied; NULL for NULL */
struct str query_blob(struct query_run *run);  /* copied */
bool query_digest(struct query_run *run, unsigned char digest[SHA256_BYTES]); /* false: NULL */
bool query_double(struct query_run *run, double *value);
void query_skip(struct query_run *run);
/* Room for one more row of `size` bytes in the arena, doubling; a failure sticks in the run and gives NULL. */
void *query_grow(struct query_run *run, void *rows, size_t count, size_t *capacity, size_t size);

/* Migrations (migrate.c): on the writer's connection; a reader only checks. */
enum status db_migrate(struct db *db, int64_t now_ms, struct error *err);
enum status db_check_version(struct db *db, struct error *err);

/* Shared by verbs (change.c): appends a change, raises the topic's version. */
enum status db_note_change(struct db *db, const char *topic, const char *kind, int64_t ref,
                           struct error *err);
enum status db_note_board(struct db *db, const char *task, int64_t entry_id, struct error *err);
enum status db_note_run(struct db *db, int64_t run_id, struct error *err);
enum status db_note_job(struct db *db, int64_t job_id, struct error *err);
enum status db_note_agent(struct db *db, int64_t agent_id, struct error *err);
enum status db_raise_version(struct db *db, const char *topic, struct error *err);
enum status db_raise_entry(struct db *db, int64_t entry_id, struct error *err);
/* If-Match of a request (request_read_if_match) against the topic's version: ST_CONFLICT "precondition-failed" (412)
 * unless it names etag_format() of `name` (mostly the topic itself) and the version. */
enum status db_check_if_match(struct db *db, const char *topic, const char *name,
                              struct str if_match, struct error *err);

enum status db_note_submission(struct db *db, int64_t submission_id, const char *kind, int64_t ref,
                               struct error *err);

/* A submission with its entry, as far as review needs to know them (review.c). */
struct subject {
    int64_t id;
    const char *task, *state;
    struct opt_i64 token_id;
    const char *kind;
    int64_t lineage_id, revision;
    unsigned char content_sha256[SHA256_BYTES];
    int64_t entry_id;
    const char *entry_name;
    int64_t entry_lineage_id;
    struct opt_i64 supersedes_id;
    struct figures figures;
};
enum status db_find_subject(struct db *db, struct arena *arena, int64_t submission_id,
                            struct subject *subject, struct error *err);

/* One change of a submission's state: the only way there is after it was stored. Checks submission_transition,
 * appends to the audit trail, moves the entry, its standing and those whose place it takes or gives back, raises
 * versions. ST_CONFLICT "illegal-transition": there is no such step from where it is, which the detail names;
 * ST_DENIED "not-owner": the step is its owner's; "scope-missing": the mover may not. */
struct move {
    int64_t submission_id;
    const char *action;     /* of submission_transition */
    const char *to;         /* NULL: the one state that the action leads to */
    const char *reason;     /* for people */
    const struct mover *by; /* NULL: the server */
};
enum status db_move_submission(struct db *db, struct arena *arena, const struct move *move,
                               struct error *err);
/* The scope that a step needs; ST_CONFLICT "illegal-transition": there is none. to: as in struct move; in, out. */
enum status db_find_transition(struct db *db, struct arena *arena, int64_t submission_id,
                               const char *from, const char *action, const char **to,
                               const char **scope, struct error *err);
/* ST_DENIED unless `by` may take a step of that scope ("own", "review", "server") of the subject. */
enum status db_check_mover(const struct subject *subject, const char *scope, const struct mover *by,
                           struct error *err);
enum status db_append_event(struct db *db, int64_t submission_id, struct opt_i64 token_id,
                            const char *from, const char *action, const char *to,
                            const char *reason, struct error *err);
/* An entry that has just become accepted takes the place of the one of its lineage that stands. */
enum status db_take_place(struct db *db, struct arena *arena, int64_t entry_id, const char *name,
                          int64_t lineage_id, struct error *err);

/* A task's policy and review as they stand (admission.c). */
enum status db_get_task_setting(struct db *db, struct arena *arena, const struct task *task,
                                struct task_setting *setting, struct error *err);

/* What becomes of a submission that passed its checks, by its task's policy and review (admission.c). */
struct admission_subject {
    const struct task *task;
    struct figures figures;
    int64_t lineage_id; /* of entries: those that it does not compete with; 0: none */
    bool
        is_correction; /* of one that stands, with the same figures: its descriptions alone differ */
    bool is_late;      /* it was taken in before: a closed task does not rank it, but takes it */
};
/* ST_CONFLICT "task-closed". */
enum status db_admit(struct db *db, struct arena *arena, const struct admission_subject *subject,
                     struct admission *admission, struct error *err);

/* When an entry stood on its boards (standing.c), for as_of. Every verb that makes an entry accepted, once state,
 * entry_date and accepted_ms are written, begins a standing; every verb that takes it from there ends it. The first
 * one begins on entry_date (history: as claimed; without one it has no standing), later ones today. Both are without
 * effect where the entry stands, or stands not, already. */
enum status db_begin_standing(struct db *db, int64_t entry_id, struct error *err);
enum status db_end_standing(struct db *db, int64_t entry_id, struct error *err);

/* Runs that look the same (flag.c), of an entry that is not stored yet; lineage_id: of the entries that it takes the
 * place of, 0: none. */
struct new_entry;
struct flag_record;
enum status db_find_flags(struct db *db, struct arena *arena, const struct new_entry *entry,
                          int64_t lineage_id, struct flag_record **rows, size_t *count,
                          struct error *err);
enum status db_insert_flag(struct db *db, int64_t entry_id, const struct flag_record *flag,
                           struct error *err);

/* One row of `token` with a fresh secret (token.c): for verb_create_token and verb_register_agent. */
struct new_token {
    enum role role;
    struct str name;
    struct opt_i64 expires_ms;
    unsigned scopes; /* 0: all of the role */
    struct opt_i64 submissions_per_day, bytes_max, created_by;
};
enum status db_insert_token(struct db *db, struct arena *arena, const struct new_token *token,
                            int64_t *id, const char **text, struct error *err);

/* Quotas (token.c): counts what a token stores, within the transaction that stores it. ST_LIMIT "quota-submissions" (429,
 * with when the day is over) or ST_DENIED "quota-bytes" (403) when it is too much. is_submission: one more of the day's;
 * else the bytes of more files of one. */
enum status db_charge_token(struct db *db, int64_t token_id, bool is_submission, size_t bytes,
                            struct error *err);

/* What a rented machine cost (price.c). Nothing found: ST_OK with quote->reason. */
enum status db_quote_price(struct db *db, struct arena *arena,
                           const struct price_question *question, const char *date,
                           struct price_quote *quote, struct error *err);
/* The price of an entry that an agent trained, after describe_entry: of the catalog where the agent states an instance
 * type that a catalog has, else as the agent states it. With has_tta its cost as well, and a flag where the two
 * differ. */
struct db_rented {
    int64_t entry_id, agent_id;
    struct opt_i64 run_id; /* whose date counts; none, or not begun: today */
    bool has_tta;
    int64_t tta_ns;
};
enum status db_price_rented(struct db *db, struct arena *arena, const struct db_rented *request,
                            struct opt_i64 *cost_pico, struct error *err);
/* Holds what an uploaded entry states against the catalog. */
struct new_entry;
enum status db_price_claim(struct db *db, struct arena *arena, const struct new_entry *entry,
                           int64_t entry_id, struct error *err);

/* Gives up webhooks whose token is over or for which too much waits (webhook.c). */
enum status db_give_webhooks_up(struct db *db, struct arena *arena, struct error *err);

/* The attempt that a verb of an agent names (attempt.c). */
struct attempt {
    int64_t id, job_id, run_id, entry_id, last_seq, seed;
    const char *state, *job_state, *run_state, *task;
    struct opt_i64 started_ms, job_attempt_id, tta_ns;
    bool cancel, has_finish;
    unsigned char finish_sha256[SHA256_BYTES];
};
enum status db_find_attempt(struct db *db, struct arena *arena, int64_t agent_id, struct str fence,
                            struct attempt *attempt, struct error *err);
/* ST_CONFLICT "attempt-superseded" unless the attempt is its job's current, open one. */
enum status db_check_fence(const struct attempt *attempt, struct error *err);
/* Renews lease and signs of life; an unreachable attempt and its run are as before. phase NULL: keep. */
enum status db_renew_attempt(struct db *db, int64_t agent_id, const struct attempt *attempt,
                             const char *phase, struct error *err);

/* Ends a run and its job, and with its last run the entry (result.c). */
struct run_end {
    int64_t job_id, run_id, entry_id;
    const char *task, *run_state, *job_state, *reason;
};
enum status db_end_run(struct db *db, struct arena *arena, const struct run_end *end,
                       bool *entry_ended, struct error *err);
/* Gives a job back to the queue: its run begins anew with another seed. */
enum status db_requeue_job(struct db *db, struct arena *arena, int64_t job_id, int64_t run_id,
                           int64_t entry_id, struct error *err);
/* Moves an entry's submission of jobs on; without effect when it is not in `from` (withdrawn meanwhile, say). */
enum status db_move_jobs(struct db *db, struct arena *arena, int64_t entry_id, const char *from,
                         const char *action, const char *to, const char *reason, struct error *err);
int64_t db_draw_seed(void);

/* Memory of the tokens' last use (store.c): hands one over, forgets it; false: none left. */
bool store_take_token_use(struct store *store, int64_t *token_id, int64_t *used_ms);

/* The writer thread (writer.c). */
struct writer;
enum status writer_create(const struct store_options *options, struct store *store,
                          struct writer **writer, struct error *err);
void writer_destroy(struct writer *writer); /* drains; accepts NULL */
enum status writer_push(struct writer *writer, struct command *command, struct error *err);
int64_t writer_last_change_id(const struct writer *writer);
const char *writer_instance(const struct writer *writer);
struct writer *store_writer(struct store *store);

#endif
