/* server/page/price_page.h: /prices/{price}: one list price with its source: the evidence behind a cost.
 * Ownership: as layout.h. Threads: pure, any. */
#ifndef DAYBREAK_SERVER_PAGE_PRICE_PAGE_H
#define DAYBREAK_SERVER_PAGE_PRICE_PAGE_H

#include "server/page/layout.h"
#include "server/store/records.h"

void page_render_price(struct buf *out, const struct page_frame *frame,
                       const struct price_record *price);

#endif
