/* server/intake/advice.c: what reviewers of DAWNBench asked for again and again (learning-rate schedule, versions,
 * commits, price evidence): said before they ask. Never part of a verdict. */
#include <string.h>

#include "server/intake/intake_internal.h"

enum { COMMIT_DIGITS_MIN = 7, COMMIT_DIGITS_MAX = 64 };

static struct intake_place place_of(struct judge *judge, const char *field);
static void advise_misc(struct judge *judge);
static void advise_schedule(struct judge *judge, const json_t *misc);
static void advise_code(struct judge *judge);
static void advise_names(struct judge *judge);
static void advise_price(struct judge *judge);
static bool has_key_like(json_t *misc, const char *const *parts, size_t count);
static bool has_digit(const char *text);
static bool is_commit(struct str text);
static bool has_commit_part(const char *url);

void judge_advise(struct judge *judge)
{
    const struct task *task = judge->input->task;

    advise_misc(judge);
    advise_code(judge);
    advise_names(judge);
    advise_price(judge);
    if (str_eq_cstr(STR("imagenet"), task->dataset) && !judge->result->record.has_used_blacklist) {
        const struct intake_place place = place_of(judge, "usedBlacklist");

        judge_add(judge, &place, "blacklist_unstated", "usedBlacklist is not stated");
    }
}

static struct intake_place place_of(struct judge *judge, const char *field)
{
    char *pointer = arena_printf(judge->arena, "/%s", field);
    const struct json_place *found = json_doc_find(judge->doc, pointer == NULL ? "" : pointer);

    judge->no_memory = judge->no_memory || pointer == NULL;
    return (struct intake_place){.file = INTAKE_ENTRY,
                                 .line = found == NULL ? 0 : found->key_line,
                                 .pointer = pointer,
                                 .field = field};
}

static void advise_misc(struct judge *judge)
{
    static const char *const rates[] = {"learning", "lr", "schedule"};
    static const char *const batches[] = {"batch"};
    static const char *const optimizers[] = {"optim"};
    static const char *const momenta[] = {"momentum", "beta"};
    static const char *const decays[] = {"decay", "l2", "regulari"};
    static const char *const versions[] = {"version",  "cuda",  "cudnn",      "driver",
                                           "compiler", "torch", "tensorflow", "environment",
                                           "image",    "ami",   "build"};
    static const char *const commands[] = {"command", "args", "instruction", "script",
                                           "params",  "how",  "reproduc",    "recipe"};
    const struct intake_place place = place_of(judge, "misc");
    json_t *misc = json_object_get(judge->doc->root, "misc");
    bool rate, batch, optimizer, momentum, decay;

    if (misc == NULL || json_is_null(misc) ||
        (json_is_object(misc) && json_object_size(misc) == 0)) {
        judge_add(judge, &place, "misc_empty", "misc is %s", misc == NULL ? "missing" : "empty");
        return;
    }
    if (!json_is_object(misc) || judge->input->task->phase != TASK_TRAIN)
        return;
    if (!has_key_like(misc, versions, ARRAY_LEN(versions)))
        judge_add(judge, &place, "versions_missing", "misc names no version");
    if (!has_key_like(misc, commands, ARRAY_LEN(commands)))
        judge_add(judge, &place, "command_missing", "misc has neither command nor instructions");
    if (json_object_get(misc, "seed") == NULL && json_object_get(misc, "seeds") == NULL)
        judge_add(judge, &place, "seeds_missing", "misc has neither seed nor seeds");
    rate = has_key_like(misc, rates, ARRAY_LEN(rates));
    batch = has_key_like(misc, batches, ARRAY_LEN(batches));
    optimizer = has_key_like(misc, optimizers, ARRAY_LEN(optimizers));
    momentum = has_key_like(misc, momenta, ARRAY_LEN(momenta));
    decay = has_key_like(misc, decays, ARRAY_LEN(decays));
    if (!rate || !batch || !optimizer || !momentum || !decay)
        judge_add(judge, &place, "hyperparameters_missing", "misc does not name:%s%s%s%s%s",
                  rate ? "" : " learning rate", batch ? "" : " batch size",
                  optimizer ? "" : " optimizer", momentum ? "" : " momentum",
                  decay ? "" : " weight decay");
    advise_schedule(judge, misc);
}

