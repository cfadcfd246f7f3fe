/* agent/run/attempt.c: one try at a job (see attempt.h). */
#include "agent/run/attempt.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "agent/run/link.h"
#include "agent/run/spool.h"
#include "agent/train/parent.h"
#include "agent/train/progress.h"
#include "agent/train/wish.h"
#include "agent/workload/workload.h"
#include "common/json.h"
#include "common/log.h"
#include "common/run_profile.h"

#define GRACE_MS        10000 /* to tell the server that an operator cancelled */
#define BODY_BYTES_MAX  4096
#define PLAN_BYTES_MAX  512
#define ARENA_BYTES_MAX ((size_t)1024 * 1024)
#define TARGET_UNIT     1000000 /* common/measure.h: 1e-6 percent */
#define RESULT_BYTES    16

struct attempt {
    const struct attempt_setting *setting;
    const struct lease *lease;
    struct spool *spool;
    struct link *link;
    struct buf line;
    struct progress progress;
    char folder[FILES_PATH_BYTES_MAX], profile[FILES_PATH_BYTES_MAX];
};

static bool is_cancelled_here(void)
{
    return wish_of_signals() == PARENT_CANCEL;
}

static enum status open_attempt(struct attempt *attempt, struct error *err)
{
    char path[FILES_PATH_BYTES_MAX];
    int64_t dropped_bytes = 0;
    enum status status = state_attempt_folder(attempt->setting->state, attempt->lease->attempt,
                                              attempt->folder, err);

    buf_init(&attempt->line, EVENT_LINE_BYTES_MAX + 1);
    if (status == ST_OK)
        status = files_join(path, attempt->folder, "spool", err);
    if (status == ST_OK)
        status = files_join(attempt->profile, attempt->folder, "profile.json", err);
    if (status == ST_OK)
        status = spool_open(path, &attempt->spool, &dropped_bytes, err);
    if (status == ST_OK && dropped_bytes > 0)
        log_event(LOG_WARN, "spool_tail_dropped", "attempt=%s bytes=%" PRId64,
                  attempt->lease->attempt, dropped_bytes);
    return status;
}

static enum status open_link(struct attempt *attempt, struct error *err)
{
    const struct lease *lease = attempt->lease;
    const struct link_settings settings = {
        .server = attempt->setting->server,
        .token = attempt->setting->state->token,
        .attempt = lease->attempt,
        .acked_seq = lease->resume_seq,
        .heartbeat_ms = lease->heartbeat_ms,
        .events_bytes_max = lease->events_bytes,
        .spool = attempt->spool,
        .should_stop = is_cancelled_here,
    };

    return link_open(&settings, &attempt->link, err);
}

static void close_attempt(struct attempt *attempt)
{
    link_close(attempt->link);
    spool_close(attempt->spool);
    buf_fini(&attempt->line);
}

static enum status spool_event(struct attempt *attempt, const struct event *event,
                               struct error *err)
{
    enum status status;

    buf_clear(&attempt->line);
    event_append(&attempt->line, event);
    status = buf_check(&attempt->line, err);
    return status == ST_OK ? spool_append(attempt->spool, buf_str(&attempt->line), err) : status;
}

static enum status start_clock(void *context, const struct event *start, uint32_t *seed,
                               int64_t *answer_ns, struct error *err)
{
    struct attempt *attempt = context;
    enum status status = spool_event(attempt, start, err);

    if (status == ST_OK)
        status = link_start_clock(attempt->link, seed, answer_ns, err);
    if (status == ST_OK) {
        progress_start(&attempt->progress);
        log_event(LOG_INFO, "run_start", "run=%" PRId64 " attempt=%s seed=%" PRIu32,
                  attempt->lease->run, attempt->lease->attempt, *seed);
    }
    return status;
}

static enum status on_event(void *context, const struct event *event, bool crossing,
                            struct error *err)
{
    struct attempt *attempt = context;
    enum status status = spool_event(attempt, event, err);

    if (status == ST_OK)
        link_notify(attempt->link, crossing);
    if (status == ST_OK && event->kind == EVENT_EVAL)
        progress_eval(&attempt->progress, event, crossing);
    if (status == ST_OK && link_state(attempt->link) == LINK_SUPERSEDED)
        status = error_set(err, ST_CONFLICT, "attempt", "another attempt has taken the job over");
    return status;
}

static void on_phase(void *context, const char *phase)
{
    struct attempt *attempt = context;

    link_set_phase(attempt->link, phase);
    progress_phase(&attempt->progress, phase);
}

static void on_step(void *context, int64_t step, int64_t step_count)
{
    struct attempt *attempt = context;

    progress_step(&attempt->progress, step, step_count);
}

static enum parent_wish wish(void *context)
{
    struct attempt *attempt = context;

