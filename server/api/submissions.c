/* server/api/submissions.c: reading submissions: the list, one of them, and the files as they were sent. */
#include <inttypes.h>

#include "common/clock.h"
#include "common/entry.h"
#include "common/etag.h"
#include "common/json.h"
#include "server/api/api.h"
#include "server/api/boards.h"
#include "server/api/review_read.h"
#include "server/api/submission_write.h"
#include "server/app.h"
#include "server/http/query.h"
#include "server/store/read.h"

#define REDACTED         "\"(redacted)\""
#define LINK_BYTES_MAX   1000 /* what fits a header of ours */
#define AUTHOR_BYTES_MAX 256

/* Those of the table submission_state, in a submission's order. */
static const char *const states[] = {
    "received",     "checked",  "in_review", "changes_requested", "queued",     "running",
    "scored",       "accepted", "rejected",  "not_eligible",      "superseded", "withdrawn",
    "disqualified", NULL};

static enum status read_filter(struct request *request, struct submission_filter *filter,
                               struct api_page *page, bool *csv, struct error *err);
static const struct submission_file *find_further(const struct submission_files *files,
                                                  struct str name);
static void write_list(struct response *response, const struct api_page *page,
                       const struct submission_record *rows, size_t count);
static void write_csv(struct response *response, const struct submission_record *rows,
                      size_t count);
static enum status add_etag(struct response *response, struct store_reader *reader, int64_t id,
                            struct error *err);
static enum status read_one(struct request *request, struct store_reader *reader,
                            struct submission_view *view, struct error *err);
static enum status add_review(struct request *request, struct store_reader *reader,
                              const struct submission_record *submission,
                              struct submission_view *view, struct error *err);
static enum status add_entry(struct request *request, struct store_reader *reader, int64_t entry_id,
                             struct submission_view *view, struct error *err);
static enum status list_flags(struct request *request, struct store_reader *reader,
                              int64_t entry_id, struct submission_view *view, struct error *err);
static bool may_see_address(const struct request *request,
                            const struct submission_record *submission);
static void send_file(struct request *request, struct response *response,
                      const struct submission_record *submission, struct str bytes, bool is_entry);
static void append_without(struct buf *out, struct str text, struct str address);

void handle_list_submissions(struct request *request, struct response *response)
{
    struct submission_filter filter = {0};
    struct submission_record *rows;
    struct store_reader *reader;
    struct error err = {0};
    size_t count;
    bool csv = false;
    struct api_page page = {.list = "submissions", .kinds = "i"};
    enum status status = read_filter(request, &filter, &page, &csv, &err);

    if (status != ST_OK) {
        response_send_error(response, &err);
        return;
    }
    reader = api_begin_read(request, response);
    if (reader == NULL)
        return;
    status = store_list_submissions(reader, request->arena, &filter, &rows, &count, &err);
    api_end_read(reader);
    if (status != ST_OK)
        response_send_error(response, &err);
    else if (csv)
        write_csv(response, rows, count > (size_t)page.limit ? (size_t)page.limit : count);
    else
        write_list(response, &page, rows, count);
}

void handle_get_submission(struct request *request, struct response *response)
{
    struct store_reader *reader = api_begin_read(request, response);
    struct submission_view view = {0};
    struct error err = {0};
    struct json_out out;
    enum status status;

    if (reader == NULL)
        return;
    status = read_one(request, reader, &view, &err);
    if (status == ST_OK)
        status = add_etag(response, reader, view.id, &err);
    api_end_read(reader);
    if (status != ST_OK) {
        response_send_error(response, &err);
        return;
    }
    out = (struct json_out){response_begin(response, 200, "application/json"), false};
    submission_write(&out, &view);
}

/* For If-Match. It is no answer to If-None-Match: the place, which others change, is shown with it. */
static enum status add_etag(struct response *response, struct store_reader *reader, int64_t id,
                            struct error *err)
{
    char etag[ETAG_BYTES], topic[40];
    int64_t version;
    enum status status;

