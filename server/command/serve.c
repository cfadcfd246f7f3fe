/* server/command/serve.c: daybreakd serve: runs the server until SIGINT or SIGTERM. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/build.h"
#include "common/log.h"
#include "common/str.h"
#include "server/app.h"
#include "server/command/command.h"
#include "server/command/files.h"

enum { RATE_PER_SECOND = 100 };

struct line {
    const char *listen, *data_dir, *db, *web_dir;
    const char *trusted_proxy;
    int64_t workers, rate_address, rate_token, webhook_timeout_ms;
    bool read_only, db_given, https, rate_loopback, webhook_allow_private;
};

static bool read_line(int argc, char *const *argv, struct line *line, int *exit_code);
static enum status choose_db(const struct line *line, char path[4096], struct error *err);
static enum status choose_proxy(const struct line *line, struct proxy_trust *proxy,
                                struct error *err);
static enum status serve(const struct line *line, const char *db_path,
                         const struct proxy_trust *proxy, struct error *err);

int command_serve(int argc, char *const *argv)
{
    struct line line = {.listen = "127.0.0.1:8080",
                        .db = command_default_db(),
                        .rate_address = RATE_PER_SECOND,
                        .rate_token = RATE_PER_SECOND};
    struct error err = {0};
    struct proxy_trust proxy = {.kind = PROXY_NONE};
    char db_path[4096];
    int exit_code;

    if (!read_line(argc, argv, &line, &exit_code))
        return exit_code;
    if (choose_db(&line, db_path, &err) != ST_OK || choose_proxy(&line, &proxy, &err) != ST_OK ||
        serve(&line, db_path, &proxy, &err) != ST_OK)
        return command_fail("serve", &err);
    return 0;
}

static bool read_line(int argc, char *const *argv, struct line *line, int *exit_code)
{
    const char **arguments = calloc((size_t)argc + 1, sizeof *arguments);
    int argument_count;
    bool good;
    const struct opt opts[] = {
        {"listen", OPT_TEXT, &line->listen, NULL, 0, 0, "HOST:PORT",
         "or unix:PATH; port 0 takes any free one (default 127.0.0.1:8080)"},
        {"db", OPT_TEXT, &line->db, &line->db_given, 0, 0, "FILE",
         "the database (default DAYBREAK_DB, else var/daybreak.db)"},
        {"data-dir", OPT_TEXT, &line->data_dir, NULL, 0, 0, "DIR",
         "the folder of daybreak.db, in place of --db"},
        {"workers", OPT_INT, &line->workers, NULL, 1, 256, "N",
         "threads that serve (default: one per core, at least 2)"},
        {"web-dir", OPT_TEXT, &line->web_dir, NULL, 0, 0, "DIR",
         "serve the assets from there in place of the built-in ones"},
        {"trusted-proxy", OPT_TEXT, &line->trusted_proxy, NULL, 0, 0, "unix|ADDRESS",
         "the proxy whose X-Forwarded-For and X-Forwarded-Proto are believed: whoever comes by the "
         "unix socket, or from "
         "that address (default: nobody)"},
        {"rate-address", OPT_INT, &line->rate_address, NULL, 0, 1000000, "N",
         "requests a second of one address, an IPv6 /64 being one; 0: any number (default 100)"},
        {"rate-token", OPT_INT, &line->rate_token, NULL, 0, 1000000, "N",
         "requests a second of one token; 0: any number (default 100)"},
        {"rate-loopback", OPT_FLAG, &line->rate_loopback, NULL, 0, 0, NULL,
         "limit clients on this machine, too"},
        {"https", OPT_FLAG, &line->https, NULL, 0, 0, NULL,
         "browsers reach this server by TLS alone: cookies are Secure"},
        {"webhook-allow-private", OPT_FLAG, &line->webhook_allow_private, NULL, 0, 0, NULL,
         "let webhooks reach any address, by http as well: for tests and closed networks"},
        {"webhook-timeout-ms", OPT_INT, &line->webhook_timeout_ms, NULL, 100, 60000, "MS",
         "how long one try of a delivery may take (default 10000)"},
        {"read-only", OPT_FLAG, &line->read_only, NULL, 0, 0, NULL, "refuse every write"},
    };
    const struct opt_command command = {
        .program = "daybreakd",
        .name = "serve",
        .arguments = "",
        .summary =
            "Serves the API and the pages until SIGINT or SIGTERM; prints its address when ready.",
        .opts = opts,
        .opt_count = ARRAY_LEN(opts),
    };

    if (arguments == NULL) {
        *exit_code = status_exit_code(ST_NO_MEMORY);
        return false;
    }
    good = command_parse(&command, argc, argv, arguments, &argument_count, exit_code);
    free(arguments);
    return good;
}

static enum status choose_db(const struct line *line, char path[4096], struct error *err)
{
    int length;

    if (line->data_dir != NULL && line->db_given)
        return error_set(err, ST_USAGE, "data-dir", "give --db or --data-dir, not both");
    length = line->data_dir != NULL ? snprintf(path, 4096, "%s/daybreak.db", line->data_dir)
                                    : snprintf(path, 4096, "%s", line->db);
    if (length < 0 || length >= 4096)
        return error_set(err, ST_USAGE, "db", "the database's path is too long");
    if (files_make_parent(path, err) != ST_OK)
        err->status = ST_IO; /* that folder is ours to make: its absence is no wrong input */
    return err->status;
}

