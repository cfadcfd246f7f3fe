/* server/http/exchange.c: one request from its first line to its reply, as the library calls us.
 *
 * The library's first call has the headers and no body. An ordinary reply is never queued there: the library would
 * close the connection after it. What is refused then is answered after the body was read away, unless the body is
 * large, or the guard found the framing itself in doubt: then at once, and the connection ends. */
#include <strings.h>

#include "common/clock.h"
#include "common/log.h"
#include "server/app.h"
#include "server/http/auth.h"
#include "server/http/exchange_internal.h"
#include "server/http/form.h"
#include "server/http/guard.h"
#include "server/http/media.h"
#include "server/store/read.h"

enum { SWALLOW_BYTES_MAX = 1 << 20, LOGIN_BYTES_MAX = 1000 };

struct header_list {
    struct guard_header headers[GUARD_HEADERS_MAX + 1];
    size_t count;
};

static enum MHD_Result begin(struct exchange *exchange, const char *method, const char *version);
static enum status admit(struct exchange *exchange, const char *method, const char *version);
static enum status guard(struct exchange *exchange, const char *method, const char *version);
static enum MHD_Result collect_header(void *cls, enum MHD_ValueKind kind, const char *name,
                                      size_t name_bytes, const char *value, size_t value_bytes);
static enum http_method parse_method(const char *method, bool *is_head);
static enum status admit_route(struct exchange *exchange);
static enum status admit_body(struct exchange *exchange);
static enum status admit_caller(struct exchange *exchange);
static enum status limit_address(struct exchange *exchange, enum status status);
static enum status limit_token(struct exchange *exchange);
static enum status limit(struct exchange *exchange, int64_t wait_ns);
static enum status admit_session(struct exchange *exchange);
static enum status find_session(struct exchange *exchange, struct error *err);
static enum status admit_query(struct exchange *exchange);
static void identify(struct exchange *exchange);
static bool leads_to_login(struct exchange *exchange);
static enum MHD_Result collect(struct exchange *exchange, const char *upload, size_t *bytes);
static enum MHD_Result run(struct exchange *exchange);
static enum status parse_body(struct exchange *exchange);
static enum MHD_Result refuse(struct exchange *exchange);
static void answer_options(struct exchange *exchange);
static void add_allow(struct exchange *exchange);
static void set_deadline(const struct exchange *exchange, int64_t ms);
static bool accepts_html_first(struct str accept);

void *exchange_note_target(void *cls, const char *uri, struct MHD_Connection *mhd)
{
    struct listener *listener = cls;
    struct exchange *exchange = calloc(1, sizeof *exchange);
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    char *copy;

    if (exchange == NULL)
        return NULL;
    arena_init(&exchange->arena, EXCHANGE_ARENA_BYTES);
    copy = arena_copy(&exchange->arena, str_from_cstr(uri));
    if (copy == NULL) {
        arena_fini(&exchange->arena);
        free(exchange);
        return NULL;
    }
    exchange->listener = listener;
    exchange->mhd = mhd;
    exchange->connection = info == NULL ? NULL : info->socket_context;
    exchange->target = str_from_cstr(copy);
    exchange->raw_target = uri;
    exchange->request.arena = &exchange->arena;
    exchange->request.faults.arena = &exchange->arena;
    exchange->request.app = listener->options.app;
    exchange->request.connection = exchange->connection;
    exchange->response.request = &exchange->request;
    (void)snprintf(exchange->request.id, sizeof exchange->request.id, "%s%08llx",
                   listener->id_prefix,
                   (unsigned long long)atomic_fetch_add(&listener->id_counter, 1));
    return exchange;
}

enum MHD_Result exchange_handle(void *cls, struct MHD_Connection *mhd, const char *url,
                                const char *method, const char *version, const char *upload,
                                size_t *upload_bytes, void **con_cls)
{
    struct exchange *exchange = *con_cls;

    (void)cls;
    (void)mhd;
    (void)url; /* decoded by the library; ours is the target as sent */
    if (exchange == NULL)
        return MHD_NO; /* no memory */
    switch (exchange->phase) {
    case EXCHANGE_NEW: return begin(exchange, method, version);
    case EXCHANGE_BODY:
        if (*upload_bytes > 0)
            return collect(exchange, upload, upload_bytes);
        set_deadline(exchange, 0);
        return run(exchange);
    case EXCHANGE_REFUSE:
        exchange->swallowed += *upload_bytes;
        if (*upload_bytes == 0)
            return refuse(exchange);
        *upload_bytes = 0;
        return exchange->swallowed > SWALLOW_BYTES_MAX ? MHD_NO : MHD_YES;
    case EXCHANGE_RUN: return run(exchange);
    }
    return MHD_NO;
}

