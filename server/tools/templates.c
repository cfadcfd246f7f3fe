/* server/tools/templates.c: compiles web/templates/NAME.html to C.
 * usage: templates OUT.h OUT.c FILE.html..
 *
 * Each file becomes `void template_NAME(struct buf *out, const struct NAME_view *view)`. The file says
 * first what it needs; the C compiler then holds whoever fills it to those types:
 *
 *   {{struct row}}           struct row_view, for any file
 *     text name  # a person's  struct str; words behind # go to the header
 *     int place                int64_t
 *     bool tied                bool
 *   {{end}}
 *   {{view}}                 struct NAME_view, this file's own
 *     row best                 struct row_view by value
 *     list row rows            const struct row_view *rows; size_t rows_count;
 *   {{end}}
 *
 *   {{text a.b}}             text or int as character data              only between tags
 *   {{attr a.b}}             the same in an attribute                   only inside "..."
 *   {{url a.b}}              at the start of href, src or action: a whole address, and one that is
 *                            neither http(s) nor local is left out; later in any attribute: one
 *                            component, percent-encoded
 *   {{if a}} {{if not a}} .. {{else}} .. {{end}}    bool; text or list: has it anything
 *   {{each list as name}} .. {{end}}
 *   {{use NAME a}}           another file's template with a struct of its view
 *   {{wrap NAME a}} .. {{end}}   the same around a body, which goes where that file has {{body}}
 *   {{# remark}}
 *
 * There is no way to insert text unescaped. The compiler follows the HTML and refuses: an insertion in
 * the wrong place, elements that do not nest, attributes without double quotes, inline scripts, styles
 * and handlers (the Content-Security-Policy would block them), HTML comments. White space that holds a
 * line feed becomes one line feed, except in <pre> and <textarea>.
 * Exits 1 with FILE:LINE: and a sentence on the first fault. */
#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_BYTES    64
#define FIELDS_MAX    64
#define RECORDS_MAX   128
#define FILES_MAX     64
#define DEPTH_MAX     48 /* open elements, and open blocks */
#define WORDS_MAX     5
#define LITERAL_BYTES 1500 /* of one C string: ISO C promises 4,095 */

enum kind { KIND_TEXT, KIND_INT, KIND_BOOL, KIND_STRUCT, KIND_LIST };

struct field {
    enum kind kind;
    char name[NAME_BYTES], type[NAME_BYTES];
    char remark[128];
};

struct record {
    const char *path;
    size_t field_count;
    struct field fields[FIELDS_MAX];
    char name[NAME_BYTES];
    int line;
    bool written; /* in the header */
};

struct source {
    const char *path;
    char name[NAME_BYTES];
    char *text;
    bool has_view, has_body;
};

/* Where in the HTML the next byte stands. */
enum place { PLACE_TEXT, PLACE_TAG_NAME, PLACE_TAG, PLACE_EQUALS, PLACE_VALUE };

struct html {
    enum place place;
    bool closing;          /* in </name> */
    bool slash;            /* the last byte of the tag was one */
    bool joint;            /* a directive in the tag just ended: a blank must follow */
    bool value_begun;      /* something stands in the attribute already */
    char tag[NAME_BYTES];  /* of the tag being read */
    char attr[NAME_BYTES]; /* of the attribute being read */
    size_t name_bytes;     /* of tag or attr so far */
    size_t depth;          /* open elements */
    char open[DEPTH_MAX][NAME_BYTES];
};

enum block_kind { BLOCK_IF, BLOCK_EACH, BLOCK_WRAP };

struct block {
    enum block_kind kind;
    int line;
    bool has_else;
    struct html html;                        /* at its beginning: its end must agree */
    char name[NAME_BYTES], type[NAME_BYTES]; /* each: the variable and its struct */
    char wrap[NAME_BYTES], argument[256];    /* wrap: what the closing half is called with */
};

static struct record records[RECORDS_MAX];
static size_t record_count;
static struct source sources[FILES_MAX];
static size_t source_count;

/* The file being read. */
static const struct source *source;
static int line;

/* The body being compiled. */
static FILE *out;
static struct html html;
static struct block blocks[DEPTH_MAX];
static size_t block_count;
static char literal[LITERAL_BYTES];
static size_t literal_bytes;
static bool literal_at_line_start;

