/* server/rank/board.c: see board.h. */
#include "server/rank/board.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/measure.h"

struct board_kind {
    const char *name, *unit;
    enum task_phase phase;
    const char *missing; /* why an entry without the value is not ranked */
};

static const struct board_kind kinds[] = {
    [BOARD_TIME] = {"time", "s", TASK_TRAIN, "has not reached the target"},
    [BOARD_COST] = {"cost", "USD", TASK_TRAIN, "no costPerHour was given"},
    [BOARD_LATENCY] = {"latency", "ms", TASK_INFERENCE, "no latency was given"},
    [BOARD_INFERENCE_COST] = {"inference-cost", "USD", TASK_INFERENCE, "no cost was given"},
    [BOARD_ENERGY] = {"energy", "J", TASK_TRAIN, "its device has no energy counter"},
};

static const char *missing_reason(const struct board_entry *entry, enum board_by by);
static int compare_time(const void *left, const void *right);
static int compare_cost(const void *left, const void *right);
static int compare_latency(const void *left, const void *right);
static int compare_inference_cost(const void *left, const void *right);
static int compare_energy(const void *left, const void *right);
static int compare_items(const void *left, const void *right, enum board_by by);
static int compare_names(const struct board_entry *a, const struct board_entry *b);
static int compare_missing(const void *left, const void *right);
static void give_places(struct board *board);
static void compare_spreads(struct board *board);
static struct measure_spread spread_of(const struct board_entry *entry);
static double half_interval(const struct measure_spread *spread);

static int (*const comparisons[])(const void *, const void *) = {
    [BOARD_TIME] = compare_time,       [BOARD_COST] = compare_cost,
    [BOARD_LATENCY] = compare_latency, [BOARD_INFERENCE_COST] = compare_inference_cost,
    [BOARD_ENERGY] = compare_energy,
};

bool board_by_parse(struct str text, enum board_by *by)
{
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (str_eq_cstr(text, kinds[i].name)) {
            *by = (enum board_by)i;
            return true;
        }
    return false;
}

const char *board_by_name(enum board_by by)
{
    return kinds[by].name;
}

const char *board_by_unit(enum board_by by)
{
    return kinds[by].unit;
}

bool board_by_fits(enum board_by by, const struct task *task)
{
    return kinds[by].phase == task->phase;
}

bool board_value(const struct board_entry *entry, enum board_by by, int64_t *value)
{
    switch (by) {
    case BOARD_TIME: *value = entry->tta_ns; return entry->has_tta;
    case BOARD_COST:
    case BOARD_INFERENCE_COST: *value = entry->cost_pico; return entry->has_cost;
    case BOARD_LATENCY: *value = entry->latency_ns; return entry->has_latency;
    case BOARD_ENERGY: *value = entry->energy_uj; return entry->has_energy;
    }
    return false;
}

enum status board_build(const struct task *task, enum board_by by,
                        const struct board_entry *entries, size_t count, struct arena *arena,
                        struct board *board, struct error *err)
{
    int64_t value;

    if (!board_by_fits(by, task))
        return error_set_code(err, ST_INVALID, "no_such_board", "by", NULL,
                              "%s has no board by %s: it is %s task", task->id, kinds[by].name,
                              task->phase == TASK_TRAIN ? "a training" : "an inference");
    if (count > BOARD_ENTRIES_MAX)
        return error_set(err, ST_LIMIT, NULL, "the task has more than %d entries",
                         BOARD_ENTRIES_MAX);
    *board = (struct board){.task = task, .by = by};
    board->items = ARENA_NEW_ARRAY(arena, count, struct board_item);
    board->not_ranked = ARENA_NEW_ARRAY(arena, count, struct board_missing);
    if (board->items == NULL || board->not_ranked == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "out of memory for the board");
    for (size_t i = 0; i < count; i++) {
        if (entries[i].not_ranked_reason == NULL && board_value(&entries[i], by, &value))
            board->items[board->item_count++].row = &entries[i];
        else
            board->not_ranked[board->not_ranked_count++] =
                (struct board_missing){&entries[i], missing_reason(&entries[i], by)};
    }
    qsort(board->items, board->item_count, sizeof *board->items, comparisons[by]);
    qsort(board->not_ranked, board->not_ranked_count, sizeof *board->not_ranked, compare_missing);
    give_places(board);
    compare_spreads(board);
    return ST_OK;
}

