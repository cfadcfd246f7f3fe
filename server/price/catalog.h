/* server/price/catalog.h: reads the list prices of rented machines: CSV files of the SkyPilot family, as SkyPilot itself
 * (schema v8, one file per provider, the order of columns differs), anycloud and the like have them. Columns are taken
 * by name. What the providers do differently is one table (providers in catalog.c). Knows no SQL, HTTP or clock.
 * Ownership: rows and texts live in the arena or borrow the bytes. Threads: pure, any. */
#ifndef DAYBREAK_SERVER_PRICE_CATALOG_H
#define DAYBREAK_SERVER_PRICE_CATALOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"
#include "common/fault.h"
#include "common/status.h"
#include "common/str.h"

#define PRICE_FILE_BYTES_MAX     (64u << 20)
#define PRICE_PROVIDER_BYTES_MAX 32
#define PRICE_NAME_BYTES_MAX     128     /* of an instance, accelerator, region or zone */
#define PRICE_USD_MAX            1000000 /* an hour: above it a file is in another unit */

/* What is odd about a row that is taken all the same. */
#define PRICE_FLAG_SPOT_ABOVE "spot-above-on-demand" /* an error or a lag at the source */
#define PRICE_FLAG_ZERO       "price-zero" /* nothing is rented out for 0: taken as unknown */

struct price_amount {
    bool has;         /* false: unknown, which is never 0 */
    int64_t pico;     /* pico-dollars an hour, rounded half to even */
    bool tiny;        /* above 0 and below 1e-12 USD, the least that is counted: unknown as well */
    const char *text; /* as the file has it, 0 as well; NULL: nothing stood there */
};

struct price_row {
    int line;                    /* of the file */
    const char *provider;        /* "gcp" */
    const char *instance;        /* "": an accelerator that has a row of its own (GCP) */
    const char *accelerator;     /* as the file names it; "": none */
    const char *accelerator_key; /* the same device under one name in all catalogs; "": none */
    const char *accelerator_count_text; /* without zeros behind: "8", "0.125"; "": none */
    bool has_chips;                     /* a TPU slice: its name counts chips or cores */
    int64_t chips;
    const char *vcpus_text, *memory_gib_text; /* NULL: unknown */
    const char *region;
    const char *zone; /* NULL: unknown */
    struct price_amount on_demand, spot;
    const char *flag; /* PRICE_FLAG_*; NULL: nothing odd */
};

struct price_catalog {
    struct price_row *rows;
    size_t row_count;
    size_t repeated_count; /* rows that said what another had said already, left out */
    size_t flagged_count;  /* of the rows */
    const char *ignored;   /* "GpuInfo, Arch": columns that nobody reads; "": none */
    const char *provider;  /* of all its rows; NULL: of several */
};

/* provider: for files without a Cloud column; NULL: they have one. Every fault goes to `faults` (its line, code and
 * the column as its field), the first to err as well; then nothing of the file counts. ST_INVALID, ST_LIMIT,
 * ST_NO_MEMORY. */
enum status price_catalog_parse(struct str bytes, const char *provider, struct arena *arena,
                                struct price_catalog *catalog, struct fault_list *faults,
                                struct error *err);

/* 1..PRICE_PROVIDER_BYTES_MAX of a-z, 0-9, "-": "aws". */
bool price_provider_is_name(struct str text);

/* One name for a device that catalogs and drivers call differently: "Tesla T4" -> "T4", "B200 Blackwell" -> "B200".
 * One that is not known stays as it is. Borrows the text, or is static. */
struct str price_accelerator_key(struct str name);

/* How many chips a slice has whose name counts chips or cores: "tpu-v3-8" 4, "tpu-v5litepod-8" 8. false: not a TPU. */
bool price_tpu_chips(struct str accelerator, int64_t *chips);

#endif
