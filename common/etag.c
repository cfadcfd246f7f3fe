/* common/etag.c: see etag.h. */
#include "common/etag.h"

#include <inttypes.h>
#include <stdio.h>

static bool next_tag(struct str *rest, bool *weak, struct str *tag);

void etag_format(char text[ETAG_BYTES], const char *topic, int64_t version)
{
    (void)snprintf(text, ETAG_BYTES, "\"%.150s.%" PRId64 "\"", topic, version);
}

enum status etag_list_check(struct str list, const char *header, struct error *err)
{
    struct str rest = str_trim(list), tag;
    bool weak;

    if (str_eq(rest, STR("*")))
        return ST_OK;
    do {
        if (!next_tag(&rest, &weak, &tag))
            return error_set_code(err, ST_INVALID, "bad-etag", header,
                                  "send the ETag of what was read, with its quotes",
                                  "%s is \"*\" or a list of quoted ETags", header);
    } while (rest.len > 0);
    return ST_OK;
}

bool etag_list_holds(struct str list, const char *etag, bool weak)
{
    struct str rest = str_trim(list), tag;
    bool tag_is_weak;

    if (str_eq(rest, STR("*")))
        return true;
    while (rest.len > 0 && next_tag(&rest, &tag_is_weak, &tag))
        if (str_eq_cstr(tag, etag) && (weak || !tag_is_weak))
            return true;
    return false;
}

/* Takes one tag with its quotes, and the comma behind it. A comma may stand inside the quotes. */
static bool next_tag(struct str *rest, bool *weak, struct str *tag)
{
    size_t end = 1;

    *weak = str_starts_with(*rest, STR("W/"));
    if (*weak)
        *rest = str_slice(*rest, 2, rest->len);
    if (rest->len < 2 || rest->data[0] != '"')
        return false;
    while (end < rest->len && rest->data[end] != '"') {
        if ((unsigned char)rest->data[end] <= ' ' || rest->data[end] == 0x7F)
            return false;
        end++;
    }
    if (end == rest->len)
        return false;
    *tag = str_slice(*rest, 0, end + 1);
    *rest = str_trim(str_slice(*rest, end + 1, rest->len));
    if (rest->len == 0)
        return true;
    if (rest->data[0] != ',')
        return false;
    *rest = str_trim(str_slice(*rest, 1, rest->len));
    return rest->len > 0; /* nothing behind a comma: a tag is missing */
}
