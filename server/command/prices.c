/* server/command/prices.c: `daybreakd prices import|list|show|catalogs`: list prices of rented machines. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/task.h"
#include "server/command/command.h"
#include "server/command/files.h"
#include "server/price/catalog.h"
#include "server/store/read.h"
#include "server/store/verbs.h"

enum { PAGE = 1000 };

#define ARENA_BYTES_MAX ((size_t)2 << 30) /* a million rows of 64 MiB */

struct request {
    const char *db, *action, *argument;
    const char *source, *valid_from, *provider;       /* import */
    const char *instance, *accelerator, *region, *at; /* list, with provider */
    char date[CLOCK_TEXT_BYTES];                      /* valid_from, else today; at */
};

static enum status run_action(struct request *request, struct arena *arena, int *exit_code,
                              struct error *err);
static enum status check_use(const struct request *request, struct error *err);
static enum status read_date(const char *option, const char *text, char date[CLOCK_TEXT_BYTES],
                             struct error *err);
static enum status import_prices(struct request *request, struct arena *arena, int *exit_code,
                                 struct error *err);
static enum status store_catalog(const struct request *request, struct import_prices *import,
                                 struct arena *arena, struct error *err);
static void print_faults(const char *path, const struct fault_list *faults);
static void print_flags(const char *path, const struct price_catalog *catalog);
static enum status list_prices(struct request *request, struct arena *arena, struct error *err);
static void print_price(const struct price_record *price);
static void print_cell(const char *text);
static enum status show_price(const struct request *request, struct arena *arena,
                              struct error *err);
static void print_fact(const char *name, const char *text);
static enum status list_catalogs(const struct request *request, struct arena *arena,
                                 struct error *err);

int command_prices(int argc, char *const *argv)
{
    struct request request = {.db = command_default_db()};
    const char **arguments = calloc((size_t)argc + 1, sizeof *arguments);
    struct error err = {0};
    int argument_count = 0, exit_code = 4;
    struct arena arena;
    const struct opt opts[] = {
        {.name = "source",
         .kind = OPT_TEXT,
         .value = &request.source,
         .argument = "TEXT",
         .help = "import: where the prices are from; shown with each (the file's name)"},
        {.name = "valid-from",
         .kind = OPT_TEXT,
         .value = &request.valid_from,
         .argument = "DATE",
         .help = "import: the first day that they are valid, yyyy-mm-dd (today)"},
        {.name = "provider",
         .kind = OPT_TEXT,
         .value = &request.provider,
         .argument = "P",
         .help = "import: whose prices, where no column Cloud says it; list: of that one alone"},
        {.name = "instance",
         .kind = OPT_TEXT,
         .value = &request.instance,
         .argument = "TYPE",
         .help = "list: of that machine alone"},
        {.name = "accelerator",
         .kind = OPT_TEXT,
         .value = &request.accelerator,
         .argument = "NAME",
         .help = "list: with that accelerator alone, by any of its names"},
        {.name = "region",
         .kind = OPT_TEXT,
         .value = &request.region,
         .argument = "R",
         .help = "list: in that region alone"},
        {.name = "at",
         .kind = OPT_TEXT,
         .value = &request.at,
         .argument = "DATE",
         .help = "list: those that are valid that day"},
        {.name = "db",
         .kind = OPT_TEXT,
         .value = &request.db,
         .argument = "FILE",
         .help = "the database; import makes it if it is not there"},
    };
    const struct opt_command command = {
        .program = "daybreakd",
        .name = "prices",
        .arguments = "import FILE | list | show ID | catalogs",
        .argument_min = 1,
        .argument_max = 2,
        .opts = opts,
        .opt_count = ARRAY_LEN(opts),
        .summary = "Takes a catalog of list prices in (CSV as SkyPilot has it): the whole file or "
                   "nothing, once. Lists prices, shows one with its source, lists catalogs.",
    };

    arena_init(&arena, ARENA_BYTES_MAX);
    if (arguments == NULL)
        (void)error_set(&err, ST_NO_MEMORY, NULL, "out of memory");
    else if (command_parse(&command, argc, argv, arguments, &argument_count, &exit_code)) {
        request.action = arguments[0];
        request.argument = argument_count == 2 ? arguments[1] : "";
        exit_code = 0;
        (void)run_action(&request, &arena, &exit_code, &err);
    }
    arena_fini(&arena);
    free(arguments);
    return err.status == ST_OK ? exit_code : command_fail("prices", &err);
}

