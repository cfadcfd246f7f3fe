/* server/tools/queries.c: turns schema/queries.sql into an enum and a table.
 * usage: queries IN.sql OUT.h OUT.c. A statement begins under a line `-- name: NAME USE`, where USE says
 * which connections prepare it: read (readers), write (the writer) or both; it ends at its semicolon, and
 * nothing else may follow. Names are unique: [a-z0-9_]. Exits 1 with file, line and one sentence. */
#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { QUERIES_MAX = 1024, NAME_BYTES_MAX = 64, LINE_BYTES_MAX = 1024, SQL_BYTES_MAX = 1 << 20 };

struct query {
    char name[NAME_BYTES_MAX];
    char use[8];
    char *sql; /* trimmed; owned, freed at exit by the system */
    int line;
};

static struct query queries[QUERIES_MAX];
static int query_count;

static void die(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4), noreturn));
static void read_queries(const char *path);
static void begin_query(const char *path, int line, const char *text);
static void add_line(const char *path, int line, const char *text);
static void check_queries(const char *path);
static void write_header(const char *path);
static void write_table(const char *path);
static void print_upper(FILE *out, const char *name);
static void close_out(FILE *out, const char *path);

int main(int argc, char **argv)
{
    if (argc != 4)
        die("usage", 0, "queries IN.sql OUT.h OUT.c");
    read_queries(argv[1]);
    check_queries(argv[1]);
    write_header(argv[2]);
    write_table(argv[3]);
    return 0;
}

static void die(const char *file, int line, const char *format, ...)
{
    va_list args;

    fprintf(stderr, "queries: %s:%d: ", file, line);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    _Exit(1); /* stderr is not buffered, and a half-written file is deleted by make */
}

static void read_queries(const char *path)
{
    FILE *in = fopen(path, "r");
    char text[LINE_BYTES_MAX];
    int line = 0;

    if (in == NULL)
        die(path, 0, "cannot be read");
    while (fgets(text, sizeof text, in) != NULL) {
        const size_t length = strlen(text);

        line++;
        if (length == 0 || text[length - 1] != '\n')
            die(path, line, "the line is longer than %d bytes or has no end", LINE_BYTES_MAX - 2);
        text[length - 1] = '\0';
        if (strncmp(text, "-- name: ", 9) == 0)
            begin_query(path, line, text + 9);
        else if (strncmp(text, "--", 2) != 0 && text[strspn(text, " \t")] != '\0')
            add_line(path, line, text);
    }
    if (ferror(in))
        die(path, line, "cannot be read");
    fclose(in);
}

static void begin_query(const char *path, int line, const char *text)
{
    const size_t length = strcspn(text, " ");
    struct query *query = &queries[query_count];

    if (query_count == QUERIES_MAX)
        die(path, line, "more than %d queries", QUERIES_MAX);
    if (length == 0 || length >= NAME_BYTES_MAX ||
        strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_") != length)
        die(path, line, "a name has at most %d of [a-z0-9_]", NAME_BYTES_MAX - 1);
    memcpy(query->name, text, length);
    text += length + (text[length] == ' ');
    if (strcmp(text, "read") != 0 && strcmp(text, "write") != 0 && strcmp(text, "both") != 0)
        die(path, line, "say read, write or both behind the name");
    memcpy(query->use, text, strlen(text));
    query->line = line;
    query->sql = calloc(1, 1);
    for (int i = 0; i < query_count; i++)
        if (strcmp(queries[i].name, query->name) == 0)
            die(path, line, "%s is named in line %d, too", query->name, queries[i].line);
    query_count++;
}

static void add_line(const char *path, int line, const char *text)
{
    struct query *query;
    size_t have, more = strlen(text);

    if (query_count == 0)
        die(path, line, "a statement without a name");
    query = &queries[query_count - 1];
    have = query->sql == NULL ? 0 : strlen(query->sql);
    if (have > 0 && query->sql[have - 2] == ';')
        die(path, line, "%s ended before; name this one", query->name);
    if (have + more + 2 > SQL_BYTES_MAX)
        die(path, line, "%s is too long", query->name);
    query->sql = realloc(query->sql, have + more + 2);
    if (query->sql == NULL)
        die(path, line, "out of memory");
    while (more > 0 && isspace((unsigned char)text[more - 1]))
        more--;
    memcpy(query->sql + have, text, more);
    memcpy(query->sql + have + more, "\n", 2);
}

static void check_queries(const char *path)
{
    if (query_count == 0)
        die(path, 0, "no query");
    for (int i = 0; i < query_count; i++) {
        const size_t length = strlen(queries[i].sql);

        if (length < 2 || queries[i].sql[length - 2] != ';')
            die(path, queries[i].line, "%s does not end with a semicolon", queries[i].name);
    }
}

static void write_header(const char *path)
{
    FILE *out = fopen(path, "w");

    if (out == NULL)
        die(path, 0, "cannot be written");
    fputs("/* Made by server/tools/queries.c from schema/queries.sql: do not edit. */\n"
          "#ifndef DAYBREAK_GEN_QUERIES_H\n#define DAYBREAK_GEN_QUERIES_H\n\n"
          "#include <stdbool.h>\n\nenum stmt_id {\n",
          out);
    for (int i = 0; i < query_count; i++) {
        fputs("    ", out);
        print_upper(out, queries[i].name);
        fputs(",\n", out);
    }
    fputs("    STMT_COUNT\n};\n\n"
          "struct query {\n    const char *name;\n    bool for_reader, for_writer;\n"
          "    const char *sql;\n};\n\n"
          "extern const struct query queries[STMT_COUNT];\n\n#endif\n",
          out);
    close_out(out, path);
}

static void write_table(const char *path)
{
    FILE *out = fopen(path, "w");

    if (out == NULL)
        die(path, 0, "cannot be written");
    fputs("/* Made by server/tools/queries.c from schema/queries.sql: do not edit. */\n"
          "#include \"queries.h\"\n\nconst struct query queries[STMT_COUNT] = {\n",
          out);
    for (int i = 0; i < query_count; i++) {
        const struct query *query = &queries[i];

        fputs("    [", out);
        print_upper(out, query->name);
        fprintf(out, "] = {\"%s\", %s, %s,\n        \"", query->name,
                strcmp(query->use, "write") != 0 ? "true" : "false",
                strcmp(query->use, "read") != 0 ? "true" : "false");
        for (const char *p = query->sql; *p != '\0'; p++) {
            if (*p == '\n')
                fputs(p[1] == '\0' ? "" : "\\n\"\n        \"", out);
            else if (*p == '"' || *p == '\\')
                fprintf(out, "\\%c", *p);
            else
                fputc(*p, out);
        }
        fputs("\"},\n", out);
    }
    fputs("};\n", out);
    close_out(out, path);
}

static void print_upper(FILE *out, const char *name)
{
    fputs("STMT_", out);
    for (; *name != '\0'; name++)
        fputc(toupper((unsigned char)*name), out);
}

static void close_out(FILE *out, const char *path)
{
    if (ferror(out) || fclose(out) != 0)
        die(path, 0, "cannot be written");
}
