/* tests/unit/server/test_review.c: server/store/review.c and admission.c: every legal and illegal step, and what follows
 * from one for the entries of a lineage, their standing, and their names. */
#include "tests/support/store_fixture.h"

#define DAY_MS (INT64_C(24) * 3600 * 1000)

static const char *const all_states[] = {
    "received", "checked",      "in_review",  "changes_requested", "accepted",
    "rejected", "not_eligible", "superseded", "withdrawn",         "disqualified",
    "queued",   "running",      "scored"};

/* What people may do, restated: from, action, to, whether it is the owner's. */
static const struct step {
    const char *from, *action, *to;
    bool own;
} steps[] = {
    {"in_review", "accept", "accepted", false},
    {"in_review", "request-changes", "changes_requested", false},
    {"in_review", "reject", "rejected", false},
    {"in_review", "disqualify", "disqualified", false},
    {"changes_requested", "accept", "accepted", false},
    {"changes_requested", "reject", "rejected", false},
    {"accepted", "disqualify", "disqualified", false},
    {"accepted", "revert", "in_review", false},
    {"rejected", "revert", "in_review", false},
    {"disqualified", "revert", "in_review", false},
    {"not_eligible", "revert", "in_review", false},
    {"in_review", "withdraw", "withdrawn", true},
    {"changes_requested", "withdraw", "withdrawn", true},
    {"accepted", "withdraw", "withdrawn", true},
    {"superseded", "withdraw", "withdrawn", true},
    {"not_eligible", "withdraw", "withdrawn", true},
    {"queued", "withdraw", "withdrawn", true},
    {"running", "withdraw", "withdrawn", true},
};
static const char *const actions[] = {"accept",     "request-changes", "reject",
                                      "disqualify", "revert",          "withdraw"};

struct people {
    struct mover owner, other, reviewer;
};

static struct people make_people(struct fixture *f)
{
    return (struct people){
        .owner = {fixture_token(f, ROLE_SUBMITTER, "owner"), role_scopes(ROLE_SUBMITTER)},
        .other = {fixture_token(f, ROLE_SUBMITTER, "other"), role_scopes(ROLE_SUBMITTER)},
        .reviewer = {fixture_token(f, ROLE_REVIEWER, "reviewer"), role_scopes(ROLE_REVIEWER)},
    };
}

static void set_policy(struct fixture *f, const char *policy, const char *review)
{
    char sql[256];

    (void)snprintf(sql, sizeof sql,
                   "INSERT INTO task_setting (task, policy, review, reason, at_ms) "
                   "VALUES ('cifar10-train', '%s', '%s', 'a test', 1764600000000)",
                   policy, review);
    fixture_sql(f, sql);
}

static struct submit send(struct fixture *f, struct mover by, const char *name, int64_t tta_ns)
{
    struct submit submit = fixture_submission(f, by, name, tta_ns);

    fixture_run(f, verb_submit, &submit);
    return submit;
}

static void act(struct fixture *f, struct mover by, int64_t submission_id, const char *action)
{
    struct review review = {
        .submission_id = submission_id, .by = by, .action = action, .reason = "because"};

    fixture_run(f, verb_review, &review);
}

static const char *state_of(struct fixture *f, int64_t submission_id)
{
    struct submission_record row;
    struct entry_record entry;
    struct error err = {0};

    if (store_get_submission(f->reader, &f->arena, submission_id, &row, &err) != ST_OK ||
        store_get_entry(f->reader, &f->arena, row.entry_id.value, &entry, &err) != ST_OK)
        fail_msg("%s", err.detail);
    assert_string_equal(row.state, entry.state); /* the two never part */
    assert_int_equal(entry.reason[0] == '\0', strcmp(entry.state, "accepted") == 0);
    return row.state;
}

static const struct step *find_step(const char *from, const char *action)
{
    for (size_t i = 0; i < ARRAY_LEN(steps); i++)
        if (strcmp(steps[i].from, from) == 0 && strcmp(steps[i].action, action) == 0)
            return &steps[i];
    return NULL;
}

