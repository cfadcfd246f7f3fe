/* common/json.c: see json.h. A scanner walks the bytes once with a stack of its own: it refuses what is not JSON,
 * and notes where each value stands. Then Jansson builds the tree from the same bytes, which the scanner has
 * found to be well-formed; what is left for it to refuse are duplicate keys. */
#include "common/json.h"

#include <assert.h>
#include <limits.h>

enum {
    VALUES_MAX = 8192,
    POINTERS_BYTES_MAX = 512 * 1024,
    PLACES_FIRST = 32,
    POINTER_TEXT_BYTES = 96
};

struct level { /* an array or object that is open */
    bool is_object;
    size_t index;       /* of the next element */
    struct str pointer; /* of the container */
    size_t place;       /* its own row in places */
};

struct scanner {
    struct arena *arena;
    struct error *err;
    struct str text;
    size_t at;
    int line;
    struct level stack[JSON_DEPTH_MAX];
    size_t depth;
    struct json_place *places;
    size_t place_count, place_capacity;
    size_t pointers_bytes;
    size_t *big; /* ends of integers above 64 bits, for Jansson to read as reals */
    size_t big_count;
    struct str pointer; /* of the value that is being read */
    int key_line;
};

static void copy_pointer(struct str pointer, char text[POINTER_TEXT_BYTES]);
static enum status scan_document(struct scanner *scanner);
static enum status scan_value(struct scanner *scanner, bool *opened);
static enum status scan_after_value(struct scanner *scanner, bool *ended);
static enum status open_container(struct scanner *scanner, size_t place, bool is_object,
                                  bool *opened);
static enum status enter_element(struct scanner *scanner);
static enum status enter_member(struct scanner *scanner);
static enum status set_pointer(struct scanner *scanner, struct str parent, struct str key);
static enum status add_place(struct scanner *scanner, size_t *index);
static enum status scan_string(struct scanner *scanner, struct str *decoded);
static enum status decode_string(struct scanner *scanner, struct str raw, struct str *decoded);
static bool read_escape(struct str raw, size_t *at, char out[4], size_t *bytes);
static bool read_hex4(struct str raw, size_t at, unsigned *code);
static size_t encode_utf8(unsigned code, char out[4]);
static enum status scan_number(struct scanner *scanner);
static bool skip_digits(struct scanner *scanner);
static enum status note_big(struct scanner *scanner);
static enum status scan_word(struct scanner *scanner);
static void skip_blanks(struct scanner *scanner);
static int peek(const struct scanner *scanner);
static enum status syntax_fault(struct scanner *scanner, const char *wanted);
static enum status build_tree(struct scanner *scanner, struct json_doc *doc);
static enum status build_fault(struct scanner *scanner, const json_error_t *fault);

enum status json_doc_parse(struct str text, struct arena *arena, struct json_doc *doc,
                           struct error *err)
{
    static const struct str bom = {"\xEF\xBB\xBF", 3};
    struct scanner scanner = {
        .arena = arena, .err = err, .text = text, .line = 1, .pointer = STR("")};
    enum status status;

    *doc = (struct json_doc){0};
    if (!str_is_utf8(text)) {
        for (size_t i = 0, whole = str_utf8_cut(text, text.len); i < whole; i++)
            scanner.line += text.data[i] == '\n';
        status = error_set_code(err, ST_INVALID, "not_utf8", NULL, "save the file as UTF-8",
                                "the text is not UTF-8");
        goto fault;
    }
    if (str_starts_with(text, bom))
        scanner.text = str_slice(text, bom.len, text.len);
    status = scan_document(&scanner);
    if (status == ST_OK)
        status = build_tree(&scanner, doc);
    if (status == ST_OK)
        return ST_OK;
fault:
    if (err != NULL && err->status == status && err->line == 0 && status != ST_NO_MEMORY) {
        err->line = scanner.line;
        if (err->field[0] == '\0')
            copy_pointer(scanner.pointer, err->field);
    }
    return status;
}

void json_doc_fini(struct json_doc *doc)
{
    if (doc == NULL)
        return;
    json_decref(doc->root);
    *doc = (struct json_doc){0};
}

const struct json_place *json_doc_find(const struct json_doc *doc, const char *pointer)
{
    for (size_t i = 0; i < doc->place_count; i++)
        if (str_eq_cstr(doc->places[i].pointer, pointer))
            return &doc->places[i];
    return NULL;
}

