/* server/page/layout.c: what all pages share. */
#include "server/page/layout.h"

#include "common/build.h"
#include "server/page/format.h"
#include "server/page/render.h"

#define ADDRESS_BYTES_MAX 4096

static const struct {
    const char *name, *label;
} themes[] = {
    [THEME_SYSTEM] = {"system", "System"},
    [THEME_LIGHT] = {"light", "Light"},
    [THEME_DARK] = {"dark", "Dark"},
};

struct layout_view layout_make(const struct page_frame *frame, const struct page_title *title)
{
    static const char *const labels[] = {"Tasks",  "Queue", "Agents", "Submissions",
                                         "Submit", "Docs",  "Tokens"};
    static const char *const hrefs[] = {"/",       "/queue", "/agents", "/submissions",
                                        "/submit", "/docs",  "/tokens"};
    const size_t nav_count = frame->may_issue ? ARRAY_LEN(labels) : ARRAY_LEN(labels) - 1;
    struct link_view *nav = ARENA_NEW_ARRAY(frame->arena, ARRAY_LEN(labels), struct link_view);
    struct theme_view *choices =
        ARENA_NEW_ARRAY(frame->arena, ARRAY_LEN(themes), struct theme_view);
    struct layout_view view = {
        .title = title->title,
        .description = title->description,
        .assets = str_from_cstr(frame->assets),
        .here = frame->here,
        .script = layout_text(title->script),
        .chart = title->chart,
        .build = str_from_cstr(build_id()),
        .user = layout_text(frame->user),
        .csrf = layout_text(frame->csrf),
    };

    if (frame->theme != THEME_SYSTEM)
        view.theme = str_from_cstr(layout_theme_name(frame->theme));
    for (size_t i = 0; nav != NULL && i < nav_count; i++) {
        nav[i].label = str_from_cstr(labels[i]);
        nav[i].href = str_from_cstr(hrefs[i]);
        nav[i].current = i + 1 == (size_t)title->section;
    }
    view.nav = nav;
    view.nav_count = nav == NULL ? 0 : nav_count;
    for (size_t i = 0; choices != NULL && i < ARRAY_LEN(themes); i++) {
        choices[i].label = str_from_cstr(themes[i].label);
        choices[i].value = str_from_cstr(themes[i].name);
        choices[i].current = i == (size_t)frame->theme;
    }
    view.themes = choices;
    view.themes_count = choices == NULL ? 0 : ARRAY_LEN(themes);
    return view;
}

struct tier_view layout_tier(struct arena *arena, const char *tier, bool has_n, int64_t n,
                             bool has_cv, double cv)
{
    static const struct {
        const char *tier, *meaning;
    } meanings[] = {
        {"reported", "Uploaded by its author"},
        {"witnessed", "Streamed live by an agent while it trained"},
        {"reproduced", "Run again on another owner's host"},
    };
    struct tier_view view = {.tier = layout_text(tier)};

    for (size_t i = 0; i < ARRAY_LEN(meanings); i++)
        if (str_eq_cstr(view.tier, meanings[i].tier))
            view.meaning = str_from_cstr(meanings[i].meaning);
    if (has_n)
        view.runs = format_text(arena, "n\u00A0=\u00A0%lld", (long long)n);
    if (has_cv && n > 1)
        view.spread = format_text(arena, "CV\u00A0%.1f\u00A0%%", 100.0 * cv);
    return view;
}

struct fact_view layout_fact(const char *term, struct str value)
{
    return (struct fact_view){.term = str_from_cstr(term), .value = value};
}

struct str layout_address(struct arena *arena, const char *folder, struct str name)
{
    struct buf address;
    struct str kept;

    buf_init(&address, ADDRESS_BYTES_MAX);
    buf_append_cstr(&address, folder);
    render_append_url(&address, name);
    kept = str_from_cstr(address.failed ? NULL : arena_copy(arena, buf_str(&address)));
    buf_fini(&address);
    return kept;
}

struct str layout_text(const char *text)
{
    return str_from_cstr(text);
}

struct str layout_either(const char *text, const char *instead)
{
    return str_from_cstr(text == NULL || text[0] == '\0' ? instead : text);
}

enum page_theme layout_theme_parse(struct str text)
{
    for (size_t i = 0; i < ARRAY_LEN(themes); i++)
        if (str_eq_cstr(text, themes[i].name))
            return (enum page_theme)i;
    return THEME_SYSTEM;
}

const char *layout_theme_name(enum page_theme theme)
{
    return themes[theme].name;
}
