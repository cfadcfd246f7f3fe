/* common/decimal.c: see decimal.h. Products are kept in 256 bits and divided by ten a digit at a time: the
 * remainders give the one rounding, half to even, without an intermediate result that could round twice. */
#include "common/decimal.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef unsigned __int128 u128;

enum { EXPONENT_MAX = 400, LIMBS = 4, PLACES_MAX = 18 };

struct wide { /* least significant limb first */
    uint64_t limbs[LIMBS];
};
struct scanner { /* gathers the digits of one number */
    struct decimal value;
    int digit_count;  /* significant ones kept */
    int first_lost;   /* the first digit that did not fit, or -1 */
    bool lost_more;   /* a digit other than 0 behind it */
    int64_t exponent; /* of the last kept digit */
};

static bool is_digit(char c);
static void take_digit(struct scanner *scanner, int digit, bool behind_point);
static bool scan_exponent(struct str text, size_t *at, int64_t *exponent);
static bool round_lost_digits(struct scanner *scanner);
static bool wide_multiply(struct wide *wide, uint64_t factor);
static unsigned wide_divide_by_ten(struct wide *wide);
static bool wide_is_zero(const struct wide *wide);
static enum status wide_finish(struct wide wide, int64_t exponent, bool negative, int64_t *out,
                               struct error *err);
static int count_digits(uint64_t value);
static u128 power_of_ten(int exponent);

enum status decimal_parse(struct str text, bool lenient, struct decimal *value, bool *exact,
                          struct error *err)
{
    struct scanner scanner = {.first_lost = -1};
    int64_t written_exponent = 0;
    size_t at = 0, whole = 0, fraction = 0;
    bool is_exact;

    scanner.value.negative = at < text.len && text.data[at] == '-';
    at += scanner.value.negative ? 1 : 0;
    for (const size_t from = at; at < text.len && is_digit(text.data[at]); at++, whole = at - from)
        take_digit(&scanner, text.data[at] - '0', false);
    if (!lenient && whole > 1 && text.data[at - whole] == '0')
        goto invalid;
    if (at < text.len && text.data[at] == '.') {
        for (at++; at < text.len && is_digit(text.data[at]); at++, fraction++)
            take_digit(&scanner, text.data[at] - '0', true);
        if (fraction == 0 && !lenient)
            goto invalid;
    }
    if (whole + fraction == 0 || (whole == 0 && !lenient))
        goto invalid;
    if (!scan_exponent(text, &at, &written_exponent) || at != text.len)
        goto invalid;
    is_exact = round_lost_digits(&scanner);
    scanner.exponent += written_exponent;
    if (scanner.value.digits == 0)
        scanner.exponent = 0;
    if (scanner.exponent > EXPONENT_MAX || scanner.exponent < -EXPONENT_MAX)
        return error_set(err, ST_LIMIT, NULL, "the number is too large or too small");
    scanner.value.exponent = (int32_t)scanner.exponent;
    *value = scanner.value;
    if (exact != NULL)
        *exact = is_exact;
    return ST_OK;
invalid:
    return error_set(err, ST_INVALID, NULL, "not a decimal number");
}

enum status decimal_scale(struct decimal value, int64_t unit, int64_t *out, struct error *err)
{
    return decimal_scale_product(value, (struct decimal){.digits = 1}, unit, out, err);
}

enum status decimal_scale_product(struct decimal a, struct decimal b, int64_t unit, int64_t *out,
                                  struct error *err)
{
    struct wide wide = {{a.digits}};
    bool fits;

    assert(unit > 0);
    fits = wide_multiply(&wide, b.digits) && wide_multiply(&wide, (uint64_t)unit);
    assert(fits); /* three limbs at most */
    return wide_finish(wide, (int64_t)a.exponent + b.exponent, a.negative != b.negative, out, err);
}

