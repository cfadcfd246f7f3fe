/* tests/unit/server/test_price_store.c: catalogs are kept once and whole; a run's cost comes from the price that was valid
 * at its date; what an uploaded entry states is held against it. The clock stands at 2025-12-01. */
#include <string.h>

#include "common/decimal.h"
#include "server/price/catalog.h"
#include "tests/support/store_fixture.h"

#define HEADER \
    "Cloud,InstanceType,vCPUs,MemoryGiB,AcceleratorName,AcceleratorCount,Region,Price,SpotPrice\n"
#define HOUR NS_PER_HOUR

static void import_as(struct fixture *f, const char *text, const char *valid_from,
                      struct import_prices *import, enum status want, const char *code)
{
    struct price_catalog *catalog = ARENA_NEW(&f->arena, struct price_catalog);
    struct error err = {0};

    assert_non_null(catalog);
    if (price_catalog_parse(str_from_cstr(text), NULL, &f->arena, catalog, NULL, &err) != ST_OK)
        fail_msg("%s", err.detail);
    *import = (struct import_prices){.catalog = catalog,
                                     .source = STR("prices.csv"),
                                     .valid_from = valid_from,
                                     .has_valid_from = true};
    crypto_sha256(str_from_cstr(text), import->sha256);
    if (want == ST_OK)
        fixture_run(f, verb_import_prices, import);
    else
        fixture_refuse(f, verb_import_prices, import, want, code);
}

static int64_t import_text(struct fixture *f, const char *text, const char *valid_from)
{
    struct import_prices import;

    import_as(f, text, valid_from, &import, ST_OK, "");
    return import.catalog_id;
}

static size_t count_prices(struct fixture *f, const struct price_filter *filter,
                           struct price_record **rows)
{
    struct error err = {0};
    size_t count;

    if (store_list_prices(f->reader, &f->arena, filter, rows, &count, &err) != ST_OK)
        fail_msg("%s", err.detail);
    return count;
}

static struct entry_record get_entry(struct fixture *f, int64_t id)
{
    struct entry_record entry;
    struct error err = {0};

    if (store_get_entry(f->reader, &f->arena, id, &entry, &err) != ST_OK)
        fail_msg("%s", err.detail);
    return entry;
}

static int64_t agent_on(struct fixture *f, const char *instance, const char *capabilities,
                        const char *price)
{
    struct register_agent agent = {.name = STR("a"),
                                   .protocol = 1,
                                   .owner_token_id =
                                       fixture_token(f, ROLE_AGENT_REGISTRATION, "host"),
                                   .build = "test",
                                   .capabilities_json = capabilities,
                                   .device_kind = "gpu",
                                   .device_model = "Tesla T4",
                                   .devices = 4,
                                   .hardware = "4 Tesla T4",
                                   .framework = "daybreak-agent test",
                                   .instance = instance,
                                   .cost_per_hour_text = price};

    fixture_run(f, verb_register_agent, &agent);
    return agent.agent_id;
}

static void the_same_file_is_one_catalog(void **state)
{
    const char *const text = HEADER "aws,x,1,1,,,r,3,1\naws,y,1,1,,,r,4,\n";
    struct fixture *f = *state;
    struct price_catalog_record *catalogs;
    struct import_prices import;
    struct price_record *rows;
    struct error err = {0};
    size_t count;

    import_as(f, text, "2025-01-01", &import, ST_OK, "");
    assert_false(import.known);
    import_as(f, text, "2025-01-01", &import, ST_OK, "");
    assert_true(import.known);
    import_as(f, text, "2025-02-01", &import, ST_CONFLICT, "catalog-differs");
    import.has_valid_from = false;
    fixture_run(f, verb_import_prices, &import);
    assert_true(import.known);
    assert_int_equal(count_prices(f, &(struct price_filter){.limit = 10}, &rows), 2);
    assert_string_equal(rows[1].on_demand_text, "4");
    assert_false(rows[1].spot_pico.has);
    assert_string_equal(rows[1].source, "prices.csv");
    assert_int_equal(store_list_price_catalogs(f->reader, &f->arena, &catalogs, &count, &err),
                     ST_OK);
    assert_int_equal(count, 1);
    assert_int_equal(catalogs[0].row_count, 2);
    assert_string_equal(catalogs[0].provider, "aws");
}

static void a_catalog_without_a_source_leaves_nothing(void **state)
{
    struct fixture *f = *state;
    struct import_prices import;
    struct price_record *rows;

    import_as(f, HEADER "aws,x,1,1,,,r,3,1\n", "2025-01-01", &import, ST_OK, "");
    import.source = STR("");
    import.sha256[0] ^= 1;
    fixture_refuse(f, verb_import_prices, &import, ST_INVALID, "");
    import.source = STR("b");
    import.catalog->rows[0].region = NULL; /* a constraint refuses it half-way */
    fixture_refuse(f, verb_import_prices, &import, ST_CONFLICT, "constraint");
    assert_int_equal(count_prices(f, &(struct price_filter){.limit = 10}, &rows), 1);
}

