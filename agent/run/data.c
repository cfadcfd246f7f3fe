/* agent/run/data.c: `daybreak-agent data fetch DATASET | data verify DATASET`. It stands here, not in
 * agent/data, because fetching needs the network client. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/command.h"
#include "agent/data/cifar10.h"
#include "agent/data/cifar10_fetch.h"
#include "agent/data/files.h"
#include "agent/run/client.h"
#include "common/opt.h"

struct data_set {
    const char *name;
    enum status (*fetch)(const char *dir, const char *from, bool *fetched, struct error *err);
    enum status (*verify)(const char *dir, char digest[SHA256_HEX_BYTES], struct error *err);
};

static enum status fetch_cifar10(const char *dir, const char *from, bool *fetched,
                                 struct error *err)
{
    const struct cifar10_fetch fetch = {dir, from, client_download};

    return cifar10_fetch(&fetch, fetched, err);
}

static const struct data_set data_sets[] = {{"cifar10", fetch_cifar10, cifar10_verify}};

/* NULL: there is none of that name. */
static const struct data_set *find_data_set(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(data_sets); i++)
        if (strcmp(data_sets[i].name, name) == 0)
            return &data_sets[i];
    return NULL;
}

static enum status fetch(const struct data_set *set, const char *dir, const char *from,
                         struct error *err)
{
    bool fetched = false;
    enum status status = client_library_init(err);

    if (status == ST_OK)
        status = set->fetch(dir, from, &fetched, err);
    if (status == ST_OK)
        (void)printf("dataset=%s %s dir=%s\n", set->name, fetched ? "fetched" : "there already",
                     dir);
    return status;
}

static enum status verify(const struct data_set *set, const char *dir, struct error *err)
{
    char digest[SHA256_HEX_BYTES];
    const enum status status = set->verify(dir, digest, err);

    if (status == ST_OK)
        (void)printf("dataset=%s verified dir=%s sha256=%s\n", set->name, dir, digest);
    return status;
}

static enum status dispatch(const char *verb, const char *name, const char *from, struct error *err)
{
    const struct data_set *set = find_data_set(name);
    char dir[FILES_PATH_BYTES_MAX];
    enum status status;

    if (set == NULL)
        return error_set(err, ST_USAGE, "DATASET", "there is no data set \"%s\"; known is cifar10",
                         name);
    status = files_cache_path(dir, name, err);
    if (status != ST_OK)
        return status;
    if (strcmp(verb, "fetch") == 0)
        return fetch(set, dir, from, err);
    if (strcmp(verb, "verify") != 0)
        return error_set(err, ST_USAGE, "VERB", "data knows fetch and verify, not \"%s\"", verb);
    if (from != NULL)
        return error_set(err, ST_USAGE, "--from", "--from belongs to data fetch");
    return verify(set, dir, err);
}

int command_data(int argc, char *const *argv)
{
    const char *from = NULL, **arguments;
    const struct opt opts[] = {
        {"from", OPT_TEXT, &from, NULL, 0, 0, "DIR|FILE|URL",
         "instead of the public sources: .bin files, images, or a .tar.gz of either"},
    };
    const struct opt_command command = {
        AGENT_PROGRAM,
        "data",
        "fetch|verify DATASET",
        2,
        2,
        "Gets a data set into the cache (DAYBREAK_CACHE, ~/.cache/daybreak), or checks it.",
        opts,
        ARRAY_LEN(opts)};
    int argument_count, code;
    struct error err = {0};

    arguments = opt_begin(&command, argc, argv, &argument_count, &code);
    if (arguments == NULL)
        return code;
    if (dispatch(arguments[0], arguments[1], from, &err) != ST_OK)
        (void)fprintf(stderr, "%s%s%s\n", err.detail, err.hint[0] != '\0' ? ": " : "", err.hint);
    code = status_exit_code(err.status);
    free(arguments);
    return code;
}
