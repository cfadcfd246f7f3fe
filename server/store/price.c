/* server/store/price.c: takes price catalogs in, and gives entries the price of what they were trained on. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/decimal.h"
#include "server/price/quote.h"
#include "server/store/store_internal.h"
#include "server/store/verbs.h"

enum { SOURCE_BYTES_MAX = 500 };

#define SPOT_REASON "its price is a spot price; only on-demand prices are ranked"

/* What an agent says about the host that an entry was trained on. */
struct rented {
    const char *instance, *region, *cost_per_hour_text;
    struct opt_i64 nodes, started_ms, devices;
    const char *cloud, *device_kind, *device_model;
    bool spot;
};

/* What an entry is told by price_entry. */
struct priced {
    struct price_quote quote;
    const char *cost_per_hour_text;
    const char *cost_reason;
};

static enum status find_catalog(struct db *db, struct arena *arena, struct import_prices *import,
                                struct error *err);
static enum status insert_catalog(struct db *db, struct import_prices *import, struct error *err);
static enum status insert_price(struct db *db, const struct import_prices *import,
                                const struct price_row *row, struct error *err);
static void bind_amount(struct query_run *run, const struct price_amount *amount);
static enum status get_rented(struct db *db, struct arena *arena, const struct db_rented *request,
                              struct rented *rented, struct error *err);
static enum status store_priced(struct db *db, int64_t entry_id, const struct priced *priced,
                                struct error *err);
static enum status flag_difference(struct db *db, int64_t entry_id, int64_t stated_pico,
                                   const struct price_quote *quote, struct error *err);
static bool parse_price(const char *text, int64_t *pico);

enum status verb_import_prices(struct db *db, struct arena *arena, void *args, struct error *err)
{
    struct import_prices *import = args;
    const struct price_catalog *catalog = import->catalog;
    enum status status;

    if (import->source.len == 0 || import->source.len > SOURCE_BYTES_MAX)
        return error_set(err, ST_INVALID, "source", "a source has 1 to %d bytes", SOURCE_BYTES_MAX);
    status = find_catalog(db, arena, import, err);
    if (status != ST_OK || import->known)
        return status;
    status = insert_catalog(db, import, err);
    for (size_t i = 0; i < catalog->row_count && status == ST_OK; i++)
        status = insert_price(db, import, &catalog->rows[i], err);
    return status == ST_OK ? db_note_change(db, "prices", "price", import->catalog_id, err)
                           : status;
}

enum status db_price_rented(struct db *db, struct arena *arena, const struct db_rented *request,
                            struct opt_i64 *cost_pico, struct error *err)
{
    struct priced priced = {0};
    struct rented rented;
    char text[32];
    enum status status = get_rented(db, arena, request, &rented, err);

    *cost_pico = (struct opt_i64){0};
    if (status != ST_OK)
        return status;
    priced.cost_per_hour_text = rented.cost_per_hour_text;
    if (rented.instance != NULL) {
        char date[CLOCK_TEXT_BYTES];
        const bool has_accelerator = strcmp(rented.device_kind, "cpu") != 0;
        const struct price_question question = {
            .instance = rented.instance,
            .provider = rented.cloud,
            .region = rented.region,
            .accelerator = has_accelerator ? rented.device_model : NULL,
            .accelerator_count = has_accelerator ? rented.devices.value : 0,
            .nodes = rented.nodes.has ? rented.nodes.value : 1,
        };

        clock_format_date(rented.started_ms.has ? rented.started_ms.value : db->now_ms, date);
        status = db_quote_price(db, arena, &question, date, &priced.quote, err);
    }
    if (status != ST_OK)
        return status;
    if (priced.quote.found) {
        decimal_format_short(priced.quote.per_hour_pico, 12, text);
        priced.cost_per_hour_text = text;
    } else if (rented.cost_per_hour_text != NULL && rented.spot) {
        priced.cost_reason = SPOT_REASON;
    } else if (rented.cost_per_hour_text == NULL && rented.instance != NULL) {
        priced.cost_reason = priced.quote.reason;
    }
    status = store_priced(db, request->entry_id, &priced, err);
    if (status != ST_OK || !request->has_tta)
        return status;
    if (priced.cost_per_hour_text != NULL)
        cost_pico->has =
            price_cost_text(request->tta_ns, priced.cost_per_hour_text, &cost_pico->value);
    if (priced.quote.found && rented.cost_per_hour_text != NULL) {
        int64_t stated_pico;

        if (parse_price(rented.cost_per_hour_text, &stated_pico))
            status = flag_difference(db, request->entry_id, stated_pico, &priced.quote, err);
    }
    return status;
}

