/* server/api/mlperf.c: POST /v1/mlperf/logs and /v1/mlperf/logs/validate: the logs of an entry's runs, judged by the rules
 * of their round as `import-mlperf` judges a tree; the first needs a token and stores, the second does neither. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"
#include "server/api/api.h"
#include "server/api/boards.h"
#include "server/api/mlperf_accept.h"
#include "server/api/submission_write.h"
#include "server/app.h"
#include "server/store/read.h"

#define TEXT_BYTES_MAX 200
/* Of all logs together, so that what is kept of them fits a request's memory. */
#define EVALS_OF_ALL_MAX 20000

struct logs_form { /* what was sent */
    const struct task *task;
    const struct mlperf_benchmark *benchmark;
    const char *submitter, *system, *name; /* NULL: not sent */
    bool has_description;
    struct mlperf_system description;
    struct mlperf_file files[MLPERF_RUNS_MAX]; /* in the runs' order once sorted */
    struct str bytes[MLPERF_RUNS_MAX];
    size_t count;
};
struct work { /* kept between the two calls of a POST that stores */
    struct logs_form form;
    struct mlperf_result result;
    struct new_entry entry;
    struct submit submit;
    struct opt_i64 place;
    struct flag_record *flags; /* of a dry run; a POST has those of the writer */
    size_t flag_count;
    char manifest_sha256[SHA256_HEX_BYTES];
};

static enum status read_form(struct request *request, struct logs_form *form, struct error *err);
static void take_part(struct request *request, struct logs_form *form,
                      const struct multipart_part *part, struct error *err);
static void take_log(struct request *request, struct logs_form *form,
                     const struct multipart_part *part, struct error *err);
static const char *take_text(struct request *request, const struct multipart_part *part,
                             struct error *err);
static void check_form(struct request *request, struct logs_form *form, struct error *err);
static void sort_logs(struct logs_form *form);
static enum status judge(struct request *request, struct logs_form *form,
                         struct mlperf_result *result, struct error *err);
static enum status read_logs(struct request *request, struct logs_form *form, struct error *err);
static enum status preview(struct request *request, struct work *work, struct error *err);
static enum status fill_entry(struct request *request, struct work *work, struct error *err);
static enum status find_place(struct request *request, struct work *work, struct error *err);
static enum status judge_record(struct request *request, struct mlperf_result *result,
                                int64_t record_ns, struct error *err);
static bool is_acceptable(const struct mlperf_result *result);
static enum status send_verdict(struct request *request, struct response *response,
                                const struct work *work, struct error *err);
static enum status begin_post(struct request *request, struct response *response, struct work *work,
                              struct error *err);
static void send_refusal(struct request *request, struct response *response,
                         const struct mlperf_result *result);
static enum status render_entry(struct command *command, struct error *err);
static void send_conflict(struct response *response, const struct work *work,
                          const struct error *err);

void handle_validate_logs(struct request *request, struct response *response)
{
    struct work *work = ARENA_NEW(request->arena, struct work);
    struct error err = {0};
    enum status status;

    if (work == NULL)
        status = error_set(&err, ST_NO_MEMORY, NULL, "no memory for the logs");
    else
        status = read_form(request, &work->form, &err);
    if (status == ST_OK)
        status = judge(request, &work->form, &work->result, &err);
    if (status == ST_OK && is_acceptable(&work->result))
        status = preview(request, work, &err);
    if (status == ST_OK)
        status = send_verdict(request, response, work, &err);
    if (status != ST_OK)
        response_send_error(response, &err);
}

void handle_post_logs(struct request *request, struct response *response)
{
    const struct api_step *step;
    struct error err = {0};
    struct work *work;

    if (request->step == 0) {
        work = ARENA_NEW(request->arena, struct work);
        if (work == NULL)
            (void)error_set(&err, ST_NO_MEMORY, NULL, "no memory for the logs");
        else if (begin_post(request, response, work, &err) == ST_OK)
            return;
        response_send_error(response, &err);
        return;
    }
    step = api_step(request);
    if (step->command.status == ST_CONFLICT)
        send_conflict(response, step->more, &step->command.err);
    else
        api_send_answer(request, response);
}

static enum status read_form(struct request *request, struct logs_form *form, struct error *err)
{
    for (size_t i = 0; i < request->parts.count; i++)
        take_part(request, form, &request->parts.parts[i], err);
    check_form(request, form, err);
    if (query_finish(&request->query, err) != ST_OK || err->status != ST_OK)
        return err->status;
    sort_logs(form);
    return read_logs(request, form, err);
}

