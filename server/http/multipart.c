/* server/http/multipart.c: see multipart.h. Grammar: RFC 2046, 5.1.1; RFC 7578, 4.2; RFC 6266 for parameters. */
#include "server/http/multipart.h"

#include <stdint.h>
#include <strings.h>

enum { BOUNDARY_BYTES_MAX = 70, PART_HEADER_BYTES_MAX = 4096 };

struct reader {
    struct str body;
    size_t at;
    struct str boundary;
    struct arena *arena;
    struct error *err;
};

static enum status malformed(struct error *err, const char *what);
static bool find_bytes(struct str text, size_t from, struct str needle, size_t *index);
static enum status read_part(struct reader *reader, struct multipart_part *part);
static enum status read_headers(struct reader *reader, struct multipart_part *part);
static enum status read_header(struct reader *reader, struct str line, struct multipart_part *part,
                               bool *disposition);
static enum status read_disposition(struct reader *reader, struct str value,
                                    struct multipart_part *part);
static enum status read_parameter(struct reader *reader, struct str *rest, struct str *name,
                                  struct str *value);
static bool read_quoted(struct str text, struct arena *arena, struct str *value, size_t *used);
static enum status keep_text(struct reader *reader, struct str text, struct str *out);
static struct str base_name(struct str path);
static bool is_boundary_char(char c);
static bool equals_ignoring_case(struct str text, const char *literal);

enum status multipart_find_boundary(struct str content_type, struct arena *arena,
                                    struct str *boundary, struct error *err)
{
    struct reader reader = {.arena = arena, .err = err};
    struct str rest = content_type, name = {0}, value = {0};
    size_t semicolon;

    if (!str_find_char(content_type, ';', &semicolon))
        return malformed(err, "its Content-Type has no boundary");
    rest = str_slice(content_type, semicolon, content_type.len);
    *boundary = STR("");
    while (rest.len > 0) {
        const enum status status = read_parameter(&reader, &rest, &name, &value);

        if (status != ST_OK)
            return status;
        if (!equals_ignoring_case(name, "boundary"))
            continue;
        if (boundary->len > 0)
            return malformed(err, "its Content-Type has two boundaries");
        *boundary = value;
        if (value.len == 0 || value.len > BOUNDARY_BYTES_MAX || value.data[value.len - 1] == ' ')
            return malformed(err, "its boundary is empty or too long");
        for (size_t i = 0; i < value.len; i++)
            if (!is_boundary_char(value.data[i]))
                return malformed(err, "its boundary has a character that none may have");
    }
    return boundary->len > 0 ? ST_OK : malformed(err, "its Content-Type has no boundary");
}

enum status multipart_parse(struct str body, struct str boundary, struct arena *arena,
                            struct multipart *multipart, struct error *err)
{
    struct reader reader = {.body = body, .arena = arena, .err = err};
    char *delimiter = arena_printf(arena, "\r\n--%.*s", STR_ARG(boundary));

    *multipart = (struct multipart){0};
    multipart->parts = ARENA_NEW_ARRAY(arena, MULTIPART_PARTS_MAX, struct multipart_part);
    if (delimiter == NULL || multipart->parts == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for the parts");
    reader.boundary = str_from_cstr(delimiter);
    /* The first delimiter has no line end before it; a preamble is allowed by RFC 2046 and used by nobody. */
    if (!str_starts_with(body, str_slice(reader.boundary, 2, reader.boundary.len)))
        return malformed(err, "it does not begin with its boundary");
    reader.at = reader.boundary.len - 2;
    for (;;) {
        struct multipart_part *part = &multipart->parts[multipart->count];
        const struct str rest = str_slice(body, reader.at, body.len);
        enum status status;

        if (str_starts_with(rest, STR("--"))) {
            if (rest.len == 2 || str_eq(rest, STR("--\r\n")))
                return ST_OK;
            return malformed(err, "there are bytes behind its last boundary");
        }
        if (!str_starts_with(rest, STR("\r\n")))
            return malformed(err, "a boundary is not followed by a line end");
        if (multipart->count == MULTIPART_PARTS_MAX)
            return error_set_code(err, ST_LIMIT, "bad_multipart", "body", NULL,
                                  "there are more than %d parts", MULTIPART_PARTS_MAX);
        reader.at += 2;
        status = read_part(&reader, part);
        if (status != ST_OK)
            return status;
        multipart->count++;
    }
}

const struct multipart_part *multipart_find(const struct multipart *multipart, const char *name)
{
    for (size_t i = 0; i < multipart->count; i++)
        if (str_eq_cstr(multipart->parts[i].name, name))
            return &multipart->parts[i];
    return NULL;
}

static enum status malformed(struct error *err, const char *what)
{
    return error_set_code(err, ST_INVALID, "bad_multipart", "body", NULL,
                          "the multipart body is malformed: %s", what);
}

static bool find_bytes(struct str text, size_t from, struct str needle, size_t *index)
{
    const char *found;

    if (from > text.len || text.len - from < needle.len)
        return false;
    found = memmem(text.data + from, text.len - from, needle.data, needle.len);
    if (found == NULL)
        return false;
    *index = (size_t)(found - text.data);
    return true;
}

static enum status read_part(struct reader *reader, struct multipart_part *part)
{
    enum status status;
    size_t end;

    *part = (struct multipart_part){0};
    status = read_headers(reader, part);
    if (status != ST_OK)
        return status;
    if (!find_bytes(reader->body, reader->at - 2, reader->boundary, &end))
        return malformed(reader->err, "a part has no end");
    /* An empty part's delimiter shares its CRLF with the blank line that ended the headers. */
    part->data = end < reader->at ? STR("") : str_slice(reader->body, reader->at, end);
    reader->at = end + reader->boundary.len;
    return ST_OK;
}

static enum status read_headers(struct reader *reader, struct multipart_part *part)
{
    const size_t start = reader->at;
    bool disposition = false;

