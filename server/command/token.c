/* server/command/token.c: `daybreakd token create|list|revoke`: who may write. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/clock.h"
#include "common/task.h"
#include "server/command/command.h"
#include "server/command/files.h"
#include "server/store/read.h"
#include "server/store/verbs.h"

enum { ARENA_BYTES_MAX = 64 << 20 };

struct request {
    const char *db, *role, *name, *scopes, *action, *id_text;
    int64_t ttl_days, submissions_per_day, bytes_max;
    bool has_ttl, has_submissions, has_bytes;
};

static enum status run_action(const struct request *request, struct arena *arena,
                              struct error *err);
static enum status create_token(const struct request *request, struct arena *arena,
                                struct error *err);
static enum status hand_over(struct store *store, const struct create_token *made,
                             struct arena *arena, struct error *err);
static enum status list_tokens(const struct request *request, struct arena *arena,
                               struct error *err);
static enum status revoke_token(const struct request *request, struct arena *arena,
                                struct error *err);
static enum status open_store(const struct request *request, struct task_table **tasks,
                              struct store **store, struct error *err);
static void print_time(struct opt_i64 time_ms);
static void print_quota(int64_t quota);

int command_token(int argc, char *const *argv)
{
    struct request request = {.db = command_default_db()};
    const char **arguments = calloc((size_t)argc + 1, sizeof *arguments);
    struct error err = {0};
    int argument_count = 0, exit_code = 4;
    struct arena arena;
    const struct opt opts[] = {
        {.name = "role",
         .kind = OPT_TEXT,
         .value = &request.role,
         .argument = "ROLE",
         .help = "create: submitter, reviewer, operator, admin or agent-registration"},
        {.name = "name",
         .kind = OPT_TEXT,
         .value = &request.name,
         .argument = "NAME",
         .help = "create: whom it is given to; boards show it as the author of jobs"},
        {.name = "ttl",
         .kind = OPT_INT,
         .value = &request.ttl_days,
         .given = &request.has_ttl,
         .min = 1,
         .max = 36500,
         .argument = "DAYS",
         .help = "create: how long it is good for; without it until it is revoked"},
        {.name = "scopes",
         .kind = OPT_TEXT,
         .value = &request.scopes,
         .argument = "LIST",
         .help =
             "create: some of the role's scopes, as \"submit webhooks\"; without it all of them"},
        {.name = "submissions-per-day",
         .kind = OPT_INT,
         .value = &request.submissions_per_day,
         .given = &request.has_submissions,
         .min = 0,
         .max = INT64_MAX,
         .argument = "N",
         .help = "create: how many it may send, by UTC; without it the role's"},
        {.name = "bytes-max",
         .kind = OPT_INT,
         .value = &request.bytes_max,
         .given = &request.has_bytes,
         .min = 0,
         .max = INT64_MAX,
         .argument = "BYTES",
         .help = "create: how much it may store in all; without it the role's"},
        {.name = "db",
         .kind = OPT_TEXT,
         .value = &request.db,
         .argument = "FILE",
         .help = "the database; create makes it if it is not there"},
    };
    const struct opt_command command = {
        .program = "daybreakd",
        .name = "token",
        .arguments = "create|list|revoke [ID]",
        .argument_min = 1,
        .argument_max = 2,
        .opts = opts,
        .opt_count = ARRAY_LEN(opts),
        .summary = "Creates a token and prints it, this once; lists tokens; revokes one.",
    };

    (void)signal(SIGPIPE, SIG_IGN); /* a reader that went away is a failed write: see hand_over() */
    arena_init(&arena, ARENA_BYTES_MAX);
    if (arguments == NULL)
        (void)error_set(&err, ST_NO_MEMORY, NULL, "out of memory");
    else if (command_parse(&command, argc, argv, arguments, &argument_count, &exit_code)) {
        request.action = arguments[0];
        request.id_text = argument_count == 2 ? arguments[1] : NULL;
        (void)run_action(&request, &arena, &err);
        exit_code = 0;
    }
    arena_fini(&arena);
    free(arguments);
    return err.status == ST_OK ? exit_code : command_fail("token", &err);
}

static enum status run_action(const struct request *request, struct arena *arena, struct error *err)
{
    const bool creates = strcmp(request->action, "create") == 0;
    const bool revokes = strcmp(request->action, "revoke") == 0;

    if (!creates && !revokes && strcmp(request->action, "list") != 0)
        return error_set(err, ST_USAGE, NULL, "say create, list or revoke, not %s",
                         request->action);
    if (!creates && (request->role != NULL || request->name != NULL || request->has_ttl ||
                     request->scopes != NULL || request->has_submissions || request->has_bytes))
        return error_set(err, ST_USAGE, NULL,
                         "--role, --name, --ttl, --scopes and the quotas belong to create");
    if (revokes != (request->id_text != NULL))
        return error_set(err, ST_USAGE, NULL,
                         revokes ? "say which token: revoke ID" : "only revoke takes an ID");
    if (creates)
        return create_token(request, arena, err);
    return revokes ? revoke_token(request, arena, err) : list_tokens(request, arena, err);
}

static enum status create_token(const struct request *request, struct arena *arena,
                                struct error *err)
{
    struct create_token create = {
        .ttl_days = {request->has_ttl, request->ttl_days},
        .submissions_per_day = {request->has_submissions, request->submissions_per_day},
        .bytes_max = {request->has_bytes, request->bytes_max}};
    struct task_table *tasks = NULL;
    struct store *store = NULL;
    enum status status;

