/* server/api/submit.c: POST /v1/submissions and /v1/submissions/validate: the same reading and the same judge for
 * both; the first needs a token and stores, the second does neither. */
#include <assert.h>
#include <inttypes.h>

#include "common/crypto.h"
#include "server/api/accept.h"
#include "server/api/api.h"
#include "server/api/boards.h"
#include "server/api/submission_form.h"
#include "server/api/submission_write.h"
#include "server/app.h"
#include "server/store/read.h"

struct work { /* kept between the two calls of a POST that stores */
    struct submission_form form;
    struct intake_result result;
    struct new_entry entry;
    struct submit submit;
    struct board_places places;
    char entry_sha256[SHA256_HEX_BYTES], progress_sha256[SHA256_HEX_BYTES];
};

static enum status check_whole(struct request *request, const struct submission_form *form,
                               struct intake_result *result, struct error *err);
static enum status find_flags(struct request *request, const struct new_entry *entry,
                              struct intake_result *result, struct error *err);
static enum status find_places(struct request *request, const struct task *task,
                               struct intake_result *result, struct board_places *places,
                               struct error *err);
static enum status judge_record(struct request *request, const struct board_place *place,
                                int64_t record_ns, struct intake_result *result, struct error *err);
static struct opt_i64 first_place(const struct board_places *places);
static void send_verdict(struct request *request, struct response *response,
                         const struct submission_form *form, const struct intake_result *result,
                         const struct board_places *places);
static void write_outcome(struct request *request, struct json_out *out, const struct task *task,
                          const struct intake_record *record);
static void begin_submit(struct request *request, struct response *response);
static enum status prepare(struct request *request, struct work *work, struct error *err);
static void send_refusal(struct request *request, struct response *response,
                         const struct intake_result *result);
static enum status render_submission(struct command *command, struct error *err);
static void send_conflict(struct response *response, const struct work *work,
                          const struct error *err);

void handle_validate_submission(struct request *request, struct response *response)
{
    struct board_places places = {0};
    struct intake_result result;
    struct error err = {0};
    struct submission_form form;
    enum status status = submission_form_read(request, false, &form, &err);

    if (status == ST_OK)
        status = submission_form_judge(request, &form, form.has_entry && form.progress_count > 0,
                                       &result, &err);
    if (status == ST_OK && result.acceptable && form.has_entry &&
        (form.task->phase == TASK_INFERENCE || form.progress_count > 0))
        status = check_whole(request, &form, &result, &err);
    if (status == ST_OK && result.acceptable)
        status = find_places(request, form.task, &result, &places, &err);
    if (status != ST_OK)
        response_send_error(response, &err);
    else
        send_verdict(request, response, &form, &result, &places);
}

