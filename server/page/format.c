/* server/page/format.c: numbers as people read them. */
#include "server/page/format.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>

#include "common/clock.h"
#include "common/decimal.h"

#define PLACES_NS    9
#define PLACES_MS_NS 6  /* of milliseconds in nanoseconds */
#define PLACES_PICO  12 /* of dollars in pico-dollars */
/* A million items cost a million times as much: the same integer with six places fewer. */
#define PLACES_PICO_PER_MILLION 6

#define S_PER_MIN  INT64_C(60)
#define S_PER_HOUR INT64_C(3600)
#define S_PER_DAY  INT64_C(86400)

static struct str own(struct arena *arena, const char *text);
static struct str with_commas(struct arena *arena, const char *prefix, const char *number,
                              const char *suffix);
static int places_for(int64_t value, int scale, int digits);

struct str format_text(struct arena *arena, const char *format, ...)
{
    char text[1024];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return own(arena, text);
}

struct str format_duration(struct arena *arena, int64_t ns)
{
    const int64_t tenths = (ns + NS_PER_S / 20) / (NS_PER_S / 10),
                  s = (ns + NS_PER_S / 2) / NS_PER_S;
    char text[32];

    if (ns < 100 * NS_PER_S - NS_PER_S / 200) {
        decimal_format_rounded(ns, PLACES_NS, ns < 10 * NS_PER_S - NS_PER_S / 2000 ? 3 : 2, text);
        return format_text(arena, "%s s", text);
    }
    if (tenths < 10 * S_PER_MIN * 10)
        return format_text(arena, "%" PRId64 " min %02" PRId64 ".%" PRId64 " s",
                           tenths / (S_PER_MIN * 10), tenths / 10 % S_PER_MIN, tenths % 10);
    if (s < S_PER_HOUR)
        return format_text(arena, "%" PRId64 " min %02" PRId64 " s", s / S_PER_MIN, s % S_PER_MIN);
    if (s + S_PER_MIN / 2 < S_PER_DAY) {
        const int64_t minutes = (s + S_PER_MIN / 2) / S_PER_MIN;

        return format_text(arena, "%" PRId64 " h %02" PRId64 " min", minutes / 60, minutes % 60);
    }
    return format_text(arena, "%" PRId64 " d %02" PRId64 " h", (s + S_PER_HOUR / 2) / S_PER_DAY,
                       (s + S_PER_HOUR / 2) % S_PER_DAY / S_PER_HOUR);
}

static bool clock_is_long(int64_t longest_ns)
{
    return longest_ns > 10 * S_PER_MIN * NS_PER_S;
}

struct str format_clock(struct arena *arena, int64_t ns, int64_t longest_ns)
{
    const int64_t s = (ns + NS_PER_S / 2) / NS_PER_S;
    char text[32];

    if (clock_is_long(longest_ns))
        return format_text(arena, "%" PRId64 ":%02" PRId64 ":%02" PRId64, s / S_PER_HOUR,
                           s / S_PER_MIN % 60, s % S_PER_MIN);
    decimal_format_rounded(ns, PLACES_NS, 2, text);
    return own(arena, text);
}

const char *format_clock_unit(int64_t longest_ns)
{
    return clock_is_long(longest_ns) ? "h:mm:ss" : "s";
}

struct str format_exact(struct arena *arena, int64_t value, int places)
{
    char text[32];

    decimal_format_short(value, places, text);
    return own(arena, text);
}

struct str format_latency(struct arena *arena, int64_t ns)
{
    char text[32];

    decimal_format_rounded(ns, PLACES_MS_NS, places_for(ns, PLACES_MS_NS, 4), text);
    return with_commas(arena, "", text, " ms");
}

static struct str money(struct arena *arena, int64_t value, int scale)
{
    const int places = places_for(value, scale, 3);
    char text[32];

    decimal_format_rounded(value, scale, places < 2 ? 2 : places, text);
    return with_commas(arena, "$", text, "");
}

struct str format_money(struct arena *arena, int64_t pico)
{
    return money(arena, pico, PLACES_PICO);
}

struct str format_money_per_million(struct arena *arena, int64_t pico)
{
    return money(arena, pico, PLACES_PICO_PER_MILLION);
}

struct str format_scaled(struct arena *arena, double value, const char *unit)
{
    static const char *const prefixes[] = {"", "k", "M", "G", "T", "P"};
    size_t i = 0;
    int places;

    for (; i + 1 < ARRAY_LEN(prefixes) && value >= 999.95; i++)
        value /= 1000.0;
    places = value >= 99.995 ? 1 : value >= 9.9995 ? 2 : 3;
    if (i == 0 && value - (double)(long long)value == 0.0)
        places = 0; /* a count of bytes has no tenths */
    return format_text(arena, "%.*f %s%s", places, value, prefixes[i], unit);
}

struct str format_energy(struct arena *arena, int64_t uj)
{
    static const struct {
        const char *name;
        int places;  /* of the unit in microjoules */
        int64_t one; /* of it; 0: the last */
    } units[] = {
        {" MJ", 12, INT64_C(1000000000000)},
        {" kJ", 9, INT64_C(1000000000)},
        {" J", 6, 0},
    };
    size_t unit = 0;
    char text[32];

