/* common/str.c: see str.h. */
#include "common/str.h"

#include <assert.h>
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>

enum { BUF_BYTES_FIRST = 256 };

static size_t utf8_length_at(struct str text, size_t at);
static int hex_digit(char c);
static bool reserve(struct buf *buf, size_t more_bytes);
static bool is_json_number(struct str text);
static bool skip_digits(struct str text, size_t *at);

struct str str_from_cstr(const char *text)
{
    return text == NULL ? (struct str){"", 0} : (struct str){text, strlen(text)};
}

bool str_eq(struct str a, struct str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

bool str_eq_cstr(struct str a, const char *b)
{
    return str_eq(a, str_from_cstr(b));
}

bool str_starts_with(struct str text, struct str prefix)
{
    return text.len >= prefix.len && str_eq(str_slice(text, 0, prefix.len), prefix);
}

bool str_ends_with(struct str text, struct str suffix)
{
    return text.len >= suffix.len &&
           str_eq(str_slice(text, text.len - suffix.len, text.len), suffix);
}

int str_cmp(struct str a, struct str b)
{
    const size_t common = a.len < b.len ? a.len : b.len;
    const int order = common == 0 ? 0 : memcmp(a.data, b.data, common);

    if (order != 0)
        return order;
    return (a.len > b.len) - (a.len < b.len);
}

struct str str_trim(struct str text)
{
    while (text.len > 0 && strchr(" \t\r\n", text.data[0]) != NULL && text.data[0] != '\0') {
        text.data++;
        text.len--;
    }
    while (text.len > 0 && text.data[text.len - 1] != '\0' &&
           strchr(" \t\r\n", text.data[text.len - 1]) != NULL)
        text.len--;
    return text;
}

struct str str_slice(struct str text, size_t from, size_t to)
{
    if (to > text.len)
        to = text.len;
    if (from > to)
        from = to;
    return (struct str){text.data == NULL ? "" : text.data + from, to - from};
}

bool str_find_char(struct str text, char c, size_t *index)
{
    const char *at = text.len == 0 ? NULL : memchr(text.data, c, text.len);

    if (at == NULL)
        return false;
    *index = (size_t)(at - text.data);
    return true;
}

bool str_split_next(struct str *rest, bool *more, char separator, struct str *part)
{
    size_t at;

    if (!*more)
        return false;
    if (str_find_char(*rest, separator, &at)) {
        *part = str_slice(*rest, 0, at);
        *rest = str_slice(*rest, at + 1, rest->len);
    } else {
        *part = *rest;
        *rest = str_slice(*rest, rest->len, rest->len);
        *more = false;
    }
    return true;
}

bool str_is_utf8(struct str text)
{
    size_t at = 0;

    while (at < text.len) {
        const size_t length = utf8_length_at(text, at);

        if (length == 0)
            return false;
        at += length;
    }
    return true;
}

size_t str_utf8_cut(struct str text, size_t bytes_max)
{
    size_t at = bytes_max;

    if (text.len <= bytes_max)
        return text.len;
    while (at > 0 && ((unsigned char)text.data[at] & 0xC0) == 0x80)
        at--; /* a continuation byte: the character began before the limit */
    return at;
}

bool str_parse_u64(struct str text, uint64_t *value)
{
    uint64_t result = 0;

    if (text.len == 0)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return false;
        if (__builtin_mul_overflow(result, (uint64_t)10, &result) ||
            __builtin_add_overflow(result, (uint64_t)(text.data[i] - '0'), &result))
            return false;
    }
    *value = result;
    return true;
}

bool str_parse_i64(struct str text, int64_t *value)
{
    const bool negative = text.len > 0 && text.data[0] == '-';
    uint64_t magnitude;

    if (!str_parse_u64(negative ? str_slice(text, 1, text.len) : text, &magnitude))
        return false;
    if (magnitude > (uint64_t)INT64_MAX + (negative ? 1u : 0u))
        return false;
    *value = negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
    return true;
}

bool str_parse_double(struct str text, double *value)
{
    char copy[STR_NUMBER_BYTES_MAX + 1];
    double result;

    if (text.len == 0 || text.len >= sizeof copy || !is_json_number(text))
        return false;
    memcpy(copy, text.data, text.len);
    copy[text.len] = '\0';
    result = strtod(copy, NULL); /* the programs never leave the C locale */
    if (!isfinite(result))
        return false;
    *value = result;
    return true;
}

bool str_parse_hex(struct str text, unsigned char *bytes, size_t byte_count)
{
    if (text.len != byte_count * 2)
        return false;
    for (size_t i = 0; i < byte_count; i++) {
        const int high = hex_digit(text.data[2 * i]), low = hex_digit(text.data[2 * i + 1]);

        if (high < 0 || low < 0)
            return false;
        bytes[i] = (unsigned char)(high * 16 + low);
    }
    return true;
}

void str_format_hex(const unsigned char *bytes, size_t byte_count, char *text)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < byte_count; i++) {
        text[2 * i] = digits[bytes[i] >> 4];
        text[2 * i + 1] = digits[bytes[i] & 15];
    }
    text[2 * byte_count] = '\0';
}

void buf_init(struct buf *buf, size_t bytes_max)
{
    *buf = (struct buf){.bytes_max = bytes_max};
}

void buf_fini(struct buf *buf)
{
    if (buf == NULL)
        return;
    free(buf->data);
    *buf = (struct buf){0};
}

