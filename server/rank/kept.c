/* server/rank/kept.c: see kept.h. A list is an array of pointers. New rows are sorted among themselves and merged from
 * the back, so that a batch moves each pointer once, however many entries it brings. */
#include "server/rank/kept.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "server/rank/board_internal.h"

/* How a list is ordered; below ORDER_BY_COUNT: as the board of that number. */
enum { ORDER_ID = BOARD_BY_COUNT, ORDER_NAME };

struct list {
    struct board_entry **rows;
    size_t count, capacity;
    int order;
};

struct kept {
    const struct task *task;
    struct list all, ranked[BOARD_BY_COUNT], missing[BOARD_BY_COUNT];
};

static bool copy_entries(const struct board_entry *entries, size_t count,
                         struct board_entry **copies);
static struct board_entry *copy_entry(const struct board_entry *from);
static const char *copy_text(char **at, const char *text);
static size_t text_bytes(const char *text);
static bool reserve_all(struct kept *kept, size_t count);
static bool reserve(struct list *list, size_t count);
static void replace(struct kept *kept, size_t index, struct board_entry *copy);
static struct list *list_of(struct kept *kept, enum board_by by, const struct board_entry *entry);
static void merge(struct list *list, struct board_entry **fresh, size_t count);
static int compare(const struct board_entry *a, const struct board_entry *b, int order);
static int compare_rows(const void *left, const void *right, void *order);
static size_t lower_bound(const struct list *list, const struct board_entry *entry);
static size_t find_id(const struct kept *kept, int64_t entry);
static bool has_value(const struct board_entry *entry, enum board_by by, int64_t value);
static size_t count_better(const struct list *ranked, enum board_by by, int64_t value);
static enum status rank_all(const struct kept *kept, const struct board_rule *rule,
                            struct arena *arena, struct board *board, struct error *err);
static enum status fill_missing(const struct kept *kept, const struct board_rule *rule,
                                struct arena *arena, struct board *board, struct error *err);

enum status kept_create(const struct task *task, struct kept **kept, struct error *err)
{
    struct kept *made = calloc(1, sizeof *made);

    if (made == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for a board");
    made->task = task;
    made->all.order = ORDER_ID;
    for (int by = 0; by < BOARD_BY_COUNT; by++) {
        made->ranked[by].order = by;
        made->missing[by].order = ORDER_NAME;
    }
    *kept = made;
    return ST_OK;
}

void kept_destroy(struct kept *kept)
{
    if (kept == NULL)
        return;
    for (size_t i = 0; i < kept->all.count; i++)
        free(kept->all.rows[i]);
    free(kept->all.rows);
    for (int by = 0; by < BOARD_BY_COUNT; by++) {
        free(kept->ranked[by].rows);
        free(kept->missing[by].rows);
    }
    free(kept);
}

enum status kept_put(struct kept *kept, const struct board_entry *entries, size_t count,
                     struct error *err)
{
    struct board_entry **copies = calloc(count + 1, sizeof(struct board_entry *));
    struct board_entry **fresh = calloc(count + 1, sizeof(struct board_entry *));
    size_t fresh_count = 0;
    enum status status = ST_OK;

    if (copies == NULL || fresh == NULL || !reserve_all(kept, count) ||
        !copy_entries(entries, count, copies)) {
        status = error_set(err, ST_NO_MEMORY, NULL, "no memory for a board");
        goto done;
    }
    for (size_t i = 0; i < count; i++) { /* from here on nothing can fail */
        const size_t index = find_id(kept, copies[i]->entry);

        if (index < kept->all.count && kept->all.rows[index]->entry == copies[i]->entry)
            replace(kept, index, copies[i]);
        else
            fresh[fresh_count++] = copies[i];
    }
    merge(&kept->all, fresh, fresh_count);
    for (int by = 0; by < BOARD_BY_COUNT; by++)
        for (int missing = 0; missing < 2 && board_by_fits((enum board_by)by, kept->task);
             missing++) {
            struct list *list = missing ? &kept->missing[by] : &kept->ranked[by];

            fresh_count = 0;
            for (size_t i = 0; i < count; i++)
                if (list_of(kept, (enum board_by)by, copies[i]) == list)
                    fresh[fresh_count++] = copies[i];
            merge(list, fresh, fresh_count);
        }
done:
    free(copies);
    free(fresh);
    return status;
}

size_t kept_count(const struct kept *kept)
{
    return kept->all.count;
}

const struct board_entry *kept_entry(const struct kept *kept, size_t index)
{
    assert(index < kept->all.count);
    return kept->all.rows[index];
}

enum status kept_rank(const struct kept *kept, const struct board_rule *rule, struct arena *arena,
                      struct board *board, struct error *err)
{
    size_t total;