void exchange_complete(void *cls, struct MHD_Connection *mhd, void **con_cls,
                       enum MHD_RequestTerminationCode how)
{
    struct exchange *exchange = *con_cls;

    (void)cls;
    (void)mhd;
    (void)how;
    if (exchange == NULL)
        return;
    *con_cls = NULL;
    if (exchange->is_active)
        atomic_fetch_sub(&exchange->listener->active, 1);
    set_deadline(exchange, exchange->listener->options.idle_ms);
    buf_fini(&exchange->body);
    buf_fini(&exchange->response.body);
    shared_bytes_release(exchange->response.shared);
    arena_fini(&exchange->arena);
    free(exchange);
}

void request_suspend(struct request *request)
{
    struct exchange *exchange = exchange_of(request);

    exchange->suspends++;
    MHD_suspend_connection(exchange->mhd);
}

void request_resume(struct request *request)
{
    MHD_resume_connection(exchange_of(request)->mhd);
}

enum status request_check_attempts(struct request *request, struct error *err)
{
    const struct exchange *exchange = exchange_of(request);
    int64_t wait_ns = 0;

    if (!exchange->is_unlimited)
        wait_ns = rate_failure_wait(exchange->listener->rate, &request->address, clock_mono_ns());
    if (wait_ns == 0)
        return ST_OK;
    err->retry_after_s = (wait_ns + NS_PER_S - 1) / NS_PER_S;
    return error_set_code(err, ST_LIMIT, "rate-limited", NULL,
                          "Check the token meanwhile: each failure doubles the wait.",
                          "your address tried tokens that are none; it may try again in %lld s",
                          err->retry_after_s);
}

void request_note_failed_attempt(struct request *request, const struct error *err)
{
    const struct exchange *exchange = exchange_of(request);
    const bool is_guess =
        strcmp(err->code, "token-unknown") == 0 || strcmp(err->code, "token-malformed") == 0;

    if (is_guess && !exchange->is_unlimited)
        rate_note_failure(exchange->listener->rate, &request->address, clock_mono_ns());
}

static enum MHD_Result begin(struct exchange *exchange, const char *method, const char *version)
{
    struct str length;
    uint64_t bytes = 0;
    enum status status;

    exchange->is_active = true;
    atomic_fetch_add(&exchange->listener->active, 1);
    set_deadline(exchange, exchange->listener->options.body_ms);
    status = admit(exchange, method, version);
    if (status == ST_OK) {
        exchange->phase = EXCHANGE_BODY;
        return MHD_YES;
    }
    exchange->phase = EXCHANGE_REFUSE;
    length = request_header(&exchange->request, "Content-Length");
    if (length.len > 0 && (!str_parse_u64(length, &bytes) || bytes > SWALLOW_BYTES_MAX))
        exchange->response.close = true;
    return exchange->response.close ? refuse(exchange) : MHD_YES;
}

/* Everything that can be judged without the body, in this order. */
static enum status admit(struct exchange *exchange, const char *method, const char *version)
{
    struct request *request = &exchange->request;
    enum status status = guard(exchange, method, version);
    size_t mark;

    if (status != ST_OK) {
        exchange->response.close = true;
        return status;
    }
    identify(exchange);
    request->method = parse_method(method, &request->is_head);
    request->wants_html = accepts_html_first(request_header(request, "Accept"));
    request->path = exchange->target;
    if (str_find_char(exchange->target, '?', &mark))
        request->path = str_slice(exchange->target, 0, mark);
    status = admit_route(exchange);
    if (request->route == NULL || !request->route->unlimited)
        status = limit_address(exchange, status);
    if (status == ST_OK && request->route != NULL)
        status = admit_caller(exchange);
    if (status == ST_OK && request->route != NULL)
        status = admit_body(exchange);
    if (status == ST_OK)
        status = admit_query(exchange);
    return status;
}

