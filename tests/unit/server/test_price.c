/* tests/unit/server/test_price.c: catalogs are read by name whatever their order, with every trap of the real ones;
 * prices and costs against vectors worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/decimal.h"
#include "server/price/catalog.h"
#include "server/price/claim.h"
#include "server/price/quote.h"

#define HEADER \
    "Cloud,InstanceType,vCPUs,MemoryGiB,AcceleratorName,AcceleratorCount,Region,Price,SpotPrice\n"
#define USD(x) (INT64_C(x) * (PICO_PER_USD / 1000000)) /* micro-dollars */

#define DIGITS_64  "1111111111111111111111111111111111111111111111111111111111111111"
#define DIGITS_256 DIGITS_64 DIGITS_64 DIGITS_64 DIGITS_64
#define DIGITS_512 DIGITS_256 DIGITS_256

static struct arena arena;

static int set_up(void **state)
{
    (void)state;
    arena_init(&arena, 64 << 20);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arena_fini(&arena);
    return 0;
}

static struct price_catalog parse(const char *text, const char *provider)
{
    struct price_catalog catalog;
    struct error err = {0};

    if (price_catalog_parse(str_from_cstr(text), provider, &arena, &catalog, NULL, &err) != ST_OK)
        fail_msg("line %d: %s: %s", err.line, err.code, err.detail);
    return catalog;
}

static struct price_catalog parse_file(const char *name)
{
    char path[128], *text = arena_alloc(&arena, 1 << 16, 1);
    FILE *in;

    (void)snprintf(path, sizeof path, "tests/fixtures/prices/%s", name);
    in = fopen(path, "rbe");
    assert_non_null(in);
    assert_true(fread(text, 1, (1 << 16) - 1, in) > 0);
    (void)fclose(in);
    return parse(text, strncmp(name, "aws_cpu", 7) == 0 ? "aws" : NULL);
}

static const struct price_row *find(const struct price_catalog *catalog, const char *instance,
                                    const char *accelerator, const char *place)
{
    for (size_t i = 0; i < catalog->row_count; i++) {
        const struct price_row *row = &catalog->rows[i];

        if (strcmp(row->instance, instance) == 0 && strcmp(row->accelerator, accelerator) == 0 &&
            (strcmp(row->region, place) == 0 ||
             (row->zone != NULL && strcmp(row->zone, place) == 0)))
            return row;
    }
    fail_msg("no row of %s %s in %s", instance, accelerator, place);
    return NULL;
}

static void a_catalog_is_read_by_the_names_of_its_columns(void **state)
{
    const struct price_catalog aws = parse_file("aws_cpu_skypilot_v8.csv");
    const struct price_row *row = find(&aws, "c5.metal", "", "eu-central-1");

    (void)state;
    assert_string_equal(aws.ignored, "GpuInfo, Arch");
    assert_string_equal(aws.provider, "aws");
    assert_string_equal(row->provider, "aws");
    assert_string_equal(row->vcpus_text, "96");
    assert_string_equal(row->memory_gib_text, "192");
    assert_string_equal(row->zone, "euc1-az1");
    assert_int_equal(row->on_demand.pico, USD(4656000));
    assert_string_equal(row->on_demand.text, "4.656");
    assert_int_equal(row->spot.pico, USD(1841600));
    assert_string_equal(row->spot.text, "1.841600");
    assert_null(row->flag);
}

static void what_is_not_there_is_unknown_and_never_0(void **state)
{
    const struct price_catalog gcp = parse_file("gcp.csv"), lambda = parse_file("lambda.csv");
    const struct price_row *row = find(&gcp, "a4-highgpu-8g", "", "us-central1");

    (void)state;
    assert_false(row->on_demand.has); /* it says 0.0 */
    assert_string_equal(row->on_demand.text, "0.0");
    assert_string_equal(row->flag, PRICE_FLAG_ZERO);
    row = find(&gcp, "", "tpu-v3-8", "us-east1");
    assert_true(row->on_demand.has);
    assert_false(row->spot.has);
    assert_null(row->spot.text);
    assert_null(row->vcpus_text);
    row = find(&lambda, "gpu_8x_v100", "V100", "us-east-1");
    assert_null(row->zone);
    assert_false(row->spot.has);
    assert_string_equal(row->accelerator_count_text, "8"); /* "8.0" */
}

