/* server/analysis/generalisation.c: how models do on data that neither training nor tuning has seen, as the submitters'
 * `daybreak-agent evaluate` counted it into misc.generalisation: a list, a model an element.
 *
 *   {"recipe": "cifar10-94", "model_seed": "5", "holdout": true, "sets": [
 *       {"set": "test", "exposure": "unseen", "correct": 9425, "total": 10000}, ..]}
 *
 * A gap is the accuracy on a set less that on the model's first one, which is the validation set, with Newcombe's
 * interval; a set that the model has learnt from has none, and none is measured from one. What is not of this form is
 * left out, and said.
 * Source: Coleman et al., arXiv 1806.01427, section 4 (generalisation); measures.md (generalisation gap). */
#include <assert.h>
#include <string.h>

#include "common/json.h"
#include "common/measure.h"
#include "server/analysis/trials.h"

#define MEMBER     "generalisation"
#define MODELS_MAX 16
#define SETS_MAX   8
#define TEXT_MAX   64
#define COUNT_MAX  (INT64_C(1) << 40)

static const struct table_column columns[] = {
    {"entry", "Entry", TABLE_ENTRY, TABLE_ALWAYS},
    {"trained", "Model", TABLE_TEXT, TABLE_ALWAYS},
    {"set", "Set", TABLE_TEXT, TABLE_ALWAYS},
    {"exposure", "To this model", TABLE_TEXT, TABLE_ALWAYS},
    {"correct", "Correct", TABLE_COUNT, TABLE_MID},
    {"total", "Of", TABLE_COUNT, TABLE_MID},
    {"accuracy", "Accuracy", TABLE_SHARE, TABLE_ALWAYS},
    {"accuracy_low", "From", TABLE_SHARE, TABLE_DATA},
    {"accuracy_high", "To", TABLE_SHARE, TABLE_DATA},
    {"gap", "Gap to the first set", TABLE_SHARE, TABLE_ALWAYS},
    {"gap_low", "From", TABLE_SHARE, TABLE_DATA},
    {"gap_high", "To", TABLE_SHARE, TABLE_DATA},
};

/* One set of one model. */
struct score {
    const char *set, *exposure;
    int64_t correct, total;
    struct measure_share accuracy;
};
struct model {
    const struct entry_record *entry;
    const char *name; /* "seed 5, held out" */
    struct score scores[SETS_MAX];
    size_t count;
    struct model *next;
};

struct summary {
    struct model *first, **end; /* in the order of the entries */
    size_t entries, models, rows, unreadable;
    bool no_memory;
    bool has_worst; /* the gap that is farthest below 0 or, of none below, the least */
    double worst;
    const char *worst_set, *worst_entry;
};

static bool read_model(const json_t *value, struct arena *arena, struct model *model);
static bool read_score(const json_t *value, struct arena *arena, struct score *score);
static void read_models(const struct entry_record *entry, struct arena *arena,
                        struct summary *summary);
static void add_rows(const struct model *model, struct table *table, struct summary *summary);
static const char *make_lead(struct arena *arena, const struct summary *summary);

enum status generalisation_build(const struct trial_entry *entries, size_t count,
                                 struct arena *arena, struct analysis *analysis, struct error *err)
{
    struct table *table = &analysis->parts[0].table;
    struct summary summary = {.end = &summary.first};
    enum status status;

    *analysis = (struct analysis){.part_count = 1};
    analysis->parts[0] = (struct analysis_part){
        .key = "items",
        .title = "Accuracy on data the model has and has not seen",
        .caption = "Counted by the submitters. Trained: the model has learnt from these data, so "
                   "that their accuracy says nothing. Tuned: recipes were chosen by them.",
        .empty = "Nobody has scored a model on unseen data yet.",
        .chart = {.kind = "scatter",
                  .x = "accuracy",
                  .y = "set",
                  .series = "exposure",
                  .x_title = "Accuracy, %"},
    };
    for (size_t i = 0; i < count; i++)
        read_models(entries[i].entry, arena, &summary);
    if (summary.no_memory)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for an analysis");
    status = table_init(table, arena, columns, ARRAY_LEN(columns), summary.rows, err);
    if (status != ST_OK)
        return status;
    for (const struct model *model = summary.first; model != NULL; model = model->next)
        add_rows(model, table, &summary);
    analysis->lead = make_lead(arena, &summary);
    return analysis->lead == NULL ? error_set(err, ST_NO_MEMORY, NULL, "no memory for an analysis")
                                  : ST_OK;
}

static void read_models(const struct entry_record *entry, struct arena *arena,
                        struct summary *summary)
{
    struct json_doc doc = {0};
    const json_t *models, *value;
    size_t index, before = summary->models;

    if (entry->misc_json == NULL || strstr(entry->misc_json, "\"" MEMBER "\"") == NULL ||
        json_doc_parse(str_from_cstr(entry->misc_json), arena, &doc, NULL) != ST_OK)
        return;
    models = json_object_get(doc.root, MEMBER);
    if (models != NULL && (!json_is_array(models) || json_array_size(models) > MODELS_MAX))
        summary->unreadable++;
    else
        json_array_foreach((json_t *)models, index, value)
        {
            struct model *model = ARENA_NEW(arena, struct model);

            if (model == NULL) {
                summary->no_memory = true;
                break;
            }
            if (!read_model(value, arena, model)) {
                summary->unreadable++;
                continue;
            }
            model->entry = entry;
            *summary->end = model;
            summary->end = &model->next;
            summary->rows += model->count;
            summary->models++;
        }
    summary->entries += summary->models > before;
    json_doc_fini(&doc);
}

