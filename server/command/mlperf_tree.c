/* server/command/mlperf_tree.c: see mlperf_tree.h. */
#include "server/command/mlperf_tree.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/log.h"

enum { PATH_BYTES_MAX = 4096, TREE_BYTES_MAX = 16 << 20, RCP_BYTES_MAX = 1 << 20, LEVELS = 4 };
/* What a full entry of logs at their limit may take: checked while it is read. */
#define ENTRY_BYTES_MAX ((size_t)1 << 30)

static enum status list_rounds(struct mlperf_tree *tree, struct error *err);
static enum status list_unknown(struct mlperf_tree *tree, const char *round, struct error *err);
static enum status list_level(struct mlperf_tree *tree, const char *path, int level,
                              struct error *err);
static enum status list_names(const char *path, bool folders, struct arena *arena,
                              const char ***names, size_t *count, struct error *err);
static bool is_kind(const char *folder, const char *name, bool wants_folder);
static bool has_log(const char *folder);
static enum status add_path(struct mlperf_tree *tree, const char *path, struct error *err);
static int compare_texts(const void *left, const void *right);
static enum status split_path(struct mlperf_entry *entry, const char *path, struct error *err);
static enum status load_files(const struct mlperf_tree *tree, struct mlperf_entry *entry,
                              struct error *err);
static int compare_files(const void *left, const void *right);
static enum status load_log(const struct mlperf_tree *tree, struct mlperf_entry *entry,
                            size_t index, struct error *err);
static enum status load_description(const struct mlperf_tree *tree, struct mlperf_entry *entry,
                                    struct error *err);
static enum status load_rcp(const struct mlperf_tree *tree, struct mlperf_entry *entry,
                            struct rcp_set *set, struct error *err);
static enum status read_file(const char *path, size_t bytes_max, struct arena *arena,
                             struct str *bytes, struct error *err);

enum status mlperf_tree_open(const char *dir, const struct mlperf_rules *rules,
                             struct mlperf_tree *tree, struct error *err)
{
    char rcp[PATH_BYTES_MAX];
    enum status status;
    struct stat info;

    *tree = (struct mlperf_tree){.dir = dir, .rules = rules};
    arena_init(&tree->arena, TREE_BYTES_MAX);
    if (stat(dir, &info) != 0 || !S_ISDIR(info.st_mode))
        return error_set(err, ST_NOT_FOUND, NULL, "there is no folder %s", dir);
    (void)snprintf(rcp, sizeof rcp, "%s/rcp", dir);
    tree->has_rcp = stat(rcp, &info) == 0 && S_ISDIR(info.st_mode);
    status = list_rounds(tree, err);
    if (status == ST_OK && tree->path_count == 0)
        status = error_set(err, ST_INVALID, NULL,
                           "%s has no <round>/<submitter>/<system>/<benchmark>/ of a round that we "
                           "know",
                           dir);
    if (tree->path_count > 0)
        qsort(tree->paths, tree->path_count, sizeof *tree->paths, compare_texts);
    return status;
}

void mlperf_tree_close(struct mlperf_tree *tree)
{
    arena_fini(&tree->arena);
}

enum status mlperf_entry_load(const struct mlperf_tree *tree, size_t index,
                              struct mlperf_entry *entry, struct error *err)
{
    const struct mlperf_round *round;
    struct mlperf_input input = {0};
    struct rcp_set rcp;
    enum status status;

    *entry = (struct mlperf_entry){.path = tree->paths[index]};
    arena_init(&entry->arena, ENTRY_BYTES_MAX);
    status = split_path(entry, tree->paths[index], err);
    if (status != ST_OK)
        return status;
    round = mlperf_find_round(tree->rules, str_from_cstr(entry->round));
    if (round == NULL)
        return error_set_code(err, ST_INVALID, "unknown_round", NULL,
                              "Name the folder as the round is named, v5.0 for example.",
                              "there is no round %s", entry->round);
    entry->benchmark = mlperf_find_benchmark(round, str_from_cstr(entry->folder));
    if (entry->benchmark == NULL)
        return error_set_code(err, ST_INVALID, "unknown_benchmark", NULL,
                              "Name the folder as the round names its benchmark.",
                              "round %s has no benchmark %s", entry->round, entry->folder);
    status = load_files(tree, entry, err);
    if (status == ST_OK)
        status = load_description(tree, entry, err);
    if (status == ST_OK && entry->benchmark->rcp_file != NULL) {
        status = load_rcp(tree, entry, &rcp, err);
        input.rcp = &rcp;
    }
    if (status != ST_OK)
        return status;
    input.benchmark = entry->benchmark;
    input.division = entry->description.division;
    input.files = entry->files;
    input.file_count = entry->file_count;
    return mlperf_judge(&input, &entry->arena, &entry->result, err);
}

