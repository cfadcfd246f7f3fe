/* server/command/import.c: `daybreakd import DIR`: a DAWNBench tree as accepted history. What the database knows
 * already (by task and name) is left alone, so the command can be run again.
 * Entries are handed to the writer in windows: their commands share a COMMIT instead of having one each. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/task.h"
#include "server/api/accept.h"
#include "server/command/command.h"
#include "server/command/facets.h"
#include "server/command/files.h"
#include "server/store/store.h"
#include "server/store/verbs.h"
#include "server/store/writer.h"

enum { WINDOW = 64, MS_PER_DAY = 86400000, PATH_BYTES_MAX = 4096, LIST_BYTES_MAX = 8 << 20 };

struct import_job { /* one entry on its way to the writer */
    struct import *import;
    struct command command;
    struct import_entry args;
    struct new_entry entry;
    struct intake_source progress;
    struct arena arena;
    const char *path;
};

struct import {
    const char *dir;
    struct store *store;
    struct facets facets;
    struct import_job *jobs; /* WINDOW of them */
    size_t job_count;
    size_t taken, known, refused, warnings;
    pthread_mutex_t lock;
    pthread_cond_t done;
    size_t waiting; /* guarded by lock: pushed and not complete */
};

static enum status import_tree(struct import *import, const struct task_table *tasks,
                               struct error *err);
static enum status read_facets(struct import *import, struct error *err);
static enum status import_folder(struct import *import, const struct task *task, struct error *err);
static enum status import_entry(struct import *import, const struct task *task, const char *name,
                                struct error *err);
static enum status read_pair(const char *folder, const char *name, struct intake_input *input,
                             struct import_job *job, const char **progress_path, struct error *err);
static enum status push_job(struct import *import, struct import_job *job, struct error *err);
static void job_complete(struct command *command);
static enum status finish_window(struct import *import, struct error *err);
static int exit_code_of(const struct import *import);

int command_import(int argc, char *const *argv)
{
    struct import import = {.lock = PTHREAD_MUTEX_INITIALIZER, .done = PTHREAD_COND_INITIALIZER};
    const char **arguments = calloc((size_t)argc + 1, sizeof *arguments);
    const char *db = command_default_db();
    struct task_table *tasks = NULL;
    struct error err = {0};
    int argument_count = 0, exit_code = 4;
    const struct opt opts[] = {{.name = "db",
                                .kind = OPT_TEXT,
                                .value = &db,
                                .argument = "FILE",
                                .help = "the database; made if it is not there"}};
    const struct opt_command command = {
        .program = "daybreakd",
        .name = "import",
        .arguments = "DIR",
        .argument_min = 1,
        .argument_max = 1,
        .opts = opts,
        .opt_count = ARRAY_LEN(opts),
        .summary = "Takes a DAWNBench tree (<Task>/<train|inference>/NAME.json, NAME.tsv) as "
                   "accepted history. Exit 1: some refused, 2: nothing taken.",
    };

    import.jobs = calloc(WINDOW, sizeof *import.jobs);
    if (arguments == NULL || import.jobs == NULL) {
        (void)error_set(&err, ST_NO_MEMORY, NULL, "out of memory");
        goto done;
    }
    if (!command_parse(&command, argc, argv, arguments, &argument_count, &exit_code))
        goto done;
    import.dir = arguments[0];
    if (task_table_create(&tasks, &err) == ST_OK && read_facets(&import, &err) == ST_OK &&
        files_make_parent(db, &err) == ST_OK) {
        const struct store_options options = {.path = db, .tasks = tasks};

        if (store_open(&options, &import.store, &err) == ST_OK)
            (void)import_tree(&import, tasks, &err);
    }
    exit_code = exit_code_of(&import);
done:
    store_close(import.store);
    task_table_destroy(tasks);
    facets_fini(&import.facets);
    free(import.jobs);
    free(arguments);
    return err.status == ST_OK ? exit_code : command_fail("import", &err);
}

static enum status import_tree(struct import *import, const struct task_table *tasks,
                               struct error *err)
{
    enum status status = ST_OK;

