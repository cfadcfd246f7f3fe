/* server/command/files.c: see files.h. */
#include "server/command/files.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static enum status io_error(const char *path, const char *what, int number, struct error *err);
static int compare_texts(const void *left, const void *right);
static struct str cut_last(struct str *rest, char separator);

enum status files_read(const char *path, struct arena *arena, struct str *bytes, struct error *err)
{
    FILE *in = fopen(path, "rbe");
    enum status status = ST_OK;
    char *data = NULL;
    size_t length;

    if (in == NULL)
        return io_error(path, "cannot open", errno, err);
    data = malloc(FILES_BYTES_MAX);
    if (data == NULL) {
        status = error_set(err, ST_NO_MEMORY, NULL, "no memory to read %s", path);
        goto done;
    }
    length = fread(data, 1, FILES_BYTES_MAX, in);
    if (ferror(in)) {
        status = io_error(path, "cannot read", errno, err);
        goto done;
    }
    bytes->data = arena_copy(arena, (struct str){data, length});
    bytes->len = length;
    if (bytes->data == NULL)
        status = error_set(err, ST_NO_MEMORY, NULL, "no memory to read %s", path);
done:
    free(data);
    (void)fclose(in); /* only read from */
    return status;
}

enum status files_read_whole(const char *path, size_t bytes_max, struct buf *bytes,
                             struct error *err)
{
    FILE *in = fopen(path, "rbe");
    enum status status = ST_OK;
    char piece[65536];
    size_t length;

    buf_init(bytes, bytes_max + sizeof piece);
    if (in == NULL)
        return io_error(path, "cannot open", errno, err);
    while (bytes->len <= bytes_max && !bytes->failed &&
           (length = fread(piece, 1, sizeof piece, in)) > 0)
        buf_append(bytes, (struct str){piece, length});
    if (ferror(in))
        status = io_error(path, "cannot read", errno, err);
    else if (bytes->len > bytes_max)
        status = error_set(err, ST_LIMIT, NULL, "%s has more than %zu bytes", path, bytes_max);
    else if (bytes->failed)
        status = error_set(err, ST_NO_MEMORY, NULL, "no memory to read %s", path);
    (void)fclose(in); /* only read from */
    return status;
}

enum status files_list(const char *folder, const char *ending, struct arena *arena,
                       const char ***names, size_t *count, struct error *err)
{
    DIR *dir = opendir(folder);
    const struct str tail = str_from_cstr(ending);
    const struct dirent *item;
    enum status status = ST_OK;
    size_t capacity = 0;

    *names = NULL;
    *count = 0;
    if (dir == NULL)
        return io_error(folder, "cannot open", errno, err);
    while ((item = readdir(dir)) != NULL) { /* NOLINT(concurrency-mt-unsafe): a stream of our own */
        const struct str name = str_from_cstr(item->d_name);
        const char *stem;

        if (!str_ends_with(name, tail) || name.data[0] == '.')
            continue;
        if (*count == capacity) {
            const char **more = ARENA_NEW_ARRAY(arena, capacity * 2 + 64, const char *);

            if (more != NULL && *count > 0)
                memcpy(more, *names, *count * sizeof *more);
            *names = more;
            capacity = capacity * 2 + 64;
        }
        stem = arena_copy(arena, str_slice(name, 0, name.len - tail.len));
        if (*names == NULL || stem == NULL) {
            status = error_set(err, ST_NO_MEMORY, NULL, "no memory to list %s", folder);
            goto done;
        }
        (*names)[(*count)++] = stem;
    }
    if (*count > 0)
        qsort(*names, *count, sizeof **names, compare_texts);
done:
    (void)closedir(dir);
    return status;
}

struct files_path files_split(const char *path)
{
    struct str rest = str_from_cstr(path);
    struct files_path parts;
    size_t at;

    parts.name = cut_last(&rest, '/');
    parts.phase = cut_last(&rest, '/');
    parts.folder = cut_last(&rest, '/');
    parts.ending = str_slice(parts.name, parts.name.len, parts.name.len);
    for (at = parts.name.len; at-- > 0;)
        if (parts.name.data[at] == '.') {
            parts.ending = str_slice(parts.name, at, parts.name.len);
            parts.name = str_slice(parts.name, 0, at);
            break;
        }
    return parts;
}

const char *files_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash == NULL ? path : slash + 1;
}

void files_print_findings(const struct intake_result *result, const char *entry_path,
                          const char *const *progress_paths)
{
    for (size_t i = 0; i < result->finding_count; i++) {
        const struct intake_finding *finding = &result->findings[i];
        const char *path =
            finding->file_index == 0 ? entry_path : progress_paths[finding->file_index - 1];

        printf("%s:%d\t%s\t%s\t%s\t%s\t%s\n", path, finding->line,
               intake_severity_name(finding->severity), finding->code, finding->field,
               finding->detail, finding->hint);
    }
}

enum status files_make_parent(const char *path, struct error *err)
{
    char folder[4096];
    const char *slash = strrchr(path, '/');

    if (slash == NULL || slash == path)
        return ST_OK;
    if (snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path) >= (int)sizeof folder)
        return error_set(err, ST_LIMIT, NULL, "the path %.64s... is too long", path);
    if (mkdir(folder, 0700) != 0 && errno != EEXIST)
        return io_error(folder, "cannot make", errno, err);
    return ST_OK;
}

static enum status io_error(const char *path, const char *what, int number, struct error *err)
{
    char text[128];

    return error_set(err, number == ENOENT || number == ENOTDIR ? ST_NOT_FOUND : ST_IO, NULL,
                     "%s %s: %s", what, path, strerror_r(number, text, sizeof text));
}

static int compare_texts(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* The part behind the last separator, which is cut off the rest. */
static struct str cut_last(struct str *rest, char separator)
{
    struct str part = *rest;

    for (size_t at = rest->len; at-- > 0;)
        if (rest->data[at] == separator) {
            part = str_slice(*rest, at + 1, rest->len);
            *rest = str_slice(*rest, 0, at);
            return part;
        }
    *rest = str_slice(*rest, 0, 0);
    return part;
}