    (void)snprintf(topic, sizeof topic, "submission:%" PRId64, id);
    status = store_get_version(reader, str_from_cstr(topic), &version, err);
    if (status != ST_OK)
        return status;
    etag_format(etag, topic, version);
    response_add_header(response, "ETag", "%s", etag);
    response_add_header(response, "Cache-Control", "no-cache");
    return ST_OK;
}

void handle_get_submission_file(struct request *request, struct response *response)
{
    struct store_reader *reader = api_begin_read(request, response);
    struct submission_record submission;
    const struct submission_file *further;
    struct submission_files files;
    struct error err = {0};
    const struct str name = request->args[1];
    enum status status;
    int64_t id;

    if (reader == NULL)
        return;
    status = request_arg_id(request, 0, &id, &err);
    if (status == ST_OK)
        status = store_get_submission(reader, request->arena, id, &submission, &err);
    if (status == ST_OK)
        status = store_get_submission_files(reader, request->arena, id, &files, &err);
    api_end_read(reader);
    if (status != ST_OK) {
        response_send_error(response, &err);
        return;
    }
    if (str_eq_cstr(name, arena_printf(request->arena, "%s.json", submission.name))) {
        send_file(request, response, &submission, files.entry, true);
    } else if (files.has_progress &&
               str_eq_cstr(name, arena_printf(request->arena, "%s.tsv", submission.name))) {
        send_file(request, response, &submission, files.progress, false);
    } else if ((further = find_further(&files, name)) != NULL) {
        send_file(request, response, &submission, further->bytes, false);
    } else {
        (void)error_set_code(&err, ST_NOT_FOUND, "not-found", NULL,
                             "the submission itself lists its files", "it has no such file");
        response_send_error(response, &err);
    }
}

static const struct submission_file *find_further(const struct submission_files *files,
                                                  struct str name)
{
    for (size_t i = 0; i < files->further_count; i++)
        if (str_eq_cstr(name, files->further[i].name))
            return &files->further[i];
    return NULL;
}

static enum status read_filter(struct request *request, struct submission_filter *filter,
                               struct api_page *page, bool *csv, struct error *err)
{
    struct query *query = &request->query;
    const char *state = "";

    api_page_read(request, page, err);
    filter->before_id = page->has_key ? page->key[0].number : 0;
    filter->limit = (int)page->limit + 1; /* one more tells whether there is a next page */
    if (query_read_text(query, "task", &filter->task) &&
        task_find(request->app->tasks, filter->task) == NULL)
        (void)query_fault(query, "task", "GET /v1/tasks lists them", err,
                          "there is no task \"%.*s\"", (int)str_utf8_cut(filter->task, 64),
                          filter->task.data);
    (void)query_read_word(query, "state", states, &state, err);
    filter->state = str_from_cstr(state);
    (void)query_read_phrase(query, "author", AUTHOR_BYTES_MAX, &filter->author, err);
    api_read_format(request, csv, err);
    return query_finish(query, err);
}

static void write_list(struct response *response, const struct api_page *page,
                       const struct submission_record *rows, size_t count)
{
    const bool more = count > (size_t)page->limit;
    const size_t shown = more ? (size_t)page->limit : count;
    const char *next = NULL;
    struct json_out out;

    if (more)
        next = api_page_next(response, page, &(struct cursor_value){.number = rows[shown - 1].id});
    out = (struct json_out){response_begin(response, 200, "application/json"), false};
    json_out_begin(&out, NULL, '{');
    json_out_begin(&out, "items", '[');
    for (size_t i = 0; i < shown; i++) {
        json_out_begin(&out, NULL, '{');
        json_out_i64(&out, "submission", rows[i].id);
        json_out_text(&out, "task", rows[i].task);
        json_out_text(&out, "name", rows[i].name);
        json_out_text(&out, "author", rows[i].author);
        json_out_text(&out, "state", rows[i].state);
        json_out_text(&out, "reason", rows[i].reason);
        json_out_time(&out, "since", rows[i].since_ms);
        json_out_text(&out, "owner", rows[i].owner);
        if (rows[i].deadline_ms.has)
            json_out_time(&out, "deadline", rows[i].deadline_ms.value);
        if (rows[i].overdue_ms.has)
            json_out_time(&out, "overdue_since", rows[i].overdue_ms.value);
        json_out_text(&out, "kind", rows[i].kind);
        json_out_i64(&out, "revision", rows[i].revision);
        json_out_optional(&out, "entry", rows[i].entry_id);
        json_out_end(&out, '}');
    }
    json_out_end(&out, ']');
    json_out_text(&out, "next_cursor", next);
    json_out_end(&out, '}');
}

