/* server/api/accept.c: see accept.h. */
#include "server/api/accept.h"

#include <assert.h>
#include <string.h>

#include "common/decimal.h"
#include "common/entry.h"
#include "common/text.h"

static enum status fill_runs(const struct task *task, const struct intake_record *record,
                             struct arena *arena, struct new_entry *entry, struct error *err);
static enum status fill_run(const struct task *task, const struct intake_run *from, bool several,
                            struct arena *arena, struct new_run *run, struct error *err);
static const char *write_extras(const struct task *task, const struct intake_row *row,
                                struct arena *arena);
static const char *without_addresses(struct arena *arena, const char *text, bool *lost);
static struct opt_i64 optional(bool has, int64_t value);

enum status accept_check_name(struct str name, struct error *err)
{
    uint32_t hidden;
    bool good = name.len > 0 && name.len <= ENTRY_NAME_BYTES_MAX && str_is_utf8(name) &&
                !text_is_blank(name) && !text_find_hidden(name, &hidden) && name.data[0] != '.' &&
                name.data[0] != ' ' && name.data[name.len - 1] != ' ';

    for (size_t i = 0; i < name.len && good; i++)
        good = (unsigned char)name.data[i] >= ' ' && name.data[i] != 0x7F && name.data[i] != '/' &&
               name.data[i] != '\\';
    if (good)
        return ST_OK;
    return error_set_code(
        err, ST_INVALID, "bad_name", "name",
        "name the files after what was run: model, hardware, framework",
        "an entry's name has 1 to %d bytes of UTF-8 without slashes, control "
        "bytes, characters that nobody sees, blanks at its ends or a point in front",
        ENTRY_NAME_BYTES_MAX);
}

enum status accept_fill_entry(const struct task *task, struct str name,
                              const struct intake_record *record,
                              const struct accept_facets *facets, struct arena *arena,
                              struct new_entry *entry, struct error *err)
{
    const bool train = task->phase == TASK_TRAIN;
    bool lost = false;
    enum status status = accept_check_name(name, err);

    if (status != ST_OK)
        return status;
    assert(record->author != NULL && record->hardware != NULL); /* intake found no error */
    assert(train ? record->has_tta : record->has_latency);
    *entry = (struct new_entry){
        .task = task,
        .name = name,
        .model = without_addresses(arena, record->model, &lost),
        .author = without_addresses(arena, record->author, &lost),
        .hardware = without_addresses(arena, record->hardware, &lost),
        .framework = without_addresses(arena, record->framework, &lost),
        .code_url = record->code_url,
        .claimed_date = record->date_text,
        .cost_per_hour_text = record->cost_per_hour_text,
        .accuracy_text = record->accuracy_text,
        .tta_ns = optional(train && record->has_tta, record->tta_ns),
        .cost_pico = optional(train && record->has_cost, record->cost_pico),
        .latency_ns = optional(!train && record->has_latency, record->latency_ns),
        .inference_cost_pico = optional(!train && record->has_cost, record->cost_pico),
        .tta_hours_text = record->tta_hours_text,
        .latency_ms_text = record->latency_text,
        .inference_cost_text = train ? NULL : record->cost_text,
        .misc_json = without_addresses(arena, record->misc_json, &lost),
        .extra_json = without_addresses(arena, record->extra_json, &lost),
    };
    if (lost)
        return error_set(err, ST_NO_MEMORY, NULL, "out of memory for an entry");
    if (facets != NULL) {
        entry->device_kind = facets->device_kind;
        entry->device_model = facets->device_model;
        entry->cloud = facets->cloud;
        entry->devices = facets->devices;
        entry->nodes = facets->nodes;
    }
    if (facets == NULL) { /* history has facets written by hand in its place */
        price_claim_read(entry->misc_json, arena, &entry->claim);
        entry->nodes = optional(entry->claim.nodes > 0, entry->claim.nodes);
    }
    return train ? fill_runs(task, record, arena, entry, err) : ST_OK;
}

