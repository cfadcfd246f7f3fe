/* server/price/claim.h: what a submitter states about the machines that were rented, in the entry's misc: members
 * instance, provider, region, nodes, accelerator, accelerators (on each node), spot. misc is free text for people, so
 * a member of another type is as good as none.
 * Ownership: texts live in the arena. Threads: pure, any. */
#ifndef DAYBREAK_SERVER_PRICE_CLAIM_H
#define DAYBREAK_SERVER_PRICE_CLAIM_H

#include <stdbool.h>
#include <stdint.h>

#include "common/arena.h"
#include "server/price/quote.h"

struct price_claim {
    const char *instance; /* NULL: not stated, as the other texts */
    const char *provider, *region, *accelerator;
    int64_t nodes;        /* 0: not stated */
    int64_t accelerators; /* on each node; 0: not stated */
    bool spot;
};

/* Whatever is not there stays as it is: start with zeros. misc_json: may be NULL, or no object. */
void price_claim_read(const char *misc_json, struct arena *arena, struct price_claim *claim);
/* The claim as a question: one node unless it states more. Only with an instance. */
struct price_question price_claim_question(const struct price_claim *claim);

#endif
