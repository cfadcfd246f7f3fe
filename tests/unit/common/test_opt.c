/* tests/unit/common/test_opt.c: command lines by table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/opt.h"
#include "common/str.h"

struct line {
    const char *listen;
    int64_t workers;
    double price;
    bool read_only, workers_given;
};

static enum status parse(int argc, char *const *argv, struct line *line, const char **arguments,
                         int *argument_count, bool *help, struct error *err)
{
    const struct opt opts[] = {
        {"listen", OPT_TEXT, &line->listen, NULL, 0, 0, "HOST:PORT", "where to listen"},
        {"workers", OPT_INT, &line->workers, &line->workers_given, 1, 64, "N", "threads"},
        {"price", OPT_DOUBLE, &line->price, NULL, 0, 0, "USD", "an hour"},
        {"read-only", OPT_FLAG, &line->read_only, NULL, 0, 0, NULL, "take no writes"},
    };
    const struct opt_command command = {"daybreakd", "serve",  "FILE..", 0,
                                        2,           "serves", opts,     ARRAY_LEN(opts)};

    *err = (struct error){0};
    return opt_parse(&command, argc, argv, arguments, argument_count, help, err);
}

static void opt_takes_options_and_arguments_mixed(void **state)
{
    char *const argv[] = {"a",       "--listen", "h:1", "--workers=8", "--read-only",
                          "--price", "2.5",      "--",  "--b"};
    const char *arguments[ARRAY_LEN(argv)];
    struct line line = {.listen = "default"};
    struct error err;
    bool help;
    int count;

    (void)state;
    assert_int_equal(parse(ARRAY_LEN(argv), argv, &line, arguments, &count, &help, &err), ST_OK);
    assert_string_equal(line.listen, "h:1");
    assert_int_equal(line.workers, 8);
    assert_true(line.workers_given && line.read_only && line.price == 2.5 && !help);
    assert_int_equal(count, 2);
    assert_string_equal(arguments[0], "a");
    assert_string_equal(arguments[1], "--b");
}

static void opt_keeps_defaults_and_finds_help(void **state)
{
    char *const argv[] = {"-", "-h", "--nonsense"};
    const char *arguments[ARRAY_LEN(argv)];
    struct line line = {.listen = "default", .workers = 4};
    struct error err;
    bool help;
    int count;

    (void)state;
    assert_int_equal(parse(1, argv, &line, arguments, &count, &help, &err), ST_OK);
    assert_string_equal(line.listen, "default");
    assert_int_equal(line.workers, 4);
    assert_false(line.workers_given || help);
    assert_string_equal(arguments[0], "-");
    assert_int_equal(parse(3, argv, &line, arguments, &count, &help, &err), ST_OK);
    assert_true(help);
}

static void opt_refuses_wrong_usage_in_one_sentence(void **state)
{
    static const struct {
        char *argv[3];
        int argc;
        const char *field, *part;
    } rows[] = {
        {{"--nonsense"}, 1, "", "there is no option"},
        {{"-x"}, 1, "", "there is no option"},
        {{"--listen"}, 1, "listen", "needs a value"},
        {{"--workers", "x"}, 2, "workers", "whole number"},
        {{"--workers=0"}, 1, "workers", "between 1 and 64"},
        {{"--workers=65"}, 1, "workers", "between 1 and 64"},
        {{"--workers="}, 1, "workers", "whole number"},
        {{"--price", "1,5"}, 2, "price", "needs a number"},
        {{"--read-only=yes"}, 1, "read-only", "takes no value"},
        {{"--read-only", "--read-only"}, 2, "read-only", "twice"},
        {{"a", "b", "c"}, 3, "", "does not know what to do with \"c\""},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *arguments[3];
        struct line line = {0};
        struct error err;
        bool help;
        int count;

        assert_int_equal(parse(rows[i].argc, rows[i].argv, &line, arguments, &count, &help, &err),
                         ST_USAGE);
        assert_string_equal(err.field, rows[i].field);
        if (strstr(err.detail, rows[i].part) == NULL)
            fail_msg("row %zu: %s", i, err.detail);
    }
}

/* A command goes on with its arguments alone: help and wrong words end the program with their codes. */
static void opt_begin_answers_help_and_wrong_words(void **state)
{
    static const struct opt opts[] = {{"n", OPT_INT, NULL, NULL, 0, 0, "N", "a number"}};
    const struct opt_command command = {"daybreakd", "serve", "FILE", 1, 1, "serves", opts, 1};
    static char *const lines[][2] = {{"file", NULL}, {"--help", NULL}, {"--nope", NULL}};
    static const int codes[] = {0, 0, 3};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        int count = 0, code = 99;
        const char **arguments = opt_begin(&command, 1, lines[i], &count, &code);

        assert_int_equal(code, codes[i]);
        assert_int_equal(arguments != NULL, i == 0);
        if (arguments != NULL) {
            assert_int_equal(count, 1);
            assert_string_equal(arguments[0], "file");
        }
        free(arguments);
    }
}

static void opt_help_lists_every_option(void **state)
{
    int64_t number = 0;
    bool flag = false;
    const struct opt opts[] = {
        {"number", OPT_INT, &number, NULL, 0, 0, "N", "how many"},
        {"a-longer-flag", OPT_FLAG, &flag, NULL, 0, 0, NULL, "what it does"},
    };
    const struct opt_command command = {"daybreakd", "serve",   "FILE", 1,
                                        1,           "Serves.", opts,   ARRAY_LEN(opts)};
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);

    (void)state;
    assert_non_null(out);
    opt_print_help(&command, out);
    assert_int_equal(fclose(out), 0);
    assert_string_equal(text, "usage: daybreakd serve [options] FILE\n\nServes.\n\n"
                              "  --number N       how many\n"
                              "  --a-longer-flag  what it does\n"
                              "  --help           print this\n");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opt_takes_options_and_arguments_mixed),
        cmocka_unit_test(opt_keeps_defaults_and_finds_help),
        cmocka_unit_test(opt_refuses_wrong_usage_in_one_sentence),
        cmocka_unit_test(opt_begin_answers_help_and_wrong_words),
        cmocka_unit_test(opt_help_lists_every_option),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
