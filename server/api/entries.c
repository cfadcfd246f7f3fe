/* server/api/entries.c: GET /v1/entries/{entry}. */
#include <string.h>

#include "common/measure.h"
#include "server/api/api.h"
#include "server/api/boards.h"
#include "server/api/json_out.h"
#include "server/api/submission_write.h"
#include "server/app.h"
#include "server/store/read.h"

static void write_entry(struct json_out *out, const struct entry_record *entry);
static void write_trials(struct json_out *out, const struct task *task,
                         const struct entry_record *entry);
static enum status write_list_price(struct request *request, struct store_reader *reader,
                                    const struct entry_record *entry, struct json_out *out,
                                    struct error *err);
static enum status write_places(struct request *request, const struct entry_record *entry,
                                struct json_out *out, struct error *err);
static void write_place(struct json_out *out, enum board_by by, const struct kept_place *place);
static enum status write_runs(struct request *request, struct store_reader *reader,
                              const struct entry_record *entry, struct json_out *out,
                              struct error *err);
static enum status write_checks(struct request *request, struct store_reader *reader,
                                int64_t entry_id, struct json_out *out, struct error *err);
static enum status write_flags(struct request *request, struct store_reader *reader,
                               int64_t entry_id, struct json_out *out, struct error *err);

void handle_get_entry(struct request *request, struct response *response)
{
    struct store_reader *reader = api_begin_read(request, response);
    struct entry_record entry;
    struct error err = {0};
    struct json_out out;
    enum status status;
    struct buf body;
    int64_t id;

    if (reader == NULL)
        return;
    buf_init(&body, RESPONSE_BODY_BYTES_MAX);
    out = (struct json_out){&body, false};
    status = request_arg_id(request, 0, &id, &err);
    if (status == ST_OK)
        status = store_get_entry(reader, request->arena, id, &entry, &err);
    if (status == ST_OK) {
        json_out_begin(&out, NULL, '{');
        write_entry(&out, &entry);
        write_trials(&out, task_find(request->app->tasks, str_from_cstr(entry.task)), &entry);
        status = write_list_price(request, reader, &entry, &out, &err);
    }
    if (status == ST_OK)
        status = write_places(request, &entry, &out, &err);
    if (status == ST_OK)
        status = write_runs(request, reader, &entry, &out, &err);
    if (status == ST_OK)
        status = write_flags(request, reader, entry.id, &out, &err);
    if (status == ST_OK)
        status = write_checks(request, reader, entry.id, &out, &err);
    json_out_end(&out, '}');
    api_end_read(reader);
    if (status != ST_OK)
        response_send_error(response, &err);
    else
        buf_append(response_begin(response, 200, "application/json"), buf_str(&body));
    buf_fini(&body);
}

static void write_entry(struct json_out *out, const struct entry_record *entry)
{
    json_out_i64(out, "entry", entry->id);
    json_out_text(out, "task", entry->task);
    json_out_i64(out, "task_version", entry->task_version);
    json_out_text(out, "name", entry->name);
    json_out_optional(out, "submission", entry->submission_id);
    json_out_text(out, "author", entry->author);
    json_out_text(out, "model", entry->model);
    json_out_text(out, "hardware", entry->hardware);
    json_out_text(out, "framework", entry->framework);
    json_out_text(out, "code_url", entry->code_url);
    json_out_text(out, "cost_usd_per_hour", entry->cost_per_hour_text);
    json_out_text(out, "cost_reason", entry->cost_reason);
    json_out_text(out, "instance", entry->instance);
    json_out_text(out, "region", entry->region);
    json_out_optional(out, "nodes", entry->nodes);
    json_out_text(out, "date", entry->entry_date != NULL ? entry->entry_date : entry->claimed_date);
    json_out_text(out, "state", entry->state);
    if (entry->reason[0] != '\0')
        json_out_text(out, "reason", entry->reason);
    json_out_text(out, "tier", entry->tier);
    json_out_decimal(out, "tta_s", entry->tta_ns, 9);
    json_out_decimal(out, "wall_s", entry->wall_ns, 9);
    json_out_number(out, "latency_ms", entry->latency_ms_text);
    if (entry->inference_cost_text != NULL)
        json_out_number(out, "cost_usd", entry->inference_cost_text);
    else
        json_out_decimal(out, "cost_usd", entry->cost_pico, 12);
    json_out_number(out, "accuracy", entry->accuracy_text);
    json_out_number(out, "epoch", entry->epoch_text);
    if (entry->run_count > 0)
        json_out_i64(out, "n", entry->run_count);
}

