/* server/api/board_cache.h: the bytes of boards by (address and form, version). A reply that is there costs a look-up
 * and no ranking. Threads: any. */
#ifndef DAYBREAK_SERVER_API_BOARD_CACHE_H
#define DAYBREAK_SERVER_API_BOARD_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/status.h"
#include "common/str.h"
#include "server/http/response.h"

struct board_cache;

enum status board_cache_create(struct board_cache **cache, struct error *err);
void board_cache_destroy(struct board_cache *cache); /* accepts NULL */

/* One reference for the caller, or NULL. */
struct shared_bytes *board_cache_get(struct board_cache *cache, struct str key, int64_t version);
/* Keeps a reference of its own; a key that is too long is not kept. */
void board_cache_put(struct board_cache *cache, struct str key, int64_t version,
                     struct shared_bytes *bytes);

#endif