static void copy_pointer(struct str pointer, char text[POINTER_TEXT_BYTES])
{
    const size_t length = str_utf8_cut(pointer, POINTER_TEXT_BYTES - 1);

    memcpy(text, pointer.data, length);
    text[length] = '\0';
}

static enum status scan_document(struct scanner *scanner)
{
    bool opened, ended = false;
    enum status status = ST_OK;

    scanner->pointer = STR("");
    scanner->key_line = 0;
    while (status == ST_OK && !ended) {
        opened = false;
        status = scan_value(scanner, &opened);
        if (status == ST_OK && !opened)
            status = scan_after_value(scanner, &ended);
    }
    if (status != ST_OK)
        return status;
    skip_blanks(scanner);
    if (scanner->at < scanner->text.len)
        return error_set_code(scanner->err, ST_INVALID, "json_trailing", NULL,
                              "keep one JSON value in the file",
                              "there is more text behind the end of the JSON value");
    return ST_OK;
}

/* Reads one value. *opened: it is a container with something in it, whose first value comes next. */
static enum status scan_value(struct scanner *scanner, bool *opened)
{
    size_t place = 0, start;
    enum status status;
    int c;

    skip_blanks(scanner);
    status = add_place(scanner, &place);
    if (status != ST_OK)
        return status;
    assert(scanner->places != NULL); /* add_place() promises the row */
    start = scanner->at;
    c = peek(scanner);
    if (c == '{' || c == '[')
        return open_container(scanner, place, c == '{', opened);
    if (c == '"') {
        struct str decoded;

        status = scan_string(scanner, &decoded);
    } else if (c == '-' || (c >= '0' && c <= '9')) {
        status = scan_number(scanner);
    } else {
        status = scan_word(scanner);
    }
    if (status == ST_OK)
        scanner->places[place].raw = str_slice(scanner->text, start, scanner->at);
    return status;
}

/* After a value: closes containers until a comma leads to the next one, or the document ends. */
static enum status scan_after_value(struct scanner *scanner, bool *ended)
{
    while (scanner->depth > 0) {
        struct level *level = &scanner->stack[scanner->depth - 1];
        struct json_place *place = &scanner->places[level->place];
        int c;

        skip_blanks(scanner);
        c = peek(scanner);
        if (c == ',') {
            scanner->at++;
            return level->is_object ? enter_member(scanner) : enter_element(scanner);
        }
        if (c != (level->is_object ? '}' : ']')) {
            scanner->pointer = level->pointer;
            return syntax_fault(scanner, level->is_object ? "\",\" or \"}\"" : "\",\" or \"]\"");
        }
        scanner->at++;
        place->raw.len = (size_t)(scanner->text.data + scanner->at - place->raw.data);
        scanner->depth--;
    }
    *ended = true;
    return ST_OK;
}

static enum status open_container(struct scanner *scanner, size_t place, bool is_object,
                                  bool *opened)
{
    struct level *level;

    if (scanner->depth == JSON_DEPTH_MAX)
        return error_set_code(scanner->err, ST_INVALID, "json_depth", NULL, NULL,
                              "arrays and objects are nested deeper than %d", JSON_DEPTH_MAX);
    level = &scanner->stack[scanner->depth];
    *level = (struct level){.is_object = is_object, .pointer = scanner->pointer, .place = place};
    scanner->places[place].raw = str_slice(scanner->text, scanner->at, scanner->at + 1);
    scanner->at++;
    skip_blanks(scanner);
    if (peek(scanner) == (is_object ? '}' : ']')) {
        scanner->at++;
        scanner->places[place].raw.len =
            (size_t)(scanner->text.data + scanner->at - scanner->places[place].raw.data);
        return ST_OK;
    }
    scanner->depth++;
    *opened = true;
    return is_object ? enter_member(scanner) : enter_element(scanner);
}

static enum status enter_element(struct scanner *scanner)
{
    struct level *level = &scanner->stack[scanner->depth - 1];
    char digits[24];

    (void)snprintf(digits, sizeof digits, "%zu", level->index++);
    scanner->key_line = 0;
    return set_pointer(scanner, level->pointer, str_from_cstr(digits));
}

static enum status enter_member(struct scanner *scanner)
{
    const struct level *level = &scanner->stack[scanner->depth - 1];
    struct str key = {0};
    enum status status;

