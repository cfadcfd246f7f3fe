/* common/decimal.h: exact arithmetic on decimal text (design.md, Numbers): times become integers of
 * nanoseconds, money integers of pico-dollars, each rounded once, half to even.
 * Ownership: values only. Threads: pure, any thread. */
#ifndef DAYBREAK_COMMON_DECIMAL_H
#define DAYBREAK_COMMON_DECIMAL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/status.h"
#include "common/str.h"

#define NS_PER_HOUR        INT64_C(3600000000000)
#define PICO_PER_USD       INT64_C(1000000000000)
#define NS_PER_MS          INT64_C(1000000)
#define DECIMAL_DIGITS_MAX 19 /* significant digits of one operand; two of them fit 128 bits */

/* value = digits * 10^exponent, negated if `negative`. */
struct decimal {
    uint64_t digits;
    int32_t exponent;
    bool negative;
};

/* Reads a JSON number, or a plain one with leading zeros or a bare "1." or ".5" as TSV files have it
 * when `lenient`. Digits beyond DECIMAL_DIGITS_MAX are rounded half to even and *exact says so (may
 * be NULL). ST_INVALID: not a number; NaN and infinities are not. ST_LIMIT: |exponent| > 400. */
enum status decimal_parse(struct str text, bool lenient, struct decimal *value, bool *exact,
                          struct error *err);

/* *out = round_half_even(value * unit), e.g. hours * NS_PER_HOUR. ST_LIMIT when it does not fit. */
enum status decimal_scale(struct decimal value, int64_t unit, int64_t *out, struct error *err);
/* *out = round_half_even(a * b * unit): hours times dollars an hour, in pico-dollars. */
enum status decimal_scale_product(struct decimal a, struct decimal b, int64_t unit, int64_t *out,
                                  struct error *err);
int decimal_cmp(struct decimal a, struct decimal b); /* exact: -1, 0, 1 */
double decimal_to_double(struct decimal value);      /* nearest */

/* Appends text that decimal_parse() takes as a JSON number: as it is where JSON knows the form, else the same
 * value as digits and exponent ("1." as 1e0). */
void decimal_append_json(struct buf *out, struct str text);

/* An integer of units of 10^-places as text with `places` decimals: (10663472, 6) -> "10.663472". */
void decimal_format(int64_t value, int places, char text[32]);
/* The same without trailing zeros behind the point, nor a bare point. */
void decimal_format_short(int64_t value, int places, char text[32]);
/* Rounds units of 10^-from to `to` places, half to even, then as decimal_format. */
void decimal_format_rounded(int64_t value, int from, int to, char text[32]);

#endif
