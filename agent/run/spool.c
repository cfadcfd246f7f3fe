/* agent/run/spool.c: the events of an attempt on disk (see spool.h). */
#include "agent/run/spool.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "agent/data/files.h"
#include "common/event.h"

#define HEADER_BYTES   8
#define CAPACITY_FIRST 256

struct spool {
    pthread_mutex_t lock;
    int fd;
    int64_t count;    /* guarded by lock */
    int64_t capacity; /* guarded by lock */
    int64_t *ends;    /* guarded by lock: where record i + 1 ends in the file */
    char *path;
};

static void put_u32(unsigned char *bytes, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        bytes[i] = (unsigned char)(value >> (8 * i));
}

static uint32_t get_u32(const unsigned char *bytes)
{
    uint32_t value = 0;

    for (int i = 0; i < 4; i++)
        value |= (uint32_t)bytes[i] << (8 * i);
    return value;
}

static uint32_t sum_of(const void *data, size_t bytes)
{
    return (uint32_t)crc32(crc32(0, NULL, 0), data, (uInt)bytes);
}

/* False when the file ends before. */
static bool read_exactly(int fd, void *out, size_t bytes, int64_t offset)
{
    char *next = out;

    while (bytes > 0) {
        const ssize_t got = pread(fd, next, bytes, offset);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        next += got;
        offset += got;
        bytes -= (size_t)got;
    }
    return true;
}

/* Called with the lock held, or before anybody else knows the spool. */
static enum status note_end(struct spool *spool, int64_t end, struct error *err)
{
    if (spool->count >= SPOOL_RECORDS_MAX)
        return error_set(err, ST_LIMIT, spool->path, "%s holds %d events already", spool->path,
                         SPOOL_RECORDS_MAX);
    if (spool->count == spool->capacity) {
        const int64_t capacity = spool->capacity > 0 ? 2 * spool->capacity : CAPACITY_FIRST;
        int64_t *grown = realloc(spool->ends, (size_t)capacity * sizeof *grown);

        if (grown == NULL)
            return error_set(err, ST_NO_MEMORY, spool->path, "no memory for the spool");
        spool->ends = grown;
        spool->capacity = capacity;
    }
    spool->ends[spool->count++] = end;
    return ST_OK;
}

static int64_t end_of_last(const struct spool *spool)
{
    return spool->count > 0 ? spool->ends[spool->count - 1] : 0;
}

/* Takes whole records from the front; *end is where the first torn one begins. */
static enum status scan(struct spool *spool, int64_t *end, struct error *err)
{
    unsigned char header[HEADER_BYTES];
    char record[EVENT_LINE_BYTES_MAX];

    *end = 0;
    while (read_exactly(spool->fd, header, sizeof header, *end)) {
        const uint32_t bytes = get_u32(header);
        enum status status;

        if (bytes == 0 || bytes > sizeof record ||
            !read_exactly(spool->fd, record, bytes, *end + HEADER_BYTES) ||
            sum_of(record, bytes) != get_u32(header + 4))
            break;
        *end += HEADER_BYTES + (int64_t)bytes;
        status = note_end(spool, *end, err);
        if (status != ST_OK)
            return status;
    }
    return ST_OK;
}

enum status spool_open(const char *path, struct spool **spool, int64_t *dropped_bytes,
                       struct error *err)
{
    struct spool *opened = calloc(1, sizeof *opened);
    int64_t end = 0, size;
    enum status status = ST_OK;

    if (opened == NULL)
        return error_set(err, ST_NO_MEMORY, path, "no memory for the spool");
    opened->fd = -1;
    (void)pthread_mutex_init(&opened->lock, NULL);
    opened->path = strdup(path);
    if (opened->path == NULL) {
        status = error_set(err, ST_NO_MEMORY, path, "no memory for the spool");
        goto done;
    }
    opened->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (opened->fd < 0) {
        status = error_set(err, ST_IO, path, "cannot open %s: %s", path, strerrordesc_np(errno));
        goto done;
    }
    status = files_sync_folder_of(path, err); /* records that are synced need a name that lasts */
    if (status == ST_OK)
        status = scan(opened, &end, err);
    if (status != ST_OK)
        goto done;
    size = lseek(opened->fd, 0, SEEK_END);
    if (size < 0 || ftruncate(opened->fd, end) != 0 || lseek(opened->fd, end, SEEK_SET) < 0)
        status = error_set(err, ST_IO, path, "cannot cut %s: %s", path, strerrordesc_np(errno));
    *dropped_bytes = size - end;
done:
    if (status != ST_OK) {
        spool_close(opened);
        return status;
    }
    *spool = opened;
    return ST_OK;
}

void spool_close(struct spool *spool)
{
    if (spool == NULL)
        return;
    if (spool->fd >= 0)
        close(spool->fd);
    (void)pthread_mutex_destroy(&spool->lock);
    free(spool->ends);
    free(spool->path);
    free(spool);
}

enum status spool_append(struct spool *spool, struct str record, struct error *err)
{
    unsigned char frame[HEADER_BYTES + EVENT_LINE_BYTES_MAX];
    enum status status;
    int64_t begin;

    assert(record.len > 0);
    assert(record.len <= EVENT_LINE_BYTES_MAX);
    put_u32(frame, (uint32_t)record.len);
    put_u32(frame + 4, sum_of(record.data, record.len));
    memcpy(frame + HEADER_BYTES, record.data, record.len);
    (void)pthread_mutex_lock(&spool->lock);
    begin = end_of_last(spool);
    status = files_write_all(spool->fd, frame, HEADER_BYTES + record.len, spool->path, err);
    if (status == ST_OK)
        status = note_end(spool, begin + HEADER_BYTES + (int64_t)record.len, err);
    if (status != ST_OK) {
        /* Half a frame is taken back; should that fail, too, its sum is wrong at the next opening. */
        if (ftruncate(spool->fd, begin) == 0)
            (void)lseek(spool->fd, begin, SEEK_SET);
    }
    (void)pthread_mutex_unlock(&spool->lock);
    return status;
}

int64_t spool_count(struct spool *spool)
{
    int64_t count;

    (void)pthread_mutex_lock(&spool->lock);
    count = spool->count;
    (void)pthread_mutex_unlock(&spool->lock);
    return count;
}

enum status spool_sync(struct spool *spool, struct error *err)
{
    /* Without the lock: appending goes on meanwhile, and fdatasync() covers what was there before. */
    if (fdatasync(spool->fd) != 0)
        return error_set(err, ST_IO, spool->path, "cannot sync %s: %s", spool->path,
                         strerrordesc_np(errno));
    return ST_OK;
}

enum status spool_read(struct spool *spool, int64_t seq, struct buf *out, struct error *err)
{
    char record[EVENT_LINE_BYTES_MAX];
    int64_t begin, end;

    (void)pthread_mutex_lock(&spool->lock);
    assert(seq >= 1);
    assert(seq <= spool->count);
    begin = (seq > 1 ? spool->ends[seq - 2] : 0) + HEADER_BYTES;
    end = spool->ends[seq - 1];
    (void)pthread_mutex_unlock(&spool->lock);
    if (!read_exactly(spool->fd, record, (size_t)(end - begin), begin))
        return error_set(err, ST_IO, spool->path, "cannot read event %lld of %s", (long long)seq,
                         spool->path);
    buf_append(out, (struct str){record, (size_t)(end - begin)});
    return ST_OK;
}
