/* agent/data/files.c: files and folders of the agent (see files.h). */
#include "agent/data/files.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/log.h"

#define READ_CHUNK_BYTES 65536
#define TREE_OPEN_MAX    16

extern char **environ;

static enum status set_io_error(struct error *err, const char *path, const char *what)
{
    const int code = errno;

    return error_set(err, code == ENOENT ? ST_NOT_FOUND : ST_IO, path, "cannot %s %s: %s", what,
                     path, strerrordesc_np(code));
}

enum status files_join(char path[FILES_PATH_BYTES_MAX], const char *folder, const char *name,
                       struct error *err)
{
    const int len = snprintf(path, FILES_PATH_BYTES_MAX, "%s/%s", folder, name);

    if (len < 0 || len >= FILES_PATH_BYTES_MAX)
        return error_set(err, ST_LIMIT, name, "the path of %s is longer than %d bytes", name,
                         FILES_PATH_BYTES_MAX - 1);
    return ST_OK;
}

enum status files_cache_path(char path[FILES_PATH_BYTES_MAX], const char *name, struct error *err)
{
    const char *cache = getenv("DAYBREAK_CACHE");
    char home_cache[FILES_PATH_BYTES_MAX];

    if (cache == NULL || cache[0] == '\0') {
        const char *home = getenv("HOME");
        enum status status;

        if (home == NULL || home[0] == '\0')
            return error_set_code(err, ST_INVALID, "no_cache", "DAYBREAK_CACHE",
                                  "set DAYBREAK_CACHE to a folder for data sets",
                                  "neither DAYBREAK_CACHE nor HOME is set");
        status = files_join(home_cache, home, ".cache/daybreak", err);
        if (status != ST_OK)
            return status;
        cache = home_cache;
    }
    if (name != NULL)
        return files_join(path, cache, name, err);
    if (snprintf(path, FILES_PATH_BYTES_MAX, "%s", cache) >= FILES_PATH_BYTES_MAX)
        return error_set(err, ST_LIMIT, "DAYBREAK_CACHE", "the cache's path is too long");
    return ST_OK;
}

bool files_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

enum status files_make_folder(const char *path, mode_t mode, struct error *err)
{
    char part[FILES_PATH_BYTES_MAX];
    const size_t len = strlen(path);

    if (len == 0 || len >= sizeof part)
        return error_set(err, ST_LIMIT, path, "a folder's path has 1 to %zu bytes",
                         sizeof part - 1);
    memcpy(part, path, len + 1);
    for (size_t i = 1; i <= len; i++) {
        struct stat info;
        const char kept = part[i];

        if (kept != '/' && kept != '\0')
            continue;
        part[i] = '\0';
        if (mkdir(part, mode) != 0 && errno != EEXIST)
            return set_io_error(err, part, "make the folder");
        if (stat(part, &info) != 0)
            return set_io_error(err, part, "look at");
        if (!S_ISDIR(info.st_mode))
            return error_set(err, ST_IO, part, "%s is not a folder", part);
        part[i] = kept;
    }
    return ST_OK;
}

enum status files_make_temporary(const char *prefix, char path[FILES_PATH_BYTES_MAX],
                                 struct error *err)
{
    if (snprintf(path, FILES_PATH_BYTES_MAX, "%sXXXXXX", prefix) >= FILES_PATH_BYTES_MAX)
        return error_set(err, ST_LIMIT, prefix, "the path of %s is too long", prefix);
    if (mkdtemp(path) == NULL)
        return set_io_error(err, path, "make the folder");
    return ST_OK;
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *place)
{
    (void)info;
    (void)kind;
    (void)place;
    if (remove(path) != 0) {
        char quoted[256];

        log_event(LOG_WARN, "remove_failed", "path=%s error=%d",
                  log_quote(path, quoted, sizeof quoted), errno);
    }
    return 0;
}

void files_remove_tree(const char *path)
{
    if (files_exists(path))
        (void)nftw(path, remove_one, TREE_OPEN_MAX, FTW_DEPTH | FTW_PHYS);
}

enum status files_read(const char *path, struct buf *out, struct error *err)
{
    char *chunk = malloc(READ_CHUNK_BYTES);
    enum status status = ST_OK;
    int fd = -1;