    if (link_state(attempt->link) != LINK_UP || link_is_cancelled(attempt->link) ||
        is_cancelled_here())
        return PARENT_CANCEL;
    return PARENT_GO_ON; /* to drain is to finish this job */
}

/* "isa=avx512 threads=2 ..." of the workload's facts. */
static void format_plan(const json_t *facts, char plan[PLAN_BYTES_MAX])
{
    const char *key;
    const json_t *value;
    struct buf text;

    buf_init(&text, PLAN_BYTES_MAX - 1);
    /* jansson's macro wants the object without const; it is only read. */
    json_object_foreach((json_t *)(uintptr_t)facts, /* NOLINT(performance-no-int-to-ptr) */
                        key, value)
    {
        const size_t before = text.len;

        buf_appendf(&text, "%s%s=", before > 0 ? " " : "", key);
        if (json_is_string(value))
            buf_append_cstr(&text, json_string_value(value));
        else if (json_is_integer(value))
            buf_appendf(&text, "%lld", (long long)json_integer_value(value));
        else if (json_is_real(value))
            buf_appendf(&text, "%.6g", json_real_value(value));
        else
            buf_append_cstr(&text, json_is_true(value) ? "true" : "false");
        if (text.failed) { /* the rest does not fit */
            text.len = before;
            break;
        }
    }
    (void)snprintf(plan, PLAN_BYTES_MAX, "%.*s", (int)text.len, text.len > 0 ? text.data : "");
    buf_fini(&text);
}

static void print_finish(const struct attempt *attempt, const char *result,
                         const struct buf *answer)
{
    struct arena arena;
    struct json_doc doc = {0};

    arena_init(&arena, ARENA_BYTES_MAX);
    (void)json_doc_parse(buf_str(answer), &arena, &doc, NULL);
    (void)printf("run=%" PRId64 " job=%" PRId64 " task=%s result=%s", attempt->lease->run,
                 attempt->lease->job, attempt->lease->task, result);
    if (json_is_number(json_object_get(doc.root, "tta_s")))
        (void)printf(" tta_s=%.3f", json_number_value(json_object_get(doc.root, "tta_s")));
    if (json_is_integer(json_object_get(doc.root, "place")))
        (void)printf(" place=%lld",
                     (long long)json_integer_value(json_object_get(doc.root, "place")));
    (void)printf("\n");
    (void)fflush(stdout);
    json_doc_fini(&doc);
    arena_fini(&arena);
}

struct ending {
    int64_t last_seq;
    const char *result; /* "reached", "missed", "failed", "cancelled" */
    const char *detail, *plan;
};

/* Tells the end; the folder goes when the server has it. */
static enum status post_finish(struct attempt *attempt, const struct ending *ending,
                               struct error *err)
{
    struct buf body, answer;
    enum status status;

    buf_init(&body, BODY_BYTES_MAX);
    buf_init(&answer, BODY_BYTES_MAX);
    buf_appendf(&body, "{\"last_seq\":%" PRId64 ",\"result\":\"%s\"", ending->last_seq,
                ending->result);
    if (ending->detail[0] != '\0') {
        buf_append_cstr(&body, ",\"detail\":");
        buf_append_json(&body, str_from_cstr(ending->detail));
    }
    if (ending->plan[0] != '\0') {
        buf_append_cstr(&body, ",\"plan\":");
        buf_append_json(&body, str_from_cstr(ending->plan));
    }
    buf_append_char(&body, '}');
    status = buf_check(&body, err);
    if (status == ST_OK)
        status = link_post(attempt->link, "finish", buf_str(&body), &answer, err);
    if (status == ST_OK) {
        print_finish(attempt, ending->result, &answer);
        files_remove_tree(attempt->folder);
    }
    buf_fini(&answer);
    buf_fini(&body);
    return status;
}

/* A run is whole without its profile: whatever keeps it from the server is told, no more. */
static void post_profile(struct attempt *attempt)
{
    struct buf body, answer;
    struct error err = {0};
    enum status status;
    char quoted[600];

    if (!files_exists(attempt->profile))
        return;
    buf_init(&body, RUN_PROFILE_BYTES_MAX);
    buf_init(&answer, BODY_BYTES_MAX);
    status = files_read(attempt->profile, &body, &err);
    if (status == ST_OK)
        status = link_post(attempt->link, "profile", buf_str(&body), &answer, &err);
    if (status == ST_OK)
        log_event(LOG_INFO, "profile_sent", "run=%" PRId64 " bytes=%zu", attempt->lease->run,
                  body.len);
    else
        log_event(LOG_WARN, "profile_not_sent", "run=%" PRId64 " reason=%s", attempt->lease->run,
                  log_quote(err.detail, quoted, sizeof quoted));
    buf_fini(&answer);
    buf_fini(&body);
}

/* Sends what is left of the events, the profile if there is one, then the end. */
static enum status finish(struct attempt *attempt, struct ending *ending, struct error *err)
{
    enum status status;

