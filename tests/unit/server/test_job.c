/* tests/unit/server/test_job.c: the queue as agents see it (server/store: job, agent, attempt, append, result,
 * sweep): claim, fence, heartbeat, events exactly once, finish, score, release, leases over time. */
#include "tests/support/store_fixture.h"

#include "common/entry.h"

#define SECOND_NS INT64_C(1000000000)

static struct run_record get_run(struct fixture *f, int64_t id)
{
    struct run_record run;
    struct error err = {0};

    assert_int_equal(store_get_run(f->reader, &f->arena, id, &run, &err), ST_OK);
    return run;
}

static struct job_record get_job(struct fixture *f, int64_t id)
{
    struct job_record job;
    struct error err = {0};

    assert_int_equal(store_get_job(f->reader, &f->arena, id, atomic_load(&f->now_ms), &job, &err),
                     ST_OK);
    return job;
}

static struct entry_record get_entry(struct fixture *f, int64_t id)
{
    struct entry_record entry;
    struct error err = {0};

    assert_int_equal(store_get_entry(f->reader, &f->arena, id, &entry, &err), ST_OK);
    return entry;
}

static size_t count_epochs(struct fixture *f, int64_t run_id)
{
    struct epoch_record *rows;
    struct error err = {0};
    size_t count;

    assert_int_equal(store_list_epochs(f->reader, &f->arena, run_id, 0, 100, &rows, &count, &err),
                     ST_OK);
    return count;
}

static void append(struct fixture *f, int64_t agent_id, const struct lease *lease,
                   const struct event_line *lines, size_t count, struct append_events *events)
{
    *events = (struct append_events){
        .agent_id = agent_id, .fence = str_from_cstr(lease->fence), .lines = lines, .count = count};
    fixture_run(f, verb_append_events, events);
}

static void jobs_make_one_entry_of_n_runs(void **state)
{
    struct fixture *f = *state;
    const struct create_jobs jobs = fixture_jobs(f, 3);
    const struct entry_record entry = get_entry(f, jobs.entry_id);
    struct run_record *runs;
    struct error err = {0};
    size_t count;

    assert_string_equal(entry.name, "cifar10-1");
    assert_string_equal(entry.state, "queued");
    assert_string_equal(entry.author, "An Operator");
    assert_string_equal(entry.tier, "witnessed");
    assert_int_equal(entry.run_count, 3);
    assert_false(entry.tta_ns.has);
    assert_int_equal(store_list_runs(f->reader, &f->arena, jobs.entry_id, &runs, &count, &err),
                     ST_OK);
    assert_int_equal(count, 3);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(runs[i].id, jobs.run_ids[i]);
        assert_false(runs[i].seed.has); /* a secret until the clock runs */
        assert_int_equal(get_job(f, jobs.job_ids[i]).position.value, i + 1);
    }
}

static void jobs_refuse_zero_and_too_many_seeds(void **state)
{
    static const int counts[] = {0, -1, ENTRY_RUNS_MAX + 1};
    struct fixture *f = *state;
    struct create_jobs create = fixture_jobs(f, ENTRY_RUNS_MAX);

    for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
        create.seeds = counts[i];
        fixture_refuse(f, verb_create_jobs, &create, ST_INVALID, "");
    }
}

static void claim_gives_the_oldest_job_and_then_nothing(void **state)
{
    struct fixture *f = *state;
    const int64_t agent = fixture_agent(f, "a", NULL);
    struct claim none = {.agent_id = agent, .claim_id = STR("c0")};
    const struct create_jobs jobs = fixture_jobs(f, 2);
    const struct lease first = fixture_claim(f, agent, "c1"),
                       second = fixture_claim(f, agent, "c2");

    assert_int_equal(first.job_id, jobs.job_ids[0]);
    assert_int_equal(second.job_id, jobs.job_ids[1]);
    assert_string_not_equal(first.fence, second.fence);
    assert_string_equal(first.workload, "cifar10");
    assert_string_equal(first.recipe, "cifar10-quick");
    assert_int_equal(first.resume_seq, 0);
    assert_string_equal(get_job(f, first.job_id).state, "leased");
    fixture_run(f, verb_claim, &none);
    assert_false(none.found);
}

