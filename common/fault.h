/* common/fault.h: every fault of one input at once, never only the first (protocol.md, Errors): what readers of bodies
 * and queries fill and an answer lists.
 * Ownership: the items live in the arena. Threads: one owner. */
#ifndef DAYBREAK_COMMON_FAULT_H
#define DAYBREAK_COMMON_FAULT_H

#include <stddef.h>

#include "common/arena.h"
#include "common/status.h"

#define FAULTS_MAX 20 /* a person mends those first; the rest is counted */

struct fault_list {
    struct arena *arena; /* for the items, taken with the first fault: a good input costs nothing */
    struct error *items;
    size_t count;
    size_t left_out; /* above FAULTS_MAX, or no memory for them */
};

/* Notes a fault that error_set_code() made: at the end of the list, and in err unless that holds one already. The
 * same fault at the same place is noted once. list, err: may be NULL. Returns fault->status. */
enum status fault_list_add(struct fault_list *list, const struct error *fault, struct error *err);

/* "a, b or c" of words that end with NULL: for a hint. Cut at `bytes`. */
void fault_join_words(const char *const *words, char *text, size_t bytes);

#endif
