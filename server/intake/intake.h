/* server/intake/intake.h: judges the files of a DAWNBench submission (NAME.json and, for a training, a progress file
 * per run) against a task and, when no error is found, hands out what they say as exact values. Knows no HTTP, store
 * or clock.
 * Every fault is gathered, never only the first. The codes are the table intake_codes (codes.c).
 * Ownership: results live in the arena and borrow the input bytes; both must outlive them. Threads: any. */
#ifndef DAYBREAK_SERVER_INTAKE_INTAKE_H
#define DAYBREAK_SERVER_INTAKE_INTAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"
#include "common/crypto.h"
#include "common/entry.h"
#include "common/status.h"
#include "common/str.h"
#include "common/task.h"

enum intake_mode {
    INTAKE_NEW,    /* a submission of today */
    INTAKE_HISTORY /* a published entry: no advice, and a few old sins are warnings */
};
enum intake_severity {
    INTAKE_ERROR,   /* refused */
    INTAKE_WARNING, /* the file looks wrong; accepted */
    INTAKE_ADVICE   /* would help a reviewer; never part of a verdict */
};

struct intake_finding {
    const char *file;    /* "entry", "progress", or of several progress files its name */
    size_t file_index;   /* 0: the entry; else of the progress file, from 1 */
    int line;            /* from 1; 0: the whole file */
    const char *pointer; /* RFC 6901 into the entry, "" otherwise */
    const char *field;   /* field or column at fault, "" for none */
    const char *code;    /* of intake_codes */
    enum intake_severity severity;
    const char *detail; /* what was found */
    const char *hint;   /* how to mend it */
};

struct intake_row { /* one evaluation of the progress file */
    int line;
    double epoch;
    struct str epoch_text, hours_text, metric_text;
    int64_t elapsed_ns; /* hours, rounded half to even */
    double metric;      /* the task's metric, in the unit of the file */
    struct str *extras; /* the task's further columns, in the task's order */
};

/* One run, as its progress file has it. */
struct intake_run {
    const char *file_name; /* NULL: the only one, and nameless */
    bool missed;           /* it is known not to have reached the target */
    bool reached;          /* it did; the members to the next blank line only then */
    int64_t tta_ns;
    const char *tta_hours_text;
    double epoch;       /* label of the row that first meets the target */
    double epoch_count; /* the same, plus one when the labels start at 0 */
    double accuracy;    /* of that row, in the file's unit */
    const char *accuracy_text;
    size_t crossing_index;

    const struct intake_row *rows;
    size_t row_count;
    const char *seed_text; /* as misc states it; NULL: not stated */
    unsigned char bytes_sha256[SHA256_BYTES];
    unsigned char rows_sha256[SHA256_BYTES]; /* of the values alone, however they were written */
};

/* What the files say. Texts are NUL-terminated, trimmed, control bytes replaced by blanks. A member that was
 * absent is NULL or has its has_ flag false. */
struct intake_record {
    const char *author, *author_email, *framework, *model,
        *hardware;        /* NULL without an entry file */
    const char *code_url; /* any text; see code_is_link */
    bool code_is_link;    /* http or https, one word: may be made a link */
    const char *commit_hash;
    int64_t date_days;     /* the claimed date, since 1970-01-01 */
    const char *date_text; /* yyyy-mm-dd */
    bool has_used_blacklist, used_blacklist;
    const char *misc_json;  /* raw JSON value of misc (object or, in old files, a string) */
    const char *extra_json; /* JSON object of the top-level fields that the format does not know */

    bool has_cost_per_hour;
    const char *cost_per_hour_text; /* exact, USD for the whole cluster */
    bool has_cost;                  /* training: hours x price; inference: of one item */
    int64_t cost_pico;
    const char *cost_text; /* exact; inference alone, NULL otherwise */

    bool
        has_accuracy; /* the metric at the crossing (train), of the entry (inference), in the file's unit */
    double accuracy;
    const char *accuracy_text;

    /* Training, from the progress files: the score of the runs by the task's rule (server/rank/score.h). */
    const struct intake_run *runs;
    size_t run_count;
    bool has_tta;
    int64_t tta_ns;
    const char *tta_hours_text; /* NULL: the score is between two runs */
    size_t shown_run; /* index of the run that stands for the entry; its accuracy is above */

    /* Inference. */
    bool has_latency;
    int64_t latency_ns;
    const char *latency_text; /* exact, ms */
};

struct intake_result {
    struct intake_finding *findings; /* entry before progress, then by line */
    size_t finding_count;
    size_t error_count, warning_count, advice_count;
    bool acceptable;             /* no error */
    struct intake_record record; /* values that could be read; whole only when acceptable */
};

struct intake_source { /* a progress file */
    const char *name;  /* as findings name it where there are several; NULL: nameless */
    struct str bytes;  /* as they came */
};

struct intake_input {
    const struct task *task;
    enum intake_mode mode;
    bool
        whole; /* judged as a whole submission: a file that the task needs and that is missing is an error */
    bool has_entry;
    struct str entry;                     /* the bytes as they came */
    const struct intake_source *progress; /* one file per run, in order */
    size_t progress_count;                /* 0: none; at most ENTRY_RUNS_MAX are judged */
    int64_t today_days;                   /* the server's date, since 1970-01-01 UTC */
};

/* What an arena needs for an entry of ENTRY_FILE_BYTES_MAX and progress files of so many bytes, whatever is in them. */
#define INTAKE_ARENA_BYTES(progress_bytes) (((size_t)4 << 20) + 64 * (size_t)(progress_bytes))
#define INTAKE_ARENA_BYTES_MAX             INTAKE_ARENA_BYTES(ENTRY_FILE_BYTES_MAX)

/* ST_OK whatever is found; ST_NO_MEMORY when the arena is used up. */
enum status intake_check(const struct intake_input *input, struct arena *arena,
                         struct intake_result *result, struct error *err);

/* One row per code and sample: documentation and tests read this table. The sample, judged as the row says,
 * has a finding of that code and severity. */
struct intake_code {
    const char *code;
    enum intake_severity severity;
    const char *meaning; /* one line */
    const char *hint;    /* how to mend it; a finding may have a closer one */
    enum intake_mode mode;
    const char *task;     /* of the sample */
    const char *entry;    /* text of the file; NULL: none */
    const char *progress; /* text of the file; NULL: none */
    const char *further;  /* text of the file of a second run; NULL: none */
    size_t pad_bytes;     /* so many pad_byte follow the sample's text; mostly 0 */
    char pad_byte;
    bool whole;
};
extern const struct intake_code intake_codes[];
extern const size_t intake_code_count;
const struct intake_code *intake_code_find(const char *code); /* NULL: none */

const char *intake_severity_name(enum intake_severity severity); /* "error" */

#endif