static void claim_repeated_gives_the_same_lease(void **state)
{
    struct fixture *f = *state;
    const int64_t agent = fixture_agent(f, "a", NULL), other = fixture_agent(f, "b", NULL);
    const struct create_jobs jobs = fixture_jobs(f, 2);
    const struct lease first = fixture_claim(f, agent, "same"),
                       again = fixture_claim(f, agent, "same");

    assert_string_equal(first.fence, again.fence);
    assert_int_equal(get_job(f, jobs.job_ids[0]).tries, 1);
    /* The same word from another agent is another claim. */
    assert_int_equal(fixture_claim(f, other, "same").job_id, jobs.job_ids[1]);
}

static void claim_repeated_after_the_end_is_refused(void **state)
{
    struct fixture *f = *state;
    const int64_t agent = fixture_agent(f, "a", NULL);
    struct claim claim = {.agent_id = agent, .claim_id = STR("c1")};

    (void)fixture_jobs(f, 1);
    (void)fixture_train(f, agent, "c1", SECOND_NS, false);
    fixture_refuse(f, verb_claim, &claim, ST_CONFLICT, "claim-used");
}

static void claim_matches_device_and_tags(void **state)
{
    static const struct {
        const char *kind, *tags;
        bool found;
    } cases[] = {
        {"cuda", NULL, false},
        {NULL, "[\"huge\"]", false},
        {NULL, "[\"big\", \"huge\"]", false},
        {"cpu", "[\"big\"]", true},
        {NULL, "[]", true},
        {NULL, "[\"fast\", \"big\"]", true},
    };
    struct fixture *f = *state;
    const int64_t agent = fixture_agent(f, "a", NULL);

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct create_jobs create = fixture_jobs(f, 1);
        struct cancel_job drop = {.job_id = create.job_ids[0]};
        struct claim claim = {.agent_id = agent};
        char id[8];

        fixture_run(f, verb_cancel_job,
                    &drop); /* of the plain one, then make it anew with wishes */
        create.device_kind = cases[i].kind;
        create.tags_json = cases[i].tags;
        fixture_run(f, verb_create_jobs, &create);
        (void)snprintf(id, sizeof id, "c%zu", i);
        claim.claim_id = str_from_cstr(id);
        assert_int_equal(get_job(f, create.job_ids[0]).takeable, cases[i].found);
        fixture_run(f, verb_claim, &claim);
        assert_int_equal(claim.found, cases[i].found);
        drop.job_id = create.job_ids[0];
        fixture_run(f, verb_cancel_job, &drop);
    }
}

static void claim_of_an_unknown_agent_is_refused(void **state)
{
    struct claim claim = {.agent_id = 99, .claim_id = STR("c")};

    fixture_refuse(*state, verb_claim, &claim, ST_NOT_FOUND, "agent-unknown");
    claim.claim_id = STR("");
    fixture_refuse(*state, verb_claim, &claim, ST_INVALID, "");
}

static void run_start_discloses_the_seed_the_same_each_time(void **state)
{
    struct fixture *f = *state;
    const int64_t agent = fixture_agent(f, "a", NULL);
    const struct create_jobs jobs = fixture_jobs(f, 1);
    const struct lease lease = fixture_claim(f, agent, "c");
    const struct event_line start = fixture_start(f, 1);
    struct append_events first, again;

    append(f, agent, &lease, &start, 1, &first);
    append(f, agent, &lease, &start, 1, &again);
    assert_true(first.has_seed && again.has_seed);
    assert_int_equal(first.seed, again.seed);
    assert_int_equal(again.ack_seq, 1);
    assert_true(get_run(f, jobs.run_ids[0]).seed.has);
    assert_int_equal(get_run(f, jobs.run_ids[0]).seed.value, first.seed);
    assert_string_equal(get_run(f, jobs.run_ids[0]).state, "running");
    assert_string_equal(get_job(f, jobs.job_ids[0]).state, "running");
}

