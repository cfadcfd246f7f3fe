/* tests/unit/server/test_comment.c: server/store/comment.c: threads of comments: who writes, who closes, what is refused
 * and leaves nothing behind, and what the audit keeps. */
#include "tests/support/store_fixture.h"

struct scene {
    struct mover owner, other, reviewer;
    struct submit mine, theirs;
};

static struct scene make_scene(struct fixture *f)
{
    struct scene scene = {
        .owner = {fixture_token(f, ROLE_SUBMITTER, "Ada"), role_scopes(ROLE_SUBMITTER)},
        .other = {fixture_token(f, ROLE_SUBMITTER, "Eve"), role_scopes(ROLE_SUBMITTER)},
        .reviewer = {fixture_token(f, ROLE_REVIEWER, "Grace"), role_scopes(ROLE_REVIEWER)},
    };

    scene.mine = fixture_submission(f, scene.owner, "ada", 1000);
    fixture_run(f, verb_submit, &scene.mine);
    scene.theirs = fixture_submission(f, scene.other, "eve", 2000);
    fixture_run(f, verb_submit, &scene.theirs);
    return scene;
}

static struct post_comment post(struct fixture *f, int64_t submission_id, struct mover by,
                                struct opt_i64 thread)
{
    struct post_comment comment = {
        .submission_id = submission_id, .by = by, .text = "why?", .thread = thread};

    fixture_run(f, verb_post_comment, &comment);
    return comment;
}

static struct comment_record read_comment(struct fixture *f, int64_t submission_id, size_t index)
{
    struct comment_record *rows = NULL;
    struct error err = {0};
    size_t count = 0;

    if (store_list_comments(f->reader, &f->arena, submission_id, 0, 100, &rows, &count, &err) !=
        ST_OK)
        fail_msg("%s", err.detail);
    assert_true(index < count);
    return rows[index];
}

static int64_t count_comments(struct fixture *f)
{
    return fixture_number(f, "SELECT count(*) FROM comment");
}

static int64_t count_changes(struct fixture *f)
{
    return fixture_number(f, "SELECT count(*) FROM change WHERE kind = 'comment'");
}

/* How many rows of a kind the history has, and the last of them. */
static size_t count_history(struct fixture *f, int64_t submission_id, const char *kind,
                            struct history_record *last)
{
    struct history_record *rows = NULL;
    struct error err = {0};
    size_t count = 0, found = 0;

    if (store_list_history(f->reader, &f->arena, submission_id, &rows, &count, &err) != ST_OK)
        fail_msg("%s", err.detail);
    for (size_t i = 0; i < count; i++)
        if (strcmp(rows[i].kind, kind) == 0) {
            found++;
            *last = rows[i];
        }
    return found;
}

/* What the reviewer began beside the owner's submission, and the owner's answer. */
struct thread {
    int64_t begun, answer;
};

static struct thread make_thread(struct fixture *f, const struct scene *scene)
{
    const int64_t submission = scene->mine.submission_id;
    struct thread thread = {.begun = post(f, submission, scene->reviewer, (struct opt_i64){0}).id};

    thread.answer = post(f, submission, scene->owner, (struct opt_i64){true, thread.begun}).id;
    return thread;
}

static void anybody_who_may_write_comments_beside_a_line_or_on_the_whole(void **state)
{
    struct fixture *f = *state;
    const struct scene scene = make_scene(f);
    struct post_comment beside = {.submission_id = scene.mine.submission_id,
                                  .by = scene.reviewer,
                                  .text = "why?",
                                  .file = "ada.tsv",
                                  .line = {true, 2}};
    struct history_record last = {0};
    struct comment_record row;

    fixture_run(f, verb_post_comment, &beside);
    (void)post(f, scene.mine.submission_id, scene.other, (struct opt_i64){0});
    row = read_comment(f, scene.mine.submission_id, 0);
    assert_int_equal(row.id, beside.id);
    assert_string_equal(row.by, "Grace");
    assert_string_equal(row.role, "reviewer");
    assert_string_equal(row.file, "ada.tsv");
    assert_int_equal(row.line.value, 2);
    assert_int_equal(row.at_ms, FIXTURE_START_MS);
    assert_int_equal(beside.at_ms, FIXTURE_START_MS);
    assert_false(row.thread_id.has || row.resolved_ms.has);
    row = read_comment(f, scene.mine.submission_id, 1);
    assert_null(row.file);
    assert_false(row.line.has);
    assert_int_equal(count_history(f, scene.mine.submission_id, "comment", &last), 2);
    assert_string_equal(last.by, "Eve");
    assert_int_equal(last.comment.value, row.id);
    assert_int_equal(count_changes(f), 2);
}

static void an_answer_stands_in_its_thread_and_in_no_other(void **state)
{
    struct fixture *f = *state;
    const struct scene scene = make_scene(f);
    const struct thread thread = make_thread(f, &scene);
    const struct {
        int64_t submission_id, thread;
    } wrong[] = {{scene.mine.submission_id, 999},             /* there is none */
                 {scene.mine.submission_id, thread.answer},   /* an answer begins no thread */
                 {scene.theirs.submission_id, thread.begun}}; /* of another submission */

    assert_int_equal(read_comment(f, scene.mine.submission_id, 1).thread_id.value, thread.begun);
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        struct post_comment comment = {.submission_id = wrong[i].submission_id,
                                       .by = scene.owner,
                                       .text = "so",
                                       .thread = {true, wrong[i].thread}};

        fixture_refuse(f, verb_post_comment, &comment, ST_INVALID, "unknown_thread");
    }
    assert_int_equal(count_comments(f), 2);
    assert_int_equal(count_changes(f), 2);
}

