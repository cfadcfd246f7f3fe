/* server/api/corrections.c: changes by hand, with If-Match and a reason: PATCH /v1/submissions/{id} corrects what an
 * entry says; PATCH /v1/tasks/{task} sets its policy and review. */
#include <inttypes.h>

#include "common/decimal.h"
#include "server/api/accept.h"
#include "server/api/api.h"
#include "server/api/review_read.h"
#include "server/app.h"

#define TEXT_BYTES_MAX 1000
#define PRICE_MAX      1e9 /* USD an hour */

static enum status read_correction(struct request *request, struct correct_entry *correct,
                                   struct error *err);
static void take_removals(struct json_doc *doc, struct correct_entry *correct);
static void read_texts(struct request *request, struct json_reader *json,
                       struct correct_entry *correct);
static void read_price(struct request *request, const struct json_doc *doc,
                       struct json_reader *json, struct correct_entry *correct);
static void read_counts(struct request *request, struct json_reader *json,
                        struct correct_entry *correct);
static void set_field(struct correct_entry *correct, enum correction field, const char *value);
static enum status read_setting(struct request *request, struct set_task *set, struct error *err);

void handle_patch_submission(struct request *request, struct response *response)
{
    struct correct_entry *correct;
    struct error err = {0};

    if (request->step > 0) {
        review_send_outcome(request, response);
        return;
    }
    correct = ARENA_NEW(request->arena, struct correct_entry);
    if (correct == NULL)
        (void)error_set(&err, ST_NO_MEMORY, NULL, "no memory for a correction");
    else
        (void)read_correction(request, correct, &err);
    if (err.status != ST_OK)
        response_send_error(response, &err);
    else
        api_push(request, response,
                 &(struct api_push){.verb = verb_correct_entry, .args = correct});
}

void handle_patch_task(struct request *request, struct response *response)
{
    struct set_task *set;
    struct error err = {0};

    if (request->step > 0) {
        if (api_step(request)->command.status != ST_OK)
            response_send_error(response, &api_step(request)->command.err);
        else
            handle_get_task(request, response);
        return;
    }
    set = ARENA_NEW(request->arena, struct set_task);
    if (set == NULL) {
        (void)error_set(&err, ST_NO_MEMORY, NULL, "no memory for a setting");
    } else {
        set->task = api_find_task(request, response);
        if (set->task == NULL)
            return;
        (void)read_setting(request, set, &err);
    }
    if (err.status != ST_OK)
        response_send_error(response, &err);
    else
        api_push(request, response, &(struct api_push){.verb = verb_set_task, .args = set});
}

static enum status read_correction(struct request *request, struct correct_entry *correct,
                                   struct error *err)
{
    struct json_reader json;
    struct json_doc doc;
    bool any = false;
    enum status status = request_arg_id(request, 0, &correct->submission_id, err);

    if (status == ST_OK)
        status = request_read_if_match(request, &correct->if_match, err);
    if (status == ST_OK)
        status = request_read_json(request, &doc, &json, err);
    if (status != ST_OK)
        return status;
    correct->by = (struct mover){request->caller.token_id, request->caller.scopes};
    take_removals(&doc, correct);
    read_texts(request, &json, correct);
    read_price(request, &doc, &json, correct);
    read_counts(request, &json, correct);
    correct->reason = review_read_reason(&json, request->arena);
    for (size_t i = 0; i < CORRECT_COUNT; i++)
        any = any || correct->fields[i].has;
    if (!any && json.status == ST_OK)
        (void)json_reader_fault(&json, NULL, "missing_member", "name a field with its new value",
                                "nothing is corrected");
    status = json_reader_finish(&json);
    json_doc_fini(&doc);
    return status;
}

/* null removes what an entry need not have (RFC 7396); the readers below take no null. */
static void take_removals(struct json_doc *doc, struct correct_entry *correct)
{
    for (enum correction field = CORRECT_CODE_URL; field < CORRECT_COUNT; field++)
        if (json_is_null(json_object_get(doc->root, correction_name(field)))) {
            set_field(correct, field, NULL);
            (void)json_object_del(doc->root, correction_name(field));
        }
}