static void read_source(const char *path);
static void scan(bool declarations);
static void declare(char **words, size_t word_count, char **cursor);
static void compile(char **words, size_t word_count);
static void emit_byte(char c);
static void emit_literal(void);
static void write_header(FILE *header);
static struct record *find_record(const char *name);
static struct source *find_source(const char *name);

static void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

int main(int argc, char **argv)
{
    FILE *header;

    if (argc < 3) {
        fprintf(stderr, "usage: templates OUT.h OUT.c FILE.html..\n");
        return 1;
    }
    for (int i = 3; i < argc; i++)
        read_source(argv[i]);
    for (size_t i = 0; i < source_count; i++) {
        source = &sources[i];
        scan(true);
        if (!sources[i].has_view)
            die("has no {{view}}");
    }
    header = fopen(argv[1], "w");
    out = fopen(argv[2], "w");
    if (header == NULL || out == NULL) {
        fprintf(stderr, "templates: cannot write %s\n", header == NULL ? argv[1] : argv[2]);
        return 1;
    }
    write_header(header);
    fprintf(out, "/* Made by server/tools/templates.c: do not edit. */\n"
                 "#include \"templates.h\"\n\n#include <inttypes.h>\n\n"
                 "#include \"server/page/render.h\"\n");
    for (size_t i = 0; i < source_count; i++) {
        source = &sources[i];
        scan(false);
    }
    if (fclose(header) != 0 || fclose(out) != 0) {
        fprintf(stderr, "templates: cannot write %s or %s\n", argv[1], argv[2]);
        return 1;
    }
    for (size_t i = 0; i < source_count; i++)
        free(sources[i].text);
    return 0;
}

static void die(const char *format, ...)
{
    va_list args;

    fprintf(stderr, "%s:%d: ", source->path, line);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    exit(1); // NOLINT(concurrency-mt-unsafe): one thread
}

/* ---- reading ---- */

static void set_name(char *name, const char *text)
{
    size_t bytes = strlen(text);

    if (bytes == 0 || bytes >= NAME_BYTES || !islower((unsigned char)text[0]))
        die("'%s' is no name: small letters, digits, _; below %d", text, NAME_BYTES);
    for (size_t i = 0; i < bytes; i++)
        if (!islower((unsigned char)text[i]) && !isdigit((unsigned char)text[i]) && text[i] != '_')
            die("'%s' is no name: small letters, digits and _", text);
    memcpy(name, text, bytes + 1);
}

static void read_source(const char *path)
{
    const char *slash = strrchr(path, '/'), *stem = slash == NULL ? path : slash + 1;
    FILE *in = fopen(path, "rb");
    struct source *into = &sources[source_count];
    char name[NAME_BYTES];
    size_t bytes, read_bytes;

    source = into;
    line = 0;
    into->path = path;
    if (source_count == FILES_MAX)
        die("more than %d templates", FILES_MAX);
    if (in == NULL || fseek(in, 0, SEEK_END) != 0)
        die("cannot be read");
    bytes = (size_t)ftell(in);
    rewind(in);
    into->text = malloc(bytes + 1);
    read_bytes = into->text == NULL ? 0 : fread(into->text, 1, bytes, in);
    if (into->text == NULL || read_bytes != bytes || memchr(into->text, '\0', bytes) != NULL)
        die("cannot be read, or holds a NUL");
    into->text[bytes] = '\0';
    fclose(in);
    snprintf(name, sizeof name, "%.*s", (int)strcspn(stem, "."), stem);
    if (find_source(name) != NULL)
        die("there are two templates of the name '%s'", name);
    set_name(into->name, name);
    source_count++;
}

/* Cuts text into words at blanks; a {{# remark}} is one word. */
static size_t split_words(char *text, char **words)
{
    size_t count = 0;

    if (text[0] == '#') {
        words[0] = text;
        return 1;
    }
    for (char *at = text; *at != '\0';) {
        at += strspn(at, " \t\r\n");
        if (*at == '\0')
            break;
        if (count == WORDS_MAX)
            die("too many words in {{%s ..}}", words[0]);
        words[count++] = at;
        at += strcspn(at, " \t\r\n");
        if (*at != '\0')
            *at++ = '\0';
    }
    return count;
}

