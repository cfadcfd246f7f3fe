/* server/http/form.c: see form.h. */
#include "server/http/form.h"

static enum status parse_field(struct str text, struct arena *arena, struct query *form,
                               struct error *err);
static enum status decode_value(struct str text, struct arena *arena, struct str *out,
                                struct error *err);

enum status form_parse(struct str body, struct arena *arena, struct query *form, struct error *err)
{
    bool more = body.len > 0;
    struct str part;

    *form = (struct query){.text = body};
    form->items = ARENA_NEW_ARRAY(arena, QUERY_PARAMETERS_MAX, struct query_parameter);
    if (form->items == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for the form");
    while (str_split_next(&body, &more, '&', &part))
        if (parse_field(part, arena, form, err) != ST_OK)
            return err->status;
    return ST_OK;
}

void form_csrf(struct str session, char text[FORM_CSRF_BYTES])
{
    unsigned char digest[SHA256_BYTES];

    crypto_hmac_sha256(session, STR("daybreak form"), digest);
    crypto_base64url(digest, sizeof digest, text);
}

enum status form_check_csrf(struct query *form, struct str session, struct error *err)
{
    struct str given = {0};

    (void)query_read_text(form, "csrf", &given);
    return form_match_csrf(given, session, err);
}

enum status form_match_csrf(struct str given, struct str session, struct error *err)
{
    char wanted[FORM_CSRF_BYTES];

    form_csrf(session, wanted);
    if (given.len == FORM_CSRF_BYTES - 1 && crypto_equal(given.data, wanted, given.len))
        return ST_OK;
    return error_set_code(err, ST_DENIED, "csrf-mismatch", "csrf",
                          "Open the page again, and send its form.",
                          "this form is of another session than yours");
}

static enum status parse_field(struct str text, struct arena *arena, struct query *form,
                               struct error *err)
{
    struct query_parameter *field = &form->items[form->count];
    struct error fault = {0};
    size_t equals = text.len;

    if (form->count == QUERY_PARAMETERS_MAX)
        return error_set_code(err, ST_INVALID, "bad_form", NULL, NULL,
                              "there are more than %d fields", QUERY_PARAMETERS_MAX);
    (void)str_find_char(text, '=', &equals);
    if (percent_decode(str_slice(text, 0, equals), true, arena, &field->name, &fault) == ST_OK)
        (void)decode_value(str_slice(text, equals + 1, text.len), arena, &field->value, &fault);
    if (fault.status != ST_OK)
        return error_set_code(err, fault.status, fault.code,
                              field->name.data == NULL ? NULL : field->name.data, NULL, "%s",
                              fault.detail);
    if (field->name.len == 0)
        return error_set_code(err, ST_INVALID, "bad_form", NULL, NULL, "a field has no name");
    for (size_t i = 0; i < form->count; i++)
        if (str_eq(form->items[i].name, field->name))
            return error_set_code(err, ST_INVALID, "bad_form", field->name.data, "keep one",
                                  "the field is there twice");
    form->count++;
    return ST_OK;
}

/* Browsers send line ends as CRLF. */
static enum status decode_value(struct str text, struct arena *arena, struct str *out,
                                struct error *err)
{
    char *decoded = arena_alloc(arena, text.len + 1, 1);
    size_t length = 0;

    if (decoded == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for a field");
    for (size_t i = 0; i < text.len; i++) {
        unsigned char byte = (unsigned char)text.data[i];
        const bool escaped = byte == '%';

        if (byte == '+') {
            byte = ' ';
        } else if (escaped) {
            if (text.len - i < 3 || !str_parse_hex(str_slice(text, i + 1, i + 3), &byte, 1))
                return error_set_code(err, ST_INVALID, "bad_encoding", NULL, NULL,
                                      "\"%%\" is not followed by two hexadecimal digits");
            i += 2;
        }
        if (escaped && byte == '\n' && length > 0 && decoded[length - 1] == '\r')
            length--;
        else if ((byte < 0x20 || byte == 0x7F) &&
                 !(escaped && (byte == '\t' || byte == '\r' || byte == '\n')))
            return error_set_code(err, ST_INVALID, "bad_encoding", NULL, NULL,
                                  "a control character (0x%02x) is not allowed here", byte);
        decoded[length++] = (char)byte;
    }
    for (size_t i = 0; i < length; i++)
        if (decoded[i] == '\r')
            decoded[i] = '\n';
    *out = (struct str){decoded, length};
    if (!str_is_utf8(*out))
        return error_set_code(err, ST_INVALID, "bad_encoding", NULL, NULL,
                              "the decoded text is not UTF-8");
    return ST_OK;
}
