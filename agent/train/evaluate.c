/* agent/train/evaluate.c: `daybreak-agent evaluate`: a trained model, scored on every set of data that its workload has,
 * beside what each set is to that model: trained on, tuned on, or unseen. The first set is the validation set; the gap of
 * another one is the accuracy there less the one here (measures.md, generalisation gap). */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "agent/command.h"
#include "agent/data/files.h"
#include "agent/train/device.h"
#include "agent/train/model_file.h"
#include "common/build.h"
#include "common/entry.h"
#include "common/json.h"
#include "common/measure.h"
#include "common/opt.h"

#define SETS_MAX        8
#define REALS_DIGITS    15 /* of an entry's numbers: 0.4 stays 0.4 */
#define MISC_NAME       "generalisation"
#define JSON_BYTES_MAX  ((size_t)1 << 20)
#define MISC_MODELS_MAX 16
#define PERCENT         100.0

/* What the command line said. */
struct request {
    const char *workload, *model, *recipe, *data, *json, *entry;
    struct device_choice device;
};

struct row {
    const char *name;
    bool has;
    struct workload_scored scored;
    struct measure_share accuracy;
    bool has_gap;
    struct measure_share gap;
};

struct evaluation {
    const struct request *request;
    const struct workload_ops *ops;
    struct model_file model;
    char data[FILES_PATH_BYTES_MAX];
    struct row rows[SETS_MAX];
    size_t count;
};

static enum status score_all(struct evaluation *it, struct error *err);
static void fill_row(struct row *row, const struct row *first);
static void print_rows(const struct evaluation *it);
static json_t *build_json(const struct evaluation *it);
static enum status write_json(const struct evaluation *it, struct error *err);
static enum status add_to_entry(const struct evaluation *it, struct error *err);

static int evaluate(const struct request *request)
{
    struct evaluation it = {.request = request, .ops = workload_find(request->workload)};
    struct error err = {0};
    enum status status = ST_OK;

    if (it.ops == NULL)
        status =
            error_set(&err, ST_USAGE, "WORKLOAD", "there is no workload \"%s\"", request->workload);
    else if (it.ops->score == NULL)
        status = error_set(&err, ST_UNSUPPORTED, "WORKLOAD",
                           "the workload %s scores no saved models", request->workload);
    else if (request->model == NULL)
        status =
            error_set(&err, ST_USAGE, "--model", "--model names the file that train has written");
    if (status == ST_OK)
        status = model_file_read(request->model, it.ops, request->recipe, &it.model, &err);
    if (status == ST_OK && request->data == NULL) /* hidden workloads read the same set */
        status = files_cache_path(it.data, "cifar10", &err);
    if (status == ST_OK)
        status = score_all(&it, &err);
    if (status == ST_OK)
        print_rows(&it);
    if (status == ST_OK && request->json != NULL)
        status = write_json(&it, &err);
    if (status == ST_OK && request->entry != NULL)
        status = add_to_entry(&it, &err);
    if (status != ST_OK)
        (void)fprintf(stderr, "%s\n", err.detail);
    model_file_fini(&it.model);
    return status_exit_code(status);
}

/* A set whose files are not there is left out; the validation set must be there. */
static enum status score_all(struct evaluation *it, struct error *err)
{
    struct workload_options options = {0};
    enum status status = device_choice_apply(&it->request->device, &options, err);

    options.recipe = it->model.recipe;
    options.data_dir = it->request->data != NULL ? it->request->data : it->data;
    for (size_t i = 0; i < it->ops->set_count && i < SETS_MAX && status == ST_OK; i++) {
        struct row *row = &it->rows[it->count++];
        struct error fault = {0};

        row->name = it->ops->sets[i];
        status = it->ops->score(&options, it->model.content, it->request->model, row->name,
                                &row->scored, &fault);
        row->has = status == ST_OK;
        if (status == ST_NOT_FOUND && i > 0) {
            (void)fprintf(stderr, "%s is left out: %s\n", row->name, fault.detail);
            status = ST_OK;
        } else if (status != ST_OK) {
            *err = fault;
        } else {
            fill_row(row, &it->rows[0]);
        }
    }
    return status;
}

static void fill_row(struct row *row, const struct row *first)
{
    const struct workload_score *score = &row->scored.score;

    row->accuracy = measure_share((size_t)score->correct, (size_t)score->total);
    row->has_gap = row != first && row->scored.exposure != WORKLOAD_TRAINED;
    row->gap = measure_gap(&row->accuracy, &first->accuracy);
}

static void print_rows(const struct evaluation *it)
{
    (void)printf("model=%s recipe=%s seed=%s holdout=%s views=%" PRId64 "\n", it->model.digest,
                 it->model.recipe, it->model.seed, it->rows[0].scored.holdout ? "yes" : "no",
                 it->rows[0].scored.score.views);
    (void)printf("%-10s %-8s %8s %8s  %-26s %s\n", "set", "to it", "correct", "total",
                 "accuracy, 95 % interval", "gap to the first, 95 % interval");
    for (size_t i = 0; i < it->count; i++) {
        const struct row *row = &it->rows[i];

        if (!row->has)
            continue;
        (void)printf("%-10s %-8s %8" PRId64 " %8" PRId64 "  %6.2f %% (%5.2f to %5.2f)  ", row->name,
                     workload_exposure_name(row->scored.exposure), row->scored.score.correct,
                     row->scored.score.total, PERCENT * row->accuracy.value,
                     PERCENT * row->accuracy.low, PERCENT * row->accuracy.high);
        if (row->has_gap)
            (void)printf("%+.2f points (%+.2f to %+.2f)\n", PERCENT * row->gap.value,
                         PERCENT * row->gap.low, PERCENT * row->gap.high);
        else
            (void)printf("-\n");
    }
}

