/* tests/unit/agent/test_cifar10.c: agent/data/cifar10, _fetch and png: records, images and labels in both
 * directions, and every file that is not what it should be.
 *
 * The fixture two.png (1,024 x 2, RGB) has at image i, pixel x, colour c the value (7 i + 50 c + x) mod 256;
 * grey.png is the same in grey, narrow.png half as wide. */
#include "agent/data/cifar10.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/data/cifar10_fetch.h"
#include "agent/data/files.h"

#define FIXTURES   "tests/fixtures/cifar10/"
#define FILE_BYTES ((off_t)CIFAR10_FILE_RECORDS * CIFAR10_RECORD_BYTES)

static void read_fixture(const char *name, struct buf *out)
{
    char path[FILES_PATH_BYTES_MAX];

    buf_init(out, 1 << 20);
    assert_int_equal(files_join(path, FIXTURES, name, NULL), ST_OK);
    assert_int_equal(files_read(path, out, NULL), ST_OK);
}

static void png_rows_become_official_records(void **state)
{
    static uint8_t records[2 * CIFAR10_RECORD_BYTES];
    const uint8_t labels[] = {6, 9};
    struct buf png;

    (void)state;
    read_fixture("two.png", &png);
    assert_int_equal(cifar10_decode_png(buf_str(&png), labels, 2, records, NULL), ST_OK);
    for (size_t image = 0; image < 2; image++) {
        const uint8_t *record = records + image * CIFAR10_RECORD_BYTES;

        assert_int_equal(record[0], labels[image]);
        for (size_t colour = 0; colour < 3; colour++)
            for (size_t x = 0; x < 1024; x++)
                assert_int_equal(record[1 + colour * 1024 + x],
                                 (7 * image + 50 * colour + x) % 256);
    }
    buf_fini(&png);
}

static void png_of_another_shape_is_refused(void **state)
{
    static const char *const names[] = {"grey.png", "narrow.png"};
    static uint8_t records[2 * CIFAR10_RECORD_BYTES];
    const uint8_t labels[] = {0, 0};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct error err = {0};
        struct buf png;

        read_fixture(names[i], &png);
        assert_int_equal(cifar10_decode_png(buf_str(&png), labels, 2, records, &err), ST_INVALID);
        assert_true(err.detail[0] != '\0');
        buf_fini(&png);
    }
}

static void torn_or_changed_png_is_refused(void **state)
{
    static uint8_t records[2 * CIFAR10_RECORD_BYTES];
    const uint8_t labels[] = {0, 0};
    struct buf png;

    (void)state;
    read_fixture("two.png", &png);
    for (size_t len = 0; len < png.len; len += 97)
        assert_int_equal(cifar10_decode_png((struct str){png.data, len}, labels, 2, records, NULL),
                         ST_INVALID);
    png.data[png.len / 2] ^= 0x10; /* in the compressed rows: its check sum no longer fits */
    assert_int_equal(cifar10_decode_png(buf_str(&png), labels, 2, records, NULL), ST_INVALID);
    buf_fini(&png);
}

static void labels_are_a_list_of_digits(void **state)
{
    static const struct {
        const char *text;
        enum status status;
    } cases[] = {
        {"[6,9,0]", ST_OK},       {" [ 6 ,\n9 , 0 ]\n", ST_OK},
        {"[6,9]", ST_INVALID},    {"[6,9,0,1]", ST_INVALID},
        {"[6,9,10]", ST_INVALID}, {"[6,9,a]", ST_INVALID},
        {"[6,9,-1]", ST_INVALID}, {"6,9,0", ST_INVALID},
        {"[6,9,0]x", ST_INVALID}, {"[6,,9,0]", ST_INVALID},
        {"", ST_INVALID},         {"[6,9,0", ST_INVALID},
        {"[6 9 0]", ST_INVALID},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        uint8_t labels[3] = {0};

        if (cifar10_parse_labels(str_from_cstr(cases[i].text), 3, labels, NULL) != cases[i].status)
            fail_msg("%s", cases[i].text);
        if (cases[i].status == ST_OK)
            assert_memory_equal(labels, "\6\11\0", 3);
    }
}