static void every_pair_of_state_and_action_is_a_step_or_refused(void **state)
{
    struct fixture *f = *state;
    const struct people people = make_people(f);
    int legal = 0, refused = 0;

    for (size_t s = 0; s < ARRAY_LEN(all_states); s++)
        for (size_t a = 0; a < ARRAY_LEN(actions); a++) {
            const struct step *step = find_step(all_states[s], actions[a]);
            const char *name = arena_printf(&f->arena, "%s-%s", all_states[s], actions[a]);
            const struct submit submit = send(f, people.owner, name, 1000);
            struct review review = {.submission_id = submit.submission_id,
                                    .by = people.reviewer,
                                    .action = actions[a],
                                    .reason = "because"};

            fixture_sql(
                f, arena_printf(
                       &f->arena,
                       "UPDATE submission SET state = '%s' WHERE id = %lld; "
                       "UPDATE entry SET state = '%s', reason = '.' WHERE submission_id = %lld",
                       all_states[s], (long long)submit.submission_id, all_states[s],
                       (long long)submit.submission_id));
            if (step == NULL) {
                fixture_refuse(f, verb_review, &review, ST_CONFLICT, "illegal-transition");
                refused++;
                continue;
            }
            if (step->own)
                fixture_refuse(f, verb_review, &review, ST_DENIED, "not-owner");
            review.by = people.other;
            fixture_refuse(f, verb_review, &review, ST_DENIED,
                           step->own ? "not-owner" : "scope-missing");
            review.by = step->own ? people.owner : people.reviewer;
            fixture_run(f, verb_review, &review);
            assert_string_equal(state_of(f, submit.submission_id), step->to);
            legal++;
        }
    assert_int_equal(legal, ARRAY_LEN(steps));
    assert_int_equal(refused, ARRAY_LEN(all_states) * ARRAY_LEN(actions) - ARRAY_LEN(steps));
    assert_int_equal(fixture_number(f, "SELECT count(*) FROM submission_transition "
                                       "WHERE scope IN ('review', 'own') AND action <> 'revise'"),
                     ARRAY_LEN(steps));
}

static void steps_of_the_server_are_nobody_elses(void **state)
{
    static const struct {
        const char *from, *action;
    } cases[] = {{"checked", "admit"},
                 {"superseded", "restore"},
                 {"accepted", "supersede"},
                 {"changes_requested", "expire"},
                 {"running", "requeue"}};
    struct fixture *f = *state;
    const struct people people = make_people(f);

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct submit submit = send(f, people.owner, cases[i].from, 1000);
        struct review review = {.submission_id = submit.submission_id,
                                .by = {people.owner.token_id, role_scopes(ROLE_ADMIN)},
                                .action = cases[i].action,
                                .reason = "because"};

        fixture_sql(f, arena_printf(&f->arena, "UPDATE submission SET state = '%s' WHERE id = %lld",
                                    cases[i].from, (long long)submit.submission_id));
        fixture_refuse(f, verb_review, &review, ST_DENIED, "server-only");
    }
}

static void first_of_two_reviewers_wins(void **state)
{
    struct fixture *f = *state;
    const struct people people = make_people(f);
    struct submit submit;
    struct review second = {.by = people.reviewer, .action = "reject", .reason = "late"};

    set_policy(f, "open", "all");
    submit = send(f, people.owner, "n", 1000);
    assert_string_equal(submit.state, "in_review");
    assert_string_equal(submit.owner, "reviewer");
    assert_true(submit.deadline_ms.has && submit.deadline_ms.value > submit.since_ms);
    act(f, people.reviewer, submit.submission_id, "accept");
    second.submission_id = submit.submission_id;
    fixture_refuse(f, verb_review, &second, ST_CONFLICT, "illegal-transition");
    assert_string_equal(state_of(f, submit.submission_id), "accepted");
    second.submission_id = 999;
    fixture_refuse(f, verb_review, &second, ST_NOT_FOUND, "");
}

