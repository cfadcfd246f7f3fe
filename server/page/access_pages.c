/* server/page/access_pages.c: see access_pages.h. A form is answered 303, so that a reload repeats nothing; but a secret is
 * shown in the answer itself: it is to be found at no address. */
#include "server/page/access_pages.h"

#include <inttypes.h>

#include "common/clock.h"
#include "server/api/api.h"
#include "server/api/review_read.h"
#include "server/app.h"
#include "server/http/auth.h"
#include "server/page/access_view.h"
#include "server/page/page_work.h"
#include "server/page/pages.h"
#include "server/store/read.h"

enum { TTL_DAYS_MAX = 36500 };

static void draw_login(struct request *request, struct response *response, struct str back,
                       const struct error *fault);
static enum status sign_in(struct request *request, struct create_session *create,
                           struct error *err);
static void set_cookie(struct request *request, struct response *response, const char *text);
static void draw_tokens(struct request *request, struct response *response,
                        struct tokens_page *page);
static enum status read_issue(struct request *request, struct create_token *create,
                              struct error *err);
static enum status read_number(struct query *form, const char *name, int64_t min, int64_t max,
                               struct opt_i64 *out, struct error *err);

static void handle_login(struct request *request, struct response *response)
{
    struct str back = STR("/");

    (void)query_read_text(&request->query, "back", &back);
    draw_login(request, response, back, NULL);
}

/* Back to where one came from: never to another site, nor to this page again. */
static const char *find_back(struct request *request)
{
    struct str back = STR("/");
    const char *address;

    (void)query_read_text(&request->form, "back", &back);
    address = page_local_address(request->arena, back);
    return str_starts_with(str_from_cstr(address), STR("/login")) ? "/" : address;
}

static void handle_sign_in(struct request *request, struct response *response)
{
    struct create_session *create;
    struct error err = {0};

    if (request->step > 0) {
        const struct command *command = &api_step(request)->command;

        if (command->status != ST_OK) {
            response_send_error(response, &command->err);
            return;
        }
        set_cookie(request, response, ((const struct create_session *)command->args)->text);
        response_send_redirect(response, 303, find_back(request));
        return;
    }
    create = ARENA_NEW(request->arena, struct create_session);
    if (create == NULL)
        (void)error_set(&err, ST_NO_MEMORY, NULL, "no memory for a session");
    else
        (void)sign_in(request, create, &err);
    if (err.retry_after_s > 0)
        response_add_header(response, "Retry-After", "%lld", err.retry_after_s);
    if (err.status == ST_UNAUTHENTICATED || err.status == ST_DENIED || err.status == ST_LIMIT)
        draw_login(request, response, str_from_cstr(find_back(request)), &err);
    else if (err.status != ST_OK)
        response_send_error(response, &err);
    else
        api_push(request, response,
                 &(struct api_push){.verb = verb_create_session, .args = create});
}

static void handle_sign_out(struct request *request, struct response *response)
{
    struct end_session *end;

    if (request->step == 0 && request->csrf != NULL) {
        end = ARENA_NEW(request->arena, struct end_session);
        if (end == NULL) {
            response_send_error(
                response, &(struct error){.status = ST_NO_MEMORY, .detail = "no memory to end it"});
            return;
        }
        end->text = request->session;
        api_push(request, response, &(struct api_push){.verb = verb_end_session, .args = end});
        return;
    }
    if (request->step > 0 && api_step(request)->command.status != ST_OK) {
        response_send_error(response, &api_step(request)->command.err);
        return;
    }
    set_cookie(request, response, NULL);
    response_send_redirect(response, 303, "/");
}

static void handle_tokens(struct request *request, struct response *response)
{
    struct tokens_page page = {0};

    draw_tokens(request, response, &page);
}

static void handle_issue(struct request *request, struct response *response)
{
    struct create_token *create;
    struct tokens_page page = {0};
    struct error err = {0};

    if (request->step > 0) {
        const struct command *command = &api_step(request)->command;

        if (command->status == ST_OK)
            page.made = command->args;
        page.wanted = command->status == ST_OK ? NULL : command->args;
        page.fault = command->status == ST_OK ? NULL : &command->err;
        draw_tokens(request, response, &page);
        return;
    }
    create = ARENA_NEW(request->arena, struct create_token);
    if (create == NULL) {
        (void)error_set(&err, ST_NO_MEMORY, NULL, "no memory for a token");
        response_send_error(response, &err);
    } else if (read_issue(request, create, &err) != ST_OK) {
        page.wanted = create;
        page.fault = &err;
        draw_tokens(request, response, &page);
    } else {
        api_push(request, response, &(struct api_push){.verb = verb_create_token, .args = create});
    }
}

