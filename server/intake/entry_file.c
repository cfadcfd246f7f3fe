/* server/intake/entry_file.c: judges NAME.json. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/decimal.h"
#include "common/entry.h"
#include "common/text.h"
#include "server/intake/intake_internal.h"

/* Bounds beyond which a value is possible but looks like a slip. */
#define PRICE_HOUR_MAX_USD      100000.0
#define LATENCY_MIN_NS          INT64_C(1000)
#define LATENCY_MAX_NS          (INT64_C(600) * 1000 * NS_PER_MS)
#define ITEM_PRICE_MAX_USD_H    500.0
#define ITEM_PRICE_MIN_USD_H    0.001
#define ITEM_PRICE_LIKELY_USD_H 0.01 /* of a machine that somebody rents */
#define TOP1_LIKE_MIN           50.0 /* a top-5 accuracy of ImageNet that is rather one of top-1 */
#define TOP1_LIKE_MAX           88.0
#define FIRST_PLAUSIBLE_DAY     10957 /* 2000-01-01 */

enum { KEY_BYTES_MAX = 256 };

struct member { /* one top-level member, or none */
    const json_t *value;
    struct str raw;
    struct intake_place place;
};
struct number {
    struct decimal value;
    const char *text; /* exact, as written */
};

static bool find_member(struct judge *judge, const char *key, struct member *member);
static const char *type_name(const json_t *value);
static void judge_version(struct judge *judge);
static void judge_texts(struct judge *judge);
static const char *judge_text(struct judge *judge, const char *key, bool required,
                              size_t bytes_max);
static void judge_date(struct judge *judge);
static bool judge_number(struct judge *judge, const char *key, bool required,
                         struct number *number);
static void judge_price(struct judge *judge);
static void judge_latency(struct judge *judge);
static void judge_item_cost(struct judge *judge);
static const char *intend_item_cost(struct judge *judge, const struct number *cost,
                                    double usd_per_hour);
static void judge_metric(struct judge *judge);
static void judge_blacklist(struct judge *judge);
static void judge_misc(struct judge *judge);
static void judge_marks(struct judge *judge, const json_t *misc);
static void judge_other_fields(struct judge *judge);
static void judge_other_field(struct judge *judge, const char *key);
static bool is_metric(const char *key);
static bool looks_like(const char *key, const char *known);
static void append_extra(struct judge *judge, struct buf *extra, const char *key);
static bool is_link(const char *url);

void judge_entry_file(struct judge *judge)
{
    const struct intake_place whole = {.file = INTAKE_ENTRY, .line = 1};
    struct intake_place other;
    struct json_doc doc = {0};
    struct error fault = {0};
    const char *code;
    enum status status;

    if (!judge_check_bytes(judge, INTAKE_ENTRY, judge->input->entry))
        return;
    if (intend_other_file(judge, INTAKE_ENTRY, judge->input->entry, &other, &code)) {
        judge_add(judge, &other, code, "this is not an entry");
        return;
    }
    status = json_doc_parse(judge->input->entry, judge->arena, &doc, &fault);
    if (status == ST_NO_MEMORY) {
        judge->no_memory = true;
        return;
    }
    if (status != ST_OK) {
        const struct intake_place place = {
            .file = INTAKE_ENTRY,
            .line = fault.line,
            .pointer = arena_copy(judge->arena, str_from_cstr(fault.field)),
            .hint =
                fault.hint[0] == '\0' ? NULL : arena_copy(judge->arena, str_from_cstr(fault.hint))};

        judge_add(judge, &place, intake_code_find(fault.code) == NULL ? "json_syntax" : fault.code,
                  "%s", fault.detail);
        return;
    }
    judge->doc = &doc;
    if (!json_is_object(doc.root)) {
        judge_add(judge, &whole, "not_an_object", "the entry is %s, not an object",
                  type_name(doc.root));
    } else {
        judge_version(judge);
        judge_texts(judge);
        judge_date(judge);
        if (judge->input->task->phase == TASK_TRAIN) {
            judge_price(judge);
        } else {
            judge_latency(judge);
            judge_item_cost(judge);
            judge_metric(judge);
        }
        judge_blacklist(judge);
        judge_misc(judge);
        judge_other_fields(judge);
        if (judge->input->mode == INTAKE_NEW)
            judge_advise(judge);
    }
    judge->doc = NULL;
    json_doc_fini(&doc);
}

