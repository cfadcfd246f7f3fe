/* server/store/read.h: every way to read what is stored, each on the thread's own reader (store.h).
 * Ownership: results live in the caller's arena. Threads: the reader's. Errors: ST_NOT_FOUND for a single
 * record that is not there, ST_TIMEOUT beyond the work limit, ST_NO_MEMORY, ST_INTERNAL. */
#ifndef DAYBREAK_SERVER_STORE_READ_H
#define DAYBREAK_SERVER_STORE_READ_H

#include "common/arena.h"
#include "common/status.h"
#include "common/str.h"
#include "server/price/quote.h"
#include "server/store/records.h"
#include "server/store/store.h"

struct new_entry;

/* Whose token this is. ST_UNAUTHENTICATED with err->code "token-malformed", "token-unknown" (no such token, or
 * another secret: which, is not said), "token-expired" (the date is in detail), "token-revoked". */
enum status store_authenticate(struct store_reader *reader, struct arena *arena, struct str text,
                               int64_t now_ms, struct principal *principal, struct error *err);
/* The same by a browser's session; its token must still be good. Besides: "session-ended" (unknown, signed out, or
 * its time is over). */
enum status store_authenticate_session(struct store_reader *reader, struct arena *arena,
                                       struct str text, int64_t now_ms, struct principal *principal,
                                       struct error *err);
/* All, by id; or at most `limit` of those behind after_id. */
enum status store_list_tokens(struct store_reader *reader, struct arena *arena,
                              struct token_record **rows, size_t *count, struct error *err);
enum status store_list_tokens_after(struct store_reader *reader, struct arena *arena,
                                    int64_t after_id, int64_t limit, struct token_record **rows,
                                    size_t *count, struct error *err);
enum status store_get_token(struct store_reader *reader, struct arena *arena, int64_t id,
                            struct token_record *token, struct error *err);

/* The entries of all tasks with id > after, in order, at most limit: for a walk over all of them. */
enum status store_list_entries_after(struct store_reader *reader, struct arena *arena,
                                     int64_t after, int limit, struct entry_record **rows,
                                     size_t *count, struct error *err);
/* All entries of a task with what a board shows, ranked or not, by id; their reasons stand in `reason`. */
enum status store_list_entries(struct store_reader *reader, struct arena *arena, struct str task,
                               struct entry_record **rows, size_t *count, struct error *err);
enum status store_get_entry(struct store_reader *reader, struct arena *arena, int64_t id,
                            struct entry_record *entry, struct error *err);
/* By task and name, among those that hold the name. */
enum status store_find_entry(struct store_reader *reader, struct arena *arena, struct str task,
                             struct str name, struct entry_record *entry, struct error *err);
/* The latest entries of all tasks that became accepted, newest first. */
enum status store_list_latest_entries(struct store_reader *reader, struct arena *arena, int limit,
                                      struct entry_record **rows, size_t *count, struct error *err);

/* Those that were accepted last, by when that was done; task NULL: of all. */
enum status store_list_accepted(struct store_reader *reader, struct arena *arena, const char *task,
                                int limit, struct entry_record **rows, size_t *count,
                                struct error *err);

enum status store_list_runs(struct store_reader *reader, struct arena *arena, int64_t entry_id,
                            struct run_record **rows, size_t *count, struct error *err);
/* All runs of a task's accepted entries, by entry and ordinal. */
enum status store_list_trials(struct store_reader *reader, struct arena *arena, struct str task,
                              struct trial_record **rows, size_t *count, struct error *err);
/* How many runs of a task's accepted entries reached its target, and how many of those had an evaluation that missed it
 * later on. */
enum status store_count_relapses(struct store_reader *reader, struct str task,
                                 const char *target_text, bool higher_is_better, size_t *reached,
                                 size_t *relapses, struct error *err);
/* Runs that are running or unreachable now, newest first. */
enum status store_list_live_runs(struct store_reader *reader, struct arena *arena, int limit,
                                 struct run_record **rows, size_t *count, struct error *err);
