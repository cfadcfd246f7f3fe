/* tests/unit/agent/test_profile.c: what a profile is made of: sizes of caches, energy counters (both from folders that this
 * test makes), bytes by level of memory, and the host's ceilings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/data/files.h"
#include "agent/profile/caches.h"
#include "agent/profile/energy.h"
#include "agent/profile/probe.h"
#include "agent/profile/traffic.h"

#define KIB 1024

static void write_text(const char *folder, const char *name, const char *text)
{
    char path[FILES_PATH_BYTES_MAX];

    assert_int_equal(files_join(path, folder, name, NULL), ST_OK);
    assert_int_equal(files_write(path, str_from_cstr(text), 0644, NULL), ST_OK);
}

static void make_cache(const char *root, int cpu, int index, const char *const texts[4])
{
    static const char *const names[] = {"level", "type", "size", "shared_cpu_list"};
    char folder[FILES_PATH_BYTES_MAX], name[64];

    (void)snprintf(name, sizeof name, "cpu%d/cache/index%d", cpu, index);
    assert_int_equal(files_join(folder, root, name, NULL), ST_OK);
    assert_int_equal(files_make_folder(folder, 0755, NULL), ST_OK);
    for (int i = 0; i < 4; i++)
        write_text(folder, names[i], texts[i]);
}

/* The first processor of this process is whichever; every one below 64 gets the same caches. */
static void caches_are_counted_once(void **unused)
{
    char root[FILES_PATH_BYTES_MAX];
    struct caches caches;

    (void)unused;
    assert_int_equal(files_make_temporary(P_tmpdir "/daybreak-caches-", root, NULL), ST_OK);
    for (int cpu = 0; cpu < 64; cpu++) {
        char own[8];

        (void)snprintf(own, sizeof own, "%d\n", cpu);
        make_cache(root, cpu, 0, (const char *const[]){"1\n", "Data\n", "32K\n", own});
        make_cache(root, cpu, 1, (const char *const[]){"1\n", "Instruction\n", "64K\n", own});
        make_cache(root, cpu, 2, (const char *const[]){"2\n", "Unified\n", "1024K\n", own});
        make_cache(root, cpu, 3, (const char *const[]){"3\n", "Unified\n", "32M\n", "0-63\n"});
    }
    caches_read(root, 1, &caches);
    assert_int_equal(caches.bytes[LEVEL_L1], 32 * KIB);
    assert_int_equal(caches.bytes[LEVEL_L2], 1024 * KIB);
    assert_int_equal(caches.bytes[LEVEL_L3], 32 * KIB * KIB);
    assert_int_equal(caches.bytes[LEVEL_MEMORY], 0);
    files_remove_tree(root);
    caches_read(root, 1, &caches); /* nothing there: nothing known */
    for (int i = 0; i < LEVEL_COUNT; i++)
        assert_int_equal(caches.bytes[i], 0);
}

static void rubbish_is_no_cache(void **unused)
{
    static const char *const faulty[][4] = {{"9\n", "Data\n", "32K\n", "0-63\n"},
                                            {"1\n", "Data\n", "32 potatoes\n", "0-63\n"},
                                            {"2\n", "Data\n", "-5K\n", "0-63\n"},
                                            {"3\n", "Data\n", "99999999999999999999K\n", "0-63\n"},
                                            {"1\n", "Data\n", "32K\n", "all\n"},
                                            {"", "", "", ""}};
    char root[FILES_PATH_BYTES_MAX];
    struct caches caches;

    (void)unused;
    assert_int_equal(files_make_temporary(P_tmpdir "/daybreak-caches-", root, NULL), ST_OK);
    for (int cpu = 0; cpu < 64; cpu++)
        for (int i = 0; i < (int)ARRAY_LEN(faulty); i++)
            make_cache(root, cpu, i, faulty[i]);
    caches_read(root, 64, &caches);
    for (int i = 0; i < LEVEL_COUNT; i++)
        assert_int_equal(caches.bytes[i], 0);
    files_remove_tree(root);
}

/* Two packages, one of which goes round; then one that is gone. */
static void energy_is_added_up(void **unused)
{
    char root[FILES_PATH_BYTES_MAX], a[FILES_PATH_BYTES_MAX], b[FILES_PATH_BYTES_MAX];
    struct energy energy;

    (void)unused;
    assert_int_equal(files_make_temporary(P_tmpdir "/daybreak-energy-", root, NULL), ST_OK);
    energy_begin(root, &energy);
    assert_int_equal(energy.count, 0);
    energy_sample(&energy);
    assert_int_equal(files_join(a, root, "intel-rapl:0", NULL), ST_OK);
    assert_int_equal(files_join(b, root, "intel-rapl:1", NULL), ST_OK);
    assert_int_equal(files_make_folder(a, 0755, NULL), ST_OK);
    assert_int_equal(files_make_folder(b, 0755, NULL), ST_OK);
    write_text(a, "energy_uj", "1000000\n");
    write_text(a, "max_energy_range_uj", "262143328850\n");
    write_text(b, "energy_uj", "9000000\n");
    write_text(b, "max_energy_range_uj", "10000000\n");
    energy_begin(root, &energy);
    assert_int_equal(energy.count, 2);
    write_text(a, "energy_uj", "3500000\n");
    write_text(b, "energy_uj", "500000\n");
    energy_sample(&energy);
    assert_true(energy.joules > 3.999 && energy.joules < 4.001); /* 2.5 and 1.5 */
    write_text(b, "energy_uj", "1000000\n");
    energy_sample(&energy);
    assert_true(energy.joules > 4.499 && energy.joules < 4.501);
    write_text(a, "energy_uj", "no number\n");
    energy_sample(&energy);
    assert_int_equal(energy.count, 0);
    files_remove_tree(root);
}

