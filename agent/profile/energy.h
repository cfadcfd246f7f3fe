/* agent/profile/energy.h: the energy that the processors' packages have taken, as the system counts it (Intel's and AMD's
 * RAPL, by Linux' powercap). Most hosts in a cloud show none. Threads: one. */
#ifndef DAYBREAK_AGENT_PROFILE_ENERGY_H
#define DAYBREAK_AGENT_PROFILE_ENERGY_H

#include <stdbool.h>
#include <stdint.h>

#define ENERGY_FOLDER       "/sys/class/powercap"
#define ENERGY_PACKAGES_MAX 16

struct energy {
    int count; /* of packages; 0: this host gives none, or not to us */
    struct energy_package {
        char path[128];
        uint64_t last_uj, range_uj; /* the counter begins again at 0 behind its range */
    } packages[ENERGY_PACKAGES_MAX];
    double joules; /* since energy_begin(), as of the last sample */
};

void energy_begin(const char *folder, struct energy *energy);
/* To be called before a counter can have gone round twice: at full load that takes minutes. A package that cannot be read
 * any more leaves none: count becomes 0. */
void energy_sample(struct energy *energy);

#endif
