/* agent/main.c: daybreak-agent: everything that runs on a training host. One table of commands. */
#include <stdio.h>
#include <string.h>

#include "agent/command.h"
#include "common/build.h"
#include "common/status.h"

struct command {
    const char *name;
    int (*run)(int argc, char *const *argv);
    const char *summary; /* NULL: hidden */
};

static const struct command commands[] = {
    {"run", command_run, "pull jobs from a server until drained"},
    {"train", command_train, "train a workload, without a server"},
    {"data", command_data, "fetch or verify a data set"},
    {"submit", command_submit, "send an entry to a server"},
    {"bench", command_bench, "time each kernel beside this host's ceilings"},
    {"devices", command_devices, "say what this host has and which kernels it runs"},
    {"child", command_child, NULL},
};

static void print_help(FILE *out)
{
    (void)fprintf(out, "usage: %s COMMAND ...\n\n", AGENT_PROGRAM);
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        if (commands[i].summary != NULL)
            (void)fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].summary);
    (void)fprintf(out, "  %-10s %s\n  %-10s %s\n", "--help", "print this; COMMAND --help says more",
                  "--version", "print the version and its build");
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stderr);
        return status_exit_code(ST_USAGE);
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        print_help(stdout);
        return 0;
    }
    if (strcmp(argv[1], "--version") == 0) {
        (void)printf("%s %s (%s)\n", AGENT_PROGRAM, build_id(), build_compiler());
        return 0;
    }
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        if (strcmp(argv[1], commands[i].name) == 0)
            return commands[i].run(argc - 2, argv + 2);
    (void)fprintf(stderr, "%s knows no command \"%s\": see --help\n", AGENT_PROGRAM, argv[1]);
    return status_exit_code(ST_USAGE);
}