int decimal_cmp(struct decimal a, struct decimal b)
{
    const bool a_negative = a.negative && a.digits != 0, b_negative = b.negative && b.digits != 0;
    int64_t a_order, b_order;
    u128 a_digits = a.digits, b_digits = b.digits;
    int order;

    if (a.digits == 0 && b.digits == 0)
        return 0;
    if (a_negative != b_negative)
        return a_negative ? -1 : 1;
    if (a.digits == 0 || b.digits == 0)
        return (a.digits == 0 ? -1 : 1) * (a_negative || b_negative ? -1 : 1);
    a_order = (int64_t)a.exponent + count_digits(a.digits); /* of the leading digit */
    b_order = (int64_t)b.exponent + count_digits(b.digits);
    if (a_order == b_order) { /* the exponents differ by less than a number has digits */
        if (a.exponent > b.exponent)
            a_digits *= power_of_ten(a.exponent - b.exponent);
        else
            b_digits *= power_of_ten(b.exponent - a.exponent);
        order = (a_digits > b_digits) - (a_digits < b_digits);
    } else {
        order = a_order > b_order ? 1 : -1;
    }
    return a_negative ? -order : order;
}

double decimal_to_double(struct decimal value)
{
    char text[48];

    snprintf(text, sizeof text, "%s%llue%d", value.negative ? "-" : "",
             (unsigned long long)value.digits, (int)value.exponent);
    return strtod(text, NULL); /* rounds to nearest; the programs never leave the C locale */
}

void decimal_append_json(struct buf *out, struct str text)
{
    struct decimal value = {0};

    if (decimal_parse(text, false, &value, NULL, NULL) == ST_OK) {
        buf_append(out, text);
        return;
    }
    if (decimal_parse(text, true, &value, NULL, NULL) != ST_OK) {
        assert(false); /* the caller promised a number */
        return;
    }
    buf_appendf(out, "%s%llue%d", value.negative ? "-" : "", (unsigned long long)value.digits,
                (int)value.exponent);
}

void decimal_format(int64_t value, int places, char text[32])
{
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    char reversed[32];
    size_t count = 0, length = 0;

    assert(places >= 0 && places <= PLACES_MAX);
    for (int place = 0; rest != 0 || place <= places; place++, rest /= 10) {
        if (place == places && places > 0)
            reversed[count++] = '.';
        reversed[count++] = (char)('0' + rest % 10);
    }
    if (value < 0)
        text[length++] = '-';
    while (count > 0)
        text[length++] = reversed[--count];
    text[length] = '\0'; /* at most a sign, 19 digits and a point */
}

void decimal_format_short(int64_t value, int places, char text[32])
{
    size_t length;

    decimal_format(value, places, text);
    if (places == 0)
        return;
    length = strlen(text);
    while (text[length - 1] == '0')
        length--;
    if (text[length - 1] == '.')
        length--;
    text[length] = '\0';
}

