/* server/page/review_pages.c: see review_pages.h. A form is answered 303, so that a reload repeats nothing. */
#include "server/page/review_pages.h"

#include <inttypes.h>
#include <string.h>

#include "server/api/api.h"
#include "server/api/review_read.h"
#include "server/app.h"
#include "server/page/page_query.h"
#include "server/page/pages.h"
#include "server/page/review_view.h"
#include "server/store/read.h"

#define PAGE_ARENA_BYTES (64u << 20)
#define DAY_MS           (INT64_C(86400) * 1000)

enum { ROWS = 100, COMMENTS_MAX = 1000 };

static void draw(struct request *request, struct response *response,
                 enum status (*fill)(struct request *request, struct store_reader *reader,
                                     struct page_frame *frame, struct buf *out, struct error *err));
static enum status fill_list(struct request *request, struct store_reader *reader,
                             struct page_frame *frame, struct buf *out, struct error *err);
static enum status fill_one(struct request *request, struct store_reader *reader,
                            struct page_frame *frame, struct buf *out, struct error *err);
static enum status read_place(struct request *request, struct submission_page *page,
                              struct error *err);
static enum status read_files(struct request *request, struct store_reader *reader,
                              struct arena *arena, struct submission_page *page, struct error *err);
static enum status judge(struct arena *arena, const struct submission_files *files,
                         struct submission_page *page, struct error *err);
static const char *read_text(struct request *request, const char *name, size_t bytes_max,
                             struct error *err);
static enum status read_id(struct query *form, const char *name, struct opt_i64 *out,
                           struct error *err);
static void push(struct request *request, struct response *response, const struct error *err,
                 enum status (*verb)(struct db *, struct arena *, void *, struct error *),
                 void *args);
static void send_back(struct request *request, struct response *response);
static void toggle(struct request *request, struct response *response, bool resolved);

static void handle_list(struct request *request, struct response *response)
{
    draw(request, response, fill_list);
}

static void handle_one(struct request *request, struct response *response)
{
    draw(request, response, fill_one);
}

static void decide(struct request *request, struct response *response, bool withdraws)
{
    static const char *const actions[] = {"accept",     "request-changes", "reject",
                                          "disqualify", "revert",          NULL};
    struct review *review;
    struct error err = {0};

    if (request->step > 0) {
        send_back(request, response);
        return;
    }
    review = ARENA_NEW(request->arena, struct review);
    if (review == NULL) {
        (void)error_set(&err, ST_NO_MEMORY, NULL, "no memory for a review");
    } else {
        (void)request_arg_id(request, 0, &review->submission_id, &err);
        review->by = (struct mover){request->caller.token_id, request->caller.scopes};
        review->action = withdraws ? "withdraw" : NULL;
        if (!withdraws)
            (void)query_read_word(&request->form, "action", actions, &review->action, &err);
        if (review->action == NULL)
            (void)error_set_code(&err, ST_INVALID, "missing_member", "action", NULL,
                                 "a decision is needed");
        review->reason = read_text(request, "reason", REASON_BYTES_MAX, &err);
    }
    push(request, response, &err, verb_review, review);
}

static void handle_review(struct request *request, struct response *response)
{
    decide(request, response, false);
}

static void handle_take_back(struct request *request, struct response *response)
{
    decide(request, response, true);
}

static void handle_comment(struct request *request, struct response *response)
{
    struct post_comment *comment;
    struct str file = {0};
    struct error err = {0};

    if (request->step > 0) {
        send_back(request, response);
        return;
    }
    comment = ARENA_NEW(request->arena, struct post_comment);
    if (comment == NULL) {
        (void)error_set(&err, ST_NO_MEMORY, NULL, "no memory for a comment");
    } else {
        (void)request_arg_id(request, 0, &comment->submission_id, &err);
        comment->by = (struct mover){request->caller.token_id, request->caller.scopes};
        comment->text = read_text(request, "text", COMMENT_BYTES_MAX, &err);
        (void)read_id(&request->form, "thread", &comment->thread, &err);
        (void)read_id(&request->form, "line", &comment->line, &err);
        if (query_read_text(&request->form, "file", &file) && file.len > 0)
            comment->file = file.data;
        if (err.status == ST_OK && comment->line.has && comment->file == NULL)
            (void)error_set_code(&err, ST_INVALID, "bad_value", "line", NULL,
                                 "a line is one of a file: choose it, too");
        if (err.status == ST_OK && comment->file != NULL)
            (void)review_check_place(request, comment, &err);
    }
    push(request, response, &err, verb_post_comment, comment);
}

