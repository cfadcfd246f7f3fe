/* server/store/append.c: appends the events of a run, each exactly once (protocol.md, Events). The key is
 * (attempt, seq) and the proof the line's SHA-256; what an evaluation means for the run is worked out here, in
 * the same transaction. */
#include <inttypes.h>
#include <stdio.h>

#include "common/measure.h"
#include "server/store/store_internal.h"
#include "server/store/verbs.h"

enum { FRACTION_PLACES = 6, NUMBER_TEXT_BYTES = 32 };

/* One append, while it goes through its lines. */
struct append {
    struct db *db;
    struct append_events *args;
    const struct task *task;
    struct attempt attempt; /* last_seq, started_ms and tta_ns move on with the lines */
};

static enum status append_line(struct append *append, const struct event_line *line,
                               struct error *err);
#ifndef DAYBREAK_CONTROL_NO_EVENT_KEY
static enum status check_repeat(struct append *append, const struct event_line *line,
                                const unsigned char digest[SHA256_BYTES], struct error *err);
#endif
static enum status insert_event(struct append *append, const struct event_line *line,
                                const unsigned char digest[SHA256_BYTES], struct error *err);
static enum status apply_event(struct append *append, const struct event *event, struct error *err);
static enum status start_run(struct append *append, struct error *err);
static enum status check_eval(const struct append *append, const struct event *event,
                              struct error *err);
static enum status insert_epoch(struct append *append, const struct event *event, const char *label,
                                const char *value, struct error *err);
static enum status cross(struct append *append, const struct event *event, const char *label,
                         const char *value, struct error *err);
static enum status meets_target(const struct task *task, const struct event *event, bool *meets,
                                struct error *err);
static void format_metric(const struct task *task, const struct event *event,
                          char text[NUMBER_TEXT_BYTES]);
static void format_double(double value, char text[NUMBER_TEXT_BYTES]);
static bool is_percent(const struct task *task);

enum status verb_append_events(struct db *db, struct arena *arena, void *args, struct error *err)
{
    struct append append = {.db = db, .args = args};
    struct append_events *events = args;
    struct query_run run;
    enum status status =
        db_find_attempt(db, arena, events->agent_id, events->fence, &append.attempt, err);

    events->has_seed = false;
    if (status == ST_OK)
        status = db_check_fence(&append.attempt, err);
    if (status != ST_OK)
        return status;
    append.task = task_find(db->tasks, str_from_cstr(append.attempt.task));
    if (append.task == NULL)
        return error_set(err, ST_INTERNAL, "task", "the task %s is gone", append.attempt.task);
    status = db_renew_attempt(db, events->agent_id, &append.attempt, NULL, err);
    for (size_t i = 0; i < events->count && status == ST_OK; i++)
        status = append_line(&append, &events->lines[i], err);
    if (status != ST_OK)
        return status;
    run = query_begin(db, STMT_SET_ATTEMPT_SEQ, arena);
    query_bind_i64(&run, append.attempt.id);
    query_bind_i64(&run, append.attempt.last_seq);
    query_bind_opt(&run, append.attempt.started_ms);
    status = query_done(&run, err);
    events->ack_seq = append.attempt.last_seq;
    events->seed = append.attempt.seed;
    return status;
}

static enum status append_line(struct append *append, const struct event_line *line,
                               struct error *err)
{
    unsigned char digest[SHA256_BYTES];
    const int64_t seq = line->event.seq;
    enum status status;

    crypto_sha256(line->line, digest);
    if (line->event.kind == EVENT_RUN_START)
        append->args->has_seed = true;
#ifndef DAYBREAK_CONTROL_NO_EVENT_KEY
    if (seq <= append->attempt.last_seq)
        return check_repeat(append, line, digest, err);
    if (seq > append->attempt.last_seq + 1) {
        append->args->expected_seq = append->attempt.last_seq + 1;
        return error_set_code(
            err, ST_CONFLICT, "event-gap", "seq", "Send again from the expected seq.",
            "seq %" PRId64 " came, %" PRId64 " is expected", seq, append->args->expected_seq);
    }
#endif
    status = insert_event(append, line, digest, err);
    if (status == ST_OK)
        status = apply_event(append, &line->event, err);
    if (seq > append->attempt.last_seq)
        append->attempt.last_seq = seq;
    return status;
}

