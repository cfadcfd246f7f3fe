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
#include "common/fault.h"
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
 * parser could not go on), "json_duplicate_key", "json_depth", "json_number", "number_too_long", "not_utf8",
 * "json_trailing", "json_values" (more than 8,192 values, or 512 KiB of pointers); err->field is the
 * pointer reached. A UTF-8 BOM in front is skipped. */
enum status json_doc_parse(struct str text, struct arena *arena, struct json_doc *doc,
                           struct error *err);
void json_doc_fini(struct json_doc *doc); /* accepts NULL and zeroed */
/* The place of a pointer such as "/misc/batchSize", or NULL. */
const struct json_place *json_doc_find(const struct json_doc *doc, const char *pointer);

/* Typed readers over one object for our own protocol bodies: each takes a member, remembers that it was taken, and
 * notes a fault with the member's pointer and a sentence that names the wanted and the found type. They go on after a
 * fault, so that one pass finds all. json_reader_finish() notes the members that nobody took ("unknown_member") and
 * tells whether all was well: what was read counts only then. */
struct json_reader {
    const json_t *object;
    const char *pointer; /* of the object: "" or "/capabilities"; borrowed */
    uint64_t taken;      /* bit per member, in iteration order: objects of at most 64 members */
    enum status status;  /* ST_INVALID once a fault was noted */
    struct error *err;   /* the first fault; may be NULL */
    struct fault_list *faults;  /* all of them; may be NULL */
    const struct json_doc *doc; /* tells the lines; may be NULL */
};
/* Keeps the first fault alone. Not an object: fault. */
void json_reader_init(struct json_reader *reader, const json_t *object, const char *pointer,
                      struct error *err);
/* Over a document's root: every fault goes to `faults` with its line, the first to err as well. */
void json_reader_init_doc(struct json_reader *reader, const struct json_doc *doc,
                          struct fault_list *faults, struct error *err);
/* Over an object inside of what `whole` reads, noting faults where that does. It is finished for itself. */
void json_reader_init_part(struct json_reader *reader, const struct json_reader *whole,
                           const json_t *object, const char *pointer);
/* required: absent is a fault; else *out is untouched and the result false. null is never accepted. */
bool json_read_text(struct json_reader *reader, const char *key, bool required, size_t bytes_max,
                    struct str *out);
/* One of some words that end with NULL; *out is the word of the list. Else "bad_value", whose hint names them. */
bool json_read_word(struct json_reader *reader, const char *key, bool required,
                    const char *const *words, const char **out);
bool json_read_i64(struct json_reader *reader, const char *key, bool required, int64_t min,
                   int64_t max, int64_t *out);
bool json_read_double(struct json_reader *reader, const char *key, bool required, double *out);
bool json_read_bool(struct json_reader *reader, const char *key, bool required, bool *out);
bool json_read_object(struct json_reader *reader, const char *key, bool required,
                      const json_t **out);
bool json_read_array(struct json_reader *reader, const char *key, bool required, size_t count_max,
                     const json_t **out);
/* A fault that the caller found in a member that it has read, or, key NULL, in the whole object. ST_INVALID. */
enum status json_reader_fault(struct json_reader *reader, const char *key, const char *code,
                              const char *hint, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
enum status json_reader_finish(struct json_reader *reader);

/* Compact, keys in insertion order, numbers exact. */
enum status json_write(const json_t *value, struct buf *out, struct error *err);

#endif
