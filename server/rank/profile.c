/* server/rank/profile.c: see profile.h. */
#include "server/rank/profile.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/measure.h"

/* Scores are sums of a few ratios: those nearer than this are one. */
#define SAME_SCORE 1e-9

struct found { /* an entry on one of the boards */
    const char *author, *hardware;
    size_t board, item;
};

static struct found *list_found(const struct board *boards, size_t count, enum profile_group group,
                                struct arena *arena, size_t *found_count);
static int compare_found(const void *left, const void *right);
static bool same_row(const struct found *a, const struct found *b);
static int compare_rows(const void *left, const void *right);
static void place_rows(struct profile *profile);

enum status profile_build(const struct board *boards, size_t count, enum profile_group group,
                          struct arena *arena, struct profile *profile, struct error *err)
{
    size_t found_count = 0;
    const struct found *found = list_found(boards, count, group, arena, &found_count);
    struct profile_cell *cells = ARENA_NEW_ARRAY(arena, found_count * count, struct profile_cell);
    double *times = ARENA_NEW_ARRAY(arena, found_count * count, double);
    double *scores = ARENA_NEW_ARRAY(arena, found_count, double);

    assert(count > 0 && count <= PROFILE_TASKS_MAX);
    *profile = (struct profile){.rows = ARENA_NEW_ARRAY(arena, found_count, struct profile_row)};
    if (found == NULL || cells == NULL || times == NULL || scores == NULL || profile->rows == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for a profile");
    for (size_t i = 0; i < found_count; i++) {
        const struct board *board = &boards[found[i].board];
        const struct board_entry *entry = board->items[found[i].item].row;
        const size_t row = profile->row_count - (i > 0 && same_row(&found[i - 1], &found[i]));
        struct profile_cell *cell = &cells[row * count + found[i].board];

        if (row == profile->row_count) {
            profile->rows[profile->row_count++] =
                (struct profile_row){.author = entry->author,
                                     .hardware = group == PROFILE_AUTHOR ? NULL : entry->hardware,
                                     .cells = &cells[row * count]};
            for (size_t task = 0; task < count; task++)
                times[row * count + task] = HUGE_VAL;
        }
        if (cell->entry != NULL)
            continue; /* a slower one of the same row */
        cell->entry = entry;
        cell->ratio = (double)entry->tta_ns / (double)board->items[0].row->tta_ns;
        times[row * count + found[i].board] = (double)entry->tta_ns;
    }
    measure_profile(times, profile->row_count, count, PROFILE_R_MAX, scores);
    for (size_t i = 0; i < profile->row_count; i++)
        profile->rows[i].score = scores[i];
    if (profile->row_count > 0)
        qsort(profile->rows, profile->row_count, sizeof *profile->rows, compare_rows);
    place_rows(profile);
    return ST_OK;
}

/* All entries that have a time above 0, those of one row together and in the order of their boards. */
static struct found *list_found(const struct board *boards, size_t count, enum profile_group group,
                                struct arena *arena, size_t *found_count)
{
    struct found *found;
    size_t total = 0;

    for (size_t b = 0; b < count; b++)
        total += boards[b].item_count;
    found = ARENA_NEW_ARRAY(arena, total, struct found);
    for (size_t b = 0; b < count && found != NULL; b++)
        for (size_t i = 0; i < boards[b].item_count; i++) {
            const struct board_entry *entry = boards[b].items[i].row;

            if (entry->has_tta && entry->tta_ns > 0)
                found[(*found_count)++] = (struct found){
                    entry->author, group == PROFILE_AUTHOR ? "" : entry->hardware, b, i};
        }
    if (*found_count > 0)
        qsort(found, *found_count, sizeof *found, compare_found);
    return found;
}

static int compare_found(const void *left, const void *right)
{
    const struct found *a = left, *b = right;
    int order = strcmp(a->author, b->author);

    if (order == 0)
        order = strcmp(a->hardware, b->hardware);
    if (order == 0)
        order = (a->board > b->board) - (a->board < b->board);
    return order != 0 ? order : (a->item > b->item) - (a->item < b->item);
}

static bool same_row(const struct found *a, const struct found *b)
{
    return strcmp(a->author, b->author) == 0 && strcmp(a->hardware, b->hardware) == 0;
}

static int compare_rows(const void *left, const void *right)
{
    const struct profile_row *a = left, *b = right;
    int order;

    if (fabs(a->score - b->score) > SAME_SCORE)
        return a->score > b->score ? -1 : 1;
    order = strcmp(a->author, b->author);
    return order != 0 || a->hardware == NULL ? order : strcmp(a->hardware, b->hardware);
}

static void place_rows(struct profile *profile)
{
    for (size_t i = 0; i < profile->row_count; i++) {
        struct profile_row *row = &profile->rows[i];

        row->place = i + 1;
        if (i > 0 && fabs(row[-1].score - row->score) <= SAME_SCORE) {
            row->place = row[-1].place;
            row->tied = row[-1].tied = true;
        }
    }
}
