/* common/arena.h: memory for one request or one command, with a cap, released at once.
 * Ownership: the arena owns all that it handed out; arena_fini() frees it. Threads: one owner. */
#ifndef DAYBREAK_COMMON_ARENA_H
#define DAYBREAK_COMMON_ARENA_H

#include <stddef.h>

#include "common/str.h"

struct arena_block;
struct arena {
    struct arena_block *blocks; /* newest first */
    size_t used_bytes;          /* handed out, all blocks */
    size_t bytes_max;           /* cap on used_bytes */
};

void arena_init(struct arena *arena, size_t bytes_max);
void arena_fini(
    struct arena *arena); /* accepts NULL and zeroed; the arena can be initialised again */

/* Zeroed memory, aligned for any type; NULL when out of memory or beyond the cap. count * size is
 * checked for overflow. Zero bytes give a valid, unique pointer. */
void *arena_alloc(struct arena *arena, size_t count, size_t size);

/* Copies into the arena with a NUL behind; NULL as above. */
char *arena_copy(struct arena *arena, struct str text);
char *arena_printf(struct arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#define ARENA_NEW(arena, type)              ((type *)arena_alloc((arena), 1, sizeof(type)))
#define ARENA_NEW_ARRAY(arena, count, type) ((type *)arena_alloc((arena), (count), sizeof(type)))

#endif
