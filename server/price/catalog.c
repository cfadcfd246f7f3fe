/* server/price/catalog.c: see catalog.h. */
#include "server/price/catalog.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/csv.h"
#include "common/decimal.h"

enum { ROWS_FIRST = 256, IGNORED_BYTES_MAX = 2048 };

/* The columns that are read, by name; whatever else a file has is named in `ignored`. GpuInfo is among those: a
 * Python dictionary in quotes, not JSON, which says in one catalog the memory of a device and in another that of all. */
enum column {
    COL_CLOUD,
    COL_INSTANCE,
    COL_VCPUS,
    COL_MEMORY,
    COL_ACCELERATOR,
    COL_COUNT,
    COL_REGION,
    COL_ZONE,
    COL_PRICE,
    COL_SPOT,
    COLUMN_COUNT
};
static const struct {
    const char *name;
    bool required;
} columns[COLUMN_COUNT] = {
    [COL_CLOUD] = {"Cloud", false}, /* else --provider says it */
    [COL_INSTANCE] = {"InstanceType", true},
    [COL_VCPUS] = {"vCPUs", true},
    [COL_MEMORY] = {"MemoryGiB", true},
    [COL_ACCELERATOR] = {"AcceleratorName", true},
    [COL_COUNT] = {"AcceleratorCount", true},
    [COL_REGION] = {"Region", true},
    [COL_ZONE] = {"AvailabilityZone", false}, /* absent where a provider has none: unknown */
    [COL_PRICE] = {"Price", true},
    [COL_SPOT] = {"SpotPrice", false},
};

/* What providers do differently. One that is not listed prices whole machines. */
static const struct provider {
    const char *name;
    bool accelerators_apart; /* an accelerator has its own row, with an empty InstanceType */
} providers[] = {
    {"aws", false},
    {"azure", false},
    {"gcp", true},
    {"lambda", false},
};

/* Names of the same device: in the catalogs, and as its driver calls it (after "NVIDIA " or "Tesla "). */
static const struct {
    const char *alias, *key;
} aliases[] = {
    {"A100-SXM4-40GB", "A100"},
    {"A100-PCIE-40GB", "A100"},
    {"A100-40GB", "A100"},
    {"A100-SXM4-80GB", "A100-80GB"},
    {"A100 80GB PCIe", "A100-80GB"},
    {"B200 Blackwell", "B200"},
    {"B300 Blackwell", "B300"},
    {"H100 80GB HBM3", "H100"},
    {"H100 PCIe", "H100"},
    {"H100-80GB", "H100"},
    {"H100-MEGA-80GB", "H100-MEGA"},
    {"H200-141GB", "H200"},
    {"K80", "K80"},
    {"P100-PCIE-16GB", "P100"},
    {"V100-SXM2-16GB", "V100"},
    {"V100-PCIE-16GB", "V100"},
    {"V100-SXM2-32GB", "V100-32GB"},
    {"V100-PCIE-32GB", "V100-32GB"},
    {"Quadro RTX 6000", "RTX6000"},
    {"RTX A6000", "A6000"},
    {"RTX PRO 6000 Blackwell", "RTX PRO 6000"},
    {"AWS Trainium", "Trainium"},
    {"AWS Inferentia", "Inferentia"},
    {"AWS Inferentia2", "Inferentia2"},
    {"AMD Instinct MI25", "MI25"},
    {"AMD Instinct MI300X", "MI300X"},
};

/* TPU slices are named by TensorCores (two to a chip) up to v4 and for v5p, by chips for v5e and v6e. */
static const struct {
    const char *prefix;
    int64_t cores_per_chip;
} tpus[] = {
    {"tpu-v2-", 2},  {"tpu-v3-", 2},        {"tpu-v4-", 2},
    {"tpu-v5p-", 2}, {"tpu-v5litepod-", 1}, {"tpu-v6e-", 1},
};