static void write_csv(struct response *response, const struct submission_record *rows, size_t count)
{
    struct buf *out = response_begin(response, 200, "text/csv; charset=utf-8");

    buf_append_cstr(out, "submission,task,name,author,state,since\r\n");
    for (size_t i = 0; i < count; i++) {
        char since[CLOCK_TEXT_BYTES];

        clock_format_utc(rows[i].since_ms, since);
        buf_appendf(out, "%" PRId64 ",", rows[i].id);
        csv_append_cell(out, str_from_cstr(rows[i].task));
        buf_append_char(out, ',');
        csv_append_cell(out, str_from_cstr(rows[i].name));
        buf_append_char(out, ',');
        csv_append_cell(out, str_from_cstr(rows[i].author));
        buf_appendf(out, ",%s,%s\r\n", rows[i].state, since);
    }
}

static enum status read_one(struct request *request, struct store_reader *reader,
                            struct submission_view *view, struct error *err)
{
    struct submission_record submission;
    int64_t id;
    enum status status = request_arg_id(request, 0, &id, err);

    if (status == ST_OK)
        status = store_get_submission(reader, request->arena, id, &submission, err);
    if (status != ST_OK)
        return status;
    *view = (struct submission_view){
        .id = submission.id,
        .task = submission.task,
        .name = submission.name,
        .author = submission.author,
        .state = submission.state,
        .reason = submission.reason,
        .next = submission.next,
        .since_ms = submission.since_ms,
        .kind = submission.kind,
        .owner = submission.owner,
        .files_name = submission.name,
        .revision = submission.revision,
        .deadline_ms = submission.deadline_ms,
        .overdue_ms = submission.overdue_ms,
        .entry_id = submission.entry_id,
        .entry_bytes = submission.entry_bytes,
        .entry_sha256 = submission.entry_sha256,
        .has_progress = submission.has_progress,
        .progress_bytes = submission.progress_bytes,
        .progress_sha256 = submission.progress_sha256,
        .further = submission.further,
        .further_count = submission.further_count,
    };
    status = add_review(request, reader, &submission, view, err);
    if (status != ST_OK)
        return status;
    return submission.entry_id.has
               ? add_entry(request, reader, submission.entry_id.value, view, err)
               : ST_OK;
}

static enum status add_review(struct request *request, struct store_reader *reader,
                              const struct submission_record *submission,
                              struct submission_view *view, struct error *err)
{
    struct revision_record *revisions;
    struct transition_record *steps;
    enum status status = store_list_revisions(reader, request->arena, submission->lineage_id,
                                              &revisions, &view->revision_count, err);

    if (status == ST_OK)
        status = store_list_transitions(reader, request->arena, submission->state, &steps,
                                        &view->step_count, err);
    if (status != ST_OK)
        return status;
    view->revisions = revisions;
    view->steps = steps;
    return ST_OK;
}

static enum status add_entry(struct request *request, struct store_reader *reader, int64_t entry_id,
                             struct submission_view *view, struct error *err)
{
    const struct task *task = task_find(request->app->tasks, str_from_cstr(view->task));
    const struct kept *kept;
    struct kept_place place;
    struct entry_record entry;
    int64_t version;
    enum status status = store_get_entry(reader, request->arena, entry_id, &entry, err);