/* A directive that stands alone on its line takes the line with it. */
static bool stands_alone(const char *begin, const char *text, const char *after)
{
    const char *at = begin;

    while (at > text && (at[-1] == ' ' || at[-1] == '\t'))
        at--;
    return (at == text || at[-1] == '\n') && after[strspn(after, " \t\r")] == '\n';
}

static void begin_body(void)
{
    memset(&html, 0, sizeof html);
    block_count = 0;
    literal_bytes = 0;
    literal_at_line_start = true;
    fprintf(
        out,
        "\nvoid template_%s%s(struct buf *out, const struct %s_view *view)\n{\n    (void)view;\n",
        source->name, source->has_body ? "_open" : "", source->name);
}

static void end_body(void)
{
    if (block_count > 0) {
        line = blocks[block_count - 1].line;
        die("a block begins here and has no {{end}}");
    }
    if (html.place != PLACE_TEXT)
        die("ends inside a tag");
    if (html.depth > 0)
        die("<%s> is never closed", html.open[html.depth - 1]);
    emit_literal();
    fprintf(out, "}\n");
}

/* Reads the directive that begins at `begin` (of `text`), acts on it, and returns where to go on. */
static char *scan_directive(char *text, char *begin, bool declarations)
{
    char *words[WORDS_MAX], *close = strstr(begin, "}}"), *after;
    size_t count;
    bool alone;

    if (close == NULL)
        die("{{ without }}");
    after = close + 2;
    alone = stands_alone(begin, text, after);
    *close = '\0';
    for (const char *c = begin; c < close; c++)
        line += *c == '\n';
    count = split_words(begin + 2, words);
    if (count == 0)
        die("{{}} is empty");
    if (strcmp(words[0], "struct") == 0 || strcmp(words[0], "view") == 0) {
        declare(declarations ? words : NULL, count, &after);
    } else if (!declarations) {
        compile(words, count);
    } else if (strcmp(words[0], "body") == 0) {
        if (source->has_body)
            die("{{body}} stands here for the second time");
        sources[source - sources].has_body = true;
    }
    if (alone) {
        after += strcspn(after, "\n");
        line += *after == '\n';
        after += *after == '\n';
        literal_at_line_start = true;
    }
    return after;
}

/* Walks over a file twice: for what it declares, then for what it prints. */
static void scan(bool declarations)
{
    char *copy = strdup(source->text), *at = copy;

    if (copy == NULL)
        die("out of memory");
    line = 1;
    if (!declarations)
        begin_body();
    while (*at != '\0') {
        if (at[0] == '{' && at[1] == '{') {
            at = scan_directive(copy, at, declarations);
            continue;
        }
        if (!declarations)
            emit_byte(*at);
        line += *at++ == '\n';
    }
    if (!declarations)
        end_body();
    free(copy);
}

/* ---- declarations ---- */

static struct record *find_record(const char *name)
{
    for (size_t i = 0; i < record_count; i++)
        if (strcmp(records[i].name, name) == 0)
            return &records[i];
    return NULL;
}

static struct source *find_source(const char *name)
{
    for (size_t i = 0; i < source_count; i++)
        if (strcmp(sources[i].name, name) == 0)
            return &sources[i];
    return NULL;
}

static struct field *find_field(struct record *record, const char *name)
{
    for (size_t i = 0; i < record->field_count; i++)
        if (strcmp(record->fields[i].name, name) == 0)
            return &record->fields[i];
    return NULL;
}

static void declare_field(struct record *record, char *text)
{
    static const struct {
        const char *name;
        enum kind kind;
    } kinds[] = {{"text", KIND_TEXT}, {"int", KIND_INT}, {"bool", KIND_BOOL}, {"list", KIND_LIST}};
    struct field *field = &record->fields[record->field_count];
    char *remark = strchr(text, '#'), *words[WORDS_MAX];
    size_t count;

    if (remark != NULL)
        *remark++ = '\0';
    count = split_words(text, words);
    if (count == 0)
        return;
    if (record->field_count == FIELDS_MAX)
        die("more than %d fields", FIELDS_MAX);
    field->kind = KIND_STRUCT;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(words[0], kinds[i].name) == 0)
            field->kind = kinds[i].kind;
    if (count != (field->kind == KIND_LIST ? 3 : 2))
        die("a field is written: text|int|bool|STRUCT NAME, or list STRUCT NAME");
    if (find_field(record, words[count - 1]) != NULL)
        die("the field '%s' is there already", words[count - 1]);
    set_name(field->name, words[count - 1]);
    set_name(field->type, words[count - 2]);
    if (remark != NULL && strstr(remark, "*/") == NULL)
        snprintf(field->remark, sizeof field->remark, "%s", remark + strspn(remark, " "));
    record->field_count++;
}

