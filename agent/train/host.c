/* agent/train/host.c: what this machine is (see host.h). */
#include "agent/train/host.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "agent/data/files.h"

#define CPUINFO_BYTES_MAX ((size_t)4 * 1024 * 1024)

/* The first value of "model name : ..." as /proc/cpuinfo has it. */
static void read_cpu_model(char model[HOST_TEXT_BYTES])
{
    struct buf text;
    struct str rest, line;
    bool more = true;

    (void)snprintf(model, HOST_TEXT_BYTES, "unknown CPU");
    buf_init(&text, CPUINFO_BYTES_MAX);
    if (files_read("/proc/cpuinfo", &text, NULL) == ST_OK) {
        rest = buf_str(&text);
        while (str_split_next(&rest, &more, '\n', &line)) {
            size_t colon;

            if (!str_starts_with(line, STR("model name")) || !str_find_char(line, ':', &colon))
                continue;
            line = str_trim(str_slice(line, colon + 1, line.len));
            if (line.len > 0 && str_is_utf8(line))
                (void)snprintf(model, HOST_TEXT_BYTES, "%.*s",
                               (int)str_utf8_cut(line, HOST_TEXT_BYTES - 1), line.data);
            break;
        }
    }
    buf_fini(&text);
}

static const char *best_isa(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return "avx512";
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return "avx2";
#endif
    return "ref";
}

enum status host_read(struct host *host, struct error *err)
{
    const long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    cpu_set_t allowed;

    *host = (struct host){0};
    if (gethostname(host->name, sizeof host->name - 1) != 0 || host->name[0] == '\0')
        (void)snprintf(host->name, sizeof host->name, "agent");
    read_cpu_model(host->cpu_model);
    (void)snprintf(host->cpu_isa, sizeof host->cpu_isa, "%s", best_isa());
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return error_set(err, ST_IO, "host", "cannot count processors: %s", strerrordesc_np(errno));
    host->cpu_cores = CPU_COUNT(&allowed);
    if (pages <= 0 || page_bytes <= 0)
        return error_set(err, ST_IO, "host", "cannot tell the size of the memory");
    host->memory_bytes = (int64_t)pages * page_bytes;
    return ST_OK;
}

void host_format_hardware(const struct host *host, const char *instance,
                          char text[2 * HOST_TEXT_BYTES])
{
    (void)snprintf(text, (size_t)2 * HOST_TEXT_BYTES, "1 %.64s%s%" PRId64 " cores%s%.120s%s",
                   instance != NULL ? instance : "host", " (", host->cpu_cores, ", ",
                   host->cpu_model, ")");
}
