/* server/api/table_out.h: an analysis (analysis/table.h) as JSON and as CSV.
 * Ownership: borrows. Threads: pure, any. */
#ifndef DAYBREAK_SERVER_API_TABLE_OUT_H
#define DAYBREAK_SERVER_API_TABLE_OUT_H

#include "server/analysis/table.h"
#include "server/api/json_out.h"

/* The facts, "lead", and a member for each part, whose rows are objects. An entry is "entry", "model" and "author". */
void table_out_members(struct json_out *out, const struct analysis *analysis);
/* One part: a head line of keys, then a line for each row; what is absent is empty. */
void table_out_csv(struct buf *out, const struct table *table);

#endif