struct reading {
    struct csv_reader csv;
    struct arena *arena;
    struct price_catalog *catalog;
    struct fault_list *faults;
    struct error *err;
    const char *provider;
    size_t places[COLUMN_COUNT]; /* index of the cell, plus one; 0: absent */
    size_t capacity;
    enum status status;
};

static enum status read_header(struct reading *reading);
static void read_row(struct reading *reading);
static struct str cell_of(const struct reading *reading, enum column column);
static void read_names(struct reading *reading, struct price_row *row);
static const char *read_name(struct reading *reading, enum column column);
static void read_accelerator(struct reading *reading, struct price_row *row);
static const char *read_quantity(struct reading *reading, enum column column);
static bool is_whole(struct decimal value);
static bool is_short(struct reading *reading, enum column column, struct str cell);
static void read_price(struct reading *reading, enum column column, struct price_amount *price);
static void judge_row(struct reading *reading, struct price_row *row);
static struct price_row *new_row(struct reading *reading);
static void drop_repeats(struct reading *reading);
static int compare_rows(const void *left, const void *right);
static int compare_keys(const struct price_row *a, const struct price_row *b);
static int compare_lines(const void *left, const void *right);
static bool says_the_same(const struct price_amount *a, const struct price_amount *b);
static const struct provider *find_provider(const char *name);
static const char *short_number(struct reading *reading, struct str text);
static const char *keep(struct reading *reading, struct str text);
static void note(struct reading *reading, int line, enum column column, const char *code,
                 const char *hint, const char *format, ...) __attribute__((format(printf, 6, 7)));

enum status price_catalog_parse(struct str bytes, const char *provider, struct arena *arena,
                                struct price_catalog *catalog, struct fault_list *faults,
                                struct error *err)
{
    struct reading reading = {
        .arena = arena, .catalog = catalog, .faults = faults, .err = err, .provider = provider};
    bool more = true;

    *catalog = (struct price_catalog){.ignored = "", .provider = provider};
    csv_init(&reading.csv, bytes, arena);
    if (read_header(&reading) != ST_OK)
        return reading.status;
    while (more && reading.status != ST_NO_MEMORY) {
        struct error fault = {0};
        const enum status status = csv_next(&reading.csv, &more, &fault);

        if (status == ST_OK && more)
            read_row(&reading);
        if (status == ST_OK)
            continue;
        reading.status = fault_list_add(faults, &fault, err);
        more = more && strcmp(fault.code, "csv_ragged") == 0;
    }
    if (reading.status == ST_OK && catalog->row_count == 0)
        note(&reading, 0, COLUMN_COUNT, "empty_file", "send a header line and one row per price",
             "the file has no prices");
    if (reading.status == ST_OK)
        drop_repeats(&reading);
    return reading.status;
}

bool price_provider_is_name(struct str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!((text.data[i] >= 'a' && text.data[i] <= 'z') ||
              (text.data[i] >= '0' && text.data[i] <= '9') || text.data[i] == '-'))
            return false;
    return text.len > 0 && text.len <= PRICE_PROVIDER_BYTES_MAX;
}

struct str price_accelerator_key(struct str name)
{
    static const char *const makers[] = {"NVIDIA ", "Tesla "};

    for (size_t i = 0; i < ARRAY_LEN(makers); i++) {
        const size_t bytes = strlen(makers[i]);

        if (name.len > bytes && strncasecmp(name.data, makers[i], bytes) == 0)
            name = str_slice(name, bytes, name.len);
    }
    for (size_t i = 0; i < ARRAY_LEN(aliases); i++)
        if (strlen(aliases[i].alias) == name.len &&
            strncasecmp(name.data, aliases[i].alias, name.len) == 0)
            return str_from_cstr(aliases[i].key);
    return name;
}

