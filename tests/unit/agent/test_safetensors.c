/* tests/unit/agent/test_safetensors.c: agent/data/safetensors: what is written reads back; files that lie about
 * their bytes are refused. */
#include "agent/data/safetensors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/data/files.h"

static const float weights[6] = {1.0f, -2.5f, 0.0f, 3.25f, 1e-30f, -0.0f};
static const int64_t step = 476;
static const uint8_t mask[3] = {1, 0, 255};

static const struct safetensors_tensor tensors[] = {
    {"layers.1.conv.weight", SAFETENSORS_F32, 2, {2, 3}, weights, sizeof weights},
    {"step", SAFETENSORS_I64, 0, {0}, &step, sizeof step},
    {"mask \"odd\"", SAFETENSORS_U8, 1, {3}, mask, sizeof mask},
    {"empty", SAFETENSORS_BF16, 2, {0, 4}, mask, 0},
};
static const struct safetensors_meta metas[] = {{"workload", "cifar10"}, {"seed", "7"}};
static const struct safetensors_content content = {tensors, ARRAY_LEN(tensors), metas,
                                                   ARRAY_LEN(metas)};

static void make_path(char path[FILES_PATH_BYTES_MAX], char dir[FILES_PATH_BYTES_MAX])
{
    assert_int_equal(files_make_temporary(P_tmpdir "/daybreak-st-", dir, NULL), ST_OK);
    assert_int_equal(files_join(path, dir, "model.safetensors", NULL), ST_OK);
}

static void what_is_written_reads_back(void **state)
{
    char path[FILES_PATH_BYTES_MAX], dir[FILES_PATH_BYTES_MAX];
    struct safetensors *file = NULL;

    (void)state;
    make_path(path, dir);
    assert_int_equal(safetensors_write(path, &content, NULL), ST_OK);
    assert_int_equal(safetensors_write(path, &content, NULL), ST_OK); /* over the first */
    assert_int_equal(safetensors_open(path, &file, NULL), ST_OK);
    assert_int_equal(safetensors_content(file)->tensor_count, ARRAY_LEN(tensors));
    for (size_t i = 0; i < ARRAY_LEN(tensors); i++) {
        const struct safetensors_tensor *got = safetensors_find(file, tensors[i].name);

        assert_non_null(got);
        assert_int_equal(got->dtype, tensors[i].dtype);
        assert_int_equal(got->rank, tensors[i].rank);
        assert_int_equal(got->bytes, tensors[i].bytes);
        for (int d = 0; d < got->rank; d++)
            assert_int_equal(got->dim[d], tensors[i].dim[d]);
        if (got->bytes > 0)
            assert_memory_equal(got->data, tensors[i].data, got->bytes);
    }
    assert_string_equal(safetensors_find_meta(file, "seed"), "7");
    assert_null(safetensors_find_meta(file, "lost"));
    assert_null(safetensors_find(file, "lost"));
    safetensors_close(file);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(dir), 0); /* no temporary file is left */
}

static void header_is_padded_to_eight_bytes(void **state)
{
    char path[FILES_PATH_BYTES_MAX], dir[FILES_PATH_BYTES_MAX];
    struct buf bytes;

    (void)state;
    make_path(path, dir);
    assert_int_equal(safetensors_write(path, &content, NULL), ST_OK);
    buf_init(&bytes, 1 << 20);
    assert_int_equal(files_read(path, &bytes, NULL), ST_OK);
    assert_int_equal((unsigned char)bytes.data[0] % 8, 0);
    assert_int_equal(bytes.data[8], '{');
    buf_fini(&bytes);
    files_remove_tree(dir);
}

/* A file of that header and so many bytes of data. */
static enum status parse(const char *header, size_t data_bytes)
{
    static char bytes[4096];
    const size_t len = strlen(header);
    struct safetensors *file = NULL;
    struct error err = {0};
    enum status status;

    assert_true(8 + len + data_bytes <= sizeof bytes);
    memset(bytes, 0, sizeof bytes);
    bytes[0] = (char)(len & 255);
    bytes[1] = (char)(len >> 8);
    memcpy(bytes + 8, header, len);
    status = safetensors_parse((struct str){bytes, 8 + len + data_bytes}, &file, &err);
    if (status != ST_OK)
        assert_true(err.detail[0] != '\0');
    safetensors_close(status == ST_OK ? file : NULL);
    return status;
}

#define TENSOR(name, shape, from, to) \
    "\"" name "\":{\"dtype\":\"F32\",\"shape\":" shape ",\"data_offsets\":[" from "," to "]}"