static void prices_are_listed_as_they_were_valid(void **state)
{
    struct fixture *f = *state;
    struct price_record *rows;

    import_text(f, HEADER "aws,x,1,1,B200 Blackwell,8,r,3,1\naws,x,1,1,B200 Blackwell,8,s,3,\n",
                "2025-01-01");
    import_text(f, HEADER "aws,x,1,1,B200,8,r,2,\ngcp,,,,B200,8,r,1,\n", "2025-06-01");
    assert_int_equal(count_prices(f, &(struct price_filter){.limit = 10}, &rows), 4);
    assert_int_equal(
        count_prices(f, &(struct price_filter){.limit = 10, .at = "2024-12-31"}, &rows), 0);
    assert_int_equal(
        count_prices(f, &(struct price_filter){.limit = 10, .at = "2025-05-31"}, &rows), 2);
    assert_int_equal(
        count_prices(f, &(struct price_filter){.limit = 10, .at = "2025-06-01"}, &rows), 3);
    assert_string_equal(rows[0].region, "s");
    assert_string_equal(rows[1].on_demand_text, "2");
    assert_int_equal(
        count_prices(f, &(struct price_filter){.limit = 10, .accelerator = STR("B200")}, &rows), 4);
    assert_int_equal(count_prices(f,
                                  &(struct price_filter){.limit = 10,
                                                         .provider = STR("aws"),
                                                         .region = STR("r"),
                                                         .instance = STR("x")},
                                  &rows),
                     2);
    assert_int_equal(
        count_prices(f, &(struct price_filter){.limit = 1, .after_id = rows[0].id}, &rows), 1);
    assert_string_equal(rows[0].region, "s");
}

static void a_witnessed_run_costs_the_price_of_its_day(void **state)
{
    struct fixture *f = *state;
    struct create_jobs jobs;
    struct entry_record entry;

    import_text(f, HEADER "aws,g4dn.12xlarge,48,192,T4,4,us-east-1,3.912,1.5\n", "2025-01-01");
    import_text(f, HEADER "aws,g4dn.12xlarge,48,192,T4,4,us-east-1,3.6,1.5\n", "2025-12-01");
    import_text(f, HEADER "aws,g4dn.12xlarge,48,192,T4,4,us-east-1,9,1.5\n", "2025-12-02");
    jobs = fixture_jobs(f, 1);
    fixture_train(f, agent_on(f, "g4dn.12xlarge", "{\"region\":\"us-east-1\",\"spot\":true}", NULL),
                  "c", HOUR / 4, false);
    entry = get_entry(f, jobs.entry_id);
    assert_string_equal(entry.instance, "g4dn.12xlarge");
    assert_string_equal(entry.region, "us-east-1");
    assert_string_equal(entry.cost_per_hour_text, "3.6");
    assert_int_equal(entry.cost_pico.value, 9 * PICO_PER_USD / 10); /* on demand, spot or not */
    assert_int_equal(entry.price_id.value, 2);
    assert_false(entry.accelerator_price_id.has);
    assert_int_equal(entry.list_price_pico.value, 36 * PICO_PER_USD / 10);
    assert_string_equal(entry.cloud, "aws");
    assert_null(entry.cost_reason);
}

static void a_host_and_its_accelerators_are_two_prices(void **state)
{
    struct fixture *f = *state;
    struct create_jobs jobs;
    struct entry_record entry;

    import_text(f,
                HEADER "gcp,n1-standard-8,8,30,,,us-central1,0.38,0.1\n"
                       "gcp,,,,T4,4,us-central1,1.4,0.6\ngcp,,,,T4,2,us-central1,0.7,\n",
                "2025-01-01");
    jobs = fixture_jobs(f, 1);
    fixture_train(f, agent_on(f, "n1-standard-8", "{}", "1.78"), "c", HOUR / 2, false);
    entry = get_entry(f, jobs.entry_id);
    assert_string_equal(entry.cost_per_hour_text, "1.78");
    assert_int_equal(entry.cost_pico.value, 89 * PICO_PER_USD / 100);
    assert_int_equal(entry.price_id.value, 1);
    assert_int_equal(entry.accelerator_price_id.value, 2);
}

