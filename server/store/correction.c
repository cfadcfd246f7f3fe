/* server/store/correction.c: corrections and renames of entries by reviewers, and the settings of tasks: changes by
 * hand, each kept with its reason and what was there before. */
#include <inttypes.h>
#include <stdio.h>

#include "common/decimal.h"
#include "server/price/quote.h"
#include "server/store/store_internal.h"
#include "server/store/verbs.h"

/* What an entry says now. */
struct corrigible {
    const char *values[CORRECT_COUNT]; /* NULL: it has none */
    const char *tta_hours_text;
    struct opt_i64 tta_ns;
};

static enum status read_corrigible(struct db *db, struct arena *arena, int64_t entry_id,
                                   struct corrigible *now, struct error *err);
static enum status check_name(struct db *db, const struct subject *subject, const char *name,
                              struct error *err);
static enum status keep_edit(struct db *db, const struct correct_entry *correct, int64_t entry_id,
                             size_t field, const char *before, struct error *err);
static enum status write_corrigible(struct db *db, int64_t entry_id, const struct corrigible *now,
                                    struct error *err);
static enum status write_cost(struct db *db, int64_t entry_id, const struct corrigible *now,
                              struct error *err);

const char *correction_name(enum correction correction)
{
    static const char *const names[CORRECT_COUNT] = {
        [CORRECT_NAME] = "name",
        [CORRECT_AUTHOR] = "author",
        [CORRECT_MODEL] = "model",
        [CORRECT_HARDWARE] = "hardware",
        [CORRECT_FRAMEWORK] = "framework",
        [CORRECT_CODE_URL] = "code_url",
        [CORRECT_COST_PER_HOUR] = "cost_usd_per_hour",
        [CORRECT_DEVICE_KIND] = "device_kind",
        [CORRECT_DEVICE_MODEL] = "device_model",
        [CORRECT_DEVICES] = "devices",
        [CORRECT_NODES] = "nodes",
        [CORRECT_CLOUD] = "cloud",
    };

    return names[correction];
}

enum status verb_correct_entry(struct db *db, struct arena *arena, void *args, struct error *err)
{
    const struct correct_entry *correct = args;
    char topic[TOPIC_BYTES_MAX];
    struct corrigible now;
    struct subject subject;
    bool changed = false, priced = false;
    enum status status = db_find_subject(db, arena, correct->submission_id, &subject, err);

    if (status != ST_OK)
        return status;
    (void)snprintf(topic, sizeof topic, "submission:%" PRId64, subject.id);
    status = db_check_if_match(db, topic, topic, correct->if_match, err);
    if (status == ST_OK)
        status = read_corrigible(db, arena, subject.entry_id, &now, err);
    if (status == ST_OK && correct->fields[CORRECT_NAME].has)
        status = check_name(db, &subject, correct->fields[CORRECT_NAME].value, err);
    for (size_t i = 0; i < CORRECT_COUNT && status == ST_OK; i++) {
        const char *before = now.values[i], *value = correct->fields[i].value;

        if (!correct->fields[i].has || (before == NULL && value == NULL) ||
            (before != NULL && value != NULL && strcmp(before, value) == 0))
            continue;
        status = keep_edit(db, correct, subject.entry_id, i, before, err);
        now.values[i] = value;
        changed = true;
        priced = priced || i == CORRECT_COST_PER_HOUR;
    }
    if (status != ST_OK || !changed)
        return status;
    status = write_corrigible(db, subject.entry_id, &now, err);
    if (status == ST_OK && priced)
        status = write_cost(db, subject.entry_id, &now, err);
    if (status == ST_OK)
        status = db_note_submission(db, subject.id, "correction", subject.id, err);
    return status == ST_OK ? db_note_board(db, subject.task, subject.entry_id, err) : status;
}

enum status verb_set_task(struct db *db, struct arena *arena, void *args, struct error *err)
{
    const struct set_task *set = args;
    struct query_run run;
    struct task_setting now;
    char topic[TOPIC_BYTES_MAX];
    enum status status;

