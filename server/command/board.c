/* server/command/board.c: `daybreakd board TASK`: a board on stdout, as the API gives it. */
#include <stdio.h>
#include <stdlib.h>

#include "common/clock.h"
#include "common/task.h"
#include "server/api/board_load.h"
#include "server/command/command.h"
#include "server/rank/board.h"
#include "server/rank/board_write.h"
#include "server/store/store.h"

enum { OUTPUT_BYTES_MAX = 256 << 20 };
enum format { FORMAT_TSV, FORMAT_CSV, FORMAT_JSON };

struct request {
    const char *db, *task_id, *by_text, *format_text, *as_of_text;
    const struct task *task;
    enum board_by by;
    enum format format;
    bool has_as_of;
    int64_t as_of_days;
};

static enum status read_request(struct request *request, const struct task_table *tasks,
                                struct error *err);
static enum status print_board(const struct request *request, struct error *err);
static enum status write_board(const struct request *request, const struct board *board,
                               struct error *err);

int command_board(int argc, char *const *argv)
{
    struct request request = {.db = command_default_db(), .format_text = "tsv"};
    const char **arguments = calloc((size_t)argc + 1, sizeof *arguments);
    struct task_table *tasks = NULL;
    struct error err = {0};
    int argument_count = 0, exit_code = 4;
    const struct opt opts[] = {
        {.name = "by",
         .kind = OPT_TEXT,
         .value = &request.by_text,
         .argument = "VALUE",
         .help = "time, cost or energy (training), latency or inference-cost (inference)"},
        {.name = "format",
         .kind = OPT_TEXT,
         .value = &request.format_text,
         .argument = "FORMAT",
         .help = "tsv (DAWNBench's columns), csv or json (as the API has them)"},
        {.name = "as-of",
         .kind = OPT_TEXT,
         .value = &request.as_of_text,
         .argument = "DATE",
         .help = "the board as it stood at the end of that day, UTC: yyyy-mm-dd"},
        {.name = "db",
         .kind = OPT_TEXT,
         .value = &request.db,
         .argument = "FILE",
         .help = "the database"},
    };
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

static enum status read_request(struct request *request, const struct task_table *tasks,
                                struct error *err)
{
    static const char *const formats[] = {"tsv", "csv", "json"};
    size_t format = 0;
    bool padded;

    request->task = task_find(tasks, str_from_cstr(request->task_id));
    if (request->task == NULL)
        return error_set(err, ST_USAGE, "task", "there is no task %s", request->task_id);
    request->by = request->task->phase == TASK_TRAIN ? BOARD_TIME : BOARD_LATENCY;
    if (request->by_text != NULL && !board_by_parse(str_from_cstr(request->by_text), &request->by))
        return error_set(err, ST_USAGE, "by",
                         "--by is time, cost, latency, inference-cost or energy, not %s",
                         request->by_text);
    if (!board_by_fits(request->by, request->task))
        return error_set(err, ST_USAGE, "by", "%s has no board by %s", request->task->id,
                         board_by_name(request->by));
    while (format < ARRAY_LEN(formats) &&
           !str_eq_cstr(str_from_cstr(request->format_text), formats[format]))
        format++;
    if (format == ARRAY_LEN(formats))
        return error_set(err, ST_USAGE, "format", "--format is tsv, csv or json, not %s",
                         request->format_text);
    request->format = (enum format)format;
    if (request->as_of_text == NULL)
        return ST_OK;
    request->has_as_of = clock_parse_date(str_from_cstr(request->as_of_text), &request->as_of_days,
                                          &padded, NULL) == ST_OK &&
                         padded;
    if (!request->has_as_of)
        return error_set(err, ST_USAGE, "as-of", "--as-of is a date, yyyy-mm-dd, not %s",
                         request->as_of_text);
    return ST_OK;
}

static enum status print_board(const struct request *request, struct error *err)
{
    const struct board_rule rule = {
        .by = request->by, .has_as_of = request->has_as_of, .as_of_days = request->as_of_days};
    struct store_reader *reader = NULL;
    struct board board;
    struct arena arena;
    enum status status;

    arena_init(&arena, BOARD_ARENA_BYTES);
    status = store_reader_open(request->db, &reader, err);
    if (status == ST_OK)
        status = board_load(reader, &arena, request->task, &rule, &board, err);
    if (status == ST_OK && request->by == BOARD_ENERGY && board.item_count == 0)
        status = error_set(err, ST_NOT_FOUND, "by",
                           "energy is not available: no entry of %s has a reading of it",
                           request->task->id);
    if (status == ST_OK)
        status = write_board(request, &board, err);
    store_reader_close(reader);
    arena_fini(&arena);
    return status;
}

static enum status write_board(const struct request *request, const struct board *board,
                               struct error *err)
{
    struct buf out;
    enum status status;

    buf_init(&out, OUTPUT_BYTES_MAX);
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
