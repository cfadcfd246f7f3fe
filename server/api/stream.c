/* server/api/stream.c: GET /v1/stream: what changes, as Server-Sent Events, out of the change table. A stream keeps
 * the id of the last change it has sent and reads on from there whenever it is woken. */
#include <inttypes.h>

#include "common/task.h"
#include "server/api/api.h"
#include "server/api/epoch_write.h"
#include "server/api/json_out.h"
#include "server/app.h"
#include "server/store/read.h"

enum { TOPICS_MAX = 16, BATCH = 200, STREAM_ARENA_BYTES = 4 << 20, PENDING_ENOUGH = 64 * 1024 };

static const struct str run_prefix = {"run:", 4}, board_prefix = {"board:", 6},
                        submission_prefix = {"submission:", 11};

struct feed {
    struct app *app;
    char *topics[TOPICS_MAX + 1];
    size_t topic_count;
    int64_t after; /* id of the last change that was looked at */
};

static void read_topics(struct request *request, struct feed *feed, struct error *err);
static bool is_topic(const struct request *request, struct str topic);
static bool read_id_topic(struct str topic, struct str prefix, int64_t *id);
static void refuse_topic(struct request *request, struct str topic, struct error *err);
static enum status find_topics(struct request *request, const struct feed *feed, struct error *err);
static enum status find_topic(struct request *request, struct store_reader *reader,
                              struct str topic, struct error *err);
static void read_after(struct request *request, struct feed *feed, struct error *err);
static void destroy_feed(void *state);
static bool fill_feed(void *state, struct buf *out);
static bool is_followed(const struct feed *feed, const char *topic);
static bool append_change(struct store_reader *reader, struct arena *arena,
                          const struct change_record *change, struct buf *out);
static enum status write_data(struct store_reader *reader, struct arena *arena,
                              const struct change_record *change, struct json_out *out,
                              struct error *err);
static enum status write_submission(struct store_reader *reader, struct arena *arena,
                                    int64_t submission_id, const struct change_record *change,
                                    struct json_out *out, struct error *err);

void handle_stream(struct request *request, struct response *response)
{
    struct feed *feed = calloc(1, sizeof *feed);
    struct error err = {0};
    enum status status;

    if (feed == NULL) {
        (void)error_set(&err, ST_NO_MEMORY, NULL, "no memory for a stream");
        response_send_error(response, &err);
        return;
    }
    feed->app = request->app;
    read_topics(request, feed, &err);
    read_after(request, feed, &err);
    status = query_finish(&request->query, &err);
    if (status == ST_OK)
        status = find_topics(request, feed, &err);
    if (status == ST_OK && !request_stream_has_room(request))
        status = error_set_code(&err, ST_UNAVAILABLE, "busy", NULL, NULL,
                                "the server has as many streams as it can take");
    if (status != ST_OK) {
        destroy_feed(feed);
        response_send_error(response, &err);
        return;
    }
    response_add_header(response, "Cache-Control", "no-store");
    response_add_header(response, "X-Accel-Buffering", "no"); /* nginx would hold events back */
    response_begin_stream(response, &(struct stream_source){
                                        .fill = fill_feed,
                                        .destroy = destroy_feed,
                                        .state = feed,
                                        .topics = (const char *const *)feed->topics,
                                        .topic_count = feed->topic_count,
                                    });
}

static void read_topics(struct request *request, struct feed *feed, struct error *err)
{
    struct str rest = {0}, topic;
    bool more = true;

    if (!query_read_text(&request->query, "topics", &rest) || rest.len == 0)
        (void)request_fault(request, "missing_parameter", "topics",
                            "topics=run:7,submission:3,board:cifar10-train,queue", err,
                            "a stream needs its topics");
    while (rest.len > 0 && str_split_next(&rest, &more, ',', &topic)) {
        if (!is_topic(request, topic)) {
            refuse_topic(request, topic, err);
            continue;
        }
        if (feed->topic_count == TOPICS_MAX) {
            (void)request_fault(request, "out_of_range", "topics", NULL, err,
                                "a stream has %d topics at most", TOPICS_MAX);
            return;
        }
        feed->topics[feed->topic_count] = strndup(topic.data, topic.len);
        if (feed->topics[feed->topic_count] == NULL) {
            (void)error_set(err, ST_NO_MEMORY, NULL, "no memory for a stream");
            return;
        }
        feed->topic_count++;
    }
}

