/* tests/fuzz/fuzz_spool.c: spool_open() on a file of any bytes: it takes whole records from the front, cuts the
 * rest off, and opens again to the same. */
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/run/spool.h"
#include "common/event.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static int64_t count_records(const char *path, int64_t *dropped)
{
    struct spool *spool = NULL;
    struct buf record;
    int64_t count;

    buf_init(&record, EVENT_LINE_BYTES_MAX);
    if (spool_open(path, &spool, dropped, NULL) != ST_OK)
        __builtin_trap();
    count = spool_count(spool);
    for (int64_t seq = 1; seq <= count; seq++) {
        buf_clear(&record);
        if (spool_read(spool, seq, &record, NULL) != ST_OK || record.len == 0)
            __builtin_trap();
    }
    spool_close(spool);
    buf_fini(&record);
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    const int fd = memfd_create("spool", MFD_CLOEXEC);
    int64_t dropped, again, count;
    char path[64];

    if (fd < 0 || write(fd, data, bytes) != (ssize_t)bytes)
        __builtin_trap();
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    count = count_records(path, &dropped);
    if (dropped < 0 || dropped > (int64_t)bytes || count_records(path, &again) != count ||
        again != 0)
        __builtin_trap();
    close(fd);
    return 0;
}
