/* server/http/query.h: percent-encoding and the parameters behind the "?" of a target.
 * Ownership: results live in the caller's arena, NUL-terminated. Threads: pure, any. */
#ifndef DAYBREAK_SERVER_HTTP_QUERY_H
#define DAYBREAK_SERVER_HTTP_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"
#include "common/fault.h"
#include "common/status.h"
#include "common/str.h"

#define QUERY_PARAMETERS_MAX 64

struct query_parameter {
    struct str name, value;
    bool taken; /* query_read_* asked for it */
};
struct query {
    struct str text; /* as sent */
    struct query_parameter *items;
    size_t count;
    struct fault_list *faults; /* every fault is noted here, too; may be NULL */
};

/* Decodes %XX (and "+" as a blank when `form`). ST_INVALID: a bad escape, a NUL or control byte, not UTF-8. */
enum status percent_decode(struct str text, bool form, struct arena *arena, struct str *out,
                           struct error *err);
/* Appends text with everything but unreserved characters (RFC 3986) as %XX. */
void percent_append(struct buf *out, struct str text);

/* "a=1&b=x%20y". ST_INVALID with err->field = the parameter: bad encoding, no name, twice the same name, above
 * QUERY_PARAMETERS_MAX. faults (may be NULL) gets all of them, and those of the readers below. */
enum status query_parse(struct str text, struct arena *arena, struct fault_list *faults,
                        struct query *query, struct error *err);

/* Each takes a parameter; absent leaves *out and gives ST_OK. ST_INVALID names the parameter at fault; err keeps the
 * first, so that a handler reads all its parameters and looks at what query_finish() says. */
bool query_read_text(struct query *query, const char *name, struct str *out); /* false: absent */
/* Free text of 1 to bytes_max bytes. */
enum status query_read_phrase(struct query *query, const char *name, size_t bytes_max,
                              struct str *out, struct error *err);
/* One of some words that end with NULL; *out is the word of the list. Else the hint names them. */
enum status query_read_word(struct query *query, const char *name, const char *const *words,
                            const char **out, struct error *err);
enum status query_read_i64(struct query *query, const char *name, int64_t min, int64_t max,
                           int64_t *out, struct error *err);
enum status query_read_date(struct query *query, const char *name, bool *has, int64_t *days,
                            struct error *err); /* exactly yyyy-mm-dd, from 1970 on */
/* The parameters "from" and "to", both given: a fault of "from" when it is the later one. */
void query_check_period(const struct query *query, int64_t from_days, int64_t to_days,
                        struct error *err);
/* A fault that the caller found in a parameter: code "bad_parameter". ST_INVALID. */
enum status query_fault(const struct query *query, const char *name, const char *hint,
                        struct error *err, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* Refuses parameters that nobody took: code "unknown_parameter". Not ST_OK as well when err holds a fault. */
enum status query_finish(const struct query *query, struct error *err);

#endif