    if (rule->has_as_of || rule->best == BOARD_BEST_AUTHOR)
        return rank_all(kept, rule, arena, board, err);
    return kept_page(kept, rule->by, 0, SIZE_MAX, arena, board, &total, err);
}

enum status kept_page(const struct kept *kept, enum board_by by, size_t first, size_t count,
                      struct arena *arena, struct board *board, size_t *total, struct error *err)
{
    const struct list *ranked = &kept->ranked[by];
    size_t shown, described;
    int64_t value = 0;
    enum status status = board_check_by(by, kept->task, err);

    if (status != ST_OK)
        return status;
    *board = (struct board){.task = kept->task, .by = by};
    *total = ranked->count;
    first = first < ranked->count ? first : ranked->count;
    shown = count < ranked->count - first ? count : ranked->count - first;
    /* One more where there is one: the last item's tie and its distance to the next depend on it. */
    described = shown + (shown < ranked->count - first);
    board->items = ARENA_NEW_ARRAY(arena, described, struct board_item);
    if (board->items == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "out of memory for the board");
    for (size_t i = 0; i < described; i++)
        board->items[i].row = ranked->rows[first + i];
    board->item_count = described;
    if (described > 0) {
        const size_t better =
            board_value(ranked->rows[first], by, &value) ? count_better(ranked, by, value) : first;

        board_describe_items(board, first, better);
    }
    board->item_count = shown;
    return first > 0 ? ST_OK
                     : fill_missing(kept, &(struct board_rule){.by = by}, arena, board, err);
}

size_t kept_skip(const struct kept *kept, enum board_by by, const struct board_key *key)
{
    const struct board_entry last = board_key_entry(key, by);
    const struct list *ranked = &kept->ranked[by];
    const size_t at = lower_bound(ranked, &last);

    return at < ranked->count && compare(ranked->rows[at], &last, (int)by) == 0 ? at + 1 : at;
}

const struct board_entry *const *kept_ranked(const struct kept *kept, enum board_by by,
                                             size_t *count)
{
    const bool fits = board_by_fits(by, kept->task);

    *count = fits ? kept->ranked[by].count : 0;
    return fits ? (const struct board_entry *const *)kept->ranked[by].rows : NULL;
}

int64_t kept_record(const struct kept *kept, enum board_by by)
{
    size_t count;
    const struct board_entry *const *ranked = kept_ranked(kept, by, &count);
    int64_t value = 0;

    return count > 0 && board_value(ranked[0], by, &value) ? value : 0;
}

size_t kept_place_of(const struct kept *kept, enum board_by by, int64_t value)
{
    return board_by_fits(by, kept->task) ? count_better(&kept->ranked[by], by, value) + 1 : 0;
}

bool kept_preview(const struct kept *kept, enum board_by by, int64_t value,
                  struct kept_place *place)
{
    const struct list *ranked = &kept->ranked[by];
    size_t better;

