/* agent/train/parent.c: one training seen from its parent (see parent.h). */
#include "agent/train/parent.h"

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
#define EOF_GRACE_MS   5000   /* from a child's last word to its end */
#define PROFILE_MS     300000 /* the same, when it takes a profile in between */
#define PROFILE_PHASE  "profile"
#define RESULT_REACHED "reached"
#define RESULT_MISSED  "missed"
#define RESULT_FAILED  "failed"

struct parent {
    const struct parent_plan *plan;
    const struct parent_handler *handler;
    struct parent_result *result;
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

static enum status emit(struct parent *parent, struct event *event, bool crossing,
                        struct error *err)
{
    event->seq = ++parent->seq;
    return parent->handler->on_event(parent->handler->context, event, crossing, err);
}

static enum status emit_phase(struct parent *parent, enum event_kind kind, enum message_phase phase,
                              const struct process_line *line, struct error *err)
{
    struct event event = {.kind = kind,
                          .mono_ns = line->mono_ns,
                          .real_ms = line->real_ms,
                          .phase = str_from_cstr(message_phase_name(phase))};

    if (kind == EVENT_PHASE_BEGIN && parent->handler->on_phase != NULL)
        parent->handler->on_phase(parent->handler->context, message_phase_name(phase));
    return emit(parent, &event, false, err);
}

/* The child is set up: now the clock may start, and the seed is known. */
static enum status on_ready(struct parent *parent, const struct message *message,
                            const struct process_line *line, struct error *err)
{
    struct parent_result *result = parent->result;
    struct event start = {.kind = EVENT_RUN_START};
    char order[NUMBER_BYTES];
    enum status status;

    if (result->facts != NULL)
        return error_set(err, ST_IO, "child", "the training process was ready twice");
    result->facts = json_incref(message->facts);
    status = emit_phase(parent, EVENT_PHASE_END, PHASE_SETUP, line, err);
    if (status != ST_OK)
        return status;
    start.seq = ++parent->seq;
    start.mono_ns = clock_mono_ns();
    start.real_ms = clock_real_ms();
    status = parent->handler->start_clock(parent->handler->context, &start, &result->seed,
                                          &parent->start_ns, err);
    if (status != ST_OK)
        return status;
    result->started = true;
    parent->train_end_ns = parent->start_ns;
    (void)snprintf(order, sizeof order, "seed %" PRIu32 "\n", result->seed);
    return process_tell(parent->process, str_from_cstr(order), err);
}

static enum status on_begin(struct parent *parent, const struct message *message,
                            const struct process_line *line, struct error *err)
{
    parent->phase_begin_ns = line->mono_ns;
    return emit_phase(parent, EVENT_PHASE_BEGIN, message->phase, line, err);
}

static enum status on_end(struct parent *parent, const struct message *message,
                          const struct process_line *line, struct error *err)
{
    if (message->phase == PHASE_TRAIN)
        parent->train_end_ns = line->mono_ns;
    else
        parent->left_out_ns += line->mono_ns - parent->phase_begin_ns;
    return emit_phase(parent, EVENT_PHASE_END, message->phase, line, err);
}

static enum status keep_epoch(struct parent *parent, const struct entry_epoch *epoch,
                              struct error *err)
{
    struct parent_result *result = parent->result;

    if (result->epoch_count == parent->epoch_capacity) {
        const size_t capacity =
            parent->epoch_capacity > 0 ? 2 * parent->epoch_capacity : EPOCH_GROW;
        struct entry_epoch *grown = NULL;

        if (capacity <= EPOCHS_MAX)
            grown = realloc(result->epochs, capacity * sizeof *grown);
        if (grown == NULL)
            return error_set(err, ST_NO_MEMORY, "epochs", "no memory for another epoch");
        result->epochs = grown;
        parent->epoch_capacity = capacity;
    }
    result->epochs[result->epoch_count++] = *epoch;
    return ST_OK;
}

/* The official time is that of the end of the training step before: evaluating costs nothing. Left-out
 * intervals that ended before it are subtracted; the one that runs now lies behind it. */
static enum status on_eval(struct parent *parent, const struct message *message,
                           const struct process_line *line, struct error *err)
{
    const struct workload_score *score = &message->score;
    const int64_t wall_ns = parent->train_end_ns - parent->start_ns;
    const int64_t official_ns = measure_official_ns(wall_ns, parent->left_out_ns);
    const struct entry_epoch epoch = {message->progress.epoch, official_ns, score->correct,
                                      score->total};
    struct parent_result *result = parent->result;
    struct event event = {.kind = EVENT_EVAL,
                          .mono_ns = line->mono_ns,
                          .real_ms = line->real_ms,
                          .metric = str_from_cstr(parent->plan->task->metric),
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
                                                                  parent->plan->target_e6);
    enum status status = keep_epoch(parent, &epoch, err);

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
    return emit(parent, &event, crossing, err);
}

static enum status on_line(struct parent *parent, const struct process_line *line,
                           struct error *err)
{
    struct message message;
    enum status status = message_parse(line->text, &message, err);