static void take_part(struct request *request, struct logs_form *form,
                      const struct multipart_part *part, struct error *err)
{
    const char *name = part->name.data;
    struct error fault = {0};
    struct str task;

    if (strcmp(name, "log") == 0) {
        take_log(request, form, part, err);
    } else if (multipart_find(&request->parts, name) != part) {
        (void)request_fault(request, "bad_multipart", name, NULL, err,
                            "the part \"%.*s\" is there twice", (int)str_utf8_cut(part->name, 100),
                            name);
    } else if (strcmp(name, "task") == 0) {
        task = str_trim(part->data);
        form->task = task_find(request->app->tasks, task);
        form->benchmark = mlperf_find_task(request->app->mlperf, task);
        if (form->task == NULL || form->benchmark == NULL)
            (void)request_fault(request, "unknown_task", "task",
                                "GET /v1/tasks lists them: those with mlperf_round", err,
                                "there is no task of MLPerf \"%.*s\"",
                                str_is_utf8(task) ? (int)str_utf8_cut(task, 64) : 0, task.data);
    } else if (strcmp(name, "submitter") == 0) {
        form->submitter = take_text(request, part, err);
    } else if (strcmp(name, "system") == 0) {
        form->system = take_text(request, part, err);
    } else if (strcmp(name, "name") == 0) {
        form->name = take_text(request, part, err);
    } else if (strcmp(name, "description") == 0) {
        form->has_description = true;
        if (part->data.len > MLPERF_SYSTEM_BYTES_MAX)
            (void)request_fault(request, "too-large", "description", NULL, err,
                                "a description may have %d bytes at most", MLPERF_SYSTEM_BYTES_MAX);
        else if (mlperf_system_parse(part->data, request->arena, &form->description, &fault) !=
                 ST_OK)
            (void)request_fault(request, fault.code, "description", fault.hint, err, "line %d: %s",
                                fault.line, fault.detail);
    } else {
        (void)request_fault(request, "unknown_member", name,
                            "send the parts task, log (once per run), submitter, system, name, "
                            "description",
                            err, "there is no part \"%.*s\" here",
                            (int)str_utf8_cut(part->name, 100), name);
    }
}

static void take_log(struct request *request, struct logs_form *form,
                     const struct multipart_part *part, struct error *err)
{
    struct mlperf_file *file = &form->files[form->count];

    if (form->count == MLPERF_RUNS_MAX) {
        (void)request_fault(request, "too_many_runs", "log", NULL, err,
                            "an entry has at most %d logs", MLPERF_RUNS_MAX);
        return;
    }
    *file = (struct mlperf_file){.name = part->has_file_name ? part->file_name.data : NULL};
    if (file->name == NULL || part->file_name.len > MLPERF_FILE_NAME_BYTES ||
        !mlperf_run_number(part->file_name, &file->number)) {
        (void)request_fault(request, "bad_name", "log",
                            "name the files result_0.txt, result_1.txt.gz and so on", err,
                            "the file name of a log is result_<run>.txt or .txt.gz");
        return;
    }
    for (size_t i = 0; i < form->count; i++)
        if (form->files[i].number == file->number) {
            (void)request_fault(request, "same_name", "log", "Number the runs.", err,
                                "two logs are of run %" PRId64, file->number);
            return;
        }
    form->bytes[form->count++] = part->data;
}

static const char *take_text(struct request *request, const struct multipart_part *part,
                             struct error *err)
{
    const struct str text = str_trim(part->data);
    uint32_t hidden;
    bool good = text.len > 0 && text.len <= TEXT_BYTES_MAX && str_is_utf8(text) &&
                !text_is_blank(text) && !text_find_hidden(text, &hidden);

    for (size_t i = 0; i < text.len && good; i++)
        good = (unsigned char)text.data[i] >= ' ' && text.data[i] != 0x7F;
    if (!good) {
        (void)request_fault(
            request, "bad_value", part->name.data, NULL, err,
            "%.40s has 1 to %d bytes of UTF-8 that can be seen, without control bytes",
            part->name.data, TEXT_BYTES_MAX);
        return NULL;
    }
    return arena_copy(request->arena, text);
}

static void check_form(struct request *request, struct logs_form *form, struct error *err)
{
    const struct {
        const char *name;
        bool there;
    } needed[] = {{"task", multipart_find(&request->parts, "task") != NULL},
                  {"system", multipart_find(&request->parts, "system") != NULL},
                  {"log", multipart_find(&request->parts, "log") != NULL}};

    for (size_t i = 0; i < ARRAY_LEN(needed); i++)
        if (!needed[i].there)
            (void)request_fault(request, "missing_member", needed[i].name, NULL, err,
                                "the part \"%s\" is missing", needed[i].name);
    if (form->submitter == NULL && multipart_find(&request->parts, "submitter") == NULL)
        form->submitter = request->has_caller ? request->caller.name : "unnamed";
}

