/* tests/fuzz/fuzz_facets.c: facets_parse() on any bytes, then facets_find() of every row: counts are positive, texts
 * are not empty. */
#include <stdint.h>

#include "server/command/facets.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void find_row(struct facets *facets, const struct tsv_row *row)
{
    struct accept_facets found = {0};
    struct error err = {0};
    char entry[256];

    if (row->cells[0].len >= sizeof entry)
        return;
    memcpy(entry, row->cells[0].data, row->cells[0].len);
    entry[row->cells[0].len] = '\0';
    if (facets_find(facets, entry, &found, &err) != ST_OK) {
        if (err.detail[0] == '\0')
            __builtin_trap();
        return;
    }
    if ((found.devices.has && found.devices.value < 1) ||
        (found.nodes.has && found.nodes.value < 1) ||
        (found.cloud != NULL && found.cloud[0] == '\0'))
        __builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct facets facets;
    struct error err = {0};

    facets_init(&facets);
    if (facets_parse((struct str){(const char *)data, bytes}, &facets, &err) == ST_OK) {
        for (size_t i = 0; i < facets.tsv.row_count && i < 64; i++)
            find_row(&facets, &facets.tsv.rows[i]);
    } else if (err.detail[0] == '\0') {
        __builtin_trap();
    }
    facets_fini(&facets);
    return 0;
}