bool price_tpu_chips(struct str accelerator, int64_t *chips)
{
    for (size_t i = 0; i < ARRAY_LEN(tpus); i++) {
        const struct str prefix = str_from_cstr(tpus[i].prefix);
        int64_t count;

        if (!str_starts_with(accelerator, prefix) ||
            !str_parse_i64(str_slice(accelerator, prefix.len, accelerator.len), &count) ||
            count < 1)
            continue;
        *chips = (count + tpus[i].cores_per_chip - 1) / tpus[i].cores_per_chip;
        return true;
    }
    return false;
}

static enum status read_header(struct reading *reading)
{
    struct csv_reader *csv = &reading->csv;
    struct error fault = {0};
    struct buf ignored;
    bool more = false;

    if (csv_next(csv, &more, &fault) != ST_OK)
        return reading->status = fault_list_add(reading->faults, &fault, reading->err);
    if (!more) {
        note(reading, 0, COLUMN_COUNT, "empty_file", "send a header line and one row per price",
             "the file is empty");
        return reading->status;
    }
    buf_init(&ignored, IGNORED_BYTES_MAX);
    for (size_t i = 0; i < csv->cell_count; i++) {
        size_t c = 0;

        while (c < COLUMN_COUNT && !str_eq_cstr(str_trim(csv->cells[i]), columns[c].name))
            c++;
        if (c < COLUMN_COUNT && reading->places[c] != 0)
            note(reading, csv->line, (enum column)c, "column_twice", "keep one",
                 "the header has the column %s twice", columns[c].name);
        if (c < COLUMN_COUNT) {
            reading->places[c] = i + 1;
            continue;
        }
        buf_append_cstr(&ignored, ignored.len > 0 ? ", " : "");
        buf_append(&ignored, str_slice(csv->cells[i], 0, str_utf8_cut(csv->cells[i], 64)));
    }
    reading->catalog->ignored = ignored.failed ? "many" : keep(reading, buf_str(&ignored));
    buf_fini(&ignored);
    for (size_t c = 0; c < COLUMN_COUNT; c++)
        if (columns[c].required && reading->places[c] == 0)
            note(reading, csv->line, (enum column)c, "column_missing",
                 "columns are found by their names, in any order", "the header has no column %s",
                 columns[c].name);
    if (reading->places[COL_CLOUD] == 0 && reading->provider == NULL)
        note(reading, csv->line, COL_CLOUD, "provider_missing",
             "say whose prices they are: --provider aws",
             "the file has no column Cloud, and no provider is given");
    return reading->status;
}

static void read_row(struct reading *reading)
{
    const enum status before = reading->status;
    struct price_row row = {.line = reading->csv.line};

    reading->status = ST_OK; /* of this row, for now */
    read_names(reading, &row);
    if (reading->status == ST_OK)
        read_accelerator(reading, &row);
    row.vcpus_text = read_quantity(reading, COL_VCPUS);
    row.memory_gib_text = read_quantity(reading, COL_MEMORY);
    read_price(reading, COL_PRICE, &row.on_demand);
    read_price(reading, COL_SPOT, &row.spot);
    if (reading->status == ST_OK)
        judge_row(reading, &row);
    if (reading->status == ST_OK && before == ST_OK) {
        struct price_row *place = new_row(reading);

        if (place != NULL)
            *place = row;
    }
    if (reading->status == ST_OK)
        reading->status = before;
}

static struct str cell_of(const struct reading *reading, enum column column)
{
    const size_t place = reading->places[column];

    return place == 0 ? STR("") : str_trim(reading->csv.cells[place - 1]);
}