static void events_repeated_change_nothing(void **state)
{
    struct fixture *f = *state;
    const int64_t agent = fixture_agent(f, "a", NULL);
    const struct create_jobs jobs = fixture_jobs(f, 1);
    const struct lease lease = fixture_claim(f, agent, "c");
    const struct event_line lines[] = {fixture_start(f, 1), fixture_eval(f, 2, 1, 5000, SECOND_NS),
                                       fixture_eval(f, 3, 2.5, 7000, 2 * SECOND_NS)};
    struct append_events events;
    struct run_record before, after;

    append(f, agent, &lease, lines, 2, &events);
    assert_int_equal(events.ack_seq, 2);
    append(f, agent, &lease, lines, 3, &events); /* two known, one new */
    assert_int_equal(events.ack_seq, 3);
    before = get_run(f, jobs.run_ids[0]);
    append(f, agent, &lease, lines, 3, &events);
    after = get_run(f, jobs.run_ids[0]);
    assert_int_equal(count_epochs(f, jobs.run_ids[0]), 2);
    assert_int_equal(before.tta_ns.value, after.tta_ns.value);
    assert_int_equal(after.tta_ns.value, 2 * SECOND_NS);
    assert_string_equal(after.tta_epoch_text, "2.5");
    assert_string_equal(after.last_value_text, "70");
    assert_false(events.has_seed == false); /* run_start is among them */
}

static void events_with_other_bytes_or_a_gap_are_refused_whole(void **state)
{
    struct fixture *f = *state;
    const int64_t agent = fixture_agent(f, "a", NULL);
    const struct create_jobs jobs = fixture_jobs(f, 1);
    const struct lease lease = fixture_claim(f, agent, "c");
    struct event_line lines[] = {fixture_start(f, 1), fixture_eval(f, 2, 1, 5000, SECOND_NS)};
    const struct event_line gap[] = {fixture_eval(f, 3, 2, 5500, 2 * SECOND_NS),
                                     fixture_eval(f, 5, 3, 5600, 3 * SECOND_NS)};
    struct append_events events;

    append(f, agent, &lease, lines, 2, &events);
    lines[1] = fixture_eval(f, 2, 1, 5001, SECOND_NS);
    fixture_refuse(f, verb_append_events, &events, ST_CONFLICT, "event-conflict");
    events.lines = gap;
    fixture_refuse(f, verb_append_events, &events, ST_CONFLICT, "event-gap");
    assert_int_equal(events.expected_seq, 4);
    assert_int_equal(count_epochs(f, jobs.run_ids[0]), 1); /* seq 3 went with its batch */
    events.count = 1;
    fixture_run(f, verb_append_events, &events);
    assert_int_equal(events.ack_seq, 3);
}

static void events_that_the_task_does_not_admit_are_refused(void **state)
{
    struct fixture *f = *state;
    const int64_t agent = fixture_agent(f, "a", NULL);
    struct append_events events;
    struct event_line line;
    struct lease lease;

    (void)fixture_jobs(f, 1);
    lease = fixture_claim(f, agent, "c");
    line = fixture_eval(f, 1, 1, 5000, SECOND_NS); /* before run_start */
    events = (struct append_events){
        .agent_id = agent, .fence = str_from_cstr(lease.fence), .lines = &line, .count = 1};
    fixture_refuse(f, verb_append_events, &events, ST_INVALID, "run-not-started");
    line = fixture_start(f, 1);
    fixture_run(f, verb_append_events, &events);
    line = fixture_start(f, 2); /* twice */
    fixture_refuse(f, verb_append_events, &events, ST_CONFLICT, "run-started");
    line = fixture_eval(f, 2, 1, 5000, SECOND_NS);
    line.event.total = 9999; /* fewer than the validation set */
    fixture_refuse(f, verb_append_events, &events, ST_INVALID, "");
    line = fixture_eval(f, 2, 1, 5000, SECOND_NS);
    line.event.metric = STR("f1Score");
    fixture_refuse(f, verb_append_events, &events, ST_INVALID, "");
    line = fixture_eval(f, 2, 1, 5000, SECOND_NS);
    line.event.wall_ns = SECOND_NS - 1; /* official above wall */
    fixture_refuse(f, verb_append_events, &events, ST_INVALID, "");
}

