/* server/intake/intention.c: what was probably meant, where a value or a file looks like another's: a hint with the
 * value as it should stand. A guess never changes what is read, only what is said. */
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/decimal.h"
#include "server/intake/intake_internal.h"

enum { NUMBER_BYTES_MAX = 40, SHOWN_BYTES_MAX = 48, PLAIN_ZEROS_MAX = 4 };

static const char *shown(struct judge *judge, struct str text);
static const char *plain_number(struct judge *judge, struct str text);
static bool find_date_parts(struct str text, int parts[3], int digits[3]);
static const char *date_text(struct judge *judge, int year, int month, int day);
static const char *separator_of(struct str header);

const char *intend_scaled(struct judge *judge, struct str text, int power)
{
    struct decimal value;
    char digits[24];
    int length, zeros;

    if (decimal_parse(text, true, &value, NULL, NULL) != ST_OK)
        return NULL;
    while (value.digits != 0 && value.digits % 10 == 0) {
        value.digits /= 10;
        value.exponent++;
    }
    if (value.digits == 0)
        return "0";
    value.exponent += power;
    length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)value.digits);
    zeros = -value.exponent - length; /* behind the point, before the digits */
    if (value.exponent >= 0 && value.exponent <= PLAIN_ZEROS_MAX)
        return arena_printf(judge->arena, "%s%.*s", digits, value.exponent, "0000");
    if (value.exponent < 0 && zeros < 0)
        return arena_printf(judge->arena, "%.*s.%s", -zeros, digits, digits - zeros);
    if (value.exponent < 0 && zeros <= PLAIN_ZEROS_MAX)
        return arena_printf(judge->arena, "0.%.*s%s", zeros, "0000", digits);
    return arena_printf(judge->arena, "%.1s%s%se%d", digits, length > 1 ? "." : "", digits + 1,
                        (int)value.exponent + length - 1);
}

const char *intend_in_place(struct judge *judge, struct str text, int power, const char *what)
{
    const char *value = intend_scaled(judge, text, power), *was = shown(judge, text);

    return value == NULL || was == NULL
               ? NULL
               : arena_printf(judge->arena, "%s: write %s in place of %s", what, value, was);
}

const char *intend_number(struct judge *judge, struct str text, bool optional)
{
    static const char *const nothings[] = {"na",  "n/a", "none", "null",    "-",
                                           "nan", "",    "?",    "unknown", "tbd"};
    const struct str trimmed = str_trim(text);
    const char *value;

    for (size_t i = 0; i < ARRAY_LEN(nothings) && optional; i++)
        if (trimmed.len == strlen(nothings[i]) &&
            strncasecmp(trimmed.len == 0 ? "" : trimmed.data, nothings[i], trimmed.len) == 0)
            return "leave the field out: there is no number to give";
    value = plain_number(judge, trimmed);
    return value == NULL ? NULL
                         : arena_printf(judge->arena,
                                        "write %s: a number without quotes, units or blanks, with "
                                        "a decimal point, not a comma",
                                        value);
}

/* "0,9", "$0.9", "0.9 USD", "12 h", "1 234.5" as the number in it; NULL: there is no single one. */
static const char *plain_number(struct judge *judge, struct str text)
{
    char number[NUMBER_BYTES_MAX];
    struct decimal value;
    size_t length = 0, commas = 0, points = 0;
    bool ended = false;

    for (size_t i = 0; i < text.len; i++) {
        const char c = text.data[i];
        const bool digit = c >= '0' && c <= '9';

        if (digit || ((c == ',' || c == '.') && length > 0)) {
            if (ended || length + 2 > sizeof number)
                return NULL;
            commas += c == ',';
            points += c == '.';
            if (c == ',' && text.len > i + 4 && points == 0 && commas >= 1 &&
                memchr(text.data + i, '.', text.len - i) != NULL)
                continue; /* 1,234.5 */
            number[length++] = (char)(c == ',' ? '.' : c);
        } else if (c == '-' || c == '/') {
            return NULL;
        } else if (length > 0) {
            ended = true;
        }
    }
    number[length] = '\0';
    if (length == 0 || decimal_parse(str_from_cstr(number), true, &value, NULL, NULL) != ST_OK)
        return NULL;
    return intend_scaled(judge, str_from_cstr(number), 0);
}

const char *intend_date(struct judge *judge, struct str text)
{
    int parts[3], digits[3];
    const char *first, *second;

    if (!find_date_parts(text, parts, digits))
        return NULL;
    if (digits[0] == 4) {
        first = date_text(judge, parts[0], parts[1], parts[2]);
        if (first == NULL)
            first = date_text(judge, parts[0], parts[2], parts[1]); /* yyyy-dd-mm */
        second = NULL;
    } else if (digits[2] == 4) {
        first = date_text(judge, parts[2], parts[1], parts[0]);
        second = date_text(judge, parts[2], parts[0], parts[1]);
    } else {
        return NULL;
    }
    if (first == NULL) {
        first = second;
        second = NULL;
    }
    if (first == NULL)
        return NULL;
    return second == NULL || strcmp(first, second) == 0
               ? arena_printf(judge->arena, "write yyyy-mm-dd: %s", first)
               : arena_printf(judge->arena, "write yyyy-mm-dd: %s or %s, whichever is meant", first,
                              second);
}

