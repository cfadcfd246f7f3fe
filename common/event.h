/* common/event.h: one event of a run, as protocol.md, Events, has it: a line of NDJSON without its
 * line feed. Both programs need it: the agent writes, the server reads and checks.
 * Ownership: text fields borrow the line's document, which the caller keeps. Threads: pure, any thread. */
#ifndef DAYBREAK_COMMON_EVENT_H
#define DAYBREAK_COMMON_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/arena.h"
#include "common/status.h"
#include "common/str.h"

#define EVENT_LINE_BYTES_MAX 4096
/* As for uploaded files: a million epochs, a century. */
#define EVENT_EPOCH_MAX      1e6
#define EVENT_ELAPSED_NS_MAX (INT64_C(876000) * 3600 * 1000000000)

/* X(name): phase names: setup, train, evaluate, checkpoint. */
enum event_kind {
    EVENT_RUN_START,   /* the clock starts at its answer */
    EVENT_PHASE_BEGIN, /* phase */
    EVENT_PHASE_END,   /* phase */
    EVENT_EVAL,        /* epoch, metric, correct and total or value, loss, views */
    EVENT_NOTE,        /* text */
    EVENT_RUN_END,     /* result: "reached", "missed", "failed"; text */
    EVENT_KIND_COUNT
};

struct event {
    int64_t seq; /* from 1, dense */
    enum event_kind kind;
    int64_t mono_ns; /* the sender's CLOCK_MONOTONIC when the fact was stamped */
    int64_t real_ms; /* its CLOCK_REALTIME */
    struct str phase, metric, text, result;
    double epoch;   /* epochs trained when evaluated; may be fractional */
    bool has_count; /* correct and total */
    int64_t correct, total;
    bool has_value;
    double value; /* a metric that is not a count, in the task's unit */
    bool has_loss;
    double loss;       /* mean training loss of the epoch */
    int64_t views;     /* test-time augmentation: 1 is none */
    bool has_official; /* eval only: official_ns, the agent's own reading of the official time */
    int64_t official_ns;
    int64_t wall_ns; /* with official: time since run_start's answer */
};

const char *event_kind_name(enum event_kind kind); /* "run_start" */

/* Strict: unknown members, a kind's missing member, wrong types, correct > total are refused with the
 * pointer in err->field. `line` has no line feed. Text is copied to the arena. */
enum status event_parse(struct str line, struct arena *arena, struct event *event,
                        struct error *err);
/* Appends the event's line, without a line feed; event_parse() gives the same event back, but for
 * `text` beyond 512 bytes, which is cut. Numbers must be finite. */
void event_append(struct buf *out, const struct event *event);

#endif
