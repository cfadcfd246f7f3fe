/* server/page/format.h: numbers as people read them. The exact value always stands beside the readable one, in a
 * data- attribute or on hover; what is rounded here is rounded for display alone (measures.md).
 * Ownership: text lives in the caller's arena; the empty text when the arena is full. Threads: pure, any. */
#ifndef DAYBREAK_SERVER_PAGE_FORMAT_H
#define DAYBREAK_SERVER_PAGE_FORMAT_H

#include <stdint.h>

#include "common/arena.h"
#include "common/str.h"
#include "common/task.h"

struct str format_text(struct arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* "9.214 s", "71.82 s", "2 min 37.6 s", "18 min 05 s", "2 h 44 min", "3 d 04 h". */
struct str format_duration(struct arena *arena, int64_t ns);
/* For a column of times up to longest_ns: "61.23" (seconds), or "0:18:05" when longest_ns is above ten
 * minutes. */
struct str format_clock(struct arena *arena, int64_t ns, int64_t longest_ns);
const char *format_clock_unit(int64_t longest_ns); /* "s" or "h:mm:ss" */
/* Exact: "10.663472". */
struct str format_exact(struct arena *arena, int64_t value, int places);
/* "0.1345 ms", "31.13 ms", "590.0 ms". */
struct str format_latency(struct arena *arena, int64_t ns);
/* "$1,112.64", "$0.0629". */
struct str format_money(struct arena *arena, int64_t pico);
/* What a million items cost: "$0.208". */
struct str format_money_per_million(struct arena *arena, int64_t pico);
/* Four digits and a decimal prefix: "812 B", "20.0 GB/s". value >= 0. */
struct str format_scaled(struct arena *arena, double value, const char *unit);
struct str format_energy(struct arena *arena, int64_t uj); /* "812.4 J", "1.234 MJ" */
/* In the task's unit: "94.09 %" or "0.7579". */
struct str format_metric(struct arena *arena, const struct task *task, double value);
/* The same of a number as it was written; "-" for NULL, as it is when it is no number. */
struct str format_metric_text(struct arena *arena, const struct task *task, const char *text);
struct str format_target(struct arena *arena, const struct task *task); /* "94.0 %" or "0.75" */
struct str format_goal(struct arena *arena, const struct task *task); /* "94.0 % top-1 accuracy" */
/* The metric's name with a capital: "Top-1 accuracy". */
struct str format_metric_title(struct arena *arena, const struct task *task);
struct str format_ratio(struct arena *arena, int64_t value, int64_t best); /* "4.17×" */
struct str format_count(struct arena *arena, int64_t count);               /* "10,000" */
/* count and the noun, with s unless it is one: "1 entry" needs its own plural. */
struct str format_counted(struct arena *arena, int64_t count, const char *one, const char *many);
/* An epoch's label: "24", "12.5" (at most one place); "-" for NULL. */
struct str format_label(struct arena *arena, const char *label);
/* How long ago: "3 s ago", "5 min ago", "2 h ago", "4 d ago". */
struct str format_age(struct arena *arena, int64_t ms);
/* "2018-04-15 20:02 UTC" */
struct str format_instant(struct arena *arena, int64_t real_ms);

#endif
