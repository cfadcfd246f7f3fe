/* server/api/tasks.c: GET /v1/tasks and /v1/tasks/{task}: the rules as data, which change with the program alone, and
 * policy and review as they stand. */
#include <inttypes.h>

#include "common/build.h"
#include "common/task.h"
#include "server/api/api.h"
#include "server/api/json_out.h"
#include "server/app.h"
#include "server/rank/board.h"
#include "server/store/read.h"

static enum status find_version(struct request *request, struct store_reader *reader,
                                const struct task *task, int64_t *version, struct error *err);
static void write_task(struct json_out *out, const char *key, const struct task *task,
                       const struct task_setting *setting);

void handle_list_tasks(struct request *request, struct response *response)
{
    const struct task_table *tasks = request->app->tasks;
    struct task_setting *settings =
        ARENA_NEW_ARRAY(request->arena, tasks->count, struct task_setting);
    struct store_reader *reader = api_begin_read(request, response);
    int64_t version = 0, sum = 0;
    struct error err = {0};
    struct json_out out;

    if (reader == NULL)
        return;
    if (settings == NULL)
        (void)error_set(&err, ST_NO_MEMORY, NULL, "no memory for the tasks");
    for (size_t i = 0; i < tasks->count && err.status == ST_OK; i++) {
        if (find_version(request, reader, &tasks->tasks[i], &version, &err) == ST_OK)
            sum += version; /* each only grows: equal sums are equal versions */
        if (err.status == ST_OK)
            (void)store_get_task_setting(reader, request->arena, &tasks->tasks[i], &settings[i],
                                         &err);
    }
    api_end_read(reader);
    if (err.status != ST_OK) {
        response_send_error(response, &err);
        return;
    }
    if (response_send_not_modified(
            response, arena_printf(request->arena, "tasks@%s.%" PRId64, build_id(), sum)))
        return;
    out = (struct json_out){response_begin(response, 200, "application/json"), false};
    json_out_begin(&out, NULL, '{');
    json_out_begin(&out, "items", '[');
    for (size_t i = 0; i < tasks->count; i++)
        write_task(&out, NULL, &tasks->tasks[i], &settings[i]);
    json_out_end(&out, ']');
    json_out_end(&out, '}');
}

void handle_get_task(struct request *request, struct response *response)
{
    const struct task *task = api_find_task(request, response);
    struct store_reader *reader = task == NULL ? NULL : api_begin_read(request, response);
    const char *name = task == NULL ? NULL : task_etag_name(request->arena, task);
    struct task_setting setting = {0};
    struct error err = {0};
    struct json_out out;
    int64_t version = 0;

    if (reader == NULL)
        return;
    if (name == NULL)
        (void)error_set(&err, ST_NO_MEMORY, NULL, "no memory for the task");
    else if (find_version(request, reader, task, &version, &err) == ST_OK)
        (void)store_get_task_setting(reader, request->arena, task, &setting, &err);
    api_end_read(reader);
    if (err.status != ST_OK) {
        response_send_error(response, &err);
        return;
    }
    /* The same text as etag_format(): PATCH compares it. */
    if (response_send_not_modified(response,
                                   arena_printf(request->arena, "%s.%" PRId64, name, version)))
        return;
    out = (struct json_out){response_begin(response, 200, "application/json"), false};
    write_task(&out, NULL, task, &setting);
}

const char *task_etag_name(struct arena *arena, const struct task *task)
{
    return arena_printf(arena, "task:%s@%s", task->id, build_id());
}

static enum status find_version(struct request *request, struct store_reader *reader,
                                const struct task *task, int64_t *version, struct error *err)
{
    const char *topic = arena_printf(request->arena, "task:%s", task->id);

    return topic == NULL ? error_set(err, ST_NO_MEMORY, NULL, "no memory for the task")
                         : store_get_version(reader, str_from_cstr(topic), version, err);
}

static void write_task(struct json_out *out, const char *key, const struct task *task,
                       const struct task_setting *setting)
{
    json_out_begin(out, key, '{');
    json_out_text(out, "id", task->id);
    json_out_text(out, "title", task->title);
    json_out_i64(out, "version", task->version);
    json_out_text(out, "phase", task->phase == TASK_TRAIN ? "train" : "inference");
    json_out_text(out, "mlperf_round", task->mlperf_round);
    json_out_text(out, "dataset", task->dataset);
    json_out_text(out, "metric", task->metric);
    json_out_text(out, "metric_title", task->metric_title);
    json_out_text(out, "unit", task->unit);
    json_out_number(out, "target", task->target_text);
    json_out_text(out, "target_text", task->target_text);
    json_out_bool(out, "higher_is_better", task->higher_is_better);
    if (task->validation_size > 0)
        json_out_i64(out, "validation_size", task->validation_size);
    if (task->column_count > 0) {
        json_out_begin(out, "columns", '[');
        for (size_t i = 0; i < task->column_count; i++)
            json_out_text(out, NULL, task->columns[i]);
        json_out_end(out, ']');
    }
    json_out_text(out, "workload", task->workload);
    json_out_text(out, "recipe", task->recipe);
    json_out_i64(out, "runs", task->runs);
    json_out_text(out, "score", task_score_name(task->score));
    json_out_begin(out, "boards", '[');
    for (enum board_by by = BOARD_TIME; by < BOARD_ENERGY; by++)
        if (board_by_fits(by, task))
            json_out_text(out, NULL, board_by_name(by));
    json_out_end(out, ']');
    json_out_text(out, "policy", task_policy_name(setting->policy));
    json_out_text(out, "review", task_review_name(setting->review));
    if (setting->at_ms.has) {
        json_out_begin(out, "setting", '{');
        json_out_time(out, "since", setting->at_ms.value);
        json_out_text(out, "by", setting->by == NULL ? "the server" : setting->by);
        json_out_text(out, "reason", setting->reason);
        json_out_end(out, '}');
    }
    json_out_i64(out, "reclaim_after_ms", task->reclaim_after_ms);
    json_out_text(out, "description", task->description);
    json_out_text(out, "clock_rule", task->clock_rule);
    json_out_text(out, "allowed", task->allowed);
    json_out_end(out, '}');
}