static void accelerators_have_one_name_and_slices_their_chips(void **state)
{
    static const struct {
        const char *name, *key;
    } names[] = {
        {"B200 Blackwell", "B200"},
        {"B200", "B200"},
        {"Tesla T4", "T4"},
        {"NVIDIA Tesla K80", "K80"},
        {"K80", "K80"},
        {"NVIDIA A100-SXM4-80GB", "A100-80GB"},
        {"Tesla V100-SXM2-16GB", "V100"},
        {"nvidia h100 80gb hbm3", "H100"},
        {"Something new", "Something new"},
        {"", ""},
    };
    static const struct {
        const char *name;
        int64_t chips;
    } tpus[] = {
        {"tpu-v3-8", 4},        {"tpu-v2-8", 4},  {"tpu-v4-8", 4},  {"tpu-v5p-8", 4},
        {"tpu-v5litepod-8", 8}, {"tpu-v6e-8", 8}, {"tpu-v6e-1", 1}, {"tpu-v5litepod-", 0},
        {"tpu-v9-8", 0},        {"T4", 0},        {"tpu-v3-0", 0},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        assert_true(str_eq_cstr(price_accelerator_key(str_from_cstr(names[i].name)), names[i].key));
    for (size_t i = 0; i < ARRAY_LEN(tpus); i++) {
        int64_t chips = 0;

        assert_int_equal(price_tpu_chips(str_from_cstr(tpus[i].name), &chips), tpus[i].chips > 0);
        assert_int_equal(chips, tpus[i].chips);
    }
}

static void a_spot_price_above_the_other_is_flagged_and_taken(void **state)
{
    const struct price_catalog gcp = parse_file("gcp.csv");
    const struct price_row *row = find(&gcp, "", "A100-80GB", "us-central1-a");

    (void)state;
    assert_string_equal(row->flag, PRICE_FLAG_SPOT_ABOVE);
    assert_int_equal(row->on_demand.pico, USD(1846200));
    assert_int_equal(row->spot.pico, USD(1964000));
    assert_int_equal(gcp.flagged_count, 5); /* three of these, two hosts that say 0 */
}

static void a_row_that_is_there_twice_counts_once(void **state)
{
    const struct price_catalog catalog = parse(HEADER "aws,x,1,1,,,r,3.0,\n"
                                                      "aws,y,1,1,,,r,3,\n"
                                                      "aws,x,1,1,,,r,3.00,\n",
                                               NULL);

    (void)state;
    assert_int_equal(catalog.row_count, 2);
    assert_int_equal(catalog.repeated_count, 1);
    assert_int_equal(catalog.rows[0].line, 2);
    assert_int_equal(catalog.rows[1].line, 3);
}

static void rubbish_is_refused_with_line_and_column(void **state)
{
    static const struct {
        const char *text, *provider, *code, *field;
        int line;
    } rows[] = {
        {"", NULL, "empty_file", "", 0},
        {HEADER, NULL, "empty_file", "", 0},
        {"<html>\n<body>\n", NULL, "column_missing", "InstanceType", 1},
        {"Cloud,InstanceType,vCPUs,MemoryGiB,AcceleratorName,AcceleratorCount,Region\n", NULL,
         "column_missing", "Price", 1},
        {"InstanceType,vCPUs,MemoryGiB,AcceleratorName,AcceleratorCount,Region,Price\nx,,,,,r,1\n",
         NULL, "provider_missing", "Cloud", 1},
        {"Cloud," HEADER, NULL, "column_twice", "Cloud", 1},
        {HEADER "aws,x,1,1,,,r,3 USD,\n", NULL, "not_a_number", "Price", 2},
        {HEADER "aws,x,1,1,,,r,-3,\n", NULL, "not_a_number", "Price", 2},
        {HEADER "aws,x,1,1,,,r,NaN,\n", NULL, "not_a_number", "Price", 2},
        {HEADER "aws,x,1,1,,,r,3,1e99\n", NULL, "out_of_range", "SpotPrice", 2},
        {HEADER "aws,x,1,1,,,r,1000001,\n", NULL, "out_of_range", "Price", 2},
        {HEADER "aws,x,0,1,,,r,3,\n", NULL, "not_a_number", "vCPUs", 2},
        {HEADER "aws,x,1e308,1,,,r,3,\n", NULL, "out_of_range", "vCPUs", 2},
        {HEADER "aws,x,1000001,1,,,r,3,\n", NULL, "out_of_range", "vCPUs", 2},
        {HEADER "aws,x,1.5,1,,,r,3,\n", NULL, "out_of_range", "vCPUs", 2},
        {HEADER "aws,x,8.00000000000000000001,1,,,r,3,\n", NULL, "out_of_range", "vCPUs", 2},
        {HEADER "aws,x,1,1,,,r,3,\naws,y,1,1e308,,,r,3,\n", NULL, "out_of_range", "MemoryGiB", 3},
        {HEADER "aws,x,1,1000000.1,,,r,3,\n", NULL, "out_of_range", "MemoryGiB", 2},
        {HEADER "aws,x,1,1,T4,1e308,r,3,\n", NULL, "out_of_range", "AcceleratorCount", 2},
        {HEADER "aws,x,1,1,T4,1e-30,r,3,\n", NULL, "out_of_range", "AcceleratorCount", 2},
        {HEADER "aws,x,1,1,T4,0.0624,r,3,\n", NULL, "out_of_range", "AcceleratorCount", 2},
        {HEADER "aws,x,1,1,T4,1000000.5,r,3,\n", NULL, "out_of_range", "AcceleratorCount", 2},
        {HEADER "aws,x,1,1,,,r,1e999,\n", NULL, "out_of_range", "Price", 2},
        {HEADER "aws,x,1,1,T4,1e-999,r,3,\n", NULL, "out_of_range", "AcceleratorCount", 2},
        {HEADER "aws,x,1,1,,,r,3." DIGITS_512 ",\n", NULL, "number_too_long", "Price", 2},
        {HEADER "aws,x,1" DIGITS_512 ",1,,,r,3,\n", NULL, "number_too_long", "vCPUs", 2},
        {HEADER "aws,x,1,1,,,,3,\n", NULL, "cell_missing", "Region", 2},
        {HEADER "aws,x,1,1,,8,r,3,\n", NULL, "cell_missing", "AcceleratorName", 2},
        {HEADER "aws,,,,T4,1,r,3,\n", NULL, "cell_missing", "InstanceType", 2},
        {HEADER "gcp,,,,,,r,3,\n", NULL, "cell_missing", "AcceleratorName", 2},
        {HEADER "gcp,,,,T4,,r,3,\n", NULL, "cell_missing", "AcceleratorName", 2},
        {HEADER "A WS,x,1,1,,,r,3,\n", NULL, "bad_provider", "Cloud", 2},
        {HEADER "aws,x,1,1,,,r,3,\n", "gcp", "bad_provider", "Cloud", 2},
        {HEADER "aws,x,1,1,,,r,3,\naws,y,1,1,,,r,3\n", NULL, "csv_ragged", "column 9", 3},
        {HEADER "aws,x,1,1,,,r,3,\naws,x,1,1,,,r,4,\n", NULL, "price_contradicted", "Price", 3},
        {HEADER "aws,x,1,1,,,r,3,2\naws,x,1,1,,,r,3,\n", NULL, "price_contradicted", "Price", 3},
        {HEADER "aws,x\x01,1,1,,,r,3,\n", NULL, "bad_name", "InstanceType", 2},
        {"\x7f\x45\x4c\x46\x02\xff", NULL, "not_utf8", "column 1", 1},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct fault_list faults = {.arena = &arena};
        struct price_catalog catalog;
        struct error err = {0};

        assert_int_equal(price_catalog_parse(str_from_cstr(rows[i].text), rows[i].provider, &arena,
                                             &catalog, &faults, &err),
                         ST_INVALID);
        assert_string_equal(err.code, rows[i].code);
        assert_string_equal(err.field, rows[i].field);
        assert_int_equal(err.line, rows[i].line);
        assert_true(faults.count >= 1);
    }
}

static void what_a_machine_can_have_is_taken_up_to_its_bounds(void **state)
{
    const struct price_catalog catalog = parse(HEADER "aws,a,1,0.5,T4,0.0625,r,3,\n"
                                                      "aws,b,1000000,1000000,T4,1000000,r,3,\n"
                                                      "aws,c,9.6e1,1e6,T4,0.167,r,3,\n"
                                                      "aws,d,96.0000000000000000000000,1,,,r,3,\n",
                                               NULL);

    (void)state;
    assert_int_equal(catalog.row_count, 4);
    assert_string_equal(catalog.rows[0].accelerator_count_text, "0.0625");
    assert_string_equal(catalog.rows[1].vcpus_text, "1000000");
    assert_string_equal(catalog.rows[3].vcpus_text, "96");
}

static void a_price_below_the_least_is_unknown_and_not_0(void **state)
{
    const struct price_catalog catalog = parse(HEADER "aws,a,1,1,,,r,1e-13,\n"
                                                      "aws,b,1,1,,,r,9e-13,\n"
                                                      "aws,c,1,1,,,r,1e-12,\n"
                                                      "aws,d,1,1,,,r,0,\n",
                                               NULL);

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        const struct price_row *row = &catalog.rows[i];

        assert_int_equal(row->on_demand.tiny, i < 2);
        assert_int_equal(row->on_demand.has, i == 2);
        assert_int_equal(row->on_demand.pico, i == 2);
        assert_int_equal(row->flag != NULL, i != 2);
    }
}

