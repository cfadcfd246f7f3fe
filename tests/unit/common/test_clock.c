/* tests/unit/common/test_clock.c: common/clock: dates that exist, in and out; clocks that do not go back. */
#include "common/clock.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

struct date_case {
    const char *text;
    int64_t days; /* since 1970-01-01, by Python's datetime.date */
    bool padded;
};

static const struct date_case good[] = {
    {"1970-01-01", 0, true},       {"1969-12-31", -1, true},      {"2000-02-29", 11016, true},
    {"2018-04-20", 17641, true},   {"2019-7-22", 18099, false},   {"2019-07-2", 18079, false},
    {"2020-12-31", 18627, true},   {"2026-12-01", 20788, true},   {"0001-01-01", -719162, true},
    {"9999-12-31", 2932896, true}, {"1900-03-01", -25508, true},  {"2100-02-28", 47540, true},
    {"0000-01-01", -719528, true}, {"0000-03-01", -719468, true},
};

static void dates_that_exist_are_days(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        struct error err = {0};
        int64_t days;
        bool padded;

        if (clock_parse_date(str_from_cstr(good[i].text), &days, &padded, &err) != ST_OK)
            fail_msg("%s: %s", good[i].text, err.detail);
        if (days != good[i].days || padded != good[i].padded)
            fail_msg("%s: %lld", good[i].text, (long long)days);
    }
}

static void days_are_dates_again(void **state)
{
    char text[CLOCK_TEXT_BYTES];
    int64_t days;
    bool padded;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        clock_format_days(good[i].days, text);
        assert_int_equal(strlen(text), strlen("yyyy-mm-dd")); /* early years, too */
        if (good[i].padded)
            assert_string_equal(text, good[i].text);
    }
    for (int64_t day = -719162; day <= 47600; day += 7) {
        clock_format_days(day, text);
        assert_int_equal(clock_parse_date(str_from_cstr(text), &days, &padded, NULL), ST_OK);
        assert_true(padded);
        assert_int_equal(days, day);
    }
}

static void dates_that_do_not_exist_are_refused(void **state)
{
    static const char *const bad[] = {
        "",           "2019",       "2019-01",    "2019-02-29",  "1900-02-29",  "2100-02-29",
        "2019-13-01", "2019-00-01", "2019-01-00", "2019-01-32",  "2019-04-31",  "19-01-01",
        "2019-001-1", "2019-1-001", "02019-1-01", "2019-01-01 ", " 2019-01-01", "2019-01-01-01",
        "2019/01/01", "-019-01-01", "2019--1-01", "2019-+1-01",  "2019-01-1a",  "2019-01-",
    };
    int64_t days;
    bool padded;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct error err = {0};

        if (clock_parse_date(str_from_cstr(bad[i]), &days, &padded, &err) != ST_INVALID)
            fail_msg("\"%s\" was taken", bad[i]);
        assert_true(err.detail[0] != '\0');
    }
}

static void instants_are_written_as_utc(void **state)
{
    static const struct {
        int64_t real_ms;
        const char *utc, *date;
    } cases[] = {
        {0, "1970-01-01T00:00:00.000Z", "1970-01-01"},
        {999, "1970-01-01T00:00:00.999Z", "1970-01-01"},
        {86399999, "1970-01-01T23:59:59.999Z", "1970-01-01"},
        {86400000, "1970-01-02T00:00:00.000Z", "1970-01-02"},
        {INT64_C(1764600000007), "2025-12-01T14:40:00.007Z", "2025-12-01"},
    };
    char text[CLOCK_TEXT_BYTES];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        clock_format_utc(cases[i].real_ms, text);
        assert_string_equal(text, cases[i].utc);
        clock_format_date(cases[i].real_ms, text);
        assert_string_equal(text, cases[i].date);
    }
}

static void clocks_do_not_go_back(void **state)
{
    int64_t mono = clock_mono_ns(), boot = clock_boot_ns();

    (void)state;
    for (int i = 0; i < 1000; i++) {
        const int64_t mono_next = clock_mono_ns(), boot_next = clock_boot_ns();

        assert_true(mono_next >= mono && boot_next >= boot);
        mono = mono_next;
        boot = boot_next;
    }
    assert_true(clock_real_ms() > INT64_C(1700000000000)); /* after 2023: in milliseconds, then */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dates_that_exist_are_days),
        cmocka_unit_test(days_are_dates_again),
        cmocka_unit_test(dates_that_do_not_exist_are_refused),
        cmocka_unit_test(instants_are_written_as_utc),
        cmocka_unit_test(clocks_do_not_go_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