static void tta_is_the_first_crossing_and_never_moves(void **state)
{
    struct fixture *f = *state;
    const int64_t agent = fixture_agent(f, "a", "0.36");
    const struct create_jobs jobs = fixture_jobs(f, 1);
    const struct finish finish = fixture_train(f, agent, "c", 100 * SECOND_NS, false);
    const struct entry_record entry = get_entry(f, jobs.entry_id);

    assert_string_equal(finish.run_state, "reached"); /* although it fell below again */
    assert_true(finish.entry_ended);
    assert_int_equal(finish.tta_ns.value, 100 * SECOND_NS);
    assert_string_equal(entry.state, "accepted");
    assert_string_equal(entry.reason, "");
    assert_int_equal(entry.tta_ns.value, 100 * SECOND_NS);
    assert_int_equal(entry.wall_ns.value, 125 * SECOND_NS);
    assert_string_equal(entry.epoch_text, "2");
    assert_string_equal(entry.accuracy_text, "70");
    assert_string_equal(entry.hardware, "1 Test CPU");
    assert_string_equal(entry.entry_date, "2025-12-01");
    assert_int_equal(entry.cost_pico.value,
                     INT64_C(10000000000)); /* 100 s of 0.36 USD/h: 0.01 USD */
    assert_int_equal(entry.tta_run_count, 1);
    assert_string_equal(get_job(f, jobs.job_ids[0]).state, "done");
}

/* tta [ns] x price / 3.6 in pico-dollars: 9 ns at 1 USD/h are 2.5, 27 ns are 7.5. */
static void cost_is_rounded_once_half_to_even(void **state)
{
    static const struct {
        int64_t tta_ns;
        const char *price;
        int64_t cost_pico;
    } cases[] = {{9, "1", 2},        {27, "1", 8},
                 {10, "1", 3},       {9, "10", 25},
                 {9, "1.000001", 3}, {36 * SECOND_NS, "97.92", INT64_C(979200000000)}};
    struct fixture *f = *state;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct create_jobs jobs = fixture_jobs(f, 1);
        const int64_t agent = fixture_agent(f, "a", cases[i].price);

        (void)fixture_train(f, agent, "c", cases[i].tta_ns, false);
        assert_int_equal(get_entry(f, jobs.entry_id).cost_pico.value, cases[i].cost_pico);
    }
}

static void finish_counts_what_was_streamed_not_what_is_claimed(void **state)
{
    struct fixture *f = *state;
    const int64_t agent = fixture_agent(f, "a", NULL);
    const struct create_jobs jobs = fixture_jobs(f, 1);
    const struct lease lease = fixture_claim(f, agent, "c");
    const struct event_line lines[] = {fixture_start(f, 1), fixture_eval(f, 2, 1, 6999, SECOND_NS)};
    struct append_events events;
    struct finish finish = {.agent_id = agent, .last_seq = 2, .result = STR("reached")};

    append(f, agent, &lease, lines, 2, &events);
    finish.fence = events.fence;
    fixture_run(f, verb_finish, &finish);
    assert_string_equal(finish.run_state, "missed");
    assert_string_equal(get_entry(f, jobs.entry_id).state, "not_eligible");
    assert_string_equal(get_entry(f, jobs.entry_id).reason, "the target was not reached");
}

static void finish_repeated_is_answered_alike_and_another_refused(void **state)
{
    struct fixture *f = *state;
    const int64_t agent = fixture_agent(f, "a", NULL);
    struct append_events events = {.agent_id = agent};
    struct attempt_heartbeat beat = {.agent_id = agent};
    struct finish finish, again;

    (void)fixture_jobs(f, 1);
    finish = fixture_train(f, agent, "c", SECOND_NS, false);
    again = (struct finish){
        .agent_id = agent, .fence = finish.fence, .last_seq = 4, .result = STR("reached")};
    fixture_run(f, verb_finish, &again);
    assert_string_equal(again.run_state, "reached");
    assert_int_equal(again.run_id, finish.run_id);
    again.result = STR("failed");
    fixture_refuse(f, verb_finish, &again, ST_CONFLICT, "finish-conflict");
    events.fence = beat.fence = finish.fence;
    fixture_refuse(f, verb_append_events, &events, ST_CONFLICT, "attempt-superseded");
    fixture_refuse(f, verb_heartbeat, &beat, ST_CONFLICT, "attempt-superseded");
}

