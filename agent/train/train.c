/* agent/train/train.c: `daybreak-agent train`: one training without a server, whose results go into a
 * folder: NAME.json, NAME.tsv, NAME.profile.json, model.safetensors, checkpoint.safetensors, events.ndjson. A folder
 * holds one run. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/command.h"
#include "agent/data/files.h"
#include "agent/data/safetensors.h"
#include "agent/train/device.h"
#include "agent/train/output.h"
#include "agent/train/parent.h"
#include "agent/train/progress.h"
#include "agent/train/wish.h"
#include "agent/workload/workload.h"
#include "common/clock.h"
#include "common/crypto.h"
#include "common/log.h"
#include "common/opt.h"

#define CHECKPOINT_NAME    "checkpoint.safetensors"
#define EVENTS_NAME        "events.ndjson"
#define MODEL_NAME         "model.safetensors"
#define PRICE_DIGITS_MAX   18
#define PROFILE_NAME_BYTES (ENTRY_NAME_BYTES_MAX + 16)
#define TARGET_UNIT        1000000 /* common/measure.h: 1e-6 percent */

/* What the command line said. */
struct request {
    const char *workload, *task, *recipe, *data, *out, *resume;
    const char *target, *author, *author_email, *cost_per_hour, *instance;
    int64_t seed, image_limit;
    double max_epochs;
    bool has_seed, has_max_epochs, holdout, no_profile;
    struct device_choice device;
};

struct training {
    const struct request *request;
    uint32_t seed;
    char dir[FILES_PATH_BYTES_MAX], name[ENTRY_NAME_BYTES_MAX];
    char checkpoint[FILES_PATH_BYTES_MAX], model[FILES_PATH_BYTES_MAX], data[FILES_PATH_BYTES_MAX];
    char events[FILES_PATH_BYTES_MAX], profile[FILES_PATH_BYTES_MAX];
    int events_fd;
    bool stepped; /* it trained */
    struct buf line;
    struct progress progress;
};

static enum status start_clock(void *context, const struct event *start, uint32_t *seed,
                               int64_t *answer_ns, struct error *err);
static enum status on_event(void *context, const struct event *event, bool crossing,
                            struct error *err);
static void on_phase(void *context, const char *phase);
static void on_step(void *context, int64_t step, int64_t step_count);
static enum parent_wish wish(void *context);

static enum status check_request(const struct request *request, struct error *err)
{
    struct workload_options options;
    struct decimal price;

    if (request->has_max_epochs && !(request->max_epochs > 0.0))
        return error_set(err, ST_USAGE, "--max-epochs", "--max-epochs must be above 0");
    if (request->cost_per_hour != NULL &&
        (decimal_parse(str_from_cstr(request->cost_per_hour), false, &price, NULL, NULL) != ST_OK ||
         price.negative || strlen(request->cost_per_hour) > PRICE_DIGITS_MAX))
        return error_set(err, ST_USAGE, "--cost-per-hour",
                         "--cost-per-hour is a price in USD such as 0.4, not \"%s\"",
                         request->cost_per_hour);
    return device_choice_apply(&request->device, &options, err);
}

/* The task that was named, or the first whose workload this is; it picks recipe and target. */
static enum status choose_task(const struct request *request, const struct workload_ops *ops,
                               const struct task_table *tasks, const struct task **task,
                               struct error *err)
{
    assert(ops != NULL);
    *task = NULL;
    if (request->task != NULL)
        *task = task_find(tasks, str_from_cstr(request->task));
    else
        for (size_t i = 0; i < tasks->count && *task == NULL; i++)
            if (tasks->tasks[i].phase == TASK_TRAIN &&
                (ops->hidden || (tasks->tasks[i].workload != NULL &&
                                 strcmp(tasks->tasks[i].workload, ops->name) == 0)))
                *task = &tasks->tasks[i];
    if (*task == NULL)
        return error_set(err, ST_NOT_FOUND, "--task", "there is no task \"%s\"",
                         request->task != NULL ? request->task : request->workload);
    if ((*task)->phase != TASK_TRAIN ||
        (!ops->hidden && ((*task)->workload == NULL || strcmp((*task)->workload, ops->name) != 0)))
        return error_set(err, ST_INVALID, "--task", "the workload %s does not train for task %s",
                         ops->name, (*task)->id);
    return ST_OK;
}

