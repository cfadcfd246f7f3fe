/* server/api/submit.c: POST /v1/submissions and /v1/submissions/validate: the same reading and the same judge for
 * both; the first needs a token and stores, the second does neither. */
#include <assert.h>
#include <inttypes.h>

#include "common/clock.h"
#include "common/entry.h"
#include "server/api/accept.h"
#include "server/api/api.h"
#include "server/api/boards.h"
#include "server/api/submission_write.h"
#include "server/app.h"

struct form { /* what was sent */
    const struct task *task;
    bool has_task, has_name;
    struct str task_id, name;
    bool has_entry, has_progress;
    struct str entry, progress;
};

struct work { /* kept between the two calls of a POST that stores */
    struct form form;
    struct intake_result result;
    struct new_entry entry;
    struct submit submit;
    struct opt_i64 place;
    char entry_sha256[SHA256_HEX_BYTES], progress_sha256[SHA256_HEX_BYTES];
};

static enum status read_form(struct request *request, bool named, struct form *form,
                             struct error *err);
static enum status read_json_form(struct request *request, struct form *form, struct error *err);
static void read_parts_form(struct request *request, struct form *form, struct error *err);
static void check_form(struct request *request, bool named, struct form *form, struct error *err);
static struct str stem_of(struct str file_name);
static enum status judge(struct request *request, const struct form *form, bool whole,
                         struct intake_result *result, struct error *err);
static enum status find_place(struct request *request, const struct task *task,
                              const struct intake_record *record, struct opt_i64 *place,
                              struct error *err);
static void send_verdict(struct response *response, const struct form *form,
                         const struct intake_result *result, struct opt_i64 place);
static void begin_submit(struct request *request, struct response *response);
static enum status prepare(struct request *request, struct work *work, struct error *err);
static void send_refusal(struct request *request, struct response *response,
                         const struct intake_result *result);
static enum status render_submission(struct command *command, struct error *err);
static void send_conflict(struct response *response, const struct work *work,
                          const struct error *err);