static void handle_resolve(struct request *request, struct response *response)
{
    toggle(request, response, true);
}

static void handle_reopen(struct request *request, struct response *response)
{
    toggle(request, response, false);
}

static const struct route routes[] = {
    {.method = HTTP_GET, .pattern = "/submissions", .handle = handle_list, .html = true},
    {.method = HTTP_GET,
     .pattern = "/submissions/{submission}",
     .handle = handle_one,
     .html = true},
    {.method = HTTP_POST,
     .pattern = "/submissions/{submission}/review",
     .handle = handle_review,
     .scopes = SCOPE_REVIEW,
     .media = MEDIA_FORM,
     .html = true},
    {.method = HTTP_POST,
     .pattern = "/submissions/{submission}/withdraw",
     .handle = handle_take_back,
     .scopes = SCOPE_SUBMIT | SCOPE_JOBS,
     .media = MEDIA_FORM,
     .html = true},
    {.method = HTTP_POST,
     .pattern = "/submissions/{submission}/comments",
     .handle = handle_comment,
     .scopes = SCOPE_SUBMIT | SCOPE_REVIEW,
     .media = MEDIA_FORM,
     .html = true},
    {.method = HTTP_POST,
     .pattern = "/submissions/{submission}/threads/{comment}/resolve",
     .handle = handle_resolve,
     .scopes = SCOPE_SUBMIT | SCOPE_REVIEW,
     .media = MEDIA_FORM,
     .html = true},
    {.method = HTTP_POST,
     .pattern = "/submissions/{submission}/threads/{comment}/reopen",
     .handle = handle_reopen,
     .scopes = SCOPE_SUBMIT | SCOPE_REVIEW,
     .media = MEDIA_FORM,
     .html = true},
};
const struct route_table review_routes = {routes, ARRAY_LEN(routes)};

static void draw(struct request *request, struct response *response,
                 enum status (*fill)(struct request *request, struct store_reader *reader,
                                     struct page_frame *frame, struct buf *out, struct error *err))
{
    struct page_frame frame;
    struct arena arena;
    struct error err = {0};
    struct store_reader *reader;
    struct buf page;

    arena_init(&arena, PAGE_ARENA_BYTES);
    buf_init(&page, PAGE_BYTES_MAX);
    page_make_frame(request, &arena, &frame);
    reader = app_reader(request->app, &err);
    if (reader != NULL && store_reader_begin(reader, &err) == ST_OK) {
        (void)fill(request, reader, &frame, &page, &err);
        store_reader_end(reader);
    }
    if (err.status == ST_OK && (page.failed || frame.assets == NULL))
        (void)error_set(&err, ST_NO_MEMORY, NULL, "the page is larger than %u bytes",
                        PAGE_BYTES_MAX);
    if (err.status != ST_OK) {
        response_send_error(response, &err);
    } else {
        response_add_header(response, "Cache-Control",
                            request->csrf == NULL ? "no-cache" : "private, no-store");
        response_add_header(response, "Vary", "Cookie");
        buf_append(response_begin_html(response, 200), buf_str(&page));
    }
    buf_fini(&page);
    arena_fini(&arena);
}

static enum status fill_list(struct request *request, struct store_reader *reader,
                             struct page_frame *frame, struct buf *out, struct error *err)
{
    struct submission_filter filter = {.limit = ROWS + 1};
    struct submissions_page page = {0};
    struct submission_record *rows;
    const char *const *states;
    const size_t count = page_states(&states);
    size_t state = count;

    page_query_choice(&request->query, "state", states, count, &state, err);
    if (state < count)
        filter.state = page.state = str_from_cstr(states[state]);
    page_query_number(&request->query, "before", INT64_MAX, &filter.before_id, err);
    if (err->status != ST_OK)
        return err->status;
    if (store_list_submissions(reader, frame->arena, &filter, &rows, &page.count, err) != ST_OK)
        return err->status;
    if (page.count > ROWS) {
        page.count = ROWS;
        page.older_before = rows[ROWS - 1].id;
    }
    page.rows = rows;
    page_render_submissions(out, frame, &page);
    return ST_OK;
}