/* The recipe that was named, or the task's; a workload for tests has its first instead. */
static enum status choose_recipe(const struct request *request, const struct workload_ops *ops,
                                 const struct task *task, const char **recipe, struct error *err)
{
    assert(ops != NULL && task != NULL);
    *recipe = ops->hidden ? ops->recipes[0] : task->recipe;
    if (request->recipe == NULL)
        return ST_OK;
    *recipe = request->recipe;
    for (size_t i = 0; i < ops->recipe_count; i++)
        if (strcmp(ops->recipes[i], request->recipe) == 0)
            return ST_OK;
    return error_set(err, ST_NOT_FOUND, "--recipe", "the workload %s has no recipe \"%.64s\"",
                     ops->name, request->recipe);
}

static enum status choose_target(const struct request *request, const struct task *task,
                                 int64_t *target_e6, struct error *err)
{
    struct decimal target;

    assert(task != NULL);
    target = task->target;
    if (request->target != NULL &&
        (decimal_parse(str_from_cstr(request->target), false, &target, NULL, NULL) != ST_OK ||
         target.negative || decimal_to_double(target) > 100.0))
        return error_set(err, ST_USAGE, "--target", "--target is a number of percent, not \"%s\"",
                         request->target);
    return decimal_scale(target, TARGET_UNIT, target_e6, err);
}

/* A resumed training goes on with the seed it began with. */
static enum status read_seed(const char *path, uint32_t *seed, struct error *err)
{
    struct safetensors *file = NULL;
    uint64_t value;
    enum status status = safetensors_open(path, &file, err);
    const char *text;

    if (status != ST_OK)
        return status;
    text = safetensors_find_meta(file, "seed");
    if (text == NULL || !str_parse_u64(str_from_cstr(text), &value) || value > UINT32_MAX)
        status = error_set(err, ST_INVALID, "--resume", "%s does not say its seed", path);
    else
        *seed = (uint32_t)value;
    safetensors_close(file);
    return status;
}

static enum status choose_seed(const struct request *request, uint32_t *seed, struct error *err)
{
    if (request->has_seed)
        *seed = (uint32_t)request->seed;
    else if (request->resume != NULL)
        return read_seed(request->resume, seed, err);
    else
        crypto_random(seed, sizeof *seed); /* chooses a seed; all that follows from it is ours */
    return ST_OK;
}