    scanner->pointer = level->pointer;
    skip_blanks(scanner);
    if (peek(scanner) != '"')
        return syntax_fault(scanner, "a member's name in double quotes");
    scanner->key_line = scanner->line;
    status = scan_string(scanner, &key);
    if (status == ST_OK)
        status = set_pointer(scanner, level->pointer, key);
    if (status != ST_OK)
        return status;
    skip_blanks(scanner);
    if (peek(scanner) != ':')
        return syntax_fault(scanner, "\":\"");
    scanner->at++;
    return ST_OK;
}

static enum status set_pointer(struct scanner *scanner, struct str parent, struct str key)
{
    size_t bytes = parent.len + 1, at = 0;
    char *text;

    for (size_t i = 0; i < key.len; i++)
        bytes += key.data[i] == '~' || key.data[i] == '/' ? 2 : 1;
    if (bytes > JSON_POINTER_BYTES_MAX || scanner->pointers_bytes + bytes > POINTERS_BYTES_MAX)
        return error_set_code(scanner->err, ST_INVALID, "json_values", NULL, NULL,
                              "the names of members are too long");
    scanner->pointers_bytes += bytes;
    text = arena_alloc(scanner->arena, bytes + 1, 1);
    if (text == NULL)
        return error_set(scanner->err, ST_NO_MEMORY, NULL, "no memory to read JSON");
    memcpy(text, parent.data, parent.len);
    at = parent.len;
    text[at++] = '/';
    for (size_t i = 0; i < key.len; i++) {
        const char c = key.data[i];

        if (c == '~' || c == '/')
            text[at++] = '~';
        text[at++] = (char)(c == '~' ? '0' : c == '/' ? '1' : c);
    }
    scanner->pointer = (struct str){text, at};
    return ST_OK;
}

static enum status add_place(struct scanner *scanner, size_t *index)
{
    if (scanner->place_count == VALUES_MAX)
        return error_set_code(scanner->err, ST_INVALID, "json_values", NULL, NULL,
                              "there are more than %d values", VALUES_MAX);
    if (scanner->place_count == scanner->place_capacity) {
        const size_t capacity =
            scanner->place_capacity == 0 ? PLACES_FIRST : scanner->place_capacity * 2;
        struct json_place *grown = ARENA_NEW_ARRAY(scanner->arena, capacity, struct json_place);

        if (grown == NULL)
            return error_set(scanner->err, ST_NO_MEMORY, NULL, "no memory to read JSON");
        if (scanner->place_count > 0)
            memcpy(grown, scanner->places, scanner->place_count * sizeof *grown);
        scanner->places = grown;
        scanner->place_capacity = capacity;
    }
    *index = scanner->place_count++;
    scanner->places[*index] = (struct json_place){
        .pointer = scanner->pointer,
        .line = scanner->line,
        .key_line = scanner->key_line > 0 ? scanner->key_line : scanner->line,
    };
    return ST_OK;
}

/* At the opening quote. The decoded text lives in the arena, or in the input when it has no escapes. */
static enum status scan_string(struct scanner *scanner, struct str *decoded)
{
    const size_t start = ++scanner->at;
    bool escapes = false;

    for (; scanner->at < scanner->text.len; scanner->at++) {
        const unsigned char c = (unsigned char)scanner->text.data[scanner->at];

        if (c == '"')
            break;
        if (c < 0x20)
            return error_set_code(scanner->err, ST_INVALID, "json_syntax", NULL,
                                  "write line ends and tabs in text as \\n and \\t",
                                  "a control character (0x%02x) stands in a text", c);
        if (c == '\\') {
            escapes = true;
            scanner->at++;
        }
    }
    if (scanner->at >= scanner->text.len) {
        scanner->at = scanner->text.len;
        return syntax_fault(scanner, "a closing quote");
    }
    *decoded = str_slice(scanner->text, start, scanner->at);
    scanner->at++;
    return escapes ? decode_string(scanner, *decoded, decoded) : ST_OK;
}

static enum status decode_string(struct scanner *scanner, struct str raw, struct str *decoded)
{
    char *text = arena_alloc(scanner->arena, raw.len + 1, 1);
    size_t length = 0;

