/* server/api/submission_check.c: see submission_check.h. */
#include "server/api/submission_check.h"

#include <assert.h>
#include <string.h>

#include "server/api/accept.h"
#include "server/api/boards.h"
#include "server/app.h"
#include "server/store/read.h"

static enum status check_whole(struct request *request, const struct submission_form *form,
                               struct intake_result *result, struct error *err);
static enum status find_flags(struct request *request, const struct new_entry *entry,
                              struct intake_result *result, struct error *err);
static enum status find_places(struct request *request, const struct task *task,
                               struct intake_result *result, struct board_places *places,
                               struct error *err);
static enum status judge_record(struct request *request, const struct board_place *place,
                                int64_t record_ns, struct intake_result *result, struct error *err);
static void find_outcome(struct request *request, struct submission_verdict *verdict);

enum status submission_check(struct request *request, struct submission_verdict *verdict,
                             struct error *err)
{
    struct submission_form *form = &verdict->form;
    struct intake_result *result = &verdict->result;
    enum status status;

    *verdict = (struct submission_verdict){0};
    status = submission_form_read(request, false, form, err);
    if (status != ST_OK)
        return status;
    verdict->is_whole =
        form->has_entry && (form->task->phase == TASK_INFERENCE || form->progress_count > 0);
    status = submission_form_judge(request, form, form->has_entry && form->progress_count > 0,
                                   result, err);
    if (status != ST_OK || !result->acceptable)
        return status;
    if (verdict->is_whole)
        status = check_whole(request, form, result, err);
    if (status == ST_OK)
        status = find_places(request, form->task, result, &verdict->places, err);
    if (status == ST_OK && verdict->places.count > 0)
        find_outcome(request, verdict);
    return status;
}

enum status submission_prepare(struct request *request, struct submission_work *work,
                               struct error *err)
{
    struct submission_verdict *verdict = &work->verdict;
    struct submission_form *form = &verdict->form;
    enum status status;

    *work = (struct submission_work){0};
    status = submission_form_read(request, true, form, err);
    if (status == ST_OK)
        status = submission_form_judge(request, form, true, &verdict->result, err);
    if (status != ST_OK || !verdict->result.acceptable)
        return status;
    verdict->is_whole = true;
    status = find_places(request, form->task, &verdict->result, &verdict->places, err);
    if (status == ST_OK)
        status = accept_fill_entry(form->task, form->name, &verdict->result.record, NULL,
                                   request->arena, &work->entry, err);
    if (status == ST_OK)
        status = find_flags(request, &work->entry, &verdict->result, err);
    work->submit = (struct submit){
        .entry = &work->entry,
        .by = {request->caller.token_id, request->caller.scopes},
        .revises = {form->revised != NULL, form->revised == NULL ? 0 : form->revised->id},
        .supersedes = form->supersedes};
    if (status == ST_OK)
        status = submission_form_files(form, request->arena, &work->submit.files, err);
    return status;
}

struct opt_i64 submission_first_place(const struct board_places *places)
{
    return (struct opt_i64){places->count > 0,
                            places->count > 0 ? (int64_t)places->boards[0].at.place : 0};
}

/* A dry run of both files: what else would be said of them when they are sent. */
static enum status check_whole(struct request *request, const struct submission_form *form,
                               struct intake_result *result, struct error *err)
{
    const bool named = form->has_name && accept_check_name(form->name, NULL) == ST_OK;
    struct new_entry entry;
    const enum status status =
        accept_fill_entry(form->task, named ? form->name : STR("unnamed"), &result->record, NULL,
                          request->arena, &entry, err);

    return status == ST_OK ? find_flags(request, &entry, result, err) : status;
}

/* Runs of other entries that look the same: warnings, as those within the entry. */
static enum status find_flags(struct request *request, const struct new_entry *entry,
                              struct intake_result *result, struct error *err)
{
    struct store_reader *reader = app_reader(request->app, err);
    struct flag_record *flags;
    size_t count;
    enum status status;

