/* tests/fuzz/fuzz_price.c: price_catalog_parse() on any bytes. Prices of a catalog that is taken are whole: above 0 where
 * they are known, each machine and place once, lines ascending; one that is refused tells why, with code and sentence. */
#include <stdint.h>
#include <string.h>

#include "server/price/catalog.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void check_amount(const struct price_amount *amount)
{
    if (amount->has && (amount->pico <= 0 || amount->text == NULL))
        __builtin_trap();
}

static void check_row(const struct price_row *row)
{
    check_amount(&row->on_demand);
    check_amount(&row->spot);
    if (row->line < 2 || row->region[0] == '\0' ||
        !price_provider_is_name(str_from_cstr(row->provider)) ||
        (row->instance[0] == '\0' && row->accelerator[0] == '\0') ||
        (row->accelerator[0] == '\0') != (row->accelerator_key[0] == '\0') ||
        (row->has_chips && row->chips < 1))
        __builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct price_catalog catalog;
    struct fault_list faults = {0};
    struct error err = {0};
    struct arena arena;

    arena_init(&arena, 64 << 20);
    faults.arena = &arena;
    if (price_catalog_parse((struct str){(const char *)data, bytes}, bytes % 2 == 0 ? NULL : "gcp",
                            &arena, &catalog, &faults, &err) == ST_OK) {
        if (catalog.row_count == 0 || faults.count != 0)
            __builtin_trap();
        for (size_t i = 0; i < catalog.row_count; i++) {
            check_row(&catalog.rows[i]);
            if (i > 0 && catalog.rows[i].line <= catalog.rows[i - 1].line)
                __builtin_trap();
        }
    } else if (err.detail[0] == '\0' ||
               (err.status != ST_NO_MEMORY && (err.code[0] == '\0' || faults.count == 0))) {
        __builtin_trap();
    }
    arena_fini(&arena);
    return 0;
}