/* Fills the place also when the member is absent: line 0, the pointer where it would be. */
static bool find_member(struct judge *judge, const char *key, struct member *member)
{
    const struct json_place *found;
    char pointer[KEY_BYTES_MAX + 2];
    size_t length = 0;

    *member = (struct member){.place = {.file = INTAKE_ENTRY, .field = key}};
    pointer[length++] = '/';
    for (const char *at = key; *at != '\0' && length < KEY_BYTES_MAX; at++) {
        if (*at == '~' || *at == '/') { /* RFC 6901: ~0 and ~1 */
            pointer[length++] = '~';
            pointer[length++] = *at == '~' ? '0' : '1';
        } else {
            pointer[length++] = *at;
        }
    }
    pointer[length] = '\0';
    member->place.pointer = judge_copy(judge, str_from_cstr(pointer));
    member->value = json_object_get(judge->doc->root, key);
    found = json_doc_find(judge->doc, pointer);
    if (member->value == NULL || found == NULL) {
        member->value = NULL;
        return false;
    }
    member->raw = found->raw;
    member->place.line = found->key_line;
    return true;
}

static const char *type_name(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT: return "an object";
    case JSON_ARRAY: return "an array";
    case JSON_STRING: return "a text";
    case JSON_INTEGER:
    case JSON_REAL: return "a number";
    case JSON_TRUE:
    case JSON_FALSE: return "a boolean";
    case JSON_NULL: break;
    }
    return "null";
}

static void judge_version(struct judge *judge)
{
    struct member member;

    if (!find_member(judge, "version", &member))
        judge_add(judge, &member.place, "missing_field", "version is missing");
    else if (!json_is_string(member.value))
        judge_add(judge, &member.place, "bad_type", "version is %s, not a text",
                  type_name(member.value));
    else if (!str_eq_cstr(STR(ENTRY_VERSION), json_string_value(member.value))) {
        member.place.hint = arena_printf(
            judge->arena,
            "version is that of the benchmark's format, not of your entry, model or framework: "
            "write \"%s\", and keep \"%.32s\" in misc if it says something",
            ENTRY_VERSION, judge_clean_text(judge, str_from_cstr(json_string_value(member.value))));
        judge_add(judge, &member.place, "bad_version", "version is \"%.64s\", not \"%s\"",
                  json_string_value(member.value), ENTRY_VERSION);
    }
}

static void judge_texts(struct judge *judge)
{
    struct intake_record *record = &judge->result->record;

    record->author = judge_text(judge, "author", true, INTAKE_TEXT_BYTES_MAX);
    record->author_email = judge_text(judge, "authorEmail", true, INTAKE_EMAIL_BYTES_MAX);
    record->framework = judge_text(judge, "framework", true, INTAKE_TEXT_BYTES_MAX);
    record->model = judge_text(judge, "model", true, INTAKE_TEXT_BYTES_MAX);
    record->hardware = judge_text(judge, "hardware", true, INTAKE_TEXT_BYTES_MAX);
    record->code_url = judge_text(judge, "codeURL", false, INTAKE_EMAIL_BYTES_MAX);
    record->commit_hash = judge_text(judge, "commitHash", false, INTAKE_TEXT_BYTES_MAX);
    record->code_is_link = record->code_url != NULL && is_link(record->code_url);
    if (record->author_email != NULL && strchr(record->author_email, '@') == NULL) {
        struct member member;

        (void)find_member(judge, "authorEmail", &member);
        judge_add(judge, &member.place, "email_without_at", "authorEmail has no @");
    }
}

