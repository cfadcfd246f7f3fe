/* tests/unit/agent/test_spool.c: agent/run/spool: records survive a restart, a torn tail does not. */
#include "agent/run/spool.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/data/files.h"
#include "agent/run/link.h"

struct place {
    char dir[FILES_PATH_BYTES_MAX], path[FILES_PATH_BYTES_MAX];
};

static struct spool *open_spool(const struct place *place, int64_t *dropped)
{
    struct spool *spool = NULL;

    assert_int_equal(spool_open(place->path, &spool, dropped, NULL), ST_OK);
    return spool;
}

static void fill(const struct place *place, int count)
{
    int64_t dropped;
    struct spool *spool = open_spool(place, &dropped);

    for (int i = 1; i <= count; i++) {
        char record[32];

        (void)snprintf(record, sizeof record, "{\"seq\":%d}", i);
        assert_int_equal(spool_append(spool, str_from_cstr(record), NULL), ST_OK);
    }
    assert_int_equal(spool_sync(spool, NULL), ST_OK);
    spool_close(spool);
}

static void assert_record(struct spool *spool, int64_t seq, const char *want)
{
    struct buf record;

    buf_init(&record, 8192);
    assert_int_equal(spool_read(spool, seq, &record, NULL), ST_OK);
    assert_string_equal(record.data, want);
    buf_fini(&record);
}

static off_t size_of(const struct place *place)
{
    struct stat info;

    assert_int_equal(stat(place->path, &info), 0);
    return info.st_size;
}

static void records_survive_a_restart(void **state)
{
    const struct place *place = *state;
    int64_t dropped = -1;
    struct spool *spool;

    fill(place, 1000); /* grows its index more than once */
    spool = open_spool(place, &dropped);
    assert_int_equal(dropped, 0);
    assert_int_equal(spool_count(spool), 1000);
    assert_record(spool, 1, "{\"seq\":1}");
    assert_record(spool, 1000, "{\"seq\":1000}");
    assert_int_equal(spool_append(spool, STR("next"), NULL), ST_OK);
    assert_record(spool, 1001, "next");
    spool_close(spool);
}

static void every_torn_tail_is_dropped(void **state)
{
    const struct place *place = *state;
    off_t whole, two;

    fill(place, 2);
    two = size_of(place);
    fill(place, 1); /* a third, after reopening */
    whole = size_of(place);
    for (off_t cut = whole - 1; cut >= two; cut--) {
        int64_t dropped = -1;
        struct spool *spool;

        assert_int_equal(truncate(place->path, cut), 0);
        spool = open_spool(place, &dropped);
        assert_int_equal(spool_count(spool), 2);
        assert_int_equal(dropped, cut - two);
        assert_int_equal(spool_append(spool, STR("{\"seq\":1}"), NULL), ST_OK);
        assert_record(spool, 3, "{\"seq\":1}");
        spool_close(spool);
        assert_int_equal(size_of(place), whole);
    }
}

static void a_flipped_bit_ends_the_spool_there(void **state)
{
    const struct place *place = *state;
    int64_t dropped = -1;
    struct spool *spool;
    off_t one;
    char byte;
    int fd;

    fill(place, 1);
    one = size_of(place);
    fill(place, 3);
    fd = open(place->path, O_RDWR);
    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &byte, 1, one + 10), 1);
    byte ^= 1;
    assert_int_equal(pwrite(fd, &byte, 1, one + 10), 1);
    close(fd);
    spool = open_spool(place, &dropped);
    assert_int_equal(spool_count(spool), 1);
    assert_true(dropped > 0);
    spool_close(spool);
    assert_int_equal(size_of(place), one);
}

static void absurd_lengths_are_a_torn_tail(void **state)
{
    static const unsigned char headers[][8] = {{0, 0, 0, 0, 0, 0, 0, 0},
                                               {0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0}};
    const struct place *place = *state;

    for (size_t i = 0; i < ARRAY_LEN(headers); i++) {
        int64_t dropped = -1;
        struct spool *spool;

        assert_int_equal(
            files_write(place->path, (struct str){(const char *)headers[i], 8}, 0600, NULL), ST_OK);
        spool = open_spool(place, &dropped);
        assert_int_equal(spool_count(spool), 0);
        assert_int_equal(dropped, 8);
        spool_close(spool);
    }
}

static void backoff_grows_to_its_limit_with_jitter(void **state)
{
    (void)state;
    for (int tries = 0; tries < 100; tries++) {
        const int64_t wait_ms = link_backoff_ms(tries);

        assert_true(wait_ms >= 100 && wait_ms <= 10000);
        if (tries >= 6)
            assert_true(wait_ms >= 5000);
        if (tries == 0)
            assert_true(wait_ms <= 200);
    }
}

static int set_up(void **state)
{
    struct place *place = malloc(sizeof *place);

    if (place == NULL ||
        files_make_temporary(P_tmpdir "/daybreak-spool-", place->dir, NULL) != ST_OK ||
        files_join(place->path, place->dir, "spool", NULL) != ST_OK)
        return -1;
    *state = place;
    return 0;
}

static int tear_down(void **state)
{
    files_remove_tree(((struct place *)*state)->dir);
    free(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(records_survive_a_restart, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_torn_tail_is_dropped, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_flipped_bit_ends_the_spool_there, set_up, tear_down),
        cmocka_unit_test_setup_teardown(absurd_lengths_are_a_torn_tail, set_up, tear_down),
        cmocka_unit_test(backoff_grows_to_its_limit_with_jitter),
    };

    return cmocka_run_group_tests_name("spool", tests, NULL, NULL);
}
