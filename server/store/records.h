/* server/store/records.h: what is stored, as plain structs. Read functions fill them in the caller's arena;
 * texts are NUL-terminated; an optional text is NULL when absent, an optional number has a has_ flag.
 * Times: *_ns durations, *_ms since 1970 UTC. Money: *_pico, 1e-12 USD. Threads: plain values. */
#ifndef DAYBREAK_SERVER_STORE_RECORDS_H
#define DAYBREAK_SERVER_STORE_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/crypto.h"
#include "common/str.h"
#include "common/task.h"

#define FENCE_BYTES          24 /* an attempt's public id, with NUL */
#define TOKEN_TEXT_BYTES_MAX 128
#define LEASE_MS             60000
#define HEARTBEAT_MS         15000
#define AGENT_UNREACHABLE_MS 60000

/* An optional integer. */
struct opt_i64 {
    bool has;
    int64_t value;
};

enum role {
    ROLE_SUBMITTER,
    ROLE_REVIEWER,
    ROLE_OPERATOR,
    ROLE_ADMIN,
    ROLE_AGENT_REGISTRATION,
    ROLE_AGENT,
    ROLE_COUNT
};
const char *role_name(enum role role); /* "agent-registration" */
bool role_parse(struct str text, enum role *role);

/* What a token may do; a set of them is an unsigned of these bits. A role has a set of its own, which a token's
 * own scopes can only narrow. */
enum scope {
    SCOPE_SUBMIT = 1 << 0,   /* send, revise, withdraw what is its own; comment */
    SCOPE_REVIEW = 1 << 1,   /* decide, comment, correct */
    SCOPE_JOBS = 1 << 2,     /* queue and stop jobs, drain agents */
    SCOPE_TASKS = 1 << 3,    /* change the settings of tasks */
    SCOPE_TOKENS = 1 << 4,   /* issue and revoke tokens */
    SCOPE_WEBHOOKS = 1 << 5, /* be told of what happens */
    SCOPE_REGISTER = 1 << 6, /* register an agent */
    SCOPE_AGENT = 1 << 7     /* pull jobs and stream their events */
};
#define SCOPE_COUNT 8
const char *scope_name(enum scope scope); /* "submit" */
unsigned role_scopes(enum role role);     /* all that the role may */
bool scope_set_parse(struct str text,
                     unsigned *scopes); /* "submit webhooks"; false: an unknown name, or none */
void scope_set_format(unsigned scopes, char *text,
                      size_t bytes); /* the reverse; SCOPE_SET_BYTES suffice */
void scope_set_join(unsigned scopes, const char *separator, char *text, size_t bytes);
#define SCOPE_SET_BYTES 96

/* What a token may store; INT64_MAX: any amount. A role has its own, which an admin may set otherwise for a token. */
struct quota {
    int64_t submissions_per_day; /* by UTC */
    int64_t bytes_max;           /* of all that was ever stored: nothing is deleted */
};
struct quota role_quota(enum role role);

struct token_record {
    int64_t id;
    enum role role;
    const char *name;
    int64_t created_ms;
    struct opt_i64 expires_ms, revoked_ms, used_ms;
    unsigned scopes; /* of the role, less what it gave up */
    struct quota quota;
    struct opt_i64 created_by; /* a token; none: the server's own command line */
    int64_t stored_bytes;
};

/* Who asks. agent_id only with ROLE_AGENT. */
struct principal {
    int64_t token_id;
    enum role role;
    unsigned scopes; /* of the role, less what the token gave up */
    const char *name;
    int64_t agent_id;
};

/* Who changes something, for the audit trail and for what he may. */
struct mover {
    int64_t token_id;
    unsigned scopes;
};

/* What boards order by; those that an entry has. */
struct figures {
    struct opt_i64 tta_ns, cost_pico, latency_ns, inference_cost_pico, energy_uj;
};

