/* agent/train/infer.c: `daybreak-agent infer`: a trained model classifies the validation set one item at a time, in order;
 * the entry that comes of it holds the share of right answers and the mean time of one item (protocol.md). The clock
 * runs from an item's bytes in memory to its class; between two items it stands. The first items are classified
 * beforehand, so that caches and what is computed once (folded weights) are not the first item's cost. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "agent/command.h"
#include "agent/data/files.h"
#include "agent/train/device.h"
#include "agent/train/model_file.h"
#include "agent/train/output.h"
#include "agent/train/progress.h"
#include "agent/train/wish.h"
#include "agent/workload/workload.h"
#include "common/build.h"
#include "common/clock.h"
#include "common/opt.h"

#define FACTS_BYTES_MAX  65536
#define WARM_UP_ITEMS    100
#define PRICE_DIGITS_MAX 18
#define PICO_PER_NS      1000 /* the mean is kept to the picosecond */
#define PROGRESS_ITEMS   500  /* between two lines for the person who watches */

/* What the command line said. */
struct request {
    const char *workload, *model, *recipe, *data, *out;
    const char *author, *author_email, *cost_per_hour, *instance;
    int64_t views;
    struct device_choice device;
};

struct inference {
    const struct request *request;
    const struct task *task;
    const struct workload_ops *ops;
    void *state; /* of ops */
    struct workload_items items;
    struct model_file model;
    char dir[FILES_PATH_BYTES_MAX], name[ENTRY_NAME_BYTES_MAX], data[FILES_PATH_BYTES_MAX];
    int64_t correct;
    int64_t *times_ns;                  /* of each item; sorted when all are there */
    int64_t mean_ps, median_ns, p99_ns; /* the mean in picoseconds */
};

static enum status check_request(const struct request *request, struct workload_options *options,
                                 struct error *err);
static enum status choose_task(const struct task_table *tasks, struct inference *it,
                               struct error *err);
static enum status open_model(struct inference *it, struct workload_options *options,
                              struct error *err);
static enum status prepare_folder(struct inference *it, struct error *err);
static enum status classify_all(struct inference *it, struct error *err);
static void sum_up(struct inference *it);
static enum status write_entry(const struct inference *it, struct error *err);
static json_t *build_misc(const struct inference *it, struct error *err);
static bool meets_target(const struct inference *it);
static void print_result(const struct inference *it, bool reached);

static int infer(const struct request *request)
{
    struct inference it = {.request = request, .ops = workload_find(request->workload)};
    struct workload_options options = {0};
    struct task_table *tasks = NULL;
    struct error err = {0};
    enum status status = check_request(request, &options, &err);
    int code;

    if (status == ST_OK)
        status = task_table_create(&tasks, &err);
    if (status == ST_OK)
        status = choose_task(tasks, &it, &err);
    if (status == ST_OK)
        status = open_model(&it, &options, &err);
    if (status == ST_OK)
        status = prepare_folder(&it, &err);
    if (status == ST_OK)
        status = classify_all(&it, &err);
    if (status == ST_OK) {
        sum_up(&it);
        status = write_entry(&it, &err);
    }
    if (status == ST_OK) {
        const bool reached = meets_target(&it);

        print_result(&it, reached);
        code = reached ? 0 : 2;
    } else {
        (void)fprintf(stderr, "%s\n", err.detail);
        code = status_exit_code(status);
    }
    if (it.state != NULL)
        it.ops->close(it.state);
    model_file_fini(&it.model);
    free(it.times_ns);
    task_table_destroy(tasks);
    return code;
}

static enum status check_request(const struct request *request, struct workload_options *options,
                                 struct error *err)
{
    struct decimal price;

    if (request->model == NULL)
        return error_set(err, ST_USAGE, "--model", "--model names the file that train has written");
    if (request->cost_per_hour != NULL &&
        (decimal_parse(str_from_cstr(request->cost_per_hour), false, &price, NULL, NULL) != ST_OK ||
         !(decimal_to_double(price) > 0.0) || strlen(request->cost_per_hour) > PRICE_DIGITS_MAX))
        return error_set(err, ST_USAGE, "--cost-per-hour",
                         "--cost-per-hour is a price in USD such as 0.4, not \"%s\"",
                         request->cost_per_hour);
    options->views = request->views;
    return device_choice_apply(&request->device, options, err);
}

/* The first inference task on the workload's data set, which has its name. */
static enum status choose_task(const struct task_table *tasks, struct inference *it,
                               struct error *err)
{
    const char *name = it->request->workload;

    if (it->ops == NULL)
        return error_set(err, ST_USAGE, "WORKLOAD", "there is no workload \"%s\"", name);
    for (size_t i = 0; i < tasks->count && it->task == NULL; i++)
        if (tasks->tasks[i].phase == TASK_INFERENCE &&
            (it->ops->hidden || strcmp(tasks->tasks[i].dataset, name) == 0))
            it->task = &tasks->tasks[i];
    if (it->ops->open_inference == NULL || it->task == NULL)
        return error_set(err, ST_UNSUPPORTED, "WORKLOAD", "the workload %s has no inference", name);
    return ST_OK;
}