static void handle_revoke(struct request *request, struct response *response)
{
    struct revoke_token *revoke;
    struct error err = {0};

    if (request->step > 0) {
        const struct command *command = &api_step(request)->command;

        if (command->status != ST_OK)
            response_send_error(response, &command->err);
        else
            response_send_redirect(response, 303, "/tokens");
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

static const struct route routes[] = {
    {.method = HTTP_GET, .pattern = "/login", .handle = handle_login, .html = true},
    {.method = HTTP_POST,
     .pattern = "/login",
     .handle = handle_sign_in,
     .media = MEDIA_FORM,
     .html = true,
     .signs_in = true},
    {.method = HTTP_POST,
     .pattern = "/logout",
     .handle = handle_sign_out,
     .media = MEDIA_FORM,
     .html = true},
    {.method = HTTP_GET,
     .pattern = "/tokens",
     .handle = handle_tokens,
     .scopes = SCOPE_TOKENS,
     .html = true},
    {.method = HTTP_POST,
     .pattern = "/tokens",
     .handle = handle_issue,
     .scopes = SCOPE_TOKENS,
     .media = MEDIA_FORM,
     .html = true},
    {.method = HTTP_POST,
     .pattern = "/tokens/{token}/revoke",
     .handle = handle_revoke,
     .scopes = SCOPE_TOKENS,
     .media = MEDIA_FORM,
     .html = true},
};
const struct route_table access_routes = {routes, ARRAY_LEN(routes)};

static void draw_login(struct request *request, struct response *response, struct str back,
                       const struct error *fault)
{
    struct page_frame frame;
    struct buf page;

    page_make_frame(request, request->arena, &frame);
    buf_init(&page, PAGE_BYTES_MAX);
    page_render_login(&page, &frame, back, fault);
    page_send_private(response, fault == NULL ? 200 : response_status_code(fault), &page);
    buf_fini(&page);
}

static enum status sign_in(struct request *request, struct create_session *create,
                           struct error *err)
{
    struct principal principal;
    struct store_reader *reader;
    struct str token = {0};

    (void)query_read_text(&request->form, "token", &token);
    token = str_trim(token);
    if (token.len == 0)
        return error_set_code(err, ST_UNAUTHENTICATED, "token-missing", "token", NULL,
                              "A token is needed to sign in.");
    if (request_check_attempts(request, err) != ST_OK)
        return err->status;
    reader = app_reader(request->app, err);
    if (reader == NULL)
        return err->status;
    if (store_authenticate(reader, request->arena, token, clock_real_ms(), &principal, err) !=
        ST_OK) {
        if (err->status == ST_UNAUTHENTICATED)
            request_note_failed_attempt(request, err);
        return err->status;
    }
    if (principal.role == ROLE_AGENT || principal.role == ROLE_AGENT_REGISTRATION)
        return error_set_code(err, ST_DENIED, "role-reserved", "token", NULL,
                              "A token of role %s signs nobody in: it is for a program.",
                              role_name(principal.role));
    store_note_token_use(request->app->store, principal.token_id, clock_real_ms());
    create->token_id = principal.token_id;
    return ST_OK;
}

/* text NULL: forget it. */
static void set_cookie(struct request *request, struct response *response, const char *text)
{
    response_add_header(
        response, "Set-Cookie", "%s=%s; Path=/; Max-Age=%lld; HttpOnly; SameSite=Strict%s",
        session_cookie(request->is_secure), text == NULL ? "" : text,
        text == NULL ? 0LL : (long long)(SESSION_MS / 1000), request->is_secure ? "; Secure" : "");
    response_add_header(response, "Cache-Control", "no-store");
}

static void draw_tokens(struct request *request, struct response *response,
                        struct tokens_page *page)
{
    struct api_page keys = {.list = "tokens", .kinds = "i"};
    const int status = page->fault == NULL ? 200 : response_status_code(page->fault);
    struct store_reader *reader;
    struct token_record *rows;
    struct page_frame frame;
    struct error err = {0};
    struct buf html;

    api_page_read(request, &keys, &err);
    if (err.status != ST_OK) {
        response_send_error(response, &err);
        return;
    }
    reader = app_reader(request->app, &err);
    if (reader == NULL ||
        store_list_tokens_after(reader, request->arena, keys.has_key ? keys.key[0].number : 0,
                                keys.limit + 1, &rows, &page->token_count, &err) != ST_OK) {
        response_send_error(response, &err);
        return;
    }
    page->user = &request->caller;
    page->tokens = rows;
    if (page->token_count > (size_t)keys.limit) {
        page->token_count = (size_t)keys.limit;
        page->next_cursor = api_page_next(
            response, &keys, &(struct cursor_value){.number = rows[page->token_count - 1].id});
    }
    page_make_frame(request, request->arena, &frame);
    buf_init(&html, PAGE_BYTES_MAX);
    page_render_tokens(&html, &frame, page);
    page_send_private(response, status, &html);
    buf_fini(&html);
}

static enum status read_issue(struct request *request, struct create_token *create,
                              struct error *err)
{
    struct query *form = &request->form;
    struct str role = {0};

    create->issuer = &request->caller;
    (void)query_read_text(form, "name", &create->name);
    create->name = str_trim(create->name);
    for (unsigned i = 0; i < SCOPE_COUNT; i++) {
        struct str ticked;

        if (query_read_text(
                form, arena_printf(request->arena, "scope-%s", scope_name((enum scope)(1u << i))),
                &ticked))
            create->scopes |= 1u << i;
    }
    if (!query_read_text(form, "role", &role) || !role_parse(role, &create->role))
        return error_set_code(err, ST_INVALID, "bad_value", "role", NULL, "Choose a role.");
    if (read_number(form, "ttl_days", 1, TTL_DAYS_MAX, &create->ttl_days, err) != ST_OK ||
        read_number(form, "submissions_per_day", 0, INT64_MAX, &create->submissions_per_day, err) !=
            ST_OK ||
        read_number(form, "bytes_max", 0, INT64_MAX, &create->bytes_max, err) != ST_OK)
        return err->status;
    if (create->name.len == 0)
        return error_set_code(err, ST_INVALID, "bad_value", "name", NULL,
                              "Say whom the token is for.");
    return review_check_text(create->name, "name", err) ? ST_OK : err->status;
}

/* An empty field is as none. */
static enum status read_number(struct query *form, const char *name, int64_t min, int64_t max,
                               struct opt_i64 *out, struct error *err)
{
    struct str text = {0};

    if (!query_read_text(form, name, &text) || str_trim(text).len == 0)
        return ST_OK;
    out->has = true;
    return query_read_i64(form, name, min, max, &out->value, err);
}