    if (text == NULL)
        return error_set(scanner->err, ST_NO_MEMORY, NULL, "no memory to read JSON");
    for (size_t at = 0; at < raw.len;) {
        size_t bytes = 0;

        if (raw.data[at] != '\\') {
            text[length++] = raw.data[at++];
            continue;
        }
        if (!read_escape(raw, &at, text + length, &bytes))
            return error_set_code(scanner->err, ST_INVALID, "json_syntax", NULL,
                                  "write a backslash as \\\\",
                                  "an escape in a text is not one of JSON's, or stands for no "
                                  "character that is allowed");
        length += bytes; /* an escape is never shorter than what it stands for */
    }
    *decoded = (struct str){text, length};
    return ST_OK;
}

/* At a backslash; false for unknown escapes, lone surrogates and NUL. */
static bool read_escape(struct str raw, size_t *at, char out[4], size_t *bytes)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    const char c = (char)(*at + 1 < raw.len ? raw.data[*at + 1] : '\0');
    const char *found = c == '\0' ? NULL : memchr(names, c, sizeof names - 1);
    unsigned code, low;

    if (found != NULL) {
        out[0] = values[found - names];
        *bytes = 1;
        *at += 2;
        return true;
    }
    if (c != 'u' || !read_hex4(raw, *at + 2, &code) || code == 0)
        return false;
    *at += 6;
    if (code >= 0xD800 && code <= 0xDBFF) {
        if (*at + 1 >= raw.len || raw.data[*at] != '\\' || raw.data[*at + 1] != 'u' ||
            !read_hex4(raw, *at + 2, &low) || low < 0xDC00 || low > 0xDFFF)
            return false;
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        *at += 6;
    } else if (code >= 0xDC00 && code <= 0xDFFF) {
        return false;
    }
    *bytes = encode_utf8(code, out);
    return true;
}

static bool read_hex4(struct str raw, size_t at, unsigned *code)
{
    unsigned char bytes[2];

    if (raw.len < 4 || at > raw.len - 4 || !str_parse_hex(str_slice(raw, at, at + 4), bytes, 2))
        return false;
    *code = (unsigned)bytes[0] << 8 | bytes[1];
    return true;
}

static size_t encode_utf8(unsigned code, char out[4])
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (char)(0xC0 | code >> 6);
        out[1] = (char)(0x80 | (code & 0x3F));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (char)(0xE0 | code >> 12);
        out[1] = (char)(0x80 | (code >> 6 & 0x3F));
        out[2] = (char)(0x80 | (code & 0x3F));
        return 3;
    }
    out[0] = (char)(0xF0 | code >> 18);
    out[1] = (char)(0x80 | (code >> 12 & 0x3F));
    out[2] = (char)(0x80 | (code >> 6 & 0x3F));
    out[3] = (char)(0x80 | (code & 0x3F));
    return 4;
}

static enum status scan_number(struct scanner *scanner)
{
    const size_t start = scanner->at;
    bool is_integer = true;
    struct str raw;
    double value;
    int64_t whole;

    if (peek(scanner) == '-')
        scanner->at++;
    if (peek(scanner) == '0')
        scanner->at++;
    else if (!skip_digits(scanner))
        return syntax_fault(scanner, "a digit");
    if (peek(scanner) == '.') {
        is_integer = false;
        scanner->at++;
        if (!skip_digits(scanner))
            return syntax_fault(scanner, "a digit behind the point");
    }
    if (peek(scanner) == 'e' || peek(scanner) == 'E') {
        is_integer = false;
        scanner->at++;
        if (peek(scanner) == '+' || peek(scanner) == '-')
            scanner->at++;
        if (!skip_digits(scanner))
            return syntax_fault(scanner, "a digit of the exponent");
    }
    raw = str_slice(scanner->text, start, scanner->at);
    if (raw.len > STR_NUMBER_BYTES_MAX)
        return error_set_code(scanner->err, ST_INVALID, "number_too_long", NULL,
                              "Round it: 17 digits hold any double.",
                              "a number has %zu characters, at most %d are read", raw.len,
                              STR_NUMBER_BYTES_MAX);
    if (!str_parse_double(raw, &value))
        return error_set_code(scanner->err, ST_INVALID, "json_number", NULL, NULL,
                              "a number is too large for a double");
    return is_integer && !str_parse_i64(raw, &whole) ? note_big(scanner) : ST_OK;
}

static bool skip_digits(struct scanner *scanner)
{
    const size_t start = scanner->at;

    while (peek(scanner) >= '0' && peek(scanner) <= '9')
        scanner->at++;
    return scanner->at > start;
}