void mlperf_entry_fini(struct mlperf_entry *entry)
{
    arena_fini(&entry->arena);
}

/* Whatever is not a round that we know is looked into for logs: they are refused, not passed over. */
static enum status list_rounds(struct mlperf_tree *tree, struct error *err)
{
    const char **names;
    size_t count;
    enum status status = list_names(tree->dir, true, &tree->arena, &names, &count, err);

    for (size_t i = 0; i < count && status == ST_OK; i++) {
        if (mlperf_find_round(tree->rules, str_from_cstr(names[i])) != NULL)
            status = list_level(tree, names[i], 1, err);
        else if (strcmp(names[i], "rcp") != 0)
            status = list_unknown(tree, names[i], err);
    }
    return status;
}

/* Only what has logs: a folder of another kind may stand beside the rounds, and need not be readable. */
static enum status list_unknown(struct mlperf_tree *tree, const char *round, struct error *err)
{
    const size_t before = tree->path_count;
    struct error fault = {0};
    const enum status status = list_level(tree, round, 1, &fault);
    size_t kept = before;

    for (size_t i = before; i < tree->path_count; i++) {
        char folder[PATH_BYTES_MAX];

        if (snprintf(folder, sizeof folder, "%s/%s", tree->dir, tree->paths[i]) <
                (int)sizeof folder &&
            has_log(folder))
            tree->paths[kept++] = tree->paths[i];
    }
    tree->path_count = kept;
    if (status == ST_IO) {
        log_event(LOG_WARN, "import-mlperf", "skipped=%s reason=\"%s\"", round, fault.detail);
        return ST_OK;
    }
    return status == ST_OK ? ST_OK : error_set(err, status, NULL, "%s", fault.detail);
}

/* Recursion to a depth of LEVELS. Logs above that depth are no entry, which is said when it is loaded. */
static enum status list_level(/* NOLINT(misc-no-recursion) */
                              struct mlperf_tree *tree, const char *path, int level,
                              struct error *err)
{
    char folder[PATH_BYTES_MAX];
    enum status status;
    const char **names;
    size_t count;

    if (snprintf(folder, sizeof folder, "%s/%s", tree->dir, path) >= (int)sizeof folder)
        return error_set(err, ST_LIMIT, NULL, "the path of the tree is too long");
    status = list_names(folder, true, &tree->arena, &names, &count, err);
    if (status == ST_OK && has_log(folder))
        status = add_path(tree, path, err);
    for (size_t i = 0; i < count && status == ST_OK; i++) {
        const char *below = arena_printf(&tree->arena, "%s/%s", path, names[i]);

        if (below == NULL)
            status = error_set(err, ST_NO_MEMORY, NULL, "no memory to list %s", folder);
        else
            status = level + 1 == LEVELS ? add_path(tree, below, err)
                                         : list_level(tree, below, level + 1, err);
    }
    return status;
}

static enum status list_names(const char *path, bool folders, struct arena *arena,
                              const char ***names, size_t *count, struct error *err)
{
    const struct dirent *item;
    enum status status = ST_OK;
    size_t capacity = 0;
    DIR *dir = opendir(path);

    *names = NULL;
    *count = 0;
    if (dir == NULL)
        return error_set(err, ST_IO, NULL, "cannot open %s: %s", path, strerrorname_np(errno));
    while ((item = readdir(dir)) != NULL) { /* NOLINT(concurrency-mt-unsafe): a stream of our own */
        if (item->d_name[0] == '.' || !is_kind(path, item->d_name, folders))
            continue;
        if (*count == capacity) {
            const char **more = ARENA_NEW_ARRAY(arena, capacity * 2 + 32, const char *);

            if (more != NULL && *count > 0)
                memcpy(more, *names, *count * sizeof *more);
            *names = more;
            capacity = capacity * 2 + 32;
        }
        if (*names != NULL)
            (*names)[*count] = arena_copy(arena, str_from_cstr(item->d_name));
        if (*names == NULL || (*names)[*count] == NULL) {
            status = error_set(err, ST_NO_MEMORY, NULL, "no memory to list %s", path);
            break;
        }
        (*count)++;
    }
    (void)closedir(dir);
    return status;
}

