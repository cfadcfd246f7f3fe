/* server/rank/filter.h: which rows of a board are shown. A filter narrows a ranked board and keeps its places.
 * Ownership: borrows its texts. Threads: pure, any. */
#ifndef DAYBREAK_SERVER_RANK_FILTER_H
#define DAYBREAK_SERVER_RANK_FILTER_H

#include "common/str.h"
#include "server/rank/board.h"

#define FILTER_TEXT_BYTES_MAX 200
#define FILTER_DEVICES_MAX    1000000

#define BOARD_TIER_COUNT 3
#define BOARD_BEST_COUNT 2

/* Words of a tier, the weakest first, and of `best`, in the order of enum board_best; NULL after the last. */
extern const char *const board_tier_words[BOARD_TIER_COUNT + 1];
extern const char *const board_best_words[BOARD_BEST_COUNT + 1];

/* Empty texts and missing numbers: any. Case does not matter. */
struct board_filter {
    struct str tier;
    struct str hardware;  /* part of its text, or the kind of its devices: "gpu" */
    struct str framework; /* part of its text */
    struct str cloud;     /* a provider; "public": any; "none": own machines */
    bool has_devices;
    int64_t devices;
    bool has_from, has_to; /* by the entry's date */
    int64_t from_days, to_days;
};

/* Whether the text has the part, whatever the case; every text has the empty one. */
bool filter_has_part(const char *text, struct str part);

bool board_filter_is_empty(const struct board_filter *filter);
bool board_filter_passes(const struct board_filter *filter, const struct board_entry *row);
/* Leaves those items and unranked entries that pass. */
void board_filter_apply(const struct board_filter *filter, struct board *board);

#endif