    (void)snprintf(topic, sizeof topic, "task:%s", set->task->id);
    status = db_check_if_match(db, topic, set->etag_name, set->if_match, err);
    if (status == ST_OK)
        status = db_get_task_setting(db, arena, set->task, &now, err);
    if (status != ST_OK)
        return status;
    run = query_begin(db, STMT_INSERT_TASK_SETTING, NULL);
    query_bind_text(&run, set->task->id);
    query_bind_text(&run, task_policy_name(set->has_policy ? set->policy : now.policy));
    query_bind_text(&run, task_review_name(set->has_review ? set->review : now.review));
    query_bind_text(&run, set->reason);
    query_bind_i64(&run, set->by.token_id);
    query_bind_i64(&run, db->now_ms);
    status = query_done(&run, err);
    return status == ST_OK
               ? db_note_change(db, topic, "task", sqlite3_last_insert_rowid(db->handle), err)
               : status;
}

static enum status read_corrigible(struct db *db, struct arena *arena, int64_t entry_id,
                                   struct corrigible *now, struct error *err)
{
    struct query_run run = query_begin(db, STMT_FIND_CORRIGIBLE, arena);
    enum status status;

    query_bind_i64(&run, entry_id);
    status = query_row(&run, err);
    if (status != ST_OK)
        return status;
    for (size_t i = 0; i < CORRECT_COUNT; i++)
        now->values[i] = query_text(&run);
    now->tta_hours_text = query_text(&run);
    now->tta_ns = query_opt(&run);
    return query_end(&run, err);
}

static enum status check_name(struct db *db, const struct subject *subject, const char *name,
                              struct error *err)
{
    struct query_run run = query_begin(db, STMT_FIND_NAME, NULL);
    int64_t other = 0;
    enum status status;

    query_bind_text(&run, subject->task);
    query_bind_text(&run, name);
    query_bind_i64(&run, subject->entry_lineage_id);
    status = query_row(&run, err);
    if (status == ST_OK)
        other = query_i64(&run);
    else if (status != ST_NOT_FOUND)
        return status;
    status = query_end(&run, err);
    if (status == ST_OK && other != 0)
        return error_set_code(err, ST_CONFLICT, "name-taken", "/name", "Choose another name.",
                              "entry %" PRId64 " of %s has the name %s", other, subject->task,
                              name);
    return status;
}

static enum status keep_edit(struct db *db, const struct correct_entry *correct, int64_t entry_id,
                             size_t field, const char *before, struct error *err)
{
    struct query_run run = query_begin(db, STMT_INSERT_ENTRY_EDIT, NULL);

    query_bind_i64(&run, entry_id);
    query_bind_i64(&run, db->now_ms);
    query_bind_i64(&run, correct->by.token_id);
    query_bind_text(&run, correction_name((enum correction)field));
    query_bind_text(&run, before);
    query_bind_text(&run, correct->fields[field].value);
    query_bind_text(&run, correct->reason);
    return query_done(&run, err);
}

static enum status write_corrigible(struct db *db, int64_t entry_id, const struct corrigible *now,
                                    struct error *err)
{
    struct query_run run = query_begin(db, STMT_SET_CORRIGIBLE, NULL);

    query_bind_i64(&run, entry_id);
    for (size_t i = 0; i < CORRECT_COUNT; i++)
        query_bind_text(&run, now->values[i]); /* STRICT columns of integers take digits as such */
    return query_done(&run, err);
}

/* Hours to the target times the corrected price: from the exact text of a progress file, where there is one. */
static enum status write_cost(struct db *db, int64_t entry_id, const struct corrigible *now,
                              struct error *err)
{
    struct query_run run = query_begin(db, STMT_SET_CORRECTED_COST, NULL);
    const char *price_text = now->values[CORRECT_COST_PER_HOUR];
    struct decimal hours, price;
    struct opt_i64 cost = {0};

    if (price_text != NULL && now->tta_ns.has && now->tta_hours_text != NULL)
        cost.has =
            decimal_parse(str_from_cstr(now->tta_hours_text), true, &hours, NULL, NULL) == ST_OK &&
            decimal_parse(str_from_cstr(price_text), false, &price, NULL, NULL) == ST_OK &&
            decimal_scale_product(hours, price, PICO_PER_USD, &cost.value, NULL) == ST_OK;
    else if (price_text != NULL && now->tta_ns.has)
        cost.has = price_cost_text(now->tta_ns.value, price_text, &cost.value);
    query_bind_i64(&run, entry_id);
    query_bind_opt(&run, cost);
    return query_done(&run, err);
}
