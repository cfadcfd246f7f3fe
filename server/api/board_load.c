/* server/api/board_load.c: see board_load.h. */
#include "server/api/board_load.h"

#include "common/clock.h"

static bool is_shown(const struct entry_record *record, bool has_as_of, int64_t as_of_days);

void board_fill_entry(const struct entry_record *record, struct board_entry *entry)
{
    struct error ignored = {0};
    bool padded;

    *entry = (struct board_entry){
        .entry = record->id,
        .name = record->name,
        .has_run = record->run_id.has,
        .run = record->run_id.value,
        .model = record->model,
        .author = record->author,
        .hardware = record->hardware,
        .framework = record->framework,
        .has_tta = record->tta_ns.has,
        .tta_ns = record->tta_ns.value,
        .has_wall = record->wall_ns.has,
        .wall_ns = record->wall_ns.value,
        .has_latency = record->latency_ns.has,
        .latency_ns = record->latency_ns.value,
        .latency_text = record->latency_ms_text,
        .epoch_text = record->epoch_text,
        .accuracy_text = record->accuracy_text,
        .has_views = record->views.has,
        .views = record->views.value,
        .has_devices = record->devices.has,
        .devices = record->devices.value,
        .has_n = record->run_count > 0,
        .n = record->run_count,
        .cloud = record->cloud,
        .tier = record->tier,
        .tta_runs_ns = record->tta_runs_ns,
        .tta_run_count = record->tta_run_count,
        .not_ranked_reason = record->reason[0] == '\0' ? NULL : record->reason,
    };
    if (record->inference_cost_pico.has) {
        entry->has_cost = true;
        entry->cost_pico = record->inference_cost_pico.value;
        entry->cost_text = record->inference_cost_text;
    } else if (record->cost_pico.has) {
        entry->has_cost = true;
        entry->cost_pico = record->cost_pico.value;
    }
    if (record->entry_date != NULL)
        (void)clock_parse_date(str_from_cstr(record->entry_date), &entry->date_days, &padded,
                               &ignored);
}

enum status board_load(struct store_reader *reader, struct arena *arena, const struct task *task,
                       enum board_by by, bool has_as_of, int64_t as_of_days, struct board *board,
                       struct error *err)
{
    struct entry_record *records;
    struct board_entry *entries;
    size_t record_count, count = 0;
    enum status status =
        store_list_entries(reader, arena, str_from_cstr(task->id), &records, &record_count, err);

    if (status != ST_OK)
        return status;
    entries = ARENA_NEW_ARRAY(arena, record_count, struct board_entry);
    if (entries == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for the board");
    for (size_t i = 0; i < record_count; i++)
        if (is_shown(&records[i], has_as_of, as_of_days))
            board_fill_entry(&records[i], &entries[count++]);
    return board_build(task, by, entries, count, arena, board, err);
}

/* Without a date (not accepted yet) an entry is shown, below the board, only as things stand now. */
static bool is_shown(const struct entry_record *record, bool has_as_of, int64_t as_of_days)
{
    struct error ignored = {0};
    int64_t date_days;
    bool padded;

    return !has_as_of || (record->entry_date != NULL &&
                          clock_parse_date(str_from_cstr(record->entry_date), &date_days, &padded,
                                           &ignored) == ST_OK &&
                          date_days <= as_of_days);
}
