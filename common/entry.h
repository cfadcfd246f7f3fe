/* common/entry.h: a DAWNBench entry as both programs write it: NAME.json and NAME.tsv. What the files may
 * contain and how they are judged is server/intake; the field names and their types stand here once.
 * Ownership: struct entry borrows all text. Threads: pure, any thread. */
#ifndef DAYBREAK_COMMON_ENTRY_H
#define DAYBREAK_COMMON_ENTRY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/json.h"
#include "common/status.h"
#include "common/str.h"
#include "common/task.h"

#define ENTRY_VERSION            "v1.0"
#define ENTRY_FILE_BYTES_MAX     65536
#define ENTRY_NAME_BYTES_MAX     128
#define ENTRY_RUNS_MAX           100                        /* progress files of one submission */
#define ENTRY_PROGRESS_BYTES_MAX (8 * ENTRY_FILE_BYTES_MAX) /* all of them together */

enum entry_type { ENTRY_TEXT, ENTRY_NUMBER, ENTRY_DATE, ENTRY_OBJECT, ENTRY_URL, ENTRY_BOOL };

struct entry_field {
    const char *name;
    enum entry_type type;
    bool train, inference;                   /* the phases that know it */
    bool train_required, inference_required; /* the phases that need it */
    const char *help;                        /* one line, for /docs/format and hints */
};
extern const struct entry_field entry_fields[]; /* the metric field is the task's and not in here */
extern const size_t entry_field_count;

struct entry_epoch {
    double epoch; /* the label: epochs trained so far */
    int64_t official_ns;
    int64_t correct, total;
};

struct entry {
    const struct task *task;
    /* NULL: left out, and the entry is incomplete unless the field is optional. */
    const char *author, *author_email, *framework, *code_url, *commit_hash, *model, *hardware;
    const char *timestamp;         /* yyyy-mm-dd */
    const char *cost_usd_per_hour; /* of a training; decimal text, as the next two; NULL: none */
    const char *latency_ms, *cost_usd; /* of one item, inference alone; cost NULL: none */
    int64_t correct, total;            /* of the validation set, inference alone */
    const json_t *misc;                /* object; NULL: none */
};

/* NULL: not a field of the format (the metric of a task is not in the table either). */
const struct entry_field *entry_field_find(struct str name);

/* The JSON file, two-space indented with a final line feed. ST_INVALID: a number's text is none. */
enum status entry_append_json(struct buf *out, const struct entry *entry, struct error *err);
/* An accuracy in the task's unit with 4 (percent) or 6 decimals, cut, not rounded: what misses the target must not
 * reach it by its last digit. */
void entry_format_metric(const struct task *task, int64_t correct, int64_t total, char text[32]);
/* The TSV file: hours with 9 decimals, accuracies as above. ST_UNSUPPORTED for tasks with further columns, which
 * entry_epoch does not have. */
enum status entry_append_tsv(struct buf *out, const struct task *task,
                             const struct entry_epoch *epochs, size_t count, struct error *err);

/* Appends a text, or JSON as it was written, with "(redacted)" in place of whatever looks like an e-mail address
 * (RFC 5322's dot-atom, a domain with a point; "@" and letters may be JSON escapes). Valid JSON stays valid. */
void entry_append_without_addresses(struct buf *out, struct str text);

#endif
