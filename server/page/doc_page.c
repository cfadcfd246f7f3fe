/* server/page/doc_page.c: see doc_page.h. What goes onto the page as it is was escaped by the build. */
#include "server/page/doc_page.h"

#include "server/embedded.h"

const struct embedded_file *doc_find(struct str path)
{
    for (size_t i = 0; i < embedded_docs_count; i++)
        if (str_eq_cstr(path, embedded_docs[i].path))
            return &embedded_docs[i];
    return NULL;
}

void page_render_doc(struct buf *out, const struct page_frame *frame,
                     const struct embedded_file *file)
{
    struct str body = {(const char *)file->data, file->bytes};
    struct page_title title = {.section = SECTION_DOCS};
    struct layout_view view;
    bool more = true;

    (void)str_split_next(&body, &more, '\n', &title.title);
    (void)str_split_next(&body, &more, '\n', &title.description);
    view = layout_make(frame, &title);
    template_layout_open(out, &view);
    buf_append(out, body);
    template_layout_close(out, &view);
}
