/* server/rank/filter.c: see filter.h. */
#include "server/rank/filter.h"

#include <string.h>
#include <strings.h>

const char *const board_tier_words[BOARD_TIER_COUNT + 1] = {"reported", "witnessed", "reproduced",
                                                            NULL};
const char *const board_best_words[BOARD_BEST_COUNT + 1] = {"entry", "author", NULL};

static bool is_text(const char *text, struct str wanted);
static bool is_cloud(const char *cloud, struct str wanted);

bool filter_has_part(const char *text, struct str part)
{
    const size_t length = text == NULL ? 0 : strlen(text);

    for (size_t i = 0; part.len > 0 && i + part.len <= length; i++)
        if (strncasecmp(text + i, part.data, part.len) == 0)
            return true;
    return part.len == 0;
}

bool board_filter_is_empty(const struct board_filter *filter)
{
    return filter->tier.len == 0 && filter->hardware.len == 0 && filter->framework.len == 0 &&
           filter->cloud.len == 0 && !filter->has_devices && !filter->has_from && !filter->has_to;
}

bool board_filter_passes(const struct board_filter *filter, const struct board_entry *row)
{
    return (filter->tier.len == 0 || is_text(row->tier, filter->tier)) &&
           (filter_has_part(row->hardware, filter->hardware) ||
            is_text(row->device_kind, filter->hardware)) &&
           filter_has_part(row->framework, filter->framework) &&
           is_cloud(row->cloud, filter->cloud) &&
           (!filter->has_devices || (row->has_devices && row->devices == filter->devices)) &&
           (!filter->has_from || row->date_days >= filter->from_days) &&
           (!filter->has_to || row->date_days <= filter->to_days);
}

void board_filter_apply(const struct board_filter *filter, struct board *board)
{
    size_t kept = 0;

    if (board_filter_is_empty(filter))
        return;
    for (size_t i = 0; i < board->item_count; i++)
        if (board_filter_passes(filter, board->items[i].row))
            board->items[kept++] = board->items[i];
    board->item_count = kept;
    kept = 0;
    for (size_t i = 0; i < board->not_ranked_count; i++)
        if (board_filter_passes(filter, board->not_ranked[i].row))
            board->not_ranked[kept++] = board->not_ranked[i];
    board->not_ranked_count = kept;
}

static bool is_text(const char *text, struct str wanted)
{
    return text != NULL && strlen(text) == wanted.len &&
           strncasecmp(text, wanted.data, wanted.len) == 0;
}

static bool is_cloud(const char *cloud, struct str wanted)
{
    if (wanted.len == 0)
        return true;
    if (is_text("public", wanted))
        return cloud != NULL && strcmp(cloud, "none") != 0;
    return is_text(cloud, wanted);
}