    if (!board_by_fits(by, kept->task))
        return false;
    better = count_better(ranked, by, value);
    *place = (struct kept_place){
        .place = better + 1,
        .total = ranked->count + 1,
        .tied = better < ranked->count && has_value(ranked->rows[better], by, value),
    };
    return true;
}

bool kept_find(const struct kept *kept, enum board_by by, int64_t entry, struct kept_place *place)
{
    const struct list *ranked = &kept->ranked[by];
    const size_t index = find_id(kept, entry);
    const struct board_entry *row;
    int64_t value;
    size_t at;

    if (index == kept->all.count || kept->all.rows[index]->entry != entry)
        return false;
    row = kept->all.rows[index];
    at = lower_bound(ranked, row);
    if (at == ranked->count || ranked->rows[at] != row || !board_value(row, by, &value))
        return false;
    place->place = count_better(ranked, by, value) + 1;
    place->total = ranked->count;
    place->tied = (at > 0 && has_value(ranked->rows[at - 1], by, value)) ||
                  (at + 1 < ranked->count && has_value(ranked->rows[at + 1], by, value));
    return true;
}

static bool copy_entries(const struct board_entry *entries, size_t count,
                         struct board_entry **copies)
{
    for (size_t i = 0; i < count; i++) {
        copies[i] = copy_entry(&entries[i]);
        if (copies[i] != NULL)
            continue;
        while (i-- > 0)
            free(copies[i]);
        return false;
    }
    return true;
}

/* One block: the entry, its standings, its times, its texts. */
static struct board_entry *copy_entry(const struct board_entry *from)
{
    const size_t standings_bytes = from->standing_count * sizeof *from->standings,
                 runs_bytes = from->tta_run_count * sizeof *from->tta_runs_ns;
    const char *const texts[] = {
        from->name,          from->model,
        from->author,        from->hardware,
        from->framework,     from->latency_text,
        from->cost_text,     from->epoch_text,
        from->accuracy_text, from->cloud,
        from->tier,          from->device_kind,
        from->cost_reason,   from->not_ranked_reason,
    };
    size_t bytes = sizeof *from + standings_bytes + runs_bytes;
    struct board_entry *copy;
    char *at;

    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        bytes += text_bytes(texts[i]);
    copy = malloc(bytes);
    if (copy == NULL)
        return NULL;
    *copy = *from;
    at = (char *)(copy + 1);
    copy->standings =
        memcpy(at, from->standing_count == 0 ? (const void *)"" : from->standings, standings_bytes);
    at += standings_bytes;
    copy->tta_runs_ns =
        memcpy(at, from->tta_run_count == 0 ? (const void *)"" : from->tta_runs_ns, runs_bytes);
    at += runs_bytes;
    copy->name = copy_text(&at, from->name);
    copy->model = copy_text(&at, from->model);
    copy->author = copy_text(&at, from->author);
    copy->hardware = copy_text(&at, from->hardware);
    copy->framework = copy_text(&at, from->framework);
    copy->latency_text = copy_text(&at, from->latency_text);
    copy->cost_text = copy_text(&at, from->cost_text);
    copy->epoch_text = copy_text(&at, from->epoch_text);
    copy->accuracy_text = copy_text(&at, from->accuracy_text);
    copy->cloud = copy_text(&at, from->cloud);
    copy->tier = copy_text(&at, from->tier);
    copy->device_kind = copy_text(&at, from->device_kind);
    copy->cost_reason = copy_text(&at, from->cost_reason);
    copy->not_ranked_reason = copy_text(&at, from->not_ranked_reason);
    assert((size_t)(at - (char *)copy) == bytes);
    return copy;
}

static const char *copy_text(char **at, const char *text)
{
    const size_t bytes = text_bytes(text);
    char *copy = *at;

    if (text == NULL)
        return NULL;
    memcpy(copy, text, bytes);
    *at += bytes;
    return copy;
}

static size_t text_bytes(const char *text)
{
    return text == NULL ? 0 : strlen(text) + 1;
}

static bool reserve_all(struct kept *kept, size_t count)
{
    bool good = reserve(&kept->all, count);

    for (int by = 0; by < BOARD_BY_COUNT; by++)
        good = good && reserve(&kept->ranked[by], count) && reserve(&kept->missing[by], count);
    return good;
}

static bool reserve(struct list *list, size_t count)
{
    const size_t wanted = list->count + count;
    size_t capacity = list->capacity == 0 ? 64 : list->capacity;
    struct board_entry **rows;

    if (wanted <= list->capacity)
        return true;
    while (capacity < wanted)
        capacity *= 2;
    rows = reallocarray(list->rows, capacity, sizeof(struct board_entry *));
    if (rows == NULL)
        return false;
    list->rows = rows;
    list->capacity = capacity;
    return true;
}

/* The new one takes the old one's place among all; on the boards it is put in with the others. */
static void replace(struct kept *kept, size_t index, struct board_entry *copy)
{
    struct board_entry *old = kept->all.rows[index];

    for (int by = 0; by < BOARD_BY_COUNT; by++) {
        struct list *list = list_of(kept, (enum board_by)by, old);
        size_t at;

        if (!board_by_fits((enum board_by)by, kept->task))
            continue;
        at = lower_bound(list, old);
        assert(at < list->count);
        assert(list->rows[at] == old);
        list->count--;
        memmove(list->rows + at, list->rows + at + 1,
                (list->count - at) * sizeof(struct board_entry *));
    }
    kept->all.rows[index] = copy;
    free(old);
}

static struct list *list_of(struct kept *kept, enum board_by by, const struct board_entry *entry)
{
    const struct board_rule rule = {.by = by};