static void without_a_list_price_the_stated_one_counts_unless_it_is_spot(void **state)
{
    static const struct {
        const char *instance, *capabilities, *price, *cost_reason;
        bool has_cost;
    } cases[] = {
        {"own-host", "{}", "0.9", NULL, true},
        {NULL, "{}", "0.9", NULL, true},
        {"own-host", "{}", NULL, "no catalog has a price of own-host at that date", false},
        {"own-host", "{\"spot\":true}", "0.9",
         "its price is a spot price; only on-demand prices are ranked", true},
        {NULL, "{}", NULL, NULL, false},
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct create_jobs jobs = fixture_jobs(f, 1);
        char claim[8];
        struct entry_record entry;

        (void)snprintf(claim, sizeof claim, "c%zu", i);
        fixture_train(f, agent_on(f, cases[i].instance, cases[i].capabilities, cases[i].price),
                      claim, HOUR, false);
        entry = get_entry(f, jobs.entry_id);
        assert_false(entry.price_id.has);
        assert_int_equal(entry.cost_pico.has, cases[i].has_cost);
        if (cases[i].cost_reason == NULL)
            assert_null(entry.cost_reason);
        else
            assert_string_equal(entry.cost_reason, cases[i].cost_reason);
    }
}

/* An uploaded inference entry: the shortest there is. */
static int64_t submit(struct fixture *f, const char *name, const struct new_entry *like)
{
    struct new_entry entry = *like;
    struct submit submit = {.entry = &entry,
                            .files = {.entry = str_from_cstr(name)},
                            .by.token_id = fixture_token(f, ROLE_SUBMITTER, "s")};

    entry.task = fixture_task(f, "cifar10-inference");
    entry.name = str_from_cstr(name);
    entry.model = entry.author = entry.hardware = entry.framework = "x";
    entry.latency_ns = (struct opt_i64){true, 10000000}; /* 10 ms */
    fixture_run(f, verb_submit, &submit);
    return submit.entry_id;
}

static void what_an_upload_states_is_held_against_the_catalog(void **state)
{
    struct fixture *f = *state;
    struct price_claim claim = {.instance = "p3.2xlarge", .region = "us-east-1"};
    const int64_t item = 8500000; /* 3.06 USD an hour x 10 ms = 8.5e-6 USD */
    struct entry_record entry;

    import_text(f, HEADER "aws,p3.2xlarge,8,61,V100,1,us-east-1,3.06,0.918\n", "2025-01-01");
    entry = get_entry(f, submit(f, "same",
                                &(struct new_entry){.claim = claim,
                                                    .claimed_date = "2025-11-30",
                                                    .inference_cost_pico = {true, item}}));
    assert_string_equal(entry.instance, "p3.2xlarge");
    assert_int_equal(entry.list_price_pico.value, 306 * PICO_PER_USD / 100);
    assert_int_equal(entry.inference_cost_pico.value, item);
    assert_null(entry.cost_reason);
    entry = get_entry(
        f, submit(f, "before", &(struct new_entry){.claim = claim, .claimed_date = "2024-11-30"}));
    assert_false(entry.price_id.has);
    entry = get_entry(
        f, submit(f, "ahead", &(struct new_entry){.claim = claim, .claimed_date = "2027-11-30"}));
    assert_true(entry.price_id.has);
    claim.spot = true;
    entry = get_entry(f, submit(f, "spot",
                                &(struct new_entry){.claim = claim,
                                                    .inference_cost_pico = {true, item * 3 / 10}}));
    assert_string_equal(entry.cost_reason,
                        "its price is a spot price; only on-demand prices are ranked");
    entry = get_entry(
        f, submit(f, "spot host, list price",
                  &(struct new_entry){.claim = claim, .inference_cost_pico = {true, item}}));
    assert_null(entry.cost_reason);
    claim = (struct price_claim){.spot = true};
    entry = get_entry(
        f, submit(f, "spot somewhere",
                  &(struct new_entry){.claim = claim, .inference_cost_pico = {true, item}}));
    assert_non_null(entry.cost_reason);
}

static void history_is_never_priced(void **state)
{
    struct fixture *f = *state;
    struct new_entry entry = {.task = fixture_task(f, "cifar10-inference"),
                              .name = STR("old"),
                              .model = "x",
                              .author = "x",
                              .hardware = "x",
                              .framework = "x",
                              .claimed_date = "2025-11-30",
                              .latency_ns = {true, 10000000},
                              .inference_cost_pico = {true, 1},
                              .claim = {.instance = "p3.2xlarge", .spot = true}};
    struct import_entry import = {.entry = &entry, .files = {.entry = STR("old")}};
    struct entry_record old;

    import_text(f, HEADER "aws,p3.2xlarge,8,61,V100,1,us-east-1,3.06,0.918\n", "2025-01-01");
    fixture_run(f, verb_import_entry, &import);
    old = get_entry(f, import.entry_id);
    assert_false(old.price_id.has);
    assert_null(old.cost_reason);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_same_file_is_one_catalog),
        TEST(a_catalog_without_a_source_leaves_nothing),
        TEST(prices_are_listed_as_they_were_valid),
        TEST(a_witnessed_run_costs_the_price_of_its_day),
        TEST(a_host_and_its_accelerators_are_two_prices),
        TEST(without_a_list_price_the_stated_one_counts_unless_it_is_spot),
        TEST(what_an_upload_states_is_held_against_the_catalog),
        TEST(history_is_never_priced),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
