/* server/command/board.c: `daybreakd board TASK`: a board on stdout, as the API gives it. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/task.h"
#include "server/api/board_load.h"
#include "server/command/command.h"
#include "server/rank/board.h"
#include "server/rank/board_write.h"
#include "server/rank/filter.h"
#include "server/store/store.h"

/* A board of any size is printed: only this machine's memory is a limit. */
#define MEMORY_BYTES_MAX (SIZE_MAX / 4)

enum format { FORMAT_TSV, FORMAT_CSV, FORMAT_JSON };

struct request {
    const char *db, *task_id, *by_text, *format_text, *as_of_text, *best_text;
    const char *tier, *hardware, *framework, *cloud, *from_text, *to_text;
    const struct task *task;
    struct board_rule rule;
    struct board_filter filter;
    enum format format;
};

static enum status read_request(struct request *request, const struct task_table *tasks,
                                struct error *err);
static enum status read_rule(struct request *request, struct error *err);
static enum status read_filter(struct request *request, struct error *err);
static enum status read_word(const char *option, const char *text, const char *const *words,
                             size_t *index, struct error *err);
static enum status read_date(const char *option, const char *text, bool *given, int64_t *days,
                             struct error *err);
static enum status print_board(const struct request *request, struct error *err);
static enum status write_board(const struct request *request, const struct board *board,
                               struct error *err);

#define OPTION_COUNT 12

static void describe_options(struct request *request, struct opt table[OPTION_COUNT]);

int command_board(int argc, char *const *argv)
{
    struct request request = {.db = command_default_db(), .format_text = "tsv"};
    const char **arguments = calloc((size_t)argc + 1, sizeof *arguments);
    struct task_table *tasks = NULL;
    struct error err = {0};
    int argument_count = 0, exit_code = 4;
    struct opt opts[OPTION_COUNT];
    const struct opt_command command = {
        .program = "daybreakd",
        .name = "board",
        .arguments = "TASK",
        .argument_min = 1,
        .argument_max = 1,
        .opts = opts,
        .opt_count = ARRAY_LEN(opts),
        .summary = "Prints the board of a task; without --by the first that it has.",
    };

    if (arguments == NULL) {
        (void)error_set(&err, ST_NO_MEMORY, NULL, "out of memory");
        return command_fail("board", &err);
    }
    describe_options(&request, opts);
    if (command_parse(&command, argc, argv, arguments, &argument_count, &exit_code)) {
        request.task_id = arguments[0];
        if (task_table_create(&tasks, &err) == ST_OK &&
            read_request(&request, tasks, &err) == ST_OK)
            (void)print_board(&request, &err);
        exit_code = err.status == ST_OK ? 0 : command_fail("board", &err);
    }
    task_table_destroy(tasks);
    free(arguments);
    return exit_code;
}

/* The options, into a table of OPTION_COUNT. */
static void describe_options(struct request *request, struct opt table[OPTION_COUNT])
{
    const struct opt opts[] = {
        {.name = "by",
         .kind = OPT_TEXT,
         .value = &request->by_text,
         .argument = "VALUE",
         .help = "time, cost or energy (training), latency or inference-cost (inference)"},
        {.name = "format",
         .kind = OPT_TEXT,
         .value = &request->format_text,
         .argument = "FORMAT",
         .help = "tsv (DAWNBench's columns), csv or json (as the API has them)"},
        {.name = "as-of",
         .kind = OPT_TEXT,
         .value = &request->as_of_text,
         .argument = "DATE",
         .help = "the board as it stood at the end of that day, UTC: yyyy-mm-dd"},
        {.name = "best",
         .kind = OPT_TEXT,
         .value = &request->best_text,
         .argument = "WHAT",
         .help = "entry: each has its place (as without it); author: each author's best alone"},
        {.name = "tier",
         .kind = OPT_TEXT,
         .value = &request->tier,
         .argument = "TIER",
         .help = "only reported, witnessed or reproduced; filters keep the places"},
        {.name = "hardware",
         .kind = OPT_TEXT,
         .value = &request->hardware,
         .argument = "TEXT",
         .help = "only where it is part of the hardware's text, or the kind of device: gpu"},
        {.name = "devices",
         .kind = OPT_INT,
         .value = &request->filter.devices,
         .given = &request->filter.has_devices,
         .min = 1,
         .max = FILTER_DEVICES_MAX,
         .argument = "N",
         .help = "only so many devices"},
        {.name = "framework",
         .kind = OPT_TEXT,
         .value = &request->framework,
         .argument = "TEXT",
         .help = "only where it is part of the framework's text"},
        {.name = "cloud",
         .kind = OPT_TEXT,
         .value = &request->cloud,
         .argument = "NAME",
         .help = "only this provider; public: any of them; none: own machines"},
        {.name = "from",
         .kind = OPT_TEXT,
         .value = &request->from_text,
         .argument = "DATE",
         .help = "only entries of that date or later"},
        {.name = "to",
         .kind = OPT_TEXT,
         .value = &request->to_text,
         .argument = "DATE",
         .help = "only entries of that date or earlier"},
        {.name = "db",
         .kind = OPT_TEXT,
         .value = &request->db,
         .argument = "FILE",
         .help = "the database"},
    };

    memcpy(table, opts, sizeof opts);
}

static enum status read_request(struct request *request, const struct task_table *tasks,
                                struct error *err)
{
    static const char *const formats[] = {"tsv", "csv", "json", NULL};
    size_t format = 0;
    enum status status;