static void files_that_lie_are_refused(void **state)
{
    static const struct {
        const char *header;
        size_t data_bytes;
        enum status status;
    } cases[] = {
        {"{}", 0, ST_OK},
        {"{" TENSOR("a", "[2]", "0", "8") "}   ", 8, ST_OK},
        {"{" TENSOR("a", "[1]", "4", "8") "," TENSOR("b", "[1]", "0", "4") "}", 8, ST_OK},
        {"{" TENSOR("a", "[2]", "0", "8") "}", 12, ST_INVALID}, /* bytes of nobody */
        {"{" TENSOR("a", "[2]", "0", "8") "}", 4, ST_INVALID},  /* outside the file */
        {"{" TENSOR("a", "[3]", "0", "8") "}", 8, ST_INVALID},  /* shape against offsets */
        {"{" TENSOR("a", "[-2]", "0", "8") "}", 8, ST_INVALID},
        {"{" TENSOR("a", "[2.0]", "0", "8") "}", 8, ST_INVALID},
        {"{" TENSOR("a", "[2]", "8", "0") "}", 8, ST_INVALID},
        {"{" TENSOR("a", "[2]", "-8", "0") "}", 8, ST_INVALID},
        {"{" TENSOR("a", "[4611686018427387904,4]", "0", "0") "}", 0, ST_INVALID}, /* overflow */
        {"{" TENSOR("a", "[1]", "0", "4") "," TENSOR("b", "[1]", "8", "12") "}", 12, ST_INVALID},
        {"{" TENSOR("a", "[2]", "0", "8") "," TENSOR("b", "[1]", "4", "8") "}", 8, ST_INVALID},
        {"{" TENSOR("a", "[1]", "0", "4") "," TENSOR("a", "[1]", "4", "8") "}", 8, ST_INVALID},
        {"{" TENSOR("a", "[1,1,1,1,1,1,1]", "0", "4") "}", 4, ST_INVALID},
        {"{\"a\":{\"dtype\":\"F8\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1, ST_INVALID},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1]}}", 1, ST_INVALID},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0]}}", 1, ST_INVALID},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1],\"x\":1}}", 1, ST_INVALID},
        {"{\"__metadata__\":{\"a\":1}}", 0, ST_INVALID},
        {"{\"__metadata__\":[]}", 0, ST_INVALID},
        {"[]", 0, ST_INVALID},
        {"{", 0, ST_INVALID},
        {" {}", 0, ST_INVALID},
        {"", 0, ST_INVALID},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if ((parse(cases[i].header, cases[i].data_bytes) == ST_OK) != (cases[i].status == ST_OK))
            fail_msg("%s with %zu bytes", cases[i].header, cases[i].data_bytes);
}

static void header_lengths_are_bounded(void **state)
{
    static const unsigned char huge[16] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f};
    static const unsigned char beyond[16] = {9, 0, 0, 0, 0, 0, 0, 0};
    struct safetensors *file = NULL;

    (void)state;
    assert_int_equal(safetensors_parse((struct str){(const char *)huge, 16}, &file, NULL),
                     ST_LIMIT);
    assert_int_equal(safetensors_parse((struct str){(const char *)beyond, 16}, &file, NULL),
                     ST_INVALID);
    assert_int_equal(safetensors_parse((struct str){(const char *)beyond, 7}, &file, NULL),
                     ST_INVALID);
}

static void a_missing_or_short_file_is_named(void **state)
{
    char path[FILES_PATH_BYTES_MAX], dir[FILES_PATH_BYTES_MAX];
    struct safetensors *file = NULL;

    (void)state;
    make_path(path, dir);
    assert_int_equal(safetensors_open(path, &file, NULL), ST_NOT_FOUND);
    assert_int_equal(files_write(path, STR("short"), 0644, NULL), ST_OK);
    assert_int_equal(safetensors_open(path, &file, NULL), ST_INVALID);
    files_remove_tree(dir);
    assert_int_not_equal(safetensors_write(path, &content, NULL), ST_OK); /* no such folder */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_reads_back),
        cmocka_unit_test(header_is_padded_to_eight_bytes),
        cmocka_unit_test(files_that_lie_are_refused),
        cmocka_unit_test(header_lengths_are_bounded),
        cmocka_unit_test(a_missing_or_short_file_is_named),
    };

    return cmocka_run_group_tests_name("safetensors", tests, NULL, NULL);
}
