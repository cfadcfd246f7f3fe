/* server/page/review_view.h: submissions as pages: the list, and one with its files, threads and history.
 * Ownership: as layout.h. Threads: pure, any. */
#ifndef DAYBREAK_SERVER_PAGE_REVIEW_VIEW_H
#define DAYBREAK_SERVER_PAGE_REVIEW_VIEW_H

#include "common/task.h"
#include "server/intake/intake.h"
#include "server/page/layout.h"
#include "server/store/records.h"

#define SUBMISSION_LINES_MAX \
    1500 /* shown of all files together: the rest is in the files themselves */

/* A file as the reader may see it. */
struct submission_text {
    const char *name;
    struct str bytes;
};

struct submission_page {
    const struct submission_record *submission;
    const struct entry_record *entry;
    const struct task *task;
    const struct principal *user; /* who is signed in; NULL: nobody */
    const struct submission_text *files;
    size_t file_count;
    const struct intake_result *judged; /* NULL: its files are none that are judged */
    const struct comment_record *comments;
    size_t comment_count;
    const struct history_record *history;
    size_t history_count;
    const struct revision_record *revisions;
    size_t revision_count;
    const struct transition_record *steps;
    size_t step_count;
    struct str comment_file, comment_line; /* of the form, filled in */
};
void page_render_submission(struct buf *out, const struct page_frame *frame,
                            const struct submission_page *data);

struct submissions_page {
    const struct submission_record *rows;
    size_t count;
    struct str state;     /* that was asked for; "": any */
    int64_t older_before; /* 0: this is the last page */
};
void page_render_submissions(struct buf *out, const struct page_frame *frame,
                             const struct submissions_page *data);
size_t page_states(const char *const **words); /* what ?state= may be; how many there are */

#endif
