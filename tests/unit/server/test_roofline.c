/* tests/unit/server/test_roofline.c: server/analysis/roofline.c on made-up numbers, worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the four above. */
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "server/analysis/roofline.h"

#define ARENA_BYTES ((size_t)1 << 20)

/* Memory 10 GB/s, L2 100 GB/s (reading 50), peaks 100 and 400 GFLOP/s; no L1, no L3. */
static struct run_profile make_profile(struct profile_group *groups, size_t count)
{
    struct run_profile profile = {
        .step_s = 1.0, .plain_s = 1.0, .groups = groups, .group_count = count};

    profile.levels[LEVEL_L2] = (struct profile_level){
        .has = true, .capacity_bytes = 1, .read_bytes_per_s = 50e9, .copy_bytes_per_s = 100e9};
    profile.levels[LEVEL_MEMORY] =
        (struct profile_level){.has = true, .read_bytes_per_s = 10e9, .copy_bytes_per_s = 8e9};
    profile.has_peak[PEAK_F32] = profile.has_peak[PEAK_BF16] = true;
    profile.peak_flops_per_s[PEAK_F32] = 100e9;
    profile.peak_flops_per_s[PEAK_BF16] = 400e9;
    return profile;
}

static struct profile_group group_of(const char *kind, enum peak_type type, double seconds,
                                     int64_t flops, int64_t l2_bytes, int64_t memory_bytes)
{
    struct profile_group group = {.kind = kind,
                                  .kernel = "k",
                                  .label = "",
                                  .type = type,
                                  .calls = 1,
                                  .seconds = seconds,
                                  .flops = flops,
                                  .flops_done = flops};

    group.bytes[LEVEL_L1] = group.bytes[LEVEL_L2] = l2_bytes;
    group.bytes[LEVEL_L3] = group.bytes[LEVEL_MEMORY] = memory_bytes;
    return group;
}

static void assert_near(double found, double wanted)
{
    if (!(fabs(found - wanted) <= 1e-12 * fabs(wanted)))
        fail_msg("%.17g, not %.17g", found, wanted);
}

static void build(const struct run_profile *profile, struct arena *arena, struct roofline *roofline)
{
    arena_init(arena, ARENA_BYTES);
    assert_int_equal(roofline_place(profile, arena, roofline, NULL), ST_OK);
}

static void roofs_are_the_greater_bandwidths_and_the_peaks(void **state)
{
    static const char *const names[] = {"l2", "memory", "f32", "bf16"};
    static const double values[] = {100e9, 10e9, 100e9, 400e9};
    struct profile_group group = group_of("a", PEAK_F32, 1, 1, 1, 1);
    const struct run_profile profile = make_profile(&group, 1);
    struct roofline roofline;
    struct arena arena;

    (void)state;
    build(&profile, &arena, &roofline);
    assert_int_equal(roofline.roof_count, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(roofline.roofs[i].name, names[i]);
        assert_near(roofline.roofs[i].value, values[i]);
        assert_int_equal(roofline.roofs[i].is_peak, i >= 2);
    }
    arena_fini(&arena);
}

/* One row a dot: seconds, flops, bytes of L2 and of memory; then what binds it, its share and its intensity. */
static void each_dot_is_bound_by_the_roof_that_leaves_it_least(void **state)
{
    static const struct {
        enum peak_type type;
        double seconds;
        int64_t flops, l2_bytes, memory_bytes;
        const char *roof, *level;
        double share, intensity, attainable;
    } rows[] = {
        /* 1e9 / 100e9 = 10 ms at the peak, 2 ms from L2, 5 ms from memory */
        {PEAK_F32, 0.020, 1000000000, 200000000, 50000000, "f32", "memory", 0.5, 20, 100e9},
        /* the same at bf16's peak: 2.5 ms, so memory binds: 5 of 20 ms, 20 flops/byte x 10 GB/s */
        {PEAK_BF16, 0.020, 1000000000, 200000000, 50000000, "memory", "memory", 0.25, 20, 200e9},
        /* in cache: nothing from memory, 2 ms from L2; 0.5 flops/byte x 100 GB/s */
        {PEAK_F32, 0.004, 100000000, 200000000, 0, "l2", "l2", 0.5, 0.5, 50e9},
        /* no flop: the bandwidth alone */
        {PEAK_F32, 0.010, 0, 80000000, 80000000, "memory", "memory", 0.8, 0, 0},
        /* at the ridge both roofs leave as much: the peak is named */
        {PEAK_F32, 0.010, 1000000000, 100000000, 100000000, "f32", "memory", 1, 10, 100e9},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct profile_group group = group_of("a", rows[i].type, rows[i].seconds, rows[i].flops,
                                              rows[i].l2_bytes, rows[i].memory_bytes);
        const struct run_profile profile = make_profile(&group, 1);
        const struct roofline_dot *dot;
        struct roofline roofline;
        struct arena arena;

        build(&profile, &arena, &roofline);
        dot = &roofline.kernels[0];
        assert_string_equal(dot->roof->name, rows[i].roof);
        assert_string_equal(memory_level_name(dot->level), rows[i].level);
        assert_near(dot->share, rows[i].share);
        assert_int_equal(dot->has_intensity, rows[i].flops > 0);
        assert_near(dot->intensity, rows[i].intensity);
        assert_near(dot->attainable_flops_per_s, rows[i].attainable);
        assert_near(dot->flops_per_s, (double)rows[i].flops / rows[i].seconds);
        arena_fini(&arena);
    }
}

