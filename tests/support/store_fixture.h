/* tests/support/store_fixture.h: a store in a folder of its own, with a clock that the test moves, and short
 * ways to fill it. For tests of server/store and of what stands on it. Threads: the test's. */
#ifndef DAYBREAK_TESTS_SUPPORT_STORE_FIXTURE_H
#define DAYBREAK_TESTS_SUPPORT_STORE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "common/event.h"
#include "server/store/read.h"
#include "server/store/store.h"
#include "server/store/verbs.h"
#include "server/store/writer.h"

#define FIXTURE_START_MS INT64_C(1764600000000) /* 2025-12-01T14:40:00Z */

struct fixture {
    char dir[64], path[96];
    struct store *store;
    struct store_reader *reader;
    struct task_table *tasks;
    struct arena arena;
    atomic_int_fast64_t now_ms;
    atomic_int commits; /* calls of committed() */
};

static inline int64_t fixture_now(void *opaque)
{
    return atomic_load(&((struct fixture *)opaque)->now_ms);
}

static inline void fixture_committed(void *opaque, int64_t last_change_id, bool queue_changed)
{
    (void)last_change_id;
    (void)queue_changed;
    (void)atomic_fetch_add(&((struct fixture *)opaque)->commits, 1);
}

static inline enum status fixture_try_open(struct fixture *f, struct error *err)
{
    const struct store_options options = {.path = f->path,
                                          .tasks = f->tasks,
                                          .committed = fixture_committed,
                                          .opaque = f,
                                          .now_ms = fixture_now};

    return store_open(&options, &f->store, err);
}

static inline void fixture_open(struct fixture *f)
{
    struct error err = {0};

    if (fixture_try_open(f, &err) != ST_OK || store_reader_open(f->path, &f->reader, &err) != ST_OK)
        fail_msg("%s", err.detail);
}

static inline void fixture_close(struct fixture *f)
{
    store_reader_close(f->reader);
    store_close(f->store);
    f->reader = NULL;
    f->store = NULL;
}

/* cmocka set-up: an empty store in *state. */
static inline int fixture_setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct error err = {0};

    assert_non_null(f);
    (void)snprintf(f->dir, sizeof f->dir, "%s/daybreak-store-XXXXXX", P_tmpdir);
    assert_non_null(mkdtemp(f->dir));
    (void)snprintf(f->path, sizeof f->path, "%s/test.db", f->dir);
    if (task_table_create(&f->tasks, &err) != ST_OK)
        fail_msg("%s", err.detail);
    arena_init(&f->arena, 64 << 20);
    atomic_store(&f->now_ms, FIXTURE_START_MS);
    fixture_open(f);
    *state = f;
    return 0;
}

static inline int fixture_teardown(void **state)
{
    static const char *const endings[] = {"", "-wal", "-shm"};
    struct fixture *f = *state;
    char path[128];

    fixture_close(f);
    task_table_destroy(f->tasks);
    arena_fini(&f->arena);
    for (size_t i = 0; i < ARRAY_LEN(endings); i++) {
        (void)snprintf(path, sizeof path, "%s%s", f->path, endings[i]);
        (void)unlink(path);
    }
    (void)rmdir(f->dir);
    free(f);
    return 0;
}

typedef enum status fixture_verb(struct db *, struct arena *, void *, struct error *);

/* Runs a verb that must do well. */
static inline void fixture_run(struct fixture *f, fixture_verb *verb, void *args)
{
    struct error err = {0};

    if (store_run_verb(f->store, verb, args, &f->arena, &err) != ST_OK)
        fail_msg("%s: %s: %s", status_name(err.status), err.code, err.detail);
}

/* Runs a verb that must fail with this status and code ("" for none). */
static inline void fixture_refuse(struct fixture *f, fixture_verb *verb, void *args,
                                  enum status status, const char *code)
{
    struct error err = {0};

    assert_string_equal(status_name(store_run_verb(f->store, verb, args, &f->arena, &err)),
                        status_name(status));
    assert_string_equal(err.code, code);
    assert_true(err.detail[0] != '\0');
}

static inline const struct task *fixture_task(struct fixture *f, const char *id)
{
    const struct task *task = task_find(f->tasks, str_from_cstr(id));

    assert_non_null(task);
    return task;
}

static inline int64_t fixture_token(struct fixture *f, enum role role, const char *name)
{
    struct create_token create = {.role = role, .name = str_from_cstr(name)};

    fixture_run(f, verb_create_token, &create);
    return create.id;
}

static inline int64_t fixture_agent(struct fixture *f, const char *name, const char *price)
{
    struct register_agent agent = {.name = str_from_cstr(name),
                                   .protocol = 1,
                                   .owner_token_id =
                                       fixture_token(f, ROLE_AGENT_REGISTRATION, "host"),
                                   .build = "test",
                                   .capabilities_json = "{}",
                                   .device_kind = "cpu",
                                   .device_model = "Test CPU",
                                   .devices = 1,
                                   .tags_json = "[\"big\", \"fast\"]",
                                   .hardware = "1 Test CPU",
                                   .framework = "daybreak-agent test",
                                   .cost_per_hour_text = price};

    memset(agent.public_key, 7, sizeof agent.public_key);
    fixture_run(f, verb_register_agent, &agent);
    return agent.agent_id;
}