/* NULL when it is absent or unusable; an optional text that is blank or null counts as absent. */
static const char *judge_text(struct judge *judge, const char *key, bool required, size_t bytes_max)
{
    struct member member;
    const char *text;
    uint32_t hidden;
    struct str raw;

    if (!find_member(judge, key, &member)) {
        if (required)
            judge_add(judge, &member.place, "missing_field", "%s is missing", key);
        return NULL;
    }
    if (json_is_null(member.value) && !required)
        return NULL;
    if (!json_is_string(member.value)) {
        judge_add(judge, &member.place, "bad_type", "%s is %s, not a text", key,
                  type_name(member.value));
        return NULL;
    }
    raw = (struct str){json_string_value(member.value), json_string_length(member.value)};
    text = judge_clean_text(judge, raw);
    if (text_is_blank(str_from_cstr(text))) {
        if (required)
            judge_add(judge, &member.place, "empty_field", "%s is blank", key);
        return NULL;
    }
    if (text_find_hidden(raw, &hidden)) {
        judge_add(judge, &member.place, "hidden_character", "%s has U+%04X, which nobody sees", key,
                  (unsigned)hidden);
        return NULL;
    }
    if (strlen(text) > bytes_max) {
        judge_add(judge, &member.place, "text_too_long", "%s has %zu bytes, at most %zu are kept",
                  key, strlen(text), bytes_max);
        return NULL;
    }
    return text;
}

static void judge_date(struct judge *judge)
{
    struct intake_record *record = &judge->result->record;
    const char *text = judge_text(judge, "timestamp", true, INTAKE_TEXT_BYTES_MAX);
    char date[CLOCK_TEXT_BYTES];
    struct member member;
    bool padded = true;

    if (text == NULL)
        return;
    (void)find_member(judge, "timestamp", &member);
    if (clock_parse_date(str_from_cstr(text), &record->date_days, &padded, NULL) != ST_OK) {
        member.place.hint = intend_date(judge, str_from_cstr(text));
        judge_add(judge, &member.place, "bad_date", "\"%.64s\" is not a date", text);
        return;
    }
    clock_format_days(record->date_days, date);
    record->date_text = judge_copy(judge, str_from_cstr(date));
    if (!padded)
        judge_add(judge, &member.place, "timestamp_not_padded", "\"%s\" is read as %s", text, date);
    if (record->date_days > judge->input->today_days + 1) /* it may be tomorrow there already */
        judge_add(judge, &member.place, "date_in_future", "%s has not come yet", date);
    else if (record->date_days < FIRST_PLAUSIBLE_DAY)
        judge_add(judge, &member.place, "date_implausible", "%s is before the year 2000", date);
    else if (record->date_days < judge->input->today_days - 30)
        judge_add(judge, &member.place, "date_old", "%s is more than 30 days ago", date);
}

static bool judge_number(struct judge *judge, const char *key, bool required, struct number *number)
{
    struct member member;
    enum status status;

    if (!find_member(judge, key, &member) || (json_is_null(member.value) && !required)) {
        if (required)
            judge_add(judge, &member.place, "missing_field", "%s is missing", key);
        return false;
    }
    if (!json_is_number(member.value)) {
        if (json_is_string(member.value))
            member.place.hint =
                intend_number(judge, str_from_cstr(json_string_value(member.value)), !required);
        if (member.place.hint == NULL && !required)
            member.place.hint = "give a number without quotes, or leave the field out";
        judge_add(judge, &member.place, "bad_type", "%s is %s, not a number", key,
                  type_name(member.value));
        return false;
    }
    number->text = judge_copy(judge, member.raw);
    status = decimal_parse(member.raw, false, &number->value, NULL, NULL);
    if (status != ST_OK || number->text == NULL) {
        judge_add(judge, &member.place, "out_of_range", "%s is %.*s, beyond any use", key,
                  (int)(member.raw.len < 64 ? member.raw.len : 64), member.raw.data);
        return false;
    }
    return true;
}

/* A number above 0 whose multiple of `unit` fits and is at least 1; a finding otherwise. */
static bool judge_positive(struct judge *judge, const char *key, bool required, int64_t unit,
                           struct number *number, int64_t *scaled)
{
    struct member member;

    if (!judge_number(judge, key, required, number))
        return false;
    if (!number->value.negative && number->value.digits != 0 &&
        decimal_scale(number->value, unit, scaled, NULL) == ST_OK && *scaled > 0)
        return true;
    (void)find_member(judge, key, &member);
    judge_add(judge, &member.place, "out_of_range", "%s is %.64s, not a usable number above 0", key,
              number->text);
    return false;
}

static void judge_price(struct judge *judge)
{
    struct intake_record *record = &judge->result->record;
    struct member member;
    struct number price;
    int64_t pico;

    if (!judge_positive(judge, "costPerHour", false, PICO_PER_USD, &price, &pico))
        return;
    record->has_cost_per_hour = true;
    record->cost_per_hour_text = price.text;
    if (decimal_to_double(price.value) > PRICE_HOUR_MAX_USD) {
        (void)find_member(judge, "costPerHour", &member);
        judge_add(judge, &member.place, "value_implausible", "costPerHour is %.64s USD an hour",
                  price.text);
    }
}