/* Everybody on this machine reaches a TCP port, but only who may open its file a unix socket: believing whoever comes
 * would let every client choose its address. */
static enum status choose_proxy(const struct line *line, struct proxy_trust *proxy,
                                struct error *err)
{
    const bool is_unix = str_starts_with(str_from_cstr(line->listen), STR("unix:"));

    if (line->trusted_proxy == NULL)
        return ST_OK;
    if (strcmp(line->trusted_proxy, "unix") == 0) {
        proxy->kind = PROXY_UNIX;
        return is_unix ? ST_OK
                       : error_set(err, ST_USAGE, "trusted-proxy",
                                   "--trusted-proxy unix goes with --listen unix:PATH");
    }
    proxy->kind = PROXY_ADDRESS;
    if (!client_address_parse(str_from_cstr(line->trusted_proxy), &proxy->address))
        return error_set(err, ST_USAGE, "trusted-proxy",
                         "--trusted-proxy is \"unix\" or an IP address, not \"%.100s\"",
                         line->trusted_proxy);
    return ST_OK;
}

/* Signals are taken by sigwait() here: blocked before any thread starts, so that no handler ever runs. */
static enum status serve(const struct line *line, const char *db_path,
                         const struct proxy_trust *proxy, struct error *err)
{
    const struct app_options options = {.db_path = db_path,
                                        .listen = line->listen,
                                        .web_dir = line->web_dir,
                                        .workers = (int)line->workers,
                                        .read_only = line->read_only,
                                        .proxy = *proxy,
                                        .limits = {.per_address = (int)line->rate_address,
                                                   .per_token = (int)line->rate_token,
                                                   .loopback = line->rate_loopback},
                                        .https = line->https,
                                        .webhook_allow_private = line->webhook_allow_private,
                                        .webhook_timeout_ms = line->webhook_timeout_ms};
    struct app *app = NULL;
    enum status status;
    sigset_t signals;
    int signal_number;

    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGINT);
    (void)sigaddset(&signals, SIGTERM);
    if (pthread_sigmask(SIG_BLOCK, &signals, NULL) != 0 || signal(SIGPIPE, SIG_IGN) == SIG_ERR)
        return error_set(err, ST_INTERNAL, NULL, "signals cannot be set up");
    status = app_create(&options, &app, err);
    if (status != ST_OK)
        return status;
    log_event(LOG_INFO, "serving", "address=%s build=%s", app_address(app), build_id());
    (void)printf("listening on %s\n", app_address(app));
    (void)fflush(stdout);
    while (sigwait(&signals, &signal_number) != 0)
        continue;
    log_event(LOG_INFO, "stopping", "signal=%d", signal_number);
    app_destroy(app);
    log_event(LOG_INFO, "stopped", "signal=%d", signal_number);
    return ST_OK;
}
