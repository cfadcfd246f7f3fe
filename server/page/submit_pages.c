/* server/page/submit_pages.c: see submit_pages.h. What was checked is the answer itself, 200 whatever was found, as
 * with POST /v1/submissions/validate; what was stored is answered 303, so that a reload repeats nothing. */
#include "server/page/submit_pages.h"

#include <inttypes.h>

#include "server/api/api.h"
#include "server/api/submission_check.h"
#include "server/app.h"
#include "server/http/auth.h"
#include "server/page/page_work.h"
#include "server/page/pages.h"
#include "server/page/submit_view.h"

struct sending { /* kept between the two calls of a POST that stores */
    struct submit_fields fields;
    struct submission_work work;
};

static void check_files(struct request *request, struct response *response,
                        const struct submit_fields *fields);
static void send_files(struct request *request, struct response *response,
                       const struct submit_fields *fields);
static enum status require_submitter(const struct request *request, struct error *err);
static void answer_sent(struct request *request, struct response *response);
static void draw(struct request *request, struct response *response, int status,
                 struct submit_page *page);

static void handle_form(struct request *request, struct response *response)
{
    struct submit_page page = {0};

    (void)query_read_text(&request->query, "task", &page.fields.task_id);
    draw(request, response, 200, &page);
}

static void handle_files(struct request *request, struct response *response)
{
    struct submit_page page = {0};
    struct error err = {0};

    if (request->step > 0)
        answer_sent(request, response);
    else if (submit_parts_read(&request->parts, request->arena, &page.fields, &err) != ST_OK) {
        page.fault = &err;
        draw(request, response, page.fields.sends ? response_status_code(&err) : 200, &page);
    } else if (page.fields.sends)
        send_files(request, response, &page.fields);
    else
        check_files(request, response, &page.fields);
}

static const struct route routes[] = {
    {.method = HTTP_GET, .pattern = "/submit", .handle = handle_form, .html = true},
    {.method = HTTP_POST,
     .pattern = "/submit",
     .handle = handle_files,
     .media = MEDIA_MULTIPART,
     .body_bytes_max = SUBMISSION_BODY_BYTES_MAX,
     .html = true},
};
const struct route_table submit_routes = {routes, ARRAY_LEN(routes)};

static void check_files(struct request *request, struct response *response,
                        const struct submit_fields *fields)
{
    struct submit_page page = {.fields = *fields};
    struct submission_verdict verdict;
    struct error err = {0};

    if (submission_check(request, &verdict, &err) == ST_OK) {
        page.verdict = &verdict;
        draw(request, response, 200, &page);
    } else if (response_status_code(&err) >= 500) { /* ours, not the files' */
        response_send_error(response, &err);
    } else {
        page.fault = &err;
        page.faults = &request->faults;
        draw(request, response, 200, &page);
    }
}

static void send_files(struct request *request, struct response *response,
                       const struct submit_fields *fields)
{
    struct sending *sending = ARENA_NEW(request->arena, struct sending);
    struct submit_page page = {.fields = *fields};
    struct error err = {0};

    if (sending == NULL) {
        (void)error_set(&err, ST_NO_MEMORY, NULL, "no memory for a submission");
    } else if (require_submitter(request, &err) == ST_OK &&
               submission_prepare(request, &sending->work, &err) == ST_OK) {
        if (sending->work.verdict.result.acceptable) {
            sending->fields = *fields;
            api_push(request, response,
                     &(struct api_push){
                         .verb = verb_submit, .args = &sending->work.submit, .more = sending});
            return;
        }
        page.verdict = &sending->work.verdict;
        draw(request, response, 422, &page);
        return;
    }
    page.fault = &err;
    page.faults = &request->faults;
    draw(request, response, response_status_code(&err), &page);
}

static enum status require_submitter(const struct request *request, struct error *err)
{
    return request->has_caller ? auth_require(&request->caller, SCOPE_SUBMIT, err)
                               : error_set_code(err, ST_UNAUTHENTICATED, "session-missing", NULL,
                                                "Sign in with a token, and choose the files again.",
                                                "you are not signed in, or no longer");
}

static void answer_sent(struct request *request, struct response *response)
{
    const struct api_step *step = api_step(request);
    const struct sending *sending = step->more;
    const struct submit *submit = &sending->work.submit;
    const struct command *command = &step->command;
    struct submit_page page = {.fields = sending->fields,
                               .verdict = &sending->work.verdict,
                               .fault = &command->err,
                               .other = submit->other_id};

    if (command->status == ST_OK) {
        response_send_redirect(
            response, 303,
            arena_printf(request->arena, "/submissions/%" PRId64, submit->submission_id));
        return;
    }
    if (command->err.retry_after_s > 0)
        response_add_header(response, "Retry-After", "%lld", command->err.retry_after_s);
    draw(request, response, response_status_code(&command->err), &page);
}

static void draw(struct request *request, struct response *response, int status,
                 struct submit_page *page)
{
    struct page_frame frame;
    struct buf html;

    page->tasks = request->app->tasks;
    page->may_send = request->csrf != NULL && (request->caller.scopes & SCOPE_SUBMIT) != 0;
    page_make_frame(request, request->arena, &frame);
    buf_init(&html, PAGE_BYTES_MAX);
    page_render_submit(&html, &frame, page);
    page_send_private(response, status, &html);
    buf_fini(&html);
}
