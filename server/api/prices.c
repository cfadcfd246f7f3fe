/* server/api/prices.c: GET /v1/prices and /v1/prices/{price}: list prices of rented machines, each with its source. */
#include <inttypes.h>
#include <stdio.h>

#include "common/clock.h"
#include "server/api/api.h"
#include "server/api/json_out.h"
#include "server/app.h"
#include "server/http/query.h"
#include "server/price/catalog.h"
#include "server/store/read.h"

static enum status read_filter(struct request *request, struct api_page *page,
                               struct price_filter *filter, char at[CLOCK_TEXT_BYTES], bool *csv,
                               struct error *err);
static void write_list(struct response *response, const struct price_record *rows, size_t count,
                       const char *next);
static void write_csv(struct response *response, const struct price_record *rows, size_t count);
static void write_price(struct json_out *out, const struct price_record *price);
static const char *present(const char *text);

void handle_list_prices(struct request *request, struct response *response)
{
    char at[CLOCK_TEXT_BYTES], etag[48];
    struct price_record *rows = NULL;
    struct api_page page = {.list = "prices", .kinds = "i"};
    struct price_filter filter = {0};
    struct store_reader *reader;
    struct error err = {0};
    int64_t version = 0;
    size_t count = 0;
    const char *next = NULL;
    bool csv = false;
    enum status status = read_filter(request, &page, &filter, at, &csv, &err);

    if (status != ST_OK) {
        response_send_error(response, &err);
        return;
    }
    reader = api_begin_read(request, response);
    if (reader == NULL)
        return;
    status = store_list_prices(reader, request->arena, &filter, &rows, &count, &err);
    if (status == ST_OK)
        status = store_get_version(reader, STR("prices"), &version, &err);
    api_end_read(reader);
    if (status != ST_OK) {
        response_send_error(response, &err);
        return;
    }
    (void)snprintf(etag, sizeof etag, "p%" PRId64 "%s", version, csv ? "-csv" : "");
    if (response_send_not_modified(response, etag))
        return;
    if (count > (size_t)page.limit) {
        count = (size_t)page.limit;
        next = api_page_next(response, &page, &(struct cursor_value){.number = rows[count - 1].id});
    }
    if (csv)
        write_csv(response, rows, count);
    else
        write_list(response, rows, count, next);
}

void handle_get_price(struct request *request, struct response *response)
{
    struct store_reader *reader = api_begin_read(request, response);
    struct price_record price;
    struct error err = {0};
    struct json_out out;
    char etag[48];
    enum status status;
    int64_t id = 0;

    if (reader == NULL)
        return;
    status = request_arg_id(request, 0, &id, &err);
    if (status == ST_OK)
        status = store_get_price(reader, request->arena, id, &price, &err);
    api_end_read(reader);
    if (status != ST_OK) {
        response_send_error(response, &err);
        return;
    }
    (void)snprintf(etag, sizeof etag, "price%" PRId64, id); /* it never changes */
    if (response_send_not_modified(response, etag))
        return;
    out = (struct json_out){response_begin(response, 200, "application/json"), false};
    write_price(&out, &price);
}

static enum status read_filter(struct request *request, struct api_page *page,
                               struct price_filter *filter, char at[CLOCK_TEXT_BYTES], bool *csv,
                               struct error *err)
{
    struct query *query = &request->query;
    int64_t at_days = 0;
    bool has_at = false;

    api_page_read(request, page, err);
    filter->after_id = page->has_key ? page->key[0].number : 0;
    filter->limit = (int)page->limit + 1; /* one more tells whether there is a next page */
    (void)query_read_phrase(query, "provider", PRICE_PROVIDER_BYTES_MAX, &filter->provider, err);
    (void)query_read_phrase(query, "instance", PRICE_NAME_BYTES_MAX, &filter->instance, err);
    (void)query_read_phrase(query, "region", PRICE_NAME_BYTES_MAX, &filter->region, err);
    (void)query_read_phrase(query, "accelerator", PRICE_NAME_BYTES_MAX, &filter->accelerator, err);
    filter->accelerator = price_accelerator_key(filter->accelerator);
    (void)query_read_date(query, "at", &has_at, &at_days, err);
    if (has_at) {
        clock_format_days(at_days, at);
        filter->at = at;
    }
    api_read_format(request, csv, err);
    return query_finish(query, err);
}

static void write_list(struct response *response, const struct price_record *rows, size_t count,
                       const char *next)
{
    struct json_out out = {response_begin(response, 200, "application/json"), false};

    json_out_begin(&out, NULL, '{');
    json_out_begin(&out, "items", '[');
    for (size_t i = 0; i < count; i++)
        write_price(&out, &rows[i]);
    json_out_end(&out, ']');
    json_out_text(&out, "next_cursor", next);
    json_out_end(&out, '}');
}

static void write_csv(struct response *response, const struct price_record *rows, size_t count)
{
    struct buf *out = response_begin(response, 200, "text/csv; charset=utf-8");

    buf_append_cstr(out,
                    "id,provider,instance,accelerator,accelerators,vcpus,memory_gib,region,zone,"
                    "usd_per_hour,spot_usd_per_hour,valid_from,flag,source\r\n");
    for (size_t i = 0; i < count; i++) {
        const struct price_record *row = &rows[i];
        const char *const cells[] = {
            row->provider,
            row->instance,
            row->accelerator,
            row->accelerator_count_text,
            row->vcpus_text,
            row->memory_gib_text,
            row->region,
            row->zone,
            row->on_demand_pico.has ? row->on_demand_text : NULL,
            row->spot_pico.has ? row->spot_text : NULL,
            row->valid_from,
            row->flag,
            row->source,
        };

        buf_appendf(out, "%" PRId64, row->id);
        for (size_t c = 0; c < ARRAY_LEN(cells); c++) {
            buf_append_char(out, ',');
            csv_append_cell(out, str_from_cstr(cells[c]));
        }
        buf_append_cstr(out, "\r\n");
    }
}

static void write_price(struct json_out *out, const struct price_record *price)
{
    json_out_begin(out, NULL, '{');
    json_out_i64(out, "id", price->id);
    json_out_text(out, "provider", price->provider);
    json_out_text(out, "instance", present(price->instance));
    json_out_text(out, "accelerator", present(price->accelerator));
    json_out_text(out, "accelerator_key", present(price->accelerator_key));
    json_out_number(out, "accelerators", present(price->accelerator_count_text));
    json_out_optional(out, "chips", price->chips);
    json_out_number(out, "vcpus", price->vcpus_text);
    json_out_number(out, "memory_gib", price->memory_gib_text);
    json_out_text(out, "region", price->region);
    json_out_text(out, "zone", price->zone);
    json_out_number(out, "usd_per_hour", price->on_demand_pico.has ? price->on_demand_text : NULL);
    json_out_number(out, "spot_usd_per_hour", price->spot_pico.has ? price->spot_text : NULL);
    json_out_text(out, "valid_from", price->valid_from);
    json_out_text(out, "flag", price->flag);
    json_out_i64(out, "catalog", price->catalog_id);
    json_out_text(out, "source", price->source);
    json_out_i64(out, "line", price->line);
    json_out_time(out, "imported", price->imported_ms);
    json_out_end(out, '}');
}

static const char *present(const char *text)
{
    return text == NULL || text[0] == '\0' ? NULL : text;
}
