/* server/rank/find.c: see find.h. A walk over all entries: a hundred thousand of them take some ten milliseconds, which
 * an index of every part of every word would not be worth. */
#include "server/rank/find.h"

#include <stdlib.h>
#include <string.h>

#include "server/rank/board_internal.h"
#include "server/rank/filter.h"

static bool fits(const struct find_wish *wish, const struct board_entry *entry);
static void place_row(const struct kept *kept, struct found_entry *row);
static int compare_found(const void *a, const void *b);

void find_split_words(struct str text, struct find_wish *wish)
{
    bool more = true;
    struct str word;

    while (wish->word_count < FIND_WORDS_MAX && str_split_next(&text, &more, ' ', &word)) {
        word = str_trim(word);
        if (word.len > 0)
            wish->words[wish->word_count++] = word;
    }
}

bool find_has_words(const struct find_wish *wish, const char *const *texts, size_t count)
{
    for (size_t w = 0; w < wish->word_count; w++) {
        size_t i = 0;

        while (i < count && !filter_has_part(texts[i], wish->words[w]))
            i++;
        if (i == count)
            return false;
    }
    return true;
}

enum status find_entries(const struct task_table *tasks, const struct kept *const *kept,
                         const struct find_wish *wish, struct arena *arena,
                         struct found_entry **rows, size_t *count, struct error *err)
{
    size_t total = 0;

    *count = 0;
    for (size_t t = 0; t < tasks->count; t++)
        total += kept_count(kept[t]);
    *rows = ARENA_NEW_ARRAY(arena, total, struct found_entry);
    if (*rows == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for what was found");
    for (size_t t = 0; t < tasks->count; t++)
        for (size_t i = 0; i < kept_count(kept[t]); i++) {
            const struct board_entry *entry = kept_entry(kept[t], i);

            if (!fits(wish, entry))
                continue;
            (*rows)[*count] =
                (struct found_entry){.task = &tasks->tasks[t], .entry = entry, .task_order = t};
            place_row(kept[t], &(*rows)[(*count)++]);
        }
    qsort(*rows, *count, sizeof **rows, compare_found);
    return ST_OK;
}

static bool fits(const struct find_wish *wish, const struct board_entry *entry)
{
    const char *const texts[] = {entry->model, entry->author, entry->hardware, entry->framework,
                                 entry->name};

    return (wish->author.len == 0 || str_eq(str_from_cstr(entry->author), wish->author)) &&
           (wish->hardware.len == 0 || str_eq(str_from_cstr(entry->hardware), wish->hardware)) &&
           find_has_words(wish, texts, ARRAY_LEN(texts));
}

static void place_row(const struct kept *kept, struct found_entry *row)
{
    const bool trains = row->task->phase == TASK_TRAIN;

    row->by = trains ? BOARD_TIME : BOARD_LATENCY;
    row->cost_by = trains ? BOARD_COST : BOARD_INFERENCE_COST;
    row->has_place = kept_find(kept, row->by, row->entry->entry, &row->place);
    row->has_cost_place = kept_find(kept, row->cost_by, row->entry->entry, &row->cost_place);
    if (!row->has_place)
        row->reason = board_missing_reason(row->entry, &(struct board_rule){.by = row->by});
}

static int compare_found(const void *a, const void *b)
{
    const struct found_entry *left = a, *right = b;

    if (left->entry->date_days != right->entry->date_days)
        return left->entry->date_days > right->entry->date_days ? -1 : 1;
    if (left->task_order != right->task_order)
        return left->task_order < right->task_order ? -1 : 1;
    return (left->entry->entry > right->entry->entry) - (left->entry->entry < right->entry->entry);
}
