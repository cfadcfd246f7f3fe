/* tests/unit/server/test_power.c: the power goes while the store writes (server/store/database.c, writer.c): what was
 * acknowledged is there afterwards, and the database is sound. The disk is tests/support/power_vfs.h; each world is a
 * fresh store that works until its power goes at a random sync, in every second one at a random write. CUTS=N worlds (60) from SEED (1) on.
 * The control has the same store with synchronous = NORMAL: there the same check must find losses. */
#include "tests/support/store_fixture.h"

#include "tests/support/power_vfs.h"

enum {
    EVENTS = 200,
    BATCH_MAX = 6,
    TOKENS_MAX = 512,
    SYNCS_MAX = 60,
    WRITES_MAX = 1200,
    BATCHES_MAX = 64,
    CUTS_DEFAULT = 60
};

struct template
{
    unsigned char *bytes;
    size_t count;
    int64_t agent_id, run_id;
    struct lease lease;
    struct event_line lines[EVENTS]; /* run_start and evaluations */
};

/* What has been acknowledged in a world. */
struct promises {
    int64_t tokens[TOKENS_MAX];
    int token_count;
    int64_t last_seq;
};

struct work {
    struct command command;
    struct arena arena;
    union {
        struct create_token token;
        struct append_events events;
    } args;
    atomic_bool done;
};

struct tally {
    int64_t cuts, acknowledged, lost, unsound;
};

static void note_done(struct command *command)
{
    struct work *work = command->opaque;

    atomic_store(&work->done, true);
}

static void wait_for(struct work *work)
{
    while (!atomic_load(&work->done))
        (void)usleep(20);
}

/* A store with an agent that has begun a job, as bytes of its file. */
static void make_template(struct fixture *f, struct template *made)
{
    struct stat info;
    int fd;

    made->agent_id = fixture_agent(f, "a", NULL);
    made->run_id = fixture_jobs(f, 1).run_ids[0];
    made->lease = fixture_claim(f, made->agent_id, "c");
    made->lines[0] = fixture_start(f, 1);
    for (int i = 1; i < EVENTS; i++)
        made->lines[i] = fixture_eval(f, i + 1, i, i, INT64_C(1000000000) * i);
    fixture_close(f);
    fd = open(f->path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &info), 0);
    made->count = (size_t)info.st_size;
    made->bytes = malloc(made->count);
    assert_non_null(made->bytes);
    assert_int_equal(read(fd, made->bytes, made->count), (ssize_t)made->count);
    (void)close(fd);
}

