/* server/api/reviews.c: what is done to a submission: POST .../reviews and .../withdraw; GET .../history, all that was
 * done. Which step there is from where stands in the table submission_transition. */
#include <string.h>

#include "server/api/api.h"
#include "server/api/json_out.h"
#include "server/api/review_read.h"
#include "server/app.h"
#include "server/store/read.h"

static void begin_step(struct request *request, struct response *response, bool withdraws);
static enum status read_step(struct request *request, bool withdraws, struct review *review,
                             struct error *err);
static void write_event(struct json_out *out, const struct history_record *event);

void handle_post_review(struct request *request, struct response *response)
{
    if (request->step == 0)
        begin_step(request, response, false);
    else
        review_send_outcome(request, response);
}

void handle_withdraw(struct request *request, struct response *response)
{
    if (request->step == 0)
        begin_step(request, response, true);
    else
        review_send_outcome(request, response);
}

void handle_get_history(struct request *request, struct response *response)
{
    struct history_record *events = NULL;
    struct submission_record submission;
    struct store_reader *reader;
    struct error err = {0};
    size_t count = 0;
    struct json_out out;
    int64_t id;

    (void)request_arg_id(request, 0, &id, &err);
    if (query_finish(&request->query, &err) != ST_OK) {
        response_send_error(response, &err);
        return;
    }
    reader = api_begin_read(request, response);
    if (reader == NULL)
        return;
    if (store_get_submission(reader, request->arena, id, &submission, &err) == ST_OK)
        (void)store_list_history(reader, request->arena, id, &events, &count, &err);
    api_end_read(reader);
    if (err.status != ST_OK) {
        response_send_error(response, &err);
        return;
    }
    out = (struct json_out){response_begin(response, 200, "application/json"), false};
    json_out_begin(&out, NULL, '{');
    json_out_i64(&out, "submission", id);
    json_out_begin(&out, "items", '[');
    for (size_t i = 0; i < count; i++)
        write_event(&out, &events[i]);
    json_out_end(&out, ']');
    json_out_end(&out, '}');
}

static void begin_step(struct request *request, struct response *response, bool withdraws)
{
    struct review *review = ARENA_NEW(request->arena, struct review);
    struct error err = {0};

    if (review == NULL)
        (void)error_set(&err, ST_NO_MEMORY, NULL, "no memory for a review");
    else
        (void)read_step(request, withdraws, review, &err);
    if (err.status != ST_OK)
        response_send_error(response, &err);
    else
        api_push(request, response, &(struct api_push){.verb = verb_review, .args = review});
}

static enum status read_step(struct request *request, bool withdraws, struct review *review,
                             struct error *err)
{
    static const char *const actions[] = {"accept",     "request-changes", "reject",
                                          "disqualify", "revert",          NULL};
    struct json_reader json;
    struct json_doc doc;
    enum status status = request_arg_id(request, 0, &review->submission_id, err);

    if (status == ST_OK)
        status = request_read_json(request, &doc, &json, err);
    if (status != ST_OK)
        return status;
    review->by = (struct mover){request->caller.token_id, request->caller.scopes};
    review->action = "withdraw";
    if (!withdraws)
        (void)json_read_word(&json, "action", true, actions, &review->action);
    review->reason = review_read_reason(&json, request->arena);
    status = json_reader_finish(&json);
    json_doc_fini(&doc);
    return status;
}

static void write_event(struct json_out *out, const struct history_record *event)
{
    json_out_begin(out, NULL, '{');
    json_out_time(out, "at", event->at_ms);
    json_out_text(out, "kind", event->kind);
    json_out_text(out, "by", event->by == NULL ? "the server" : event->by);
    json_out_text(out, "role", event->role);
    if (event->action != NULL && event->action[0] != '\0')
        json_out_text(out, "action", event->action);
    json_out_text(out, "from", event->from_state);
    json_out_text(out, "to", event->to_state);
    json_out_text(out, "reason", event->reason);
    json_out_text(out, "field", event->field);
    json_out_text(out, "before", event->old_value);
    json_out_text(out, "after", event->new_value);
    json_out_optional(out, "comment", event->comment);
    json_out_end(out, '}');
}