    for (size_t i = 0; i < tasks->count && status == ST_OK; i++)
        if (tasks->tasks[i].dawnbench != NULL)
            status = import_folder(import, &tasks->tasks[i], err);
    if (finish_window(import, err) != ST_OK)
        status = err->status;
    if (status != ST_OK)
        return status;
    log_event(LOG_INFO, "import", "taken=%zu known=%zu refused=%zu warnings=%zu", import->taken,
              import->known, import->refused, import->warnings);
    if (import->taken + import->known + import->refused == 0)
        return error_set(err, ST_NOT_FOUND, NULL,
                         "%s has no <Task>/<train|inference>/NAME.json of a task that we know",
                         import->dir);
    return ST_OK;
}

static enum status read_facets(struct import *import, struct error *err)
{
    struct facets *facets = &import->facets;
    char path[PATH_BYTES_MAX];
    struct error missing = {0}, fault = {0};
    struct str bytes;
    enum status status;

    facets_init(facets);
    if (snprintf(path, sizeof path, "%s/facets.tsv", import->dir) >= (int)sizeof path)
        return error_set(err, ST_LIMIT, NULL, "the path of the tree is too long");
    status = files_read(path, &facets->arena, &bytes, &missing);
    if (status == ST_NOT_FOUND)
        return ST_OK; /* a tree need not have one */
    if (status != ST_OK)
        return error_set(err, status, NULL, "%s", missing.detail);
    status = facets_parse(bytes, facets, &fault);
    return status == ST_OK
               ? ST_OK
               : error_set(err, status, NULL, "%s, line %d: %s", path, fault.line, fault.detail);
}

static enum status import_folder(struct import *import, const struct task *task, struct error *err)
{
    char folder[PATH_BYTES_MAX];
    struct error missing = {0};
    const char **names = NULL;
    struct arena arena;
    enum status status;
    size_t count = 0;

    if (snprintf(folder, sizeof folder, "%s/%s/%s", import->dir, task->dawnbench,
                 task_phase_name(task->phase)) >= (int)sizeof folder)
        return error_set(err, ST_LIMIT, NULL, "the path of the tree is too long");
    arena_init(&arena, LIST_BYTES_MAX);
    status = files_list(folder, ".json", &arena, &names, &count, &missing);
    if (status == ST_NOT_FOUND) {
        status = ST_OK; /* a tree may have some tasks only */
    } else if (status != ST_OK) {
        status = error_set(err, status, NULL, "%s", missing.detail);
    }
    for (size_t i = 0; i < count && status == ST_OK; i++)
        status = import_entry(import, task, names[i], err);
    arena_fini(&arena);
    return status;
}

/* A refused entry is told and counted; only what stops the import is an error. */
static enum status import_entry(struct import *import, const struct task *task, const char *name,
                                struct error *err)
{
    struct import_job *job = &import->jobs[import->job_count];
    struct intake_input input = {.task = task,
                                 .mode = INTAKE_HISTORY,
                                 .whole = true,
                                 .today_days = clock_real_ms() / MS_PER_DAY};
    struct accept_facets facets = {0};
    struct intake_result result;
    const char *progress_path = "";
    struct error fault = {0};
    char folder[PATH_BYTES_MAX], key[PATH_BYTES_MAX];
    enum status status;
    const char *stem;

    (void)snprintf(folder, sizeof folder, "%s/%s/%s", import->dir, task->dawnbench,
                   task_phase_name(task->phase));
    *job = (struct import_job){.import = import};
    arena_init(&job->arena, INTAKE_ARENA_BYTES_MAX + (size_t)4 * FILES_BYTES_MAX);
    status = read_pair(folder, name, &input, job, &progress_path, err);
    if (status == ST_OK)
        status = intake_check(&input, &job->arena, &result, err);
    if (status != ST_OK)
        goto done;
    files_print_findings(&result, job->path, &progress_path);
    import->warnings += result.warning_count;
    (void)snprintf(key, sizeof key, "%s/%s/%s", task->dawnbench, task_phase_name(task->phase),
                   name);
    status = facets_find(&import->facets, key, &facets, err);
    if (status != ST_OK)
        goto done;
    stem = arena_copy(&job->arena,
                      str_from_cstr(name)); /* the list of names goes before the writer is done */
    if (!result.acceptable || accept_fill_entry(task, str_from_cstr(stem), &result.record, &facets,
                                                &job->arena, &job->entry, &fault) != ST_OK) {
        if (fault.status != ST_OK)
            printf("%s:0\terror\t%s\t%s\t%s\t%s\n", job->path, fault.code, fault.field,
                   fault.detail, fault.hint);
        import->refused++;
        goto done;
    }
    job->args = (struct import_entry){.entry = &job->entry,
                                      .files = {.entry = input.entry,
                                                .progress = job->progress.bytes,
                                                .has_progress = input.progress_count > 0}};
    return push_job(import, job, err);
done:
    arena_fini(&job->arena);
    return status;
}

