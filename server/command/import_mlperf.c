/* server/command/import_mlperf.c: `daybreakd import-mlperf DIR`: a tree of MLPerf's training logs, judged by the rules of
 * their rounds, as accepted history, or, with --format tsv, as a table alone. What the database knows already (by task
 * and name) is left alone. Entries are handed to the writer in windows, as import.c does. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/task.h"
#include "server/api/mlperf_accept.h"
#include "server/command/command.h"
#include "server/command/files.h"
#include "server/command/mlperf_tables.h"
#include "server/command/mlperf_tree.h"
#include "server/store/store.h"
#include "server/store/verbs.h"
#include "server/store/writer.h"

enum { OUTPUT_BYTES_MAX = 64 << 20, WINDOW = 4 };

struct import_job { /* one entry on its way to the writer */
    struct import *import;
    struct mlperf_entry entry;
    struct command command;
    struct import_entry args;
    struct new_entry new_entry;
};

struct import {
    const char *dir, *format, *table_text, *db;
    enum mlperf_table table;
    struct mlperf_rules *rules;
    struct mlperf_tree tree;
    struct task_table *tasks;
    struct store *store;
    struct import_job *jobs; /* WINDOW of them */
    size_t job_count;
    size_t taken, known, refused;
    pthread_mutex_t lock;
    pthread_cond_t done;
    size_t waiting; /* guarded by lock: pushed and not complete */
};

static enum status read_options(struct import *import, struct error *err);
static enum status print_table(struct import *import, struct error *err);
static enum status store_tree(struct import *import, struct error *err);
static enum status store_entry(struct import *import, size_t index, struct error *err);
static enum status judge_entry(struct import *import, struct import_job *job, size_t index,
                               bool *judged, bool *taken, struct error *err);
static enum status fill_job(struct import *import, struct import_job *job, struct error *fault);
static enum status push_job(struct import *import, struct import_job *job, struct error *err);
static void job_complete(struct command *command);
static enum status finish_window(struct import *import, struct error *err);
static bool is_refusal(enum status status);
static void tell_refusal(struct import *import, const struct mlperf_entry *entry,
                         const struct error *fault);

int command_import_mlperf(int argc, char *const *argv)
{
    struct import import = {.db = command_default_db(),
                            .lock = PTHREAD_MUTEX_INITIALIZER,
                            .done = PTHREAD_COND_INITIALIZER};
    const char **arguments = calloc((size_t)argc + 1, sizeof *arguments);
    struct error err = {0};
    int argument_count = 0, exit_code = 4;
    const struct opt opts[] = {
        {.name = "format",
         .kind = OPT_TEXT,
         .value = &import.format,
         .argument = "FORMAT",
         .help = "tsv: print a table, store nothing"},
        {.name = "table",
         .kind = OPT_TEXT,
         .value = &import.table_text,
         .argument = "TABLE",
         .help = "of the tsv: entries, runs, or rcp (convergence beside the reference's)"},
        {.name = "db",
         .kind = OPT_TEXT,
         .value = &import.db,
         .argument = "FILE",
         .help = "the database; made if it is not there"},
    };
    const struct opt_command command = {
        .program = "daybreakd",
        .name = "import-mlperf",
        .arguments = "DIR",
        .argument_min = 1,
        .argument_max = 1,
        .opts = opts,
        .opt_count = ARRAY_LEN(opts),
        .summary = "Takes a tree of MLPerf training logs (<round>/<submitter>/<system>/<benchmark>/"
                   "result_*.txt[.gz], rcp/) as accepted history. Exit 1: some refused, 2: nothing "
                   "taken.",
    };

    import.jobs = calloc(WINDOW, sizeof *import.jobs);
    if (arguments == NULL || import.jobs == NULL) {
        (void)error_set(&err, ST_NO_MEMORY, NULL, "out of memory");
        exit_code = command_fail("import-mlperf", &err);
        goto done;
    }
    if (!command_parse(&command, argc, argv, arguments, &argument_count, &exit_code))
        goto done;
    import.dir = arguments[0];
    if (read_options(&import, &err) == ST_OK && mlperf_rules_create(&import.rules, &err) == ST_OK &&
        mlperf_tree_open(import.dir, import.rules, &import.tree, &err) == ST_OK)
        (void)(import.format != NULL ? print_table(&import, &err) : store_tree(&import, &err));
    exit_code = import.refused == 0 ? 0 : import.taken + import.known > 0 ? 1 : 2;
    if (err.status != ST_OK)
        exit_code = command_fail("import-mlperf", &err);
done:
    store_close(import.store);
    task_table_destroy(import.tasks);
    mlperf_tree_close(&import.tree);
    mlperf_rules_destroy(import.rules);
    free(import.jobs);
    free(arguments);
    return exit_code;
}