static struct submit succeed(struct fixture *f, struct mover by, const char *name, int64_t tta_ns,
                             int64_t entry_id)
{
    struct submit submit = fixture_submission(f, by, name, tta_ns);

    submit.supersedes = (struct opt_i64){true, entry_id};
    fixture_run(f, verb_submit, &submit);
    return submit;
}

/* a <- b <- c: only the last stands; when it goes, the one before comes back, past one that went before. */
static void former_comes_back_along_a_chain(void **state)
{
    struct fixture *f = *state;
    const struct people people = make_people(f);
    const struct submit a = send(f, people.owner, "a", 1000);
    const struct submit b = succeed(f, people.owner, "b", 900, a.entry_id);
    const struct submit c = succeed(f, people.owner, "c", 950, b.entry_id);

    assert_string_equal(state_of(f, a.submission_id), "superseded");
    assert_string_equal(state_of(f, b.submission_id), "superseded");
    assert_string_equal(state_of(f, c.submission_id), "accepted");
    act(f, people.reviewer, c.submission_id, "revert"); /* b stands in the meantime */
    assert_string_equal(state_of(f, b.submission_id), "accepted");
    act(f, people.reviewer, c.submission_id, "accept");
    assert_string_equal(state_of(f, b.submission_id), "superseded");
    act(f, people.owner, b.submission_id, "withdraw"); /* from the middle */
    assert_string_equal(state_of(f, c.submission_id), "accepted");
    assert_string_equal(state_of(f, a.submission_id), "superseded");
    act(f, people.reviewer, c.submission_id, "disqualify");
    assert_string_equal(state_of(f, a.submission_id), "accepted");
    act(f, people.owner, a.submission_id, "withdraw");
    assert_string_equal(state_of(f, b.submission_id), "withdrawn");
    assert_string_equal(state_of(f, c.submission_id), "disqualified");
    assert_int_equal(fixture_number(f, "SELECT count(*) FROM standing WHERE to_ms IS NULL"), 0);
    assert_int_equal(fixture_number(f, "SELECT count(*) FROM standing WHERE entry_id = 1"), 2);
}

static void standing_says_from_when_to_when(void **state)
{
    struct fixture *f = *state;
    const struct people people = make_people(f);
    const struct submit a = send(f, people.owner, "a", 1000);
    struct submit b;
    struct entry_record entry;
    struct error err = {0};

    atomic_fetch_add(&f->now_ms, DAY_MS);
    b = succeed(f, people.owner, "b", 900, a.entry_id);
    atomic_fetch_add(&f->now_ms, DAY_MS);
    act(f, people.owner, b.submission_id, "withdraw");
    assert_int_equal(
        fixture_number(f, "SELECT count(*) FROM standing WHERE entry_id = 1 AND "
                          "from_date = '2025-12-01' AND to_ms = 1764600000000 + 86400000"),
        1);
    assert_int_equal(fixture_number(f, "SELECT count(*) FROM standing WHERE entry_id = 1 AND "
                                       "from_date = '2025-12-03' AND to_ms IS NULL"),
                     1);
    assert_int_equal(store_get_entry(f->reader, &f->arena, a.entry_id, &entry, &err), ST_OK);
    assert_string_equal(entry.entry_date, "2025-12-01"); /* decides ties: of the first acceptance */
}

static void only_its_owner_or_a_reviewer_supersedes_what_stands(void **state)
{
    struct fixture *f = *state;
    const struct people people = make_people(f);
    const struct submit a = send(f, people.owner, "a", 1000);
    struct submit wrong = fixture_submission(f, people.other, "b", 900);

    wrong.supersedes = (struct opt_i64){true, a.entry_id};
    fixture_refuse(f, verb_submit, &wrong, ST_DENIED, "not-owner");
    wrong.by = people.owner;
    wrong.supersedes.value = 99;
    fixture_refuse(f, verb_submit, &wrong, ST_INVALID, "unknown_entry");
    (void)succeed(f, people.reviewer, "c", 900, a.entry_id);
    wrong.supersedes.value = a.entry_id;
    fixture_refuse(f, verb_submit, &wrong, ST_CONFLICT, "not-standing");
    assert_int_equal(wrong.other_id.value, a.submission_id);
}