    if (status != ST_OK)
        return status;
    if (!parent->result->started && message.kind != MESSAGE_READY && message.kind != MESSAGE_FAILED)
        status = error_set(err, ST_IO, "child", "the training process began before its clock");
    else
        switch (message.kind) {
        case MESSAGE_READY: status = on_ready(parent, &message, line, err); break;
        case MESSAGE_BEGIN: status = on_begin(parent, &message, line, err); break;
        case MESSAGE_END: status = on_end(parent, &message, line, err); break;
        case MESSAGE_EVAL: status = on_eval(parent, &message, line, err); break;
        case MESSAGE_STEP:
            if (parent->handler->on_step != NULL)
                parent->handler->on_step(parent->handler->context, message.progress.step,
                                         message.progress.step_count);
            break;
        case MESSAGE_DONE:
            parent->ended = true;
            parent->result->whole = message.progress.done;
            break;
        case MESSAGE_FAILED:
            parent->ended = true;
            status = error_set(err, message.failure, "child", "%s", message.text);
            break;
        case MESSAGE_KIND_COUNT: break;
        }
    json_decref(message.facts);
    return status;
}

/* Tells the child what is wished, once, and kills it when the grace is over. */
static void pass_wish(struct parent *parent)
{
    const enum parent_wish wish = parent->handler->wish(parent->handler->context);

    if (wish == PARENT_CANCEL && !parent->cancelling) {
        parent->cancelling = true;
        parent->kill_at_ns = clock_mono_ns() + PARENT_GRACE_NS;
        (void)process_tell(parent->process, STR("stop\n"), NULL);
    } else if (wish == PARENT_DRAIN && !parent->draining && !parent->cancelling) {
        parent->draining = true;
        (void)process_tell(parent->process, STR("drain\n"), NULL);
    }
    if (parent->cancelling && clock_mono_ns() >= parent->kill_at_ns) {
        log_event(LOG_WARN, "child_killed", "reason=grace_over");
        process_kill(parent->process);
    }
}

static enum status listen_to_child(struct parent *parent, struct error *err)
{
    for (;;) {
        struct process_line line;
        enum status status;

        pass_wish(parent);
        switch (process_hear(parent->process, HEAR_MS, &line)) {
        case PROCESS_NOTHING: break;
        case PROCESS_EOF: return ST_OK;
        case PROCESS_LINE:
            status = on_line(parent, &line, err);
            if (status != ST_OK)
                return status;
            break;
        }
        if (parent->ended)
            return ST_OK;
    }
}

/* Lets a child that said its last word end by itself, for a while; any other is killed. */
static void end_child(struct parent *parent, char how[96], bool *clean)
{
    const bool profiles = parent->result->whole && parent->plan->profile_path != NULL;
    const int64_t until_ns = clock_mono_ns() + (profiles ? PROFILE_MS : EOF_GRACE_MS) * NS_PER_MS;
    enum process_heard heard = PROCESS_NOTHING;
    struct process_line line;

    if (profiles && parent->handler->on_phase != NULL)
        parent->handler->on_phase(parent->handler->context, PROFILE_PHASE);
    while (parent->ended && heard != PROCESS_EOF && clock_mono_ns() < until_ns &&
           parent->handler->wish(parent->handler->context) != PARENT_CANCEL)
        heard = process_hear(parent->process, HEAR_MS, &line);
    if (heard != PROCESS_EOF) {
        if (profiles)
            log_event(LOG_WARN, "profile_stopped", "reason=%s",
                      clock_mono_ns() < until_ns ? "cancelled" : "too_slow");
        process_kill(parent->process);
    }
    process_end(parent->process, how, clean);
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

static void fill_arguments(const struct parent_plan *plan, struct child_numbers *numbers,
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
    add_option(argv, &count, "--profile", plan->profile_path);
    if (plan->holdout)
        argv[count++] = "--holdout";
    if (device->no_fusion)
        argv[count++] = "--no-fusion";
    argv[count] = NULL;
}

/* The last event tells how it went, in the words of the protocol. */
static enum status emit_end(struct parent *parent, enum status outcome, const struct error *why,
                            struct error *err)
{
    struct event event = {
        .kind = EVENT_RUN_END, .mono_ns = clock_mono_ns(), .real_ms = clock_real_ms()};

    if (outcome != ST_OK || !parent->result->whole) {
        event.result = STR(RESULT_FAILED);
        event.text =
            outcome != ST_OK ? str_from_cstr(why->detail) : STR("stopped before the recipe's end");
    } else {
        event.result = parent->result->reached ? STR(RESULT_REACHED) : STR(RESULT_MISSED);
    }
    return emit(parent, &event, false, err);
}

enum status parent_run(const struct parent_plan *plan, const struct parent_handler *handler,
                       struct parent_result *result, struct error *err)
{
    struct parent parent = {.plan = plan, .handler = handler, .result = result};
    struct child_numbers numbers;
    const char *argv[ARGUMENT_MAX];
    struct error why = {0}, untold = {0};
    struct process_line now = {clock_mono_ns(), clock_real_ms(), {0}};
    char how[96];
    bool clean = false, told_end;
    enum status status, told = ST_OK;

    *result = (struct parent_result){0};
    fill_arguments(plan, &numbers, argv);
    status = process_start(argv, &parent.process, err);
    if (status != ST_OK)
        return status;
    status = emit_phase(&parent, EVENT_PHASE_BEGIN, PHASE_SETUP, &now, &why);
    if (status == ST_OK)
        status = listen_to_child(&parent, &why);
    told_end = status == ST_OK && parent.ended; /* at once: a profile takes its time */
    if (told_end)
        told = emit_end(&parent, status, &why, &untold);
    end_child(&parent, how, &clean);
    if (status == ST_OK && !parent.ended)
        status =
            error_set(&why, ST_IO, "child", "the training process ended by itself with %s", how);
    if (parent.cancelling && status != ST_OK)
        status = ST_CANCELLED;
    if (result->started && !told_end)
        told = emit_end(&parent, status, &why, &untold);
    if (status == ST_OK) {
        status = told;
        why = untold;
    }
    if (status != ST_OK && err != NULL && err->status == ST_OK)
        *err = why;
    return status;
}

void parent_result_fini(struct parent_result *result)
{
    if (result == NULL)
        return;
    free(result->epochs);
    json_decref(result->facts);
    *result = (struct parent_result){0};
}
