/* tests/support/power_vfs.h: a SQLite VFS over the system's own that knows what a disk has promised to keep, and can
 * take the power away. Each tracked file has the bytes that were synced, and the operations since. A cut keeps of those,
 * in units of a sector, none, all or some: writes are dropped, torn and reordered (of two writes of a sector, the older
 * one may be the one that survives). Creating, cutting and removing a file take effect in their order, up to any of them.
 * After Pillai et al., "All File Systems Are Not Created Equal", OSDI 2014; SQLite's own test_devsym and crash tests.
 *
 *   power_install() .. power_begin(seed, m, n) .. store at work .. the m-th write or n-th sync fails, and all from then on
 *                   .. store closed .. power_restore(): the files as they are found when the power is back
 *
 * It can also be told to fail as a full or a broken disk does (power_set_fault).
 * Header only: a test program is one file. Threads: any; one lock guards all. */
#ifndef DAYBREAK_TESTS_SUPPORT_POWER_VFS_H
#define DAYBREAK_TESTS_SUPPORT_POWER_VFS_H

#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sqlite3.h>

#define POWER_DISKS_MAX    8
#define POWER_PATH_BYTES   128
#define POWER_SECTOR_BYTES 512
#define POWER_OPS_MAX      65536

enum power_kind { POWER_WRITE, POWER_CUT_FILE, POWER_CREATE, POWER_REMOVE };
enum power_fault {
    POWER_SOUND,
    POWER_FULL,      /* a file that would grow fails: SQLITE_FULL */
    POWER_SYNC_FAILS /* EIO on sync: what was written since the last one may be there or not */
};

struct power_op {
    enum power_kind kind;
    int64_t offset; /* of POWER_CUT_FILE: the size */
    int bytes;
    unsigned char *data;
};

struct power_disk { /* a file: what is on the platter, and what is on the way there */
    char path[POWER_PATH_BYTES];
    bool exists, is_there; /* on the platter; as programs see it */
    unsigned char *image;
    int64_t bytes, room;
    struct power_op *ops;
    int op_count;
};

struct power_file {
    sqlite3_file base;
    sqlite3_file *real;
    struct power_disk *disk; /* NULL: not tracked */
};

