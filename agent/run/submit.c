/* agent/run/submit.c: `daybreak-agent submit`: sends an entry's files, byte for byte, and prints what the
 * server found: one line per finding as `daybreakd check` prints them, then the place. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/command.h"
#include "agent/data/files.h"
#include "agent/run/client.h"
#include "common/arena.h"
#include "common/entry.h"
#include "common/json.h"
#include "common/opt.h"
#include "common/task.h"

#define CALL_TIMEOUT_MS 30000
#define TOKEN_BYTES_MAX 4096
#define FILE_BYTES_MAX  ((size_t)1024 * 1024) /* the server says what is too large */
#define ARENA_BYTES_MAX ((size_t)64 * 1024 * 1024)
#define EXIT_REFUSED    2

struct request {
    const char *server, *token_file, *task, *entry;
    const char *const *progress; /* paths of the runs' files, in order */
    size_t progress_count;
};

/* The bytes of all files, and the form that borrows them. */
struct form {
    struct buf entry, progress[ENTRY_RUNS_MAX];
    struct client_part parts[2 + ENTRY_RUNS_MAX];
    size_t part_count;
};

static const char *file_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

/* Our own entries say their task in misc; others are named by --task. */
static enum status choose_task(const struct request *request, struct str entry, char task[65],
                               struct error *err)
{
    struct arena arena;
    struct json_doc doc = {0};
    const char *text = request->task;

    arena_init(&arena, ARENA_BYTES_MAX);
    if (text == NULL && json_doc_parse(entry, &arena, &doc, NULL) == ST_OK)
        text = json_string_value(json_object_get(json_object_get(doc.root, "misc"), "task"));
    if (text != NULL)
        (void)snprintf(task, 65, "%s", text);
    json_doc_fini(&doc);
    arena_fini(&arena);
    if (text == NULL)
        return error_set(err, ST_USAGE, "--task",
                         "%s does not say its task in misc: give --task, such as cifar10-train",
                         request->entry);
    return ST_OK;
}

static enum status read_token(const char *path, struct buf *token, struct error *err)
{
    const enum status status = files_read(path, token, err);

    while (token->len > 0 &&
           (token->data[token->len - 1] == '\n' || token->data[token->len - 1] == '\r'))
        token->data[--token->len] = '\0';
    return status;
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text != NULL ? text : "";
}

/* The path of the part that a finding names: "entry", "progress", or of several progress files its name. */
static const char *path_of(const struct request *request, const char *part)
{
    for (size_t i = 0; i < request->progress_count; i++)
        if (strcmp(part, "progress") == 0 || strcmp(part, file_of(request->progress[i])) == 0)
            return request->progress[i];
    return request->entry;
}

/* FILE:LINE<TAB>severity<TAB>code<TAB>field<TAB>detail<TAB>hint */
static void print_findings(const struct request *request, const json_t *findings)
{
    const json_t *finding;
    size_t index;

    json_array_foreach(findings, index, finding)
    {
        const char *field = text_of(finding, "field");

        (void)printf("%s:%lld\t%s\t%s\t%s\t%s\t%s\n", path_of(request, text_of(finding, "file")),
                     (long long)json_integer_value(json_object_get(finding, "line")),
                     text_of(finding, "severity"), text_of(finding, "code"),
                     field[0] != '\0' ? field : text_of(finding, "pointer"),
                     text_of(finding, "detail"), text_of(finding, "hint"));
    }
}

static int print_answer(const struct request *request, const struct client_reply *reply)
{
    const bool taken = reply->status == 201 || reply->status == 200;
    struct arena arena;
    struct json_doc doc = {0};

    arena_init(&arena, ARENA_BYTES_MAX);
    (void)json_doc_parse(buf_str(&reply->body), &arena, &doc, NULL);
    print_findings(request, json_object_get(doc.root, taken ? "findings" : "errors"));
    if (taken) {
        (void)printf("submission=%lld state=%s",
                     (long long)json_integer_value(json_object_get(doc.root, "submission")),
                     text_of(doc.root, "state"));
        if (json_is_integer(json_object_get(doc.root, "place")))
            (void)printf(" place=%lld",
                         (long long)json_integer_value(json_object_get(doc.root, "place")));
        if (json_is_number(json_object_get(doc.root, "tta_s")))
            (void)printf(" tta_s=%.3f", json_number_value(json_object_get(doc.root, "tta_s")));
        (void)printf("\n");
    } else {
        struct client_problem problem;

        client_read_problem(reply, &problem);
        (void)fprintf(stderr, "refused: %s\n", problem.detail);
    }
    json_doc_fini(&doc);
    arena_fini(&arena);
    return taken ? 0 : reply->status >= 500 ? status_exit_code(ST_UNAVAILABLE) : EXIT_REFUSED;
}

