/* server/page/analysis_page.h: what the analyses say of a task's entries, as pages: /tasks/{task}/tradeoff, variance,
 * throughput, scaling and history; /compare and
 * /docs/paper. Ownership: as layout.h. Threads: pure, any. */
#ifndef DAYBREAK_SERVER_PAGE_ANALYSIS_PAGE_H
#define DAYBREAK_SERVER_PAGE_ANALYSIS_PAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/task.h"
#include "server/api/analysis.h"
#include "server/api/compare.h"
#include "server/page/layout.h"
#include "server/rank/records.h"

/* From a task's board to its analyses; current: the last segment of an address, NULL: the board. */
struct tabs_view analysis_tabs(struct arena *arena, const struct task *task, const char *current);

struct analysis_page {
    const struct task *task;
    enum analysis_kind kind;
    const struct analysis *analysis;
    int64_t base; /* of THROUGHPUT: as asked; 0: by default */
};
void page_render_analysis(struct buf *out, const struct page_frame *frame,
                          const struct analysis_page *data);

/* The record's stairs on each board that the task has. */
#define HISTORY_BOARDS_MAX 2
struct history_page {
    const struct task *task;
    struct {
        enum board_by by;
        const struct record *records;
        size_t count;
    } boards[HISTORY_BOARDS_MAX];
    size_t board_count;
};
void page_render_history(struct buf *out, const struct page_frame *frame,
                         const struct history_page *data);

/* /compare?runs=1,2&x=time|epoch|cost */
void page_render_compare(struct buf *out, const struct page_frame *frame,
                         const struct compare_form *form, const struct analysis *analysis);
/* /docs/paper */
void page_render_paper(struct buf *out, const struct page_frame *frame,
                       const struct analysis *analysis);

/* /runs/{run}/roofline: the parts of analysis/roofline.h. */
struct roofline_page {
    int64_t run;
    const char *entry; /* its name */
    const struct analysis *analysis;
};
void page_render_roofline(struct buf *out, const struct page_frame *frame,
                          const struct roofline_page *data);

#endif
