/* server/http/cursor.c: see cursor.h. */
#include "server/http/cursor.h"

#include "common/crypto.h"

enum { CHECK_BYTES = 4, BYTES_MAX = CURSOR_TEXT_BYTES_MAX / 4 * 3 };

static void append_number(struct buf *out, uint64_t number, size_t bytes);
static bool take_number(struct str *rest, size_t bytes, uint64_t *number);
static bool take_value(struct str *rest, char kind, struct arena *arena,
                       struct cursor_value *value);
static void make_check(const char *list, struct str payload, unsigned char check[CHECK_BYTES]);

const char *cursor_make(struct arena *arena, const char *list, const char *kinds,
                        const struct cursor_value *values)
{
    char text[CURSOR_TEXT_BYTES_MAX + 1];
    unsigned char check[CHECK_BYTES];
    const char *made = NULL;
    struct buf payload;

    buf_init(&payload, BYTES_MAX);
    buf_append(&payload, (struct str){"\0\0\0", CHECK_BYTES});
    for (size_t i = 0; kinds[i] != '\0'; i++) {
        buf_append_char(&payload, kinds[i]);
        if (kinds[i] == 'i') {
            append_number(&payload, (uint64_t)values[i].number, 8);
        } else {
            append_number(&payload, values[i].text.len, 2);
            buf_append(&payload, values[i].text);
        }
    }
    if (!payload.failed) {
        make_check(list, str_slice(buf_str(&payload), CHECK_BYTES, payload.len), check);
        memcpy(payload.data, check, CHECK_BYTES);
        crypto_base64url((const unsigned char *)payload.data, payload.len, text);
        made = arena_copy(arena, str_from_cstr(text));
    }
    buf_fini(&payload);
    return made;
}

enum status cursor_parse(struct str text, const char *list, const char *kinds, struct arena *arena,
                         struct cursor_value *values, struct error *err)
{
    unsigned char bytes[BYTES_MAX], check[CHECK_BYTES];
    struct str rest;
    size_t count;
    bool good = crypto_base64url_parse(text, bytes, sizeof bytes, &count) && count >= CHECK_BYTES;

    if (good) {
        rest = (struct str){(const char *)bytes + CHECK_BYTES, count - CHECK_BYTES};
        make_check(list, rest, check);
        good = memcmp(check, bytes, CHECK_BYTES) == 0;
        for (size_t i = 0; good && kinds[i] != '\0'; i++)
            good = take_value(&rest, kinds[i], arena, &values[i]);
        good = good && rest.len == 0;
    }
    if (!good)
        return error_set_code(err, ST_INVALID, "bad_cursor", "cursor",
                              "take it from next_cursor of the page before, or leave it out",
                              "this is not a cursor of this list");
    return ST_OK;
}

static void append_number(struct buf *out, uint64_t number, size_t bytes)
{
    for (size_t i = bytes; i > 0; i--)
        buf_append_char(out, (char)(number >> (8 * (i - 1)) & 0xFF));
}

static bool take_number(struct str *rest, size_t bytes, uint64_t *number)
{
    if (rest->len < bytes)
        return false;
    *number = 0;
    for (size_t i = 0; i < bytes; i++)
        *number = *number << 8 | (unsigned char)rest->data[i];
    *rest = str_slice(*rest, bytes, rest->len);
    return true;
}

static bool take_value(struct str *rest, char kind, struct arena *arena, struct cursor_value *value)
{
    uint64_t number;

    if (rest->len == 0 || rest->data[0] != kind)
        return false;
    *rest = str_slice(*rest, 1, rest->len);
    if (!take_number(rest, kind == 'i' ? 8 : 2, &number))
        return false;
    value->number = (int64_t)number;
    if (kind == 'i')
        return true;
    if (number > rest->len)
        return false;
    value->text = str_slice(*rest, 0, (size_t)number);
    *rest = str_slice(*rest, (size_t)number, rest->len);
    if (!str_is_utf8(value->text) || memchr(value->text.data, '\0', value->text.len) != NULL)
        return false;
    value->text.data = arena_copy(arena, value->text);
    return value->text.data != NULL;
}

static void make_check(const char *list, struct str payload, unsigned char check[CHECK_BYTES])
{
    unsigned char digest[SHA256_BYTES];

    crypto_hmac_sha256(str_from_cstr(list), payload, digest);
    memcpy(check, digest, CHECK_BYTES);
}