    if (status != ST_OK)
        return status;
    status = list_flags(request, reader, entry_id, view, err);
    if (status != ST_OK)
        return status;
    view->task_version = entry.task_version;
    view->run_count = entry.run_count;
    view->name = entry.name; /* as it was renamed; files keep theirs */
    view->supersedes_id = entry.supersedes_id;
    view->superseded_by_id = entry.superseded_by_id;
    view->tta_ns = entry.tta_ns;
    view->latency_ns = entry.latency_ns;
    view->latency_text = entry.latency_ms_text;
    view->cost_pico = entry.cost_pico;
    view->cost_text = entry.inference_cost_text;
    if (task == NULL)
        return ST_OK;
    status = boards_begin(request->app->boards, task, &kept, &version, err);
    if (status != ST_OK)
        return status;
    if (kept_find(kept, task->phase == TASK_TRAIN ? BOARD_TIME : BOARD_LATENCY, entry_id, &place))
        view->place = (struct opt_i64){true, (int64_t)place.place};
    boards_end(request->app->boards, task);
    return ST_OK;
}

static enum status list_flags(struct request *request, struct store_reader *reader,
                              int64_t entry_id, struct submission_view *view, struct error *err)
{
    struct flag_record *flags;
    const enum status status =
        store_list_flags(reader, request->arena, entry_id, &flags, &view->flag_count, err);

    view->flags = flags;
    return status;
}

static bool may_see_address(const struct request *request,
                            const struct submission_record *submission)
{
    if (!request->has_caller)
        return false;
    return (request->caller.scopes & SCOPE_REVIEW) != 0 ||
           (submission->token_id.has && submission->token_id.value == request->caller.token_id);
}

/* As data alone: never something that a browser would draw. */
static void send_file(struct request *request, struct response *response,
                      const struct submission_record *submission, struct str bytes, bool is_entry)
{
    const char *type = is_entry ? "application/json" : "text/tab-separated-values; charset=utf-8";
    struct error err = {0};
    struct buf redacted;

    response_add_header(response, "Vary", "Authorization");
    response_add_header(response, "Content-Disposition", "attachment");
    if (!is_entry || may_see_address(request, submission)) {
        buf_append(response_begin(response, 200, type), bytes);
        return;
    }
    buf_init(&redacted, RESPONSE_BODY_BYTES_MAX);
    if (submission_redact(bytes, request->arena, &redacted, &err) != ST_OK) {
        response_send_error(response, &err);
    } else {
        response_add_header(response, "Daybreak-Redacted", "authorEmail");
        buf_append(response_begin(response, 200, type), buf_str(&redacted));
    }
    buf_fini(&redacted);
}

/* The member's value goes, and the same address wherever else the text has it. A file that is no longer read as
 * JSON is not shown at all. */
enum status submission_redact(struct str bytes, struct arena *arena, struct buf *out,
                              struct error *err)
{
    const struct json_place *place;
    struct error fault = {0};
    struct str address = {0};
    struct json_doc doc;
    struct buf plain;
    const char *text;

    if (json_doc_parse(bytes, arena, &doc, &fault) != ST_OK)
        return error_set(err, ST_INTERNAL, NULL, "a stored entry is not JSON: %s", fault.detail);
    place = json_doc_find(&doc, "/authorEmail");
    text = json_string_value(json_object_get(doc.root, "authorEmail"));
    if (text != NULL && strlen(text) > 3)
        address = str_from_cstr(text);
    buf_init(&plain, RESPONSE_BODY_BYTES_MAX);
    if (place == NULL) {
        buf_append(&plain, bytes);
    } else {
        const size_t from = (size_t)(place->raw.data - bytes.data);

        append_without(&plain, str_slice(bytes, 0, from), address);
        buf_append_cstr(&plain, REDACTED);
        append_without(&plain, str_slice(bytes, from + place->raw.len, bytes.len), address);
    }
    if (buf_check(&plain, err) == ST_OK) /* one of several addresses, or another's */
        entry_append_without_addresses(out, buf_str(&plain));
    buf_fini(&plain);
    json_doc_fini(&doc);
    return err->status != ST_OK ? err->status : buf_check(out, err);
}

static void append_without(struct buf *out, struct str text, struct str address)
{
    while (text.len > 0) {
        const char *found =
            address.len == 0 ? NULL : memmem(text.data, text.len, address.data, address.len);
        const size_t before = found == NULL ? text.len : (size_t)(found - text.data);

        buf_append(out, str_slice(text, 0, before));
        if (found == NULL)
            return;
        buf_append_cstr(out, "(redacted)");
        text = str_slice(text, before + address.len, text.len);
    }
}