void decimal_format_rounded(int64_t value, int from, int to, char text[32])
{
    struct wide wide = {{value < 0 ? 0 - (uint64_t)value : (uint64_t)value}};
    int64_t rounded = 0;
    size_t length;

    assert(to >= 0 && to <= PLACES_MAX && from >= 0 && from <= PLACES_MAX);
    if (to < from) {
        const enum status status = wide_finish(wide, to - from, value < 0, &rounded, NULL);

        assert(status == ST_OK); /* it became smaller */
        decimal_format(rounded, to, text);
        return;
    }
    decimal_format(value, from, text);
    length = strlen(text);
    if (from == 0 && to > 0)
        text[length++] = '.';
    for (int place = from; place < to && length < 31; place++)
        text[length++] = '0';
    text[length] = '\0';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static void take_digit(struct scanner *scanner, int digit, bool behind_point)
{
    if (scanner->digit_count == DECIMAL_DIGITS_MAX) { /* one more does not fit */
        if (scanner->first_lost < 0)
            scanner->first_lost = digit;
        else if (digit != 0)
            scanner->lost_more = true;
        scanner->exponent += behind_point ? 0 : 1;
        return;
    }
    scanner->value.digits = scanner->value.digits * 10 + (uint64_t)digit;
    if (scanner->value.digits != 0)
        scanner->digit_count++;
    scanner->exponent -= behind_point ? 1 : 0;
}

/* Reads "e-12" at *at, if there is one; false when it has no digits. Beyond any use it stays at a bound. */
static bool scan_exponent(struct str text, size_t *at, int64_t *exponent)
{
    bool negative = false;
    size_t digits = 0;
    int64_t value = 0;

    if (*at >= text.len || (text.data[*at] != 'e' && text.data[*at] != 'E'))
        return true;
    ++*at;
    if (*at < text.len && (text.data[*at] == '-' || text.data[*at] == '+'))
        negative = text.data[(*at)++] == '-';
    for (; *at < text.len && is_digit(text.data[*at]); ++*at, digits++)
        if (value < INT32_MAX)
            value = value * 10 + (text.data[*at] - '0');
    *exponent = negative ? -value : value;
    return digits > 0;
}

/* Rounds half to even what did not fit; true when nothing but zeros was lost. */
static bool round_lost_digits(struct scanner *scanner)
{
    const bool up =
        scanner->first_lost > 5 ||
        (scanner->first_lost == 5 && (scanner->lost_more || (scanner->value.digits & 1) != 0));

    if (up && ++scanner->value.digits == (uint64_t)power_of_ten(DECIMAL_DIGITS_MAX)) {
        scanner->value.digits /= 10;
        scanner->exponent++;
    }
    return scanner->first_lost <= 0 && !scanner->lost_more;
}

static bool wide_multiply(struct wide *wide, uint64_t factor)
{
    u128 carry = 0;

    for (size_t i = 0; i < LIMBS; i++) {
        carry += (u128)wide->limbs[i] * factor;
        wide->limbs[i] = (uint64_t)carry;
        carry >>= 64;
    }
    return carry == 0;
}

static unsigned wide_divide_by_ten(struct wide *wide)
{
    u128 rest = 0;

    for (size_t i = LIMBS; i-- > 0;) {
        rest = (rest << 64) | wide->limbs[i];
        wide->limbs[i] = (uint64_t)(rest / 10);
        rest %= 10;
    }
    return (unsigned)rest;
}

static bool wide_is_zero(const struct wide *wide)
{
    return (wide->limbs[0] | wide->limbs[1] | wide->limbs[2] | wide->limbs[3]) == 0;
}

/* *out = round_half_even(wide * 10^exponent), negated when asked. */
static enum status wide_finish(struct wide wide, int64_t exponent, bool negative, int64_t *out,
                               struct error *err)
{
    const uint64_t max = (uint64_t)INT64_MAX;
    unsigned digit = 0;
    bool rest = false;

    if (wide_is_zero(&wide)) {
        *out = 0;
        return ST_OK;
    }
    for (; exponent < 0 && (!wide_is_zero(&wide) || digit != 0); exponent++) {
        rest = rest || digit != 0;
        digit = wide_divide_by_ten(&wide);
    }
    for (; exponent > 0; exponent--)
        if (!wide_multiply(&wide, 10) || (wide.limbs[1] | wide.limbs[2] | wide.limbs[3]) != 0)
            return error_set(err, ST_LIMIT, NULL, "the number is too large");
    if (digit > 5 || (digit == 5 && (rest || (wide.limbs[0] & 1) != 0)))
        wide.limbs[0]++; /* no carry out: a division by ten left room */
    if ((wide.limbs[1] | wide.limbs[2] | wide.limbs[3]) != 0 || wide.limbs[0] > max)
        return error_set(err, ST_LIMIT, NULL, "the number is too large");
    *out = negative ? -(int64_t)wide.limbs[0] : (int64_t)wide.limbs[0];
    return ST_OK;
}

static int count_digits(uint64_t value)
{
    int count = 0;

    for (; value != 0; value /= 10)
        count++;
    return count;
}

static u128 power_of_ten(int exponent)
{
    u128 power = 1;

    for (int i = 0; i < exponent; i++)
        power *= 10;
    return power;
}
