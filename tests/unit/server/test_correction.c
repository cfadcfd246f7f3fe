/* tests/unit/server/test_correction.c: server/store/correction.c: corrections of entries and settings of tasks: what is
 * changed, what the audit keeps of it, who lost the race, and that a refused one changes nothing. */
#include "tests/support/store_fixture.h"

#include "common/etag.h"

struct scene {
    struct mover owner, reviewer;
    struct submit first, second;
};

static struct scene make_scene(struct fixture *f)
{
    struct scene scene = {
        .owner = {fixture_token(f, ROLE_SUBMITTER, "Ada"), role_scopes(ROLE_SUBMITTER)},
        .reviewer = {fixture_token(f, ROLE_REVIEWER, "Grace"), role_scopes(ROLE_REVIEWER)},
    };

    scene.first = fixture_submission(f, scene.owner, "first", INT64_C(3600) * 1000000000);
    fixture_run(f, verb_submit, &scene.first);
    scene.second = fixture_submission(f, scene.owner, "second", INT64_C(7200) * 1000000000);
    fixture_run(f, verb_submit, &scene.second);
    return scene;
}

/* What a GET of that topic would have said. */
static struct str etag_of(struct fixture *f, const char *topic)
{
    char text[ETAG_BYTES];
    struct error err = {0};
    int64_t version = 0;

    if (store_get_version(f->reader, str_from_cstr(topic), &version, &err) != ST_OK)
        fail_msg("%s", err.detail);
    etag_format(text, topic, version);
    return str_from_cstr(arena_copy(&f->arena, str_from_cstr(text)));
}

static struct str submission_etag(struct fixture *f, int64_t submission_id)
{
    return etag_of(f, arena_printf(&f->arena, "submission:%lld", (long long)submission_id));
}

static struct correct_entry make_correction(struct fixture *f, const struct scene *scene,
                                            enum correction field, const char *value)
{
    struct correct_entry correct = {.submission_id = scene->first.submission_id,
                                    .by = scene->reviewer,
                                    .reason = "as its log says",
                                    .if_match = submission_etag(f, scene->first.submission_id)};

    correct.fields[field].has = true;
    correct.fields[field].value = value;
    return correct;
}

static struct entry_record read_entry(struct fixture *f, int64_t entry_id)
{
    struct entry_record entry;
    struct error err = {0};

    if (store_get_entry(f->reader, &f->arena, entry_id, &entry, &err) != ST_OK)
        fail_msg("%s", err.detail);
    return entry;
}

static int64_t count_edits(struct fixture *f)
{
    return fixture_number(f, "SELECT count(*) FROM entry_edit");
}

static int64_t count_changes(struct fixture *f, const char *kind)
{
    return fixture_number(
        f, arena_printf(&f->arena, "SELECT count(*) FROM change WHERE kind = '%s'", kind));
}

