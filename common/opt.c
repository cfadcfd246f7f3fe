/* common/opt.c: see opt.h. */
#include "common/opt.h"

#include <assert.h>

#include "common/str.h"

enum { OPTS_MAX = 64 };

static enum status take_option(const struct opt_command *command, int argc, char *const *argv,
                               int *index, uint64_t *seen, struct error *err);
static const struct opt *find_opt(const struct opt_command *command, struct str name);
static enum status store_value(const struct opt *opt, const char *text, struct error *err);
static enum status store_int(const struct opt *opt, const char *text, struct error *err);

enum status opt_parse(const struct opt_command *command, int argc, char *const *argv,
                      const char **arguments, int *argument_count, bool *help, struct error *err)
{
    bool options_ended = false;
    uint64_t seen = 0;

    assert(command->opt_count <= OPTS_MAX);
    *argument_count = 0;
    *help = false;
    for (int i = 0; i < argc; i++) {
        const char *word = argv[i];
        enum status status;

        if (options_ended || word[0] != '-' || word[1] == '\0') {
            arguments[(*argument_count)++] = word;
            continue;
        }
        if (strcmp(word, "--") == 0) {
            options_ended = true;
            continue;
        }
        if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
            *help = true;
            return ST_OK;
        }
        status = take_option(command, argc, argv, &i, &seen, err);
        if (status != ST_OK)
            return status;
    }
    if (*argument_count < command->argument_min)
        return error_set(err, ST_USAGE, NULL, "%s %s needs %s: see --help", command->program,
                         command->name, command->arguments);
    if (command->argument_max >= 0 && *argument_count > command->argument_max)
        return error_set(err, ST_USAGE, NULL, "%s %s does not know what to do with \"%.100s\"",
                         command->program, command->name, arguments[command->argument_max]);
    return ST_OK;
}

void opt_print_help(const struct opt_command *command, FILE *out)
{
    int width = (int)strlen("--help");

    for (size_t i = 0; i < command->opt_count; i++) {
        const struct opt *opt = &command->opts[i];
        const int length = 2 + (int)strlen(opt->name) +
                           (opt->argument == NULL ? 0 : 1 + (int)strlen(opt->argument));

        width = length > width ? length : width;
    }
    (void)fprintf(out, "usage: %s %s%s%s%s\n\n%s\n\n", command->program, command->name,
                  command->opt_count > 0 ? " [options]" : "",
                  command->arguments[0] != '\0' ? " " : "", command->arguments, command->summary);
    for (size_t i = 0; i < command->opt_count; i++) {
        const struct opt *opt = &command->opts[i];
        const char *argument = opt->argument == NULL ? "" : opt->argument;
        const int used = (int)strlen(opt->name) + 2;

        (void)fprintf(out, "  --%s%s%-*s  %s\n", opt->name, opt->argument == NULL ? "" : " ",
                      width - used - (opt->argument == NULL ? 0 : 1), argument, opt->help);
    }
    (void)fprintf(out, "  %-*s  %s\n", width, "--help", "print this");
}

static enum status take_option(const struct opt_command *command, int argc, char *const *argv,
                               int *index, uint64_t *seen, struct error *err)
{
    const char *word = argv[*index];
    struct str name = str_from_cstr(word);
    const char *value = NULL;
    const struct opt *opt;
    size_t equals;
    uint64_t bit;

    if (!str_starts_with(name, STR("--")))
        return error_set(err, ST_USAGE, NULL, "there is no option \"%.100s\": see --help", word);
    name = str_slice(name, 2, name.len);
    if (str_find_char(name, '=', &equals)) {
        value = name.data + equals + 1;
        name = str_slice(name, 0, equals);
    }
    opt = find_opt(command, name);
    if (opt == NULL)
        return error_set(err, ST_USAGE, NULL, "there is no option \"%.100s\": see --help", word);
    bit = UINT64_C(1) << (opt - command->opts);
    if ((*seen & bit) != 0)
        return error_set(err, ST_USAGE, opt->name, "--%s was given twice", opt->name);
    *seen |= bit;
    if (opt->given != NULL)
        *opt->given = true;
    if (opt->kind == OPT_FLAG) {
        if (value != NULL)
            return error_set(err, ST_USAGE, opt->name, "--%s takes no value", opt->name);
        *(bool *)opt->value = true;
        return ST_OK;
    }
    if (value == NULL) {
        if (*index + 1 >= argc)
            return error_set(err, ST_USAGE, opt->name, "--%s needs a value: %s", opt->name,
                             opt->argument);
        value = argv[++*index];
    }
    return store_value(opt, value, err);
}

static const struct opt *find_opt(const struct opt_command *command, struct str name)
{
    for (size_t i = 0; i < command->opt_count; i++)
        if (str_eq_cstr(name, command->opts[i].name))
            return &command->opts[i];
    return NULL;
}

static enum status store_value(const struct opt *opt, const char *text, struct error *err)
{
    switch (opt->kind) {
    case OPT_TEXT: *(const char **)opt->value = text; return ST_OK;
    case OPT_INT: return store_int(opt, text, err);
    case OPT_DOUBLE:
        if (!str_parse_double(str_from_cstr(text), opt->value))
            return error_set(err, ST_USAGE, opt->name, "--%s needs a number, not \"%.100s\"",
                             opt->name, text);
        return ST_OK;
    case OPT_FLAG: break; /* take_option() has dealt with it */
    }
    return error_set(err, ST_INTERNAL, opt->name, "--%s has no kind", opt->name);
}

static enum status store_int(const struct opt *opt, const char *text, struct error *err)
{
    int64_t value;

    if (!str_parse_i64(str_from_cstr(text), &value))
        return error_set(err, ST_USAGE, opt->name, "--%s needs a whole number, not \"%.100s\"",
                         opt->name, text);
    if ((opt->min != 0 || opt->max != 0) && (value < opt->min || value > opt->max))
        return error_set(err, ST_USAGE, opt->name, "--%s must lie between %lld and %lld", opt->name,
                         (long long)opt->min, (long long)opt->max);
    *(int64_t *)opt->value = value;
    return ST_OK;
}

const char **opt_begin(const struct opt_command *command, int argc, char *const *argv,
                       int *argument_count, int *code)
{
    const char **arguments = calloc((size_t)argc + 1, sizeof *arguments);
    struct error err = {0};
    bool help = false;

    if (arguments == NULL) {
        *code = status_exit_code(ST_NO_MEMORY);
        return NULL;
    }
    *argument_count = 0;
    *code = 0;
    if (opt_parse(command, argc, argv, arguments, argument_count, &help, &err) != ST_OK) {
        (void)fprintf(stderr, "%s\n", err.detail);
        *code = status_exit_code(ST_USAGE);
    } else if (help) {
        opt_print_help(command, stdout);
    } else {
        return arguments;
    }
    free(arguments);
    return NULL;
}