/* words: NULL when only to be passed over. *cursor stands behind {{struct ..}} and is moved behind its
 * {{end}}. */
static void declare(char **words, size_t word_count, char **cursor)
{
    char *end = strstr(*cursor, "{{end}}");
    struct record *record = &records[record_count];

    if (end == NULL)
        die("the declaration has no {{end}}");
    if (words != NULL) {
        const bool is_view = strcmp(words[0], "view") == 0;

        if (word_count != (is_view ? 1 : 2) || record_count == RECORDS_MAX)
            die("write {{view}} or {{struct NAME}}; at most %d of them", RECORDS_MAX);
        set_name(record->name, is_view ? source->name : words[1]);
        if (find_record(record->name) != NULL)
            die("there is a struct '%s' already", record->name);
        record->path = source->path;
        record->line = line;
        sources[source - sources].has_view = source->has_view || is_view;
    }
    for (char *at = *cursor; at < end;) {
        char *next = at + strcspn(at, "\n");

        if (next >= end)
            next = end;
        if (words != NULL) {
            const char kept = *next;

            *next = '\0';
            declare_field(record, at);
            *next = kept;
        }
        if (next < end)
            line++;
        at = next + (next < end);
    }
    if (words != NULL) {
        if (record->field_count == 0)
            die("a struct needs a field");
        record_count++;
    }
    *cursor = end + strlen("{{end}}");
}

static void write_field(FILE *header, const struct field *field)
{
    const char *name = field->name;

    switch (field->kind) {
    case KIND_TEXT: fprintf(header, "    struct str %s;", name); break;
    case KIND_INT: fprintf(header, "    int64_t %s;", name); break;
    case KIND_BOOL: fprintf(header, "    bool %s;", name); break;
    case KIND_STRUCT: fprintf(header, "    struct %s_view %s;", field->type, name); break;
    case KIND_LIST:
        fprintf(header, "    const struct %s_view *%s;\n    size_t %s_count;", field->type, name,
                name);
        break;
    }
    if (field->remark[0] != '\0')
        fprintf(header, " /* %s */", field->remark);
    fputc('\n', header);
}

/* Whether all that it holds by value stands in the header already. */
static bool can_write(const struct record *record)
{
    for (size_t i = 0; i < source_count; i++)
        if (sources[i].path == record->path)
            source = &sources[i];
    line = record->line;
    for (size_t i = 0; i < record->field_count; i++) {
        const struct field *field = &record->fields[i];
        const struct record *held = find_record(field->type);

        if (field->kind >= KIND_STRUCT && held == NULL)
            die("there is no struct '%s'", field->type);
        if (field->kind == KIND_STRUCT && !held->written)
            return false;
    }
    return true;
}

static void write_records(FILE *header)
{
    for (size_t left = record_count; left > 0;) {
        size_t written = 0;

        for (size_t i = 0; i < record_count; i++) {
            struct record *record = &records[i];

            if (record->written || !can_write(record))
                continue;
            fprintf(header, "struct %s_view {\n", record->name);
            for (size_t f = 0; f < record->field_count; f++)
                write_field(header, &record->fields[f]);
            fprintf(header, "};\n\n");
            record->written = true;
            written++;
        }
        for (size_t i = 0; written == 0 && i < record_count; i++)
            if (!records[i].written && !can_write(&records[i]))
                die("the struct '%s' holds itself", records[i].name);
        left -= written;
    }
}