/* Three numbers apart by one separator, a time of day behind them; or yyyymmdd. */
static bool find_date_parts(struct str text, int parts[3], int digits[3])
{
    size_t part = 0;

    for (size_t k = 0; k < 3; k++)
        parts[k] = digits[k] = 0;
    for (size_t i = 0; i < text.len; i++) {
        const char c = text.data[i];

        if (c >= '0' && c <= '9') {
            parts[part] = 10 * parts[part] + (c - '0');
            if (++digits[part] > 8)
                return false;
        } else if (digits[part] > 0 && part < 2 && strchr("-/. ", c) != NULL) {
            part++;
        } else if (digits[part] > 0 && part == 2 && strchr("T ", c) != NULL) {
            break;
        } else {
            return false;
        }
    }
    if (part == 0 && digits[0] == 8) {
        parts[2] = parts[0] % 100;
        parts[1] = parts[0] / 100 % 100;
        parts[0] /= 10000;
        digits[0] = 4;
        return true;
    }
    return part == 2 && digits[2] > 0;
}

static const char *date_text(struct judge *judge, int year, int month, int day)
{
    char *text = arena_printf(judge->arena, "%04d-%02d-%02d", year, month, day);
    int64_t days;
    bool padded;

    if (text == NULL || clock_parse_date(str_from_cstr(text), &days, &padded, NULL) != ST_OK)
        return NULL;
    return text;
}

bool intend_other_file(struct judge *judge, enum intake_file file, struct str text,
                       struct intake_place *place, const char **code)
{
    const struct str body =
        str_trim(str_starts_with(text, STR("\xEF\xBB\xBF")) ? str_slice(text, 3, text.len) : text);
    const struct str known[] = {STR(".json"), STR(".tsv"), STR(".csv"), STR(".txt")};
    size_t line_end;
    struct str line = body;

    *place = (struct intake_place){.file = file, .line = 1};
    if (str_find_char(body, '\n', &line_end) || str_find_char(body, '\r', &line_end))
        line = str_slice(body, 0, line_end);
    *code = "files_look_swapped";
    if (file == INTAKE_PROGRESS && line.len > 0 && line.data[0] == '{')
        return true;
    if (file == INTAKE_ENTRY && str_find_char(line, '\t', &line_end) && line.data[0] != '{' &&
        line.data[0] != '"' && memmem(line.data, line.len, "epoch", 5) != NULL &&
        memmem(line.data, line.len, "hours", 5) != NULL)
        return true;
    *code = "path_not_file";
    if (body.len == line.len && body.len > 0 && body.data[0] != '{' && body.data[0] != '"')
        for (size_t i = 0; i < ARRAY_LEN(known); i++)
            if (str_ends_with(body, known[i])) {
                place->hint =
                    arena_printf(judge->arena, "send what is in the file: with curl, -F '%s=@%s'",
                                 file == INTAKE_ENTRY ? "entry" : "progress", shown(judge, body));
                return true;
            }
    return false;
}

const char *intend_columns(struct judge *judge, const struct tsv_row *header)
{
    static const struct {
        const char *from, *to;
    } names[] = {{"top1", "top1Accuracy"},
                 {"top5", "top5Accuracy"},
                 {"top-1", "top1Accuracy"},
                 {"top-5", "top5Accuracy"},
                 {"accuracy", "top1Accuracy"},
                 {"acc", "top1Accuracy"},
                 {"top1_accuracy", "top1Accuracy"},
                 {"top5_accuracy", "top5Accuracy"},
                 {"f1", "f1Score"},
                 {"time", "hours"},
                 {"hour", "hours"},
                 {"epochs", "epoch"}};
    const struct str first = header->cell_count == 0 ? STR("") : header->cells[0];
    const char *separator = header->cell_count == 1 ? separator_of(first) : NULL;

    if (separator != NULL)
        return arena_printf(judge->arena, "put one tab in place of %s between names and cells",
                            separator);
    for (size_t at = 0; at < header->cell_count; at++) {
        if (header->cells[at].len == 0)
            return "put one tab between names and cells, not two";
        for (size_t i = 0; i < ARRAY_LEN(names); i++) {
            const struct str cell = header->cells[at];

            if (cell.len == strlen(names[i].from) &&
                strncasecmp(cell.data, names[i].from, cell.len) == 0 &&
                judge_has_column(judge, names[i].to))
                return arena_printf(judge->arena, "call the column %s, not %s", names[i].to,
                                    shown(judge, cell));
        }
    }
    return NULL;
}

const char *intend_separator(struct judge *judge, struct str line)
{
    const char *separator = separator_of(line);

    return separator == NULL
               ? NULL
               : arena_printf(judge->arena, "put one tab in place of %s between cells", separator);
}

static const char *separator_of(struct str header)
{
    size_t at;

    if (str_find_char(header, ';', &at))
        return "each semicolon";
    if (str_find_char(header, ',', &at))
        return "each comma";
    if (str_find_char(header, ' ', &at))
        return "the blanks";
    return NULL;
}

static const char *shown(struct judge *judge, struct str text)
{
    const size_t cut = str_utf8_cut(text, SHOWN_BYTES_MAX);

    return judge_clean_text(judge, str_slice(text, 0, cut));
}
