/* agent/train/child.c: the hidden command that does one training for its parent.
 *
 *   parent: starts it -> "seed N" -> ("drain" | "stop")      end of file: ends at once
 *   child:  ready        begin train .. end train, begin evaluate, eval, end evaluate, .. done | failed
 *
 * Behind its last word it may measure where a step's time goes, into the file of --profile.
 *
 * Two threads: the main one calls the workload, a listener reads what the parent says. The child never
 * outlives its parent: the kernel kills it when the parent's thread ends, and end of file on the standard
 * input ends it, too. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "agent/command.h"
#include "agent/data/files.h"
#include "agent/profile/energy.h"
#include "agent/profile/step_profile.h"
#include "agent/train/device.h"
#include "agent/train/message.h"
#include "agent/train/process.h"
#include "agent/workload/workload.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/opt.h"

#define ORDER_BYTES_MAX         64
#define STEP_PERIOD_NS          (NS_PER_S / 5)
#define EXIT_ORPHAN             4
#define PROFILE_ARENA_BYTES_MAX ((size_t)16 << 20)

struct child {
    const struct workload_ops *ops;
    void *state;
    const char *checkpoint_path, *model_path, *resume_path, *profile_path; /* NULL: none */
    bool fusion;
    struct buf line;
    struct energy energy;
    double evaluation_s; /* of the last one; 0: none */
    int64_t last_step_ns;

    atomic_bool stop, drain;
    pthread_mutex_t lock;
    pthread_cond_t seeded;
    bool has_seed; /* guarded by lock */
    uint32_t seed; /* guarded by lock */
};

static void say(struct child *child, const struct message *message, struct str facts)
{
    struct error err = {0};

    buf_clear(&child->line);
    message_append(&child->line, message, facts);
    if (files_write_all(PROCESS_SAY_FD, child->line.data, child->line.len, "pipe", &err) != ST_OK)
        _exit(EXIT_ORPHAN); /* nobody listens */
}

static void say_phase(struct child *child, enum message_kind kind, enum message_phase phase)
{
    say(child, &(struct message){.kind = kind, .phase = phase}, STR(""));
}

static int say_failed(struct child *child, enum status status, const struct error *err)
{
    struct message message = {.kind = MESSAGE_FAILED, .failure = status};
    const char *sep = err->hint[0] != '\0' ? "; " : "";

    (void)snprintf(message.text, sizeof message.text, "%s%s%.120s", err->detail, sep, err->hint);
    say(child, &message, STR(""));
    return status_exit_code(status);
}

static void obey(struct child *child, struct str order)
{
    uint64_t seed;

    if (str_eq(order, STR("stop"))) {
        atomic_store(&child->stop, true);
    } else if (str_eq(order, STR("drain"))) {
        atomic_store(&child->drain, true);
    } else if (str_starts_with(order, STR("seed ")) &&
               str_parse_u64(str_slice(order, 5, order.len), &seed) && seed <= UINT32_MAX) {
        (void)pthread_mutex_lock(&child->lock);
        child->seed = (uint32_t)seed;
        child->has_seed = true;
        (void)pthread_mutex_unlock(&child->lock);
    } else {
        _exit(EXIT_ORPHAN); /* not our parent's words */
    }
    (void)pthread_mutex_lock(&child->lock);
    (void)pthread_cond_broadcast(&child->seeded);
    (void)pthread_mutex_unlock(&child->lock);
}

static void *listen_to_parent(void *argument)
{
    struct child *child = argument;
    char order[ORDER_BYTES_MAX];
    size_t len = 0;

    for (;;) {
        const ssize_t got = read(STDIN_FILENO, order + len, sizeof order - len);
        size_t begin = 0;

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            _exit(EXIT_ORPHAN);
        for (size_t i = len; i < len + (size_t)got; i++)
            if (order[i] == '\n') {
                obey(child, (struct str){order + begin, i - begin});
                begin = i + 1;
            }
        len += (size_t)got;
        memmove(order, order + begin, len - begin);
        len -= begin;
        if (len == sizeof order)
            _exit(EXIT_ORPHAN);
    }
}

static bool should_stop(void *context)
{
    struct child *child = context;

    return atomic_load(&child->stop);
}

static void on_step(void *context, int64_t step, int64_t step_count)
{
    struct child *child = context;
    const int64_t now_ns = clock_mono_ns();

    if (now_ns - child->last_step_ns < STEP_PERIOD_NS)
        return;
    child->last_step_ns = now_ns;
    say(child,
        &(struct message){.kind = MESSAGE_STEP,
                          .progress = {.step = step, .step_count = step_count}},
        STR(""));
}