    request->task = task_find(tasks, str_from_cstr(request->task_id));
    if (request->task == NULL)
        return error_set(err, ST_USAGE, "task", "there is no task %s", request->task_id);
    status = read_rule(request, err);
    if (status == ST_OK)
        status = read_filter(request, err);
    if (status == ST_OK)
        status = read_word("format", request->format_text, formats, &format, err);
    request->format = (enum format)format;
    return status;
}

static enum status read_rule(struct request *request, struct error *err)
{
    struct board_rule *rule = &request->rule;
    size_t best = BOARD_BEST_ENTRY;
    enum status status;

    rule->by = request->task->phase == TASK_TRAIN ? BOARD_TIME : BOARD_LATENCY;
    if (request->by_text != NULL && !board_by_parse(str_from_cstr(request->by_text), &rule->by))
        return error_set(err, ST_USAGE, "by",
                         "--by is time, cost, latency, inference-cost or energy, not %s",
                         request->by_text);
    if (!board_by_fits(rule->by, request->task))
        return error_set(err, ST_USAGE, "by", "%s has no board by %s", request->task->id,
                         board_by_name(rule->by));
    status = read_word("best", request->best_text, board_best_words, &best, err);
    rule->best = (enum board_best)best;
    if (status == ST_OK)
        status = read_date("as-of", request->as_of_text, &rule->has_as_of, &rule->as_of_days, err);
    return status;
}

static enum status read_filter(struct request *request, struct error *err)
{
    struct board_filter *filter = &request->filter;
    const struct {
        const char *option, *text;
        struct str *value;
    } phrases[] = {{"hardware", request->hardware, &filter->hardware},
                   {"framework", request->framework, &filter->framework},
                   {"cloud", request->cloud, &filter->cloud}};
    size_t tier = 0;
    enum status status = read_word("tier", request->tier, board_tier_words, &tier, err);

    if (request->tier != NULL)
        filter->tier = str_from_cstr(board_tier_words[tier]);
    for (size_t i = 0; i < ARRAY_LEN(phrases) && status == ST_OK; i++) {
        if (phrases[i].text == NULL)
            continue;
        *phrases[i].value = str_from_cstr(phrases[i].text);
        if (phrases[i].value->len == 0 || phrases[i].value->len > FILTER_TEXT_BYTES_MAX)
            status = error_set(err, ST_USAGE, phrases[i].option, "--%s is a text of 1 to %d bytes",
                               phrases[i].option, FILTER_TEXT_BYTES_MAX);
    }
    if (status == ST_OK)
        status = read_date("from", request->from_text, &filter->has_from, &filter->from_days, err);
    if (status == ST_OK)
        status = read_date("to", request->to_text, &filter->has_to, &filter->to_days, err);
    return status;
}

/* *index stays where the option is not given. */
static enum status read_word(const char *option, const char *text, const char *const *words,
                             size_t *index, struct error *err)
{
    char list[128] = "";

    if (text == NULL)
        return ST_OK;
    for (size_t i = 0; words[i] != NULL; i++) {
        const size_t used = strlen(list);

        if (strcmp(text, words[i]) == 0) {
            *index = i;
            return ST_OK;
        }
        (void)snprintf(list + used, sizeof list - used, "%s%s",
                       i == 0                 ? ""
                       : words[i + 1] == NULL ? " or "
                                              : ", ",
                       words[i]);
    }
    return error_set(err, ST_USAGE, option, "--%s is %s, not %s", option, list, text);
}

static enum status read_date(const char *option, const char *text, bool *given, int64_t *days,
                             struct error *err)
{
    bool padded;

    if (text == NULL)
        return ST_OK;
    *given = clock_parse_date(str_from_cstr(text), days, &padded, NULL) == ST_OK && padded;
    if (!*given)
        return error_set(err, ST_USAGE, option, "--%s is a date, yyyy-mm-dd, not %s", option, text);
    return ST_OK;
}

static enum status print_board(const struct request *request, struct error *err)
{
    struct store_reader *reader = NULL;
    struct board board;
    struct arena arena;
    enum status status;

    arena_init(&arena, MEMORY_BYTES_MAX);
    status = store_reader_open(request->db, &reader, err);
    if (status == ST_OK)
        status = board_load(reader, &arena, request->task, &request->rule, &board, err);
    if (status == ST_OK && request->rule.by == BOARD_ENERGY && board.item_count == 0)
        status = error_set(err, ST_NOT_FOUND, "by",
                           "energy is not available: no entry of %s has a reading of it",
                           request->task->id);
    if (status == ST_OK) {
        board_filter_apply(&request->filter, &board);
        status = write_board(request, &board, err);
    }
    store_reader_close(reader);
    arena_fini(&arena);
    return status;
}

static enum status write_board(const struct request *request, const struct board *board,
                               struct error *err)
{
    struct buf out;
    enum status status;

    buf_init(&out, MEMORY_BYTES_MAX);
    switch (request->format) {
    case FORMAT_TSV: board_write_tsv(&out, board); break;
    case FORMAT_CSV: board_write_csv(&out, board); break;
    case FORMAT_JSON:
        board_write_json(&out, board, request->as_of_text, NULL);
        buf_append_char(&out, '\n');
        break;
    }
    status = buf_check(&out, err);
    if (status == ST_OK && (fwrite(out.data, 1, out.len, stdout) != out.len || fflush(stdout) != 0))
        status = error_set(err, ST_IO, NULL, "cannot write to stdout");
    buf_fini(&out);
    return status;
}
