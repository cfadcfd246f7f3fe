/* tests/unit/common/test_run_profile.c: common/run_profile.c: what is written is read back the same, and what is wrong is
 * named at its place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the four above. */
#include <cmocka.h>
#include <string.h>

#include "common/run_profile.h"

#define ARENA_BYTES ((size_t)1 << 22)
#define TEXT_BYTES  8192

static const char whole[] =
    "{\"version\":1,\"measured\":\"2026-12-03T10:00:00.000Z\",\"workload\":\"w\",\"recipe\":\"r\","
    "\"device\":\"cpu\",\"device_model\":\"m\",\"isa\":\"avx2\",\"precision\":\"f32\",\"threads\":"
    "2,"
    "\"batch\":8,\"fusion\":false,\"ceilings\":{\"rounds\":3,\"levels\":[{\"level\":\"l1\","
    "\"capacity_bytes\":65536,\"read_bytes_per_s\":4,\"copy_bytes_per_s\":3},{\"level\":\"memory\","
    "\"read_bytes_per_s\":2,\"copy_bytes_per_s\":1}],\"peaks\":[{\"type\":\"f32\",\"flops_per_s\":"
    "9}]},"
    "\"step\":{\"rounds\":3,\"seconds\":1,\"plain_s\":0.5,\"spread\":0.25,\"examples_per_s\":16},"
    "\"phases\":{\"data_s\":0,\"forward_s\":1,\"backward_s\":0,\"optimiser_s\":0,"
    "\"communication_s\":0,\"evaluation_s\":7},\"energy_j\":11,\"groups\":[{\"kind\":\"conv2d\","
    "\"kernel\":\"k\",\"label\":\"a\\\"b\",\"phase\":\"forward\",\"type\":\"f32\",\"calls\":2,"
    "\"seconds\":1,\"flops\":6,\"flops_done\":5,\"flops_other\":4,\"l1_bytes\":4,\"l2_bytes\":3,"
    "\"l3_bytes\":2,\"memory_bytes\":1,\"source\":\"modelled\"}]}";

static void what_is_read_is_written_the_same(void **state)
{
    struct run_profile profile;
    struct error err = {0};
    struct arena arena;
    struct buf text;

    (void)state;
    arena_init(&arena, ARENA_BYTES);
    buf_init(&text, RUN_PROFILE_BYTES_MAX);
    if (run_profile_parse(str_from_cstr(whole), &arena, &profile, &err) != ST_OK)
        fail_msg("%s: %s", err.field, err.detail);
    assert_string_equal(profile.groups[0].label, "a\"b");
    assert_int_equal(profile.groups[0].bytes[LEVEL_L3], 2);
    assert_int_equal(profile.groups[0].phase, STEP_PHASE_FORWARD);
    assert_true(profile.has_energy && profile.has_evaluation && !profile.fusion);
    assert_true(profile.levels[LEVEL_L1].has && !profile.levels[LEVEL_L2].has);
    assert_true(profile.levels[LEVEL_MEMORY].copy_bytes_per_s == 1.0);
    assert_true(profile.has_peak[PEAK_F32] && !profile.has_peak[PEAK_BF16]);
    run_profile_append(&text, &profile);
    assert_int_equal(buf_check(&text, &err), ST_OK);
    assert_string_equal(text.data, whole);
    buf_fini(&text);
    arena_fini(&arena);
}

