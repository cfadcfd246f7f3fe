/* server/http/query.c: see query.h. */
#include "server/http/query.h"

#include <stdarg.h>

#include "common/clock.h"

static struct query_parameter *find_parameter(struct query *query, const char *name);
static enum status parse_parameter(struct str text, struct arena *arena, struct query *query,
                                   struct error *err);
static enum status note(const struct query *query, const struct error *fault, struct error *err);

enum status percent_decode(struct str text, bool form, struct arena *arena, struct str *out,
                           struct error *err)
{
    char *decoded = arena_alloc(arena, text.len + 1, 1);
    size_t length = 0;

    if (decoded == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory to decode a parameter");
    for (size_t i = 0; i < text.len; i++) {
        unsigned char byte = (unsigned char)text.data[i];

        if (byte == '+' && form) {
            byte = ' ';
        } else if (byte == '%') {
            if (text.len - i < 3 || !str_parse_hex(str_slice(text, i + 1, i + 3), &byte, 1))
                return error_set_code(err, ST_INVALID, "bad_encoding", NULL, NULL,
                                      "\"%%\" is not followed by two hexadecimal digits");
            i += 2;
        }
        if (byte < 0x20 || byte == 0x7F)
            return error_set_code(err, ST_INVALID, "bad_encoding", NULL, NULL,
                                  "a control character (0x%02x) is not allowed here", byte);
        decoded[length++] = (char)byte;
    }
    *out = (struct str){decoded, length};
    if (!str_is_utf8(*out))
        return error_set_code(err, ST_INVALID, "bad_encoding", NULL, NULL,
                              "the decoded text is not UTF-8");
    return ST_OK;
}

void percent_append(struct buf *out, struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        const unsigned char c = (unsigned char)text.data[i];
        const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');

        if (letter || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' || c == '~')
            buf_append_char(out, (char)c);
        else
            buf_appendf(out, "%%%02X", c);
    }
}

enum status query_parse(struct str text, struct arena *arena, struct fault_list *faults,
                        struct query *query, struct error *err)
{
    enum status status = ST_OK;
    bool more = true;
    struct str part;

    *query = (struct query){.text = text, .faults = faults};
    if (text.len == 0)
        return ST_OK;
    query->items = ARENA_NEW_ARRAY(arena, QUERY_PARAMETERS_MAX, struct query_parameter);
    if (query->items == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for the query");
    while (str_split_next(&text, &more, '&', &part)) {
        struct error fault = {0};

        if (part.len == 0)
            continue;
        if (query->count == QUERY_PARAMETERS_MAX) {
            (void)error_set_code(&fault, ST_INVALID, "bad_query", NULL, NULL,
                                 "there are more than %d parameters", QUERY_PARAMETERS_MAX);
            return note(query, &fault, err);
        }
        if (parse_parameter(part, arena, query, &fault) != ST_OK)
            status = note(query, &fault, err);
    }
    return status;
}

bool query_read_text(struct query *query, const char *name, struct str *out)
{
    struct query_parameter *parameter = find_parameter(query, name);

    if (parameter == NULL)
        return false;
    parameter->taken = true;
    *out = parameter->value;
    return true;
}

enum status query_read_phrase(struct query *query, const char *name, size_t bytes_max,
                              struct str *out, struct error *err)
{
    struct str text;

    if (!query_read_text(query, name, &text))
        return ST_OK;
    if (text.len == 0 || text.len > bytes_max)
        return query_fault(query, name, NULL, err, "%s has 1 to %zu bytes", name, bytes_max);
    *out = text;
    return ST_OK;
}

enum status query_read_word(struct query *query, const char *name, const char *const *words,
                            const char **out, struct error *err)
{
    char hint[sizeof err->hint];
    struct str text;

    if (!query_read_text(query, name, &text))
        return ST_OK;
    for (size_t i = 0; words[i] != NULL; i++)
        if (str_eq_cstr(text, words[i])) {
            *out = words[i];
            return ST_OK;
        }
    fault_join_words(words, hint, sizeof hint);
    return query_fault(query, name, hint, err, "%s is none of the words that are known here", name);
}

enum status query_read_i64(struct query *query, const char *name, int64_t min, int64_t max,
                           int64_t *out, struct error *err)
{
    struct str text;
    int64_t value;

    if (!query_read_text(query, name, &text))
        return ST_OK;
    if (!str_parse_i64(text, &value) || value < min || value > max) {
        struct error fault = {0};

        (void)error_set_code(&fault, ST_INVALID, "out_of_range", name, NULL,
                             "%s must be a whole number between %lld and %lld", name,
                             (long long)min, (long long)max);
        return note(query, &fault, err);
    }
    *out = value;
    return ST_OK;
}

enum status query_read_date(struct query *query, const char *name, bool *has, int64_t *days,
                            struct error *err)
{
    struct error reason = {0}, fault = {0};
    struct str text;
    bool padded = false;

