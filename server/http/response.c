/* server/http/response.c: builds replies; see response.h. */
#include "server/http/response.h"

#include <assert.h>
#include <stdarg.h>

#include "common/log.h"
#include "server/app.h"
#include "server/http/exchange_internal.h"

#define PAGE_POLICY                                                                   \
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " \
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

static void begin(struct response *response, int status);
static void list_faults(struct request *request, const struct error *err, const char *code,
                        struct problem *problem, struct problem_item *items);
static struct problem_item item_of(const struct error *fault, const char *code);
static void append_item(struct buf *out, const struct problem_item *item);
static void append_member(struct buf *out, const char *name, const char *text, bool *comma);
static void append_number(struct buf *out, const char *name, int64_t value, bool *comma);
static void log_fault(const struct response *response, const struct error *err, int status);

struct shared_bytes *shared_bytes_create(struct str bytes)
{
    struct shared_bytes *shared = calloc(1, sizeof *shared);

    if (shared == NULL || (shared->data = malloc(bytes.len + 1)) == NULL) {
        free(shared);
        return NULL;
    }
    if (bytes.len > 0)
        memcpy(shared->data, bytes.data, bytes.len);
    shared->data[bytes.len] = '\0';
    shared->len = bytes.len;
    shared->references = 1;
    return shared;
}

struct shared_bytes *shared_bytes_hold(struct shared_bytes *bytes)
{
    __atomic_add_fetch(&bytes->references, 1, __ATOMIC_RELAXED);
    return bytes;
}

