/* server/command/facets.h: facets.tsv of a DAWNBench tree, written by hand: what a kind of hardware, how many devices
 * and whose cloud the free text of an entry means. Ownership: the facets own their bytes in an arena, and the texts
 * found in them. Threads: one owner. */
#ifndef DAYBREAK_SERVER_COMMAND_FACETS_H
#define DAYBREAK_SERVER_COMMAND_FACETS_H

#include "common/arena.h"
#include "common/status.h"
#include "common/str.h"
#include "common/tsv.h"
#include "server/api/accept.h"

struct facets { /* no rows: there is no such file */
    struct arena arena;
    struct tsv tsv;
};

void facets_init(struct facets *facets);
void facets_fini(struct facets *facets); /* accepts zeroed */
/* Columns entry, kind, device_model, devices, nodes, cloud; each row has all six. The bytes must outlive the facets:
 * they may stand in its arena. ST_INVALID with err->line. */
enum status facets_parse(struct str bytes, struct facets *facets, struct error *err);
/* The row of "<Task>/<phase>/NAME"; without one, or where a cell is empty, `found` stays as it was. */
enum status facets_find(struct facets *facets, const char *entry, struct accept_facets *found,
                        struct error *err);

#endif
