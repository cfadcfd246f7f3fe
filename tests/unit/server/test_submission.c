/* tests/unit/server/test_submission.c: server/store/submission.c and read_entry.c: what people and history send in,
 * and how it is read back. */
#include "tests/support/store_fixture.h"

#include "common/crypto.h"

static const struct new_epoch epochs[] = {
    {{"1", 1}, {"50.5", 4}, INT64_C(1000000000), NULL},
    {{"2.0", 3}, {"94.0", 4}, INT64_C(2000000000), "{\"note\": 1}"},
    {{"3", 1}, {"93.99", 5}, INT64_C(3000000000), NULL},
};

static const struct new_run only_run = {.tta_ns = {true, INT64_C(2000000000)},
                                        .epoch_text = "2.0",
                                        .accuracy_text = "94.0",
                                        .epochs = epochs,
                                        .epoch_count = ARRAY_LEN(epochs),
                                        .crossing_index = 1};

static struct new_entry training_entry(struct fixture *f, const char *name)
{
    return (struct new_entry){.task = fixture_task(f, "cifar10-train"),
                              .name = str_from_cstr(name),
                              .model = "ResNet",
                              .author = "An Author",
                              .hardware = "1 V100",
                              .framework = "PyTorch",
                              .claimed_date = "2018-04-20",
                              .cost_per_hour_text = "3.06",
                              .accuracy_text = "94.0",
                              .tta_ns = {true, INT64_C(2000000000)},
                              .cost_pico = {true, INT64_C(1700000000)},
                              .tta_hours_text = "0.000555556",
                              .epoch_text = "2.0",
                              .epoch_count_text = "2",
                              .misc_json = "{}",
                              .runs = &only_run,
                              .run_count = 1};
}

static struct submission_files files_of(const char *entry, const char *progress)
{
    return (struct submission_files){.entry = str_from_cstr(entry),
                                     .progress = str_from_cstr(progress),
                                     .has_progress = progress != NULL};
}

static struct submission_record get_submission(struct fixture *f, int64_t id)
{
    struct submission_record row;
    struct error err = {0};

    if (store_get_submission(f->reader, &f->arena, id, &row, &err) != ST_OK)
        fail_msg("%s", err.detail);
    return row;
}

static void submission_is_accepted_with_its_entry_run_and_epochs(void **state)
{
    struct fixture *f = *state;
    const struct new_entry entry = training_entry(f, "mine");
    struct submit submit = {.entry = &entry,
                            .files = files_of("{\"a\": 1}\r\n", "epoch\thours\n"),
                            .by.token_id = fixture_token(f, ROLE_SUBMITTER, "me")};
    struct submission_files files;
    struct submission_record row;
    struct entry_record got;
    struct run_record run;
    struct epoch_record *rows;
    struct error err = {0};
    char hex[SHA256_HEX_BYTES];
    size_t count;

    fixture_run(f, verb_submit, &submit);
    assert_string_equal(submit.state, "accepted");
    assert_true(submit.next[0] != '\0');
    row = get_submission(f, submit.submission_id);
    assert_string_equal(row.state, "accepted");
    assert_int_equal(row.entry_id.value, submit.entry_id);
    assert_string_equal(row.author, "An Author");
    assert_int_equal(row.received_ms, FIXTURE_START_MS);
    crypto_sha256_hex(submit.files.entry, hex);
    assert_string_equal(row.entry_sha256, hex);
    assert_int_equal(store_get_submission_files(f->reader, &f->arena, row.id, &files, &err), ST_OK);
    assert_true(str_eq(files.entry, submit.files.entry)); /* byte for byte */
    assert_true(files.has_progress && str_eq(files.progress, submit.files.progress));
    assert_int_equal(store_get_entry(f->reader, &f->arena, submit.entry_id, &got, &err), ST_OK);
    assert_string_equal(got.entry_date, "2025-12-01"); /* of acceptance, not the claimed one */
    assert_string_equal(got.tier, "reported");
    assert_string_equal(got.tta_hours_text, "0.000555556");
    assert_int_equal(got.cost_pico.value, INT64_C(1700000000));
    assert_int_equal(got.run_id.value, submit.run_id.value);
    assert_int_equal(got.tta_run_count, 1);
    assert_int_equal(got.tta_runs_ns[0], INT64_C(2000000000));
    assert_int_equal(store_get_run(f->reader, &f->arena, submit.run_id.value, &run, &err), ST_OK);
    assert_string_equal(run.state, "reached");
    assert_int_equal(run.tta_seq.value, 2);
    assert_false(run.seed.has || run.job_id.has);
    assert_int_equal(store_list_epochs(f->reader, &f->arena, run.id, 1, 10, &rows, &count, &err),
                     ST_OK);
    assert_int_equal(count, 2); /* after 1 */
    assert_string_equal(rows[0].label, "2.0");
    assert_string_equal(rows[0].extra_json, "{\"note\": 1}");
    assert_false(rows[0].has_loss || rows[0].correct.has);
}