static enum status fill_one(struct request *request, struct store_reader *reader,
                            struct page_frame *frame, struct buf *out, struct error *err)
{
    struct arena *arena = frame->arena;
    struct submission_record submission;
    struct entry_record entry;
    struct submission_page page = {.submission = &submission, .entry = &entry};
    struct comment_record *comments;
    struct history_record *history;
    struct revision_record *revisions;
    struct transition_record *steps;
    int64_t id;

    if (request_arg_id(request, 0, &id, err) != ST_OK ||
        store_get_submission(reader, arena, id, &submission, err) != ST_OK ||
        store_get_entry(reader, arena, submission.entry_id.value, &entry, err) != ST_OK ||
        store_list_comments(reader, arena, id, 0, COMMENTS_MAX, &comments, &page.comment_count,
                            err) != ST_OK ||
        store_list_history(reader, arena, id, &history, &page.history_count, err) != ST_OK ||
        store_list_revisions(reader, arena, submission.lineage_id, &revisions, &page.revision_count,
                             err) != ST_OK ||
        store_list_transitions(reader, arena, submission.state, &steps, &page.step_count, err) !=
            ST_OK)
        return err->status;
    page.task = task_find(request->app->tasks, str_from_cstr(submission.task));
    page.user = request->csrf == NULL ? NULL : &request->caller;
    page.comments = comments;
    page.history = history;
    page.revisions = revisions;
    page.steps = steps;
    if (read_files(request, reader, arena, &page, err) != ST_OK ||
        read_place(request, &page, err) != ST_OK)
        return err->status;
    page_render_submission(out, frame, &page);
    return ST_OK;
}

/* Where the form of a comment begins: a file of the submission and a line. */
static enum status read_place(struct request *request, struct submission_page *page,
                              struct error *err)
{
    struct query *query = &request->query;
    int64_t line = 0;
    bool known;

    (void)query_read_text(query, "file", &page->comment_file);
    known = page->comment_file.len == 0;
    for (size_t i = 0; !known && i < page->file_count; i++)
        known = str_eq_cstr(page->comment_file, page->files[i].name);
    if (!known)
        (void)query_fault(query, "file", NULL, err, "the submission has no file '%.*s'",
                          (int)str_utf8_cut(page->comment_file, 64), page->comment_file.data);
    page_query_number(query, "line", INT64_MAX, &line, err);
    (void)query_read_text(query, "line", &page->comment_line);
    return err->status;
}

/* The files as the reader may see them: the entry's address is its owner's and the reviewers' alone. */
static enum status read_files(struct request *request, struct store_reader *reader,
                              struct arena *arena, struct submission_page *page, struct error *err)
{
    const struct submission_record *submission = page->submission;
    const bool whole =
        page->user != NULL &&
        ((request->caller.scopes & SCOPE_REVIEW) != 0 ||
         (submission->token_id.has && submission->token_id.value == request->caller.token_id));
    struct submission_files files;
    struct submission_text *texts;
    struct buf redacted;
    enum status status = store_get_submission_files(reader, arena, submission->id, &files, err);

