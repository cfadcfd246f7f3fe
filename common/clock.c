/* common/clock.c: see clock.h. */
#include "common/clock.h"

#include <assert.h>
#include <time.h>

static int64_t read_clock(clockid_t id);
static bool is_leap(int64_t year);
static int64_t days_from_civil(int64_t year, int64_t month, int64_t day);

int64_t clock_mono_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

int64_t clock_boot_ns(void)
{
    return read_clock(CLOCK_BOOTTIME);
}

int64_t clock_real_ms(void)
{
    return read_clock(CLOCK_REALTIME) / 1000000;
}

void clock_format_utc(int64_t real_ms, char text[CLOCK_TEXT_BYTES])
{
    const time_t seconds = (time_t)(real_ms / 1000);
    struct tm tm;
    size_t length;

    assert(real_ms >= 0);
    (void)gmtime_r(&seconds, &tm);
    length = strftime(text, CLOCK_TEXT_BYTES, "%Y-%m-%dT%H:%M:%S", &tm);
    (void)snprintf(text + length, CLOCK_TEXT_BYTES - length, ".%03dZ", (int)(real_ms % 1000));
}

void clock_format_date(int64_t real_ms, char text[CLOCK_TEXT_BYTES])
{
    assert(real_ms >= 0);
    clock_format_days(real_ms / 86400000, text);
}

enum status clock_parse_date(struct str text, int64_t *days, bool *padded, struct error *err)
{
    static const int days_in_month[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    struct str rest = text, part[3];
    bool more = true;
    uint64_t number[3];
    int64_t last_day;

    for (int i = 0; i < 3; i++)
        if (!str_split_next(&rest, &more, '-', &part[i]) || !str_parse_u64(part[i], &number[i]))
            return error_set(err, ST_INVALID, NULL, "not a date of the form yyyy-mm-dd");
    if (more || part[0].len != 4 || part[1].len > 2 || part[2].len > 2)
        return error_set(err, ST_INVALID, NULL, "not a date of the form yyyy-mm-dd");
    if (number[1] < 1 || number[1] > 12)
        return error_set(err, ST_INVALID, NULL, "the month is not between 1 and 12");
    last_day = days_in_month[number[1] - 1];
    if (number[1] == 2 && is_leap((int64_t)number[0]))
        last_day++;
    if (number[2] < 1 || number[2] > (uint64_t)last_day)
        return error_set(err, ST_INVALID, NULL, "that month has no such day");
    *days = days_from_civil((int64_t)number[0], (int64_t)number[1], (int64_t)number[2]);
    *padded = part[1].len == 2 && part[2].len == 2;
    return ST_OK;
}

void clock_format_days(int64_t days, char text[CLOCK_TEXT_BYTES])
{
    const time_t seconds = (time_t)days * 86400;
    struct tm tm;

    (void)gmtime_r(&seconds, &tm);
    /* strftime() would write the year 1 as "1". */
    (void)snprintf(text, CLOCK_TEXT_BYTES, "%04d-%02d-%02d", tm.tm_year + 1900, tm.tm_mon + 1,
                   tm.tm_mday);
}

static int64_t read_clock(clockid_t id)
{
    struct timespec now;

    if (clock_gettime(id, &now) != 0)
        abort(); /* only for an unknown id: our bug */
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

static bool is_leap(int64_t year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

/* Counts from March, so that the leap day ends its year: then months have the lengths of 153 days
 * in five. */
static int64_t days_from_civil(int64_t year, int64_t month, int64_t day)
{
    const int64_t y = month <= 2 ? year - 1 : year, m = month <= 2 ? month + 9 : month - 3;
    const int64_t floor4 = y >= 0 ? y / 4 : -1, floor100 = y >= 0 ? y / 100 : -1;
    const int64_t floor400 = y >= 0 ? y / 400 : -1;
    const int64_t since_march_0000 =
        365 * y + floor4 - floor100 + floor400 + (153 * m + 2) / 5 + day - 1;

    return since_march_0000 - 719468; /* 1970-01-01 */
}