enum status store_get_run(struct store_reader *reader, struct arena *arena, int64_t id,
                          struct run_record *row, struct error *err);
/* Epochs of the run's current attempt with seq > after, in order, at most limit. */
enum status store_list_epochs(struct store_reader *reader, struct arena *arena, int64_t run_id,
                              int64_t after, int limit, struct epoch_record **rows, size_t *count,
                              struct error *err);
enum status store_get_epoch(struct store_reader *reader, struct arena *arena, int64_t run_id,
                            int64_t seq, struct epoch_record *epoch, struct error *err);

/* What the agent measured of the run's training step, as it was sent. ST_NOT_FOUND "no-profile". */
enum status store_get_run_profile(struct store_reader *reader, struct arena *arena, int64_t run_id,
                                  struct str *bytes, struct error *err);
enum status store_has_run_profile(struct store_reader *reader, int64_t run_id, bool *has,
                                  struct error *err);

struct submission_filter {
    struct str task, state, author; /* len 0: any */
    struct opt_i64 token_id;
    int64_t before_id; /* keyset: ids below it; 0: from the newest */
    int limit;
};
/* Newest first. */
enum status store_list_submissions(struct store_reader *reader, struct arena *arena,
                                   const struct submission_filter *filter,
                                   struct submission_record **rows, size_t *count,
                                   struct error *err);
enum status store_get_submission(struct store_reader *reader, struct arena *arena, int64_t id,
                                 struct submission_record *submission, struct error *err);
enum status store_get_submission_files(struct store_reader *reader, struct arena *arena, int64_t id,
                                       struct submission_files *files, struct error *err);
/* The rules that it was held against: of the whole entry, then of its runs. */
enum status store_list_checks(struct store_reader *reader, struct arena *arena, int64_t entry_id,
                              struct check_record **rows, size_t *count, struct error *err);
enum status store_list_flags(struct store_reader *reader, struct arena *arena, int64_t entry_id,
                             struct flag_record **rows, size_t *count, struct error *err);
/* What verb_submit would flag of an entry that is not there yet: flag_record.ordinal says of which of its runs. */
enum status store_find_flags(struct store_reader *reader, struct arena *arena,
                             const struct new_entry *entry, struct flag_record **rows,
                             size_t *count, struct error *err);
enum status store_list_submission_events(struct store_reader *reader, struct arena *arena,
                                         int64_t id, struct submission_event_record **rows,
                                         size_t *count, struct error *err);

/* Oldest first: all revisions of a lineage, all that happened, the comments with id > after. */
enum status store_list_revisions(struct store_reader *reader, struct arena *arena,
                                 int64_t lineage_id, struct revision_record **rows, size_t *count,
                                 struct error *err);
enum status store_list_history(struct store_reader *reader, struct arena *arena, int64_t id,
                               struct history_record **rows, size_t *count, struct error *err);
enum status store_list_comments(struct store_reader *reader, struct arena *arena, int64_t id,
                                int64_t after, int limit, struct comment_record **rows,
                                size_t *count, struct error *err);
/* The steps that there are from a state. */
enum status store_list_transitions(struct store_reader *reader, struct arena *arena,
                                   const char *state, struct transition_record **rows,
                                   size_t *count, struct error *err);
/* A task's policy and review as they stand. */
enum status store_get_task_setting(struct store_reader *reader, struct arena *arena,
                                   const struct task *task, struct task_setting *setting,
                                   struct error *err);
/* What would become of a result with these figures now. ST_CONFLICT "task-closed". */
enum status store_preview_admission(struct store_reader *reader, struct arena *arena,
                                    const struct task *task, const struct figures *figures,
                                    struct admission *admission, struct error *err);

/* Jobs that have not ended, oldest first: the queue, then what is at work. At most `limit` of those behind the key. */
struct queue_key {
    bool is_at_work; /* it no longer waits */
    int64_t id;      /* 0: from the first */
};
enum status store_list_queue(struct store_reader *reader, struct arena *arena, int64_t now_ms,
                             struct queue_key after, int64_t limit, struct job_record **rows,
                             size_t *count, struct error *err);
