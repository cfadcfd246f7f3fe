/* server/page/page_query.h: what a page takes of its query, in one way for all pages. A value that is not understood is
 * ST_INVALID and names its parameter; an empty one is that of an empty field of a form: absent. Names that a page does
 * not know are left alone, unlike the API's: links to pages carry the tags of campaigns and trackers.
 * Threads: pure, any. */
#ifndef DAYBREAK_SERVER_PAGE_PAGE_QUERY_H
#define DAYBREAK_SERVER_PAGE_PAGE_QUERY_H

#include "server/http/query.h"

/* *index: which of the choices; as it was when absent. */
void page_query_choice(struct query *query, const char *name, const char *const *choices,
                       size_t count, size_t *index, struct error *err);
/* From 1; as it was when absent. */
void page_query_number(struct query *query, const char *name, int64_t max, int64_t *number,
                       struct error *err);
/* *text: as written. */
void page_query_date(struct query *query, const char *name, struct str *text, bool *has,
                     int64_t *days, struct error *err);

#endif
