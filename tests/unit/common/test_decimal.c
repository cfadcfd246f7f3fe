/* tests/unit/common/test_decimal.c: decimal text becomes exact integers, rounded once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/decimal.h"

struct scale_case {
    const char *text;
    int64_t unit;
    enum status status;
    int64_t want;
};
struct product_case {
    const char *a, *b;
    int64_t unit;
    enum status status;
    int64_t want;
};

static struct decimal parse(const char *text)
{
    struct decimal value = {0};

    assert_int_equal(decimal_parse(str_from_cstr(text), true, &value, NULL, NULL), ST_OK);
    return value;
}

static void decimal_takes_json_numbers_and_refuses_the_rest(void **state)
{
    static const char *const good[] = {"0", "-0", "0.5", "-1.25", "10", "1e5", "1E-7", "2.078e-7"};
    static const char *const lenient[] = {"1.", ".5", "007", "0.", "-.5", "00.10"};
    static const char *const bad[] = {"",    "-",   ".",    "e5",   "1e",       "1e+", "+1",
                                      "NaN", "inf", "0x10", "1,5",  "1 ",       " 1",  "1.2.3",
                                      "--1", "1-",  "1f",   "1e5.", "Infinity", "١٢"};
    struct decimal value;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        assert_int_equal(decimal_parse(str_from_cstr(good[i]), false, &value, NULL, NULL), ST_OK);
        assert_int_equal(decimal_parse(str_from_cstr(good[i]), true, &value, NULL, NULL), ST_OK);
    }
    for (size_t i = 0; i < ARRAY_LEN(lenient); i++) {
        assert_int_equal(decimal_parse(str_from_cstr(lenient[i]), false, &value, NULL, NULL),
                         ST_INVALID);
        assert_int_equal(decimal_parse(str_from_cstr(lenient[i]), true, &value, NULL, NULL), ST_OK);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct error err = {0};

        assert_int_equal(decimal_parse(str_from_cstr(bad[i]), true, &value, NULL, &err),
                         ST_INVALID);
        assert_int_equal(err.status, ST_INVALID);
    }
}

static void decimal_rounds_digits_beyond_19_half_to_even_and_says_so(void **state)
{
    static const struct {
        const char *text;
        uint64_t digits;
        int exponent;
        bool exact;
    } cases[] = {
        {"1234567890123456789", 1234567890123456789u, 0, true},
        {"12345678901234567890", 1234567890123456789u, 1, true},   /* a lost 0 */
        {"12345678901234567885", 1234567890123456788u, 1, false},  /* tie, even */
        {"12345678901234567895", 1234567890123456790u, 1, false},  /* tie, odd: up */
        {"123456789012345678850", 1234567890123456788u, 2, false}, /* tie by a zero */
        {"123456789012345678851", 1234567890123456789u, 2, false}, /* above the tie */
        {"0.12345678901234567894", 1234567890123456789u, -19, false},
        {"99999999999999999995", 1000000000000000000u, 2, false}, /* carries into a new digit */
        {"000.00000000000000000000000000000000000000001", 1, -41, true},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct decimal value;
        bool exact = !cases[i].exact;

        assert_int_equal(decimal_parse(str_from_cstr(cases[i].text), true, &value, &exact, NULL),
                         ST_OK);
        assert_true(value.digits == cases[i].digits);
        assert_int_equal(value.exponent, cases[i].exponent);
        assert_int_equal(exact, cases[i].exact);
    }
}

static void decimal_refuses_exponents_beyond_use(void **state)
{
    struct decimal value;

    (void)state;
    assert_int_equal(decimal_parse(STR("1e400"), false, &value, NULL, NULL), ST_OK);
    assert_int_equal(decimal_parse(STR("1e401"), false, &value, NULL, NULL), ST_LIMIT);
    assert_int_equal(decimal_parse(STR("1e-401"), false, &value, NULL, NULL), ST_LIMIT);
    assert_int_equal(decimal_parse(STR("1e99999999999999999999"), false, &value, NULL, NULL),
                     ST_LIMIT);
    assert_int_equal(decimal_parse(STR("0e99999999999999999999"), false, &value, NULL, NULL),
                     ST_OK); /* zero all the same */
    assert_int_equal(value.exponent, 0);
}

