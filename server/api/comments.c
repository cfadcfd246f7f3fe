/* server/api/comments.c: threads on a submission, tied to a file and a line of it. */
#include <inttypes.h>

#include "server/api/api.h"
#include "server/api/json_out.h"
#include "server/api/review_read.h"
#include "server/app.h"
#include "server/store/read.h"

static void begin_comment(struct request *request, struct response *response);
static enum status read_comment(struct request *request, struct post_comment *comment,
                                struct error *err);
static enum status render_comment(struct command *command, struct error *err);
static void resolve(struct request *request, struct response *response, bool resolved);
static void write_comment(struct json_out *out, const struct comment_record *comment);

void handle_post_comment(struct request *request, struct response *response)
{
    if (request->step == 0)
        begin_comment(request, response);
    else
        api_send_answer(request, response);
}

void handle_resolve_comment(struct request *request, struct response *response)
{
    resolve(request, response, true);
}

void handle_reopen_comment(struct request *request, struct response *response)
{
    resolve(request, response, false);
}

void handle_list_comments(struct request *request, struct response *response)
{
    struct api_page page = {.list = "comments", .kinds = "i"};
    struct submission_record submission;
    struct comment_record *rows = NULL;
    struct store_reader *reader;
    struct error err = {0};
    const char *next = NULL;
    size_t count = 0, shown;
    struct json_out out;
    int64_t id;

    (void)request_arg_id(request, 0, &id, &err);
    api_page_read(request, &page, &err);
    if (query_finish(&request->query, &err) != ST_OK) {
        response_send_error(response, &err);
        return;
    }
    reader = api_begin_read(request, response);
    if (reader == NULL)
        return;
    if (store_get_submission(reader, request->arena, id, &submission, &err) == ST_OK)
        (void)store_list_comments(reader, request->arena, id, page.has_key ? page.key[0].number : 0,
                                  (int)page.limit + 1, &rows, &count, &err);
    api_end_read(reader);
    if (err.status != ST_OK) {
        response_send_error(response, &err);
        return;
    }
    shown = count > (size_t)page.limit ? (size_t)page.limit : count;
    if (shown < count)
        next = api_page_next(response, &page, &(struct cursor_value){.number = rows[shown - 1].id});
    out = (struct json_out){response_begin(response, 200, "application/json"), false};
    json_out_begin(&out, NULL, '{');
    json_out_i64(&out, "submission", id);
    json_out_begin(&out, "items", '[');
    for (size_t i = 0; i < shown; i++)
        write_comment(&out, &rows[i]);
    json_out_end(&out, ']');
    json_out_text(&out, "next_cursor", next);
    json_out_end(&out, '}');
}

static void begin_comment(struct request *request, struct response *response)
{
    struct post_comment *comment = ARENA_NEW(request->arena, struct post_comment);
    struct error err = {0};

    if (comment == NULL)
        (void)error_set(&err, ST_NO_MEMORY, NULL, "no memory for a comment");
    else
        (void)read_comment(request, comment, &err);
    if (err.status != ST_OK)
        response_send_error(response, &err);
    else
        api_push(request, response,
                 &(struct api_push){.verb = verb_post_comment,
                                    .args = comment,
                                    .render = render_comment,
                                    .use_key = true,
                                    .more = (void *)request->caller.name});
}

static enum status read_comment(struct request *request, struct post_comment *comment,
                                struct error *err)
{
    struct error fault = {0};
    struct json_reader json;
    struct json_doc doc;
    enum status status = request_arg_id(request, 0, &comment->submission_id, err);