void handle_post_submission(struct request *request, struct response *response)
{
    const struct api_step *step;

    if (request->step == 0) {
        begin_submit(request, response);
        return;
    }
    step = api_step(request);
    if (step->command.status == ST_CONFLICT)
        send_conflict(response, step->more, &step->command.err);
    else
        api_send_answer(request, response);
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

/* On the first of them, by time or latency. */
static struct opt_i64 first_place(const struct board_places *places)
{
    return (struct opt_i64){places->count > 0,
                            places->count > 0 ? (int64_t)places->boards[0].at.place : 0};
}

static void send_verdict(struct request *request, struct response *response,
                         const struct submission_form *form, const struct intake_result *result,
                         const struct board_places *places)
{
    const struct intake_record *record = &result->record;
    struct json_out out = {response_begin(response, 200, "application/json"), false};

    json_out_begin(&out, NULL, '{');
    json_out_bool(&out, "valid", result->acceptable);
    submission_write_findings(&out, "findings", result);
    if (result->acceptable && form->task->phase == TASK_TRAIN) {
        json_out_decimal(&out, "tta_s", (struct opt_i64){record->has_tta, record->tta_ns}, 9);
        json_out_decimal(&out, "cost_usd", (struct opt_i64){record->has_cost, record->cost_pico},
                         12);
    } else if (result->acceptable) {
        json_out_number(&out, "latency_ms", record->latency_text);
        json_out_number(&out, "cost_usd", record->cost_text);
    }
    json_out_optional(&out, "place", first_place(places));
    submission_write_places(&out, places);
    if (result->acceptable && places->count > 0)
        write_outcome(request, &out, form->task, record);
    json_out_end(&out, '}');
}

/* What would become of it by the task's policy and review. Left out where that cannot be read just now: the verdict
 * stands without. */
static void write_outcome(struct request *request, struct json_out *out, const struct task *task,
                          const struct intake_record *record)
{
    const bool train = task->phase == TASK_TRAIN;
    const struct figures figures = {
        .tta_ns = {train, record->tta_ns},
        .cost_pico = {train && record->has_cost, record->cost_pico},
        .latency_ns = {!train, record->latency_ns},
        .inference_cost_pico = {!train && record->has_cost, record->cost_pico},
    };
    struct admission admission;
    struct error err = {0};
    struct store_reader *reader = app_reader(request->app, &err);

    if (reader == NULL)
        return;
    if (store_preview_admission(reader, request->arena, task, &figures, &admission, &err) !=
        ST_OK) {
        if (err.status != ST_CONFLICT)
            return;
        admission = (struct admission){.state = "refused", .reason = err.detail};
    }
    json_out_begin(out, "outcome", '{');
    json_out_text(out, "state", admission.state);
    json_out_text(out, "reason", admission.reason);
    json_out_end(out, '}');
    if (admission.top5.count > 0)
        submission_write_top5(out, &admission.top5);
}

static void begin_submit(struct request *request, struct response *response)
{
    struct work *work = ARENA_NEW(request->arena, struct work);
    struct error err = {0};
    enum status status;

    if (work == NULL)
        status = error_set(&err, ST_NO_MEMORY, NULL, "no memory for a submission");
    else
        status = prepare(request, work, &err);
    if (status != ST_OK) {
        response_send_error(response, &err);
        return;
    }
    if (!work->result.acceptable) {
        send_refusal(request, response, &work->result);
        return;
    }
    api_push(request, response,
             &(struct api_push){.verb = verb_submit,
                                .args = &work->submit,
                                .render = render_submission,
                                .use_key = true,
                                .more = work});
}

static enum status prepare(struct request *request, struct work *work, struct error *err)
{
    struct submission_form *form = &work->form;
    enum status status = submission_form_read(request, true, form, err);

    if (status == ST_OK)
        status = submission_form_judge(request, form, true, &work->result, err);
    if (status != ST_OK || !work->result.acceptable)
        return status;
    status = find_places(request, form->task, &work->result, &work->places, err);
    if (status == ST_OK)
        status = accept_fill_entry(form->task, form->name, &work->result.record, NULL,
                                   request->arena, &work->entry, err);
    if (status == ST_OK)
        status = find_flags(request, &work->entry, &work->result, err);
    work->submit = (struct submit){
        .entry = &work->entry,
        .by = {request->caller.token_id, request->caller.scopes},
        .revises = {form->revised != NULL, form->revised == NULL ? 0 : form->revised->id},
        .supersedes = form->supersedes};
    if (status == ST_OK)
        status = submission_form_files(form, request->arena, &work->submit.files, err);
    crypto_sha256_hex(form->entry, work->entry_sha256);
    crypto_sha256_hex(work->submit.files.progress, work->progress_sha256);
    return status;
}

static void send_refusal(struct request *request, struct response *response,
                         const struct intake_result *result)
{
    const struct problem problem = {
        .status = 422,
        .code = "refused",
        .detail = arena_printf(request->arena, "%zu of %zu findings are errors; nothing was stored",
                               result->error_count, result->finding_count),
        .items = submission_list_items(request->arena, result),
        .item_count = result->finding_count,
    };

    if (problem.items == NULL)
        response_send_error(response, &(struct error){.status = ST_NO_MEMORY});
    else
        response_send_problem(response, &problem);
}

/* On the writer's thread, inside the transaction: what a repeat with the same Idempotency-Key gets, too. */
static enum status render_submission(struct command *command, struct error *err)
{
    const struct api_step *step = command->opaque;
    const struct work *work = step->more;
    const struct submit *submit = &work->submit;
    const struct task *task = work->form.task;
    const bool accepted = strcmp(submit->state, "accepted") == 0;
    const struct submission_view view = {
        .id = submit->submission_id,
        .task = task->id,
        .task_version = task->version,
        .name = arena_copy(command->arena, work->form.name),
        .author = work->entry.author,
        .state = submit->state,
        .reason = submit->reason,
        .next = submit->next,
        .since_ms = submit->since_ms,
        .kind = "dawnbench",
        .owner = submit->owner,
        .revision = submit->revision,
        .deadline_ms = submit->deadline_ms,
        .supersedes_id = work->form.supersedes,
        .top5 = submit->top5.count > 0 ? &submit->top5 : NULL,
        .entry_id = {true, submit->entry_id},
        .tta_ns = work->entry.tta_ns,
        .latency_ns = work->entry.latency_ns,
        .latency_text = work->entry.latency_ms_text,
        .cost_pico = work->entry.cost_pico,
        .cost_text = work->entry.inference_cost_text,
        .place = accepted ? first_place(&work->places) : (struct opt_i64){0},
        .places = accepted || strcmp(submit->state, "in_review") == 0 ? &work->places : NULL,
        .entry_sha256 = work->entry_sha256,
        .entry_bytes = submit->files.entry.len,
        .has_progress = submit->files.has_progress,
        .progress_sha256 = work->progress_sha256,
        .progress_bytes = submit->files.progress.len,
        .further = submit->files.further,
        .further_count = submit->files.further_count,
        .run_count = (int64_t)work->entry.run_count,
        .flags = submit->flags,
        .flag_count = submit->flag_count,
        .result = &work->result,
    };
    struct json_out out;
    struct buf body;
    enum status status;

    if (view.name == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for an answer");
    buf_init(&body, RESPONSE_BODY_BYTES_MAX);
    out = (struct json_out){&body, false};
    submission_write(&out, &view);
    status = buf_check(&body, err);
    if (status == ST_OK) {
        command->answer.status = 201;
        command->answer.body = (struct str){arena_copy(command->arena, buf_str(&body)), body.len};
        command->answer.location = str_from_cstr(
            arena_printf(command->arena, "/v1/submissions/%" PRId64, submit->submission_id));
        if (command->answer.body.data == NULL || command->answer.location.len == 0)
            status = error_set(err, ST_NO_MEMORY, NULL, "no memory for an answer");
    }
    buf_fini(&body);
    return status;
}

static void send_conflict(struct response *response, const struct work *work,
                          const struct error *err)
{
    const struct problem problem = {
        .status = 409,
        .code = err->code,
        .detail = err->detail,
        .has_submission = work->submit.other_id.has,
        .submission = work->submit.other_id.value,
    };

    response_send_problem(response, &problem);
}