    return board_missing_reason(entry, &rule) == NULL ? &kept->ranked[by] : &kept->missing[by];
}

/* Puts rows in that are not there yet; there is room. From the last one: each moves what is behind it at once. */
static void merge(struct list *list, struct board_entry **fresh, size_t count)
{
    size_t end = list->count;

    qsort_r(fresh, count, sizeof(struct board_entry *), compare_rows, &list->order);
    list->count += count;
    while (count-- > 0) {
        const struct list head = {list->rows, end, 0, list->order};
        const size_t at = lower_bound(&head, fresh[count]);

        memmove(list->rows + at + count + 1, list->rows + at,
                (end - at) * sizeof(struct board_entry *));
        list->rows[at + count] = fresh[count];
        end = at;
    }
}

static int compare(const struct board_entry *a, const struct board_entry *b, int order)
{
    if (order == ORDER_ID)
        return (a->entry > b->entry) - (a->entry < b->entry);
    if (order == ORDER_NAME)
        return board_compare_names(a, b);
    return board_compare(a, b, (enum board_by)order);
}

static int compare_rows(const void *left, const void *right, void *order)
{
    return compare(*(struct board_entry *const *)left, *(struct board_entry *const *)right,
                   *(const int *)order);
}

/* The first row that does not come before the entry. */
static size_t lower_bound(const struct list *list, const struct board_entry *entry)
{
    size_t low = 0, high = list->count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (compare(list->rows[middle], entry, list->order) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static size_t find_id(const struct kept *kept, int64_t entry)
{
    return lower_bound(&kept->all, &(struct board_entry){.entry = entry});
}

static bool has_value(const struct board_entry *entry, enum board_by by, int64_t value)
{
    int64_t own;

    return board_value(entry, by, &own) && own == value;
}

static size_t count_better(const struct list *ranked, enum board_by by, int64_t value)
{
    size_t low = 0, high = ranked->count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        int64_t other = 0;

        (void)board_value(ranked->rows[middle], by, &other);
        if (other < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* A day or the best of each author: ranked anew, from copies that share their texts. */
static enum status rank_all(const struct kept *kept, const struct board_rule *rule,
                            struct arena *arena, struct board *board, struct error *err)
{
    struct board_entry *entries = ARENA_NEW_ARRAY(arena, kept->all.count, struct board_entry);

    if (entries == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "out of memory for the board");
    for (size_t i = 0; i < kept->all.count; i++)
        entries[i] = *kept->all.rows[i];
    return board_rank(kept->task, rule, entries, kept->all.count, arena, board, err);
}

static enum status fill_missing(const struct kept *kept, const struct board_rule *rule,
                                struct arena *arena, struct board *board, struct error *err)
{
    const struct list *missing = &kept->missing[rule->by];

    board->not_ranked = ARENA_NEW_ARRAY(arena, missing->count, struct board_missing);
    if (board->not_ranked == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "out of memory for the board");
    for (size_t i = 0; i < missing->count; i++)
        board->not_ranked[i] =
            (struct board_missing){missing->rows[i], board_missing_reason(missing->rows[i], rule)};
    board->not_ranked_count = missing->count;
    return ST_OK;
}
