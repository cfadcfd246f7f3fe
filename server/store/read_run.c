/* server/store/read_run.c: reads runs, epochs, jobs, agents and changes (read.h). */
#include <inttypes.h>

#include "server/store/read.h"
#include "server/store/store_internal.h"

#define AGENT_LISTED_MS (INT64_C(30) * 24 * 3600 * 1000)

static enum status get_change_range(struct store_reader *reader, int64_t after, int64_t *newest,
                                    bool *reset, struct error *err);
static void read_run(struct query_run *run, struct run_record *row);
static enum status list_runs(struct query_run *run, struct run_record **rows, size_t *count,
                             struct error *err);
static void read_job(struct query_run *run, struct job_record *row);
static enum status list_jobs(struct query_run *run, struct job_record **rows, size_t *count,
                             struct error *err);
static void read_agent(struct query_run *run, int64_t now_ms, struct agent_record *row);

enum status store_list_runs(struct store_reader *reader, struct arena *arena, int64_t entry_id,
                            struct run_record **rows, size_t *count, struct error *err)
{
    struct query_run run = query_begin(&reader->db, STMT_LIST_RUNS, arena);

    query_bind_i64(&run, entry_id);
    return list_runs(&run, rows, count, err);
}

enum status store_list_live_runs(struct store_reader *reader, struct arena *arena, int limit,
                                 struct run_record **rows, size_t *count, struct error *err)
{
    struct query_run run = query_begin(&reader->db, STMT_LIST_LIVE_RUNS, arena);

    query_bind_i64(&run, limit);
    return list_runs(&run, rows, count, err);
}

enum status store_list_trials(struct store_reader *reader, struct arena *arena, struct str task,
                              struct trial_record **rows, size_t *count, struct error *err)
{
    struct query_run run = query_begin(&reader->db, STMT_LIST_TRIALS, arena);
    size_t capacity = 0;

    *rows = NULL;
    *count = 0;
    query_bind_str(&run, task);
    while (query_next(&run)) {
        struct trial_record row = {.entry_id = query_i64(&run)};

        row.run_id = query_i64(&run);
        row.ordinal = query_i64(&run);
        row.state = query_text(&run);
        row.tta_ns = query_opt(&run);
        row.epoch_text = query_text(&run);
        row.has_first_label = query_double(&run, &row.first_label);
        *rows = query_grow(&run, *rows, *count, &capacity, sizeof row);
        if (*rows != NULL)
            (*rows)[(*count)++] = row;
    }
    return query_end(&run, err);
}

enum status store_count_relapses(struct store_reader *reader, struct str task,
                                 const char *target_text, bool higher_is_better, size_t *reached,
                                 size_t *relapses, struct error *err)
{
    struct query_run run = query_begin(&reader->db, STMT_COUNT_RELAPSES, NULL);
    enum status status;

    query_bind_str(&run, task);
    query_bind_text(&run, target_text);
    query_bind_i64(&run, higher_is_better ? 1 : -1);
    status = query_row(&run, err);
    if (status != ST_OK)
        return status;
    *reached = (size_t)query_i64(&run);
    *relapses = (size_t)query_i64(&run);
    return query_end(&run, err);
}

enum status store_get_run(struct store_reader *reader, struct arena *arena, int64_t id,
                          struct run_record *row, struct error *err)
{
    struct query_run run = query_begin(&reader->db, STMT_GET_RUN, arena);
    enum status status;

    query_bind_i64(&run, id);
    status = query_row(&run, err);
    if (status == ST_NOT_FOUND) {
        (void)query_end(&run, err);
        return error_set(err, ST_NOT_FOUND, "run", "there is no run %" PRId64, id);
    }
    if (status != ST_OK)
        return status;
    read_run(&run, row);
    return query_end(&run, err);
}

enum status store_list_epochs(struct store_reader *reader, struct arena *arena, int64_t run_id,
                              int64_t after, int limit, struct epoch_record **rows, size_t *count,
                              struct error *err)
{
    struct query_run run = query_begin(&reader->db, STMT_LIST_EPOCHS, arena);
    size_t capacity = 0;