/* Six sparse files of the right size: record r of the n-th has label (r + n) mod 10, and in plane c at
 * pixel 5 the value c + 1; all else is zero. */
static void make_data_set(char dir[FILES_PATH_BYTES_MAX])
{
    assert_int_equal(files_make_temporary(P_tmpdir "/daybreak-cifar-", dir, NULL), ST_OK);
    for (size_t file = 0; file < CIFAR10_FILE_COUNT; file++) {
        char path[FILES_PATH_BYTES_MAX];
        FILE *out;

        assert_int_equal(files_join(path, dir, cifar10_files[file].name, NULL), ST_OK);
        out = fopen(path, "wb");
        assert_non_null(out);
        for (size_t record = 0; record < CIFAR10_FILE_RECORDS; record++) {
            static uint8_t bytes[CIFAR10_RECORD_BYTES];

            bytes[0] = (uint8_t)((record + file) % 10);
            for (size_t colour = 0; colour < 3; colour++)
                bytes[1 + colour * 1024 + 5] = (uint8_t)(colour + 1);
            assert_int_equal(fwrite(bytes, sizeof bytes, 1, out), 1);
        }
        assert_int_equal(fclose(out), 0);
    }
}

static void loading_interleaves_planes_and_keeps_the_order(void **state)
{
    const struct cifar10_options options = {.dir = *state, .image_limit = 10050};
    struct cifar10 set;

    assert_int_equal(cifar10_load(&options, &set, NULL), ST_OK);
    assert_int_equal(set.train_count, 10050);
    assert_int_equal(set.test_count, CIFAR10_TEST_COUNT);
    assert_int_equal((uintptr_t)set.train_images % 64, 0);
    assert_int_equal(set.train_labels[3], 3);
    assert_int_equal(set.train_labels[10003], 4); /* the second file */
    assert_int_equal(set.test_labels[1], 6);
    for (size_t image = 0; image < set.train_count; image += 1005)
        for (size_t pixel = 0; pixel < 8; pixel++)
            for (size_t colour = 0; colour < 3; colour++)
                assert_int_equal(set.train_images[image * CIFAR10_IMAGE_BYTES + 3 * pixel + colour],
                                 pixel == 5 ? colour + 1 : 0);
    cifar10_fini(&set);
}

static void holdout_never_shows_what_it_asks(void **state)
{
    const struct cifar10_options options = {.dir = *state, .holdout = true};
    unsigned char *seen = calloc(CIFAR10_TRAIN_COUNT, 1);
    struct cifar10 set;

    assert_non_null(seen);
    assert_int_equal(cifar10_load(&options, &set, NULL), ST_OK);
    assert_int_equal(set.train_count, 40000);
    assert_int_equal(set.test_count, CIFAR10_TUNE_COUNT);
    for (uint32_t i = 0; i < CIFAR10_TRAIN_COUNT; i++) {
        const uint32_t image = cifar10_split_image(i);
        const uint8_t label = (uint8_t)((image % 10000 + image / 10000) % 10);

        assert_int_equal(seen[image]++, 0);
        if (i < 5000)
            assert_int_equal(set.test_labels[i], label);
        else if (i >= 10000)
            assert_int_equal(set.train_labels[i - 10000], label);
    }
    cifar10_fini(&set);
    free(seen);
}

static void the_published_split_does_not_move(void **state)
{
    (void)state;
    /* From a second implementation (Python, written for this): whoever tuned on these images must find
     * them again. */
    assert_int_equal(cifar10_split_image(0), 21013);
    assert_int_equal(cifar10_split_image(1), 23855);
    assert_int_equal(cifar10_split_image(4999), 43803);
    assert_int_equal(cifar10_split_image(5000), 43116);
    assert_int_equal(cifar10_split_image(9999), 41196);
    assert_int_equal(cifar10_split_image(49999), 30578);
}

