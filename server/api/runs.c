/* server/api/runs.c: GET /v1/runs/{run} and its epochs: JSON, CSV, and the TSV of DAWNBench. */
#include <inttypes.h>

#include "common/decimal.h"
#include "common/json.h"
#include "server/api/api.h"
#include "server/api/epoch_write.h"
#include "server/api/json_out.h"
#include "server/app.h"
#include "server/store/read.h"

enum epoch_form { FORM_JSON, FORM_CSV, FORM_TSV };

static enum status read_run(struct request *request, struct store_reader *reader,
                            struct run_record *run, struct error *err);
static void write_run(struct json_out *out, const struct task *task, const struct run_record *run);
static enum status read_form(struct request *request, enum epoch_form *form, int64_t *after,
                             int64_t *limit, struct error *err);
static void write_json(struct response *response, const struct run_record *run,
                       const struct epoch_record *rows, size_t count, bool more);
static void write_csv(struct response *response, const struct epoch_record *rows, size_t count);
static void write_tsv(struct request *request, struct response *response, const struct task *task,
                      const struct epoch_record *rows, size_t count);
static void append_hours(struct buf *out, int64_t official_ns);

void handle_get_run(struct request *request, struct response *response)
{
    struct store_reader *reader = api_begin_read(request, response);
    struct run_record run;
    struct error err = {0};
    struct json_out out;
    char topic[48], etag[48];
    int64_t version = 0;
    enum status status;

    if (reader == NULL)
        return;
    status = read_run(request, reader, &run, &err);
    if (status == ST_OK) {
        (void)snprintf(topic, sizeof topic, "run:%" PRId64, run.id);
        status = store_get_version(reader, str_from_cstr(topic), &version, &err);
    }
    api_end_read(reader);
    if (status != ST_OK) {
        response_send_error(response, &err);
        return;
    }
    (void)snprintf(etag, sizeof etag, "r%" PRId64 "-%" PRId64, run.id, version);
    if (response_send_not_modified(response, etag))
        return;
    out = (struct json_out){response_begin(response, 200, "application/json"), false};
    write_run(&out, task_find(request->app->tasks, str_from_cstr(run.task)), &run);
}

void handle_get_epochs(struct request *request, struct response *response)
{
    const struct task *task = NULL;
    struct store_reader *reader;
    struct epoch_record *rows = NULL;
    enum epoch_form form = FORM_JSON;
    struct run_record run;
    struct error err = {0};
    int64_t after = 0, limit = 0;
    size_t count = 0;
    enum status status;

    if (read_form(request, &form, &after, &limit, &err) != ST_OK) {
        response_send_error(response, &err);
        return;
    }
    reader = api_begin_read(request, response);
    if (reader == NULL)
        return;
    status = read_run(request, reader, &run, &err);
    if (status == ST_OK)
        task = task_find(request->app->tasks, str_from_cstr(run.task));
    if (status == ST_OK)
        status = store_list_epochs(reader, request->arena, run.id, after, (int)limit + 1, &rows,
                                   &count, &err);
    api_end_read(reader);
    if (status != ST_OK) {
        response_send_error(response, &err);
        return;
    }
    response_add_header(response, "Vary", "Accept");
    if (form == FORM_JSON) {
        const bool more = count > (size_t)limit;

        write_json(response, &run, rows, more ? (size_t)limit : count, more);
    } else if (form == FORM_CSV) {
        write_csv(response, rows, count);
    } else {
        write_tsv(request, response, task, rows, count);
    }
}

static enum status read_run(struct request *request, struct store_reader *reader,
                            struct run_record *run, struct error *err)
{
    int64_t id;
    enum status status = request_arg_id(request, 0, &id, err);

    return status == ST_OK ? store_get_run(reader, request->arena, id, run, err) : status;
}

static void write_run(struct json_out *out, const struct task *task, const struct run_record *run)
{
    json_out_begin(out, NULL, '{');
    json_out_i64(out, "run", run->id);
    json_out_i64(out, "entry", run->entry_id);
    json_out_text(out, "name", run->entry_name);
    json_out_text(out, "task", run->task);
    json_out_i64(out, "task_version", run->task_version);
    json_out_text(out, "state", run->state);
    if (run->reason[0] != '\0')
        json_out_text(out, "detail", run->reason);
    json_out_text(out, "tier", run->tier);
    if (task != NULL) {
        json_out_text(out, "metric", task->metric);
        json_out_text(out, "unit", task->unit);
        json_out_number(out, "target", task->target_text);
    }
    json_out_text(out, "workload", run->workload);
    json_out_text(out, "recipe", run->recipe);
    json_out_text(out, "plan", run->plan);
    json_out_optional(out, "seed", run->seed);
    json_out_optional(out, "job", run->job_id);
    json_out_text(out, "attempt", run->fence);
    json_out_optional(out, "agent", run->agent_id);
    json_out_text(out, "hardware", run->hardware);
    if (run->started_ms.has)
        json_out_time(out, "started", run->started_ms.value);
    if (run->ended_ms.has)
        json_out_time(out, "ended", run->ended_ms.value);
    json_out_decimal(out, "tta_s", run->tta_ns, 9);
    json_out_number(out, "tta_epoch", run->tta_epoch_text);
    json_out_optional(out, "tta_seq", run->tta_seq);
    json_out_decimal(out, "wall_s", run->wall_ns, 9);
    json_out_text(out, "cost_usd_per_hour", run->cost_per_hour_text);
    json_out_number(out, "accuracy", run->last_value_text);
    json_out_i64(out, "epochs", run->epoch_count);
    json_out_i64(out, "last_seq", run->last_seq);
    json_out_text(out, "phase", run->phase);
    json_out_end(out, '}');
}

