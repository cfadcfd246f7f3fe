/* tests/unit/server/test_writer.c: server/store/writer.c: groups, savepoints, the bounded queue, idempotency, and
 * what happens when SQLite cannot go on. */
#include "tests/support/store_fixture.h"

#include <pthread.h>
#include <sqlite3.h>

#include "common/crypto.h"

enum { MANY = 1000, THREADS = 8 };

/* A command with its own arena and a place to wait for it. */
struct work {
    struct command command;
    struct create_token create;
    struct arena arena;
    atomic_bool done;
};

/* Holds the writer inside a command until the test lets go. */
struct gate {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool entered, open; /* guarded by lock */
};

static enum status verb_gate(struct db *db, struct arena *arena, void *args, struct error *err)
{
    struct gate *gate = args;

    (void)db, (void)arena, (void)err;
    (void)pthread_mutex_lock(&gate->lock);
    gate->entered = true;
    (void)pthread_cond_broadcast(&gate->wake);
    while (!gate->open)
        (void)pthread_cond_wait(&gate->wake, &gate->lock);
    (void)pthread_mutex_unlock(&gate->lock);
    return ST_OK;
}

static void gate_wait(struct gate *gate)
{
    (void)pthread_mutex_lock(&gate->lock);
    while (!gate->entered)
        (void)pthread_cond_wait(&gate->wake, &gate->lock);
    (void)pthread_mutex_unlock(&gate->lock);
}

static void gate_open(struct gate *gate)
{
    (void)pthread_mutex_lock(&gate->lock);
    gate->open = true;
    (void)pthread_cond_broadcast(&gate->wake);
    (void)pthread_mutex_unlock(&gate->lock);
}

/* Writes a token and then fails: nothing of it may stay. */
static enum status verb_write_then_fail(struct db *db, struct arena *arena, void *args,
                                        struct error *err)
{
    if (verb_create_token(db, arena, args, err) != ST_OK)
        return err->status;
    return error_set_code(err, ST_INVALID, "on-purpose", NULL, NULL, "it was meant to fail");
}

static void work_done(struct command *command)
{
    struct work *work = command->opaque;

    atomic_store(&work->done, true);
}

static void work_init(struct work *work, fixture_verb *verb)
{
    arena_init(&work->arena, 1 << 16);
    work->create = (struct create_token){.role = ROLE_SUBMITTER, .name = STR("someone")};
    work->command = (struct command){.verb = verb,
                                     .args = &work->create,
                                     .arena = &work->arena,
                                     .complete = work_done,
                                     .opaque = work};
    atomic_store(&work->done, false);
}

static size_t count_tokens(struct fixture *f)
{
    struct token_record *rows;
    struct error err = {0};
    size_t count;

    assert_int_equal(store_list_tokens(f->reader, &f->arena, &rows, &count, &err), ST_OK);
    return count;
}

static void failing_command_harms_no_other_of_its_group(void **state)
{
    struct fixture *f = *state;
    struct gate gate = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false, false};
    struct work works[5];
    struct work holder;
    struct error err = {0};

    work_init(&holder, verb_gate);
    holder.command.args = &gate;
    assert_int_equal(store_push(f->store, &holder.command, &err), ST_OK);
    gate_wait(&gate); /* the writer is inside a group: what comes now joins it or the next */
    for (size_t i = 0; i < ARRAY_LEN(works); i++) {
        work_init(&works[i], i == 2 ? verb_write_then_fail : verb_create_token);
        assert_int_equal(store_push(f->store, &works[i].command, &err), ST_OK);
    }
    gate_open(&gate);
    store_close(f->store); /* drains */
    f->store = NULL;
    for (size_t i = 0; i < ARRAY_LEN(works); i++) {
        assert_true(atomic_load(&works[i].done));
        assert_int_equal(works[i].command.status, i == 2 ? ST_INVALID : ST_OK);
        arena_fini(&works[i].arena);
    }
    assert_string_equal(works[2].command.err.code, "on-purpose");
    assert_int_equal(count_tokens(f), 4);
    arena_fini(&holder.arena);
}

