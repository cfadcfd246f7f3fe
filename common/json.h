/* common/json.h: strict JSON on Jansson (the only user of its header besides what it re-exports).
 * Beside Jansson's tree stands an index over the same bytes, from pointer to line and raw text: it gives
 * the line of a semantic fault, and the exact decimal text of a number, which Jansson drops.
 * Refused: duplicate keys, NaN and infinities, trailing bytes, depth above the limit, NUL, non-UTF-8,
 * numbers that overflow a double. Integers above 64 bits are read as reals.
 * Ownership: the document owns the tree and borrows the text, which must outlive it. Threads: one owner. */
#ifndef DAYBREAK_COMMON_JSON_H
#define DAYBREAK_COMMON_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/arena.h"
#include "common/status.h"
#include "common/str.h"

#define JSON_DEPTH_MAX         16
#define JSON_POINTER_BYTES_MAX 512

struct json_place {
    struct str pointer; /* RFC 6901, "" is the whole document */
    struct str raw;     /* the value's bytes: `0.063`, `"text"`, `{...}` */
    int line;           /* where the value begins, from 1 */
    int key_line;       /* where its key begins; the value's line in arrays */
};

struct json_doc {
    json_t *root;
    struct json_place *places; /* in document order; in the arena */
    size_t place_count;
};

/* Parses the whole text. ST_INVALID with err->line and err->code "json_syntax" (the line where the
 * parser could not go on), "json_duplicate_key", "json_depth", "json_number", "not_utf8",
 * "json_trailing", "json_values" (more than 8,192 values, or 512 KiB of pointers); err->field is the
 * pointer reached. A UTF-8 BOM in front is skipped. */
enum status json_doc_parse(struct str text, struct arena *arena, struct json_doc *doc,
                           struct error *err);
void json_doc_fini(struct json_doc *doc); /* accepts NULL and zeroed */
/* The place of a pointer such as "/misc/batchSize", or NULL. */
const struct json_place *json_doc_find(const struct json_doc *doc, const char *pointer);

/* Typed readers over one object for our own protocol bodies: each takes a member, remembers that it was
 * taken, and fails with err->field = pointer and a sentence that names the wanted and the found type.
 * json_reader_finish() refuses members that nobody took (code "unknown_member"). */
struct json_reader {
    const json_t *object;
    const char *pointer; /* of the object: "" or "/capabilities" */
    uint64_t taken;      /* bit per member, in iteration order: objects of at most 64 members */
    struct error *err;   /* first fault; later calls do nothing */
};
void json_reader_init(struct json_reader *reader, const json_t *object, const char *pointer,
                      struct error *err); /* not an object: fault */
/* required: absent is a fault; else *out is untouched and the result false. null is never accepted. */
bool json_read_text(struct json_reader *reader, const char *key, bool required, size_t bytes_max,
                    struct str *out);
bool json_read_i64(struct json_reader *reader, const char *key, bool required, int64_t min,
                   int64_t max, int64_t *out);
bool json_read_double(struct json_reader *reader, const char *key, bool required, double *out);
bool json_read_bool(struct json_reader *reader, const char *key, bool required, bool *out);
bool json_read_object(struct json_reader *reader, const char *key, bool required,
                      const json_t **out);
bool json_read_array(struct json_reader *reader, const char *key, bool required, size_t count_max,
                     const json_t **out);
enum status json_reader_finish(struct json_reader *reader);

/* Compact, keys in insertion order, numbers exact. */
enum status json_write(const json_t *value, struct buf *out, struct error *err);

#endif
