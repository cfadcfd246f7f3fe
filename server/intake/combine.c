/* server/intake/combine.c: what the files of a submission say together: the time that its runs score and what it
 * cost, and runs that look the same. */
#include <assert.h>
#include <string.h>

#include "common/decimal.h"
#include "common/entry.h"
#include "server/intake/intake_internal.h"
#include "server/price/quote.h"
#include "server/rank/score.h"

static void take_score(struct judge *judge);
static bool score_is_known(const struct judge *judge);
static void take_shown(struct judge *judge, const struct score *score);
static void judge_cost(struct judge *judge);
static void judge_schedule(struct judge *judge);
static void judge_equal_logs(struct judge *judge);
static bool read_seeds(struct judge *judge, const json_t *misc, struct intake_place *place,
                       const char **seeds, size_t *count);
static const char *seed_text(struct judge *judge, const char *pointer, const json_t *value);

void judge_combine(struct judge *judge)
{
    struct intake_record *record = &judge->result->record;

    record->runs = judge->runs;
    record->run_count = judge->input->progress_count;
    if (score_is_known(judge))
        take_score(judge);
    judge_cost(judge);
    judge_schedule(judge);
    judge_equal_logs(judge);
}

void judge_seeds(struct judge *judge, const json_t *misc)
{
    const size_t run_count = judge->input->progress_count;
    struct intake_place place = {.file = INTAKE_ENTRY, .field = "misc"};
    const char *seeds[ENTRY_RUNS_MAX] = {0};
    size_t count = 0;

    if (!read_seeds(judge, misc, &place, seeds, &count))
        return;
    for (size_t i = 1; i < count; i++)
        for (size_t k = 0; k < i; k++) {
            assert(seeds[i] != NULL && seeds[k] != NULL); /* as many as were counted */
            if (strcmp(seeds[i], seeds[k]) == 0) {
                judge_add(judge, &place, "equal_seeds", "runs %zu and %zu have the seed %.64s",
                          k + 1, i + 1, seeds[i]);
                break;
            }
        }
    if (run_count > 0 && count != run_count)
        judge_add(judge, &place, "seeds_unclear", "misc states %zu seeds for %zu runs", count,
                  run_count);
    else
        for (size_t i = 0; i < run_count; i++)
            judge->runs[i].seed_text = seeds[i];
}

/* False: none are stated, or not in a form that is understood, which is then said. */
static bool read_seeds(struct judge *judge, const json_t *misc, struct intake_place *place,
                       const char **seeds, size_t *count)
{
    const json_t *value = json_object_get(misc, "seeds"), *item;
    const bool is_list = value != NULL;
    const struct json_place *found;
    size_t i;

    place->pointer = is_list ? "/misc/seeds" : "/misc/seed";
    if (!is_list)
        value = json_object_get(misc, "seed");
    found = json_doc_find(judge->doc, place->pointer);
    if (value == NULL || found == NULL)
        return false;
    place->line = found->key_line;
    if (!is_list && judge->input->progress_count > 1) {
        judge_add(judge, place, "seeds_unclear", "misc.seed is one seed, there are %zu runs",
                  judge->input->progress_count);
        return false;
    }
    if (!is_list) {
        seeds[0] = seed_text(judge, place->pointer, value);
        *count = 1;
        return seeds[0] != NULL; /* what else stands under this name is the submitter's own */
    }
    if (!json_is_array(value) || json_array_size(value) > ENTRY_RUNS_MAX) {
        judge_add(judge, place, "seeds_unclear", "misc.seeds is not a list of up to %d seeds",
                  ENTRY_RUNS_MAX);
        return false;
    }
    json_array_foreach(value, i, item)
    {
        char *pointer = arena_printf(judge->arena, "/misc/seeds/%zu", i);

        seeds[i] = pointer == NULL ? NULL : seed_text(judge, pointer, item);
        if (seeds[i] == NULL) {
            judge_add(judge, place, "seeds_unclear",
                      "seed %zu of misc.seeds is no integer and no text", i + 1);
            return false;
        }
    }
    *count = json_array_size(value);
    return *count > 0;
}

/* A seed as it was written; NULL: neither an integer nor a text that is not blank. */
static const char *seed_text(struct judge *judge, const char *pointer, const json_t *value)
{
    const struct json_place *found = json_doc_find(judge->doc, pointer);
    const char *text;

    if (json_is_string(value)) {
        text = judge_clean_text(judge,
                                (struct str){json_string_value(value), json_string_length(value)});
        return text[0] == '\0' || strlen(text) > INTAKE_TEXT_BYTES_MAX ? NULL : text;
    }
    if (found == NULL || !json_is_number(value) || found->raw.len > INTAKE_TEXT_BYTES_MAX)
        return NULL;
    for (size_t i = 0; i < found->raw.len; i++) /* 64 bits and more: no matter how it is read */
        if (strchr("-0123456789", found->raw.data[i]) == NULL)
            return NULL;
    return judge_copy(judge, found->raw);
}

