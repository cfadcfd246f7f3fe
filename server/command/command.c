/* server/command/command.c: see command.h. */
#include "server/command/command.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/str.h"

const char *command_default_db(void)
{
    const char *path = getenv("DAYBREAK_DB"); /* main's thread, before any other runs */

    return path != NULL && path[0] != '\0' ? path : "var/daybreak.db";
}

bool command_parse(const struct opt_command *command, int argc, char *const *argv,
                   const char **arguments, int *argument_count, int *exit_code)
{
    struct error err = {0};
    bool help;

    *exit_code = 0;
    if (opt_parse(command, argc, argv, arguments, argument_count, &help, &err) != ST_OK) {
        *exit_code = command_fail(command->name, &err);
        return false;
    }
    if (help)
        opt_print_help(command, stdout);
    return !help;
}

int command_fail(const char *name, const struct error *err)
{
    (void)fprintf(stderr, "daybreakd %s: %s%s%s\n", name, err->detail,
                  err->hint[0] == '\0' ? "" : "; ", err->hint);
    return status_exit_code(err->status);
}