void buf_clear(struct buf *buf)
{
    buf->len = 0;
    buf->failed = false;
    if (buf->data != NULL)
        buf->data[0] = '\0';
}

void buf_append(struct buf *buf, struct str text)
{
    if (text.len == 0 || !reserve(buf, text.len))
        return;
    memcpy(buf->data + buf->len, text.data, text.len);
    buf->len += text.len;
    buf->data[buf->len] = '\0';
}

void buf_append_cstr(struct buf *buf, const char *text)
{
    buf_append(buf, str_from_cstr(text));
}

void buf_append_char(struct buf *buf, char c)
{
    buf_append(buf, (struct str){&c, 1});
}

void buf_appendf(struct buf *buf, const char *format, ...)
{
    va_list args, again;
    int length;

    va_start(args, format);
    va_copy(again, args);
    length = vsnprintf(NULL, 0, format, args);
    if (length < 0) {
        buf->failed = true;
    } else if (reserve(buf, (size_t)length)) {
        (void)vsnprintf(buf->data + buf->len, (size_t)length + 1, format, again);
        buf->len += (size_t)length;
    }
    va_end(again);
    va_end(args);
}

void buf_append_json(struct buf *buf, struct str text)
{
    size_t at = 0;

    buf_append_char(buf, '"');
    while (at < text.len) {
        const unsigned char c = (unsigned char)text.data[at];
        const size_t length = utf8_length_at(text, at);

        if (length == 0)
            buf_append_cstr(buf, "\xEF\xBF\xBD");
        else if (c == '"' || c == '\\')
            buf_appendf(buf, "\\%c", c);
        else if (c == '\n')
            buf_append_cstr(buf, "\\n");
        else if (c == '\t')
            buf_append_cstr(buf, "\\t");
        else if (c == '\r')
            buf_append_cstr(buf, "\\r");
        else if (c < 0x20 || c == 0x7F)
            buf_appendf(buf, "\\u%04x", c);
        else
            buf_append(buf, str_slice(text, at, at + length));
        at += length == 0 ? 1 : length;
    }
    buf_append_char(buf, '"');
}

struct str buf_str(const struct buf *buf)
{
    return (struct str){buf->data == NULL ? "" : buf->data, buf->len};
}

enum status buf_check(const struct buf *buf, struct error *err)
{
    if (!buf->failed)
        return ST_OK;
    return error_set(err, ST_LIMIT, NULL, "text is larger than %zu bytes", buf->bytes_max);
}

/* Bytes of the well-formed character that begins at `at`, 0 if there is none (Unicode 15, table 3-7). */
static size_t utf8_length_at(struct str text, size_t at)
{
    const unsigned char *p = (const unsigned char *)text.data + at;
    const size_t left = text.len - at;
    unsigned char low = 0x80, high = 0xBF; /* range of the second byte */
    size_t length;

    if (p[0] < 0x80)
        return 1;
    if (p[0] >= 0xC2 && p[0] <= 0xDF)
        length = 2;
    else if (p[0] >= 0xE0 && p[0] <= 0xEF)
        length = 3;
    else if (p[0] >= 0xF0 && p[0] <= 0xF4)
        length = 4;
    else
        return 0;
    if (p[0] == 0xE0)
        low = 0xA0; /* overlong */
    else if (p[0] == 0xED)
        high = 0x9F; /* surrogates */
    else if (p[0] == 0xF0)
        low = 0x90; /* overlong */
    else if (p[0] == 0xF4)
        high = 0x8F; /* above U+10FFFF */
    if (left < length || p[1] < low || p[1] > high)
        return 0;
    for (size_t i = 2; i < length; i++)
        if (p[i] < 0x80 || p[i] > 0xBF)
            return 0;
    return length;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

static bool reserve(struct buf *buf, size_t more_bytes)
{
    size_t need, capacity;
    char *data;

    if (buf->failed)
        return false;
    if (__builtin_add_overflow(buf->len, more_bytes, &need) || need > buf->bytes_max) {
        buf->failed = true;
        return false;
    }
    if (buf->data != NULL && need < buf->capacity)
        return true;
    capacity = buf->capacity == 0 ? BUF_BYTES_FIRST : buf->capacity;
    while (capacity <= need)
        capacity *= 2;
    data = realloc(buf->data, capacity);
    if (data == NULL) {
        buf->failed = true;
        return false;
    }
    buf->data = data;
    buf->capacity = capacity;
    return true;
}

/* RFC 8259, section 6: -? (0|[1-9][0-9]*) (.[0-9]+)? ([eE][+-]?[0-9]+)? */
static bool is_json_number(struct str text)
{
    size_t i = 0;

    if (i < text.len && text.data[i] == '-')
        i++;
    if (i < text.len && text.data[i] == '0')
        i++;
    else if (!skip_digits(text, &i))
        return false;
    if (i < text.len && text.data[i] == '.') {
        i++;
        if (!skip_digits(text, &i))
            return false;
    }
    if (i < text.len && (text.data[i] == 'e' || text.data[i] == 'E')) {
        i++;
        if (i < text.len && (text.data[i] == '+' || text.data[i] == '-'))
            i++;
        if (!skip_digits(text, &i))
            return false;
    }
    return i == text.len;
}

/* False where there is none. */
static bool skip_digits(struct str text, size_t *at)
{
    const size_t first = *at;

    while (*at < text.len && text.data[*at] >= '0' && text.data[*at] <= '9')
        ++*at;
    return *at > first;
}