static void queue_is_bounded(void **state)
{
    struct fixture *f = *state;
    struct gate gate = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false, false};
    const struct store_options options = {.path = f->path, .tasks = f->tasks, .queue_max = 3};
    struct work holder, works[4];
    struct error err = {0};

    store_close(f->store);
    assert_int_equal(store_open(&options, &f->store, &err), ST_OK);
    work_init(&holder, verb_gate);
    holder.command.args = &gate;
    assert_int_equal(store_push(f->store, &holder.command, &err), ST_OK);
    gate_wait(&gate);
    for (size_t i = 0; i < ARRAY_LEN(works); i++) {
        work_init(&works[i], verb_create_token);
        assert_int_equal(store_push(f->store, &works[i].command, &err),
                         i < 3 ? ST_OK : ST_UNAVAILABLE);
    }
    assert_string_equal(err.code, "busy");
    gate_open(&gate);
    store_close(f->store);
    f->store = NULL;
    assert_false(atomic_load(&works[3].done)); /* refused: never completed */
    assert_int_equal(count_tokens(f), 3);
    for (size_t i = 0; i < ARRAY_LEN(works); i++)
        arena_fini(&works[i].arena);
    arena_fini(&holder.arena);
}

static void *push_many(void *opaque)
{
    struct fixture *f = opaque;
    struct arena arena;

    arena_init(&arena, 1 << 20);
    for (int i = 0; i < MANY / THREADS; i++) {
        struct create_token create = {.role = ROLE_SUBMITTER, .name = STR("one of many")};
        struct error err = {0};

        if (store_run_verb(f->store, verb_create_token, &create, &arena, &err) != ST_OK)
            return opaque;
    }
    arena_fini(&arena);
    return NULL;
}

static void commands_of_many_threads_all_arrive(void **state)
{
    struct fixture *f = *state;
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, push_many, f), 0);
    for (int i = 0; i < THREADS; i++) {
        void *failed = f;

        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
    assert_int_equal(count_tokens(f), MANY);
}

static enum status render_token(struct command *command, struct error *err)
{
    const struct work *work = command->opaque;

    (void)err;
    command->answer =
        (struct answer){.status = 201, .location = STR("/v1/tokens/1"), .etag = STR("\"1\"")};
    command->answer.body = str_from_cstr(work->create.text);
    return ST_OK;
}

static void run_keyed(struct fixture *f, struct work *work, const char *key, unsigned char body,
                      int64_t token_id)
{
    struct error err = {0};

    work_init(work, verb_create_token);
    work->command.key = str_from_cstr(key);
    work->command.key_token_id = token_id;
    work->command.render = render_token;
    memset(work->command.body_sha256, body, sizeof work->command.body_sha256);
    assert_int_equal(store_push(f->store, &work->command, &err), ST_OK);
    while (!atomic_load(&work->done)) /* ends with the next COMMIT */
        (void)usleep(200);
}

static void same_key_gives_the_first_answer_for_48_hours(void **state)
{
    struct fixture *f = *state;
    const int64_t me = fixture_token(f, ROLE_OPERATOR, "me"),
                  you = fixture_token(f, ROLE_OPERATOR, "you");
    struct work first, again, other_body, other_token, later;

    run_keyed(f, &first, "k", 1, me);
    assert_int_equal(first.command.status, ST_OK);
    assert_false(first.command.replayed);
    run_keyed(f, &again, "k", 1, me);
    assert_int_equal(again.command.status, ST_OK);
    assert_true(again.command.replayed);
    assert_int_equal(again.command.answer.status, 201);
    assert_true(str_eq(again.command.answer.body, first.command.answer.body));
    assert_true(str_eq(again.command.answer.location, STR("/v1/tokens/1")));
    assert_true(str_eq(again.command.answer.etag, STR("\"1\"")));
    run_keyed(f, &other_body, "k", 2, me);
    assert_int_equal(other_body.command.status, ST_INVALID);
    assert_string_equal(other_body.command.err.code, "idempotency-mismatch");
    run_keyed(f, &other_token, "k", 1, you);
    assert_false(other_token.command.replayed);
    assert_int_equal(count_tokens(f), 4);
    atomic_fetch_add(&f->now_ms, IDEMPOTENCY_KEPT_MS + 1);
    run_keyed(f, &later, "k", 2, me);
    assert_int_equal(later.command.status, ST_OK);
    assert_false(later.command.replayed);
    arena_fini(&first.arena);
    arena_fini(&again.arena);
    arena_fini(&other_body.arena);
    arena_fini(&other_token.arena);
    arena_fini(&later.arena);
}

