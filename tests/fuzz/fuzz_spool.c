/* tests/fuzz/fuzz_spool.c: spool_open() on a file of any bytes: it takes whole records from the front, cuts the
 * rest off, and opens again to the same. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/run/spool.h"
#include "common/event.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
static void remove_folder(void);

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

/* A folder of this process's own, in memory where there is a place for it: a spool syncs its folder, too. */
static const char *folder_of_process(void)
{
    static char folder[64];

    if (folder[0] == '\0') {
        (void)snprintf(folder, sizeof folder, "%s/daybreak-spool-XXXXXX",
                       access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
        if (mkdtemp(folder) == NULL)
            __builtin_trap();
        (void)atexit(remove_folder);
    }
    return folder;
}

static void remove_folder(void)
{
    char path[80];

    (void)snprintf(path, sizeof path, "%s/spool", folder_of_process());
    (void)unlink(path);
    (void)rmdir(folder_of_process());
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    int64_t dropped, again, count;
    char path[80];
    FILE *out;

    (void)snprintf(path, sizeof path, "%s/spool", folder_of_process());
    out = fopen(path, "wb");
    if (out == NULL || fwrite(data, 1, bytes, out) != bytes || fclose(out) != 0)
        __builtin_trap();
    count = count_records(path, &dropped);
    if (dropped < 0 || dropped > (int64_t)bytes || count_records(path, &again) != count ||
        again != 0)
        __builtin_trap();
    return 0;
}