static bool is_kind(const char *folder, const char *name, bool wants_folder)
{
    char path[PATH_BYTES_MAX];
    struct stat info;

    return snprintf(path, sizeof path, "%s/%s", folder, name) < (int)sizeof path &&
           stat(path, &info) == 0 && (wants_folder ? S_ISDIR(info.st_mode) : S_ISREG(info.st_mode));
}

/* One that cannot be opened has none: who lists it says so. */
static bool has_log(const char *folder)
{
    const struct dirent *item;
    bool found = false;
    DIR *dir = opendir(folder);

    if (dir == NULL)
        return false;
    while (!found &&
           (item = readdir(dir)) != NULL) { /* NOLINT(concurrency-mt-unsafe): a stream of our own */
        int64_t number;

        found = mlperf_run_number(str_from_cstr(item->d_name), &number) &&
                is_kind(folder, item->d_name, false);
    }
    (void)closedir(dir);
    return found;
}

static enum status add_path(struct mlperf_tree *tree, const char *path, struct error *err)
{
    enum { STEP = 64 };

    if (tree->path_count % STEP == 0) {
        const char **more = ARENA_NEW_ARRAY(&tree->arena, tree->path_count + STEP, const char *);

        if (more == NULL)
            return error_set(err, ST_NO_MEMORY, NULL, "no memory to list %s", tree->dir);
        if (tree->path_count > 0)
            memcpy(more, tree->paths, tree->path_count * sizeof *more);
        tree->paths = more;
    }
    tree->paths[tree->path_count++] = path;
    return ST_OK;
}