static void failed_command_leaves_its_key_free(void **state)
{
    struct fixture *f = *state;
    const int64_t me = fixture_token(f, ROLE_OPERATOR, "me");
    struct work work;
    struct error err = {0};

    work_init(&work, verb_write_then_fail);
    work.command.key = STR("k");
    work.command.key_token_id = me;
    work.command.render = render_token;
    assert_int_equal(store_push(f->store, &work.command, &err), ST_OK);
    while (!atomic_load(&work.done))
        (void)usleep(200);
    assert_int_equal(work.command.status, ST_INVALID);
    arena_fini(&work.arena);
    run_keyed(f, &work, "k", 9, me);
    assert_int_equal(work.command.status, ST_OK);
    assert_false(work.command.replayed);
    arena_fini(&work.arena);
}

/* Another program holds the write lock longer than we wait: the group is refused, the next one works. */
static void group_that_cannot_begin_is_unavailable(void **state)
{
    struct fixture *f = *state;
    const struct store_options options = {.path = f->path, .tasks = f->tasks, .busy_ms = 10};
    struct create_token create = {.role = ROLE_SUBMITTER, .name = STR("n")};
    struct error err = {0};
    sqlite3 *other = NULL;

    store_close(f->store);
    assert_int_equal(store_open(&options, &f->store, &err), ST_OK);
    assert_int_equal(sqlite3_open(f->path, &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    fixture_refuse(f, verb_create_token, &create, ST_UNAVAILABLE, "not-written");
    assert_int_equal(sqlite3_exec(other, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    fixture_run(f, verb_create_token, &create);
    assert_int_equal(sqlite3_close(other), SQLITE_OK);
    assert_int_equal(count_tokens(f), 1);
}

/* A change made by another program is noticed with our next transaction: the stream hears of it. */
static void changes_of_another_program_are_announced(void **state)
{
    struct fixture *f = *state;
    const int before = atomic_load(&f->commits);
    struct sweep sweep = {.store = f->store};
    sqlite3 *other = NULL;

    fixture_run(f, verb_sweep, &sweep);
    assert_int_equal(atomic_load(&f->commits), before); /* nothing of interest happened */
    assert_int_equal(sqlite3_open(f->path, &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other,
                                  "INSERT INTO change (topic, kind, ref, at_ms) "
                                  "VALUES ('queue', 'job', 1, 1)",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_close(other), SQLITE_OK);
    fixture_run(f, verb_sweep, &sweep);
    assert_int_equal(atomic_load(&f->commits), before + 1);
}

static void file_is_readable_by_its_owner_alone(void **state)
{
    struct fixture *f = *state;
    char path[128];
    struct stat info;

    assert_int_equal(stat(f->path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    (void)snprintf(path, sizeof path, "%s-wal", f->path);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(failing_command_harms_no_other_of_its_group),
        TEST(queue_is_bounded),
        TEST(commands_of_many_threads_all_arrive),
        TEST(same_key_gives_the_first_answer_for_48_hours),
        TEST(failed_command_leaves_its_key_free),
        TEST(group_that_cannot_begin_is_unavailable),
        TEST(changes_of_another_program_are_announced),
        TEST(file_is_readable_by_its_owner_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
