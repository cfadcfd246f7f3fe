/* server/page/measure_view.c: a board's value as a cell shows it. */
#include "server/page/measure_view.h"

#include <math.h>

#include "server/page/format.h"

struct measure_range measure_range_of(const struct board *board)
{
    struct measure_range range = {.by = board->by};

    if (board->item_count == 0 || !board_value(board->items[0].row, board->by, &range.best) ||
        !board_value(board->items[board->item_count - 1].row, board->by, &range.worst))
        return (struct measure_range){.by = board->by};
    range.logarithmic = range.best > 0 && range.worst / MEASURE_LINEAR_MAX > range.best;
    return range;
}

struct str measure_shown(struct arena *arena, enum board_by by, int64_t value)
{
    switch (by) {
    case BOARD_TIME: return format_duration(arena, value);
    case BOARD_LATENCY: return format_latency(arena, value);
    case BOARD_COST: return format_money(arena, value);
    case BOARD_INFERENCE_COST: return format_money_per_million(arena, value);
    case BOARD_ENERGY: break;
    }
    return format_energy(arena, value);
}

const char *measure_title(enum board_by by)
{
    static const char *const titles[] = {
        [BOARD_TIME] = "Time",       [BOARD_COST] = "Cost",
        [BOARD_LATENCY] = "Latency", [BOARD_INFERENCE_COST] = "Cost of 1M items",
        [BOARD_ENERGY] = "Energy",
    };

    return titles[by];
}

const char *measure_how(enum board_by by)
{
    static const char *const addresses[] = {
        [BOARD_TIME] = "/docs/measures#time-to-accuracy",
        [BOARD_COST] = "/docs/measures#cost",
        [BOARD_LATENCY] = "/docs/measures#latency",
        [BOARD_INFERENCE_COST] = "/docs/measures#cost-of-an-item",
        [BOARD_ENERGY] = "/docs/measures#energy",
    };

    return addresses[by];
}

struct str measure_exact(struct arena *arena, enum board_by by, const struct board_entry *entry)
{
    int64_t value;

    if (!board_value(entry, by, &value))
        return STR("");
    switch (by) {
    case BOARD_TIME: return format_exact(arena, value, 9);
    case BOARD_LATENCY:
        return entry->latency_text != NULL ? str_from_cstr(entry->latency_text)
                                           : format_exact(arena, value, 6);
    case BOARD_COST:
    case BOARD_INFERENCE_COST:
        return entry->cost_text != NULL ? str_from_cstr(entry->cost_text)
                                        : format_exact(arena, value, 12);
    case BOARD_ENERGY: break;
    }
    return format_exact(arena, value, 6);
}

static const char *exact_unit(enum board_by by)
{
    switch (by) {
    case BOARD_TIME: return "s";
    case BOARD_LATENCY: return "ms for one item";
    case BOARD_COST: return "USD";
    case BOARD_INFERENCE_COST: return "USD for one item";
    case BOARD_ENERGY: break;
    }
    return "J";
}

struct str measure_with_unit(struct arena *arena, enum board_by by, const struct board_entry *entry)
{
    const struct str exact = measure_exact(arena, by, entry);

    return exact.len == 0 ? exact : format_text(arena, "%.*s %s", STR_ARG(exact), exact_unit(by));
}

/* 0 to 100. A bar that is there is at least a sliver. */
static double bar_length(const struct measure_range *range, int64_t value)
{
    double length;

    if (range->logarithmic)
        length = 100.0 * log((double)value / (double)range->best) /
                 log((double)range->worst / (double)range->best);
    else
        length = range->worst > 0 ? 100.0 * (double)value / (double)range->worst : 0.0;
    return fmin(100.0, fmax(1.0, length));
}

struct measure_view measure_make(struct arena *arena, enum board_by by,
                                 const struct board_entry *entry, const struct measure_range *range)
{
    struct measure_view view = {.ranks = by == range->by};
    int64_t value;

    if (!board_value(entry, by, &value))
        return view;
    view.shown = measure_shown(arena, by, value);
    view.exact = measure_with_unit(arena, by, entry);
    if (view.ranks && range->best > 0) {
        view.ratio = format_ratio(arena, value, range->best);
        view.bar = format_text(arena, "%.1f", bar_length(range, value));
    }
    return view;
}
