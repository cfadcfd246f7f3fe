/* server/store/verbs.h: every way to change what is stored. Each verb runs on the writer thread inside the
 * command's savepoint (writer.h); `args` points to the struct named beside it. Outputs are valid on ST_OK
 * only, unless said. Texts of args are borrowed for the command's life; output texts live in its arena.
 * Common errors: ST_NOT_FOUND, ST_CONFLICT with err->code, ST_INVALID, ST_INTERNAL. Threads: the writer's. */
#ifndef DAYBREAK_SERVER_STORE_VERBS_H
#define DAYBREAK_SERVER_STORE_VERBS_H

#include "common/arena.h"
#include "common/event.h"
#include "common/status.h"
#include "server/price/catalog.h"
#include "server/price/claim.h"
#include "server/store/records.h"
#include "server/store/writer.h"

/* Tokens. The secret is in `text` alone, nowhere else.
 * An issuer hands out what he has: no scope that he lacks, save that whoever has `tokens` may let agents register; a
 * token of role admin takes an admin, one of role agent comes from registering alone; quotas are set by admins.
 * ST_DENIED "scope-missing" (which), "role-reserved", "quota-reserved". */
struct create_token {
    enum role role;
    struct str name;                               /* 1..128 bytes of UTF-8 */
    struct opt_i64 ttl_days;                       /* none: never expires */
    unsigned scopes;                               /* some of the role's; 0: all of them */
    struct opt_i64 submissions_per_day, bytes_max; /* none: the role's */
    const struct principal *issuer; /* NULL: the server's own command line, which may all */
    int64_t id;                     /* out */
    struct opt_i64 expires_ms;      /* out */
    const char *text;               /* out: dbk_<role>_<id>_<secret> */
};
enum status verb_create_token(struct db *db, struct arena *arena, void *args, struct error *err);
/* The roles that he may issue, with all their scopes: for a page to offer. */
bool token_may_issue(const struct principal *issuer, enum role role);

/* Its sessions end with it. Who may issue a token may revoke one like it, and anybody his own; one of an agent takes the
 * scope jobs. ST_DENIED as above. */
struct revoke_token { /* twice is no fault */
    int64_t id;
    const struct principal *issuer; /* NULL: the command line */
};
enum status verb_revoke_token(struct db *db, struct arena *arena, void *args, struct error *err);

/* A browser signs in for SESSION_MS. The cookie's text is handed out once: only its SHA-256 is stored. */
#define SESSION_MS (INT64_C(12) * 3600 * 1000)
struct create_session {
    int64_t token_id;
    const char *text; /* out */
};
enum status verb_create_session(struct db *db, struct arena *arena, void *args, struct error *err);
struct end_session { /* one that is not there is no fault */
    struct str text;
};
enum status verb_end_session(struct db *db, struct arena *arena, void *args, struct error *err);

/* What an entry says; all texts but those marked may be NULL. */
struct new_epoch {
    struct str label, value_text;
    int64_t official_ns;
    const char *extra_json;
};
struct new_run {                            /* one uploaded training */
    const char *file_name;                  /* NULL: the submission's own progress file */
    const char *seed_text;                  /* as it was stated; NULL: it was not */
    struct opt_i64 tta_ns;                  /* none: it missed the target */
    const char *epoch_text, *accuracy_text; /* of the crossing */
    const struct new_epoch *epochs;         /* in order */
    size_t epoch_count, crossing_index;
    unsigned char progress_sha256[SHA256_BYTES]; /* of the file */
    unsigned char rows_sha256[SHA256_BYTES];     /* of its values alone */
};
struct new_entry {
    const struct task *task;
    const char *kind;                                  /* of its submission; NULL: dawnbench */
    struct str name;                                   /* 1..ENTRY_NAME_BYTES_MAX */
    const char *model, *author, *hardware, *framework; /* never NULL */
    const char *code_url, *claimed_date;
    const char *cost_per_hour_text, *accuracy_text;
    struct opt_i64 tta_ns, cost_pico, latency_ns, inference_cost_pico;
    const char *tta_hours_text, *epoch_text, *epoch_count_text;
    const char *latency_ms_text, *inference_cost_text;
    const char *misc_json, *extra_json;
    const char *device_kind, *device_model, *cloud;
    struct opt_i64 devices, nodes;
    struct price_claim claim;          /* of the machines that were rented; history: not asked */
    const struct new_run *runs;        /* training: 1..ENTRY_RUNS_MAX of them */
    size_t run_count, shown_run;       /* shown_run: index of the one that stands for the entry */
    const struct check_record *checks; /* rules that it was held against, and how */
    size_t check_count;
};