static enum status open_model(struct inference *it, struct workload_options *options,
                              struct error *err)
{
    const struct request *request = it->request;
    enum status status = model_file_read(request->model, it->ops, request->recipe, &it->model, err);

    if (status == ST_OK && request->data == NULL)
        status = files_cache_path(it->data, it->task->dataset, err);
    if (status != ST_OK)
        return status;
    options->recipe = it->model.recipe;
    options->data_dir = request->data != NULL ? request->data : it->data;
    return it->ops->open_inference(options, it->model.content, request->model, &it->items,
                                   &it->state, err);
}

/* What another inference left is not written over. */
static enum status prepare_folder(struct inference *it, struct error *err)
{
    const struct request *request = it->request;
    char path[FILES_PATH_BYTES_MAX], file[ENTRY_NAME_BYTES_MAX + 8];
    enum status status = ST_OK;

    (void)snprintf(it->name, sizeof it->name, "%.60s_infer", it->model.recipe);
    (void)snprintf(file, sizeof file, "%s.json", it->name);
    if (request->out != NULL && strlen(request->out) >= sizeof it->dir)
        return error_set(err, ST_LIMIT, "--out", "the folder's path is too long");
    (void)snprintf(it->dir, sizeof it->dir, "%s",
                   request->out != NULL ? request->out : "var/infer");
    status = files_join(path, it->dir, file, err);
    if (status == ST_OK && files_exists(path))
        return error_set(err, ST_CONFLICT, "--out",
                         "%.200s is there already: name another folder with --out", path);
    return status == ST_OK ? files_make_folder(it->dir, 0755, err) : status;
}

static enum status classify_all(struct inference *it, struct error *err)
{
    const int64_t count = it->items.count;
    struct progress progress;
    enum status status = ST_OK;
    int label = -1;

    it->times_ns = calloc((size_t)count, sizeof *it->times_ns);
    if (it->times_ns == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for the times");
    progress_init(&progress, it->name);
    progress_start(&progress);
    for (int64_t i = 0; i < WARM_UP_ITEMS && i < count && status == ST_OK; i++)
        status = it->ops->classify(it->state, i, &label, err);
    for (int64_t i = 0; i < count && status == ST_OK; i++) {
        const int64_t begun_ns = clock_mono_ns();

        status = it->ops->classify(it->state, i, &label, err);
        it->times_ns[i] = clock_mono_ns() - begun_ns;
        it->correct += label == (int)it->items.labels[i] ? 1 : 0;
        if (i % PROGRESS_ITEMS != 0)
            continue;
        progress_step(&progress, i, count);
        if (status == ST_OK && wish_of_signals() != PARENT_GO_ON)
            status = error_set(err, ST_CANCELLED, NULL, "the inference was stopped");
    }
    progress_end(&progress);
    return status;
}

static int compare_times(const void *left, const void *right)
{
    const int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

    return a < b ? -1 : a > b;
}

/* Percentiles are those of measured items: the least time that so many items do not exceed. */
static void sum_up(struct inference *it)
{
    const int64_t count = it->items.count;
    int64_t sum = 0;

    for (int64_t i = 0; i < count; i++)
        sum += it->times_ns[i];
    qsort(it->times_ns, (size_t)count, sizeof *it->times_ns, compare_times);
    it->mean_ps = (sum * PICO_PER_NS + count / 2) / count;
    it->median_ns = it->times_ns[(count - 1) / 2];
    it->p99_ns = it->times_ns[(count * 99 + 99) / 100 - 1];
}

static enum status write_entry(const struct inference *it, struct error *err)
{
    const struct request *request = it->request;
    char latency[32], cost[32];
    json_t *misc = build_misc(it, err);
    const json_t *model = json_object_get(misc, "model");
    struct entry entry = {.task = it->task,
                          .author = request->author,
                          .author_email = request->author_email,
                          .model =
                              json_is_string(model) ? json_string_value(model) : request->workload,
                          .latency_ms = latency,
                          .correct = it->correct,
                          .total = it->items.count,
                          .misc = misc};
    enum status status;