/* Whether a run or a submission is there is asked for afterwards, of all at once. */
static bool is_topic(const struct request *request, struct str topic)
{
    int64_t id;

    return str_eq(topic, STR("queue")) || read_id_topic(topic, run_prefix, &id) ||
           read_id_topic(topic, submission_prefix, &id) ||
           (str_starts_with(topic, board_prefix) &&
            task_find(request->app->tasks, str_slice(topic, board_prefix.len, topic.len)) != NULL);
}

static bool read_id_topic(struct str topic, struct str prefix, int64_t *id)
{
    return str_starts_with(topic, prefix) && topic.len < 32 &&
           str_parse_i64(str_slice(topic, prefix.len, topic.len), id) && *id > 0 &&
           topic.data[prefix.len] != '0';
}

static void refuse_topic(struct request *request, struct str topic, struct error *err)
{
    (void)request_fault(request, "bad_parameter", "topics",
                        "run:ID, submission:ID, board:TASK or queue", err,
                        "there is no topic \"%.*s\"", (int)str_utf8_cut(topic, 64), topic.data);
}

/* Who follows what is not there would wait for ever. */
static enum status find_topics(struct request *request, const struct feed *feed, struct error *err)
{
    struct store_reader *reader = app_reader(request->app, err);

    if (reader == NULL || store_reader_begin(reader, err) != ST_OK)
        return err->status;
    for (size_t i = 0; i < feed->topic_count; i++) {
        const struct str topic = str_from_cstr(feed->topics[i]);
        struct error fault = {0};
        const enum status status = find_topic(request, reader, topic, &fault);

        if (status == ST_NOT_FOUND)
            refuse_topic(request, topic, err);
        else if (status != ST_OK && err->status == ST_OK)
            *err = fault;
    }
    api_end_read(reader);
    return err->status;
}

/* Runs and submissions are for everybody to read, and an event says no more of them than their pages do. */
static enum status find_topic(struct request *request, struct store_reader *reader,
                              struct str topic, struct error *err)
{
    struct submission_record submission;
    struct run_record run;
    int64_t id;

    if (read_id_topic(topic, run_prefix, &id))
        return store_get_run(reader, request->arena, id, &run, err);
    if (read_id_topic(topic, submission_prefix, &id))
        return store_get_submission(reader, request->arena, id, &submission, err);
    return ST_OK;
}

static void read_after(struct request *request, struct feed *feed, struct error *err)
{
    const struct str header = request_header(request, "Last-Event-ID");
    int64_t after = -1;

    (void)query_read_i64(&request->query, "last_event_id", 0, INT64_MAX, &after, err);
    if (header.len > 0 && (!str_parse_i64(header, &after) || after < 0))
        (void)request_fault(request, "bad_parameter", "Last-Event-ID", NULL, err,
                            "Last-Event-ID is the number of an event");
    feed->after = after >= 0 ? after : store_last_change_id(request->app->store);
}

static void destroy_feed(void *state)
{
    struct feed *feed = state;

    if (feed == NULL)
        return;
    for (size_t i = 0; i < feed->topic_count; i++)
        free(feed->topics[i]);
    free(feed);
}

/* false ends the stream: the client comes back with the last id it saw. */
static bool fill_feed(void *state, struct buf *out)
{
    struct feed *feed = state;
    struct change_record *rows;
    struct store_reader *reader;
    struct error err = {0};
    size_t count = BATCH;
    bool good = true;

    reader = app_reader(feed->app, &err);
    while (reader != NULL && good && count == BATCH && out->len < PENDING_ENOUGH) {
        const int64_t last = store_last_change_id(feed->app->store);
        struct arena arena;
        bool reset = false;

        arena_init(&arena, STREAM_ARENA_BYTES);
        good = store_list_changes(reader, &arena, feed->after, BATCH, &rows, &count, &reset,
                                  &err) == ST_OK;
        if (good && (reset || feed->after > last)) {
            buf_appendf(out, "id: %" PRId64 "\nevent: reset\ndata: {}\n\n", last);
            feed->after = last;
            count = 0;
        }
        for (size_t i = 0; good && i < count; i++) {
            if (is_followed(feed, rows[i].topic))
                good = append_change(reader, &arena, &rows[i], out);
            feed->after = rows[i].id;
        }
        arena_fini(&arena);
    }
    return reader != NULL && good;
}

