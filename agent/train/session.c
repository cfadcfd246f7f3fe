/* agent/train/session.c: one training seen from its parent (see session.h). */
#include "agent/train/session.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/train/message.h"
#include "agent/train/process.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/measure.h"

#define HEAR_MS        200
#define ARGUMENT_MAX   40
#define NUMBER_BYTES   40
#define EPOCH_GROW     16
#define EPOCHS_MAX     1000000
#define EOF_GRACE_MS   5000 /* from a child's last word to its end */
#define RESULT_REACHED "reached"
#define RESULT_MISSED  "missed"
#define RESULT_FAILED  "failed"

struct session {
    const struct session_plan *plan;
    const struct session_handler *handler;
    struct session_result *result;
    struct process *process;
    int64_t seq;
    /* The clock, all CLOCK_MONOTONIC. */
    int64_t start_ns;       /* the answer to run_start */
    int64_t train_end_ns;   /* end of the last training step */
    int64_t left_out_ns;    /* of whole evaluations and checkpoints so far */
    int64_t phase_begin_ns; /* of the phase that is left out now */
    size_t epoch_capacity;
    bool draining, cancelling, ended; /* ended: the child said its last word */
    int64_t kill_at_ns;
};

static enum status emit(struct session *session, struct event *event, bool crossing,
                        struct error *err)
{
    event->seq = ++session->seq;
    return session->handler->on_event(session->handler->context, event, crossing, err);
}

static enum status emit_phase(struct session *session, enum event_kind kind,
                              enum message_phase phase, const struct process_line *line,
                              struct error *err)
{
    struct event event = {.kind = kind,
                          .mono_ns = line->mono_ns,
                          .real_ms = line->real_ms,
                          .phase = str_from_cstr(message_phase_name(phase))};

    if (kind == EVENT_PHASE_BEGIN && session->handler->on_phase != NULL)
        session->handler->on_phase(session->handler->context, message_phase_name(phase));
    return emit(session, &event, false, err);
}

/* The child is set up: now the clock may start, and the seed is known. */
static enum status on_ready(struct session *session, const struct message *message,
                            const struct process_line *line, struct error *err)
{
    struct session_result *result = session->result;
    struct event start = {.kind = EVENT_RUN_START};
    char order[NUMBER_BYTES];
    enum status status;

    if (result->facts != NULL)
        return error_set(err, ST_IO, "child", "the training process was ready twice");
    result->facts = json_incref(message->facts);
    status = emit_phase(session, EVENT_PHASE_END, PHASE_SETUP, line, err);
    if (status != ST_OK)
        return status;
    start.seq = ++session->seq;
    start.mono_ns = clock_mono_ns();
    start.real_ms = clock_real_ms();
    status = session->handler->start_clock(session->handler->context, &start, &result->seed,
                                           &session->start_ns, err);
    if (status != ST_OK)
        return status;
    result->started = true;
    session->train_end_ns = session->start_ns;
    (void)snprintf(order, sizeof order, "seed %" PRIu32 "\n", result->seed);
    return process_tell(session->process, str_from_cstr(order), err);
}

static enum status on_begin(struct session *session, const struct message *message,
                            const struct process_line *line, struct error *err)
{
    session->phase_begin_ns = line->mono_ns;
    return emit_phase(session, EVENT_PHASE_BEGIN, message->phase, line, err);
}

static enum status on_end(struct session *session, const struct message *message,
                          const struct process_line *line, struct error *err)
{
    if (message->phase == PHASE_TRAIN)
        session->train_end_ns = line->mono_ns;
    else
        session->left_out_ns += line->mono_ns - session->phase_begin_ns;
    return emit_phase(session, EVENT_PHASE_END, message->phase, line, err);
}

static enum status keep_epoch(struct session *session, const struct entry_epoch *epoch,
                              struct error *err)
{
    struct session_result *result = session->result;

    if (result->epoch_count == session->epoch_capacity) {
        const size_t capacity =
            session->epoch_capacity > 0 ? 2 * session->epoch_capacity : EPOCH_GROW;
        struct entry_epoch *grown = NULL;

        if (capacity <= EPOCHS_MAX)
            grown = realloc(result->epochs, capacity * sizeof *grown);
        if (grown == NULL)
            return error_set(err, ST_NO_MEMORY, "epochs", "no memory for another epoch");
        result->epochs = grown;
        session->epoch_capacity = capacity;
    }
    result->epochs[result->epoch_count++] = *epoch;
    return ST_OK;
}