/* Superseded entries hold their name: they may come back under it. */
static void name_belongs_to_its_lineage(void **state)
{
    struct fixture *f = *state;
    const struct people people = make_people(f);
    const struct submit a = send(f, people.owner, "a", 1000);
    const struct submit same = succeed(f, people.owner, "a", 900, a.entry_id);
    struct submit other = fixture_submission(f, people.other, "a", 800);

    fixture_refuse(f, verb_submit, &other, ST_CONFLICT, "name-taken");
    act(f, people.owner, same.submission_id, "withdraw");
    fixture_refuse(f, verb_submit, &other, ST_CONFLICT, "name-taken");
    act(f, people.owner, a.submission_id, "withdraw");
    fixture_run(f, verb_submit, &other); /* nobody has it any more */
}

static void rejected_one_comes_back_unless_its_name_or_files_went(void **state)
{
    struct fixture *f = *state;
    const struct people people = make_people(f);
    struct submit a, again;
    struct review revert = {
        .by = people.reviewer, .action = "revert", .reason = "an error of ours"};

    set_policy(f, "open", "all");
    a = send(f, people.owner, "a", 1000);
    act(f, people.reviewer, a.submission_id, "reject");
    again = send(f, people.owner, "a", 1000);
    revert.submission_id = a.submission_id;
    fixture_refuse(f, verb_review, &revert, ST_CONFLICT, "duplicate");
    act(f, people.owner, again.submission_id, "withdraw");
    again = send(f, people.other, "a", 900);
    fixture_refuse(f, verb_review, &revert, ST_CONFLICT, "name-taken");
    act(f, people.other, again.submission_id, "withdraw");
    fixture_run(f, verb_review, &revert);
    assert_string_equal(state_of(f, a.submission_id), "in_review");
}

static struct submit revise(struct fixture *f, struct mover by, const char *name, int64_t tta_ns,
                            int64_t submission_id)
{
    struct submit submit = fixture_submission(f, by, name, tta_ns);

    submit.revises = (struct opt_i64){true, submission_id};
    fixture_run(f, verb_submit, &submit);
    return submit;
}

static void revision_takes_the_place_in_the_review_at_once(void **state)
{
    struct fixture *f = *state;
    const struct people people = make_people(f);
    struct submit first, second, wrong;

    set_policy(f, "open", "all");
    first = send(f, people.owner, "a", 1000);
    act(f, people.reviewer, first.submission_id, "request-changes");
    wrong = fixture_submission(f, people.other, "a", 900);
    wrong.revises = (struct opt_i64){true, first.submission_id};
    fixture_refuse(f, verb_submit, &wrong, ST_DENIED, "not-owner");
    second = revise(f, people.owner, "a", 990, first.submission_id);
    assert_int_equal(second.revision, 2);
    assert_int_equal(second.lineage_id, first.submission_id);
    assert_string_equal(state_of(f, first.submission_id), "superseded");
    assert_string_equal(state_of(f, second.submission_id), "in_review");
    wrong.by = people.owner;
    fixture_refuse(f, verb_submit, &wrong, ST_CONFLICT, "newer-revision");
    assert_int_equal(wrong.other_id.value, second.submission_id);
    act(f, people.owner, second.submission_id, "withdraw"); /* the first was never accepted */
    assert_string_equal(state_of(f, first.submission_id), "superseded");
    fixture_refuse(f, verb_submit, &wrong, ST_CONFLICT, "illegal-transition");
}

