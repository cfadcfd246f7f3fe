/* server/rank/board.c: see board.h. */
#include "server/rank/board.h"

#include <stdlib.h>
#include <string.h>

#include "common/measure.h"
#include "server/rank/board_internal.h"

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

static bool stood_on(const struct board_entry *entry, int64_t days);
static enum status keep_bests(struct board *board, struct arena *arena, struct error *err);
static const char *author_of(const struct board_entry *entry);
static int compare_authors(const void *left, const void *right);
static int compare_time(const void *left, const void *right);
static int compare_cost(const void *left, const void *right);
static int compare_latency(const void *left, const void *right);
static int compare_inference_cost(const void *left, const void *right);
static int compare_energy(const void *left, const void *right);
static int compare_items(const void *left, const void *right, enum board_by by);
static int compare_missing(const void *left, const void *right);
static void give_places(struct board *board, size_t first, size_t better);
static void compare_spreads(struct board *board);
static struct measure_spread spread_of(const struct board_entry *entry);

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

enum status board_rank(const struct task *task, const struct board_rule *rule,
                       const struct board_entry *entries, size_t count, struct arena *arena,
                       struct board *board, struct error *err)
{
    const enum board_by by = rule->by;
    enum status status = board_check_by(by, task, err);

    if (status != ST_OK)
        return status;
    if (count > BOARD_ENTRIES_MAX)
        return error_set(err, ST_LIMIT, NULL, "the task has more than %d entries",
                         BOARD_ENTRIES_MAX);
    *board = (struct board){.task = task, .by = by};
    board->items = ARENA_NEW_ARRAY(arena, count, struct board_item);
    board->not_ranked = ARENA_NEW_ARRAY(arena, count, struct board_missing);
    if (board->items == NULL || board->not_ranked == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "out of memory for the board");
    for (size_t i = 0; i < count; i++) {
        const char *reason;

        if (rule->has_as_of && !stood_on(&entries[i], rule->as_of_days))
            continue;
        reason = board_missing_reason(&entries[i], rule);
        if (reason == NULL)
            board->items[board->item_count++].row = &entries[i];
        else
            board->not_ranked[board->not_ranked_count++] =
                (struct board_missing){&entries[i], reason};
    }
    qsort(board->items, board->item_count, sizeof *board->items, comparisons[by]);
    if (rule->best == BOARD_BEST_AUTHOR)
        status = keep_bests(board, arena, err);
    qsort(board->not_ranked, board->not_ranked_count, sizeof *board->not_ranked, compare_missing);
    board_describe_items(board, 0, 0);
    return status;
}

struct board_key board_key_of(const struct board_item *item, enum board_by by)
{
    struct board_key key = {
        .date_days = item->row->date_days, .name = item->row->name, .entry = item->row->entry};

    (void)board_value(item->row, by, &key.value);
    return key;
}

struct board_entry board_key_entry(const struct board_key *key, enum board_by by)
{
    struct board_entry entry = {
        .entry = key->entry, .name = key->name, .date_days = key->date_days};

    switch (by) {
    case BOARD_TIME: entry.tta_ns = key->value; break;
    case BOARD_COST:
    case BOARD_INFERENCE_COST: entry.cost_pico = key->value; break;
    case BOARD_LATENCY: entry.latency_ns = key->value; break;
    case BOARD_ENERGY: entry.energy_uj = key->value; break;
    }
    return entry;
}

