/* server/api/webhooks.c: /v1/webhooks: who is told of what happens, and what became of it. A webhook is its token's
 * alone: to all others it is not there. */
#include <inttypes.h>

#include "common/json.h"
#include "common/task.h"
#include "server/api/api.h"
#include "server/api/json_out.h"
#include "server/app.h"
#include "server/hook/message.h"
#include "server/hook/sender.h"
#include "server/hook/target.h"
#include "server/store/read.h"
#include "server/store/verbs.h"

/* As the triggers of 0002_service.sql name them. */
static const char *const kinds[] = {"submission", "comment", "entry", "record", "run", "board"};

static enum status read_webhook(struct request *request, struct create_webhook *create,
                                struct error *err);
static void read_url(struct request *request, struct json_reader *reader,
                     struct create_webhook *create);
static void read_kinds(struct request *request, struct json_reader *reader,
                       struct create_webhook *create);
static bool read_kind(struct json_reader *reader, const json_t *value, unsigned *wanted);
static void read_task(struct request *request, struct json_reader *reader,
                      struct create_webhook *create);
static void send_created(struct request *request, struct response *response);
static void write_webhook(struct json_out *out, const struct webhook_record *webhook,
                          const char *secret);
static void write_delivery(struct json_out *out, const struct delivery_record *delivery);

void handle_post_webhook(struct request *request, struct response *response)
{
    struct create_webhook *create;
    struct error err = {0};

    if (request->step > 0) {
        send_created(request, response);
        return;
    }
    create = ARENA_NEW(request->arena, struct create_webhook);
    if (create == NULL)
        (void)error_set(&err, ST_NO_MEMORY, NULL, "no memory for a webhook");
    else
        (void)read_webhook(request, create, &err);
    if (err.status != ST_OK)
        response_send_error(response, &err);
    else
        api_push(request, response,
                 &(struct api_push){.verb = verb_create_webhook, .args = create});
}

void handle_list_webhooks(struct request *request, struct response *response)
{
    struct store_reader *reader = api_begin_read(request, response);
    struct webhook_record *rows;
    struct error err = {0};
    struct json_out out;
    enum status status;
    size_t count;

    if (reader == NULL)
        return;
    status = store_list_webhooks(reader, request->arena, request->caller.token_id, 0, &rows, &count,
                                 &err);
    api_end_read(reader);
    if (status != ST_OK) {
        response_send_error(response, &err);
        return;
    }
    out = (struct json_out){response_begin(response, 200, "application/json"), false};
    json_out_begin(&out, NULL, '{');
    json_out_begin(&out, "items", '[');
    for (size_t i = 0; i < count; i++)
        write_webhook(&out, &rows[i], NULL);
    json_out_end(&out, ']');
    json_out_end(&out, '}');
}

/* The caller's own; ST_NOT_FOUND otherwise. */
static enum status find_webhook(struct request *request, struct store_reader *reader,
                                struct webhook_record *webhook, struct error *err)
{
    struct webhook_record *rows = NULL;
    size_t count = 0;
    int64_t id;
    enum status status = request_arg_id(request, 0, &id, err);

    if (status == ST_OK)
        status = store_list_webhooks(reader, request->arena, request->caller.token_id, id, &rows,
                                     &count, err);
    if (status != ST_OK)
        return status;
    if (count > 0) {
        *webhook = rows[0];
        return ST_OK;
    }
    (void)error_set_code(err, ST_NOT_FOUND, "not-found", NULL, NULL,
                         "your token has no such webhook");
    return ST_NOT_FOUND;
}

void handle_get_webhook(struct request *request, struct response *response)
{
    struct store_reader *reader = api_begin_read(request, response);
    struct webhook_record webhook;
    struct error err = {0};
    struct json_out out;
    enum status status;

    if (reader == NULL)
        return;
    status = find_webhook(request, reader, &webhook, &err);
    api_end_read(reader);
    if (status != ST_OK) {
        response_send_error(response, &err);
        return;
    }
    out = (struct json_out){response_begin(response, 200, "application/json"), false};
    write_webhook(&out, &webhook, NULL);
}

void handle_delete_webhook(struct request *request, struct response *response)
{
    struct delete_webhook *delete;
    struct error err = {0};

    if (request->step > 0) {
        const struct command *command = &api_step(request)->command;

        if (command->status != ST_OK)
            response_send_error(response, &command->err);
        else
            response_send_empty(response, 204);
        return;
    }
    delete = ARENA_NEW(request->arena, struct delete_webhook);
    if (delete == NULL) {
        (void)error_set(&err, ST_NO_MEMORY, NULL, "no memory for a command");
    } else {
        delete->token_id = request->caller.token_id;
        (void)request_arg_id(request, 0, &delete->webhook_id, &err);
    }
    if (err.status != ST_OK)
        response_send_error(response, &err);
    else
        api_push(request, response,
                 &(struct api_push){.verb = verb_delete_webhook, .args = delete});
}

