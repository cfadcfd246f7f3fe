/* tests/unit/server/test_migrate.c: server/store/migrate.c: an empty file becomes a database, a known one opens,
 * and everything else is refused in one sentence. */
#include "tests/support/store_fixture.h"

#include <sqlite3.h>

#include "server/embedded.h"

static void exec(const char *path, const char *sql)
{
    sqlite3 *db = NULL;
    char *message = NULL;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK)
        fail_msg("%s: %s", sql, message);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static int64_t ask(const char *path, const char *sql)
{
    sqlite3_stmt *stmt = NULL;
    sqlite3 *db = NULL;
    int64_t value;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    value = sqlite3_column_int64(stmt, 0);
    assert_int_equal(sqlite3_finalize(stmt), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    return value;
}

/* Both ways of opening must refuse, with the word in the sentence. */
static void check_refused(struct fixture *f, enum status status, const char *word)
{
    struct error err = {0};

    assert_int_equal(fixture_try_open(f, &err), status);
    assert_non_null(strstr(err.detail, word));
    assert_null(f->store);
    err = (struct error){0};
    assert_int_equal(store_reader_open(f->path, &f->reader, &err), status);
    assert_non_null(strstr(err.detail, word));
    assert_null(f->reader);
}

static void empty_file_becomes_a_database_of_the_last_version(void **state)
{
    struct fixture *f = *state;
    char instance[STORE_INSTANCE_BYTES];

    (void)snprintf(instance, sizeof instance, "%s", store_instance(f->store));
    assert_int_equal(strlen(instance), STORE_INSTANCE_BYTES - 1);
    fixture_close(f);
    assert_true(store_schema_version() >= 1);
    assert_int_equal(ask(f->path, "PRAGMA user_version"), store_schema_version());
    assert_int_equal(ask(f->path, "SELECT count(*) FROM migration"), store_schema_version());
    assert_int_equal(ask(f->path, "PRAGMA application_id"), 0x44425245);
    fixture_open(f); /* again: nothing to do, the same identity */
    assert_string_equal(store_instance(f->store), instance);
}

static void newer_database_is_refused(void **state)
{
    struct fixture *f = *state;
    char pragma[64];

    fixture_close(f);
    (void)snprintf(pragma, sizeof pragma, "PRAGMA user_version = %d", store_schema_version() + 1);
    exec(f->path, pragma);
    check_refused(f, ST_UNSUPPORTED, "newer");
    (void)snprintf(pragma, sizeof pragma, "PRAGMA user_version = %d", store_schema_version());
    exec(f->path, pragma);
    fixture_open(f);
}

static void edited_history_is_refused(void **state)
{
    struct fixture *f = *state;

    fixture_close(f);
    exec(f->path, "UPDATE migration SET sha256 = replace(hex(zeroblob(32)), '0', 'a')");
    check_refused(f, ST_UNSUPPORTED, "history");
}

static void another_programs_database_is_refused(void **state)
{
    struct fixture *f = *state;

    fixture_close(f);
    exec(f->path, "PRAGMA application_id = 1");
    check_refused(f, ST_UNSUPPORTED, "another program");
    assert_int_equal(unlink(f->path), 0);
    exec(f->path, "CREATE TABLE t (x)"); /* no id, no version, but not empty */
    check_refused(f, ST_UNSUPPORTED, "another program");
}

static void file_that_is_no_database_is_refused(void **state)
{
    struct fixture *f = *state;
    FILE *file;

    fixture_close(f);
    file = fopen(f->path, "w");
    assert_non_null(file);
    for (int i = 0; i < 1000; i++)
        assert_true(fputs("This is not a database. ", file) >= 0);
    assert_int_equal(fclose(file), 0);
    check_refused(f, ST_IO, "no sound database");
}

static void reader_never_makes_nor_migrates(void **state)
{
    struct fixture *f = *state;
    struct error err = {0};

    fixture_close(f);
    assert_int_equal(unlink(f->path), 0);
    assert_int_equal(store_reader_open(f->path, &f->reader, &err), ST_NOT_FOUND);
    assert_int_not_equal(access(f->path, F_OK), 0);
    exec(f->path, "VACUUM"); /* an empty database, of version 0 */
    err = (struct error){0};
    assert_int_equal(store_reader_open(f->path, &f->reader, &err), ST_UNSUPPORTED);
    assert_non_null(strstr(err.detail, "migrate"));
    assert_int_equal(ask(f->path, "PRAGMA user_version"), 0);
    fixture_open(f);
}

static void folder_that_is_not_there_is_an_error(void **state)
{
    struct fixture *f = *state;
    struct error err = {0};

    fixture_close(f);
    (void)snprintf(f->path, sizeof f->path, "%s/none/test.db", f->dir);
    assert_int_equal(fixture_try_open(f, &err), ST_IO);
    (void)snprintf(f->path, sizeof f->path, "%s/test.db", f->dir);
}

static void nothing_of_the_record_can_be_deleted(void **state)
{
    static const char *const statements[] = {
        "DELETE FROM submission",
        "DELETE FROM entry",
        "DELETE FROM run",
        "DELETE FROM attempt",
        "DELETE FROM event",
        "DELETE FROM submission_event",
        "UPDATE event SET seq = 9",
        "UPDATE submission SET entry_bytes = x'00'",
        "UPDATE submission_event SET reason = ''",
    };
    struct fixture *f = *state;
    const struct new_entry entry = {.task = fixture_task(f, "cifar10-inference"),
                                    .name = STR("n"),
                                    .model = "m",
                                    .author = "a",
                                    .hardware = "h",
                                    .framework = "f"};
    struct import_entry import = {.entry = &entry, .files = {.entry = STR("{}")}};
    sqlite3 *db = NULL;

    fixture_run(f, verb_import_entry, &import);
    (void)fixture_jobs(f, 1);
    (void)fixture_train(f, fixture_agent(f, "a", NULL), "c", 1000, false);
    assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
    for (size_t i = 0; i < ARRAY_LEN(statements); i++)
        if (sqlite3_exec(db, statements[i], NULL, NULL, NULL) != SQLITE_CONSTRAINT)
            fail_msg("%s was not refused", statements[i]);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(empty_file_becomes_a_database_of_the_last_version),
        TEST(newer_database_is_refused),
        TEST(edited_history_is_refused),
        TEST(another_programs_database_is_refused),
        TEST(file_that_is_no_database_is_refused),
        TEST(reader_never_makes_nor_migrates),
        TEST(folder_that_is_not_there_is_an_error),
        TEST(nothing_of_the_record_can_be_deleted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