/* NAME.tsv beside NAME.json; false: there is none. */
static bool find_progress(const char *entry_path, char path[FILES_PATH_BYTES_MAX])
{
    const struct str entry = str_from_cstr(entry_path);

    if (!str_ends_with(entry, STR(".json")) || entry.len >= FILES_PATH_BYTES_MAX)
        return false;
    (void)snprintf(path, FILES_PATH_BYTES_MAX, "%.*s.tsv", (int)(entry.len - strlen(".json")),
                   entry.data);
    return files_exists(path);
}

/* Reads every file and makes a part of each: parts[0] is left for the task. */
static enum status fill_form(const struct request *request, struct form *form, struct error *err)
{
    enum status status = files_read(request->entry, &form->entry, err);

    form->parts[1] = (struct client_part){"entry", file_of(request->entry), buf_str(&form->entry)};
    form->part_count = 2;
    for (size_t i = 0; i < request->progress_count && status == ST_OK; i++) {
        const char *path = request->progress[i];

        status = files_read(path, &form->progress[i], err);
        form->parts[form->part_count++] =
            (struct client_part){"progress", file_of(path), buf_str(&form->progress[i])};
    }
    return status;
}

static enum status send_form(const struct request *request, struct form *form,
                             struct client_reply *reply, struct error *err)
{
    struct client *client = NULL;
    struct buf token;
    char task[65];
    enum status status;

    buf_init(&token, TOKEN_BYTES_MAX);
    status = client_library_init(err);
    if (status == ST_OK)
        status = client_create(request->server, &client, err);
    if (status == ST_OK)
        status = read_token(request->token_file, &token, err);
    if (status == ST_OK)
        status = fill_form(request, form, err);
    if (status == ST_OK)
        status = choose_task(request, buf_str(&form->entry), task, err);
    if (status == ST_OK) {
        const struct client_request call = {.method = "POST",
                                            .path = "/v1/submissions",
                                            .parts = form->parts,
                                            .part_count = form->part_count,
                                            .token = token.data,
                                            .timeout_ms = CALL_TIMEOUT_MS};

        form->parts[0] = (struct client_part){"task", NULL, str_from_cstr(task)};
        status = client_send(client, &call, reply, err);
    }
    client_destroy(client);
    buf_fini(&token);
    return status;
}

static int submit(const struct request *request)
{
    struct form *form = calloc(1, sizeof *form);
    struct client_reply reply = {0};
    struct error err = {0};
    int code;

    if (form == NULL)
        return status_exit_code(ST_NO_MEMORY);
    buf_init(&form->entry, FILE_BYTES_MAX);
    for (size_t i = 0; i < ENTRY_RUNS_MAX; i++)
        buf_init(&form->progress[i], FILE_BYTES_MAX);
    if (send_form(request, form, &reply, &err) == ST_OK) {
        code = print_answer(request, &reply);
    } else {
        (void)fprintf(stderr, "%s\n", err.detail);
        code = status_exit_code(err.status);
    }
    client_reply_fini(&reply);
    for (size_t i = 0; i < ENTRY_RUNS_MAX; i++)
        buf_fini(&form->progress[i]);
    buf_fini(&form->entry);
    free(form);
    return code;
}

int command_submit(int argc, char *const *argv)
{
    struct request request = {0};
    const char **arguments;
    char beside[FILES_PATH_BYTES_MAX];
    const char *const found[] = {beside};
    const struct opt opts[] = {
        {"server", OPT_TEXT, &request.server, NULL, 0, 0, "URL", "of daybreakd"},
        {"token-file", OPT_TEXT, &request.token_file, NULL, 0, 0, "F", "a submitter's token"},
        {"task", OPT_TEXT, &request.task, NULL, 0, 0, "TASK", "what it is for (misc.task)"},
    };
    const struct opt_command command = {AGENT_PROGRAM,
                                        "submit",
                                        "ENTRY.json [RUN.tsv..]",
                                        1,
                                        -1,
                                        "Sends an entry to a server, with a .tsv for each of its "
                                        "runs; the one beside it is found.",
                                        opts,
                                        ARRAY_LEN(opts)};
    int argument_count, code;
    struct error err = {0};

    arguments = opt_begin(&command, argc, argv, &argument_count, &code);
    if (arguments == NULL)
        return code;
    if (request.server == NULL || request.token_file == NULL)
        (void)error_set(&err, ST_USAGE, "--server", "submit needs --server URL and --token-file F");
    else if (argument_count > 1 + ENTRY_RUNS_MAX)
        (void)error_set(&err, ST_USAGE, NULL, "an entry has at most %d progress files, here are %d",
                        ENTRY_RUNS_MAX, argument_count - 1);
    if (err.status != ST_OK) {
        (void)fprintf(stderr, "%s\n", err.detail);
        code = status_exit_code(err.status);
    } else {
        request.entry = arguments[0];
        request.progress = arguments + 1;
        request.progress_count = (size_t)argument_count - 1;
        if (request.progress_count == 0 && find_progress(request.entry, beside)) {
            request.progress = found;
            request.progress_count = 1;
        }
        code = submit(&request);
    }
    free(arguments);
    return code;
}
