/* server/api/submission_write.h: a submission as JSON, the same after POST and for GET; findings as problem items.
 * Threads: pure, any. */
#ifndef DAYBREAK_SERVER_API_SUBMISSION_WRITE_H
#define DAYBREAK_SERVER_API_SUBMISSION_WRITE_H

#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"
#include "server/api/json_out.h"
#include "server/http/response.h"
#include "server/intake/intake.h"
#include "server/rank/kept.h"

/* Where figures would come on each board that they have a value for. */
struct board_places {
    struct board_place {
        enum board_by by;
        int64_t value;
        struct kept_place at;
    } boards[BOARD_ENERGY + 1];
    size_t count;
};

/* What is known of a submission; absent parts are left out. */
struct submission_view {
    int64_t id;
    const char *task, *name, *author, *state, *reason, *next;
    int64_t task_version; /* 0: left out */
    int64_t since_ms;
    struct opt_i64 entry_id, tta_ns, latency_ns, cost_pico, place;
    const char *latency_text, *cost_text; /* exact; NULL: from the integers */
    const char *entry_sha256, *progress_sha256;
    size_t entry_bytes, progress_bytes;
    bool has_progress;
    const struct submission_file *further; /* of several runs */
    size_t further_count;
    int64_t run_count; /* 0: left out */
    const struct flag_record *flags;
    size_t flag_count;
    const struct intake_result *result; /* findings; NULL: none are told */
    /* Review. */
    const char *kind, *owner; /* owner: who has to act */
    const char *files_name;   /* stem of the files' names; NULL: the name */
    int64_t revision;
    struct opt_i64 deadline_ms, overdue_ms, supersedes_id, superseded_by_id;
    const struct revision_record *revisions;
    size_t revision_count;
    const struct transition_record *steps; /* those that people may ask for */
    size_t step_count;
    const struct board_places *places; /* NULL: left out */
    const struct top5 *top5;           /* NULL: the rolling rule was not asked */
};

void submission_write(struct json_out *out, const struct submission_view *view);

/* One more warning, behind the others. */
enum status submission_add_finding(struct arena *arena, struct intake_result *result,
                                   const struct intake_finding *finding, struct error *err);
/* The same of runs that look like another entry's. */
enum status submission_add_flag(struct arena *arena, struct intake_result *result,
                                const struct flag_record *flag, struct error *err);
/* "flags" of an entry or a submission; left out where there are none. */
void submission_write_flags(struct json_out *out, const struct flag_record *flags, size_t count);
/* "places": left out where there are none. */
void submission_write_places(struct json_out *out, const struct board_places *places);
/* "top5": where the figures would come, and how far from the fifth place. */
void submission_write_top5(struct json_out *out, const struct top5 *top5);
/* "findings" of a verdict. */
void submission_write_findings(struct json_out *out, const char *key,
                               const struct intake_result *result);
/* The same as items of a problem; NULL without memory. */
const struct problem_item *submission_list_items(struct arena *arena,
                                                 const struct intake_result *result);

/* "checks": the rules that an entry was held against; left out without any. */
void submission_write_checks(struct json_out *out, const struct check_record *checks, size_t count);

#endif
