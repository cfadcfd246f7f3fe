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

#endif
