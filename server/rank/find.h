/* server/rank/find.h: entries of all tasks by what they say: those of one author, those on one hardware, or those with
 * words somewhere in what names them; each with where it stands. Knows no SQL, HTTP or clock.
 * Ownership: borrows tasks, kept entries and texts; rows live in the arena. Threads: pure, any; what is kept does not
 * change meanwhile. */
#ifndef DAYBREAK_SERVER_RANK_FIND_H
#define DAYBREAK_SERVER_RANK_FIND_H

#include "common/arena.h"
#include "common/status.h"
#include "common/str.h"
#include "common/task.h"
#include "server/rank/kept.h"

#define FIND_WORDS_MAX 8

struct find_wish {
    struct str author, hardware;      /* the whole text, byte for byte; empty: any */
    struct str words[FIND_WORDS_MAX]; /* each of them in one of the texts, whatever the case */
    size_t word_count;
};

/* The words of a text, between blanks; those behind the first FIND_WORDS_MAX are left out. */
void find_split_words(struct str text, struct find_wish *wish);
/* Whether each word is in one of the texts, which may be NULL. */
bool find_has_words(const struct find_wish *wish, const char *const *texts, size_t count);

/* An entry, and where it stands on its task's boards. */
struct found_entry {
    const struct task *task;
    const struct board_entry *entry;
    size_t task_order;     /* of its task in the table */
    enum board_by by;      /* the board by time or latency */
    enum board_by cost_by; /* the other one */
    bool has_place, has_cost_place;
    struct kept_place place, cost_place;
    const char *reason; /* why it has no place by time or latency; NULL: it has one */
};

/* The newest first; of one day in the order of the tasks, then by id. Model, author, hardware, framework and name are
 * looked at. kept: one for each task, in the table's order. ST_NO_MEMORY. */
enum status find_entries(const struct task_table *tasks, const struct kept *const *kept,
                         const struct find_wish *wish, struct arena *arena,
                         struct found_entry **rows, size_t *count, struct error *err);

#endif