static void judge_latency(struct judge *judge)
{
    struct intake_record *record = &judge->result->record;
    const struct decimal least = {1, -6, false}; /* a nanosecond, in ms */
    struct member member;
    struct number latency;

    if (!judge_positive(judge, "latency", true, NS_PER_MS, &latency, &record->latency_ns))
        return;
    if (decimal_cmp(latency.value, least) < 0) { /* it was rounded up to one */
        (void)find_member(judge, "latency", &member);
        judge_add(judge, &member.place, "out_of_range",
                  "latency is %.64s ms for one item, less than a nanosecond", latency.text);
        return;
    }
    record->has_latency = true;
    record->latency_text = latency.text;
    if (record->latency_ns < LATENCY_MIN_NS || record->latency_ns > LATENCY_MAX_NS) {
        (void)find_member(judge, "latency", &member);
        member.place.hint = "latency is in milliseconds for one item";
        judge_add(judge, &member.place, "value_implausible", "latency is %.64s ms for one item",
                  latency.text);
    }
}

static void judge_item_cost(struct judge *judge)
{
    struct intake_record *record = &judge->result->record;
    struct member member;
    struct number cost;
    double usd_per_hour;

    if (!judge_positive(judge, "cost", false, PICO_PER_USD, &cost, &record->cost_pico))
        return;
    record->has_cost = true;
    record->cost_text = cost.text;
    if (!record->has_latency)
        return;
    usd_per_hour = decimal_to_double(cost.value) * (double)NS_PER_HOUR / (double)record->latency_ns;
    (void)find_member(judge, "cost", &member);
    if (usd_per_hour > ITEM_PRICE_MAX_USD_H) {
        member.place.hint = intend_item_cost(judge, &cost, usd_per_hour);
        judge_add(judge, &member.place, "cost_not_per_item",
                  "cost and latency imply a price of %.0f USD an hour", usd_per_hour);
    } else if (usd_per_hour < ITEM_PRICE_MIN_USD_H)
        judge_add(judge, &member.place, "value_implausible",
                  "cost and latency imply a price of %.2g USD an hour", usd_per_hour);
}

/* The cost of 10,000 items, or the price of an hour. NULL: neither would make sense. */
static const char *intend_item_cost(struct judge *judge, const struct number *cost,
                                    double usd_per_hour)
{
    const double stated = decimal_to_double(cost->value);
    const double latency_h = (double)judge->result->record.latency_ns / (double)NS_PER_HOUR;
    const char *item = intend_scaled(judge, str_from_cstr(cost->text), -4);

    if (item != NULL && usd_per_hour / 10000.0 <= ITEM_PRICE_MAX_USD_H &&
        usd_per_hour / 10000.0 >= ITEM_PRICE_LIKELY_USD_H)
        return arena_printf(judge->arena,
                            "it looks like the cost of 10,000 items: write %s in place of %.32s, "
                            "the cost of one",
                            item, cost->text);
    if (stated >= ITEM_PRICE_LIKELY_USD_H && stated <= ITEM_PRICE_MAX_USD_H)
        return arena_printf(judge->arena,
                            "it looks like the price of an hour: one item costs %.6g, which is "
                            "price x latency in ms / 3,600,000",
                            stated * latency_h);
    return NULL;
}

