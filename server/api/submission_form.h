/* server/api/submission_form.h: the files of a submission as they come in a body: the parts of a form or the members
 * of a JSON object, and what is known of them before a judge has seen them.
 * Ownership: texts borrow the body or live in the request's arena. Threads: workers. */
#ifndef DAYBREAK_SERVER_API_SUBMISSION_FORM_H
#define DAYBREAK_SERVER_API_SUBMISSION_FORM_H

#include <stdbool.h>
#include <stddef.h>

#include "common/arena.h"
#include "common/status.h"
#include "common/str.h"
#include "common/task.h"
#include "server/http/request.h"
#include "server/intake/intake.h"
#include "server/store/records.h"

#define SUBMISSION_FILE_NAME_BYTES_MAX 200
/* Of a body: the files of common/entry.h, as JSON with its escapes, too. */
#define SUBMISSION_BODY_BYTES_MAX (1u << 20)

struct submission_form {
    const struct task *task;
    const struct submission_record *revised; /* NULL: it is no revision */
    struct opt_i64 supersedes;               /* entry whose place it is to take */
    bool has_task, has_name;
    struct str task_id, name; /* name: of the entry */
    bool has_entry;
    struct str entry;
    struct intake_source *progress; /* one per run; each has a name */
    size_t progress_count;
};

/* task, entry, name, supersedes, and progress once per run; of a revision (an address with the submission that is
 * revised) task and name are the former's where they are not given, and supersedes is none of its members. named: without a name nothing can be kept. ST_INVALID: the request's
 * faults name all that is wrong; ST_LIMIT: a file, or all progress files together, are too large (common/entry.h). */
enum status submission_form_read(struct request *request, bool named, struct submission_form *form,
                                 struct error *err);

/* The judge on what was sent, as a submission of today. */
enum status submission_form_judge(struct request *request, const struct submission_form *form,
                                  bool whole, struct intake_result *result, struct error *err);

/* The files as the store keeps them: one progress file is the entry's own, several stand beside it by their names. */
enum status submission_form_files(const struct submission_form *form, struct arena *arena,
                                  struct submission_files *files, struct error *err);

#endif