void handle_validate_submission(struct request *request, struct response *response)
{
    struct opt_i64 place = {0};
    struct intake_result result;
    struct error err = {0};
    struct form form;
    enum status status = read_form(request, false, &form, &err);

    if (status == ST_OK)
        status = judge(request, &form, form.has_entry && form.has_progress, &result, &err);
    if (status == ST_OK && result.acceptable)
        status = find_place(request, form.task, &result.record, &place, &err);
    if (status != ST_OK)
        response_send_error(response, &err);
    else
        send_verdict(response, &form, &result, place);
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

/* named: without a name nothing can be kept. */
static enum status read_form(struct request *request, bool named, struct form *form,
                             struct error *err)
{
    *form = (struct form){0};
    if (request->media == MEDIA_MULTIPART)
        read_parts_form(request, form, err);
    else if (read_json_form(request, form, err) != ST_OK)
        return err->status;
    check_form(request, named, form, err);
    if (err->status != ST_OK)
        return err->status;
    assert(form->task != NULL); /* else it was said to be missing or unknown */
    if (form->has_entry && form->entry.len > ENTRY_FILE_BYTES_MAX)
        return error_set_code(err, ST_LIMIT, "file_too_large", "entry", NULL,
                              "a file may have %d bytes at most", ENTRY_FILE_BYTES_MAX);
    if (form->has_progress && form->progress.len > ENTRY_FILE_BYTES_MAX)
        return error_set_code(err, ST_LIMIT, "file_too_large", "progress", NULL,
                              "a file may have %d bytes at most", ENTRY_FILE_BYTES_MAX);
    return ST_OK;
}

/* The texts are copied: the tree goes before the command runs. */
static enum status read_json_form(struct request *request, struct form *form, struct error *err)
{
    struct json_reader reader;
    struct json_doc doc;
    struct str *const texts[] = {&form->task_id, &form->name, &form->entry, &form->progress};
    enum status status = request_read_json(request, &doc, &reader, err);

    if (status != ST_OK)
        return status;
    form->has_task = json_read_text(&reader, "task", true, 128, &form->task_id);
    form->has_name = json_read_text(&reader, "name", false, ENTRY_NAME_BYTES_MAX, &form->name);
    form->has_entry =
        json_read_text(&reader, "entry", false, 4 * (size_t)ENTRY_FILE_BYTES_MAX, &form->entry);
    form->has_progress = json_read_text(&reader, "progress", false,
                                        4 * (size_t)ENTRY_FILE_BYTES_MAX, &form->progress);
    (void)json_reader_finish(&reader);
    for (size_t i = 0; i < ARRAY_LEN(texts) && status == ST_OK; i++) {
        texts[i]->data = arena_copy(request->arena, *texts[i]);
        if (texts[i]->data == NULL)
            status = error_set(err, ST_NO_MEMORY, NULL, "no memory for the files");
    }
    json_doc_fini(&doc);
    return status;
}

static void read_parts_form(struct request *request, struct form *form, struct error *err)
{
    static const char *const known[] = {"task", "entry", "progress", "name"};
    const struct multipart_part *found[ARRAY_LEN(known)] = {NULL};

    for (size_t i = 0; i < request->parts.count; i++) {
        const struct multipart_part *part = &request->parts.parts[i];
        size_t k = 0;

        while (k < ARRAY_LEN(known) && !str_eq_cstr(part->name, known[k]))
            k++;
        if (k == ARRAY_LEN(known))
            (void)request_fault(request, "unknown_member", part->name.data,
                                "send the parts task, entry, progress, name", err,
                                "there is no part \"%.*s\" here",
                                (int)str_utf8_cut(part->name, 100), part->name.data);
        else
            found[k] = part;
    }
    form->has_task = found[0] != NULL;
    if (form->has_task)
        form->task_id = str_trim(found[0]->data);
    else
        (void)request_fault(request, "missing_member", "task", NULL, err,
                            "the part \"task\" is missing");
    form->has_entry = found[1] != NULL;
    form->has_progress = found[2] != NULL;
    if (form->has_entry)
        form->entry = found[1]->data;
    if (form->has_progress)
        form->progress = found[2]->data;
    if (found[3] != NULL) {
        form->has_name = true;
        form->name = str_trim(found[3]->data);
    } else if (found[1] != NULL && found[1]->has_file_name) {
        form->has_name = true;
        form->name = stem_of(found[1]->file_name);
    }
    (void)query_finish(&request->query, err);
}

/* What holds for both kinds of bodies; only the way in which they name a member differs. */
static void check_form(struct request *request, bool named, struct form *form, struct error *err)
{
    const bool parts = request->media == MEDIA_MULTIPART;
    struct error fault = {0};

    form->task = form->has_task ? task_find(request->app->tasks, form->task_id) : NULL;
    if (form->has_task && form->task == NULL)
        (void)request_fault(request, "unknown_task", parts ? "task" : "/task",
                            "GET /v1/tasks lists them", err, "there is no task \"%.*s\"",
                            (int)str_utf8_cut(form->task_id, 64), form->task_id.data);
    if (named && !form->has_name)
        (void)request_fault(request, "missing_member", parts ? "name" : "/name",
                            parts ? "give the entry's part a file name, or send a name" : NULL, err,
                            "the entry has no name");
    else if (named && accept_check_name(form->name, &fault) != ST_OK)
        (void)request_fault(request, fault.code, parts ? "name" : "/name", fault.hint, err, "%s",
                            fault.detail);
    if (!named && !form->has_entry && !form->has_progress)
        (void)request_fault(request, "missing_member", parts ? "entry" : "/entry", NULL, err,
                            "send an entry, a progress file, or both");
}

static struct str stem_of(struct str file_name)
{
    static const struct str ending = {".json", 5};

    return str_ends_with(file_name, ending) ? str_slice(file_name, 0, file_name.len - ending.len)
                                            : file_name;
}

static enum status judge(struct request *request, const struct form *form, bool whole,
                         struct intake_result *result, struct error *err)
{
    const struct intake_input input = {
        .task = form->task,
        .mode = INTAKE_NEW,
        .whole = whole,
        .has_entry = form->has_entry,
        .has_progress = form->has_progress,
        .entry = form->entry,
        .progress = form->progress,
        .today_days = clock_real_ms() / (INT64_C(86400) * 1000),
    };

    return intake_check(&input, request->arena, result, err);
}

/* On the board by time or latency, as it stands now. */
static enum status find_place(struct request *request, const struct task *task,
                              const struct intake_record *record, struct opt_i64 *place,
                              struct error *err)
{
    const bool train = task->phase == TASK_TRAIN;
    const struct kept *kept;
    int64_t version;
    enum status status;

    *place = (struct opt_i64){0};
    if (train ? !record->has_tta : !record->has_latency)
        return ST_OK;
    status = boards_begin(request->app->boards, task, &kept, &version, err);
    if (status != ST_OK)
        return status;
    place->has = true;
    place->value = (int64_t)(train ? kept_place_of(kept, BOARD_TIME, record->tta_ns)
                                   : kept_place_of(kept, BOARD_LATENCY, record->latency_ns));
    boards_end(request->app->boards, task);
    return ST_OK;
}

static void send_verdict(struct response *response, const struct form *form,
                         const struct intake_result *result, struct opt_i64 place)
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
    json_out_optional(&out, "place", place);
    json_out_end(&out, '}');
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
    struct form *form = &work->form;
    enum status status = read_form(request, true, form, err);

    if (status == ST_OK)
        status = judge(request, form, true, &work->result, err);
    if (status != ST_OK || !work->result.acceptable)
        return status;
    status = find_place(request, form->task, &work->result.record, &work->place, err);
    if (status == ST_OK)
        status = accept_fill_entry(form->task, form->name, &work->result.record, NULL,
                                   request->arena, &work->entry, err);
    crypto_sha256_hex(form->entry, work->entry_sha256);
    crypto_sha256_hex(form->progress, work->progress_sha256);
    work->submit = (struct submit){
        .entry = &work->entry,
        .files = {.entry = form->entry,
                  .progress = form->progress,
                  .has_progress = form->has_progress},
        .by = {request->caller.token_id, request->caller.scopes},
    };
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
    const bool accepted = task->review == TASK_REVIEW_NONE;
    const struct submission_view view = {
        .id = submit->submission_id,
        .task = task->id,
        .task_version = task->version,
        .name = arena_copy(command->arena, work->form.name),
        .author = work->entry.author,
        .state = submit->state,
        .reason = submit->reason,
        .next = accepted ? "it is ranked" : "a reviewer decides", /* as submission_state has it */
        .since_ms = submit->since_ms,
        .entry_id = {true, submit->entry_id},
        .tta_ns = work->entry.tta_ns,
        .latency_ns = work->entry.latency_ns,
        .latency_text = work->entry.latency_ms_text,
        .cost_pico = work->entry.cost_pico,
        .cost_text = work->entry.inference_cost_text,
        .place = {accepted && work->place.has, work->place.value},
        .entry_sha256 = work->entry_sha256,
        .entry_bytes = submit->files.entry.len,
        .has_progress = submit->files.has_progress,
        .progress_sha256 = work->progress_sha256,
        .progress_bytes = submit->files.progress.len,
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