    if (status != ST_OK)
        return status;
    texts = ARENA_NEW_ARRAY(arena, 2 + files.further_count, struct submission_text);
    if (texts == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for the files");
    texts[0] =
        (struct submission_text){arena_printf(arena, "%s.json", submission->name), files.entry};
    page->file_count = 1;
    if (files.has_progress)
        texts[page->file_count++] = (struct submission_text){
            arena_printf(arena, "%s.tsv", submission->name), files.progress};
    for (size_t i = 0; i < files.further_count; i++)
        texts[page->file_count++] =
            (struct submission_text){files.further[i].name, files.further[i].bytes};
    page->files = texts;
    if (strcmp(submission->kind, "dawnbench") == 0)
        status = judge(arena, &files, page, err);
    if (status != ST_OK || whole)
        return status;
    buf_init(&redacted, RESPONSE_BODY_BYTES_MAX);
    status = submission_redact(files.entry, arena, &redacted, err);
    texts[0].bytes = (struct str){arena_copy(arena, buf_str(&redacted)), redacted.len};
    buf_fini(&redacted);
    return status == ST_OK && texts[0].bytes.data == NULL
               ? error_set(err, ST_NO_MEMORY, NULL, "no memory for the files")
               : status;
}

/* What the checks say of it, by the rules of today and the date on which it came. */
static enum status judge(struct arena *arena, const struct submission_files *files,
                         struct submission_page *page, struct error *err)
{
    const size_t count = files->further_count > 0 ? files->further_count : files->has_progress;
    struct intake_source *progress = ARENA_NEW_ARRAY(arena, count, struct intake_source);
    struct intake_result *result = ARENA_NEW(arena, struct intake_result);
    struct intake_input input = {
        .task = page->task,
        .mode = strcmp(page->submission->source, "history") == 0 ? INTAKE_HISTORY : INTAKE_NEW,
        .whole = true,
        .has_entry = true,
        .entry = files->entry,
        .progress = progress,
        .progress_count = count,
        .today_days = page->submission->received_ms / DAY_MS,
    };

    if (page->task == NULL)
        return ST_OK;
    if (progress == NULL || result == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for the findings");
    for (size_t i = 0; i < files->further_count; i++)
        progress[i] = (struct intake_source){files->further[i].name, files->further[i].bytes};
    if (files->further_count == 0 && count == 1)
        progress[0] = (struct intake_source){NULL, files->progress};
    page->judged = result;
    return intake_check(&input, arena, result, err);
}

/* A field as text for people; NULL: err says why it is none. */
static const char *read_text(struct request *request, const char *name, size_t bytes_max,
                             struct error *err)
{
    struct str text = {0};
    const char *clean;

    (void)query_read_text(&request->form, name, &text);
    clean = review_clean_text(str_trim(text), bytes_max, request->arena);
    if (str_trim(text).len == 0)
        (void)error_set_code(err, ST_INVALID, "missing_member", name, NULL, "%s is empty", name);
    else if (review_check_text(str_trim(text), name, err) && clean == NULL)
        (void)error_set_code(err, ST_INVALID, "bad_value", name, NULL, "%s is too long", name);
    return clean;
}

/* Empty: absent. */
static enum status read_id(struct query *form, const char *name, struct opt_i64 *out,
                           struct error *err)
{
    struct str text = {0};

    *out = (struct opt_i64){0};
    if (!query_read_text(form, name, &text) || str_trim(text).len == 0)
        return ST_OK;
    out->has = str_parse_i64(str_trim(text), &out->value) && out->value > 0;
    return out->has ? ST_OK
                    : error_set_code(err, ST_INVALID, "bad_value", name, NULL,
                                     "%s is a number from 1", name);
}

static void push(struct request *request, struct response *response, const struct error *err,
                 enum status (*verb)(struct db *, struct arena *, void *, struct error *),
                 void *args)
{
    if (err->status != ST_OK)
        response_send_error(response, err);
    else
        api_push(request, response, &(struct api_push){.verb = verb, .args = args});
}

static void send_back(struct request *request, struct response *response)
{
    const struct command *command = &api_step(request)->command;
    struct error err = {0};
    int64_t id;

    if (command->status != ST_OK)
        response_send_error(response, &command->err);
    else if (request_arg_id(request, 0, &id, &err) != ST_OK)
        response_send_error(response, &err);
    else
        response_send_redirect(response, 303,
                               arena_printf(request->arena, "/submissions/%" PRId64, id));
}

static void toggle(struct request *request, struct response *response, bool resolved)
{
    struct resolve_comment *resolve;
    struct error err = {0};

    if (request->step > 0) {
        send_back(request, response);
        return;
    }
    resolve = ARENA_NEW(request->arena, struct resolve_comment);
    if (resolve == NULL) {
        (void)error_set(&err, ST_NO_MEMORY, NULL, "no memory for a command");
    } else if (request_arg_id(request, 0, &resolve->submission_id, &err) == ST_OK &&
               request_arg_id(request, 1, &resolve->comment_id, &err) == ST_OK) {
        resolve->by = (struct mover){request->caller.token_id, request->caller.scopes};
        resolve->resolved = resolved;
    }
    push(request, response, &err, verb_resolve_comment, resolve);
}