static void same_files_again_are_a_duplicate_and_name_the_other(void **state)
{
    struct fixture *f = *state;
    const struct new_entry entry = training_entry(f, "one"), renamed = training_entry(f, "two");
    struct submit first = {.entry = &entry,
                           .files = files_of("{}", "rows"),
                           .by.token_id = fixture_token(f, ROLE_SUBMITTER, "me")};
    struct submit again = first;

    fixture_run(f, verb_submit, &first);
    again.entry = &renamed;
    fixture_refuse(f, verb_submit, &again, ST_CONFLICT, "duplicate");
    assert_int_equal(again.other_id.value, first.submission_id);
    /* The parts are told apart: "{}" + "rows" is not "{}r" + "ows". */
    again.files = files_of("{}r", "ows");
    fixture_run(f, verb_submit, &again);
}

static void name_is_taken_once_in_its_task(void **state)
{
    struct fixture *f = *state;
    struct new_entry entry = training_entry(f, "same"), other = training_entry(f, "same");
    struct submit first = {.entry = &entry,
                           .files = files_of("1", "1"),
                           .by.token_id = fixture_token(f, ROLE_SUBMITTER, "me")};
    struct submit second = first;

    fixture_run(f, verb_submit, &first);
    second.files = files_of("2", "2");
    fixture_refuse(f, verb_submit, &second, ST_CONFLICT, "name-taken");
    assert_int_equal(second.other_id.value, first.submission_id);
    other.task = fixture_task(f, "imagenet-train");
    second.entry = &other;
    fixture_run(f, verb_submit, &second); /* another task */
}

static void name_of_jobs_avoids_one_that_a_submitter_took(void **state)
{
    struct fixture *f = *state;
    struct new_entry entry = training_entry(f, "cifar10-1");
    struct submit submit = {.entry = &entry,
                            .files = files_of("1", "1"),
                            .by.token_id = fixture_token(f, ROLE_SUBMITTER, "me")};

    entry.task = fixture_task(f, "cifar10-train-quick");
    fixture_run(f, verb_submit, &submit);
    assert_string_equal(fixture_jobs(f, 1).entry_name, "cifar10-1-2");
    assert_string_equal(fixture_jobs(f, 1).entry_name, "cifar10-2");
}

static void history_is_accepted_at_its_claimed_date_and_left_alone_after(void **state)
{
    struct fixture *f = *state;
    const struct new_entry entry = training_entry(f, "old");
    struct import_entry first = {.entry = &entry, .files = files_of("{}", "rows")}, again = first;
    struct entry_record got;
    struct error err = {0};
    int64_t before, after;

    fixture_run(f, verb_import_entry, &first);
    assert_false(first.known);
    before = store_last_change_id(f->store);
    again.files = files_of("{\"edited\": true}", "rows");
    fixture_run(f, verb_import_entry, &again);
    after = store_last_change_id(f->store);
    assert_true(again.known);
    assert_int_equal(again.entry_id, first.entry_id);
    assert_int_equal(before, after);
    assert_int_equal(
        store_find_entry(f->reader, &f->arena, STR("cifar10-train"), STR("old"), &got, &err),
        ST_OK);
    assert_string_equal(got.source, "history");
    assert_string_equal(got.entry_date, "2018-04-20");
    assert_int_equal(
        store_find_entry(f->reader, &f->arena, STR("cifar10-train"), STR("none"), &got, &err),
        ST_NOT_FOUND);
}

static void inference_entry_has_no_run(void **state)
{
    struct fixture *f = *state;
    struct new_entry entry = training_entry(f, "inf");
    struct submit submit = {.entry = &entry,
                            .files = {.entry = STR("{}")},
                            .by.token_id = fixture_token(f, ROLE_SUBMITTER, "me")};
    struct entry_record got;
    struct error err = {0};

    entry.task = fixture_task(f, "cifar10-inference");
    entry.tta_ns.has = entry.cost_pico.has = false;
    entry.latency_ns = (struct opt_i64){true, 134500};
    entry.latency_ms_text = "0.1345";
    entry.run_count = 0;
    fixture_run(f, verb_submit, &submit);
    assert_false(submit.run_id.has);
    assert_int_equal(store_get_entry(f->reader, &f->arena, submit.entry_id, &got, &err), ST_OK);
    assert_int_equal(got.run_count, 0);
    assert_int_equal(got.latency_ns.value, 134500);
    assert_string_equal(got.latency_ms_text, "0.1345");
    assert_int_equal(got.tta_run_count, 0);
    assert_null(get_submission(f, submit.submission_id).progress_sha256);
}

static void audit_trail_keeps_who_when_and_why(void **state)
{
    static const char *const states[] = {"received", "checked", "accepted"};
    struct fixture *f = *state;
    const struct new_entry entry = training_entry(f, "n");
    struct submit submit = {.entry = &entry,
                            .files = files_of("{}", ""),
                            .by.token_id = fixture_token(f, ROLE_SUBMITTER, "me")};
    struct submission_event_record *rows;
    struct error err = {0};
    size_t count;

    fixture_run(f, verb_submit, &submit);
    assert_int_equal(store_list_submission_events(f->reader, &f->arena, submit.submission_id, &rows,
                                                  &count, &err),
                     ST_OK);
    assert_int_equal(count, ARRAY_LEN(states));
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(rows[i].to_state, states[i]);
        assert_int_equal(rows[i].at_ms, FIXTURE_START_MS);
        assert_true(rows[i].reason[0] != '\0');
    }
    assert_string_equal(rows[0].token_name, "me");
    assert_null(rows[0].from_state);
    assert_null(rows[1].token_name); /* the server itself */
}

