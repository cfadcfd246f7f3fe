/* server/api/board_cache.h: the bytes of boards by (address and form, version). A reply that is there costs a look-up
 * and no ranking. Threads: any. */
#ifndef DAYBREAK_SERVER_API_BOARD_CACHE_H
#define DAYBREAK_SERVER_API_BOARD_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/status.h"
#include "common/str.h"
#include "server/http/response.h"

#define BOARD_CURSOR_BYTES_MAX 512

struct board_cache;

enum status board_cache_create(struct board_cache **cache, struct error *err);
void board_cache_destroy(struct board_cache *cache); /* accepts NULL */

/* A page of a board as it is sent. */
struct board_page_bytes {
    struct shared_bytes *bytes;
    char next[BOARD_CURSOR_BYTES_MAX]; /* cursor of the page behind it; "": it is the last one */
};

/* With one reference for the caller; false: it is not there. */
bool board_cache_get(struct board_cache *cache, struct str key, int64_t version,
                     struct board_page_bytes *page);
/* Keeps a reference of its own; a key that is too long is not kept. */
void board_cache_put(struct board_cache *cache, struct str key, int64_t version,
                     const struct board_page_bytes *page);

/* Around looking again, making and putting: of several that lack the same page one makes it. */
void board_cache_begin_making(struct board_cache *cache, struct str key);
void board_cache_end_making(struct board_cache *cache, struct str key);

#endif
