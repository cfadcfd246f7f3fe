/* common/task.c: see task.h. */
#include "common/task.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/arena.h"
#include "common/json.h"

enum { TABLE_BYTES_MAX = 4 << 20, TEXT_BYTES_MAX = 4096, COLUMNS_MAX = 8 };

struct owned_table {
    struct task_table table; /* first: the table's address is the owner's */
    struct arena arena;
};
struct reading { /* one file */
    struct json_reader json;
    struct arena *arena;
    struct error *err;
};

static enum status read_task(const struct embedded_file *file, struct arena *arena,
                             struct task *task, int64_t *order, struct error *err);
static void read_members(struct reading *reading, struct task *task, int64_t *order);
static const char *read_text(struct reading *reading, const char *key, bool required);
static int read_choice(struct reading *reading, const char *key, const char *const *choices,
                       int count);
static void read_columns(struct reading *reading, struct task *task);
static void read_target(struct reading *reading, struct task *task);
static void check_members(const struct task *task, struct error *err);
static enum status place_task(struct task_table *table, int64_t *orders, struct task task,
                              int64_t order, struct error *err);

static const char *const phase_names[] = {"train", "inference"};
static const char *const policy_names[] = {"open", "metadata-only", "closed"};
static const char *const review_names[] = {"none", "top5", "all"};
static const char *const score_names[] = {"median", "mean", "olympic"};

enum status task_table_create(struct task_table **table, struct error *err)
{
    return task_table_create_from(embedded_tasks, embedded_task_count, table, err);
}

enum status task_table_create_from(const struct embedded_file *files, size_t count,
                                   struct task_table **table, struct error *err)
{
    struct owned_table *owned = calloc(1, sizeof *owned);
    int64_t *orders = NULL, order = 0;
    enum status status = ST_OK;

    if (owned == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "out of memory for the tasks");
    arena_init(&owned->arena, TABLE_BYTES_MAX);
    owned->table.tasks = ARENA_NEW_ARRAY(&owned->arena, count, struct task);
    orders = ARENA_NEW_ARRAY(&owned->arena, count, int64_t);
    if (owned->table.tasks == NULL || orders == NULL)
        status = error_set(err, ST_NO_MEMORY, NULL, "out of memory for the tasks");
    for (size_t i = 0; i < count && status == ST_OK; i++) {
        struct task task = {0};

        status = read_task(&files[i], &owned->arena, &task, &order, err);
        if (status == ST_OK)
            status = place_task(&owned->table, orders, task, order, err);
    }
    if (status != ST_OK) {
        task_table_destroy(&owned->table);
        return status;
    }
    *table = &owned->table;
    return ST_OK;
}

void task_table_destroy(struct task_table *table)
{
    struct owned_table *owned = (struct owned_table *)table;

    if (owned == NULL)
        return;
    arena_fini(&owned->arena);
    free(owned);
}

const struct task *task_find(const struct task_table *table, struct str id)
{
    for (size_t i = 0; i < table->count; i++)
        if (str_eq_cstr(id, table->tasks[i].id))
            return &table->tasks[i];
    return NULL;
}

const struct task *task_find_dawnbench(const struct task_table *table, struct str folder,
                                       struct str phase)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct task *task = &table->tasks[i];

        if (task->dawnbench != NULL && str_eq_cstr(folder, task->dawnbench) &&
            str_eq_cstr(phase, task_phase_name(task->phase)))
            return task;
    }
    return NULL;
}

size_t task_scored(const struct task *task, size_t reached)
{
    const size_t most = (size_t)task->scored_runs;

    return most > 0 && most < reached ? most : reached;
}

const char *task_phase_name(enum task_phase phase)
{
    return phase_names[phase];
}

const char *task_score_name(enum task_score score)
{
    return score_names[score];
}

const char *task_policy_name(enum task_policy policy)
{
    return policy_names[policy];
}

