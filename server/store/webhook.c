/* server/store/webhook.c: webhooks and their deliveries: who is told, what waits, what became of it. The deliveries
 * themselves are made by triggers (0002_service.sql, notice). */
#include <inttypes.h>

#include "server/store/read.h"
#include "server/store/store_internal.h"
#include "server/store/verbs.h"

enum { WAITING_MAX = 10000, HOPELESS_MAX = 100 };

static enum status drop_deliveries(struct db *db, int64_t webhook_id, const char *reason,
                                   struct error *err);
static enum status give_up(struct db *db, int64_t webhook_id, const char *reason,
                           struct error *err);
static void read_delivery(struct query_run *run, struct delivery_record *row);
static enum status get_delivery(struct db *db, struct arena *arena, struct redeliver *redeliver,
                                struct error *err);

enum status verb_create_webhook(struct db *db, struct arena *arena, void *args, struct error *err)
{
    struct create_webhook *create = args;
    struct query_run run = query_begin(db, STMT_COUNT_LIVE_WEBHOOKS, arena);
    int64_t live = 0;
    enum status status;

    query_bind_i64(&run, create->token_id);
    status = query_row(&run, err);
    if (status != ST_OK)
        return status;
    live = query_i64(&run);
    status = query_end(&run, err);
    if (status == ST_OK && live >= WEBHOOKS_MAX)
        status = error_set_code(err, ST_CONFLICT, "too-many-webhooks", NULL, "delete one first",
                                "a token has %d webhooks at most", WEBHOOKS_MAX);
    if (status != ST_OK)
        return status;
    run = query_begin(db, STMT_INSERT_WEBHOOK, arena);
    query_bind_i64(&run, create->token_id);
    query_bind_text(&run, create->url);
    query_bind_text(&run, create->kinds_json);
    query_bind_text(&run, create->task);
    query_bind_blob(&run, create->secret, sizeof create->secret);
    query_bind_i64(&run, db->now_ms);
    status = query_done(&run, err);
    create->webhook_id = sqlite3_last_insert_rowid(db->handle);
    create->created_ms = db->now_ms;
    return status;
}

enum status verb_delete_webhook(struct db *db, struct arena *arena, void *args, struct error *err)
{
    const struct delete_webhook *delete = args;
    struct query_run run = query_begin(db, STMT_DELETE_WEBHOOK, arena);
    enum status status;

    query_bind_i64(&run, delete->webhook_id);
    query_bind_i64(&run, delete->token_id);
    query_bind_i64(&run, db->now_ms);
    status = query_done(&run, err);
    if (status == ST_OK && sqlite3_changes64(db->handle) == 0)
        status = error_set_code(err, ST_NOT_FOUND, "not-found", NULL, NULL,
                                "your token has no such webhook");
    return status == ST_OK ? drop_deliveries(db, delete->webhook_id, "the webhook was deleted", err)
                           : status;
}

enum status verb_redeliver(struct db *db, struct arena *arena, void *args, struct error *err)
{
    struct redeliver *redeliver = args;
    struct query_run run;
    enum status status = get_delivery(db, arena, redeliver, err);

    if (status != ST_OK)
        return status;
    run = query_begin(db, STMT_REDELIVER, arena);
    query_bind_i64(&run, redeliver->delivery_id);
    query_bind_i64(&run, db->now_ms);
    status = query_done(&run, err);
    if (status == ST_OK && sqlite3_changes64(db->handle) == 0)
        return error_set_code(err, ST_CONFLICT, "delivery-under-way", NULL, NULL,
                              "it is being delivered right now, or its webhook was given up");
    return status == ST_OK ? get_delivery(db, arena, redeliver, err) : status;
}

enum status verb_begin_deliveries(struct db *db, struct arena *arena, void *args, struct error *err)
{
    struct begin_deliveries *begin = args;
    struct query_run run = query_begin(db, STMT_LIST_DUE_DELIVERIES, arena);
    enum status status;

