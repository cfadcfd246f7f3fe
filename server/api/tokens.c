/* server/api/tokens.c: GET, POST /v1/tokens; GET, DELETE /v1/tokens/{token}. The answer to POST holds the secret, so no
 * Idempotency-Key is honoured: it is stored nowhere. */
#include <inttypes.h>

#include "server/api/api.h"
#include "server/api/json_out.h"
#include "server/api/review_read.h"
#include "server/store/read.h"

enum { TTL_DAYS_MAX = 36500, NAME_BYTES_MAX = 128 };

static enum status read_token(struct request *request, struct create_token *create,
                              struct error *err);
static void read_scopes(struct json_reader *reader, const json_t *array,
                        struct create_token *create);
static void send_created(struct request *request, struct response *response,
                         const struct create_token *create);
static void write_token(struct json_out *out, const struct token_record *token, const char *text);

void handle_list_tokens(struct request *request, struct response *response)
{
    struct api_page page = {.list = "tokens", .kinds = "i"};
    struct store_reader *reader;
    struct token_record *rows;
    struct error err = {0};
    struct json_out out;
    const char *next = NULL;
    size_t count, shown;
    enum status status;

    api_page_read(request, &page, &err);
    if (query_finish(&request->query, &err) != ST_OK) {
        response_send_error(response, &err);
        return;
    }
    reader = api_begin_read(request, response);
    if (reader == NULL)
        return;
    status = store_list_tokens_after(reader, request->arena, page.has_key ? page.key[0].number : 0,
                                     page.limit + 1, &rows, &count, &err);
    api_end_read(reader);
    if (status != ST_OK) {
        response_send_error(response, &err);
        return;
    }
    shown = count > (size_t)page.limit ? (size_t)page.limit : count;
    if (shown < count)
        next = api_page_next(response, &page, &(struct cursor_value){.number = rows[shown - 1].id});
    out = (struct json_out){response_begin(response, 200, "application/json"), false};
    json_out_begin(&out, NULL, '{');
    json_out_begin(&out, "items", '[');
    for (size_t i = 0; i < shown; i++)
        write_token(&out, &rows[i], NULL);
    json_out_end(&out, ']');
    json_out_text(&out, "next_cursor", next);
    json_out_end(&out, '}');
}

void handle_get_token(struct request *request, struct response *response)
{
    struct store_reader *reader = api_begin_read(request, response);
    struct token_record token;
    struct error err = {0};
    struct json_out out;
    enum status status;
    int64_t id;

    if (reader == NULL)
        return;
    status = request_arg_id(request, 0, &id, &err);
    if (status == ST_OK)
        status = store_get_token(reader, request->arena, id, &token, &err);
    api_end_read(reader);
    if (status != ST_OK) {
        response_send_error(response, &err);
        return;
    }
    out = (struct json_out){response_begin(response, 200, "application/json"), false};
    write_token(&out, &token, NULL);
}

void handle_post_token(struct request *request, struct response *response)
{
    struct create_token *create;
    struct error err = {0};

    if (request->step > 0) {
        const struct command *command = &api_step(request)->command;

        if (command->status != ST_OK)
            response_send_error(response, &command->err);
        else
            send_created(request, response, command->args);
        return;
    }
    create = ARENA_NEW(request->arena, struct create_token);
    if (create == NULL)
        (void)error_set(&err, ST_NO_MEMORY, NULL, "no memory for a token");
    else
        (void)read_token(request, create, &err);
    if (err.status != ST_OK)
        response_send_error(response, &err);
    else
        api_push(request, response, &(struct api_push){.verb = verb_create_token, .args = create});
}

void handle_delete_token(struct request *request, struct response *response)
{
    struct revoke_token *revoke;
    struct error err = {0};

    if (request->step > 0) {
        const struct command *command = &api_step(request)->command;

        if (command->status != ST_OK)
            response_send_error(response, &command->err);
        else
            response_send_empty(response, 204);
        return;
    }
    revoke = ARENA_NEW(request->arena, struct revoke_token);
    if (revoke == NULL)
        (void)error_set(&err, ST_NO_MEMORY, NULL, "no memory for a command");
    else if (request_arg_id(request, 0, &revoke->id, &err) == ST_OK)
        revoke->issuer = &request->caller;
    if (err.status != ST_OK)
        response_send_error(response, &err);
    else
        api_push(request, response, &(struct api_push){.verb = verb_revoke_token, .args = revoke});
}

