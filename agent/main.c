/* agent/main.c: daybreak-agent: everything that runs on a training host. One table of commands. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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
    {"infer", command_infer, "time a trained model on one item at a time"},
    {"evaluate", command_evaluate, "score a trained model on data that it has not seen"},
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

static void print_version(void)
{
    (void)printf("%s %s (%s)\n", AGENT_PROGRAM, build_id(), build_compiler());
}

/* Started with one of them closed, the next file that is opened would take its number, and messages would land in
 * that file: events.ndjson, say. */
static void open_standard_files(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            (void)open("/dev/null", fd == STDIN_FILENO ? O_RDONLY : O_WRONLY); /* the lowest: fd */
}

/* Results that could not be written (a full disk behind stdout) are no success. */
static int end_output(int code)
{
    if (fflush(stdout) == 0 && ferror(stdout) == 0)
        return code;
    (void)fprintf(stderr, "cannot write the results: %s\n", strerrordesc_np(errno));
    return code != 0 ? code : status_exit_code(ST_IO);
}

static int run_command(const struct command *command, int argc, char **argv)
{
    if (argc == 1 && strcmp(argv[0], "--version") == 0) {
        print_version();
        return 0;
    }
    return command->run(argc, argv);
}

int main(int argc, char **argv)
{
    open_standard_files();
    if (argc < 2) {
        print_help(stderr);
        return status_exit_code(ST_USAGE);
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        print_help(stdout);
        return end_output(0);
    }
    if (strcmp(argv[1], "--version") == 0) {
        print_version();
        return end_output(0);
    }
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        if (strcmp(argv[1], commands[i].name) == 0)
            return end_output(run_command(&commands[i], argc - 2, argv + 2));
    (void)fprintf(stderr, "%s knows no command \"%s\": see --help\n", AGENT_PROGRAM, argv[1]);
    return status_exit_code(ST_USAGE);
}
