/* server/command/check.c: `daybreakd check`: the validator alone, with the same code and words as the API. */
#include <stdio.h>
#include <stdlib.h>

#include "common/arena.h"
#include "common/clock.h"
#include "common/entry.h"
#include "common/task.h"
#include "server/command/command.h"
#include "server/command/files.h"
#include "server/intake/intake.h"

enum { MS_PER_DAY = 86400000 };

struct check {
    const struct task_table *tasks;
    const char *task_id; /* NULL: by path */
    bool history, list_codes;
    const char **paths;
    int path_count;
    bool *done;      /* beside paths: judged with those that belong to it */
    int entry_count; /* of the paths */
    int exit_code;
    size_t error_count, warning_count, advice_count, judged_count;
};

static enum status find_task(const struct check *check, const char *path, const struct task **task,
                             struct error *err);
static enum status check_path(struct check *check, int index, struct error *err);
static bool belongs(const struct check *check, int index, int other);
static enum status read_file(const char *path, struct arena *arena, bool *is_entry,
                             struct str *bytes, struct error *err);
static void take_result(struct check *check, const struct intake_result *result);
static void print_codes(void);

int command_check(int argc, char *const *argv)
{
    struct check check = {0};
    struct task_table *tasks = NULL;
    struct error err = {0};
    const struct opt opts[] = {
        {.name = "task",
         .kind = OPT_TEXT,
         .value = &check.task_id,
         .argument = "T",
         .help = "the task; without it the path ends in <Task>/<train|inference>/NAME"},
        {.name = "history",
         .kind = OPT_FLAG,
         .value = &check.history,
         .help = "judge as `import` does: published entries, no advice"},
        {.name = "codes",
         .kind = OPT_FLAG,
         .value = &check.list_codes,
         .help = "print every code instead: severity, code, meaning, hint"},
    };
    const struct opt_command command = {
        .program = "daybreakd",
        .name = "check",
        .arguments = "FILE..",
        .argument_min = 0,
        .argument_max = -1,
        .opts = opts,
        .opt_count = ARRAY_LEN(opts),
        .summary =
            "Judges NAME.json and NAME.tsv; of one NAME.json with several .tsv each is a run. "
            "Prints FILE:LINE, severity, code, field, detail, hint. Exit 1: warnings, 2: errors.",
    };

    check.paths = calloc((size_t)argc + 1, sizeof *check.paths);
    check.done = calloc((size_t)argc + 1, sizeof *check.done);
    if (check.paths == NULL || check.done == NULL) {
        (void)error_set(&err, ST_NO_MEMORY, NULL, "out of memory");
        check.exit_code = command_fail("check", &err);
        goto done;
    }
    if (!command_parse(&command, argc, argv, check.paths, &check.path_count, &check.exit_code))
        goto done;
    if (check.list_codes) {
        print_codes();
        goto done;
    }
    if (check.path_count == 0)
        (void)error_set(&err, ST_USAGE, NULL, "name the files to judge");
    if (err.status != ST_OK || task_table_create(&tasks, &err) != ST_OK) {
        check.exit_code = command_fail("check", &err);
        goto done;
    }
    check.tasks = tasks;
    for (int i = 0; i < check.path_count; i++)
        check.entry_count += str_eq(files_split(check.paths[i]).ending, STR(".json")) ? 1 : 0;
    for (int i = 0; i < check.path_count; i++)
        if (!check.done[i] && check_path(&check, i, &err) != ST_OK) {
            check.exit_code = command_fail("check", &err);
            goto done;
        }
    (void)fprintf(stderr, "judged=%zu errors=%zu warnings=%zu advice=%zu\n", check.judged_count,
                  check.error_count, check.warning_count, check.advice_count);
    check.exit_code = check.error_count > 0 ? 2 : check.warning_count > 0 ? 1 : 0;
done:
    task_table_destroy(tasks);
    free(check.done);
    free(check.paths);
    return check.exit_code;
}

static enum status find_task(const struct check *check, const char *path, const struct task **task,
                             struct error *err)
{
    const struct files_path parts = files_split(path);