/* Each row: a part of the document, what stands there instead, and the pointer and code of the fault. */
static void every_fault_is_named_at_its_place(void **state)
{
    static const struct {
        const char *old, *new, *field, *code;
    } rows[] = {
        {"\"version\":1", "\"version\":2", "/version", "out_of_range"},
        {"\"threads\":2", "\"threads\":0", "/threads", "out_of_range"},
        {"\"recipe\":\"r\"", "\"recipe\":7", "/recipe", "wrong_type"},
        {"\"fusion\":false", "\"fusion\":false,\"colour\":1", "/colour", "unknown_member"},
        {"\"rounds\":3,\"levels\"", "\"levels\"", "/ceilings/rounds", "missing_member"},
        {"\"level\":\"l1\"", "\"level\":\"l9\"", "/ceilings/levels/0/level", "bad_value"},
        {"\"level\":\"l1\"", "\"level\":\"memory\"", "/ceilings/levels/1/level", "bad_value"},
        {"\"capacity_bytes\":65536,", "", "/ceilings/levels/0/capacity_bytes", "missing_member"},
        {"\"read_bytes_per_s\":4", "\"read_bytes_per_s\":0", "/ceilings/levels/0/read_bytes_per_s",
         "out_of_range"},
        {"\"level\":\"memory\"", "\"level\":\"l2\",\"capacity_bytes\":1", "/ceilings/levels",
         "bad_value"},
        {"\"peaks\":[{\"type\":\"f32\"", "\"peaks\":[{\"type\":\"bf16\"", "/ceilings/peaks",
         "bad_value"},
        {"\"seconds\":1,\"plain_s\"", "\"seconds\":-1,\"plain_s\"", "/step/seconds",
         "out_of_range"},
        {"\"communication_s\":0,", "", "/phases/communication_s", "missing_member"},
        {"\"energy_j\":11", "\"energy_j\":-11", "/energy_j", "out_of_range"},
        {"\"phase\":\"forward\"", "\"phase\":\"sideways\"", "/groups/0/phase", "bad_value"},
        {"\"type\":\"f32\",\"calls\"", "\"type\":\"bf16\",\"calls\"", "/groups/0/type",
         "bad_value"},
        {"\"l2_bytes\":3", "\"l2_bytes\":5", "/groups/0/l2_bytes", "out_of_range"},
        {"\"memory_bytes\":1", "\"memory_bytes\":1.5", "/groups/0/memory_bytes", "wrong_type"},
        {"\"source\":\"modelled\"", "\"source\":\"guessed\"", "/groups/0/source", "bad_value"},
        /* the sum: 5 % is within, more is not */
        {"\"seconds\":1,\"plain_s\"", "\"seconds\":1.06,\"plain_s\"", "/groups", "bad_value"},
        {"\"seconds\":1,\"flops\"", "\"seconds\":1.06,\"flops\"", "/groups", "bad_value"},
        {"\"seconds\":1,\"flops\"", "\"seconds\":1.04,\"flops\"", NULL, NULL},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *at = strstr(whole, rows[i].old);
        struct run_profile profile;
        struct error err = {0};
        struct arena arena;
        char text[TEXT_BYTES];

        assert_non_null(at);
        (void)snprintf(text, sizeof text, "%.*s%s%s", (int)(at - whole), whole, rows[i].new,
                       at + strlen(rows[i].old));
        arena_init(&arena, ARENA_BYTES);
        if (run_profile_parse(str_from_cstr(text), &arena, &profile, &err) !=
            (rows[i].field == NULL ? ST_OK : ST_INVALID))
            fail_msg("row %zu: %s %s", i, err.field, err.detail);
        if (rows[i].field != NULL) {
            assert_string_equal(err.field, rows[i].field);
            assert_string_equal(err.code, rows[i].code);
        }
        arena_fini(&arena);
    }
}

static void no_memory_is_no_fault_of_the_document(void **state)
{
    struct run_profile profile;
    struct error err = {0};
    struct json_doc doc = {0};
    struct json_reader reader;
    struct arena arena, small;

    (void)state;
    arena_init(&arena, ARENA_BYTES);
    arena_init(&small, 64);
    assert_int_equal(json_doc_parse(str_from_cstr(whole), &arena, &doc, &err), ST_OK);
    json_reader_init(&reader, doc.root, "", &err);
    assert_int_equal(run_profile_read(&reader, &small, &profile, &err), ST_NO_MEMORY);
    json_doc_fini(&doc);
    arena_fini(&small);
    arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_read_is_written_the_same),
        cmocka_unit_test(every_fault_is_named_at_its_place),
        cmocka_unit_test(no_memory_is_no_fault_of_the_document),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