/* a -> unary -> b -> unary -> a's own memory; c is a variable of its own, copied from b at the end. */
struct small_program {
    struct op ops[2];
    uint32_t operands[4];
    struct slot slots[3];
    struct group groups[2];
    struct writeback writeback;
    struct program program;
};

static const struct kernel some_kernel = {.name = "some", .anchor = OP_UNARY};

static void make_program(struct small_program *it, uint64_t bytes)
{
    const int64_t count = (int64_t)(bytes / 4);

    memset(it, 0, sizeof *it);
    for (uint32_t i = 0; i < 3; i++) {
        it->slots[i] = (struct slot){.tensor = tensor_make(DT_F32, 1, &count),
                                     .place = PLACE_ARENA,
                                     .offset = i == 1 ? bytes : 0,
                                     .bytes = bytes};
    }
    memcpy(it->operands, (uint32_t[]){0, 1, 1, 2}, sizeof it->operands);
    for (uint32_t i = 0; i < 2; i++) {
        it->ops[i] = (struct op){.kind = OP_UNARY,
                                 .in_first = 2 * i,
                                 .in_count = 1,
                                 .out_first = 2 * i + 1,
                                 .out_count = 1};
        it->groups[i] =
            (struct group){.op_first = i, .op_count = 1, .anchor = i, .kernel = &some_kernel};
    }
    it->writeback = (struct writeback){.slot = 1, .offset = 4096, .bytes = bytes};
    it->program = (struct program){.ops = it->ops,
                                   .operands = it->operands,
                                   .slots = it->slots,
                                   .groups = it->groups,
                                   .writebacks = &it->writeback,
                                   .op_count = 2,
                                   .operand_count = 4,
                                   .slot_count = 3,
                                   .group_count = 2,
                                   .writeback_count = 1};
}

static void bytes_come_from_the_level_that_holds_them(void **unused)
{
    const int64_t capacity[LEVEL_COUNT] = {1 * KIB, 8 * KIB, 64 * KIB, 0};
    struct small_program it;
    int64_t bytes[3][LEVEL_COUNT];

    (void)unused;
    make_program(&it, 2 * KIB); /* three pieces of memory, 6 KiB: the second level holds them all */
    assert_int_equal(traffic_model(&it.program, capacity, bytes, NULL), ST_OK);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(bytes[i][LEVEL_L1], 4 * KIB);
        assert_int_equal(bytes[i][LEVEL_L3], 0);
        assert_int_equal(bytes[i][LEVEL_MEMORY], 0);
    }
    /* The second group reads what the first has just written: 1 of its 2 KiB is still in the first level. */
    assert_int_equal(bytes[1][LEVEL_L2], 4 * KIB - KIB);
    make_program(&it, 1024 * KIB); /* no level holds one of them: each keeps the end of it */
    assert_int_equal(traffic_model(&it.program, capacity, bytes, NULL), ST_OK);
    assert_int_equal(bytes[1][LEVEL_L1], 2048 * KIB);
    assert_int_equal(bytes[1][LEVEL_L2], 2047 * KIB);
    assert_int_equal(bytes[1][LEVEL_L3], 2040 * KIB);
    assert_int_equal(bytes[1][LEVEL_MEMORY], 1984 * KIB);
    assert_int_equal(bytes[0][LEVEL_MEMORY], 2048 * KIB); /* the copy came in between */
}

static void an_unread_operand_is_not_counted(void **unused)
{
    const int64_t capacity[LEVEL_COUNT] = {0};
    struct small_program it;
    int64_t bytes[3][LEVEL_COUNT];

    (void)unused;
    make_program(&it, 2 * KIB);
    it.groups[0].fit.unread_mask = 1;
    assert_int_equal(traffic_model(&it.program, capacity, bytes, NULL), ST_OK);
    for (int level = 0; level < LEVEL_COUNT; level++) {
        assert_int_equal(bytes[0][level], 2 * KIB);
        assert_int_equal(bytes[1][level], 4 * KIB);
    }
}