#ifndef DAYBREAK_CONTROL_NO_EVENT_KEY
static enum status check_repeat(struct append *append, const struct event_line *line,
                                const unsigned char digest[SHA256_BYTES], struct error *err)
{
    struct query_run run = query_begin(append->db, STMT_FIND_EVENT, NULL);
    unsigned char stored[SHA256_BYTES] = {0};
    enum status status;

    query_bind_i64(&run, append->attempt.id);
    query_bind_i64(&run, line->event.seq);
    status = query_row(&run, err);
    if (status == ST_OK && !query_digest(&run, stored))
        run.rc = SQLITE_CORRUPT;
    if (status == ST_NOT_FOUND)
        run.rc = SQLITE_CORRUPT; /* last_seq says it is there */
    status = query_end(&run, err);
    if (status == ST_OK && memcmp(stored, digest, sizeof stored) != 0)
        return error_set_code(err, ST_CONFLICT, "event-conflict", "seq",
                              "An event is never changed once it was sent.",
                              "seq %" PRId64 " is stored with other bytes", line->event.seq);
    return status;
}
#endif

static enum status insert_event(struct append *append, const struct event_line *line,
                                const unsigned char digest[SHA256_BYTES], struct error *err)
{
    struct query_run run = query_begin(append->db, STMT_INSERT_EVENT, NULL);
    enum status status;

    query_bind_i64(&run, append->attempt.id);
    query_bind_i64(&run, line->event.seq);
    query_bind_text(&run, event_kind_name(line->event.kind));
    query_bind_blob(&run, line->line.len == 0 ? "" : line->line.data, line->line.len);
    query_bind_blob(&run, digest, SHA256_BYTES);
    query_bind_i64(&run, append->db->now_ms);
    status = query_done(&run, err);
    fault_reach(&append->db->fault, "after-event-insert");
    return status;
}

static enum status apply_event(struct append *append, const struct event *event, struct error *err)
{
    char label[NUMBER_TEXT_BYTES], value[NUMBER_TEXT_BYTES], topic[TOPIC_BYTES_MAX];
    bool meets = false;
    enum status status;

    if (event->kind == EVENT_RUN_START)
        return start_run(append, err);
    if (event->kind != EVENT_EVAL)
        return ST_OK;
    status = check_eval(append, event, err);
    if (status != ST_OK)
        return status;
    format_double(event->epoch, label);
    format_metric(append->task, event, value);
    status = insert_epoch(append, event, label, value, err);
    if (status == ST_OK)
        status = meets_target(append->task, event, &meets, err);
    if (status == ST_OK && meets && !append->attempt.tta_ns.has)
        status = cross(append, event, label, value, err);
    (void)snprintf(topic, sizeof topic, "run:%" PRId64, append->attempt.run_id);
    return status == ST_OK ? db_note_change(append->db, topic, "epoch", event->seq, err) : status;
}

static enum status start_run(struct append *append, struct error *err)
{
    struct query_run run;
    enum status status;

    if (append->attempt.started_ms.has) {
#ifdef DAYBREAK_CONTROL_NO_EVENT_KEY
        return ST_OK;
#endif
        return error_set_code(err, ST_CONFLICT, "run-started", "kind", NULL,
                              "this attempt has started already");
    }
    append->attempt.started_ms = (struct opt_i64){true, append->db->now_ms};
    run = query_begin(append->db, STMT_START_RUN, NULL);
    query_bind_i64(&run, append->attempt.run_id);
    query_bind_i64(&run, append->db->now_ms);
    status = query_done(&run, err);
    if (status == ST_OK)
        status = db_note_run(append->db, append->attempt.run_id, err);
    if (status == ST_OK)
        status = db_raise_entry(append->db, append->attempt.entry_id, err);
    return status == ST_OK ? db_note_job(append->db, append->attempt.job_id, err) : status;
}

/* What only the task and the run's past can tell; the event's own form was checked by event_parse(). */
static enum status check_eval(const struct append *append, const struct event *event,
                              struct error *err)
{
    const struct task *task = append->task;

    if (!append->attempt.started_ms.has)
        return error_set_code(err, ST_INVALID, "run-not-started", "kind", NULL,
                              "an evaluation came before run_start");
    if (!str_eq_cstr(event->metric, task->metric))
        return error_set(err, ST_INVALID, "/metric", "this task is judged by %s", task->metric);
    if (!event->has_official || event->official_ns > event->wall_ns)
        return error_set(
            err, ST_INVALID, "/official_ns",
            "an evaluation has official_ns and wall_ns, the first not above the other");
    if (event->official_ns < measure_official_ns(event->wall_ns, event->wall_ns))
        return error_set_code(
            err, ST_INVALID, "out_of_range", "/official_ns", NULL,
            "official_ns is below two thirds of wall_ns: no more may be left out");
    if (task->validation_size > 0 && (!event->has_count || event->total != task->validation_size))
        return error_set(err, ST_INVALID, "/total",
                         "this task counts correct among all %" PRId64 " of its validation set",
                         task->validation_size);
    if (task->validation_size == 0 && !event->has_value)
        return error_set(err, ST_INVALID, "/value", "this task's metric is a value");
    return ST_OK;
}

