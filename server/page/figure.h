/* server/page/figure.h: a part of an analysis (analysis/table.h) as a table with its chart: numbers as people read
 * them, the exact ones beside. Ownership: as layout.h. Threads: pure, any. */
#ifndef DAYBREAK_SERVER_PAGE_FIGURE_H
#define DAYBREAK_SERVER_PAGE_FIGURE_H

#include "server/analysis/table.h"
#include "server/page/layout.h"

#define FIGURE_ROWS_MAX 200 /* on a page: the CSV has all */

/* csv_href: of the part's table; empty: none. */
struct figure_view figure_make(struct arena *arena, const struct analysis_part *part,
                               struct str csv_href);

/* What stands beside the parts, as terms with their values; NULL: nothing, or no memory. */
struct fact_view *figure_facts(struct arena *arena, const struct table *table, size_t *count);

#endif
