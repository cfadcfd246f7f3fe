/* server/page/cite.h: how others name an entry: BibTeX, and the code that embeds its badge.
 * Ownership: texts live in the arena; empty when it is full. Threads: pure, any. */
#ifndef DAYBREAK_SERVER_PAGE_CITE_H
#define DAYBREAK_SERVER_PAGE_CITE_H

#include "common/arena.h"
#include "common/task.h"
#include "server/store/records.h"

/* origin: "https://daybreak.example", where the server is reached. Texts of the entry are escaped for TeX. */
struct str cite_bibtex(struct arena *arena, const struct task *task,
                       const struct entry_record *entry, struct str origin);
/* As code, to be shown: a linked image. */
struct str cite_badge_html(struct arena *arena, int64_t entry, struct str origin);
struct str cite_badge_markdown(struct arena *arena, int64_t entry, struct str origin);

#endif