static void lay_out(const struct fixture *f, const struct template *from)
{
    static const char *const endings[] = {"-wal", "-shm", "-journal"};
    int fd = open(f->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    char path[128];

    assert_true(fd >= 0);
    assert_int_equal(write(fd, from->bytes, from->count), (ssize_t)from->count);
    (void)close(fd);
    for (size_t i = 0; i < ARRAY_LEN(endings); i++) {
        (void)snprintf(path, sizeof path, "%s%s", f->path, endings[i]);
        (void)unlink(path);
    }
}

/* Some commands at once, as from several clients; false: one of them was not acknowledged. */
static bool run_batch(struct fixture *f, const struct template *from, struct promises *promises)
{
    static struct work works[BATCH_MAX];
    const int count = 1 + (int)power_below(BATCH_MAX);
    int64_t next = promises->last_seq;
    bool all = true;

    for (int i = 0; i < count; i++) {
        struct work *work = &works[i];
        struct error err = {0};

        *work = (struct work){0};
        arena_init(&work->arena, 1 << 18);
        work->command = (struct command){
            .arena = &work->arena, .args = &work->args, .complete = note_done, .opaque = work};
        if (power_below(2) == 0 || next == EVENTS) {
            work->args.token =
                (struct create_token){.role = ROLE_SUBMITTER, .name = STR("someone")};
            work->command.verb = verb_create_token;
        } else {
            const int64_t lines = 1 + (int64_t)power_below(3);

            work->args.events = (struct append_events){
                .agent_id = from->agent_id,
                .fence = str_from_cstr(from->lease.fence),
                .lines = from->lines + next,
                .count = (size_t)(next + lines > EVENTS ? EVENTS - next : lines)};
            next += (int64_t)work->args.events.count;
            work->command.verb = verb_append_events;
        }
        assert_int_equal(store_push(f->store, &work->command, &err), ST_OK);
    }
    for (int i = 0; i < count; i++) {
        struct work *work = &works[i];

        wait_for(work);
        if (work->command.status != ST_OK)
            all = false;
        else if (work->command.verb == verb_append_events)
            promises->last_seq = work->args.events.ack_seq;
        else
            promises->tokens[promises->token_count++] = work->args.token.id;
        arena_fini(&work->arena);
    }
    return all;
}

/* Folds the log back, as the store does by itself after 1,000 pages, and as a backup may at any time. */
static void checkpoint(const struct fixture *f)
{
    static const int modes[] = {SQLITE_CHECKPOINT_PASSIVE, SQLITE_CHECKPOINT_FULL,
                                SQLITE_CHECKPOINT_RESTART, SQLITE_CHECKPOINT_TRUNCATE};
    sqlite3 *db = NULL;

    if (sqlite3_open(f->path, &db) == SQLITE_OK)
        (void)sqlite3_wal_checkpoint_v2(db, NULL, modes[power_below(ARRAY_LEN(modes))], NULL, NULL);
    (void)sqlite3_close(db);
}

/* A world until its power goes, at its closing at the latest. */
static void work_until_dark(struct fixture *f, const struct template *from,
                            struct promises *promises)
{
    struct error err = {0};

    if (fixture_try_open(f, &err) == ST_OK) {
        for (int i = 0; i < BATCHES_MAX && run_batch(f, from, promises); i++)
            if (power_below(8) == 0)
                checkpoint(f);
    } else {
        assert_true(power_is_cut());
    }
    fixture_close(f);
}

static int64_t read_number(sqlite3 *db, const char *sql, int64_t argument)
{
    sqlite3_stmt *stmt = NULL;
    int64_t value = -1;

    if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK) {
        if (sqlite3_bind_parameter_count(stmt) > 0)
            (void)sqlite3_bind_int64(stmt, 1, argument);
        if (sqlite3_step(stmt) == SQLITE_ROW)
            value = sqlite3_column_int64(stmt, 0);
    }
    (void)sqlite3_finalize(stmt);
    return value;
}

/* Sound: the file as SQLite sees it, its references, and no epoch without its event or the other way round. */
static bool is_sound(sqlite3 *db)
{
    sqlite3_stmt *stmt = NULL;
    bool sound = sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &stmt, NULL) == SQLITE_OK &&
                 sqlite3_step(stmt) == SQLITE_ROW &&
                 strcmp((const char *)sqlite3_column_text(stmt, 0), "ok") == 0;
    const int64_t events = read_number(db, "SELECT count(*) FROM event", 0);

    (void)sqlite3_finalize(stmt);
    sound = sound && read_number(db, "SELECT count(*) FROM pragma_foreign_key_check", 0) == 0;
    sound = sound && events == read_number(db, "SELECT ifnull(max(seq), 0) FROM event", 0) &&
            events == read_number(db, "SELECT last_seq FROM attempt", 0);
    return sound &&
           read_number(db, "SELECT count(*) FROM epoch", 0) == (events > 0 ? events - 1 : 0);
}

static void judge(struct fixture *f, const struct template *from, const struct promises *promises,
                  struct tally *tally)
{
    struct error err = {0};
    sqlite3 *db = NULL;
    bool lost;

    tally->cuts++;
    tally->acknowledged += promises->token_count + promises->last_seq;
    if (fixture_try_open(f, &err) != ST_OK || sqlite3_open(f->path, &db) != SQLITE_OK) {
        print_error("world %lld: %s\n", (long long)tally->cuts, err.detail);
        tally->unsound++;
        (void)sqlite3_close(db);
        fixture_close(f);
        return;
    }
    tally->unsound += !is_sound(db);
    lost = read_number(db, "SELECT last_seq FROM attempt WHERE run_id = ?1", from->run_id) <
           promises->last_seq;
    for (int i = 0; i < promises->token_count; i++)
        lost = lost || read_number(db, "SELECT count(*) FROM token WHERE id = ?1",
                                   promises->tokens[i]) != 1;
    tally->lost += lost;
    (void)sqlite3_close(db);
    fixture_close(f);
}

