/* server/page/doc_page.h: the pages of documentation, which server/tools/docs.py made of docs/ and schema/openapi.yaml at
 * build time: a line with the title, a line with the description, then the HTML inside <main>.
 * Ownership: borrows the embedded bytes. Threads: pure, any. */
#ifndef DAYBREAK_SERVER_PAGE_DOC_PAGE_H
#define DAYBREAK_SERVER_PAGE_DOC_PAGE_H

#include "common/embed.h"
#include "server/page/layout.h"

/* By its path, "docs/api/boards.html"; NULL: there is no such page. */
const struct embedded_file *doc_find(struct str path);

void page_render_doc(struct buf *out, const struct page_frame *frame,
                     const struct embedded_file *file);

#endif
