/* server/command/command.h: the commands of daybreakd, one file each, and what they share.
 * A command gets the words after its name and returns the program's exit code: 0 good, 1 and 2 by what it judged,
 * 3 wrong usage, 4 could not run (design.md, Programs). Threads: main. */
#ifndef DAYBREAK_SERVER_COMMAND_COMMAND_H
#define DAYBREAK_SERVER_COMMAND_COMMAND_H

#include "common/opt.h"
#include "common/status.h"

typedef int command_fn(int argc, char *const *argv);

command_fn command_serve;         /* serve.c */
command_fn command_import;        /* import.c */
command_fn command_import_mlperf; /* import_mlperf.c */
command_fn command_check;         /* check.c */
command_fn command_board;         /* board.c */
command_fn command_token;         /* token.c */
command_fn command_prices;        /* prices.c */
command_fn command_migrate;       /* migrate.c */

/* --db FILE of every command: DAYBREAK_DB, else var/daybreak.db. */
const char *command_default_db(void);

/* Parses, prints --help on stdout or a fault on stderr. false: return *exit_code at once. arguments has argc
 * places. */
bool command_parse(const struct opt_command *command, int argc, char *const *argv,
                   const char **arguments, int *argument_count, int *exit_code);

/* Prints "daybreakd NAME: sentence" on stderr and returns the status's exit code. */
int command_fail(const char *name, const struct error *err);

#endif
