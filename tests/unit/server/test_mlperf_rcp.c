/* tests/unit/server/test_mlperf_rcp.c: reference convergence points against the worked examples of the rules
 * (measures.md, Check values). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "server/mlperf/rcp.h"

#define POINT(name, bs, list) "\"" name "\": {\"BS\": " bs ", \"Epochs to converge\": [" list "]}"
#define LOW                   "16,14,16,17,16,16,15,16,15,16"
#define HIGH                  "20,21,21,20,22,22,21,21,20,20"

static struct arena arena;
static struct rcp_set set;

static struct rcp_verdict check(const char *points, double batch, const double *epochs,
                                size_t count, size_t missed, enum rcp_variant variant)
{
    const struct rcp_question question = {.variant = variant,
                                          .runs = 5,
                                          .count = count,
                                          .missed = missed,
                                          .batch = batch,
                                          .values = epochs};
    struct rcp_verdict verdict;
    struct error err = {0};

    arena_fini(&arena);
    arena_init(&arena, 1 << 20);
    assert_int_equal(rcp_parse(str_from_cstr(points), &arena, &set, &err), ST_OK);
    assert_int_equal(rcp_check(&set, &question, &arena, &verdict, &err), ST_OK);
    return verdict;
}

/* The documents give that many digits. */
static bool near(double value, double want, double digits)
{
    return fabs(value - want) <= 0.5 * pow(10.0, -digits);
}

static void limits_are_those_of_the_worked_examples(void **state)
{
    static const char both[] = "{" POINT("a", "128", LOW) "," POINT("b", "256", HIGH) "}";
    static const double first[] = {15, 15, 15, 16, 16}, second[] = {19, 19, 19, 20, 21},
                        third[] = {17, 18, 18, 18, 20};
    struct rcp_verdict verdict = check(both, 128, first, 5, 0, RCP_RULES);

    (void)state;
    assert_int_equal(verdict.match, RCP_EXACT);
    assert_string_equal(verdict.point, "a");
    assert_true(near(verdict.mean, 15.75, 12) && near(verdict.deviation, 0.433, 3));
    assert_true(near(verdict.min_mean, 15.2126, 4));
    assert_true(verdict.pass);
    verdict = check(both, 256, second, 5, 0, RCP_RULES);
    assert_true(near(verdict.mean, 20.75, 12) && near(verdict.deviation, 0.661, 3));
    assert_true(near(verdict.min_mean, 19.9291, 4));
    assert_false(verdict.pass);
    verdict = check(both, 192, third, 5, 0, RCP_RULES);
    assert_int_equal(verdict.match, RCP_INTERPOLATED);
    assert_true(near(verdict.mean, 18.25, 12) && near(verdict.deviation, 0.547, 3));
    assert_true(near(verdict.min_mean, 17.603, 3));
    assert_true(verdict.pass);
}

static void outside_of_all_batch_sizes(void **state)
{
    static const char both[] = "{" POINT("b", "256", HIGH) "," POINT("a", "128", LOW) "}";
    static const double few[] = {10, 10, 10}, many[] = {30, 30, 30};
    struct rcp_verdict verdict = check(both, 64, few, 3, 0, RCP_RULES);

    (void)state;
    assert_int_equal(verdict.match, RCP_SMALLER);
    assert_string_equal(verdict.point, "a");
    assert_false(verdict.pass);
    assert_true(check(both, 64, many, 3, 0, RCP_RULES).pass);
    verdict = check(both, 257, many, 3, 0, RCP_RULES);
    assert_int_equal(verdict.match, RCP_LARGER);
    assert_false(verdict.pass);
    assert_true(near(verdict.factor, 1.0, 12));
}