static enum status read_form(struct request *request, enum epoch_form *form, int64_t *after,
                             int64_t *limit, struct error *err)
{
    static const char *const names[] = {"json", "csv", "tsv", NULL};
    const char *format = NULL;

    (void)query_read_i64(&request->query, "after", 0, INT64_MAX, after, err);
    (void)query_read_word(&request->query, "format", names, &format, err);
    if (format != NULL) {
        *form = strcmp(format, "json") == 0  ? FORM_JSON
                : strcmp(format, "csv") == 0 ? FORM_CSV
                                             : FORM_TSV;
    } else if (request_prefers(request, "text/csv")) {
        *form = FORM_CSV;
    } else if (request_prefers(request, "text/tab-separated-values")) {
        *form = FORM_TSV;
    }
    api_read_limit(request, limit, err);
    if (*form != FORM_JSON)
        *limit = 100000; /* files are whole */
    return query_finish(&request->query, err);
}

static void write_json(struct response *response, const struct run_record *run,
                       const struct epoch_record *rows, size_t count, bool more)
{
    struct json_out out;
    char after[24];

    if (more) {
        (void)snprintf(after, sizeof after, "%" PRId64, rows[count - 1].seq);
        api_link_next(response, "after", after);
    }
    out = (struct json_out){response_begin(response, 200, "application/json"), false};
    json_out_begin(&out, NULL, '{');
    json_out_i64(&out, "run", run->id);
    json_out_begin(&out, "items", '[');
    for (size_t i = 0; i < count; i++) {
        json_out_begin(&out, NULL, '{');
        epoch_write_members(&out, &rows[i]);
        json_out_end(&out, '}');
    }
    json_out_end(&out, ']');
    if (more)
        json_out_i64(&out, "next_after", rows[count - 1].seq);
    json_out_end(&out, '}');
}

static void write_csv(struct response *response, const struct epoch_record *rows, size_t count)
{
    struct buf *out = response_begin(response, 200, "text/csv; charset=utf-8");

    buf_append_cstr(out, "seq,epoch,tta_s,wall_s,accuracy,correct,total,loss,views\r\n");
    for (size_t i = 0; i < count; i++) {
        const struct epoch_record *row = &rows[i];
        const struct opt_i64 counts[] = {row->correct, row->total};
        char seconds[32];

        decimal_format_short(row->official_ns, 9, seconds);
        buf_appendf(out, "%" PRId64 ",%s,%s,", row->seq, row->label, seconds);
        if (row->wall_ns.has) {
            decimal_format_short(row->wall_ns.value, 9, seconds);
            buf_append_cstr(out, seconds);
        }
        buf_append_char(out, ',');
        csv_append_cell(out, str_from_cstr(row->value_text));
        for (size_t c = 0; c < ARRAY_LEN(counts); c++) {
            buf_append_char(out, ',');
            if (counts[c].has)
                buf_appendf(out, "%" PRId64, counts[c].value);
        }
        buf_append_char(out, ',');
        if (row->has_loss)
            buf_appendf(out, "%.9g", row->loss);
        buf_append_char(out, ',');
        if (row->views.has)
            buf_appendf(out, "%" PRId64, row->views.value);
        buf_append_cstr(out, "\r\n");
    }
}

/* epoch, hours, the task's metric, and its further columns where a row has them. */
static void write_tsv(struct request *request, struct response *response, const struct task *task,
                      const struct epoch_record *rows, size_t count)
{
    struct buf *out = response_begin(response, 200, "text/tab-separated-values; charset=utf-8");
    const size_t columns = task == NULL ? 0 : task->column_count;

    buf_appendf(out, "epoch\thours\t%s", task == NULL ? "value" : task->metric);
    for (size_t c = 0; c < columns; c++)
        buf_appendf(out, "\t%s", task->columns[c]);
    buf_append_char(out, '\n');
    for (size_t i = 0; i < count; i++) {
        struct json_doc extras = {0};
        struct error ignored = {0};

        buf_appendf(out, "%s\t", rows[i].label);
        append_hours(out, rows[i].official_ns);
        buf_appendf(out, "\t%s", rows[i].value_text);
        if (rows[i].extra_json != NULL)
            (void)json_doc_parse(str_from_cstr(rows[i].extra_json), request->arena, &extras,
                                 &ignored);
        for (size_t c = 0; c < columns; c++) {
            const struct json_place *place =
                json_doc_find(&extras, arena_printf(request->arena, "/%s", task->columns[c]));

            buf_append_char(out, '\t');
            if (place != NULL)
                buf_append(out, place->raw);
        }
        json_doc_fini(&extras);
        buf_append_char(out, '\n');
    }
}

/* 1e-9 hours are 3,600 ns: nine decimals, rounded half to even. */
static void append_hours(struct buf *out, int64_t official_ns)
{
    const int64_t whole = official_ns / 3600, rest = official_ns % 3600;
    char text[32];

    decimal_format(whole + (rest > 1800 || (rest == 1800 && whole % 2 != 0)), 9, text);
    buf_append_cstr(out, text);
}
