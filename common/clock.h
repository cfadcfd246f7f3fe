/* common/clock.h: the clocks, and dates as text. Threads: any. */
#ifndef DAYBREAK_COMMON_CLOCK_H
#define DAYBREAK_COMMON_CLOCK_H

#include <stdint.h>

#include "common/status.h"
#include "common/str.h"

#define NS_PER_S         INT64_C(1000000000)
#define CLOCK_TEXT_BYTES 32

int64_t clock_mono_ns(void); /* CLOCK_MONOTONIC: durations */
int64_t clock_boot_ns(void); /* CLOCK_BOOTTIME: goes on while the machine is suspended */
int64_t clock_real_ms(void); /* CLOCK_REALTIME, since 1970 UTC: dates */

/* "2026-12-01T15:28:40.123Z" */
void clock_format_utc(int64_t real_ms, char text[CLOCK_TEXT_BYTES]);
/* "2026-12-01" of that instant, UTC. */
void clock_format_date(int64_t real_ms, char text[CLOCK_TEXT_BYTES]);

/* A proleptic Gregorian date yyyy-m-d (1 or 2 digits for month and day) that exists. Days since
 * 1970-01-01; *padded says whether it was written yyyy-mm-dd. ST_INVALID otherwise. */
enum status clock_parse_date(struct str text, int64_t *days, bool *padded, struct error *err);
void clock_format_days(int64_t days, char text[CLOCK_TEXT_BYTES]); /* yyyy-mm-dd */

#endif