/* By the runs' numbers: of some benchmarks the first that converged are scored. Each number is there once. */
static void sort_logs(struct logs_form *form)
{
    for (size_t i = 1; i < form->count; i++)
        for (size_t k = i; k > 0 && form->files[k - 1].number > form->files[k].number; k--) {
            const struct mlperf_file file = form->files[k];
            const struct str bytes = form->bytes[k];

            form->files[k] = form->files[k - 1];
            form->bytes[k] = form->bytes[k - 1];
            form->files[k - 1] = file;
            form->bytes[k - 1] = bytes;
        }
}

/* What is wrong with a log is a verdict, not an error. */
static enum status read_logs(struct request *request, struct logs_form *form, struct error *err)
{
    size_t evals = 0;

    for (size_t i = 0; i < form->count; i++) {
        struct mlperf_log *log = ARENA_NEW(request->arena, struct mlperf_log);
        struct mlperf_file *file = &form->files[i];
        enum status status;

        if (log == NULL)
            return error_set(err, ST_NO_MEMORY, NULL, "no memory for the logs");
        status = mlperf_log_read(form->bytes[i], request->arena, log, &file->fault);
        if (status == ST_OK)
            file->log = log;
        else if (status != ST_INVALID && status != ST_LIMIT)
            return error_set(err, status, NULL, "%s: %s", file->name, file->fault.detail);
        evals += status == ST_OK ? log->eval_count : 0;
        if (evals > EVALS_OF_ALL_MAX)
            return error_set_code(err, ST_LIMIT, "too_many_events", "log",
                                  "Leave out evaluations that the rules do not ask for.",
                                  "the logs together have more than %d evaluations",
                                  EVALS_OF_ALL_MAX);
    }
    return ST_OK;
}

static enum status judge(struct request *request, struct logs_form *form,
                         struct mlperf_result *result, struct error *err)
{
    struct mlperf_input input = {.benchmark = form->benchmark,
                                 .division = form->description.division,
                                 .files = form->files,
                                 .file_count = form->count};
    struct rcp_set rcp;

    if (form->benchmark->rcp_file != NULL) {
        if (rcp_parse(mlperf_find_rcp(request->app->mlperf, form->benchmark->rcp_file),
                      request->arena, &rcp, err) != ST_OK)
            return err->status;
        input.rcp = &rcp;
    }
    return mlperf_judge(&input, request->arena, result, err);
}

/* What else a POST of the same logs would say: its place, and runs that look the same. */
static enum status preview(struct request *request, struct work *work, struct error *err)
{
    enum status status = find_place(request, work, err);
    struct store_reader *reader;

    if (status == ST_OK)
        status = fill_entry(request, work, err);
    if (status != ST_OK)
        return status;
    reader = app_reader(request->app, err);
    return reader == NULL ? err->status
                          : store_find_flags(reader, request->arena, &work->entry, &work->flags,
                                             &work->flag_count, err);
}

static enum status fill_entry(struct request *request, struct work *work, struct error *err)
{
    const struct logs_form *form = &work->form;
    const struct mlperf_source source = {
        .task = form->task,
        .benchmark = form->benchmark,
        .name = form->name,
        .submitter = form->submitter,
        .system = form->system,
        .description = form->has_description ? &form->description : NULL,
        .result = &work->result,
        .bytes = form->bytes,
    };

    return mlperf_fill_entry(&source, request->arena, &work->entry, &work->submit.files, err);
}

static enum status find_place(struct request *request, struct work *work, struct error *err)
{
    const struct kept *kept;
    int64_t version, record;
    const enum status status =
        boards_begin(request->app->boards, work->form.task, &kept, &version, err);

    if (status != ST_OK)
        return status;
    work->place =
        (struct opt_i64){true, (int64_t)kept_place_of(kept, BOARD_TIME, work->result.score_ns)};
    record = kept_record(kept, BOARD_TIME);
    boards_end(request->app->boards, work->form.task);
    return judge_record(request, &work->result, record, err);
}