static bool is_followed(const struct feed *feed, const char *topic)
{
    for (size_t i = 0; i < feed->topic_count; i++)
        if (strcmp(feed->topics[i], topic) == 0)
            return true;
    return false;
}

static bool append_change(struct store_reader *reader, struct arena *arena,
                          const struct change_record *change, struct buf *out)
{
    const size_t before = out->len;
    struct json_out json = {out, false};
    struct error err = {0};

    buf_appendf(out, "id: %" PRId64 "\nevent: %s\ndata: ", change->id, change->kind);
    if (write_data(reader, arena, change, &json, &err) == ST_OK) {
        buf_append_cstr(out, "\n\n");
        return !out->failed;
    }
    out->len =
        before; /* what it was about is no longer the run's: a later attempt's epochs replaced it */
    return err.status == ST_NOT_FOUND;
}

static enum status write_data(struct store_reader *reader, struct arena *arena,
                              const struct change_record *change, struct json_out *out,
                              struct error *err)
{
    const struct str topic = str_from_cstr(change->topic);
    struct epoch_record epoch = {0};
    struct run_record run = {0};
    struct job_record job = {0};
    enum status status = ST_OK;
    int64_t run_id = 0, submission_id;
    size_t colon = topic.len;

    if (read_id_topic(topic, submission_prefix, &submission_id))
        return write_submission(reader, arena, submission_id, change, out, err);
    (void)str_find_char(topic, ':', &colon);
    if (strcmp(change->kind, "epoch") == 0) {
        if (!str_parse_i64(str_slice(topic, colon + 1, topic.len), &run_id))
            return error_set(err, ST_NOT_FOUND, NULL, "not a run's topic");
        status = store_get_epoch(reader, arena, run_id, change->ref, &epoch, err);
    } else if (strcmp(change->kind, "run") == 0) {
        status = store_get_run(reader, arena, change->ref, &run, err);
    } else if (strcmp(change->kind, "job") == 0) {
        status = store_get_job(reader, arena, change->ref, change->at_ms, &job, err);
    }
    if (status != ST_OK)
        return status;
    json_out_begin(out, NULL, '{');
    if (strcmp(change->kind, "epoch") == 0) {
        json_out_i64(out, "run", run_id);
        epoch_write_members(out, &epoch);
    } else if (strcmp(change->kind, "run") == 0) {
        json_out_i64(out, "run", change->ref);
        json_out_text(out, "state", run.state);
        json_out_decimal(out, "tta_s", run.tta_ns, 9);
    } else if (strcmp(change->kind, "job") == 0) {
        json_out_i64(out, "job", change->ref);
        json_out_text(out, "state", job.state);
    } else if (strcmp(change->kind, "agent") == 0) {
        json_out_i64(out, "agent", change->ref);
    } else {
        json_out_str(out, "task", str_slice(topic, colon + 1, topic.len));
        json_out_i64(out, "entry", change->ref);
    }
    json_out_end(out, '}');
    return ST_OK;
}

/* Its state is the one it has now, as a run's is: the history tells each step. */
static enum status write_submission(struct store_reader *reader, struct arena *arena,
                                    int64_t submission_id, const struct change_record *change,
                                    struct json_out *out, struct error *err)
{
    struct submission_record submission;
    const enum status status = store_get_submission(reader, arena, submission_id, &submission, err);

    if (status != ST_OK)
        return status;
    json_out_begin(out, NULL, '{');
    json_out_i64(out, "submission", submission_id);
    json_out_text(out, "state", submission.state);
    if (strcmp(change->kind, "comment") == 0)
        json_out_i64(out, "comment", change->ref);
    else if (strcmp(change->kind, "revision") == 0)
        json_out_i64(out, "revision", change->ref);
    json_out_end(out, '}');
    return ST_OK;
}