/* The official time is that of the end of the training step before: evaluating costs nothing. Left-out
 * intervals that ended before it are subtracted; the one that runs now lies behind it. */
static enum status on_eval(struct session *session, const struct message *message,
                           const struct process_line *line, struct error *err)
{
    const struct workload_score *score = &message->score;
    const int64_t wall_ns = session->train_end_ns - session->start_ns;
    const int64_t official_ns = measure_official_ns(wall_ns, session->left_out_ns);
    const struct entry_epoch epoch = {message->progress.epoch, official_ns, score->correct,
                                      score->total};
    struct session_result *result = session->result;
    struct event event = {.kind = EVENT_EVAL,
                          .mono_ns = line->mono_ns,
                          .real_ms = line->real_ms,
                          .metric = str_from_cstr(session->plan->task->metric),
                          .epoch = message->progress.epoch,
                          .has_count = true,
                          .correct = score->correct,
                          .total = score->total,
                          .has_loss = message->progress.has_loss,
                          .loss = message->progress.loss,
                          .views = score->views,
                          .has_official = true,
                          .official_ns = official_ns,
                          .wall_ns = wall_ns};
    const bool crossing = !result->reached && measure_count_meets(score->correct, score->total,
                                                                  session->plan->target_e6);
    enum status status = keep_epoch(session, &epoch, err);

    if (status != ST_OK)
        return status;
    if (crossing) {
        result->reached = true;
        result->crossing_epoch = epoch.epoch;
        result->crossing_official_ns = official_ns;
        result->crossing_wall_ns = wall_ns;
    }
    result->views = score->views;
    result->wall_ns = wall_ns;
    return emit(session, &event, crossing, err);
}

static enum status on_line(struct session *session, const struct process_line *line,
                           struct error *err)
{
    struct message message;
    enum status status = message_parse(line->text, &message, err);

    if (status != ST_OK)
        return status;
    if (!session->result->started && message.kind != MESSAGE_READY &&
        message.kind != MESSAGE_FAILED)
        status = error_set(err, ST_IO, "child", "the training process began before its clock");
    else
        switch (message.kind) {
        case MESSAGE_READY: status = on_ready(session, &message, line, err); break;
        case MESSAGE_BEGIN: status = on_begin(session, &message, line, err); break;
        case MESSAGE_END: status = on_end(session, &message, line, err); break;
        case MESSAGE_EVAL: status = on_eval(session, &message, line, err); break;
        case MESSAGE_STEP:
            if (session->handler->on_step != NULL)
                session->handler->on_step(session->handler->context, message.progress.step,
                                          message.progress.step_count);
            break;
        case MESSAGE_DONE:
            session->ended = true;
            session->result->whole = message.progress.done;
            break;
        case MESSAGE_FAILED:
            session->ended = true;
            status = error_set(err, message.failure, "child", "%s", message.text);
            break;
        case MESSAGE_KIND_COUNT: break;
        }
    json_decref(message.facts);
    return status;
}

/* Tells the child what is wished, once, and kills it when the grace is over. */
static void pass_wish(struct session *session)
{
    const enum session_wish wish = session->handler->wish(session->handler->context);

    if (wish == SESSION_CANCEL && !session->cancelling) {
        session->cancelling = true;
        session->kill_at_ns = clock_mono_ns() + SESSION_GRACE_NS;
        (void)process_tell(session->process, STR("stop\n"), NULL);
    } else if (wish == SESSION_DRAIN && !session->draining && !session->cancelling) {
        session->draining = true;
        (void)process_tell(session->process, STR("drain\n"), NULL);
    }
    if (session->cancelling && clock_mono_ns() >= session->kill_at_ns) {
        log_event(LOG_WARN, "child_killed", "reason=grace_over");
        process_kill(session->process);
    }
}

static enum status listen_to_child(struct session *session, struct error *err)
{
    for (;;) {
        struct process_line line;
        enum status status;

        pass_wish(session);
        switch (process_hear(session->process, HEAR_MS, &line)) {
        case PROCESS_NOTHING: break;
        case PROCESS_EOF: return ST_OK;
        case PROCESS_LINE:
            status = on_line(session, &line, err);
            if (status != ST_OK)
                return status;
            break;
        }
        if (session->ended)
            return ST_OK;
    }
}

/* Lets a child that said its last word end by itself; any other is killed. */
static void end_child(struct session *session, char how[96], bool *clean)
{
    struct process_line line;

    if (session->ended)
        while (process_hear(session->process, EOF_GRACE_MS, &line) == PROCESS_LINE)
            ;
    else
        process_kill(session->process);
    process_end(session->process, how, clean);
}