static enum status judge_record(struct request *request, struct mlperf_result *result,
                                int64_t record_ns, struct error *err)
{
    struct mlperf_check *checks;
    const char *doubt;
    const enum status status =
        boards_doubt_record(request->arena, result->score_ns, record_ns, &doubt, err);

    if (status != ST_OK || doubt == NULL)
        return status;
    checks = ARENA_NEW_ARRAY(request->arena, result->check_count + 1, struct mlperf_check);
    if (checks == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for a verdict");
    for (size_t i = 0; i < result->check_count; i++)
        checks[i] = result->checks[i];
    checks[result->check_count++] = (struct mlperf_check){.rule = "record",
                                                          .verdict = MLPERF_WARNING,
                                                          .detail = doubt,
                                                          .hint = "Log the time in milliseconds."};
    result->checks = checks;
    return ST_OK;
}

static bool is_acceptable(const struct mlperf_result *result)
{
    return !result->refused && result->has_score;
}

static enum status send_verdict(struct request *request, struct response *response,
                                const struct work *work, struct error *err)
{
    const struct mlperf_result *result = &work->result;
    const struct check_record *checks = mlperf_list_checks(result, request->arena);
    struct json_out out;

    if (checks == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for a verdict");
    out = (struct json_out){response_begin(response, 200, "application/json"), false};
    json_out_begin(&out, NULL, '{');
    json_out_bool(&out, "valid", is_acceptable(result));
    submission_write_checks(&out, checks, result->check_count);
    json_out_i64(&out, "n", (int64_t)result->run_count);
    json_out_i64(&out, "converged", (int64_t)result->converged_count);
    if (is_acceptable(result)) {
        json_out_decimal(&out, "tta_s", (struct opt_i64){true, result->score_ns}, 9);
        json_out_double(&out, "cv_tta", result->split.tta.cv);
        json_out_double(&out, "cv_epochs", result->split.epochs.cv);
    }
    json_out_optional(&out, "place", work->place);
    submission_write_flags(&out, work->flags, work->flag_count);
    json_out_end(&out, '}');
    return ST_OK;
}

/* ST_OK: it was answered or handed to the writer. */
static enum status begin_post(struct request *request, struct response *response, struct work *work,
                              struct error *err)
{
    enum status status = read_form(request, &work->form, err);

    if (status == ST_OK)
        status = judge(request, &work->form, &work->result, err);
    if (status != ST_OK)
        return status;
    if (!is_acceptable(&work->result)) {
        send_refusal(request, response, &work->result);
        return ST_OK;
    }
    work->submit = (struct submit){.entry = &work->entry,
                                   .by = {request->caller.token_id, request->caller.scopes}};
    status = find_place(request, work, err);
    if (status == ST_OK)
        status = fill_entry(request, work, err);
    if (status != ST_OK)
        return status;
    crypto_sha256_hex(work->submit.files.entry, work->manifest_sha256);
    api_push(request, response,
             &(struct api_push){.verb = verb_submit,
                                .args = &work->submit,
                                .render = render_entry,
                                .use_key = true,
                                .more = work});
    return ST_OK;
}

/* Every rule that failed or warns, those that refuse first. */
static void send_refusal(struct request *request, struct response *response,
                         const struct mlperf_result *result)
{
    struct problem_item *items =
        ARENA_NEW_ARRAY(request->arena, result->check_count, struct problem_item);
    struct problem problem = {.status = 422, .code = "refused", .items = items};
    size_t failed = 0;

    if (items == NULL) {
        response_send_error(response, &(struct error){.status = ST_NO_MEMORY});
        return;
    }
    for (int pass = MLPERF_FAIL; pass >= MLPERF_WARNING; pass--)
        for (size_t i = 0; i < result->check_count; i++) {
            const struct mlperf_check *check = &result->checks[i];

            if ((int)check->verdict != pass)
                continue;
            failed += pass == MLPERF_FAIL;
            items[problem.item_count++] = (struct problem_item){
                .file = check->file,
                .line = check->line,
                .field = "log",
                .code = check->rule,
                .severity = pass == MLPERF_FAIL ? "error" : "warning",
                .detail = check->detail,
                .hint = check->hint,
            };
        }
    problem.detail =
        arena_printf(request->arena, "%zu rules are broken; nothing was stored", failed);
    response_send_problem(response, &problem);
}

/* On the writer's thread, inside the transaction. */
static enum status render_entry(struct command *command, struct error *err)
{
    const struct api_step *step = command->opaque;
    const struct work *work = step->more;
    const struct submit *submit = &work->submit;
    const bool accepted = strcmp(submit->state, "accepted") == 0;
    const struct submission_view view = {
        .id = submit->submission_id,
        .task = work->form.task->id,
        .task_version = work->form.task->version,
        .name = arena_copy(command->arena, work->entry.name),
        .author = work->entry.author,
        .state = submit->state,
        .reason = submit->reason,
        .next = submit->next,
        .since_ms = submit->since_ms,
        .kind = "mlperf",
        .owner = submit->owner,
        .revision = submit->revision,
        .deadline_ms = submit->deadline_ms,
        .top5 = submit->top5.count > 0 ? &submit->top5 : NULL,
        .entry_id = {true, submit->entry_id},
        .tta_ns = work->entry.tta_ns,
        .place = {accepted && work->place.has, work->place.value},
        .entry_sha256 = work->manifest_sha256,
        .entry_bytes = submit->files.entry.len,
        .further = submit->files.further,
        .further_count = submit->files.further_count,
        .run_count = (int64_t)work->entry.run_count,
        .flags = submit->flags,
        .flag_count = submit->flag_count,
    };
    struct json_out out;
    enum status status;
    struct buf body;

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
