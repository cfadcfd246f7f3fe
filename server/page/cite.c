/* server/page/cite.c: see cite.h. */
#include "server/page/cite.h"

#include <inttypes.h>

#include "server/page/format.h"
#include "server/page/render.h"

#define CITE_BYTES_MAX 65536

/* What TeX and BibTeX would read as their own. BibTeX counts braces even behind a backslash, so each is written as a
 * command whose own braces are a pair. */
static void append_tex(struct buf *out, struct str text)
{
    static const struct {
        char c;
        const char *tex;
    } marks[] = {
        {'\\', "\\textbackslash{}"},
        {'{', "\\textbraceleft{}"},
        {'}', "\\textbraceright{}"},
        {'~', "\\textasciitilde{}"},
        {'^', "\\textasciicircum{}"},
        {'$', "\\$"},
        {'&', "\\&"},
        {'#', "\\#"},
        {'_', "\\_"},
        {'%', "\\%"},
        {'"', "\\textquotedbl{}"},
    };

    for (size_t i = 0; i < text.len; i++) {
        size_t m = 0;

        while (m < ARRAY_LEN(marks) && marks[m].c != text.data[i])
            m++;
        if (m < ARRAY_LEN(marks))
            buf_append_cstr(out, marks[m].tex);
        else
            buf_append_char(out, text.data[i]);
    }
}

/* A field whose text BibTeX is to leave as it is: an author of several words is no list of names to it. */
static void append_field(struct buf *out, const char *name, struct str text)
{
    buf_appendf(out, ",\n  %s = {{", name);
    append_tex(out, text);
    buf_append_cstr(out, "}}");
}

static struct str figure_of(struct arena *arena, const struct entry_record *entry)
{
    if (entry->tta_ns.has)
        return format_duration(arena, entry->tta_ns.value);
    return entry->latency_ns.has ? format_latency(arena, entry->latency_ns.value) : STR("");
}

struct str cite_bibtex(struct arena *arena, const struct task *task,
                       const struct entry_record *entry, struct str origin)
{
    const struct str figure = figure_of(arena, entry);
    const char *model = entry->model[0] == '\0' ? entry->name : entry->model;
    struct buf out;
    struct str kept;

    buf_init(&out, CITE_BYTES_MAX);
    buf_appendf(&out, "@misc{daybreak-%" PRId64, entry->id);
    if (entry->author[0] != '\0')
        append_field(&out, "author", str_from_cstr(entry->author));
    append_field(&out, "title",
                 figure.len == 0
                     ? format_text(arena, "%s on %s", model, task->title)
                     : format_text(arena, "%s on %s: %.*s", model, task->title, STR_ARG(figure)));
    if (entry->entry_date != NULL)
        buf_appendf(&out, ",\n  year = {%.4s}", entry->entry_date);
    append_field(&out, "note",
                 format_text(arena, "Daybreak, entry %s, %s, rules of version %" PRId64,
                             entry->name, entry->tier, entry->task_version));
    buf_append_cstr(&out, ",\n  howpublished = {\\url{");
    buf_append(&out, origin);
    buf_appendf(&out, "/entries/%" PRId64 "}}\n}", entry->id);
    kept = str_from_cstr(out.failed ? NULL : arena_copy(arena, buf_str(&out)));
    buf_fini(&out);
    return kept;
}

struct str cite_badge_html(struct arena *arena, int64_t entry, struct str origin)
{
    struct buf out;
    struct str kept;

    buf_init(&out, CITE_BYTES_MAX);
    buf_append_cstr(&out, "<a href=\"");
    render_append_attr(&out, origin);
    buf_appendf(&out, "/entries/%" PRId64 "\"><img src=\"", entry);
    render_append_attr(&out, origin);
    buf_appendf(&out, "/badge/%" PRId64 ".svg\" alt=\"Its place on Daybreak\"></a>", entry);
    kept = str_from_cstr(out.failed ? NULL : arena_copy(arena, buf_str(&out)));
    buf_fini(&out);
    return kept;
}

struct str cite_badge_markdown(struct arena *arena, int64_t entry, struct str origin)
{
    return format_text(
        arena, "[![Its place on Daybreak](%.*s/badge/%" PRId64 ".svg)](%.*s/entries/%" PRId64 ")",
        STR_ARG(origin), entry, STR_ARG(origin), entry);
}