static enum status guard(struct exchange *exchange, const char *method, const char *version)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(exchange->mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    struct header_list list = {.count = 0};
    enum status status;

    (void)MHD_get_connection_values_n(exchange->mhd, MHD_HEADER_KIND, collect_header, &list);
    status = guard_check_headers(list.headers, list.count, &exchange->refusal);
    if (status == ST_OK)
        status = guard_check_target(exchange->target, &exchange->refusal);
    if (status == ST_OK) {
        const struct guard_layout layout = {.method = method,
                                            .target = exchange->raw_target,
                                            .version = version,
                                            .target_sent = exchange->target,
                                            .headers = list.headers,
                                            .count = list.count,
                                            .bytes = info == NULL ? 0 : info->header_size};

        status = guard_check_layout(&layout, &exchange->refusal);
    }
    return status;
}

/* What a header says of the client counts only when our proxy wrote it. */
static void identify(struct exchange *exchange)
{
    const struct listener_options *options = &exchange->listener->options;
    const struct proxy_trust *proxy = &options->proxy;
    struct request *request = &exchange->request;

    request->is_secure = options->https;
    exchange->is_unlimited = !options->limits.loopback;
    if (exchange->connection == NULL)
        return;
    request->address = exchange->connection->peer;
    if (request->address.kind != CLIENT_UNKNOWN) /* a unix socket is of this machine */
        exchange->is_unlimited = request->address.is_loopback && !options->limits.loopback;
    if (proxy->kind == PROXY_NONE ||
        (proxy->kind == PROXY_ADDRESS &&
         !client_address_equal(&proxy->address, &exchange->connection->peer)))
        return;
    if (str_eq(request_header(request, "X-Forwarded-Proto"), STR("https")))
        request->is_secure = true;
    if (!client_forwarded_parse(request_header(request, "X-Forwarded-For"), &request->address))
        request->address = (struct client_address){.kind = CLIENT_UNKNOWN}; /* not the proxy's */
    exchange->is_unlimited = request->address.is_loopback && !options->limits.loopback;
}

static enum MHD_Result collect_header(void *cls, enum MHD_ValueKind kind, const char *name,
                                      size_t name_bytes, const char *value, size_t value_bytes)
{
    struct header_list *list = cls;

    (void)kind;
    if (list->count == ARRAY_LEN(list->headers))
        return MHD_NO;
    list->headers[list->count++] = (struct guard_header){
        {name, name_bytes}, {value == NULL ? "" : value, value == NULL ? 0 : value_bytes}};
    return MHD_YES;
}

static enum http_method parse_method(const char *method, bool *is_head)
{
    static const struct {
        const char *name;
        enum http_method method;
    } rows[] = {{"GET", HTTP_GET},        {"HEAD", HTTP_GET},    {"POST", HTTP_POST},
                {"PUT", HTTP_PUT},        {"PATCH", HTTP_PATCH}, {"DELETE", HTTP_DELETE},
                {"OPTIONS", HTTP_OPTIONS}};

    *is_head = strcmp(method, "HEAD") == 0;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (strcmp(rows[i].name, method) == 0)
            return rows[i].method;
    return 0;
}

/* With OPTIONS, the route stays NULL: answer_options() says what the path has. */
static enum status admit_route(struct exchange *exchange)
{
    struct request *request = &exchange->request;
    struct route_match match;

    if (str_eq(request->path, STR("*"))) {
        exchange->allowed = HTTP_GET | HTTP_POST;
        return request->method == HTTP_OPTIONS
                   ? ST_OK
                   : error_set_code(&exchange->refusal, ST_INVALID, "bad-target", NULL, NULL,
                                    "\"*\" goes with OPTIONS alone");
    }
    router_match(exchange->listener->options.router, request->method, request->path, &match);
    exchange->allowed = match.allowed;
    if (match.allowed == 0)
        return error_set_code(&exchange->refusal, ST_NOT_FOUND, "not-found", NULL, NULL,
                              "there is nothing at this address");
    if (request->method == HTTP_OPTIONS)
        return ST_OK;
    if (match.route == NULL)
        return error_set_code(&exchange->refusal, ST_UNSUPPORTED, "method-not-allowed", NULL, NULL,
                              "this address does not have this method");
    request->route = match.route;
    request->arg_count = match.arg_count;
    for (size_t i = 0; i < match.arg_count; i++)
        if (percent_decode(match.args[i], false, &exchange->arena, &request->args[i],
                           &exchange->refusal) != ST_OK) {
            if (exchange->refusal.field[0] == '\0')
                (void)snprintf(exchange->refusal.field, sizeof exchange->refusal.field, "path");
            return exchange->refusal.status;
        }
    return ST_OK;
}