static struct {
    sqlite3_vfs vfs, *real;
    pthread_mutex_t lock;
    struct power_disk disks[POWER_DISKS_MAX];
    int disk_count;
    uint64_t random;
    int64_t writes, syncs, cut_at_write, cut_at_sync; /* 0: not there */
    bool is_cut, is_relaxed;
    enum power_fault fault;
} power = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* splitmix64 */
static inline uint64_t power_draw(void)
{
    uint64_t z = power.random += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static inline uint64_t power_below(uint64_t bound)
{
    return power_draw() % bound;
}

static inline void power_resize(struct power_disk *disk, int64_t bytes)
{
    if (bytes > disk->room) {
        disk->room = 2 * bytes;
        disk->image = realloc(disk->image, (size_t)disk->room);
        assert(disk->image != NULL);
    }
    if (bytes > disk->bytes)
        memset(disk->image + disk->bytes, 0, (size_t)(bytes - disk->bytes));
    disk->bytes = bytes;
}

static inline void power_put(struct power_disk *disk, const unsigned char *data, int64_t offset,
                             int bytes)
{
    if (offset + bytes > disk->bytes)
        power_resize(disk, offset + bytes);
    memcpy(disk->image + offset, data, (size_t)bytes);
}

static inline void power_apply(struct power_disk *disk, const struct power_op *op)
{
    switch (op->kind) {
    case POWER_WRITE: power_put(disk, op->data, op->offset, op->bytes); break;
    case POWER_CUT_FILE: power_resize(disk, op->offset); break;
    case POWER_CREATE: disk->exists = true; break;
    case POWER_REMOVE:
        disk->exists = false;
        power_resize(disk, 0);
        break;
    }
}

static inline void power_forget_ops(struct power_disk *disk)
{
    for (int i = 0; i < disk->op_count; i++)
        free(disk->ops[i].data);
    disk->op_count = 0;
}

static inline void power_note(struct power_disk *disk, enum power_kind kind, const void *data,
                              int64_t offset, int bytes)
{
    struct power_op *op = &disk->ops[disk->op_count++];

    assert(disk->op_count < POWER_OPS_MAX);
    *op = (struct power_op){.kind = kind, .offset = offset, .bytes = bytes};
    if (kind == POWER_WRITE) {
        op->data = malloc((size_t)bytes);
        assert(op->data != NULL);
        memcpy(op->data, data, (size_t)bytes);
    }
}

/* What was on the way, as it may be found: percent of the sectors arrive. */
static inline void power_settle(struct power_disk *disk)
{
    static const uint64_t percents[] = {0, 0, 10, 50, 90, 100};
    const uint64_t percent = percents[power_below(sizeof percents / sizeof *percents)];
    int names = 0, names_left;

    for (int i = 0; i < disk->op_count; i++)
        names += disk->ops[i].kind != POWER_WRITE;
    names_left = (int)power_below((uint64_t)names + 1);
    for (int i = 0; i < disk->op_count; i++) {
        const struct power_op *op = &disk->ops[i];

        if (op->kind != POWER_WRITE) {
            if (names_left-- == 0) /* nothing that happened to the file behind that has happened */
                break;
            power_apply(disk, op);
            continue;
        }
        for (int done = 0; done < op->bytes;) {
            const int64_t at = op->offset + done;
            int piece = (int)(POWER_SECTOR_BYTES - at % POWER_SECTOR_BYTES);

            piece = piece < op->bytes - done ? piece : op->bytes - done;
            if (power_below(100) < percent)
                power_put(disk, op->data + done, at, piece);
            done += piece;
        }
    }
    power_forget_ops(disk);
}

static inline void power_cut_now(void)
{
    power.is_cut = true;
    for (int i = 0; i < power.disk_count; i++)
        power_settle(&power.disks[i]);
}

static inline void power_load(struct power_disk *disk)
{
    struct stat info;
    int fd = open(disk->path, O_RDONLY | O_CLOEXEC);

    power_resize(disk, 0);
    disk->exists = disk->is_there = fd >= 0;
    if (fd < 0)
        return;
    if (fstat(fd, &info) == 0) {
        power_resize(disk, info.st_size);
        if (pread(fd, disk->image, (size_t)info.st_size, 0) != info.st_size)
            abort();
    }
    (void)close(fd);
}

/* NULL: it is not there, and not to be added. */
static inline struct power_disk *power_find(const char *path, bool add)
{
    struct power_disk *disk;

    for (int i = 0; i < power.disk_count; i++)
        if (strcmp(power.disks[i].path, path) == 0)
            return &power.disks[i];
    if (!add)
        return NULL;
    assert(power.disk_count < POWER_DISKS_MAX && strlen(path) < POWER_PATH_BYTES);
    disk = &power.disks[power.disk_count++];
    if (disk->ops == NULL)
        disk->ops = calloc(POWER_OPS_MAX, sizeof *disk->ops);
    assert(disk->ops != NULL);
    memcpy(disk->path, path, strlen(path) + 1);
    power_load(disk);
    return disk;
}

static inline sqlite3_file *power_real(sqlite3_file *file)
{
    return ((struct power_file *)file)->real;
}

static inline int power_close(sqlite3_file *file)
{
    sqlite3_file *real = power_real(file);

    return real->pMethods == NULL ? SQLITE_OK : real->pMethods->xClose(real);
}

static inline int power_read(sqlite3_file *file, void *data, int bytes, sqlite3_int64 offset)
{
    sqlite3_file *real = power_real(file);

    return real->pMethods->xRead(real, data, bytes, offset);
}

static inline int power_write(sqlite3_file *file, const void *data, int bytes, sqlite3_int64 offset)
{
    sqlite3_file *real = power_real(file);
    struct power_disk *disk = ((struct power_file *)file)->disk;
    int rc = SQLITE_OK;

    if (disk == NULL)
        return real->pMethods->xWrite(real, data, bytes, offset);
    (void)pthread_mutex_lock(&power.lock);
    if (power.is_cut) {
        rc = SQLITE_IOERR_WRITE;
    } else if (power.fault == POWER_FULL) {
        sqlite3_int64 size = 0;

        if (real->pMethods->xFileSize(real, &size) == SQLITE_OK && offset + bytes > size)
            rc = SQLITE_FULL;
    }
    if (rc == SQLITE_OK)
        rc = real->pMethods->xWrite(real, data, bytes, offset);
    if (rc == SQLITE_OK)
        power_note(disk, POWER_WRITE, data, offset, bytes);
    if (rc == SQLITE_OK && ++power.writes == power.cut_at_write) {
        power_cut_now();
        rc = SQLITE_IOERR_WRITE;
    }
    (void)pthread_mutex_unlock(&power.lock);
    return rc;
}

static inline int power_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    sqlite3_file *real = power_real(file);
    struct power_disk *disk = ((struct power_file *)file)->disk;
    int rc;

    (void)pthread_mutex_lock(&power.lock);
    rc = disk != NULL && power.is_cut ? SQLITE_IOERR_TRUNCATE
                                      : real->pMethods->xTruncate(real, size);
    if (rc == SQLITE_OK && disk != NULL)
        power_note(disk, POWER_CUT_FILE, NULL, size, 0);
    (void)pthread_mutex_unlock(&power.lock);
    return rc;
}

