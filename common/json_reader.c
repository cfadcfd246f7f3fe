/* common/json_reader.c: the typed readers and the writer of json.h. */
#include "common/json.h"

enum { POINTER_TEXT_BYTES = 96 }; /* what struct error holds */

static const json_t *take_member(struct json_reader *reader, const char *key, bool required);
static enum status member_fault(struct json_reader *reader, const char *key, const char *code,
                                const char *wanted, const json_t *found);
static const char *member_pointer(const struct json_reader *reader, const char *key,
                                  char text[POINTER_TEXT_BYTES]);
static const char *type_name(const json_t *value);

void json_reader_init(struct json_reader *reader, const json_t *object, const char *pointer,
                      struct error *err)
{
    *reader = (struct json_reader){.object = object, .pointer = pointer, .err = err};
    if (!json_is_object(object)) {
        reader->object = NULL;
        (void)error_set_code(err, ST_INVALID, "wrong_type", pointer, NULL,
                             "an object is needed, %s was found", type_name(object));
    } else if (json_object_size(object) > 64) {
        reader->object = NULL;
        (void)error_set_code(err, ST_INVALID, "unknown_member", pointer, NULL,
                             "the object has more members than any that is known");
    }
}

bool json_read_text(struct json_reader *reader, const char *key, bool required, size_t bytes_max,
                    struct str *out)
{
    const json_t *value = take_member(reader, key, required);

    if (value == NULL)
        return false;
    if (!json_is_string(value)) {
        (void)member_fault(reader, key, "wrong_type", "text", value);
        return false;
    }
    if (json_string_length(value) > bytes_max) {
        char pointer[POINTER_TEXT_BYTES];

        (void)error_set_code(reader->err, ST_INVALID, "too_long",
                             member_pointer(reader, key, pointer), NULL,
                             "the text of \"%s\" has %zu bytes, %zu are allowed", key,
                             json_string_length(value), bytes_max);
        return false;
    }
    *out = (struct str){json_string_value(value), json_string_length(value)};
    return true;
}

bool json_read_i64(struct json_reader *reader, const char *key, bool required, int64_t min,
                   int64_t max, int64_t *out)
{
    const json_t *value = take_member(reader, key, required);

    if (value == NULL)
        return false;
    if (!json_is_integer(value)) {
        (void)member_fault(reader, key, "wrong_type", "an integer", value);
        return false;
    }
    if (json_integer_value(value) < min || json_integer_value(value) > max) {
        char pointer[POINTER_TEXT_BYTES];

        (void)error_set_code(
            reader->err, ST_INVALID, "out_of_range", member_pointer(reader, key, pointer), NULL,
            "\"%s\" must lie between %lld and %lld", key, (long long)min, (long long)max);
        return false;
    }
    *out = (int64_t)json_integer_value(value);
    return true;
}

bool json_read_double(struct json_reader *reader, const char *key, bool required, double *out)
{
    const json_t *value = take_member(reader, key, required);

    if (value == NULL)
        return false;
    if (!json_is_number(value)) {
        (void)member_fault(reader, key, "wrong_type", "a number", value);
        return false;
    }
    *out = json_number_value(value);
    return true;
}

bool json_read_bool(struct json_reader *reader, const char *key, bool required, bool *out)
{
    const json_t *value = take_member(reader, key, required);

    if (value == NULL)
        return false;
    if (!json_is_boolean(value)) {
        (void)member_fault(reader, key, "wrong_type", "true or false", value);
        return false;
    }
    *out = json_is_true(value);
    return true;
}

bool json_read_object(struct json_reader *reader, const char *key, bool required,
                      const json_t **out)
{
    const json_t *value = take_member(reader, key, required);

    if (value == NULL)
        return false;
    if (!json_is_object(value)) {
        (void)member_fault(reader, key, "wrong_type", "an object", value);
        return false;
    }
    *out = value;
    return true;
}

