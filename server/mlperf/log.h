/* server/mlperf/log.h: reads one training log of MLPerf: three line formats (data/mlperf, Formats) among any other text,
 * plain or gzip, fed in pieces of any size. Keeps what the rules ask for, each with its line; knows no rules itself.
 * Equal events (time, key, payload) count once: some loggers print every line twice.
 * Ownership: a log's texts live in the caller's arena. Threads: pure, one owner. */
#ifndef DAYBREAK_SERVER_MLPERF_LOG_H
#define DAYBREAK_SERVER_MLPERF_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"
#include "common/fault.h"
#include "common/status.h"
#include "common/str.h"

#define MLPERF_LOG_BYTES_MAX  ((size_t)16 << 20)  /* as it is sent */
#define MLPERF_TEXT_BYTES_MAX ((size_t)128 << 20) /* unpacked */
#define MLPERF_LINE_BYTES_MAX ((size_t)64 << 10)  /* of a line that is an event */
#define MLPERF_EVENTS_MAX     200000
#define MLPERF_EVALS_MAX      10000
#define MLPERF_VALUES_MAX     2                 /* Mask R-CNN has two metrics */
#define MLPERF_ARENA_BYTES    ((size_t)8 << 20) /* enough for what is kept of any one log */

enum mlperf_format { MLPERF_NO_FORMAT, MLPERF_MLP, MLPERF_MLL, MLPERF_MLLOG };
const char *mlperf_format_name(enum mlperf_format format); /* ":::MLPv0.5.0" */
bool mlperf_format_parse(struct str text, enum mlperf_format *format);

enum mlperf_outcome { MLPERF_UNSTATED, MLPERF_SUCCESS, MLPERF_FAILURE };

struct mlperf_eval {
    int line;
    int64_t time_ns;        /* since 1970, by the log */
    bool has_label;         /* epoch, or count of samples */
    const char *label_text; /* as it was written */
    double label;
    const char *value_text; /* as it was written; a text without its quotes */
    double values[MLPERF_VALUES_MAX];
    size_t value_count; /* 0: it has none that is a number */
};

/* The first value that a key had. */
struct mlperf_said {
    const char *text; /* NULL: the key did not come */
    int line;
};

struct mlperf_log {
    enum mlperf_format format; /* of the first event; NO_FORMAT: there is none */
    int first_line;            /* of that event */
    int line_count;
    bool has_start, has_stop;
    int start_line, stop_line; /* first run_start, last run_stop */
    int64_t start_ns, stop_ns;
    size_t start_count, stop_count;
    enum mlperf_outcome outcome; /* of the last run_stop */
    const char *outcome_text;    /* "success", "failure", "unstated", or as it was written */
    int clear_line;              /* of a cache clearing after run_start; 0: none */
    struct mlperf_eval *evals;   /* in the file's order */
    size_t eval_count;
    size_t event_count;    /* without repeats */
    size_t bad_line_count; /* lines with the token that are no event */
    struct mlperf_said batch, target, benchmark, organisation, platform, division, hardware_status;
    struct fault_list faults; /* of the bad lines: ST_INVALID with line, code, detail, hint */
};

/* `log` is filled as text comes and is whole after finish. */
struct mlperf_reader;
enum status mlperf_reader_create(struct arena *arena, struct mlperf_log *log,
                                 struct mlperf_reader **reader, struct error *err);
/* ST_LIMIT "too_many_events"; ST_NO_MEMORY. */
enum status mlperf_reader_feed(struct mlperf_reader *reader, struct str bytes, struct error *err);
enum status mlperf_reader_finish(struct mlperf_reader *reader, struct error *err);
void mlperf_reader_destroy(struct mlperf_reader *reader); /* accepts NULL */

/* A whole file, unpacked where it is gzip. ST_INVALID, ST_LIMIT with code and hint: it cannot be read at all. */
enum status mlperf_log_read(struct str bytes, struct arena *arena, struct mlperf_log *log,
                            struct error *err);

#endif