static void add_option(const char **argv, size_t *count, const char *name, const char *value)
{
    if (value == NULL)
        return;
    argv[(*count)++] = name;
    argv[(*count)++] = value;
}

struct child_numbers {
    char parent[NUMBER_BYTES], threads[NUMBER_BYTES], epochs[NUMBER_BYTES], images[NUMBER_BYTES];
};

static void fill_arguments(const struct session_plan *plan, struct child_numbers *numbers,
                           const char *argv[ARGUMENT_MAX])
{
    const struct device_choice *device = plan->device;
    size_t count = 0;

    (void)snprintf(numbers->parent, NUMBER_BYTES, "%ld", (long)getpid());
    (void)snprintf(numbers->threads, NUMBER_BYTES, "%" PRId64, device->threads);
    (void)snprintf(numbers->epochs, NUMBER_BYTES, "%.17g", plan->max_epochs);
    (void)snprintf(numbers->images, NUMBER_BYTES, "%" PRId64, plan->image_limit);
    argv[count++] = ""; /* process_start() names the program */
    argv[count++] = "child";
    add_option(argv, &count, "--parent", numbers->parent);
    add_option(argv, &count, "--workload", plan->workload);
    add_option(argv, &count, "--recipe", plan->recipe);
    add_option(argv, &count, "--data", plan->data_dir);
    add_option(argv, &count, "--device", device->device);
    add_option(argv, &count, "--isa", device->isa);
    add_option(argv, &count, "--precision", device->precision);
    add_option(argv, &count, "--tune", device->tune);
    add_option(argv, &count, "--threads", numbers->threads);
    add_option(argv, &count, "--max-epochs", plan->has_max_epochs ? numbers->epochs : NULL);
    add_option(argv, &count, "--limit-images", plan->image_limit > 0 ? numbers->images : NULL);
    add_option(argv, &count, "--checkpoint", plan->checkpoint_path);
    add_option(argv, &count, "--model", plan->model_path);
    add_option(argv, &count, "--resume", plan->resume_path);
    if (plan->holdout)
        argv[count++] = "--holdout";
    if (device->no_fusion)
        argv[count++] = "--no-fusion";
    argv[count] = NULL;
}

/* The last event tells how it went, in the words of the protocol. */
static enum status emit_end(struct session *session, enum status outcome, const struct error *why,
                            struct error *err)
{
    struct event event = {
        .kind = EVENT_RUN_END, .mono_ns = clock_mono_ns(), .real_ms = clock_real_ms()};

    if (outcome != ST_OK || !session->result->whole) {
        event.result = STR(RESULT_FAILED);
        event.text =
            outcome != ST_OK ? str_from_cstr(why->detail) : STR("stopped before the recipe's end");
    } else {
        event.result = session->result->reached ? STR(RESULT_REACHED) : STR(RESULT_MISSED);
    }
    return emit(session, &event, false, err);
}

enum status session_run(const struct session_plan *plan, const struct session_handler *handler,
                        struct session_result *result, struct error *err)
{
    struct session session = {.plan = plan, .handler = handler, .result = result};
    struct child_numbers numbers;
    const char *argv[ARGUMENT_MAX];
    struct error why = {0}, untold = {0};
    struct process_line now = {clock_mono_ns(), clock_real_ms(), {0}};
    char how[96];
    bool clean = false;
    enum status status, told = ST_OK;

    *result = (struct session_result){0};
    fill_arguments(plan, &numbers, argv);
    status = process_start(argv, &session.process, err);
    if (status != ST_OK)
        return status;
    status = emit_phase(&session, EVENT_PHASE_BEGIN, PHASE_SETUP, &now, &why);
    if (status == ST_OK)
        status = listen_to_child(&session, &why);
    end_child(&session, how, &clean);
    if (status == ST_OK && !session.ended)
        status =
            error_set(&why, ST_IO, "child", "the training process ended by itself with %s", how);
    if (session.cancelling && status != ST_OK)
        status = ST_CANCELLED;
    if (result->started)
        told = emit_end(&session, status, &why, &untold);
    if (status == ST_OK) {
        status = told;
        why = untold;
    }
    if (status != ST_OK && err != NULL && err->status == ST_OK)
        *err = why;
    return status;
}

void session_result_fini(struct session_result *result)
{
    if (result == NULL)
        return;
    free(result->epochs);
    json_decref(result->facts);
    *result = (struct session_result){0};
}
