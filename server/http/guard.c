/* server/http/guard.c: see guard.h. Grammar: RFC 9110, 5.1, 5.5, 5.6.2; RFC 9112, 3.2 and 6.1. */
#include "server/http/guard.h"

#include <stdbool.h>
#include <strings.h>

static bool follows(const char *part, const char *end, size_t gap);
static bool has_value_behind(struct guard_header header);
static enum status refuse(struct error *err, struct str name, const char *what);
static bool is_name(struct str name, const char *literal);
static bool is_token(struct str text);
static bool has_control(struct str text);
static bool is_digits(struct str text);

enum status guard_check_headers(const struct guard_header *headers, size_t count, struct error *err)
{
    size_t lengths = 0, encodings = 0, hosts = 0;

    if (count > GUARD_HEADERS_MAX)
        return refuse(err, STR(""), "there are more than 64 headers");
    for (size_t i = 0; i < count; i++) {
        const struct str name = headers[i].name, value = headers[i].value;

        if (!is_token(name))
            return refuse(err, STR(""), "a header's name is not a token");
        if (has_control(value))
            return refuse(err, name, "a control byte stands in its value");
        if (is_name(name, "content-length")) {
            lengths++;
            if (!is_digits(value))
                return refuse(err, name, "it is not a number of digits only");
        } else if (is_name(name, "transfer-encoding")) {
            encodings++;
            if (!str_eq(value, STR("chunked")))
                return refuse(err, name, "only \"chunked\" is understood");
        } else if (is_name(name, "host")) {
            hosts++;
        }
    }
    if (lengths > 1)
        return refuse(err, STR("Content-Length"), "it was sent more than once");
    if (encodings > 1)
        return refuse(err, STR("Transfer-Encoding"), "it was sent more than once");
    if (lengths + encodings > 1)
        return refuse(err, STR("Content-Length"), "it was sent beside Transfer-Encoding");
    if (hosts != 1)
        return refuse(err, STR("Host"),
                      hosts == 0 ? "it is missing" : "it was sent more than once");
    return ST_OK;
}

enum status guard_check_target(struct str target, struct error *err)
{
    if (str_eq(target, STR("*")))
        return ST_OK;
    if (target.len == 0 || target.data[0] != '/')
        return error_set_code(err, ST_INVALID, "bad-target", NULL, NULL,
                              "the request's target does not begin with \"/\"");
    for (size_t i = 0; i < target.len; i++) {
        const unsigned char c = (unsigned char)target.data[i];

        if (c <= 0x20 || c >= 0x7F || c == '#')
            return error_set_code(err, ST_INVALID, "bad-target", NULL,
                                  "percent-encode whatever is not printable ASCII",
                                  "byte 0x%02x stands in the request's target", c);
    }
    return ST_OK;
}

enum status guard_check_layout(const struct guard_layout *layout, struct error *err)
{
    static const char ending[] = {0, 0, 0, 0}; /* CRLF CRLF, as the library leaves it */
    const char *end;

    if (!follows(layout->target, layout->method + strlen(layout->method), 1) ||
        !follows(layout->version, layout->target + layout->target_sent.len, 1))
        return error_set_code(err, ST_INVALID, "bad-header", NULL, NULL,
                              "the request line is not three words with one blank between");
    end = layout->version + strlen(layout->version);
    for (size_t i = 0; i < layout->count; i++) {
        const struct guard_header *header = &layout->headers[i];

        if (!follows(header->name.data, end, 2))
            return refuse(err, header->name,
                          "the line before it holds a NUL, is folded, or does "
                          "not end with CR and LF");
        if (!has_value_behind(*header))
            return refuse(err, header->name, "its line is folded or holds a NUL");
        end = header->value.data + header->value.len;
    }
    if (layout->method + layout->bytes != end + sizeof ending ||
        memcmp(end, ending, sizeof ending) != 0)
        return refuse(err, STR(""),
                      "the last header holds a NUL, is folded, or does not end with "
                      "CR and LF twice");
    return ST_OK;
}

/* The bytes between are read only once it is known that `part` stands so far behind in the same buffer. */
static bool follows(const char *part, const char *end, size_t gap)
{
    if (part != end + gap)
        return false;
    for (size_t i = 0; i < gap; i++)
        if (end[i] != '\0')
            return false;
    return true;
}

/* The name, a NUL in place of the colon, blanks, the value, a NUL. */
static bool has_value_behind(struct guard_header header)
{
    const char *byte = header.name.data + header.name.len;

    if (*byte++ != '\0')
        return false;
    while (byte != header.value.data && (*byte == ' ' || *byte == '\t'))
        byte++;
    return byte == header.value.data && memchr(byte, 0, header.value.len) == NULL &&
           byte[header.value.len] == '\0';
}

static enum status refuse(struct error *err, struct str name, const char *what)
{
    char field[64];
    const size_t length = str_utf8_cut(name, sizeof field - 1);

    if (length > 0)
        memcpy(field, name.data, length);
    field[length] = '\0';
    return error_set_code(err, ST_INVALID, "bad-header", field, NULL, "%s%s%s", field,
                          length > 0 ? ": " : "", what);
}

static bool is_name(struct str name, const char *literal)
{
    return name.len == strlen(literal) && strncasecmp(name.data, literal, name.len) == 0;
}

static bool is_token(struct str text)
{
    static const char others[] = "!#$%&'*+-.^_`|~";

    for (size_t i = 0; i < text.len; i++) {
        const char c = text.data[i];
        const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');

        if (!letter && !(c >= '0' && c <= '9') && (c == '\0' || strchr(others, c) == NULL))
            return false;
    }
    return text.len > 0;
}

static bool has_control(struct str text)
{
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.data[i] < 0x20 || text.data[i] == 0x7F)
            return true;
    return false;
}

static bool is_digits(struct str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.data[i] < '0' || text.data[i] > '9')
            return false;
    return text.len > 0 && text.len <= 18;
}