static int compare_texts(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static enum status split_path(struct mlperf_entry *entry, const char *path, struct error *err)
{
    const char **const parts[LEVELS] = {&entry->round, &entry->submitter, &entry->system,
                                        &entry->folder};
    struct str rest = str_from_cstr(path), part;
    bool more = true;

    for (size_t i = 0; i < LEVELS && str_split_next(&rest, &more, '/', &part); i++) {
        *parts[i] = arena_copy(&entry->arena, part);
        if (*parts[i] == NULL)
            return error_set(err, ST_NO_MEMORY, NULL, "no memory to read %s", path);
    }
    if (entry->folder == NULL)
        return error_set_code(err, ST_INVALID, "bad_path", NULL,
                              "Put them into <round>/<submitter>/<system>/<benchmark>/.",
                              "its logs are not in <round>/<submitter>/<system>/<benchmark>/");
    if (!str_is_utf8(str_from_cstr(path)))
        return error_set_code(err, ST_INVALID, "not_utf8", NULL, "Rename the folder.",
                              "the path is not UTF-8");
    return ST_OK;
}

static enum status load_files(const struct mlperf_tree *tree, struct mlperf_entry *entry,
                              struct error *err)
{
    char folder[PATH_BYTES_MAX];
    enum status status;
    const char **names;
    size_t count;

    if (snprintf(folder, sizeof folder, "%s/%s", tree->dir, entry->path) >= (int)sizeof folder)
        return error_set(err, ST_LIMIT, NULL, "the path of the tree is too long");
    status = list_names(folder, false, &entry->arena, &names, &count, err);
    for (size_t i = 0; i < count && status == ST_OK; i++) {
        int64_t number;

        if (!mlperf_run_number(str_from_cstr(names[i]), &number))
            continue; /* READMEs and the like */
        if (entry->file_count == MLPERF_RUNS_MAX)
            return error_set_code(err, ST_LIMIT, "too_many_runs", NULL,
                                  "Split it into several entries.", "there are more than %d logs",
                                  MLPERF_RUNS_MAX);
        entry->files[entry->file_count++] =
            (struct mlperf_file){.name = names[i], .number = number};
    }
    if (status == ST_OK && entry->file_count == 0)
        return error_set_code(err, ST_INVALID, "no_logs", NULL,
                              "Put the logs there as result_<run>.txt or .txt.gz.",
                              "there is no log in the folder");
    qsort(entry->files, entry->file_count, sizeof entry->files[0], compare_files);
    for (size_t i = 0; i < entry->file_count && status == ST_OK; i++)
        status = load_log(tree, entry, i, err);
    return status;
}

static int compare_files(const void *left, const void *right)
{
    const struct mlperf_file *a = left, *b = right;

    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    return strcmp(a->name, b->name);
}

/* What is wrong with a log is its own; only what stops the import is an error. */
static enum status load_log(const struct mlperf_tree *tree, struct mlperf_entry *entry,
                            size_t index, struct error *err)
{
    struct mlperf_log *log = ARENA_NEW(&entry->arena, struct mlperf_log);
    struct mlperf_file *file = &entry->files[index];
    char path[PATH_BYTES_MAX];
    enum status status;

    if (log == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory to read %s", entry->path);
    if (snprintf(path, sizeof path, "%s/%s/%s", tree->dir, entry->path, file->name) >=
        (int)sizeof path)
        return error_set(err, ST_LIMIT, NULL, "the path of the tree is too long");
    status = read_file(path, MLPERF_LOG_BYTES_MAX + 1, &entry->arena, &entry->bytes[index], err);
    if (status != ST_OK)
        return status;
    status = mlperf_log_read(entry->bytes[index], &entry->arena, log, &file->fault);
    if (status == ST_OK)
        file->log = log;
    return status == ST_NO_MEMORY || status == ST_INTERNAL
               ? error_set(err, status, NULL, "%s: %s", path, file->fault.detail)
               : ST_OK;
}

/* One that is there but cannot be read refuses the entry: its division would be unknown. */
static enum status load_description(const struct mlperf_tree *tree, struct mlperf_entry *entry,
                                    struct error *err)
{
    char path[PATH_BYTES_MAX];
    struct error fault = {0};
    enum status status;
    struct str text = {0};

    (void)snprintf(path, sizeof path, "%s/%s/%s/%s/entry.json", tree->dir, entry->round,
                   entry->submitter, entry->system);
    status = read_file(path, MLPERF_SYSTEM_BYTES_MAX, &entry->arena, &text, &fault);
    if (status == ST_NOT_FOUND)
        return ST_OK;
    if (status != ST_OK)
        return error_set(err, status, NULL, "%s", fault.detail);
    status = mlperf_system_parse(text, &entry->arena, &entry->description, &fault);
    return status == ST_OK ? ST_OK
                           : error_set_code(err, status, fault.code, fault.field, fault.hint,
                                            "entry.json, line %d: %s", fault.line, fault.detail);
}

static enum status load_rcp(const struct mlperf_tree *tree, struct mlperf_entry *entry,
                            struct rcp_set *set, struct error *err)
{
    const char *name = entry->benchmark->rcp_file;
    struct str text = mlperf_find_rcp(tree->rules, name);
    struct error fault = {0};
    char path[PATH_BYTES_MAX];
    enum status status;

    if (tree->has_rcp) {
        (void)snprintf(path, sizeof path, "%s/rcp/%s", tree->dir, name);
        status = read_file(path, RCP_BYTES_MAX, &entry->arena, &text, err);
        if (status != ST_OK)
            return status;
    }
    status = rcp_parse(text, &entry->arena, set, &fault);
    return status == ST_OK ? ST_OK
                           : error_set_code(err, status, fault.code, fault.field, fault.hint,
                                            "rcp/%s, line %d: %s", name, fault.line, fault.detail);
}

/* At most bytes_max of it. */
static enum status read_file(const char *path, size_t bytes_max, struct arena *arena,
                             struct str *bytes, struct error *err)
{
    FILE *in = fopen(path, "rbe");
    enum status status = ST_OK;
    struct stat info;
    char *data;

    if (in == NULL)
        return error_set(err, errno == ENOENT ? ST_NOT_FOUND : ST_IO, NULL, "cannot open %s", path);
    if (fstat(fileno(in), &info) != 0) {
        status = error_set(err, ST_IO, NULL, "cannot read %s", path);
        goto done;
    }
    bytes->len = (size_t)info.st_size < bytes_max ? (size_t)info.st_size : bytes_max;
    data = arena_alloc(arena, bytes->len + 1, 1);
    if (data == NULL)
        status = error_set(err, ST_NO_MEMORY, NULL, "no memory to read %s", path);
    else if (fread(data, 1, bytes->len, in) != bytes->len)
        status = error_set(err, ST_IO, NULL, "cannot read %s", path);
    bytes->data = data;
done:
    (void)fclose(in); /* only read from */
    return status;
}
