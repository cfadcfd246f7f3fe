/* agent/data/files.h: files and folders of the agent, with every failure said in one sentence.
 * Ownership: buffers are the caller's. Threads: pure, any thread, on distinct paths. */
#ifndef DAYBREAK_AGENT_DATA_FILES_H
#define DAYBREAK_AGENT_DATA_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/status.h"
#include "common/str.h"

#define FILES_PATH_BYTES_MAX 1024

/* "folder/name"; ST_LIMIT when it does not fit. */
enum status files_join(char path[FILES_PATH_BYTES_MAX], const char *folder, const char *name,
                       struct error *err);
/* Where data sets lie: DAYBREAK_CACHE, else ~/.cache/daybreak, then "/name" unless name is NULL. */
enum status files_cache_path(char path[FILES_PATH_BYTES_MAX], const char *name, struct error *err);

bool files_exists(const char *path);
/* Makes the folder and those above it; what is there already is left alone. */
enum status files_make_folder(const char *path, mode_t mode, struct error *err);
/* A new folder "<prefix>XXXXXX"; path receives its name. */
enum status files_make_temporary(const char *prefix, char path[FILES_PATH_BYTES_MAX],
                                 struct error *err);
/* Removes a file or a folder with all in it; follows no link. What cannot be removed is logged. */
void files_remove_tree(const char *path);

/* Appends the whole file. ST_NOT_FOUND, ST_IO, ST_LIMIT by out's cap. */
enum status files_read(const char *path, struct buf *out, struct error *err);
/* Replaces the file at once: temporary file beside it, fsync, rename, fsync of the folder. */
enum status files_write(const char *path, struct str content, mode_t mode, struct error *err);
/* A new name or a rename lasts only when its folder is on disk, too. */
enum status files_sync_folder_of(const char *path, struct error *err);
enum status files_rename(const char *from, const char *to, struct error *err);
/* All bytes, over short writes and interruptions. */
enum status files_write_all(int fd, const void *data, size_t bytes, const char *path,
                            struct error *err);

/* Runs a program of PATH (argv[0]) in `folder` and waits; its output goes to our stderr. ST_NOT_FOUND:
 * no such program; ST_IO: it ended with another code than 0, which the sentence names. */
enum status files_run_program(const char *const *argv, const char *folder, struct error *err);

#endif
