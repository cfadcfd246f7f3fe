/* common/embed.h: files that the build put into the program (server/tools/embed.c makes the tables).
 * Immutable. Threads: any. */
#ifndef DAYBREAK_COMMON_EMBED_H
#define DAYBREAK_COMMON_EMBED_H

#include <stddef.h>

#include "common/str.h"

struct embedded_file {
    const char *path;          /* from the repository's root: "schema/tasks/cifar10-train.json" */
    const unsigned char *data; /* NUL-terminated behind bytes */
    size_t bytes;
    const char *sha256; /* 64 hex digits: a strong ETag */
};

/* The files of schema/tasks, in order of path, then the tasks made of schema/mlperf; in both programs. */
extern const struct embedded_file embedded_tasks[];
extern const size_t embedded_task_count;

#endif