static void every_fault_of_a_file_is_told_at_once(void **state)
{
    struct fault_list faults = {.arena = &arena};
    struct price_catalog catalog;
    struct error err = {0};

    (void)state;
    assert_int_equal(price_catalog_parse(STR(HEADER "aws,x,a,b,,,r,c,d\n"
                                                    "aws,y,1,1,,,r,3\n"
                                                    "aws,z,1,1,,,,3,\n"
                                                    "aws,w,1,1,,,r,3,\n"),
                                         NULL, &arena, &catalog, &faults, &err),
                     ST_INVALID);
    assert_int_equal(faults.count, 6);
    assert_int_equal(faults.items[5].line, 4);
}

/* The rows of the fixtures as offers, as the store would hand them out. */
static struct price_offer *offers_of(const struct price_catalog *catalog, int64_t first_id,
                                     int64_t catalog_id, const char *valid_from)
{
    struct price_offer *offers = ARENA_NEW_ARRAY(&arena, catalog->row_count, struct price_offer);

    for (size_t i = 0; i < catalog->row_count; i++) {
        const struct price_row *row = &catalog->rows[i];

        offers[i] = (struct price_offer){
            .id = first_id + (int64_t)i,
            .catalog_id = catalog_id,
            .provider = row->provider,
            .instance = row->instance,
            .accelerator_key = row->accelerator_key,
            .accelerator_count_text = row->accelerator_count_text,
            .region = row->region,
            .zone = row->zone,
            .valid_from = valid_from,
            .has_on_demand = row->on_demand.has,
            .on_demand_pico = row->on_demand.pico,
            .has_spot = row->spot.has,
            .spot_pico = row->spot.pico,
        };
    }
    return offers;
}

