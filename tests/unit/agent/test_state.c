/* tests/unit/agent/test_state.c: agent/run/state: what is left of ended attempts is kept within bounds. */
#include "agent/run/state.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cmocka.h>

#define NOW_S INT64_C(1800000000)
#define DAY_S (INT64_C(24) * 3600)

/* An attempt whose last event is age_s old at NOW_S. */
static void make_attempt(const struct state *state, const char *name, int64_t age_s)
{
    const struct timespec then[2] = {{NOW_S - age_s, 0}, {NOW_S - age_s, 0}};
    char folder[FILES_PATH_BYTES_MAX], spool[FILES_PATH_BYTES_MAX];

    assert_int_equal(state_attempt_folder(state, name, folder, NULL), ST_OK);
    assert_int_equal(files_join(spool, folder, "spool", NULL), ST_OK);
    assert_int_equal(files_write(spool, STR("x"), 0600, NULL), ST_OK);
    assert_int_equal(utimensat(AT_FDCWD, spool, then, 0), 0);
}

static bool has_attempt(const struct state *state, const char *name)
{
    char attempts[FILES_PATH_BYTES_MAX], folder[FILES_PATH_BYTES_MAX];

    assert_int_equal(files_join(attempts, state->dir, "attempts", NULL), ST_OK);
    assert_int_equal(files_join(folder, attempts, name, NULL), ST_OK);
    return files_exists(folder);
}

static int set_up(void **state)
{
    static struct state place;

    place = (struct state){.dir = "/tmp/daybreak-state-XXXXXX"};
    *state = &place;
    return mkdtemp(place.dir) == NULL;
}

static int tear_down(void **state)
{
    const struct state *place = *state;

    files_remove_tree(place->dir);
    return files_exists(place->dir);
}

static void attempts_go_when_they_are_old(void **state)
{
    const struct state *place = *state;

    state_prune_attempts(place, NULL, NOW_S * 1000); /* nothing there yet */
    make_attempt(place, "new", 0);
    make_attempt(place, "edge", STATE_ATTEMPT_DAYS * DAY_S);
    make_attempt(place, "old", STATE_ATTEMPT_DAYS * DAY_S + 1);
    make_attempt(place, "live", 100 * DAY_S);
    make_attempt(place, "ahead", -DAY_S); /* a clock that was set back */
    state_prune_attempts(place, "live", NOW_S * 1000);
    assert_true(has_attempt(place, "new"));
    assert_true(has_attempt(place, "edge"));
    assert_false(has_attempt(place, "old"));
    assert_true(has_attempt(place, "live"));
    assert_true(has_attempt(place, "ahead"));
    state_prune_attempts(place, NULL, NOW_S * 1000);
    assert_false(has_attempt(place, "live"));
}

static void the_oldest_go_when_there_are_many(void **state)
{
    const struct state *place = *state;
    char name[32];

    for (int i = 0; i < STATE_ATTEMPTS_MAX + 3; i++) {
        (void)snprintf(name, sizeof name, "a%d", i);
        make_attempt(place, name, i * 60);
    }
    /* The live one is the oldest of all, and stays beside as many others as may be. */
    (void)snprintf(name, sizeof name, "a%d", STATE_ATTEMPTS_MAX + 2);
    state_prune_attempts(place, name, NOW_S * 1000);
    assert_true(has_attempt(place, name));
    for (int i = 0; i < STATE_ATTEMPTS_MAX + 2; i++) {
        (void)snprintf(name, sizeof name, "a%d", i);
        assert_int_equal(has_attempt(place, name), i < STATE_ATTEMPTS_MAX);
    }
}

static void what_is_no_attempt_is_left_alone(void **state)
{
    const struct state *place = *state;
    char path[FILES_PATH_BYTES_MAX];

    make_attempt(place, "old", 100 * DAY_S);
    assert_int_equal(files_join(path, place->dir, "attempts/note", NULL), ST_OK);
    assert_int_equal(files_write(path, STR("x"), 0600, NULL), ST_OK);
    state_prune_attempts(place, NULL, (NOW_S + 1000 * DAY_S) * 1000);
    assert_false(has_attempt(place, "old"));
    assert_true(files_exists(path));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(attempts_go_when_they_are_old, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_oldest_go_when_there_are_many, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_no_attempt_is_left_alone, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