enum status db_price_claim(struct db *db, struct arena *arena, const struct new_entry *entry,
                           int64_t entry_id, struct error *err)
{
    const struct price_claim *claim = &entry->claim;
    struct priced priced = {.cost_per_hour_text = entry->cost_per_hour_text};
    char date[CLOCK_TEXT_BYTES];
    bool stated = false, differs;
    int64_t stated_pico = 0;
    enum status status = ST_OK;

    if (entry->cost_per_hour_text != NULL)
        stated = parse_price(entry->cost_per_hour_text, &stated_pico);
    else if (entry->inference_cost_pico.has && entry->latency_ns.has && entry->latency_ns.value > 0)
        stated =
            price_per_hour(entry->latency_ns.value, entry->inference_cost_pico.value, &stated_pico);
    clock_format_date(db->now_ms,
                      date); /* a claimed date may lie ahead; prices of then do not count */
    if (entry->claimed_date != NULL && strcmp(entry->claimed_date, date) < 0)
        (void)snprintf(date, sizeof date, "%s", entry->claimed_date);
    if (claim->instance != NULL) {
        const struct price_question question = price_claim_question(claim);

        status = db_quote_price(db, arena, &question, date, &priced.quote, err);
    }
    if (status != ST_OK)
        return status;
    differs = priced.quote.found && price_differs(stated_pico, priced.quote.per_hour_pico);
    if (stated && claim->spot && (differs || !priced.quote.found))
        priced.cost_reason = SPOT_REASON;
    if (claim->instance == NULL && priced.cost_reason == NULL)
        return ST_OK;
    status = store_priced(db, entry_id, &priced, err);
    if (status == ST_OK && stated && priced.quote.found)
        status = flag_difference(db, entry_id, stated_pico, &priced.quote, err);
    return status;
}

enum status db_quote_price(struct db *db, struct arena *arena,
                           const struct price_question *question, const char *date,
                           struct price_quote *quote, struct error *err)
{
    struct query_run run = query_begin(db, STMT_LIST_PRICE_OFFERS, arena);
    struct price_offer *offers = NULL;
    size_t count = 0, capacity = 0;
    struct price_plan plan;
    enum status status;

    price_plan(question, &plan);
    query_bind_text(&run, plan.instance);
    query_bind_text(&run, plan.accelerator_key);
    query_bind_text(&run, plan.accelerator_count_text);
    query_bind_text(&run, date);
    while (query_next(&run)) {
        struct price_offer offer = {.id = query_i64(&run)};
        struct opt_i64 price;

        offer.catalog_id = query_i64(&run);
        offer.provider = query_text(&run);
        offer.instance = query_text(&run);
        offer.accelerator_key = query_text(&run);
        offer.accelerator_count_text = query_text(&run);
        offer.region = query_text(&run);
        offer.zone = query_text(&run);
        offer.valid_from = query_text(&run);
        price = query_opt(&run);
        offer.has_on_demand = price.has;
        offer.on_demand_pico = price.value;
        price = query_opt(&run);
        offer.has_spot = price.has;
        offer.spot_pico = price.value;
        offers = query_grow(&run, offers, count, &capacity, sizeof offer);
        if (offers != NULL)
            offers[count++] = offer;
    }
    status = query_end(&run, err);
    if (status == ST_OK)
        price_choose(question, &plan, offers, count, quote);
    return status;
}

static enum status find_catalog(struct db *db, struct arena *arena, struct import_prices *import,
                                struct error *err)
{
    struct query_run run = query_begin(db, STMT_FIND_PRICE_CATALOG, arena);
    const char *valid_from;
    enum status status;

    import->known = false;
    query_bind_blob(&run, import->sha256, sizeof import->sha256);
    status = query_row(&run, err);
    if (status == ST_NOT_FOUND)
        return query_end(&run, err);
    if (status != ST_OK)
        return status;
    import->catalog_id = query_i64(&run);
    valid_from = query_text(&run);
    status = query_end(&run, err);
    if (status != ST_OK)
        return status;
    if (import->has_valid_from && strcmp(valid_from, import->valid_from) != 0)
        return error_set_code(err, ST_CONFLICT, "catalog-differs", "valid-from",
                              "leave --valid-from out, or import a file that differs",
                              "the same file is catalog %" PRId64 ", valid from %s",
                              import->catalog_id, valid_from);
    import->known = true;
    return ST_OK;
}

static enum status insert_catalog(struct db *db, struct import_prices *import, struct error *err)
{
    struct query_run run = query_begin(db, STMT_INSERT_PRICE_CATALOG, NULL);
    enum status status;