static enum status read_options(struct import *import, struct error *err)
{
    static const char *const tables[] = {
        [MLPERF_ENTRIES] = "entries", [MLPERF_RUNS] = "runs", [MLPERF_RCP] = "rcp"};
    size_t i = 0;

    if (import->format != NULL && strcmp(import->format, "tsv") != 0)
        return error_set(err, ST_USAGE, "format", "--format is tsv");
    if (import->table_text == NULL)
        return ST_OK;
    if (import->format == NULL)
        return error_set(err, ST_USAGE, "table", "--table goes with --format tsv");
    while (i < ARRAY_LEN(tables) && strcmp(import->table_text, tables[i]) != 0)
        i++;
    if (i == ARRAY_LEN(tables))
        return error_set(err, ST_USAGE, "table", "--table is entries, runs or rcp");
    import->table = (enum mlperf_table)i;
    return ST_OK;
}

static enum status print_table(struct import *import, struct error *err)
{
    struct import_job *job = &import->jobs[0];
    enum status status = task_table_create(&import->tasks, err);
    struct buf out;

    buf_init(&out, OUTPUT_BYTES_MAX);
    mlperf_table_begin(&out, import->table);
    for (size_t i = 0; i < import->tree.path_count && status == ST_OK; i++) {
        bool judged, taken;

        status = judge_entry(import, job, i, &judged, &taken, err);
        if (status == ST_OK && judged)
            mlperf_table_add(&out, import->table, &job->entry, taken);
        if (status == ST_OK && taken)
            import->taken++;
        mlperf_entry_fini(&job->entry);
    }
    if (status == ST_OK)
        status = buf_check(&out, err);
    if (status == ST_OK && (fwrite(out.data, 1, out.len, stdout) != out.len || fflush(stdout) != 0))
        status = error_set(err, ST_IO, NULL, "cannot write to stdout");
    log_event(LOG_INFO, "import-mlperf", "taken=%zu refused=%zu reference_points=%s", import->taken,
              import->refused, import->tree.has_rcp ? "tree" : "built-in");
    buf_fini(&out);
    return status;
}

static enum status store_tree(struct import *import, struct error *err)
{
    enum status status = task_table_create(&import->tasks, err);

    if (status == ST_OK)
        status = files_make_parent(import->db, err);
    if (status == ST_OK)
        status = store_open(&(struct store_options){.path = import->db, .tasks = import->tasks},
                            &import->store, err);
    for (size_t i = 0; i < import->tree.path_count && status == ST_OK; i++)
        status = store_entry(import, i, err);
    if (finish_window(import, err) != ST_OK)
        status = err->status;
    log_event(LOG_INFO, "import-mlperf", "taken=%zu known=%zu refused=%zu reference_points=%s",
              import->taken, import->known, import->refused,
              import->tree.has_rcp ? "tree" : "built-in");
    return status;
}

static enum status store_entry(struct import *import, size_t index, struct error *err)
{
    struct import_job *job = &import->jobs[import->job_count];
    bool judged, taken;
    const enum status status = judge_entry(import, job, index, &judged, &taken, err);

