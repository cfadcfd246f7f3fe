/* server/http/media.c: see media.h. Grammar: RFC 9110, 5.6.6 and 8.3.1; an empty parameter, which it allows to readers, is
 * refused: nobody writes one on purpose. */
#include "server/http/media.h"

#include <string.h>
#include <strings.h>

static bool is_word(struct str text, const char *word);

enum media media_parse(struct str content_type)
{
    static const struct {
        const char *name;
        enum media media;
    } rows[] = {{"application/json", MEDIA_JSON},
                {"multipart/form-data", MEDIA_MULTIPART},
                {"application/x-ndjson", MEDIA_NDJSON},
                {"application/x-www-form-urlencoded", MEDIA_FORM}};
    enum media media = MEDIA_NONE;
    struct str parameter, value;
    size_t semicolon = content_type.len, equals;
    const bool has_parameters = str_find_char(content_type, ';', &semicolon);

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (is_word(str_trim(str_slice(content_type, 0, semicolon)), rows[i].name))
            media = rows[i].media;
    if (!has_parameters || media == MEDIA_MULTIPART || media == MEDIA_NONE)
        return media;
    parameter = str_trim(str_slice(content_type, semicolon + 1, content_type.len));
    if (!str_find_char(parameter, '=', &equals) ||
        !is_word(str_slice(parameter, 0, equals), "charset"))
        return MEDIA_NONE;
    value = str_slice(parameter, equals + 1, parameter.len);
    return is_word(value, "utf-8") || is_word(value, "\"utf-8\"") ? media : MEDIA_NONE;
}

static bool is_word(struct str text, const char *word)
{
    return text.len == strlen(word) && strncasecmp(text.data, word, text.len) == 0;
}
