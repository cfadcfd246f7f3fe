/* common/json_reader.c: the typed readers and the writer of json.h. */
#include "common/json.h"

#include <stdarg.h>

enum { POINTER_TEXT_BYTES = 96 }; /* what struct error holds */

static const json_t *take_member(struct json_reader *reader, const char *key, bool required);
static void wrong_type(struct json_reader *reader, const char *key, const char *wanted,
                       const json_t *found);
static void unknown_member(struct json_reader *reader, const char *key);
static void note(struct json_reader *reader, const char *key, struct error *fault);
static const char *member_pointer(const struct json_reader *reader, const char *key,
                                  char text[POINTER_TEXT_BYTES]);
static const char *type_name(const json_t *value);

void json_reader_init(struct json_reader *reader, const json_t *object, const char *pointer,
                      struct error *err)
{
    json_reader_init_part(reader, &(struct json_reader){.err = err}, object, pointer);
}

void json_reader_init_doc(struct json_reader *reader, const struct json_doc *doc,
                          struct fault_list *faults, struct error *err)
{
    json_reader_init_part(reader, &(struct json_reader){.err = err, .faults = faults, .doc = doc},
                          doc->root, "");
}

void json_reader_init_part(struct json_reader *reader, const struct json_reader *whole,
                           const json_t *object, const char *pointer)
{
    *reader = (struct json_reader){.object = object,
                                   .pointer = pointer,
                                   .err = whole->err,
                                   .faults = whole->faults,
                                   .doc = whole->doc};
    if (!json_is_object(object))
        (void)json_reader_fault(reader, NULL, "wrong_type", NULL,
                                "an object is needed, %s was found", type_name(object));
    else if (json_object_size(object) > 64)
        (void)json_reader_fault(reader, NULL, "unknown_member", NULL,
                                "the object has more members than any that is known");
    if (reader->status != ST_OK)
        reader->object = NULL; /* nothing is read from it, and nothing said to be missing */
}

bool json_read_text(struct json_reader *reader, const char *key, bool required, size_t bytes_max,
                    struct str *out)
{
    const json_t *value = take_member(reader, key, required);

    if (value == NULL)
        return false;
    if (!json_is_string(value)) {
        wrong_type(reader, key, "text", value);
        return false;
    }
    if (json_string_length(value) > bytes_max) {
        (void)json_reader_fault(reader, key, "too_long", NULL,
                                "the text of \"%s\" has %zu bytes, %zu are allowed", key,
                                json_string_length(value), bytes_max);
        return false;
    }
    *out = (struct str){json_string_value(value), json_string_length(value)};
    return true;
}

bool json_read_word(struct json_reader *reader, const char *key, bool required,
                    const char *const *words, const char **out)
{
    char hint[sizeof reader->err->hint];
    struct str text;

    if (!json_read_text(reader, key, required, SIZE_MAX, &text))
        return false;
    for (size_t i = 0; words[i] != NULL; i++)
        if (str_eq_cstr(text, words[i])) {
            *out = words[i];
            return true;
        }
    fault_join_words(words, hint, sizeof hint);
    (void)json_reader_fault(reader, key, "bad_value", hint,
                            "\"%s\" is not one of the words that are known here", key);
    return false;
}

bool json_read_i64(struct json_reader *reader, const char *key, bool required, int64_t min,
                   int64_t max, int64_t *out)
{
    const json_t *value = take_member(reader, key, required);

    if (value == NULL)
        return false;
    if (!json_is_integer(value)) {
        wrong_type(reader, key, "an integer", value);
        return false;
    }
    if (json_integer_value(value) < min || json_integer_value(value) > max) {
        (void)json_reader_fault(reader, key, "out_of_range", NULL,
                                "\"%s\" must lie between %lld and %lld", key, (long long)min,
                                (long long)max);
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
        wrong_type(reader, key, "a number", value);
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
        wrong_type(reader, key, "true or false", value);
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
        wrong_type(reader, key, "an object", value);
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
        wrong_type(reader, key, "an array", value);
        return false;
    }
    if (json_array_size(value) > count_max) {
        (void)json_reader_fault(reader, key, "too_long", NULL,
                                "\"%s\" has %zu elements, %zu are allowed", key,
                                json_array_size(value), count_max);
        return false;
    }
    *out = value;
    return true;
}

enum status json_reader_fault(struct json_reader *reader, const char *key, const char *code,
                              const char *hint, const char *format, ...)
{
    struct error fault = {0};
    va_list args;

    va_start(args, format);
    (void)error_set_code_v(&fault, ST_INVALID, code, NULL, hint, format, args);
    va_end(args);
    note(reader, key, &fault);
    return ST_INVALID;
}

enum status json_reader_finish(struct json_reader *reader)
{
    void *object = NULL;
    size_t index = 0;

    memcpy(&object, &reader->object, sizeof object); /* Jansson's iterators want it writable */
    for (void *i = json_object_iter(object); i != NULL; i = json_object_iter_next(object, i))
        if ((reader->taken >> index++ & 1) == 0)
            unknown_member(reader, json_object_iter_key(i));
    if (reader->err != NULL && reader->err->status != ST_OK)
        return reader->err->status;
    return reader->status;
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

/* The member, noted as taken; NULL when absent. */
static const json_t *take_member(struct json_reader *reader, const char *key, bool required)
{
    void *object = NULL;
    size_t index = 0;

    if (reader->object == NULL)
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
        (void)json_reader_fault(reader, key, "missing_member", NULL, "the member \"%s\" is missing",
                                key);
    return NULL;
}

static void wrong_type(struct json_reader *reader, const char *key, const char *wanted,
                       const json_t *found)
{
    (void)json_reader_fault(reader, key, "wrong_type", NULL, "\"%s\" must be %s, %s was found", key,
                            wanted, type_name(found));
}

static void unknown_member(struct json_reader *reader, const char *key)
{
    (void)json_reader_fault(reader, key, "unknown_member", "leave it out, or mend its spelling",
                            "there is no member \"%.*s\" here",
                            (int)str_utf8_cut(str_from_cstr(key), 100), key);
}

/* key NULL, or a member that is not there: the object's own line. */
static void note(struct json_reader *reader, const char *key, struct error *fault)
{
    const struct json_place *place = NULL;

    if (key == NULL)
        (void)snprintf(fault->field, sizeof fault->field, "%s", reader->pointer);
    else
        (void)member_pointer(reader, key, fault->field);
    if (reader->doc != NULL) {
        place = json_doc_find(reader->doc, fault->field);
        if (place == NULL)
            place = json_doc_find(reader->doc, reader->pointer);
    }
    if (place != NULL)
        fault->line = place->line;
    reader->status = fault_list_add(reader->faults, fault, reader->err);
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