    /* What rounds up to one of a unit has it already. */
    while (uj < units[unit].one - units[unit].one / 20000)
        unit++;
    decimal_format_rounded(
        uj, units[unit].places,
        places_for(uj < units[unit].one ? units[unit].one : uj, units[unit].places, 4), text);
    return with_commas(arena, "", text, units[unit].name);
}

static bool is_percent(const struct task *task)
{
    return strcmp(task->unit, "percent") == 0;
}

struct str format_metric(struct arena *arena, const struct task *task, double value)
{
    return is_percent(task) ? format_text(arena, "%.2f\u00A0%%", value)
                            : format_text(arena, "%.4f", value);
}

struct str format_metric_text(struct arena *arena, const struct task *task, const char *text)
{
    double value;

    if (text == NULL || text[0] == '\0')
        return STR("-");
    return str_parse_double(str_from_cstr(text), &value) ? format_metric(arena, task, value)
                                                         : str_from_cstr(text);
}

struct str format_target(struct arena *arena, const struct task *task)
{
    return format_text(arena, is_percent(task) ? "%s\u00A0%%" : "%s", task->target_text);
}

struct str format_goal(struct arena *arena, const struct task *task)
{
    const struct str target = format_target(arena, task);

    return is_percent(task) ? format_text(arena, "%.*s %s", STR_ARG(target), task->metric_title)
                            : format_text(arena, "%s %.*s", task->metric_title, STR_ARG(target));
}

struct str format_metric_title(struct arena *arena, const struct task *task)
{
    const char first = task->metric_title[0];

    return first >= 'a' && first <= 'z'
               ? format_text(arena, "%c%s", first - 'a' + 'A', task->metric_title + 1)
               : str_from_cstr(task->metric_title);
}

struct str format_ratio(struct arena *arena, int64_t value, int64_t best)
{
    const double ratio = best > 0 ? (double)value / (double)best : 1.0;
    int places = 0;
    char text[32];

    if (value == best)
        return own(arena, "1\u00D7");
    if (ratio < 9.995)
        places = 2;
    else if (ratio < 99.95)
        places = 1;
    snprintf(text, sizeof text, "%.*f", places, ratio);
    return with_commas(arena, "", text, "\u00D7");
}

struct str format_count(struct arena *arena, int64_t count)
{
    char text[32];

    snprintf(text, sizeof text, "%" PRId64, count);
    return with_commas(arena, "", text, "");
}

struct str format_counted(struct arena *arena, int64_t count, const char *one, const char *many)
{
    const struct str number = format_count(arena, count);

    return format_text(arena, "%.*s %s", STR_ARG(number), count == 1 ? one : many);
}

struct str format_label(struct arena *arena, const char *label)
{
    double value;

    if (label == NULL || label[0] == '\0')
        return STR("-");
    if (!str_parse_double(str_from_cstr(label), &value))
        return str_from_cstr(label);
    return fabs(value) < 1e15 && value == floor(value) ? format_text(arena, "%.0f", value)
                                                       : format_text(arena, "%.1f", value);
}

struct str format_age(struct arena *arena, int64_t ms)
{
    const int64_t s = ms < 0 ? 0 : ms / 1000;

    if (s < 2 * S_PER_MIN)
        return format_text(arena, "%" PRId64 " s ago", s);
    if (s < 2 * S_PER_HOUR)
        return format_text(arena, "%" PRId64 " min ago", s / S_PER_MIN);
    if (s < 2 * S_PER_DAY)
        return format_text(arena, "%" PRId64 " h ago", s / S_PER_HOUR);
    return format_text(arena, "%" PRId64 " d ago", s / S_PER_DAY);
}

struct str format_instant(struct arena *arena, int64_t real_ms)
{
    char text[CLOCK_TEXT_BYTES];

    clock_format_utc(real_ms, text);
    return format_text(arena, "%.10s %.5s UTC", text, text + 11);
}

static struct str own(struct arena *arena, const char *text)
{
    const char *copy = arena_copy(arena, str_from_cstr(text));

    return str_from_cstr(copy);
}

static struct str with_commas(struct arena *arena, const char *prefix, const char *number,
                              const char *suffix)
{
    const size_t digits = strspn(number, "0123456789");
    char text[96];
    size_t used = (size_t)snprintf(text, sizeof text, "%s", prefix);

    for (size_t i = 0; number[i] != '\0' && used < sizeof text - 2; i++) {
        if (i > 0 && i < digits && (digits - i) % 3 == 0)
            text[used++] = ',';
        text[used++] = number[i];
    }
    snprintf(text + used, sizeof text - used, "%s", suffix);
    return own(arena, text);
}

/* How many places show `digits` significant digits of value * 10^-scale: none behind a large number, more
 * behind leading zeros. */
static int places_for(int64_t value, int scale, int digits)
{
    int whole = -scale; /* digits before the point; negative: zeros behind it */

    for (int64_t left = value; left > 0; left /= 10)
        whole++;
    if (value == 0 || digits - whole < 0)
        return 0;
    return digits - whole < scale ? digits - whole : scale;
}