    *has = query_read_text(query, name, &text);
    if (!*has)
        return ST_OK;
    if (clock_parse_date(text, days, &padded, &reason) == ST_OK && padded && *days >= 0)
        return ST_OK;
    *has = false;
    (void)error_set_code(&fault, ST_INVALID, "bad_date", name, "write it as yyyy-mm-dd",
                         "%s is not a date: %s", name,
                         reason.status != ST_OK ? reason.detail
                         : padded               ? "it is before 1970"
                                                : "not of the form yyyy-mm-dd");
    return note(query, &fault, err);
}

void query_check_period(const struct query *query, int64_t from_days, int64_t to_days,
                        struct error *err)
{
    if (from_days > to_days)
        (void)query_fault(query, "from", "exchange the two", err, "from is later than to");
}

enum status query_fault(const struct query *query, const char *name, const char *hint,
                        struct error *err, const char *format, ...)
{
    struct error fault = {0};
    va_list args;

    va_start(args, format);
    (void)error_set_code_v(&fault, ST_INVALID, "bad_parameter", name, hint, format, args);
    va_end(args);
    return note(query, &fault, err);
}

enum status query_finish(const struct query *query, struct error *err)
{
    enum status status = ST_OK;

    for (size_t i = 0; i < query->count; i++) {
        const struct str name = query->items[i].name;
        struct error fault = {0};

        if (query->items[i].taken)
            continue;
        (void)error_set_code(&fault, ST_INVALID, "unknown_parameter", name.data,
                             "leave it out, or mend its spelling",
                             "there is no parameter \"%.*s\" here", (int)str_utf8_cut(name, 100),
                             name.data);
        status = note(query, &fault, err);
    }
    return err != NULL && err->status != ST_OK ? err->status : status;
}

static struct query_parameter *find_parameter(struct query *query, const char *name)
{
    for (size_t i = 0; i < query->count; i++)
        if (str_eq_cstr(query->items[i].name, name))
            return &query->items[i];
    return NULL;
}

static enum status parse_parameter(struct str text, struct arena *arena, struct query *query,
                                   struct error *err)
{
    struct query_parameter *parameter = &query->items[query->count];
    size_t equals = text.len;
    struct str value;
    enum status status;

    (void)str_find_char(text, '=', &equals);
    value = equals < text.len ? str_slice(text, equals + 1, text.len) : STR("");
    status = percent_decode(str_slice(text, 0, equals), true, arena, &parameter->name, err);
    if (status == ST_OK)
        status = percent_decode(value, true, arena, &parameter->value, err);
    if (status != ST_OK) {
        if (err != NULL && err->field[0] == '\0' && parameter->name.len > 0)
            (void)snprintf(err->field, sizeof err->field, "%.60s", parameter->name.data);
        return status;
    }
    if (parameter->name.len == 0)
        return error_set_code(err, ST_INVALID, "bad_query", NULL, NULL, "a parameter has no name");
    if (find_parameter(query, parameter->name.data) != NULL)
        return error_set_code(err, ST_INVALID, "bad_query", parameter->name.data, "keep one",
                              "the parameter \"%.100s\" is there twice", parameter->name.data);
    query->count++;
    return ST_OK;
}

static enum status note(const struct query *query, const struct error *fault, struct error *err)
{
    return fault_list_add(query->faults, fault, err);
}
