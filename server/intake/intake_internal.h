/* server/intake/intake_internal.h: what the parts of the judge share. Ownership and threads: intake.h. */
#ifndef DAYBREAK_SERVER_INTAKE_INTAKE_INTERNAL_H
#define DAYBREAK_SERVER_INTAKE_INTAKE_INTERNAL_H

#include "common/json.h"
#include "common/tsv.h"
#include "server/intake/intake.h"

#define INTAKE_SAME_MAX        5 /* findings of one code and field in one file; the rest are counted */
#define INTAKE_TEXT_BYTES_MAX  512 /* of a text that boards show */
#define INTAKE_EMAIL_BYTES_MAX 2048
#define INTAKE_FIELDS_MAX      200 /* at the top level: each costs a search of the whole file */

enum intake_file { INTAKE_ENTRY, INTAKE_PROGRESS };

struct judge {
    const struct intake_input *input;
    struct arena *arena;
    struct intake_result *result;
    struct json_doc *doc;    /* of the entry, while it is judged */
    size_t capacity;         /* of result->findings */
    size_t *more;            /* beside each finding: how many like it were left out */
    bool no_memory;          /* sticks */
    size_t run_index;        /* of the progress file that is judged */
    struct intake_run *runs; /* one per progress file */
    bool has_schedule;       /* misc.schedule is a list whose steps say how many epochs they last */
    double schedule_epochs;
    int schedule_line;
};

/* Where a finding points to. pointer and hint may be NULL: none, and the code's own. */
struct intake_place {
    enum intake_file file;
    bool all_runs; /* of the progress files together, not the one that is judged */
    int line;
    const char *pointer, *field, *hint;
};

/* The code must be one of intake_codes; its severity is the table's. Advice is dropped for history. */
void judge_add(struct judge *judge, const struct intake_place *place, const char *code,
               const char *format, ...) __attribute__((format(printf, 4, 5)));
/* A finding that points to INTAKE_PROGRESS is of the file judge->run_index.
 * Size, emptiness, NUL bytes, UTF-8; false when reading on makes no sense. */
bool judge_check_bytes(struct judge *judge, enum intake_file file, struct str text);
/* A copy that is trimmed and has blanks for control bytes; "" and no_memory when memory ran out. */
const char *judge_clean_text(struct judge *judge, struct str text);
char *judge_copy(struct judge *judge, struct str text);

/* entry_file.c, progress_file.c, advice.c; they fill result->record. */
void judge_entry_file(struct judge *judge);
void judge_progress_file(struct judge *judge); /* that of judge->run_index */
/* Called from judge_entry_file with the document open, for new submissions alone. */
void judge_advise(struct judge *judge);
/* What was probably meant (intention.c): a hint with the value as it should stand; NULL: nothing comes to mind. */
/* The number times ten to the power, exact. */
const char *intend_scaled(struct judge *judge, struct str text, int power);
/* "WHAT: write 94.5 in place of 0.945" */
const char *intend_in_place(struct judge *judge, struct str text, int power, const char *what);
/* Of a text where a number is wanted: a comma, a currency, a unit, or (optional: the field may be left out) none. */
const char *intend_number(struct judge *judge, struct str text, bool optional);
const char *intend_date(struct judge *judge, struct str text); /* dd/mm/yyyy and other orders */
/* Of the header line: other separators, other names. */
const char *intend_columns(struct judge *judge, const struct tsv_row *header);
const char *intend_separator(struct judge *judge, struct str line); /* of a row */
/* True: the file is another one, or its path; place and code are filled. */
bool intend_other_file(struct judge *judge, enum intake_file file, struct str text,
                       struct intake_place *place, const char **code);
bool judge_has_column(const struct judge *judge, const char *name); /* the task has it */

/* What the files say together (combine.c): the score of the runs and its cost, runs that look the same. */
void judge_combine(struct judge *judge);
/* The seeds that misc states; called from judge_entry_file with misc as it was parsed. */
void judge_seeds(struct judge *judge, const json_t *misc);

#endif