static void decimal_scales_exactly_with_one_rounding(void **state)
{
    static const struct scale_case cases[] = {
        {"0", NS_PER_HOUR, ST_OK, 0},
        {"1", NS_PER_HOUR, ST_OK, 3600000000000},
        {"0.00296207", NS_PER_HOUR, ST_OK, 10663452000},
        {"-0.5", 1, ST_OK, 0}, /* tie to even */
        {"0.5", 1, ST_OK, 0},
        {"1.5", 1, ST_OK, 2},
        {"2.5", 1, ST_OK, 2},
        {"-2.5", 1, ST_OK, -2},
        {"2.50000000000000001", 1, ST_OK, 3}, /* just above the tie */
        {"2.4999999999999999", 1, ST_OK, 2},
        {"0.4999999999999999999", 1, ST_OK, 0}, /* no rounding in two steps */
        {"2.078e-7", PICO_PER_USD, ST_OK, 207800},
        {"3.1228484e-07", PICO_PER_USD, ST_OK, 312285}, /* 312284.84 */
        {"0.0739278", NS_PER_MS, ST_OK, 73928},
        {"9223372036854775807", 1, ST_OK, INT64_MAX},
        {"-9223372036854775807", 1, ST_OK, -INT64_MAX},
        {"9223372036854775808", 1, ST_LIMIT, 0},
        {"1e19", 1, ST_LIMIT, 0},
        {"1e300", NS_PER_HOUR, ST_LIMIT, 0},
        {"1e-400", NS_PER_HOUR, ST_OK, 0},
        {"2562047.7888", NS_PER_HOUR, ST_LIMIT, 0}, /* 2^63 ns are 2562047.788 h */
        {"2562047.7880", NS_PER_HOUR, ST_OK, 9223372036800000000},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t got = -1;

        assert_int_equal(decimal_scale(parse(cases[i].text), cases[i].unit, &got, NULL),
                         cases[i].status);
        if (cases[i].status == ST_OK)
            assert_true(got == cases[i].want);
    }
}

static void decimal_products_are_rounded_once(void **state)
{
    static const struct product_case cases[] = {
        /* davidcpage: 0.02056706 h at 3.06 USD/h: 0.0629352036 USD */
        {"0.02056706", "3.06", PICO_PER_USD, ST_OK, 62935203600},
        {"0.5", "0.000000000001", PICO_PER_USD, ST_OK, 0}, /* half a pico-dollar: to even */
        {"1.5", "0.000000000001", PICO_PER_USD, ST_OK, 2},
        {"-1.5", "0.000000000001", PICO_PER_USD, ST_OK, -2},
        {"-1.5", "-1", PICO_PER_USD, ST_OK, 1500000000000},
        {"0", "1e300", PICO_PER_USD, ST_OK, 0},
        {"9999999999999999999", "9999999999999999999", PICO_PER_USD, ST_LIMIT, 0},
        {"9999999999999999999e-19", "9999999999999999999e-19", PICO_PER_USD, ST_OK, 1000000000000},
        {"1e400", "1e-400", 1, ST_OK, 1},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t got = -1;

        assert_int_equal(
            decimal_scale_product(parse(cases[i].a), parse(cases[i].b), cases[i].unit, &got, NULL),
            cases[i].status);
        if (cases[i].status == ST_OK)
            assert_true(got == cases[i].want);
    }
}