    link_set_phase(attempt->link, "finish");
    status = link_flush(attempt->link, err);
    ending->last_seq = spool_count(attempt->spool);
    if (status == ST_OK)
        post_profile(attempt);
    return status == ST_OK ? post_finish(attempt, ending, err) : status;
}

/* The server will never take these events: their run failed, and it must hear so, or the job would hang
 * until its lease is reclaimed, to fail like this again. */
static enum status finish_refused(struct attempt *attempt, struct error *err)
{
    struct ending ending = {0, "failed", err->detail, ""};
    struct error untold = {0};

    (void)link_flush(attempt->link, err); /* says why */
    ending.last_seq = link_give_up_events(attempt->link);
    link_end_within(attempt->link, GRACE_MS);
    if (post_finish(attempt, &ending, &untold) != ST_OK) {
        char quoted[600];

        log_event(LOG_WARN, "finish_failed", "attempt=%s reason=%s", attempt->lease->attempt,
                  log_quote(untold.detail, quoted, sizeof quoted));
    }
    return err->status;
}

static enum status release(struct attempt *attempt, const char *reason, const char *detail,
                           struct error *err)
{
    struct buf body, answer;
    enum status status;

    buf_init(&body, BODY_BYTES_MAX);
    buf_init(&answer, BODY_BYTES_MAX);
    buf_appendf(&body, "{\"reason\":\"%s\",\"detail\":", reason);
    buf_append_json(&body, str_from_cstr(detail));
    buf_append_char(&body, '}');
    status = buf_check(&body, err);
    if (status == ST_OK)
        status = link_post(attempt->link, "release", buf_str(&body), &answer, err);
    if (status == ST_OK) {
        log_event(LOG_INFO, "attempt_released", "attempt=%s reason=%s", attempt->lease->attempt,
                  reason);
        files_remove_tree(attempt->folder);
    }
    buf_fini(&answer);
    buf_fini(&body);
    return status;
}

/* What the last word of a call to the server means for the attempt. */
static enum attempt_outcome outcome_of(enum status status, enum attempt_outcome good)
{
    if (status == ST_OK)
        return good;
    return status == ST_CONFLICT || status == ST_DENIED ? ATTEMPT_LOST : ATTEMPT_KEPT;
}

static enum status choose_plan(const struct attempt *attempt, struct parent_plan *plan,
                               char data_dir[FILES_PATH_BYTES_MAX], struct error *err)
{
    const struct lease *lease = attempt->lease;
    const struct workload_ops *ops = workload_find(lease->workload);
    enum status status;

    *plan =
        (struct parent_plan){.task = task_find(attempt->setting->tasks, str_from_cstr(lease->task)),
                             .workload = lease->workload,
                             .recipe = lease->recipe,
                             .device = attempt->setting->device,
                             .data_dir = data_dir,
                             .profile_path = attempt->setting->profile ? attempt->profile : NULL};
    if (plan->task == NULL || plan->task->version != lease->task_version)
        return error_set(err, ST_UNSUPPORTED, "task",
                         "this agent does not know version %" PRId64 " of task %s",
                         lease->task_version, lease->task);
    if (ops == NULL)
        return error_set(err, ST_UNSUPPORTED, "workload", "this agent has no workload %s",
                         lease->workload);
    if (ops->hidden)
        plan->recipe = ops->recipes[ops->recipe_count - 1]; /* for tests: trains for any task */
    status = decimal_scale(plan->task->target, TARGET_UNIT, &plan->target_e6, err);
    return status == ST_OK ? files_cache_path(data_dir, plan->task->dataset, err) : status;
}

/* The training is over: what the server is told of it. */
static enum status settle(struct attempt *attempt, enum status trained,
                          const struct parent_result *result, const struct error *why,
                          enum attempt_outcome *outcome, struct error *err)
{
    char plan[PLAN_BYTES_MAX] = "";
    struct ending ending = {0, "failed", why->detail, plan};
    enum status status;

    if (link_state(attempt->link) == LINK_REFUSED) {
        *outcome = ATTEMPT_LOST;
        return finish_refused(attempt, err);
    }
    if (link_state(attempt->link) == LINK_SUPERSEDED) {
        *outcome = ATTEMPT_LOST;
        return link_flush(attempt->link, err); /* says so */
    }
    if (is_cancelled_here())
        link_end_within(attempt->link, GRACE_MS);
    if (is_cancelled_here() && !(trained == ST_OK && result->whole)) {
        status = release(attempt, "drain", "the operator cancelled", err);
        *outcome = outcome_of(status, ATTEMPT_RELEASED);
        return status;
    }
    if (!result->started && !link_is_cancelled(attempt->link)) {
        const bool unable = trained == ST_UNSUPPORTED || trained == ST_NOT_FOUND;

        status = release(attempt, unable ? "unsupported" : "error", why->detail, err);
        *outcome = outcome_of(status, ATTEMPT_RELEASED);
        return status == ST_OK ? error_set(err, trained, "setup", "%s", why->detail) : status;
    }
    if (result->facts != NULL)
        format_plan(result->facts, plan);
    if (link_is_cancelled(attempt->link)) {
        ending.result = "cancelled";
        ending.detail = "cancelled on the server";
    } else if (trained == ST_OK) {
        ending.result = result->reached ? "reached" : "missed";
        ending.detail = "";
    }
    status = finish(attempt, &ending, err);
    *outcome = outcome_of(status, ATTEMPT_FINISHED);
    return status;
}

