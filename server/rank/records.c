/* server/rank/records.c: see records.h. From the best entry on, each takes of the days in which it stood those that
 * nobody better has taken. What is free is mostly one stretch, before all that was taken. */
#include "server/rank/records.h"

#include <stdlib.h>
#include <string.h>

#include "server/rank/board_internal.h"

/* Days from..to, `to` not among them. */
struct stretch {
    int64_t from, to;
};

struct work {
    struct arena *arena;
    enum board_by by;
    struct stretch *free;
    size_t free_count, free_capacity;
    struct record *records;
    size_t count, capacity;
};

static enum status list_valued(const struct kept *kept, enum board_by by, struct arena *arena,
                               const struct board_entry ***rows, size_t *count, struct error *err);
static int compare_rows(const void *left, const void *right, void *by);
static bool take_days(struct work *work, const struct board_entry *row, struct stretch stood);
static bool add_free(struct work *work, struct stretch stretch);
static bool add_record(struct work *work, const struct board_entry *row, struct stretch held);
static void *grow(struct arena *arena, void *from, size_t count, size_t *capacity, size_t size);
static int compare_records(const void *left, const void *right);
static size_t join_neighbours(struct record *records, size_t count);
static void compare_neighbours(struct record *records, size_t count, enum board_by by);
static struct measure_spread spread_of(const struct board_entry *row);

enum status records_list(const struct kept *kept, const struct task *task, enum board_by by,
                         struct arena *arena, struct record **records, size_t *count,
                         struct error *err)
{
    struct work work = {.arena = arena, .by = by};
    const struct board_entry **rows;
    size_t row_count;
    bool good;
    enum status status = board_check_by(by, task, err);

    if (status == ST_OK)
        status = list_valued(kept, by, arena, &rows, &row_count, err);
    if (status != ST_OK)
        return status;
    good = add_free(&work, (struct stretch){INT64_MIN, INT64_MAX});
    for (size_t i = 0; i < row_count && good; i++)
        for (size_t s = 0; s < rows[i]->standing_count && good; s++) {
            const struct board_standing *standing = &rows[i]->standings[s];

            good = take_days(&work, rows[i],
                             (struct stretch){standing->from_days,
                                              standing->has_to ? standing->to_days : INT64_MAX});
        }
    if (!good)
        return error_set(err, ST_NO_MEMORY, NULL, "out of memory for the records");
    if (work.count > 0)
        qsort(work.records, work.count, sizeof *work.records, compare_records);
    *count = join_neighbours(work.records, work.count);
    *records = work.records;
    compare_neighbours(*records, *count, by);
    return ST_OK;
}

/* All that have a value, whatever became of them since, in the board's order. */
static enum status list_valued(const struct kept *kept, enum board_by by, struct arena *arena,
                               const struct board_entry ***rows, size_t *count, struct error *err)
{
    const struct board_rule rule = {.by = by, .has_as_of = true};
    int order = (int)by;

    *count = 0;
    *rows = ARENA_NEW_ARRAY(arena, kept_count(kept), const struct board_entry *);
    if (*rows == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "out of memory for the records");
    for (size_t i = 0; i < kept_count(kept); i++)
        if (board_missing_reason(kept_entry(kept, i), &rule) == NULL)
            (*rows)[(*count)++] = kept_entry(kept, i);
    qsort_r(*rows, *count, sizeof(const struct board_entry *), compare_rows, &order);
    return ST_OK;
}

static int compare_rows(const void *left, const void *right, void *by)
{
    return board_compare(*(const struct board_entry *const *)left,
                         *(const struct board_entry *const *)right, (enum board_by) * (int *)by);
}

/* What it takes of a free stretch leaves up to two: before and behind. */
static bool take_days(struct work *work, const struct board_entry *row, struct stretch stood)
{
    for (size_t i = 0; i < work->free_count;) {
        const struct stretch free = work->free[i];
        const struct stretch held = {free.from > stood.from ? free.from : stood.from,
                                     free.to < stood.to ? free.to : stood.to};

        if (held.from >= held.to) {
            i++;
            continue;
        }
        work->free[i] = work->free[--work->free_count];
        if ((free.from < held.from && !add_free(work, (struct stretch){free.from, held.from})) ||
            (held.to < free.to && !add_free(work, (struct stretch){held.to, free.to})) ||
            !add_record(work, row, held))
            return false;
    }
    return true;
}

static bool add_free(struct work *work, struct stretch stretch)
{
    work->free =
        grow(work->arena, work->free, work->free_count, &work->free_capacity, sizeof *work->free);
    if (work->free == NULL)
        return false;
    work->free[work->free_count++] = stretch;
    return true;
}

static bool add_record(struct work *work, const struct board_entry *row, struct stretch held)
{
    struct record record = {
        .row = row, .from_days = held.from, .has_to = held.to != INT64_MAX, .to_days = held.to};

    (void)board_value(row, work->by, &record.value);
    work->records =
        grow(work->arena, work->records, work->count, &work->capacity, sizeof *work->records);
    if (work->records == NULL)
        return false;
    work->records[work->count++] = record;
    return true;
}

/* Room for one more. */
static void *grow(struct arena *arena, void *from, size_t count, size_t *capacity, size_t size)
{
    void *more;

    if (count < *capacity)
        return from;
    *capacity = *capacity == 0 ? 16 : *capacity * 2;
    more = arena_alloc(arena, *capacity, size);
    if (more != NULL && count > 0)
        memcpy(more, from, count * size);
    return more;
}

static int compare_records(const void *left, const void *right)
{
    const struct record *a = left, *b = right;

    return (a->from_days > b->from_days) - (a->from_days < b->from_days);
}

/* One that held it in two stretches without a day between held it once. */
static size_t join_neighbours(struct record *records, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        struct record *last = kept > 0 ? &records[kept - 1] : NULL;

        if (last != NULL && last->row == records[i].row && last->has_to &&
            last->to_days == records[i].from_days) {
            last->has_to = records[i].has_to;
            last->to_days = records[i].to_days;
        } else {
            records[kept++] = records[i];
        }
    }
    return kept;
}

static void compare_neighbours(struct record *records, size_t count, enum board_by by)
{
    for (size_t i = 1; i < count; i++) {
        struct record *record = &records[i];
        const struct record *before = &records[i - 1];
        struct measure_spread faster, slower;

        record->has_before = before->has_to && before->to_days == record->from_days;
        if (!record->has_before)
            continue;
        record->improvement =
            record->value > 0 ? (double)before->value / (double)record->value : 0.0;
        faster = spread_of(record->row);
        slower = spread_of(before->row);
        record->has_welch = by == BOARD_TIME && measure_welch(&faster, &slower, &record->welch);
    }
}

static struct measure_spread spread_of(const struct board_entry *row)
{
    double values[BOARD_RUNS_MAX];
    const size_t count = row->tta_run_count > BOARD_RUNS_MAX ? 0 : row->tta_run_count;

    for (size_t i = 0; i < count; i++)
        values[i] = (double)row->tta_runs_ns[i];
    return measure_spread(values, count);
}