    begin->count = 0;
    query_bind_i64(&run, db->now_ms);
    query_bind_i64(&run, begin->max < DELIVERIES_BEGUN_MAX ? begin->max : DELIVERIES_BEGUN_MAX);
    while (query_next(&run)) {
        struct begun_delivery *item = &begin->items[begin->count++];

        item->id = query_i64(&run);
        item->url = query_text(&run);
        item->secret = query_blob(&run);
        item->kind = query_text(&run);
        item->body = query_blob(&run);
        item->tries = query_i64(&run) + 1;
    }
    status = query_end(&run, err);
    for (size_t i = 0; i < begin->count && status == ST_OK; i++) {
        run = query_begin(db, STMT_BEGIN_DELIVERY, arena);
        query_bind_i64(&run, begin->items[i].id);
        query_bind_i64(&run, db->now_ms);
        status = query_done(&run, err);
    }
    return status;
}

/* One that is no longer waiting was dropped meanwhile: nothing is left to be said of it. */
enum status verb_end_delivery(struct db *db, struct arena *arena, void *args, struct error *err)
{
    const struct end_delivery *end = args;
    struct query_run run = query_begin(db, STMT_GET_DELIVERY_TRIES, arena);
    int64_t tries, webhook_id;
    bool failed;
    enum status status;

    query_bind_i64(&run, end->delivery_id);
    status = query_row(&run, err);
    if (status == ST_NOT_FOUND)
        return query_end(&run, err);
    if (status != ST_OK)
        return status;
    tries = query_i64(&run);
    webhook_id = query_i64(&run);
    failed = end->end == DELIVERY_GONE || (end->end == DELIVERY_LATER && tries >= end->tries_max);
    status = query_end(&run, err);
    if (status != ST_OK)
        return status;
    run = query_begin(db, STMT_END_DELIVERY, arena);
    query_bind_i64(&run, end->delivery_id);
    query_bind_text(&run, end->end == DELIVERY_DONE ? "delivered" : failed ? "failed" : "waiting");
    query_bind_i64(&run, db->now_ms + (end->end == DELIVERY_LATER ? end->delay_ms : 0));
    query_bind_opt(&run, end->http_status);
    query_bind_text(&run, end->error);
    query_bind_opt(&run, (struct opt_i64){end->end == DELIVERY_DONE || failed, db->now_ms});
    status = query_done(&run, err);
    return status == ST_OK && end->end == DELIVERY_GONE
               ? give_up(db, webhook_id, "its receiver answered 410: gone", err)
               : status;
}

enum status verb_release_deliveries(struct db *db, struct arena *arena, void *args,
                                    struct error *err)
{
    struct query_run run = query_begin(db, STMT_RELEASE_DELIVERIES, arena);

    (void)args;
    query_bind_i64(&run, db->now_ms);
    return query_done(&run, err);
}

enum status db_give_webhooks_up(struct db *db, struct arena *arena, struct error *err)
{
    struct query_run run = query_begin(db, STMT_LIST_HOPELESS_WEBHOOKS, arena);
    const char *reasons[HOPELESS_MAX];
    int64_t ids[HOPELESS_MAX];
    size_t count = 0;
    enum status status;

    query_bind_i64(&run, db->now_ms);
    query_bind_i64(&run, WAITING_MAX);
    while (count < HOPELESS_MAX && query_next(&run)) {
        ids[count] = query_i64(&run);
        reasons[count++] = query_text(&run);
    }
    status = query_end(&run, err);
    for (size_t i = 0; i < count && status == ST_OK; i++)
        status = give_up(db, ids[i], reasons[i], err);
    db->hooks_ms = db->now_ms;
    return status;
}

enum status store_list_webhooks(struct store_reader *reader, struct arena *arena, int64_t token_id,
                                int64_t id, struct webhook_record **rows, size_t *count,
                                struct error *err)
{
    struct query_run run = query_begin(&reader->db, STMT_LIST_WEBHOOKS, arena);
    size_t capacity = 0;

