/* tests/fuzz/fuzz_opt.c: opt_parse() on any words: the input's lines are the command line. */
#include <stdint.h>
#include <stdlib.h>

#include "common/opt.h"
#include "common/str.h"

#define WORDS_MAX 256

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* The words are cut out of text in place, which ends in a NUL. */
static int split_words(char *text, char **words)
{
    int count = 0;

    for (char *at = text; count < WORDS_MAX;) {
        char *end = strchr(at, '\n');

        words[count++] = at;
        if (end == NULL)
            break;
        *end = '\0';
        at = end + 1;
    }
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    const char *listen = NULL, *arguments[WORDS_MAX];
    bool read_only = false, given = false, help = false;
    int64_t workers = 4;
    double price = 0.0;
    const struct opt opts[] = {
        {"listen", OPT_TEXT, &listen, NULL, 0, 0, "HOST:PORT", "where to listen"},
        {"workers", OPT_INT, &workers, &given, 1, 64, "N", "threads"},
        {"price", OPT_DOUBLE, &price, NULL, 0, 0, "USD", "an hour"},
        {"read-only", OPT_FLAG, &read_only, NULL, 0, 0, NULL, "take no writes"},
    };
    const struct opt_command command = {"daybreakd", "serve",  "FILE..", 0,
                                        3,           "serves", opts,     ARRAY_LEN(opts)};
    char *text = malloc(bytes + 1), *words[WORDS_MAX];
    struct error err = {0};
    int count, argument_count = 0;
    enum status status;

    if (text == NULL)
        return 0;
    memcpy(text, data, bytes);
    text[bytes] = '\0';
    count = split_words(text, words);
    status = opt_parse(&command, count, words, arguments, &argument_count, &help, &err);
    if (argument_count < 0 || argument_count > count || (status != ST_OK && err.detail[0] == '\0'))
        __builtin_trap();
    if (status == ST_OK && !help && (argument_count > 3 || workers < 1 || workers > 64))
        __builtin_trap();
    for (int i = 0; i < argument_count; i++)
        if (arguments[i] < text || arguments[i] > text + bytes)
            __builtin_trap();
    free(text);
    return 0;
}