static void finish_with_a_lacking_event_or_a_bad_result_is_refused(void **state)
{
    struct fixture *f = *state;
    const int64_t agent = fixture_agent(f, "a", NULL);
    struct append_events events;
    struct finish finish = {.agent_id = agent, .last_seq = 3, .result = STR("reached")};
    struct event_line start = fixture_start(f, 1);
    struct lease lease;

    (void)fixture_jobs(f, 1);
    lease = fixture_claim(f, agent, "c");
    append(f, agent, &lease, &start, 1, &events);
    finish.fence = events.fence;
    fixture_refuse(f, verb_finish, &finish, ST_CONFLICT, "event-gap");
    assert_int_equal(finish.expected_seq, 2);
    finish.last_seq = 1;
    finish.result = STR("won");
    fixture_refuse(f, verb_finish, &finish, ST_INVALID, "");
    finish.agent_id = fixture_agent(f, "b", NULL); /* another agent's attempt */
    fixture_refuse(f, verb_finish, &finish, ST_NOT_FOUND, "attempt-unknown");
}

/* reached[i] < 0: that run misses; else its TTA in seconds. */
static void check_median(struct fixture *f, const int *tta_s, int count, int64_t want_ns)
{
    const int64_t agent = fixture_agent(f, "a", "1");
    const struct create_jobs jobs = fixture_jobs(f, count);
    struct entry_record entry;

    for (int i = 0; i < count; i++) {
        char claim_id[16];
        struct finish finish;

        (void)snprintf(claim_id, sizeof claim_id, "c%d", i);
        finish = fixture_train(f, agent, claim_id, (tta_s[i] < 0 ? 1 : tta_s[i]) * SECOND_NS,
                               tta_s[i] < 0);
        assert_int_equal(finish.entry_ended, i == count - 1);
    }
    entry = get_entry(f, jobs.entry_id);
    assert_int_equal(entry.tta_ns.has, want_ns >= 0);
    assert_string_equal(entry.state, want_ns >= 0 ? "accepted" : "not_eligible");
    if (want_ns >= 0)
        assert_int_equal(entry.tta_ns.value, want_ns);
}

static void entry_is_ranked_by_the_median_a_miss_counting_as_infinite(void **state)
{
    check_median(*state, (const int[]){30, 10, 20}, 3, 20 * SECOND_NS);
    check_median(*state, (const int[]){30, -1, 20}, 3, 30 * SECOND_NS);
    check_median(*state, (const int[]){-1, 10, -1}, 3, -1);
    check_median(*state, (const int[]){10, 21}, 2, 15500 * SECOND_NS / 1000);
    check_median(*state, (const int[]){10, -1}, 2, -1);
    check_median(*state, (const int[]){-1}, 1, -1);
    check_median(*state, (const int[]){40, -1, 20, 30}, 4, 35 * SECOND_NS);
}

static void release_gives_the_job_back_with_another_seed(void **state)
{
    struct fixture *f = *state;
    const int64_t agent = fixture_agent(f, "a", NULL), other = fixture_agent(f, "b", NULL);
    const struct create_jobs jobs = fixture_jobs(f, 1);
    const struct lease lease = fixture_claim(f, agent, "c");
    const struct event_line lines[] = {fixture_start(f, 1), fixture_eval(f, 2, 1, 7500, SECOND_NS)};
    struct release release = {.agent_id = agent, .reason = STR("spot")};
    struct append_events events, late;
    struct lease again;

    append(f, agent, &lease, lines, 2, &events);
    release.fence = events.fence;
    fixture_run(f, verb_release, &release);
    fixture_run(f, verb_release, &release); /* twice is no fault */
    assert_string_equal(get_job(f, jobs.job_ids[0]).state, "queued");
    assert_false(get_run(f, jobs.run_ids[0]).tta_ns.has); /* times are never stitched together */
    assert_int_equal(count_epochs(f, jobs.run_ids[0]), 0);
    late = events;
    fixture_refuse(f, verb_append_events, &late, ST_CONFLICT, "attempt-superseded");
    again = fixture_claim(f, other, "c");
    assert_int_equal(again.job_id, lease.job_id);
    assert_string_not_equal(again.fence, lease.fence);
    append(f, other, &again, lines, 1, &late);
    assert_int_not_equal(late.seed, events.seed); /* equal once in 2^31 */
    assert_int_equal(get_job(f, jobs.job_ids[0]).tries, 2);
    fixture_refuse(f, verb_append_events, &events, ST_CONFLICT, "attempt-superseded");
}

