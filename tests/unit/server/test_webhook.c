/* tests/unit/server/test_webhook.c: server/store/webhook.c and the notices of 0002_service.sql: how many webhooks a token
 * has, what they are told, when one is given up, and how long deliveries are kept. */
#include "tests/support/store_fixture.h"

#define DAY_MS  (INT64_C(24) * 3600 * 1000)
#define HOUR_MS (INT64_C(3600) * 1000)

static int64_t make_webhook(struct fixture *f, int64_t token_id)
{
    struct create_webhook create = {
        .token_id = token_id, .url = "https://example.org/", .kinds_json = "[\"run\"]"};

    fixture_run(f, verb_create_webhook, &create);
    return create.webhook_id;
}

static struct webhook_record read_webhook(struct fixture *f, int64_t token_id, int64_t id)
{
    struct webhook_record *rows = NULL;
    struct error err = {0};
    size_t count = 0;

    if (store_list_webhooks(f->reader, &f->arena, token_id, id, &rows, &count, &err) != ST_OK)
        fail_msg("%s", err.detail);
    assert_int_equal(count, 1);
    return rows[0];
}

/* That many deliveries that wait. */
static void fill(struct fixture *f, int64_t webhook_id, int count)
{
    char sql[512];

    (void)snprintf(sql, sizeof sql,
                   "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) "
                   "INSERT INTO delivery (webhook_id, kind, body, state, next_ms, created_ms) "
                   "SELECT %lld, 'run', x'7b7d', 'waiting', 9000000000000000, 1 FROM n",
                   count, (long long)webhook_id);
    fixture_sql(f, sql);
}

/* Time goes on, and the server sweeps. */
static void sweep_after(struct fixture *f, int64_t wait_ms)
{
    struct sweep sweep = {.store = f->store};

    (void)atomic_fetch_add(&f->now_ms, wait_ms);
    fixture_run(f, verb_sweep, &sweep);
}

static struct delivery_record *list_deliveries(struct fixture *f, int64_t webhook_id, size_t *count)
{
    struct delivery_record *rows = NULL;
    struct error err = {0};

    if (store_list_deliveries(f->reader, &f->arena, webhook_id, 0, 20, &rows, count, &err) != ST_OK)
        fail_msg("%s", err.detail);
    return rows;
}

static void a_token_has_ten_webhooks_at_most(void **state)
{
    struct fixture *f = *state;
    const int64_t token = fixture_token(f, ROLE_SUBMITTER, "one"),
                  other = fixture_token(f, ROLE_SUBMITTER, "two");
    struct create_webhook more = {
        .token_id = token, .url = "https://example.org/", .kinds_json = "[\"run\"]"};
    struct delete_webhook delete = {.token_id = token};

    for (int i = 0; i < WEBHOOKS_MAX; i++)
        delete.webhook_id = make_webhook(f, token);
    fixture_refuse(f, verb_create_webhook, &more, ST_CONFLICT, "too-many-webhooks");
    (void)make_webhook(f, other); /* each counts its own */
    fixture_run(f, verb_delete_webhook, &delete);
    (void)make_webhook(f, token); /* a deleted one makes room */
    fixture_refuse(f, verb_create_webhook, &more, ST_CONFLICT, "too-many-webhooks");
    fixture_refuse(f, verb_delete_webhook, &delete, ST_NOT_FOUND, "not-found"); /* twice */
    delete = (struct delete_webhook){.webhook_id = 1, .token_id = other};
    fixture_refuse(f, verb_delete_webhook, &delete, ST_NOT_FOUND,
                   "not-found"); /* not the other's */
}

static void one_that_was_given_up_makes_room_and_says_why(void **state)
{
    struct fixture *f = *state;
    const int64_t token = fixture_token(f, ROLE_SUBMITTER, "one");
    int64_t id = 0;

    for (int i = 0; i < WEBHOOKS_MAX; i++)
        id = make_webhook(f, token);
    fill(f, id, 10000);
    sweep_after(f, 60000);
    assert_string_equal(read_webhook(f, token, id).reason, "too many deliveries waited");
    (void)make_webhook(f, token);
}

static void ten_thousand_that_wait_end_a_webhook_and_one_less_does_not(void **state)
{
    static const struct {
        int waiting;
        bool ends;
    } cases[] = {{9999, false}, {10000, true}, {10001, true}};
    struct fixture *f = *state;
    const int64_t token = fixture_token(f, ROLE_SUBMITTER, "one");

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const int64_t id = make_webhook(f, token);
        struct webhook_record row;

        fill(f, id, cases[i].waiting);
        sweep_after(f, 60000);
        row = read_webhook(f, token, id);
        assert_int_equal(row.ended_ms.has, cases[i].ends);
        assert_string_equal(row.reason, cases[i].ends ? "too many deliveries waited" : "");
        assert_int_equal(row.waiting, cases[i].ends ? 0 : cases[i].waiting);
    }
}