static struct price_quote ask(const struct price_catalog *catalog,
                              const struct price_question *question)
{
    struct price_quote quote;
    struct price_plan plan;

    price_plan(question, &plan);
    price_choose(question, &plan, offers_of(catalog, 1, 1, "2026-05-20"), catalog->row_count,
                 &quote);
    return quote;
}

static void a_machine_costs_what_its_catalog_says(void **state)
{
    const struct {
        const char *file;
        struct price_question question;
        int64_t per_hour_pico; /* 0: none, for the reason */
        bool two_rows;
        const char *reason;
    } rows[] = {
        {"aws.csv", {"p3.16xlarge", NULL, "us-east-1", NULL, 0, 1}, USD(24480000), false, ""},
        /* dawn-bench-entries#54: 4 x 24.48 = 97.92 */
        {"aws.csv", {"p3.16xlarge", "aws", "us-east-1", NULL, 0, 4}, USD(97920000), false, ""},
        {"aws.csv",
         {"p3.16xlarge", NULL, NULL, NULL, 0, 1},
         0,
         false,
         "the price of p3.16xlarge differs by region: state it"},
        {"aws.csv",
         {"p3.16xlarge", NULL, "eu-north-1", NULL, 0, 1},
         0,
         false,
         "no catalog has a price of p3.16xlarge in eu-north-1"},
        {"aws.csv",
         {"p3.16xlarge", "gcp", NULL, NULL, 0, 1},
         0,
         false,
         "no catalog has a price of p3.16xlarge of gcp"},
        {"aws.csv", {"", NULL, NULL, NULL, 0, 1}, 0, false, "no instance type is stated"},
        {"aws.csv",
         {"p9.16xlarge", NULL, NULL, NULL, 0, 1},
         0,
         false,
         "no catalog has a price of p9.16xlarge at that date"},
        {"lambda.csv", {"gpu_8x_v100", NULL, NULL, NULL, 0, 1}, USD(6320000), false, ""},
        {"azure.csv", {"Standard_NC6s_v3", NULL, "eastus", NULL, 0, 2}, USD(6120000), false, ""},
        /* a host and its accelerators: 5.91582 + 23.47126 */
        {"gcp.csv", {"a2-highgpu-8g", NULL, "us-central1", NULL, 0, 1}, USD(29387080), true, ""},
        {"gcp.csv", {"a2-highgpu-8g", NULL, "us-central1-b", NULL, 0, 2}, USD(58774160), true, ""},
        {"gcp.csv", {"g2-standard-24", NULL, "europe-west4", NULL, 0, 1}, USD(2101790), true, ""},
        /* n1 alone, and with what the renter chose: 0.38 + 1.4 */
        {"gcp.csv", {"n1-standard-8", NULL, "us-central1", NULL, 0, 1}, USD(380000), false, ""},
        {"gcp.csv",
         {"n1-standard-8", NULL, "us-central1", "Tesla T4", 4, 1},
         USD(1780000),
         true,
         ""},
        {"gcp.csv",
         {"n1-standard-8", NULL, "us-central1", "Tesla T4", 3, 1},
         0,
         false,
         "no catalog has a price of 3 x T4 at that date"},
        {"gcp.csv",
         {"n1-standard-8", NULL, "us-central1", "Tesla T4", 0, 1},
         0,
         false,
         "how many Tesla T4 the n1-standard-8 had is not stated"},
        {"gcp.csv",
         {"a2-highgpu-odd", NULL, "us-central1", NULL, 0, 1},
         0,
         false,
         "it is not known how many A100 a a2-highgpu-odd has"},
        /* the host says 0.0 */
        {"gcp.csv",
         {"a4-highgpu-8g", NULL, "us-central1", NULL, 0, 1},
         0,
         false,
         "the catalog has no on-demand price of a4-highgpu-8g"},
        /* a TPU is its accelerator's row alone, however it is spelled */
        {"gcp.csv", {"v3-8", NULL, "us-central1", NULL, 0, 1}, USD(8000000), false, ""},
        {"gcp.csv", {"tpu-v3-8", NULL, "us-east1", NULL, 0, 2}, USD(16000000), false, ""},
        {"gcp.csv", {"v5litepod-8", NULL, "europe-west4", NULL, 0, 1}, USD(12480000), false, ""},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct price_catalog catalog = parse_file(rows[i].file);
        const struct price_quote quote = ask(&catalog, &rows[i].question);

        assert_string_equal(quote.reason, rows[i].reason);
        assert_int_equal(quote.found, rows[i].per_hour_pico > 0);
        if (!quote.found)
            continue;
        assert_int_equal(quote.per_hour_pico, rows[i].per_hour_pico);
        assert_int_equal(quote.has_accelerator, rows[i].two_rows);
        assert_true(quote.price_id > 0);
    }
}