    if (status == ST_OK && taken)
        return push_job(import, job, err);
    mlperf_entry_fini(&job->entry);
    return status;
}

/* The one judge of a table and of the store. A refused entry is told and counted; only what stops the import is an
 * error. judged: it has a result, be it refused. */
static enum status judge_entry(struct import *import, struct import_job *job, size_t index,
                               bool *judged, bool *taken, struct error *err)
{
    struct error fault = {0};
    enum status status;

    job->import = import;
    status = mlperf_entry_load(&import->tree, index, &job->entry, &fault);
    *judged = status == ST_OK;
    if (status == ST_OK && !job->entry.result.refused)
        status = fill_job(import, job, &fault);
    *taken = status == ST_OK && !job->entry.result.refused;
    if (*taken)
        return ST_OK;
    if (status != ST_OK && !is_refusal(status))
        return error_set(err, status, NULL, "%s: %s", job->entry.path, fault.detail);
    tell_refusal(import, &job->entry, &fault);
    return ST_OK;
}

static enum status fill_job(struct import *import, struct import_job *job, struct error *fault)
{
    const struct mlperf_entry *entry = &job->entry;
    const struct mlperf_source source = {
        .task = task_find(import->tasks, str_from_cstr(entry->benchmark->task)),
        .benchmark = entry->benchmark,
        .submitter = entry->submitter,
        .system = entry->system,
        .description = &entry->description,
        .result = &entry->result,
        .bytes = entry->bytes,
    };

    if (source.task == NULL)
        return error_set(fault, ST_INTERNAL, NULL, "there is no task %s", entry->benchmark->task);
    if (!entry->result.has_score)
        return error_set_code(fault, ST_INVALID, "no_score", NULL, NULL,
                              "it has no score: %zu of %zu runs converged",
                              entry->result.converged_count, entry->result.run_count);
    job->args = (struct import_entry){.entry = &job->new_entry};
    return mlperf_fill_entry(&source, &job->entry.arena, &job->new_entry, &job->args.files, fault);
}

static enum status push_job(struct import *import, struct import_job *job, struct error *err)
{
    enum status status;

    job->command = (struct command){.verb = verb_import_entry,
                                    .args = &job->args,
                                    .arena = &job->entry.arena,
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
        mlperf_entry_fini(&job->entry);
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

static enum status finish_window(struct import *import, struct error *err)
{
    enum status status = ST_OK;

    (void)pthread_mutex_lock(&import->lock);
    while (import->waiting > 0)
        (void)pthread_cond_wait(&import->done, &import->lock);
    (void)pthread_mutex_unlock(&import->lock);
    for (size_t i = 0; i < import->job_count; i++) {
        struct import_job *job = &import->jobs[i];

        if (job->command.status == ST_OK) {
            import->known += job->args.known ? 1 : 0;
            import->taken += job->args.known ? 0 : 1;
        } else if (job->command.status == ST_CONFLICT || is_refusal(job->command.status)) {
            tell_refusal(import, &job->entry, &job->command.err);
        } else if (status == ST_OK) {
            status = error_set(err, job->command.status, NULL, "%s: %s", job->entry.path,
                               job->command.err.detail);
        }
        mlperf_entry_fini(&job->entry);
    }
    import->job_count = 0;
    return status;
}

static bool is_refusal(enum status status)
{
    return status == ST_INVALID || status == ST_LIMIT;
}

/* One sentence an entry, on stderr: stdout is the table's. */
static void tell_refusal(struct import *import, const struct mlperf_entry *entry,
                         const struct error *fault)
{
    import->refused++;
    (void)fprintf(stderr, "daybreakd import-mlperf: %s is refused: %s\n", entry->path,
                  fault->status != ST_OK ? fault->detail : entry->result.refusal->detail);
}