static enum status read_token(struct request *request, struct create_token *create,
                              struct error *err)
{
    static const char *const roles[] = {"submitter", "reviewer",           "operator",
                                        "admin",     "agent-registration", NULL};
    const char *role = NULL, *name;
    const json_t *scopes = NULL;
    struct error fault = {0};
    struct json_reader reader;
    struct json_doc doc;
    enum status status = request_read_json(request, &doc, &reader, err);

    if (status != ST_OK)
        return status;
    if (json_read_word(&reader, "role", true, roles, &role))
        (void)role_parse(str_from_cstr(role), &create->role); /* a word of the list */
    if (json_read_text(&reader, "name", true, NAME_BYTES_MAX, &create->name) &&
        !review_check_text(create->name, "name", &fault))
        (void)json_reader_fault(&reader, "name", fault.code, fault.hint, "%s", fault.detail);
    create->ttl_days.has =
        json_read_i64(&reader, "ttl_days", false, 1, TTL_DAYS_MAX, &create->ttl_days.value);
    create->submissions_per_day.has = json_read_i64(&reader, "submissions_per_day", false, 0,
                                                    INT64_MAX, &create->submissions_per_day.value);
    create->bytes_max.has =
        json_read_i64(&reader, "bytes_max", false, 0, INT64_MAX, &create->bytes_max.value);
    if (json_read_array(&reader, "scopes", false, SCOPE_COUNT, &scopes))
        read_scopes(&reader, scopes, create);
    status = json_reader_finish(&reader);
    name = arena_copy(request->arena, create->name); /* the document's */
    json_doc_fini(&doc);
    if (status == ST_OK && name == NULL)
        status = error_set(err, ST_NO_MEMORY, NULL, "no memory for a name");
    create->name.data = name;
    create->issuer = &request->caller;
    return status;
}

static void read_scopes(struct json_reader *reader, const json_t *array,
                        struct create_token *create)
{
    unsigned bit;

    for (size_t i = 0; i < json_array_size(array); i++) {
        const char *text = json_string_value(json_array_get(array, i));

        if (text == NULL || strchr(text, ' ') != NULL ||
            !scope_set_parse(str_from_cstr(text), &bit)) {
            (void)json_reader_fault(reader, "scopes", "bad_value",
                                    "submit, review, jobs, tasks, tokens, webhooks, register",
                                    "scopes[%zu] is not a scope", i);
            return;
        }
        create->scopes |= bit;
    }
    if (create->scopes == 0)
        (void)json_reader_fault(reader, "scopes", "bad_value", "leave it out for all of the role",
                                "a token needs a scope");
}

static void send_created(struct request *request, struct response *response,
                         const struct create_token *create)
{
    struct store_reader *reader = api_begin_read(request, response);
    struct token_record token;
    struct error err = {0};
    struct json_out out;
    enum status status;

    if (reader == NULL)
        return;
    status = store_get_token(reader, request->arena, create->id, &token, &err);
    api_end_read(reader);
    if (status != ST_OK) {
        response_send_error(response, &err);
        return;
    }
    response_add_header(response, "Location", "/v1/tokens/%" PRId64, create->id);
    out = (struct json_out){response_begin(response, 201, "application/json"), false};
    write_token(&out, &token, create->text);
}

/* text: with its secret, to whom it is issued; NULL: nobody knows it any more. */
static void write_token(struct json_out *out, const struct token_record *token, const char *text)
{
    json_out_begin(out, NULL, '{');
    json_out_i64(out, "id", token->id);
    json_out_text(out, "role", role_name(token->role));
    json_out_text(out, "name", token->name);
    json_out_begin(out, "scopes", '[');
    for (unsigned i = 0; i < SCOPE_COUNT; i++)
        if ((token->scopes & 1u << i) != 0)
            json_out_text(out, NULL, scope_name((enum scope)(1u << i)));
    json_out_end(out, ']');
    json_out_time(out, "created", token->created_ms);
    json_out_optional(out, "created_by", token->created_by);
    if (token->expires_ms.has)
        json_out_time(out, "expires", token->expires_ms.value);
    if (token->revoked_ms.has)
        json_out_time(out, "revoked", token->revoked_ms.value);
    if (token->used_ms.has)
        json_out_time(out, "used", token->used_ms.value);
    if (token->quota.submissions_per_day != INT64_MAX)
        json_out_i64(out, "submissions_per_day", token->quota.submissions_per_day);
    if (token->quota.bytes_max != INT64_MAX)
        json_out_i64(out, "bytes_max", token->quota.bytes_max);
    json_out_i64(out, "stored_bytes", token->stored_bytes);
    json_out_text(out, "token", text);
    json_out_end(out, '}');
}