static void a_comment_on_nothing_is_refused(void **state)
{
    struct fixture *f = *state;
    const struct scene scene = make_scene(f);
    struct post_comment comment = {.submission_id = 999, .by = scene.owner, .text = "so"};

    fixture_refuse(f, verb_post_comment, &comment, ST_NOT_FOUND, "");
    assert_int_equal(count_comments(f), 0);
}

/* The handler has looked into the file; the table's own rules stand behind it. */
static void a_line_without_its_file_is_never_stored(void **state)
{
    struct fixture *f = *state;
    const struct scene scene = make_scene(f);
    const struct post_comment wrong[] = {
        {.file = NULL, .line = {true, 1}, .text = "so"},
        {.file = "ada.tsv", .line = {true, 0}, .text = "so"},
        {.file = "ada.tsv", .line = {true, -1}, .text = "so"},
        {.file = "ada.tsv", .line = {true, 1}, .text = ""},
    };

    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        struct post_comment comment = wrong[i];
        struct error err = {0};

        comment.submission_id = scene.mine.submission_id;
        comment.by = scene.reviewer;
        assert_int_not_equal(store_run_verb(f->store, verb_post_comment, &comment, &f->arena, &err),
                             ST_OK);
    }
    assert_int_equal(count_comments(f), 0);
    assert_int_equal(count_changes(f), 0);
}

static void a_thread_is_closed_by_its_author_the_owner_or_a_reviewer(void **state)
{
    struct fixture *f = *state;
    const struct scene scene = make_scene(f);
    const struct mover stranger = {fixture_token(f, ROLE_SUBMITTER, "Bob"),
                                   role_scopes(ROLE_SUBMITTER)};
    const struct {
        struct mover by;
        bool may;
    } cases[] = {{scene.other, true},    /* who began it */
                 {scene.owner, true},    /* whose submission it is */
                 {scene.reviewer, true}, /* by the scope */
                 {stranger, false}};

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct post_comment begun =
            post(f, scene.mine.submission_id, scene.other, (struct opt_i64){0});
        struct resolve_comment resolve = {.submission_id = scene.mine.submission_id,
                                          .comment_id = begun.id,
                                          .by = cases[i].by,
                                          .resolved = true};

        if (cases[i].may)
            fixture_run(f, verb_resolve_comment, &resolve);
        else
            fixture_refuse(f, verb_resolve_comment, &resolve, ST_DENIED, "not-owner");
        assert_int_equal(read_comment(f, scene.mine.submission_id, i).resolved_ms.has,
                         cases[i].may);
    }
}

static void closing_is_kept_once_and_opening_takes_it_back(void **state)
{
    struct fixture *f = *state;
    const struct scene scene = make_scene(f);
    const struct post_comment begun =
        post(f, scene.mine.submission_id, scene.reviewer, (struct opt_i64){0});
    struct resolve_comment resolve = {.submission_id = scene.mine.submission_id,
                                      .comment_id = begun.id,
                                      .by = scene.owner,
                                      .resolved = true};
    struct history_record last = {0};
    struct comment_record row;

    (void)atomic_fetch_add(&f->now_ms, 5);
    fixture_run(f, verb_resolve_comment, &resolve);
    (void)atomic_fetch_add(&f->now_ms, 5);
    resolve.by = scene.reviewer; /* twice is no fault, and changes nothing */
    fixture_run(f, verb_resolve_comment, &resolve);
    row = read_comment(f, scene.mine.submission_id, 0);
    assert_int_equal(row.resolved_ms.value, FIXTURE_START_MS + 5);
    assert_string_equal(row.resolved_by, "Ada");
    assert_int_equal(count_history(f, scene.mine.submission_id, "resolved", &last), 1);
    assert_string_equal(last.by, "Ada");
    assert_int_equal(count_changes(f), 2);
    resolve.resolved = false;
    fixture_run(f, verb_resolve_comment, &resolve);
    row = read_comment(f, scene.mine.submission_id, 0);
    assert_false(row.resolved_ms.has);
    assert_null(row.resolved_by);
    assert_int_equal(count_changes(f), 3);
}

static void only_what_began_a_thread_of_this_submission_is_closed(void **state)
{
    struct fixture *f = *state;
    const struct scene scene = make_scene(f);
    const struct thread thread = make_thread(f, &scene);
    const struct {
        int64_t submission_id, comment_id;
    } wrong[] = {{scene.mine.submission_id, 999},
                 {scene.mine.submission_id, thread.answer},
                 {scene.theirs.submission_id, thread.begun}};

    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        struct resolve_comment resolve = {.submission_id = wrong[i].submission_id,
                                          .comment_id = wrong[i].comment_id,
                                          .by = scene.reviewer,
                                          .resolved = true};

        fixture_refuse(f, verb_resolve_comment, &resolve, ST_NOT_FOUND, "");
    }
    assert_int_equal(
        fixture_number(f, "SELECT count(*) FROM comment WHERE resolved_ms IS NOT NULL"), 0);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        T(anybody_who_may_write_comments_beside_a_line_or_on_the_whole),
        T(an_answer_stands_in_its_thread_and_in_no_other),
        T(a_comment_on_nothing_is_refused),
        T(a_line_without_its_file_is_never_stored),
        T(a_thread_is_closed_by_its_author_the_owner_or_a_reviewer),
        T(closing_is_kept_once_and_opening_takes_it_back),
        T(only_what_began_a_thread_of_this_submission_is_closed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