    if (request->role == NULL || request->name == NULL)
        return error_set(err, ST_USAGE, NULL, "create needs --role and --name");
    if (!role_parse(str_from_cstr(request->role), &create.role) || create.role == ROLE_AGENT)
        return error_set(err, ST_USAGE, "role",
                         "--role is submitter, reviewer, operator, admin or agent-registration");
    if (request->scopes != NULL &&
        (!scope_set_parse(str_from_cstr(request->scopes), &create.scopes) ||
         (create.scopes & ~role_scopes(create.role)) != 0)) {
        char all[SCOPE_SET_BYTES];

        scope_set_format(role_scopes(create.role), all, sizeof all);
        return error_set(err, ST_USAGE, "scopes", "--scopes of role %s are some of \"%s\"",
                         request->role, all);
    }
    create.name = str_from_cstr(request->name);
    status = files_make_parent(request->db, err);
    if (status == ST_OK)
        status = open_store(request, &tasks, &store, err);
    if (status == ST_OK)
        status = store_run_verb(store, verb_create_token, &create, arena, err);
    if (status == ST_OK)
        status = hand_over(store, &create, arena, err);
    store_close(store);
    task_table_destroy(tasks);
    return status;
}

/* The token is shown this once: one that could not be shown is of use to nobody, and is revoked. */
static enum status hand_over(struct store *store, const struct create_token *made,
                             struct arena *arena, struct error *err)
{
    struct revoke_token revoke = {.id = made->id};
    struct error fault = {0};

    if (printf("%s\n", made->text) >= 0 && fflush(stdout) == 0)
        return ST_OK;
    if (store_run_verb(store, verb_revoke_token, &revoke, arena, &fault) != ST_OK)
        return error_set_code(err, ST_IO, NULL, NULL, "revoke it",
                              "cannot write to stdout, and token %" PRId64
                              " is still good, for it could not be revoked: %s",
                              made->id, fault.detail);
    return error_set(err, ST_IO, NULL,
                     "cannot write to stdout: nobody has token %" PRId64 ", so it was revoked",
                     made->id);
}

/* One line each; "-" for never, and for a quota that is none. */
static enum status list_tokens(const struct request *request, struct arena *arena,
                               struct error *err)
{
    struct store_reader *reader = NULL;
    struct token_record *rows = NULL;
    char scopes[SCOPE_SET_BYTES];
    size_t count = 0;
    enum status status = store_reader_open(request->db, &reader, err);

    if (status == ST_OK)
        status = store_list_tokens(reader, arena, &rows, &count, err);
    if (status == ST_OK)
        (void)printf("id\trole\tname\tcreated\texpires\trevoked\tused\tscopes\t"
                     "submissions_per_day\tbytes_max\tstored_bytes\n");
    for (size_t i = 0; i < count && status == ST_OK; i++) {
        (void)printf("%" PRId64 "\t%s\t%s", rows[i].id, role_name(rows[i].role), rows[i].name);
        print_time((struct opt_i64){true, rows[i].created_ms});
        print_time(rows[i].expires_ms);
        print_time(rows[i].revoked_ms);
        print_time(rows[i].used_ms);
        scope_set_format(rows[i].scopes, scopes, sizeof scopes);
        (void)printf("\t%s", scopes);
        print_quota(rows[i].quota.submissions_per_day);
        print_quota(rows[i].quota.bytes_max);
        (void)printf("\t%" PRId64, rows[i].stored_bytes);
        (void)putchar('\n');
    }
    if (status == ST_OK && fflush(stdout) != 0)
        status = error_set(err, ST_IO, NULL, "cannot write to stdout");
    store_reader_close(reader);
    return status;
}

static enum status revoke_token(const struct request *request, struct arena *arena,
                                struct error *err)
{
    struct revoke_token revoke = {0};
    struct store_reader *reader = NULL;
    struct task_table *tasks = NULL;
    struct store *store = NULL;
    enum status status;

    if (!str_parse_i64(str_from_cstr(request->id_text), &revoke.id) || revoke.id < 1)
        return error_set(err, ST_USAGE, "id",
                         "an ID is a number: the part of the token before its secret, or of list");
    status = store_reader_open(request->db, &reader, err); /* never makes a database for this */
    store_reader_close(reader);
    if (status == ST_OK)
        status = open_store(request, &tasks, &store, err);
    if (status == ST_OK)
        status = store_run_verb(store, verb_revoke_token, &revoke, arena, err);
    store_close(store);
    task_table_destroy(tasks);
    return status;
}

/* Both are the caller's, on failure as well. */
static enum status open_store(const struct request *request, struct task_table **tasks,
                              struct store **store, struct error *err)
{
    struct store_options options = {.path = request->db};
    enum status status = task_table_create(tasks, err);

    options.tasks = *tasks;
    return status == ST_OK ? store_open(&options, store, err) : status;
}

static void print_time(struct opt_i64 time_ms)
{
    char text[CLOCK_TEXT_BYTES] = "-";

    if (time_ms.has)
        clock_format_utc(time_ms.value, text);
    (void)printf("\t%s", text);
}

static void print_quota(int64_t quota)
{
    if (quota == INT64_MAX)
        (void)printf("\t-");
    else
        (void)printf("\t%" PRId64, quota);
}