size_t board_place_of(const struct board *board, int64_t value)
{
    size_t low = 0, high = board->item_count;

    while (low < high) { /* the first item that is not better */
        const size_t middle = low + (high - low) / 2;
        int64_t other = 0;

        (void)board_value(board->items[middle].row, board->by, &other);
        if (other < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low + 1;
}

static const char *missing_reason(const struct board_entry *entry, enum board_by by)
{
    int64_t value;

    if (entry->not_ranked_reason != NULL)
        return entry->not_ranked_reason;
    if (by != BOARD_TIME && kinds[by].phase == TASK_TRAIN &&
        !board_value(entry, BOARD_TIME, &value))
        return kinds[BOARD_TIME].missing;
    return kinds[by].missing;
}

/* qsort() passes no context, and a board is sorted by one of five values: one function each. */
static int compare_time(const void *left, const void *right)
{
    return compare_items(left, right, BOARD_TIME);
}

static int compare_cost(const void *left, const void *right)
{
    return compare_items(left, right, BOARD_COST);
}

static int compare_latency(const void *left, const void *right)
{
    return compare_items(left, right, BOARD_LATENCY);
}

static int compare_inference_cost(const void *left, const void *right)
{
    return compare_items(left, right, BOARD_INFERENCE_COST);
}

static int compare_energy(const void *left, const void *right)
{
    return compare_items(left, right, BOARD_ENERGY);
}

static int compare_items(const void *left, const void *right, enum board_by by)
{
    const struct board_entry *a = ((const struct board_item *)left)->row;
    const struct board_entry *b = ((const struct board_item *)right)->row;
    int64_t a_value = 0, b_value = 0;

    (void)board_value(a, by, &a_value);
    (void)board_value(b, by, &b_value);
    if (a_value != b_value)
        return a_value < b_value ? -1 : 1;
    if (a->date_days != b->date_days)
        return a->date_days < b->date_days ? -1 : 1;
    return compare_names(a, b);
}

/* By name, then id: a withdrawn entry may have left its name to another. */
static int compare_names(const struct board_entry *a, const struct board_entry *b)
{
    const int order = strcmp(a->name, b->name);

    if (order != 0)
        return order;
    return (a->entry > b->entry) - (a->entry < b->entry);
}

static int compare_missing(const void *left, const void *right)
{
    return compare_names(((const struct board_missing *)left)->row,
                         ((const struct board_missing *)right)->row);
}

static void give_places(struct board *board)
{
    int64_t before = 0, value = 0;

    for (size_t i = 0; i < board->item_count; i++, before = value) {
        struct board_item *item = &board->items[i];

        (void)board_value(item->row, board->by, &value);
        item->place = i + 1;
        if (i > 0 && value == before) {
            item->place = item[-1].place;
            item->tied = item[-1].tied = true;
        }
    }
}

/* measures.md: entries of two runs or more whose 95 % intervals overlap are not separable from the next. */
static void compare_spreads(struct board *board)
{
    for (size_t i = 0; i < board->item_count; i++) {
        struct board_item *item = &board->items[i];
        const struct measure_spread spread = spread_of(item->row);
        struct measure_spread next;

        if (spread.count < 2)
            continue;
        item->has_cv = true;
        item->cv = spread.cv;
        if (board->by != BOARD_TIME || i + 1 == board->item_count)
            continue;
        next = spread_of(item[1].row);
        if (next.count < 2)
            continue;
        item->has_separable = true;
        item->separable_from_next =
            spread.mean + half_interval(&spread) < next.mean - half_interval(&next);
    }
}

static struct measure_spread spread_of(const struct board_entry *entry)
{
    struct measure_spread spread = {0};
    double values[BOARD_RUNS_MAX];

    if (entry->tta_run_count < 2 || entry->tta_run_count > BOARD_RUNS_MAX)
        return spread;
    for (size_t i = 0; i < entry->tta_run_count; i++)
        values[i] = (double)entry->tta_runs_ns[i];
    return measure_spread(values, entry->tta_run_count);
}

/* Half of the mean's 95 % interval: t(0.975; n - 1) s / sqrt(n). The quantile of Student's t comes from its
 * Cornish-Fisher expansion around the normal's (Abramowitz and Stegun 26.7.5), whose error is below 0.1 % from
 * four degrees of freedom on; below that the exact values stand here. */
static double half_interval(const struct measure_spread *spread)
{
    static const double exact[] = {0.0, 12.706204736, 4.302652730, 3.182446305};
    const double z = 1.959963984540054, n = (double)spread->count, f = n - 1.0;
    double t;

    if (spread->count - 1 < ARRAY_LEN(exact)) {
        t = exact[spread->count - 1];
    } else {
        const double z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;

        t = z + (z3 + z) / (4.0 * f) + (5.0 * z5 + 16.0 * z3 + 3.0 * z) / (96.0 * f * f) +
            (3.0 * z7 + 19.0 * z5 + 17.0 * z3 - 15.0 * z) / (384.0 * f * f * f);
    }
    return t * spread->deviation / sqrt(n);
}