/* A new reference; NULL: there was no memory. */
static json_t *build_json(const struct evaluation *it)
{
    json_t *sets = json_array();
    json_t *root =
        json_pack("{s:s, s:s, s:s, s:s, s:b, s:I, s:s, s:O}", "workload", it->ops->name, "recipe",
                  it->model.recipe, "model_sha256", it->model.digest, "model_seed", it->model.seed,
                  "holdout", it->rows[0].scored.holdout, "views",
                  (json_int_t)it->rows[0].scored.score.views, "build", build_id(), "sets", sets);
    size_t rows = 0;

    for (size_t i = 0; i < it->count; i++) {
        const struct row *row = &it->rows[i];

        if (!row->has)
            continue;
        rows++;
        (void)json_array_append_new(
            sets,
            json_pack("{s:s, s:s, s:I, s:I, s:s}", "set", row->name, "exposure",
                      workload_exposure_name(row->scored.exposure), "correct",
                      (json_int_t)row->scored.score.correct, "total",
                      (json_int_t)row->scored.score.total, "data_sha256", row->scored.digest));
    }
    if (json_array_size(sets) != rows) {
        json_decref(root);
        root = NULL;
    }
    json_decref(sets);
    return root;
}

static enum status write_text(json_t *root, const char *path, struct error *err)
{
    char *text =
        root == NULL ? NULL : json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(REALS_DIGITS));
    struct buf content;
    enum status status;

    if (text == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for the JSON text");
    buf_init(&content, JSON_BYTES_MAX);
    buf_appendf(&content, "%s\n", text);
    free(text);
    status = buf_check(&content, err);
    if (status == ST_OK)
        status = files_write(path, buf_str(&content), 0644, err);
    buf_fini(&content);
    return status;
}

static enum status write_json(const struct evaluation *it, struct error *err)
{
    json_t *root = build_json(it);
    const enum status status = write_text(root, it->request->json, err);

    json_decref(root);
    return status;
}

static void drop_model(json_t *models, const char *digest)
{
    for (size_t i = json_array_size(models); i-- > 0;) {
        const char *have =
            json_string_value(json_object_get(json_array_get(models, i), "model_sha256"));

        if (have != NULL && strcmp(have, digest) == 0)
            (void)json_array_remove(models, i);
    }
}

/* misc.generalisation is a list, a model an element: that of the entry, others of its recipe that were held out. */
static enum status add_to_entry(const struct evaluation *it, struct error *err)
{
    const char *path = it->request->entry;
    json_error_t fault;
    json_t *root = NULL, *misc, *models;
    struct buf bytes;
    enum status status;

    buf_init(&bytes, ENTRY_FILE_BYTES_MAX);
    status = files_read(path, &bytes, err);
    if (status == ST_OK)
        root = json_loadb(bytes.data, bytes.len, JSON_REJECT_DUPLICATES, &fault);
    misc = json_object_get(root, "misc");
    if (status == ST_OK && misc == NULL && json_is_object(root) &&
        json_object_set_new(root, "misc", json_object()) == 0)
        misc = json_object_get(root, "misc");
    if (status == ST_OK && !json_is_object(misc))
        status = error_set(err, ST_INVALID, "--entry", "%s is no entry that train has written%s%s",
                           path, root == NULL ? ": " : "", root == NULL ? fault.text : "");
    models = json_object_get(misc, MISC_NAME);
    if (status == ST_OK && models == NULL &&
        json_object_set_new(misc, MISC_NAME, json_array()) == 0)
        models = json_object_get(misc, MISC_NAME);
    if (status == ST_OK && !json_is_array(models))
        status = error_set(err, ST_INVALID, MISC_NAME, "misc." MISC_NAME " of %s is no list", path);
    if (status == ST_OK) {
        drop_model(models, it->model.digest);
        if (json_array_size(models) >= MISC_MODELS_MAX)
            status =
                error_set(err, ST_LIMIT, MISC_NAME,
                          "misc." MISC_NAME " of %s has %d models already", path, MISC_MODELS_MAX);
    }
    if (status == ST_OK && json_array_append_new(models, build_json(it)) != 0)
        status = error_set(err, ST_NO_MEMORY, NULL, "no memory for the entry");
    if (status == ST_OK)
        status = write_text(root, path, err);
    json_decref(root);
    buf_fini(&bytes);
    return status;
}

int command_evaluate(int argc, char *const *argv)
{
    struct request request = {0};
    const char **arguments;
    struct opt opts[DEVICE_OPT_COUNT + 5] = {
        {"model", OPT_TEXT, &request.model, NULL, 0, 0, "FILE", "model.safetensors of a training"},
        {"recipe", OPT_TEXT, &request.recipe, NULL, 0, 0, "NAME",
         "refuse a model of another recipe (the model's own)"},
        {"data", OPT_TEXT, &request.data, NULL, 0, 0, "DIR", "the data set (the cache)"},
        {"json", OPT_TEXT, &request.json, NULL, 0, 0, "FILE", "write the scores there"},
        {"entry", OPT_TEXT, &request.entry, NULL, 0, 0, "FILE",
         "add the scores to this entry, which train has written: a server shows them"},
    };
    const struct opt_command command = {
        AGENT_PROGRAM,
        "evaluate",
        "WORKLOAD",
        1,
        1,
        "Scores a trained model on every set of data, and says which of them it has seen.",
        opts,
        ARRAY_LEN(opts)};
    int argument_count, code;

    device_choice_init(&request.device);
    device_choice_fill_opts(&request.device, opts + 5);
    arguments = opt_begin(&command, argc, argv, &argument_count, &code);
    if (arguments == NULL)
        return code;
    request.workload = arguments[0];
    code = evaluate(&request);
    free(arguments);
    return code;
}