size_t board_skip(const struct board *board, const struct board_key *key)
{
    const struct board_entry last = board_key_entry(key, board->by);
    size_t low = 0, high = board->item_count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (board_compare(board->items[middle].row, &last, board->by) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int board_compare(const struct board_entry *a, const struct board_entry *b, enum board_by by)
{
    int64_t a_value = 0, b_value = 0;

    (void)board_value(a, by, &a_value);
    (void)board_value(b, by, &b_value);
    if (a_value != b_value)
        return a_value < b_value ? -1 : 1;
    if (a->date_days != b->date_days)
        return a->date_days < b->date_days ? -1 : 1;
    return board_compare_names(a, b);
}

/* By name, then id: a withdrawn entry may have left its name to another. */
int board_compare_names(const struct board_entry *a, const struct board_entry *b)
{
    const int order = strcmp(a->name, b->name);

    if (order != 0)
        return order;
    return (a->entry > b->entry) - (a->entry < b->entry);
}

const char *board_missing_reason(const struct board_entry *entry, const struct board_rule *rule)
{
    const enum board_by by = rule->by;
    int64_t value;

    if (!rule->has_as_of && entry->not_ranked_reason != NULL)
        return entry->not_ranked_reason;
    if ((by == BOARD_COST || by == BOARD_INFERENCE_COST) && entry->cost_reason != NULL)
        return entry->cost_reason;
    if (board_value(entry, by, &value))
        return NULL;
    if (by != BOARD_TIME && kinds[by].phase == TASK_TRAIN &&
        !board_value(entry, BOARD_TIME, &value))
        return kinds[BOARD_TIME].missing;
    return kinds[by].missing;
}

enum status board_check_by(enum board_by by, const struct task *task, struct error *err)
{
    if (board_by_fits(by, task))
        return ST_OK;
    return error_set_code(err, ST_INVALID, "no-such-board", "by", NULL,
                          "%s has no board by %s: it is %s task", task->id, kinds[by].name,
                          task->phase == TASK_TRAIN ? "a training" : "an inference");
}

void board_describe_items(struct board *board, size_t first, size_t better)
{
    give_places(board, first, better);
    compare_spreads(board);
}

static bool stood_on(const struct board_entry *entry, int64_t days)
{
    for (size_t i = 0; i < entry->standing_count; i++) {
        const struct board_standing *standing = &entry->standings[i];

        if (standing->from_days <= days && (!standing->has_to || days < standing->to_days))
            return true;
    }
    return false;
}

/* Leaves of each author's items the first, in their order, and lists the others below the board. The items' pointers
 * are sorted by author and address, which is the board's order: the first of each author is the one that stays. */
static enum status keep_bests(struct board *board, struct arena *arena, struct error *err)
{
    struct board_item **by_author = ARENA_NEW_ARRAY(arena, board->item_count, struct board_item *);
    struct board_item *best = NULL;
    size_t kept = 0;

    if (by_author == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "out of memory for the board");
    for (size_t i = 0; i < board->item_count; i++)
        by_author[i] = &board->items[i];
    qsort(by_author, board->item_count, sizeof(struct board_item *), compare_authors);
    for (size_t i = 0; i < board->item_count; i++) {
        struct board_item *item = by_author[i];
        const char *reason;

        if (best == NULL || strcmp(author_of(best->row), author_of(item->row)) != 0) {
            best = item;
            continue;
        }
        reason = arena_printf(arena, "%s of the same author is ahead of it", best->row->name);
        if (reason == NULL)
            return error_set(err, ST_NO_MEMORY, NULL, "out of memory for the board");
        board->not_ranked[board->not_ranked_count++] = (struct board_missing){item->row, reason};
        item->place = SIZE_MAX; /* it goes */
    }
    for (size_t i = 0; i < board->item_count; i++)
        if (board->items[i].place != SIZE_MAX)
            board->items[kept++] = board->items[i];
    board->item_count = kept;
    return ST_OK;
}

static const char *author_of(const struct board_entry *entry)
{
    return entry->author == NULL ? "" : entry->author;
}

static int compare_authors(const void *left, const void *right)
{
    const struct board_item *a = *(struct board_item *const *)left;
    const struct board_item *b = *(struct board_item *const *)right;
    const int order = strcmp(author_of(a->row), author_of(b->row));

    return order != 0 ? order : (a > b) - (a < b);
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
    return board_compare(((const struct board_item *)left)->row,
                         ((const struct board_item *)right)->row, by);
}

static int compare_missing(const void *left, const void *right)
{
    return board_compare_names(((const struct board_missing *)left)->row,
                               ((const struct board_missing *)right)->row);
}

static void give_places(struct board *board, size_t first, size_t better)
{
    int64_t before = 0, value = 0;

    for (size_t i = 0; i < board->item_count; i++, before = value) {
        struct board_item *item = &board->items[i];

        (void)board_value(item->row, board->by, &value);
        if (i == 0) {
            item->place = better + 1;
            item->tied = better < first;
        } else if (value == before) {
            item->place = item[-1].place;
            item->tied = item[-1].tied = true;
        } else {
            item->place = first + i + 1;
        }
    }
}

/* measures.md: entries of two runs or more whose 95 % intervals overlap are not separable from the next. */
static void compare_spreads(struct board *board)
{
    double next_low = 0.0, next_high = 0.0;
    bool has_next = false;

    for (size_t i = board->item_count; i-- > 0;) { /* from the last one: each interval once */
        struct board_item *item = &board->items[i];
        const struct measure_spread spread = spread_of(item->row);
        double low = 0.0, high = 0.0;

        item->has_cv = spread.count >= 2;
        item->cv = spread.cv;
        if (board->by != BOARD_TIME)
            continue;
        if (item->has_cv)
            measure_mean_interval(&spread, &low, &high);
        item->has_separable = item->has_cv && has_next;
        /* On either side: a board by the median may order two otherwise than their means. */
        item->separable_from_next = item->has_separable && (high < next_low || next_high < low);
        has_next = item->has_cv;
        next_low = low;
        next_high = high;
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