static enum status note_big(struct scanner *scanner)
{
    if (scanner->big_count % PLACES_FIRST == 0) {
        size_t *grown = ARENA_NEW_ARRAY(scanner->arena, scanner->big_count + PLACES_FIRST, size_t);

        if (grown == NULL)
            return error_set(scanner->err, ST_NO_MEMORY, NULL, "no memory to read JSON");
        if (scanner->big_count > 0)
            memcpy(grown, scanner->big, scanner->big_count * sizeof *grown);
        scanner->big = grown;
    }
    scanner->big[scanner->big_count++] = scanner->at;
    return ST_OK;
}

static enum status scan_word(struct scanner *scanner)
{
    static const struct str words[] = {{"true", 4}, {"false", 5}, {"null", 4}};
    const struct str rest = str_slice(scanner->text, scanner->at, scanner->text.len);

    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (str_starts_with(rest, words[i])) {
            scanner->at += words[i].len;
            return ST_OK;
        }
    if (str_starts_with(rest, STR("NaN")) || str_starts_with(rest, STR("Infinity")))
        return error_set_code(scanner->err, ST_INVALID, "json_number", NULL,
                              "leave the member out when there is no value",
                              "NaN and Infinity are not numbers of JSON");
    return syntax_fault(scanner, "a value");
}

static void skip_blanks(struct scanner *scanner)
{
    for (; scanner->at < scanner->text.len; scanner->at++) {
        const char c = scanner->text.data[scanner->at];

        if (c == '\n')
            scanner->line++;
        else if (c != ' ' && c != '\t' && c != '\r')
            break;
    }
}

static int peek(const struct scanner *scanner)
{
    return scanner->at < scanner->text.len ? (unsigned char)scanner->text.data[scanner->at] : -1;
}

static enum status syntax_fault(struct scanner *scanner, const char *wanted)
{
    const int c = peek(scanner);
    char found[16];

    if (c < 0)
        (void)snprintf(found, sizeof found, "the end");
    else if (c > 0x20 && c < 0x7F)
        (void)snprintf(found, sizeof found, "\"%c\"", c);
    else
        (void)snprintf(found, sizeof found, "byte 0x%02x", (unsigned)c);
    return error_set_code(scanner->err, ST_INVALID, "json_syntax", NULL, NULL,
                          "not JSON from here: %s was found where %s is needed", found, wanted);
}

static enum status build_tree(struct scanner *scanner, struct json_doc *doc)
{
    struct str text = scanner->text;
    json_error_t fault;

    if (scanner->big_count > 0) { /* "12345678901234567890" + "e0" is a real to Jansson */
        char *copy = arena_alloc(scanner->arena, text.len + 2 * scanner->big_count + 1, 1);
        size_t from = 0, length = 0;

        if (copy == NULL)
            return error_set(scanner->err, ST_NO_MEMORY, NULL, "no memory to read JSON");
        for (size_t i = 0; i <= scanner->big_count; i++) {
            const size_t to = i < scanner->big_count ? scanner->big[i] : text.len;

            memcpy(copy + length, text.data + from, to - from);
            length += to - from;
            if (i < scanner->big_count) {
                copy[length++] = 'e';
                copy[length++] = '0';
            }
            from = to;
        }
        text = (struct str){copy, length};
    }
    doc->root = json_loadb(text.data, text.len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &fault);
    if (doc->root == NULL)
        return build_fault(scanner, &fault);
    doc->places = scanner->places;
    doc->place_count = scanner->place_count;
    return ST_OK;
}

static enum status build_fault(struct scanner *scanner, const json_error_t *fault)
{
    if (json_error_code(fault) == json_error_out_of_memory)
        return error_set(scanner->err, ST_NO_MEMORY, NULL, "no memory to read JSON");
    scanner->line = fault->line;
    for (size_t i = 1; i < scanner->place_count; i++)
        for (size_t j = 0; j < i; j++)
            if (str_eq(scanner->places[i].pointer, scanner->places[j].pointer)) {
                scanner->line = scanner->places[i].key_line;
                scanner->pointer = scanner->places[i].pointer;
                return error_set_code(
                    scanner->err, ST_INVALID, "json_duplicate_key", NULL, "keep one of the two",
                    "the same member stands on line %d already", scanner->places[j].key_line);
            }
    return error_set_code(scanner->err, ST_INVALID, "json_syntax", NULL, NULL, "not JSON: %s",
                          fault->text);
}
