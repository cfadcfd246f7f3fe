/* common/status.c: see status.h. */
#include "common/status.h"

#include <assert.h>
#include <stdbool.h>

#include "common/str.h"

struct status_info {
    const char *name;
    int exit_code;
};

static const struct status_info status_table[STATUS_COUNT] = {
#define STATUS_ROW(status, code) [status] = {#status, code},
    STATUS_LIST(STATUS_ROW)
#undef STATUS_ROW
};

static void fill_text(char *text, size_t bytes, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));
static void drop_partial(char *text);
static void copy_text(char *text, size_t bytes, const char *from);

enum status error_set(struct error *err, enum status status, const char *field, const char *format,
                      ...)
{
    va_list args;

    assert(status > ST_OK && status < STATUS_COUNT);
    if (err == NULL || err->status != ST_OK)
        return status;
    err->status = status;
    copy_text(err->field, sizeof err->field, field);
    va_start(args, format);
    fill_text(err->detail, sizeof err->detail, format, args);
    va_end(args);
    return status;
}

enum status error_set_code(struct error *err, enum status status, const char *code,
                           const char *field, const char *hint, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)error_set_code_v(err, status, code, field, hint, format, args);
    va_end(args);
    return status;
}

enum status error_set_code_v(struct error *err, enum status status, const char *code,
                             const char *field, const char *hint, const char *format, va_list args)
{
    assert(status > ST_OK && status < STATUS_COUNT);
    if (err == NULL || err->status != ST_OK)
        return status;
    err->status = status;
    copy_text(err->code, sizeof err->code, code);
    copy_text(err->field, sizeof err->field, field);
    copy_text(err->hint, sizeof err->hint, hint);
    fill_text(err->detail, sizeof err->detail, format, args);
    return status;
}

const char *status_name(enum status status)
{
    assert(status >= ST_OK && status < STATUS_COUNT);
    return status_table[status].name;
}

int status_exit_code(enum status status)
{
    assert(status >= ST_OK && status < STATUS_COUNT);
    return status_table[status].exit_code;
}

static void fill_text(char *text, size_t bytes, const char *format, va_list args)
{
    const int length = vsnprintf(text, bytes, format, args);

    if (length < 0) {
        text[0] = '\0';
        return;
    }
    if ((size_t)length >= bytes)
        drop_partial(text);
}

/* vsnprintf() cut the text at a byte: takes the piece of a character off its end. */
static void drop_partial(char *text)
{
    size_t at = strlen(text), behind = 0; /* continuation bytes at the end */
    unsigned char lead;

    while (at > 0 && ((unsigned char)text[at - 1] & 0xC0) == 0x80) {
        at--;
        behind++;
    }
    if (at == 0)
        return;
    lead = (unsigned char)text[at - 1];
    if ((lead >= 0xF0 && behind < 3) || (lead >= 0xE0 && behind < 2) ||
        (lead >= 0xC0 && behind < 1))
        text[at - 1] = '\0';
}

static void copy_text(char *text, size_t bytes, const char *from)
{
    struct str whole = str_from_cstr(from == NULL ? "" : from);
    const size_t length = str_utf8_cut(whole, bytes - 1);

    memcpy(text, whole.data, length);
    text[length] = '\0';
}