/* Once all runs have ended. */
static void write_trials(struct json_out *out, const struct task *task,
                         const struct entry_record *entry)
{
    const size_t reached = entry->tta_run_count;
    const size_t scored = task == NULL ? reached : task_scored(task, reached);
    struct measure_trials trials;

    if (entry->run_count == 0 || strcmp(entry->state, "queued") == 0 ||
        strcmp(entry->state, "running") == 0)
        return;
    trials = measure_trials(&(struct measure_runs){.tta_ns = entry->tta_runs_ns,
                                                   .reached = reached,
                                                   .scored = scored,
                                                   .count = (size_t)entry->run_count});
    json_out_begin(out, "trials", '{');
    json_out_text(out, "score", entry->score_rule);
    json_out_i64(out, "n", (int64_t)trials.count);
    json_out_i64(out, "reached", (int64_t)trials.reached);
    json_out_i64(out, "scored", (int64_t)scored);
    json_out_double(out, "probability", trials.p);
    json_out_double(out, "probability_low", trials.p_low);
    json_out_double(out, "probability_high", trials.p_high);
    if (trials.has_spread) {
        json_out_double(out, "mean_s", trials.spread.mean);
        json_out_double(out, "mean_low_s", trials.mean_low);
        json_out_double(out, "mean_high_s", trials.mean_high);
        json_out_double(out, "cv", trials.spread.cv);
        json_out_double(out, "cv_population", trials.spread.cv_population);
    }
    json_out_end(out, '}');
}

/* The price of the catalog that its cost was computed with, or that what it states is held against. */
static enum status write_list_price(struct request *request, struct store_reader *reader,
                                    const struct entry_record *entry, struct json_out *out,
                                    struct error *err)
{
    struct price_record price;
    enum status status;

    if (!entry->price_id.has)
        return ST_OK;
    status = store_get_price(reader, request->arena, entry->price_id.value, &price, err);
    if (status != ST_OK)
        return status;
    json_out_begin(out, "price", '{');
    json_out_i64(out, "id", price.id);
    json_out_optional(out, "accelerator_price", entry->accelerator_price_id);
    json_out_decimal(out, "usd_per_hour", entry->list_price_pico, 12);
    json_out_text(out, "provider", price.provider);
    json_out_text(out, "region", price.region);
    json_out_text(out, "valid_from", price.valid_from);
    json_out_text(out, "source", price.source);
    json_out_end(out, '}');
    return ST_OK;
}

static enum status write_places(struct request *request, const struct entry_record *entry,
                                struct json_out *out, struct error *err)
{
    const struct task *task = task_find(request->app->tasks, str_from_cstr(entry->task));
    const struct kept *kept;
    int64_t version;
    enum status status;

    json_out_begin(out, "places", '[');
    if (task != NULL) {
        status = boards_begin(request->app->boards, task, &kept, &version, err);
        if (status != ST_OK)
            return status;
        for (enum board_by by = BOARD_TIME; by <= BOARD_ENERGY; by++) {
            struct kept_place place;

            if (kept_find(kept, by, entry->id, &place))
                write_place(out, by, &place);
        }
        boards_end(request->app->boards, task);
    }
    json_out_end(out, ']');
    return ST_OK;
}

static void write_place(struct json_out *out, enum board_by by, const struct kept_place *place)
{
    json_out_begin(out, NULL, '{');
    json_out_text(out, "by", board_by_name(by));
    json_out_i64(out, "place", (int64_t)place->place);
    json_out_bool(out, "tied", place->tied);
    json_out_i64(out, "of", (int64_t)place->total);
    json_out_end(out, '}');
}

static enum status write_runs(struct request *request, struct store_reader *reader,
                              const struct entry_record *entry, struct json_out *out,
                              struct error *err)
{
    struct run_record *runs;
    size_t count;
    enum status status = store_list_runs(reader, request->arena, entry->id, &runs, &count, err);

    if (status != ST_OK)
        return status;
    json_out_begin(out, "runs", '[');
    for (size_t i = 0; i < count; i++) {
        json_out_begin(out, NULL, '{');
        json_out_i64(out, "run", runs[i].id);
        json_out_text(out, "state", runs[i].state);
        json_out_decimal(out, "tta_s", runs[i].tta_ns, 9);
        json_out_end(out, '}');
    }
    json_out_end(out, ']');
    return ST_OK;
}

static enum status write_checks(struct request *request, struct store_reader *reader,
                                int64_t entry_id, struct json_out *out, struct error *err)
{
    struct check_record *checks;
    size_t count;
    const enum status status =
        store_list_checks(reader, request->arena, entry_id, &checks, &count, err);

    if (status == ST_OK)
        submission_write_checks(out, checks, count);
    return status;
}

static enum status write_flags(struct request *request, struct store_reader *reader,
                               int64_t entry_id, struct json_out *out, struct error *err)
{
    struct flag_record *flags;
    size_t count;
    const enum status status =
        store_list_flags(reader, request->arena, entry_id, &flags, &count, err);

    if (status == ST_OK)
        submission_write_flags(out, flags, count);
    return status;
}
