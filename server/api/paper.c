/* server/api/paper.c: GET /v1/analysis/paper: the paper's claims, held against the entries here. */
#include "server/api/paper.h"

#include "server/api/analysis.h"
#include "server/api/api.h"
#include "server/app.h"

static enum status load(struct store_reader *reader, const void *tasks, struct arena *arena,
                        struct analysis *analysis, struct error *err)
{
    return paper_load(reader, tasks, arena, analysis, err);
}

void handle_get_paper(struct request *request, struct response *response)
{
    struct analysis_answer answer = {.load = load, .question = request->app->tasks};
    struct error err = {0};

    api_read_format(request, &answer.csv, &err);
    analysis_send(request, response, &answer, &err);
}

static enum status load_task(struct store_reader *reader, const struct task *task,
                             struct arena *arena, struct paper_task *to, struct error *err)
{
    const struct str id = str_from_cstr(task->id);
    struct trial_entry *joined = NULL;
    enum status status;

    *to = (struct paper_task){.task = task};
    status = analysis_load_trials(reader, task, true, arena, &joined, &to->entry_count, err);
    if (status == ST_OK && task->dawnbench != NULL)
        status = store_count_relapses(reader, id, task->target_text, task->higher_is_better,
                                      &to->curves, &to->relapses, err);
    to->entries = joined;
    return status;
}

enum status paper_load(struct store_reader *reader, const struct task_table *tasks,
                       struct arena *arena, struct analysis *analysis, struct error *err)
{
    struct paper_task *loaded = ARENA_NEW_ARRAY(arena, tasks->count, struct paper_task);
    size_t count = 0;
    enum status status = ST_OK;

    if (loaded == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for an analysis");
    for (size_t i = 0; i < tasks->count && status == ST_OK; i++)
        if (tasks->tasks[i].phase == TASK_TRAIN)
            status = load_task(reader, &tasks->tasks[i], arena, &loaded[count++], err);
    return status == ST_OK ? paper_build(loaded, count, arena, analysis, err) : status;
}
