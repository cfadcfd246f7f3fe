/* tests/unit/server/test_crash.c: a server that dies at any moment loses nothing that it acknowledged, and an agent
 * that sends the rest again gets every epoch exactly once (server/store/writer.c, append.c). A child process streams
 * a run and reports each acknowledgement through a pipe; it is killed at named points and between acknowledgements. */
#include "tests/support/store_fixture.h"

#include <signal.h>
#include <sys/wait.h>

enum { EVENTS = 60 }; /* run_start and 59 evaluations */

struct stream {
    int64_t agent_id, run_id;
    struct lease lease;
    struct event_line lines[EVENTS];
};

static void make_run(struct fixture *f, struct stream *stream)
{
    stream->agent_id = fixture_agent(f, "a", NULL);
    stream->run_id = fixture_jobs(f, 1).run_ids[0];
    stream->lease = fixture_claim(f, stream->agent_id, "c");
    stream->lines[0] = fixture_start(f, 1);
    for (int i = 1; i < EVENTS; i++)
        stream->lines[i] = fixture_eval(f, i + 1, i, 100 * i, INT64_C(1000000000) * i);
}

static enum status send_from(struct fixture *f, const struct stream *stream, int from, int count,
                             int64_t *ack_seq)
{
    struct append_events events = {.agent_id = stream->agent_id,
                                   .fence = str_from_cstr(stream->lease.fence),
                                   .lines = stream->lines + from,
                                   .count = (size_t)count};
    struct error err = {0};
    const enum status status =
        store_run_verb(f->store, verb_append_events, &events, &f->arena, &err);

    *ack_seq = events.ack_seq;
    return status;
}

/* The child: no assertion of cmocka's may run here. Never returns. */
static void run_child(struct fixture *f, const struct stream *stream, int from,
                      const char *kill_point, int pipe_fd)
{
    struct error err = {0};

    if (setenv("DAYBREAK_KILL_POINT", kill_point, 1) != 0 || fixture_try_open(f, &err) != ST_OK)
        _exit(1);
    for (int i = from; i < EVENTS; i++) {
        int64_t ack_seq;

        if (send_from(f, stream, i, 1, &ack_seq) != ST_OK ||
            write(pipe_fd, &ack_seq, sizeof ack_seq) != (ssize_t)sizeof ack_seq)
            _exit(2);
    }
    while (kill_point[0] == '\0')
        (void)pause(); /* the parent kills us; it may be behind with its reading */
    _exit(3);          /* the point was never reached */
}

/* Streams from event `from` in a child until it dies; with kill_after > 0 it is killed after so many
 * acknowledgements. The last one, or `from` if there was none. */
static int64_t stream_until_death(struct fixture *f, const struct stream *stream, int from,
                                  const char *kill_point, int kill_after)
{
    int64_t ack_seq, last = from;
    int fds[2], status, acks = 0;
    pid_t child;

    assert_int_equal(pipe(fds), 0);
    fixture_close(f); /* no connection may cross a fork */
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)close(fds[0]);
        run_child(f, stream, from, kill_point, fds[1]);
    }
    assert_int_equal(close(fds[1]), 0);
    while (read(fds[0], &ack_seq, sizeof ack_seq) == (ssize_t)sizeof ack_seq) {
        last = ack_seq;
        if (++acks == kill_after)
            (void)kill(child, SIGKILL); /* by its id: it is ours */
    }
    assert_int_equal(close(fds[0]), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    fixture_open(f);
    return last;
}

static int64_t count_stored(struct fixture *f, const struct stream *stream, int64_t *last_seq)
{
    struct run_record run;
    struct error err = {0};

    assert_int_equal(store_get_run(f->reader, &f->arena, stream->run_id, &run, &err), ST_OK);
    *last_seq = run.last_seq;
    return run.epoch_count;
}

/* What was acknowledged is there, each event once; nothing beyond the one event that may have been committed without
 * its answer. */
static void check_stored(struct fixture *f, const struct stream *stream, int64_t acked)
{
    int64_t last_seq;
    const int64_t epochs = count_stored(f, stream, &last_seq);

    assert_true(last_seq >= acked);
    assert_true(last_seq <= acked + 1);
    assert_int_equal(epochs, last_seq > 0 ? last_seq - 1 : 0);
}

static void check_whole(struct fixture *f, const struct stream *stream)
{
    struct epoch_record *rows;
    struct error err = {0};
    size_t count;

    assert_int_equal(
        store_list_epochs(f->reader, &f->arena, stream->run_id, 0, 2 * EVENTS, &rows, &count, &err),
        ST_OK);
    assert_int_equal(count, EVENTS - 1);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(rows[i].seq, i + 2);
}

static void killed_at_a_named_point_loses_nothing(void **state)
{
    static const char *const points[] = {
        "after-event-insert",
        "after-event-insert:7",
        "before-commit",
        "before-commit:9",
        "before-commit:30",
        "after-reply:5",
        "after-commit-before-reply:12",
        "after-commit-before-reply",
    };
    struct fixture *f = *state;
    struct stream stream;
    int64_t acked = 0, last_seq;

    make_run(f, &stream);
    for (size_t i = 0; i < ARRAY_LEN(points); i++) {
        /* As an agent does: go on behind the last event that was acknowledged. */
        acked = stream_until_death(f, &stream, (int)acked, points[i], 0);
        check_stored(f, &stream, acked);
    }
    (void)unsetenv("DAYBREAK_KILL_POINT");
    assert_int_equal(send_from(f, &stream, (int)acked, EVENTS - (int)acked, &last_seq), ST_OK);
    assert_int_equal(last_seq, EVENTS);
    check_whole(f, &stream);
}

static void killed_between_acknowledgements_loses_nothing(void **state)
{
    static const int kill_after[] = {1, 5, 2, 9, 1, 13, 3}; /* 34 of 60 events */
    struct fixture *f = *state;
    struct stream stream;
    int64_t acked = 0, last_seq;

    make_run(f, &stream);
    for (size_t i = 0; i < ARRAY_LEN(kill_after); i++) {
        acked = stream_until_death(f, &stream, (int)acked, "", kill_after[i]);
        (void)count_stored(f, &stream, &last_seq);
        assert_true(last_seq >= acked);
        if (acked > EVENTS - 14)
            acked =
                EVENTS - 14; /* enough are left for the next kill; old events again are no harm */
    }
    assert_int_equal(send_from(f, &stream, (int)acked, EVENTS - (int)acked, &last_seq), ST_OK);
    check_whole(f, &stream);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(killed_at_a_named_point_loses_nothing),
        TEST(killed_between_acknowledgements_loses_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