/* Where figures would come on one board, and how far that is from the fifth place. */
struct top5_board {
    const char *by;
    int64_t value, place;
    struct opt_i64 fifth; /* value of the fifth place; none: there are fewer than five */
    bool enters;
};
#define TOP5_BOARDS_MAX 3
struct top5 {
    struct top5_board boards[TOP5_BOARDS_MAX]; /* those that the figures have a value for */
    size_t count;
    bool enters; /* any of them */
};

/* What becomes of a result that passed its checks. */
struct admission {
    const char *state;  /* accepted, in_review, not_eligible */
    const char *reason; /* of the event, for people; "" never */
    struct top5 top5;   /* count 0: not asked */
};

/* A task's policy and review as they stand. */
struct task_setting {
    int64_t id; /* 0: never changed; what its file says */
    enum task_policy policy;
    enum task_review review;
    const char *reason;   /* "" for id 0 */
    struct opt_i64 at_ms; /* since when */
    const char *by;       /* name of the token; NULL: nobody's */
};

struct submission_record {
    int64_t id;
    const char *task, *name, *source; /* history | submission */
    const char *state, *reason, *next, *owner;
    bool is_final;
    int64_t since_ms, received_ms;
    struct opt_i64 deadline_ms; /* since_ms + what the state allows */
    const char *claimed_date;
    struct opt_i64 token_id, entry_id;
    const char *author; /* of its entry, NULL without */
    size_t entry_bytes, progress_bytes;
    bool has_progress;
    const char *kind;                           /* dawnbench | mlperf | job */
    int64_t lineage_id;                         /* first revision: its own id without any */
    int64_t revision;                           /* from 1 */
    struct opt_i64 overdue_ms;                  /* its deadline passed, and this was said then */
    const char *entry_sha256, *progress_sha256; /* hex; filled by store_get_submission alone */
    const struct submission_file *further;      /* so is this: the files of several runs */
    size_t further_count;
};

/* A file as it was sent. */
struct submission_file {
    const char *name; /* as it is asked for */
    struct str bytes;
    const char *sha256; /* hex; filled by reads alone */
};
struct submission_files {
    struct str entry, progress; /* as they were sent; progress: of an entry of one run */
    bool has_progress;
    const struct submission_file
        *further; /* of an entry of several runs, in their order; others have none */
    size_t further_count;
};

/* What looks wrong about an entry although no rule forbids it. */
/* The verdict of one rule that an entry was held against. */
struct check_record {
    const char *rule;    /* "clock", "convergence" ... (docs/mlperf.md) */
    const char *verdict; /* pass | warning | fail | not-applicable */
    const char *file;    /* NULL: no file */
    struct opt_i64 line;
    const char *detail, *hint; /* sentences; hint: "" where there is nothing to mend */
    struct opt_i64 run_id;     /* none: of the whole entry */
    struct opt_i64 ordinal;    /* of its run, while it is not stored */
};

struct flag_record {
    const char *code;   /* "equal-logs", "equal-seeds" ... */
    const char *detail; /* one sentence for people */
    struct opt_i64 run_id, other_entry_id, other_run_id;
    struct opt_i64 ordinal, other_ordinal; /* of runs of the entry, while it is not stored */
};

struct submission_event_record {
    int64_t at_ms;
    struct opt_i64 token_id;
    const char *token_name; /* NULL: the server */
    const char *from_state, *to_state, *reason;
    const char *action; /* of submission_transition; "send", "import", "queue": the first */
};

/* What happened to a submission: a change of its state, a correction of its entry, a comment, a thread resolved. */
struct history_record {
    int64_t at_ms;
    const char *kind;                           /* state | correction | comment | resolved */
    const char *by, *role;                      /* the token's; NULL: the server */
    const char *action, *from_state, *to_state; /* state */
    const char *reason;                         /* state, correction */
    const char *field, *old_value, *new_value;  /* correction; NULL values: it had, has none */
    struct opt_i64 comment;
};