static void lists_are_filtered_and_paged_newest_first(void **state)
{
    struct fixture *f = *state;
    const int64_t me = fixture_token(f, ROLE_SUBMITTER, "me");
    struct submission_filter filter = {.limit = 2};
    struct submission_record *rows;
    struct entry_record *entries;
    struct error err = {0};
    size_t count, seen = 0;

    for (int i = 0; i < 5; i++) {
        struct new_entry entry = training_entry(f, arena_printf(&f->arena, "n%d", i));
        struct submit submit = {.entry = &entry,
                                .files = files_of(arena_printf(&f->arena, "%d", i), ""),
                                .by.token_id = me};

        fixture_run(f, verb_submit, &submit);
    }
    do {
        assert_int_equal(store_list_submissions(f->reader, &f->arena, &filter, &rows, &count, &err),
                         ST_OK);
        for (size_t i = 0; i < count; i++)
            assert_int_equal(rows[i].id, 5 - seen++);
        if (count > 0)
            filter.before_id = rows[count - 1].id;
    } while (count == 2);
    assert_int_equal(seen, 5);
    filter = (struct submission_filter){.task = STR("squad-train"), .limit = 10};
    assert_int_equal(store_list_submissions(f->reader, &f->arena, &filter, &rows, &count, &err),
                     ST_OK);
    assert_int_equal(count, 0);
    filter = (struct submission_filter){
        .state = STR("accepted"), .author = STR("An Author"), .token_id = {true, me}, .limit = 10};
    assert_int_equal(store_list_submissions(f->reader, &f->arena, &filter, &rows, &count, &err),
                     ST_OK);
    assert_int_equal(count, 5);
    assert_int_equal(
        store_list_entries(f->reader, &f->arena, STR("cifar10-train"), &entries, &count, &err),
        ST_OK);
    assert_int_equal(count, 5);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(entries[i].tta_run_count, 1); /* each has its own */
    assert_int_equal(store_list_latest_entries(f->reader, &f->arena, 3, &entries, &count, &err),
                     ST_OK);
    assert_int_equal(count, 3);
    assert_string_equal(entries[0].name, "n4");
}

static void answer_larger_than_the_arena_is_an_error(void **state)
{
    struct fixture *f = *state;
    const struct new_entry entry = training_entry(f, "n");
    struct submit submit = {.entry = &entry,
                            .files = files_of("{\"something\": \"longer than sixteen bytes\"}", ""),
                            .by.token_id = fixture_token(f, ROLE_SUBMITTER, "me")};
    struct submission_files files;
    struct error err = {0};
    struct arena small;

    fixture_run(f, verb_submit, &submit);
    arena_init(&small, 32);
    assert_int_equal(
        store_get_submission_files(f->reader, &small, submit.submission_id, &files, &err),
        ST_NO_MEMORY);
    arena_fini(&small);
    err = (struct error){0}; /* and the statement is free again */
    assert_int_equal(
        store_get_submission_files(f->reader, &f->arena, submit.submission_id, &files, &err),
        ST_OK);
}

static void reads_between_begin_and_end_see_one_state(void **state)
{
    struct fixture *f = *state;
    struct token_record *rows;
    struct error err = {0};
    size_t count;

    (void)fixture_token(f, ROLE_ADMIN, "a");
    assert_int_equal(store_reader_begin(f->reader, &err), ST_OK);
    assert_int_equal(store_list_tokens(f->reader, &f->arena, &rows, &count, &err), ST_OK);
    assert_int_equal(count, 1);
    (void)fixture_token(f, ROLE_ADMIN, "b");
    assert_int_equal(store_list_tokens(f->reader, &f->arena, &rows, &count, &err), ST_OK);
    assert_int_equal(count, 1);
    store_reader_end(f->reader);
    assert_int_equal(store_list_tokens(f->reader, &f->arena, &rows, &count, &err), ST_OK);
    assert_int_equal(count, 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(submission_is_accepted_with_its_entry_run_and_epochs),
        TEST(same_files_again_are_a_duplicate_and_name_the_other),
        TEST(name_is_taken_once_in_its_task),
        TEST(name_of_jobs_avoids_one_that_a_submitter_took),
        TEST(history_is_accepted_at_its_claimed_date_and_left_alone_after),
        TEST(inference_entry_has_no_run),
        TEST(audit_trail_keeps_who_when_and_why),
        TEST(lists_are_filtered_and_paged_newest_first),
        TEST(answer_larger_than_the_arena_is_an_error),
        TEST(reads_between_begin_and_end_see_one_state),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
