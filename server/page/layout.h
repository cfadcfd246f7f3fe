/* server/page/layout.h: what all pages share: the frame, tiers, facts.
 * Ownership: views borrow their texts; what is made lives in the frame's arena. Threads: pure, any. */
#ifndef DAYBREAK_SERVER_PAGE_LAYOUT_H
#define DAYBREAK_SERVER_PAGE_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/arena.h"
#include "common/str.h"
#include "templates.h"

#define PAGE_BYTES_MAX (4u << 20)

enum page_theme { THEME_SYSTEM, THEME_LIGHT, THEME_DARK, THEME_COUNT };
enum page_section {
    SECTION_NONE,
    SECTION_TASKS,
    SECTION_QUEUE,
    SECTION_AGENTS,
    SECTION_SUBMISSIONS,
    SECTION_SUBMIT,
    SECTION_DOCS,
    SECTION_TOKENS
};

/* The request as far as a page's frame shows it. */
struct page_frame {
    struct arena *arena;
    enum page_theme theme;
    const char *assets; /* "/assets/0123456789ab" */
    struct str here;    /* the page's own address: path and query */
    const char *user;   /* who is signed in; NULL: nobody */
    const char *csrf;   /* of the session, with user */
    bool may_issue;     /* the user may see and issue tokens */
    int64_t now_ms;
};

struct page_title {
    struct str title, description;
    enum page_section section;
    const char *script; /* "board.js"; NULL: none */
    bool chart, live;
};

struct layout_view layout_make(const struct page_frame *frame, const struct page_title *title);

/* "reported" etc.; n and cv when they are known. */
struct tier_view layout_tier(struct arena *arena, const char *tier, bool has_n, int64_t n,
                             bool has_cv, double cv);
struct fact_view layout_fact(const char *term, struct str value);

/* A local address: the folder as it is, then the name as one component: "/authors/Ada%20Example". */
struct str layout_address(struct arena *arena, const char *folder, struct str name);

struct str layout_text(const char *text);                        /* NULL: empty */
struct str layout_either(const char *text, const char *instead); /* instead for NULL or "" */

/* From the cookie's and the query's words; anything else is the system's wish. */
enum page_theme layout_theme_parse(struct str text);
const char *layout_theme_name(enum page_theme theme); /* "light", "dark", "system" */

#endif