static void those_of_a_token_that_ended_are_given_up(void **state)
{
    struct fixture *f = *state;
    const int64_t stays = fixture_token(f, ROLE_SUBMITTER, "stays"),
                  gone = fixture_token(f, ROLE_SUBMITTER, "gone");
    struct create_token expiring = {
        .role = ROLE_SUBMITTER, .name = STR("expiring"), .ttl_days = {true, 1}};
    struct revoke_token revoke = {.id = gone};
    int64_t kept, revoked, expired;
    struct delivery_record *rows;
    size_t count = 0;

    fixture_run(f, verb_create_token, &expiring);
    kept = make_webhook(f, stays);
    revoked = make_webhook(f, gone);
    expired = make_webhook(f, expiring.id);
    fill(f, revoked, 2);
    fixture_run(f, verb_revoke_token, &revoke);
    sweep_after(f, DAY_MS - 1);
    assert_string_equal(read_webhook(f, gone, revoked).reason, "its token was revoked");
    assert_false(read_webhook(f, expiring.id, expired).ended_ms.has); /* the last millisecond */
    sweep_after(f, 60000);
    assert_string_equal(read_webhook(f, expiring.id, expired).reason, "its token expired");
    assert_false(read_webhook(f, stays, kept).ended_ms.has);
    rows = list_deliveries(f, revoked, &count);
    assert_int_equal(count, 2);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(rows[i].state, "failed");
        assert_string_equal(rows[i].error, "its token was revoked");
    }
}

/* Before the sweep, too, no notice is made for a token that ended. */
static void a_token_that_ended_is_told_nothing(void **state)
{
    struct fixture *f = *state;
    const int64_t stays = fixture_token(f, ROLE_SUBMITTER, "stays"),
                  gone = fixture_token(f, ROLE_SUBMITTER, "gone");
    const int64_t kept = make_webhook(f, stays), revoked = make_webhook(f, gone);
    struct revoke_token revoke = {.id = gone};
    struct create_jobs jobs = fixture_jobs(f, 1);
    struct cancel_job cancel = {.job_id = jobs.job_ids[0]};
    size_t count = 0;

    fixture_run(f, verb_revoke_token, &revoke);
    fixture_run(f, verb_cancel_job, &cancel);
    (void)list_deliveries(f, kept, &count);
    assert_int_equal(count, 1);
    (void)list_deliveries(f, revoked, &count);
    assert_int_equal(count, 0);
}

static void deliveries_go_thirty_days_after_their_end(void **state)
{
    static const struct {
        enum delivery_end end;
        const char *state;
        bool goes;
    } cases[] = {{DELIVERY_DONE, "delivered", true}, {DELIVERY_LATER, "waiting", false}};
    struct fixture *f = *state;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const int64_t token = fixture_token(f, ROLE_SUBMITTER, "one"), id = make_webhook(f, token);
        struct begin_deliveries begin = {.max = DELIVERIES_BEGUN_MAX};
        struct end_delivery end = {
            .end = cases[i].end, .error = "", .delay_ms = 1000 * DAY_MS, .tries_max = 14};
        struct delivery_record *rows;
        char sql[256];
        size_t count = 0;

        (void)snprintf(sql, sizeof sql,
                       "INSERT INTO delivery (webhook_id, kind, body, state, next_ms, created_ms) "
                       "VALUES (%lld, 'run', x'7b7d', 'waiting', 1, 1)",
                       (long long)id);
        fixture_sql(f, sql);
        fixture_run(f, verb_begin_deliveries, &begin);
        assert_int_equal(begin.count, 1);
        end.delivery_id = begin.items[0].id;
        fixture_run(f, verb_end_delivery, &end);
        sweep_after(f, 30 * DAY_MS);
        rows = list_deliveries(f, id, &count);
        assert_int_equal(count, 1); /* not older than 30 days yet */
        assert_string_equal(rows[0].state, cases[i].state);
        sweep_after(f, HOUR_MS);
        (void)list_deliveries(f, id, &count);
        assert_int_equal(count, cases[i].goes ? 0 : 1);
    }
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        T(a_token_has_ten_webhooks_at_most),
        T(one_that_was_given_up_makes_room_and_says_why),
        T(ten_thousand_that_wait_end_a_webhook_and_one_less_does_not),
        T(those_of_a_token_that_ended_are_given_up),
        T(a_token_that_ended_is_told_nothing),
        T(deliveries_go_thirty_days_after_their_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