static void release_as_unsupported_is_not_offered_to_that_agent_again(void **state)
{
    struct fixture *f = *state;
    const int64_t agent = fixture_agent(f, "a", NULL);
    struct claim claim = {.agent_id = agent, .claim_id = STR("d")};
    struct release release = {.agent_id = agent, .reason = STR("unsupported")};
    struct lease lease;

    (void)fixture_jobs(f, 1);
    lease = fixture_claim(f, agent, "c");
    release.fence = str_from_cstr(lease.fence);
    fixture_run(f, verb_release, &release);
    fixture_run(f, verb_claim, &claim);
    assert_false(claim.found);
    assert_int_equal(fixture_claim(f, fixture_agent(f, "b", NULL), "c").job_id, lease.job_id);
}

static void cancel_ends_a_queued_job_and_tells_the_agent_of_a_leased_one(void **state)
{
    struct fixture *f = *state;
    const int64_t agent = fixture_agent(f, "a", NULL);
    const struct create_jobs jobs = fixture_jobs(f, 2);
    struct cancel_job first = {.job_id = jobs.job_ids[0]}, second = {.job_id = jobs.job_ids[1]};
    const struct lease lease = fixture_claim(f, agent, "c");
    struct attempt_heartbeat beat = {
        .agent_id = agent, .fence = str_from_cstr(lease.fence), .phase = STR("setup")};
    struct finish finish = {
        .agent_id = agent, .fence = beat.fence, .last_seq = 0, .result = STR("cancelled")};

    fixture_run(f, verb_cancel_job, &second);
    assert_string_equal(get_job(f, second.job_id).state, "cancelled");
    fixture_run(f, verb_heartbeat, &beat);
    assert_false(beat.cancel);
    fixture_run(f, verb_cancel_job, &first);
    fixture_run(f, verb_cancel_job, &first);
    fixture_run(f, verb_heartbeat, &beat);
    assert_true(beat.cancel);
    assert_string_equal(get_run(f, jobs.run_ids[0]).phase, "setup");
    fixture_run(f, verb_finish, &finish);
    assert_string_equal(get_job(f, first.job_id).state, "cancelled");
    assert_string_equal(get_entry(f, jobs.entry_id).state, "not_eligible");
    first.job_id = 99;
    fixture_refuse(f, verb_cancel_job, &first, ST_NOT_FOUND, "");
}

static void cancel_of_a_finished_job_is_refused(void **state)
{
    struct fixture *f = *state;
    const struct create_jobs jobs = fixture_jobs(f, 1);
    struct cancel_job cancel = {.job_id = jobs.job_ids[0]};

    (void)fixture_train(f, fixture_agent(f, "a", NULL), "c", SECOND_NS, false);
    fixture_refuse(f, verb_cancel_job, &cancel, ST_CONFLICT, "job-ended");
}

