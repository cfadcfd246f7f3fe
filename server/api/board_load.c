/* server/api/board_load.c: see board_load.h. */
#include "server/api/board_load.h"

#include "common/clock.h"

#define MS_PER_DAY INT64_C(86400000)

static enum status fill_standings(const struct entry_record *record, struct arena *arena,
                                  struct board_entry *entry, struct error *err);

enum status board_fill_entry(const struct entry_record *record, const struct task *task,
                             struct arena *arena, struct board_entry *entry, struct error *err)
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
        .tta_run_count = task_scored(task, record->tta_run_count),
        .has_energy = record->energy_uj.has,
        .energy_uj = record->energy_uj.value,
        .device_kind = record->device_kind,
        .cost_reason = record->cost_reason,
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
    return fill_standings(record, arena, entry, err);
}

enum status board_load(struct store_reader *reader, struct arena *arena, const struct task *task,
                       const struct board_rule *rule, struct board *board, struct error *err)
{
    struct entry_record *records;
    struct board_entry *entries;
    size_t count;
    enum status status =
        store_list_entries(reader, arena, str_from_cstr(task->id), &records, &count, err);

    if (status != ST_OK)
        return status;
    entries = ARENA_NEW_ARRAY(arena, count, struct board_entry);
    if (entries == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for the board");
    for (size_t i = 0; i < count && status == ST_OK; i++)
        status = board_fill_entry(&records[i], task, arena, &entries[i], err);
    return status == ST_OK ? board_rank(task, rule, entries, count, arena, board, err) : status;
}

/* The store has moments; a board asks for days, UTC. */
static enum status fill_standings(const struct entry_record *record, struct arena *arena,
                                  struct board_entry *entry, struct error *err)
{
    struct board_standing *standings =
        ARENA_NEW_ARRAY(arena, record->standing_count, struct board_standing);
    bool padded;

    if (standings == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for the board");
    for (size_t i = 0; i < record->standing_count; i++) {
        const struct standing_record *from = &record->standings[i];
        const enum status status =
            clock_parse_date(str_from_cstr(from->from_date), &standings[i].from_days, &padded, err);

        if (status != ST_OK)
            return status;
        standings[i].has_to = from->to_ms.has;
        standings[i].to_days = from->to_ms.value / MS_PER_DAY;
    }
    entry->standings = standings;
    entry->standing_count = record->standing_count;
    return ST_OK;
}