static void advise_schedule(struct judge *judge, const json_t *misc)
{
    const json_t *schedule = json_object_get(misc, "schedule");
    const struct json_place *found = json_doc_find(judge->doc, "/misc/schedule");
    const json_t *step;
    size_t i;

    if (!json_is_array(schedule) || json_array_size(schedule) == 0 || found == NULL)
        return;
    json_array_foreach(schedule, i, step)
    {
        const json_t *epochs = json_object_get(step, "epochs");

        if (!json_is_number(epochs))
            return;
        judge->schedule_epochs += json_number_value(epochs);
    }
    judge->schedule_line = found->key_line;
    judge->has_schedule = true; /* judge_combine() holds it against the progress file */
}

static void advise_code(struct judge *judge)
{
    const struct intake_record *record = &judge->result->record;
    const struct intake_place url = place_of(judge, "codeURL");
    const struct intake_place commit = place_of(judge, "commitHash");

    if (record->code_url == NULL) {
        judge_add(judge, &url, "code_missing", "codeURL is not given");
    } else if (!record->code_is_link) {
        judge_add(judge, &url, "code_not_http", "codeURL is not a single http or https address");
    } else if (record->commit_hash == NULL && !has_commit_part(record->code_url)) {
        judge_add(judge, &commit, "commit_missing", "no commit is named");
    }
    if (record->commit_hash != NULL && !is_commit(str_from_cstr(record->commit_hash)))
        judge_add(judge, &commit, "commit_not_hash", "commitHash is not a bare commit hash");
}

static void advise_names(struct judge *judge)
{
    const struct intake_record *record = &judge->result->record;
    const struct intake_place framework = place_of(judge, "framework");
    const struct intake_place hardware = place_of(judge, "hardware");

    if (record->framework != NULL && !has_digit(record->framework))
        judge_add(judge, &framework, "framework_version_missing", "\"%.64s\" has no version",
                  record->framework);
    if (record->hardware != NULL && !has_digit(record->hardware))
        judge_add(judge, &hardware, "hardware_count_missing", "\"%.64s\" has no number",
                  record->hardware);
}

static void advise_price(struct judge *judge)
{
    static const char *const prices[] = {"price", "pricing", "cost", "instance"};
    const struct intake_record *record = &judge->result->record;
    const bool train = judge->input->task->phase == TASK_TRAIN;
    const struct intake_place place = place_of(judge, train ? "costPerHour" : "cost");
    json_t *misc = json_object_get(judge->doc->root, "misc");

    if (train ? !record->has_cost_per_hour : !record->has_cost)
        judge_add(judge, &place, "cost_absent", "%s is not given", place.field);
    else if (!has_key_like(misc, prices, ARRAY_LEN(prices)))
        judge_add(judge, &place, "price_evidence_missing",
                  "misc does not say where the price is from");
}

/* Whether a key of the object holds one of the parts, whatever the case. */
static bool has_key_like(json_t *misc, const char *const *parts, size_t count)
{
    void *at;

    if (!json_is_object(misc))
        return false;
    for (at = json_object_iter(misc); at != NULL; at = json_object_iter_next(misc, at))
        for (size_t i = 0; i < count; i++)
            if (strcasestr(json_object_iter_key(at), parts[i]) != NULL)
                return true;
    return false;
}

static bool has_digit(const char *text)
{
    return strpbrk(text, "0123456789") != NULL;
}

static bool is_commit(struct str text)
{
    if (text.len < COMMIT_DIGITS_MIN || text.len > COMMIT_DIGITS_MAX)
        return false;
    for (size_t i = 0; i < text.len; i++)
        if (strchr("0123456789abcdefABCDEF", text.data[i]) == NULL)
            return false;
    return true;
}

static bool has_commit_part(const char *url)
{
    struct str rest = str_from_cstr(url), part;
    bool more = true;

    while (str_split_next(&rest, &more, '/', &part))
        if (is_commit(part))
            return true;
    return false;
}