static void revision_of_an_accepted_one_waits_for_its_own_acceptance(void **state)
{
    struct fixture *f = *state;
    const struct people people = make_people(f);
    const struct submit first = send(f, people.owner, "a", 1000);
    struct submit second;

    set_policy(f, "open", "all");
    second = revise(f, people.owner, "a", 990, first.submission_id);
    assert_string_equal(state_of(f, first.submission_id), "accepted");
    act(f, people.reviewer, second.submission_id, "accept");
    assert_string_equal(state_of(f, first.submission_id), "superseded");
    act(f, people.reviewer, second.submission_id, "disqualify");
    assert_string_equal(state_of(f, first.submission_id), "accepted");
}

static void nobody_judges_what_the_same_token_sent(void **state)
{
    struct fixture *f = *state;
    const struct people people = make_people(f);
    const struct mover admin = {fixture_token(f, ROLE_ADMIN, "admin"), role_scopes(ROLE_ADMIN)};
    const struct submit mine = send(f, admin, "mine", 1000);

    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        struct review review = {mine.submission_id, admin, steps[i].action, "because"};

        if (steps[i].own)
            continue;
        fixture_sql(f, arena_printf(&f->arena, "UPDATE submission SET state = '%s' WHERE id = %lld",
                                    steps[i].from, (long long)mine.submission_id));
        fixture_refuse(f, verb_review, &review, ST_DENIED, "own-submission");
    }
    fixture_sql(f, "UPDATE submission SET state = 'accepted'");
    act(f, people.reviewer, mine.submission_id, "revert"); /* another one may */
    act(f, admin, mine.submission_id, "withdraw");         /* and so may its owner */
}

static void top5_reviews_what_enters_the_first_five_of_a_board(void **state)
{
    struct fixture *f = *state;
    const struct people people = make_people(f);
    struct submit submit;
    char name[8];

    for (int i = 1; i <= 5; i++) { /* 1 to 5 s */
        (void)snprintf(name, sizeof name, "n%d", i);
        submit = send(f, people.other, name, i * INT64_C(1000000000));
    }
    set_policy(f, "open", "top5");
    submit = send(f, people.owner, "tie", INT64_C(5000000000)); /* equal: shares the fifth place */
    assert_string_equal(submit.state, "in_review");
    assert_int_equal(submit.top5.boards[0].place, 5);
    submit = send(f, people.owner, "slow", INT64_C(5000000001));
    assert_string_equal(submit.state, "not_eligible");
    assert_non_null(strstr(submit.reason, "place 6 by time"));
    assert_int_equal(submit.top5.count, 1); /* it has no price */
    assert_int_equal(submit.top5.boards[0].fifth.value, INT64_C(5000000000));
    act(f, people.reviewer, submit.submission_id, "revert"); /* an exception is the reviewers' */
    assert_string_equal(state_of(f, submit.submission_id), "in_review");
}

/* What it takes the place of does not stand in its way. */
static void top5_leaves_the_own_lineage_out(void **state)
{
    struct fixture *f = *state;
    const struct people people = make_people(f);
    struct submit submit;
    char name[8];

    for (int i = 1; i <= 5; i++) {
        (void)snprintf(name, sizeof name, "n%d", i);
        submit = send(f, people.owner, name, i * INT64_C(1000000000));
    }
    set_policy(f, "open", "top5");
    submit = succeed(f, people.owner, "worse", INT64_C(6000000000), submit.entry_id);
    assert_string_equal(submit.state, "in_review");
    assert_false(submit.top5.boards[0].fifth.has); /* four others */
}

static void closed_task_takes_nothing_and_one_for_metadata_corrections_alone(void **state)
{
    struct fixture *f = *state;
    const struct people people = make_people(f);
    const struct submit old = send(f, people.owner, "old", 1000);
    struct submit submit = fixture_submission(f, people.owner, "new", 900);

    set_policy(f, "metadata-only", "none");
    fixture_run(f, verb_submit, &submit);
    assert_string_equal(submit.state, "not_eligible");
    assert_non_null(strstr(submit.reason, "since 2025-12-01: a test"));
    submit = fixture_submission(f, people.owner, "renamed", 1000); /* the same figures */
    submit.revises = (struct opt_i64){true, old.submission_id};
    fixture_run(f, verb_submit, &submit);
    assert_string_equal(submit.state, "accepted");
    assert_string_equal(state_of(f, old.submission_id), "superseded");
    set_policy(f, "closed", "none");
    submit = fixture_submission(f, people.owner, "late", 800);
    fixture_refuse(f, verb_submit, &submit, ST_CONFLICT, "task-closed");
    set_policy(f, "open", "none");
    fixture_run(f, verb_submit, &submit);
    assert_string_equal(submit.state, "accepted");
}