static void decimal_compares_exactly(void **state)
{
    /* In ascending order; equal ones stand in one row. */
    static const char *const order[][3] = {
        {"-1e30"},
        {"-93.01", "-93.010", "-9301e-2"},
        {"-93"},
        {"-1e-30"},
        {"0", "-0", "0e5"},
        {"1e-400"},
        {"93.9999999999999999"},
        {"94", "94.0", "94.000000000000000000"},
        {"94.0000001335144"},
        {"9999999999999999999"},
        {"1e19", "10000000000000000000"},
        {"1e400"},
    };

    (void)state;
    for (size_t a = 0; a < ARRAY_LEN(order); a++)
        for (size_t b = 0; b < ARRAY_LEN(order); b++)
            for (size_t i = 0; i < 3 && order[a][i] != NULL; i++)
                for (size_t j = 0; j < 3 && order[b][j] != NULL; j++)
                    assert_int_equal(decimal_cmp(parse(order[a][i]), parse(order[b][j])),
                                     (a > b) - (a < b));
}

static void decimal_becomes_the_nearest_double(void **state)
{
    (void)state;
    assert_true(decimal_to_double(parse("0.1")) == 0.1);
    assert_true(decimal_to_double(parse("-94.08999999999999")) == -94.08999999999999);
    assert_true(decimal_to_double(parse("2.078e-7")) == 2.078e-7);
}

static void decimal_formats_integers_with_places(void **state)
{
    static const struct {
        int64_t value;
        int places;
        const char *text, *text_short;
    } cases[] = {
        {10663472, 6, "10.663472", "10.663472"},
        {0, 6, "0.000000", "0"},
        {5, 0, "5", "5"},
        {100, 0, "100", "100"},
        {-1, 3, "-0.001", "-0.001"},
        {1500, 3, "1.500", "1.5"},
        {2000, 3, "2.000", "2"},
        {INT64_MIN, 18, "-9.223372036854775808", "-9.223372036854775808"},
        {INT64_MAX, 9, "9223372036.854775807", "9223372036.854775807"},
    };
    char text[32];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        decimal_format(cases[i].value, cases[i].places, text);
        assert_string_equal(text, cases[i].text);
        decimal_format_short(cases[i].value, cases[i].places, text);
        assert_string_equal(text, cases[i].text_short);
    }
}

static void decimal_rounds_for_display_half_to_even(void **state)
{
    static const struct {
        int64_t value;
        int from, to;
        const char *text;
    } cases[] = {
        {10663472500, 9, 6, "10.663472"},
        {10663473500, 9, 6, "10.663474"},
        {10663472501, 9, 6, "10.663473"},
        {-1500, 3, 0, "-2"},
        {5, 0, 3, "5.000"},
        {15, 1, 3, "1.500"},
        {999999999, 9, 6, "1.000000"},
    };
    char text[32];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        decimal_format_rounded(cases[i].value, cases[i].from, cases[i].to, text);
        assert_string_equal(text, cases[i].text);
    }
}

static void decimal_writes_json_numbers_of_the_same_value(void **state)
{
    static const char *const cases[][2] = {{"94.20", "94.20"}, {"2.078e-7", "2.078e-7"},
                                           {"1.", "1e0"},      {".5", "5e-1"},
                                           {"007", "7e0"},     {"-.25", "-25e-2"}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct buf out;

        buf_init(&out, 100);
        decimal_append_json(&out, str_from_cstr(cases[i][0]));
        assert_string_equal(out.data, cases[i][1]);
        buf_fini(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decimal_takes_json_numbers_and_refuses_the_rest),
        cmocka_unit_test(decimal_rounds_digits_beyond_19_half_to_even_and_says_so),
        cmocka_unit_test(decimal_refuses_exponents_beyond_use),
        cmocka_unit_test(decimal_scales_exactly_with_one_rounding),
        cmocka_unit_test(decimal_products_are_rounded_once),
        cmocka_unit_test(decimal_compares_exactly),
        cmocka_unit_test(decimal_becomes_the_nearest_double),
        cmocka_unit_test(decimal_formats_integers_with_places),
        cmocka_unit_test(decimal_rounds_for_display_half_to_even),
        cmocka_unit_test(decimal_writes_json_numbers_of_the_same_value),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