    if (misc == NULL)
        return err->status;
    decimal_format(it->mean_ps, 9, latency); /* a millisecond has 1e9 ps */
    if (request->cost_per_hour != NULL) {
        struct decimal price;

        status = decimal_parse(str_from_cstr(request->cost_per_hour), false, &price, NULL, NULL);
        if (status == ST_OK) {
            (void)snprintf(cost, sizeof cost, "%.12g",
                           decimal_to_double(price) * (double)it->mean_ps / 3600e12);
            entry.cost_usd = cost;
        }
    }
    status = output_write_json(it->dir, it->name, request->instance, &entry, err);
    json_decref(misc);
    return status;
}

/* A new reference; NULL: err says why. */
static json_t *build_misc(const struct inference *it, struct error *err)
{
    const char *slash = strrchr(it->request->model, '/');
    const char *file = slash != NULL ? slash + 1 : it->request->model;
    json_t *misc = NULL, *run = NULL;
    struct buf facts;
    enum status status;

    buf_init(&facts, FACTS_BYTES_MAX);
    status = it->ops->describe(it->state, &facts, err);
    if (status == ST_OK) {
        misc = json_loadb(facts.data, facts.len, JSON_REJECT_DUPLICATES, NULL);
        run = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:f, s:f, s:s}", "task",
                        it->task->id, "build", build_id(), "compiler", build_compiler(),
                        "model_file", file, "model_sha256", it->model.digest, "model_seed",
                        it->model.seed, "correct", (json_int_t)it->correct, "total",
                        (json_int_t)it->items.count, "warm_up_items", (json_int_t)WARM_UP_ITEMS,
                        "latency_median_ms", (double)it->median_ns * 1e-6, "latency_p99_ms",
                        (double)it->p99_ns * 1e-6, "timed",
                        "from an image's bytes in memory, channels innermost, to its class; "
                        "normalising and all views included");
        if (misc == NULL || run == NULL || json_object_update(misc, run) != 0) {
            (void)error_set(err, ST_NO_MEMORY, "misc", "no memory for the entry");
            json_decref(misc);
            misc = NULL;
        }
    }
    json_decref(run);
    buf_fini(&facts);
    return misc;
}

/* By the text that the entry states, as a server will judge it. */
static bool meets_target(const struct inference *it)
{
    struct decimal metric;
    char text[32];

    entry_format_metric(it->task, it->correct, it->items.count, text);
    return decimal_parse(str_from_cstr(text), false, &metric, NULL, NULL) == ST_OK &&
           decimal_cmp(metric, it->task->target) >= 0;
}

static void print_result(const struct inference *it, bool reached)
{
    const struct request *request = it->request;
    char metric[32], mean[32];

    entry_format_metric(it->task, it->correct, it->items.count, metric);
    decimal_format(it->mean_ps, 9, mean);
    (void)printf("task=%s recipe=%s reached=%s correct=%" PRId64 " total=%" PRId64
                 " %s=%s latency_ms=%s median_ms=%.6f p99_ms=%.6f entry=%s/%s.json\n",
                 it->task->id, it->model.recipe, reached ? "yes" : "no", it->correct,
                 it->items.count, it->task->metric, metric, mean, (double)it->median_ns * 1e-6,
                 (double)it->p99_ns * 1e-6, it->dir, it->name);
    if (request->author == NULL || request->author_email == NULL)
        (void)fprintf(stderr, "The entry is not complete: give%s%s to name who submits it.\n",
                      request->author == NULL ? " --author NAME" : "",
                      request->author_email == NULL ? " --author-email ADDRESS" : "");
    if (request->cost_per_hour == NULL)
        (void)fprintf(stderr, "Without --cost-per-hour it is left out of the cost board.\n");
}

int command_infer(int argc, char *const *argv)
{
    struct request request = {.views = 1};
    const char **arguments;
    struct opt opts[DEVICE_OPT_COUNT + 9] = {
        {"model", OPT_TEXT, &request.model, NULL, 0, 0, "FILE", "model.safetensors of a training"},
        {"recipe", OPT_TEXT, &request.recipe, NULL, 0, 0, "NAME",
         "refuse a model of another recipe (the model's own)"},
        {"data", OPT_TEXT, &request.data, NULL, 0, 0, "DIR", "the data set (the cache)"},
        {"views", OPT_INT, &request.views, NULL, 1, 6, "N",
         "test-time augmentation, 1 or 6; it counts as time (1)"},
        {"out", OPT_TEXT, &request.out, NULL, 0, 0, "DIR", "for the entry (var/infer)"},
        {"author", OPT_TEXT, &request.author, NULL, 0, 0, "NAME", "of the entry"},
        {"author-email", OPT_TEXT, &request.author_email, NULL, 0, 0, "ADDRESS", "of the entry"},
        {"cost-per-hour", OPT_TEXT, &request.cost_per_hour, NULL, 0, 0, "USD",
         "price of this host"},
        {"instance", OPT_TEXT, &request.instance, NULL, 0, 0, "TYPE", "name of this kind of host"},
    };
    const struct opt_command command = {
        AGENT_PROGRAM,
        "infer",
        "WORKLOAD",
        1,
        1,
        "Classifies the validation set one item at a time and leaves an entry in a folder.",
        opts,
        ARRAY_LEN(opts)};
    int argument_count, code;

    device_choice_init(&request.device);
    request.device.threads = 1; /* one item has little to share out */
    device_choice_fill_opts(&request.device, opts + 9);
    opts[9 + DEVICE_OPT_THREADS].help = "threads that compute; 0: chosen by the workload (1)";
    arguments = opt_begin(&command, argc, argv, &argument_count, &code);
    if (arguments == NULL)
        return code;
    request.workload = arguments[0];
    wish_install();
    code = infer(&request);
    free(arguments);
    return code;
}
