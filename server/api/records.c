/* server/api/records.c: GET /v1/leaderboards/{task}/records: who held the record when. */
#include "server/rank/records.h"

#include <inttypes.h>

#include "common/clock.h"
#include "server/api/api.h"
#include "server/api/boards.h"
#include "server/api/json_out.h"
#include "server/app.h"

enum { ARENA_BYTES = 64 << 20 };

static enum status write_records(const struct kept *kept, const struct task *task, enum board_by by,
                                 struct buf *body, struct error *err);
static void write_record(struct json_out *out, enum board_by by, const struct record *record);

void handle_get_records(struct request *request, struct response *response)
{
    const struct task *task = api_find_task(request, response);
    enum board_by by = BOARD_TIME;
    const struct kept *kept;
    struct error err = {0};
    int64_t version;
    char etag[48];
    struct buf body;
    enum status status;

    if (task == NULL)
        return;
    boards_read_by(request, task, &by, &err);
    status = query_finish(&request->query, &err);
    if (status == ST_OK)
        status = boards_begin(request->app->boards, task, &kept, &version, &err);
    if (status != ST_OK) {
        response_send_error(response, &err);
        return;
    }
    buf_init(&body, RESPONSE_BODY_BYTES_MAX);
    status = write_records(kept, task, by, &body, &err);
    boards_end(request->app->boards, task);
    (void)snprintf(etag, sizeof etag, "r%" PRId64, version);
    if (status != ST_OK)
        response_send_error(response, &err);
    else if (!response_send_not_modified(response, etag))
        buf_append(response_begin(response, 200, "application/json"), buf_str(&body));
    buf_fini(&body);
}

static enum status write_records(const struct kept *kept, const struct task *task, enum board_by by,
                                 struct buf *body, struct error *err)
{
    struct json_out out = {body, false};
    struct record *records;
    struct arena arena;
    size_t count;
    enum status status;

    arena_init(&arena, ARENA_BYTES);
    status = records_list(kept, task, by, &arena, &records, &count, err);
    if (status == ST_OK) {
        json_out_begin(&out, NULL, '{');
        json_out_text(&out, "task", task->id);
        json_out_text(&out, "by", board_by_name(by));
        json_out_begin(&out, "records", '[');
        for (size_t i = 0; i < count; i++)
            write_record(&out, by, &records[i]);
        json_out_end(&out, ']');
        json_out_end(&out, '}');
        status = buf_check(body, err);
    }
    arena_fini(&arena);
    return status;
}

static void write_record(struct json_out *out, enum board_by by, const struct record *record)
{
    static const struct {
        const char *name;
        int places;
    } values[] = {
        [BOARD_TIME] = {"tta_s", 9},         [BOARD_COST] = {"cost_usd", 12},
        [BOARD_LATENCY] = {"latency_ms", 6}, [BOARD_INFERENCE_COST] = {"cost_usd", 12},
        [BOARD_ENERGY] = {"energy_j", 6},
    };
    const struct board_entry *row = record->row;
    char date[CLOCK_TEXT_BYTES];

    json_out_begin(out, NULL, '{');
    json_out_i64(out, "entry", row->entry);
    json_out_text(out, "name", row->name);
    json_out_text(out, "model", row->model);
    json_out_text(out, "author", row->author);
    json_out_text(out, "hardware", row->hardware);
    json_out_text(out, "tier", row->tier);
    clock_format_days(record->from_days, date);
    json_out_text(out, "from", date);
    if (record->has_to) /* else to_days is no day */
        clock_format_days(record->to_days, date);
    json_out_text(out, "to", record->has_to ? date : NULL);
    json_out_decimal(out, values[by].name, (struct opt_i64){true, record->value},
                     values[by].places);
    json_out_optional(out, "n", (struct opt_i64){row->has_n, row->n});
    if (record->has_before && record->improvement > 0.0)
        json_out_double(out, "improvement", record->improvement);
    if (record->has_welch)
        json_out_double(out, "p", record->welch.p);
    json_out_end(out, '}');
}
