/* server/api/tasks.c: GET /v1/tasks and /v1/tasks/{task}: the rules as data. They change with the program alone. */
#include "common/task.h"

#include "common/build.h"
#include "server/api/api.h"
#include "server/api/json_out.h"
#include "server/app.h"
#include "server/rank/board.h"

static void write_task(struct json_out *out, const char *key, const struct task *task);

void handle_list_tasks(struct request *request, struct response *response)
{
    const struct task_table *tasks = request->app->tasks;
    struct error err = {0};
    struct json_out out;

    if (query_finish(&request->query, &err) != ST_OK) {
        response_send_error(response, &err);
        return;
    }
    if (response_send_not_modified(response, build_id()))
        return;
    out = (struct json_out){response_begin(response, 200, "application/json"), false};
    json_out_begin(&out, NULL, '{');
    json_out_begin(&out, "items", '[');
    for (size_t i = 0; i < tasks->count; i++)
        write_task(&out, NULL, &tasks->tasks[i]);
    json_out_end(&out, ']');
    json_out_end(&out, '}');
}

void handle_get_task(struct request *request, struct response *response)
{
    const struct task *task = api_find_task(request, response);
    struct error err = {0};
    struct json_out out;

    if (task == NULL)
        return;
    if (query_finish(&request->query, &err) != ST_OK) {
        response_send_error(response, &err);
        return;
    }
    if (response_send_not_modified(response, build_id()))
        return;
    out = (struct json_out){response_begin(response, 200, "application/json"), false};
    write_task(&out, NULL, task);
}

static void write_task(struct json_out *out, const char *key, const struct task *task)
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
    json_out_text(out, "policy", task_policy_name(task->policy));
    json_out_text(out, "review", task_review_name(task->review));
    json_out_i64(out, "reclaim_after_ms", task->reclaim_after_ms);
    json_out_text(out, "description", task->description);
    json_out_text(out, "clock_rule", task->clock_rule);
    json_out_end(out, '}');
}