static void the_newest_price_of_a_place_counts_in_whatever_order(void **state)
{
    const struct price_catalog old =
        parse(HEADER "aws,x,1,1,T4,1,r,3,1\naws,x,1,1,T4,1,s,3,\n", NULL);
    const struct price_catalog new = parse(HEADER "aws,x,1,1,B200 Blackwell,1,r,4,2\n", NULL);
    const struct price_question question = {"x", NULL, "r", NULL, 0, 1};
    struct price_offer offers[4];
    struct price_quote quote;
    struct price_plan plan;

    (void)state;
    memcpy(offers, offers_of(&old, 1, 1, "2026-01-01"), 2 * sizeof *offers);
    memcpy(offers + 2, offers_of(&new, 3, 2, "2026-02-01"), sizeof *offers);
    memcpy(offers + 3, offers_of(&new, 4, 3, "2026-02-01"), sizeof *offers); /* mended that day */
    offers[3].on_demand_pico = USD(5000000);
    price_plan(&question, &plan);
    for (int turn = 0; turn < 4; turn++) {
        const struct price_offer first = offers[0];

        price_choose(&question, &plan, offers, 4, &quote);
        assert_true(quote.found);
        assert_int_equal(quote.price_id, 4);
        assert_int_equal(quote.per_hour_pico, USD(5000000));
        assert_true(quote.has_spot);
        assert_int_equal(quote.spot_per_hour_pico, USD(2000000));
        assert_string_equal(quote.region, "r");
        memmove(offers, offers + 1, 3 * sizeof *offers);
        offers[3] = first;
    }
}