static enum status train(struct attempt *attempt, enum attempt_outcome *outcome, struct error *err)
{
    const struct parent_handler handler = {attempt, start_clock, on_event, on_phase, on_step, wish};
    char data_dir[FILES_PATH_BYTES_MAX], label[96];
    struct parent_result result = {0};
    struct parent_plan plan;
    struct error why = {0};
    enum status status = choose_plan(attempt, &plan, data_dir, &why);

    (void)snprintf(label, sizeof label, "run %" PRId64 " %.60s", attempt->lease->run,
                   attempt->lease->task);
    progress_init(&attempt->progress, label);
    if (status == ST_OK)
        status = parent_run(&plan, &handler, &result, &why);
    progress_end(&attempt->progress);
    if (status != ST_OK) {
        char quoted[600];

        log_event(LOG_WARN, "training_failed", "attempt=%s reason=%s", attempt->lease->attempt,
                  log_quote(why.detail, quoted, sizeof quoted));
    }
    status = settle(attempt, status, &result, &why, outcome, err);
    parent_result_fini(&result);
    return status;
}

/* The result that the spool's last record tells, or "" when it is not a run_end. */
static enum status read_result(struct attempt *attempt, char result[RESULT_BYTES],
                               struct error *err)
{
    struct arena arena;
    struct event event;
    struct buf record;
    enum status status;

    result[0] = '\0';
    arena_init(&arena, ARENA_BYTES_MAX);
    buf_init(&record, EVENT_LINE_BYTES_MAX + 1);
    status = spool_read(attempt->spool, spool_count(attempt->spool), &record, err);
    if (status == ST_OK)
        status = event_parse(buf_str(&record), &arena, &event, err);
    if (status == ST_OK && event.kind == EVENT_RUN_END)
        (void)snprintf(result, RESULT_BYTES, "%.*s", STR_ARG(event.result));
    buf_fini(&record);
    arena_fini(&arena);
    return status;
}

static enum status recover(struct attempt *attempt, enum attempt_outcome *outcome,
                           struct error *err)
{
    char result[RESULT_BYTES] = "";
    struct ending ending = {0, result, "", ""};
    enum status status = ST_OK;

    if (spool_count(attempt->spool) > 0)
        status = read_result(attempt, result, err);
    if (status != ST_OK) {
        *outcome = ATTEMPT_LOST;
        return status;
    }
    if (result[0] != '\0') {
        log_event(LOG_INFO, "spool_replayed", "attempt=%s events=%" PRId64 " from=%" PRId64,
                  attempt->lease->attempt, spool_count(attempt->spool),
                  attempt->lease->resume_seq + 1);
        status = finish(attempt, &ending, err);
        *outcome = outcome_of(status, ATTEMPT_FINISHED);
        return status;
    }
    status = release(attempt, "error", "the agent was restarted during the training", err);
    *outcome = outcome_of(status, ATTEMPT_RELEASED);
    return status;
}

enum status attempt_run(const struct attempt_setting *setting, const struct lease *lease,
                        enum attempt_outcome *outcome, struct error *err)
{
    struct attempt attempt = {.setting = setting, .lease = lease};
    enum status status = open_attempt(&attempt, err);

    *outcome = ATTEMPT_KEPT;
    if (status == ST_OK)
        status = open_link(&attempt, err);
    if (status == ST_OK && spool_count(attempt.spool) == 0 && lease->resume_seq == 0)
        status = train(&attempt, outcome, err);
    else if (status == ST_OK)
        status = recover(&attempt, outcome, err);
    close_attempt(&attempt);
    return status;
}

enum status attempt_release(const struct attempt_setting *setting, const struct lease *lease,
                            const char *reason, const char *detail, struct error *err)
{
    struct attempt attempt = {.setting = setting, .lease = lease};
    enum status status = open_attempt(&attempt, err);

    if (status == ST_OK)
        status = open_link(&attempt, err);
    if (status == ST_OK) {
        link_end_within(attempt.link, GRACE_MS);
        status = release(&attempt, reason, detail, err);
    }
    close_attempt(&attempt);
    return status;
}
