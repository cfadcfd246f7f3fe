/* server/http/cursor.h: opaque cursors of keyset paging: the key of the last item that was shown. base64url of a check
 * (over the list's name, too: a cursor of one list is none of another), then each value.
 *
 *   bytes: [check: 4] { 'i' [int64, big-endian: 8] | 't' [length: 2] [UTF-8] }*
 *
 * It is no secret and grants nothing; the check finds what was cut, edited or taken from elsewhere.
 * Ownership: texts live in the caller's arena. Threads: pure, any. */
#ifndef DAYBREAK_SERVER_HTTP_CURSOR_H
#define DAYBREAK_SERVER_HTTP_CURSOR_H

#include <stdint.h>

#include "common/arena.h"
#include "common/status.h"
#include "common/str.h"

#define CURSOR_VALUES_MAX     6
#define CURSOR_TEXT_BYTES_MAX 1024

/* One value of a key: a number, or a text where the kind says 't'. */
struct cursor_value {
    int64_t number;
    struct str text; /* NUL-terminated after cursor_parse() */
};

/* kinds: one letter for each value, 'i' a number or 't' a text: "ti" for (name, id). NUL-terminated in the arena; NULL:
 * no memory, or longer than CURSOR_TEXT_BYTES_MAX. */
const char *cursor_make(struct arena *arena, const char *list, const char *kinds,
                        const struct cursor_value *values);
/* ST_INVALID "bad_cursor", field "cursor", unless cursor_make() made it for this list and these kinds. */
enum status cursor_parse(struct str text, const char *list, const char *kinds, struct arena *arena,
                         struct cursor_value *values, struct error *err);

#endif