static bool is_in_folder(const char *path, const char *folder)
{
    char above[FILES_PATH_BYTES_MAX];
    const char *slash = strrchr(path, '/');
    struct stat a, b;

    (void)snprintf(above, sizeof above, "%.*s", slash == NULL ? 1 : (int)(slash - path + 1),
                   slash == NULL ? "." : path);
    return stat(above, &a) == 0 && stat(folder, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

static void format_profile_name(const struct training *training, char name[PROFILE_NAME_BYTES])
{
    (void)snprintf(name, PROFILE_NAME_BYTES, "%s.profile.json", training->name);
}

/* What another run left is not written over; a training that goes on from a checkpoint there may. */
static enum status check_folder(const struct training *training, struct error *err)
{
    char entry[ENTRY_NAME_BYTES_MAX + 8], progress[ENTRY_NAME_BYTES_MAX + 8];
    char profile[PROFILE_NAME_BYTES];
    const char *const names[] = {EVENTS_NAME, CHECKPOINT_NAME, MODEL_NAME,
                                 entry,       progress,        profile};
    const char *resume = training->request->resume;
    char path[FILES_PATH_BYTES_MAX];
    enum status status = ST_OK;
    struct buf found;

    if (resume != NULL && is_in_folder(resume, training->dir))
        return ST_OK;
    (void)snprintf(entry, sizeof entry, "%s.json", training->name);
    (void)snprintf(progress, sizeof progress, "%s.tsv", training->name);
    format_profile_name(training, profile);
    buf_init(&found, sizeof path);
    for (size_t i = 0; status == ST_OK && i < ARRAY_LEN(names); i++) {
        status = files_join(path, training->dir, names[i], err);
        if (status == ST_OK && files_exists(path))
            buf_appendf(&found, "%s%s", found.len > 0 ? ", " : "", names[i]);
    }
    if (status == ST_OK)
        status = buf_check(&found, err);
    if (status == ST_OK && found.len > 0)
        status = error_set(err, ST_CONFLICT, "--out",
                           "%.100s holds the files of another run (%.*s): name another folder with "
                           "--out, or go on from its checkpoint with --resume",
                           training->dir, (int)found.len, found.data);
    buf_fini(&found);
    return status;
}

/* A training that goes on in its folder appends to the events that are there. */
static enum status open_events(struct training *training, struct error *err)
{
    const int how = training->request->resume != NULL ? O_APPEND : O_EXCL;
    enum status status = files_join(training->events, training->dir, EVENTS_NAME, err);

    if (status != ST_OK)
        return status;
    training->events_fd = open(training->events, O_WRONLY | O_CREAT | how | O_CLOEXEC, 0644);
    if (training->events_fd < 0)
        return error_set(err, ST_IO, training->events, "cannot create %s: %s", training->events,
                         strerrordesc_np(errno));
    return ST_OK;
}

static enum status prepare(struct training *training, const struct task *task, const char *recipe,
                           struct error *err)
{
    const struct request *request = training->request;
    char label[96], profile[PROFILE_NAME_BYTES];
    enum status status = choose_seed(request, &training->seed, err);

    if (status != ST_OK)
        return status;
    (void)snprintf(training->name, sizeof training->name, "%.60s_seed%" PRIu32, recipe,
                   training->seed);
    if (request->out != NULL && strlen(request->out) >= sizeof training->dir)
        status = error_set(err, ST_LIMIT, "--out", "the folder's path is too long");
    else if (request->out != NULL)
        (void)snprintf(training->dir, sizeof training->dir, "%s", request->out);
    else
        status = files_join(training->dir, "var/train", training->name, err);
    if (status == ST_OK)
        status = check_folder(training, err);
    if (status == ST_OK)
        status = files_make_folder(training->dir, 0755, err);
    if (status == ST_OK)
        status = files_join(training->checkpoint, training->dir, CHECKPOINT_NAME, err);
    if (status == ST_OK)
        status = files_join(training->model, training->dir, MODEL_NAME, err);
    format_profile_name(training, profile);
    if (status == ST_OK)
        status = files_join(training->profile, training->dir, profile, err);
    if (status == ST_OK && request->data == NULL)
        status = files_cache_path(training->data, task->dataset, err);
    if (status == ST_OK)
        status = open_events(training, err);
    (void)snprintf(label, sizeof label, "%.60s seed %" PRIu32, recipe, training->seed);
    progress_init(&training->progress, label);
    return status;
}

static void print_result(const struct training *training, const struct parent_plan *plan,
                         const struct parent_result *result)
{
    const struct entry_epoch *last =
        result->epoch_count > 0 ? &result->epochs[result->epoch_count - 1] : NULL;

    (void)printf("task=%s recipe=%s seed=%" PRIu32 " reached=%s", plan->task->id, plan->recipe,
                 training->seed, result->reached ? "yes" : "no");
    if (result->reached)
        (void)printf(" tta_s=%.3f tta_epoch=%.4g",
                     (double)result->crossing_official_ns / (double)NS_PER_S,
                     result->crossing_epoch);
    if (last != NULL)
        (void)printf(
            " epoch=%.4g correct=%" PRId64 " total=%" PRId64 " official_s=%.3f wall_s=%.3f",
            last->epoch, last->correct, last->total, (double)last->official_ns / (double)NS_PER_S,
            (double)result->wall_ns / (double)NS_PER_S);
    (void)printf(" entry=%s/%s.json\n", training->dir, training->name);
}

static void say_what_is_missing(const struct request *request, const struct parent_result *result)
{
    if (request->author == NULL || request->author_email == NULL)
        (void)fprintf(stderr, "The entry is not complete: give%s%s to name who submits it.\n",
                      request->author == NULL ? " --author NAME" : "",
                      request->author_email == NULL ? " --author-email ADDRESS" : "");
    if (json_is_true(json_object_get(result->facts, "partial")))
        (void)fprintf(stderr, "It ended before its recipe does (--max-epochs), so it is marked as "
                              "partial and timed boards refuse it.\n");
    if (request->cost_per_hour == NULL)
        (void)fprintf(stderr, "Without --cost-per-hour it is left out of the cost board.\n");
}

static int run_training(struct training *training, const struct parent_plan *plan,
                        struct error *err)
{
    const struct request *request = training->request;
    const struct parent_handler handler = {training, start_clock, on_event,
                                           on_phase, on_step,     wish};
    const struct output output = {
        .dir = training->dir,
        .name = training->name,
        .author = request->author,
        .author_email = request->author_email,
        .cost_per_hour = request->cost_per_hour,
        .instance = request->instance,
        .target_text = request->target != NULL ? request->target : plan->task->target_text,
        .holdout = request->holdout,
        .partial = request->image_limit > 0,
        .resumed = request->resume != NULL,
    };
    struct parent_result result;
    enum status status = parent_run(plan, &handler, &result, err);
    int code;

    progress_end(&training->progress);
    /* Without a step (no data, say) no run came of it, though its clock ran: the folder is free for the next try. */
    if (!training->stepped && request->resume == NULL)
        (void)unlink(training->events);
    if (status == ST_OK && result.epoch_count > 0)
        status = output_write_entry(&output, plan, &result, err);
    if (status != ST_OK) {
        (void)fprintf(stderr, "%s\n", err->detail);
        code = status_exit_code(status);
    } else {
        print_result(training, plan, &result);
        say_what_is_missing(request, &result);
        if (!result.whole)
            (void)fprintf(stderr, "Stopped as asked; --resume %s goes on from there.\n",
                          training->checkpoint);
        code = !result.whole ? 4 : result.reached ? 0 : 2;
    }
    parent_result_fini(&result);
    return code;
}

static int train(const struct request *request)
{
    struct training training = {.request = request, .events_fd = -1};
    const struct workload_ops *ops = workload_find(request->workload);
    struct parent_plan plan = {
        .workload = request->workload,
        .device = &request->device,
        .has_max_epochs = request->has_max_epochs,
        .max_epochs = request->max_epochs,
        .holdout = request->holdout,
        .image_limit = request->image_limit,
        .resume_path = request->resume,
    };
    struct task_table *tasks = NULL;
    struct error err = {0};
    enum status status = check_request(request, &err);
    int code;

    if (status == ST_OK && ops == NULL)
        status =
            error_set(&err, ST_USAGE, "WORKLOAD", "there is no workload \"%s\"", request->workload);
    if (status == ST_OK)
        status = task_table_create(&tasks, &err);
    if (status == ST_OK)
        status = choose_task(request, ops, tasks, &plan.task, &err);
    if (status == ST_OK)
        status = choose_target(request, plan.task, &plan.target_e6, &err);
    buf_init(&training.line, EVENT_LINE_BYTES_MAX + 1);
    if (status == ST_OK)
        status = choose_recipe(request, ops, plan.task, &plan.recipe, &err);
    if (status == ST_OK)
        status = prepare(&training, plan.task, plan.recipe, &err);
    if (status == ST_OK) {
        plan.data_dir = request->data != NULL ? request->data : training.data;
        plan.checkpoint_path = training.checkpoint;
        plan.model_path = training.model;
        plan.profile_path = request->no_profile ? NULL : training.profile;
        code = run_training(&training, &plan, &err);
    } else {
        (void)fprintf(stderr, "%s\n", err.detail);
        code = status_exit_code(status);
    }
    if (training.events_fd >= 0)
        close(training.events_fd);
    buf_fini(&training.line);
    task_table_destroy(tasks);
    return code;
}

static enum status write_event(struct training *training, const struct event *event,
                               struct error *err)
{
    enum status status;

    buf_clear(&training->line);
    event_append(&training->line, event);
    buf_append_char(&training->line, '\n');
    status = buf_check(&training->line, err);
    return status == ST_OK ? files_write_all(training->events_fd, training->line.data,
                                             training->line.len, EVENTS_NAME, err)
                           : status;
}

static enum status start_clock(void *context, const struct event *start, uint32_t *seed,
                               int64_t *answer_ns, struct error *err)
{
    struct training *training = context;
    const enum status status = write_event(training, start, err);

    *seed = training->seed;
    progress_start(&training->progress);
    *answer_ns = clock_mono_ns();
    return status;
}

static enum status on_event(void *context, const struct event *event, bool crossing,
                            struct error *err)
{
    struct training *training = context;

    if (event->kind == EVENT_EVAL)
        progress_eval(&training->progress, event, crossing);
    return write_event(training, event, err);
}

static void on_phase(void *context, const char *phase)
{
    struct training *training = context;

    progress_phase(&training->progress, phase);
}

static void on_step(void *context, int64_t step, int64_t step_count)
{
    struct training *training = context;

    training->stepped = true;
    progress_step(&training->progress, step, step_count);
}

static enum parent_wish wish(void *context)
{
    (void)context;
    return wish_of_signals();
}

int command_train(int argc, char *const *argv)
{
    struct request request = {0};
    const char **arguments;
    struct opt opts[DEVICE_OPT_COUNT + 15] = {
        {"task", OPT_TEXT, &request.task, NULL, 0, 0, "TASK",
         "picks recipe and target (the workload's first)"},
        {"recipe", OPT_TEXT, &request.recipe, NULL, 0, 0, "NAME",
         "another recipe of the workload (the task's)"},
        {"data", OPT_TEXT, &request.data, NULL, 0, 0, "DIR", "the data set (the cache)"},
        {"seed", OPT_INT, &request.seed, &request.has_seed, 0, UINT32_MAX, "N",
         "of order and weights (random)"},
        {"target", OPT_TEXT, &request.target, NULL, 0, 0, "PERCENT",
         "marks another crossing than the task's; changes nothing else"},
        {"max-epochs", OPT_DOUBLE, &request.max_epochs, &request.has_max_epochs, 0, 0, "X",
         "stop after so many, on the same schedule; marked, refused by timed boards"},
        {"holdout", OPT_FLAG, &request.holdout, NULL, 0, 0, NULL,
         "train and evaluate on training images alone; never ranked"},
        {"resume", OPT_TEXT, &request.resume, NULL, 0, 0, "FILE",
         "go on from a checkpoint; marked, refused by timed boards"},
        {"out", OPT_TEXT, &request.out, NULL, 0, 0, "DIR", "for the results (var/train/NAME)"},
        {"author", OPT_TEXT, &request.author, NULL, 0, 0, "NAME", "of the entry"},
        {"author-email", OPT_TEXT, &request.author_email, NULL, 0, 0, "ADDRESS", "of the entry"},
        {"cost-per-hour", OPT_TEXT, &request.cost_per_hour, NULL, 0, 0, "USD",
         "price of this host"},
        {"instance", OPT_TEXT, &request.instance, NULL, 0, 0, "TYPE", "name of this kind of host"},
        {"limit-images", OPT_INT, &request.image_limit, NULL, 0, INT32_MAX, "N",
         "for tests: only so many images (all)"},
        {"no-profile", OPT_FLAG, &request.no_profile, NULL, 0, 0, NULL,
         "do not measure, once it is trained, where a step's time goes"},
    };
    const struct opt_command command = {AGENT_PROGRAM,
                                        "train",
                                        "WORKLOAD",
                                        1,
                                        1,
                                        "Trains a workload and leaves an entry in a folder.",
                                        opts,
                                        ARRAY_LEN(opts)};
    int argument_count, code;

    device_choice_init(&request.device);
    device_choice_fill_opts(&request.device, opts + 15);
    arguments = opt_begin(&command, argc, argv, &argument_count, &code);
    if (arguments == NULL)
        return code;
    request.workload = arguments[0];
    wish_install();
    code = train(&request);
    free(arguments);
    return code;
}