static void write_header(FILE *header)
{
    fprintf(header, "/* Made by server/tools/templates.c from web/templates: do not edit.\n"
                    " * Ownership: views borrow all text and lists. Threads: pure, any thread. */\n"
                    "#ifndef DAYBREAK_GEN_TEMPLATES_H\n#define DAYBREAK_GEN_TEMPLATES_H\n\n"
                    "#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n\n"
                    "#include \"common/str.h\"\n\n");
    for (size_t i = 0; i < record_count; i++)
        fprintf(header, "struct %s_view;\n", records[i].name);
    fputc('\n', header);
    write_records(header);
    for (size_t i = 0; i < source_count; i++) {
        const char *name = sources[i].name;

        if (sources[i].has_body)
            fprintf(header,
                    "void template_%s_open(struct buf *out, const struct %s_view *view);\n"
                    "void template_%s_close(struct buf *out, const struct %s_view *view);\n",
                    name, name, name, name);
        else
            fprintf(header, "void template_%s(struct buf *out, const struct %s_view *view);\n",
                    name, name);
    }
    fprintf(header, "\n#endif\n");
}

/* ---- HTML ---- */

static bool in_list(const char *name, const char *const *list)
{
    for (; *list != NULL; list++)
        if (strcmp(name, *list) == 0)
            return true;
    return false;
}

static bool attr_is_address(void)
{
    static const char *const addresses[] = {"href", "src", "action", "formaction", NULL};

    return in_list(html.attr, addresses);
}

static void attr_done(void)
{
    html.attr[html.name_bytes] = '\0';
    if (html.name_bytes > 2 && strncmp(html.attr, "on", 2) == 0)
        die("the handler %s=\"\" would be blocked: add it in a script of web/assets", html.attr);
    if (strcmp(html.attr, "style") == 0)
        die("style=\"\" would be blocked: give it a class");
    html.name_bytes = 0;
}

static void tag_close(void)
{
    static const char *const empty[] = {"area",  "br",   "col",  "hr",  "img",
                                        "input", "link", "meta", "wbr", NULL};
    /* Of SVG: the only elements that "/>" closes. */
    static const char *const shapes[] = {"path",     "rect",    "circle", "line", "polygon",
                                         "polyline", "ellipse", "use",    NULL};

    html.place = PLACE_TEXT;
    if (html.tag[0] == '!' || (!html.closing && in_list(html.tag, empty)))
        return;
    if (html.slash && !in_list(html.tag, shapes))
        die("<%s/>: only shapes of SVG end so", html.tag);
    if (html.slash)
        return;
    if (strcmp(html.tag, "style") == 0)
        die("<style> would be blocked: write it in web/assets");
    if (!html.closing) {
        if (html.depth == DEPTH_MAX)
            die("elements nest deeper than %d", DEPTH_MAX);
        memcpy(html.open[html.depth++], html.tag, NAME_BYTES);
        return;
    }
    if (html.depth == 0 || strcmp(html.open[html.depth - 1], html.tag) != 0)
        die("</%s> closes <%s>", html.tag, html.depth == 0 ? "" : html.open[html.depth - 1]);
    if (block_count > 0 && html.depth == blocks[block_count - 1].html.depth)
        die("</%s> was opened outside this block", html.tag);
    html.depth--;
}