static void read_names(struct reading *reading, struct price_row *row)
{
    const struct str cloud = cell_of(reading, COL_CLOUD);

    row->provider = reading->provider;
    if (reading->places[COL_CLOUD] != 0) {
        if (!price_provider_is_name(cloud))
            note(reading, row->line, COL_CLOUD, "bad_provider", "aws, azure, gcp, lambda ...",
                 "\"%.40s\" is not the name of a provider", keep(reading, cloud));
        else if (reading->provider != NULL && !str_eq_cstr(cloud, reading->provider))
            note(reading, row->line, COL_CLOUD, "bad_provider", "leave --provider out",
                 "the row is of %.40s, and --provider says %s", keep(reading, cloud),
                 reading->provider);
        row->provider = keep(reading, cloud);
    }
    row->instance = read_name(reading, COL_INSTANCE);
    row->region = read_name(reading, COL_REGION);
    row->zone = read_name(reading, COL_ZONE);
    if (row->zone[0] == '\0')
        row->zone = NULL;
    if (row->region[0] == '\0')
        note(reading, row->line, COL_REGION, "cell_missing", "say where it can be rented",
             "the row has no region");
}

static const char *read_name(struct reading *reading, enum column column)
{
    const struct str cell = cell_of(reading, column);

    for (size_t i = 0; i < cell.len; i++)
        if ((unsigned char)cell.data[i] < ' ' || cell.data[i] == 0x7F) {
            note(reading, reading->csv.line, column, "bad_name", NULL, "%s has a control character",
                 columns[column].name);
            return "";
        }
    if (cell.len > PRICE_NAME_BYTES_MAX)
        note(reading, reading->csv.line, column, "cell_too_long", "shorten it",
             "%s has %zu bytes, at most %d are read", columns[column].name, cell.len,
             PRICE_NAME_BYTES_MAX);
    return keep(reading, cell);
}

static void read_accelerator(struct reading *reading, struct price_row *row)
{
    const struct str count = cell_of(reading, COL_COUNT);
    const struct provider *provider = find_provider(row->provider);

    row->accelerator = read_name(reading, COL_ACCELERATOR);
    row->accelerator_key = keep(reading, price_accelerator_key(str_from_cstr(row->accelerator)));
    row->accelerator_count_text = read_quantity(reading, COL_COUNT);
    if (row->accelerator_count_text == NULL)
        row->accelerator_count_text = "";
    row->has_chips = price_tpu_chips(str_from_cstr(row->accelerator), &row->chips);
    if (count.len > 0 && row->accelerator[0] == '\0')
        note(reading, row->line, COL_ACCELERATOR, "cell_missing", "name the accelerator",
             "the row counts accelerators and names none");
    if (row->instance[0] != '\0')
        return;
    if (provider == NULL || !provider->accelerators_apart)
        note(reading, row->line, COL_INSTANCE, "cell_missing",
             "only gcp has rows of accelerators alone", "the row has no instance type");
    else if (row->accelerator[0] == '\0' || count.len == 0)
        note(reading, row->line, COL_ACCELERATOR, "cell_missing",
             "a row without InstanceType is an accelerator's, and says how many",
             "the row has neither an instance type nor an accelerator with its number");
}

/* A number above 0 and within what such a machine can have, without zeros behind; NULL: unknown. An accelerator may be
 * rented by parts, the least that is known is an eighth. */
static const char *read_quantity(struct reading *reading, enum column column)
{
    static const struct {
        struct decimal least, most;
        bool whole;
        const char *range;
    } ranges[COLUMN_COUNT] = {
        [COL_VCPUS] = {{1, 0, false}, {1, 6, false}, true, "a whole number of 1 to 1,000,000"},
        [COL_MEMORY] = {{0, 0, false}, {1, 6, false}, false, "a size of up to 1,000,000 GiB"},
        [COL_COUNT] = {{625, -4, false}, {1, 6, false}, false, "a number of 1/16 to 1,000,000"},
    };
    const struct str cell = cell_of(reading, column);
    struct decimal value;
    enum status status;
    bool exact;

    if (cell.len == 0 || !is_short(reading, column, cell))
        return NULL;
    status = decimal_parse(cell, false, &value, &exact, NULL);
    if (status == ST_INVALID || (status == ST_OK && (value.negative || value.digits == 0))) {
        note(reading, reading->csv.line, column, "not_a_number",
             "leave the cell empty where it is not known", "%s is not a number above 0: \"%.40s\"",
             columns[column].name, keep(reading, cell));
        return NULL;
    }
    if (status != ST_OK || decimal_cmp(value, ranges[column].least) < 0 ||
        decimal_cmp(value, ranges[column].most) > 0 ||
        (ranges[column].whole && !(exact && is_whole(value)))) {
        note(reading, reading->csv.line, column, "out_of_range",
             "leave the cell empty where it is not known", "%s is %.40s, not %s",
             columns[column].name, keep(reading, cell), ranges[column].range);
        return NULL;
    }
    return short_number(reading, cell);
}