    *rows = NULL;
    *count = 0;
    query_bind_i64(&run, run_id);
    query_bind_i64(&run, after);
    query_bind_i64(&run, limit);
    while (query_next(&run)) {
        struct epoch_record row = {.seq = query_i64(&run)};

        row.label = query_text(&run);
        row.value_text = query_text(&run);
        row.official_ns = query_i64(&run);
        row.wall_ns = query_opt(&run);
        row.correct = query_opt(&run);
        row.total = query_opt(&run);
        row.views = query_opt(&run);
        row.has_loss = query_double(&run, &row.loss);
        row.extra_json = query_text(&run);
        *rows = query_grow(&run, *rows, *count, &capacity, sizeof row);
        if (*rows != NULL)
            (*rows)[(*count)++] = row;
    }
    return query_end(&run, err);
}

enum status store_get_epoch(struct store_reader *reader, struct arena *arena, int64_t run_id,
                            int64_t seq, struct epoch_record *epoch, struct error *err)
{
    struct epoch_record *rows;
    size_t count;
    enum status status = store_list_epochs(reader, arena, run_id, seq - 1, 1, &rows, &count, err);

    if (status != ST_OK)
        return status;
    if (count == 0 || rows[0].seq != seq)
        return error_set(err, ST_NOT_FOUND, "seq", "run %" PRId64 " has no epoch at seq %" PRId64,
                         run_id, seq);
    *epoch = rows[0];
    return ST_OK;
}

enum status store_list_queue(struct store_reader *reader, struct arena *arena, int64_t now_ms,
                             struct queue_key after, int64_t limit, struct job_record **rows,
                             size_t *count, struct error *err)
{
    struct query_run run = query_begin(&reader->db, STMT_LIST_QUEUE, arena);

    query_bind_i64(&run, now_ms - AGENT_UNREACHABLE_MS);
    query_bind_i64(&run, after.is_at_work);
    query_bind_i64(&run, after.id);
    query_bind_i64(&run, limit);
    return list_jobs(&run, rows, count, err);
}

enum status store_list_entry_jobs(struct store_reader *reader, struct arena *arena,
                                  int64_t entry_id, int64_t now_ms, struct job_record **rows,
                                  size_t *count, struct error *err)
{
    struct query_run run = query_begin(&reader->db, STMT_LIST_ENTRY_JOBS, arena);

    query_bind_i64(&run, now_ms - AGENT_UNREACHABLE_MS);
    query_bind_i64(&run, entry_id);
    return list_jobs(&run, rows, count, err);
}

enum status store_get_job(struct store_reader *reader, struct arena *arena, int64_t id,
                          int64_t now_ms, struct job_record *job, struct error *err)
{
    struct query_run run = query_begin(&reader->db, STMT_GET_JOB, arena);
    enum status status;

    query_bind_i64(&run, now_ms - AGENT_UNREACHABLE_MS);
    query_bind_i64(&run, id);
    status = query_row(&run, err);
    if (status == ST_NOT_FOUND) {
        (void)query_end(&run, err);
        return error_set(err, ST_NOT_FOUND, "job", "there is no job %" PRId64, id);
    }
    if (status != ST_OK)
        return status;
    read_job(&run, job);
    return query_end(&run, err);
}

enum status store_list_agents(struct store_reader *reader, struct arena *arena, int64_t now_ms,
                              int64_t after_id, int64_t limit, struct agent_record **rows,
                              size_t *count, struct error *err)
{
    struct query_run run = query_begin(&reader->db, STMT_LIST_AGENTS, arena);
    size_t capacity = 0;

    *rows = NULL;
    *count = 0;
    query_bind_i64(&run, now_ms - AGENT_LISTED_MS);
    query_bind_i64(&run, after_id);
    query_bind_i64(&run, limit);
    while (query_next(&run)) {
        struct agent_record row;

        read_agent(&run, now_ms, &row);
        *rows = query_grow(&run, *rows, *count, &capacity, sizeof row);
        if (*rows != NULL)
            (*rows)[(*count)++] = row;
    }
    return query_end(&run, err);
}