    query_bind_str(&run, import->source);
    query_bind_blob(&run, import->sha256, sizeof import->sha256);
    query_bind_text(&run, import->catalog->provider);
    query_bind_text(&run, import->valid_from);
    query_bind_i64(&run, db->now_ms);
    query_bind_i64(&run, (int64_t)import->catalog->row_count);
    status = query_done(&run, err);
    import->catalog_id = sqlite3_last_insert_rowid(db->handle);
    return status;
}

static enum status insert_price(struct db *db, const struct import_prices *import,
                                const struct price_row *row, struct error *err)
{
    struct query_run run = query_begin(db, STMT_INSERT_PRICE, NULL);

    query_bind_i64(&run, import->catalog_id);
    query_bind_i64(&run, row->line);
    query_bind_text(&run, row->provider);
    query_bind_text(&run, row->instance);
    query_bind_text(&run, row->accelerator);
    query_bind_text(&run, row->accelerator_key);
    query_bind_text(&run, row->accelerator_count_text);
    query_bind_opt(&run, (struct opt_i64){row->has_chips, row->chips});
    query_bind_text(&run, row->vcpus_text);
    query_bind_text(&run, row->memory_gib_text);
    query_bind_text(&run, row->region);
    query_bind_text(&run, row->zone);
    bind_amount(&run, &row->on_demand);
    bind_amount(&run, &row->spot);
    query_bind_text(&run, import->valid_from);
    query_bind_text(&run, row->flag);
    return query_done(&run, err);
}

static void bind_amount(struct query_run *run, const struct price_amount *amount)
{
    query_bind_opt(run, (struct opt_i64){amount->has, amount->pico});
    query_bind_text(run, amount->text);
}

static enum status get_rented(struct db *db, struct arena *arena, const struct db_rented *request,
                              struct rented *rented, struct error *err)
{
    struct query_run run = query_begin(db, STMT_GET_RENTED, arena);
    enum status status;

    query_bind_i64(&run, request->entry_id);
    query_bind_i64(&run, request->agent_id);
    query_bind_opt(&run, request->run_id);
    status = query_row(&run, err);
    if (status == ST_NOT_FOUND)
        run.rc = SQLITE_CORRUPT; /* the caller has just described the entry by that agent */
    else if (status != ST_OK)
        return status;
    rented->instance = query_text(&run);
    rented->region = query_text(&run);
    rented->nodes = query_opt(&run);
    rented->cost_per_hour_text = query_text(&run);
    rented->started_ms = query_opt(&run);
    rented->cloud = query_text(&run);
    rented->device_kind = query_text(&run);
    rented->device_model = query_text(&run);
    rented->devices = query_opt(&run);
    rented->spot = query_bool(&run);
    return query_end(&run, err);
}

static enum status store_priced(struct db *db, int64_t entry_id, const struct priced *priced,
                                struct error *err)
{
    const struct price_quote *quote = &priced->quote;
    struct query_run run = query_begin(db, STMT_PRICE_ENTRY, NULL);

    query_bind_i64(&run, entry_id);
    query_bind_opt(&run, (struct opt_i64){quote->found, quote->price_id});
    query_bind_opt(&run, (struct opt_i64){quote->has_accelerator, quote->accelerator_price_id});
    query_bind_opt(&run, (struct opt_i64){quote->found, quote->per_hour_pico});
    query_bind_text(&run, priced->cost_per_hour_text);
    query_bind_text(&run, quote->provider);
    query_bind_text(&run, priced->cost_reason);
    return query_done(&run, err);
}

/* For reviewers: nothing is refused or computed otherwise because of it. */
static enum status flag_difference(struct db *db, int64_t entry_id, int64_t stated_pico,
                                   const struct price_quote *quote, struct error *err)
{
    const bool spot = quote->has_spot && !price_differs(stated_pico, quote->spot_per_hour_pico);
    char stated[32], listed[32], detail[256];

    if (!price_differs(stated_pico, quote->per_hour_pico))
        return ST_OK;
    decimal_format_short(stated_pico, 12, stated);
    decimal_format_short(quote->per_hour_pico, 12, listed);
    (void)snprintf(detail, sizeof detail,
                   "the entry states %s USD an hour, the catalog's on-demand price is %s%s", stated,
                   listed, spot ? "; the spot price fits" : "");
    return db_insert_flag(db, entry_id,
                          &(struct flag_record){.code = spot ? "price-looks-spot" : "price-differs",
                                                .detail = detail},
                          err);
}

static bool parse_price(const char *text, int64_t *pico)
{
    struct decimal value;

    return decimal_parse(str_from_cstr(text), false, &value, NULL, NULL) == ST_OK &&
           !value.negative && decimal_scale(value, PICO_PER_USD, pico, NULL) == ST_OK;
}
