/* server/api/api.c: what the resources share; see api.h. */
#include "server/api/api.h"

#include "common/task.h"
#include "server/app.h"

enum { PAGE_LIMIT_DEFAULT = 100, PAGE_LIMIT_MAX = 1000 };

#define LINK_BYTES_MAX 1000        /* what fits a header of ours */
#define LIST_BYTES_MAX (64u << 10) /* a target has fewer */

static bool name_list(const struct request *request, struct api_page *page);
static const struct query_parameter *following(const struct query *query,
                                               const struct query_parameter *last);
static enum status read_key(struct request *request, struct command *command, struct error *err);
static void resume(struct command *command);

void api_push(struct request *request, struct response *response, const struct api_push *push)
{
    struct api_step *step = ARENA_NEW(request->arena, struct api_step);
    struct error err = {0};
    enum status status = ST_OK;

    if (step == NULL)
        status = error_set(&err, ST_NO_MEMORY, NULL, "no memory for a command");
    else if (request->app->read_only)
        status = error_set_code(&err, ST_UNAVAILABLE, "read-only", NULL, NULL,
                                "this server takes no writes");
    else
        status = query_finish(&request->query, &err);
    if (status == ST_OK && push->use_key)
        status = read_key(request, &step->command, &err);
    if (status != ST_OK) {
        response_send_error(response, &err);
        return;
    }
    step->request = request;
    step->more = push->more;
    step->command.verb = push->verb;
    step->command.args = push->args;
    step->command.render = push->render;
    step->command.arena = request->arena;
    step->command.complete = resume;
    step->command.opaque = step;
    step->was_pushed = true;
    request->state = step;
    /* Suspended before anybody else can see the command: the writer may be done with it at once. */
    request_suspend(request);
    if (store_push(request->app->store, &step->command, &err) != ST_OK) {
        step->was_pushed = false;
        step->command.status = err.status;
        step->command.err = err;
        request_resume(request);
    }
}

struct api_step *api_step(const struct request *request)
{
    return request->state;
}

void api_send_answer(struct request *request, struct response *response)
{
    const struct command *command = &api_step(request)->command;
    const struct answer *answer = &command->answer;

    if (command->status != ST_OK) {
        response_send_error(response, &command->err);
        return;
    }
    if (answer->location.len > 0)
        response_add_header(response, "Location", "%.*s", STR_ARG(answer->location));
    if (command->replayed)
        response_add_header(response, "Idempotency-Replayed", "true");
    buf_append(response_begin(response, answer->status, "application/json"), answer->body);
}

struct store_reader *api_begin_read(struct request *request, struct response *response)
{
    struct store_reader *reader = NULL;
    struct error err = {0};

    if (query_finish(&request->query, &err) == ST_OK)
        reader = app_reader(request->app, &err);
    if (reader == NULL || store_reader_begin(reader, &err) != ST_OK) {
        response_send_error(response, &err);
        return NULL;
    }
    return reader;
}

void api_end_read(struct store_reader *reader)
{
    store_reader_end(reader);
}

const struct task *api_find_task(struct request *request, struct response *response)
{
    const struct task *task = task_find(request->app->tasks, request->args[0]);
    struct error err = {0};

    if (task == NULL) {
        (void)error_set_code(&err, ST_NOT_FOUND, "not-found", NULL, "GET /v1/tasks lists them",
                             "there is no task \"%.*s\"", (int)str_utf8_cut(request->args[0], 64),
                             request->args[0].data);
        response_send_error(response, &err);
    }
    return task;
}

void api_page_read(struct request *request, struct api_page *page, struct error *err)
{
    struct error fault = {0};
    struct str cursor;

    page->has_key = false;
    if (!page->list_is_whole && !name_list(request, page)) {
        (void)error_set(err, ST_NO_MEMORY, NULL, "no memory for a cursor");
        return;
    }
    api_read_limit(request, &page->limit, err);
    if (!query_read_text(&request->query, "cursor", &cursor))
        return;
    page->has_key =
        cursor_parse(cursor, page->list, page->kinds, request->arena, page->key, &fault) == ST_OK;
    if (!page->has_key)
        (void)fault_list_add(request->query.faults, &fault, err);
}

/* A cursor goes with the path and the filters that it was given for, in whatever order they stand: elsewhere it would
 * be a place that means nothing. No text of a query has a line feed. */
