/* server/rank/profile.c: see profile.h. Every entry of every board is sorted by whose row it is; a row is then a stretch
 * of them, the boards' own entries are never copied, and cells are made for the rows that are described. */
#include "server/rank/profile.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/measure.h"

/* Scores are sums of a few ratios: those nearer than this are one. */
#define SAME_SCORE 1e-9

static_assert(PROFILE_ROWS_MAX * (sizeof(struct profile_row) +
                                  PROFILE_TASKS_MAX * sizeof(struct profile_cell)) <
                  PROFILE_ARENA_BYTES / 2,
              "the described rows fit");

struct found { /* an entry on one of the boards */
    const struct board_entry *entry;
    const char *hardware; /* "": it does not count */
    size_t board, item;
};
struct stretch { /* of the entries of one row */
    const struct found *first;
    size_t count;
    double score;
};
struct building {
    const struct profile_board *boards;
    size_t board_count;
    enum profile_group group;
    int64_t best_ns[PROFILE_TASKS_MAX];
    struct found *found;
    size_t found_count;
    struct stretch *stretches;
    size_t stretch_count;
};

static bool list_found(struct building *building);
static int compare_found(const void *left, const void *right);
static bool list_stretches(struct building *building);
static bool same_row(const struct found *a, const struct found *b);
static bool is_best(const struct stretch *stretch, size_t index);
static double ratio_of(const struct building *building, const struct found *found);
static int compare_stretches(const void *left, const void *right);
static void fill_row(const struct building *building, const struct stretch *stretch,
                     struct profile_row *row);
static void place_rows(const struct building *building, struct profile *profile);

enum status profile_build(const struct profile_board *boards, size_t count,
                          enum profile_group group, struct arena *arena, struct profile *profile,
                          struct error *err)
{
    struct building building = {.boards = boards, .board_count = count, .group = group};
    enum status status = ST_OK;
    struct profile_cell *cells;

    assert(count > 0 && count <= PROFILE_TASKS_MAX);
    *profile = (struct profile){0};
    if (!list_found(&building) || !list_stretches(&building)) {
        status = error_set(err, ST_NO_MEMORY, NULL, "no memory for a profile");
        goto done;
    }
    if (building.stretch_count > 0)
        qsort(building.stretches, building.stretch_count, sizeof *building.stretches,
              compare_stretches);
    profile->total = building.stretch_count;
    profile->row_count = profile->total < PROFILE_ROWS_MAX ? profile->total : PROFILE_ROWS_MAX;
    profile->rows = ARENA_NEW_ARRAY(arena, profile->row_count, struct profile_row);
    cells = ARENA_NEW_ARRAY(arena, profile->row_count * count, struct profile_cell);
    if (profile->rows == NULL || cells == NULL) {
        status = error_set(err, ST_NO_MEMORY, NULL, "no memory for a profile");
        goto done;
    }
    for (size_t i = 0; i < profile->row_count; i++) {
        profile->rows[i].cells = &cells[i * count];
        fill_row(&building, &building.stretches[i], &profile->rows[i]);
    }
    place_rows(&building, profile);
done:
    free(building.stretches);
    free(building.found);
    return status;
}

/* All entries that have a time above 0, those of one row together and in the order of their boards. */
static bool list_found(struct building *building)
{
    size_t total = 0;

    for (size_t b = 0; b < building->board_count; b++)
        total += building->boards[b].count;
    building->found = calloc(total + 1, sizeof *building->found); /* none is no failure */
    for (size_t b = 0; b < building->board_count && building->found != NULL; b++)
        for (size_t i = 0; i < building->boards[b].count; i++) {
            const struct board_entry *entry = building->boards[b].entries[i];

            if (!entry->has_tta || entry->tta_ns <= 0)
                continue;
            if (building->best_ns[b] == 0)
                building->best_ns[b] = entry->tta_ns;
            building->found[building->found_count++] = (struct found){
                entry, building->group == PROFILE_AUTHOR ? "" : entry->hardware, b, i};
        }
    if (building->found_count > 0)
        qsort(building->found, building->found_count, sizeof *building->found, compare_found);
    return building->found != NULL;
}

static int compare_found(const void *left, const void *right)
{
    const struct found *a = left, *b = right;
    int order = strcmp(a->entry->author, b->entry->author);

    if (order == 0)
        order = strcmp(a->hardware, b->hardware);
    if (order == 0)
        order = (a->board > b->board) - (a->board < b->board);
    return order != 0 ? order : (a->item > b->item) - (a->item < b->item);
}

static bool list_stretches(struct building *building)
{
    size_t count = 0;

    for (size_t i = 0; i < building->found_count; i++)
        count += i == 0 || !same_row(&building->found[i - 1], &building->found[i]);
    building->stretches = calloc(count + 1, sizeof *building->stretches);
    for (size_t i = 0; i < building->found_count && building->stretches != NULL; i++) {
        struct stretch *stretch;

        if (i == 0 || !same_row(&building->found[i - 1], &building->found[i]))
            building->stretches[building->stretch_count++].first = &building->found[i];
        stretch = &building->stretches[building->stretch_count - 1];
        if (is_best(stretch, stretch->count++))
            stretch->score += measure_profile_share(ratio_of(building, &building->found[i]),
                                                    building->board_count, PROFILE_R_MAX);
    }
    return building->stretches != NULL;
}

static bool same_row(const struct found *a, const struct found *b)
{
    return strcmp(a->entry->author, b->entry->author) == 0 && strcmp(a->hardware, b->hardware) == 0;
}

/* The row's first on its board: the others are slower. */
static bool is_best(const struct stretch *stretch, size_t index)
{
    const struct found *found = &stretch->first[index];

    return index == 0 || found[-1].board != found->board;
}

static double ratio_of(const struct building *building, const struct found *found)
{
    return (double)found->entry->tta_ns / (double)building->best_ns[found->board];
}

static int compare_stretches(const void *left, const void *right)
{
    const struct stretch *a = left, *b = right;
    int order;

    if (fabs(a->score - b->score) > SAME_SCORE)
        return a->score > b->score ? -1 : 1;
    order = strcmp(a->first->entry->author, b->first->entry->author);
    return order != 0 ? order : strcmp(a->first->hardware, b->first->hardware);
}

static void fill_row(const struct building *building, const struct stretch *stretch,
                     struct profile_row *row)
{
    row->author = stretch->first->entry->author;
    row->hardware = building->group == PROFILE_AUTHOR ? NULL : stretch->first->hardware;
    row->score = stretch->score;
    for (size_t i = 0; i < stretch->count; i++) {
        const struct found *found = &stretch->first[i];

        if (is_best(stretch, i))
            row->cells[found->board] =
                (struct profile_cell){found->entry, ratio_of(building, found)};
    }
}

static void place_rows(const struct building *building, struct profile *profile)
{
    for (size_t i = 0; i < profile->row_count; i++) {
        struct profile_row *row = &profile->rows[i];

        row->place = i + 1;
        if (i > 0 && fabs(row[-1].score - row->score) <= SAME_SCORE) {
            row->place = row[-1].place;
            row->tied = row[-1].tied = true;
        }
    }
    if (profile->row_count > 0 && profile->row_count < profile->total &&
        fabs(building->stretches[profile->row_count].score -
             profile->rows[profile->row_count - 1].score) <= SAME_SCORE)
        profile->rows[profile->row_count - 1].tied = true; /* with one that is not described */
}
