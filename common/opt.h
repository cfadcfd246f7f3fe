/* common/opt.h: command lines. A command describes its options as a table; opt_parse() reads argv by it
 * and opt_print_help() prints it, so help and behaviour cannot drift apart.
 * Ownership: values borrow argv. Threads: one, at start. */
#ifndef DAYBREAK_COMMON_OPT_H
#define DAYBREAK_COMMON_OPT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/status.h"

enum opt_kind { OPT_FLAG, OPT_TEXT, OPT_INT, OPT_DOUBLE };

struct opt {
    const char *name; /* "listen" for --listen VALUE and --listen=VALUE */
    enum opt_kind kind;
    void *value;          /* bool *, const char **, int64_t *, double *: holds the default */
    bool *given;          /* set when present on the line; may be NULL */
    int64_t min, max;     /* OPT_INT only, inclusive; both 0: any */
    const char *argument; /* "HOST:PORT", for help; NULL for a flag */
    const char *help;     /* one line */
};

struct opt_command {
    const char *program, *name;     /* "daybreakd", "import" */
    const char *arguments;          /* "DIR", "FILE.."; "" for none */
    int argument_min, argument_max; /* max < 0: any number */
    const char *summary;            /* one line */
    const struct opt *opts;
    size_t opt_count;
};

/* Parses argv[0..argc), the words after the command's name. Options and arguments may be mixed; "--"
 * ends options; giving an option twice is a fault. Arguments are gathered in arguments[] (argc places).
 * *help is set and ST_OK returned when --help or -h is there. Faults: ST_USAGE with one sentence. */
enum status opt_parse(const struct opt_command *command, int argc, char *const *argv,
                      const char **arguments, int *argument_count, bool *help, struct error *err);
void opt_print_help(const struct opt_command *command, FILE *out);

/* Parses, and answers what needs no work of the command: prints the help, or what is wrong with the words. Returns the
 * arguments, a list for free(); NULL: the program ends with *code. */
const char **opt_begin(const struct opt_command *command, int argc, char *const *argv,
                       int *argument_count, int *code);

#endif