    if (status == ST_OK)
        status = request_read_json(request, &doc, &json, err);
    if (status != ST_OK)
        return status;
    comment->by = (struct mover){request->caller.token_id, request->caller.scopes};
    comment->text = review_read_text(&json, "text", true, COMMENT_BYTES_MAX, request->arena);
    comment->file = review_read_text(&json, "file", false, 200, request->arena);
    comment->line.has = json_read_i64(&json, "line", false, 1, INT32_MAX, &comment->line.value);
    comment->thread.has =
        json_read_i64(&json, "thread", false, 1, INT64_MAX, &comment->thread.value);
    if (comment->line.has && comment->file == NULL)
        (void)json_reader_fault(&json, "line", "bad_value", "name the file, too",
                                "a line is one of a file");
    if (comment->thread.has && comment->file != NULL)
        (void)json_reader_fault(&json, "file", "bad_value", "leave it out",
                                "an answer stands where its thread does");
    if (comment->file != NULL && !comment->thread.has &&
        review_check_place(request, comment, &fault) == ST_INVALID)
        (void)json_reader_fault(&json, fault.field, fault.code, fault.hint, "%s", fault.detail);
    else if (fault.status != ST_OK)
        status =
            error_set_code(err, fault.status, fault.code, fault.field, NULL, "%s", fault.detail);
    if (json_reader_finish(&json) != ST_OK)
        status = err->status;
    json_doc_fini(&doc);
    return status;
}

/* On the writer's thread, inside the transaction. */
static enum status render_comment(struct command *command, struct error *err)
{
    const struct api_step *step = command->opaque;
    const struct post_comment *comment = command->args;
    const struct comment_record record = {
        .id = comment->id,
        .submission_id = comment->submission_id,
        .thread_id = comment->thread,
        .at_ms = comment->at_ms,
        .by = step->request->caller.name,
        .role = role_name(step->request->caller.role),
        .file = comment->file,
        .line = comment->line,
        .text = comment->text,
    };
    struct answer *answer = &command->answer;
    struct json_out out;
    struct buf body;
    enum status status;

    buf_init(&body, 65536);
    out = (struct json_out){&body, false};
    write_comment(&out, &record);
    status = buf_check(&body, err);
    if (status == ST_OK) {
        answer->status = 201;
        answer->body = (struct str){arena_copy(command->arena, buf_str(&body)), body.len};
        if (answer->body.data == NULL)
            status = error_set(err, ST_NO_MEMORY, NULL, "no memory for an answer");
    }
    buf_fini(&body);
    return status;
}

static void resolve(struct request *request, struct response *response, bool resolved)
{
    struct resolve_comment *command;
    struct error err = {0};

    if (request->step > 0) {
        if (api_step(request)->command.status != ST_OK)
            response_send_error(response, &api_step(request)->command.err);
        else
            handle_list_comments(request, response);
        return;
    }
    command = ARENA_NEW(request->arena, struct resolve_comment);
    if (command == NULL)
        (void)error_set(&err, ST_NO_MEMORY, NULL, "no memory for a command");
    else if (query_finish(&request->query, &err) == ST_OK &&
             request_arg_id(request, 0, &command->submission_id, &err) == ST_OK)
        (void)request_arg_id(request, 1, &command->comment_id, &err);
    if (err.status != ST_OK) {
        response_send_error(response, &err);
        return;
    }
    command->by = (struct mover){request->caller.token_id, request->caller.scopes};
    command->resolved = resolved;
    api_push(request, response, &(struct api_push){.verb = verb_resolve_comment, .args = command});
}

static void write_comment(struct json_out *out, const struct comment_record *comment)
{
    json_out_begin(out, NULL, '{');
    json_out_i64(out, "comment", comment->id);
    json_out_i64(out, "submission", comment->submission_id);
    json_out_i64(out, "thread", comment->thread_id.has ? comment->thread_id.value : comment->id);
    json_out_time(out, "at", comment->at_ms);
    json_out_text(out, "by", comment->by);
    json_out_text(out, "role", comment->role);
    json_out_text(out, "file", comment->file);
    json_out_optional(out, "line", comment->line);
    json_out_text(out, "text", comment->text);
    if (!comment->thread_id.has)
        json_out_bool(out, "resolved", comment->resolved_ms.has);
    if (comment->resolved_ms.has) {
        json_out_time(out, "resolved_at", comment->resolved_ms.value);
        json_out_text(out, "resolved_by", comment->resolved_by);
    }
    json_out_end(out, '}');
}