    if (check->task_id != NULL)
        *task = task_find(check->tasks, str_from_cstr(check->task_id));
    else
        *task = task_find_dawnbench(check->tasks, parts.folder, parts.phase);
    if (*task != NULL)
        return ST_OK;
    if (check->task_id != NULL)
        return error_set(err, ST_USAGE, "task", "there is no task %s", check->task_id);
    return error_set(err, ST_USAGE, "task",
                     "%s does not end in <Task>/<train|inference>/NAME: say which task with --task",
                     path);
}

/* Judges a file together with those that belong to it: NAME.json and NAME.tsv; where one entry is named alone, all
 * progress files that are named are its runs, in their order. */
static enum status check_path(struct check *check, int index, struct error *err)
{
    struct intake_source sources[ENTRY_RUNS_MAX];
    struct intake_input input = {.mode = check->history ? INTAKE_HISTORY : INTAKE_NEW,
                                 .progress = sources,
                                 .today_days = clock_real_ms() / MS_PER_DAY};
    const char *entry_path = NULL, *progress_paths[ENTRY_RUNS_MAX];
    struct intake_result result;
    struct arena arena;
    enum status status;

    arena_init(&arena, INTAKE_ARENA_BYTES(ENTRY_PROGRESS_BYTES_MAX) +
                           (size_t)(ENTRY_RUNS_MAX + 1) * FILES_BYTES_MAX);
    status = find_task(check, check->paths[index], &input.task, err);
    for (int i = index; i < check->path_count && status == ST_OK; i++) {
        const char *path = check->paths[i];
        struct str bytes;
        bool is_entry;

        if (check->done[i] || (i != index && !belongs(check, index, i)))
            continue;
        status = read_file(path, &arena, &is_entry, &bytes, err);
        check->done[i] = true;
        check->judged_count++;
        if (is_entry) {
            input.has_entry = true;
            input.entry = bytes;
            entry_path = path;
        } else if (input.progress_count == ENTRY_RUNS_MAX) {
            status = error_set(err, ST_USAGE, NULL, "an entry has at most %d progress files",
                               ENTRY_RUNS_MAX);
        } else {
            progress_paths[input.progress_count] = path;
            sources[input.progress_count++] = (struct intake_source){files_base_name(path), bytes};
        }
    }
    if (status == ST_OK)
        status = intake_check(&input, &arena, &result, err);
    if (status == ST_OK) {
        if (input.progress_count == 0)
            progress_paths[0] = entry_path; /* that it is missing */
        files_print_findings(&result, entry_path, progress_paths);
        take_result(check, &result);
    }
    arena_fini(&arena);
    return status;
}

/* Whether two arguments are files of one submission. */
static bool belongs(const struct check *check, int index, int other)
{
    const struct str path = str_from_cstr(check->paths[index]);
    const struct str other_path = str_from_cstr(check->paths[other]);
    const struct str ending = files_split(check->paths[index]).ending;
    const struct str other_ending = files_split(check->paths[other]).ending;
    const bool is_entry = str_eq(ending, STR(".json")),
               other_is_entry = str_eq(other_ending, STR(".json"));

    if (is_entry && other_is_entry)
        return false;
    if (check->entry_count == 1)
        return true;
    return is_entry != other_is_entry && (is_entry || other_is_entry) &&
           str_eq(str_slice(path, 0, path.len - ending.len),
                  str_slice(other_path, 0, other_path.len - other_ending.len));
}

static enum status read_file(const char *path, struct arena *arena, bool *is_entry,
                             struct str *bytes, struct error *err)
{
    const struct str ending = files_split(path).ending;

    *is_entry = str_eq(ending, STR(".json"));
    if (!*is_entry && !str_eq(ending, STR(".tsv")))
        return error_set(err, ST_USAGE, NULL, "%s ends neither in .json nor in .tsv", path);
    return files_read(path, arena, bytes, err);
}

static void take_result(struct check *check, const struct intake_result *result)
{
    check->error_count += result->error_count;
    check->warning_count += result->warning_count;
    check->advice_count += result->advice_count;
}

static void print_codes(void)
{
    for (size_t i = 0; i < intake_code_count; i++)
        printf("%s\t%s\t%s\t%s\n", intake_severity_name(intake_codes[i].severity),
               intake_codes[i].code, intake_codes[i].meaning, intake_codes[i].hint);
}
