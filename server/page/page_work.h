/* server/page/page_work.h: what the handlers of all pages share: a page is drawn from one state of the database into an
 * arena of its own, and sent, or the error in its place.
 * Ownership: what is read or held is borrowed until the page is drawn. Threads: the handler's worker. */
#ifndef DAYBREAK_SERVER_PAGE_PAGE_WORK_H
#define DAYBREAK_SERVER_PAGE_PAGE_WORK_H

#include "server/http/response.h"
#include "server/page/layout.h"
#include "server/rank/kept.h"
#include "server/store/store.h"

#define PAGE_BOARDS_PER_TASK 2

/* What one page's handler works with. The arena is the page's own: boards of 10,000 entries are larger than a
 * request's. */
struct page_work {
    struct request *request;
    struct arena arena;
    struct page_frame frame;
    struct store_reader *reader;
    const struct task *held; /* whose boards are read until the page is drawn; NULL: none */
    bool held_all;
    int status; /* of the answer; 200 */
    struct error err;
};

/* Appends the page to `out`; what it says besides stands in work->err. */
typedef enum status page_draw_fn(struct page_work *work, struct buf *out);

void page_send(struct request *request, struct response *response, page_draw_fn *draw);
/* A page that answers a form, or is a form: never kept anywhere. */
void page_send_private(struct response *response, int status, struct buf *page);

/* "https://HOST" as the request names it: for what leaves the page, such as code to embed. */
struct str page_origin(const struct request *request, struct arena *arena);

/* NULL: work->err says that there is none. */
const struct task *page_find_task(struct page_work *work, struct str id);

/* One task's entries until the page is drawn; NULL: work->err says why not. Once for a page. */
const struct kept *page_hold_board(struct page_work *work, const struct task *task);
/* Those of all tasks; kept: room for as many. */
enum status page_hold_all_boards(struct page_work *work, const struct kept **kept);

/* The task's boards by time or latency and by cost, the one by default first. */
enum status page_rank_boards(struct page_work *work, const struct task *task,
                             const struct kept *kept, struct board boards[PAGE_BOARDS_PER_TASK]);

#endif