enum status store_get_agent(struct store_reader *reader, struct arena *arena, int64_t id,
                            int64_t now_ms, struct agent_record *agent, struct error *err)
{
    struct query_run run = query_begin(&reader->db, STMT_GET_AGENT, arena);
    enum status status;

    query_bind_i64(&run, id);
    status = query_row(&run, err);
    if (status == ST_NOT_FOUND) {
        (void)query_end(&run, err);
        return error_set(err, ST_NOT_FOUND, "agent", "there is no agent %" PRId64, id);
    }
    if (status != ST_OK)
        return status;
    read_agent(&run, now_ms, agent);
    return query_end(&run, err);
}

enum status store_list_changes(struct store_reader *reader, struct arena *arena, int64_t after,
                               int limit, struct change_record **rows, size_t *count, bool *reset,
                               struct error *err)
{
    struct query_run run;
    size_t capacity = 0;
    int64_t newest;
    enum status status = get_change_range(reader, after, &newest, reset, err);

    *rows = NULL;
    *count = 0;
    if (status != ST_OK || *reset)
        return status;
    run = query_begin(&reader->db, STMT_LIST_CHANGES, arena);
    query_bind_i64(&run, after);
    query_bind_i64(&run, limit);
    while (query_next(&run)) {
        struct change_record row = {.id = query_i64(&run)};

        row.topic = query_text(&run);
        row.kind = query_text(&run);
        row.ref = query_i64(&run);
        row.at_ms = query_i64(&run);
        *rows = query_grow(&run, *rows, *count, &capacity, sizeof row);
        if (*rows != NULL)
            (*rows)[(*count)++] = row;
    }
    return query_end(&run, err);
}

enum status store_list_board_changes(struct store_reader *reader, struct arena *arena,
                                     int64_t after, int limit, struct board_change **rows,
                                     size_t *count, int64_t *last, bool *reset, struct error *err)
{
    struct query_run run;
    size_t capacity = 0;
    enum status status = get_change_range(reader, after, last, reset, err);

    *rows = NULL;
    *count = 0;
    if (status != ST_OK || *reset)
        return status;
    run = query_begin(&reader->db, STMT_LIST_BOARD_CHANGES, arena);
    query_bind_i64(&run, after);
    query_bind_i64(&run, limit);
    while (query_next(&run)) {
        struct board_change row = {.topic = query_text(&run)};

        row.entry_id = query_i64(&run);
        *rows = query_grow(&run, *rows, *count, &capacity, sizeof row);
        if (*rows != NULL)
            (*rows)[(*count)++] = row;
    }
    return query_end(&run, err);
}

/* *reset: the table does not go back to `after`. A number from another database is beyond ours; one that aged out
 * leaves a hole behind it. */
static enum status get_change_range(struct store_reader *reader, int64_t after, int64_t *newest,
                                    bool *reset, struct error *err)
{
    struct query_run run = query_begin(&reader->db, STMT_GET_CHANGE_RANGE, NULL);
    enum status status = query_row(&run, err);
    int64_t oldest;

    if (status != ST_OK)
        return status;
    oldest = query_i64(&run);
    *newest = query_i64(&run);
    *reset = after > *newest || (oldest > 0 && after < oldest - 1);
    return query_end(&run, err);
}

enum status store_get_version(struct store_reader *reader, struct str topic, int64_t *version,
                              struct error *err)
{
    struct query_run run = query_begin(&reader->db, STMT_GET_VERSION, NULL);
    enum status status;

    *version = 0;
    query_bind_str(&run, topic);
    status = query_row(&run, err);
    if (status == ST_OK)
        *version = query_i64(&run);
    else if (status != ST_NOT_FOUND)
        return status;
    return query_end(&run, err);
}

enum status store_ping(struct store_reader *reader, struct error *err)
{
    struct query_run run = query_begin(&reader->db, STMT_GET_LAST_CHANGE, NULL);
    const enum status status = query_row(&run, err);

    return status == ST_OK ? query_end(&run, err) : status;
}