/* A submission and its entry; what becomes of it is its task's policy and review (docs/review.md). A revision
 * takes its predecessor's place in the review at once, in that of an accepted one, as a successor does, once it is
 * accepted itself. ST_CONFLICT "duplicate": the same files were sent before; "name-taken": the task has that name;
 * "illegal-transition", "newer-revision": what it revises is past that; "not-standing": what it is to supersede is
 * not accepted; other_id is then filled. "task-closed". ST_DENIED "not-owner". */
struct submit {
    const struct new_entry *entry;
    struct submission_files files;
    struct mover by;
    struct opt_i64 revises;            /* submission of the same lineage */
    struct opt_i64 supersedes;         /* entry whose place it takes once accepted */
    int64_t submission_id, entry_id;   /* out, as the rest */
    const char *state, *reason, *next; /* next: what happens next, for people */
    const char *owner;                 /* who has to act */
    int64_t since_ms, lineage_id, revision;
    struct opt_i64 deadline_ms, run_id; /* run_id: that stands for it */
    const int64_t *run_ids;             /* of all, in order */
    const struct flag_record *flags;    /* what looks wrong about it */
    size_t flag_count;
    struct top5 top5;        /* where it was asked for */
    struct opt_i64 other_id; /* out on ST_CONFLICT: the submission that is there, if it is one */
};
enum status verb_submit(struct db *db, struct arena *arena, void *args, struct error *err);

/* A step that a person asks for: accept, request-changes, reject, disqualify, revert (scope review), withdraw (its
 * own). What follows from it for the entries of its lineage happens with it. ST_CONFLICT "illegal-transition": the
 * table submission_transition has no such step from where it is; ST_DENIED "scope-missing", "not-owner",
 * "own-submission": whoever sent it does not judge it. */
struct review {
    int64_t submission_id;
    struct mover by;
    const char *action, *reason; /* reason: for people, not empty */
};
enum status verb_review(struct db *db, struct arena *arena, void *args, struct error *err);

/* A comment on a submission, or on a line of one of its files; in answer to a thread's first comment. ST_INVALID
 * "unknown_thread": that is none of this submission. */
struct post_comment {
    int64_t submission_id;
    struct mover by;
    const char *text;      /* 1..COMMENT_BYTES_MAX */
    const char *file;      /* NULL: the whole */
    struct opt_i64 line;   /* with file */
    struct opt_i64 thread; /* without file */
    int64_t id, at_ms;     /* out */
};
#define COMMENT_BYTES_MAX 4000
enum status verb_post_comment(struct db *db, struct arena *arena, void *args, struct error *err);

/* Closes or opens a thread: whoever began it, the submission's owner, a reviewer. ST_DENIED "not-owner". Twice is no
 * fault. */
struct resolve_comment {
    int64_t submission_id, comment_id;
    struct mover by;
    bool resolved;
};
enum status verb_resolve_comment(struct db *db, struct arena *arena, void *args, struct error *err);

/* Corrections by a reviewer, each kept with what was there before; the cost follows the price. ST_CONFLICT
 * "name-taken", "precondition-failed". */
struct correct_entry {
    int64_t submission_id;
    struct mover by;
    struct str if_match;
    const char *reason;
    struct {
        bool has;
        const char *value; /* NULL: none any more */
    } fields[CORRECT_COUNT];
};
enum status verb_correct_entry(struct db *db, struct arena *arena, void *args, struct error *err);

/* A task's policy and review from now on; what is not named stays. */
struct set_task {
    const struct task *task;
    struct mover by;
    struct str if_match;
    const char *etag_name; /* what stands before the version in its ETag */
    bool has_policy, has_review;
    enum task_policy policy;
    enum task_review review;
    const char *reason;
};
enum status verb_set_task(struct db *db, struct arena *arena, void *args, struct error *err);

/* ST_CONFLICT "too-many-webhooks": the token has WEBHOOKS_MAX live ones. */
#define WEBHOOKS_MAX 10
struct create_webhook {
    int64_t token_id;
    const char *url, *kinds_json, *task; /* task NULL: of all */
    unsigned char secret[32];
    int64_t webhook_id, created_ms; /* out */
};
enum status verb_create_webhook(struct db *db, struct arena *arena, void *args, struct error *err);

