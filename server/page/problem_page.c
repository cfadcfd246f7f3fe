/* server/page/problem_page.c: an error as a page. */
#include "server/page/problem_page.h"

#include "server/page/format.h"

void page_render_problem(struct buf *out, const struct page_frame *frame,
                         const struct problem *problem)
{
    struct arena *arena = frame->arena;
    struct problem_line_view *lines =
        ARENA_NEW_ARRAY(arena, problem->item_count, struct problem_line_view);
    const struct page_title title = {
        .title = str_from_cstr(response_reason(problem->status)),
        .description = STR("This request was not answered."),
    };
    struct problem_view view = {
        .page = layout_make(frame, &title),
        .status = format_text(arena, "%d", problem->status),
        .title = title.title,
        .detail = layout_text(problem->detail),
        .code = layout_text(problem->code),
        .request_id = layout_text(problem->request_id),
        .lines = lines,
    };

    for (size_t i = 0; lines != NULL && i < problem->item_count; i++) {
        const struct problem_item *item = &problem->items[i];

        const bool repeats = str_eq(layout_text(item->detail), view.detail);

        if (repeats && (item->field == NULL || item->field[0] == '\0') &&
            (item->hint == NULL || item->hint[0] == '\0'))
            continue; /* the sentence stands above already */
        lines[view.lines_count++] = (struct problem_line_view){
            .field = layout_either(item->field, item->pointer == NULL ? "" : item->pointer),
            .detail = repeats ? STR("") : layout_text(item->detail),
            .hint = layout_text(item->hint),
        };
    }
    template_problem(out, &view);
}