    if (reader == NULL)
        return err->status;
    status = store_find_flags(reader, request->arena, entry, &flags, &count, err);
    for (size_t i = 0; i < count && status == ST_OK; i++)
        if (flags[i].other_entry_id.has)
            status = submission_add_flag(request->arena, result, &flags[i], err);
    return status;
}

/* On every board of the task that the figures have a value for, as it stands now. */
static enum status find_places(struct request *request, const struct task *task,
                               struct intake_result *result, struct board_places *places,
                               struct error *err)
{
    const struct intake_record *record = &result->record;
    const bool train = task->phase == TASK_TRAIN;
    const enum board_by main_by = train ? BOARD_TIME : BOARD_LATENCY;
    const struct {
        enum board_by by;
        struct opt_i64 value;
    } values[] = {
        {BOARD_TIME, {train && record->has_tta, record->tta_ns}},
        {BOARD_COST, {train && record->has_tta && record->has_cost, record->cost_pico}},
        {BOARD_LATENCY, {!train && record->has_latency, record->latency_ns}},
        {BOARD_INFERENCE_COST, {!train && record->has_cost, record->cost_pico}},
    };
    const struct kept *kept;
    int64_t version, record_ns;
    enum status status;

    *places = (struct board_places){0};
    if (train ? !record->has_tta : !record->has_latency) /* one file alone has no figure */
        return ST_OK;
    status = boards_begin(request->app->boards, task, &kept, &version, err);
    if (status != ST_OK)
        return status;
    for (size_t i = 0; i < ARRAY_LEN(values); i++) {
        struct kept_place at;

        if (!values[i].value.has || !kept_preview(kept, values[i].by, values[i].value.value, &at))
            continue;
        places->boards[places->count].by = values[i].by;
        places->boards[places->count].value = values[i].value.value;
        places->boards[places->count++].at = at;
    }
    record_ns = kept_record(kept, main_by);
    boards_end(request->app->boards, task);
    return places->count > 0 ? judge_record(request, &places->boards[0], record_ns, result, err)
                             : ST_OK;
}

/* place: by time or latency. */
static enum status judge_record(struct request *request, const struct board_place *place,
                                int64_t record_ns, struct intake_result *result, struct error *err)
{
    const bool train = place->by == BOARD_TIME;
    const struct intake_code *code = intake_code_find("value_implausible");
    const char *doubt;
    const enum status status =
        boards_doubt_record(request->arena, place->value, record_ns, &doubt, err);

    assert(code != NULL);
    if (status != ST_OK || doubt == NULL)
        return status;
    return submission_add_finding(
        request->arena, result,
        &(struct intake_finding){
            .file = train ? "progress" : "entry",
            .pointer = train ? "" : "/latency",
            .field = train ? "hours" : "latency",
            .code = code->code,
            .severity = code->severity,
            .detail = doubt,
            .hint = train ? "give the time in hours, from the start of the training"
                          : "latency is in milliseconds for one item",
        },
        err);
}

/* Left out where it cannot be read just now: the verdict stands without. */
static void find_outcome(struct request *request, struct submission_verdict *verdict)
{
    const struct task *task = verdict->form.task;
    const struct intake_record *record = &verdict->result.record;
    const bool train = task->phase == TASK_TRAIN;
    const struct figures figures = {
        .tta_ns = {train, record->tta_ns},
        .cost_pico = {train && record->has_cost, record->cost_pico},
        .latency_ns = {!train, record->latency_ns},
        .inference_cost_pico = {!train && record->has_cost, record->cost_pico},
    };
    struct error err = {0};
    struct store_reader *reader = app_reader(request->app, &err);

    if (reader == NULL)
        return;
    verdict->has_outcome = store_preview_admission(reader, request->arena, task, &figures,
                                                   &verdict->outcome, &err) == ST_OK;
    if (!verdict->has_outcome && err.status == ST_CONFLICT) {
        const char *reason = arena_copy(request->arena, str_from_cstr(err.detail));

        verdict->has_outcome = reason != NULL;
        verdict->outcome = (struct admission){.state = "refused", .reason = reason};
    }
}
