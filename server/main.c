/* server/main.c: daybreakd: finds the command and runs it. */
#include <stdio.h>
#include <string.h>

#include "common/build.h"
#include "common/status.h"
#include "server/command/command.h"

struct command_row {
    const char *name;
    command_fn *run;
    const char *summary;
};

static const struct command_row commands[] = {
    {"serve", command_serve, "serve the API and the pages"},
    {"import", command_import, "take a DAWNBench tree as accepted history"},
    {"import-mlperf", command_import_mlperf, "take a tree of MLPerf training logs"},
    {"check", command_check, "judge files as a submission would be judged"},
    {"board", command_board, "print the board of a task"},
    {"token", command_token, "create, list and revoke tokens"},
    {"prices", command_prices, "take price catalogs in, list what they say"},
    {"migrate", command_migrate, "bring a database up to this version"},
};

static void print_help(FILE *out);

int main(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stderr);
        return status_exit_code(ST_USAGE);
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        print_help(stdout);
        return 0;
    }
    if (strcmp(argv[1], "--version") == 0) {
        (void)printf("daybreakd %s (%s)\n", build_id(), build_compiler());
        return 0;
    }
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        if (strcmp(argv[1], commands[i].name) == 0) {
            if (argc == 3 && strcmp(argv[2], "--version") == 0) {
                (void)printf("daybreakd %s (%s)\n", build_id(), build_compiler());
                return 0;
            }
            return commands[i].run(argc - 2, argv + 2);
        }
    (void)fprintf(stderr, "daybreakd: there is no command \"%.100s\": see daybreakd --help\n",
                  argv[1]);
    return status_exit_code(ST_USAGE);
}

static void print_help(FILE *out)
{
    (void)fprintf(out, "usage: daybreakd COMMAND [options]\n\n"
                       "Serves training benchmarks by time-to-accuracy and cost.\n\n");
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        (void)fprintf(out, "  %-13s  %s\n", commands[i].name, commands[i].summary);
    (void)fprintf(out, "\nEvery command has --help and --db FILE (default: DAYBREAK_DB, else "
                       "var/daybreak.db).\n");
}