static void read_texts(struct request *request, struct json_reader *json,
                       struct correct_entry *correct)
{
    static const enum correction fields[] = {
        CORRECT_NAME,      CORRECT_AUTHOR,   CORRECT_MODEL,        CORRECT_HARDWARE,
        CORRECT_FRAMEWORK, CORRECT_CODE_URL, CORRECT_DEVICE_MODEL, CORRECT_CLOUD,
    };
    static const char *const kinds[] = {"cpu", "gpu", "cuda", "tpu", "other", NULL};
    struct error fault = {0};
    const char *value;

    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        const char *key = correction_name(fields[i]);

        value = review_read_text(json, key, false, TEXT_BYTES_MAX, request->arena);
        if (value == NULL)
            continue;
        if (fields[i] == CORRECT_NAME && accept_check_name(str_from_cstr(value), &fault) != ST_OK)
            (void)json_reader_fault(json, key, fault.code, fault.hint, "%s", fault.detail);
        set_field(correct, fields[i], value);
    }
    if (json_read_word(json, correction_name(CORRECT_DEVICE_KIND), false, kinds, &value))
        set_field(correct, CORRECT_DEVICE_KIND, value);
}

/* The exact text is kept: costs are computed from it. */
static void read_price(struct request *request, const struct json_doc *doc,
                       struct json_reader *json, struct correct_entry *correct)
{
    const char *key = correction_name(CORRECT_COST_PER_HOUR);
    const struct json_place *place;
    struct decimal exact;
    double price;

    if (!json_read_double(json, key, false, &price))
        return;
    place = json_doc_find(doc, "/cost_usd_per_hour");
    if (price <= 0 || price > PRICE_MAX || place == NULL ||
        decimal_parse(place->raw, false, &exact, NULL, NULL) != ST_OK)
        (void)json_reader_fault(json, key, "out_of_range", "null removes the price",
                                "a price of the whole cluster is above 0 USD an hour");
    else
        set_field(correct, CORRECT_COST_PER_HOUR, arena_copy(request->arena, place->raw));
}

static void read_counts(struct request *request, struct json_reader *json,
                        struct correct_entry *correct)
{
    static const enum correction fields[] = {CORRECT_DEVICES, CORRECT_NODES};
    int64_t value;

    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        if (json_read_i64(json, correction_name(fields[i]), false, 1, INT32_MAX, &value))
            set_field(correct, fields[i], arena_printf(request->arena, "%" PRId64, value));
}

static void set_field(struct correct_entry *correct, enum correction field, const char *value)
{
    correct->fields[field].has = true;
    correct->fields[field].value = value;
}

static enum status read_setting(struct request *request, struct set_task *set, struct error *err)
{
    static const char *const policies[] = {"open", "metadata-only", "closed", NULL};
    static const char *const reviews[] = {"none", "top5", "all", NULL};
    struct json_reader json;
    struct json_doc doc;
    const char *word;
    enum status status = request_read_if_match(request, &set->if_match, err);

    set->etag_name = task_etag_name(request->arena, set->task);
    if (status == ST_OK && set->etag_name == NULL)
        status = error_set(err, ST_NO_MEMORY, NULL, "no memory for a setting");
    if (status == ST_OK)
        status = request_read_json(request, &doc, &json, err);
    if (status != ST_OK)
        return status;
    set->by = (struct mover){request->caller.token_id, request->caller.scopes};
    if (json_read_word(&json, "policy", false, policies, &word))
        set->has_policy = task_policy_parse(str_from_cstr(word), &set->policy);
    if (json_read_word(&json, "review", false, reviews, &word))
        set->has_review = task_review_parse(str_from_cstr(word), &set->review);
    if (!set->has_policy && !set->has_review && json.status == ST_OK)
        (void)json_reader_fault(&json, NULL, "missing_member", "give a policy, a review, or both",
                                "nothing is set");
    set->reason = review_read_reason(&json, request->arena);
    status = json_reader_finish(&json);
    json_doc_fini(&doc);
    return status;
}