static void every_field_is_changed_and_kept_with_what_was_there_before(void **state)
{
    static const struct {
        enum correction field;
        const char *name, *before, *after;
    } cases[] = {
        {CORRECT_NAME, "name", "first", "renamed"},
        {CORRECT_AUTHOR, "author", "a", "b"},
        {CORRECT_MODEL, "model", "m", "ResNet-9"},
        {CORRECT_HARDWARE, "hardware", "h", "8 V100"},
        {CORRECT_FRAMEWORK, "framework", "f", "PyTorch 1.0"},
        {CORRECT_CODE_URL, "code_url", NULL, "https://example.org"},
        {CORRECT_CODE_URL, "code_url", "https://example.org", NULL},
        {CORRECT_COST_PER_HOUR, "cost_usd_per_hour", NULL, "3.06"},
        {CORRECT_DEVICE_KIND, "device_kind", NULL, "gpu"},
        {CORRECT_DEVICE_MODEL, "device_model", NULL, "V100"},
        {CORRECT_DEVICES, "devices", NULL, "8"},
        {CORRECT_NODES, "nodes", NULL, "2"},
        {CORRECT_CLOUD, "cloud", NULL, "1"},
    };
    struct fixture *f = *state;
    const struct scene scene = make_scene(f);

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct correct_entry correct = make_correction(f, &scene, cases[i].field, cases[i].after);
        struct history_record *rows = NULL, *last;
        struct error err = {0};
        size_t count = 0;

        assert_string_equal(correction_name(cases[i].field), cases[i].name);
        (void)atomic_fetch_add(&f->now_ms, 1);
        fixture_run(f, verb_correct_entry, &correct);
        assert_int_equal(count_edits(f), i + 1);
        if (store_list_history(f->reader, &f->arena, scene.first.submission_id, &rows, &count,
                               &err) != ST_OK)
            fail_msg("%s", err.detail);
        last = &rows[count - 1];
        assert_string_equal(last->kind, "correction");
        assert_string_equal(last->field, cases[i].name);
        assert_string_equal(last->by, "Grace");
        assert_string_equal(last->reason, "as its log says");
        assert_int_equal(last->at_ms, FIXTURE_START_MS + (int64_t)i + 1);
        if (cases[i].before == NULL)
            assert_null(last->old_value);
        else
            assert_string_equal(last->old_value, cases[i].before);
        if (cases[i].after == NULL)
            assert_null(last->new_value);
        else
            assert_string_equal(last->new_value, cases[i].after);
    }
    assert_string_equal(read_entry(f, scene.first.entry_id).hardware, "8 V100");
    assert_string_equal(read_entry(f, scene.second.entry_id).hardware, "h");
    assert_int_equal(count_changes(f, "correction"), ARRAY_LEN(cases));
}

static void the_cost_follows_the_price(void **state)
{
    struct fixture *f = *state;
    const struct scene scene = make_scene(f);
    struct correct_entry correct = make_correction(f, &scene, CORRECT_COST_PER_HOUR, "3.06");

    fixture_run(f, verb_correct_entry, &correct);
    assert_int_equal(read_entry(f, scene.first.entry_id).cost_pico.value, INT64_C(3060000000000));
    assert_false(read_entry(f, scene.second.entry_id).cost_pico.has);
    correct = make_correction(f, &scene, CORRECT_COST_PER_HOUR, NULL);
    fixture_run(f, verb_correct_entry, &correct);
    assert_false(read_entry(f, scene.first.entry_id).cost_pico.has);
}

static void who_read_it_before_another_changed_it_is_refused(void **state)
{
    struct fixture *f = *state;
    const struct scene scene = make_scene(f);
    struct correct_entry won = make_correction(f, &scene, CORRECT_MODEL, "x"),
                         lost = make_correction(f, &scene, CORRECT_HARDWARE, "y");
    struct post_comment comment = {
        .submission_id = scene.first.submission_id, .by = scene.owner, .text = "so"};

    fixture_run(f, verb_correct_entry, &won);
    fixture_refuse(f, verb_correct_entry, &lost, ST_CONFLICT, "precondition-failed");
    lost.if_match = submission_etag(f, scene.second.submission_id); /* another's is none either */
    fixture_refuse(f, verb_correct_entry, &lost, ST_CONFLICT, "precondition-failed");
    lost.if_match = submission_etag(f, scene.first.submission_id);
    fixture_run(f, verb_post_comment, &comment); /* any change of it counts */
    fixture_refuse(f, verb_correct_entry, &lost, ST_CONFLICT, "precondition-failed");
    assert_string_equal(read_entry(f, scene.first.entry_id).hardware, "h");
    assert_int_equal(count_edits(f), 1);
    lost.if_match = STR("*");
    fixture_run(f, verb_correct_entry, &lost);
    assert_string_equal(read_entry(f, scene.first.entry_id).hardware, "y");
}

