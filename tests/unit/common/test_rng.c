/* tests/unit/common/test_rng.c: common/rng against Random123's known answers and its own promises. */
#include "common/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/status.h"

static void threefry_gives_random123s_known_answers(void **state)
{
    /* Random123, tests/kat_vectors: threefry2x32, 20 rounds. */
    static const struct {
        struct rng_key key;
        uint32_t high, low, want[2];
    } cases[] = {
        {{0, 0}, 0, 0, {0x6b200159, 0x99ba4efe}},
        {{UINT32_MAX, UINT32_MAX}, UINT32_MAX, UINT32_MAX, {0x1cb996fc, 0xbb002be7}},
        {{0x13198a2e, 0x03707344}, 0x243f6a88, 0x85a308d3, {0xc4923a9c, 0x483df7a0}},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        uint32_t got[2];

        rng_threefry(cases[i].key, cases[i].high, cases[i].low, got);
        assert_int_equal(got[0], cases[i].want[0]);
        assert_int_equal(got[1], cases[i].want[1]);
    }
}

static void threefry_depends_on_seed_and_stream_and_both_words(void **state)
{
    uint32_t base[2], other[2];

    (void)state;
    rng_threefry((struct rng_key){1, 2}, 3, 4, base);
    rng_threefry((struct rng_key){2, 1}, 3, 4, other);
    assert_memory_not_equal(base, other, sizeof base);
    rng_threefry((struct rng_key){1, 2}, 4, 3, other);
    assert_memory_not_equal(base, other, sizeof base);
}

static void unit_stays_below_one(void **state)
{
    (void)state;
    assert_true(rng_to_unit(0) == 0.0f);
    assert_true(rng_to_unit(UINT32_MAX) < 1.0f);
    assert_true(rng_to_unit(UINT32_C(1) << 31) == 0.5f);
}

static void below_covers_its_range_and_no_more(void **state)
{
    (void)state;
    assert_int_equal(rng_to_below(0, 10), 0);
    assert_int_equal(rng_to_below(UINT32_MAX, 10), 9);
    assert_int_equal(rng_to_below(UINT32_MAX, 1), 0);
    assert_int_equal(rng_to_below(UINT32_C(1) << 31, 10), 5);
}

static void permutation_hits_each_index_once(void **state)
{
    static const uint32_t counts[] = {1, 2, 3, 4, 5, 16, 17, 1000, 4096, 50000};

    (void)state;
    for (size_t c = 0; c < ARRAY_LEN(counts); c++) {
        unsigned char *seen = calloc(counts[c], 1);

        assert_non_null(seen);
        for (uint32_t i = 0; i < counts[c]; i++) {
            const uint32_t at = rng_permute((struct rng_key){7, 8}, 3, i, counts[c]);

            assert_true(at < counts[c]);
            assert_int_equal(seen[at], 0);
            seen[at] = 1;
        }
        free(seen);
    }
}

static void permutations_of_two_epochs_differ(void **state)
{
    const uint32_t count = 10000;
    uint32_t fixed = 0, same = 0;

    (void)state;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t at = rng_permute((struct rng_key){7, 8}, 0, i, count);

        fixed += at == i;
        same += at == rng_permute((struct rng_key){7, 8}, 1, i, count);
    }
    /* Both counts are near Poisson of mean 1 for random permutations: above 12 once in 10^10. */
    assert_true(fixed <= 12);
    assert_true(same <= 12);
}

static void permutation_works_at_the_largest_count(void **state)
{
    const uint32_t count = UINT32_C(1) << 31;

    (void)state;
    assert_true(rng_permute((struct rng_key){1, 1}, 0, count - 1, count) < count);
}

static void uniform_fill_stays_in_its_interval(void **state)
{
    enum { COUNT = 20000 };
    float *values = malloc(COUNT * sizeof *values);
    double sum = 0.0;

    (void)state;
    assert_non_null(values);
    rng_fill_uniform((struct rng_key){5, 6}, -2.0f, 6.0f, values, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        assert_true(values[i] >= -2.0f && values[i] < 6.0f);
        sum += (double)values[i];
    }
    /* Deviation of the mean: 8 / sqrt(12 * 20000) = 0.0163; six of them. */
    assert_true(fabs(sum / COUNT - 2.0) < 0.1);
    free(values);
}

static void normal_fill_has_mean_and_deviation(void **state)
{
    enum { COUNT = 40000 };
    float *values = malloc(COUNT * sizeof *values);
    double sum = 0.0, squares = 0.0, mean, deviation;

    (void)state;
    assert_non_null(values);
    rng_fill_normal((struct rng_key){5, 7}, 3.0f, 2.0f, values, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        assert_true(isfinite(values[i]));
        sum += (double)values[i];
        squares += (double)values[i] * (double)values[i];
    }
    mean = sum / COUNT;
    deviation = sqrt(squares / COUNT - mean * mean);
    /* Errors of the estimates: 2 / sqrt(n) = 0.01 and 2 / sqrt(2 n) = 0.007; six of them. */
    assert_true(fabs(mean - 3.0) < 0.06);
    assert_true(fabs(deviation - 2.0) < 0.042);
    free(values);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threefry_gives_random123s_known_answers),
        cmocka_unit_test(threefry_depends_on_seed_and_stream_and_both_words),
        cmocka_unit_test(unit_stays_below_one),
        cmocka_unit_test(below_covers_its_range_and_no_more),
        cmocka_unit_test(permutation_hits_each_index_once),
        cmocka_unit_test(permutations_of_two_epochs_differ),
        cmocka_unit_test(permutation_works_at_the_largest_count),
        cmocka_unit_test(uniform_fill_stays_in_its_interval),
        cmocka_unit_test(normal_fill_has_mean_and_deviation),
    };

    return cmocka_run_group_tests_name("rng", tests, NULL, NULL);
}