void handle_list_deliveries(struct request *request, struct response *response)
{
    struct delivery_record *rows = NULL;
    struct webhook_record webhook;
    struct api_page page = {.list = "deliveries", .kinds = "i"};
    struct store_reader *reader;
    const char *next = NULL;
    struct error err = {0};
    struct json_out out;
    size_t count = 0, shown;
    enum status status;

    api_page_read(request, &page, &err);
    if (query_finish(&request->query, &err) != ST_OK) {
        response_send_error(response, &err);
        return;
    }
    reader = api_begin_read(request, response);
    if (reader == NULL)
        return;
    status = find_webhook(request, reader, &webhook, &err);
    if (status == ST_OK) /* one more than asked for tells whether there is a next page */
        status = store_list_deliveries(reader, request->arena, webhook.id,
                                       page.has_key ? page.key[0].number : 0, (int)page.limit + 1,
                                       &rows, &count, &err);
    api_end_read(reader);
    if (status != ST_OK) {
        response_send_error(response, &err);
        return;
    }
    shown = count > (size_t)page.limit ? (size_t)page.limit : count;
    if (count > shown)
        next = api_page_next(response, &page, &(struct cursor_value){.number = rows[shown - 1].id});
    out = (struct json_out){response_begin(response, 200, "application/json"), false};
    json_out_begin(&out, NULL, '{');
    json_out_begin(&out, "items", '[');
    for (size_t i = 0; i < shown; i++)
        write_delivery(&out, &rows[i]);
    json_out_end(&out, ']');
    json_out_text(&out, "next_cursor", next);
    json_out_end(&out, '}');
}

void handle_redeliver(struct request *request, struct response *response)
{
    struct redeliver *redeliver;
    struct error err = {0};

    if (request->step > 0) {
        const struct command *command = &api_step(request)->command;
        const struct redeliver *done = command->args;
        struct json_out out;

        if (command->status != ST_OK) {
            response_send_error(response, &command->err);
            return;
        }
        sender_wake(request->app->sender);
        out = (struct json_out){response_begin(response, 200, "application/json"), false};
        write_delivery(&out, &done->delivery);
        return;
    }
    redeliver = ARENA_NEW(request->arena, struct redeliver);
    if (redeliver == NULL) {
        (void)error_set(&err, ST_NO_MEMORY, NULL, "no memory for a command");
    } else {
        redeliver->token_id = request->caller.token_id;
        (void)request_arg_id(request, 0, &redeliver->webhook_id, &err);
        (void)request_arg_id(request, 1, &redeliver->delivery_id, &err);
    }
    if (err.status != ST_OK)
        response_send_error(response, &err);
    else
        api_push(request, response, &(struct api_push){.verb = verb_redeliver, .args = redeliver});
}

static enum status read_webhook(struct request *request, struct create_webhook *create,
                                struct error *err)
{
    struct json_reader reader;
    struct json_doc doc;
    enum status status = request_read_json(request, &doc, &reader, err);

    if (status != ST_OK)
        return status;
    create->token_id = request->caller.token_id;
    crypto_random(create->secret, sizeof create->secret);
    read_url(request, &reader, create);
    read_kinds(request, &reader, create);
    read_task(request, &reader, create);
    status = json_reader_finish(&reader);
    json_doc_fini(&doc);
    if (status == ST_OK && (create->url == NULL || create->kinds_json == NULL))
        status = error_set(err, ST_NO_MEMORY, NULL, "no memory for a webhook");
    return status;
}

static void read_url(struct request *request, struct json_reader *reader,
                     struct create_webhook *create)
{
    struct error fault = {0};
    struct str url;

    if (json_read_text(reader, "url", true, TARGET_BYTES_MAX, &url) &&
        target_check(url, request->app->webhook_allow_private, request->arena, &create->url,
                     &fault) == ST_INVALID)
        (void)json_reader_fault(reader, "url", fault.code,
                                fault.hint[0] == '\0' ? NULL : fault.hint, "%s", fault.detail);
}

/* Stored in an order of our own, each once. */
static void read_kinds(struct request *request, struct json_reader *reader,
                       struct create_webhook *create)
{
    const json_t *array = NULL;
    unsigned wanted = 0;
    struct buf text;