static enum status run_action(struct request *request, struct arena *arena, int *exit_code,
                              struct error *err)
{
    enum status status = check_use(request, err);

    if (status != ST_OK)
        return status;
    if (strcmp(request->action, "import") == 0)
        return import_prices(request, arena, exit_code, err);
    if (strcmp(request->action, "list") == 0)
        status = list_prices(request, arena, err);
    else if (strcmp(request->action, "show") == 0)
        status = show_price(request, arena, err);
    else
        status = list_catalogs(request, arena, err);
    if (status == ST_OK && fflush(stdout) != 0)
        status = error_set(err, ST_IO, NULL, "cannot write to stdout");
    return status;
}

static enum status check_use(const struct request *request, struct error *err)
{
    const bool imports = strcmp(request->action, "import") == 0;
    const bool lists = strcmp(request->action, "list") == 0;
    const bool shows = strcmp(request->action, "show") == 0;

    if (!imports && !lists && !shows && strcmp(request->action, "catalogs") != 0)
        return error_set(err, ST_USAGE, NULL, "say import, list, show or catalogs, not %.60s",
                         request->action);
    if ((imports || shows) != (request->argument[0] != '\0'))
        return error_set(err, ST_USAGE, NULL,
                         imports ? "say which file: import FILE"
                         : shows ? "say which price: show ID"
                                 : "only import and show take an argument");
    if (!imports && (request->source != NULL || request->valid_from != NULL))
        return error_set(err, ST_USAGE, NULL, "--source and --valid-from belong to import");
    if (!lists && (request->instance != NULL || request->accelerator != NULL ||
                   request->region != NULL || request->at != NULL))
        return error_set(err, ST_USAGE, NULL,
                         "--instance, --accelerator, --region and --at belong to list");
    if (!imports && !lists && request->provider != NULL)
        return error_set(err, ST_USAGE, NULL, "--provider belongs to import and list");
    return ST_OK;
}

static enum status read_date(const char *option, const char *text, char date[CLOCK_TEXT_BYTES],
                             struct error *err)
{
    struct error fault = {0};
    int64_t days;
    bool padded;

    if (clock_parse_date(str_from_cstr(text), &days, &padded, &fault) != ST_OK)
        return error_set(err, ST_USAGE, option, "--%s is a date such as 2026-05-20: %s", option,
                         fault.detail);
    clock_format_days(days, date);
    return ST_OK;
}

static enum status import_prices(struct request *request, struct arena *arena, int *exit_code,
                                 struct error *err)
{
    struct fault_list faults = {.arena = arena};
    struct price_catalog catalog;
    struct error fault = {0};
    struct buf bytes = {0};
    const char *name = strrchr(request->argument, '/');
    struct import_prices import = {
        .catalog = &catalog,
        .valid_from = request->date,
        .has_valid_from = request->valid_from != NULL,
        .source = str_from_cstr(request->source != NULL ? request->source
                                : name != NULL          ? name + 1
                                                        : request->argument),
    };
    enum status status = ST_OK;