static void kinds_add_up_their_kernels_by_type(void **state)
{
    struct profile_group groups[] = {
        group_of("conv2d", PEAK_F32, 0.1, 1000000000, 1000000, 1000000),
        group_of("unary", PEAK_F32, 0.6, 0, 3000000000, 3000000000),
        group_of("conv2d", PEAK_BF16, 0.1, 1000000000, 1000000, 1000000),
        group_of("conv2d", PEAK_F32, 0.2, 2000000000, 1000000, 1000000)};
    struct run_profile profile = make_profile(groups, ARRAY_LEN(groups));
    struct roofline roofline;
    struct arena arena;

    (void)state;
    groups[0].flops_other = 500000000;
    groups[3].flops_done = 1000000000; /* half of what its definition says */
    build(&profile, &arena, &roofline);
    assert_int_equal(roofline.kernel_count, 4);
    assert_int_equal(roofline.kind_count, 3);
    assert_string_equal(roofline.kinds[0].kind, "unary"); /* most time first */
    assert_near(roofline.kinds[0].share, 0.5);            /* 3 GB at 10 GB/s in 0.6 s */
    assert_string_equal(roofline.kinds[1].kind, "conv2d");
    assert_int_equal(roofline.kinds[1].type, PEAK_F32);
    assert_int_equal(roofline.kinds[1].calls, 2);
    assert_int_equal(roofline.kinds[1].flops, 2500000000);
    assert_int_equal(roofline.kinds[1].products, 3000000000);
    assert_int_equal(roofline.kinds[1].bytes[LEVEL_MEMORY], 2000000);
    assert_near(roofline.kinds[1].seconds, 0.1 + 0.2);
    assert_null(roofline.kinds[1].kernel);
    assert_near(roofline.groups_s, 0.1 + 0.6 + 0.1 + 0.2);
    /* products at their peaks: 3e9 / 100e9 + 1e9 / 400e9 = 32.5 ms of a second */
    assert_near(roofline.utilisation, 0.0325);
    arena_fini(&arena);
}

static void time_that_no_clock_tells_has_no_share(void **state)
{
    struct profile_group group = group_of("a", PEAK_F32, 0, 10, 10, 10);
    const struct run_profile profile = make_profile(&group, 1);
    struct roofline roofline;
    struct arena arena;

    (void)state;
    build(&profile, &arena, &roofline);
    assert_true(roofline.kernels[0].share == 0.0);
    assert_non_null(roofline.kernels[0].roof);
    arena_fini(&arena);
}

static const struct table_cell *cell_at(const struct table *table, size_t row, const char *key)
{
    return &table_row(table, row)[table_find(table, key)];
}