/* The power may go just before the disk has done what it was asked for, or just after. */
static inline int power_sync(sqlite3_file *file, int flags)
{
    struct power_disk *disk = ((struct power_file *)file)->disk;
    int rc = SQLITE_OK;

    (void)flags;
    if (disk == NULL)
        return SQLITE_OK; /* a temporary file: nobody looks for it afterwards */
    (void)pthread_mutex_lock(&power.lock);
    if (power.is_cut) {
        rc = SQLITE_IOERR_FSYNC;
    } else if (power.fault == POWER_SYNC_FAILS) {
        power_settle(disk);
        rc = SQLITE_IOERR_FSYNC;
    } else {
        const bool cuts = ++power.syncs == power.cut_at_sync;

        if (!cuts || power_below(2) == 0) {
            for (int i = 0; i < disk->op_count; i++)
                power_apply(disk, &disk->ops[i]);
            power_forget_ops(disk);
        }
        if (cuts) {
            power_cut_now();
            rc = SQLITE_IOERR_FSYNC;
        }
    }
    (void)pthread_mutex_unlock(&power.lock);
    return rc;
}

static inline int power_file_size(sqlite3_file *file, sqlite3_int64 *size)
{
    sqlite3_file *real = power_real(file);

    return real->pMethods->xFileSize(real, size);
}

static inline int power_lock(sqlite3_file *file, int level)
{
    sqlite3_file *real = power_real(file);

    return real->pMethods->xLock(real, level);
}

static inline int power_unlock(sqlite3_file *file, int level)
{
    sqlite3_file *real = power_real(file);

    return real->pMethods->xUnlock(real, level);
}

static inline int power_check_lock(sqlite3_file *file, int *reserved)
{
    sqlite3_file *real = power_real(file);

    return real->pMethods->xCheckReservedLock(real, reserved);
}

/* Of a relaxed disk's programs the wish for FULL is not heard: see power_relax(). */
static inline int power_control(sqlite3_file *file, int op, void *argument)
{
    sqlite3_file *real = power_real(file);
    char **words = argument;

    if (op == SQLITE_FCNTL_PRAGMA && power.is_relaxed && words[1] != NULL && words[2] != NULL &&
        sqlite3_stricmp(words[1], "synchronous") == 0 && sqlite3_stricmp(words[2], "FULL") == 0)
        return SQLITE_OK;
    return real->pMethods->xFileControl(real, op, argument);
}

static inline int power_sector_size(sqlite3_file *file)
{
    (void)file;
    return POWER_SECTOR_BYTES;
}

static inline int power_characteristics(sqlite3_file *file)
{
    sqlite3_file *real = power_real(file);

    return real->pMethods->xDeviceCharacteristics(real);
}

static inline int power_shm_map(sqlite3_file *file, int page, int bytes, int extend,
                                void volatile **at)
{
    sqlite3_file *real = power_real(file);

    return real->pMethods->xShmMap(real, page, bytes, extend, at);
}

static inline int power_shm_lock(sqlite3_file *file, int offset, int count, int flags)
{
    sqlite3_file *real = power_real(file);

    return real->pMethods->xShmLock(real, offset, count, flags);
}

static inline void power_shm_barrier(sqlite3_file *file)
{
    sqlite3_file *real = power_real(file);

    real->pMethods->xShmBarrier(real);
}

static inline int power_shm_unmap(sqlite3_file *file, int remove)
{
    sqlite3_file *real = power_real(file);

    return real->pMethods->xShmUnmap(real, remove);
}