    clock_format_date(clock_real_ms(), request->date);
    if (request->valid_from != NULL)
        status = read_date("valid-from", request->valid_from, request->date, err);
    if (status == ST_OK && request->provider != NULL &&
        !price_provider_is_name(str_from_cstr(request->provider)))
        status = error_set(err, ST_USAGE, "provider", "a provider is a name such as aws");
    if (status == ST_OK)
        status = files_read_whole(request->argument, PRICE_FILE_BYTES_MAX, &bytes, err);
    if (status != ST_OK)
        goto done;
    crypto_sha256(buf_str(&bytes), import.sha256);
    if (price_catalog_parse(buf_str(&bytes), request->provider, arena, &catalog, &faults, &fault) !=
        ST_OK) {
        print_faults(request->argument, &faults);
        *exit_code = status_exit_code(fault.status);
        if (fault.status == ST_NO_MEMORY)
            status = error_set(err, ST_NO_MEMORY, NULL, "%s", fault.detail);
        goto done;
    }
    status = store_catalog(request, &import, arena, err);
    if (status != ST_OK)
        goto done;
    print_flags(request->argument, &catalog);
    log_event(LOG_INFO, "prices",
              "catalog=%" PRId64
              " known=%s rows=%zu repeated=%zu flagged=%zu ignored_columns=\"%s\"",
              import.catalog_id, import.known ? "yes" : "no", catalog.row_count,
              catalog.repeated_count, catalog.flagged_count, catalog.ignored);
done:
    buf_fini(&bytes);
    return status;
}

static enum status store_catalog(const struct request *request, struct import_prices *import,
                                 struct arena *arena, struct error *err)
{
    struct store_options options = {.path = request->db};
    struct task_table *tasks = NULL;
    struct store *store = NULL;
    enum status status = files_make_parent(request->db, err);

    if (status == ST_OK)
        status = task_table_create(&tasks, err);
    options.tasks = tasks;
    if (status == ST_OK)
        status = store_open(&options, &store, err);
    if (status == ST_OK)
        status = store_run_verb(store, verb_import_prices, import, arena, err);
    store_close(store);
    task_table_destroy(tasks);
    return status;
}

/* As `check` prints findings. */
static void print_faults(const char *path, const struct fault_list *faults)
{
    for (size_t i = 0; i < faults->count; i++) {
        const struct error *fault = &faults->items[i];

        (void)printf("%s:%d\terror\t%s\t%s\t%s\t%s\n", path, fault->line, fault->code, fault->field,
                     fault->detail, fault->hint);
    }
    if (faults->left_out > 0)
        (void)printf("%s:0\terror\tmore_faults\t\t%zu further faults\tmend these first\n", path,
                     faults->left_out);
}

static void print_flags(const char *path, const struct price_catalog *catalog)
{
    for (size_t i = 0; i < catalog->row_count; i++) {
        const struct price_row *row = &catalog->rows[i];
        const struct price_amount *price;

        if (row->flag == NULL)
            continue;
        price = row->on_demand.text != NULL && !row->on_demand.has ? &row->on_demand : &row->spot;
        if (strcmp(row->flag, PRICE_FLAG_SPOT_ABOVE) == 0)
            (void)printf("%s:%d\twarning\t%s\tSpotPrice\t%s is above the on-demand price %s\t"
                         "an error or a lag at the source; costs are computed on demand\n",
                         path, row->line, row->flag, row->spot.text, row->on_demand.text);
        else
            (void)printf("%s:%d\twarning\t%s\t%s\tthe price is %s\tit is taken as unknown\n", path,
                         row->line, row->flag, price == &row->spot ? "SpotPrice" : "Price",
                         price->tiny ? "below 1e-12 USD an hour, the least that is counted" : "0");
    }
}

/* One line each; "-" for what is not known. */
static enum status list_prices(struct request *request, struct arena *arena, struct error *err)
{
    struct store_reader *reader = NULL;
    struct price_filter filter = {
        .provider = str_from_cstr(request->provider),
        .instance = str_from_cstr(request->instance),
        .accelerator = price_accelerator_key(str_from_cstr(request->accelerator)),
        .region = str_from_cstr(request->region),
        .limit = PAGE,
    };
    size_t count = PAGE;
    enum status status = ST_OK;

