/* server/page/records_view.c: who held a board's record when. */
#include "server/page/records_view.h"

#include <inttypes.h>

#include "common/clock.h"
#include "server/page/format.h"
#include "server/page/layout.h"
#include "server/page/measure_view.h"

#define P_SHOWN_MIN 0.001

static struct record_row_view make_row(struct arena *arena, enum board_by by,
                                       const struct record *records, size_t index);
static struct str day(struct arena *arena, int64_t days);

struct records_view records_make(struct arena *arena, const struct task *task, enum board_by by,
                                 const struct record *records, size_t count)
{
    struct record_row_view *rows = ARENA_NEW_ARRAY(arena, count, struct record_row_view);
    struct records_view view = {
        .value_title = str_from_cstr(measure_title(by)),
        .rows = rows,
        .rows_count = rows == NULL ? 0 : count,
        .json_href =
            format_text(arena, "/v1/leaderboards/%s/records?by=%s", task->id, board_by_name(by)),
    };

    for (size_t i = 0; i < view.rows_count; i++) {
        rows[count - 1 - i] = make_row(arena, by, records, i);
        view.tested = view.tested || records[i].has_welch;
    }
    return view;
}

static struct record_row_view make_row(struct arena *arena, enum board_by by,
                                       const struct record *records, size_t index)
{
    const struct record *record = &records[index];
    const struct board_entry *entry = record->row;
    struct record_row_view row = {
        .entry = format_text(arena, "%" PRId64, entry->entry),
        .href = format_text(arena, "/entries/%" PRId64, entry->entry),
        .model = layout_either(entry->model, entry->name),
        .author = layout_text(entry->author),
        .from = day(arena, record->from_days),
        .to = record->has_to ? day(arena, record->to_days) : STR(""),
        .shown = measure_shown(arena, by, record->value),
        .exact = measure_exact(arena, by, entry),
        .title = measure_with_unit(arena, by, entry),
    };

    if (record->has_before && record->improvement > 0.0) {
        row.factor = format_ratio(arena, records[index - 1].value, record->value);
        if (record->improvement < 1.0)
            row.remark = STR("the better one no longer stands");
    }
    if (record->has_welch)
        row.p = record->welch.p < P_SHOWN_MIN ? format_text(arena, "< %g", P_SHOWN_MIN)
                                              : format_text(arena, "%.3f", record->welch.p);
    return row;
}

static struct str day(struct arena *arena, int64_t days)
{
    char date[CLOCK_TEXT_BYTES];

    clock_format_days(days, date);
    return format_text(arena, "%s", date);
}