const char *task_review_name(enum task_review review)
{
    return review_names[review];
}

bool task_policy_parse(struct str text, enum task_policy *policy)
{
    for (size_t i = 0; i < ARRAY_LEN(policy_names); i++)
        if (str_eq_cstr(text, policy_names[i])) {
            *policy = (enum task_policy)i;
            return true;
        }
    return false;
}

bool task_review_parse(struct str text, enum task_review *review)
{
    for (size_t i = 0; i < ARRAY_LEN(review_names); i++)
        if (str_eq_cstr(text, review_names[i])) {
            *review = (enum task_review)i;
            return true;
        }
    return false;
}

/* Any fault is the build's: the file is named, and the status is ST_INTERNAL unless memory ran out. */
static enum status read_task(const struct embedded_file *file, struct arena *arena,
                             struct task *task, int64_t *order, struct error *err)
{
    const struct str text = {(const char *)file->data, file->bytes};
    struct error fault = {0};
    struct json_doc doc = {0};
    struct reading reading = {.arena = arena, .err = &fault};

    if (json_doc_parse(text, arena, &doc, &fault) == ST_OK) {
        json_reader_init(&reading.json, doc.root, "", &fault);
        read_members(&reading, task, order);
        if (json_reader_finish(&reading.json) == ST_OK)
            check_members(task, &fault);
    }
    json_doc_fini(&doc);
    if (fault.status == ST_OK)
        return ST_OK;
    return error_set(err, fault.status == ST_NO_MEMORY ? ST_NO_MEMORY : ST_INTERNAL, fault.field,
                     "%s: %s", file->path, fault.detail);
}

static void read_members(struct reading *reading, struct task *task, int64_t *order)
{
    struct json_reader *json = &reading->json;
    int64_t version = 0, runs = 0, scored_runs = 0;

    json_read_i64(json, "order", true, 1, 10000, order);
    task->id = read_text(reading, "id", true);
    task->title = read_text(reading, "title", true);
    json_read_i64(json, "version", true, 1, 1000000, &version);
    task->version = (int)version;
    task->phase = (enum task_phase)read_choice(reading, "phase", phase_names, 2);
    task->dawnbench = read_text(reading, "dawnbench", false);
    task->mlperf_round = read_text(reading, "mlperf_round", false);
    task->dataset = read_text(reading, "dataset", true);
    task->metric = read_text(reading, "metric", true);
    task->metric_title = read_text(reading, "metric_title", true);
    task->unit = read_text(reading, "unit", true);
    json_read_double(json, "metric_max", true, &task->metric_max);
    json_read_bool(json, "higher_is_better", true, &task->higher_is_better);
    read_target(reading, task);
    json_read_i64(json, "validation_size", true, 0, INT64_C(1000000000), &task->validation_size);
    read_columns(reading, task);
    task->workload = read_text(reading, "workload", false);
    task->recipe = read_text(reading, "recipe", false);
    json_read_i64(json, "runs", true, 1, 1000, &runs);
    task->runs = (int)runs;
    json_read_i64(json, "scored_runs", false, 1, 1000, &scored_runs);
    task->scored_runs = (int)scored_runs;
    task->score = (enum task_score)read_choice(reading, "score", score_names, 3);
    task->policy = (enum task_policy)read_choice(reading, "policy", policy_names, 3);
    task->review = (enum task_review)read_choice(reading, "review", review_names, 3);
    json_read_i64(json, "reclaim_after_ms", true, 1000, INT64_C(86400000), &task->reclaim_after_ms);
    task->description = read_text(reading, "description", true);
    task->clock_rule = read_text(reading, "clock_rule", true);
    task->allowed = read_text(reading, "allowed", false);
}