    if (chunk == NULL)
        return error_set(err, ST_NO_MEMORY, path, "no memory to read %s", path);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        status = set_io_error(err, path, "open");
        goto done;
    }
    for (;;) {
        const ssize_t got = read(fd, chunk, READ_CHUNK_BYTES);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            status = set_io_error(err, path, "read");
            goto done;
        }
        if (got == 0)
            break;
        buf_append(out, (struct str){chunk, (size_t)got});
        if (out->failed)
            break;
    }
    status = buf_check(out, err);
done:
    if (fd >= 0)
        close(fd);
    free(chunk);
    return status;
}

enum status files_write_all(int fd, const void *data, size_t bytes, const char *path,
                            struct error *err)
{
    const char *next = data;

    while (bytes > 0) {
        const ssize_t done = write(fd, next, bytes);

        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return set_io_error(err, path, "write");
        next += done;
        bytes -= (size_t)done;
    }
    return ST_OK;
}

enum status files_sync_folder_of(const char *path, struct error *err)
{
    char folder[FILES_PATH_BYTES_MAX];
    const char *slash = strrchr(path, '/');
    enum status status = ST_OK;
    int fd;

    if (slash == NULL)
        (void)snprintf(folder, sizeof folder, ".");
    else if (slash == path)
        (void)snprintf(folder, sizeof folder, "/");
    else
        (void)snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
    fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return set_io_error(err, folder, "open");
    if (fsync(fd) != 0)
        status = set_io_error(err, folder, "sync");
    close(fd);
    return status;
}

enum status files_write(const char *path, struct str content, mode_t mode, struct error *err)
{
    char temporary[FILES_PATH_BYTES_MAX];
    enum status status;
    int fd;

    if (snprintf(temporary, sizeof temporary, "%s.%ld.part", path, (long)getpid()) >=
        (int)sizeof temporary)
        return error_set(err, ST_LIMIT, path, "the path of %s is too long", path);
    fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    if (fd < 0)
        return set_io_error(err, temporary, "create");
    status = files_write_all(fd, content.data, content.len, temporary, err);
    if (status == ST_OK && fsync(fd) != 0)
        status = set_io_error(err, temporary, "sync");
    if (close(fd) != 0 && status == ST_OK)
        status = set_io_error(err, temporary, "close");
    if (status == ST_OK)
        status = files_rename(temporary, path, err);
    if (status != ST_OK)
        (void)unlink(temporary);
    return status;
}

enum status files_rename(const char *from, const char *to, struct error *err)
{
    if (rename(from, to) != 0)
        return set_io_error(err, to, "replace");
    return files_sync_folder_of(to, err);
}

enum status files_run_program(const char *const *argv, const char *folder, struct error *err)
{
    posix_spawn_file_actions_t actions;
    enum status status = ST_OK;
    int code, wait_status = 0;
    pid_t pid;

    if (posix_spawn_file_actions_init(&actions) != 0)
        return error_set(err, ST_NO_MEMORY, argv[0], "no memory to start %s", argv[0]);
    if (posix_spawn_file_actions_addchdir_np(&actions, folder) != 0 ||
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0) != 0 ||
        posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO) != 0) {
        status = error_set(err, ST_NO_MEMORY, argv[0], "no memory to start %s", argv[0]);
        goto done;
    }
    /* posix_spawnp() takes char *const[] for history's sake and writes to none of it. */
    code = posix_spawnp(
        &pid, argv[0], &actions, NULL,
        (char *const *)(uintptr_t)argv, /* NOLINT(performance-no-int-to-ptr): sheds const */
        environ);
    if (code != 0) {
        status = error_set(err, code == ENOENT ? ST_NOT_FOUND : ST_IO, argv[0],
                           "cannot start the program %s: %s", argv[0], strerrordesc_np(code));
        goto done;
    }
    while (waitpid(pid, &wait_status, 0) < 0)
        if (errno != EINTR) {
            status = set_io_error(err, argv[0], "wait for");
            goto done;
        }
    if (WIFSIGNALED(wait_status))
        status = error_set(err, ST_IO, argv[0], "%s was ended by signal %d", argv[0],
                           WTERMSIG(wait_status));
    else if (WEXITSTATUS(wait_status) != 0)
        status = error_set(err, ST_IO, argv[0], "%s ended with code %d", argv[0],
                           WEXITSTATUS(wait_status));
done:
    posix_spawn_file_actions_destroy(&actions);
    return status;
}
