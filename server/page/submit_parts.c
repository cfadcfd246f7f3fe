/* server/page/submit_parts.c: see submit_parts.h. A kept file is base64url(name) "." base64url(bytes). */
#include "server/page/submit_parts.h"

#include <string.h>

#include "common/crypto.h"

static enum status take_part(const struct multipart *from, const struct multipart_part *part,
                             struct multipart *to, struct submit_fields *fields,
                             struct arena *arena, struct error *err);
static enum status take_text(const struct multipart *from, const struct multipart_part *part,
                             const char *name, struct multipart *to, struct error *err);
static struct str without_returns(struct str text, struct arena *arena);
static enum status take_kept(const struct multipart_part *part, const char *name,
                             struct multipart *to, struct arena *arena, struct error *err);
static bool decode(struct str text, struct arena *arena, struct str *bytes);
static bool is_named(const struct multipart_part *part, const char *name);
static bool is_no_file(const struct multipart_part *part);

enum status submit_parts_read(struct multipart *parts, struct arena *arena,
                              struct submit_fields *fields, struct error *err)
{
    struct multipart kept = {.parts = ARENA_NEW_ARRAY(arena, parts->count, struct multipart_part)};

    *fields = (struct submit_fields){0};
    if (kept.parts == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for the form");
    for (size_t i = 0; i < parts->count; i++)
        if (take_part(parts, &parts->parts[i], &kept, fields, arena, err) != ST_OK)
            return err->status;
    *parts = kept;
    return ST_OK;
}

const char *submit_keep_file(struct arena *arena, struct str file_name, struct str bytes)
{
    const size_t name_chars = 4 * ((file_name.len + 2) / 3);
    char *text = arena_alloc(arena, name_chars + 1 + 4 * ((bytes.len + 2) / 3) + 1, 1);
    size_t at;

    if (text == NULL)
        return NULL;
    crypto_base64url((const unsigned char *)file_name.data, file_name.len, text);
    at = strlen(text);
    text[at] = '.';
    crypto_base64url((const unsigned char *)bytes.data, bytes.len, text + at + 1);
    return text;
}

static enum status take_part(const struct multipart *from, const struct multipart_part *part,
                             struct multipart *to, struct submit_fields *fields,
                             struct arena *arena, struct error *err)
{
    const struct {
        const char *name;
        struct str *shown;
    } texts[] = {
        {"task", &fields->task_id}, {"name", &fields->name}, {"supersedes", &fields->supersedes}};

    if (is_named(part, "csrf")) /* the listener's */
        return ST_OK;
    if (is_named(part, "do")) {
        fields->sends = str_eq(part->data, STR("send"));
        return fields->sends || str_eq(part->data, STR("check"))
                   ? ST_OK
                   : error_set_code(err, ST_INVALID, "bad_value", "do", NULL,
                                    "do is \"check\" or \"send\"");
    }
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        if (is_named(part, texts[i].name)) {
            *texts[i].shown = part->data;
            if (str_trim(part->data).len == 0)
                return ST_OK; /* left empty: absent */
        }
    if (is_named(part, "entry_text")) {
        fields->entry_text = without_returns(part->data, arena);
        return take_text(from, part, "entry", to, err);
    }
    if (is_named(part, "progress_text")) {
        fields->progress_text = without_returns(part->data, arena);
        return take_text(from, part, "progress", to, err);
    }
    if (is_named(part, "entry_kept"))
        return take_kept(part, "entry", to, arena, err);
    if (is_named(part, "progress_kept"))
        return take_kept(part, "progress", to, arena, err);
    if (!is_no_file(part))
        to->parts[to->count++] = *part;
    return ST_OK;
}

static enum status take_text(const struct multipart *from, const struct multipart_part *part,
                             const char *name, struct multipart *to, struct error *err)
{
    if (str_trim(part->data).len == 0)
        return ST_OK;
    for (size_t i = 0; i < from->count; i++)
        if (is_named(&from->parts[i], name) && !is_no_file(&from->parts[i]))
            return error_set_code(err, ST_INVALID, "bad_value", name,
                                  "clear the text, or choose no file",
                                  "there is a file for %s and a pasted text as well", name);
    to->parts[to->count++] =
        (struct multipart_part){.name = str_from_cstr(name), .data = part->data};
    return ST_OK;
}

/* A browser sends line ends as CRLF, and shows them as LF. Empty without memory: it is shown alone. */
static struct str without_returns(struct str text, struct arena *arena)
{
    char *data = arena_alloc(arena, text.len + 1, 1);
    size_t length = 0;

    if (data == NULL)
        return STR("");
    for (size_t i = 0; i < text.len; i++)
        if (text.data[i] != '\r' || i + 1 == text.len || text.data[i + 1] != '\n')
            data[length++] = text.data[i];
    data[length] = '\0';
    return (struct str){data, length};
}

static enum status take_kept(const struct multipart_part *part, const char *name,
                             struct multipart *to, struct arena *arena, struct error *err)
{
    struct multipart_part file = {.name = str_from_cstr(name), .content_type = part->content_type};
    size_t point;

    if (!str_find_char(part->data, '.', &point) ||
        !decode(str_slice(part->data, 0, point), arena, &file.file_name) ||
        !decode(str_slice(part->data, point + 1, part->data.len), arena, &file.data) ||
        !str_is_utf8(file.file_name) ||
        memchr(file.file_name.data, '\0', file.file_name.len) != NULL)
        return error_set_code(err, ST_INVALID, "bad_value", name,
                              "choose the files again, and check them",
                              "the page's copy of %s is damaged", name);
    file.has_file_name = file.file_name.len > 0;
    to->parts[to->count++] = file;
    return ST_OK;
}

/* NUL-terminated. */
static bool decode(struct str text, struct arena *arena, struct str *bytes)
{
    char *data = arena_alloc(arena, text.len + 1, 1);

    bytes->data = data;
    bytes->len = 0;
    if (data == NULL || (text.len > 0 && !crypto_base64url_parse(text, (unsigned char *)data,
                                                                 text.len, &bytes->len)))
        return false;
    data[bytes->len] = '\0';
    return true;
}

static bool is_named(const struct multipart_part *part, const char *name)
{
    return str_eq_cstr(part->name, name);
}

/* As a browser sends a field for files in which none was chosen. */
static bool is_no_file(const struct multipart_part *part)
{
    return part->has_file_name && part->file_name.len == 0 && part->data.len == 0;
}