static enum status read_pair(const char *folder, const char *name, struct intake_input *input,
                             struct import_job *job, const char **progress_path, struct error *err)
{
    const char *entry_path = arena_printf(&job->arena, "%s/%s.json", folder, name);
    struct error missing = {0};
    enum status status;

    *progress_path = arena_printf(&job->arena, "%s/%s.tsv", folder, name);
    if (entry_path == NULL || *progress_path == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "out of memory");
    job->path = entry_path;
    status = files_read(entry_path, &job->arena, &input->entry, err);
    if (status != ST_OK)
        return status;
    input->has_entry = true;
    if (input->task->phase != TASK_TRAIN)
        return ST_OK;
    status = files_read(*progress_path, &job->arena, &job->progress.bytes, &missing);
    input->progress = &job->progress;
    input->progress_count = status == ST_OK ? 1 : 0;
    if (status == ST_OK || status == ST_NOT_FOUND)
        return ST_OK; /* that it is missing is a finding */
    return error_set(err, status, NULL, "%s", missing.detail);
}

static enum status push_job(struct import *import, struct import_job *job, struct error *err)
{
    enum status status;

    job->command = (struct command){.verb = verb_import_entry,
                                    .args = &job->args,
                                    .arena = &job->arena,
                                    .complete = job_complete,
                                    .opaque = job};
    (void)pthread_mutex_lock(&import->lock);
    import->waiting++;
    (void)pthread_mutex_unlock(&import->lock);
    status = store_push(import->store, &job->command, err);
    if (status != ST_OK) {
        (void)pthread_mutex_lock(&import->lock);
        import->waiting--;
        (void)pthread_mutex_unlock(&import->lock);
        arena_fini(&job->arena);
        return status;
    }
    import->job_count++;
    return import->job_count == WINDOW ? finish_window(import, err) : ST_OK;
}

/* On the writer's thread. */
static void job_complete(struct command *command)
{
    struct import *import = ((struct import_job *)command->opaque)->import;

    (void)pthread_mutex_lock(&import->lock);
    if (--import->waiting == 0)
        (void)pthread_cond_signal(&import->done);
    (void)pthread_mutex_unlock(&import->lock);
}

/* Waits for all that was pushed, and counts. A conflict refuses one entry; anything else stops the import. */
static enum status finish_window(struct import *import, struct error *err)
{
    enum status status = ST_OK;

    (void)pthread_mutex_lock(&import->lock);
    while (import->waiting > 0)
        (void)pthread_cond_wait(&import->done, &import->lock);
    (void)pthread_mutex_unlock(&import->lock);
    for (size_t i = 0; i < import->job_count; i++) {
        struct import_job *job = &import->jobs[i];
        const struct command *command = &job->command;

        if (command->status == ST_OK) {
            import->known += job->args.known ? 1 : 0;
            import->taken += job->args.known ? 0 : 1;
        } else if (command->status == ST_CONFLICT || command->status == ST_INVALID) {
            printf("%s:0\terror\t%s\t%s\t%s\t%s\n", job->path, command->err.code,
                   command->err.field, command->err.detail, command->err.hint);
            import->refused++;
        } else if (status == ST_OK) {
            status =
                error_set(err, command->status, NULL, "%s: %s", job->path, command->err.detail);
        }
        arena_fini(&job->arena);
    }
    import->job_count = 0;
    return status;
}

static int exit_code_of(const struct import *import)
{
    if (import->refused == 0)
        return 0;
    return import->taken + import->known > 0 ? 1 : 2;
}