/* What still waits for it is dropped. ST_NOT_FOUND: not there, or another token's. */
struct delete_webhook {
    int64_t webhook_id, token_id;
};
enum status verb_delete_webhook(struct db *db, struct arena *arena, void *args, struct error *err);

/* From the first try on, once more. ST_CONFLICT "delivery-under-way": or its webhook was given up. */
struct redeliver {
    int64_t webhook_id, delivery_id, token_id;
    struct delivery_record delivery; /* out */
};
enum status verb_redeliver(struct db *db, struct arena *arena, void *args, struct error *err);

/* What is due, at most one of each webhook that is told nothing yet; each counts as tried from here on. */
#define DELIVERIES_BEGUN_MAX 16
struct begun_delivery {
    int64_t id, tries; /* tries: this one included */
    const char *url, *kind;
    struct str secret, body;
};
struct begin_deliveries {
    int max;
    struct begun_delivery items[DELIVERIES_BEGUN_MAX]; /* out */
    size_t count;                                      /* out */
};
enum status verb_begin_deliveries(struct db *db, struct arena *arena, void *args,
                                  struct error *err);

enum delivery_end {
    DELIVERY_DONE,  /* a 2xx came */
    DELIVERY_LATER, /* not this time: again after delay_ms, or failed when tries_max are over */
    DELIVERY_INTERRUPTED, /* the server stops: as if it had not begun, though it may have arrived */
    DELIVERY_GONE         /* 410: the webhook is given up */
};
struct end_delivery {
    int64_t delivery_id;
    enum delivery_end end;
    struct opt_i64 http_status;
    const char *error; /* for people; "" */
    int64_t delay_ms, tries_max;
};
enum status verb_end_delivery(struct db *db, struct arena *arena, void *args, struct error *err);

/* What a server that died had under way is free again. No args. */
enum status verb_release_deliveries(struct db *db, struct arena *arena, void *args,
                                    struct error *err);

/* The same as accepted history, by the claimed date. One that is there (task and name) is left alone. */
struct import_entry {
    const struct new_entry *entry;
    struct submission_files files;
    int64_t entry_id; /* out */
    bool known;       /* out: it was there */
};
enum status verb_import_entry(struct db *db, struct arena *arena, void *args, struct error *err);

/* All prices of one file, or none. The same bytes again change nothing. ST_CONFLICT "catalog-differs": they are there
 * with another date. */
struct import_prices {
    const struct price_catalog *catalog;
    struct str source;                  /* 1..500 bytes */
    const char *valid_from;             /* yyyy-mm-dd */
    bool has_valid_from;                /* it was asked for, not taken from the clock */
    unsigned char sha256[SHA256_BYTES]; /* of the file */
    int64_t catalog_id;                 /* out */
    bool known;                         /* out: it was there */
};
enum status verb_import_prices(struct db *db, struct arena *arena, void *args, struct error *err);

/* One entry of n runs and their jobs, with a submission of kind job; named <workload>-<first job's id>. ST_CONFLICT
 * "task-closed". */
struct create_jobs {
    const struct task *task;
    struct str workload, recipe; /* recipe: of the task */
    int seeds;                   /* 1..ENTRY_RUNS_MAX */
    struct str author;           /* the token's name */
    const char *model;           /* as boards show it; NULL: workload and recipe */
    int64_t token_id;
    const char *device_kind;         /* wanted; NULL: any */
    const char *tags_json;           /* array of text that an agent must have; NULL: none */
    struct str request;              /* as it was sent: the submission's file; empty: {} */
    int64_t submission_id, entry_id; /* out, as the rest */
    const char *entry_name;
    int64_t *job_ids, *run_ids; /* `seeds` of each */
};
enum status verb_create_jobs(struct db *db, struct arena *arena, void *args, struct error *err);

/* A queued job ends at once; a leased one when its agent heard of it by heartbeat. Twice is no fault;
 * ST_CONFLICT "job-ended": it has ended otherwise. */
struct cancel_job {
    int64_t job_id;
};
enum status verb_cancel_job(struct db *db, struct arena *arena, void *args, struct error *err);

struct register_agent {
    struct str name;
    unsigned char public_key[ED25519_KEY_BYTES];
    int protocol;
    int64_t owner_token_id; /* the registration token */
    const char *build, *capabilities_json, *device_kind, *device_model;
    int64_t devices;
    const char *tags_json;                             /* array of text; NULL: none */
    const char *hardware, *framework;                  /* one line each, for boards */
    const char *instance, *cloud, *cost_per_hour_text; /* NULL: unknown */
    int64_t agent_id;                                  /* out */
    const char *token;                                 /* out: its own, shown this once */
};
enum status verb_register_agent(struct db *db, struct arena *arena, void *args, struct error *err);

