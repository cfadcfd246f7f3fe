/* server/api/analysis.c: GET /v1/analysis/{tradeoff, variance, throughput, scaling}?task=: what the entries of one
 * training task say together. */
#include "server/api/analysis.h"

#include <string.h>

#include "server/api/api.h"
#include "server/api/table_out.h"
#include "server/app.h"

static const struct {
    const char *name, *title;
} kinds[ANALYSIS_COUNT] = {
    [ANALYSIS_TRADEOFF] = {"tradeoff", "Cost against time"},
    [ANALYSIS_VARIANCE] = {"variance", "Variance"},
    [ANALYSIS_THROUGHPUT] = {"throughput", "Throughput"},
    [ANALYSIS_SCALING] = {"scaling", "Scaling"},
};

static void handle(struct request *request, struct response *response, enum analysis_kind kind);
static const struct task *read_task(struct request *request, struct error *err);
static void write_analysis(struct response *response, const struct task *task, bool csv,
                           const char *part, const struct analysis *analysis);

const char *analysis_name(enum analysis_kind kind)
{
    return kinds[kind].name;
}

const char *analysis_title(enum analysis_kind kind)
{
    return kinds[kind].title;
}

void handle_get_tradeoff(struct request *request, struct response *response)
{
    handle(request, response, ANALYSIS_TRADEOFF);
}

void handle_get_variance(struct request *request, struct response *response)
{
    handle(request, response, ANALYSIS_VARIANCE);
}

void handle_get_throughput(struct request *request, struct response *response)
{
    handle(request, response, ANALYSIS_THROUGHPUT);
}

void handle_get_scaling(struct request *request, struct response *response)
{
    handle(request, response, ANALYSIS_SCALING);
}

enum status analysis_load(struct store_reader *reader, const struct task *task,
                          enum analysis_kind kind, int64_t base, struct arena *arena,
                          struct analysis *analysis, struct error *err)
{
    const struct str id = str_from_cstr(task->id);
    struct entry_record *entries;
    struct trial_record *runs = NULL;
    struct trial_entry *joined;
    size_t entry_count, run_count = 0, count;
    enum status status = store_list_entries(reader, arena, id, &entries, &entry_count, err);

    if (status == ST_OK && kind == ANALYSIS_VARIANCE)
        status = store_list_trials(reader, arena, id, &runs, &run_count, err);
    if (status == ST_OK)
        status = trials_join(entries, entry_count, runs, run_count, arena, &joined, &count, err);
    if (status != ST_OK)
        return status;
    switch (kind) {
    case ANALYSIS_TRADEOFF: return tradeoff_build(joined, count, arena, analysis, err);
    case ANALYSIS_VARIANCE: return variance_build(joined, count, arena, analysis, err);
    case ANALYSIS_THROUGHPUT: return throughput_build(joined, count, base, arena, analysis, err);
    case ANALYSIS_SCALING: return scaling_build(joined, count, arena, analysis, err);
    case ANALYSIS_COUNT: break;
    }
    return error_set(err, ST_INTERNAL, NULL, "no such analysis");
}

static void handle(struct request *request, struct response *response, enum analysis_kind kind)
{
    static const char *const parts[] = {"items", "trials", NULL};
    struct error err = {0};
    const struct task *task = read_task(request, &err);
    const char *part = parts[0];
    struct analysis analysis;
    struct arena arena;
    struct store_reader *reader;
    int64_t base = 0;
    bool csv = false;

    if (kind == ANALYSIS_THROUGHPUT)
        (void)query_read_i64(&request->query, "base", 1, INT64_MAX, &base, &err);
    if (kind == ANALYSIS_VARIANCE)
        (void)query_read_word(&request->query, "part", parts, &part, &err);
    api_read_format(request, &csv, &err);
    if (query_finish(&request->query, &err) != ST_OK) {
        response_send_error(response, &err);
        return;
    }
    reader = api_begin_read(request, response);
    if (reader == NULL)
        return;
    arena_init(&arena, ANALYSIS_ARENA_BYTES);
    if (analysis_load(reader, task, kind, base, &arena, &analysis, &err) != ST_OK)
        response_send_error(response, &err);
    else
        write_analysis(response, task, csv, part, &analysis);
    api_end_read(reader);
    arena_fini(&arena);
}

static const struct task *read_task(struct request *request, struct error *err)
{
    const struct task *task;
    struct str id;

    if (!query_read_text(&request->query, "task", &id)) {
        (void)query_fault(&request->query, "task", "Name it: task=cifar10-train.", err,
                          "task is missing");
        return NULL;
    }
    task = task_find(request->app->tasks, id);
    if (task == NULL || task->phase != TASK_TRAIN) {
        (void)query_fault(&request->query, "task", "GET /v1/tasks lists them.", err,
                          "there is no training task \"%.*s\"", (int)str_utf8_cut(id, 64), id.data);
        return NULL;
    }
    return task;
}

static void write_analysis(struct response *response, const struct task *task, bool csv,
                           const char *part, const struct analysis *analysis)
{
    response_add_header(response, "Vary", "Accept");
    if (csv) {
        size_t i = 0;

        while (i + 1 < analysis->part_count && strcmp(analysis->parts[i].key, part) != 0)
            i++;
        table_out_csv(response_begin(response, 200, "text/csv; charset=utf-8"),
                      &analysis->parts[i].table);
    } else {
        struct json_out out = {response_begin(response, 200, "application/json"), false};

        json_out_begin(&out, NULL, '{');
        json_out_text(&out, "task", task->id);
        table_out_members(&out, analysis);
        json_out_end(&out, '}');
    }
}
