/* server/command/files.h: DAWNBench's files on disk, for check and import. Threads: main. */
#ifndef DAYBREAK_SERVER_COMMAND_FILES_H
#define DAYBREAK_SERVER_COMMAND_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "common/arena.h"
#include "common/status.h"
#include "common/str.h"
#include "server/intake/intake.h"

#define FILES_BYTES_MAX (1 << 20) /* read at most; intake's own limit is below it and says so */

/* The whole file; what is longer than FILES_BYTES_MAX is cut there. ST_NOT_FOUND, ST_IO, ST_NO_MEMORY. */
enum status files_read(const char *path, struct arena *arena, struct str *bytes, struct error *err);
/* The same of any size up to bytes_max, into a buffer that is the caller's; ST_LIMIT above it. */
enum status files_read_whole(const char *path, size_t bytes_max, struct buf *bytes,
                             struct error *err);
/* The names in a folder that end so, sorted by bytes, without the ending. ST_NOT_FOUND: no such folder. */
enum status files_list(const char *folder, const char *ending, struct arena *arena,
                       const char ***names, size_t *count, struct error *err);

/* "a/CIFAR10/train/NAME.json" -> folder "CIFAR10", phase "train", name "NAME", ending ".json"; parts that are
 * not there are empty. */
struct files_path {
    struct str folder, phase, name, ending;
};
struct files_path files_split(const char *path);

const char *files_base_name(const char *path); /* behind the last slash */

/* One line per finding on stdout: FILE:LINE, severity, code, field, detail, hint, separated by tabs. entry_path,
 * progress_paths: one per progress file (the first also where none is there, for the finding that says so). */
void files_print_findings(const struct intake_result *result, const char *entry_path,
                          const char *const *progress_paths);

/* Makes the folder that a database will be in, if it is not there. */
enum status files_make_parent(const char *path, struct error *err);

#endif
