/* server/api/submit.c: POST /v1/submissions and /v1/submissions/validate: the same reading and the same judge for
 * both; the first needs a token and stores, the second does neither. */
#include <inttypes.h>
#include <string.h>

#include "common/crypto.h"
#include "server/api/api.h"
#include "server/api/submission_check.h"

static void send_verdict(struct response *response, const struct submission_verdict *verdict);
static void begin_submit(struct request *request, struct response *response);
static void send_refusal(struct request *request, struct response *response,
                         const struct intake_result *result);
static enum status render_submission(struct command *command, struct error *err);
static void send_conflict(struct response *response, const struct submission_work *work,
                          const struct error *err);

void handle_validate_submission(struct request *request, struct response *response)
{
    struct submission_verdict verdict;
    struct error err = {0};

    if (submission_check(request, &verdict, &err) != ST_OK)
        response_send_error(response, &err);
    else
        send_verdict(response, &verdict);
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

static void send_verdict(struct response *response, const struct submission_verdict *verdict)
{
    const struct intake_result *result = &verdict->result;
    const struct intake_record *record = &result->record;
    struct json_out out = {response_begin(response, 200, "application/json"), false};

    json_out_begin(&out, NULL, '{');
    json_out_bool(&out, "valid", result->acceptable);
    submission_write_findings(&out, "findings", result);
    if (result->acceptable && verdict->form.task->phase == TASK_TRAIN) {
        json_out_decimal(&out, "tta_s", (struct opt_i64){record->has_tta, record->tta_ns}, 9);
        json_out_decimal(&out, "cost_usd", (struct opt_i64){record->has_cost, record->cost_pico},
                         12);
    } else if (result->acceptable) {
        json_out_number(&out, "latency_ms", record->latency_text);
        json_out_number(&out, "cost_usd", record->cost_text);
    }
    json_out_optional(&out, "place", submission_first_place(&verdict->places));
    submission_write_places(&out, &verdict->places);
    if (verdict->has_outcome) {
        json_out_begin(&out, "outcome", '{');
        json_out_text(&out, "state", verdict->outcome.state);
        json_out_text(&out, "reason", verdict->outcome.reason);
        json_out_end(&out, '}');
        if (verdict->outcome.top5.count > 0)
            submission_write_top5(&out, &verdict->outcome.top5);
    }
    json_out_end(&out, '}');
}

static void begin_submit(struct request *request, struct response *response)
{
    struct submission_work *work = ARENA_NEW(request->arena, struct submission_work);
    struct error err = {0};
    enum status status;

    if (work == NULL)
        status = error_set(&err, ST_NO_MEMORY, NULL, "no memory for a submission");
    else
        status = submission_prepare(request, work, &err);
    if (status != ST_OK) {
        response_send_error(response, &err);
        return;
    }
    if (!work->verdict.result.acceptable) {
        send_refusal(request, response, &work->verdict.result);
        return;
    }
    api_push(request, response,
             &(struct api_push){.verb = verb_submit,
                                .args = &work->submit,
                                .render = render_submission,
                                .use_key = true,
                                .more = work});
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
    const struct submission_work *work = step->more;
    const struct submit *submit = &work->submit;
    const struct submission_form *form = &work->verdict.form;
    const struct board_places *places = &work->verdict.places;
    const struct task *task = form->task;
    const bool accepted = strcmp(submit->state, "accepted") == 0;
    char entry_sha256[SHA256_HEX_BYTES], progress_sha256[SHA256_HEX_BYTES];
    const struct submission_view view = {
        .id = submit->submission_id,
        .task = task->id,
        .task_version = task->version,
        .name = arena_copy(command->arena, form->name),
        .author = work->entry.author,
        .state = submit->state,
        .reason = submit->reason,
        .next = submit->next,
        .since_ms = submit->since_ms,
        .kind = "dawnbench",
        .owner = submit->owner,
        .revision = submit->revision,
        .deadline_ms = submit->deadline_ms,
        .supersedes_id = form->supersedes,
        .top5 = submit->top5.count > 0 ? &submit->top5 : NULL,
        .entry_id = {true, submit->entry_id},
        .tta_ns = work->entry.tta_ns,
        .latency_ns = work->entry.latency_ns,
        .latency_text = work->entry.latency_ms_text,
        .cost_pico = work->entry.cost_pico,
        .cost_text = work->entry.inference_cost_text,
        .place = accepted ? submission_first_place(places) : (struct opt_i64){0},
        .places = accepted || strcmp(submit->state, "in_review") == 0 ? places : NULL,
        .entry_sha256 = entry_sha256,
        .entry_bytes = submit->files.entry.len,
        .has_progress = submit->files.has_progress,
        .progress_sha256 = progress_sha256,
        .progress_bytes = submit->files.progress.len,
        .further = submit->files.further,
        .further_count = submit->files.further_count,
        .run_count = (int64_t)work->entry.run_count,
        .flags = submit->flags,
        .flag_count = submit->flag_count,
        .result = &work->verdict.result,
    };
    struct json_out out;
    struct buf body;
    enum status status;

    crypto_sha256_hex(submit->files.entry, entry_sha256);
    crypto_sha256_hex(submit->files.progress, progress_sha256);
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

static void send_conflict(struct response *response, const struct submission_work *work,
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
