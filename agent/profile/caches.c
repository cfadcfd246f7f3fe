/* agent/profile/caches.c: see caches.h. */
#include "agent/profile/caches.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INDEX_MAX       8 /* caches of a processor */
#define TEXT_BYTES      256
#define PATH_BYTES      320
#define KIBIBYTE        1024
#define CACHE_BYTES_MAX (INT64_C(1) << 40)

static bool read_text(const char *folder, int cpu, int index, const char *name,
                      char text[TEXT_BYTES]);
static int64_t parse_size(const char *text);
static int first_shared(const char *list, const cpu_set_t *chosen);

/* One cache of a processor, counted with the first of the chosen ones that share it. */
static void add_cache(const char *folder, int cpu, int index, const cpu_set_t *chosen,
                      struct caches *caches)
{
    char level[TEXT_BYTES], type[TEXT_BYTES], size[TEXT_BYTES], shared[TEXT_BYTES];

    if (!read_text(folder, cpu, index, "level", level) ||
        !read_text(folder, cpu, index, "type", type) ||
        !read_text(folder, cpu, index, "size", size) ||
        !read_text(folder, cpu, index, "shared_cpu_list", shared))
        return;
    if (strcmp(type, "Instruction") == 0 || level[0] < '1' || level[0] > '3' || level[1] != '\0' ||
        first_shared(shared, chosen) != cpu)
        return;
    caches->bytes[LEVEL_L1 + (level[0] - '1')] += parse_size(size);
}

void caches_read(const char *folder, int threads, struct caches *caches)
{
    cpu_set_t allowed, chosen;
    int count = 0;

    *caches = (struct caches){{0}};
    CPU_ZERO(&allowed);
    CPU_ZERO(&chosen);
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return;
    for (size_t cpu = 0; cpu < CPU_SETSIZE && count < threads; cpu++)
        if (CPU_ISSET(cpu, &allowed)) {
            CPU_SET(cpu, &chosen);
            count++;
        }
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        for (int index = 0; index < INDEX_MAX && CPU_ISSET((size_t)cpu, &chosen); index++)
            add_cache(folder, cpu, index, &chosen, caches);
}

static bool read_text(const char *folder, int cpu, int index, const char *name,
                      char text[TEXT_BYTES])
{
    char path[PATH_BYTES];
    FILE *file;
    bool read;

    (void)snprintf(path, sizeof path, "%.200s/cpu%d/cache/index%d/%s", folder, cpu, index, name);
    file = fopen(path, "r");
    if (file == NULL)
        return false;
    read = fgets(text, TEXT_BYTES, file) != NULL;
    (void)fclose(file);
    text[read ? strcspn(text, "\n") : 0] = '\0';
    return read;
}

/* "32K", "1024K", "32M"; 0: none of these. */
static int64_t parse_size(const char *text)
{
    char *end;
    long long size = strtoll(text, &end, 10);

    if (end == text || size < 0 || size > CACHE_BYTES_MAX / KIBIBYTE / KIBIBYTE)
        return 0;
    if (*end == 'K')
        size *= KIBIBYTE;
    else if (*end == 'M')
        size *= (long long)KIBIBYTE * KIBIBYTE;
    else if (*end != '\0')
        return 0;
    return size;
}

/* The first chosen processor of a list such as "0-3,8"; -1: none. */
static int first_shared(const char *list, const cpu_set_t *chosen)
{
    while (*list != '\0') {
        char *end;
        const long first = strtol(list, &end, 10);
        long last = first;

        if (end == list)
            return -1;
        if (*end == '-')
            last = strtol(end + 1, &end, 10);
        for (long cpu = first; cpu >= 0 && cpu <= last && cpu < CPU_SETSIZE; cpu++)
            if (CPU_ISSET((size_t)cpu, chosen))
                return (int)cpu;
        list = *end == ',' ? end + 1 : end + strlen(end);
    }
    return -1;
}
