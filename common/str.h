/* common/str.h: text as a view with a length, a growable buffer with a cap, and strict number readers.
 * Ownership: struct str borrows; struct buf owns data until buf_fini(). Threads: pure, any thread. */
#ifndef DAYBREAK_COMMON_STR_H
#define DAYBREAK_COMMON_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/banned.h"
#include "common/status.h"

/* A longer number is none, wherever one is read: a double of full size written out has 309 digits. */
#define STR_NUMBER_BYTES_MAX 512

struct str {
    const char *data; /* not NUL-terminated unless said so; never NULL when len > 0 */
    size_t len;       /* bytes */
};

#define STR(literal) ((struct str){("" literal), sizeof(literal) - 1})
#define STR_ARG(s)   (int)(s).len, (s).data /* for "%.*s"; only for text known to be below INT_MAX */

struct str str_from_cstr(const char *text); /* NULL gives the empty view */
bool str_eq(struct str a, struct str b);
bool str_eq_cstr(struct str a, const char *b);
bool str_starts_with(struct str text, struct str prefix);
bool str_ends_with(struct str text, struct str suffix);
int str_cmp(struct str a, struct str b); /* byte order, shorter first */
struct str str_trim(struct str text);    /* spaces, tabs, CR, LF at both ends */
struct str str_slice(struct str text, size_t from, size_t to); /* clamped to the text */
bool str_find_char(struct str text, char c, size_t *index);
/* Cuts the part before `separator` off the front of *rest; false when *rest is used up. An empty text
 * has one empty part. Start with *more = true. */
bool str_split_next(struct str *rest, bool *more, char separator, struct str *part);

bool str_is_utf8(struct str text); /* well-formed: no overlongs, surrogates, nor above U+10FFFF */
size_t str_utf8_cut(struct str text, size_t bytes_max); /* longest prefix in whole characters */

/* Whole-text readers: digits only (and one leading '-' for i64); no blanks, no '+', no overflow. */
bool str_parse_u64(struct str text, uint64_t *value);
bool str_parse_i64(struct str text, int64_t *value);
/* A finite decimal number as JSON writes it; the nearest double. */
bool str_parse_double(struct str text, double *value); /* of STR_NUMBER_BYTES_MAX at most */
bool str_parse_hex(struct str text, unsigned char *bytes,
                   size_t byte_count); /* exactly 2n digits */
void str_format_hex(const unsigned char *bytes, size_t byte_count, char *text); /* 2n + 1 chars */

/* A buffer that grows by doubling up to bytes_max. The first failure sticks (failed = true) and later
 * appends do nothing, so that a writer checks once at its end. data is NUL-terminated. */
struct buf {
    char *data;
    size_t len, capacity, bytes_max;
    bool failed;
};

void buf_init(struct buf *buf, size_t bytes_max);
void buf_fini(struct buf *buf);  /* accepts NULL and zeroed */
void buf_clear(struct buf *buf); /* keeps the memory */
void buf_append(struct buf *buf, struct str text);
void buf_append_cstr(struct buf *buf, const char *text);
void buf_append_char(struct buf *buf, char c);
void buf_appendf(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* text as a JSON string with its quotes; bytes that are not UTF-8 become U+FFFD. */
void buf_append_json(struct buf *buf, struct str text);
struct str buf_str(const struct buf *buf);
enum status buf_check(const struct buf *buf, struct error *err); /* ST_LIMIT or ST_NO_MEMORY */

#endif
