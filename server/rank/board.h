/* server/rank/board.h: orders the entries of one task for a board. The only place that knows how: value, then
 * date, then name; equal values share a place (design.md, Numbers). Knows no SQL, HTTP or clock.
 * Ownership: borrows the entries and their texts; results live in the caller's arena. Threads: pure, any. */
#ifndef DAYBREAK_SERVER_RANK_BOARD_H
#define DAYBREAK_SERVER_RANK_BOARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"
#include "common/status.h"
#include "common/str.h"
#include "common/task.h"

#define BOARD_ENTRIES_MAX 100000
#define BOARD_RUNS_MAX    100 /* runs of one entry, for its spread */

enum board_by { BOARD_TIME, BOARD_COST, BOARD_LATENCY, BOARD_INFERENCE_COST, BOARD_ENERGY };

/* Days (since 1970-01-01, UTC) in which an entry stood on its boards: at the end of day D it stood when
 * from_days <= D and, if it has ended, D < to_days. */
struct board_standing {
    int64_t from_days;
    bool has_to;
    int64_t to_days;
};

/* One entry as a board shows it. Optional numbers have a has_ flag, optional texts are NULL. */
struct board_entry {
    int64_t entry;    /* id */
    const char *name; /* the file's name without its ending; the last tie-break */
    bool has_run;
    int64_t run; /* id of the run that is shown (the median one) */
    const char *model, *author, *hardware, *framework;
    int64_t date_days; /* of acceptance; history: the claimed one */
    bool has_tta, has_wall, has_latency, has_cost, has_energy;
    int64_t tta_ns, wall_ns, latency_ns;
    int64_t cost_pico; /* training: of the run; inference: of one item */
    int64_t energy_uj;
    const char *latency_text;  /* exact, ms; NULL: the integer is */
    const char *cost_text;     /* exact, USD; NULL: the integer is */
    const char *epoch_text;    /* label of the crossing, as it was written */
    const char *accuracy_text; /* as it was written, in the unit of the file */
    bool has_views, has_devices, has_n;
    int64_t views, devices, n; /* n: runs */
    const char *cloud;
    const char *tier; /* "reported", "witnessed", "reproduced" */
    /* TTA in ns of the runs that reached the target and are scored, for the spread. */
    const int64_t *tta_runs_ns;
    size_t tta_run_count;
    const char *device_kind;                /* NULL: unknown */
    const struct board_standing *standings; /* in order; as_of reads them */
    size_t standing_count;
    const char
        *cost_reason; /* why it has no place by cost although it has a cost; NULL: it has one */
    /* Why it cannot be ranked although it is there ("withdrawn"); NULL: ranked where it has a value. */
    const char *not_ranked_reason;
};

struct board_item {
    const struct board_entry *row;
    size_t place; /* 1, 2, 2, 4 */
    bool tied;    /* shares its place */
    bool has_cv;  /* two runs or more */
    double cv;
    /* Whether the 95 % intervals of this and the next item (time boards, two runs or more each) are apart. */
    bool has_separable, separable_from_next;
};
struct board_missing {
    const struct board_entry *row;
    const char *reason; /* a sentence's end: "no costPerHour was given" */
};

struct board {
    const struct task *task;
    enum board_by by;
    struct board_item *items;
    size_t item_count;
    struct board_missing *not_ranked; /* by name */
    size_t not_ranked_count;
};

enum board_best { BOARD_BEST_ENTRY, BOARD_BEST_AUTHOR };

/* Which board. */
struct board_rule {
    enum board_by by;
    /* The board as it stood at the end of that day: of all entries those that stood then, whatever became of them
     * since (not_ranked_reason is of today and not asked); the others are not mentioned. Without: those with no
     * not_ranked_reason are ranked, the others listed with it. */
    bool has_as_of;
    int64_t as_of_days;
    /* AUTHOR: of each author's entries that have a value only the first in the board's order is ranked; the
     * others are listed below with a reason that names it. */
    enum board_best best;
};

/* "time", "cost", "latency", "inference-cost", "energy"; false: not one of them. */
bool board_by_parse(struct str text, enum board_by *by);
const char *board_by_name(enum board_by by);
const char *board_by_unit(enum board_by by); /* "s", "USD", "ms", "J" */
/* Whether the task has such a board: time, cost and energy for training; latency and inference-cost for
 * inference. */
bool board_by_fits(enum board_by by, const struct task *task);
/* The value that a board orders by; false: the entry has none. One by cost may still have no place there
 * (cost_reason). */
bool board_value(const struct board_entry *entry, enum board_by by, int64_t *value);

/* Orders all entries. ST_INVALID: the task has no such board; ST_LIMIT: above BOARD_ENTRIES_MAX; ST_NO_MEMORY. */
enum status board_rank(const struct task *task, const struct board_rule *rule,
                       const struct board_entry *entries, size_t count, struct arena *arena,
                       struct board *board, struct error *err);

/* Where a page of a board ended: the key of its last item. What comes or goes before it shifts nothing. */
struct board_key {
    int64_t value, date_days;
    const char *name;
    int64_t entry;
};
struct board_key board_key_of(const struct board_item *item, enum board_by by);
/* An entry that stands there, to compare with others. */
struct board_entry board_key_entry(const struct board_key *key, enum board_by by);
/* Index of the first item behind the key. */
size_t board_skip(const struct board *board, const struct board_key *key);

#endif
