/* server/api/json_out.h: writes JSON straight into a reply, exact numbers from exact integers. Members whose value is
 * absent are left out: never null, never 0 (protocol.md, Resources).
 * Ownership: borrows the buffer. Threads: pure, any. */
#ifndef DAYBREAK_SERVER_API_JSON_OUT_H
#define DAYBREAK_SERVER_API_JSON_OUT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/str.h"
#include "server/store/records.h"

struct json_out {
    struct buf *buf;
    bool comma; /* something stands before, in the same container */
};

/* key NULL: in an array, or the document itself. */
void json_out_begin(struct json_out *out, const char *key, char bracket);    /* '{' or '[' */
void json_out_end(struct json_out *out, char bracket);                       /* '}' or ']' */
void json_out_text(struct json_out *out, const char *key, const char *text); /* NULL: left out */
void json_out_str(struct json_out *out, const char *key, struct str text);
void json_out_i64(struct json_out *out, const char *key, int64_t value);
void json_out_optional(struct json_out *out, const char *key, struct opt_i64 value);
void json_out_bool(struct json_out *out, const char *key, bool value);
/* An exact decimal number from its text; NULL or not a number: left out. */
void json_out_number(struct json_out *out, const char *key, const char *text);
/* value / 10^places without trailing zeros: nanoseconds with 9 are seconds. */
void json_out_decimal(struct json_out *out, const char *key, struct opt_i64 value, int places);
void json_out_double(struct json_out *out, const char *key, double value); /* finite */
/* Milliseconds since 1970 as 2026-12-01T15:28:40.123Z. */
void json_out_time(struct json_out *out, const char *key, int64_t real_ms);

/* One cell of a CSV row (RFC 4180): quoted where needed; a text that a spreadsheet would take for a formula gets
 * a quote in front. */
void csv_append_cell(struct buf *out, struct str text);

#endif