static inline int power_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *file, int flags,
                             int *out_flags)
{
    static const sqlite3_io_methods methods = {2,
                                               power_close,
                                               power_read,
                                               power_write,
                                               power_truncate,
                                               power_sync,
                                               power_file_size,
                                               power_lock,
                                               power_unlock,
                                               power_check_lock,
                                               power_control,
                                               power_sector_size,
                                               power_characteristics,
                                               power_shm_map,
                                               power_shm_lock,
                                               power_shm_barrier,
                                               power_shm_unmap,
                                               NULL,
                                               NULL};
    const int tracked = SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL;
    struct power_file *made = (struct power_file *)file;
    int rc;

    (void)vfs;
    *made = (struct power_file){.real = (sqlite3_file *)(made + 1)};
    (void)pthread_mutex_lock(&power.lock);
    if (path != NULL && (flags & tracked) != 0)
        made->disk = power_find(path, true);
    if (made->disk != NULL && power.is_cut && !made->disk->is_there)
        rc = SQLITE_CANTOPEN;
    else
        rc = power.real->xOpen(power.real, path, made->real, flags, out_flags);
    if (rc == SQLITE_OK && made->disk != NULL && !made->disk->is_there) {
        made->disk->is_there = true;
        power_note(made->disk, POWER_CREATE, NULL, 0, 0);
    }
    (void)pthread_mutex_unlock(&power.lock);
    if (rc == SQLITE_OK)
        made->base.pMethods = &methods;
    return rc;
}

static inline int power_delete(sqlite3_vfs *vfs, const char *path, int sync_folder)
{
    struct power_disk *disk;
    int rc;

    (void)vfs;
    (void)pthread_mutex_lock(&power.lock);
    disk = power_find(path, false);
    rc = disk != NULL && power.is_cut ? SQLITE_IOERR_DELETE
                                      : power.real->xDelete(power.real, path, sync_folder);
    if (rc == SQLITE_OK && disk != NULL) {
        power_note(disk, POWER_REMOVE, NULL, 0, 0);
        disk->is_there = false;
        if (sync_folder) {
            power_forget_ops(disk);
            power_apply(disk, &(struct power_op){.kind = POWER_REMOVE});
        }
    }
    (void)pthread_mutex_unlock(&power.lock);
    return rc;
}

/* Once a program, before any database is opened: the default VFS from then on. */
static inline void power_install(void)
{
    power.real = sqlite3_vfs_find(NULL);
    assert(power.real != NULL);
    power.vfs = *power.real;
    power.vfs.zName = "power";
    power.vfs.pNext = NULL;
    power.vfs.szOsFile = (int)sizeof(struct power_file) + power.real->szOsFile;
    power.vfs.xOpen = power_open;
    power.vfs.xDelete = power_delete;
    if (sqlite3_vfs_register(&power.vfs, 1) != SQLITE_OK)
        abort();
}

static inline int power_relax_handle(sqlite3 *handle, char **message, const void *api)
{
    (void)message, (void)api;
    return power.is_relaxed ? sqlite3_exec(handle, "PRAGMA synchronous = NORMAL", NULL, NULL, NULL)
                            : SQLITE_OK;
}

/* Every connection that is opened from now on has synchronous = NORMAL, whatever it asks for: the control. */
static inline void power_relax(bool relaxed)
{
    power.is_relaxed = relaxed;
    (void)sqlite3_auto_extension((void (*)(void))power_relax_handle);
}

/* The files lie on the platter as they are; the power goes at that write or sync from now (0: at none of them). No database
 * is open. */
static inline void power_begin(uint64_t seed, int64_t cut_at_write, int64_t cut_at_sync)
{
    for (int i = 0; i < power.disk_count; i++) {
        power_forget_ops(&power.disks[i]);
        power.disks[i].bytes = 0;
    }
    power.disk_count = 0;
    power.random = seed;
    power.writes = power.syncs = 0;
    power.cut_at_write = cut_at_write;
    power.cut_at_sync = cut_at_sync;
    power.is_cut = false;
    power.fault = POWER_SOUND;
}

static inline void power_set_fault(enum power_fault fault)
{
    (void)pthread_mutex_lock(&power.lock);
    power.fault = fault;
    (void)pthread_mutex_unlock(&power.lock);
}

static inline bool power_is_cut(void)
{
    bool is_cut;

    (void)pthread_mutex_lock(&power.lock);
    is_cut = power.is_cut;
    (void)pthread_mutex_unlock(&power.lock);
    return is_cut;
}

/* The power is back: the files become what is on the platter, shared memory is gone. If it never went, it goes now. No
 * database is open. */
static inline void power_restore(void)
{
    if (!power.is_cut)
        power_cut_now();
    for (int i = 0; i < power.disk_count; i++) {
        struct power_disk *disk = &power.disks[i];
        char shm[POWER_PATH_BYTES + 8];
        int fd;

        (void)snprintf(shm, sizeof shm, "%s-shm", disk->path);
        (void)unlink(shm);
        if (!disk->exists) {
            (void)unlink(disk->path);
            continue;
        }
        fd = open(disk->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        if (fd < 0 || pwrite(fd, disk->image, (size_t)disk->bytes, 0) != disk->bytes)
            abort();
        (void)close(fd);
    }
}

#endif