/* 3178.667 / 3024 of data/mlperf's Llama 2 entry. */
static void a_score_below_the_mean_is_made_longer(void **state)
{
    static const char points[] =
        "{\"ref\": {\"BS\": 8, \"samples to converge\": "
        "[3072,2688,3456,3072,3072,3072,3456,3456,3072,"
        "2688,3456,3072,3072,3072,3840,3456,2688,3072,3456,3456], \"Creator\": \"x\"}}";
    static const double samples[] = {3072, 3072, 3072, 3072, 3072, 3072, 3072, 2688, 2688, 3072};
    const struct rcp_verdict verdict = check(points, 8, samples, 10, 0, RCP_RULES);

    (void)state;
    assert_true(near(verdict.mean, 3178.667, 3));
    assert_true(near(verdict.entry_mean, 3024.0, 9));
    assert_true(near(verdict.factor, 1.051146, 6));
    assert_true(near(check(points, 8, samples, 10, 0, RCP_TOOL).deviation, 299.913588, 6));
}

static void a_run_that_missed_is_the_slowest(void **state)
{
    static const char one[] = "{" POINT("a", "128", LOW) "}";
    static const double five[] = {15, 16, 17, 18, 90}, four[] = {18, 15, 17, 16};

    (void)state;
    assert_true(near(check(one, 128, five, 5, 0, RCP_RULES).entry_mean, 17.0, 12));
    assert_true(near(check(one, 128, four, 4, 1, RCP_RULES).entry_mean, 17.0, 12));
}

/* Of 1, 2, 3 times the batch the middle one needs more than both let expect: the line between the others counts. */
static void a_point_above_its_neighbours_is_left_out(void **state)
{
    static const char points[] =
        "{" POINT("a", "100", "10,10,10,10") "," POINT("b", "200", "30,30,30,30") "," POINT(
            "c", "300", "20,20,20,20") "," POINT("z", "50", "40,40,40,40") "}";
    static const double epochs[] = {15, 15, 15};
    struct rcp_verdict verdict = check(points, 200, epochs, 3, 0, RCP_RULES);

    (void)state;
    assert_int_equal(verdict.match, RCP_INTERPOLATED);
    assert_true(near(verdict.mean, 15.0, 12));
    assert_true(near(verdict.min_mean, 15.0, 12)); /* no deviation, no slack */
    assert_true(verdict.pass);
    verdict =
        check(points, 60, epochs, 3, 0, RCP_RULES); /* z needs more than a at half its batch */
    assert_int_equal(verdict.match, RCP_SMALLER);
    assert_string_equal(verdict.point, "a");
}

static void a_broken_file_is_refused_with_its_line(void **state)
{
    static const struct {
        const char *text;
        int line;
    } cases[] = {
        {"[]", 0},
        {"{}", 0},
        {"{\n\"a\": 1}", 2},
        {"{\"a\": {\n\"BS\": \"8\", \"Epochs to converge\": [1,2,3]}}", 2},
        {"{\"a\": {\n\"BS\": 0, \"Epochs to converge\": [1,2,3]}}", 2},
        {"{\n\"a\": {\"BS\": 1, \"Epochs to converge\": [1,2]}}", 2},
        {"{\n\"a\": {\"BS\": 1, \"Epochs to converge\": [1,2,\"3\"]}}", 2},
        {"{\n\"a\": {\"BS\": 1, \"Epochs to converge\": [1,2,0]}}", 2},
        {"{\"a\": {\"BS\": 1, \"Epochs to converge\": [1,2,3]},\n\"b\": {\n\"BS\": 1.0, \"Epochs "
         "to "
         "converge\": [1,2,3]}}",
         3},
        {"{\n\n\"a\": }", 3},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct error err = {0};

        arena_fini(&arena);
        arena_init(&arena, 1 << 20);
        assert_int_equal(rcp_parse(str_from_cstr(cases[i].text), &arena, &set, &err), ST_INVALID);
        if (cases[i].line > 0)
            assert_int_equal(err.line, cases[i].line);
        assert_true(err.detail[0] != '\0');
    }
}

static int teardown(void **state)
{
    (void)state;
    arena_fini(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_are_those_of_the_worked_examples),
        cmocka_unit_test(outside_of_all_batch_sizes),
        cmocka_unit_test(a_score_below_the_mean_is_made_longer),
        cmocka_unit_test(a_run_that_missed_is_the_slowest),
        cmocka_unit_test(a_point_above_its_neighbours_is_left_out),
        cmocka_unit_test(a_broken_file_is_refused_with_its_line),
    };

    return cmocka_run_group_tests(tests, NULL, teardown);
}