static void a_name_that_another_has_is_refused_and_nothing_is_changed(void **state)
{
    struct fixture *f = *state;
    const struct scene scene = make_scene(f);
    struct correct_entry correct = make_correction(f, &scene, CORRECT_NAME, "second");

    correct.fields[CORRECT_MODEL].has = true;
    correct.fields[CORRECT_MODEL].value = "x";
    fixture_refuse(f, verb_correct_entry, &correct, ST_CONFLICT, "name-taken");
    assert_string_equal(read_entry(f, scene.first.entry_id).name, "first");
    assert_string_equal(read_entry(f, scene.first.entry_id).model, "m");
    assert_int_equal(count_edits(f), 0);
    correct.fields[CORRECT_NAME].value = "first"; /* its own is free to it, and no change */
    fixture_run(f, verb_correct_entry, &correct);
    assert_int_equal(count_edits(f), 1);
}

static void what_it_says_already_is_no_correction(void **state)
{
    struct fixture *f = *state;
    const struct scene scene = make_scene(f);
    struct correct_entry same = make_correction(f, &scene, CORRECT_MODEL, "m"),
                         none = make_correction(f, &scene, CORRECT_CODE_URL, NULL);
    const int64_t boards = count_changes(f, "board");

    fixture_run(f, verb_correct_entry, &same);
    fixture_run(f, verb_correct_entry, &none); /* its ETag held: nothing was written */
    assert_int_equal(count_edits(f), 0);
    assert_int_equal(count_changes(f, "correction"), 0);
    assert_int_equal(count_changes(f, "board"), boards);
    same = make_correction(f, &scene, CORRECT_MODEL, "x");
    fixture_run(f, verb_correct_entry, &same);
    assert_int_equal(count_changes(f, "board"), boards + 1);
}

static void a_correction_of_nothing_is_refused(void **state)
{
    struct fixture *f = *state;
    const struct scene scene = make_scene(f);
    struct correct_entry correct = make_correction(f, &scene, CORRECT_MODEL, "x");

    correct.submission_id = 999;
    correct.if_match = STR("*");
    fixture_refuse(f, verb_correct_entry, &correct, ST_NOT_FOUND, "");
    assert_int_equal(count_edits(f), 0);
}

static void a_setting_of_a_task_is_kept_with_its_reason_and_needs_its_etag(void **state)
{
    struct fixture *f = *state;
    const struct scene scene = make_scene(f);
    struct set_task set = {.task = fixture_task(f, "cifar10-train"),
                           .by = scene.reviewer,
                           .if_match = etag_of(f, "task:cifar10-train"),
                           .etag_name = "task:cifar10-train",
                           .has_policy = true,
                           .policy = TASK_CLOSED,
                           .reason = "the season is over"};
    struct submit late = fixture_submission(f, scene.owner, "late", 3000);

    fixture_run(f, verb_set_task, &set);
    fixture_refuse(f, verb_submit, &late, ST_CONFLICT, "task-closed");
    set.policy = TASK_OPEN;
    fixture_refuse(f, verb_set_task, &set, ST_CONFLICT, "precondition-failed");
    assert_int_equal(fixture_number(f, "SELECT count(*) FROM task_setting WHERE policy = 'closed' "
                                       "AND reason = 'the season is over'"),
                     1);
    set.if_match = etag_of(f, "task:cifar10-train");
    fixture_run(f, verb_set_task, &set);
    fixture_run(f, verb_submit, &late);
    assert_int_equal(fixture_number(f, "SELECT count(*) FROM task_setting"), 2);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        T(every_field_is_changed_and_kept_with_what_was_there_before),
        T(the_cost_follows_the_price),
        T(who_read_it_before_another_changed_it_is_refused),
        T(a_name_that_another_has_is_refused_and_nothing_is_changed),
        T(what_it_says_already_is_no_correction),
        T(a_correction_of_nothing_is_refused),
        T(a_setting_of_a_task_is_kept_with_its_reason_and_needs_its_etag),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