/* One element of a row at a time: the model must stay whole however pieces are cut. */
static void pieces_may_be_cut_at_will(void **unused)
{
    enum { GROUPS = 400 };

    const int64_t capacity[LEVEL_COUNT] = {4 * KIB, 16 * KIB, 64 * KIB, 0};
    static struct op ops[GROUPS];
    static uint32_t operands[2 * GROUPS];
    static struct slot slots[2 * GROUPS];
    static struct group groups[GROUPS];
    static int64_t bytes[GROUPS + 1][LEVEL_COUNT];
    const struct program program = {.ops = ops,
                                    .operands = operands,
                                    .slots = slots,
                                    .groups = groups,
                                    .op_count = GROUPS,
                                    .operand_count = 2 * GROUPS,
                                    .slot_count = 2 * GROUPS,
                                    .group_count = GROUPS};
    uint32_t random = 1;

    (void)unused;
    for (uint32_t i = 0; i < 2 * GROUPS; i++) {
        random = random * 1664525u + 1013904223u;
        operands[i] = i;
        slots[i] = (struct slot){.place = PLACE_ARENA,
                                 .offset = random >> 15,
                                 .bytes = 4 * (uint64_t)(random >> 20 & 0xfff) + 4};
    }
    for (uint32_t i = 0; i < GROUPS; i++) {
        ops[i] = (struct op){.kind = OP_UNARY,
                             .in_first = 2 * i,
                             .in_count = 1,
                             .out_first = 2 * i + 1,
                             .out_count = 1};
        groups[i] = (struct group){.op_first = i, .anchor = i, .kernel = &some_kernel};
    }
    assert_int_equal(traffic_model(&program, capacity, bytes, NULL), ST_OK);
    for (uint32_t i = 0; i < GROUPS; i++) {
        assert_int_equal(bytes[i][LEVEL_L1], slots[2 * i].bytes + slots[2 * i + 1].bytes);
        for (int level = 1; level < LEVEL_COUNT; level++)
            assert_true(bytes[i][level] >= 0 && bytes[i][level] <= bytes[i][level - 1]);
    }
}

/* Of a walk that was sized while it waited, 1 round is left; it comes to the size of any other one. */
static void a_walk_that_is_too_short_grows(void **unused)
{
    const double round_s = 20e-9;
    int rounds = 1;

    (void)unused;
    for (int i = 0; i < 20; i++)
        rounds = probe_grow(rounds, 1000000, 5e-6 + rounds * round_s);
    assert_true(rounds * round_s > 0.001 && rounds * round_s < 0.01);
    assert_int_equal(probe_grow(rounds, 1000000, 0.008), rounds);
    assert_int_equal(probe_grow(999999, 1000000, 1e-9), 999999);
}

/* No figure is asserted: that they are there, and never fall from round to round. */
static void ceilings_are_measured(void **unused)
{
    const struct caches caches = {{32 * KIB, 1024 * KIB, 1536 * KIB, 0}};
    struct run_profile first = {0}, second = {0};
    struct probe *probe = NULL;
    uint32_t isa = 0;

    (void)unused;
    assert_int_equal(cpu_isa_parse("auto", &isa, NULL), ST_OK);
    assert_int_equal(probe_open(1, isa, &caches, &probe, NULL), ST_OK);
    probe_round(probe, 1);
    probe_fill(probe, &first);
    probe_round(probe, 2);
    probe_fill(probe, &second);
    probe_close(probe);
    assert_int_equal(first.ceiling_rounds, 1);
    assert_int_equal(second.ceiling_rounds, 2);
    assert_true(first.levels[LEVEL_L1].has && first.levels[LEVEL_L2].has);
    assert_false(first.levels[LEVEL_L3].has); /* hardly larger than the one before */
    assert_int_equal(first.levels[LEVEL_L2].capacity_bytes, 1024 * KIB);
    for (int i = 0; i < LEVEL_COUNT; i++) {
        if (!first.levels[i].has)
            continue;
        assert_true(first.levels[i].read_bytes_per_s > 0.0);
        assert_true(first.levels[i].copy_bytes_per_s > 0.0);
        assert_true(second.levels[i].read_bytes_per_s >= first.levels[i].read_bytes_per_s);
        assert_true(second.levels[i].copy_bytes_per_s >= first.levels[i].copy_bytes_per_s);
    }
    assert_true(first.levels[LEVEL_MEMORY].has && first.has_peak[PEAK_F32]);
    assert_true(second.peak_flops_per_s[PEAK_F32] >= first.peak_flops_per_s[PEAK_F32]);
    assert_true(first.has_peak[PEAK_BF16] == ((isa & ISA_AVX512_BF16) != 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(caches_are_counted_once),
        cmocka_unit_test(rubbish_is_no_cache),
        cmocka_unit_test(energy_is_added_up),
        cmocka_unit_test(bytes_come_from_the_level_that_holds_them),
        cmocka_unit_test(an_unread_operand_is_not_counted),
        cmocka_unit_test(pieces_may_be_cut_at_will),
        cmocka_unit_test(a_walk_that_is_too_short_grows),
        cmocka_unit_test(ceilings_are_measured),
    };

    return cmocka_run_group_tests_name("profile", tests, NULL, NULL);
}