void shared_bytes_release(struct shared_bytes *bytes)
{
    if (bytes == NULL || __atomic_sub_fetch(&bytes->references, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    free(bytes->data);
    free(bytes);
}

void response_add_header(struct response *response, const char *name, const char *format, ...)
{
    char text[1024];
    char *value;
    va_list args;
    int length;

    va_start(args, format);
    length = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (length < 0 || (size_t)length >= sizeof text ||
        response->header_count == RESPONSE_HEADERS_MAX) {
        log_event(LOG_ERROR, "header_dropped", "name=%s request=%s", name, response->request->id);
        return;
    }
    for (int i = 0; i < length; i++)
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7F)
            text[i] = ' '; /* nobody may begin a header of their own */
    value = arena_copy(response->request->arena, (struct str){text, (size_t)length});
    if (value == NULL)
        return;
    response->headers[response->header_count].name = name;
    response->headers[response->header_count++].value = value;
}

struct buf *response_begin(struct response *response, int status, const char *content_type)
{
    begin(response, status);
    response->content_type = content_type;
    return &response->body;
}

struct buf *response_begin_html(struct response *response, int status)
{
    response_add_header(response, "Content-Security-Policy", PAGE_POLICY);
    response_add_header(response, "Referrer-Policy", "same-origin");
    return response_begin(response, status, "text/html; charset=utf-8");
}

void response_send_empty(struct response *response, int status)
{
    begin(response, status);
}

void response_send_embedded(struct response *response, const struct embedded_file *file,
                            const char *content_type)
{
    if (response_send_not_modified(response, file->sha256))
        return;
    begin(response, 200);
    response->content_type = content_type;
    response->embedded = file;
}

void response_send_shared(struct response *response, struct shared_bytes *bytes,
                          const char *content_type)
{
    begin(response, 200);
    response->content_type = content_type;
    response->shared = bytes;
}

void response_send_redirect(struct response *response, int status, const char *location)
{
    begin(response, status);
    response_add_header(response, "Location", "%s", location);
}

void response_begin_stream(struct response *response, const struct stream_source *source)
{
    begin(response, 200);
    response->content_type = "text/event-stream";
    response->has_stream = true;
    response->stream = *source;
}

bool response_send_not_modified(struct response *response, const char *etag_value)
{
    char etag[160];

    (void)snprintf(etag, sizeof etag, "\"%s\"", etag_value);
    response_add_header(response, "ETag", "%s", etag);
    response_add_header(response, "Cache-Control", "no-cache");
    if (!request_matches_etag(response->request, etag))
        return false;
    begin(response, 304);
    return true;
}

void response_send_problem(struct response *response, const struct problem *problem)
{
    const struct request *request = response->request;
    const bool has_code = problem->code != NULL && problem->code[0] != '\0';
    char type[64]; /* where its meaning stands: /docs/api has an anchor for each code */
    struct problem filled = *problem;
    bool comma = false;
    struct buf *out;

    filled.request_id = request->id;
    if (problem->status == 401)
        response_add_header(response, "WWW-Authenticate", "Bearer realm=\"daybreak\"");
    if (problem->retry_after_s > 0 || problem->status == 503)
        response_add_header(response, "Retry-After", "%lld",
                            problem->retry_after_s > 0 ? problem->retry_after_s : 1);
    if (exchange_of(request)->listener->options.error_page != NULL &&
        ((request->route != NULL && request->route->html) ||
         (request->wants_html && !str_starts_with(request->path, STR("/v1/"))))) {
        exchange_of(request)->listener->options.error_page(response->request, response, &filled);
        if (response->status != 0)
            return;
    }
    out = response_begin(response, problem->status, "application/problem+json");
    buf_append_char(out, '{');
    (void)snprintf(type, sizeof type, "/docs/api#%s", problem->code);
    append_member(out, "type", has_code ? type : "about:blank", &comma);
    append_member(out, "title", response_reason(problem->status), &comma);
    append_number(out, "status", problem->status, &comma);
    append_member(out, "detail", problem->detail, &comma);
    append_member(out, "instance", request->id, &comma);
    append_member(out, "code", problem->code, &comma);
    if (problem->has_expected_seq)
        append_number(out, "expected_seq", problem->expected_seq, &comma);
    if (problem->has_submission)
        append_number(out, "submission", problem->submission, &comma);
    append_member(out, "state", problem->state, &comma);
    if (problem->item_count > 0) {
        buf_append_cstr(out, ",\"errors\":[");
        for (size_t i = 0; i < problem->item_count; i++) {
            if (i > 0)
                buf_append_char(out, ',');
            append_item(out, &problem->items[i]);
        }
        buf_append_char(out, ']');
    }
    buf_append_char(out, '}');
}

void response_send_error(struct response *response, const struct error *err)
{
    static const char *const codes[STATUS_COUNT] = {
        [ST_INVALID] = "invalid",   [ST_NOT_FOUND] = "not-found",
        [ST_CONFLICT] = "conflict", [ST_LIMIT] = "too-large",
        [ST_DENIED] = "denied",     [ST_UNAUTHENTICATED] = "unauthenticated",
        [ST_USAGE] = "invalid",     [ST_UNSUPPORTED] = "unsupported",
    };
    const int status = response_status_code(err);
    const char *code =
        err->code[0] != '\0' || codes[err->status] == NULL ? err->code : codes[err->status];
    struct problem_item items[FAULTS_MAX + 1];
    struct problem problem = {
        .status = status, .code = code, .detail = err->detail, .retry_after_s = err->retry_after_s};

    if (status >= 500) {
        log_fault(response, err, status);
        if (status == 500) {
            problem.code = NULL;
            problem.detail = "something broke on our side; the request id names it in our log";
        }
    } else if (err->field[0] != '\0' || err->line > 0 || status == 422) {
        list_faults(response->request, err, code, &problem, items);
    }
    response_send_problem(response, &problem);
}

int response_status_code(const struct error *err)
{
    static const struct {
        const char *code;
        int status;
    } by_code[] = {
        {"bad-header", 400},          {"bad-target", 400},       {"bad_multipart", 400},
        {"body-missing", 400},        {"json_syntax", 400},      {"json_duplicate_key", 400},
        {"json_depth", 400},          {"json_number", 400},      {"number_too_long", 400},
        {"json_trailing", 400},       {"json_values", 400},      {"not_utf8", 400},
        {"method-not-allowed", 405},  {"protocol-too-old", 426}, {"rate-limited", 429},
        {"quota-submissions", 429},   {"bad-etag", 400},         {"precondition-required", 428},
        {"precondition-failed", 412},
    };
    static const int by_status[STATUS_COUNT] = {
        [ST_OK] = 200,    [ST_INVALID] = 422,         [ST_NOT_FOUND] = 404, [ST_CONFLICT] = 409,
        [ST_LIMIT] = 413, [ST_UNAUTHENTICATED] = 401, [ST_DENIED] = 403,    [ST_UNSUPPORTED] = 415,
        [ST_USAGE] = 400, [ST_UNAVAILABLE] = 503,     [ST_TIMEOUT] = 503,   [ST_CANCELLED] = 503,
        [ST_IO] = 500,    [ST_NO_MEMORY] = 503,       [ST_INTERNAL] = 500,
    };

    assert(err->status > ST_OK && err->status < STATUS_COUNT);
    for (size_t i = 0; i < ARRAY_LEN(by_code); i++)
        if (strcmp(by_code[i].code, err->code) == 0)
            return by_code[i].status;
    return by_status[err->status];
}

const char *response_reason(int status)
{
    static const struct {
        int status;
        const char *reason;
    } rows[] = {
        {200, "OK"},
        {201, "Created"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {409, "Conflict"},
        {412, "Precondition Failed"},
        {413, "Content Too Large"},
        {415, "Unsupported Media Type"},
        {422, "Unprocessable Content"},
        {426, "Upgrade Required"},
        {428, "Precondition Required"},
        {429, "Too Many Requests"},
        {500, "Internal Server Error"},
        {503, "Service Unavailable"},
        {507, "Insufficient Storage"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (rows[i].status == status)
            return rows[i].reason;
    return "Error";
}

/* A handler that failed half-way begins again: what was built is dropped. */
static void begin(struct response *response, int status)
{
    assert(response->shared == NULL && !response->has_stream);
    buf_fini(&response->body);
    buf_init(&response->body, RESPONSE_BODY_BYTES_MAX);
    response->embedded = NULL;
    response->content_type = NULL;
    response->status = status;
}

/* The error first, then the other faults that were noted. items has FAULTS_MAX + 1. */
static void list_faults(struct request *request, const struct error *err, const char *code,
                        struct problem *problem, struct problem_item *items)
{
    const struct fault_list *faults = &request->faults;
    size_t more = faults->left_out;

    items[problem->item_count++] = item_of(err, code);
    for (size_t i = 0; i < faults->count; i++) {
        const struct error *fault = &faults->items[i];

        if (fault->line != err->line || strcmp(fault->field, err->field) != 0 ||
            strcmp(fault->code, err->code) != 0 || strcmp(fault->detail, err->detail) != 0)
            items[problem->item_count++] = item_of(fault, fault->code);
    }
    problem->items = items;
    more += problem->item_count - 1;
    if (more > 0) {
        const char *detail = arena_printf(request->arena, "%s; and %zu more", err->detail, more);

        if (detail != NULL)
            problem->detail = detail;
    }
}

static struct problem_item item_of(const struct error *fault, const char *code)
{
    const bool is_pointer = fault->field[0] == '/';

    return (struct problem_item){
        .line = fault->line,
        .pointer = is_pointer ? fault->field : NULL,
        .field = is_pointer ? NULL : fault->field,
        .code = code,
        .severity = "error",
        .detail = fault->detail,
        .hint = fault->hint,
    };
}

static void append_item(struct buf *out, const struct problem_item *item)
{
    bool comma = false;

    buf_append_char(out, '{');
    append_member(out, "file", item->file, &comma);
    if (item->line > 0)
        append_number(out, "line", item->line, &comma);
    append_member(out, "pointer", item->pointer, &comma);
    append_member(out, "field", item->field, &comma);
    append_member(out, "code", item->code, &comma);
    append_member(out, "severity", item->severity, &comma);
    append_member(out, "detail", item->detail, &comma);
    append_member(out, "hint", item->hint, &comma);
    buf_append_char(out, '}');
}

static void append_member(struct buf *out, const char *name, const char *text, bool *comma)
{
    if (text == NULL || text[0] == '\0')
        return;
    buf_appendf(out, "%s\"%s\":", *comma ? "," : "", name);
    buf_append_json(out, str_from_cstr(text));
    *comma = true;
}

static void append_number(struct buf *out, const char *name, int64_t value, bool *comma)
{
    buf_appendf(out, "%s\"%s\":%lld", *comma ? "," : "", name, (long long)value);
    *comma = true;
}

static void log_fault(const struct response *response, const struct error *err, int status)
{
    char detail[512];

    log_event(status == 500 ? LOG_ERROR : LOG_WARN, "request_failed",
              "request=%s route=%s status=%s code=%s detail=%s", response->request->id,
              response->request->route == NULL ? "-" : response->request->route->pattern,
              status_name(err->status), err->code, log_quote(err->detail, detail, sizeof detail));
}
