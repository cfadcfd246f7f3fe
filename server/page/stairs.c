/* server/page/stairs.c: the record's stairs. The drawing is 360 by 104 units:
 *
 *   left   |      o--+            right
 *   labels |         o-----------
 *          +--2017---2018---2019-- bottom */
#include "server/page/stairs.h"

#include <inttypes.h>
#include <math.h>

#include "common/clock.h"
#include "server/page/format.h"
#include "server/page/measure_view.h"

#define LEFT      68.0
#define RIGHT     354.0
#define TOP       8.0
#define FLOOR     78.0 /* of the curve */
#define BOTTOM    90.0 /* of the years' ticks */
#define YEARS_MAX 16
#define LABEL_GAP 11.0 /* two labels nearer than that would overlap */

struct scale {
    int64_t first_day, last_day; /* whole years */
    double log_best, log_worst;
};

static int64_t year_begin(int year)
{
    char text[CLOCK_TEXT_BYTES];
    int64_t days = 0;
    bool padded;

    snprintf(text, sizeof text, "%04d-01-01", year);
    return clock_parse_date(str_from_cstr(text), &days, &padded, NULL) == ST_OK ? days : 0;
}

static int year_of(int64_t days)
{
    char text[CLOCK_TEXT_BYTES];
    int64_t year = 1970;

    clock_format_days(days, text);
    (void)str_parse_i64((struct str){text, 4}, &year);
    return (int)year;
}

static double x_of(const struct scale *scale, int64_t day)
{
    return LEFT + (RIGHT - LEFT) * (double)(day - scale->first_day) /
                      (double)(scale->last_day - scale->first_day);
}

static double y_of(const struct scale *scale, int64_t value)
{
    return FLOOR - (FLOOR - TOP) * (log((double)value) - scale->log_best) /
                       (scale->log_worst - scale->log_best);
}

void stairs_find_records(const struct board *board,
                         const struct board_entry *records[STAIRS_RECORDS_MAX], size_t *count)
{
    int64_t earliest = INT64_MAX;

    /* From the best down: who came before all that are better held the record. */
    *count = 0;
    for (size_t i = 0; i < board->item_count && *count < STAIRS_RECORDS_MAX; i++) {
        const struct board_entry *entry = board->items[i].row;

        if (entry->date_days >= earliest)
            continue;
        earliest = entry->date_days;
        records[(*count)++] = entry;
    }
    for (size_t i = 0; i < *count / 2; i++) {
        const struct board_entry *swap = records[i];

        records[i] = records[*count - 1 - i];
        records[*count - 1 - i] = swap;
    }
}

static void make_years(struct arena *arena, const struct scale *scale, struct stairs_view *view)
{
    const int first = year_of(scale->first_day), last = year_of(scale->last_day - 1);
    struct axis_mark_view *marks = ARENA_NEW_ARRAY(arena, YEARS_MAX, struct axis_mark_view);
    const int step = (last - first) / 8 + 1;

    for (int year = first; marks != NULL && year <= last && view->years_count < YEARS_MAX;
         year += step) {
        const double x = x_of(scale, year_begin(year));

        marks[view->years_count++] =
            (struct axis_mark_view){.x = format_text(arena, "%.1f", x),
                                    .y = format_text(arena, "%.1f", FLOOR + 4.0),
                                    .label = format_text(arena, "%d", year)};
    }
    view->years = marks;
}

/* The first record, the last, and of those between each whose label has room. */
static void make_values(struct arena *arena, const struct board *board, const struct scale *scale,
                        const struct board_entry *const *records, size_t count,
                        struct stairs_view *view)
{
    struct axis_mark_view *marks = ARENA_NEW_ARRAY(arena, count, struct axis_mark_view);
    double above = -LABEL_GAP;

    for (size_t i = 0; marks != NULL && i < count; i++) {
        int64_t value = 1;
        double y;

        (void)board_value(records[i], board->by, &value);
        y = y_of(scale, value);
        if (i > 0 && i + 1 < count && (y - above < LABEL_GAP || FLOOR - y < LABEL_GAP))
            continue;
        above = y;
        marks[view->values_count++] =
            (struct axis_mark_view){.x = format_text(arena, "%.1f", LEFT - 5.0),
                                    .y = format_text(arena, "%.1f", y),
                                    .label = measure_shown(arena, board->by, value)};
    }
    view->values = marks;
}

static void make_steps(struct arena *arena, const struct board *board, const struct scale *scale,
                       const struct board_entry *const *records, size_t count,
                       struct stairs_view *view)
{
    struct stair_view *steps = ARENA_NEW_ARRAY(arena, count, struct stair_view);
    struct buf path;
    const char *copy;

    buf_init(&path, (size_t)64 * STAIRS_RECORDS_MAX);
    for (size_t i = 0; steps != NULL && i < count; i++) {
        const double x = x_of(scale, records[i]->date_days);
        char date[CLOCK_TEXT_BYTES];
        struct str shown;
        int64_t value = 1;

        (void)board_value(records[i], board->by, &value);
        shown = measure_shown(arena, board->by, value);
        clock_format_days(records[i]->date_days, date);
        buf_appendf(&path, i == 0 ? "M%.1f %.1f" : "H%.1fV%.1f", x, y_of(scale, value));
        steps[i] = (struct stair_view){
            .x = format_text(arena, "%.1f", x),
            .y = format_text(arena, "%.1f", y_of(scale, value)),
            .title = format_text(arena, "%s: %.*s, %s", date, STR_ARG(shown),
                                 records[i]->model == NULL ? records[i]->name : records[i]->model),
        };
    }
    buf_appendf(&path, "H%.1f", RIGHT);
    copy = path.failed ? NULL : arena_copy(arena, buf_str(&path));
    buf_fini(&path);
    view->path = str_from_cstr(copy);
    view->steps = steps;
    view->steps_count = steps == NULL ? 0 : count;
}

bool stairs_make(struct arena *arena, const struct board *board, struct stairs_view *view)
{
    const struct board_entry *records[STAIRS_RECORDS_MAX];
    int64_t best = 0, worst = 0, last = 0;
    struct scale scale;
    size_t count;

    stairs_find_records(board, records, &count);
    if (count < 2 || !board_value(records[0], board->by, &worst) ||
        !board_value(records[count - 1], board->by, &best) || best <= 0)
        return false;
    for (size_t i = 0; i < board->item_count; i++)
        if (board->items[i].row->date_days > last)
            last = board->items[i].row->date_days;
    scale = (struct scale){
        .first_day = year_begin(year_of(records[0]->date_days)),
        .last_day = year_begin(year_of(last) + 1),
        .log_best = log((double)best),
        .log_worst = log((double)worst),
    };
    *view = (struct stairs_view){
        .viewbox = STR("0 0 360 104"),
        .left = format_text(arena, "%.1f", LEFT),
        .right = format_text(arena, "%.1f", RIGHT),
        .bottom = format_text(arena, "%.1f", BOTTOM),
        .label = format_text(arena, "The record fell in %zu steps from %.*s to %.*s", count - 1,
                             STR_ARG(measure_shown(arena, board->by, worst)),
                             STR_ARG(measure_shown(arena, board->by, best))),
    };
    make_years(arena, &scale, view);
    make_values(arena, board, &scale, records, count, view);
    make_steps(arena, board, &scale, records, count, view);
    return true;
}