    *rows = NULL;
    *count = 0;
    query_bind_i64(&run, token_id);
    query_bind_i64(&run, id);
    while (query_next(&run)) {
        struct webhook_record row = {.id = query_i64(&run)};

        row.url = query_text(&run);
        row.kinds_json = query_text(&run);
        row.task = query_text(&run);
        row.created_ms = query_i64(&run);
        row.ended_ms = query_opt(&run);
        row.reason = query_text(&run);
        row.waiting = query_i64(&run);
        *rows = query_grow(&run, *rows, *count, &capacity, sizeof row);
        if (*rows != NULL)
            (*rows)[(*count)++] = row;
    }
    return query_end(&run, err);
}

enum status store_list_deliveries(struct store_reader *reader, struct arena *arena,
                                  int64_t webhook_id, int64_t before_id, int limit,
                                  struct delivery_record **rows, size_t *count, struct error *err)
{
    struct query_run run = query_begin(&reader->db, STMT_LIST_DELIVERIES, arena);
    size_t capacity = 0;

    *rows = NULL;
    *count = 0;
    query_bind_i64(&run, webhook_id);
    query_bind_i64(&run, before_id);
    query_bind_i64(&run, limit);
    while (query_next(&run)) {
        struct delivery_record row;

        read_delivery(&run, &row);
        *rows = query_grow(&run, *rows, *count, &capacity, sizeof row);
        if (*rows != NULL)
            (*rows)[(*count)++] = row;
    }
    return query_end(&run, err);
}

enum status store_get_next_delivery(struct store_reader *reader, struct opt_i64 *next_ms,
                                    struct error *err)
{
    struct query_run run = query_begin(&reader->db, STMT_GET_NEXT_DELIVERY, NULL);
    const enum status status = query_row(&run, err);

    if (status != ST_OK)
        return status;
    *next_ms = query_opt(&run);
    return query_end(&run, err);
}

static enum status drop_deliveries(struct db *db, int64_t webhook_id, const char *reason,
                                   struct error *err)
{
    struct query_run run = query_begin(db, STMT_DROP_DELIVERIES, NULL);

    query_bind_i64(&run, webhook_id);
    query_bind_i64(&run, db->now_ms);
    query_bind_text(&run, reason);
    return query_done(&run, err);
}

static enum status give_up(struct db *db, int64_t webhook_id, const char *reason, struct error *err)
{
    struct query_run run = query_begin(db, STMT_GIVE_WEBHOOK_UP, NULL);
    enum status status;

    query_bind_i64(&run, webhook_id);
    query_bind_i64(&run, db->now_ms);
    query_bind_text(&run, reason);
    status = query_done(&run, err);
    return status == ST_OK ? drop_deliveries(db, webhook_id, reason, err) : status;
}

static void read_delivery(struct query_run *run, struct delivery_record *row)
{
    row->id = query_i64(run);
    row->kind = query_text(run);
    row->body = query_blob(run);
    row->state = query_text(run);
    row->tries = query_i64(run);
    row->next_ms = query_i64(run);
    row->http_status = query_opt(run);
    row->error = query_text(run);
    row->created_ms = query_i64(run);
    row->ended_ms = query_opt(run);
}

static enum status get_delivery(struct db *db, struct arena *arena, struct redeliver *redeliver,
                                struct error *err)
{
    struct query_run run = query_begin(db, STMT_GET_DELIVERY, arena);
    enum status status;

    query_bind_i64(&run, redeliver->webhook_id);
    query_bind_i64(&run, redeliver->token_id);
    query_bind_i64(&run, redeliver->delivery_id);
    status = query_row(&run, err);
    if (status == ST_NOT_FOUND) {
        (void)query_end(&run, err);
        return error_set_code(err, ST_NOT_FOUND, "not-found", NULL, NULL,
                              "your webhook has no such delivery");
    }
    if (status != ST_OK)
        return status;
    read_delivery(&run, &redeliver->delivery);
    return query_end(&run, err);
}
