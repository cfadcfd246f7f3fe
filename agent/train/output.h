/* agent/train/output.h: what `train` and `infer` leave behind: NAME.json and of a training NAME.tsv, an entry as a
 * server takes it. Ownership: borrows all. Threads: one owner. */
#ifndef DAYBREAK_AGENT_TRAIN_OUTPUT_H
#define DAYBREAK_AGENT_TRAIN_OUTPUT_H

#include <stdbool.h>

#include "agent/train/parent.h"
#include "common/status.h"

struct output {
    const char *dir, *name;
    const char *author, *author_email, *cost_per_hour, *instance; /* NULL: not given */
    const char *target_text;
    bool holdout, resumed, partial; /* partial: on some of the images; a run that
                                       * max_epochs ended early is marked so by its facts */
};

/* Writes both files. Without an author they are written, too: a server names what is missing. */
enum status output_write_entry(const struct output *output, const struct parent_plan *plan,
                               const struct parent_result *result, struct error *err);

/* NAME.json: the entry, with our framework, commit and host and today's date, which it is to leave out. */
enum status output_write_json(const char *dir, const char *name, const char *instance,
                              const struct entry *entry, struct error *err);

#endif
