/* agent/train/message.h: what a child says to its parent: one JSON object a line, without times (the
 * parent stamps). Ownership: said in each function. Threads: pure, any thread. */
#ifndef DAYBREAK_AGENT_TRAIN_MESSAGE_H
#define DAYBREAK_AGENT_TRAIN_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/workload/workload.h"
#include "common/json.h"
#include "common/status.h"
#include "common/str.h"

#define MESSAGE_BYTES_MAX 16384

enum message_kind {
    MESSAGE_READY,  /* set up: programs are compiled; `facts` says what was chosen */
    MESSAGE_BEGIN,  /* a phase begins */
    MESSAGE_END,    /* and ends */
    MESSAGE_EVAL,   /* progress and score of an evaluation */
    MESSAGE_STEP,   /* step of step_count, now and then, for people */
    MESSAGE_DONE,   /* the recipe's end; or drained: stopped behind an epoch, as asked */
    MESSAGE_FAILED, /* status and one sentence */
    MESSAGE_KIND_COUNT
};

enum message_phase { PHASE_SETUP, PHASE_TRAIN, PHASE_EVALUATE, PHASE_CHECKPOINT, PHASE_COUNT };
const char *message_phase_name(enum message_phase phase);

struct message {
    enum message_kind kind;
    enum message_phase phase;
    struct workload_progress progress; /* EVAL: epoch, loss; STEP: step, step_count; DONE: done */
    struct workload_score score;
    enum status failure;
    char text[640]; /* FAILED: one sentence */
    json_t *facts;  /* READY: a reference of the receiver's own (json_decref) */
};

/* Appends the line with its line feed. READY: `facts_text` is the workload's JSON object. */
void message_append(struct buf *out, const struct message *message, struct str facts_text);
/* One line without its line feed. */
enum status message_parse(struct str line, struct message *message, struct error *err);

#endif