static int64_t read_setting(const char *name, int64_t otherwise)
{
    const char *text = getenv(name);

    return text == NULL || text[0] == '\0' ? otherwise : strtoll(text, NULL, 10);
}

static struct tally run_worlds(struct fixture *f, bool relaxed, int64_t count)
{
    const uint64_t seed = (uint64_t)read_setting("SEED", 1);
    static struct template made;
    struct tally tally = {0};

    make_template(f, &made);
    power_relax(relaxed);
    for (int64_t i = 0; i < count; i++) {
        struct promises promises = {0};

        lay_out(f, &made);
        power_begin(seed * 1000003 + (uint64_t)i, 0, 0);
        if (i % 2 == 0)
            power.cut_at_sync = 1 + (int64_t)power_below(SYNCS_MAX);
        else
            power.cut_at_write = 1 + (int64_t)power_below(WRITES_MAX);
        work_until_dark(f, &made, &promises);
        power_restore();
        power_begin(1, 0, 0);
        judge(f, &made, &promises, &tally);
    }
    power_relax(false);
    free(made.bytes);
    return tally;
}

static void power_cuts_lose_nothing_acknowledged(void **state)
{
    const int64_t count = read_setting("CUTS", CUTS_DEFAULT);
    const struct tally tally = run_worlds(*state, false, count);

    print_message(
        "# %lld power cuts, %lld writes acknowledged, %lld cuts with a loss, %lld unsound\n",
        (long long)tally.cuts, (long long)tally.acknowledged, (long long)tally.lost,
        (long long)tally.unsound);
    assert_int_equal(tally.cuts, count);
    assert_true(tally.acknowledged > count);
    assert_int_equal(tally.lost, 0);
    assert_int_equal(tally.unsound, 0);
}

/* NORMAL syncs the log at a checkpoint only: commits are lost, the database stays sound. */
static void the_same_check_finds_what_synchronous_normal_loses(void **state)
{
    const int64_t count = read_setting("CUTS", CUTS_DEFAULT);
    const struct tally tally = run_worlds(*state, true, count);

    print_message("# synchronous = NORMAL: %lld power cuts, %lld with a loss, %lld unsound\n",
                  (long long)tally.cuts, (long long)tally.lost, (long long)tally.unsound);
    assert_true(tally.lost > 0);
    assert_int_equal(tally.unsound, 0);
}

/* Nothing is acknowledged while the disk cannot keep it, and without any help all is well when it can again. */
static void check_fault(struct fixture *f, enum power_fault fault)
{
    static struct template made;
    struct promises promises = {0};
    struct tally tally = {0};
    int refused = 0;

    make_template(f, &made);
    lay_out(f, &made);
    power_begin(7, 0, 0);
    fixture_open(f);
    for (int round = 0; round < 20; round++) {
        const struct promises before = promises;

        power_set_fault(fault);
        if (fault == POWER_FULL)
            checkpoint(f); /* a log that may be written from its start has room: it need not grow */
        for (int i = 0; i < 3; i++)
            refused += !run_batch(f, &made, &promises);
        if (fault == POWER_SYNC_FAILS) {
            assert_int_equal(promises.last_seq, before.last_seq);
            assert_int_equal(promises.token_count, before.token_count);
        }
        power_set_fault(POWER_SOUND);
        assert_true(run_batch(f, &made, &promises));
    }
    assert_true(refused > 0);
    fixture_close(f);
    power_restore();
    power_begin(1, 0, 0);
    judge(f, &made, &promises, &tally);
    assert_int_equal(tally.lost, 0);
    assert_int_equal(tally.unsound, 0);
    free(made.bytes);
}

static void a_full_disk_is_told_and_survived(void **state)
{
    check_fault(*state, POWER_FULL);
}

static void a_failing_sync_is_told_and_survived(void **state)
{
    check_fault(*state, POWER_SYNC_FAILS);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(power_cuts_lose_nothing_acknowledged),
        TEST(the_same_check_finds_what_synchronous_normal_loses),
        TEST(a_full_disk_is_told_and_survived),
        TEST(a_failing_sync_is_told_and_survived),
    };

    power_install();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
