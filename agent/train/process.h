/* agent/train/process.h: a child process as its parent sees it: started in a session of its own, told
 * lines on its standard input, heard on a pipe (its descriptor 3). A thread reads the pipe and stamps
 * each line at once, so that nothing the parent does in between (a disk, a network) delays a stamp.
 * Ownership: process_end() frees all. Threads: the one that called process_start(): the child asks the
 * kernel to be killed when that very thread ends (PR_SET_PDEATHSIG). */
#ifndef DAYBREAK_AGENT_TRAIN_PROCESS_H
#define DAYBREAK_AGENT_TRAIN_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/status.h"
#include "common/str.h"

#define PROCESS_SAY_FD 3 /* where the child writes */

struct process;

struct process_line {
    int64_t mono_ns, real_ms; /* when its last byte had been read */
    struct str text;          /* without line feed; valid until the next call */
};

enum process_heard {
    PROCESS_LINE,
    PROCESS_NOTHING, /* within the time */
    PROCESS_EOF      /* the child closed its end: it ended, or is about to */
};

/* Starts this very program with the words argv[1..] (argv[0] is replaced), NULL at the end. */
enum status process_start(const char **argv, struct process **process, struct error *err);
/* Writes text to the child's standard input. ST_IO when it does not listen any more. */
enum status process_tell(struct process *process, struct str text, struct error *err);
enum process_heard process_hear(struct process *process, int timeout_ms, struct process_line *line);
void process_kill(struct process *process); /* the child and all of its session */
/* Waits for the end, whose words go to how[96] ("code 4", "signal 6"); clean: it was code 0. */
void process_end(struct process *process, char how[96], bool *clean);

#endif