    if (!json_read_array(reader, "kinds", true, ARRAY_LEN(kinds), &array))
        return;
    for (size_t i = 0; i < json_array_size(array); i++)
        if (!read_kind(reader, json_array_get(array, i), &wanted))
            return;
    if (wanted == 0)
        (void)json_reader_fault(reader, "kinds", "out_of_range", NULL,
                                "a webhook is told of one kind at least");
    buf_init(&text, 256);
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++)
        if ((wanted & 1u << k) != 0)
            buf_appendf(&text, "%s\"%s\"", text.len == 0 ? "[" : ",", kinds[k]);
    buf_append_char(&text, ']');
    create->kinds_json = text.failed ? NULL : arena_copy(request->arena, buf_str(&text));
    buf_fini(&text);
}

static bool read_kind(struct json_reader *reader, const json_t *value, unsigned *wanted)
{
    const char *kind = json_string_value(value);

    for (size_t k = 0; kind != NULL && k < ARRAY_LEN(kinds); k++)
        if (strcmp(kind, kinds[k]) == 0) {
            *wanted |= 1u << k;
            return true;
        }
    (void)json_reader_fault(reader, "kinds", "bad_value",
                            "submission, comment, entry, record, run or board",
                            "\"kinds\" are words that are known here");
    return false;
}

static void read_task(struct request *request, struct json_reader *reader,
                      struct create_webhook *create)
{
    const struct task *task;
    struct str id;

    if (!json_read_text(reader, "task", false, 128, &id))
        return;
    task = task_find(request->app->tasks, id);
    if (task != NULL)
        create->task = task->id;
    else
        (void)json_reader_fault(reader, "task", "unknown_task", "GET /v1/tasks lists them",
                                "there is no task \"%.*s\"", (int)str_utf8_cut(id, 64), id.data);
}

/* The only time that the secret is shown. */
static void send_created(struct request *request, struct response *response)
{
    const struct command *command = &api_step(request)->command;
    const struct create_webhook *create = command->args;
    char secret[MESSAGE_SECRET_CHARS + 1];
    struct json_out out;

    if (command->status != ST_OK) {
        response_send_error(response, &command->err);
        return;
    }
    message_format_secret(create->secret, secret);
    response_add_header(response, "Location", "/v1/webhooks/%" PRId64, create->webhook_id);
    response_add_header(response, "Cache-Control", "no-store");
    out = (struct json_out){response_begin(response, 201, "application/json"), false};
    write_webhook(&out,
                  &(struct webhook_record){.id = create->webhook_id,
                                           .url = create->url,
                                           .kinds_json = create->kinds_json,
                                           .task = create->task,
                                           .created_ms = create->created_ms,
                                           .reason = ""},
                  secret);
    explicit_bzero(secret, sizeof secret);
}

static void write_webhook(struct json_out *out, const struct webhook_record *webhook,
                          const char *secret)
{
    json_out_begin(out, NULL, '{');
    json_out_i64(out, "webhook", webhook->id);
    json_out_text(out, "url", webhook->url);
    json_out_begin(out, "kinds", '[');
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        char quoted[32];

        (void)snprintf(quoted, sizeof quoted, "\"%s\"", kinds[k]);
        if (strstr(webhook->kinds_json, quoted) != NULL)
            json_out_text(out, NULL, kinds[k]);
    }
    json_out_end(out, ']');
    json_out_text(out, "task", webhook->task);
    json_out_text(out, "secret", secret);
    json_out_time(out, "created", webhook->created_ms);
    json_out_i64(out, "waiting", webhook->waiting);
    if (webhook->ended_ms.has) {
        json_out_time(out, "ended", webhook->ended_ms.value);
        json_out_text(out, "reason", webhook->reason);
    }
    json_out_end(out, '}');
}

static void write_delivery(struct json_out *out, const struct delivery_record *delivery)
{
    json_out_begin(out, NULL, '{');
    json_out_i64(out, "delivery", delivery->id);
    json_out_text(out, "kind", delivery->kind);
    json_out_text(out, "state", delivery->state);
    json_out_i64(out, "tries", delivery->tries);
    json_out_time(out, "created", delivery->created_ms);
    if (delivery->ended_ms.has)
        json_out_time(out, "ended", delivery->ended_ms.value);
    else
        json_out_time(out, "next", delivery->next_ms);
    json_out_optional(out, "http_status", delivery->http_status);
    if (delivery->error[0] != '\0')
        json_out_text(out, "error", delivery->error);
    json_out_str(out, "body", delivery->body); /* the text that was signed */
    json_out_end(out, '}');
}