struct lease {
    int64_t job_id, run_id;
    const char *fence; /* attempt id on the wire */
    int64_t lease_ms, heartbeat_ms;
    const char *task, *workload, *recipe;
    int64_t task_version, resume_seq;
};
/* The oldest job that the agent can take (device kind, tags). The same claim_id gets the same lease again,
 * renewed, while its attempt is open; ST_CONFLICT "claim-used" after. A draining agent gets none. */
struct claim {
    int64_t agent_id;
    struct str claim_id;
    bool found;         /* out: false: nothing for it now */
    struct lease lease; /* out */
};
enum status verb_claim(struct db *db, struct arena *arena, void *args, struct error *err);

/* The verbs below name an attempt by fence and agent. ST_CONFLICT "attempt-superseded": it is not (any more)
 * its job's current one; ST_NOT_FOUND: no such attempt of this agent. An attempt that was unreachable and
 * speaks again before another was begun is leased as before. */
struct attempt_heartbeat {
    int64_t agent_id;
    struct str fence, phase;
    int64_t lease_ms, heartbeat_ms; /* out */
    bool cancel;                    /* out: the job is to be stopped */
};
enum status verb_heartbeat(struct db *db, struct arena *arena, void *args, struct error *err);

struct event_line {
    struct str line;    /* the exact bytes, without line feed */
    struct event event; /* event_parse() of it */
};
/* Appends events, all or none, and renews the lease. A line that is there with the same bytes changes nothing;
 * ST_CONFLICT "event-conflict": other bytes under a stored seq; "event-gap": expected_seq is then filled.
 * ST_INVALID: an evaluation that the task does not admit (metric, total, order of run_start). */
struct append_events {
    int64_t agent_id;
    struct str fence;
    const struct event_line *lines;
    size_t count;
    int64_t ack_seq;      /* out: all up to it is stored */
    bool has_seed;        /* out: the lines hold run_start */
    int64_t seed;         /* out: with has_seed; the same each time */
    int64_t expected_seq; /* out on "event-gap" */
};
enum status verb_append_events(struct db *db, struct arena *arena, void *args, struct error *err);

/* What was measured of the attempt's training step, before finish; renews the lease. The same bytes again change nothing;
 * ST_CONFLICT "profile-conflict": others are there. */
struct put_profile {
    int64_t agent_id;
    struct str fence;
    struct str bytes; /* run_profile_read() took them */
    int64_t run_id;   /* out */
};
enum status verb_put_profile(struct db *db, struct arena *arena, void *args, struct error *err);

/* Closes attempt, run and job, and the entry with its last run. A repeat of the same finish is answered alike;
 * another one: ST_CONFLICT "finish-conflict". ST_CONFLICT "event-gap": last_seq is not what is stored
 * (expected_seq). */
struct finish {
    int64_t agent_id;
    struct str fence;
    int64_t last_seq;
    struct str result; /* reached, missed, failed, cancelled */
    struct str detail, plan;
    int64_t run_id, entry_id; /* out, as the rest */
    const char *run_state;
    bool entry_ended; /* it was the entry's last run */
    struct opt_i64 tta_ns;
    int64_t expected_seq; /* out on "event-gap" */
};
enum status verb_finish(struct db *db, struct arena *arena, void *args, struct error *err);

/* Gives the job back to the queue; what was streamed stays with the attempt. Twice is no fault. */
struct release {
    int64_t agent_id;
    struct str fence, reason;
    int64_t job_id;        /* out */
    const char *job_state; /* out */
};
enum status verb_release(struct db *db, struct arena *arena, void *args, struct error *err);

/* Once when the server starts: extends every open lease by the time that no server ran. */
struct start_server {
    int64_t downtime_ms; /* out */
    int64_t lease_count; /* out */
};
enum status verb_start_server(struct db *db, struct arena *arena, void *args, struct error *err);

/* Every second or so: leases that ran out become unreachable, after the task's reclaim_after their jobs are
 * queued again; submissions whose deadline passed
 * are marked, those whose submitter did not answer are withdrawn; notes that the server lives, writes the tokens' last use, drops old changes and answers. */
struct sweep {
    struct store *store;
    int64_t unreachable_count, requeued_count; /* out */
    int64_t overdue_count; /* out: submissions whose deadline passed since the last time */
};
enum status verb_sweep(struct db *db, struct arena *arena, void *args, struct error *err);

#endif