struct comment_record {
    int64_t id, submission_id;
    struct opt_i64 thread_id; /* the comment that began the thread; none: this one did */
    int64_t at_ms;
    const char *by, *role;
    const char *file; /* NULL: the whole submission */
    struct opt_i64 line;
    const char *text;
    struct opt_i64 resolved_ms; /* of the one that began the thread */
    const char *resolved_by;
};

struct revision_record {
    int64_t id, revision;
    const char *state;
    int64_t received_ms;
};

struct transition_record {
    const char *action, *to_state, *scope;
};

/* What a reviewer may correct of an entry, in the order of the columns of find_corrigible. */
enum correction {
    CORRECT_NAME,
    CORRECT_AUTHOR,
    CORRECT_MODEL,
    CORRECT_HARDWARE,
    CORRECT_FRAMEWORK, /* up to here an entry always has it */
    CORRECT_CODE_URL,
    CORRECT_COST_PER_HOUR,
    CORRECT_DEVICE_KIND,
    CORRECT_DEVICE_MODEL,
    CORRECT_DEVICES,
    CORRECT_NODES,
    CORRECT_CLOUD,
    CORRECT_COUNT
};
const char *correction_name(enum correction correction); /* the member of the API: "code_url" */

struct entry_record {
    int64_t id;
    const char *task;
    int64_t task_version;
    const char *name, *source; /* history | submission | job */
    struct opt_i64 submission_id, token_id, run_id;
    const char *state, *reason; /* reason: why it is not ranked; "" when it is */
    const char *tier;
    const char *model, *author, *hardware,
        *framework; /* hardware, framework: "" until a job is claimed */
    const char *code_url;
    const char *claimed_date, *entry_date; /* yyyy-mm-dd */
    struct opt_i64 accepted_ms;
    int64_t created_ms, run_count; /* inference: 0 runs */
    struct opt_i64 tta_ns, wall_ns, cost_pico, latency_ns, inference_cost_pico;
    const char *tta_hours_text, *latency_ms_text, *inference_cost_text, *cost_per_hour_text;
    const char *epoch_text, *epoch_count_text, *accuracy_text;
    struct opt_i64 views, devices, nodes;
    const char *device_kind, *device_model, *cloud;
    const char *misc_json, *extra_json;
    int64_t lineage_id; /* first entry of its revisions and successors: its own id without any */
    struct opt_i64 supersedes_id, superseded_by_id;
    const char *score_rule; /* median | mean | olympic: how its runs make its time */
    struct opt_i64 energy_uj;
    const char *instance, *region;
    struct opt_i64 price_id; /* of the catalog, that its cost was computed with */
    const char
        *cost_reason; /* why it has no place by cost although it has a price; NULL: it has one */
    struct opt_i64 accelerator_price_id; /* GCP: of what is added to the host of price_id */
    struct opt_i64 list_price_pico;      /* of the whole cluster by those, USD an hour */
    /* TTA of those of its runs that reached the target. */
    const int64_t *tta_runs_ns;
    size_t tta_run_count;
    const struct standing_record *standings; /* when it stood on its boards, in order */
    size_t standing_count;
};

struct standing_record {
    const char *from_date;
    struct opt_i64 to_ms; /* none: it still stands */
};

struct run_record {
    int64_t id, entry_id, ordinal;
    const char *entry_name, *task, *tier;
    int64_t task_version;
    const char *state; /* queued | running | unreachable | reached | missed | failed | cancelled */
    const char *reason;
    struct opt_i64 seed;               /* only once it is disclosed */
    const char *seed_text, *file_name; /* as an uploader states it; NULL: unknown, the only file */
    struct opt_i64 started_ms, ended_ms, tta_ns, wall_ns, tta_seq;
    const char *tta_epoch_text;
    struct opt_i64 job_id, agent_id;
    const char *fence, *phase, *plan, *workload, *recipe, *hardware; /* NULL: uploaded */
    const char *cost_per_hour_text;
    int64_t last_seq, epoch_count;
    const char *last_value_text; /* of the last evaluation, NULL without */
};

