/* server/store/lock.c: see lock.h. */
#include "server/store/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUFFIX ".lock"

static enum status name_lock(const char *db_path, char path[PATH_MAX], struct error *err);

enum status store_lock_acquire(const char *db_path, int *fd, struct error *err)
{
    char path[PATH_MAX];
    int opened, rc;

    *fd = -1;
    if (name_lock(db_path, path, err) != ST_OK)
        return err->status;
    opened = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR);
    if (opened < 0)
        return error_set(err, ST_IO, "db", "cannot open the lock file %s: %s", path,
                         strerrordesc_np(errno));
    do
        rc = flock(opened, LOCK_EX | LOCK_NB);
    while (rc != 0 && errno == EINTR);
    if (rc == 0) {
        *fd = opened;
        return ST_OK;
    }
    rc = errno;
    (void)close(opened);
    if (rc == EWOULDBLOCK)
        return error_set_code(err, ST_UNAVAILABLE, "db_in_use", "db",
                              "stop it, or give this one a database of its own with --db",
                              "another server serves the database %s", db_path);
    return error_set(err, ST_IO, "db", "cannot lock %s: %s", path, strerrordesc_np(rc));
}

void store_lock_release(int fd)
{
    if (fd >= 0)
        (void)close(fd); /* and with it the lock */
}

/* Beside the database itself, where SQLite keeps its log, too: two links to one database share a lock. */
static enum status name_lock(const char *db_path, char path[PATH_MAX], struct error *err)
{
    char *whole =
        realpath(db_path, NULL); /* NULL: not made yet, or open() will say what is wrong */
    const char *base = whole != NULL ? whole : db_path;
    const bool fits = strlen(base) + sizeof SUFFIX <= PATH_MAX;

    if (fits)
        (void)snprintf(path, PATH_MAX, "%s" SUFFIX, base);
    free(whole);
    return fits ? ST_OK : error_set(err, ST_LIMIT, "db", "the database's path is too long");
}
