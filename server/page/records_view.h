/* server/page/records_view.h: who held a board's record when, as a table of its page.
 * Ownership: text lives in the arena. Threads: pure, any. */
#ifndef DAYBREAK_SERVER_PAGE_RECORDS_VIEW_H
#define DAYBREAK_SERVER_PAGE_RECORDS_VIEW_H

#include "common/arena.h"
#include "common/task.h"
#include "server/rank/records.h"
#include "templates.h"

/* records: in order of time, as records_list() gives them; the view has the latest first. */
struct records_view records_make(struct arena *arena, const struct task *task, enum board_by by,
                                 const struct record *records, size_t count);

#endif