static enum status admit_body(struct exchange *exchange)
{
    struct request *request = &exchange->request;
    const struct route *route = request->route;
    const size_t bytes_max =
        route->body_bytes_max == 0 ? ROUTE_BODY_BYTES_DEFAULT : route->body_bytes_max;
    const struct str length = request_header(request, "Content-Length");
    const struct str type = request_header(request, "Content-Type");
    const bool has_body = request_header(request, "Transfer-Encoding").len > 0 ||
                          (length.len > 0 && !str_eq(length, STR("0")));
    uint64_t bytes = 0;

    buf_init(&exchange->body, bytes_max);
    if (route->media == 0)
        return has_body ? error_set_code(&exchange->refusal, ST_LIMIT, "body-too-large", NULL, NULL,
                                         "no body is expected here")
                        : ST_OK;
    request->media = media_parse(type);
    if ((has_body || type.len > 0) && (request->media & route->media) == 0)
        return error_set_code(
            &exchange->refusal, ST_UNSUPPORTED, "unsupported-media-type", NULL,
            "beside the boundary of multipart the one parameter is charset=utf-8",
            "the body must be %s%s%s", (route->media & MEDIA_JSON) != 0 ? "application/json" : "",
            (route->media & MEDIA_MULTIPART) != 0 ? " or multipart/form-data" : "",
            (route->media & MEDIA_NDJSON) != 0 ? "application/x-ndjson"
            : (route->media & MEDIA_FORM) != 0 ? "application/x-www-form-urlencoded"
                                               : "");
    if (!has_body)
        return error_set_code(&exchange->refusal, ST_INVALID, "body-missing", "body", NULL,
                              "a body is needed");
    if (length.len > 0 && (!str_parse_u64(length, &bytes) || bytes > bytes_max)) {
        exchange->too_large = true;
        return error_set_code(&exchange->refusal, ST_LIMIT, "body-too-large", NULL, NULL,
                              "the body may have %zu bytes at most", bytes_max);
    }
    return ST_OK;
}

static enum status admit_caller(struct exchange *exchange)
{
    struct request *request = &exchange->request;
    const struct route *route = request->route;
    const struct str value = request_header(request, "Authorization");
    struct error *err = &exchange->refusal;
    struct store_reader *reader;
    struct str token = {0};
    enum status status;

    if (route->html)
        return admit_session(exchange);
    if (route->scopes == 0 && (!route->optional_auth || value.len == 0))
        return ST_OK;
    status = auth_parse_header(value, &token, err);
    if (status != ST_OK) {
        request_note_failed_attempt(request, err);
        return status;
    }
    status = request_check_attempts(request, err);
    if (status != ST_OK)
        return status;
    reader = app_reader(request->app, err);
    if (reader == NULL)
        return err->status;
    status =
        store_authenticate(reader, &exchange->arena, token, clock_real_ms(), &request->caller, err);
    if (status == ST_UNAUTHENTICATED)
        request_note_failed_attempt(request, err);
    if (status == ST_OK)
        status = limit_token(exchange);
    if (status != ST_OK)
        return status;
    request->has_caller = true;
    store_note_token_use(request->app->store, request->caller.token_id, clock_real_ms());
    return route->scopes == 0 ? ST_OK : auth_require(&request->caller, route->scopes, err);
}

/* Whatever else is wrong with a request, it counts. Returns `status` where there was room for it. */
static enum status limit_address(struct exchange *exchange, enum status status)
{
    int64_t wait_ns = 0;

    if (!exchange->is_unlimited)
        wait_ns = rate_take_address(exchange->listener->rate, &exchange->request.address,
                                    clock_mono_ns());
    if (wait_ns <= 0)
        return status;
    exchange->refusal = (struct error){0};
    return limit(exchange, wait_ns);
}

static enum status limit_token(struct exchange *exchange)
{
    return exchange->is_unlimited
               ? ST_OK
               : limit(exchange,
                       rate_take_token(exchange->listener->rate, exchange->request.caller.token_id,
                                       clock_mono_ns()));
}