static bool name_list(const struct request *request, struct api_page *page)
{
    const struct query_parameter *last = NULL, *next;
    struct buf name;

    buf_init(&name, LIST_BYTES_MAX);
    buf_appendf(&name, "%s %.*s", page->list, STR_ARG(request->path));
    while ((next = following(&request->query, last)) != NULL) {
        if (!str_eq_cstr(next->name, "cursor") && !str_eq_cstr(next->name, "limit") &&
            !str_eq_cstr(next->name, "format"))
            buf_appendf(&name, "\n%.*s=%.*s", STR_ARG(next->name), STR_ARG(next->value));
        last = next;
    }
    page->list = name.failed ? NULL : arena_copy(request->arena, buf_str(&name));
    buf_fini(&name);
    return page->list != NULL;
}

/* The parameter whose name is the next after that of `last`; no two have one name. */
static const struct query_parameter *following(const struct query *query,
                                               const struct query_parameter *last)
{
    const struct query_parameter *found = NULL;

    for (size_t i = 0; i < query->count; i++)
        if ((last == NULL || str_cmp(query->items[i].name, last->name) > 0) &&
            (found == NULL || str_cmp(query->items[i].name, found->name) < 0))
            found = &query->items[i];
    return found;
}

const char *api_page_next(struct response *response, const struct api_page *page,
                          const struct cursor_value *last)
{
    const char *cursor = cursor_make(response->request->arena, page->list, page->kinds, last);

    if (cursor != NULL)
        api_link_next(response, "cursor", cursor);
    return cursor;
}

/* One too long for a header goes without: what the body says suffices. */
void api_link_next(struct response *response, const char *name, const char *value)
{
    const struct request *request = response->request;
    struct buf link;

    buf_init(&link, LINK_BYTES_MAX);
    buf_append_char(&link, '<');
    buf_append(&link, request->path);
    buf_appendf(&link, "?%s=%s", name, value);
    for (size_t i = 0; i < request->query.count; i++) {
        const struct query_parameter *parameter = &request->query.items[i];

        if (str_eq_cstr(parameter->name, name))
            continue;
        buf_append_char(&link, '&');
        percent_append(&link, parameter->name);
        buf_append_char(&link, '=');
        percent_append(&link, parameter->value);
    }
    buf_append_cstr(&link, ">; rel=\"next\"");
    if (!link.failed)
        response_add_header(response, "Link", "%.*s", STR_ARG(buf_str(&link)));
    buf_fini(&link);
}

void api_read_limit(struct request *request, int64_t *limit, struct error *err)
{
    *limit = PAGE_LIMIT_DEFAULT;
    (void)query_read_i64(&request->query, "limit", 1, PAGE_LIMIT_MAX, limit, err);
}

void api_read_format(struct request *request, bool *csv, struct error *err)
{
    static const char *const formats[] = {"json", "csv", NULL};
    const char *format = NULL;

    (void)query_read_word(&request->query, "format", formats, &format, err);
    *csv = format == NULL ? request_prefers(request, "text/csv") : format == formats[1];
}

static enum status read_key(struct request *request, struct command *command, struct error *err)
{
    const struct str key = request_header(request, "Idempotency-Key");
    struct sha256 *hash;

    if (key.len == 0)
        return ST_OK;
    for (size_t i = 0; i < key.len; i++)
        if (key.len > IDEMPOTENCY_KEY_BYTES_MAX || key.data[i] <= ' ' || key.data[i] > '~')
            return error_set_code(err, ST_INVALID, "bad-idempotency-key", "Idempotency-Key", NULL,
                                  "an Idempotency-Key has 1 to %d visible ASCII characters",
                                  IDEMPOTENCY_KEY_BYTES_MAX);
    command->key.data = arena_copy(request->arena, key);
    if (command->key.data == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for a key");
    command->key.len = key.len;
    command->key_token_id = request->caller.token_id;
    hash = sha256_create();
    sha256_update(hash, request->route->pattern, strlen(request->route->pattern) + 1);
    sha256_update(hash, request->path.data, request->path.len);
    sha256_update(hash, "", 1);
    sha256_update(hash, request->body.data, request->body.len);
    sha256_finish(hash, command->body_sha256);
    return ST_OK;
}

/* On the writer's thread: from here on the request is its worker's again. */
static void resume(struct command *command)
{
    struct api_step *step = command->opaque;

    request_resume(step->request);
}