    if (request->at != NULL) {
        status = read_date("at", request->at, request->date, err);
        filter.at = request->date;
    }
    if (status == ST_OK)
        status = store_reader_open(request->db, &reader, err);
    if (status == ST_OK)
        (void)printf(
            "id\tprovider\tinstance\taccelerator\taccelerators\tvcpus\tmemory_gib\tregion\tzone\t"
            "usd_per_hour\tspot_usd_per_hour\tvalid_from\tflag\n");
    while (status == ST_OK && count == PAGE) {
        struct price_record *rows = NULL;

        status = store_list_prices(reader, arena, &filter, &rows, &count, err);
        for (size_t i = 0; i < count && status == ST_OK; i++)
            print_price(&rows[i]);
        if (status == ST_OK && count > 0)
            filter.after_id = rows[count - 1].id;
    }
    store_reader_close(reader);
    return status;
}

static void print_price(const struct price_record *price)
{
    (void)printf("%" PRId64 "\t%s", price->id, price->provider);
    print_cell(price->instance);
    print_cell(price->accelerator);
    print_cell(price->accelerator_count_text);
    print_cell(price->vcpus_text);
    print_cell(price->memory_gib_text);
    print_cell(price->region);
    print_cell(price->zone);
    print_cell(price->on_demand_pico.has ? price->on_demand_text : NULL);
    print_cell(price->spot_pico.has ? price->spot_text : NULL);
    print_cell(price->valid_from);
    print_cell(price->flag);
    (void)putchar('\n');
}

static void print_cell(const char *text)
{
    (void)printf("\t%s", text == NULL || text[0] == '\0' ? "-" : text);
}

static enum status show_price(const struct request *request, struct arena *arena, struct error *err)
{
    struct store_reader *reader = NULL;
    struct price_record price;
    char text[CLOCK_TEXT_BYTES];
    int64_t id = 0;
    enum status status = ST_OK;

    if (!str_parse_i64(str_from_cstr(request->argument), &id) || id < 1)
        return error_set(err, ST_USAGE, "id", "an ID is a number, the first column of list");
    status = store_reader_open(request->db, &reader, err);
    if (status == ST_OK)
        status = store_get_price(reader, arena, id, &price, err);
    store_reader_close(reader);
    if (status != ST_OK)
        return status;
    (void)printf("id\t%" PRId64 "\n", price.id);
    print_fact("provider", price.provider);
    print_fact("instance", price.instance);
    print_fact("accelerator", price.accelerator);
    print_fact("accelerators", price.accelerator_count_text);
    print_fact("region", price.region);
    print_fact("zone", price.zone);
    print_fact("usd_per_hour", price.on_demand_pico.has ? price.on_demand_text : NULL);
    print_fact("spot_usd_per_hour", price.spot_pico.has ? price.spot_text : NULL);
    print_fact("valid_from", price.valid_from);
    print_fact("flag", price.flag);
    print_fact("source", price.source);
    (void)printf("catalog\t%" PRId64 "\nline\t%" PRId64 "\n", price.catalog_id, price.line);
    clock_format_utc(price.imported_ms, text);
    print_fact("imported", text);
    return ST_OK;
}

static void print_fact(const char *name, const char *text)
{
    if (text != NULL && text[0] != '\0')
        (void)printf("%s\t%s\n", name, text);
}

static enum status list_catalogs(const struct request *request, struct arena *arena,
                                 struct error *err)
{
    struct store_reader *reader = NULL;
    struct price_catalog_record *rows = NULL;
    size_t count = 0;
    enum status status = store_reader_open(request->db, &reader, err);

    if (status == ST_OK)
        status = store_list_price_catalogs(reader, arena, &rows, &count, err);
    if (status == ST_OK)
        (void)printf("id\tsource\tprovider\tvalid_from\timported\trows\tsha256\n");
    for (size_t i = 0; i < count && status == ST_OK; i++) {
        char text[CLOCK_TEXT_BYTES];

        clock_format_utc(rows[i].imported_ms, text);
        (void)printf("%" PRId64 "\t%s\t%s\t%s\t%s\t%" PRId64 "\t%s\n", rows[i].id, rows[i].source,
                     rows[i].provider == NULL ? "-" : rows[i].provider, rows[i].valid_from, text,
                     rows[i].row_count, rows[i].sha256);
    }
    store_reader_close(reader);
    return status;
}