static const char *read_text(struct reading *reading, const char *key, bool required)
{
    struct str text = {0};
    char *copy;

    if (!json_read_text(&reading->json, key, required, TEXT_BYTES_MAX, &text))
        return required ? "" : NULL; /* a fault is in err already */
    copy = arena_copy(reading->arena, text);
    if (copy == NULL)
        (void)error_set(reading->err, ST_NO_MEMORY, key, "out of memory");
    return copy;
}

static int read_choice(struct reading *reading, const char *key, const char *const *choices,
                       int count)
{
    struct str text = {0};

    if (!json_read_text(&reading->json, key, true, TEXT_BYTES_MAX, &text))
        return 0;
    for (int i = 0; i < count; i++)
        if (str_eq_cstr(text, choices[i]))
            return i;
    (void)error_set(reading->err, ST_INVALID, key, "%s is not one of the choices", key);
    return 0;
}

static void read_columns(struct reading *reading, struct task *task)
{
    const json_t *array = NULL;
    const char **columns;

    if (!json_read_array(&reading->json, "columns", true, COLUMNS_MAX, &array))
        return;
    task->column_count = json_array_size(array);
    columns = ARENA_NEW_ARRAY(reading->arena, task->column_count, const char *);
    task->columns = columns;
    for (size_t i = 0; columns != NULL && i < task->column_count; i++) {
        const json_t *item = json_array_get(array, i);

        if (!json_is_string(item)) {
            (void)error_set(reading->err, ST_INVALID, "columns", "a column's name is a text");
            return;
        }
        columns[i] = arena_copy(reading->arena, str_from_cstr(json_string_value(item)));
        if (columns[i] == NULL)
            (void)error_set(reading->err, ST_NO_MEMORY, "columns", "out of memory");
    }
    if (columns == NULL)
        (void)error_set(reading->err, ST_NO_MEMORY, "columns", "out of memory");
}

static void read_target(struct reading *reading, struct task *task)
{
    struct error fault = {0};

    task->target_text = read_text(reading, "target", true);
    if (reading->err->status != ST_OK)
        return;
    if (decimal_parse(str_from_cstr(task->target_text), false, &task->target, NULL, &fault) !=
        ST_OK)
        (void)error_set(reading->err, ST_INVALID, "target", "target: %s", fault.detail);
}

/* What the members' own types do not say. */
static void check_members(const struct task *task, struct error *err)
{
    const double target = decimal_to_double(task->target);
    const bool percent = strcmp(task->unit, "percent") == 0;

    if (percent || strcmp(task->unit, "fraction") == 0
            ? (percent ? 100.0 : 1.0) < task->metric_max ||
                  (percent ? 100.0 : 1.0) > task->metric_max
            : strcmp(task->unit, "score") != 0)
        (void)error_set(err, ST_INVALID, "unit",
                        "unit is percent (of 100), fraction (of 1) or score");
    if (target <= 0.0 || target > task->metric_max)
        (void)error_set(err, ST_INVALID, "target", "target is not between 0 and metric_max");
    if ((task->workload == NULL) != (task->recipe == NULL))
        (void)error_set(err, ST_INVALID, "recipe", "workload and recipe come together");
    if (task->id[0] == '\0' || task->metric[0] == '\0')
        (void)error_set(err, ST_INVALID, "id", "id and metric are not empty");
}

/* Inserts by order; an id or an order that is there already is a fault. */
static enum status place_task(struct task_table *table, int64_t *orders, struct task task,
                              int64_t order, struct error *err)
{
    size_t at = table->count;

    if (task_find(table, str_from_cstr(task.id)) != NULL)
        return error_set(err, ST_INTERNAL, "id", "two tasks are called %s", task.id);
    for (; at > 0 && orders[at - 1] >= order; at--) {
        if (orders[at - 1] == order)
            return error_set(err, ST_INTERNAL, "order", "two tasks have the order of %s", task.id);
        orders[at] = orders[at - 1];
        table->tasks[at] = table->tasks[at - 1];
    }
    orders[at] = order;
    table->tasks[at] = task;
    table->count++;
    return ST_OK;
}
