/* server/api/analysis.c: GET /v1/analysis/{tradeoff, variance, throughput, scaling, generalisation}?task=: what the entries of one
 * training task say together. */
#include "server/api/analysis.h"

#include <assert.h>
#include <string.h>

#include "server/api/api.h"
#include "server/api/table_out.h"
#include "server/app.h"

#define ARENA_BYTES (128u << 20)

struct question {
    const struct task *task;
    enum analysis_kind kind;
    int64_t base;
};

static const struct {
    const char *name, *title;
} kinds[ANALYSIS_COUNT] = {
    [ANALYSIS_TRADEOFF] = {"tradeoff", "Cost against time"},
    [ANALYSIS_VARIANCE] = {"variance", "Variance"},
    [ANALYSIS_THROUGHPUT] = {"throughput", "Throughput"},
    [ANALYSIS_SCALING] = {"scaling", "Scaling"},
    [ANALYSIS_GENERALISATION] = {"generalisation", "Generalisation"},
};

static const struct task *read_task(struct request *request, struct error *err);
static enum status load_question(struct store_reader *reader, const void *question,
                                 struct arena *arena, struct analysis *analysis, struct error *err);
static void write_analysis(struct response *response, const struct analysis_answer *answer,
                           const struct analysis *analysis);

const char *analysis_name(enum analysis_kind kind)
{
    return kinds[kind].name;
}

const char *analysis_title(enum analysis_kind kind)
{
    return kinds[kind].title;
}

enum analysis_kind analysis_kind_of(const struct request *request)
{
    int kind = 0;

    while (kind < ANALYSIS_COUNT && !str_ends_with(request->path, str_from_cstr(kinds[kind].name)))
        kind++;
    assert(kind < ANALYSIS_COUNT); /* the routes name no other */
    return (enum analysis_kind)kind;
}

enum status analysis_load(struct store_reader *reader, const struct task *task,
                          enum analysis_kind kind, int64_t base, struct arena *arena,
                          struct analysis *analysis, struct error *err)
{
    struct trial_entry *joined;
    size_t count;
    enum status status =
        analysis_load_trials(reader, task, kind == ANALYSIS_VARIANCE, arena, &joined, &count, err);

    if (status != ST_OK)
        return status;
    switch (kind) {
    case ANALYSIS_TRADEOFF: return tradeoff_build(joined, count, arena, analysis, err);
    case ANALYSIS_VARIANCE: return variance_build(joined, count, arena, analysis, err);
    case ANALYSIS_THROUGHPUT: return throughput_build(joined, count, base, arena, analysis, err);
    case ANALYSIS_SCALING: return scaling_build(joined, count, arena, analysis, err);
    case ANALYSIS_GENERALISATION: return generalisation_build(joined, count, arena, analysis, err);
    case ANALYSIS_COUNT: break;
    }
    return error_set(err, ST_INTERNAL, NULL, "no such analysis");
}

enum status analysis_load_trials(struct store_reader *reader, const struct task *task,
                                 bool with_runs, struct arena *arena, struct trial_entry **joined,
                                 size_t *count, struct error *err)
{
    const struct str id = str_from_cstr(task->id);
    struct trial_source source = {.task = task};
    struct entry_record *entries = NULL;
    struct trial_record *runs = NULL;
    enum status status = store_list_entries(reader, arena, id, &entries, &source.entry_count, err);

    if (status == ST_OK && with_runs)
        status = store_list_trials(reader, arena, id, &runs, &source.run_count, err);
    source.entries = entries;
    source.runs = runs;
    return status == ST_OK ? trials_join(&source, arena, joined, count, err) : status;
}

void handle_get_analysis(struct request *request, struct response *response)
{
    const enum analysis_kind kind = analysis_kind_of(request);
    static const char *const parts[] = {"items", "trials", NULL};
    struct error err = {0};
    struct question question = {.kind = kind, .task = read_task(request, &err)};
    struct analysis_answer answer = {.load = load_question, .question = &question, .key = "task"};

    if (kind == ANALYSIS_THROUGHPUT)
        (void)query_read_i64(&request->query, "base", 1, INT64_MAX, &question.base, &err);
    if (kind == ANALYSIS_VARIANCE)
        (void)query_read_word(&request->query, "part", parts, &answer.part, &err);
    api_read_format(request, &answer.csv, &err);
    if (question.task != NULL)
        answer.value = question.task->id;
    analysis_send(request, response, &answer, &err);
}

static enum status load_question(struct store_reader *reader, const void *question,
                                 struct arena *arena, struct analysis *analysis, struct error *err)
{
    const struct question *asked = question;

    return analysis_load(reader, asked->task, asked->kind, asked->base, arena, analysis, err);
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

void analysis_send(struct request *request, struct response *response,
                   const struct analysis_answer *answer, struct error *err)
{
    struct store_reader *reader;
    struct analysis analysis;
    struct arena arena;

    if (query_finish(&request->query, err) != ST_OK) {
        response_send_error(response, err);
        return;
    }
    reader = api_begin_read(request, response);
    if (reader == NULL)
        return;
    arena_init(&arena, ARENA_BYTES);
    if (answer->load(reader, answer->question, &arena, &analysis, err) != ST_OK)
        response_send_error(response, err);
    else
        write_analysis(response, answer, &analysis);
    api_end_read(reader);
    arena_fini(&arena);
}

static void write_analysis(struct response *response, const struct analysis_answer *answer,
                           const struct analysis *analysis)
{
    response_add_header(response, "Vary", "Accept");
    if (answer->csv) {
        size_t i = 0;

        while (answer->part != NULL && i + 1 < analysis->part_count &&
               strcmp(analysis->parts[i].key, answer->part) != 0)
            i++;
        table_out_csv(response_begin(response, 200, "text/csv; charset=utf-8"),
                      &analysis->parts[i].table);
    } else {
        struct json_out out = {response_begin(response, 200, "application/json"), false};

        json_out_begin(&out, NULL, '{');
        if (answer->key != NULL)
            json_out_text(&out, answer->key, answer->value);
        table_out_members(&out, analysis);
        json_out_end(&out, '}');
    }
}