static bool is_whole(struct decimal value)
{
    for (; value.exponent < 0 && value.digits % 10 == 0; value.exponent++)
        value.digits /= 10;
    return value.exponent >= 0;
}

static bool is_short(struct reading *reading, enum column column, struct str cell)
{
    if (cell.len > STR_NUMBER_BYTES_MAX)
        note(reading, reading->csv.line, column, "number_too_long", "round it",
             "%s has %zu characters, at most %d are read", columns[column].name, cell.len,
             STR_NUMBER_BYTES_MAX);
    return cell.len <= STR_NUMBER_BYTES_MAX;
}

static void read_price(struct reading *reading, enum column column, struct price_amount *price)
{
    const struct str cell = cell_of(reading, column);
    const struct decimal least = {1, -12, false};
    struct decimal value;
    enum status status;

    if (cell.len == 0 || !is_short(reading, column, cell))
        return;
    status = decimal_parse(cell, false, &value, NULL, NULL);
    if (status == ST_LIMIT) {
        note(reading, reading->csv.line, column, "out_of_range", "prices are in USD an hour",
             "%s is %.40s USD an hour, beyond any use", columns[column].name, keep(reading, cell));
        return;
    }
    if (status != ST_OK || value.negative) {
        note(reading, reading->csv.line, column, "not_a_number",
             "a price is USD an hour such as 3.06; leave the cell empty where it is not known",
             "%s is not a price: \"%.40s\"", columns[column].name, keep(reading, cell));
        return;
    }
    price->text = keep(reading, cell);
    if (decimal_scale(value, PICO_PER_USD, &price->pico, NULL) != ST_OK ||
        price->pico > PRICE_USD_MAX * PICO_PER_USD)
        note(reading, reading->csv.line, column, "out_of_range", "prices are in USD an hour",
             "%s is above %d USD an hour", columns[column].name, PRICE_USD_MAX);
    price->tiny = value.digits != 0 && decimal_cmp(value, least) < 0;
    if (price->tiny)
        price->pico = 0;
    price->has = price->pico > 0;
}

static void judge_row(struct reading *reading, struct price_row *row)
{
    if ((row->on_demand.text != NULL && !row->on_demand.has) ||
        (row->spot.text != NULL && !row->spot.has))
        row->flag = PRICE_FLAG_ZERO;
    else if (row->spot.has && row->on_demand.has && row->spot.pico > row->on_demand.pico)
        row->flag = PRICE_FLAG_SPOT_ABOVE;
    reading->catalog->flagged_count += row->flag != NULL ? 1 : 0;
    if (reading->catalog->row_count == 0)
        reading->catalog->provider = row->provider;
    else if (reading->catalog->provider != NULL &&
             strcmp(reading->catalog->provider, row->provider) != 0)
        reading->catalog->provider = NULL;
}

static struct price_row *new_row(struct reading *reading)
{
    struct price_catalog *catalog = reading->catalog;

    if (catalog->row_count == reading->capacity) {
        const size_t capacity = reading->capacity == 0 ? ROWS_FIRST : reading->capacity * 2;
        struct price_row *rows = ARENA_NEW_ARRAY(reading->arena, capacity, struct price_row);

        if (rows == NULL) {
            reading->status =
                error_set(reading->err, ST_NO_MEMORY, NULL, "out of memory for the prices");
            return NULL;
        }
        if (catalog->row_count > 0)
            memcpy(rows, catalog->rows, catalog->row_count * sizeof *rows);
        catalog->rows = rows;
        reading->capacity = capacity;
    }
    return &catalog->rows[catalog->row_count++];
}