/* The accuracy that an inference entry states itself. */
static void judge_metric(struct judge *judge)
{
    const struct task *task = judge->input->task;
    struct intake_record *record = &judge->result->record;
    struct member member, other;
    struct decimal reached;
    struct number metric;
    double value;

    if (!find_member(judge, task->metric, &member)) {
        static const char *const others[] = {"top1Accuracy", "top5Accuracy", "f1Score", "accuracy"};

        for (size_t i = 0; i < ARRAY_LEN(others); i++)
            if (find_member(judge, others[i], &other))
                member.place.hint =
                    arena_printf(judge->arena, "the entry has %s: this task is judged by %s",
                                 others[i], task->metric);
        judge_add(judge, &member.place, "missing_field", "%s is missing", task->metric);
        return;
    }
    if (!judge_number(judge, task->metric, true, &metric))
        return;
    reached = metric.value;
    value = decimal_to_double(metric.value);
    if (value > task->metric_max && task->metric_max == 1.0 && value <= 100.0 &&
        judge->input->mode == INTAKE_HISTORY) {
        member.place.hint = intend_in_place(judge, str_from_cstr(metric.text), -2, "divide by 100");
        judge_add(judge, &member.place, "f1_looks_like_percent", "%s is %.64s, above 1",
                  task->metric, metric.text);
        reached.exponent -= 2;
    } else if (value < 0.0 || value > task->metric_max) {
        if (task->metric_max == 1.0 && value > 1.0 && value <= 100.0)
            member.place.hint = intend_in_place(judge, str_from_cstr(metric.text), -2,
                                                "it looks like percent, a fraction is asked for");
        judge_add(judge, &member.place, "out_of_range", "%s is %.64s, not between 0 and %g",
                  task->metric, metric.text, task->metric_max);
        return;
    }
    record->has_accuracy = true;
    record->accuracy_text = metric.text;
    record->accuracy = value;
    if (decimal_cmp(reached, task->target) >= 0)
        return;
    if (strcmp(task->metric, "top5Accuracy") == 0 && value >= TOP1_LIKE_MIN &&
        value <= TOP1_LIKE_MAX)
        member.place.hint = "it looks like top-1 accuracy: this task is judged by top-5";
    if (task->metric_max == 100.0 && value > 0.0 && value <= 1.0) {
        member.place.hint = intend_in_place(judge, str_from_cstr(metric.text), 2,
                                            "it looks like a fraction, percent are asked for");
        judge_add(judge, &member.place, "looks_like_fraction", "%s is %.64s, at most 1",
                  task->metric, metric.text);
    } else
        judge_add(judge, &member.place, "threshold_not_reached", "%s is %.64s, the target is %s",
                  task->metric, metric.text, task->target_text);
}

static void judge_blacklist(struct judge *judge)
{
    struct intake_record *record = &judge->result->record;
    struct member member;

    if (!find_member(judge, "usedBlacklist", &member) || json_is_null(member.value))
        return;
    if (!json_is_boolean(member.value)) {
        member.place.hint = "write true or false without quotes, or leave the field out";
        judge_add(judge, &member.place, "bad_type", "usedBlacklist is %s, not a boolean",
                  type_name(member.value));
        return;
    }
    record->has_used_blacklist = true;
    record->used_blacklist = json_is_true(member.value);
}

static void judge_misc(struct judge *judge)
{
    struct member member;

    if (!find_member(judge, "misc", &member) || json_is_null(member.value))
        return;
    judge->result->record.misc_json = judge_copy(judge, member.raw);
    if (!json_is_object(member.value)) {
        judge_add(judge, &member.place, "misc_not_object", "misc is %s, not an object",
                  type_name(member.value));
    } else if (judge->input->mode == INTAKE_NEW && judge->input->task->phase == TASK_TRAIN) {
        judge_marks(judge, member.value);
        judge_seeds(judge, member.value);
    }
}

/* What our agent marks is never ranked: its times, images or end are not those of the task (design.md, Programs). */
static void judge_marks(struct judge *judge, const json_t *misc)
{
    static const char *const marks[] = {"resumed", "holdout", "partial", "incomplete"};

    for (size_t i = 0; i < ARRAY_LEN(marks); i++) {
        struct intake_place place = {.file = INTAKE_ENTRY, .line = 1, .field = "misc"};
        const struct json_place *found;
        char pointer[32];

        if (!json_is_true(json_object_get(misc, marks[i])))
            continue;
        (void)snprintf(pointer, sizeof pointer, "/misc/%s", marks[i]);
        found = json_doc_find(judge->doc, pointer);
        if (found != NULL)
            place.line = found->line;
        place.pointer = judge_copy(judge, str_from_cstr(pointer));
        judge_add(judge, &place, "run_not_ranked", "misc.%s is true", marks[i]);
    }
}

