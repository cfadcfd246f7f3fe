/* server/store/read_price.c: reads what the price catalogs say. */
#include "server/store/read.h"
#include "server/store/store_internal.h"

static void read_price(struct query_run *run, struct price_record *row);

enum status store_list_prices(struct store_reader *reader, struct arena *arena,
                              const struct price_filter *filter, struct price_record **rows,
                              size_t *count, struct error *err)
{
    struct query_run run = query_begin(&reader->db, STMT_LIST_PRICES, arena);
    const struct str texts[] = {filter->provider, filter->instance, filter->accelerator,
                                filter->region};
    size_t capacity = 0;

    *rows = NULL;
    *count = 0;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        if (texts[i].len > 0)
            query_bind_str(&run, texts[i]);
        else
            query_bind_text(&run, NULL);
    }
    query_bind_text(&run, filter->at);
    query_bind_i64(&run, filter->after_id);
    query_bind_i64(&run, filter->limit);
    while (query_next(&run)) {
        struct price_record row;

        read_price(&run, &row);
        *rows = query_grow(&run, *rows, *count, &capacity, sizeof row);
        if (*rows != NULL)
            (*rows)[(*count)++] = row;
    }
    return query_end(&run, err);
}

enum status store_get_price(struct store_reader *reader, struct arena *arena, int64_t id,
                            struct price_record *price, struct error *err)
{
    struct query_run run = query_begin(&reader->db, STMT_GET_PRICE, arena);
    enum status status;

    query_bind_i64(&run, id);
    status = query_row(&run, err);
    if (status == ST_NOT_FOUND) {
        (void)query_end(&run, err);
        return error_set(err, ST_NOT_FOUND, "price", "there is no such price");
    }
    if (status != ST_OK)
        return status;
    read_price(&run, price);
    return query_end(&run, err);
}

enum status store_list_price_catalogs(struct store_reader *reader, struct arena *arena,
                                      struct price_catalog_record **rows, size_t *count,
                                      struct error *err)
{
    struct query_run run = query_begin(&reader->db, STMT_LIST_PRICE_CATALOGS, arena);
    size_t capacity = 0;

    *rows = NULL;
    *count = 0;
    while (query_next(&run)) {
        struct price_catalog_record row = {.id = query_i64(&run)};
        unsigned char digest[SHA256_BYTES] = {0};

        row.source = query_text(&run);
        row.provider = query_text(&run);
        row.valid_from = query_text(&run);
        row.imported_ms = query_i64(&run);
        row.row_count = query_i64(&run);
        (void)query_digest(&run, digest); /* never NULL */
        str_format_hex(digest, sizeof digest, row.sha256);
        *rows = query_grow(&run, *rows, *count, &capacity, sizeof row);
        if (*rows != NULL)
            (*rows)[(*count)++] = row;
    }
    return query_end(&run, err);
}

enum status store_quote_price(struct store_reader *reader, struct arena *arena,
                              const struct price_question *question, const char *date,
                              struct price_quote *quote, struct error *err)
{
    return db_quote_price(&reader->db, arena, question, date, quote, err);
}

/* The columns of price_row, in order. */
static void read_price(struct query_run *run, struct price_record *row)
{
    *row = (struct price_record){.id = query_i64(run)};
    row->catalog_id = query_i64(run);
    row->line = query_i64(run);
    row->provider = query_text(run);
    row->instance = query_text(run);
    row->accelerator = query_text(run);
    row->accelerator_key = query_text(run);
    row->accelerator_count_text = query_text(run);
    row->chips = query_opt(run);
    row->vcpus_text = query_text(run);
    row->memory_gib_text = query_text(run);
    row->region = query_text(run);
    row->zone = query_text(run);
    row->on_demand_pico = query_opt(run);
    row->on_demand_text = query_text(run);
    row->spot_pico = query_opt(run);
    row->spot_text = query_text(run);
    row->valid_from = query_text(run);
    row->flag = query_text(run);
    row->source = query_text(run);
    row->imported_ms = query_i64(run);
}
