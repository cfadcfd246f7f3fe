/* server/api/json_out.c: see json_out.h. */
#include "server/api/json_out.h"

#include <math.h>

#include "common/clock.h"
#include "common/decimal.h"

static void begin_value(struct json_out *out, const char *key);

void json_out_begin(struct json_out *out, const char *key, char bracket)
{
    begin_value(out, key);
    buf_append_char(out->buf, bracket);
    out->comma = false;
}

void json_out_end(struct json_out *out, char bracket)
{
    buf_append_char(out->buf, bracket);
    out->comma = true;
}

void json_out_text(struct json_out *out, const char *key, const char *text)
{
    if (text != NULL)
        json_out_str(out, key, str_from_cstr(text));
}

void json_out_str(struct json_out *out, const char *key, struct str text)
{
    begin_value(out, key);
    buf_append_json(out->buf, text);
}

void json_out_i64(struct json_out *out, const char *key, int64_t value)
{
    begin_value(out, key);
    buf_appendf(out->buf, "%lld", (long long)value);
}

void json_out_optional(struct json_out *out, const char *key, struct opt_i64 value)
{
    if (value.has)
        json_out_i64(out, key, value.value);
}

void json_out_bool(struct json_out *out, const char *key, bool value)
{
    begin_value(out, key);
    buf_append_cstr(out->buf, value ? "true" : "false");
}

void json_out_number(struct json_out *out, const char *key, const char *text)
{
    struct decimal value;

    if (text == NULL || decimal_parse(str_from_cstr(text), true, &value, NULL, NULL) != ST_OK)
        return;
    begin_value(out, key);
    decimal_append_json(out->buf, str_from_cstr(text));
}

void json_out_decimal(struct json_out *out, const char *key, struct opt_i64 value, int places)
{
    char text[32];

    if (!value.has)
        return;
    decimal_format_short(value.value, places, text);
    begin_value(out, key);
    buf_append_cstr(out->buf, text);
}

void json_out_double(struct json_out *out, const char *key, double value)
{
    if (!isfinite(value))
        return;
    begin_value(out, key);
    buf_appendf(out->buf, "%.9g", value);
}

void json_out_time(struct json_out *out, const char *key, int64_t real_ms)
{
    char text[CLOCK_TEXT_BYTES];

    clock_format_utc(real_ms, text);
    json_out_text(out, key, text);
}

void csv_append_cell(struct buf *out, struct str text)
{
    const bool formula = text.len > 0 && strchr("=+-@\t\r", text.data[0]) != NULL;
    bool quote = formula;

    for (size_t i = 0; i < text.len && !quote; i++)
        quote = strchr(",\"\r\n", text.data[i]) != NULL;
    if (!quote) {
        buf_append(out, text);
        return;
    }
    buf_append_cstr(out, formula ? "\"'" : "\"");
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] == '"')
            buf_append_char(out, '"');
        buf_append_char(out, text.data[i]);
    }
    buf_append_char(out, '"');
}

static void begin_value(struct json_out *out, const char *key)
{
    if (out->comma)
        buf_append_char(out->buf, ',');
    out->comma = true;
    if (key == NULL)
        return;
    buf_append_json(out->buf, str_from_cstr(key));
    buf_append_char(out->buf, ':');
}
