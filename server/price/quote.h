/* server/price/quote.h: what a machine costs an hour by the catalogs, and what a run on it cost. The same question over
 * the same offers has the same answer: exact integers, no clock, no order of rows.
 *
 * A machine is one row of a catalog, but for GCP: there a GPU host is its row plus that of its accelerators, and a TPU
 * is an accelerator's row alone (price_plan() knows which is which).
 * Ownership: borrows all texts; results borrow offers and question. Threads: pure, any. */
#ifndef DAYBREAK_SERVER_PRICE_QUOTE_H
#define DAYBREAK_SERVER_PRICE_QUOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"
#include "common/str.h"

#define PRICE_DIFFERS_PERCENT \
    5 /* a stated price further from the list price is worth a reviewer's look */
#define PRICE_REASON_BYTES 256
#define PRICE_KEY_BYTES    160

/* What was rented, as an agent or a submitter states it. */
struct price_question {
    const char *instance; /* "p3.16xlarge"; a TPU: "v3-8" or "tpu-v3-8" */
    const char *provider; /* NULL: not stated */
    const char *region;   /* or a zone; NULL: not stated */
    const char *
        accelerator; /* device model; asked for only where it can be chosen (GCP's n1); NULL: none stated */
    int64_t accelerator_count; /* on each node; 0: not stated */
    int64_t nodes;             /* above 0 */
};

/* Which rows are to be looked up: by instance, by accelerator and count, or both. "" : no such row. */
struct price_plan {
    const char *instance;
    char accelerator_key[PRICE_KEY_BYTES];
    char accelerator_count_text[24];
    char reason[PRICE_REASON_BYTES]; /* why it cannot be said; "": it can */
};
void price_plan(const struct price_question *question, struct price_plan *plan);

/* One row of a catalog, valid at the date in question. */
struct price_offer {
    int64_t id, catalog_id;
    const char *provider, *instance, *accelerator_key, *accelerator_count_text, *region;
    const char *zone;       /* NULL: unknown */
    const char *valid_from; /* yyyy-mm-dd */
    bool has_on_demand, has_spot;
    int64_t on_demand_pico, spot_pico; /* USD an hour */
};

struct price_quote {
    bool found;
    int64_t price_id; /* of the machine; a TPU: of its accelerator */
    bool has_accelerator;
    int64_t accelerator_price_id; /* of what is added to a GCP host */
    int64_t per_hour_pico;        /* of all nodes, on-demand */
    bool has_spot;
    int64_t spot_per_hour_pico; /* the same at spot prices: to recognise them */
    const char *provider;
    const char *region;              /* NULL: not stated, and the same everywhere */
    char reason[PRICE_REASON_BYTES]; /* why nothing was found */
};
/* Of each machine and place the newest offer counts (valid_from, then catalog, then id); those that then still fit
 * the question must agree on the on-demand price: what they differ by is asked for in `reason`. */
void price_choose(const struct price_question *question, const struct price_plan *plan,
                  const struct price_offer *offers, size_t count, struct price_quote *quote);

/* duration x price: round_half_even(ns * pico / 3.6e12) pico-dollars. false: it does not fit. */
bool price_cost(int64_t duration_ns, int64_t per_hour_pico, int64_t *cost_pico);
/* The same with the exact decimal text of a price, rounded once. false: not a price, or it does not fit. */
bool price_cost_text(int64_t duration_ns, const char *per_hour_text, int64_t *cost_pico);
/* What an hour cost when `duration_ns` of it cost so much; false: it does not fit. */
bool price_per_hour(int64_t duration_ns, int64_t cost_pico, int64_t *per_hour_pico);
/* Whether a stated price is more than PRICE_DIFFERS_PERCENT of the listed one away from it. */
bool price_differs(int64_t stated_pico, int64_t listed_pico);

#endif