    for (;;) {
        enum status status;
        struct str line;
        size_t end;

        if (!find_bytes(reader->body, reader->at, STR("\r\n"), &end))
            return malformed(reader->err, "a part's headers have no end");
        if (end - start > PART_HEADER_BYTES_MAX)
            return malformed(reader->err, "a part's headers are too long");
        line = str_slice(reader->body, reader->at, end);
        reader->at = end + 2;
        if (line.len == 0)
            break;
        status = read_header(reader, line, part, &disposition);
        if (status != ST_OK)
            return status;
    }
    return disposition ? ST_OK : malformed(reader->err, "a part has no Content-Disposition");
}

static enum status read_header(struct reader *reader, struct str line, struct multipart_part *part,
                               bool *disposition)
{
    struct str name, value;
    size_t colon;

    if (!str_find_char(line, ':', &colon))
        return malformed(reader->err, "a part has a header line without a colon");
    name = str_slice(line, 0, colon);
    value = str_trim(str_slice(line, colon + 1, line.len));
    for (size_t i = 0; i < line.len; i++)
        if ((unsigned char)line.data[i] < 0x20 && line.data[i] != '\t')
            return malformed(reader->err, "a part's header has a control byte");
    if (equals_ignoring_case(name, "content-type")) {
        part->content_type = value;
    } else if (equals_ignoring_case(name, "content-disposition")) {
        if (*disposition)
            return malformed(reader->err, "a part has two Content-Dispositions");
        *disposition = true;
        return read_disposition(reader, value, part);
    }
    return ST_OK;
}

static enum status read_disposition(struct reader *reader, struct str value,
                                    struct multipart_part *part)
{
    static const struct str kind = {"form-data", 9};
    struct str rest, name, text;
    enum status status = ST_OK;

    if (value.len < kind.len || !equals_ignoring_case(str_slice(value, 0, kind.len), "form-data"))
        return malformed(reader->err, "a part is not form-data");
    rest = str_slice(value, kind.len, value.len);
    while (status == ST_OK && rest.len > 0) {
        status = read_parameter(reader, &rest, &name, &text);
        if (status != ST_OK)
            break;
        if (equals_ignoring_case(name, "name")) {
            if (part->name.data != NULL)
                return malformed(reader->err, "a part has two names");
            status = keep_text(reader, text, &part->name);
        } else if (equals_ignoring_case(name, "filename")) {
            part->has_file_name = true;
            status = keep_text(reader, base_name(text), &part->file_name);
        }
    }
    if (status == ST_OK && part->name.len == 0)
        return malformed(reader->err, "a part has no name");
    return status;
}

/* `; name=value` or `; name="value"`, blanks allowed around; cuts it off *rest. */
static enum status read_parameter(struct reader *reader, struct str *rest, struct str *name,
                                  struct str *value)
{
    struct str text = str_trim(*rest);
    size_t equals, used;

    if (text.len == 0 || text.data[0] != ';')
        return malformed(reader->err, "a header's parameter is not set off by \";\"");
    text = str_trim(str_slice(text, 1, text.len));
    if (!str_find_char(text, '=', &equals) || equals == 0)
        return malformed(reader->err, "a header's parameter has no value");
    *name = str_slice(text, 0, equals);
    text = str_slice(text, equals + 1, text.len);
    if (text.len > 0 && text.data[0] == '"') {
        if (!read_quoted(text, reader->arena, value, &used))
            return malformed(reader->err, "a quoted text has no end");
    } else {
        for (used = 0; used < text.len && text.data[used] != ';' && text.data[used] != ' ';)
            used++;
        *value = str_slice(text, 0, used);
    }
    *rest = str_trim(str_slice(text, used, text.len));
    return ST_OK;
}

/* Browsers write a double quote in a file name as %22 (WHATWG), others as \" (RFC 9110). */
static bool read_quoted(struct str text, struct arena *arena, struct str *value, size_t *used)
{
    char *out = arena_alloc(arena, text.len, 1);
    size_t length = 0;

    if (out == NULL)
        return false;
    for (size_t i = 1; i < text.len; i++) {
        if (text.data[i] == '"') {
            *used = i + 1;
            *value = (struct str){out, length};
            return true;
        }
        if (text.data[i] == '\\' && i + 1 < text.len &&
            (text.data[i + 1] == '"' || text.data[i + 1] == '\\'))
            i++;
        out[length++] = text.data[i];
    }
    return false;
}

static enum status keep_text(struct reader *reader, struct str text, struct str *out)
{
    char *copy;

    if (!str_is_utf8(text))
        return malformed(reader->err, "a part's name is not UTF-8");
    copy = arena_copy(reader->arena, text);
    if (copy == NULL)
        return error_set(reader->err, ST_NO_MEMORY, NULL, "no memory for a part's name");
    *out = (struct str){copy, text.len};
    return ST_OK;
}

static struct str base_name(struct str path)
{
    for (size_t i = path.len; i > 0; i--)
        if (path.data[i - 1] == '/' || path.data[i - 1] == '\\')
            return str_slice(path, i, path.len);
    return path;
}

static bool is_boundary_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("'()+_,-./:=? ", c) != NULL);
}

static bool equals_ignoring_case(struct str text, const char *literal)
{
    return text.len == strlen(literal) && strncasecmp(text.data, literal, text.len) == 0;
}