static enum status fill_runs(const struct task *task, const struct intake_record *record,
                             struct arena *arena, struct new_entry *entry, struct error *err)
{
    const struct intake_run *shown = &record->runs[record->shown_run];
    struct new_run *runs = ARENA_NEW_ARRAY(arena, record->run_count, struct new_run);
    enum status status = ST_OK;

    entry->epoch_text = arena_copy(arena, shown->rows[shown->crossing_index].epoch_text);
    entry->epoch_count_text = shown->epoch_count > shown->epoch
                                  ? arena_printf(arena, "%.15g", shown->epoch_count)
                                  : entry->epoch_text;
    if (runs == NULL || entry->epoch_text == NULL || entry->epoch_count_text == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "out of memory for the runs");
    for (size_t i = 0; i < record->run_count && status == ST_OK; i++)
        status = fill_run(task, &record->runs[i], record->run_count > 1, arena, &runs[i], err);
    entry->runs = runs;
    entry->run_count = record->run_count;
    entry->shown_run = record->shown_run;
    return status;
}

static enum status fill_run(const struct task *task, const struct intake_run *from, bool several,
                            struct arena *arena, struct new_run *run, struct error *err)
{
    struct new_epoch *epochs = ARENA_NEW_ARRAY(arena, from->row_count, struct new_epoch);
    bool lost = epochs == NULL;

    *run = (struct new_run){.file_name = several ? from->file_name : NULL,
                            .seed_text = without_addresses(arena, from->seed_text, &lost),
                            .tta_ns = optional(from->reached, from->tta_ns),
                            .epochs = epochs,
                            .epoch_count = from->row_count,
                            .crossing_index = from->crossing_index};
    memcpy(run->progress_sha256, from->bytes_sha256, SHA256_BYTES);
    memcpy(run->rows_sha256, from->rows_sha256, SHA256_BYTES);
    if (from->reached) {
        run->accuracy_text = from->accuracy_text;
        run->epoch_text = arena_copy(arena, from->rows[from->crossing_index].epoch_text);
        lost = lost || run->epoch_text == NULL;
    }
    for (size_t i = 0; i < from->row_count && !lost; i++) {
        const struct intake_row *row = &from->rows[i];

        epochs[i] = (struct new_epoch){.label = row->epoch_text,
                                       .value_text = row->metric_text,
                                       .official_ns = row->elapsed_ns};
        if (task->column_count == 0)
            continue;
        epochs[i].extra_json = write_extras(task, row, arena);
        lost = epochs[i].extra_json == NULL;
    }
    return lost ? error_set(err, ST_NO_MEMORY, NULL, "out of memory for the epochs") : ST_OK;
}

/* {"top1Accuracy":47.07}; NULL when memory ran out. */
static const char *write_extras(const struct task *task, const struct intake_row *row,
                                struct arena *arena)
{
    const char *copy = NULL;
    struct buf out;

    buf_init(&out, 4096);
    for (size_t i = 0; i < task->column_count; i++) {
        buf_append_char(&out, i == 0 ? '{' : ',');
        buf_append_json(&out, str_from_cstr(task->columns[i]));
        buf_append_char(&out, ':');
        decimal_append_json(&out, row->extras[i]);
    }
    buf_append_char(&out, '}');
    if (!out.failed)
        copy = arena_copy(arena, buf_str(&out));
    buf_fini(&out);
    return copy;
}

/* Whatever is shown comes from here: an address stays in the file that was sent (web.md, Rules). */
static const char *without_addresses(struct arena *arena, const char *text, bool *lost)
{
    const char *copy = NULL;
    struct buf out;

    if (text == NULL)
        return NULL;
    buf_init(&out, (size_t)4 * ENTRY_FILE_BYTES_MAX);
    entry_append_without_addresses(&out, str_from_cstr(text));
    if (!out.failed)
        copy = arena_copy(arena, buf_str(&out));
    buf_fini(&out);
    *lost = *lost || copy == NULL;
    return copy;
}

static struct opt_i64 optional(bool has, int64_t value)
{
    return (struct opt_i64){has, has ? value : 0};
}