static void the_tables_say_the_same(void **state)
{
    struct profile_group groups[] = {
        group_of("conv2d", PEAK_F32, 0.020, 1000000000, 200000000, 50000000),
        group_of("unary", PEAK_F32, 0.080, 0, 80000000, 80000000)};
    struct run_profile profile = make_profile(groups, ARRAY_LEN(groups));
    const struct table *kinds, *kernels, *roofs, *phases;
    struct analysis analysis;
    struct arena arena;

    (void)state;
    profile.step_s = 0.125;
    profile.plain_s = 0.1;
    profile.phase_s[STEP_PHASE_FORWARD] = 0.100;
    profile.communication_s = 0.025;
    arena_init(&arena, ARENA_BYTES);
    assert_int_equal(roofline_build(7, &profile, &arena, &analysis, NULL), ST_OK);
    kinds = &analysis.parts[0].table;
    kernels = &analysis.parts[1].table;
    roofs = &analysis.parts[2].table;
    phases = &analysis.parts[3].table;
    assert_int_equal(cell_at(&analysis.facts, 0, "run")->integer, 7);
    assert_near(cell_at(&analysis.facts, 0, "groups_s")->number, 0.020 + 0.080);
    assert_near(cell_at(&analysis.facts, 0, "utilisation")->number, 0.1); /* 10 of 100 ms */
    assert_false(cell_at(&analysis.facts, 0, "energy_j")->has);
    assert_string_equal(cell_at(kinds, 0, "kind")->text, "unary");
    assert_near(cell_at(kinds, 0, "step_share")->number, 0.8);
    assert_near(cell_at(kinds, 0, "share")->number, 0.1); /* 8 of 80 ms */
    assert_string_equal(cell_at(kinds, 0, "roof")->text, "memory");
    assert_false(cell_at(kinds, 0, "intensity")->has);
    assert_false(cell_at(kinds, 0, "flops_per_s")->has);
    assert_string_equal(cell_at(kernels, 1, "kernel")->text, "k");
    assert_int_equal(cell_at(kernels, 1, "l2_bytes")->integer, 200000000);
    assert_int_equal(cell_at(kernels, 1, "memory_bytes")->integer, 50000000);
    assert_near(cell_at(kernels, 1, "intensity")->number, 20.0);
    assert_near(cell_at(kernels, 1, "attainable_s")->number, 0.01);
    assert_string_equal(cell_at(kernels, 1, "roof")->text, "f32");
    assert_string_equal(cell_at(kernels, 1, "source")->text, "modelled");
    assert_int_equal(roofs->row_count, 4);
    assert_near(cell_at(roofs, 0, "read_bytes_per_s")->number, 50e9);
    assert_int_equal(cell_at(roofs, 0, "capacity_bytes")->integer, 1);
    assert_near(cell_at(roofs, 1, "copy_bytes_per_s")->number, 8e9);
    assert_false(cell_at(roofs, 1, "capacity_bytes")->has); /* memory holds all */
    assert_near(cell_at(roofs, 3, "flops_per_s")->number, 400e9);
    assert_false(cell_at(roofs, 3, "bytes_per_s")->has);
    assert_int_equal(phases->row_count, STEP_PHASE_COUNT + 1); /* no evaluation was timed */
    assert_near(cell_at(phases, 1, "share")->number, 0.8);
    assert_near(cell_at(phases, STEP_PHASE_COUNT, "share")->number, 0.2);
    assert_string_equal(
        analysis.lead,
        "Kernels of kind unary take 80.0 % of the step and reach 10.0 % of what binds them, the "
        "bandwidth of memory. Counted by their definition, as if no algorithm saved any, matrix "
        "products and convolutions use 10.0 % of their peak over the step as trained.");
    arena_fini(&arena);
}

static void no_memory_is_an_error(void **state)
{
    struct profile_group group = group_of("a", PEAK_F32, 1, 1, 1, 1);
    const struct run_profile profile = make_profile(&group, 1);
    enum status status = ST_NO_MEMORY;
    struct analysis analysis;
    struct arena arena;

    (void)state;
    for (size_t bytes = 16; status != ST_OK; bytes += 64) {
        arena_init(&arena, bytes);
        status = roofline_build(1, &profile, &arena, &analysis, NULL);
        assert_true(status == ST_NO_MEMORY || (status == ST_OK && bytes > 1000));
        arena_fini(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(roofs_are_the_greater_bandwidths_and_the_peaks),
        cmocka_unit_test(each_dot_is_bound_by_the_roof_that_leaves_it_least),
        cmocka_unit_test(kinds_add_up_their_kernels_by_type),
        cmocka_unit_test(time_that_no_clock_tells_has_no_share),
        cmocka_unit_test(the_tables_say_the_same),
        cmocka_unit_test(no_memory_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