enum status store_list_entry_jobs(struct store_reader *reader, struct arena *arena,
                                  int64_t entry_id, int64_t now_ms, struct job_record **rows,
                                  size_t *count, struct error *err);
enum status store_get_job(struct store_reader *reader, struct arena *arena, int64_t id,
                          int64_t now_ms, struct job_record *job, struct error *err);
/* The newest first, at most `limit`. */
enum status store_list_job_attempts(struct store_reader *reader, struct arena *arena,
                                    int64_t job_id, int64_t limit, struct attempt_record **rows,
                                    size_t *count, struct error *err);
/* By id; those revoked and those never heard of again for 30 days are left out. */
enum status store_list_agents(struct store_reader *reader, struct arena *arena, int64_t now_ms,
                              int64_t after_id, int64_t limit, struct agent_record **rows,
                              size_t *count, struct error *err);
enum status store_get_agent(struct store_reader *reader, struct arena *arena, int64_t id,
                            int64_t now_ms, struct agent_record *agent, struct error *err);

struct price_filter {
    struct str provider, instance, accelerator,
        region; /* len 0: any; accelerator: price_accelerator_key() */
    const char
        *at; /* yyyy-mm-dd: those that are valid then, one of each machine and place; NULL: all */
    int64_t after_id; /* keyset; 0: from the first */
    int limit;
};
/* By id. */
enum status store_list_prices(struct store_reader *reader, struct arena *arena,
                              const struct price_filter *filter, struct price_record **rows,
                              size_t *count, struct error *err);
enum status store_get_price(struct store_reader *reader, struct arena *arena, int64_t id,
                            struct price_record *price, struct error *err);
/* By id. */
enum status store_list_price_catalogs(struct store_reader *reader, struct arena *arena,
                                      struct price_catalog_record **rows, size_t *count,
                                      struct error *err);
/* What the machine of a question cost an hour at that day, by the catalogs. Nothing found is ST_OK with a reason. */
enum status store_quote_price(struct store_reader *reader, struct arena *arena,
                              const struct price_question *question, const char *date,
                              struct price_quote *quote, struct error *err);

/* Changes with id > after, in order, at most limit. *reset: the table no longer goes back to `after`. */
enum status store_list_changes(struct store_reader *reader, struct arena *arena, int64_t after,
                               int limit, struct change_record **rows, size_t *count, bool *reset,
                               struct error *err);
/* The entries that changed on their boards by changes with id > after, each once per topic, `limit` rows at most.
 * *last: the newest change that this reader sees; *reset as above. */
struct board_change {
    const char *topic; /* "board:cifar10-train" */
    int64_t entry_id;
};
enum status store_list_board_changes(struct store_reader *reader, struct arena *arena,
                                     int64_t after, int limit, struct board_change **rows,
                                     size_t *count, int64_t *last, bool *reset, struct error *err);
/* Counter of a topic for ETags: "board:TASK", "run:ID", "entry:ID", "submission:ID", "queue"; 0: never
 * written. */
enum status store_get_version(struct store_reader *reader, struct str topic, int64_t *version,
                              struct error *err);
/* For /readyz: the database answers. */
enum status store_ping(struct store_reader *reader, struct error *err);

/* Webhooks of one token, those that its owner deleted left out. id 0: all. */
enum status store_list_webhooks(struct store_reader *reader, struct arena *arena, int64_t token_id,
                                int64_t id, struct webhook_record **rows, size_t *count,
                                struct error *err);
/* Newest first, with id < before_id unless that is 0. */
enum status store_list_deliveries(struct store_reader *reader, struct arena *arena,
                                  int64_t webhook_id, int64_t before_id, int limit,
                                  struct delivery_record **rows, size_t *count, struct error *err);
/* When the next delivery is due; none: nothing waits. */
enum status store_get_next_delivery(struct store_reader *reader, struct opt_i64 *next_ms,
                                    struct error *err);

#endif