/* The columns of run_row, in order, and what an uploader says of it. */
static void read_run(struct query_run *run, struct run_record *row)
{
    *row = (struct run_record){.id = query_i64(run)};
    row->entry_id = query_i64(run);
    row->ordinal = query_i64(run);
    row->entry_name = query_text(run);
    row->task = query_text(run);
    row->tier = query_text(run);
    row->task_version = query_i64(run);
    row->state = query_text(run);
    row->reason = query_text(run);
    row->seed = query_opt(run);
    row->started_ms = query_opt(run);
    row->ended_ms = query_opt(run);
    row->tta_ns = query_opt(run);
    row->wall_ns = query_opt(run);
    row->tta_seq = query_opt(run);
    row->tta_epoch_text = query_text(run);
    row->job_id = query_opt(run);
    row->agent_id = query_opt(run);
    row->fence = query_text(run);
    row->phase = query_text(run);
    row->plan = query_text(run);
    row->workload = query_text(run);
    row->recipe = query_text(run);
    row->hardware = query_text(run);
    row->cost_per_hour_text = query_text(run);
    row->last_seq = query_i64(run);
    row->epoch_count = query_i64(run);
    row->last_value_text = query_text(run);
    row->seed_text = query_text(run);
    row->file_name = query_text(run);
}

static enum status list_runs(struct query_run *run, struct run_record **rows, size_t *count,
                             struct error *err)
{
    size_t capacity = 0;

    *rows = NULL;
    *count = 0;
    while (query_next(run)) {
        struct run_record row;

        read_run(run, &row);
        *rows = query_grow(run, *rows, *count, &capacity, sizeof row);
        if (*rows != NULL)
            (*rows)[(*count)++] = row;
    }
    return query_end(run, err);
}

/* The columns of job_row, in order, and whether a live agent could take it. */
static void read_job(struct query_run *run, struct job_record *row)
{
    *row = (struct job_record){.id = query_i64(run)};
    row->entry_id = query_i64(run);
    row->run_id = query_i64(run);
    row->task = query_text(run);
    row->workload = query_text(run);
    row->recipe = query_text(run);
    row->entry_name = query_text(run);
    row->state = query_text(run);
    row->reason = query_text(run);
    row->device_kind = query_text(run);
    row->tags_json = query_text(run);
    row->created_ms = query_i64(run);
    row->queued_ms = query_i64(run);
    row->tries = query_i64(run);
    row->ended_ms = query_opt(run);
    row->agent_id = query_opt(run);
    row->position = query_opt(run);
    row->agent_name = query_text(run);
    row->fence = query_text(run);
    row->takeable = query_bool(run);
}

static enum status list_jobs(struct query_run *run, struct job_record **rows, size_t *count,
                             struct error *err)
{
    size_t capacity = 0;

    *rows = NULL;
    *count = 0;
    while (query_next(run)) {
        struct job_record row;

        read_job(run, &row);
        *rows = query_grow(run, *rows, *count, &capacity, sizeof row);
        if (*rows != NULL)
            (*rows)[(*count)++] = row;
    }
    return query_end(run, err);
}

/* The columns of agent_row, in order; what it does follows from them and the time. */
static void read_agent(struct query_run *run, int64_t now_ms, struct agent_record *row)
{
    struct str key;

    *row = (struct agent_record){.id = query_i64(run)};
    row->name = query_text(run);
    row->build = query_text(run);
    row->device_kind = query_text(run);
    row->device_model = query_text(run);
    row->hardware = query_text(run);
    row->framework = query_text(run);
    row->instance = query_text(run);
    row->cloud = query_text(run);
    row->cost_per_hour_text = query_text(run);
    row->capabilities_json = query_text(run);
    row->tags_json = query_text(run);
    row->devices = query_i64(run);
    row->protocol = query_i64(run);
    row->registered_ms = query_i64(run);
    row->heartbeat_ms = query_i64(run);
    row->state = query_text(run);
    row->job_id = query_opt(run);
    row->run_id = query_opt(run);
    row->fence = query_text(run);
    key = query_blob(run);
    if (key.len == sizeof row->public_key)
        memcpy(row->public_key, key.data, key.len);
    if (row->state == NULL || strcmp(row->state, "active") != 0)
        return;
    if (row->heartbeat_ms < now_ms - AGENT_UNREACHABLE_MS)
        row->state = "unreachable";
    else
        row->state = row->fence != NULL ? "busy" : "idle";
}