/* wait_ns: 0: none. */
static enum status limit(struct exchange *exchange, int64_t wait_ns)
{
    struct error *err = &exchange->refusal;

    if (wait_ns <= 0)
        return ST_OK;
    err->retry_after_s = (wait_ns + NS_PER_S - 1) / NS_PER_S;
    return error_set_code(err, ST_LIMIT, "rate-limited", NULL, "Ask less often.",
                          "there were too many requests; go on in %lld s", err->retry_after_s);
}

/* A page: a session that is over is as none, where none will do. */
static enum status admit_session(struct exchange *exchange)
{
    struct request *request = &exchange->request;
    const struct route *route = request->route;
    const struct str cookies = request_header(request, "Cookie");
    const struct form_source source = {request_header(request, "Sec-Fetch-Site"),
                                       request_header(request, "Origin"),
                                       request_header(request, "Host"), request->is_secure};
    struct error *err = &exchange->refusal;

    if ((route->media & (MEDIA_FORM | MEDIA_MULTIPART)) != 0 &&
        form_check_source(&source, err) != ST_OK)
        return err->status;
    if (cookie_find(cookies, session_cookie(request->is_secure), &request->session) &&
        request->session.len > 0 && find_session(exchange, err) != ST_OK)
        return err->status;
    if (route->scopes == 0)
        return ST_OK;
    return request->has_caller ? auth_require(&request->caller, route->scopes, err)
                               : error_set_code(err, ST_UNAUTHENTICATED, "session-missing", NULL,
                                                "Sign in with a token at /login.",
                                                "this needs somebody who is signed in");
}

/* ST_OK as well when there is no such session, or no longer: nobody is signed in then. */
static enum status find_session(struct exchange *exchange, struct error *err)
{
    struct request *request = &exchange->request;
    struct store_reader *reader = app_reader(request->app, err);
    char csrf[FORM_CSRF_BYTES];
    struct error fault = {0};
    enum status status;

    if (reader == NULL)
        return err->status;
    status = store_authenticate_session(reader, &exchange->arena, request->session, clock_real_ms(),
                                        &request->caller, &fault);
    if (status == ST_UNAUTHENTICATED) {
        request->session = (struct str){0};
        return ST_OK;
    }
    if (status != ST_OK)
        return error_set_code(err, status, fault.code, NULL, NULL, "%s", fault.detail);
    form_csrf(request->session, csrf);
    request->csrf = arena_copy(&exchange->arena, str_from_cstr(csrf));
    request->session.data = arena_copy(&exchange->arena, request->session);
    if (request->csrf == NULL || request->session.data == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for a session");
    request->has_caller = true;
    store_note_token_use(request->app->store, request->caller.token_id, clock_real_ms());
    return limit_token(exchange);
}

static enum status admit_query(struct exchange *exchange)
{
    struct request *request = &exchange->request;
    const size_t from = request->path.len + 1;

    return from >= exchange->target.len
               ? ST_OK
               : query_parse(str_slice(exchange->target, from, exchange->target.len),
                             &exchange->arena, &request->faults, &request->query,
                             &exchange->refusal);
}

static enum MHD_Result collect(struct exchange *exchange, const char *upload, size_t *bytes)
{
    buf_append(&exchange->body, (struct str){upload, *bytes});
    if (exchange->body.failed) {
        const size_t bytes_max = exchange->body.bytes_max;

        exchange->phase = EXCHANGE_REFUSE;
        exchange->swallowed = exchange->body.len + *bytes;
        exchange->too_large = true;
        buf_fini(&exchange->body);
        exchange->body = (struct buf){0};
        (void)error_set_code(&exchange->refusal, ST_LIMIT, "body-too-large", NULL, NULL,
                             "the body may have %zu bytes at most", bytes_max);
    }
    *bytes = 0;
    return MHD_YES;
}

static enum MHD_Result run(struct exchange *exchange)
{
    struct request *request = &exchange->request;
    const int suspends = exchange->suspends;