static void name_byte(char *name, char c)
{
    if (html.name_bytes + 1 >= NAME_BYTES)
        die("a name of tag or attribute is too long");
    name[html.name_bytes++] = c;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static void feed_tag(char c)
{
    if (html.joint && c != '>' && c != '/' && !is_blank(c))
        die("an attribute behind a directive needs a blank before it, inside the block");
    html.joint = false;
    if (c != '>')
        html.slash = c == '/';
    if (c == '>') {
        if (html.name_bytes > 0)
            attr_done();
        tag_close();
    } else if (is_blank(c)) {
        if (html.name_bytes > 0)
            attr_done();
    } else if (c == '=') {
        attr_done();
        html.place = PLACE_EQUALS;
    } else if (c != '/') {
        name_byte(html.attr, c);
    }
}

/* Follows the page by one byte of the author's. */
static void feed(char c)
{
    switch (html.place) {
    case PLACE_TEXT:
        if (c == '<') {
            html.place = PLACE_TAG_NAME;
            html.closing = html.slash = false;
            html.name_bytes = 0;
        } else if (html.depth > 0 && !is_blank(c) &&
                   strcmp(html.open[html.depth - 1], "script") == 0) {
            die("an inline script would be blocked: write it in web/assets");
        }
        break;
    case PLACE_TAG_NAME:
        if (c == '/' && html.name_bytes == 0) {
            html.closing = true;
        } else if (isalnum((unsigned char)c) || c == '!') {
            name_byte(html.tag, c);
        } else if (html.name_bytes == 0 || (html.tag[0] == '!' && c == '-')) {
            die("< begins neither an element nor &lt;; remarks are written {{# }}");
        } else {
            html.tag[html.name_bytes] = '\0';
            html.name_bytes = 0;
            html.place = PLACE_TAG;
            feed_tag(c);
        }
        break;
    case PLACE_TAG: feed_tag(c); break;
    case PLACE_EQUALS:
        if (c != '"')
            die("the value of %s needs double quotes", html.attr);
        html.place = PLACE_VALUE;
        html.value_begun = false;
        break;
    case PLACE_VALUE:
        if (c == '"')
            html.place = PLACE_TAG;
        else
            html.value_begun = true;
        break;
    }
}

/* Before a directive: an attribute's name ends there, too. */
static void settle(void)
{
    if (html.place == PLACE_TAG_NAME && html.name_bytes > 0) {
        html.tag[html.name_bytes] = '\0';
        html.name_bytes = 0;
        html.place = PLACE_TAG;
    }
    if (html.place == PLACE_TAG && html.name_bytes > 0)
        attr_done();
    html.joint = html.place == PLACE_TAG;
    if (html.place == PLACE_TAG_NAME || html.place == PLACE_EQUALS)
        die("a directive cannot stand behind < or =");
}

/* ---- output ---- */

static void emit_literal(void)
{
    if (literal_bytes == 0)
        return;
    fprintf(out, "    buf_append(out, STR(\"");
    for (size_t i = 0; i < literal_bytes; i++) {
        const char c = literal[i];

        if (c == '\n')
            fprintf(out, "\\n");
        else if (c == '"' || c == '\\' || c == '?') /* ?: trigraphs */
            fprintf(out, "\\%c", c);
        else
            fputc(c, out);
    }
    fprintf(out, "\"));\n");
    literal_bytes = 0;
}

static void emit_byte(char c)
{
    const bool keeps = html.depth > 0 && (strcmp(html.open[html.depth - 1], "pre") == 0 ||
                                          strcmp(html.open[html.depth - 1], "textarea") == 0);

    feed(c);
    if (!keeps && html.place != PLACE_VALUE) {
        if (literal_at_line_start && is_blank(c))
            return;
        if (c == '\n')
            while (literal_bytes > 0 && is_blank(literal[literal_bytes - 1]))
                literal_bytes--;
        literal_at_line_start = c == '\n';
    }
    if (literal_bytes == LITERAL_BYTES)
        emit_literal();
    literal[literal_bytes++] = c;
}

/* ---- directives ---- */

/* "row.author" to "row->author"; the field's kind and struct. */
static enum kind resolve(const char *path, char *expression, size_t bytes, char *type)
{
    char copy[256], *rest = copy, *part;
    struct record *record = find_record(source->name);
    struct field *field = NULL;
    size_t used;

    if (strlen(path) >= sizeof copy)
        die("'%s' is too long", path);
    memcpy(copy, path, strlen(path) + 1);
    used = (size_t)snprintf(expression, bytes, "view");
    part = strsep(&rest, ".");
    for (size_t i = block_count; i-- > 0;) {
        if (blocks[i].kind == BLOCK_EACH && strcmp(blocks[i].name, part) == 0) {
            record = find_record(blocks[i].type);
            used = (size_t)snprintf(expression, bytes, "%s", part);
            if (rest == NULL) {
                memcpy(type, blocks[i].type, NAME_BYTES);
                snprintf(expression, bytes, "(*%s)", part);
                return KIND_STRUCT;
            }
            part = strsep(&rest, ".");
            break;
        }
    }
    for (const char *arrow = "->"; part != NULL; arrow = ".") {
        if (record == NULL)
            die("'%s': nothing is inside '%s'", path, field == NULL ? path : field->name);
        field = find_field(record, part);
        if (field == NULL)
            die("'%s': struct '%s' has no field '%s'", path, record->name, part);
        used += (size_t)snprintf(expression + used, bytes - used, "%s%s", arrow, part);
        if (used >= bytes)
            die("'%s' is too long", path);
        record = field->kind == KIND_STRUCT ? find_record(field->type) : NULL;
        part = strsep(&rest, ".");
    }
    if (field == NULL)
        die("'%s' names no field", path);
    memcpy(type, field->type, NAME_BYTES);
    return field->kind;
}

static void compile_insertion(const char *context, const char *path)
{
    char expression[512], type[NAME_BYTES];
    const enum kind kind = resolve(path, expression, sizeof expression, type);
    const bool in_value = html.place == PLACE_VALUE;
    const char *function = "render_append_html";

    if (kind != KIND_TEXT && kind != KIND_INT)
        die("'%s' is neither text nor int", path);
    if (strcmp(context, "text") == 0) {
        if (html.place != PLACE_TEXT)
            die("{{text}} belongs between tags; in an attribute write {{attr}} or {{url}}");
        if (html.depth > 0 && strcmp(html.open[html.depth - 1], "script") == 0)
            die("nothing is inserted into a script");
    } else if (!in_value) {
        die("{{%s}} belongs inside an attribute's quotes", context);
    } else if (strcmp(context, "attr") == 0) {
        function = "render_append_attr";
        if (attr_is_address())
            die("%s is an address: write {{url}}", html.attr);
    } else {
        function =
            attr_is_address() && !html.value_begun ? "render_append_address" : "render_append_url";
    }
    html.value_begun = true;
    literal_at_line_start = false;
    emit_literal();
    if (kind == KIND_INT)
        fprintf(out, "    buf_appendf(out, \"%%\" PRId64, %s);\n", expression);
    else
        fprintf(out, "    %s(out, %s);\n", function, expression);
}

static struct block *open_block(enum block_kind kind)
{
    struct block *block = &blocks[block_count];

    if (block_count == DEPTH_MAX)
        die("blocks nest deeper than %d", DEPTH_MAX);
    emit_literal();
    memset(block, 0, sizeof *block);
    block->kind = kind;
    block->line = line;
    block->html = html;
    block_count++;
    return block;
}

static void compile_if(char **words, size_t count)
{
    const bool negated = count == 3 && strcmp(words[1], "not") == 0;
    char expression[512], type[NAME_BYTES];
    const char *test = "";
    enum kind kind;

    if (count != 2 && !negated)
        die("write {{if FIELD}} or {{if not FIELD}}");
    kind = resolve(words[count - 1], expression, sizeof expression, type);
    if (kind == KIND_INT || kind == KIND_STRUCT)
        die("'%s' is neither bool, text nor list", words[count - 1]);
    if (kind == KIND_TEXT)
        test = ".len > 0";
    else if (kind == KIND_LIST)
        test = "_count > 0";
    open_block(BLOCK_IF);
    fprintf(out, negated ? "    if (!(%s%s)) {\n" : "    if (%s%s) {\n", expression, test);
}

static void compile_each(char **words, size_t count)
{
    char expression[512], type[NAME_BYTES];
    struct block *block;

    if (count != 4 || strcmp(words[2], "as") != 0)
        die("write {{each LIST as NAME}}");
    if (resolve(words[1], expression, sizeof expression, type) != KIND_LIST)
        die("'%s' is no list", words[1]);
    if (html.place != PLACE_TEXT && html.place != PLACE_VALUE)
        die("{{each}} cannot make attributes");
    for (size_t i = 0; i < block_count; i++)
        if (strcmp(blocks[i].name, words[3]) == 0)
            die("'%s' is in use further out", words[3]);
    block = open_block(BLOCK_EACH);
    set_name(block->name, words[3]);
    memcpy(block->type, type, NAME_BYTES);
    if (strcmp(block->name, "view") == 0 || strcmp(block->name, "out") == 0)
        die("'%s' is taken", block->name);
    fprintf(out, "    for (size_t i%zu = 0; i%zu < %s_count; i%zu++) {\n", block_count, block_count,
            expression, block_count);
    fprintf(out, "    const struct %s_view *const %s = &%s[i%zu];\n", type, block->name, expression,
            block_count);
}

static void compile_use(char **words, size_t count, bool wraps)
{
    const struct source *used = count == 3 ? find_source(words[1]) : NULL;
    char expression[512], type[NAME_BYTES];

    if (used == NULL)
        die("write {{%s TEMPLATE FIELD}}; the template must be there", words[0]);
    if (used->has_body != wraps)
        die("'%s' has %s: write {{%s}}", used->name, wraps ? "no {{body}}" : "a {{body}}",
            wraps ? "use" : "wrap");
    if (used == source)
        die("'%s' cannot use itself", used->name);
    if (resolve(words[2], expression, sizeof expression, type) != KIND_STRUCT ||
        strcmp(type, used->name) != 0)
        die("'%s' is not a struct '%s'", words[2], used->name);
    if (html.place != PLACE_TEXT)
        die("{{%s}} belongs between tags", words[0]);
    if (wraps) {
        struct block *block = open_block(BLOCK_WRAP);

        memcpy(block->wrap, used->name, NAME_BYTES);
        if (strlen(expression) >= sizeof block->argument)
            die("'%s' is too long", words[2]);
        memcpy(block->argument, expression, strlen(expression) + 1);
    } else {
        emit_literal();
    }
    fprintf(out, "    template_%s%s(out, &%s);\n", used->name, wraps ? "_open" : "", expression);
    literal_at_line_start = false;
}

/* A branch must leave the page where it found it. */
static void check_block(const struct block *block)
{
    settle();
    if (html.place != block->html.place)
        die("the block of line %d ends in another place of its tag than it began", block->line);
    if (html.depth > block->html.depth)
        die("<%s> is not closed inside the block of line %d", html.open[html.depth - 1],
            block->line);
    if (html.place == PLACE_VALUE && strcmp(html.attr, block->html.attr) != 0)
        die("the block of line %d ends in another attribute than it began", block->line);
}

static void compile_else(void)
{
    struct block *block = block_count == 0 ? NULL : &blocks[block_count - 1];

    if (block == NULL || block->kind != BLOCK_IF || block->has_else)
        die("{{else}} without its {{if}}");
    check_block(block);
    emit_literal();
    html = block->html;
    block->has_else = true;
    fprintf(out, "    } else {\n");
}

static void compile_end(void)
{
    struct block *block = block_count == 0 ? NULL : &blocks[block_count - 1];

    if (block == NULL)
        die("{{end}} without a beginning");
    check_block(block);
    emit_literal();
    if (block->kind == BLOCK_WRAP)
        fprintf(out, "    template_%s_close(out, &%s);\n", block->wrap, block->argument);
    else
        fprintf(out, "    }\n");
    literal_at_line_start = false;
    block_count--;
}

static void compile_body(void)
{
    if (block_count > 0 || html.place != PLACE_TEXT)
        die("{{body}} belongs between tags and in no block");
    emit_literal();
    fprintf(out,
            "}\n\nvoid template_%s_close(struct buf *out, const struct %s_view *view)\n{\n"
            "    (void)view;\n",
            source->name, source->name);
}

static void compile(char **words, size_t word_count)
{
    const char *word = words[0];

    if (word[0] == '#')
        return;
    settle();
    if (strcmp(word, "text") == 0 || strcmp(word, "attr") == 0 || strcmp(word, "url") == 0) {
        if (word_count != 2)
            die("write {{%s FIELD}}", word);
        compile_insertion(word, words[1]);
    } else if (strcmp(word, "if") == 0) {
        compile_if(words, word_count);
    } else if (strcmp(word, "each") == 0) {
        compile_each(words, word_count);
    } else if (strcmp(word, "use") == 0 || strcmp(word, "wrap") == 0) {
        compile_use(words, word_count, strcmp(word, "wrap") == 0);
    } else if (strcmp(word, "else") == 0 && word_count == 1) {
        compile_else();
    } else if (strcmp(word, "end") == 0 && word_count == 1) {
        compile_end();
    } else if (strcmp(word, "body") == 0 && word_count == 1) {
        compile_body();
    } else {
        die("{{%s}} is none of text, attr, url, if, else, each, end, use, wrap, body, struct, view",
            word);
    }
}