/* Every run reached the target or is known to have missed it. */
static bool score_is_known(const struct judge *judge)
{
    const size_t count = judge->input->progress_count;

    for (size_t i = 0; i < count; i++)
        if (!judge->runs[i].reached && !judge->runs[i].missed)
            return false;
    return count > 0;
}

static void take_score(struct judge *judge)
{
    const struct task *task = judge->input->task;
    const size_t count = judge->input->progress_count;
    const struct intake_place place = {
        .file = INTAKE_PROGRESS, .all_runs = true, .field = task->metric};
    struct score_run runs[ENTRY_RUNS_MAX] = {0};
    struct score score;
    size_t missed = 0;

    for (size_t i = 0; i < count; i++) {
        runs[i] = (struct score_run){judge->runs[i].reached, judge->runs[i].tta_ns};
        missed += !judge->runs[i].reached;
    }
    score = score_runs(task->score, runs, count);
    if (score.has)
        take_shown(judge, &score);
    else if (count > 1)
        judge_add(judge, &place, "threshold_not_reached",
                  "%zu of %zu runs missed the target: the %s of all is then no time", missed, count,
                  task->score == TASK_SCORE_OLYMPIC ? "mean without the fastest and the slowest"
                                                    : task_score_name(task->score));
}

static void take_shown(struct judge *judge, const struct score *score)
{
    struct intake_record *record = &judge->result->record;
    const struct intake_run *run = &judge->runs[score->shown];

    record->has_tta = true;
    record->tta_ns = score->tta_ns;
    record->tta_hours_text = run->tta_ns == score->tta_ns ? run->tta_hours_text : NULL;
    record->shown_run = score->shown;
    record->has_accuracy = true;
    record->accuracy = run->accuracy;
    record->accuracy_text = run->accuracy_text;
}

static void judge_cost(struct judge *judge)
{
    struct intake_record *record = &judge->result->record;
    const struct intake_place place = {.file = INTAKE_ENTRY, .field = "costPerHour"};
    struct decimal hours, price;

    if (!record->has_tta || !record->has_cost_per_hour)
        return;
    if (record->tta_hours_text == NULL) /* between two runs: there is no text of it */
        record->has_cost =
            price_cost_text(record->tta_ns, record->cost_per_hour_text, &record->cost_pico);
    else if (decimal_parse(str_from_cstr(record->cost_per_hour_text), false, &price, NULL, NULL) ==
                 ST_OK &&
             decimal_parse(str_from_cstr(record->tta_hours_text), true, &hours, NULL, NULL) ==
                 ST_OK)
        record->has_cost =
            decimal_scale_product(hours, price, PICO_PER_USD, &record->cost_pico, NULL) == ST_OK;
    if (!record->has_cost)
        judge_add(judge, &place, "out_of_range", "hours x costPerHour is too large to be a cost");
}

/* dawn-bench-entries#4: a schedule is a list of steps whose epochs add up to those of the progress file. */
static void judge_schedule(struct judge *judge)
{
    const struct intake_record *record = &judge->result->record;
    const struct intake_run *run;
    const struct intake_place place = {.file = INTAKE_ENTRY,
                                       .line = judge->schedule_line,
                                       .pointer = "/misc/schedule",
                                       .field = "misc"};
    double epochs;

    if (!judge->has_schedule || !record->has_tta)
        return;
    run = &record->runs[record->shown_run];
    epochs = run->rows[run->row_count - 1].epoch + run->epoch_count - run->epoch;
    if (judge->schedule_epochs < epochs - 0.5 || judge->schedule_epochs > epochs + 0.5)
        judge_add(judge, &place, "schedule_epochs_differ",
                  "the steps of misc.schedule last %g epochs, the progress file has %g",
                  judge->schedule_epochs, epochs);
}

/* Two runs never take the same time to the last digit in every row: one file is the other's copy. Nothing forbids
 * it by itself, so it is told, kept with the entry and shown, and a reviewer decides. */
static void judge_equal_logs(struct judge *judge)
{
    const struct intake_place place = {.file = INTAKE_PROGRESS};

    for (size_t i = 1; i < judge->input->progress_count; i++) {
        const struct intake_run *run = &judge->runs[i];

        judge->run_index = i;
        for (size_t k = 0; k < i && run->row_count > 0; k++) {
            const struct intake_run *other = &judge->runs[k];

            if (other->row_count == 0 ||
                memcmp(run->rows_sha256, other->rows_sha256, SHA256_BYTES) != 0)
                continue;
            judge_add(judge, &place, "equal_logs", "%s",
                      memcmp(run->bytes_sha256, other->bytes_sha256, SHA256_BYTES) == 0
                          ? "the file is, byte for byte, that of another run of this entry"
                          : "the rows say what those of another run of this entry say");
            break;
        }
    }
    judge->run_index = 0;
}