/* The same machine at the same place twice: with the same prices one row is left out, else neither can be believed. */
static void drop_repeats(struct reading *reading)
{
    struct price_catalog *catalog = reading->catalog;
    size_t kept = 0;

    qsort(catalog->rows, catalog->row_count, sizeof *catalog->rows, compare_rows);
    for (size_t i = 0; i < catalog->row_count; i++) {
        const struct price_row *row = &catalog->rows[i];
        const struct price_row *before = kept == 0 ? NULL : &catalog->rows[kept - 1];

        if (before == NULL || compare_keys(before, row) != 0) {
            catalog->rows[kept++] = *row;
            continue;
        }
        if (!says_the_same(&before->on_demand, &row->on_demand) ||
            !says_the_same(&before->spot, &row->spot))
            note(reading, row->line, COL_PRICE, "price_contradicted", "keep the right one",
                 "line %d has another price for the same machine at the same place", before->line);
        catalog->flagged_count -= row->flag != NULL ? 1 : 0;
        catalog->repeated_count++;
    }
    catalog->row_count = kept;
    qsort(catalog->rows, catalog->row_count, sizeof *catalog->rows, compare_lines);
}

static int compare_rows(const void *left, const void *right)
{
    const int order = compare_keys(left, right);

    return order != 0 ? order : compare_lines(left, right);
}

static int compare_keys(const struct price_row *a, const struct price_row *b)
{
    const char *const keys[][2] = {
        {a->provider, b->provider},
        {a->instance, b->instance},
        {a->accelerator, b->accelerator},
        {a->accelerator_count_text, b->accelerator_count_text},
        {a->region, b->region},
        {a->zone == NULL ? "" : a->zone, b->zone == NULL ? "" : b->zone},
    };

    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        const int order = strcmp(keys[i][0], keys[i][1]);

        if (order != 0)
            return order;
    }
    return 0;
}

static int compare_lines(const void *left, const void *right)
{
    const struct price_row *a = left, *b = right;

    return (a->line > b->line) - (a->line < b->line);
}

static bool says_the_same(const struct price_amount *a, const struct price_amount *b)
{
    return a->has == b->has && (!a->has || a->pico == b->pico);
}

static const struct provider *find_provider(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(providers); i++)
        if (strcmp(providers[i].name, name) == 0)
            return &providers[i];
    return NULL;
}

/* "8.0" -> "8": the same number is one text, so that rows of two catalogs can be held against each other. */
static const char *short_number(struct reading *reading, struct str text)
{
    size_t at, end = text.len;

    if (str_find_char(text, '.', &at) && !str_find_char(text, 'e', &at) &&
        !str_find_char(text, 'E', &at)) {
        while (text.data[end - 1] == '0')
            end--;
        if (text.data[end - 1] == '.')
            end--;
    }
    return keep(reading, str_slice(text, 0, end));
}

static const char *keep(struct reading *reading, struct str text)
{
    const char *copy = arena_copy(reading->arena, text);

    if (copy == NULL)
        reading->status =
            error_set(reading->err, ST_NO_MEMORY, NULL, "out of memory for the prices");
    return copy == NULL ? "" : copy;
}

static void note(struct reading *reading, int line, enum column column, const char *code,
                 const char *hint, const char *format, ...)
{
    struct error fault = {.line = line};
    va_list args;

    va_start(args, format);
    (void)error_set_code_v(&fault, ST_INVALID, code,
                           column == COLUMN_COUNT ? NULL : columns[column].name, hint, format,
                           args);
    va_end(args);
    if (reading->status != ST_NO_MEMORY)
        reading->status = fault_list_add(reading->faults, &fault, reading->err);
}
