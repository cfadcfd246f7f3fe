/* agent/profile/energy.c: see energy.h. */
#include "agent/profile/energy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/str.h"

#define TEXT_BYTES 64

/* The number of one line; false: it is not there, or not for us. */
static bool read_number(const char *folder, const char *name, uint64_t *number)
{
    char path[192], text[TEXT_BYTES];
    FILE *file;
    bool read;

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    file = fopen(path, "r");
    if (file == NULL)
        return false;
    read = fgets(text, sizeof text, file) != NULL;
    (void)fclose(file);
    if (!read)
        return false;
    text[strcspn(text, "\n")] = '\0';
    return str_parse_u64(str_from_cstr(text), number);
}

void energy_begin(const char *folder, struct energy *energy)
{
    *energy = (struct energy){0};
    for (int i = 0; i < ENERGY_PACKAGES_MAX; i++) {
        struct energy_package *package = &energy->packages[energy->count];

        (void)snprintf(package->path, sizeof package->path, "%.100s/intel-rapl:%d", folder, i);
        if (read_number(package->path, "energy_uj", &package->last_uj) &&
            read_number(package->path, "max_energy_range_uj", &package->range_uj) &&
            package->range_uj > 0 && package->last_uj <= package->range_uj)
            energy->count++;
    }
}

void energy_sample(struct energy *energy)
{
    for (int i = 0; i < energy->count; i++) {
        struct energy_package *package = &energy->packages[i];
        uint64_t now_uj;

        if (!read_number(package->path, "energy_uj", &now_uj) || now_uj > package->range_uj) {
            energy->count = 0;
            return;
        }
        energy->joules += 1e-6 * (double)(now_uj >= package->last_uj
                                              ? now_uj - package->last_uj
                                              : package->range_uj - package->last_uj + now_uj);
        package->last_uj = now_uj;
    }
}