bool json_read_array(struct json_reader *reader, const char *key, bool required, size_t count_max,
                     const json_t **out)
{
    const json_t *value = take_member(reader, key, required);

    if (value == NULL)
        return false;
    if (!json_is_array(value)) {
        (void)member_fault(reader, key, "wrong_type", "an array", value);
        return false;
    }
    if (json_array_size(value) > count_max) {
        char pointer[POINTER_TEXT_BYTES];

        (void)error_set_code(
            reader->err, ST_INVALID, "too_long", member_pointer(reader, key, pointer), NULL,
            "\"%s\" has %zu elements, %zu are allowed", key, json_array_size(value), count_max);
        return false;
    }
    *out = value;
    return true;
}

enum status json_reader_finish(struct json_reader *reader)
{
    void *object = NULL;
    size_t index = 0;

    if (reader->err != NULL && reader->err->status != ST_OK)
        return reader->err->status;
    if (reader->object == NULL)
        return ST_INVALID;
    memcpy(&object, &reader->object, sizeof object); /* Jansson's iterators want it writable */
    for (void *i = json_object_iter(object); i != NULL; i = json_object_iter_next(object, i)) {
        const char *key = json_object_iter_key(i);
        char pointer[POINTER_TEXT_BYTES];

        if ((reader->taken >> index & 1) == 0)
            return error_set_code(
                reader->err, ST_INVALID, "unknown_member", member_pointer(reader, key, pointer),
                "leave it out, or mend its spelling", "there is no member \"%.100s\" here", key);
        index++;
    }
    return ST_OK;
}

enum status json_write(const json_t *value, struct buf *out, struct error *err)
{
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));

    if (text == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory to write JSON");
    buf_append_cstr(out, text);
    free(text);
    return buf_check(out, err);
}

/* The member, noted as taken; NULL when absent or when a fault was found before. */
static const json_t *take_member(struct json_reader *reader, const char *key, bool required)
{
    void *object = NULL;
    size_t index = 0;

    if (reader->object == NULL || (reader->err != NULL && reader->err->status != ST_OK))
        return NULL;
    memcpy(&object, &reader->object, sizeof object); /* Jansson's iterators want it writable */
    for (void *i = json_object_iter(object); i != NULL; i = json_object_iter_next(object, i)) {
        if (strcmp(json_object_iter_key(i), key) == 0) {
            reader->taken |= UINT64_C(1) << index;
            return json_object_iter_value(i);
        }
        index++;
    }
    if (required)
        (void)member_fault(reader, key, "missing_member", NULL, NULL);
    return NULL;
}

static enum status member_fault(struct json_reader *reader, const char *key, const char *code,
                                const char *wanted, const json_t *found)
{
    char pointer[POINTER_TEXT_BYTES];

    (void)member_pointer(reader, key, pointer);
    if (wanted == NULL)
        return error_set_code(reader->err, ST_INVALID, code, pointer, NULL,
                              "the member \"%s\" is missing", key);
    return error_set_code(reader->err, ST_INVALID, code, pointer, NULL,
                          "\"%s\" must be %s, %s was found", key, wanted, type_name(found));
}

/* Cut to what struct error can hold; keys are escaped as RFC 6901 has it. */
static const char *member_pointer(const struct json_reader *reader, const char *key,
                                  char text[POINTER_TEXT_BYTES])
{
    size_t length = (size_t)snprintf(text, POINTER_TEXT_BYTES, "%s/", reader->pointer);

    for (; *key != '\0' && length + 3 < POINTER_TEXT_BYTES; key++) {
        if (*key == '~' || *key == '/')
            text[length++] = '~';
        text[length++] = (char)(*key == '~' ? '0' : *key == '/' ? '1' : *key);
    }
    text[length] = '\0';
    text[str_utf8_cut(str_from_cstr(text), length)] = '\0';
    return text;
}

static const char *type_name(const json_t *value)
{
    if (value == NULL)
        return "nothing";
    switch (json_typeof(value)) {
    case JSON_OBJECT: return "an object";
    case JSON_ARRAY: return "an array";
    case JSON_STRING: return "text";
    case JSON_INTEGER: return "an integer";
    case JSON_REAL: return "a number with a fraction";
    case JSON_TRUE: return "true";
    case JSON_FALSE: return "false";
    case JSON_NULL: break;
    }
    return "null";
}