/* False when told to stop before. */
static bool wait_for_seed(struct child *child, uint32_t *seed)
{
    bool has_seed;

    (void)pthread_mutex_lock(&child->lock);
    while (!child->has_seed && !atomic_load(&child->stop) && !atomic_load(&child->drain))
        (void)pthread_cond_wait(&child->seeded, &child->lock);
    has_seed = child->has_seed;
    *seed = child->seed;
    (void)pthread_mutex_unlock(&child->lock);
    return has_seed;
}

static enum status evaluate(struct child *child, const struct workload_control *control,
                            const struct workload_progress *progress, struct error *err)
{
    struct message message = {.kind = MESSAGE_EVAL, .progress = *progress};
    const int64_t begun_ns = clock_mono_ns();
    enum status status;

    say_phase(child, MESSAGE_BEGIN, PHASE_EVALUATE);
    status = child->ops->evaluate(child->state, control, &message.score, err);
    if (status != ST_OK)
        return status;
    child->evaluation_s = (double)(clock_mono_ns() - begun_ns) / (double)NS_PER_S;
    say(child, &message, STR(""));
    say_phase(child, MESSAGE_END, PHASE_EVALUATE);
    return ST_OK;
}

static enum status save(struct child *child, bool done, struct error *err)
{
    const bool with_model = done && child->model_path != NULL;
    enum status status = ST_OK;

    if (child->checkpoint_path == NULL && !with_model)
        return ST_OK;
    say_phase(child, MESSAGE_BEGIN, PHASE_CHECKPOINT);
    if (child->checkpoint_path != NULL)
        status = child->ops->save(child->state, child->checkpoint_path, err);
    if (status == ST_OK && with_model)
        status = child->ops->save(child->state, child->model_path, err);
    if (status == ST_OK)
        say_phase(child, MESSAGE_END, PHASE_CHECKPOINT);
    return status;
}

static enum status train(struct child *child, uint32_t seed, struct workload_progress *progress,
                         struct error *err)
{
    const struct workload_control control = {should_stop, on_step, child};
    enum status status;

    energy_begin(ENERGY_FOLDER, &child->energy);
    say_phase(child, MESSAGE_BEGIN, PHASE_TRAIN);
    status = child->ops->start(child->state, seed, err);
    if (status == ST_OK && child->resume_path != NULL)
        status = child->ops->resume(child->state, child->resume_path, progress, err);
    if (status == ST_OK && progress->done)
        status = error_set(err, ST_INVALID, "--resume", "%s is at the end of its training already",
                           child->resume_path);
    while (status == ST_OK && !progress->done) {
        if (progress->step > 0 && atomic_load(&child->drain))
            break;
        status = child->ops->train(child->state, &control, progress, err);
        if (status == ST_OK)
            say_phase(child, MESSAGE_END, PHASE_TRAIN);
        if (status == ST_OK)
            status = evaluate(child, &control, progress, err);
        if (status == ST_OK)
            status = save(child, progress->done, err);
        energy_sample(&child->energy);
        if (status == ST_OK && !progress->done)
            say_phase(child, MESSAGE_BEGIN, PHASE_TRAIN);
    }
    return status;
}

static enum status say_ready(struct child *child, struct error *err)
{
    struct buf facts;
    enum status status;

    buf_init(&facts, MESSAGE_BYTES_MAX / 2);
    status = child->ops->describe(child->state, &facts, err);
    if (status == ST_OK)
        say(child, &(struct message){.kind = MESSAGE_READY}, buf_str(&facts));
    buf_fini(&facts);
    return status;
}

static enum status write_profile(struct child *child, struct error *err)
{
    const struct step_profile_source source = {.ops = child->ops,
                                               .state = child->state,
                                               .fusion = child->fusion,
                                               .has_evaluation = child->evaluation_s > 0.0,
                                               .evaluation_s = child->evaluation_s,
                                               .has_energy = child->energy.count > 0,
                                               .energy_j = child->energy.joules};
    struct run_profile profile;
    struct arena arena;
    struct buf text;
    enum status status;

    arena_init(&arena, PROFILE_ARENA_BYTES_MAX);
    buf_init(&text, RUN_PROFILE_BYTES_MAX);
    status = step_profile_measure(&source, &arena, &profile, err);
    if (status == ST_OK) {
        run_profile_append(&text, &profile);
        status = buf_check(&text, err);
    }
    if (status == ST_OK) /* what a server would refuse is no profile */
        status = run_profile_parse(buf_str(&text), &arena, &profile, err);
    if (status == ST_OK)
        status = files_write(child->profile_path, buf_str(&text), 0644, err);
    buf_fini(&text);
    arena_fini(&arena);
    return status;
}