static void wrong_files_are_refused(void **state)
{
    const struct cifar10_options options = {.dir = *state};
    char path[FILES_PATH_BYTES_MAX];
    struct cifar10 set;
    struct error err = {0};
    FILE *out;

    assert_int_equal(files_join(path, *state, cifar10_files[2].name, NULL), ST_OK);
    out = fopen(path, "r+b");
    assert_non_null(out);
    assert_int_equal(fputc(10, out), 10); /* a label above 9 */
    assert_int_equal(fclose(out), 0);
    assert_int_equal(cifar10_load(&options, &set, &err), ST_INVALID);
    assert_int_equal(cifar10_verify(*state, NULL, NULL), ST_INVALID); /* not the official bytes */
    assert_int_equal(truncate(path, FILE_BYTES - 1), 0);
    assert_int_equal(cifar10_load(&options, &set, NULL), ST_INVALID);
    assert_int_equal(unlink(path), 0);
    err = (struct error){0};
    assert_int_equal(cifar10_load(&options, &set, &err), ST_NOT_FOUND);
    assert_non_null(strstr(err.hint, "data fetch"));
    assert_int_equal(cifar10_verify(*state, NULL, NULL), ST_INVALID); /* the first file, still */
}

static enum status no_network(const char *url, const char *path, struct error *err)
{
    (void)path;
    return error_set(err, ST_IO, "url", "cannot get %s", url);
}

static void fetching_refuses_what_is_not_official(void **state)
{
    char dir[FILES_PATH_BYTES_MAX], path[FILES_PATH_BYTES_MAX];
    const struct cifar10_fetch from_wrong = {dir, *state, no_network};
    const struct cifar10_fetch from_nowhere = {dir, "/nonexistent/data", no_network};
    const struct cifar10_fetch from_url = {dir, "https://example.org/x.tar.gz", no_network};
    bool fetched = true;

    assert_int_equal(files_make_temporary(P_tmpdir "/daybreak-fetch-", dir, NULL), ST_OK);
    assert_int_equal(files_join(path, dir, ".fetch-killed/tree", NULL), ST_OK);
    assert_int_equal(files_make_folder(path, 0755, NULL), ST_OK); /* of a fetch that was killed */
    assert_int_not_equal(cifar10_fetch(&from_wrong, &fetched, NULL), ST_OK);
    assert_false(fetched);
    assert_int_not_equal(cifar10_fetch(&from_nowhere, &fetched, NULL), ST_OK);
    assert_int_not_equal(cifar10_fetch(&from_url, &fetched, NULL), ST_OK);
    assert_int_equal(files_join(path, dir, cifar10_files[0].name, NULL), ST_OK);
    assert_false(files_exists(path)); /* nothing wrong is left in the cache */
    assert_int_equal(rmdir(dir), 0);  /* nor anything temporary */
}

static int set_up(void **state)
{
    char *dir = malloc(FILES_PATH_BYTES_MAX);

    if (dir == NULL)
        return -1;
    make_data_set(dir);
    *state = dir;
    return 0;
}

static int tear_down(void **state)
{
    files_remove_tree(*state);
    free(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(png_rows_become_official_records),
        cmocka_unit_test(png_of_another_shape_is_refused),
        cmocka_unit_test(torn_or_changed_png_is_refused),
        cmocka_unit_test(labels_are_a_list_of_digits),
        cmocka_unit_test(the_published_split_does_not_move),
        cmocka_unit_test(loading_interleaves_planes_and_keeps_the_order),
        cmocka_unit_test(holdout_never_shows_what_it_asks),
        cmocka_unit_test(wrong_files_are_refused),
        cmocka_unit_test(fetching_refuses_what_is_not_official),
    };

    return cmocka_run_group_tests_name("cifar10", tests, set_up, tear_down);
}