static void lease_that_runs_out_is_unreachable_then_requeued(void **state)
{
    struct fixture *f = *state;
    const int64_t agent = fixture_agent(f, "a", NULL);
    const struct create_jobs jobs = fixture_jobs(f, 1);
    const struct lease lease = fixture_claim(f, agent, "c");
    struct attempt_heartbeat beat = {
        .agent_id = agent, .fence = str_from_cstr(lease.fence), .phase = STR("train")};
    struct sweep sweep = {.store = f->store};

    atomic_fetch_add(&f->now_ms, LEASE_MS);
    fixture_run(f, verb_sweep, &sweep);
    assert_int_equal(sweep.unreachable_count, 0); /* to the last millisecond */
    atomic_fetch_add(&f->now_ms, 1);
    fixture_run(f, verb_sweep, &sweep);
    assert_int_equal(sweep.unreachable_count, 1);
    assert_string_equal(get_job(f, jobs.job_ids[0]).state, "unreachable");
    assert_string_equal(get_run(f, jobs.run_ids[0]).state, "unreachable");
    fixture_run(f, verb_heartbeat, &beat); /* it was only the network */
    assert_string_equal(get_job(f, jobs.job_ids[0]).state, "leased");
    assert_string_equal(get_run(f, jobs.run_ids[0]).state, "queued");
    atomic_fetch_add(&f->now_ms, LEASE_MS + 1);
    fixture_run(f, verb_sweep, &sweep);
    atomic_fetch_add(&f->now_ms, jobs.task->reclaim_after_ms - 1);
    fixture_run(f, verb_sweep, &sweep);
    assert_int_equal(sweep.requeued_count, 0);
    atomic_fetch_add(&f->now_ms, 2);
    fixture_run(f, verb_sweep, &sweep);
    assert_int_equal(sweep.requeued_count, 1);
    assert_string_equal(get_job(f, jobs.job_ids[0]).state, "queued");
    fixture_refuse(f, verb_heartbeat, &beat, ST_CONFLICT, "attempt-superseded");
}

static void restart_extends_leases_by_the_downtime(void **state)
{
    struct fixture *f = *state;
    const int64_t agent = fixture_agent(f, "a", NULL), hour_ms = 3600000;
    struct start_server start;
    struct sweep sweep;
    struct lease lease;

    (void)fixture_jobs(f, 1);
    fixture_run(f, verb_start_server, &start);
    assert_int_equal(start.downtime_ms, 0); /* the first start ever */
    lease = fixture_claim(f, agent, "c");
    sweep.store = f->store;
    fixture_run(f, verb_sweep, &sweep);
    fixture_close(f);
    atomic_fetch_add(&f->now_ms, hour_ms);
    fixture_open(f);
    fixture_run(f, verb_start_server, &start);
    assert_int_equal(start.downtime_ms, hour_ms);
    assert_int_equal(start.lease_count, 1);
    sweep.store = f->store;
    atomic_fetch_add(&f->now_ms, LEASE_MS);
    fixture_run(f, verb_sweep, &sweep);
    assert_string_equal(get_job(f, lease.job_id).state, "leased");
}

static void agents_are_idle_busy_or_unreachable(void **state)
{
    struct fixture *f = *state;
    const int64_t agent = fixture_agent(f, "a", NULL);
    struct agent_record row, *rows;
    struct error err = {0};
    size_t count;

    assert_int_equal(
        store_get_agent(f->reader, &f->arena, agent, atomic_load(&f->now_ms), &row, &err), ST_OK);
    assert_string_equal(row.state, "idle");
    (void)fixture_jobs(f, 1);
    (void)fixture_claim(f, agent, "c");
    assert_int_equal(store_list_agents(f->reader, &f->arena, atomic_load(&f->now_ms), 0, 1000,
                                       &rows, &count, &err),
                     ST_OK);
    assert_int_equal(count, 1);
    assert_string_equal(rows[0].state, "busy");
    assert_true(rows[0].job_id.has);
    assert_int_equal(store_get_agent(f->reader, &f->arena, agent,
                                     atomic_load(&f->now_ms) + AGENT_UNREACHABLE_MS + 1, &row,
                                     &err),
                     ST_OK);
    assert_string_equal(row.state, "unreachable");
    assert_int_equal(store_get_agent(f->reader, &f->arena, 99, 0, &row, &err), ST_NOT_FOUND);
}