/* The run is over, and whole without it: a failure is told, no more. */
static void take_profile(struct child *child)
{
    struct error err = {0};
    char quoted[600];

    if (write_profile(child, &err) != ST_OK)
        log_event(LOG_WARN, "profile_failed", "reason=%s",
                  log_quote(err.detail, quoted, sizeof quoted));
}

static int run_child(struct child *child, const struct workload_options *options)
{
    struct workload_progress progress = {0};
    struct error err = {0};
    uint32_t seed;
    enum status status = child->ops->open(options, &child->state, &err);

    if (status == ST_OK)
        status = say_ready(child, &err);
    if (status == ST_OK && !wait_for_seed(child, &seed))
        status = error_set(&err, ST_CANCELLED, NULL, "stopped before the training began");
    if (status == ST_OK)
        status = train(child, seed, &progress, &err);
    if (status != ST_OK)
        return say_failed(child, status, &err);
    say(child, &(struct message){.kind = MESSAGE_DONE, .progress = progress}, STR(""));
    if (progress.done && child->profile_path != NULL && child->ops->step_program != NULL)
        take_profile(child);
    return 0;
}

/* The parent may have died between its fork and our request: then nobody would ever kill us. */
static void bind_to_parent(int64_t parent)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != (pid_t)parent)
        _exit(EXIT_ORPHAN);
}

static void init_child(struct child *child)
{
    buf_init(&child->line, MESSAGE_BYTES_MAX);
    atomic_init(&child->stop, false);
    atomic_init(&child->drain, false);
    (void)pthread_mutex_init(&child->lock, NULL);
    (void)pthread_cond_init(&child->seeded, NULL);
}

int command_child(int argc, char *const *argv)
{
    static struct child child; /* the listener may outlive this function */
    struct workload_options options = {0};
    struct device_choice device;
    const char *workload = NULL;
    const char **arguments = calloc((size_t)argc + 1, sizeof *arguments);
    int64_t parent = 0;
    int argument_count = 0;
    bool help = false;
    struct error err = {0};
    enum status status;
    int code;
    struct opt opts[DEVICE_OPT_COUNT + 11] = {
        {.name = "parent", .kind = OPT_INT, .value = &parent},
        {.name = "workload", .kind = OPT_TEXT, .value = &workload},
        {.name = "recipe", .kind = OPT_TEXT, .value = &options.recipe},
        {.name = "data", .kind = OPT_TEXT, .value = &options.data_dir},
        {.name = "max-epochs",
         .kind = OPT_DOUBLE,
         .value = &options.max_epochs,
         .given = &options.has_max_epochs},
        {.name = "limit-images", .kind = OPT_INT, .value = &options.image_limit},
        {.name = "holdout", .kind = OPT_FLAG, .value = &options.holdout},
        {.name = "checkpoint", .kind = OPT_TEXT, .value = &child.checkpoint_path},
        {.name = "model", .kind = OPT_TEXT, .value = &child.model_path},
        {.name = "resume", .kind = OPT_TEXT, .value = &child.resume_path},
        {.name = "profile", .kind = OPT_TEXT, .value = &child.profile_path},
    };
    const struct opt_command command = {AGENT_PROGRAM, "child",        "", 0, 0, "",
                                        opts,          ARRAY_LEN(opts)};
    pthread_t listener;

    device_choice_init(&device);
    device_choice_fill_opts(&device, opts + 11);
    if (arguments == NULL)
        return status_exit_code(ST_NO_MEMORY);
    status = opt_parse(&command, argc, argv, arguments, &argument_count, &help, &err);
    free(arguments);
    if (status != ST_OK || help || workload == NULL)
        return status_exit_code(ST_USAGE);
    bind_to_parent(parent);
    init_child(&child);
    if (device_choice_apply(&device, &options, &err) != ST_OK)
        return say_failed(&child, err.status, &err);
    child.fusion = options.fusion;
    child.ops = workload_find(workload);
    if (child.ops == NULL) {
        (void)error_set(&err, ST_NOT_FOUND, "workload", "there is no workload \"%s\"", workload);
        return say_failed(&child, ST_NOT_FOUND, &err);
    }
    if (pthread_create(&listener, NULL, listen_to_parent, &child) != 0) {
        (void)error_set(&err, ST_NO_MEMORY, "child", "cannot start a thread");
        return say_failed(&child, ST_NO_MEMORY, &err);
    }
    code = run_child(&child, &options);
    child.ops->close(child.state);
    return code;
}
