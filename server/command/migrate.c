/* server/command/migrate.c: `daybreakd migrate`: brings a database up to this program's version. serve and import
 * do so by themselves; this is for those who want to see it happen first, on a copy. */
#include <stdio.h>
#include <stdlib.h>

#include "common/task.h"
#include "server/command/command.h"
#include "server/command/files.h"
#include "server/store/store.h"

static enum status migrate(const char *db, struct error *err);

int command_migrate(int argc, char *const *argv)
{
    const char **arguments = calloc((size_t)argc + 1, sizeof *arguments);
    const char *db = command_default_db();
    struct error err = {0};
    int argument_count = 0, exit_code = 4;
    const struct opt opts[] = {{.name = "db",
                                .kind = OPT_TEXT,
                                .value = &db,
                                .argument = "FILE",
                                .help = "the database; made if it is not there"}};
    const struct opt_command command = {
        .program = "daybreakd",
        .name = "migrate",
        .arguments = "",
        .opts = opts,
        .opt_count = ARRAY_LEN(opts),
        .summary = "Brings a database up to this program's version and prints that version.",
    };

    if (arguments == NULL)
        (void)error_set(&err, ST_NO_MEMORY, NULL, "out of memory");
    else if (command_parse(&command, argc, argv, arguments, &argument_count, &exit_code))
        exit_code = migrate(db, &err) == ST_OK ? 0 : status_exit_code(err.status);
    free(arguments);
    return err.status == ST_OK ? exit_code : command_fail("migrate", &err);
}

static enum status migrate(const char *db, struct error *err)
{
    struct task_table *tasks = NULL;
    struct store *store = NULL;
    enum status status = files_make_parent(db, err);

    if (status == ST_OK)
        status = task_table_create(&tasks, err);
    if (status == ST_OK) {
        const struct store_options options = {.path = db, .tasks = tasks};

        status = store_open(&options, &store, err);
    }
    if (status == ST_OK && (printf("%d\n", store_schema_version()) < 0 || fflush(stdout) != 0))
        status = error_set(err, ST_IO, NULL, "cannot write to stdout");
    store_close(store);
    task_table_destroy(tasks);
    return status;
}