static void changes_tell_of_each_epoch_in_order_and_reset_what_is_too_old(void **state)
{
    struct fixture *f = *state;
    const int64_t agent = fixture_agent(f, "a", NULL), before = store_last_change_id(f->store);
    const struct create_jobs jobs = fixture_jobs(f, 1);
    struct change_record *rows;
    struct error err = {0};
    size_t count, epochs = 0;
    int64_t last = before, version;
    bool reset;

    (void)fixture_train(f, agent, "c", SECOND_NS, false);
    assert_int_equal(
        store_list_changes(f->reader, &f->arena, before, 1000, &rows, &count, &reset, &err), ST_OK);
    assert_false(reset);
    for (size_t i = 0; i < count; i++) {
        assert_true(rows[i].id > last);
        last = rows[i].id;
        if (strcmp(rows[i].kind, "epoch") == 0)
            assert_int_equal(rows[i].ref, 2 + (int64_t)epochs++);
    }
    assert_int_equal(epochs, 3);
    assert_int_equal(last, store_last_change_id(f->store));
    assert_int_equal(store_get_version(f->reader, STR("board:cifar10-train-quick"), &version, &err),
                     ST_OK);
    assert_int_equal(version, 2); /* made, scored */
    assert_int_equal(store_get_version(f->reader, STR("board:none"), &version, &err), ST_OK);
    assert_int_equal(version, 0);
    assert_int_equal(
        store_list_changes(f->reader, &f->arena, last + 1, 10, &rows, &count, &reset, &err), ST_OK);
    assert_true(reset); /* of another database */
    assert_true(jobs.entry_id > 0);
}

static void old_changes_age_out_after_a_week(void **state)
{
    struct fixture *f = *state;
    struct sweep sweep = {.store = f->store};
    struct change_record *rows;
    struct error err = {0};
    size_t count;
    bool reset;

    (void)fixture_jobs(f, 2);
    atomic_fetch_add(&f->now_ms, INT64_C(8) * 24 * 3600 * 1000);
    (void)fixture_jobs(f, 1);
    fixture_run(f, verb_sweep, &sweep);
    assert_int_equal(store_list_changes(f->reader, &f->arena, 0, 1000, &rows, &count, &reset, &err),
                     ST_OK);
    assert_true(reset);
    assert_int_equal(store_list_changes(f->reader, &f->arena, store_last_change_id(f->store) - 1,
                                        1000, &rows, &count, &reset, &err),
                     ST_OK);
    assert_false(reset);
    assert_int_equal(count, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(jobs_make_one_entry_of_n_runs),
        TEST(jobs_refuse_zero_and_too_many_seeds),
        TEST(claim_gives_the_oldest_job_and_then_nothing),
        TEST(claim_repeated_gives_the_same_lease),
        TEST(claim_repeated_after_the_end_is_refused),
        TEST(claim_matches_device_and_tags),
        TEST(claim_of_an_unknown_agent_is_refused),
        TEST(run_start_discloses_the_seed_the_same_each_time),
        TEST(events_repeated_change_nothing),
        TEST(events_with_other_bytes_or_a_gap_are_refused_whole),
        TEST(events_that_the_task_does_not_admit_are_refused),
        TEST(tta_is_the_first_crossing_and_never_moves),
        TEST(cost_is_rounded_once_half_to_even),
        TEST(finish_counts_what_was_streamed_not_what_is_claimed),
        TEST(finish_repeated_is_answered_alike_and_another_refused),
        TEST(finish_with_a_lacking_event_or_a_bad_result_is_refused),
        TEST(entry_is_ranked_by_the_median_a_miss_counting_as_infinite),
        TEST(release_gives_the_job_back_with_another_seed),
        TEST(release_as_unsupported_is_not_offered_to_that_agent_again),
        TEST(cancel_ends_a_queued_job_and_tells_the_agent_of_a_leased_one),
        TEST(cancel_of_a_finished_job_is_refused),
        TEST(lease_that_runs_out_is_unreachable_then_requeued),
        TEST(restart_extends_leases_by_the_downtime),
        TEST(agents_are_idle_busy_or_unreachable),
        TEST(changes_tell_of_each_epoch_in_order_and_reset_what_is_too_old),
        TEST(old_changes_age_out_after_a_week),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
