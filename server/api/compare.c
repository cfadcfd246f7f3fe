/* server/api/compare.c: GET /v1/analysis/compare?runs=1,2,3: runs beside one another. */
#include "server/api/compare.h"

#include <inttypes.h>

#include "common/str.h"
#include "server/api/analysis.h"
#include "server/api/api.h"

const char *const compare_axis_names[] = {"time", "epoch", "cost", NULL};

static void read_runs(struct query *query, struct compare_form *form, struct error *err);

static enum status load(struct store_reader *reader, const void *question, struct arena *arena,
                        struct analysis *analysis, struct error *err)
{
    return compare_load(reader, question, arena, analysis, err);
}

void handle_get_compare(struct request *request, struct response *response)
{
    struct compare_form form = {0};
    struct error err = {0};

    compare_read_form(&request->query, &form, &err);
    if (form.count == 0 && err.status == ST_OK)
        (void)query_fault(&request->query, "runs", "Name them: runs=1,2.", &err, "runs is missing");
    analysis_send(
        request, response,
        &(struct analysis_answer){
            .load = load, .question = &form, .key = "x", .value = compare_axis_names[form.axis]},
        &err);
}

void compare_read_form(struct query *query, struct compare_form *form, struct error *err)
{
    const char *axis = compare_axis_names[COMPARE_TIME];

    read_runs(query, form, err);
    (void)query_read_word(query, "x", compare_axis_names, &axis, err);
    while (compare_axis_names[form->axis] != axis)
        form->axis++;
}

static void read_runs(struct query *query, struct compare_form *form, struct error *err)
{
    struct str list = {0}, part;
    bool more = true;

    if (!query_read_text(query, "runs", &list) || list.len == 0)
        return;
    while (str_split_next(&list, &more, ',', &part)) {
        bool twice = false;
        int64_t id;

        if (!str_parse_i64(part, &id) || id <= 0) {
            (void)query_fault(query, "runs", "Name them: runs=1,2.", err, "\"%.*s\" is no run's id",
                              (int)str_utf8_cut(part, 32), part.data);
            return;
        }
        for (size_t i = 0; i < form->count; i++)
            twice = twice || form->runs[i] == id;
        if (twice)
            continue; /* a link that adds a run which is there already */
        if (form->count == COMPARE_RUNS_MAX) {
            (void)query_fault(query, "runs", NULL, err, "there are more than %d runs",
                              COMPARE_RUNS_MAX);
            return;
        }
        form->runs[form->count++] = id;
    }
}

enum status compare_load(struct store_reader *reader, const struct compare_form *form,
                         struct arena *arena, struct analysis *analysis, struct error *err)
{
    struct compare_run *runs = ARENA_NEW_ARRAY(arena, COMPARE_RUNS_MAX, struct compare_run);
    enum status status = ST_OK;

    if (runs == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for a comparison");
    for (size_t i = 0; i < form->count && status == ST_OK; i++) {
        struct run_record *run = ARENA_NEW(arena, struct run_record);
        struct entry_record *entry = ARENA_NEW(arena, struct entry_record);
        struct epoch_record *epochs = NULL;

        if (run == NULL || entry == NULL)
            return error_set(err, ST_NO_MEMORY, NULL, "no memory for a comparison");
        status = store_get_run(reader, arena, form->runs[i], run, err);
        if (status == ST_OK)
            status = store_get_entry(reader, arena, run->entry_id, entry, err);
        if (status == ST_OK)
            status = store_list_epochs(reader, arena, run->id, 0, COMPARE_EPOCHS_MAX, &epochs,
                                       &runs[i].epoch_count, err);
        runs[i].run = run;
        runs[i].entry = entry;
        runs[i].epochs = epochs;
    }
    return status == ST_OK ? compare_build(runs, form->count, form->axis, arena, analysis, err)
                           : status;
}
