/* server/http/query.h: percent-encoding and the parameters behind the "?" of a target.
 * Ownership: results live in the caller's arena, NUL-terminated. Threads: pure, any. */
#ifndef DAYBREAK_SERVER_HTTP_QUERY_H
#define DAYBREAK_SERVER_HTTP_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"
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
};

/* Decodes %XX (and "+" as a blank when `form`). ST_INVALID: a bad escape, a NUL or control byte, not UTF-8. */
enum status percent_decode(struct str text, bool form, struct arena *arena, struct str *out,
                           struct error *err);
/* Appends text with everything but unreserved characters (RFC 3986) as %XX. */
void percent_append(struct buf *out, struct str text);

/* "a=1&b=x%20y". ST_INVALID with err->field = the parameter: bad encoding, no name, twice the same name, above
 * QUERY_PARAMETERS_MAX. */
enum status query_parse(struct str text, struct arena *arena, struct query *query,
                        struct error *err);

/* Each takes a parameter; absent leaves *out and gives ST_OK. ST_INVALID names the parameter at fault. */
bool query_read_text(struct query *query, const char *name, struct str *out); /* false: absent */
enum status query_read_i64(struct query *query, const char *name, int64_t min, int64_t max,
                           int64_t *out, struct error *err);
enum status query_read_date(struct query *query, const char *name, bool *has, int64_t *days,
                            struct error *err); /* yyyy-mm-dd */
/* Refuses parameters that nobody took: code "unknown_parameter". */
enum status query_finish(const struct query *query, struct error *err);

#endif
