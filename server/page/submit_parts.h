/* server/page/submit_parts.h: the form of /submit as the parts that POST /v1/submissions takes. A browser sends an empty
 * file for none, a pasted text in a field of its own, and a file that the page already has (it was checked, and is now to
 * be submitted) as text in a hidden field, so that every byte comes back as it was.
 * Ownership: texts borrow the parts or live in the arena. Threads: pure, any. */
#ifndef DAYBREAK_SERVER_PAGE_SUBMIT_PARTS_H
#define DAYBREAK_SERVER_PAGE_SUBMIT_PARTS_H

#include <stdbool.h>

#include "server/http/multipart.h"

/* What the form is to show again; "" what was left empty. */
struct submit_fields {
    bool sends; /* its button was "send", not "check" */
    struct str task_id, name, supersedes;
    struct str entry_text, progress_text; /* pasted; line ends as LF */
};

/* Replaces *parts. ST_INVALID: another button; a text beside a file; a hidden field that submit_keep_file() did not
 * write. What else is wrong with the parts is for submission_form_read() to say. */
enum status submit_parts_read(struct multipart *parts, struct arena *arena,
                              struct submit_fields *fields, struct error *err);

/* The value of a hidden field entry_kept or progress_kept; file_name: "" for none. NULL: no memory. */
const char *submit_keep_file(struct arena *arena, struct str file_name, struct str bytes);

#endif