/* A run as the analyses read it. */
struct trial_record {
    int64_t entry_id, run_id, ordinal;
    const char *state;
    struct opt_i64 tta_ns;
    const char *epoch_text; /* label of the crossing; NULL without */
    bool has_first_label;
    double first_label; /* the smallest of its labels */
};

struct epoch_record {
    int64_t seq;
    const char *label, *value_text;
    int64_t official_ns;
    struct opt_i64 wall_ns, correct, total, views;
    bool has_loss;
    double loss;
    const char *extra_json;
};

struct job_record {
    int64_t id, entry_id, run_id;
    const char *task, *workload, *recipe, *entry_name;
    const char *state; /* queued | leased | running | unreachable | done | failed | cancelled */
    const char *reason, *device_kind, *tags_json;
    int64_t created_ms, queued_ms, tries;
    struct opt_i64 ended_ms, agent_id, position; /* position among the waiting, from 1 */
    const char *agent_name, *fence;
    bool takeable; /* queued: an agent heard of lately could take it */
};

struct attempt_record {
    const char *fence; /* its public id */
    int64_t agent_id;
    const char *agent_name;
    const char *state; /* leased | unreachable | finished | released | superseded | cancelled */
    const char *reason, *phase;
    const char *result; /* reached | missed | failed | cancelled; NULL: it did not finish */
    int64_t created_ms, heartbeat_ms, last_seq;
    struct opt_i64 started_ms, ended_ms; /* started: its clock began */
};

struct agent_record {
    int64_t id;
    const char *name, *build, *device_kind, *device_model, *hardware, *framework;
    const char *instance, *cloud, *cost_per_hour_text, *capabilities_json, *tags_json;
    int64_t devices, protocol, registered_ms, heartbeat_ms;
    const char *state; /* idle | busy | unreachable | draining | revoked */
    struct opt_i64 job_id, run_id;
    const char *fence;
    unsigned char public_key[ED25519_KEY_BYTES];
};

/* One list price: server/price/catalog.h has the meaning of its texts. */
struct price_record {
    int64_t id, catalog_id, line;
    const char *provider, *instance, *accelerator, *accelerator_key, *accelerator_count_text;
    struct opt_i64 chips;
    const char *vcpus_text, *memory_gib_text; /* NULL: unknown, as the rest */
    const char *region, *zone;
    struct opt_i64 on_demand_pico;
    const char *on_demand_text;
    struct opt_i64 spot_pico;
    const char *spot_text;
    const char *valid_from; /* yyyy-mm-dd */
    const char *flag;
    const char *source; /* of its catalog */
    int64_t imported_ms;
};

struct price_catalog_record {
    int64_t id;
    const char *source, *provider, *valid_from; /* provider NULL: of several */
    int64_t imported_ms, row_count;
    char sha256[2 * SHA256_BYTES + 1];
};

struct webhook_record {
    int64_t id;
    const char *url, *kinds_json, *task; /* task NULL: of all */
    int64_t created_ms;
    struct opt_i64 ended_ms; /* given up */
    const char *reason;      /* why */
    int64_t waiting;         /* deliveries */
};

struct delivery_record {
    int64_t id;
    const char *kind;
    struct str body;
    const char *state; /* waiting | delivered | failed */
    int64_t tries, next_ms;
    struct opt_i64 http_status;
    const char *error; /* of the last try; "" */
    int64_t created_ms;
    struct opt_i64 ended_ms;
};

struct change_record {
    int64_t id;
    const char *topic; /* "run:7", "board:cifar10-train", "queue" */
    const char *kind;  /* epoch, run, board, job, agent */
    int64_t ref;       /* epoch: its seq; the others: the id of run, entry, job, agent */
    int64_t at_ms;
};

#endif