/* What the format does not know is kept and shown; what looks like a slip is said. */
static void judge_other_fields(struct judge *judge)
{
    const struct intake_place whole = {.file = INTAKE_ENTRY, .line = 1};
    const char *key;
    json_t *value;
    struct buf extra;

    if (json_object_size(judge->doc->root) > INTAKE_FIELDS_MAX) {
        judge_add(judge, &whole, "too_many_fields", "the entry has %zu fields, at most %d are kept",
                  json_object_size(judge->doc->root), INTAKE_FIELDS_MAX);
        return;
    }
    buf_init(&extra, (size_t)4 * ENTRY_FILE_BYTES_MAX);
    json_object_foreach(judge->doc->root, key, value)
    {
        const struct entry_field *field = entry_field_find(str_from_cstr(key));
        const bool train = judge->input->task->phase == TASK_TRAIN;

        if (field != NULL && (train ? field->train : field->inference))
            continue;
        if (!train && str_eq_cstr(str_from_cstr(key), judge->input->task->metric))
            continue;
        judge_other_field(judge, key);
        append_extra(judge, &extra, key);
    }
    if (extra.len > 0) {
        buf_append_char(&extra, '}');
        if (extra.failed)
            judge->no_memory = true;
        else
            judge->result->record.extra_json = judge_copy(judge, buf_str(&extra));
    }
    buf_fini(&extra);
}

static void judge_other_field(struct judge *judge, const char *key)
{
    const struct task *task = judge->input->task;
    const bool train = task->phase == TASK_TRAIN;
    struct member member;

    (void)find_member(judge, key, &member);
    if (is_metric(key)) {
        if (train)
            member.place.hint = "accuracies of a training stand in the progress file";
        judge_add(judge, &member.place, "field_not_used", "%s decides nothing in %s", key,
                  task->id);
        return;
    }
    if (entry_field_find(str_from_cstr(key)) != NULL) {
        judge_add(judge, &member.place, "field_not_used", "%s belongs to %s entries", key,
                  train ? "inference" : "training");
        return;
    }
    for (size_t i = 0; i <= entry_field_count; i++) {
        const char *known = i < entry_field_count ? entry_fields[i].name : task->metric;

        if (json_object_get(judge->doc->root, known) == NULL && looks_like(key, known)) {
            member.place.hint = arena_printf(judge->arena, "write %s", known);
            judge_add(judge, &member.place, "field_misspelt", "%.64s is not a field, %s is", key,
                      known);
            return;
        }
    }
}

static bool is_metric(const char *key)
{
    static const char *const metrics[] = {"top1Accuracy", "top5Accuracy", "f1Score"};

    for (size_t i = 0; i < ARRAY_LEN(metrics); i++)
        if (strcmp(key, metrics[i]) == 0)
            return true;
    return false;
}

/* The same letters but for case and word separators, or one letter wrong, missing or too many in six. */
static bool looks_like(const char *key, const char *known)
{
    char a[64], b[64];
    const char *const texts[] = {key, known};
    char *const plain[] = {a, b};
    size_t lengths[2] = {0, 0}, same = 0, end = 0;

    for (size_t which = 0; which < 2; which++)
        for (const char *at = texts[which]; *at != '\0' && lengths[which] < sizeof a; at++)
            if (strchr("_- ", *at) == NULL)
                plain[which][lengths[which]++] =
                    (char)(*at >= 'A' && *at <= 'Z' ? *at - 'A' + 'a' : *at);
    while (same < lengths[0] && same < lengths[1] && a[same] == b[same])
        same++;
    while (end < lengths[0] - same && end < lengths[1] - same &&
           a[lengths[0] - 1 - end] == b[lengths[1] - 1 - end])
        end++;
    if (same == lengths[0] && same == lengths[1])
        return true;
    return lengths[1] >= 6 && lengths[0] - same - end <= 1 && lengths[1] - same - end <= 1;
}

static void append_extra(struct judge *judge, struct buf *extra, const char *key)
{
    struct member member;

    if (!find_member(judge, key, &member))
        return;
    buf_append_char(extra, extra->len == 0 ? '{' : ',');
    buf_append_json(extra, str_from_cstr(key));
    buf_append_char(extra, ':');
    buf_append(extra, member.raw);
}

/* http or https, and nothing that could end or change a link. */
static bool is_link(const char *url)
{
    const struct str text = str_from_cstr(url);

    if (!str_starts_with(text, STR("http://")) && !str_starts_with(text, STR("https://")))
        return false;
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)url[i] <= ' ' || strchr("\"'<>`\\", url[i]) != NULL)
            return false;
    return true;
}
