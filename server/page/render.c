/* server/page/render.c: escaping by context (WHATWG HTML, serialising; RFC 3986, section 2). */
#include "server/page/render.h"

#include <strings.h>

static const char replacement[] = "\xEF\xBF\xBD"; /* U+FFFD */

static size_t character_bytes(struct str text, size_t at);
static bool disturbs(const char *character, size_t bytes);
static void append_escaped(struct buf *out, struct str text, bool attribute);
static void append_percent(struct buf *out, unsigned char byte);
static bool is_unreserved(unsigned char c);

void render_append_html(struct buf *out, struct str text)
{
    append_escaped(out, text, false);
}

void render_append_attr(struct buf *out, struct str text)
{
    append_escaped(out, text, true);
}

void render_append_url(struct buf *out, struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        const unsigned char c = (unsigned char)text.data[i];

        if (is_unreserved(c))
            buf_append_char(out, (char)c);
        else
            append_percent(out, c);
    }
}

void render_append_address(struct buf *out, struct str text)
{
    const bool rooted = text.len > 0 && text.data[0] == '/' &&
                        (text.len == 1 || (text.data[1] != '/' && text.data[1] != '\\'));
    const bool relative = text.len > 0 && (text.data[0] == '?' || text.data[0] == '#');

    if (!rooted && !relative && !render_is_web_address(text)) {
        buf_append_char(out, '#');
        return;
    }
    for (size_t i = 0; i < text.len; i++) {
        const unsigned char c = (unsigned char)text.data[i];

        if (c == '&')
            buf_append_cstr(out, "&amp;");
        else if (is_unreserved(c) || (c != '\0' && strchr(":/?#[]@!$()*+,;=%", c) != NULL))
            buf_append_char(out, (char)c);
        else
            append_percent(out, c);
    }
}

void render_append_json(struct buf *out, struct str text)
{
    struct buf plain;

    buf_init(&plain, out->bytes_max);
    buf_append_json(&plain, text);
    if (plain.failed)
        out->failed = true;
    for (size_t i = 0; i < plain.len; i++) {
        const char c = plain.data[i];

        if (c == '<' || c == '>' || c == '&') {
            buf_appendf(out, "\\u%04x", (unsigned)c);
        } else if (plain.len - i >= 3 && (memcmp(plain.data + i, "\xE2\x80\xA8", 3) == 0 ||
                                          memcmp(plain.data + i, "\xE2\x80\xA9", 3) == 0)) {
            buf_appendf(out, "\\u202%d", plain.data[i + 2] == '\xA8' ? 8 : 9);
            i += 2;
        } else {
            buf_append_char(out, c);
        }
    }
    buf_fini(&plain);
}

bool render_is_web_address(struct str text)
{
    static const char *const schemes[] = {"http://", "https://"};

    for (size_t i = 0; i < ARRAY_LEN(schemes); i++) {
        const size_t bytes = strlen(schemes[i]);

        if (text.len > bytes && strncasecmp(text.data, schemes[i], bytes) == 0)
            return true;
    }
    return false;
}

/* Of the well-formed character at `at`; 0 when there is none. */
static size_t character_bytes(struct str text, size_t at)
{
    const unsigned char c = (unsigned char)text.data[at];
    size_t bytes = 1;

    if (c >= 0xF0)
        bytes = 4;
    else if (c >= 0xE0)
        bytes = 3;
    else if (c >= 0xC0)
        bytes = 2;
    if (at + bytes > text.len || !str_is_utf8(str_slice(text, at, at + bytes)))
        return 0;
    return bytes;
}

/* U+0080 to U+009F, controls; U+202A to U+202E and U+2066 to U+2069, which turn the direction of all that follows. */
static bool disturbs(const char *character, size_t bytes)
{
    const unsigned char *c = (const unsigned char *)character;

    return (bytes == 2 && c[0] == 0xC2 && c[1] < 0xA0) ||
           (bytes == 3 && c[0] == 0xE2 &&
            ((c[1] == 0x80 && c[2] >= 0xAA && c[2] <= 0xAE) ||
             (c[1] == 0x81 && c[2] >= 0xA6 && c[2] <= 0xA9)));
}

static const char *reference(unsigned char c, bool attribute)
{
    switch (c) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '"': return attribute ? "&quot;" : NULL;
    case '\'': return attribute ? "&#39;" : NULL;
    case '\t': return attribute ? "&#9;" : NULL;
    case '\n': return attribute ? "&#10;" : NULL;
    default: return c < 0x20 || c == 0x7F ? replacement : NULL;
    }
}

static void append_escaped(struct buf *out, struct str text, bool attribute)
{
    size_t plain = 0; /* where the run of bytes that stay begins */

    for (size_t i = 0; i < text.len;) {
        const unsigned char c = (unsigned char)text.data[i];
        const size_t bytes = c < 0x80 ? 1 : character_bytes(text, i);
        const char *instead =
            bytes == 0 || disturbs(text.data + i, bytes) ? replacement : reference(c, attribute);
        const size_t next = i + (bytes == 0 ? 1 : bytes);

        if (instead != NULL) {
            buf_append(out, str_slice(text, plain, i));
            buf_append_cstr(out, instead);
            plain = next;
        }
        i = next;
    }
    buf_append(out, str_slice(text, plain, text.len));
}

static void append_percent(struct buf *out, unsigned char byte)
{
    buf_appendf(out, "%%%02X", byte);
}

static bool is_unreserved(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == '~';
}
