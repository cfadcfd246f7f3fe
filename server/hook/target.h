/* server/hook/target.h: the address that a webhook is made for, taken apart by libcurl's own parser: what is checked
 * here is what will be asked later. Threads: pure, any. */
#ifndef DAYBREAK_SERVER_HOOK_TARGET_H
#define DAYBREAK_SERVER_HOOK_TARGET_H

#include <stdbool.h>

#include "common/arena.h"
#include "common/status.h"
#include "common/str.h"

#define TARGET_BYTES_MAX 2000

/* https only, no user or password, no fragment, port 443 or 1024 and above, a host that is not special by its own
 * words (address.h). allow_private: http, port 80 and any host as well. *url: as libcurl writes it, in the arena.
 * ST_INVALID "bad_url" with a sentence. */
enum status target_check(struct str text, bool allow_private, struct arena *arena, const char **url,
                         struct error *err);

#endif