static enum status insert_epoch(struct append *append, const struct event *event, const char *label,
                                const char *value, struct error *err)
{
    struct query_run run = query_begin(append->db, STMT_INSERT_EPOCH, NULL);

    query_bind_i64(&run, append->attempt.run_id);
    query_bind_i64(&run, append->attempt.id);
    query_bind_i64(&run, event->seq);
    query_bind_text(&run, label);
    query_bind_i64(&run, event->official_ns);
    query_bind_i64(&run, event->wall_ns);
    query_bind_text(&run, value);
    query_bind_opt(&run, (struct opt_i64){event->has_count, event->correct});
    query_bind_opt(&run, (struct opt_i64){event->has_count, event->total});
    query_bind_double(&run, event->has_loss, event->loss);
    query_bind_opt(&run, (struct opt_i64){event->views > 0, event->views});
    query_bind_text(&run, NULL);
    return query_done(&run, err);
}

/* TTA: the first evaluation, in order, that meets the target; later ones never move it (measures.md). */
static enum status cross(struct append *append, const struct event *event, const char *label,
                         const char *value, struct error *err)
{
    struct query_run run = query_begin(append->db, STMT_CROSS_RUN, NULL);
    enum status status;

    if (event->official_ns == 0) /* an upload with such a time is refused, too */
        return error_set_code(err, ST_INVALID, "out_of_range", "/official_ns", NULL,
                              "the target cannot be reached at time 0");
    append->attempt.tta_ns = (struct opt_i64){true, event->official_ns};
    query_bind_i64(&run, append->attempt.run_id);
    query_bind_i64(&run, event->official_ns);
    query_bind_text(&run, label);
    query_bind_i64(&run, event->seq);
    query_bind_text(&run, value);
    query_bind_opt(&run, (struct opt_i64){event->views > 0, event->views});
    query_bind_i64(&run, event->wall_ns);
    status = query_done(&run, err);
    return status == ST_OK ? db_note_run(append->db, append->attempt.run_id, err) : status;
}

/* Exactly: counts as integers, values as the decimals that were sent. */
static enum status meets_target(const struct task *task, const struct event *event, bool *meets,
                                struct error *err)
{
    char text[NUMBER_TEXT_BYTES];
    struct decimal value;
    int64_t target_e6;
    int order;
    enum status status;

    if (event->has_count) {
        status =
            decimal_scale(task->target, is_percent(task) ? 1000000 : 100000000, &target_e6, err);
        if (status == ST_OK)
            *meets = measure_count_meets(event->correct, event->total, target_e6);
        return status;
    }
    format_double(event->value, text);
    status = decimal_parse(str_from_cstr(text), false, &value, NULL, err);
    if (status != ST_OK)
        return status;
    order = decimal_cmp(value, task->target);
    *meets = task->higher_is_better ? order >= 0 : order <= 0;
    return ST_OK;
}

static void format_metric(const struct task *task, const struct event *event,
                          char text[NUMBER_TEXT_BYTES])
{
    const int64_t scale = is_percent(task) ? 100000000 : 1000000; /* places of the unit: 6 */
    int64_t product;

    if (event->has_count && !__builtin_mul_overflow(event->correct, scale, &product)) {
        const int64_t half = event->total / 2;

        decimal_format_short((product + half) / event->total, FRACTION_PLACES, text);
    } else if (event->has_count) {
        format_double((double)event->correct / (double)event->total * (is_percent(task) ? 100 : 1),
                      text);
    } else {
        format_double(event->value, text);
    }
}

/* The shortest text that reads back as the same double. */
static void format_double(double value, char text[NUMBER_TEXT_BYTES])
{
    for (int digits = 15; digits <= 17; digits++) {
        (void)snprintf(text, NUMBER_TEXT_BYTES, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            return;
    }
}

static bool is_percent(const struct task *task)
{
    return strcmp(task->unit, "percent") == 0;
}