static void jobs_pass_the_same_admission(void **state)
{
    struct fixture *f = *state;
    const struct people people = make_people(f);
    const int64_t agent = fixture_agent(f, "a", "1");
    struct create_jobs jobs = fixture_jobs(f, 1);

    assert_string_equal(state_of(f, jobs.submission_id), "queued");
    fixture_sql(f, "INSERT INTO task_setting (task, policy, review, reason, at_ms) "
                   "VALUES ('cifar10-train-quick', 'open', 'all', 'a test', 1)");
    (void)fixture_train(f, agent, "c1", 1000000, false);
    assert_string_equal(state_of(f, jobs.submission_id), "in_review");
    act(f, people.reviewer, jobs.submission_id, "accept");
    jobs = fixture_jobs(f, 1);
    (void)fixture_train(f, agent, "c2", 1000000, true);
    assert_string_equal(state_of(f, jobs.submission_id), "not_eligible");
    assert_int_equal(
        fixture_number(f, "SELECT count(*) FROM submission_event WHERE submission_id = 1"), 5);
}

static void withdrawn_jobs_stop(void **state)
{
    struct fixture *f = *state;
    const int64_t agent = fixture_agent(f, "a", "1");
    const struct create_jobs jobs = fixture_jobs(f, 2);
    const struct lease lease = fixture_claim(f, agent, "c");
    struct job_record job;
    struct error err = {0};
    const struct event_line line = fixture_start(f, 1);
    struct append_events events = {
        .agent_id = agent, .fence = str_from_cstr(lease.fence), .lines = &line, .count = 1};
    struct attempt_heartbeat heartbeat = {.agent_id = agent, .fence = events.fence};
    struct finish finish = {
        .agent_id = agent, .fence = events.fence, .last_seq = 1, .result = STR("cancelled")};

    assert_string_equal(state_of(f, jobs.submission_id), "running");
    act(f, (struct mover){jobs.token_id, role_scopes(ROLE_OPERATOR)}, jobs.submission_id,
        "withdraw");
    assert_int_equal(store_get_job(f->reader, &f->arena, jobs.job_ids[1], 0, &job, &err), ST_OK);
    assert_string_equal(job.state, "cancelled"); /* it waited */
    fixture_run(f, verb_heartbeat, &heartbeat);
    assert_true(heartbeat.cancel);
    fixture_run(f, verb_append_events, &events);
    fixture_run(f, verb_finish, &finish);
    assert_true(finish.entry_ended);
    assert_string_equal(state_of(f, jobs.submission_id), "withdrawn");
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        T(every_pair_of_state_and_action_is_a_step_or_refused),
        T(steps_of_the_server_are_nobody_elses),
        T(first_of_two_reviewers_wins),
        T(former_comes_back_along_a_chain),
        T(standing_says_from_when_to_when),
        T(only_its_owner_or_a_reviewer_supersedes_what_stands),
        T(name_belongs_to_its_lineage),
        T(rejected_one_comes_back_unless_its_name_or_files_went),
        T(revision_takes_the_place_in_the_review_at_once),
        T(revision_of_an_accepted_one_waits_for_its_own_acceptance),
        T(nobody_judges_what_the_same_token_sent),
        T(top5_reviews_what_enters_the_first_five_of_a_board),
        T(top5_leaves_the_own_lineage_out),
        T(closed_task_takes_nothing_and_one_for_metadata_corrections_alone),
        T(jobs_pass_the_same_admission),
        T(withdrawn_jobs_stop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