static void cost_is_rounded_once_half_to_even(void **state)
{
    static const struct {
        int64_t ns, per_hour_pico, cost_pico; /* -1: it does not fit */
        const char *text;
    } rows[] = {
        {NS_PER_HOUR, USD(3060000), USD(3060000), "3.06"},
        {0, USD(3060000), 0, "3.06"},
        {1, USD(3600000), 1, "3.6"},   /* 1e-12 of an hour's 3.6e12 */
        {1, USD(1800000), 0, "1.8"},   /* 0.5 */
        {3, USD(1800000), 2, "1.80"},  /* 1.5 */
        {5, USD(1800000), 2, "1.8e0"}, /* 2.5 */
        {INT64_C(341000000000), USD(900000), USD(85250), "0.9"},
        {INT64_C(10663472000000), USD(97920000), INT64_C(290046438400000), "97.92"},
        {INT64_MAX, USD(1000000), INT64_C(2562047788015215502), "1"}, /* 292 years */
        {INT64_MAX, USD(9000000000), -1, "9000"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int64_t cost = 0, text_cost = 0;
        const bool fits = rows[i].cost_pico >= 0;

        assert_int_equal(price_cost(rows[i].ns, rows[i].per_hour_pico, &cost), fits);
        assert_int_equal(price_cost_text(rows[i].ns, rows[i].text, &text_cost), fits);
        if (!fits)
            continue;
        assert_int_equal(cost, rows[i].cost_pico);
        assert_int_equal(text_cost, rows[i].cost_pico);
    }
    int64_t cost;

    assert_false(price_cost_text(1, "-3", &cost));
    assert_false(price_cost_text(1, "three", &cost));
    assert_true(price_cost_text(NS_PER_HOUR, "0.0000000000005", &cost)); /* half a pico-dollar */
    assert_int_equal(cost, 0);
    assert_true(price_per_hour(NS_PER_HOUR / 2, USD(1530000), &cost));
    assert_int_equal(cost, USD(3060000));
}

static void a_difference_counts_above_five_percent(void **state)
{
    (void)state;
    assert_false(price_differs(USD(100000), USD(100000)));
    assert_false(price_differs(USD(105000), USD(100000)));
    assert_true(price_differs(USD(105000) + 1, USD(100000)));
    assert_false(price_differs(USD(95000), USD(100000)));
    assert_true(price_differs(USD(95000) - 1, USD(100000)));
    assert_true(price_differs(INT64_MAX, 1));
}

static void what_misc_states_about_the_machines_is_read(void **state)
{
    struct price_claim claim = {0};
    struct price_question question;

    (void)state;
    price_claim_read(
        "{\"instance\":\" p3.16xlarge \",\"region\":\"us-east-1\",\"nodes\":4,\"spot\":true,"
        "\"provider\":\"aws\",\"batch\":128}",
        &arena, &claim);
    assert_string_equal(claim.instance, "p3.16xlarge");
    assert_true(claim.spot);
    question = price_claim_question(&claim);
    assert_int_equal(question.nodes, 4);
    assert_string_equal(question.region, "us-east-1");
    claim = (struct price_claim){0};
    price_claim_read("{\"instance\":[\"p3\"],\"nodes\":0,\"region\":\"\",\"spot\":\"yes\"}", &arena,
                     &claim);
    assert_null(claim.instance);
    assert_null(claim.region);
    assert_int_equal(claim.nodes, 0);
    assert_false(claim.spot);
    price_claim_read("\"a text\"", &arena, &claim);
    price_claim_read(NULL, &arena, &claim);
    assert_null(claim.instance);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_catalog_is_read_by_the_names_of_its_columns),
        cmocka_unit_test(what_is_not_there_is_unknown_and_never_0),
        cmocka_unit_test(accelerators_have_one_name_and_slices_their_chips),
        cmocka_unit_test(a_spot_price_above_the_other_is_flagged_and_taken),
        cmocka_unit_test(a_row_that_is_there_twice_counts_once),
        cmocka_unit_test(rubbish_is_refused_with_line_and_column),
        cmocka_unit_test(what_a_machine_can_have_is_taken_up_to_its_bounds),
        cmocka_unit_test(a_price_below_the_least_is_unknown_and_not_0),
        cmocka_unit_test(every_fault_of_a_file_is_told_at_once),
        cmocka_unit_test(a_machine_costs_what_its_catalog_says),
        cmocka_unit_test(the_newest_price_of_a_place_counts_in_whatever_order),
        cmocka_unit_test(cost_is_rounded_once_half_to_even),
        cmocka_unit_test(a_difference_counts_above_five_percent),
        cmocka_unit_test(what_misc_states_about_the_machines_is_read),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