static inline struct create_jobs fixture_jobs(struct fixture *f, int seeds)
{
    struct create_jobs create = {.task = fixture_task(f, "cifar10-train-quick"),
                                 .workload = STR("cifar10"),
                                 .recipe = STR("cifar10-quick"),
                                 .seeds = seeds,
                                 .author = STR("An Operator"),
                                 .token_id = fixture_token(f, ROLE_OPERATOR, "An Operator")};

    fixture_run(f, verb_create_jobs, &create);
    return create;
}

static inline struct lease fixture_claim(struct fixture *f, int64_t agent_id, const char *claim_id)
{
    struct claim claim = {.agent_id = agent_id, .claim_id = str_from_cstr(claim_id)};

    fixture_run(f, verb_claim, &claim);
    assert_true(claim.found);
    return claim.lease;
}

/* The line of an event as an agent sends it. */
static inline struct event_line fixture_event(struct fixture *f, struct event event)
{
    struct event_line line = {0};
    struct buf buf;
    struct error err = {0};

    buf_init(&buf, EVENT_LINE_BYTES_MAX);
    event.mono_ns = 1000 + event.seq;
    event.real_ms = FIXTURE_START_MS + event.seq;
    event_append(&buf, &event);
    line.line = (struct str){arena_copy(&f->arena, buf_str(&buf)), buf.len};
    assert_non_null(line.line.data);
    if (event_parse(line.line, &f->arena, &line.event, &err) != ST_OK)
        fail_msg("%s: %s %s", line.line.data, err.field, err.detail);
    buf_fini(&buf);
    return line;
}

static inline struct event_line fixture_start(struct fixture *f, int64_t seq)
{
    return fixture_event(f, (struct event){.seq = seq, .kind = EVENT_RUN_START});
}

static inline struct event_line fixture_eval(struct fixture *f, int64_t seq, double epoch,
                                             int64_t correct, int64_t official_ns)
{
    return fixture_event(f, (struct event){.seq = seq,
                                           .kind = EVENT_EVAL,
                                           .metric = STR("top1Accuracy"),
                                           .epoch = epoch,
                                           .has_count = true,
                                           .correct = correct,
                                           .total = 10000,
                                           .has_loss = true,
                                           .loss = 1.5,
                                           .views = 1,
                                           .has_official = true,
                                           .official_ns = official_ns,
                                           .wall_ns = official_ns + official_ns / 4});
}

/* One whole run that is over: run_start, three epochs at `hit_ns` times 1, 2, 3; the second reaches the target
 * unless `miss`. */
static inline struct finish fixture_train(struct fixture *f, int64_t agent_id, const char *claim_id,
                                          int64_t hit_ns, bool miss)
{
    const struct lease lease = fixture_claim(f, agent_id, claim_id);
    const struct event_line lines[] = {fixture_start(f, 1), fixture_eval(f, 2, 1, 4000, hit_ns / 2),
                                       fixture_eval(f, 3, 2, miss ? 6999 : 7000, hit_ns),
                                       fixture_eval(f, 4, 3, miss ? 6000 : 6900, hit_ns * 2)};
    struct append_events events = {.agent_id = agent_id,
                                   .fence = str_from_cstr(lease.fence),
                                   .lines = lines,
                                   .count = ARRAY_LEN(lines)};
    struct finish finish = {.agent_id = agent_id,
                            .fence = events.fence,
                            .last_seq = 4,
                            .result = miss ? STR("missed") : STR("reached")};

    fixture_run(f, verb_append_events, &events);
    fixture_run(f, verb_finish, &finish);
    return finish;
}

/* Statements past the store, and one number that is read past it. */
static inline void fixture_sql(struct fixture *f, const char *sql)
{
    sqlite3 *db = NULL;
    char *message = NULL;

    assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_busy_timeout(db, 5000), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK)
        fail_msg("%s: %s", sql, message);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static inline int64_t fixture_number(struct fixture *f, const char *sql)
{
    sqlite3_stmt *stmt = NULL;
    sqlite3 *db = NULL;
    int64_t value;

    assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    value = sqlite3_column_int64(stmt, 0);
    (void)sqlite3_finalize(stmt);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    return value;
}

/* An entry of that name and time; the files differ by both. */
static inline struct submit fixture_submission(struct fixture *f, struct mover by, const char *name,
                                               int64_t tta_ns)
{
    static const struct new_epoch epochs[] = {{{"1", 1}, {"94.0", 4}, INT64_C(1000000000), NULL}};
    struct new_entry *entry = ARENA_NEW(&f->arena, struct new_entry);
    struct new_run *run = ARENA_NEW(&f->arena, struct new_run);

    assert_non_null(entry);
    assert_non_null(run);
    *run = (struct new_run){.tta_ns = {true, tta_ns}, .epochs = epochs, .epoch_count = 1};
    memcpy(run->rows_sha256, &tta_ns, sizeof tta_ns);
    *entry = (struct new_entry){.task = fixture_task(f, "cifar10-train"),
                                .name = str_from_cstr(name),
                                .model = "m",
                                .author = "a",
                                .hardware = "h",
                                .framework = "f",
                                .claimed_date = "2025-12-01",
                                .accuracy_text = "94.0",
                                .tta_ns = {true, tta_ns},
                                .runs = run,
                                .run_count = 1};
    return (struct submit){
        .entry = entry,
        .files = {.entry = str_from_cstr(arena_printf(&f->arena, "%s %lld %lld", name,
                                                      (long long)tta_ns, (long long)by.token_id)),
                  .progress = STR("rows"),
                  .has_progress = true},
        .by = by,
    };
}

#endif