static const char *copy_text(const json_t *object, const char *key, struct arena *arena)
{
    const char *text = json_string_value(json_object_get(object, key));
    const size_t length = text == NULL ? 0 : strlen(text);

    return length == 0 || length > TEXT_MAX ? NULL : arena_copy(arena, (struct str){text, length});
}

static bool read_model(const json_t *value, struct arena *arena, struct model *model)
{
    const json_t *sets = json_object_get(value, "sets"),
                 *holdout = json_object_get(value, "holdout");
    const char *seed = copy_text(value, "model_seed", arena);
    const json_t *set;
    size_t index;

    *model = (struct model){0};
    if (!json_is_boolean(holdout) || !json_is_array(sets) || json_array_size(sets) == 0 ||
        json_array_size(sets) > SETS_MAX)
        return false;
    model->name =
        arena_printf(arena, "%s%s%s", seed == NULL ? "" : "seed ", seed == NULL ? "one" : seed,
                     json_is_true(holdout) ? ", images held out" : ", all images");
    json_array_foreach((json_t *)sets, index, set)
    {
        if (!read_score(set, arena, &model->scores[model->count++]))
            return false;
    }
    return model->name != NULL;
}

static bool read_score(const json_t *value, struct arena *arena, struct score *score)
{
    static const char *const exposures[] = {"unseen", "tuned", "trained"};
    const char *exposure = json_string_value(json_object_get(value, "exposure"));

    *score = (struct score){.set = copy_text(value, "set", arena),
                            .correct = json_integer_value(json_object_get(value, "correct")),
                            .total = json_integer_value(json_object_get(value, "total"))};
    for (size_t i = 0; exposure != NULL && i < ARRAY_LEN(exposures); i++)
        if (strcmp(exposure, exposures[i]) == 0)
            score->exposure = exposures[i];
    if (score->set == NULL || score->exposure == NULL ||
        !json_is_integer(json_object_get(value, "correct")) || score->correct < 0 ||
        score->total <= 0 || score->total > COUNT_MAX || score->correct > score->total)
        return false;
    score->accuracy = measure_share((size_t)score->correct, (size_t)score->total);
    return true;
}

static void add_rows(const struct model *model, struct table *table, struct summary *summary)
{
    const struct entry_record *entry = model->entry;
    const struct score *first = &model->scores[0];
    bool is_learnt;

    assert(model->count > 0 && first->exposure != NULL);
    is_learnt = strcmp(first->exposure, "trained") == 0;
    for (size_t i = 0; i < model->count; i++) {
        const struct score *score = &model->scores[i];
        const struct measure_share *accuracy = &score->accuracy;
        const struct measure_share gap = measure_gap(accuracy, &first->accuracy);
        const bool has_gap = i > 0 && !is_learnt && strcmp(score->exposure, "trained") != 0;
        struct table_cell *row = table_add_row(table);

        row[0] = cell_id(entry->id, entry->model, entry->author);
        row[1] = cell_text(model->name);
        row[2] = cell_text(score->set);
        row[3] = cell_text(score->exposure);
        row[4] = cell_count(score->correct);
        row[5] = cell_count(score->total);
        row[6] = cell_range(cell_number(accuracy->value), accuracy->low, accuracy->high);
        row[7] = cell_number(accuracy->low);
        row[8] = cell_number(accuracy->high);
        row[9] = cell_if(has_gap, cell_range(cell_number(gap.value), gap.low, gap.high));
        row[10] = cell_if(has_gap, cell_number(gap.low));
        row[11] = cell_if(has_gap, cell_number(gap.high));
        if (has_gap && strcmp(score->exposure, "unseen") == 0 &&
            (!summary->has_worst || gap.value < summary->worst)) {
            summary->has_worst = true;
            summary->worst = gap.value;
            summary->worst_set = score->set;
            summary->worst_entry = entry->model;
        }
    }
}

static const char *make_lead(struct arena *arena, const struct summary *summary)
{
    const char *left_out =
        summary->unreadable == 0
            ? ""
            : arena_printf(arena, " %zu could not be read and %s left out.", summary->unreadable,
                           summary->unreadable == 1 ? "is" : "are");

    if (left_out == NULL)
        return NULL;
    if (summary->models == 0)
        return arena_printf(arena,
                            "No entry says how its model does on unseen data: `daybreak-agent "
                            "evaluate --entry` adds it.%s",
                            left_out);
    if (!summary->has_worst)
        return arena_printf(arena, "%zu model%s scored, on no unseen set beside the first.%s",
                            summary->models, summary->models == 1 ? " was" : "s were", left_out);
    return arena_printf(arena,
                        "%zu model%s of %zu entr%s %s scored; of the gaps on unseen sets the "
                        "lowest is %+.2f points beside the validation set, on %s, with %.*s.%s",
                        summary->models, summary->models == 1 ? "" : "s", summary->entries,
                        summary->entries == 1 ? "y" : "ies", summary->models == 1 ? "was" : "were",
                        100.0 * summary->worst, summary->worst_set,
                        name_cut(summary->worst_entry, NAME_BYTES), summary->worst_entry, left_out);
}