    if (exchange->phase == EXCHANGE_BODY) {
        exchange->phase = EXCHANGE_RUN;
        request->body = buf_str(&exchange->body);
        if (request->route == NULL) {
            answer_options(exchange);
            return reply_queue(exchange);
        }
        if (parse_body(exchange) != ST_OK)
            return refuse(exchange);
    } else {
        request->step++;
    }
    request->route->handle(request, &exchange->response);
    if (exchange->suspends != suspends)
        return MHD_YES; /* another thread may already have resumed it: nothing more here */
    if (exchange->response.status == 0) {
        log_event(LOG_ERROR, "no_answer", "route=%s request=%s", request->route->pattern,
                  request->id);
        response_send_error(&exchange->response,
                            &(struct error){.status = ST_INTERNAL, .detail = "no answer"});
    }
    return reply_queue(exchange);
}

/* Multipart is taken apart here: whether its envelope holds is no concern of a handler. */
static enum status parse_body(struct exchange *exchange)
{
    struct request *request = &exchange->request;
    struct str boundary;
    enum status status;

    if (request->media == MEDIA_FORM) {
        status = form_parse(request->body, &exchange->arena, &request->form, &exchange->refusal);
        return status == ST_OK && request->csrf != NULL && !request->route->signs_in
                   ? form_check_csrf(&request->form, request->session, &exchange->refusal)
                   : status;
    }
    if (request->media != MEDIA_MULTIPART) /* RFC 8259, 8.1: JSON on the wire has no mark */
        return (request->media & (MEDIA_JSON | MEDIA_NDJSON)) != 0 &&
                       str_starts_with(request->body, STR("\xEF\xBB\xBF"))
                   ? error_set_code(&exchange->refusal, ST_INVALID, "json_syntax", "body",
                                    "send it in UTF-8 without the mark",
                                    "the body begins with a byte order mark (U+FEFF)")
                   : ST_OK;
    status = multipart_find_boundary(request_header(request, "Content-Type"), &exchange->arena,
                                     &boundary, &exchange->refusal);
    if (status == ST_OK)
        status = multipart_parse(request->body, boundary, &exchange->arena, &request->parts,
                                 &exchange->refusal);
    if (status == ST_OK && request->route->html && request->csrf != NULL) { /* a page's form */
        const struct multipart_part *csrf = multipart_find(&request->parts, "csrf");

        status = form_match_csrf(csrf == NULL ? STR("") : csrf->data, request->session,
                                 &exchange->refusal);
    }
    return status;
}

static enum MHD_Result refuse(struct exchange *exchange)
{
    exchange->phase = EXCHANGE_RUN;
    set_deadline(exchange, 0);
    if (strcmp(exchange->refusal.code, "method-not-allowed") == 0)
        add_allow(exchange);
    if (!leads_to_login(exchange))
        response_send_error(&exchange->response, &exchange->refusal);
    return reply_queue(exchange);
}

/* Who opens a page that needs a session comes back to it once signed in. */
static bool leads_to_login(struct exchange *exchange)
{
    const struct request *request = &exchange->request;
    struct buf target;
    bool leads;

    if (request->route == NULL || !request->route->html || request->method != HTTP_GET ||
        exchange->refusal.status != ST_UNAUTHENTICATED)
        return false;
    buf_init(&target, LOGIN_BYTES_MAX);
    buf_append_cstr(&target, "/login?back=");
    percent_append(&target, exchange->target);
    leads = !target.failed;
    if (leads)
        response_send_redirect(&exchange->response, 303, target.data);
    buf_fini(&target);
    return leads;
}

static void answer_options(struct exchange *exchange)
{
    add_allow(exchange);
    response_send_empty(&exchange->response, 204);
}

static void add_allow(struct exchange *exchange)
{
    const unsigned allowed = exchange->allowed;

    response_add_header(
        &exchange->response, "Allow", "%s%s%s%s%sOPTIONS",
        (allowed & HTTP_GET) != 0 ? "GET, HEAD, " : "", (allowed & HTTP_POST) != 0 ? "POST, " : "",
        (allowed & HTTP_PUT) != 0 ? "PUT, " : "", (allowed & HTTP_PATCH) != 0 ? "PATCH, " : "",
        (allowed & HTTP_DELETE) != 0 ? "DELETE, " : "");
}

static void set_deadline(const struct exchange *exchange, int64_t ms)
{
    if (exchange->connection != NULL)
        atomic_store(&exchange->connection->deadline_ns,
                     ms == 0 ? 0 : clock_mono_ns() + ms * (NS_PER_S / 1000));
}

static bool accepts_html_first(struct str accept)
{
    return accept.len >= 9 && strncasecmp(accept.data, "text/html", 9) == 0;
}
